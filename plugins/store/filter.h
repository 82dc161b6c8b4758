/*
 * filter.h - the FILTERs of tenon/store.h, and the order of values in lists.
 *
 * A filter is read once and can be applied to any number of values. It is a list of conditions, all of which must hold.
 * All stores share this code, so a filter means the same in each. A store may find candidates with an index; it then
 * checks them with filter_matches.
 *
 *     struct filter *filter = NULL;
 *     tn_value why = filter_read(&arena, source, &filter);      // INVALID or LIMIT, with the position
 *     if (why == NULL && filter_matches(filter, value)) …
 *
 * A filter borrows from the value it was read from, and lives in the arena. A NULL filter accepts every value.
 */
#ifndef TENON_PLUGINS_STORE_FILTER_H
#define TENON_PLUGINS_STORE_FILTER_H

#include "base.h"

/* The path to a member: the names to follow, in order. */
struct path {
    struct text text; /* as it was written */
    uint64_t count;
    const char *const *names;
};

enum filter_test {
    TEST_EQ,
    TEST_NE,
    TEST_LT,
    TEST_LE,
    TEST_GT,
    TEST_GE,
    TEST_IN,
    TEST_EXISTS,
    TEST_CONTAINS,
    TEST_ANY
};

struct condition {
    enum filter_test test;
    struct path path; /* unused for TEST_ANY */
    tn_value operand; /* borrowed */
    uint64_t count;   /* for TEST_ANY: filters, one of which must hold */
    const struct filter *const *filters;
};

struct filter {
    uint64_t count;
    const struct condition *conditions;
};

/* `what` is the filter's position for messages, for example "`where`". If `source` is NULL or null, *out is NULL. */
tn_value filter_read(struct tn_arena *arena, tn_value source, const char *what, struct filter **out);
bool filter_matches(const struct filter *filter, tn_value value);

/* `what` is the path's position for messages. */
tn_value path_read(struct tn_arena *arena, tn_value source, const char *what, struct path *out);
/* Returns the member, borrowed from the value. NULL if it does not exist. */
tn_value path_get(const struct path *path, tn_value value);

/*
 * Compares members for ordering: absent and null first, then false and true (as 0 and 1) together with numbers, then
 * strings by their bytes. Other values are compared with strings by their JSON.
 */
int order_compare(tn_value a, tn_value b);

#endif

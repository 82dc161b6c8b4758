/*
 * filter.h - FILTERs of tenon/store.h: read once, then asked of any number of values; and the order of lists.
 *
 * A filter is a list of conditions, all of which must hold. It is the same for every store: one that can narrow a
 * search by an index of its own does, and has what remains decided here.
 *
 *     struct filter *filter = NULL;
 *     tn_value why = filter_read(&arena, source, &filter);      // INVALID or LIMIT, saying where
 *     if (why == NULL && filter_fits(filter, value)) …
 *
 * A filter borrows from the value it was read from, and lives in the arena. NULL is a filter that everything fits.
 */
#ifndef TENON_PLUGINS_STORE_FILTER_H
#define TENON_PLUGINS_STORE_FILTER_H

#include "base.h"

/* Where a member is: names to go through, one after the other. */
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
    struct path path; /* not of TEST_ANY */
    tn_value operand; /* borrowed */
    uint64_t count;   /* of TEST_ANY: filters, one of which must hold */
    const struct filter *const *filters;
};

struct filter {
    uint64_t count;
    const struct condition *conditions;
};

/* `what` names the place in messages ("where"). NULL and null give no filter. */
tn_value filter_read(struct arena *arena, tn_value source, const char *what, struct filter **out);
bool filter_fits(const struct filter *filter, tn_value value);

/* `what` names the place in messages. */
tn_value path_read(struct arena *arena, tn_value source, const char *what, struct path *out);
/* Borrowed from the value; NULL where it is not there. */
tn_value path_get(const struct path *path, tn_value value);

/*
 * What a member is ordered by: nothing and null, then false and true (as 0 and 1) with the numbers, then strings by
 * their bytes, with anything else as its JSON among them.
 */
int order_compare(tn_value a, tn_value b);

/* Exact, whichever of the two kinds each is of. */
int number_compare(tn_value a, tn_value b);

#endif

/*
 * tenon/store/filter.h - the FILTERs of tenon/store.h, and the order of values in lists.
 *
 * A filter is read once and can be applied to any number of values. It is a list of conditions, all of which must hold.
 * All stores share this code, so a filter means the same in each. A store may find candidates with an index; it then
 * checks them with tn_store_filter_matches.
 *
 *     struct tn_store_filter *filter = NULL;
 *     tn_value why = tn_store_filter_read(&arena, source, &filter);      // INVALID or LIMIT, with the position
 *     if (why == NULL && tn_store_filter_matches(filter, value)) …
 *
 * A filter borrows from the value it was read from, and lives in the arena. A NULL filter accepts every value.
 */
#ifndef TENON_STORE_FILTER_H
#define TENON_STORE_FILTER_H

#include <tenon/store/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The path to a member: the names to follow, in order. */
struct tn_store_path {
    struct tn_store_text text; /* as it was written */
    uint64_t count;
    const char *const *names;
};

enum tn_store_test {
    TN_STORE_TEST_EQ,
    TN_STORE_TEST_NE,
    TN_STORE_TEST_LT,
    TN_STORE_TEST_LE,
    TN_STORE_TEST_GT,
    TN_STORE_TEST_GE,
    TN_STORE_TEST_IN,
    TN_STORE_TEST_EXISTS,
    TN_STORE_TEST_CONTAINS,
    TN_STORE_TEST_ANY
};

struct tn_store_condition {
    enum tn_store_test test;
    struct tn_store_path path; /* unused for TN_STORE_TEST_ANY */
    tn_value operand;          /* borrowed */
    uint64_t count;            /* for TN_STORE_TEST_ANY: filters, one of which must hold */
    const struct tn_store_filter *const *filters;
};

struct tn_store_filter {
    uint64_t count;
    const struct tn_store_condition *conditions;
};

/* `what` is the filter's position for messages, for example "`where`". If `source` is NULL or null, *out is NULL. */
tn_value tn_store_filter_read(struct tn_arena *arena, tn_value source, const char *what, struct tn_store_filter **out);
bool tn_store_filter_matches(const struct tn_store_filter *filter, tn_value value);

/* `what` is the path's position for messages. */
tn_value tn_store_path_read(struct tn_arena *arena, tn_value source, const char *what, struct tn_store_path *out);
/* Returns the member, borrowed from the value. NULL if it does not exist. */
tn_value tn_store_path_get(const struct tn_store_path *path, tn_value value);

/*
 * Compares members for ordering: absent and null first, then false and true (as 0 and 1) together with numbers, then
 * strings by their bytes. Other values are compared with strings by their JSON.
 */
int tn_store_order_compare(tn_value a, tn_value b);

#ifdef __cplusplus
}
#endif
#endif

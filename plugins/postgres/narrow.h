/*
 * narrow.h - filters and orders as SQL.
 *
 * The SQL condition holds for every record that matches, and may hold for others: each record is checked with
 * tn_store_filter_matches. Members in the columns m1 … can use an index. For other members, the condition compares the
 * bytes of the record's JSON with a string, which saves most of the transfer.
 */
#ifndef TENON_PLUGINS_POSTGRES_NARROW_H
#define TENON_PLUGINS_POSTGRES_NARROW_H

#include "connection.h"
#include "encode.h"
#include <tenon/store/request.h>

/* A position in an ordered list: the last record before it. */
struct narrow_cursor {
    struct tn_store_text members[TN_STORE_ORDER_MAX]; /* encoded */
    struct tn_store_text key;                         /* data NULL: the start */
};

/*
 * Appends ` FROM … r WHERE …`: the range, the filter, and that the record has not expired at `now`. `joined` is a table
 * of search data to join as `t`; or NULL.
 */
void narrow_from(struct sql *sql, const tn_store *store, const struct collection *collection,
                 const struct tn_store_selection *selection, const char *joined, int64_t now);
/* The column that has the start of a member, from 1; 0: none. It orders the records, but not those with equal starts.
 */
uint64_t narrow_start_column(const struct collection *collection, const struct tn_store_path *path);
/* True if all members of the order are in columns. */
bool narrow_has_order(const struct collection *collection, const struct tn_store_selection *selection);
/* Append the columns of the order, each after a comma; the condition for what follows the cursor; ORDER BY. */
void narrow_add_members(struct sql *sql, const struct collection *collection,
                        const struct tn_store_selection *selection);
void narrow_after(struct sql *sql, const struct collection *collection, const struct tn_store_selection *selection,
                  const struct narrow_cursor *cursor);
void narrow_order(struct sql *sql, const struct collection *collection, const struct tn_store_selection *selection);

#endif

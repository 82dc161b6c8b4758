/*
 * list_read.h - reads the records of a list in chunks. For lists.c and search.c.
 *
 * A value of more than LIST_INLINE_MAX bytes is not part of a chunk, but read by itself, so that a chunk has a bounded
 * size. Values are read from a consistent state only in a transaction (list_begin).
 */
#ifndef TENON_PLUGINS_POSTGRES_LIST_READ_H
#define TENON_PLUGINS_POSTGRES_LIST_READ_H

#include "lists.h"
#include "narrow.h"

#define LIST_CHUNK      256
#define LIST_ATTRIBUTED 32 /* rows of a chunk with search data, of up to 1 MiB each */
#define LIST_INLINE_MAX 65536

struct list {
    tn_store *store;
    struct tn_arena *arena; /* for the records that are kept */
    struct tn_arena chunk;  /* for those of a chunk */
    struct collection *collection;
    const struct tn_store_selection *selection;
    int64_t now;
    bool want_values; /* for the result or for the filter */
    bool in_transaction;
    struct narrow_cursor cursor; /* in cursor_bytes */
    char cursor_bytes[TN_STORE_ORDER_MAX * ENCODE_MAX + TN_STORE_KEY_MAX];
    double score; /* of the cursor of a search */
    bool ended;   /* no more rows */
    bool starts;  /* the rows are ordered by the start of the order's first member */
    bool cut;     /* a text of the order was cut: the order of the rows may be wrong */
    bool missed;  /* a large value was not read, because there is no transaction */
};

/* Receives a record, whose value it takes. Its key is in the arena of the chunk. */
typedef tn_value list_each(struct list *list, struct tn_store_record *record_take, void *user);

/* Takes the record's value, and copies its key and attributes into the arena. */
tn_value found_add_take(struct found *found, struct tn_arena *arena, const struct tn_store_record *record);
/* A list_each: `user` is a struct found. */
tn_value list_collect(struct list *list, struct tn_store_record *record_take, void *user);
/* Sets *out to the collection; NULL if it does not exist. */
tn_value lists_collection(tn_store *store, struct tn_store_text name, struct collection **out);

/* A transaction, unless a batch has one already. list_end frees the chunk. */
tn_value list_begin(struct list *list);
void list_end(struct list *list);
/* Reads the next `rows` rows, in the order of columns or by key, and calls `each` for those that match. */
tn_value list_read_chunk(struct list *list, bool ordered, int rows, list_each *each, void *user);
/* Reads the rows of the last query into the arena of the chunk: the columns key, version, json, bytes. */
tn_value list_read_rows(struct list *list, struct tn_store_record **out, int *count);
/* Reads one of them. A large value is NULL. */
tn_value list_read_row(struct list *list, const PGresult *result, int row, struct tn_store_record *out);
/* Calls `each` for the records that match. It may run queries. */
tn_value list_each_record(struct list *list, struct tn_store_record *records, int count, list_each *each, void *user);
/* Reads one value. */
tn_value list_read_large(struct list *list, struct tn_store_record *record);
/* Moves the cursor behind a row. The members of an order start at column 4. */
tn_value list_move_cursor(struct list *list, bool ordered, const PGresult *result, int row, struct tn_store_text key);
/* Sets list->cut if a text of the order was cut. */
void list_look_for_cuts(struct list *list, const PGresult *result);
/* Reads numbers that are stored little-endian. NULL if allocation fails. */
float *list_read_vector(struct tn_arena *arena, struct tn_store_text stored, uint64_t *count);

#endif

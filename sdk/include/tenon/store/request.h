/*
 * tenon/store/request.h - reads and checks the batches and queries of tenon/store.h.
 *
 *     struct tn_store_operation *operations = NULL;
 *     uint64_t count = 0;
 *     tn_value why = tn_store_read_batch(&arena, batch, &operations, &count);   // detail.index: the malformed
 * operation
 *     tn_store_release_batch(operations, count);
 *
 * The result is in the arena, and borrows from the value it was read from. A member that is null counts as absent.
 * There are two exceptions: a null `value` is a value, and in a merge a null `text`, `vector` or `expires_at` removes
 * that attribute.
 */
#ifndef TENON_STORE_REQUEST_H
#define TENON_STORE_REQUEST_H

#include <tenon/store/base.h>
#include <tenon/store/filter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keys from `from` (inclusive) to `to` (exclusive). data is NULL if that end is open. */
struct tn_store_range {
    struct tn_store_text from, to;
};

/* A set of records and their order. */
struct tn_store_selection {
    struct tn_store_text collection;
    struct tn_store_range range;
    const struct tn_store_filter *where;
    const struct tn_store_path *order;
    uint64_t order_count;
    bool reverse, keys_only, attributes;
    struct tn_store_text after; /* data is NULL: from the start */
    int64_t limit;
    struct tn_store_text words; /* search by text, see words.h; otherwise data is NULL */
    const float *vector;        /* search by similarity; otherwise NULL */
    uint64_t vector_count;
    bool exact; /* of a search by similarity: an index that can miss records must not be used */
};

/* The `if` of an operation. */
struct tn_store_precondition {
    bool has_version;
    int64_t version; /* 0: the record must not exist */
    const struct tn_store_filter *where;
};

enum tn_store_action { TN_STORE_KEEP, TN_STORE_REMOVE, TN_STORE_SET };

/* How a write changes a record's attributes: the search data and the expiry, which are not part of its value. */
struct tn_store_attributes {
    enum tn_store_action words_action, vector_action, expires_action;
    struct tn_store_text words; /* see words.h */
    const float *vector;
    uint64_t vector_count;
    int64_t expires_at; /* ms since 1970 UTC */
};

enum tn_store_operation_kind {
    TN_STORE_OP_PUT,
    TN_STORE_OP_MERGE,
    TN_STORE_OP_DELETE,
    TN_STORE_OP_DELETE_RANGE,
    TN_STORE_OP_EXPECT,
    TN_STORE_OP_TAKE
};

struct tn_store_operation {
    enum tn_store_operation_kind kind;
    struct tn_store_text collection, key;
    tn_value value;  /* the value of a put, or the patch of a merge or take */
    tn_value json;   /* the JSON of a put, if it is small and not bytes; otherwise NULL; owned */
    uint64_t size;   /* of the value of a put, in bytes */
    int64_t version; /* of a put: the version that the record gets; 0: the next one */
    struct tn_store_precondition condition;
    struct tn_store_attributes attributes;
    struct tn_store_selection selection; /* of a delete_range or take */
};

enum tn_store_query_kind {
    TN_STORE_QUERY_GET,
    TN_STORE_QUERY_LIST,
    TN_STORE_QUERY_COUNT,
    TN_STORE_QUERY_SEARCH,
    TN_STORE_QUERY_COLLECTIONS,
    TN_STORE_QUERY_FORMAT
};

struct tn_store_query {
    enum tn_store_query_kind kind;
    struct tn_store_text key;            /* of a get */
    struct tn_store_selection selection; /* for a get, only its collection is set; for the last two, nothing */
};

tn_value tn_store_read_batch(struct tn_arena *arena, tn_value batch, struct tn_store_operation **out, uint64_t *count);
/* Releases what the operations own. Call it before the arena is freed. */
void tn_store_release_batch(struct tn_store_operation *batch, uint64_t count);
tn_value tn_store_read_query(struct tn_arena *arena, tn_value query, struct tn_store_query *out);

/*
 * Checks a value to be stored. *json is its JSON as a string (owned), or NULL if it is bytes; *size is its size. LIMIT
 * if it is too large or too deep.
 */
tn_value tn_store_check_value(tn_value value, tn_value *json, uint64_t *size);

#ifdef __cplusplus
}
#endif
#endif

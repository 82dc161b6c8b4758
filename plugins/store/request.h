/*
 * request.h - reads and checks the batches and queries of tenon/store.h.
 *
 *     struct operation *operations = NULL;
 *     uint64_t count = 0;
 *     tn_value why = request_read_batch(&arena, batch, &operations, &count);   // detail.index: the malformed operation
 *
 * The result is in the arena, and borrows from the value it was read from. A member that is null counts as absent.
 * There are two exceptions: a null `value` is a value, and in a merge a null `text`, `vector` or `expires_at` removes
 * that attribute.
 */
#ifndef TENON_PLUGINS_STORE_REQUEST_H
#define TENON_PLUGINS_STORE_REQUEST_H

#include "base.h"
#include "filter.h"

/* Keys from `from` (inclusive) to `to` (exclusive). data is NULL if that end is open. */
struct key_range {
    struct text from, to;
};

/* A set of records and their order. */
struct selection {
    struct text collection;
    struct key_range range;
    const struct filter *where;
    const struct path *order;
    uint64_t order_count;
    bool reverse, keys_only;
    struct text after; /* data is NULL: from the start */
    int64_t limit;
    struct text words;   /* search by text, see words.h; otherwise data is NULL */
    const float *vector; /* search by similarity; otherwise NULL */
    uint64_t vector_count;
};

/* The `if` of an operation. */
struct precondition {
    bool has_version;
    int64_t version; /* 0: the record must not exist */
    const struct filter *where;
};

enum attribute_action { ATTRIBUTE_KEEP, ATTRIBUTE_REMOVE, ATTRIBUTE_SET };

/* How a write changes a record's attributes: the search data and the expiry, which are not part of its value. */
struct attributes {
    enum attribute_action words_action, vector_action, expires_action;
    struct text words; /* see words.h */
    const float *vector;
    uint64_t vector_count;
    int64_t expires_at; /* ms since 1970 UTC */
};

enum operation_kind { OP_PUT, OP_MERGE, OP_DELETE, OP_DELETE_RANGE, OP_EXPECT, OP_TAKE };

struct operation {
    enum operation_kind kind;
    struct text collection, key;
    tn_value value; /* the value of a put, or the patch of a merge or take */
    struct precondition condition;
    struct attributes attributes;
    struct selection selection; /* of a delete_range or take */
};

enum query_kind { QUERY_GET, QUERY_LIST, QUERY_COUNT, QUERY_SEARCH };

struct query {
    enum query_kind kind;
    struct text key;            /* of a get */
    struct selection selection; /* for a get, only its collection is set */
};

tn_value request_read_batch(struct tn_arena *arena, tn_value batch, struct operation **out, uint64_t *count);
tn_value request_read_query(struct tn_arena *arena, tn_value query, struct query *out);

/*
 * Checks a value to be stored. *json is its JSON as a string (owned), or NULL if it is bytes; *size is its size. LIMIT
 * if it is too large or too deep.
 */
tn_value request_check_value(tn_value value, tn_value *json, uint64_t *size);

#endif

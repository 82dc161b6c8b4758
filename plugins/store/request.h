/*
 * request.h - batches and queries of tenon/store.h, read and checked as a whole before a store is touched.
 *
 *     struct operation *operations = NULL;
 *     uint64_t count = 0, wrong = 0;
 *     tn_value why = request_batch(&arena, batch, &operations, &count);   // detail.index says which
 *
 * What is read borrows from the value it was read from, and lives in the arena. A member that is null is as one that is
 * not there, but for those of a merge that take something away (text, vector, expires_at) and for values themselves.
 */
#ifndef TENON_PLUGINS_STORE_REQUEST_H
#define TENON_PLUGINS_STORE_REQUEST_H

#include "base.h"
#include "filter.h"

/* Keys from `from` up to, but without, `to`; data is NULL where there is no such end. */
struct extent {
    struct text from, to;
};

/* Which records, and in what order. */
struct selection {
    struct text collection;
    struct extent extent;
    const struct filter *where;
    const struct path *order;
    uint64_t order_count;
    bool reverse, keys_only;
    struct text after; /* data is NULL: from the beginning */
    int64_t limit;
    struct text words;   /* of a search by text: words.h; data is NULL in others */
    const float *vector; /* of a search by likeness */
    uint64_t vector_count;
};

/* `if` */
struct precondition {
    bool has_version;
    int64_t version; /* 0: there is no record */
    const struct filter *where;
};

enum keeping { KEEP, DROP, SET };

/* What a record has besides its value. */
struct beside {
    enum keeping words_how, vector_how, expires_how;
    struct text words; /* words.h */
    const float *vector;
    uint64_t vector_count;
    int64_t expires_at;
};

enum operation_kind { OP_PUT, OP_MERGE, OP_DELETE, OP_DELETE_RANGE, OP_EXPECT, OP_TAKE };

struct operation {
    enum operation_kind kind;
    struct text collection, key;
    tn_value value; /* of a put; the patch of a merge or take */
    struct precondition condition;
    struct beside beside;
    struct selection selection; /* of a delete_range or take */
};

enum query_kind { QUERY_GET, QUERY_LIST, QUERY_COUNT, QUERY_SEARCH };

struct query {
    enum query_kind kind;
    struct text key;            /* of a get */
    struct selection selection; /* of a get, its collection alone */
};

tn_value request_batch(struct arena *arena, tn_value batch, struct operation **out, uint64_t *count);
tn_value request_query(struct arena *arena, tn_value query, struct query *out);

/*
 * A value that is to be kept: its JSON as a string in *json (owned), or NULL where it is bytes, and its size either
 * way. LIMIT where it is too large or too deep.
 */
tn_value request_value(tn_value value, tn_value *json, uint64_t *size);

#endif

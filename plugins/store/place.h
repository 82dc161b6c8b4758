/*
 * place.h - what a store has to be able to do, and what is made of it: the two calls of tenon/store.h.
 *
 * A store is a `struct place`: a table of a few things that only it can do (find a record, write one, go through some
 * in order). All that is the same in every store is here: checking, what each operation means, results and failures.
 *
 *     static const struct place place = {begin, end, undo, find, write, remove, remove_range, list, count, search};
 *     static int32_t commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
 *         return place_commit(&place, store, batch, result, error);
 *     }
 *
 * Functions of the table return a failure, or NULL. Between begin and end, and nowhere else, there is writing; what
 * fails in between is followed by undo. Records that have expired at `now` are not found.
 */
#ifndef TENON_PLUGINS_STORE_PLACE_H
#define TENON_PLUGINS_STORE_PLACE_H

#include "base.h"
#include "request.h"

struct record {
    struct text key;
    int64_t version; /* 0: there is none */
    tn_value value;
    uint64_t size; /* of the value, for TN_STORE_PAGE_MAX */
    double score;  /* of a search */
};

/* A record as it is to be; `beside` says what of the rest changes. */
struct change {
    struct text collection, key;
    int64_t version;
    tn_value value;
    struct text json; /* data is NULL where the value is bytes */
    uint64_t size;
    const struct beside *beside;
};

/* Where a list goes to. */
struct page;

struct place {
    tn_value (*begin)(tn_store *store);
    tn_value (*end)(tn_store *store);
    void (*undo)(tn_store *store);
    /* `out` has version 0 where there is none; its value is owned by the caller, and NULL unless `want_value`. */
    tn_value (*find)(tn_store *store, struct text collection, struct text key, int64_t now, bool want_value,
                     struct record *out);
    tn_value (*write)(tn_store *store, const struct change *change, int64_t now);
    tn_value (*remove)(tn_store *store, struct text collection, struct text key);
    tn_value (*remove_range)(tn_store *store, const struct selection *selection, int64_t now, int64_t *count);
    /* Every record that fits, in order, to page_add, until that says no. */
    tn_value (*list)(tn_store *store, const struct selection *selection, int64_t now, struct page *page);
    tn_value (*count)(tn_store *store, const struct selection *selection, int64_t now, int64_t *count);
    tn_value (*search)(tn_store *store, const struct selection *selection, int64_t now, struct page *page);
};

/* Borrows everything. False: no more of them. */
bool page_add(struct page *page, const struct record *record);

int32_t place_commit(const struct place *place, tn_store *store, tn_value batch, tn_value *result, tn_value *error);
int32_t place_query(const struct place *place, tn_store *store, tn_value query, tn_value *result, tn_value *error);

/*
 * The options that every store has (path, indexes, use) are there and nothing but those and its own (ended by NULL):
 * INVALID otherwise, with the nearest name. `store` names it in messages.
 */
tn_value place_options(tn_value options, const char *store, const char *const *own, struct text *path);

/* Puts a failure, taken, where the caller of the interface finds it; returns the status. NULL: TN_OK. */
int32_t place_fail_take(tn_value failure, tn_value *error);
/* {removed, bytes} of maintain. */
int32_t place_maintained(int64_t removed, int64_t bytes, tn_value *result);

/* The cosine of two vectors: 0 where one is nothing but zeros. */
double likeness(const float *a, const float *b, uint64_t count);

/* What tn_plugin_entry_1 does: NULL, with the reason in the log, where the host lacks what a store needs. */
const tn_plugin *place_entry(const tn_host *host, const tn_plugin *plugin);

#endif

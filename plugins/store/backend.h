/*
 * backend.h - the functions that a store implements, and `commit` and `query` of tenon/store.h on top of them.
 *
 * A store fills in a `struct backend`, whose functions find, write and list records. What is the same in every store is
 * in backend.c: it checks requests, applies the operations, and builds results and failures.
 *
 *     static const struct backend backend = {begin, commit, rollback, find, write, remove, remove_range, list, …};
 *     static int32_t store_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
 *         return backend_commit(&backend, store, batch, result, error);
 *     }
 *
 * The functions return a failure, or NULL. `write`, `remove` and `remove_range` are called only in a transaction, that
 * is, after `begin`. Records that have expired at `now` (ms since 1970 UTC) are not found.
 */
#ifndef TENON_PLUGINS_STORE_BACKEND_H
#define TENON_PLUGINS_STORE_BACKEND_H

#include "base.h"
#include "request.h"

struct record {
    struct text key;
    int64_t version; /* 0: no record */
    tn_value value;
    uint64_t size; /* of the value in bytes, for TN_STORE_PAGE_MAX */
    double score;  /* of a search */
};

/* The new content of a record. */
struct change {
    struct text collection, key;
    int64_t version;
    tn_value value;
    struct text json; /* data is NULL if the value is bytes */
    uint64_t size;
    const struct attributes *attributes;
};

/* Receives the records of a list or search. */
struct page;

struct backend {
    /* If `begin` succeeds, `commit` or `rollback` follows. If `commit` fails, `rollback` follows. */
    tn_value (*begin)(tn_store *store);
    tn_value (*commit)(tn_store *store);
    void (*rollback)(tn_store *store);
    /* If the record does not exist, out->version is 0. Without `want_value`, out->value is NULL; the caller owns it. */
    tn_value (*find)(tn_store *store, struct text collection, struct text key, int64_t now, bool want_value,
                     struct record *out);
    tn_value (*write)(tn_store *store, const struct change *change, int64_t now);
    /* Removes a record that `find` has just returned. */
    tn_value (*remove)(tn_store *store, struct text collection, struct text key);
    /* Removes the expired records too, but *count does not include them. */
    tn_value (*remove_range)(tn_store *store, const struct selection *selection, int64_t now, int64_t *count);
    /* Calls page_add for each matching record, in order, until it returns false. */
    tn_value (*list)(tn_store *store, const struct selection *selection, int64_t now, struct page *page);
    tn_value (*count)(tn_store *store, const struct selection *selection, int64_t now, int64_t *count);
    /* Like `list`, with the best score first. Sets record->score. */
    tn_value (*search)(tn_store *store, const struct selection *selection, int64_t now, struct page *page);
};

/* Adds a copy of the record. False if the page is full: stop. */
bool page_add(struct page *page, const struct record *record);

int32_t backend_commit(const struct backend *backend, tn_store *store, tn_value batch, tn_value *result,
                       tn_value *error);
int32_t backend_query(const struct backend *backend, tn_store *store, tn_value query, tn_value *result,
                      tn_value *error);

/*
 * Checks the names of the options, and stores `path` (borrowed) in *path. Every store has the options `path`, `indexes`
 * and `use`; `own` lists the others of this store (NULL-terminated). An unknown option is INVALID; the message suggests
 * the nearest name. `store` is the store's name for messages.
 */
tn_value backend_read_options(tn_value options, const char *store, const char *const *own, struct text *path);

/* Returns TN_OK if `failure` is NULL. Otherwise moves it to *error (releases it if `error` is NULL): TN_FAILED. */
int32_t backend_fail_take(tn_value failure, tn_value *error);
/* Builds {removed, bytes}, the result of maintain. */
int32_t backend_make_maintain_result(int64_t removed, int64_t bytes, tn_value *result);

/* Returns the cosine similarity of two vectors. 0 if one of them is zero. */
double vector_similarity(const float *a, const float *b, uint64_t count);

/* Implements tn_plugin_entry_1. Returns NULL, and logs the reason, if the host lacks an interface that stores need. */
const tn_plugin *backend_plugin_entry(const tn_host *host, const tn_plugin *plugin);

#endif

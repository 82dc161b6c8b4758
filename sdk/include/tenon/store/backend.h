/*
 * tenon/store/backend.h - the functions that a store implements, and `commit` and `query` of tenon/store.h on top of
 * them.
 *
 * A store fills in a `struct tn_store_backend`, whose functions find, write and list records. What is the same in every
 * store is in sdk/store/backend.c: it checks requests, applies the operations, and builds results and failures.
 *
 *     static const struct tn_store_backend backend = {begin, commit, rollback, find, write, remove, …};
 *
 *     static int32_t TN_ABI commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
 *         return tn_store_backend_commit(&backend, store, batch, result, error);
 *     }
 *
 * The sources are in share/tenon/store, and are compiled into the plugin: target_link_libraries(acme PRIVATE
 * Tenon::store). The plugin begins with TN_PLUGIN of tenon/easy.h, and offers the store with TN_PROVIDES. samples/store
 * is a complete one.
 *
 * The functions return a failure, or NULL. `write`, `remove` and `remove_range` are called only in a transaction, that
 * is, after `begin`. Records that have expired at `now` (ms since 1970 UTC) are not found.
 */
#ifndef TENON_STORE_BACKEND_H
#define TENON_STORE_BACKEND_H

#include <tenon/store/base.h>
#include <tenon/store/request.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tn_store_record {
    struct tn_store_text key;
    int64_t version; /* 0: no record */
    tn_value value;
    uint64_t size; /* of the value in bytes, for TN_STORE_PAGE_MAX */
    double score;  /* of a search */
    /* Only if selection->attributes is true: what a write has set, see tn_store_attributes. */
    struct tn_store_text words; /* in any order; data is NULL if the record has none */
    const float *vector;        /* NULL if the record has none */
    uint64_t vector_count;
    bool expires;
    int64_t expires_at;
};

/* The new content of a record. */
struct tn_store_change {
    struct tn_store_text collection, key;
    int64_t version;
    tn_value value;
    struct tn_store_text json; /* data is NULL if the value is bytes */
    uint64_t size;
    const struct tn_store_attributes *attributes;
};

/* Receives the records of a list or search, or the names of collections. */
struct tn_store_page;

#define TN_STORE_COLLECTIONS_MAX 10000 /* names in the result of `collections`; more: LIMIT */

struct tn_store_backend {
    /* If `begin` succeeds, `commit` or `rollback` follows. If `commit` fails, `rollback` follows. */
    tn_value (*begin)(tn_store *store);
    tn_value (*commit)(tn_store *store);
    void (*rollback)(tn_store *store);
    /* If the record does not exist, out->version is 0. Without `want_value`, out->value is NULL; the caller owns it. */
    tn_value (*find)(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                     bool want_value, struct tn_store_record *out);
    tn_value (*write)(tn_store *store, const struct tn_store_change *change, int64_t now);
    /* Removes a record that `find` has just returned. */
    tn_value (*remove)(tn_store *store, struct tn_store_text collection, struct tn_store_text key);
    /* Removes the expired records too, but *count does not include them. */
    tn_value (*remove_range)(tn_store *store, const struct tn_store_selection *selection, int64_t now, int64_t *count);
    /* Calls tn_store_page_add for each matching record, in order, until it returns false. */
    tn_value (*list)(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                     struct tn_store_page *page);
    tn_value (*count)(tn_store *store, const struct tn_store_selection *selection, int64_t now, int64_t *count);
    /* Like `list`, with the best score first. Sets record->score. */
    tn_value (*search)(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                       struct tn_store_page *page);
    /* Calls tn_store_page_add_name for each collection that has records, in the order of their bytes, until it returns
     * false. NULL: the query `collections` fails with UNSUPPORTED. */
    tn_value (*collections)(tn_store *store, int64_t now, struct tn_store_page *page);
    /* Stores the version of the location's format, and the one found when it was opened (0: it was created). NULL: both
     * are 1. */
    tn_value (*format)(tn_store *store, int64_t *version, int64_t *before);
    /*
     * Optional: called before `begin` with all operations of the batch, which are borrowed until commit or rollback. A
     * store that is far away can then read what they need in one request. If it fails, nothing follows.
     */
    tn_value (*prepare)(tn_store *store, const struct tn_store_operation *operations, uint64_t count, int64_t now);
    /* Like `write`, without `find` before: adds the record, unless there is one with its key, expired or not. NULL:
     * `find` and `write` are called instead. */
    tn_value (*add)(tn_store *store, const struct tn_store_change *change, int64_t now, bool *added);
};

/* Adds a copy of the record. False if the page is full: stop. */
bool tn_store_page_add(struct tn_store_page *page, const struct tn_store_record *record);
/* Adds the name of a collection. False if the page is full: stop. */
bool tn_store_page_add_name(struct tn_store_page *page, struct tn_store_text name);

int32_t tn_store_backend_commit(const struct tn_store_backend *backend, tn_store *store, tn_value batch,
                                tn_value *result, tn_value *error);
int32_t tn_store_backend_query(const struct tn_store_backend *backend, tn_store *store, tn_value query,
                               tn_value *result, tn_value *error);

/*
 * Checks the names of the options, and stores `path` (borrowed) in *path. Every store has the options `path`, `indexes`
 * and `use`; `own` lists the others of this store (NULL-terminated). An unknown option is INVALID; the message suggests
 * the nearest name. `store` is the store's name for messages.
 */
tn_value tn_store_read_options(tn_value options, const char *store, const char *const *own, struct tn_store_text *path);

/*
 * Read one option of the store `store`, INVALID if it is of another kind. An option that is absent or null leaves *out
 * as it is. `choices` ends with NULL; *out is one of them.
 */
tn_value tn_store_read_number(tn_value options, const char *store, const char *name, int64_t least, int64_t most,
                              int64_t *out);
tn_value tn_store_read_bool(tn_value options, const char *store, const char *name, bool *out);
tn_value tn_store_read_choice(tn_value options, const char *store, const char *name, const char *const *choices,
                              const char **out);

/* Returns TN_OK if `failure` is NULL. Otherwise moves it to *error (releases it if `error` is NULL): TN_FAILED. */
int32_t tn_store_fail_take(tn_value failure, tn_value *error);
/* Builds {removed, bytes}, the result of maintain. */
int32_t tn_store_make_maintained(int64_t removed, int64_t bytes, tn_value *result);

/* Returns the cosine similarity of two vectors. 0 if one of them is zero. */
double tn_store_vector_similarity(const float *a, const float *b, uint64_t count);

#ifdef __cplusplus
}
#endif
#endif

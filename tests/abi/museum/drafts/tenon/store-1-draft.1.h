/*
 * tenon/store.h - draft: a place where things stay: what a store plugin provides to the host.
 *
 * A store holds *records*. A record belongs to a collection and has a key (text, ordered by its bytes), a value (any
 * tn_value, bytes included) and a version, 1 when it is made and one more with each change. Everything that the host
 * keeps (threads and their logs of writes, Tasks, Artifacts, memories) is made of records, and of two calls: `commit`,
 * which applies a batch whole or not at all, and `query`. Their semantics are the host's; a store needs to know none.
 * Names of collections and members may be anything; 1,024 bytes are the most for a key.
 *
 * commit: a batch is an array of operations, applied in order, each seeing those before it. The result is an array of
 * the same length. Where one of them fails, nothing of the batch has happened, and the error's detail has its `index`.
 *   {op: "put", collection, key, value, if?, text?, vector?, expires_at?}  -> {version}
 *   {op: "merge", collection, key, patch, if?, text?, vector?, expires_at?} -> {version, value}: JSON
 *                                                                    Merge Patch (RFC 7396), of {} where there is none
 *   {op: "delete", collection, key, if?}                             -> {} ; nothing there is fine, without `if`
 *   {op: "delete_range", collection, from?, to?}                     keys in [from, to) -> {count}
 *   {op: "expect", collection, key, if}                              changes nothing -> {version}
 *   {op: "take", collection, where?, order?, patch}                  merges `patch` into the first record that fits,
 *                                                                    -> {key, version, value}, or {key: null}
 * `if` is {version: N} (0: there is none), {where: FILTER} (there is one, and it fits) or both; else CONFLICT, whose
 * detail has {index, key, version} as found. `text` is what full-text search finds the record by, `vector` an array of
 * numbers for search by likeness; a put without them takes away what there was, a merge without them leaves it (as it
 * does `expires_at`; null takes it away). From its `expires_at` on (ms since 1970 UTC) a record is not there. `take`
 * takes each record once, whoever else is taking; with many takers it should not make them wait for each other.
 *
 * query: {get: {collection, key}}                            -> {version, value}, or null
 *        {list: {collection, from?, to?, where?, order?, reverse?, limit?, after?, keys_only?}}
 *                                                            -> {records: [{key, version, value}], more: bool}
 *        {count: {collection, from?, to?, where?}}           -> an integer
 *        {search: {collection, text | vector, where?, from?, to?, limit?}} -> {records: [{key, version, value, score}]}
 * `list` is ordered by key, or by `order`, an array of member paths and then the key; `reverse` turns all of it around;
 * `after` continues after that key (with `order`: that record; NOT_FOUND where it is gone). An `order` has nothing and
 * null first, then false and true (as 0 and 1) among the numbers, then strings by their bytes, and anything else as its
 * JSON among them. With `keys_only` records have no value. `search` finds the records that have every word of `text`,
 * in any case, best first; or those with a vector as long as `vector`, by the cosine between the two.
 *
 * FILTER: an object of member paths ("state", "payload.priority"; dots go into objects) to what must hold there: a
 * value (equal; null: null or absent), or an object of {eq, ne, lt, le, gt, ge: value, in: [values], exists: bool,
 * contains: value in an array}. Only numbers and strings are less or greater, each among themselves. `{any: [FILTER,
 * …]}` beside them: one must hold. All members must hold.
 *
 * Errors: an object {code, message, detail?, retryable?}. CONFLICT, INVALID, NOT_FOUND, UNSUPPORTED, LIMIT;
 * STORE_BUSY (locked by another; retryable), STORE_FULL (the disk is), STORE_READ_ONLY, STORE_CORRUPT, STORE_VERSION
 * (made by a newer release; nothing was touched), STORE_ERROR. What was committed before stays whole.
 */
#ifndef TENON_STORE_H
#define TENON_STORE_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Beyond these: LIMIT. In bytes, but where it says otherwise. */
#define TN_STORE_KEY_MAX    1024     /* of a key, of a collection's name, of a member path */
#define TN_STORE_VALUE_MAX  16777216 /* of a value, as JSON, or as bytes */
#define TN_STORE_DEPTH_MAX  200      /* arrays and objects in one another, of a value */
#define TN_STORE_TEXT_MAX   1048576  /* of a text to find a record by, or to search for */
#define TN_STORE_WORDS_MAX  100      /* words to search for */
#define TN_STORE_VECTOR_MAX 16384    /* numbers of a vector */
#define TN_STORE_BATCH_MAX  10000    /* operations of a batch */
#define TN_STORE_FILTER_MAX 256      /* conditions of a filter; `any` in `any`: 8 deep */
#define TN_STORE_IN_MAX     1000     /* values of an `in` */
#define TN_STORE_ORDER_MAX  8        /* members of an `order` */
#define TN_STORE_LIMIT      100      /* records of a list where no `limit` is given */
#define TN_STORE_LIMIT_MAX  10000    /* records of a list or search */
#define TN_STORE_PAGE_MAX   67108864 /* of a list's values: it ends before, with `more` */

typedef struct tn_store tn_store;

#define TN_STORE_DRAFT "tenon.store/1-draft.1"
/*
 * From the plugin, which names it in `provides`. Everything may block: a [store] function is called on a thread of the
 * host's, never two at once for one open store, open and close on the same one. Several stores, of one process or of
 * many, may be open on the same place.
 */
typedef struct tn_store_draft {
    uint32_t size;
    uint32_t reserved;
    /*
     * [store] Opens the place that `options` names, making it where it is missing. The host gives {path} (a file or
     * folder of its own choosing, absolute), the members of the operator's `store:` section (`use`, which names the
     * plugin, among them; INVALID where it knows one not), and `indexes`: {collection: [[path, …], …]}, what filters
     * and orders will ask for most. TN_OK and *store, or TN_FAILED and *error.
     */
    int32_t (*open)(void *self, tn_value options, tn_store **store, tn_value *error);
    /* [store] What is not committed is dropped. NULL does nothing. */
    void (*close)(tn_store *store);
    /* [store] TN_OK and *result, or TN_FAILED and *error. Durable when it returns, as far as `sync` says. */
    int32_t (*commit)(tn_store *store, tn_value batch, tn_value *result, tn_value *error);
    /* [store] Sees everything that has been committed before it is called, by anybody. */
    int32_t (*query)(tn_store *store, tn_value query, tn_value *result, tn_value *error);
    /* [store] Removes what has expired, folds logs, and the like; called now and then. -> {removed, bytes}: how
     * many records, and how much the place takes up. */
    int32_t (*maintain)(tn_store *store, tn_value *result, tn_value *error);
} tn_store_draft;

#ifdef __cplusplus
}
#endif
#endif

/*
 * tenon/store.h - draft: what a store plugin provides to the host.
 *
 * A store keeps *records*. A record belongs to a collection and has a key (text, ordered by its bytes), a value (any
 * tn_value, bytes included) and a version, which is 1 for a new record and increases by one with each change.
 * Everything that the host saves (threads and their journals, Tasks, Artifacts, memories) is records, and uses two
 * calls: `commit` applies a batch completely or not at all; `query` reads. The store does not need to understand the
 * records. Names of collections and members can be any text. A key has at most 1,024 bytes.
 *
 * commit: a batch is an array of operations. They are applied in order; each sees the effect of those before it. The
 * result is an array of the same length. If one operation fails, nothing of the batch is applied, and the error's
 * detail has its `index`.
 *   {op: "put", collection, key, value, if?, text?, vector?, expires_at?, version?} -> {version}
 *   {op: "merge", collection, key, patch, if?, text?, vector?, expires_at?} -> {version, value}: JSON Merge Patch (RFC
 *                                                     7396), of {} if the record does not exist
 *   {op: "delete", collection, key, if?}              -> {}; without `if` the record may be missing
 *   {op: "delete_range", collection, from?, to?}      -> {count}: keys in [from, to)
 *   {op: "expect", collection, key, if}               -> {version}: changes nothing
 *   {op: "take", collection, where?, order?, patch}   -> {key, version, value}, or {key: null}: merges `patch` into
 *                                                     the first matching record
 * `if` is {version: N} (0: the record does not exist), {where: FILTER} (it exists and matches) or both. Otherwise the
 * error is CONFLICT, whose detail has {index, key, version} as found. Full-text search finds the record by `text`,
 * search by similarity by `vector`, an array of numbers. A put without them removes them; a merge without them keeps
 * them. The same holds for `expires_at`, which null removes. A put with `version` gives the record this version, for a
 * copy of a store; the error is CONFLICT unless it is greater than the version that the record has. A record does not
 * exist any more from its `expires_at` on (ms since 1970 UTC). `take` returns each record to one caller only, also
 * with concurrent callers, which should not block each other.
 *
 * query: {get: {collection, key}}                            -> {version, value}, or null
 *        {list: {collection, from?, to?, where?, order?, reverse?, limit?, after?, keys_only?, attributes?}}
 *                                                            -> {records: [{key, version, value}], more: bool}
 *        {count: {collection, from?, to?, where?}}           -> an integer
 *        {search: {collection, text | vector, exact?, where?, from?, to?, limit?}} -> {records: [{key, version, value,
 *                                                             score}]}
 *        {collections: {}}                                   -> {collections: [name, …]}
 *        {format: {}}                                        -> {version, before}
 * `list` is ordered by key, or by `order`, an array of member paths, and then by key; `reverse` reverses the whole
 * order; `after` continues after that key (with `order`: after that record; NOT_FOUND if it does not exist). In an
 * `order`, missing and null come first, then numbers with false and true as 0 and 1, then strings by their bytes; any
 * other value is ordered as the string of its JSON. With `keys_only` records have no value. With `attributes`, a record
 * that has them also has `text` (its words in lower case, ordered by their bytes, separated by a space), `vector` and
 * `expires_at`. `search` with `text` finds
 * the records that contain every word of it, ignoring case, best first; with `vector` those with a vector of the same
 * length, by the cosine of the two: a store may miss some of the best of many thousands, but not with `exact`, and
 * never one that has no such index, which need not know `exact`. `collections` lists those that have records, in the
 * order of their bytes; a collection whose records have all expired may be in it. `format` is the version of the
 * location's format, from 1 on, and the one that this open store found: 0 if it created the location. These two and
 * `attributes` are for `tenon store`.
 *
 * FILTER: an object from member paths ("state", "payload.priority"; dots enter objects) to conditions: a value (equal;
 * null: null or missing), or an object of {eq, ne, lt, le, gt, ge: value, in: [values], exists: bool, contains: value
 * in an array}. Only numbers and strings are ordered, each among themselves. All members must match; with `{any:
 * [FILTER, …]}`, also at least one of those.
 *
 * Errors: an object {code, message, detail?, retryable?}. CONFLICT, INVALID, NOT_FOUND, UNSUPPORTED, LIMIT;
 * STORE_BUSY (locked by another process; retryable), STORE_FULL (no disk space), STORE_READ_ONLY, STORE_CORRUPT,
 * STORE_VERSION (written by a newer release; nothing was changed), STORE_ERROR. Earlier commits are not affected.
 *
 * tenon/store/backend.h implements commit and query on functions that find, write and list records, and
 * tenon/store/map.h these on records in memory. `tenon plugin check` runs the conformance suite of
 * share/tenon/store/conformance, kills the store while it writes, and writes from two processes.
 */
#ifndef TENON_STORE_H
#define TENON_STORE_H

#include <stddef.h>
#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Beyond these: LIMIT. In bytes, unless stated otherwise. */
#define TN_STORE_KEY_MAX    1024     /* of a key, a collection's name, a member path */
#define TN_STORE_VALUE_MAX  16777216 /* of a value, as JSON or as bytes */
#define TN_STORE_DEPTH_MAX  200      /* nesting of arrays and objects in a value */
#define TN_STORE_TEXT_MAX   1048576  /* of a record's `text`, and of a text to search for */
#define TN_STORE_WORDS_MAX  100      /* words to search for */
#define TN_STORE_VECTOR_MAX 16384    /* numbers of a vector */
#define TN_STORE_BATCH_MAX  10000    /* operations of a batch */
#define TN_STORE_FILTER_MAX 256      /* conditions of a filter; `any` in `any`: 8 deep */
#define TN_STORE_IN_MAX     1000     /* values of an `in` */
#define TN_STORE_ORDER_MAX  8        /* members of an `order` */
#define TN_STORE_LIMIT      100      /* records of a list without `limit` */
#define TN_STORE_LIMIT_MAX  10000    /* records of a list or search */
#define TN_STORE_PAGE_MAX   67108864 /* of all values of a list: it ends before, with `more` */

typedef struct tn_store tn_store;
typedef void TN_ABI tn_watch_fn(void *user);

#define TN_STORE_DRAFT "tenon.store/1-draft.3"
/*
 * From the plugin, which lists it in `provides`. Every function may block: a [store] function is called on a thread of
 * the host, one at a time for each open store; open and close are called on the same thread. Several stores, of one or
 * several processes, can be open at the same location.
 */
typedef struct tn_store_draft {
    uint64_t size;
    /*
     * [store] Opens the location that `options` names, and creates it if it does not exist. The options are {path} (an
     * absolute file or folder that the host chose), the members of the operator's `store:` section, including `use`,
     * which names the plugin (INVALID for an unknown member), and `indexes`: {collection: [[path, …], …]}, the members
     * that filters and orders use most. "updated_at:13" is the first 13 bytes of the member `updated_at`: an index over
     * it is written less often. TN_OK and *store, or TN_FAILED and *error.
     */
    int32_t TN_FN(open)(void *self, tn_value options, tn_store **store, tn_value *error);
    /* [store] Closes the store. NULL does nothing. */
    void TN_FN(close)(tn_store *store);
    /* [store] TN_OK and *result, or TN_FAILED and *error. Durable on return, as the option `sync` specifies. */
    int32_t TN_FN(commit)(tn_store *store, tn_value batch, tn_value *result, tn_value *error);
    /* [store] Sees all commits that completed before the call, also those of other processes. */
    int32_t TN_FN(query)(tn_store *store, tn_value query, tn_value *result, tn_value *error);
    /* [store] Removes expired records, compacts logs and so on; called periodically. -> {removed, bytes}: the number of
     * removed records, and the size of the location. */
    int32_t TN_FN(maintain)(tn_store *store, tn_value *result, tn_value *error);
    /*
     * The functions from here on are optional: NULL, or beyond `size`.
     *
     * [store] From now on until close, `changed(user)` is called from a thread of the plugin, at most once in 5 ms,
     * after a commit of any process has changed the collection tasks, threads or notifications. It must return quickly.
     * It may be called without a change; and a change may be missed, so the host also asks from time to time.
     * TN_UNSUPPORTED if this location cannot do it.
     */
    int32_t TN_FN(watch)(tn_store *store, tn_watch_fn *changed, void *user);
    /* [store] The store's time in ms since 1970 UTC: one clock for all hosts that use the location. It decides which
     * records have expired, and the host's claims use it. Without this function, the host's clock is used. */
    int64_t TN_FN(wall_ms)(tn_store *store);
    /*
     * [store] group(1) opens a group, and group(0) ends it. Each batch of a group is still applied completely or not at
     * all, and commit and query see those before it; but they become durable together, when group(0) returns TN_OK. If
     * it returns TN_FAILED, nothing of the group was applied, although its commits returned TN_OK; so the host reports
     * no result before. In a group, the host calls only commit, query, wall_ms and group(0). Without this function, the
     * host merges commits that wait into one batch.
     */
    int32_t TN_FN(group)(tn_store *store, int32_t open, tn_value *error);
} tn_store_draft;
/* The size of the struct without the optional functions. */
#define TN_STORE_DRAFT_SIZE offsetof(tn_store_draft, watch)

#ifdef __cplusplus
}
#endif
#endif

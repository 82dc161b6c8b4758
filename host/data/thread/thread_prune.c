/*
 * thread_prune.c - one job on the store's thread. No commit of this process runs meanwhile, and those of another writer
 * have another fence.
 */
#include "host/data/thread/thread_prune.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_pack.h"
#include "host/data/thread/thread_records.h"
#include <stdlib.h>
#include <string.h>
#include <tenon/store.h>

#define PRUNE_CHUNKS_MAX                                                                                               \
    (TN_STORE_BATCH_MAX - 100) /* chunks that are removed at once; the next removal has the rest                       \
                                */

struct thread_pruning {
    char key[THREAD_KEY_MAX];
    int64_t fence, keep;
};

struct prune_reader {
    struct session *session;
    const char *key;
    tn_value hashes; /* {hash: true}: chunks that are referred to */
    tn_value scopes; /* {scope: null}: nested runs that have not ended */
};

static int32_t add_hashes(void *user, const char *key, tn_value value, struct error *error) {
    struct prune_reader *it = user;
    (void)key, (void)error;
    tn_value node = value_get(value, "node"); /* of a snapshot */
    it->hashes = node ? thread_node_hashes_take(it->hashes, node) : thread_packed_hashes_take(it->hashes, value);
    return TN_OK;
}

static int32_t add_nested(void *user, const char *key, tn_value value, struct error *error) {
    struct prune_reader *it = user;
    const char *scope = key + strlen(it->key) + 1, *slash = strchr(scope, '/');
    if (slash) it->scopes = value_set_key_take(it->scopes, value_text_n(scope, (size_t)(slash - scope)), value_null());
    return add_hashes(user, key, value, error);
}

/* The newest snapshot at or before checkpoint `seq`, or -1. */
static int32_t find_snapshot(struct session *session, const char *key, int64_t seq, int64_t *out, struct error *error) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX], digits[12];
    tn_value page = NULL;
    thread_number(digits, (uint32_t)seq + 1);
    thread_key_of(from, key, (const char *const[]){"", NULL});
    thread_key_of(to, key, (const char *const[]){digits, NULL});
    tn_value query = store_list(STORE_SNAPSHOTS, from, to, 1), list = value_ref(value_get(query, "list"));
    list = value_set_take(list, "reverse", value_bool(true));
    query = value_set_take(query, "list", value_set_take(list, "keys_only", value_bool(true)));
    int32_t status = session_query_take(session, query, &page, error);
    tn_value records = value_get(page, "records");
    *out = value_count(records) ? strtoll(thread_record_text(value_at(records, 0), "key") + strlen(key) + 1, NULL, 10)
                                : -1;
    value_unref(page);
    return status;
}

/* ---- What is removed ---- */

static tn_value delete_before(tn_value batch, const char *collection, const char *key, const char *const *first,
                              const char *const *end) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    thread_key_of(from, key, first);
    thread_key_of(to, key, end);
    return value_push_take(batch, store_delete_range(collection, from, to));
}

/* Calls of a nested run are needed until the run has ended; those of the outermost run until the step has. */
struct prune_journal {
    struct prune_reader *reader;
    tn_value batch;
    char last[THREAD_KEY_MAX]; /* the scope that was looked at last */
};

static int32_t add_journal_scope(void *user, const char *key, tn_value value, struct error *error) {
    struct prune_journal *journal = user;
    struct prune_reader *it = journal->reader;
    const char *scope = key + strlen(it->key) + 1, *slash = strchr(scope, '/');
    size_t length = slash ? (size_t)(slash - scope) : 0;
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    if (length == 0 || (strncmp(journal->last, scope, length) == 0 && !journal->last[length]))
        return add_hashes(it, key, value, error);
    memcpy(journal->last, scope, length);
    journal->last[length] = 0;
    bool kept = strcmp(journal->last, "-") == 0 || strcmp(journal->last, THREAD_ANSWERS) == 0 ||
                value_get(it->scopes, journal->last);
    if (kept) return add_hashes(it, key, value, error);
    thread_key_range(from, to, it->key, (const char *const[]){journal->last, NULL});
    journal->batch = value_push_take(journal->batch, store_delete_range(STORE_JOURNAL, from, to));
    return TN_OK;
}

static int32_t delete_chunks(struct prune_reader *it, tn_value *batch, struct error *error) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value after = NULL;
    int32_t status = TN_OK;
    size_t prefix = strlen(it->key) + 1, removed = 0;
    thread_key_of(from, it->key, (const char *const[]){"", NULL});
    thread_key_end(to, it->key);
    for (bool more = true; more && status == TN_OK;) {
        tn_value query = store_list(STORE_CHUNKS, from, to, TN_STORE_LIMIT_MAX), page = NULL;
        tn_value list = value_set_take(value_ref(value_get(query, "list")), "keys_only", value_bool(true));
        if (after) list = value_set_take(list, "after", after);
        after = NULL;
        status = session_query_take(it->session, value_set_take(query, "list", list), &page, error);
        tn_value records = value_get(page, "records");
        for (size_t i = 0; i < value_count(records); i++) {
            tn_value key = value_get(value_at(records, i), "key");
            if (removed < PRUNE_CHUNKS_MAX && !value_get(it->hashes, value_chars(key, NULL) + prefix)) {
                *batch = value_push_take(*batch, store_delete(STORE_CHUNKS, value_chars(key, NULL)));
                removed++;
            }
            if (i + 1 == value_count(records)) after = value_ref(key);
        }
        more = value_count(records) > 0 && value_get(page, "more") == value_bool(true);
        value_unref(page);
    }
    value_unref(after);
    return status;
}

static int32_t prune_each(struct prune_reader *it, const char *collection, const char *first, session_visit_fn *visit,
                          void *user, struct error *error) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    thread_key_of(from, it->key, (const char *const[]){first, NULL});
    thread_key_end(to, it->key);
    return session_each(it->session, collection, from, to, visit, user, error);
}

static int32_t prune_from(struct prune_reader *it, int64_t fence, int64_t seq, int64_t step, struct error *error) {
    char digits[12], number[12];
    thread_number(digits, (uint32_t)seq);
    thread_number(number, (uint32_t)step);
    tn_value patch = value_set_take(value_object_reserve(1), "oldest", value_int(seq));
    tn_value batch = value_push_take(
        value_array(), store_if_where(store_merge(STORE_THREADS, it->key, patch), thread_fence_condition(fence)));
    batch = delete_before(batch, STORE_CHECKPOINTS, it->key, (const char *const[]){"", NULL},
                          (const char *const[]){digits, NULL});
    batch = delete_before(batch, STORE_SNAPSHOTS, it->key, (const char *const[]){"", NULL},
                          (const char *const[]){digits, NULL});
    batch = delete_before(batch, STORE_JOURNAL, it->key, (const char *const[]){"-", "", NULL},
                          (const char *const[]){"-", number, NULL});
    int32_t status = prune_each(it, STORE_CHECKPOINTS, digits, add_hashes, it, error);
    if (status == TN_OK) status = prune_each(it, STORE_SNAPSHOTS, digits, add_hashes, it, error);
    if (status == TN_OK) status = prune_each(it, STORE_PENDING, "", add_hashes, it, error);
    if (status == TN_OK) status = prune_each(it, STORE_NESTED, "", add_nested, it, error);
    struct prune_journal journal = {.reader = it, .batch = batch};
    if (status == TN_OK) status = prune_each(it, STORE_JOURNAL, "", add_journal_scope, &journal, error);
    if (status == TN_OK) status = delete_chunks(it, &journal.batch, error);
    if (status == TN_OK) return session_commit_take(it->session, journal.batch, NULL, error);
    value_unref(journal.batch);
    return status;
}

static int32_t prune_perform(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_pruning *pruning = user;
    tn_value found = NULL;
    (void)result;
    int32_t status = session_query_take(session, store_get(STORE_THREADS, pruning->key), &found, error);
    tn_value record = value_get(found, "value");
    int64_t head = thread_record_int(record, "head", -1), oldest = thread_record_int(record, "oldest", 0), seq = -1;
    int64_t last = head - (pruning->keep > 0 ? pruning->keep - 1 : 0);
    bool mine = status == TN_OK && thread_record_int(record, "fence", -1) == pruning->fence;
    /* With `last: N` only if it removes at least as much as it reads. */
    if (mine && last > oldest + pruning->keep) status = find_snapshot(session, pruning->key, last, &seq, error);
    if (status == TN_OK && seq > oldest) {
        struct prune_reader it = {session, pruning->key, value_object(), value_object()};
        status = prune_from(&it, pruning->fence, seq, thread_record_int(record, "step", 0) + 1, error);
        value_unref(it.hashes);
        value_unref(it.scopes);
    }
    value_unref(found);
    return status;
}

static void prune_done(void *user, int32_t status, tn_value result, const struct error *error) {
    const struct thread_pruning *pruning = user;
    (void)result;
    if (status != TN_OK && !(error->code && strcmp(error->code, "CONFLICT") == 0))
        log_write(LOG_WARN, NULL, "old checkpoints of the thread `%s` cannot be removed: %s", pruning->key,
                  error->message ? error->message : "the store failed");
    mem_free(user);
}

void thread_prune(struct store *store, const char *key, int64_t fence, int64_t keep) {
    struct thread_pruning *pruning = mem_zalloc(sizeof *pruning);
    memcpy(pruning->key, key, strlen(key) + 1);
    pruning->fence = fence;
    pruning->keep = keep;
    store_perform(store, prune_perform, pruning, prune_done, pruning);
}

int32_t thread_check_kept(const char *id, tn_value record, int64_t seq, struct error *error) {
    int64_t oldest = thread_record_int(record, "oldest", 0);
    if (seq >= oldest) return TN_OK;
    return error_set(
        error, TN_NOT_FOUND, "NOT_FOUND",
        "the checkpoint %lld of the thread `%s` was removed (`store.history` of tenon.yaml); the oldest that "
        "is left is %lld",
        (long long)seq, id, (long long)oldest);
}

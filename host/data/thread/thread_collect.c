/*
 * thread_collect.c - removes old threads by a policy, graphs that no thread is pinned to, and batches that are done and
 * have no thread.
 *
 * First it reads the records of all threads. Then it removes each thread in a separate batch, on condition that its
 * record has not changed since.
 */
#include "adl/value/memory.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_batch.h"
#include "host/data/thread/thread_owner.h"
#include "host/data/thread/thread_records.h"
#include <stdlib.h>
#include <string.h>

/* One thread; the strings are owned. */
struct candidate {
    char *key, *id, *agent, *status, *updated_at;
    bool expired, matches; /* matches: it has the status of the policy, and no living process runs it */
};

struct collecting {
    const struct store *store;
    struct session *session;
    const struct threads_policy *policy;
    struct candidate *items;
    size_t count, capacity;
    tn_value removed; /* {thread id: null} of removed threads */
    tn_value pinned;  /* {graph hash: null} of kept threads */
    tn_value graphs;  /* [hash] of all graphs */
    tn_value batches; /* {key: id} of the batches that are done */
    tn_value batched; /* {id of a batch: null} of kept threads */
};

static bool is_expired(tn_value record, const char *expired_before) {
    return expired_before && strcmp(thread_record_text(record, "status"), "interrupted") == 0 &&
           strcmp(thread_record_text(record, "updated_at"), expired_before) < 0;
}

static int32_t collect_candidate(void *user, const char *key, tn_value record, struct error *error) {
    struct collecting *it = user;
    bool expired = is_expired(record, it->policy->expired_before);
    (void)error;
    MEM_GROW(it->items, it->count, it->capacity);
    const char *status = thread_record_text(record, "status"), *id = thread_record_text(record, "thread_id");
    it->items[it->count++] = (struct candidate){.key = mem_text(key),
                                                .id = mem_text(id),
                                                .agent = mem_text(thread_record_text(record, "agent")),
                                                .status = mem_text(status),
                                                .updated_at = mem_text(thread_record_text(record, "updated_at")),
                                                .expired = expired,
                                                .matches = strcmp(status, it->policy->status) == 0 &&
                                                           thread_owner_check(it->store, id, record, NULL) == TN_OK};
    return TN_OK;
}

/* Sorts by agent and status, the newest first. */
static int compare_candidates(const void *a, const void *b) {
    const struct candidate *left = a, *right = b;
    int order = strcmp(left->agent, right->agent);
    if (!order) order = strcmp(left->status, right->status);
    if (!order) order = strcmp(right->updated_at, left->updated_at);
    return order ? order : strcmp(left->key, right->key);
}

static bool is_removable(const struct collecting *it, const struct candidate *candidate, int64_t newer) {
    const struct threads_policy *policy = it->policy;
    if (candidate->expired) return true;
    if (!candidate->matches || (!policy->before && policy->keep < 0)) return false;
    if (policy->keep >= 0 && newer < policy->keep) return false;
    return !policy->before || strcmp(candidate->updated_at, policy->before) < 0;
}

/* Removes the thread if its record is unchanged. Sets *removed to false if it has changed. */
static int32_t remove_candidate(struct collecting *it, const struct candidate *candidate, bool *removed,
                                struct error *error) {
    tn_value done = NULL;
    struct error why = ERROR_INIT;
    tn_value as_seen = value_set_take(value_object(), "updated_at", value_text(candidate->updated_at));
    tn_value batch =
        value_push_take(value_array(), store_if_where(store_delete(STORE_THREADS, candidate->key), as_seen));
    batch = value_concat_take(batch, thread_delete_rest(candidate->id));
    int32_t status = session_commit_take(it->session, batch, &done, &why);
    value_unref(done);
    *removed = status == TN_OK;
    bool changed = status != TN_OK && why.code && strcmp(why.code, "CONFLICT") == 0;
    if (status != TN_OK && !changed) error_move(error, &why);
    error_finish(&why);
    return changed ? TN_OK : status;
}

static int32_t remove_threads(struct collecting *it, struct error *error) {
    int32_t status = TN_OK;
    int64_t newer = 0; /* number of newer threads of the same agent and status */
    for (size_t i = 0; status == TN_OK && i < it->count; i++) {
        const struct candidate *candidate = &it->items[i], *before = i ? candidate - 1 : NULL;
        bool same =
            before && strcmp(before->agent, candidate->agent) == 0 && strcmp(before->status, candidate->status) == 0;
        newer = same ? newer + 1 : 0;
        if (!is_removable(it, candidate, newer)) continue;
        bool removed = true;
        if (!it->policy->dry_run) status = remove_candidate(it, candidate, &removed, error);
        if (status == TN_OK && removed) it->removed = value_set_take(it->removed, candidate->id, value_null());
    }
    return status;
}

/* ---- Graphs ---- */

static int32_t add_pinned(void *user, const char *key, tn_value record, struct error *error) {
    struct collecting *it = user;
    const char *graph = thread_record_text(record, "graph");
    (void)key, (void)error;
    if (*graph && !value_get(it->removed, thread_record_text(record, "thread_id")))
        it->pinned = value_set_take(it->pinned, graph, value_null());
    tn_value batch = value_get(value_get(record, THREAD_BATCH), "id");
    if (batch && value_is(batch, TN_STRING) && !value_get(it->removed, thread_record_text(record, "thread_id")))
        it->batched = value_set_key_take(it->batched, value_ref(batch), value_null());
    return TN_OK;
}

static int32_t add_batch(void *user, const char *key, tn_value record, struct error *error) {
    struct collecting *it = user;
    tn_value id = value_get(record, "id");
    (void)error;
    if (value_text_is(value_get(record, "status"), "done") && id && value_is(id, TN_STRING))
        it->batches = value_set_take(it->batches, key, value_ref(id));
    return TN_OK;
}

/* On condition that the batch was not started again. A batch that is not done is kept: it may have no thread yet. */
static int32_t remove_batches(struct collecting *it, struct error *error) {
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && !it->policy->dry_run && i < value_count(it->batches); i++) {
        tn_value id = value_value_at(it->batches, i), done = NULL;
        struct error why = ERROR_INIT;
        if (value_get_key(it->batched, id)) continue;
        tn_value same = value_set_take(value_object_reserve(2), "id", value_ref(id));
        same = value_set_take(same, "status", value_text("done"));
        tn_value remove = store_delete(STORE_BATCHES, value_chars(value_key_at(it->batches, i), NULL));
        status =
            session_commit_take(it->session, value_push_take(value_array(), store_if_where(remove, same)), &done, &why);
        value_unref(done);
        if (status != TN_OK && why.code && strcmp(why.code, "CONFLICT") == 0) status = TN_OK;
        if (status != TN_OK) error_move(error, &why);
        error_finish(&why);
    }
    return status;
}

static int32_t add_graph_hash(void *user, const char *key, tn_value value, struct error *error) {
    struct collecting *it = user;
    (void)value, (void)error;
    it->graphs = value_push_take(it->graphs, value_text(key));
    return TN_OK;
}

/*
 * The list of graphs was read before this pass over the threads. A graph that a new thread is being pinned to at this
 * moment may be removed too. Then only the list of differences is lost if the document of that thread changes.
 */
static int32_t remove_graphs(struct collecting *it, int64_t *count, struct error *error) {
    int32_t status = session_each(it->session, STORE_THREADS, NULL, NULL, add_pinned, it, error);
    for (size_t i = 0; status == TN_OK && i < value_count(it->graphs); i++) {
        tn_value hash = value_at(it->graphs, i), done = NULL;
        if (value_get_key(it->pinned, hash)) continue;
        ++*count;
        if (it->policy->dry_run) continue;
        tn_value operation = store_delete(STORE_GRAPHS, value_chars(hash, NULL));
        status = session_commit_take(it->session, value_push_take(value_array(), operation), &done, error);
        value_unref(done);
    }
    return status;
}

/* ---- The operation ---- */

/* The strings of the policy are owned. */
struct thread_collect_args {
    const struct store *store;
    struct threads_policy policy;
};

static void thread_collect_args_free(void *user) {
    struct thread_collect_args *args = user;
    mem_free((void *)(uintptr_t)args->policy.before);
    mem_free((void *)(uintptr_t)args->policy.status);
    mem_free((void *)(uintptr_t)args->policy.expired_before);
    mem_free(args);
}

static void collecting_finish(struct collecting *it) {
    for (size_t i = 0; i < it->count; i++) {
        mem_free(it->items[i].key);
        mem_free(it->items[i].id);
        mem_free(it->items[i].agent);
        mem_free(it->items[i].status);
        mem_free(it->items[i].updated_at);
    }
    mem_free(it->items);
    value_unref(it->removed);
    value_unref(it->pinned);
    value_unref(it->graphs);
    value_unref(it->batches);
    value_unref(it->batched);
}

static int32_t thread_run_collect(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_collect_args *args = user;
    struct collecting it = {.store = args->store,
                            .session = session,
                            .policy = &args->policy,
                            .removed = value_object(),
                            .pinned = value_object(),
                            .graphs = value_array(),
                            .batches = value_object(),
                            .batched = value_object()};
    int64_t graphs = 0;
    int32_t status = session_each(session, STORE_THREADS, NULL, NULL, collect_candidate, &it, error);
    if (status == TN_OK) status = session_each(session, STORE_GRAPHS, NULL, NULL, add_graph_hash, &it, error);
    if (status == TN_OK) status = session_each(session, STORE_BATCHES, NULL, NULL, add_batch, &it, error);
    if (status == TN_OK && it.count) qsort(it.items, it.count, sizeof *it.items, compare_candidates);
    if (status == TN_OK) status = remove_threads(&it, error);
    if (status == TN_OK) status = remove_graphs(&it, &graphs, error);
    if (status == TN_OK) status = remove_batches(&it, error);
    if (status == TN_OK) {
        *result = value_set_take(value_object_reserve(2), "threads", value_int((int64_t)value_count(it.removed)));
        *result = value_set_take(*result, "graphs", value_int(graphs));
    }
    collecting_finish(&it);
    return status;
}

void threads_collect(struct store *store, const struct threads_policy *policy, store_done *done, void *user) {
    struct thread_collect_args *args = mem_alloc(sizeof *args);
    *args = (struct thread_collect_args){.store = store, .policy = *policy};
    args->policy.before = policy->before ? mem_text(policy->before) : NULL;
    args->policy.status = mem_text(policy->status);
    args->policy.expired_before = policy->expired_before ? mem_text(policy->expired_before) : NULL;
    store_perform_take(store, thread_run_collect, args, thread_collect_args_free, done, user);
}

/*
 * collect.c - threads that nobody needs any more, by a policy, and graphs that no thread is pinned to.
 *
 * All threads are looked at first, by their records alone; then each that goes is removed in a batch of its own, as
 * long as its record is still the one that was looked at.
 */
#include "adl/value/memory.h"
#include "host/store/collections.h"
#include "host/store/store.h"
#include "host/thread/admin.h"
#include "host/thread/records.h"
#include <stdlib.h>
#include <string.h>

/* What is known of a thread: owned texts. */
struct candidate {
    char *key, *id, *agent, *status, *updated_at;
    bool expired, wanted; /* wanted: its status is one of those that go */
};

struct collecting {
    struct session *session;
    const struct threads_policy *policy;
    struct candidate *items;
    size_t count, capacity;
    tn_value removed; /* {thread id: null} */
    tn_value pinned;  /* {graph hash: null} of threads that stay */
    tn_value graphs;  /* [hash] */
};

static bool is_expired(tn_value record, const char *expired_before) {
    return expired_before && strcmp(record_text(record, "status"), "interrupted") == 0 &&
           strcmp(record_text(record, "updated_at"), expired_before) < 0;
}

static int32_t look_at(void *user, const char *key, tn_value record, struct error *error) {
    struct collecting *it = user;
    bool expired = is_expired(record, it->policy->expired_before);
    (void)error;
    if (it->count == it->capacity) {
        it->capacity = it->capacity ? it->capacity * 2 : 64;
        it->items = mem_array(it->items, it->capacity, sizeof *it->items);
    }
    const char *status = record_text(record, "status");
    it->items[it->count++] = (struct candidate){.key = mem_text(key),
                                                .id = mem_text(record_text(record, "thread_id")),
                                                .agent = mem_text(record_text(record, "agent")),
                                                .status = mem_text(status),
                                                .updated_at = mem_text(record_text(record, "updated_at")),
                                                .expired = expired,
                                                .wanted = strcmp(status, it->policy->status) == 0};
    return TN_OK;
}

/* By agent and status, the newest first. */
static int by_policy(const void *a, const void *b) {
    const struct candidate *left = a, *right = b;
    int order = strcmp(left->agent, right->agent);
    if (!order) order = strcmp(left->status, right->status);
    if (!order) order = strcmp(right->updated_at, left->updated_at);
    return order ? order : strcmp(left->key, right->key);
}

static bool goes(const struct collecting *it, const struct candidate *candidate, int64_t newer) {
    const struct threads_policy *policy = it->policy;
    if (candidate->expired) return true;
    if (!candidate->wanted || (!policy->before && policy->keep < 0)) return false;
    if (policy->keep >= 0 && newer < policy->keep) return false;
    return !policy->before || strcmp(candidate->updated_at, policy->before) < 0;
}

/* Whether it is still as it was looked at; *gone: it was removed. */
static int32_t remove_one(struct collecting *it, const struct candidate *candidate, bool *gone, struct error *error) {
    tn_value done = NULL;
    struct error why = ERROR_INIT;
    tn_value as_seen = value_set_take(value_object(), "updated_at", value_text(candidate->updated_at));
    tn_value batch =
        value_push_take(value_array(), store_if_where(store_delete(STORE_THREADS, candidate->key), as_seen));
    batch = value_concat_take(batch, thread_delete_rest(candidate->id));
    int32_t status = session_commit_take(it->session, batch, &done, &why);
    value_unref(done);
    *gone = status == TN_OK;
    bool changed = status != TN_OK && why.code && strcmp(why.code, "CONFLICT") == 0;
    if (status != TN_OK && !changed) error_move(error, &why);
    error_finish(&why);
    return changed ? TN_OK : status;
}

static int32_t remove_threads(struct collecting *it, struct error *error) {
    int32_t status = TN_OK;
    int64_t newer = 0; /* of the same agent and status */
    for (size_t i = 0; status == TN_OK && i < it->count; i++) {
        const struct candidate *candidate = &it->items[i], *before = i ? candidate - 1 : NULL;
        bool same =
            before && strcmp(before->agent, candidate->agent) == 0 && strcmp(before->status, candidate->status) == 0;
        newer = same ? newer + 1 : 0;
        if (!goes(it, candidate, newer)) continue;
        bool gone = true;
        if (!it->policy->dry_run) status = remove_one(it, candidate, &gone, error);
        if (status == TN_OK && gone) it->removed = value_set_take(it->removed, candidate->id, value_null());
    }
    return status;
}

/* ---- Graphs ---- */

static int32_t add_pinned(void *user, const char *key, tn_value record, struct error *error) {
    struct collecting *it = user;
    const char *graph = record_text(record, "graph");
    (void)key, (void)error;
    if (*graph && !value_get(it->removed, record_text(record, "thread_id")))
        it->pinned = value_set_take(it->pinned, graph, value_null());
    return TN_OK;
}

static int32_t add_graph(void *user, const char *key, tn_value value, struct error *error) {
    struct collecting *it = user;
    (void)value, (void)error;
    it->graphs = value_push_take(it->graphs, value_text(key));
    return TN_OK;
}

/*
 * Listed before the threads are. One that a thread is being begun with at this very moment may go all the same: what
 * is lost with it is the list of differences, should its document change.
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

struct asked {
    const struct threads_policy *policy;
    struct threads_removed *removed;
};

static int32_t do_collect(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct asked *asked = user;
    struct collecting it = {.session = session,
                            .policy = asked->policy,
                            .removed = value_object(),
                            .pinned = value_object(),
                            .graphs = value_array()};
    (void)result;
    int32_t status = session_each(session, STORE_THREADS, NULL, NULL, look_at, &it, error);
    if (status == TN_OK) status = session_each(session, STORE_GRAPHS, NULL, NULL, add_graph, &it, error);
    if (status == TN_OK && it.count) qsort(it.items, it.count, sizeof *it.items, by_policy);
    if (status == TN_OK) status = remove_threads(&it, error);
    if (status == TN_OK) status = remove_graphs(&it, &asked->removed->graphs, error);
    asked->removed->threads = (int64_t)value_count(it.removed);
    for (size_t i = 0; i < it.count; i++) {
        mem_free(it.items[i].key);
        mem_free(it.items[i].id);
        mem_free(it.items[i].agent);
        mem_free(it.items[i].status);
        mem_free(it.items[i].updated_at);
    }
    mem_free(it.items);
    value_unref(it.removed);
    value_unref(it.pinned);
    value_unref(it.graphs);
    return status;
}

int32_t threads_collect(struct store *store, const struct threads_policy *policy, struct threads_removed *removed,
                        struct error *error) {
    struct asked asked = {policy, removed};
    return store_perform_wait(store, do_collect, &asked, NULL, error);
}

/*
 * thread_admin.c - lists, reads and deletes threads. Functions named thread_run_… run on the store's thread.
 */
#include "host/data/thread/thread_admin.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_job.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_owner.h"
#include "host/data/thread/thread_pack.h"
#include "host/data/thread/thread_records.h"
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

static int32_t thread_run_list(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_job *job = user;
    char key[THREAD_KEY_MAX];
    tn_value page = NULL;
    int32_t status = job->id ? thread_check_id(job->id, error) : TN_OK;
    if (status != TN_OK) return status;
    tn_value query = value_ref(job->value);
    if (job->id) {
        thread_key(key, job->id);
        tn_value list = value_set_take(value_ref(value_get(query, "list")), "after", value_text(key));
        query = value_set_take(query, "list", list);
    }
    status = session_query_take(session, query, &page, error);
    if (status != TN_OK) return status;
    tn_value records = value_get(page, "records"), threads = value_array();
    for (size_t i = 0; i < value_count(records); i++)
        threads = value_push_take(threads, value_ref(value_get(value_at(records, i), "value")));
    *result = value_set_take(value_object_reserve(2), "threads", threads);
    *result = value_set_take(*result, "more", value_ref(value_get(page, "more")));
    value_unref(page);
    return TN_OK;
}

void threads_list(struct store *store, const struct threads_filter *filter, store_done *done, void *user) {
    tn_value where = value_object();
    if (filter->status) where = value_set_take(where, "status", value_text(filter->status));
    if (filter->agent) where = value_set_take(where, "agent", value_text(filter->agent));
    tn_value bounds = value_object();
    if (filter->before) bounds = value_set_take(bounds, "lt", value_text(filter->before));
    if (filter->since) bounds = value_set_take(bounds, "ge", value_text(filter->since));
    if (value_count(bounds)) where = value_set_take(where, "updated_at", bounds);
    tn_value query = store_list(STORE_THREADS, filter->from, filter->to, filter->limit),
             list = value_ref(value_get(query, "list"));
    list = value_set_take(list, "where", where);
    list = value_set_take(list, "order", value_push_take(value_array(), value_text("updated_at")));
    list = value_set_take(list, "reverse", value_bool(true));
    query = value_set_take(query, "list", list);
    thread_job_start(store, thread_run_list, &(const struct thread_job){.id = filter->after, .value = query}, done,
                     user);
    value_unref(query);
}

static int32_t thread_run_show(struct session *session, void *user, tn_value *result, struct error *error) {
    tn_value found = NULL;
    int32_t status = thread_records_require(session, ((const struct thread_job *)user)->id, &found, error);
    if (status == TN_OK) *result = value_ref(value_get(found, "value"));
    value_unref(found);
    return status;
}

void thread_show(struct store *store, const char *id, store_done *done, void *user) {
    thread_job_start(store, thread_run_show, &(const struct thread_job){.id = id}, done, user);
}

/* The nodes of a plan, in order. */
static tn_value plan_nodes(tn_value plan) {
    tn_value nodes = value_array();
    for (size_t i = 0; i < value_count(plan); i++) {
        tn_value entry = value_at(plan, i), node = value_is(entry, TN_STRING) ? entry : value_get(entry, "node");
        if (node) nodes = value_push_take(nodes, value_ref(node));
    }
    return nodes;
}

/* The public members of a checkpoint, without its changes. */
static tn_value checkpoint_summary(const char *key, tn_value checkpoint) {
    static const char *const members[] = {"step", "source", "now", "ran", "rewound"};
    const char *seq = strrchr(key, '/');
    tn_value line = value_set_take(value_object_reserve(7), "seq", value_int(seq ? strtoll(seq + 1, NULL, 10) : 0));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = thread_packed_member(checkpoint, members[i]);
        if (member) line = value_set_take(line, members[i], value_ref(member));
    }
    return value_set_take(line, "next", plan_nodes(thread_packed_member(checkpoint, "plan")));
}

static int32_t thread_run_history(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_job *job = user;
    char key[THREAD_KEY_MAX], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value found = NULL, page = NULL;
    int32_t status = thread_records_require(session, job->id, &found, error);
    value_unref(found);
    if (status != TN_OK) return status;
    thread_key(key, job->id);
    thread_key_range(from, to, key, (const char *const[]){NULL});
    tn_value query = store_list(STORE_CHECKPOINTS, from, to, job->limit), list = value_ref(value_get(query, "list"));
    list = value_set_take(list, "reverse", value_bool(true));
    status = session_query_take(session, value_set_take(query, "list", list), &page, error);
    if (status != TN_OK) return status;
    tn_value records = value_get(page, "records"), lines = value_array();
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value record = value_at(records, i);
        lines = value_push_take(
            lines, checkpoint_summary(value_chars(value_get(record, "key"), NULL), value_get(record, "value")));
    }
    *result = lines;
    value_unref(page);
    return TN_OK;
}

void thread_history(struct store *store, const char *id, int64_t limit, store_done *done, void *user) {
    thread_job_start(store, thread_run_history, &(const struct thread_job){.id = id, .limit = limit}, done, user);
}

static int32_t thread_run_state(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_job *job = user;
    tn_value found = NULL, loaded = NULL;
    int32_t status = thread_records_require(session, job->id, &found, error);
    value_unref(found);
    if (status == TN_OK) status = thread_read(session, job->id, job->seq, &loaded, error);
    if (status != TN_OK) return status;
    tn_value state = value_get(value_get(loaded, "saved"), "state");
    *result = state ? value_ref(state) : value_object();
    value_unref(loaded);
    return status;
}

void thread_state(struct store *store, const char *id, int64_t seq, store_done *done, void *user) {
    thread_job_start(store, thread_run_state, &(const struct thread_job){.id = id, .seq = seq}, done, user);
}

/* ---- Removing ---- */

/* `version` is that of the record which was checked; -1: any. CONFLICT if it has another one. */
static int32_t thread_remove_records(struct session *session, const char *id, int64_t version, struct error *error) {
    char key[THREAD_KEY_MAX];
    thread_key(key, id);
    tn_value drop = store_delete(STORE_THREADS, key);
    if (version >= 0) drop = store_if_version(drop, version);
    tn_value batch = value_push_take(value_array(), drop);
    return session_commit_take(session, value_concat_take(batch, thread_delete_rest(id)), NULL, error);
}

static int32_t thread_run_delete(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_job *job = user;
    tn_value found = NULL;
    (void)result;
    int32_t status = thread_records_require(session, job->id, &found, error);
    if (status == TN_OK && !job->force)
        status = thread_owner_check(job->store, job->id, value_get(found, "value"), error);
    if (status == TN_OK && !job->force)
        status = thread_owner_check_remote(session, job->id, value_get(found, "value"), error);
    int64_t version = job->force ? -1 : thread_record_int(found, "version", 0);
    value_unref(found);
    return status == TN_OK ? thread_remove_records(session, job->id, version, error) : status;
}

void thread_delete(struct store *store, const char *id, bool force, store_done *done, void *user) {
    thread_job_start(store, thread_run_delete, &(const struct thread_job){.id = id, .force = force}, done, user);
}

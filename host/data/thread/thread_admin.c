/*
 * thread_admin.c - the operations of thread_admin.h. Functions named thread_run_… run on the store's thread.
 */
#include "host/data/thread/thread_admin.h"
#include "adl/value/memory.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_interrupts.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_owner.h"
#include "host/data/thread/thread_records.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The arguments of a function on the store's thread. */
struct thread_admin_args {
    const char *id;
    int64_t seq, limit;
    tn_value value;
    const struct store *store;
    bool force;
};

/* ---- Reading ---- */

int32_t threads_list(struct store *store, const struct threads_filter *filter, tn_value *out, struct error *error) {
    tn_value where = value_object(), page = NULL;
    if (filter->status) where = value_set_take(where, "status", value_text(filter->status));
    if (filter->agent) where = value_set_take(where, "agent", value_text(filter->agent));
    tn_value bounds = value_object();
    if (filter->before) bounds = value_set_take(bounds, "lt", value_text(filter->before));
    if (filter->since) bounds = value_set_take(bounds, "ge", value_text(filter->since));
    if (value_count(bounds)) where = value_set_take(where, "updated_at", bounds);
    tn_value query = store_list(STORE_THREADS, NULL, NULL, filter->limit), list = value_ref(value_get(query, "list"));
    list = value_set_take(list, "where", where);
    list = value_set_take(list, "order", value_push_take(value_array(), value_text("updated_at")));
    list = value_set_take(list, "reverse", value_bool(true));
    if (filter->after) {
        char key[THREAD_KEY_MAX];
        thread_key(key, filter->after);
        list = value_set_take(list, "after", value_text(key));
    }
    int32_t status = store_query_wait(store, value_set_take(query, "list", list), &page, error);
    if (status != TN_OK) return status;
    tn_value records = value_get(page, "records"), threads = value_array();
    for (size_t i = 0; i < value_count(records); i++)
        threads = value_push_take(threads, value_ref(value_get(value_at(records, i), "value")));
    *out = value_set_take(value_object_reserve(2), "threads", threads);
    *out = value_set_take(*out, "more", value_ref(value_get(page, "more")));
    value_unref(page);
    return TN_OK;
}

static int32_t thread_run_show(struct session *session, void *user, tn_value *result, struct error *error) {
    tn_value found = NULL;
    int32_t status = thread_records_require(session, ((struct thread_admin_args *)user)->id, &found, error);
    if (status == TN_OK) *result = value_ref(value_get(found, "value"));
    value_unref(found);
    return status;
}

int32_t thread_show(struct store *store, const char *id, tn_value *out, struct error *error) {
    struct thread_admin_args args = {.id = id};
    return store_perform_wait(store, thread_run_show, &args, out, error);
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
    static const char *const members[] = {"step", "source", "now", "ran"};
    const char *seq = strrchr(key, '/');
    tn_value line = value_set_take(value_object_reserve(7), "seq", value_int(seq ? strtoll(seq + 1, NULL, 10) : 0));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(checkpoint, members[i]);
        if (member) line = value_set_take(line, members[i], value_ref(member));
    }
    return value_set_take(line, "next", plan_nodes(value_get(checkpoint, "plan")));
}

static int32_t thread_run_history(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_admin_args *args = user;
    char key[THREAD_KEY_MAX], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value found = NULL, page = NULL;
    int32_t status = thread_records_require(session, args->id, &found, error);
    value_unref(found);
    if (status != TN_OK) return status;
    thread_key(key, args->id);
    thread_key_range(from, to, key, (const char *const[]){NULL});
    tn_value query = store_list(STORE_CHECKPOINTS, from, to, args->limit), list = value_ref(value_get(query, "list"));
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

int32_t thread_history(struct store *store, const char *id, int64_t limit, tn_value *out, struct error *error) {
    struct thread_admin_args args = {.id = id, .limit = limit};
    return store_perform_wait(store, thread_run_history, &args, out, error);
}

static int32_t thread_run_state(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_admin_args *args = user;
    tn_value found = NULL, loaded = NULL;
    int32_t status = thread_records_require(session, args->id, &found, error);
    value_unref(found);
    if (status == TN_OK) status = thread_read(session, args->id, args->seq, &loaded, error);
    if (status != TN_OK) return status;
    tn_value state = value_get(value_get(loaded, "saved"), "state");
    *result = state ? value_ref(state) : value_object();
    value_unref(loaded);
    return status;
}

int32_t thread_state(struct store *store, const char *id, int64_t seq, tn_value *out, struct error *error) {
    struct thread_admin_args args = {.id = id, .seq = seq};
    return store_perform_wait(store, thread_run_state, &args, out, error);
}

/* ---- Answers ---- */

/* The record is put as a whole, because a patch would lose null values in answers. */
static tn_value add_answers(tn_value record, tn_value answers) {
    tn_value saved = value_get(record, "answers"), all = value_is(saved, TN_OBJECT) ? value_ref(saved) : value_object();
    for (size_t i = 0; i < value_count(answers); i++)
        all = value_set_key_take(all, value_ref(value_key_at(answers, i)), value_ref(value_value_at(answers, i)));
    return value_set_take(value_ref(record), "answers", all);
}

static int32_t thread_run_answer(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_admin_args *args = user;
    char key[THREAD_KEY_MAX];
    tn_value found = NULL;
    (void)result;
    int32_t status = thread_records_require(session, args->id, &found, error);
    if (status != TN_OK) return status;
    tn_value record = value_get(found, "value"), interrupts = value_get(record, "interrupts");
    if (!value_text_is(value_get(record, "status"), "interrupted") || !value_is(interrupts, TN_ARRAY))
        status =
            error_set(error, TN_INVALID, "INVALID_INPUT", "the thread `%s` has no open interrupt; its status is %s",
                      args->id, thread_record_text(record, "status"));
    if (status == TN_OK) status = thread_interrupts_check(interrupts, args->value, error);
    if (status == TN_OK) {
        thread_key(key, args->id);
        tn_value put = store_put(STORE_THREADS, key, add_answers(record, args->value));
        put = store_if_version(put, thread_record_int(found, "version", 0));
        status = session_commit_take(session, value_push_take(value_array(), put), NULL, error);
    }
    value_unref(found);
    return status;
}

int32_t thread_answer(struct store *store, const char *id, tn_value answers, struct error *error) {
    struct thread_admin_args args = {.id = id, .value = answers};
    return store_perform_wait(store, thread_run_answer, &args, NULL, error);
}

/* ---- Removing ---- */

static int32_t thread_remove_records(struct session *session, const char *id, struct error *error) {
    char key[THREAD_KEY_MAX];
    thread_key(key, id);
    tn_value drop = store_delete(STORE_THREADS, key);
    tn_value batch = value_push_take(value_array(), drop);
    return session_commit_take(session, value_concat_take(batch, thread_delete_rest(id)), NULL, error);
}

static int32_t thread_run_delete(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_admin_args *args = user;
    tn_value found = NULL;
    (void)result;
    int32_t status = thread_records_require(session, args->id, &found, error);
    if (status == TN_OK && !args->force)
        status = thread_owner_check(args->store, args->id, value_get(found, "value"), error);
    value_unref(found);
    return status == TN_OK ? thread_remove_records(session, args->id, error) : status;
}

int32_t thread_delete(struct store *store, const char *id, bool force, struct error *error) {
    struct thread_admin_args args = {.id = id, .store = store, .force = force};
    return store_perform_wait(store, thread_run_delete, &args, NULL, error);
}

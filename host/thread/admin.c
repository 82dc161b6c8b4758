/*
 * admin.c - what is asked of the store for each of them. Functions named do_… run on the store's thread.
 */
#include "host/thread/admin.h"
#include "adl/value/memory.h"
#include "host/engine/run.h"
#include "host/store/collections.h"
#include "host/store/store.h"
#include "host/thread/keys.h"
#include "host/thread/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What belongs to a thread, but for its record; keys begin with the thread's. */
static const char *const parts[] = {STORE_CHECKPOINTS, STORE_SNAPSHOTS, STORE_PENDING, STORE_NESTED, STORE_JOURNAL};
#define PART_COUNT (sizeof parts / sizeof *parts)

#define BATCH_MAX 500 /* operations of one batch of an import */

static int32_t none(const char *id, struct error *error) {
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                     "there is no thread `%s`; `tenon thread list` shows those that there are", id);
}

/* {version, value}; a new reference. */
static int32_t find(struct session *session, const char *id, tn_value *out, struct error *error) {
    char key[THREAD_KEY_MAX];
    tn_value found = NULL;
    thread_key(key, id);
    int32_t status = session_query_take(session, store_get(STORE_THREADS, key), &found, error);
    if (status != TN_OK) return status;
    if (value_is(value_get(found, "value"), TN_OBJECT)) {
        *out = found;
        return TN_OK;
    }
    value_unref(found);
    return none(id, error);
}

static int64_t number(tn_value object, const char *key, int64_t otherwise) {
    int64_t found;
    tn_value value = value_get(object, key);
    return value && value_is_number(value) && value_as_int(value, &found) ? found : otherwise;
}

/* What a `perform` is given. */
struct asked {
    const char *id, *other;
    int64_t seq, limit;
    tn_value value;
};

/* ---- Looking ---- */

int32_t threads_list(struct store *store, const struct threads_filter *filter, tn_value *out, struct error *error) {
    tn_value where = value_object(), page = NULL;
    if (filter->status) where = value_set_take(where, "status", value_text(filter->status));
    if (filter->agent) where = value_set_take(where, "agent", value_text(filter->agent));
    if (filter->before)
        where = value_set_take(where, "updated_at", value_set_take(value_object(), "lt", value_text(filter->before)));
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

static int32_t do_show(struct session *session, void *user, tn_value *result, struct error *error) {
    tn_value found = NULL;
    int32_t status = find(session, ((struct asked *)user)->id, &found, error);
    if (status == TN_OK) *result = value_ref(value_get(found, "value"));
    value_unref(found);
    return status;
}

int32_t thread_show(struct store *store, const char *id, tn_value *out, struct error *error) {
    struct asked asked = {.id = id};
    return store_perform_wait(store, do_show, &asked, out, error);
}

/* The nodes of a plan, in its order. */
static tn_value nodes_of(tn_value plan) {
    tn_value nodes = value_array();
    for (size_t i = 0; i < value_count(plan); i++) {
        tn_value entry = value_at(plan, i), node = value_is(entry, TN_STRING) ? entry : value_get(entry, "node");
        if (node) nodes = value_push_take(nodes, value_ref(node));
    }
    return nodes;
}

/* What a checkpoint says of itself, without the changes. */
static tn_value summary(const char *key, tn_value checkpoint) {
    static const char *const members[] = {"step", "source", "now", "ran"};
    const char *seq = strrchr(key, '/');
    tn_value line = value_set_take(value_object_reserve(7), "seq", value_int(seq ? strtoll(seq + 1, NULL, 10) : 0));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(checkpoint, members[i]);
        if (member) line = value_set_take(line, members[i], value_ref(member));
    }
    return value_set_take(line, "next", nodes_of(value_get(checkpoint, "plan")));
}

static int32_t do_history(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct asked *asked = user;
    char key[THREAD_KEY_MAX], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value found = NULL, page = NULL;
    int32_t status = find(session, asked->id, &found, error);
    value_unref(found);
    if (status != TN_OK) return status;
    thread_key(key, asked->id);
    thread_key_range(from, to, key, (const char *const[]){NULL});
    tn_value query = store_list(STORE_CHECKPOINTS, from, to, asked->limit), list = value_ref(value_get(query, "list"));
    list = value_set_take(list, "reverse", value_bool(true));
    status = session_query_take(session, value_set_take(query, "list", list), &page, error);
    if (status != TN_OK) return status;
    tn_value records = value_get(page, "records"), lines = value_array();
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value record = value_at(records, i);
        lines =
            value_push_take(lines, summary(value_chars(value_get(record, "key"), NULL), value_get(record, "value")));
    }
    *result = lines;
    value_unref(page);
    return TN_OK;
}

int32_t thread_history(struct store *store, const char *id, int64_t limit, tn_value *out, struct error *error) {
    struct asked asked = {.id = id, .limit = limit};
    return store_perform_wait(store, do_history, &asked, out, error);
}

static int32_t do_state(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct asked *asked = user;
    tn_value loaded = NULL;
    int32_t status = thread_read(session, asked->id, asked->seq, &loaded, error);
    if (status != TN_OK) return status;
    tn_value state = value_get(value_get(loaded, "saved"), "state");
    if (!value_is(value_get(loaded, "record"), TN_OBJECT))
        status = none(asked->id, error);
    else
        *result = state ? value_ref(state) : value_object();
    value_unref(loaded);
    return status;
}

int32_t thread_state(struct store *store, const char *id, int64_t seq, tn_value *out, struct error *error) {
    struct asked asked = {.id = id, .seq = seq};
    return store_perform_wait(store, do_state, &asked, out, error);
}

/* ---- Copying ---- */

struct copying {
    struct session *session;
    const char *collection, *from, *to; /* the keys' beginnings */
    tn_value batch;
};

static int32_t flush(struct copying *copying, struct error *error) {
    tn_value batch = copying->batch;
    copying->batch = value_array();
    return value_count(batch) ? session_commit_take(copying->session, batch, NULL, error) : TN_OK;
}

static int32_t copy_record(void *user, const char *key, tn_value value, struct error *error) {
    struct copying *copying = user;
    char to[THREAD_KEY_MAX];
    snprintf(to, sizeof to, "%s%s", copying->to, key + strlen(copying->from));
    copying->batch = value_push_take(copying->batch, store_put(copying->collection, to, value_ref(value)));
    return value_count(copying->batch) < BATCH_MAX ? TN_OK : flush(copying, error);
}

static tn_value object_change(tn_value state) {
    tn_value delta = value_object_reserve(value_count(state));
    for (size_t i = 0; i < value_count(state); i++)
        delta = value_set_key_take(delta, value_ref(value_key_at(state, i)),
                                   value_set_take(value_object_reserve(1), "set", value_ref(value_value_at(state, i))));
    return delta;
}

/* The first checkpoint of the fork: all of the state, and what comes next. */
static tn_value first_checkpoint(tn_value saved, const struct asked *asked) {
    static const char *const members[] = {"plan", "joins", "deferred", "after", "now"};
    int64_t step = number(saved, "step", 0);
    tn_value in_step = value_get(saved, "in_step");
    tn_value checkpoint = value_set_take(value_object_reserve(9), "step", value_int(in_step ? step - 1 : step));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(saved, members[i]);
        if (member) checkpoint = value_set_take(checkpoint, members[i], value_ref(member));
    }
    checkpoint = value_set_take(checkpoint, "source", value_text("fork"));
    checkpoint = value_set_take(checkpoint, "from", value_text(asked->id));
    return value_set_take(checkpoint, "delta", object_change(value_get(saved, "state")));
}

static tn_value forked_record(tn_value record, tn_value saved, const struct asked *asked, int64_t seq, bool newest) {
    static const char *const kept[] = {"agent", "graph", "document", "config", "updated_at"};
    tn_value made = value_set_take(value_object_reserve(16), "thread_id", value_text(asked->other));
    tn_value parent = value_set_take(value_object_reserve(2), "thread_id", value_text(asked->id));
    bool done = value_count(value_get(saved, "plan")) == 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        tn_value member = value_get(record, kept[i]);
        if (member) made = value_set_take(made, kept[i], value_ref(member));
    }
    made = value_set_take(made, "parent", value_set_take(parent, "seq", value_int(seq)));
    made = value_set_take(made, "created_at", value_ref(value_get(record, "updated_at")));
    made = value_set_take(made, "head", value_int(0));
    made = value_set_take(made, "fence", value_int(0));
    made = value_set_take(made, "step", value_int(number(saved, "step", 0)));
    made = value_set_take(made, "next", nodes_of(value_get(saved, "plan")));
    tn_value interrupts = newest ? value_get(record, "interrupts") : NULL, status = value_get(record, "status");
    if (interrupts) made = value_set_take(made, "interrupts", value_ref(interrupts));
    return value_set_take(made, "status", newest ? value_ref(status) : value_text(done ? "done" : "stopped"));
}

static int32_t exists(const char *id, struct error *error) {
    return error_set(error, TN_INVALID, "EXISTS",
                     "there is a thread `%s` already; remove it first, or give another name", id);
}

static int32_t check_new(struct session *session, const char *id, struct error *error) {
    tn_value found = NULL;
    struct error ignored = ERROR_INIT;
    int32_t status = find(session, id, &found, &ignored);
    value_unref(found);
    if (status == TN_NOT_FOUND)
        status = TN_OK;
    else if (status == TN_OK)
        status = exists(id, error);
    else
        error_move(error, &ignored);
    error_finish(&ignored);
    return status;
}

static int32_t do_fork(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct asked *asked = user;
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX], first[THREAD_KEY_MAX], begin[THREAD_KEY_MAX], end[THREAD_KEY_MAX];
    tn_value loaded = NULL;
    int32_t status = check_new(session, asked->other, error);
    if (status == TN_OK) status = thread_read(session, asked->id, asked->seq, &loaded, error);
    tn_value record = value_get(loaded, "record"), saved = value_get(loaded, "saved");
    if (status == TN_OK && !value_is(saved, TN_OBJECT)) status = none(asked->id, error);
    int64_t head = number(record, "head", 0), seq = asked->seq == THREAD_HEAD ? head : asked->seq;
    bool newest = seq == head;
    thread_key(from, asked->id);
    thread_key(to, asked->other);
    /* What tasks under way have done comes first: without the record it is nobody's. */
    for (size_t i = 2; status == TN_OK && newest && i < PART_COUNT; i++) {
        struct copying copying = {session, parts[i], from, to, value_array()};
        thread_key_range(begin, end, from, (const char *const[]){NULL});
        status = session_each(session, parts[i], begin, end, copy_record, &copying, error);
        if (status == TN_OK) status = flush(&copying, error);
        value_unref(copying.batch);
    }
    if (status == TN_OK) {
        thread_key_of(first, to, (const char *const[]){"0000000000", NULL});
        tn_value put = store_put(STORE_THREADS, to, forked_record(record, saved, asked, seq, newest));
        tn_value batch = value_push_take(value_array(), store_if_version(put, 0));
        batch = value_push_take(batch, store_put(STORE_CHECKPOINTS, first, first_checkpoint(saved, asked)));
        status = session_commit_take(session, batch, NULL, error);
    }
    value_unref(loaded);
    (void)result;
    return status;
}

int32_t thread_fork(struct store *store, const char *id, int64_t seq, const char *fork, struct error *error) {
    struct asked asked = {.id = id, .other = fork, .seq = seq};
    int32_t status = thread_check_id(fork, error);
    return status == TN_OK ? store_perform_wait(store, do_fork, &asked, NULL, error) : status;
}

/* ---- Answers ---- */

static int32_t do_answer(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct asked *asked = user;
    char key[THREAD_KEY_MAX];
    tn_value found = NULL;
    (void)result;
    int32_t status = find(session, asked->id, &found, error);
    if (status != TN_OK) return status;
    tn_value record = value_get(found, "value"), interrupts = value_get(record, "interrupts");
    if (!value_text_is(value_get(record, "status"), "interrupted") || !value_is(interrupts, TN_ARRAY))
        status = error_set(error, TN_INVALID, "INVALID_INPUT", "the thread `%s` waits for no answer: it is %s",
                           asked->id, value_chars(value_get(record, "status"), NULL));
    if (status == TN_OK) status = interrupts_check(interrupts, asked->value, error);
    if (status == TN_OK) {
        thread_key(key, asked->id);
        tn_value patch = value_set_take(value_object_reserve(1), "answers", value_ref(asked->value));
        tn_value merge = store_if_version(store_merge(STORE_THREADS, key, patch), number(found, "version", 0));
        status = session_commit_take(session, value_push_take(value_array(), merge), NULL, error);
    }
    value_unref(found);
    return status;
}

int32_t thread_answer(struct store *store, const char *id, tn_value answers, struct error *error) {
    struct asked asked = {.id = id, .value = answers};
    return store_perform_wait(store, do_answer, &asked, NULL, error);
}

/* ---- Removing ---- */

static int32_t remove_all(struct session *session, const char *id, struct error *error) {
    char key[THREAD_KEY_MAX], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value batch = value_array();
    thread_key(key, id);
    thread_key_range(from, to, key, (const char *const[]){NULL});
    for (size_t i = 0; i < PART_COUNT; i++) batch = value_push_take(batch, store_delete_range(parts[i], from, to));
    return session_commit_take(session, value_push_take(batch, store_delete(STORE_THREADS, key)), NULL, error);
}

static int32_t do_delete(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct asked *asked = user;
    tn_value found = NULL;
    (void)result;
    int32_t status = find(session, asked->id, &found, error);
    value_unref(found);
    return status == TN_OK ? remove_all(session, asked->id, error) : status;
}

int32_t thread_delete(struct store *store, const char *id, struct error *error) {
    struct asked asked = {.id = id};
    return store_perform_wait(store, do_delete, &asked, NULL, error);
}

/* ---- Elsewhere ---- */

struct gathering {
    size_t prefix;
    tn_value all; /* {key without the thread: value} */
};

static int32_t gather(void *user, const char *key, tn_value value, struct error *error) {
    struct gathering *gathering = user;
    (void)error;
    gathering->all = value_set_take(gathering->all, key + gathering->prefix, value_ref(value));
    return TN_OK;
}

static int32_t do_export(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct asked *asked = user;
    static const char *const more[] = {STORE_PENDING, STORE_NESTED};
    char key[THREAD_KEY_MAX], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value history = NULL, graph = NULL;
    int32_t status = thread_read_history(session, asked->id, &history, error);
    if (status != TN_OK) return status;
    tn_value made = value_set_take(value_object_reserve(8), "format", value_text(THREAD_FORMAT));
    tn_value hash = value_get(value_get(history, "record"), "graph");
    if (value_is(hash, TN_STRING))
        status = session_query_take(session, store_get(STORE_GRAPHS, value_chars(hash, NULL)), &graph, error);
    if (value_get(graph, "value")) made = value_set_take(made, "graph", value_ref(value_get(graph, "value")));
    for (size_t i = 0; i < value_count(history); i++)
        made = value_set_key_take(made, value_ref(value_key_at(history, i)), value_ref(value_value_at(history, i)));
    thread_key(key, asked->id);
    thread_key_range(from, to, key, (const char *const[]){NULL});
    for (size_t i = 0; status == TN_OK && i < sizeof more / sizeof *more; i++) {
        struct gathering gathering = {strlen(from), value_object()};
        status = session_each(session, more[i], from, to, gather, &gathering, error);
        made = value_set_take(made, more[i], gathering.all);
    }
    value_unref(graph);
    value_unref(history);
    if (status == TN_OK)
        *result = made;
    else
        value_unref(made);
    return status;
}

int32_t thread_export(struct store *store, const char *id, tn_value *out, struct error *error) {
    struct asked asked = {.id = id};
    return store_perform_wait(store, do_export, &asked, out, error);
}

static int32_t import_part(struct session *session, const char *key, const char *collection, tn_value records,
                           struct error *error) {
    struct copying copying = {session, collection, "", "", value_array()};
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(records); i++) {
        char to[THREAD_KEY_MAX], seq[12];
        bool list = value_is(records, TN_ARRAY);
        tn_value value = list ? value_at(records, i) : value_value_at(records, i);
        thread_number(seq, (uint32_t)i);
        thread_key_of(to, key, (const char *const[]){list ? seq : value_chars(value_key_at(records, i), NULL), NULL});
        status = copy_record(&copying, to, value, error);
    }
    if (status == TN_OK) status = flush(&copying, error);
    value_unref(copying.batch);
    return status;
}

static int32_t do_import(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct asked *asked = user;
    char key[THREAD_KEY_MAX];
    tn_value record = value_get(asked->value, "record"), graph = value_get(asked->value, "graph");
    tn_value hash = value_get(record, "graph");
    (void)result;
    int32_t status = check_new(session, asked->id, error);
    thread_key(key, asked->id);
    static const char *const members[] = {"checkpoints", "journal", STORE_PENDING, STORE_NESTED};
    static const char *const collections[] = {STORE_CHECKPOINTS, STORE_JOURNAL, STORE_PENDING, STORE_NESTED};
    for (size_t i = 0; status == TN_OK && i < sizeof members / sizeof *members; i++)
        status = import_part(session, key, collections[i], value_get(asked->value, members[i]), error);
    if (status != TN_OK) return status;
    record = value_set_take(value_ref(record), "thread_id", value_text(asked->id));
    record = value_set_take(record, "snapshot", value_int(0)); /* they were left behind */
    tn_value batch = value_push_take(value_array(), store_if_version(store_put(STORE_THREADS, key, record), 0));
    if (graph && value_is(hash, TN_STRING))
        batch = value_push_take(batch, store_put(STORE_GRAPHS, value_chars(hash, NULL), value_ref(graph)));
    return session_commit_take(session, batch, NULL, error);
}

int32_t thread_import(struct store *store, const char *id, tn_value exported, struct error *error) {
    struct asked asked = {.id = id, .value = exported};
    tn_value checkpoints = value_get(exported, "checkpoints"), record = value_get(exported, "record");
    if (!value_text_is(value_get(exported, "format"), THREAD_FORMAT) || !value_is(checkpoints, TN_ARRAY) ||
        !value_is(record, TN_OBJECT) || number(record, "head", -1) != (int64_t)value_count(checkpoints) - 1)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "this is no exported thread: expected an object with `format: " THREAD_FORMAT
                         "`, its record, and all of its checkpoints");
    int32_t status = thread_check_id(id, error);
    return status == TN_OK ? store_perform_wait(store, do_import, &asked, NULL, error) : status;
}

/* ---- Collecting what is old ---- */

struct collecting {
    const char *before, *status;
    bool dry_run;
    struct threads_removed *removed;
    tn_value used; /* {graph's hash: true} of threads that stay */
    tn_value gone; /* ids */
};

static int32_t look_at(void *user, const char *key, tn_value record, struct error *error) {
    struct collecting *collecting = user;
    tn_value updated = value_get(record, "updated_at"), id = value_get(record, "thread_id");
    (void)key, (void)error;
    bool old = value_is(updated, TN_STRING) && strcmp(value_chars(updated, NULL), collecting->before) < 0;
    if (old && value_is(id, TN_STRING) && value_text_is(value_get(record, "status"), collecting->status)) {
        collecting->gone = value_push_take(collecting->gone, value_ref(id));
        return TN_OK;
    }
    tn_value graph = value_get(record, "graph");
    if (value_is(graph, TN_STRING))
        collecting->used = value_set_key_take(collecting->used, value_ref(graph), value_bool(true));
    return TN_OK;
}

static int32_t unused(void *user, const char *key, tn_value value, struct error *error) {
    struct collecting *collecting = user;
    (void)value, (void)error;
    if (!value_get(collecting->used, key)) collecting->gone = value_push_take(collecting->gone, value_text(key));
    return TN_OK;
}

static int32_t do_collect(struct session *session, void *user, tn_value *result, struct error *error) {
    struct collecting *collecting = user;
    (void)result;
    int32_t status = session_each(session, STORE_THREADS, NULL, NULL, look_at, collecting, error);
    collecting->removed->threads = (int64_t)value_count(collecting->gone);
    for (size_t i = 0; status == TN_OK && !collecting->dry_run && i < value_count(collecting->gone); i++)
        status = remove_all(session, value_chars(value_at(collecting->gone, i), NULL), error);
    value_unref(collecting->gone);
    collecting->gone = value_array();
    if (status == TN_OK) status = session_each(session, STORE_GRAPHS, NULL, NULL, unused, collecting, error);
    collecting->removed->graphs = (int64_t)value_count(collecting->gone);
    for (size_t i = 0; status == TN_OK && !collecting->dry_run && i < value_count(collecting->gone); i++) {
        tn_value drop = store_delete(STORE_GRAPHS, value_chars(value_at(collecting->gone, i), NULL));
        status = session_commit_take(session, value_push_take(value_array(), drop), NULL, error);
    }
    return status;
}

int32_t threads_collect(struct store *store, const char *before, const char *status, bool dry_run,
                        struct threads_removed *removed, struct error *error) {
    struct collecting collecting = {before, status ? status : "done", dry_run, removed, value_object(), value_array()};
    int32_t outcome = store_perform_wait(store, do_collect, &collecting, NULL, error);
    value_unref(collecting.used);
    value_unref(collecting.gone);
    return outcome;
}

/*
 * file.c - a thread as one value, for a file, and back.
 *
 * Keys of records are without the thread's id, so that it may come in under another one. What comes in is from outside:
 * everything in it is looked at before anything is written, and its changes must add up to a state.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/sha256.h"
#include "host/store/collections.h"
#include "host/store/store.h"
#include "host/thread/admin.h"
#include "host/thread/delta.h"
#include "host/thread/log.h"
#include "host/thread/records.h"
#include <stdio.h>
#include <string.h>

#define TRIES    5   /* where the thread goes on meanwhile */
#define REST_MAX 700 /* bytes of a key behind the thread's id, which may take three bytes for each of its own */

static const struct part {
    const char *member, *collection;
} parts[] = {{"pending", STORE_PENDING}, {"nested", STORE_NESTED}, {"journal", STORE_JOURNAL}};
#define PART_COUNT (sizeof parts / sizeof *parts)

/* ---- Out ---- */

struct gathered {
    size_t prefix; /* bytes of keys that are the thread's */
    tn_value all;  /* an object, or of checkpoints an array */
};

static int32_t gather(void *user, const char *key, tn_value value, struct error *error) {
    struct gathered *gathered = user;
    (void)error;
    gathered->all = value_is(gathered->all, TN_ARRAY)
                        ? value_push_take(gathered->all, value_ref(value))
                        : value_set_take(gathered->all, key + gathered->prefix, value_ref(value));
    return TN_OK;
}

static int32_t gather_all(struct session *session, const char *id, const char *collection, tn_value empty,
                          tn_value *out, struct error *error) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    records_range(id, from, to);
    struct gathered gathered = {strlen(from), empty};
    int32_t status = session_each(session, collection, from, to, gather, &gathered, error);
    if (status == TN_OK)
        *out = gathered.all;
    else
        value_unref(gathered.all);
    return status;
}

static int32_t add_graph(struct session *session, tn_value record, tn_value *file, struct error *error) {
    const char *hash = record_text(record, "graph");
    tn_value found = NULL;
    int32_t status = *hash ? session_query_take(session, store_get(STORE_GRAPHS, hash), &found, error) : TN_OK;
    tn_value description = value_get(found, "value");
    if (description) *file = value_set_take(*file, "graph", value_ref(description));
    value_unref(found);
    return status;
}

/* *file is the caller's to unref in any case. */
static int32_t try_export(struct session *session, const char *id, tn_value *file, bool *same, struct error *error) {
    tn_value before = NULL, after = NULL, gathered = NULL;
    int32_t status = records_need_thread(session, id, &before, error);
    if (status != TN_OK) return status;
    *file = value_set_take(value_object_reserve(8), "format", value_text(THREAD_FORMAT));
    *file = value_set_take(*file, "record", value_ref(value_get(before, "value")));
    status = add_graph(session, value_get(before, "value"), file, error);
    if (status == TN_OK) status = gather_all(session, id, STORE_CHECKPOINTS, value_array(), &gathered, error);
    if (status == TN_OK) *file = value_set_take(*file, "checkpoints", gathered);
    for (size_t i = 0; status == TN_OK && i < PART_COUNT; i++) {
        status = gather_all(session, id, parts[i].collection, value_object(), &gathered, error);
        if (status == TN_OK) *file = value_set_take(*file, parts[i].member, gathered);
    }
    if (status == TN_OK) status = records_need_thread(session, id, &after, error);
    *same = status == TN_OK && record_int(before, "version", 0) == record_int(after, "version", -1);
    value_unref(before);
    value_unref(after);
    return status;
}

static int32_t do_export(struct session *session, void *user, tn_value *result, struct error *error) {
    const char *id = user;
    for (int i = 0; i < TRIES; i++) {
        tn_value file = NULL;
        bool same = false;
        int32_t status = try_export(session, id, &file, &same, error);
        if (status == TN_OK && same) {
            *result = file;
            return TN_OK;
        }
        value_unref(file);
        if (status != TN_OK) return status;
    }
    return error_set(error, TN_ERROR, "CONFLICT",
                     "the thread `%s` goes on all the while; stop whoever runs it, and export it then", id);
}

int32_t thread_export(struct store *store, const char *id, tn_value *out, struct error *error) {
    return store_perform_wait(store, do_export, (void *)(uintptr_t)id, out, error);
}

/* ---- In: what it says of itself ---- */

static int32_t broken(struct error *error, const char *where, const char *expected) {
    return error_set(error, TN_INVALID, "INVALID_INPUT", "this is no exported thread: %s, expected %s", where,
                     expected);
}

static bool is_time(tn_value record, const char *key) {
    static const char form[] = "0000-00-00T00:00:00.000Z";
    const char *text = record_text(record, key);
    if (strlen(text) != sizeof form - 1) return false;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
    return true;
}

static bool is_status(const char *text) {
    static const char *const names[] = {"done", "failed", "cancelled", "interrupted", "stopped", "running"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0) return true;
    return false;
}

static int32_t check_interrupts(tn_value interrupts, struct error *error) {
    if (!interrupts || value_is(interrupts, TN_NULL)) return TN_OK;
    if (!value_is(interrupts, TN_ARRAY)) return broken(error, "`record.interrupts` is no array", "one of interrupts");
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), id = value_get(entry, "id");
        if (!value_is(entry, TN_OBJECT) || (id && !value_is(id, TN_STRING)))
            return broken(error, "`record.interrupts` has something else in it", "{id, node, payload}");
    }
    return TN_OK;
}

static int32_t check_record(tn_value file, struct error *error) {
    tn_value record = value_get(file, "record"), checkpoints = value_get(file, "checkpoints");
    tn_value answers = value_get(record, "answers");
    if (!value_is(file, TN_OBJECT) || strcmp(record_text(file, "format"), THREAD_FORMAT) != 0)
        return broken(error, "it has another `format`, or none",
                      "\"" THREAD_FORMAT "\", as `tenon thread export` writes");
    if (!value_is(record, TN_OBJECT)) return broken(error, "it has no `record`", "the thread's");
    if (!is_status(record_text(record, "status")))
        return broken(error, "`record.status` is none", "done, failed, cancelled, interrupted, stopped or running");
    if (!is_time(record, "updated_at") || !is_time(record, "created_at"))
        return broken(error, "`record` has no times", "`created_at` and `updated_at`, as 2026-01-31T12:00:00.000Z");
    if (!*record_text(record, "graph")) return broken(error, "`record.graph` is missing", "what it is pinned to");
    if (!value_is(checkpoints, TN_ARRAY) || !value_count(checkpoints) ||
        record_int(record, "head", -1) != (int64_t)value_count(checkpoints) - 1)
        return broken(error, "`checkpoints` are not as many as `record.head` says", "all of them");
    if (answers && !value_is(answers, TN_NULL) && !value_is(answers, TN_OBJECT))
        return broken(error, "`record.answers` is no object", "answers by interrupt id");
    return check_interrupts(value_get(record, "interrupts"), error);
}

static int32_t check_plan(tn_value plan, struct error *error) {
    if (!value_is(plan, TN_ARRAY)) return broken(error, "a checkpoint has no `plan`", "an array of nodes");
    for (size_t i = 0; i < value_count(plan); i++) {
        tn_value entry = value_at(plan, i), node = value_is(entry, TN_OBJECT) ? value_get(entry, "node") : entry;
        if (!node || !value_is(node, TN_STRING)) return broken(error, "a `plan` has something else in it", "nodes");
    }
    return TN_OK;
}

/* Its changes add up: *state, as a snapshot has it, and how much they weigh. */
static int32_t check_checkpoints(tn_value checkpoints, tn_value *state, int64_t *weight, struct error *error) {
    tn_value folded = value_object();
    *weight = 0;
    for (size_t i = 0; i < value_count(checkpoints); i++) {
        tn_value checkpoint = value_at(checkpoints, i), delta = value_get(checkpoint, "delta"), next = NULL;
        int32_t status = check_plan(value_get(checkpoint, "plan"), error);
        if (status == TN_OK && (record_int(checkpoint, "step", -1) < 0 || !value_is(delta, TN_OBJECT)))
            status = broken(error, "a checkpoint has no `step` or no `delta`", "both");
        if (status != TN_OK) {
            value_unref(folded);
            return status;
        }
        if (delta_apply_take(folded, delta, &next, NULL) != TN_OK)
            return broken(error, "a checkpoint changes what is not there", "changes that add up to a state");
        folded = next;
        *weight += value_weight(delta);
    }
    *state = folded;
    return TN_OK;
}

/* Whoever goes on with it is told what has changed since: by this. */
static int32_t check_graph(tn_value file, struct error *error) {
    tn_value description = value_get(file, "graph");
    if (!description) return TN_OK;
    char *text = json_text(description, JSON_COMPACT), found[SHA256_TEXT];
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, text, strlen(text));
    sha256_text(&hash, found);
    mem_free(text);
    if (strcmp(found, record_text(value_get(file, "record"), "graph")) == 0) return TN_OK;
    return broken(error, "`graph` has been altered", "what `record.graph` is the hash of");
}

static int32_t check_keys(tn_value records, const char *member, struct error *error) {
    if (!value_is(records, TN_OBJECT)) return broken(error, member, "records by key; it is missing");
    for (size_t i = 0; i < value_count(records); i++) {
        size_t length;
        const char *key = value_chars(value_key_at(records, i), &length);
        if (length == 0 || length > REST_MAX || strlen(key) != length)
            return broken(error, member, "keys of 1 to 700 bytes, without NUL");
    }
    return TN_OK;
}

/* ---- In: written ---- */

static tn_value operations_of(tn_value file, const char *id, tn_value state, int64_t weight, tn_value *record) {
    char key[THREAD_KEY_MAX], thread[THREAD_KEY_MAX], digits[12];
    tn_value operations = value_array(), graph = value_get(file, "graph"), checkpoints = value_get(file, "checkpoints");
    thread_key(thread, id);
    if (graph)
        operations =
            value_push_take(operations, store_put(STORE_GRAPHS, record_text(*record, "graph"), value_ref(graph)));
    for (size_t i = 0; i < value_count(checkpoints); i++) {
        thread_number(digits, (uint32_t)i);
        thread_key_of(key, thread, (const char *const[]){digits, NULL});
        operations =
            value_push_take(operations, store_put(STORE_CHECKPOINTS, key, value_ref(value_at(checkpoints, i))));
    }
    for (size_t part = 0; part < PART_COUNT; part++) {
        tn_value records = value_get(file, parts[part].member);
        for (size_t i = 0; i < value_count(records); i++) {
            thread_key_of(key, thread, (const char *const[]){value_chars(value_key_at(records, i), NULL), NULL});
            operations = value_push_take(operations,
                                         store_put(parts[part].collection, key, value_ref(value_value_at(records, i))));
        }
    }
    int64_t held = value_weight(state);
    bool snapshot = weight >= THREAD_SNAPSHOT_MIN && held <= THREAD_SNAPSHOT_MAX;
    *record = value_set_take(*record, "changed", value_int(snapshot ? 0 : weight));
    *record = value_set_take(*record, "snapshot", value_int(snapshot ? held : 0));
    if (!snapshot) return operations;
    thread_number(digits, (uint32_t)value_count(checkpoints) - 1);
    thread_key_of(key, thread, (const char *const[]){digits, NULL});
    tn_value whole = value_set_take(value_object(), "state", value_ref(state));
    return value_push_take(operations, store_put(STORE_SNAPSHOTS, key, whole));
}

struct importing {
    const char *id;
    tn_value file;
    bool replace;
};

static int32_t write(struct session *session, const struct importing *import, tn_value state, int64_t weight,
                     struct error *error) {
    tn_value there = NULL, record = value_ref(value_get(import->file, "record"));
    int32_t status = records_thread(session, import->id, &there, error);
    if (status == TN_OK && there && !import->replace)
        status = error_set(error, TN_INVALID, "EXISTS",
                           "there is a thread `%s` already; give another id, or replace it with --replace", import->id);
    if (status == TN_OK) {
        /* Whoever ran it does so elsewhere. */
        if (strcmp(record_text(record, "status"), "running") == 0)
            record = value_set_take(record, "status", value_text("stopped"));
        tn_value operations = operations_of(import->file, import->id, state, weight, &record);
        struct thread_put put = {.id = import->id,
                                 .record = record,
                                 .operations = operations,
                                 .version = record_int(there, "version", 0),
                                 .fence = record_int(value_get(there, "value"), "fence", 0)};
        status = thread_put(session, &put, error);
        value_unref(operations);
    }
    value_unref(there);
    value_unref(record);
    return status;
}

static int32_t do_import(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct importing *import = user;
    tn_value state = NULL;
    int64_t weight = 0;
    (void)result;
    int32_t status = check_record(import->file, error);
    if (status == TN_OK) status = check_graph(import->file, error);
    for (size_t i = 0; status == TN_OK && i < PART_COUNT; i++)
        status = check_keys(value_get(import->file, parts[i].member), parts[i].member, error);
    if (status == TN_OK) status = check_checkpoints(value_get(import->file, "checkpoints"), &state, &weight, error);
    if (status == TN_OK) status = write(session, import, state, weight, error);
    value_unref(state);
    return status;
}

int32_t thread_import(struct store *store, const char *id, tn_value exported, bool replace, struct error *error) {
    struct importing importing = {id, exported, replace};
    int32_t status = thread_check_id(id, error);
    return status == TN_OK ? store_perform_wait(store, do_import, &importing, NULL, error) : status;
}

/*
 * thread_file.c - exports a thread as one value, and imports it.
 *
 * The keys in an exported thread do not contain the thread's id, so it can be imported under another id. Imported data
 * is untrusted: all of it is validated before the first write, and its changes must produce a state.
 */
#include "host/data/thread/thread_file.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_delta.h"
#include "host/data/thread/thread_job.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_pack.h"
#include "host/data/thread/thread_records.h"
#include "host/data/thread/thread_snapshot.h"
#include <stdio.h>
#include <string.h>
#include <tenon/util/sha256.h>

#define REST_MAX 700 /* bytes of a key after the thread's id; escaping can triple the length of the id */

static const struct part {
    const char *member, *collection;
} parts[] = {{"pending", STORE_PENDING}, {"nested", STORE_NESTED}, {"journal", STORE_JOURNAL}};
#define PART_COUNT (sizeof parts / sizeof *parts)
/* Of a thread that stays in its store. */
static const struct part links = {"artifacts", STORE_THREAD_ARTIFACTS};

/* ---- Export ---- */

struct collected {
    size_t prefix; /* bytes of keys that are the thread's id */
    tn_value all;  /* an object; an array for checkpoints */
};

static int32_t collect_record(void *user, const char *key, tn_value value, struct error *error) {
    struct collected *collected = user;
    (void)error;
    collected->all = value_is(collected->all, TN_ARRAY)
                         ? value_push_take(collected->all, value_ref(value))
                         : value_set_take(collected->all, key + collected->prefix, value_ref(value));
    return TN_OK;
}

static int32_t collect_records(struct session *session, const char *id, const char *collection, tn_value empty,
                               tn_value *out, struct error *error) {
    char key[THREAD_KEY_MAX], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    thread_records_range(id, from, to);
    thread_key(key, id);
    struct collected collected = {strlen(from), empty};
    int32_t status = thread_each_record(session, key, collection, from, to, collect_record, &collected, error);
    if (status == TN_OK)
        *out = collected.all;
    else
        value_unref(collected.all);
    return status;
}

static int32_t export_graph(struct session *session, tn_value record, tn_value *file, struct error *error) {
    const char *hash = thread_record_text(record, "graph");
    tn_value found = NULL;
    int32_t status = *hash ? session_query_take(session, store_get(STORE_GRAPHS, hash), &found, error) : TN_OK;
    tn_value description = value_get(found, "value");
    if (description) *file = value_set_take(*file, "graph", value_ref(description));
    value_unref(found);
    return status;
}

/*
 * If old checkpoints were removed, the oldest that is left becomes the first one, with the complete state as its
 * change, as in a fork.
 */
static int32_t export_from_oldest(struct session *session, const char *id, tn_value *file, struct error *error) {
    tn_value record = value_get(*file, "record"), checkpoints = value_get(*file, "checkpoints"), loaded = NULL;
    int64_t oldest = thread_record_int(record, "oldest", 0);
    if (oldest == 0 || !value_count(checkpoints)) return TN_OK;
    int32_t status = thread_read(session, id, oldest, &loaded, error);
    if (status != TN_OK) return status;
    tn_value first = value_ref(value_at(checkpoints, 0)), state = value_get(value_get(loaded, "saved"), "state");
    first = value_set_take(first, "delta", delta_of_state(state, value_get(first, "delta")));
    first = value_set_take(first, "source", value_text("fork"));
    *file = value_set_take(*file, "checkpoints", value_replace_take(value_ref(checkpoints), 0, first));
    record = value_remove_take(value_ref(record), value_text("oldest"));
    record = value_set_take(record, "head", value_int(thread_record_int(record, "head", 0) - oldest));
    *file = value_set_take(*file, "record", record);
    value_unref(loaded);
    return TN_OK;
}

static int32_t check_all_checkpoints(const char *id, tn_value record, tn_value checkpoints, struct error *error) {
    int64_t oldest = thread_record_int(record, "oldest", 0), head = thread_record_int(record, "head", -1);
    if (head + 1 - oldest == (int64_t)value_count(checkpoints)) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_STATE",
                     "the thread `%s` has %zu of the checkpoints %lld to %lld: another program has changed the store; "
                     "restore a copy of it",
                     id, value_count(checkpoints), (long long)oldest, (long long)head);
}

static int32_t read_file(struct session *session, tn_value found, const void *user, tn_value *out,
                         struct error *error) {
    const char *id = user;
    tn_value record = value_get(found, "value"), collected = NULL;
    if (!record) return thread_records_not_found(id, error);
    *out = value_set_take(value_object_reserve(8), "format", value_text(THREAD_FORMAT));
    /* They name processes of this machine, and no host is to continue the run of an imported thread. */
    static const char *const local[] = {"owner", THREAD_SERVED, THREAD_CONTINUED};
    tn_value exported = value_ref(record);
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        exported = value_remove_take(exported, value_text(local[i]));
    *out = value_set_take(*out, "record", exported);
    int32_t status = export_graph(session, record, out, error);
    if (status == TN_OK) status = collect_records(session, id, STORE_CHECKPOINTS, value_array(), &collected, error);
    if (status == TN_OK) *out = value_set_take(*out, "checkpoints", collected);
    if (status == TN_OK) status = check_all_checkpoints(id, record, collected, error);
    for (size_t i = 0; status == TN_OK && i < PART_COUNT; i++) {
        status = collect_records(session, id, parts[i].collection, value_object(), &collected, error);
        if (status == TN_OK) *out = value_set_take(*out, parts[i].member, collected);
    }
    return status == TN_OK ? export_from_oldest(session, id, out, error) : status;
}

int32_t thread_file_read(struct session *session, const char *id, tn_value *out, struct error *error) {
    tn_value file = NULL, found = NULL;
    int32_t status = thread_records_read_one_state(session, id, read_file, id, &file, error);
    if (status == TN_OK) status = collect_records(session, id, links.collection, value_object(), &found, error);
    if (status == TN_OK) {
        *out = value_set_take(file, links.member, found);
        return TN_OK;
    }
    value_unref(file);
    return status;
}

static int32_t thread_run_export(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_job *job = user;
    return thread_records_read_one_state(session, job->id, read_file, job->id, result, error);
}

void thread_export(struct store *store, const char *id, store_done *done, void *user) {
    thread_job_start(store, thread_run_export, &(const struct thread_job){.id = id}, done, user);
}

/* ---- Import: validation ---- */

static int32_t malformed_file(struct error *error, const char *where, const char *expected) {
    return error_set(error, TN_INVALID, "INVALID_INPUT", "the exported thread is malformed: %s, expected %s", where,
                     expected);
}

static bool is_time_member(tn_value record, const char *key) {
    static const char form[] = "0000-00-00T00:00:00.000Z";
    const char *text = thread_record_text(record, key);
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

static int32_t check_saved_interrupts(tn_value interrupts, struct error *error) {
    if (!interrupts || value_is(interrupts, TN_NULL)) return TN_OK;
    if (!value_is(interrupts, TN_ARRAY))
        return malformed_file(error, "`record.interrupts` is not an array", "an array of interrupts");
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), id = value_get(entry, "id");
        if (!value_is(entry, TN_OBJECT) || (id && !value_is(id, TN_STRING)))
            return malformed_file(error, "`record.interrupts` has a malformed item", "{id, node, payload}");
    }
    return TN_OK;
}

static int32_t check_record(tn_value file, struct error *error) {
    tn_value record = value_get(file, "record"), checkpoints = value_get(file, "checkpoints");
    tn_value answers = value_get(record, "answers");
    if (!value_is(file, TN_OBJECT) || strcmp(thread_record_text(file, "format"), THREAD_FORMAT) != 0)
        return malformed_file(error, "`format` is missing or unknown",
                              "\"" THREAD_FORMAT "\", as `tenon thread export` writes");
    if (!value_is(record, TN_OBJECT)) return malformed_file(error, "`record` is missing", "the thread's record");
    if (!is_status(thread_record_text(record, "status")))
        return malformed_file(error, "`record.status` is missing or unknown",
                              "done, failed, cancelled, interrupted, stopped or running");
    if (!is_time_member(record, "updated_at") || !is_time_member(record, "created_at"))
        return malformed_file(error, "`record` has no valid times",
                              "`created_at` and `updated_at` in the form 2026-01-31T12:00:00.000Z");
    if (!*thread_record_text(record, "graph"))
        return malformed_file(error, "`record.graph` is missing", "the hash of the graph");
    if (!value_is(checkpoints, TN_ARRAY) || !value_count(checkpoints) ||
        thread_record_int(record, "head", -1) != (int64_t)value_count(checkpoints) - 1)
        return malformed_file(error, "the number of `checkpoints` does not match `record.head`", "all checkpoints");
    if (answers && !value_is(answers, TN_NULL) && !value_is(answers, TN_OBJECT))
        return malformed_file(error, "`record.answers` is not an object", "answers by interrupt id");
    return check_saved_interrupts(value_get(record, "interrupts"), error);
}

static int32_t check_plan(tn_value plan, struct error *error) {
    if (!value_is(plan, TN_ARRAY)) return malformed_file(error, "a checkpoint has no `plan`", "an array of nodes");
    for (size_t i = 0; i < value_count(plan); i++) {
        tn_value entry = value_at(plan, i), node = value_is(entry, TN_OBJECT) ? value_get(entry, "node") : entry;
        if (!node || !value_is(node, TN_STRING)) return malformed_file(error, "a `plan` has a malformed item", "nodes");
    }
    return TN_OK;
}

/* Applies the changes of all checkpoints. *state is the result, *weight the size of the changes. */
static int32_t check_checkpoints(tn_value checkpoints, tn_value *state, int64_t *weight, struct error *error) {
    tn_value folded = value_object();
    *weight = 0;
    for (size_t i = 0; i < value_count(checkpoints); i++) {
        tn_value checkpoint = value_at(checkpoints, i), delta = value_get(checkpoint, "delta"), next = NULL;
        int32_t status = check_plan(value_get(checkpoint, "plan"), error);
        if (status == TN_OK && (thread_record_int(checkpoint, "step", -1) < 0 || !value_is(delta, TN_OBJECT)))
            status = malformed_file(error, "a checkpoint lacks `step` or `delta`", "both");
        if (status != TN_OK) {
            value_unref(folded);
            return status;
        }
        if (delta_apply_take(folded, delta, &next, NULL) != TN_OK)
            return malformed_file(error, "the change of a checkpoint cannot be applied",
                                  "changes that produce a state");
        folded = next;
        *weight += value_weight(delta);
    }
    *state = folded;
    return TN_OK;
}

/* The description is used to show what has changed when the thread is resumed with another document. */
static int32_t check_graph_hash(tn_value file, struct error *error) {
    tn_value description = value_get(file, "graph");
    if (!description) return TN_OK;
    char *text = json_text(description, JSON_COMPACT), found[TN_SHA256_TEXT];
    struct tn_sha256 hash;
    tn_sha256_init(&hash);
    tn_sha256_update(&hash, text, strlen(text));
    tn_sha256_finish_text(&hash, found);
    mem_free(text);
    if (strcmp(found, thread_record_text(value_get(file, "record"), "graph")) == 0) return TN_OK;
    return malformed_file(error, "`graph` does not match its hash `record.graph`", "the unchanged graph");
}

static int32_t check_keys(tn_value records, const char *member, struct error *error) {
    if (!value_is(records, TN_OBJECT)) return malformed_file(error, member, "records by key; it is missing");
    for (size_t i = 0; i < value_count(records); i++) {
        size_t length;
        const char *key = value_chars(value_key_at(records, i), &length);
        if (length == 0 || length > REST_MAX || strlen(key) != length)
            return malformed_file(error, member, "keys of 1 to 700 bytes, without NUL");
    }
    return TN_OK;
}

/* ---- Import: writing ---- */

static void pack_part(struct thread_packer *packer, const struct part *part, tn_value file) {
    char key[THREAD_KEY_MAX];
    tn_value records = value_get(file, part->member);
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value value = value_value_at(records, i);
        thread_key_of(key, packer->key, (const char *const[]){value_chars(value_key_at(records, i), NULL), NULL});
        thread_pack_record_take(packer, part->collection, key, value_ref(value), value_weight(value));
    }
}

/* `stays`: the thread is in its store. */
static tn_value import_operations(tn_value file, const char *id, tn_value state, int64_t weight, bool stays,
                                  tn_value *record) {
    char key[THREAD_KEY_MAX], thread[THREAD_KEY_MAX], digits[12];
    tn_value graph = value_get(file, "graph"), checkpoints = value_get(file, "checkpoints");
    struct thread_packer packer = {.key = thread, .chunk = SNAPSHOT_CHUNK_MIN, .puts = value_array()};
    thread_key(thread, id);
    if (graph)
        packer.puts = value_push_take(packer.puts,
                                      store_put(STORE_GRAPHS, thread_record_text(*record, "graph"), value_ref(graph)));
    for (size_t i = 0; i < value_count(checkpoints); i++) {
        tn_value checkpoint = value_ref(value_at(checkpoints, i));
        /* What follows the last checkpoint belongs to the new thread. */
        if (i + 1 == value_count(checkpoints))
            checkpoint = value_set_take(checkpoint, "incarnation", value_ref(value_get(*record, "incarnation")));
        thread_number(digits, (uint32_t)i);
        thread_key_of(key, thread, (const char *const[]){digits, NULL});
        thread_pack_record_take(&packer, STORE_CHECKPOINTS, key, checkpoint, value_weight(checkpoint));
    }
    for (size_t part = 0; part < PART_COUNT; part++) pack_part(&packer, &parts[part], file);
    if (stays) pack_part(&packer, &links, file);
    bool snapshot = weight >= SNAPSHOT_CHANGED_MIN;
    *record = value_set_take(*record, "changed", value_int(snapshot ? 0 : weight));
    *record = value_set_take(*record, "snapshot", value_int(0));
    if (snapshot) {
        tn_value made = snapshot_record(&packer, state);
        thread_number(digits, (uint32_t)value_count(checkpoints) - 1);
        thread_key_of(key, thread, (const char *const[]){digits, NULL});
        packer.puts = value_push_take(packer.puts, store_put(STORE_SNAPSHOTS, key, made));
    }
    value_unref(packer.known);
    return packer.puts;
}

/* Writes it in the place of `existing`, {value, version}, or NULL. */
static int32_t write_file(struct session *session, const char *id, tn_value file, tn_value existing, tn_value state,
                          int64_t weight, bool stays, struct error *error) {
    tn_value record = value_ref(value_get(file, "record"));
    /* The run of an exported thread is in another process or has ended. */
    if (strcmp(thread_record_text(record, "status"), "running") == 0)
        record = value_set_take(record, "status", value_text("stopped"));
    char incarnation[THREAD_INCARNATION_TEXT];
    thread_incarnation_make(incarnation);
    record = value_set_take(record, "incarnation", value_text(incarnation));
    record = value_remove_take(record, value_text("oldest"));
    record = value_remove_take(record, value_text(THREAD_SERVED));
    tn_value operations = import_operations(file, id, state, weight, stays, &record);
    struct thread_put put = {.id = id,
                             .record = record,
                             .operations = operations,
                             .version = thread_record_int(existing, "version", 0),
                             .fence = thread_record_int(value_get(existing, "value"), "fence", 0)};
    int32_t status = thread_put(session, &put, error);
    value_unref(operations);
    value_unref(record);
    return status;
}

int32_t thread_file_write(struct session *session, const char *id, tn_value file, tn_value existing,
                          struct error *error) {
    tn_value state = NULL;
    int64_t weight = 0;
    int32_t status = check_checkpoints(value_get(file, "checkpoints"), &state, &weight, error);
    if (status == TN_OK) status = write_file(session, id, file, existing, state, weight, true, error);
    value_unref(state);
    return status;
}

static int32_t write_import(struct session *session, const struct thread_job *job, tn_value state, int64_t weight,
                            struct error *error) {
    tn_value existing = NULL;
    int32_t status = thread_records_find(session, job->id, &existing, error);
    if (status == TN_OK && existing && !job->replace)
        status = error_set(error, TN_INVALID, "EXISTS",
                           "the thread `%s` exists already; choose another id, or replace it (`replace`)", job->id);
    if (status == TN_OK) status = write_file(session, job->id, job->value, existing, state, weight, false, error);
    value_unref(existing);
    return status;
}

static int32_t thread_run_import(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_job *job = user;
    tn_value state = NULL;
    int64_t weight = 0;
    (void)result;
    int32_t status = thread_check_id(job->id, error);
    if (status == TN_OK) status = check_record(job->value, error);
    if (status == TN_OK) status = check_graph_hash(job->value, error);
    for (size_t i = 0; status == TN_OK && i < PART_COUNT; i++)
        status = check_keys(value_get(job->value, parts[i].member), parts[i].member, error);
    if (status == TN_OK) status = check_checkpoints(value_get(job->value, "checkpoints"), &state, &weight, error);
    if (status == TN_OK) status = write_import(session, job, state, weight, error);
    value_unref(state);
    return status;
}

void thread_import(struct store *store, const char *id, tn_value exported, bool replace, store_done *done, void *user) {
    thread_job_start(store, thread_run_import,
                     &(const struct thread_job){.id = id, .value = exported, .replace = replace}, done, user);
}

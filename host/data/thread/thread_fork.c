/*
 * thread_fork.c - creates a thread from a checkpoint of another thread.
 *
 * The first checkpoint of the fork contains the complete state as its change, and the plan of the source checkpoint. It
 * can therefore be read without the source thread. A fork of the newest checkpoint also copies the results of the
 * unfinished super-step. This works because interrupt ids do not depend on the thread's id.
 */
#include "adl/value/weight.h"
#include "host/base/time_text.h"
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

#define FORK_TRIES 5 /* attempts while the source thread keeps changing */

struct thread_fork {
    struct session *session;
    const char *id, *fork;              /* the source thread, the fork */
    int64_t now_ms;                     /* wall clock, for the new record */
    int64_t seq;                        /* the source checkpoint; THREAD_HEAD until it is known */
    tn_value found, loaded, checkpoint; /* owned */
    bool at_head;
    char key[THREAD_KEY_MAX]; /* of the fork */
    struct thread_packer packer;
    bool snapshot; /* the fork has one */
    /* While records are copied: */
    const char *collection;
    size_t prefix;   /* bytes of keys that are the id of the source thread */
    tn_value scopes; /* owned; scopes of unfinished nested runs; NULL if they are not collected */
};

/* ---- The source thread ---- */

static int32_t read_source(struct thread_fork *it, struct error *error) {
    char key[THREAD_KEY_MAX], old[THREAD_KEY_MAX], digits[12];
    tn_value found = NULL;
    int32_t status = thread_records_require(it->session, it->id, &it->found, error);
    if (status != TN_OK) return status;
    int64_t head = thread_record_int(value_get(it->found, "value"), "head", -1);
    if (head < 0)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the thread `%s` has no checkpoint yet: it is %s", it->id,
                         thread_record_text(value_get(it->found, "value"), "status"));
    if (it->seq == THREAD_HEAD) it->seq = head;
    it->at_head = it->seq == head;
    status = thread_read(it->session, it->id, it->seq, &it->loaded, error);
    if (status != TN_OK) return status;
    thread_key(old, it->id);
    thread_number(digits, (uint32_t)it->seq);
    thread_key_of(key, old, (const char *const[]){digits, NULL});
    status = session_query_take(it->session, store_get(STORE_CHECKPOINTS, key), &found, error);
    if (status != TN_OK) return status;
    tn_value checkpoint = value_get(found, "value");
    if (checkpoint) status = thread_unpack_record_take(it->session, old, value_ref(checkpoint), &it->checkpoint, error);
    value_unref(found);
    if (checkpoint) return status;
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                     "the thread `%s` has no checkpoint %lld; `tenon thread history` lists its checkpoints", it->id,
                     (long long)it->seq);
}

/* ---- The fork ---- */

static void fork_put(struct thread_fork *it, const char *collection, const char *rest, tn_value value) {
    char key[THREAD_KEY_MAX];
    thread_key_of(key, it->key, (const char *const[]){rest, NULL});
    thread_pack_record_take(&it->packer, collection, key, value_ref(value), value_weight(value));
}

static void put_snapshot(struct thread_fork *it, tn_value state) {
    char key[THREAD_KEY_MAX];
    tn_value record = snapshot_record(&it->packer, state), chunk = value_get(record, "chunk");
    it->packer.chunk = (size_t)value_to_int(chunk);
    it->snapshot = true;
    thread_key_of(key, it->key, (const char *const[]){"0000000000", NULL});
    it->packer.puts = value_push_take(it->packer.puts, store_put(STORE_SNAPSHOTS, key, record));
}

static tn_value put_checkpoint(struct thread_fork *it) {
    static const char *const members[] = {"step",   "plan", "joins", "deferred", "used",
                                          "before", "uses", "after", "now"};
    tn_value state = value_get(value_get(it->loaded, "saved"), "state"), made = value_object_reserve(10);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(it->checkpoint, members[i]);
        if (member) made = value_set_take(made, members[i], value_ref(member));
    }
    made = value_set_take(made, "source", value_text("fork"));
    made = value_set_take(made, "from", value_text(it->id));
    char incarnation[THREAD_INCARNATION_TEXT];
    thread_incarnation_make(incarnation);
    made = value_set_take(made, "incarnation", value_text(incarnation));
    made = value_set_take(made, "delta", delta_of_state(state, value_get(it->checkpoint, "delta")));
    int64_t weight = value_weight(made);
    /* A large state is read from a snapshot, which shares the chunks of the checkpoint. */
    if (weight > PACK_WHOLE_MAX) put_snapshot(it, state);
    fork_put(it, STORE_CHECKPOINTS, "0000000000", made);
    return made;
}

static int32_t copy_record(void *user, const char *key, tn_value value, struct error *error) {
    struct thread_fork *it = user;
    (void)error;
    const char *rest = key + it->prefix, *slash = strchr(rest, '/');
    if (it->scopes && slash)
        it->scopes = value_set_key_take(it->scopes, value_text_n(rest, (size_t)(slash - rest)), value_null());
    fork_put(it, it->collection, rest, value);
    return TN_OK;
}

static int32_t copy_records(struct thread_fork *it, const char *collection, const char *const *parts,
                            struct error *error) {
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX], key[THREAD_KEY_MAX];
    thread_key(key, it->id);
    thread_key_range(from, to, key, parts);
    it->prefix = strlen(key) + 1;
    it->collection = collection;
    return thread_each_record(it->session, key, collection, from, to, copy_record, it, error);
}

/* Copies the results of the unfinished super-step, and the checkpoints of its nested runs. */
static int32_t copy_unfinished_step(struct thread_fork *it, struct error *error) {
    char digits[12];
    thread_number(digits, (uint32_t)thread_record_int(it->checkpoint, "step", 0) + 1);
    it->scopes = value_object();
    int32_t status = copy_records(it, STORE_NESTED, (const char *const[]){NULL}, error);
    tn_value scopes = it->scopes;
    it->scopes = NULL;
    if (status == TN_OK) status = copy_records(it, STORE_PENDING, (const char *const[]){NULL}, error);
    if (status == TN_OK)
        status = copy_records(it, STORE_JOURNAL, (const char *const[]){THREAD_ROOT, digits, NULL}, error);
    if (status == TN_OK) status = copy_records(it, STORE_JOURNAL, (const char *const[]){THREAD_ANSWERS, NULL}, error);
    for (size_t i = 0; status == TN_OK && i < value_count(scopes); i++)
        status = copy_records(it, STORE_JOURNAL,
                              (const char *const[]){value_chars(value_key_at(scopes, i), NULL), NULL}, error);
    value_unref(scopes);
    return status;
}

static bool has_next_step(tn_value checkpoint) {
    return value_count(value_get(checkpoint, "plan")) || value_count(value_get(checkpoint, "deferred"));
}

static tn_value fork_record(const struct thread_fork *it, tn_value checkpoint) {
    static const char *const kept[] = {"agent", "graph", "document", "config"};
    static const char *const kept_at_head[] = {"status", "next", "interrupts", "answers", "error"};
    tn_value old = value_get(it->found, "value"), record = value_object_reserve(20), next = value_array();
    for (size_t i = 0; i < value_count(value_get(checkpoint, "plan")) && i < 100; i++) {
        tn_value entry = value_at(value_get(checkpoint, "plan"), i);
        tn_value node = value_is(entry, TN_STRING) ? entry : value_get(entry, "node");
        if (node) next = value_push_take(next, value_ref(node));
    }
    record = value_set_take(record, "status", value_text(has_next_step(checkpoint) ? "stopped" : "done"));
    record = value_set_take(record, "updated_at", time_value(it->now_ms));
    record = value_set_take(record, "created_at", time_value(it->now_ms));
    record = value_set_take(record, "step", value_int(thread_record_int(checkpoint, "step", 0)));
    record = value_set_take(record, "next", next);
    record = value_set_take(record, "head", value_int(0));
    record = value_set_take(record, "incarnation", value_ref(value_get(checkpoint, "incarnation")));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        tn_value member = value_get(old, kept[i]);
        if (member) record = value_set_take(record, kept[i], value_ref(member));
    }
    bool running = strcmp(thread_record_text(old, "status"), "running") == 0;
    for (size_t i = running ? 1 : 0; it->at_head && i < sizeof kept_at_head / sizeof *kept_at_head; i++) {
        tn_value member = value_get(old, kept_at_head[i]);
        if (member) record = value_set_take(record, kept_at_head[i], value_ref(member));
    }
    if (it->at_head && running) record = value_set_take(record, "status", value_text("stopped"));
    record = value_set_take(record, "changed", value_int(it->snapshot ? 0 : value_weight(checkpoint)));
    record = value_set_take(record, "snapshot", value_int(0));
    tn_value parent = value_set_take(value_object(), "thread_id", value_text(it->id));
    return value_set_take(record, "parent", value_set_take(parent, "seq", value_int(it->seq)));
}

static tn_value expect_version(const struct thread_fork *it) {
    char key[THREAD_KEY_MAX];
    thread_key(key, it->id);
    tn_value made = value_set_take(value_object(), "op", value_text("expect"));
    made = value_set_take(made, "collection", value_text(STORE_THREADS));
    made = value_set_take(made, "key", value_text(key));
    return store_if_version(made, thread_record_int(it->found, "version", 0));
}

static int32_t check_fork_is_new(const struct thread_fork *it, struct error *error) {
    tn_value taken = NULL;
    int32_t status = thread_records_find(it->session, it->fork, &taken, error);
    if (status != TN_OK || !taken) return status;
    value_unref(taken);
    return error_set(error, TN_INVALID, "EXISTS",
                     "the thread `%s` exists already; delete it first, or choose another id", it->fork);
}

static int32_t try_fork(struct thread_fork *it, struct error *error) {
    thread_key(it->key, it->fork);
    it->packer = (struct thread_packer){.key = it->key, .chunk = SNAPSHOT_CHUNK_MIN, .puts = value_array()};
    int32_t status = read_source(it, error);
    if (status == TN_OK) status = check_fork_is_new(it, error);
    if (status != TN_OK) return status;
    tn_value checkpoint = put_checkpoint(it);
    if (it->at_head) status = copy_unfinished_step(it, error);
    tn_value record = fork_record(it, checkpoint);
    value_unref(checkpoint);
    if (status == TN_OK) {
        struct thread_put whole = {.id = it->fork, .record = record, .operations = it->packer.puts};
        if (it->at_head) whole.expect = expect_version(it);
        status = thread_put(it->session, &whole, error);
        value_unref(whole.expect);
    }
    value_unref(record);
    return status;
}

static int32_t thread_run_fork(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_job *job = user;
    struct error why = ERROR_INIT;
    (void)result;
    int32_t status = thread_check_id(job->fork, error);
    if (status != TN_OK) return status;
    for (int i = 0; i < FORK_TRIES; i++) {
        struct thread_fork it = {
            .session = session, .id = job->id, .fork = job->fork, .seq = job->seq, .now_ms = job->now_ms};
        error_finish(&why);
        status = try_fork(&it, &why);
        value_unref(it.found);
        value_unref(it.loaded);
        value_unref(it.checkpoint);
        thread_packer_finish(&it.packer);
        if (status == TN_OK || !why.code || strcmp(why.code, "CONFLICT") != 0) break;
    }
    error_move(error, &why);
    return status;
}

void thread_fork(struct store *store, const char *id, int64_t seq, const char *fork, store_done *done, void *user) {
    struct thread_job job = {.id = id, .fork = fork, .seq = seq, .now_ms = store_wall_ms(store)};
    thread_job_start(store, thread_run_fork, &job, done, user);
}

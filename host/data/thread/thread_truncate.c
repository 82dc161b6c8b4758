/*
 * thread_truncate.c - removes checkpoints of a thread: those after a checkpoint, so that this one is the newest again;
 * and those before it, so that only its state is left.
 *
 * The thread is read as one value, cut, and written in its place with another incarnation and the next fence: a writer
 * that had it before gets FENCED, and no idempotency key is repeated. What belongs to an unfinished super-step stays
 * only if the newest checkpoint stays the newest one.
 */
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_delta.h"
#include "host/data/thread/thread_file.h"
#include "host/data/thread/thread_job.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_owner.h"
#include "host/data/thread/thread_records.h"
#include <stdlib.h>
#include <string.h>

/* The names of the nodes of a plan. */
static tn_value next_nodes(tn_value plan) {
    tn_value nodes = value_array();
    for (size_t i = 0; i < value_count(plan) && i < 100; i++) {
        tn_value entry = value_at(plan, i), node = value_is(entry, TN_STRING) ? entry : value_get(entry, "node");
        if (node) nodes = value_push_take(nodes, value_ref(node));
    }
    return nodes;
}

/* The record of the thread as it was after the checkpoint. What it asked then is asked again. */
static tn_value cut_record_take(tn_value record, tn_value checkpoint) {
    static const char *const ended[] = {"interrupts", "answers", "error"};
    tn_value plan = value_get(checkpoint, "plan");
    bool continues = value_count(plan) || value_count(value_get(checkpoint, "deferred"));
    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++)
        if (value_get(record, ended[i])) record = value_remove_take(record, value_text(ended[i]));
    record = value_set_take(record, "status", value_text(continues ? "stopped" : "done"));
    record = value_set_take(record, "step", value_int(thread_record_int(checkpoint, "step", 0)));
    return value_set_take(record, "next", next_nodes(plan));
}

/* The super-step of an entry of the outermost run, -/STEP/…; -1: of another entry. */
static int64_t step_of(tn_value key) {
    const char *text = value_chars(key, NULL);
    return text[0] == '-' && text[1] == '/' ? strtoll(text + 2, NULL, 10) : -1;
}

/*
 * `later`: the super-step `step` is the last one that stays, so later entries would answer the calls of other steps;
 * of nested runs, none stays. Otherwise: those of the unfinished super-step stay, after the checkpoints were removed.
 */
static tn_value cut_journal(tn_value journal, int64_t step, bool later) {
    tn_value kept = value_object();
    for (size_t i = 0; i < value_count(journal); i++) {
        int64_t of = step_of(value_key_at(journal, i));
        if (later ? of < 0 || of > step : of >= 0 && of <= step) continue;
        kept = value_set_key_take(kept, value_ref(value_key_at(journal, i)), value_ref(value_value_at(journal, i)));
    }
    return kept;
}

/* Only the last checkpoint, with the complete state as its change. */
static int32_t keep_last(tn_value *checkpoints, struct error *error) {
    size_t count = value_count(*checkpoints);
    tn_value last = value_ref(value_at(*checkpoints, count - 1)), state = value_object();
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        tn_value next = NULL;
        status = delta_apply_take(state, value_get(value_at(*checkpoints, i), "delta"), &next, error);
        state = next;
    }
    if (status == TN_OK) {
        last = value_set_take(last, "delta", delta_of_state(state, value_get(last, "delta")));
        last = value_set_take(last, "source", value_text("fork"));
        value_unref(*checkpoints);
        *checkpoints = value_push_take(value_array(), value_ref(last));
    }
    value_unref(last);
    value_unref(state);
    return status;
}

/* Cuts the value in place. */
static int32_t cut_file(const struct thread_job *job, int64_t oldest, tn_value *file, struct error *error) {
    tn_value checkpoints = value_get(*file, "checkpoints"), record = value_ref(value_get(*file, "record"));
    int64_t count = (int64_t)value_count(checkpoints), at = job->seq == THREAD_HEAD ? count - 1 : job->seq - oldest;
    if (at < 0 || at >= count) {
        value_unref(record);
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the thread `%s` has no checkpoint %lld", job->id,
                         (long long)job->seq);
    }
    tn_value kept = value_slice(checkpoints, 0, (size_t)at + 1), last = value_at(checkpoints, (size_t)at);
    if (at + 1 < count) {
        record = cut_record_take(record, last);
        *file = value_set_take(*file, "pending", value_object());
        *file = value_set_take(*file, "nested", value_object());
    }
    if (at + 1 < count || job->replace) {
        tn_value journal = value_get(*file, "journal");
        journal = cut_journal(journal, thread_record_int(last, "step", 0), at + 1 < count);
        *file = value_set_take(*file, "journal", journal);
    }
    int32_t status = job->replace ? keep_last(&kept, error) : TN_OK;
    record = value_set_take(record, "head", value_int((int64_t)value_count(kept) - 1));
    *file = value_set_take(*file, "checkpoints", kept);
    *file = value_set_take(*file, "record", record);
    return status;
}

/* Whether a checkpoint is removed, or counted anew. Otherwise nothing is written: the state may be large. */
static bool changes(const struct thread_job *job, tn_value record) {
    int64_t head = thread_record_int(record, "head", -1);
    if (head < 0 || (job->seq != THREAD_HEAD && job->seq != head)) return true;
    return job->replace && head > 0;
}

static int32_t thread_run_truncate(struct session *session, void *user, tn_value *result, struct error *error) {
    const struct thread_job *job = user;
    tn_value found = NULL, file = NULL;
    (void)result;
    int32_t status = thread_records_require(session, job->id, &found, error);
    tn_value record = value_get(found, "value");
    if (status == TN_OK) status = thread_owner_check(job->store, job->id, record, error);
    if (status == TN_OK) status = thread_owner_check_remote(session, job->id, record, error);
    if (status != TN_OK || !changes(job, record)) {
        value_unref(found);
        return status;
    }
    status = thread_file_read(session, job->id, &file, error);
    if (status == TN_OK) status = cut_file(job, thread_record_int(record, "oldest", 0), &file, error);
    if (status == TN_OK) status = thread_file_write(session, job->id, file, found, error);
    value_unref(file);
    value_unref(found);
    return status;
}

void thread_truncate(struct store *store, const char *id, int64_t seq, bool alone, store_done *done, void *user) {
    thread_job_start(store, thread_run_truncate, &(const struct thread_job){.id = id, .seq = seq, .replace = alone},
                     done, user);
}

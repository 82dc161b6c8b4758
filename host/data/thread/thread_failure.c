/*
 * thread_failure.c - writes the record of a failed run and its notes: in one batch if possible, else the record first,
 * and then the notes in ever smaller batches, so that one note that is too large does not keep the others from being
 * written.
 */
#include "host/data/thread/thread_failure.h"
#include "adl/value/memory.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_records.h"
#include <string.h>

/*
 * The record with the fence of this writer: a batch of a writer that was replaced changes nothing. The first one
 * expects that the thread is running. A store can report an error although it has made the commit, and then the end of
 * the run that the commit says is kept: without this, an interrupt would become a failure, and a resume would pass it.
 */
static tn_value failure_record(struct thread_failure *failure, bool first) {
    failure->batches += 1;
    tn_value patch = value_set_take(value_ref(failure->record), "batches", value_int(failure->batches));
    tn_value condition = thread_fence_condition(failure->fence);
    if (first) condition = value_set_take(condition, "status", value_text("running"));
    return store_if_where(store_merge(STORE_THREADS, failure->key, patch), condition);
}

static int32_t failure_commit(struct session *session, struct thread_failure *failure, bool first, size_t from,
                              size_t to, struct error *error) {
    tn_value batch = value_push_take(value_array(), failure_record(failure, first));
    batch = value_concat_take(batch, value_slice(failure->notes, from, to));
    return session_commit_take(session, batch, NULL, error);
}

static bool error_is(const struct error *error, const char *code) {
    return error->code && strcmp(error->code, code) == 0;
}

/* Returns false if no other note can be written either. */
static bool failure_write_notes(struct session *session, struct thread_failure *failure, size_t from, size_t to) {
    struct error error = ERROR_INIT;
    if (from == to || failure_commit(session, failure, false, from, to, &error) == TN_OK) return true;
    bool too_large = error_is(&error, "STORE_FULL") || error_is(&error, "LIMIT") || error_is(&error, "INVALID");
    error_finish(&error);
    if (!too_large || to - from == 1) return too_large;
    size_t middle = from + (to - from) / 2;
    return failure_write_notes(session, failure, from, middle) && failure_write_notes(session, failure, middle, to);
}

static int32_t failure_perform(struct session *session, void *user, tn_value *result, struct error *error) {
    struct thread_failure *failure = user;
    size_t count = value_count(failure->notes);
    (void)result;
    int32_t status = failure_commit(session, failure, true, 0, count, error);
    if (status == TN_OK || count == 0 || error_is(error, "CONFLICT")) return status;
    error_finish(error);
    *error = (struct error)ERROR_INIT;
    status = failure_commit(session, failure, true, 0, 0, error);
    if (status == TN_OK) (void)failure_write_notes(session, failure, 0, count);
    return status;
}

static void on_failure_performed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct thread_failure *failure = user;
    failure->done(failure->user, status, result, error);
    value_unref(failure->record);
    value_unref(failure->notes);
    mem_free(failure);
}

void thread_failure_write_take(struct store *store, struct thread_failure *failure) {
    store_perform(store, failure_perform, failure, on_failure_performed, failure);
}

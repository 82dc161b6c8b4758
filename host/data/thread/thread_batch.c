/*
 * thread_batch.c - opens and closes a batch: reads its record, decides, takes the lock, and writes the record on
 * condition that it has not changed.
 */
#include "host/data/thread/thread_batch.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/time_text.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_owner.h"
#include "host/data/thread/thread_records.h"
#include <stdio.h>
#include <string.h>

#define FORCE_TRIES 8 /* fences that are tried if a process that prepares its first write has the lock */

struct thread_batch {
    struct store *store;
    char key[THREAD_KEY_MAX];
    char id[THREAD_INCARNATION_TEXT];
    bool replaces, was_done;
    int64_t fence;
    struct owner_lock *lock; /* or NULL */
};

static int32_t batch_check_name(const char *name, struct error *error) {
    size_t length = strlen(name);
    char key[THREAD_KEY_MAX];
    if (!utf8_valid(name, length))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "the threads of the batch have a name that is not UTF-8");
    thread_key(key, name);
    if (length > 0 && length <= THREAD_BATCH_NAME_MAX && strlen(key) < THREAD_KEY_MAX - 8) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT",
                     "the threads of the batch have a name of %zu bytes, expected 1 to %u", length,
                     THREAD_BATCH_NAME_MAX);
}

/* The key of the lock. Keys of threads have no `/`, so it is not one of them. */
static void batch_lock_key(const struct thread_batch *batch, char out[THREAD_KEY_MAX]) {
    thread_key_of(out, "batch", (const char *const[]){batch->key, NULL});
}

/* ---- Opening ---- */

static int32_t batch_check_changes(const struct thread_batch_request *request, tn_value record, struct error *error) {
    if (request->accept_changes || value_text_is(value_get(record, "digest"), request->digest)) return TN_OK;
    int64_t lines = thread_record_int(record, "lines", 0);
    char count[64] = "";
    if (lines != (int64_t)request->lines)
        snprintf(count, sizeof count, ": it had %lld inputs, and has %zu", (long long)lines, request->lines);
    return error_set(error, TN_INVALID, "BATCH_CHANGED",
                     "the inputs of the batch `%s` have changed since it began%s; use the same file, accept the "
                     "changes of lines that have not begun (--accept-changes), or start the batch again (--replace)",
                     request->name, count);
}

static int32_t batch_check_owner(const struct thread_batch *batch, const struct thread_batch_request *request,
                                 tn_value record, struct error *error) {
    char key[THREAD_KEY_MAX], who[THREAD_OWNER_TEXT];
    batch_lock_key(batch, key);
    if (request->force || !thread_owner_lives(batch->store, key, thread_record_int(record, "fence", 0))) return TN_OK;
    thread_owner_text(value_get(record, "owner"), who);
    return error_set(error, TN_INVALID, "OWNED",
                     "the batch `%s` is being run by %s: wait until it has ended, stop it, or take it over (--force)",
                     request->name, who);
}

/* `record` is NULL if the batch is new. */
static int32_t batch_check(const struct thread_batch *batch, const struct thread_batch_request *request,
                           tn_value record, struct error *error) {
    if (!record && request->mode == THREAD_BATCH_RESUME)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "the batch `%s` does not exist: there is nothing to resume; start it without --resume",
                         request->name);
    if (!record) return TN_OK;
    const char *status = thread_record_text(record, "status");
    bool running = strcmp(status, "running") == 0;
    if ((!running && strcmp(status, "done") != 0) || strlen(thread_record_text(record, "id")) >= sizeof batch->id ||
        !*thread_record_text(record, "id"))
        return error_set(error, TN_FAILED, "STORE_CORRUPT",
                         "the record of the batch `%s` in the store is damaged; start the batch again (--replace)",
                         request->name);
    int32_t result = batch_check_owner(batch, request, record, error);
    if (result != TN_OK) return result;
    if (running && request->mode == THREAD_BATCH_START)
        return error_set(error, TN_INVALID, "UNFINISHED",
                         "the batch `%s` is not done; continue it (--resume), or start it again (--replace)",
                         request->name);
    return request->mode == THREAD_BATCH_RESUME ? batch_check_changes(request, record, error) : TN_OK;
}

static int32_t batch_lock(struct thread_batch *batch, const struct thread_batch_request *request, struct error *error) {
    char key[THREAD_KEY_MAX];
    bool taken = false;
    batch_lock_key(batch, key);
    batch->lock = thread_owner_lock(batch->store, key, batch->fence, &taken);
    for (int i = 0; taken && request->force && i < FORCE_TRIES; i++)
        batch->lock = thread_owner_lock(batch->store, key, ++batch->fence, &taken);
    if (!taken) return TN_OK;
    return error_set(error, TN_INVALID, "OWNED", "the batch `%s` is being started by another process", request->name);
}

static tn_value batch_record(const struct thread_batch *batch, const struct thread_batch_request *request,
                             tn_value before) {
    tn_value now = time_value(store_wall_ms(batch->store)), created = value_get(before, "created_at");
    bool same = created && request->mode == THREAD_BATCH_RESUME;
    tn_value record = value_set_take(value_object_reserve(11), "batch", value_text(request->name));
    record = value_set_take(record, "id", value_text(batch->id));
    record = value_set_take(record, "status", value_text("running"));
    record = value_set_take(record, "created_at", value_ref(same ? created : now));
    record = value_set_take(record, "updated_at", now);
    record = value_set_take(record, "digest", value_text(request->digest));
    record = value_set_take(record, "lines", value_int((int64_t)request->lines));
    if (batch->replaces) record = value_set_take(record, "replace", value_bool(true));
    record = value_set_take(record, "fence", value_int(batch->fence));
    return value_set_take(record, "owner", thread_owner_describe());
}

struct batch_write {
    tn_value operation; /* owned */
};

static int32_t batch_run_write(struct session *session, void *user, tn_value *result, struct error *error) {
    struct batch_write *write = user;
    (void)result;
    tn_value operation = write->operation;
    write->operation = NULL;
    return session_commit_take(session, value_push_take(value_array(), operation), NULL, error);
}

/* Takes the operation. */
static int32_t batch_write_wait(struct store *store, tn_value operation, struct error *error) {
    struct batch_write write = {operation};
    tn_value ignored = NULL;
    int32_t status = store_perform_wait(store, batch_run_write, &write, &ignored, error);
    value_unref(write.operation);
    value_unref(ignored);
    return status;
}

static void batch_free(struct thread_batch *batch) {
    thread_owner_unlock(batch->lock);
    mem_free(batch);
}

/* `found` is {version, value}, or null if the batch is new. */
static int32_t batch_open_found(struct thread_batch *batch, const struct thread_batch_request *request, tn_value found,
                                struct error *error) {
    tn_value record = value_get(found, "value");
    int32_t status = batch_check(batch, request, record, error);
    if (status != TN_OK && !(request->mode == THREAD_BATCH_REPLACE && strcmp(error->code, "STORE_CORRUPT") == 0))
        return status;
    error_finish(error);
    bool resumes = request->mode == THREAD_BATCH_RESUME;
    if (resumes)
        snprintf(batch->id, sizeof batch->id, "%s", thread_record_text(record, "id"));
    else
        thread_incarnation_make(batch->id);
    tn_value replaced = value_get(record, "replace");
    batch->replaces = resumes ? replaced && value_is(replaced, TN_BOOL) && value_to_bool(replaced)
                              : request->mode == THREAD_BATCH_REPLACE;
    batch->was_done = resumes && value_text_is(value_get(record, "status"), "done") &&
                      value_text_is(value_get(record, "digest"), request->digest);
    batch->fence = thread_record_int(record, "fence", record ? 0 : thread_first_fence()) + 1;
    status = batch_lock(batch, request, error);
    if (status != TN_OK) return status;
    tn_value put = store_put(STORE_BATCHES, batch->key, batch_record(batch, request, record));
    put = store_if_version(put, record ? thread_record_int(found, "version", 0) : 0);
    status = batch_write_wait(batch->store, put, error);
    if (status == TN_OK || strcmp(error->code, "CONFLICT") != 0) return status;
    error_finish(error);
    return error_set(error, TN_INVALID, "CONFLICT",
                     "the batch `%s` was opened by another process at the same time; try again", request->name);
}

int32_t thread_batch_open_wait(struct store *store, const struct thread_batch_request *request,
                               struct thread_batch **batch, struct error *error) {
    tn_value found = NULL;
    int32_t status = batch_check_name(request->name, error);
    if (status != TN_OK) return status;
    struct thread_batch *opened = mem_zalloc(sizeof *opened);
    opened->store = store;
    thread_key(opened->key, request->name);
    status = store_query_wait(store, store_get(STORE_BATCHES, opened->key), &found, error);
    if (status == TN_OK) status = batch_open_found(opened, request, found, error);
    value_unref(found);
    if (status == TN_OK)
        *batch = opened;
    else
        batch_free(opened);
    return status;
}

const char *thread_batch_id(const struct thread_batch *batch) { return batch->id; }
bool thread_batch_replaces(const struct thread_batch *batch) { return batch->replaces; }
bool thread_batch_was_done(const struct thread_batch *batch) { return batch->was_done; }

/* ---- Closing ---- */

int32_t thread_batch_close_wait(struct thread_batch *batch, bool done, struct error *error) {
    if (!batch) return TN_OK;
    tn_value patch =
        value_set_take(value_object_reserve(3), "status", value_text(done || batch->was_done ? "done" : "running"));
    patch = value_set_take(patch, "updated_at", time_value(store_wall_ms(batch->store)));
    patch = value_set_take(patch, "owner", value_null());
    tn_value merge =
        store_if_where(store_merge(STORE_BATCHES, batch->key, patch), thread_fence_condition(batch->fence));
    int32_t status = batch_write_wait(batch->store, merge, error);
    if (status != TN_OK && strcmp(error->code, "CONFLICT") == 0) {
        error_finish(error);
        status = error_set(error, TN_FAILED, "FENCED", "the batch was taken over by another process");
    }
    batch_free(batch);
    return status;
}

/* ---- Answers ---- */

struct batch_answers {
    tn_value ids;     /* borrowed */
    tn_value unknown; /* owned; {interrupt id: answer}, without those for which a thread waits */
};

static int32_t batch_run_check_answers(struct session *session, void *user, tn_value *result, struct error *error) {
    struct batch_answers *check = user;
    int32_t status = TN_OK;
    (void)result;
    for (size_t i = 0; status == TN_OK && i < value_count(check->ids) && value_count(check->unknown); i++) {
        tn_value found = NULL;
        status = thread_records_find(session, value_chars(value_at(check->ids, i), NULL), &found, error);
        tn_value interrupts = value_get(value_get(found, "value"), "interrupts");
        for (size_t k = 0; value_is(interrupts, TN_ARRAY) && k < value_count(interrupts); k++) {
            tn_value id = value_get(value_at(interrupts, k), "id");
            if (id && value_is(id, TN_STRING)) check->unknown = value_remove_take(check->unknown, value_ref(id));
        }
        value_unref(found);
    }
    return status;
}

int32_t thread_batch_check_answers_wait(struct store *store, tn_value ids, tn_value answers, struct error *error) {
    if (value_count(answers) == 0) return TN_OK;
    struct batch_answers check = {ids, value_ref(answers)};
    tn_value ignored = NULL;
    int32_t status = store_perform_wait(store, batch_run_check_answers, &check, &ignored, error);
    if (status == TN_OK && value_count(check.unknown))
        status = error_set(error, TN_INVALID, "INVALID_INPUT",
                           "no line of the batch waits for an answer to `%s`; `tenon thread show ID` lists what a "
                           "thread waits for",
                           value_chars(value_key_at(check.unknown, 0), NULL));
    value_unref(ignored);
    value_unref(check.unknown);
    return status;
}

/*
 * thread_records.c - finds a thread's record, reads its members, and writes complete threads.
 */
#include "host/data/thread/thread_records.h"
#include "host/base/random.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_log.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tenon/store.h>

#define RECORD_INT_MAX (INT64_C(1) << 53) /* what is written is exact in a double, and leaves room for sums */

int32_t thread_records_find(struct session *session, const char *thread_id, tn_value *found, struct error *error) {
    char key[THREAD_KEY_MAX];
    tn_value result = NULL;
    int32_t status = thread_check_id(thread_id, error);
    if (status != TN_OK) return status;
    thread_key(key, thread_id);
    status = session_query_take(session, store_get(STORE_THREADS, key), &result, error);
    if (status != TN_OK) return status;
    *found = value_is(value_get(result, "value"), TN_OBJECT) ? result : NULL;
    if (!*found) value_unref(result);
    return TN_OK;
}

int32_t thread_records_not_found(const char *thread_id, struct error *error) {
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                     "the thread `%s` does not exist; `tenon thread list` lists the threads", thread_id);
}

int32_t thread_records_require(struct session *session, const char *thread_id, tn_value *found, struct error *error) {
    int32_t status = thread_records_find(session, thread_id, found, error);
    return status != TN_OK || *found ? status : thread_records_not_found(thread_id, error);
}

/* ---- One state of a thread ---- */

#define READ_TRIES 100 /* while a run keeps writing the thread */

static bool records_are_same(tn_value before, tn_value after) {
    return thread_record_int(before, "version", 0) == thread_record_int(after, "version", 0) &&
           thread_record_int(value_get(before, "value"), "fence", 0) ==
               thread_record_int(value_get(after, "value"), "fence", 0);
}

int32_t thread_records_read_one_state(struct session *session, const char *thread_id, thread_read_fn *read,
                                      const void *user, tn_value *out, struct error *error) {
    for (int i = 0; i < READ_TRIES; i++) {
        tn_value before = NULL, after = NULL, result = NULL;
        struct error why = ERROR_INIT;
        int32_t status = thread_records_find(session, thread_id, &before, error);
        if (status != TN_OK) return status;
        int32_t read_status = read(session, before, user, &result, &why);
        status = thread_records_find(session, thread_id, &after, error);
        bool same = records_are_same(before, after);
        value_unref(before);
        value_unref(after);
        if (status == TN_OK && same && read_status == TN_OK) {
            *out = result;
            return TN_OK;
        }
        value_unref(result);
        if (status == TN_OK && same) error_move(error, &why);
        error_finish(&why);
        if (status != TN_OK || same) return status != TN_OK ? status : read_status;
    }
    return error_set(error, TN_ERROR, "CONFLICT",
                     "the thread `%s` is being changed by a run; wait until the run has stopped, and try again",
                     thread_id);
}

void thread_records_range(const char *thread_id, char from[THREAD_KEY_MAX], char to[THREAD_KEY_MAX]) {
    char key[THREAD_KEY_MAX];
    thread_key(key, thread_id);
    thread_key_of(from, key, (const char *const[]){"", NULL});
    thread_key_end(to, key);
}

int64_t thread_record_int(tn_value object, const char *key, int64_t otherwise) {
    int64_t found;
    tn_value value = value_get(object, key);
    if (!value || !value_is_number(value) || !value_as_int(value, &found)) return otherwise;
    return found > RECORD_INT_MAX || found < -RECORD_INT_MAX ? otherwise : found;
}

const char *thread_record_text(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    return value && value_is(value, TN_STRING) ? value_chars(value, NULL) : "";
}

void thread_incarnation_make(char out[THREAD_INCARNATION_TEXT]) {
    uint64_t random[2];
    random_fill(random, sizeof random);
    snprintf(out, THREAD_INCARNATION_TEXT, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

/* ---- Complete threads ---- */

tn_value thread_delete_rest(const char *id) {
    static const char *const collections[] = {STORE_CHECKPOINTS, STORE_SNAPSHOTS, STORE_CHUNKS,          STORE_PENDING,
                                              STORE_NESTED,      STORE_JOURNAL,   STORE_THREAD_ARTIFACTS};
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value operations = value_array();
    thread_records_range(id, from, to);
    for (size_t i = 0; i < sizeof collections / sizeof *collections; i++)
        operations = value_push_take(operations, store_delete_range(collections[i], from, to));
    return operations;
}

tn_value thread_fence_condition(int64_t fence) {
    return value_set_take(value_object_reserve(1), "fence", value_int(fence));
}

tn_value thread_count_batch(const char *key, int64_t fence, uint32_t *batches) {
    *batches += 1;
    tn_value patch = value_set_take(value_object_reserve(1), "batches", value_int(*batches));
    return store_if_where(store_merge(STORE_THREADS, key, patch), thread_fence_condition(fence));
}

/* Writes a placeholder record first, then the rest while this writer has the fence, then the record. */
static int32_t put_in_batches(struct session *session, const struct thread_put *put, const char *key, tn_value record,
                              int64_t fence, struct error *error) {
    tn_value placeholder = value_set_take(value_object(), "thread_id", value_text(put->id));
    placeholder = value_set_take(placeholder, "status", value_text(THREAD_IMPORTING));
    placeholder = value_set_take(placeholder, "updated_at", value_text(thread_record_text(record, "updated_at")));
    placeholder = value_set_take(placeholder, "agent", value_text(thread_record_text(record, "agent")));
    placeholder = value_set_take(placeholder, "fence", value_int(fence));
    tn_value first =
        value_push_take(value_array(), store_if_version(store_put(STORE_THREADS, key, placeholder), put->version));
    if (put->expect) first = value_push_take(first, value_ref(put->expect));
    int32_t status = session_commit_take(session, value_concat_take(first, thread_delete_rest(put->id)), NULL, error);
    size_t count = value_count(put->operations), most = TN_STORE_BATCH_MAX - 1;
    uint32_t batches = (uint32_t)thread_record_int(record, "batches", 0);
    for (size_t at = 0; status == TN_OK && at < count; at += most) {
        tn_value batch = value_push_take(value_array(), thread_count_batch(key, fence, &batches));
        batch = value_concat_take(batch, value_slice(put->operations, at, at + most < count ? at + most : count));
        status = session_commit_take(session, batch, NULL, error);
    }
    if (status != TN_OK) return status;
    tn_value last = store_if_where(store_put(STORE_THREADS, key, value_ref(record)), thread_fence_condition(fence));
    return session_commit_take(session, value_push_take(value_array(), last), NULL, error);
}

int32_t thread_put(struct session *session, const struct thread_put *put, struct error *error) {
    char key[THREAD_KEY_MAX];
    int64_t fence = (put->version ? put->fence : thread_first_fence()) + 1;
    tn_value record = value_set_take(value_ref(put->record), "thread_id", value_text(put->id));
    record = value_set_take(record, "fence", value_int(fence));
    thread_key(key, put->id);
    int32_t status;
    if (value_count(put->operations) + 8 <= TN_STORE_BATCH_MAX) {
        tn_value batch = value_push_take(
            value_array(), store_if_version(store_put(STORE_THREADS, key, value_ref(record)), put->version));
        if (put->expect) batch = value_push_take(batch, value_ref(put->expect));
        batch = value_concat_take(batch, thread_delete_rest(put->id));
        status = session_commit_take(session, value_concat_take(batch, value_ref(put->operations)), NULL, error);
    } else {
        status = put_in_batches(session, put, key, record, fence, error);
    }
    value_unref(record);
    return status;
}

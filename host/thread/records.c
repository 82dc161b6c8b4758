/*
 * records.c - one thread found, written whole, and members of its record.
 */
#include "host/thread/records.h"
#include "host/store/collections.h"
#include "host/store/store.h"
#include "host/thread/log.h"
#include <string.h>
#include <tenon/store.h>

int32_t records_thread(struct session *session, const char *thread_id, tn_value *found, struct error *error) {
    char key[THREAD_KEY_MAX];
    tn_value result = NULL;
    thread_key(key, thread_id);
    int32_t status = session_query_take(session, store_get(STORE_THREADS, key), &result, error);
    if (status != TN_OK) return status;
    *found = value_is(value_get(result, "value"), TN_OBJECT) ? result : NULL;
    if (!*found) value_unref(result);
    return TN_OK;
}

int32_t records_need_thread(struct session *session, const char *thread_id, tn_value *found, struct error *error) {
    int32_t status = records_thread(session, thread_id, found, error);
    if (status != TN_OK || *found) return status;
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                     "there is no thread `%s`; `tenon thread list` shows those that there are", thread_id);
}

void records_range(const char *thread_id, char from[THREAD_KEY_MAX], char to[THREAD_KEY_MAX]) {
    char key[THREAD_KEY_MAX];
    thread_key(key, thread_id);
    thread_key_of(from, key, (const char *const[]){"", NULL});
    thread_key_end(to, key);
}

int64_t record_int(tn_value object, const char *key, int64_t otherwise) {
    int64_t found;
    tn_value value = value_get(object, key);
    return value && value_is_number(value) && value_as_int(value, &found) ? found : otherwise;
}

const char *record_text(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    return value && value_is(value, TN_STRING) ? value_chars(value, NULL) : "";
}

/* ---- All of a thread ---- */

tn_value thread_delete_rest(const char *id) {
    static const char *const collections[] = {STORE_CHECKPOINTS, STORE_SNAPSHOTS, STORE_PENDING, STORE_NESTED,
                                              STORE_JOURNAL};
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value operations = value_array();
    records_range(id, from, to);
    for (size_t i = 0; i < sizeof collections / sizeof *collections; i++)
        operations = value_push_take(operations, store_delete_range(collections[i], from, to));
    return operations;
}

static int32_t commit(struct session *session, tn_value batch, struct error *error) {
    tn_value done = NULL;
    int32_t status = session_commit_take(session, batch, &done, error);
    value_unref(done);
    return status;
}

static tn_value mine(int64_t fence) { return value_set_take(value_object(), "fence", value_int(fence)); }

static tn_value expect_mine(const char *key, int64_t fence) {
    tn_value made = value_set_take(value_object(), "op", value_text("expect"));
    made = value_set_take(made, "collection", value_text(STORE_THREADS));
    made = value_set_take(made, "key", value_text(key));
    return store_if_where(made, mine(fence));
}

/* First a record that says what is going on; then the rest, as long as nobody has taken the thread over. */
static int32_t put_in_parts(struct session *session, const struct thread_put *put, const char *key, tn_value record,
                            int64_t fence, struct error *error) {
    tn_value placeholder = value_set_take(value_object(), "thread_id", value_text(put->id));
    placeholder = value_set_take(placeholder, "status", value_text(THREAD_IMPORTING));
    placeholder = value_set_take(placeholder, "updated_at", value_text(record_text(record, "updated_at")));
    placeholder = value_set_take(placeholder, "agent", value_text(record_text(record, "agent")));
    placeholder = value_set_take(placeholder, "fence", value_int(fence));
    tn_value first =
        value_push_take(value_array(), store_if_version(store_put(STORE_THREADS, key, placeholder), put->version));
    if (put->expect) first = value_push_take(first, value_ref(put->expect));
    int32_t status = commit(session, value_concat_take(first, thread_delete_rest(put->id)), error);
    size_t count = value_count(put->operations), most = TN_STORE_BATCH_MAX - 1;
    for (size_t at = 0; status == TN_OK && at < count; at += most) {
        tn_value batch = value_push_take(value_array(), expect_mine(key, fence));
        batch = value_concat_take(batch, value_slice(put->operations, at, at + most < count ? at + most : count));
        status = commit(session, batch, error);
    }
    if (status != TN_OK) return status;
    tn_value last = store_if_where(store_put(STORE_THREADS, key, value_ref(record)), mine(fence));
    return commit(session, value_push_take(value_array(), last), error);
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
        status = commit(session, value_concat_take(batch, value_ref(put->operations)), error);
    } else {
        status = put_in_parts(session, put, key, record, fence, error);
    }
    value_unref(record);
    return status;
}

/*
 * thread_history.c - reads all checkpoints and the journal of a thread, for a replay. Thread: the store's.
 */
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_pack.h"
#include "host/data/thread/thread_prune.h"
#include "host/data/thread/thread_records.h"
#include <string.h>

static int32_t add_checkpoint(void *user, const char *key, tn_value value, struct error *error) {
    tn_value *list = user;
    (void)key, (void)error;
    *list = value_push_take(*list, value_ref(value));
    return TN_OK;
}

struct journal {
    size_t prefix; /* bytes of keys that are the id of the thread */
    tn_value entries;
};

static int32_t add_journal_entry(void *user, const char *key, tn_value value, struct error *error) {
    struct journal *journal = user;
    (void)error;
    journal->entries = value_set_take(journal->entries, key + journal->prefix, value_ref(value));
    return TN_OK;
}

static int32_t read_history(struct session *session, tn_value found, const void *user, tn_value *out,
                            struct error *error) {
    const char *id = user;
    char thread[THREAD_KEY_MAX], from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    tn_value record = value_get(found, "value"), checkpoints = value_array();
    thread_records_range(id, from, to);
    thread_key(thread, id);
    struct journal journal = {strlen(from), value_object()};
    if (!record) return thread_records_not_found(id, error);
    if (thread_check_kept(id, record, 0, error) != TN_OK) return TN_NOT_FOUND; /* a replay starts at the first one */
    int32_t status =
        thread_each_record(session, thread, STORE_CHECKPOINTS, from, to, add_checkpoint, &checkpoints, error);
    if (status == TN_OK)
        status = thread_each_record(session, thread, STORE_JOURNAL, from, to, add_journal_entry, &journal, error);
    *out = value_set_take(value_object_reserve(3), "record", value_ref(record));
    *out = value_set_take(*out, "checkpoints", checkpoints);
    *out = value_set_take(*out, "journal", journal.entries);
    return status;
}

int32_t thread_read_history(struct session *session, const char *thread_id, tn_value *out, struct error *error) {
    return thread_records_read_one_state(session, thread_id, read_history, thread_id, out, error);
}

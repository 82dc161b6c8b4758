/*
 * kernel_link.c - which Artifacts the runs of a thread wrote or read.
 *
 * A link is a record THREAD/ARTIFACT. Only a call of a run with a thread makes one, and no argument names the thread,
 * so a plugin cannot link Artifacts to threads of others. data/thread removes the links with the thread.
 */
#include "host/data/kernel/kernel_artifact.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_records.h"

static void link_key(char out[THREAD_KEY_MAX], const char *thread_id, const char *artifact_id) {
    char key[THREAD_KEY_MAX];
    thread_key(key, thread_id);
    thread_key_of(out, key, (const char *const[]){artifact_id, NULL});
}

tn_value artifact_link(const struct request *request, const char *artifact_id) {
    char key[THREAD_KEY_MAX], used[KERNEL_ID_TEXT];
    if (!request->thread_id) return NULL;
    link_key(key, request->thread_id, artifact_id);
    kernel_id_make(request->now_ms, used); /* orders links by time, also within a millisecond */
    tn_value link = value_set_take(value_object_reserve(2), "artifact_id", value_text(artifact_id));
    return store_put(STORE_THREAD_ARTIFACTS, key, value_set_take(link, "used", value_text(used)));
}

void artifact_link_once(struct request *request, const char *artifact_id) {
    char key[THREAD_KEY_MAX];
    struct error why = ERROR_INIT;
    tn_value found = NULL, link = artifact_link(request, artifact_id);
    if (!link) return;
    link_key(key, request->thread_id, artifact_id);
    int32_t status = request_find(request, STORE_THREAD_ARTIFACTS, key, &found, &why);
    if (status == TN_OK && !found)
        (void)request_commit_take(request, store_if_version(link, 0), NULL, &why);
    else
        value_unref(link);
    error_finish(&why);
    value_unref(found);
}

int32_t artifact_linked(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"thread_id", FIELD_TEXT, true}, {NULL, 0, false}};
    char from[THREAD_KEY_MAX], to[THREAD_KEY_MAX];
    const char *thread;
    tn_value found = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_text(request, "thread_id", ARTIFACT_THREAD_MAX, &thread, error);
    if (status != TN_OK) return status;
    thread_records_range(thread, from, to);
    tn_value query = store_list(STORE_THREAD_ARTIFACTS, from, to, ARTIFACT_LINKED_MAX);
    tn_value list = value_ref(value_get(query, "list"));
    list = value_set_take(list, "order", value_push_take(value_array_reserve(1), value_text("used")));
    status = session_query_take(request->session, value_set_take(query, "list", list), &found, error);
    if (status != TN_OK) return status;
    tn_value records = value_get(found, "records"), ids = value_array_reserve(value_count(records));
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value id = value_get(value_get(value_at(records, i), "value"), "artifact_id");
        if (value_is(id, TN_STRING) && owner_has(request->owner, value_chars(id, NULL)))
            ids = value_push_take(ids, value_ref(id));
    }
    *result = value_set_take(value_object_reserve(1), "artifact_ids", ids);
    value_unref(found);
    return TN_OK;
}

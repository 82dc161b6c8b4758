/*
 * kernel_wake.c - wakes Tasks, alone or in a batch of another room.
 */
#include "host/data/kernel/kernel_wake.h"
#include "host/data/kernel/kernel_task.h"
#include <string.h>

/* The members that change, a new reference; NULL if the Task does not wait. */
static tn_value wake_patch(tn_value task, int64_t now_ms) {
    tn_value from = value_get(task, "claimable_ms");
    if (value_text_is(value_get(task, "state"), "running"))
        return value_get(task, TASK_WOKEN) ? NULL
                                           : value_set_take(value_object_reserve(1), TASK_WOKEN, value_bool(true));
    if (!value_text_is(value_get(task, "state"), "queued")) return NULL;
    bool waits = value_to_bool(value_get(task, "waiting"));
    if (!waits && value_is(from, TN_INT) && value_to_int(from) <= now_ms) return NULL;
    tn_value patch = value_set_take(value_object_reserve(4), "waiting", value_bool(false));
    patch = value_set_take(patch, "not_before", value_null());
    patch = value_set_take(patch, "claimable_ms", value_int(now_ms));
    return value_set_take(patch, "updated_at", time_value(now_ms));
}

/* `found` is {value, version}. */
static tn_value wake_merge(const char *id, tn_value found, int64_t now_ms) {
    tn_value patch = wake_patch(value_get(found, "value"), now_ms);
    if (!patch) return NULL;
    return store_if_version(store_merge(STORE_TASKS, id, patch), value_to_int(value_get(found, "version")));
}

int32_t task_wake_operation(struct session *session, const char *task_id, int64_t now_ms, tn_value *operation,
                            struct error *error) {
    size_t length = strlen(task_id);
    tn_value found = NULL;
    *operation = NULL;
    if (length == 0 || length > KERNEL_ID_MAX) return TN_OK;
    int32_t status = session_query_take(session, store_get(STORE_TASKS, task_id), &found, error);
    if (status == TN_OK && value_is(found, TN_OBJECT)) *operation = wake_merge(task_id, found, now_ms);
    value_unref(found);
    return status;
}

static int32_t try_wake(struct request *request, const char *id, tn_value *result, struct error *error) {
    tn_value found = NULL, merged = NULL;
    int32_t status = request_find(request, STORE_TASKS, id, &found, error);
    if (status != TN_OK) return status;
    if (!found) return task_missing(request, id, error);
    tn_value merge = wake_merge(id, found, request->now_ms);
    if (merge) status = request_commit_take(request, merge, &merged, error);
    if (status == TN_OK) *result = task_public(value_get(merged ? merged : found, "value"));
    value_unref(merged);
    value_unref(found);
    return status;
}

int32_t task_wake(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_id", FIELD_TEXT, true}, {NULL, 0, false}};
    const char *id;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_text(request, "task_id", KERNEL_ID_MAX, &id, error);
    if (status != TN_OK) return status;
    for (int tries = 0; tries < KERNEL_TRIES_MAX; tries++) {
        error_finish(error);
        status = try_wake(request, id, result, error);
        if (!request_conflict(status, error)) break;
    }
    return status;
}

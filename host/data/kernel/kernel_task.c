/*
 * kernel_task.c - creates, reads, updates and lists Tasks. kernel_claim.c and kernel_end.c have the operations of
 * claimers.
 *
 * An update reads the record, and commits the change on condition that the record is unchanged. On a conflict it tries
 * again.
 */
#include "host/data/kernel/kernel_task.h"
#include "adl/value/nearest.h"
#include "host/data/kernel/kernel_filter.h"
#include "host/data/kernel/kernel_history.h"
#include <string.h>

const char *const task_members[] = {"task_id",          "task_type",   "payload",    "state",
                                    "artifact_refs",    "created_at",  "updated_at", "claimed_by",
                                    "claim_expires_at", "error",       "attempts",   "not_before",
                                    "waiting",          "user_output", NULL};

/* The default of a member, also for records that older versions wrote. */
static tn_value task_member_default(const char *name) {
    if (strcmp(name, "attempts") == 0) return value_int(0);
    return strcmp(name, "waiting") == 0 ? value_bool(false) : value_null();
}

tn_value task_public(tn_value record) {
    tn_value shown = value_object_reserve(15);
    for (size_t i = 0; task_members[i]; i++) {
        tn_value value = value_get(record, task_members[i]);
        shown = value_set_take(shown, task_members[i], value ? value_ref(value) : task_member_default(task_members[i]));
    }
    return shown;
}

int32_t task_missing(const struct request *request, const char *id, struct error *error) {
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "%s: found no Task `%s` in this store", request->operation, id);
}

/* ---- Notifications ---- */

static int32_t check_notification(const struct request *request, tn_value payload, struct error *error) {
    static const char *const known[] = {"message",      "severity",      "related_task_id",
                                        "interrupt_id", "artifact_refs", NULL};
    tn_value message = value_get(payload, "message"), severity = value_get(payload, "severity"),
             related = value_get(payload, "related_task_id"), interrupt = value_get(payload, "interrupt_id");
    for (size_t i = 0; i < value_count(payload); i++) {
        const char *name = value_chars(value_key_at(payload, i), NULL);
        size_t at = 0;
        while (known[at] && strcmp(known[at], name) != 0) at++;
        if (!known[at])
            return request_invalid(
                request, error, "payload",
                "unknown member `%.80s` of a notification; expected message, severity, related_task_id, "
                "interrupt_id or artifact_refs",
                name);
    }
    if (!value_is(message, TN_STRING))
        return request_invalid(request, error, "payload",
                               "`message` of a notification: found %s, expected the text to show (Markdown)",
                               message ? value_kind_name(value_kind(message)) : "nothing");
    if (!value_text_is(severity, "info") && !value_text_is(severity, "warn") && !value_text_is(severity, "error"))
        return request_invalid(
            request, error, "payload", "`severity` of a notification: found %.40s, expected info, warn or error",
            value_is(severity, TN_STRING) ? value_chars(severity, NULL) : value_kind_name(value_kind(severity)));
    if (!value_is(related, TN_NULL) && !value_is(related, TN_STRING))
        return request_invalid(request, error, "payload",
                               "`related_task_id` of a notification: found %s, expected a Task's id or null",
                               value_kind_name(value_kind(related)));
    if (!value_is(interrupt, TN_NULL) && !value_is(interrupt, TN_STRING))
        return request_invalid(request, error, "payload",
                               "`interrupt_id` of a notification: found %s, expected the id of an interrupt or null",
                               value_kind_name(value_kind(interrupt)));
    return request_ids(request, "payload.artifact_refs", value_get(payload, "artifact_refs"), TASK_ARTIFACTS_MAX,
                       error);
}

/* Adds a member with a default value if it is missing. Takes `payload` and `otherwise`. */
static tn_value with_default(tn_value payload, const char *name, tn_value otherwise) {
    if (!value_get(payload, name)) return value_set_take(payload, name, otherwise);
    value_unref(otherwise);
    return payload;
}

/* Adds the defaults of a notification to *payload, and checks it. */
static int32_t complete_payload(const struct request *request, tn_value type, tn_value *payload, struct error *error) {
    if (value_text_is(type, "notification")) {
        *payload = with_default(*payload, "severity", value_text("info"));
        *payload = with_default(*payload, "related_task_id", value_null());
        *payload = with_default(*payload, "interrupt_id", value_null());
        *payload = with_default(*payload, "artifact_refs", value_array());
        int32_t status = check_notification(request, *payload, error);
        if (status != TN_OK) return status;
    }
    return request_size(request, "payload", *payload, TASK_PAYLOAD_MAX,
                        "write an Artifact, and put its id into artifact_refs", error);
}

/* ---- Create, get ---- */

static int32_t task_load(struct request *request, const char *id, tn_value *result, struct error *error) {
    tn_value found = NULL;
    int32_t status = request_find(request, STORE_TASKS, id, &found, error);
    if (status == TN_OK && !found) status = task_missing(request, id, error);
    if (status == TN_OK) *result = task_public(value_get(found, "value"));
    value_unref(found);
    return status;
}

int32_t task_create(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_type", FIELD_TEXT, true},        {"payload", FIELD_OBJECT, false},
                                          {"artifact_refs", FIELD_ARRAY, false},  {"not_before", FIELD_TEXT, false},
                                          {"idempotency_key", FIELD_TEXT, false}, {NULL, 0, false}};
    const char *type;
    int64_t not_before = INT64_MIN;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_time(request, "not_before", &not_before, error);
    if (status == TN_OK) status = request_text(request, "task_type", TASK_TYPE_MAX, &type, error);
    if (status != TN_OK) return status;
    tn_value argument = request_get(request, "payload"), refs = request_get(request, "artifact_refs");
    if (refs) status = request_ids(request, "artifact_refs", refs, TASK_ARTIFACTS_MAX, error);
    tn_value payload = argument ? value_ref(argument) : value_object(),
             name = value_get(request->arguments, "task_type");
    if (status == TN_OK) status = complete_payload(request, name, &payload, error);
    if (status != TN_OK) {
        value_unref(payload);
        return status;
    }
    char id[REQUEST_ID_TEXT], before[REQUEST_ID_TEXT];
    request_id_make(request, id);
    tn_value record = value_set_take(value_object_reserve(13), "task_id", value_text(id));
    record = value_set_take(record, "task_type", value_ref(name));
    record = value_set_take(record, "payload", payload);
    record = value_set_take(record, "state", value_text("queued"));
    record = value_set_take(record, "artifact_refs", refs ? value_ref(refs) : value_array());
    record = value_set_take(record, "created_at", time_value(request->now_ms));
    record = value_set_take(record, "updated_at", time_value(request->now_ms));
    record =
        value_set_take(record, "claimable_ms", value_int(not_before > request->now_ms ? not_before : request->now_ms));
    record = value_set_take(record, "attempts", value_int(0));
    record = value_set_take(record, "waiting", value_bool(false));
    if (not_before != INT64_MIN) record = value_set_take(record, "not_before", time_value(not_before));
    tn_value put = store_if_version(store_put(STORE_TASKS, id, value_ref(record)), 0);
    status = request_make_take(request, id, NULL, put, before, error);
    if (status == TN_OK && before[0])
        status = task_load(request, before, result, error);
    else if (status == TN_OK)
        *result = task_public(record);
    value_unref(record);
    return status;
}

int32_t task_get(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_id", FIELD_TEXT, true}, {NULL, 0, false}};
    const char *id;
    tn_value found = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_text(request, "task_id", KERNEL_ID_MAX, &id, error);
    if (status == TN_OK) status = request_find(request, STORE_TASKS, id, &found, error);
    if (status == TN_OK && !found) status = task_missing(request, id, error);
    if (status == TN_OK) {
        tn_value record = value_get(found, "value");
        *result = value_set_take(task_public(record), "history", task_public_history(record));
    }
    value_unref(found);
    return status;
}

/* ---- Update ---- */

static const char *const states[] = {"queued", "running", "done", "failed", NULL};

static int32_t check_task_state(const struct request *request, tn_value state, struct error *error) {
    struct nearest nearest;
    const char *text = value_is(state, TN_STRING) ? value_chars(state, NULL) : value_kind_name(value_kind(state));
    nearest_init(&nearest, text, strlen(text));
    for (size_t i = 0; states[i]; i++) {
        if (value_text_is(state, states[i])) return TN_OK;
        nearest_add_candidate(&nearest, states[i], strlen(states[i]));
    }
    return request_invalid(request, error, "patch", "`state`: found `%.40s`%s", text,
                           nearest.best ? nearest_hint(&nearest).text : "; expected queued, running, done or failed");
}

static int32_t check_task_patch(const struct request *request, tn_value patch, struct error *error) {
    static const char *const allowed[] = {"payload", "artifact_refs", "state"};
    int32_t status = TN_OK;
    for (size_t i = 0; i < value_count(patch); i++) {
        const char *name = value_chars(value_key_at(patch, i), NULL);
        size_t at = 0;
        while (at < 3 && strcmp(allowed[at], name) != 0) at++;
        if (at == 3)
            return request_invalid(
                request, error, "patch",
                "`%.80s` cannot be changed; an update can change payload, artifact_refs and state; claim, "
                "renew, complete, fail and release change the other members",
                name);
    }
    tn_value payload = value_get(patch, "payload"), refs = value_get(patch, "artifact_refs"),
             state = value_get(patch, "state");
    if (payload && !value_is(payload, TN_OBJECT))
        return request_invalid(request, error, "patch",
                               "`payload`: found %s, expected an object to merge into the payload",
                               value_kind_name(value_kind(payload)));
    if (refs) status = request_ids(request, "patch.artifact_refs", refs, TASK_ARTIFACTS_MAX, error);
    return state && status == TN_OK ? check_task_state(request, state, error) : status;
}

/* Checks a transition, and adds to *patch the members that change with the state. */
static int32_t change_task_state(const struct request *request, tn_value task, tn_value to, tn_value *patch,
                                 struct error *error) {
    tn_value from = value_get(task, "state"), token = request_get(request, "claim_token");
    if (value_equal(from, to)) return TN_OK;
    const char *here = value_chars(from, NULL), *there = value_chars(to, NULL), *instead = NULL;
    bool retry = value_text_is(from, "failed") && value_text_is(to, "queued");
    bool give_back = value_text_is(from, "running") && value_text_is(to, "queued");
    if (!retry && !give_back)
        instead = value_text_is(from, "done")     ? "a done Task does not change; create another Task"
                  : value_text_is(to, "running")  ? "only task.claim starts a Task"
                  : value_text_is(from, "queued") ? "claim it first"
                  : value_text_is(from, "failed") ? "queue it again and claim it"
                  : value_text_is(to, "done")     ? "use task.complete with the claim's token"
                                                  : "use task.fail with the claim's token";
    else if (give_back && !token)
        instead = "it is claimed; only the holder of the claim's token can return it to the queue";
    if (instead)
        return error_set(error, TN_INVALID, "INVALID_TRANSITION", "%s: Task `%s` cannot go from %s to %s; %s",
                         request->operation, value_chars(value_get(task, "task_id"), NULL), here, there, instead);
    *patch = value_set_take(*patch, "state", value_ref(to));
    *patch = value_set_take(*patch, "claimed_by", value_null());
    *patch = value_set_take(*patch, "claim_expires_at", value_null());
    *patch = value_set_take(*patch, "claim_token", value_null());
    *patch = value_set_take(*patch, "error", value_null());
    *patch = value_set_take(*patch, "claimable_ms", value_int(request->now_ms));
    *patch = value_set_take(*patch, TASK_WOKEN, value_null());
    if (give_back)
        *patch = task_attempt_end_take(*patch, task, &(const struct task_attempt_end){.outcome = "released"},
                                       request->now_ms);
    else /* a new decision, and new attempts */
        *patch = value_set_take(*patch, "attempts", value_int(0));
    return TN_OK;
}

static int32_t make_task_patch(const struct request *request, tn_value task, tn_value *out, struct error *error) {
    tn_value argument = value_get(request->arguments, "patch"), state = value_get(argument, "state");
    tn_value payload = value_get(argument, "payload"), refs = value_get(argument, "artifact_refs");
    tn_value token = request_get(request, "claim_token");
    int32_t status = TN_OK;
    if (token && !task_claim_is_valid(request, task, token))
        return error_set(error, TN_FAILED, "CLAIM_LOST",
                         "%s: the claim on Task `%s` with this token is no longer valid; nothing was changed",
                         request->operation, value_chars(value_get(task, "task_id"), NULL));
    tn_value patch = value_object_reserve(12);
    if (payload) {
        tn_value merged = value_merge_patch(value_get(task, "payload"), payload);
        status = complete_payload(request, value_get(task, "task_type"), &merged, error);
        /* The patch has the complete payload, because merging could remove the defaults of a notification. */
        patch = value_set_take(patch, "payload", merged);
    }
    if (refs) patch = value_set_take(patch, "artifact_refs", value_ref(refs));
    if (state && status == TN_OK) status = change_task_state(request, task, state, &patch, error);
    patch = value_set_take(patch, "updated_at", time_value(request->now_ms));
    if (status == TN_OK)
        *out = patch;
    else
        value_unref(patch);
    return status;
}

/* A new reference. */
static tn_value task_patched(tn_value record, tn_value patch) {
    tn_value made = value_ref(record);
    for (size_t i = 0; i < value_count(patch); i++) {
        tn_value key = value_key_at(patch, i), value = value_value_at(patch, i);
        if (value_is(value, TN_NULL))
            made = value_remove_take(made, value_ref(key));
        else
            made = value_set_key_take(made, value_ref(key), value_ref(value));
    }
    return made;
}

int32_t task_put_patched(struct request *request, tn_value found, tn_value patch, tn_value *result,
                         struct error *error) {
    tn_value record = task_patched(value_get(found, "value"), patch);
    const char *id = value_chars(value_get(record, "task_id"), NULL);
    tn_value put =
        store_if_version(store_put(STORE_TASKS, id, value_ref(record)), value_to_int(value_get(found, "version")));
    int32_t status = request_commit_take(request, put, NULL, error);
    if (status == TN_OK) *result = task_public(record);
    value_unref(record);
    return status;
}

static int32_t try_task_update(struct request *request, const char *id, tn_value *result, struct error *error) {
    tn_value found = NULL, patch = NULL;
    int32_t status = request_find(request, STORE_TASKS, id, &found, error);
    if (status == TN_OK && !found) status = task_missing(request, id, error);
    if (status == TN_OK) status = make_task_patch(request, value_get(found, "value"), &patch, error);
    if (status == TN_OK) status = task_put_patched(request, found, patch, result, error);
    value_unref(patch);
    value_unref(found);
    return status;
}

int32_t task_update(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_id", FIELD_TEXT, true},
                                          {"patch", FIELD_OBJECT, true},
                                          {"claim_token", FIELD_TEXT, false},
                                          {NULL, 0, false}};
    const char *id;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_text(request, "task_id", KERNEL_ID_MAX, &id, error);
    if (status == TN_OK) status = check_task_patch(request, value_get(request->arguments, "patch"), error);
    if (status != TN_OK) return status;
    for (int tries = 0; tries < KERNEL_TRIES_MAX; tries++) {
        error_finish(error);
        status = try_task_update(request, id, result, error);
        if (!request_conflict(status, error)) break;
    }
    return status;
}

/* ---- List ---- */

static int32_t check_task_order(const struct request *request, struct error *error) {
    tn_value order = request_get(request, "order");
    for (size_t i = 0; i < value_count(order); i++) {
        tn_value path = value_at(order, i);
        size_t whole = 0, at = 0;
        const char *text = value_is(path, TN_STRING) ? value_chars(path, &whole) : "";
        size_t length = strcspn(text, ".");
        while (task_members[at] && (strlen(task_members[at]) != length || memcmp(task_members[at], text, length) != 0))
            at++;
        if (!task_members[at] || strlen(text) != whole) /* U+0000 ends no path */
            return request_invalid(request, error, "order",
                                   "item %zu: expected a member of a Task, for example created_at", i);
    }
    return TN_OK;
}

int32_t task_list(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"filter", FIELD_OBJECT, false}, {"order", FIELD_ARRAY, false},
                                          {"reverse", FIELD_BOOL, false},  {"limit", FIELD_INT, false},
                                          {"after", FIELD_TEXT, false},    {NULL, 0, false}};
    tn_value where = NULL, found = NULL, order;
    int64_t limit = 0;
    const char *after = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_int(request, "limit", 1, TASK_LIST_MAX, TASK_LIST, &limit, error);
    if (status == TN_OK) status = check_task_order(request, error);
    if (status == TN_OK) status = kernel_filter_read(request, task_members, "", &where, error);
    if (status == TN_OK) status = request_after(request, STORE_TASKS, "Task", &after, error);
    if (status != TN_OK) {
        value_unref(where);
        return status;
    }
    tn_value query = value_set_take(value_object_reserve(6), "collection", value_text(STORE_TASKS));
    query = request_owned_range_take(request, value_set_take(query, "limit", value_int(limit)));
    if (where) query = value_set_take(query, "where", where);
    if (after) query = value_set_take(query, "after", value_text(after));
    if (value_to_bool(value_get(request->arguments, "reverse")))
        query = value_set_take(query, "reverse", value_bool(true));
    if ((order = request_get(request, "order"))) query = value_set_take(query, "order", value_ref(order));
    query = value_set_take(value_object_reserve(1), "list", query);
    status = session_query_take(request->session, query, &found, error);
    if (status != TN_OK) return status;
    tn_value records = value_get(found, "records"), list = value_array_reserve(value_count(records));
    for (size_t i = 0; i < value_count(records); i++)
        list = value_push_take(list, task_public(value_get(value_at(records, i), "value")));
    *result = value_set_take(value_object_reserve(2), "tasks", list);
    *result = value_set_take(*result, "more", value_ref(value_get(found, "more")));
    value_unref(found);
    return TN_OK;
}

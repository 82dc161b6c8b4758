/*
 * kernel_claim.c - claims Tasks, and the operations that need a claim: renew, complete, fail.
 *
 * Each of these operations is one commit whose condition is the token, the state and the time, so check and change are
 * atomic. The record is read only after the condition failed, to explain why.
 */
#include "host/data/kernel/kernel_filter.h"
#include "host/data/kernel/kernel_task.h"
#include <string.h>

static tn_value new_patch(const struct request *request, size_t members) {
    return value_set_take(value_object_reserve(members + 1), "updated_at", time_value(request->now_ms));
}

static tn_value claim_condition(const char *name, tn_value operand) {
    return value_set_take(value_object_reserve(1), name, operand);
}

/* ---- Claim ---- */

static tn_value claim_patch(const struct request *request, const char *claimer, int64_t ttl_ms, const char *token) {
    int64_t until = request->now_ms + ttl_ms;
    tn_value patch = value_set_take(new_patch(request, 6), "state", value_text("running"));
    patch = value_set_take(patch, "claimed_by", value_text(claimer));
    patch = value_set_take(patch, "claim_expires_at", time_value(until));
    patch = value_set_take(patch, "claimable_ms", value_int(until));
    return value_set_take(patch, "claim_token", value_text(token));
}

/* Claims a Task of `type`, or of any type if NULL. *task is the record, or NULL if no Task is claimable. */
static int32_t take_claimable(struct request *request, tn_value filter, tn_value type, tn_value patch, tn_value *task,
                              struct error *error) {
    tn_value where = filter ? value_ref(filter) : value_object(), result = NULL;
    if (type) where = value_set_take(where, "task_type", claim_condition("eq", value_ref(type)));
    where = value_set_take(where, "claimable_ms", claim_condition("le", value_int(request->now_ms)));
    tn_value made = value_set_take(value_object_reserve(5), "op", value_text("take"));
    made = value_set_take(made, "collection", value_text(STORE_TASKS));
    made = value_set_take(made, "where", where);
    made = value_set_take(made, "order", value_push_take(value_array_reserve(1), value_text("claimable_ms")));
    made = value_set_take(made, "patch", value_ref(patch));
    int32_t status = request_commit_take(request, made, &result, error);
    tn_value value = value_get(result, "value");
    if (status == TN_OK) *task = value ? value_ref(value) : NULL;
    value_unref(result);
    return status;
}

/* The types in the filter in order of preference. NULL if the filter has no list of types. */
static int32_t read_preferred_types(const struct request *request, tn_value filter, tn_value *types,
                                    struct error *error) {
    tn_value is = value_get(filter, "task_type"), in = value_get(is, "in");
    *types = NULL;
    if (!value_is(in, TN_ARRAY) || value_count(is) != 1) return TN_OK;
    if (value_count(in) > TASK_TYPES_MAX)
        return request_invalid(request, error, "filter", "`task_type`: found %zu types, expected at most %d",
                               value_count(in), TASK_TYPES_MAX);
    *types = in;
    return TN_OK;
}

/* Claims a Task that matches the filter, of the first type that has one. */
static int32_t claim_by_preference(struct request *request, tn_value filter, tn_value patch, tn_value *task,
                                   struct error *error) {
    tn_value types;
    int32_t status = read_preferred_types(request, filter, &types, error);
    if (status != TN_OK || !types)
        return status != TN_OK ? status : take_claimable(request, filter, NULL, patch, task, error);
    for (size_t i = 0; i < value_count(types) && status == TN_OK && !*task; i++)
        status = take_claimable(request, filter, value_at(types, i), patch, task, error);
    return status;
}

int32_t task_claim(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"claimer_id", FIELD_TEXT, true},
                                          {"ttl_seconds", FIELD_NUMBER, true},
                                          {"filter", FIELD_OBJECT, false},
                                          {NULL, 0, false}};
    const char *claimer;
    int64_t ttl_ms = 0;
    tn_value filter = NULL, task = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_text(request, "claimer_id", TASK_CLAIMER_MAX, &claimer, error);
    if (status == TN_OK) status = request_ttl(request, TASK_TTL_MAX_SECONDS, &ttl_ms, error);
    if (status == TN_OK) status = kernel_filter_read(request, task_members, "", &filter, error);
    if (status != TN_OK) return status;
    char token[33];
    kernel_token_make(token);
    tn_value patch = claim_patch(request, claimer, ttl_ms, token);
    status = claim_by_preference(request, filter, patch, &task, error);
    if (status == TN_OK && !task) *result = value_null();
    if (status == TN_OK && task) *result = value_set_take(task_public(task), "claim_token", value_text(token));
    value_unref(task);
    value_unref(patch);
    value_unref(filter);
    return status;
}

/* ---- Operations on a claimed Task ---- */

/* Sets the reason why the condition failed. TN_OK if the operation with this token has already succeeded earlier. */
static int32_t explain_lost_claim(struct request *request, const char *id, const char *token, const char *to,
                                  tn_value *result, struct error *error) {
    tn_value found = NULL;
    int32_t status = request_find(request, STORE_TASKS, id, &found, error);
    if (status != TN_OK) return status;
    if (!found) return task_missing(request, id, error);
    tn_value task = value_get(found, "value"), state = value_get(task, "state");
    tn_value by = value_get(task, "claimed_by"), until = value_get(task, "claim_expires_at");
    bool own = value_text_is(value_get(task, "claim_token"), token);
    const char *here = value_is(state, TN_STRING) ? value_chars(state, NULL) : "?";
    if (own && to && value_text_is(state, to)) {
        *result = task_public(task);
    } else if (own && value_text_is(state, "running")) {
        status = error_set(error, TN_FAILED, "CLAIM_LOST",
                           "%s: the claim on Task `%s` expired at %s; nothing was changed. Renew claims in time, or "
                           "use a longer `ttl_seconds`",
                           request->operation, id, value_is(until, TN_STRING) ? value_chars(until, NULL) : "?");
    } else if (value_text_is(state, "running")) {
        status = error_set(error, TN_FAILED, "CLAIM_LOST",
                           "%s: Task `%s` is claimed by `%s`, with another token; nothing was changed",
                           request->operation, id, value_is(by, TN_STRING) ? value_chars(by, NULL) : "?");
    } else if (own || value_text_is(state, "queued")) {
        status =
            error_set(error, TN_INVALID, "INVALID_TRANSITION", "%s: Task `%s` is %s; only a claimed Task can be %s",
                      request->operation, id, here, to ? to : "renewed");
    } else {
        status = error_set(error, TN_FAILED, "CLAIM_LOST",
                           "%s: Task `%s` is %s: another claim has ended it; nothing was changed", request->operation,
                           id, here);
    }
    value_unref(found);
    return status;
}

/* Merges the patch if the claim is valid. `to` is the new state, or NULL if the state does not change. */
static int32_t with_claim_take(struct request *request, tn_value patch, const char *to, tn_value *result,
                               struct error *error) {
    const char *id, *token;
    tn_value merged = NULL;
    int32_t status = request_text(request, "task_id", KERNEL_ID_MAX, &id, error);
    if (status == TN_OK) status = request_text(request, "claim_token", KERNEL_ID_MAX, &token, error);
    if (status != TN_OK) {
        value_unref(patch);
        return status;
    }
    tn_value where = value_set_take(value_object_reserve(3), "state", value_text("running"));
    where = value_set_take(where, "claim_token", value_text(token));
    where = value_set_take(where, "claimable_ms", claim_condition("gt", value_int(request->now_ms)));
    struct error why = ERROR_INIT;
    status = request_commit_take(request, store_if_where(store_merge(STORE_TASKS, id, patch), where), &merged, &why);
    if (request_conflict(status, &why))
        status = explain_lost_claim(request, id, token, to, result, error);
    else
        error_move(error, &why);
    error_finish(&why);
    if (merged) *result = task_public(value_get(merged, "value"));
    value_unref(merged);
    return status;
}

int32_t task_renew(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_id", FIELD_TEXT, true},
                                          {"claim_token", FIELD_TEXT, true},
                                          {"ttl_seconds", FIELD_NUMBER, true},
                                          {NULL, 0, false}};
    int64_t ttl_ms = 0;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_ttl(request, TASK_TTL_MAX_SECONDS, &ttl_ms, error);
    if (status != TN_OK) return status;
    tn_value patch = value_set_take(new_patch(request, 2), "claim_expires_at", time_value(request->now_ms + ttl_ms));
    patch = value_set_take(patch, "claimable_ms", value_int(request->now_ms + ttl_ms));
    return with_claim_take(request, patch, NULL, result, error);
}

/* The patch that ends a Task. *patch is NULL on failure. */
static int32_t end_patch(struct request *request, const char *state, tn_value *patch, struct error *error) {
    tn_value refs = request_get(request, "artifact_refs");
    int32_t status = refs ? request_ids(request, "artifact_refs", refs, TASK_ARTIFACTS_MAX, error) : TN_OK;
    *patch = NULL;
    if (status != TN_OK) return status;
    *patch = value_set_take(new_patch(request, 5), "state", value_text(state));
    if (refs) *patch = value_set_take(*patch, "artifact_refs", value_ref(refs));
    *patch = value_set_take(*patch, "claim_expires_at", value_null());
    *patch = value_set_take(*patch, "claimable_ms", value_null());
    return TN_OK;
}

int32_t task_complete(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_id", FIELD_TEXT, true},
                                          {"claim_token", FIELD_TEXT, true},
                                          {"artifact_refs", FIELD_ARRAY, false},
                                          {NULL, 0, false}};
    tn_value patch;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = end_patch(request, "done", &patch, error);
    return status == TN_OK ? with_claim_take(request, patch, "done", result, error) : status;
}

/* The argument `error` as an object {code, message, …}. A string becomes the message. *out is a new reference. */
static int32_t read_task_error(const struct request *request, tn_value *out, struct error *error) {
    tn_value argument = value_get(request->arguments, "error"), made;
    if (value_is(argument, TN_STRING)) {
        made = value_set_take(value_object_reserve(2), "code", value_text("FAILED"));
        *out = value_set_take(made, "message", value_ref(argument));
        return request_size(request, "error", *out, TASK_ERROR_MAX, "shorten it, or write an Artifact", error);
    }
    static const char *const texts[] = {"code", "message"};
    for (size_t i = 0; i < 2; i++) {
        tn_value text = value_get(argument, texts[i]);
        if (!value_is(text, TN_STRING))
            return request_invalid(request, error, "error", "`%s`: found %s, expected a string", texts[i],
                                   text ? value_kind_name(value_kind(text)) : "nothing");
    }
    *out = value_ref(argument);
    return request_size(request, "error", argument, TASK_ERROR_MAX, "shorten it, or write an Artifact", error);
}

int32_t task_fail(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_id", FIELD_TEXT, true},
                                          {"claim_token", FIELD_TEXT, true},
                                          {"error", FIELD_OBJECT | FIELD_TEXT, true},
                                          {"artifact_refs", FIELD_ARRAY, false},
                                          {NULL, 0, false}};
    tn_value patch = NULL, why = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = read_task_error(request, &why, error);
    if (status == TN_OK) status = end_patch(request, "failed", &patch, error);
    if (status != TN_OK) {
        value_unref(why);
        return status;
    }
    return with_claim_take(request, value_set_take(patch, "error", why), "failed", result, error);
}

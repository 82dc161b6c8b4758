/*
 * kernel_end.c - the operations that end a claim: complete, fail and release.
 *
 * Each reads the record, checks that the claim is valid, and puts the changed record on condition that it is unchanged.
 * On a conflict, for example with a renewal, it reads again. The record is put as a whole, because a merge would mix an
 * error with the one that the Task had before.
 */
#include "adl/value/nearest.h"
#include "host/data/kernel/kernel_history.h"
#include "host/data/kernel/kernel_task.h"
#include <string.h>

/* The argument `error` as an object {code, message, …}. A string becomes the message. *out is a new reference. */
static int32_t read_task_error(const struct request *request, tn_value *out, struct error *error) {
    tn_value argument = request_get(request, "error"), made;
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

/* ---- Claims that are not valid ---- */

/* Sets the reason why a claim is not valid. TN_OK if the operation with this token has already succeeded earlier. */
static int32_t explain_lost_claim(const struct request *request, tn_value task, const char *id, const char *token,
                                  const struct claim_use *use, tn_value *result, struct error *error) {
    tn_value state = value_get(task, "state"), by = value_get(task, "claimed_by"),
             until = value_get(task, "claim_expires_at");
    bool own = value_text_is(value_get(task, "claim_token"), token);
    const char *here = value_is(state, TN_STRING) ? value_chars(state, NULL) : "?";
    if (own && use->state && value_text_is(state, use->state)) {
        *result = task_public(task);
        return TN_OK;
    }
    if (own && value_text_is(state, "running"))
        return error_set(error, TN_FAILED, "CLAIM_LOST",
                         "%s: the claim on Task `%s` expired at %s; nothing was changed. Renew claims in time, or "
                         "use a longer `ttl_seconds`",
                         request->operation, id, value_is(until, TN_STRING) ? value_chars(until, NULL) : "?");
    if (value_text_is(state, "running"))
        return error_set(error, TN_FAILED, "CLAIM_LOST",
                         "%s: Task `%s` is claimed by `%s`, with another token; nothing was changed",
                         request->operation, id, value_is(by, TN_STRING) ? value_chars(by, NULL) : "?");
    if (own || value_text_is(state, "queued"))
        return error_set(error, TN_INVALID, "INVALID_TRANSITION", "%s: Task `%s` is %s; only a claimed Task can be %s",
                         request->operation, id, here, use->verb);
    return error_set(error, TN_FAILED, "CLAIM_LOST",
                     "%s: Task `%s` is %s: another claim has ended it; nothing was changed", request->operation, id,
                     here);
}

int32_t task_claim_lost(struct request *request, const char *id, const char *token, const struct claim_use *use,
                        tn_value *result, struct error *error) {
    tn_value found = NULL;
    int32_t status = request_find(request, STORE_TASKS, id, &found, error);
    if (status != TN_OK) return status;
    if (!found) return task_missing(request, id, error);
    status = explain_lost_claim(request, value_get(found, "value"), id, token, use, result, error);
    value_unref(found);
    return status;
}

bool task_claim_is_valid(const struct request *request, tn_value task, tn_value token) {
    tn_value until = value_get(task, "claimable_ms");
    return value_text_is(value_get(task, "state"), "running") && value_equal(value_get(task, "claim_token"), token) &&
           value_is(until, TN_INT) && value_to_int(until) > request->now_ms;
}

/* ---- The end of a claim ---- */

struct claim_end {
    struct claim_use use;
    struct task_attempt_end attempt;
    tn_value patch; /* borrowed: the members that do not depend on the record */
    bool waits;     /* the Task waits: unless it was woken during the claim, which queues it at once */
};

static tn_value end_claim_patch(const struct request *request, tn_value task, const struct claim_end *end) {
    tn_value patch = task_attempt_end_take(value_ref(end->patch), task, &end->attempt, request->now_ms);
    patch = value_set_take(patch, "updated_at", time_value(request->now_ms));
    patch = value_set_take(patch, "claim_expires_at", value_null());
    if (end->waits && value_get(task, TASK_WOKEN)) {
        patch = value_set_take(patch, "waiting", value_bool(false));
        patch = value_set_take(patch, "not_before", value_null());
        patch = value_set_take(patch, "claimable_ms", value_int(request->now_ms));
    }
    return value_set_take(patch, TASK_WOKEN, value_null());
}

static int32_t try_end_claim(struct request *request, const struct claim_end *end, tn_value *result,
                             struct error *error) {
    tn_value token = value_get(request->arguments, "claim_token"), found = NULL;
    const char *id = value_chars(value_get(request->arguments, "task_id"), NULL);
    int32_t status = request_find(request, STORE_TASKS, id, &found, error);
    if (status != TN_OK) return status;
    if (!found) return task_missing(request, id, error);
    tn_value task = value_get(found, "value");
    if (task_claim_is_valid(request, task, token)) {
        tn_value patch = end_claim_patch(request, task, end);
        status = task_put_patched(request, found, patch, result, error);
        value_unref(patch);
    } else {
        status = explain_lost_claim(request, task, id, value_chars(token, NULL), &end->use, result, error);
    }
    value_unref(found);
    return status;
}

/* Takes end->patch. */
static int32_t end_claim_take(struct request *request, const struct claim_end *end, tn_value *result,
                              struct error *error) {
    const char *id, *token;
    int32_t status = request_text(request, "task_id", KERNEL_ID_MAX, &id, error);
    if (status == TN_OK) status = request_text(request, "claim_token", KERNEL_ID_MAX, &token, error);
    for (int tries = 0; status == TN_OK && !*result && tries < KERNEL_TRIES_MAX; tries++) {
        struct error why = ERROR_INIT;
        status = try_end_claim(request, end, result, &why);
        if (request_conflict(status, &why) && tries + 1 < KERNEL_TRIES_MAX)
            status = TN_OK;
        else
            error_move(error, &why);
        error_finish(&why);
    }
    value_unref(end->patch);
    return status;
}

/* The members of a Task that has ended. *patch is NULL on failure. */
static int32_t end_patch(struct request *request, const char *state, tn_value *patch, struct error *error) {
    tn_value refs = request_get(request, "artifact_refs");
    int32_t status = refs ? request_ids(request, "artifact_refs", refs, TASK_ARTIFACTS_MAX, error) : TN_OK;
    *patch = NULL;
    if (status != TN_OK) return status;
    *patch = value_set_take(value_object_reserve(9), "state", value_text(state));
    if (refs) *patch = value_set_take(*patch, "artifact_refs", value_ref(refs));
    *patch = value_set_take(*patch, "claimable_ms", value_null());
    return TN_OK;
}

int32_t task_complete(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_id", FIELD_TEXT, true},
                                          {"claim_token", FIELD_TEXT, true},
                                          {"artifact_refs", FIELD_ARRAY, false},
                                          {"user_output", FIELD_TEXT, false},
                                          {NULL, 0, false}};
    struct claim_end end = {.use = {"done", "done"}, .attempt = {.outcome = "done"}};
    int32_t status = request_check(request, fields, error);
    tn_value output = request_get(request, "user_output");
    if (status == TN_OK && output)
        status = request_size(request, "user_output", output, TASK_OUTPUT_MAX, "write an Artifact", error);
    if (status == TN_OK) status = end_patch(request, "done", &end.patch, error);
    if (status != TN_OK) return status;
    end.patch = value_set_take(end.patch, "error", value_null()); /* of an attempt before this one */
    if (output) end.patch = value_set_take(end.patch, "user_output", value_ref(output));
    return end_claim_take(request, &end, result, error);
}

int32_t task_fail(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"task_id", FIELD_TEXT, true},
                                          {"claim_token", FIELD_TEXT, true},
                                          {"error", FIELD_OBJECT | FIELD_TEXT, true},
                                          {"artifact_refs", FIELD_ARRAY, false},
                                          {NULL, 0, false}};
    struct claim_end end = {.use = {"failed", "failed"}, .attempt = {.outcome = "failed"}};
    tn_value why = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = read_task_error(request, &why, error);
    if (status == TN_OK) status = end_patch(request, "failed", &end.patch, error);
    if (status == TN_OK) {
        end.attempt.error = why;
        end.patch = value_set_take(end.patch, "error", value_ref(why));
        status = end_claim_take(request, &end, result, error);
    }
    value_unref(why);
    return status;
}

/* ---- Release ---- */

static const struct release_reason {
    const char *name, *outcome;
    bool uncounted, waits;
} release_reasons[] = {
    {"retry", "retried", false, false}, {"drain", "released", true, false}, {"wait", "waiting", true, true}};
#define RELEASE_REASONS (sizeof release_reasons / sizeof *release_reasons)

static int32_t read_release_reason(const struct request *request, const struct release_reason **out,
                                   struct error *error) {
    struct nearest nearest;
    size_t length;
    const char *text = value_chars(value_get(request->arguments, "reason"), &length);
    nearest_init(&nearest, text, length);
    for (size_t i = 0; i < RELEASE_REASONS; i++) {
        *out = &release_reasons[i];
        if (value_text_is(value_get(request->arguments, "reason"), release_reasons[i].name)) return TN_OK;
        nearest_add_candidate(&nearest, release_reasons[i].name, strlen(release_reasons[i].name));
    }
    return request_invalid(request, error, "reason", "found `%.40s`%s", text,
                           nearest_result(&nearest) ? nearest_hint(&nearest).text : "; expected retry, drain or wait");
}

/* A Task that waits without a time has no claimable_ms: no claim finds it until it is woken. */
static tn_value release_patch(const struct request *request, const struct release_reason *reason, bool timed,
                              int64_t not_before) {
    tn_value patch = value_set_take(value_object_reserve(12), "state", value_text("queued"));
    bool never = reason->waits && !timed;
    int64_t from = timed && not_before > request->now_ms ? not_before : request->now_ms;
    patch = value_set_take(patch, "claimed_by", value_null());
    patch = value_set_take(patch, "waiting", value_bool(reason->waits));
    patch = value_set_take(patch, "not_before", timed ? time_value(not_before) : value_null());
    return value_set_take(patch, "claimable_ms", never ? value_null() : value_int(from));
}

int32_t task_release(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {
        {"task_id", FIELD_TEXT, true},     {"claim_token", FIELD_TEXT, true},           {"reason", FIELD_TEXT, true},
        {"not_before", FIELD_TEXT, false}, {"error", FIELD_OBJECT | FIELD_TEXT, false}, {NULL, 0, false}};
    const struct release_reason *reason = NULL;
    tn_value why = NULL;
    int64_t not_before = 0;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = read_release_reason(request, &reason, error);
    if (status == TN_OK) status = request_time(request, "not_before", &not_before, error);
    if (status == TN_OK && request_get(request, "error")) status = read_task_error(request, &why, error);
    if (status == TN_OK) {
        /* The token stays, so that a repetition of the release is recognised. */
        struct claim_end end = {.use = {"released", "queued"},
                                .attempt = {reason->outcome, why, reason->uncounted},
                                .waits = reason->waits};
        end.patch = release_patch(request, reason, request_get(request, "not_before") != NULL, not_before);
        /* The error of a retry is that of this attempt; otherwise the last one stays. */
        if (why || !reason->uncounted)
            end.patch = value_set_take(end.patch, "error", why ? value_ref(why) : value_null());
        status = end_claim_take(request, &end, result, error);
    }
    value_unref(why);
    return status;
}

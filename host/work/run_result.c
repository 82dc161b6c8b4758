/*
 * run_result.c - reads a RunResult.
 */
#include "host/work/run_result.h"
#include <stdbool.h>
#include <stddef.h>

/* NULL for a member that is missing or null. */
static tn_value result_member(tn_value output, const char *name) {
    tn_value value = value_get(output, name);
    return value_is(value, TN_NULL) ? NULL : value;
}

static int32_t refuse_member(struct error *error, const char *name, tn_value found, const char *expected) {
    return error_set(error, TN_INVALID, "INVALID_RESULT",
                     "`%s` of the RunResult: found %s, expected %s; `tenon check --strategy` checks a document", name,
                     found ? value_kind_name(value_kind(found)) : "nothing", expected);
}

static bool read_state(tn_value value, enum run_result_state *out) {
    static const char *const names[] = {"done", "failed", "running"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!value_text_is(value, names[i])) continue;
        *out = (enum run_result_state)i;
        return true;
    }
    return false;
}

static bool are_texts(tn_value list) {
    if (!value_is(list, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(list); i++)
        if (!value_is(value_at(list, i), TN_STRING)) return false;
    return true;
}

static void read_failure(tn_value value, struct error *out) {
    if (value)
        error_from_value(out, value);
    else
        error_set(out, TN_FAILED, "FAILED", "the Task has failed; its RunResult has no `error`");
}

int32_t run_result_read(tn_value output, struct run_result *result, struct error *error) {
    tn_value text = result_member(output, "user_output"), refs = result_member(output, "artifact_refs"),
             state = result_member(output, "task_state");
    enum run_result_state read = RUN_RESULT_DONE;
    if (!value_is(output, TN_OBJECT)) return refuse_member(error, "the value", output, "an object");
    if (!read_state(state, &read)) return refuse_member(error, "task_state", state, "`done`, `failed` or `running`");
    if (text && !value_is(text, TN_STRING)) return refuse_member(error, "user_output", text, "a string or null");
    if (refs && !are_texts(refs)) return refuse_member(error, "artifact_refs", refs, "an array of strings");
    run_result_finish(result);
    result->state = read;
    result->user_output = text ? value_ref(text) : NULL;
    result->artifact_refs = refs ? value_ref(refs) : NULL;
    tn_value why = result_member(output, "error");
    if (read == RUN_RESULT_FAILED || (read == RUN_RESULT_RUNNING && why)) read_failure(why, &result->error);
    return TN_OK;
}

void run_result_finish(struct run_result *result) {
    value_unref(result->user_output);
    value_unref(result->artifact_refs);
    error_finish(&result->error);
    result->user_output = result->artifact_refs = NULL;
}

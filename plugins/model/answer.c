/*
 * answer.c - the answer of a call (tenon/util/answer.h): pauses the exchange while deltas wait, and ends the task.
 */
#include "internal.h"

/* Ends the task if the answer has failed. `was_waiting`: deltas were queued before the change. */
static void answer_check(struct model_call *call, bool was_waiting) {
    const struct tn_answer *answer = &call->answer;
    if (call->ended) return;
    if (answer->status == TN_STALE)
        model_call_end(call);
    else if (answer->status == TN_CANCELLED)
        model_fail(call, "CANCELLED", "cancelled");
    else if (answer->status == TN_NO_MEMORY)
        model_fail(call, "LIMIT", "not enough memory for the answer; limit its length");
    else if (answer->problem != NULL)
        model_fail_response(call, "%s", answer->problem);
    else if (answer->status != TN_OK)
        model_fail(call, "ERROR", "the host did not accept a part of the answer (status %d)", (int)answer->status);
    else if (!was_waiting && tn_answer_is_waiting(answer) && call->exchange != 0)
        (void)call->model->http->pause(tn.host, call->exchange);
}

/* A change of the answer, unless the call has ended. */
#define ANSWER_CHANGE(call, change)                                                                                    \
    do {                                                                                                               \
        bool was_waiting = tn_answer_is_waiting(&(call)->answer);                                                      \
        if ((call)->ended) break;                                                                                      \
        change;                                                                                                        \
        answer_check(call, was_waiting);                                                                               \
    } while (0)

void model_add_text(struct model_call *call, tn_value text) {
    ANSWER_CHANGE(call, tn_answer_add_text(&call->answer, text));
}

void model_add_reasoning(struct model_call *call, tn_value text) {
    ANSWER_CHANGE(call, tn_answer_add_reasoning(&call->answer, text));
}

void model_add_refusal(struct model_call *call, tn_value text) {
    ANSWER_CHANGE(call, tn_answer_add_refusal(&call->answer, text));
}

void model_set_part_extra(struct model_call *call, const char *key, tn_value value) {
    ANSWER_CHANGE(call, tn_answer_set_part_extra(&call->answer, key, value));
}

void model_end_part(struct model_call *call) { ANSWER_CHANGE(call, tn_answer_end_part(&call->answer)); }

void model_add_part(struct model_call *call, tn_value part) {
    ANSWER_CHANGE(call, tn_answer_add_part(&call->answer, part));
}

void model_add_tool_call(struct model_call *call, int64_t index, tn_value id, tn_value name, tn_value arguments) {
    ANSWER_CHANGE(call, tn_answer_add_call(&call->answer, index, id, name, arguments));
}

uint64_t model_get_arguments_length(const struct model_call *call, int64_t index) {
    const struct tn_answer_call *tool_call = tn_answer_find_call(&call->answer, index);
    return tool_call != NULL ? tool_call->arguments.length : 0;
}

void model_set_tool_call_extra(struct model_call *call, int64_t index, const char *key, tn_value value) {
    ANSWER_CHANGE(call, tn_answer_set_call_extra(&call->answer, index, key, value));
}

uint64_t model_count_tool_calls(const struct model_call *call) { return call->answer.call_count; }

void model_set_extra(struct model_call *call, const char *key, tn_value value) {
    ANSWER_CHANGE(call, tn_answer_set_extra(&call->answer, key, value));
}

void model_set_model_name(struct model_call *call, tn_value name) {
    if (!call->ended) tn_answer_set_model(&call->answer, name);
}

void model_set_usage(struct model_call *call, const struct tn_answer_usage *usage) {
    tn_answer_set_usage(&call->answer, usage);
}

void model_finish(struct model_call *call, const char *reason) {
    if (!call->ended) tn_answer_finish(&call->answer, reason);
}

void model_restart(struct model_call *call, const char *code) {
    ANSWER_CHANGE(call, tn_answer_restart(&call->answer, code));
}

bool model_is_finished(const struct model_call *call) { return tn_answer_is_finished(&call->answer); }

void model_finish_embeddings(struct model_call *call, tn_value embeddings) {
    if (call->ended) return;
    tn_release(call->embeddings);
    call->embeddings = tn_retain(embeddings);
    model_finish(call, "stop");
}

/* ---- The end ---- */

static void answer_complete(struct model_call *call) {
    tn_value output = call->embed == NULL ? tn_answer_output(&call->answer)
                                          : tn_build("{s:v, s:V*}", "embeddings", call->embeddings, "usage",
                                                     tn_answer_usage_value(&call->answer));
    if (output == NULL) {
        model_fail_response(call, "an answer that cannot be converted to a message");
        return;
    }
    model_call_end(call);
    (void)tn_done_take(call->task, output);
}

bool model_answer_flush(struct model_call *call) {
    bool is_emitted = tn_answer_flush(&call->answer);
    answer_check(call, true);
    if (call->ended || !is_emitted) return false;
    if (tn_answer_is_complete(&call->answer)) answer_complete(call);
    return true;
}

void model_answer_end(struct model_call *call) {
    if (call->ended || call->answer.is_ended) return;
    if (call->embed == NULL) ANSWER_CHANGE(call, tn_answer_end(&call->answer));
    if (!call->ended && (call->embed != NULL || tn_answer_is_complete(&call->answer))) answer_complete(call);
}

/*
 * response.c - the service's stream as pieces of the answer, and its errors.
 *
 * An event is {choices: [{delta: {content?, tool_calls?}, finish_reason?}], usage?}. The data of the last one is
 * "[DONE]"; what follows is ignored. A stream that ends without a finish reason was cut, and its answer is not used.
 */
#include "chat.h"

static const char *response_reason(const char *word) {
    static const char *const known[] = {"stop", "length", "tool_calls", "content_filter"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], word) == 0) return known[i];
    return "other";
}

static void response_read_calls(struct call *call, tn_value tool_calls) {
    for (uint64_t i = 0, count = tn.value->count(tool_calls); i < count; i++) {
        tn_value piece = tn.value->at(tool_calls, i), function = tn_get(piece, "function");
        tn_answer_add_call(&call->answer, tn_get_int(piece, "index", (int64_t)i), tn_get(piece, "id"),
                           tn_get(function, "name"), tn_get(function, "arguments"));
    }
}

static void response_read_usage(struct call *call, tn_value usage) {
    struct tn_answer_usage counts = TN_ANSWER_USAGE;
    counts.input = tn_answer_get_count(usage, "prompt_tokens");
    counts.output = tn_answer_get_count(usage, "completion_tokens");
    counts.total = tn_answer_get_count(usage, "total_tokens");
    tn_answer_set_usage(&call->answer, &counts);
}

/* `body` is what the service sent: JSON of any shape, or text. */
static void response_fail(struct call *call, tn_value body, tn_value headers) {
    struct tn_model_failure failure = call_failure(call, NULL);
    failure.body = body;
    failure.headers = headers;
    call_fail_take(call, tn_model_error(&failure));
}

static void response_read_chunk(struct call *call, tn_value chunk) {
    tn_value choice = tn.value->at(tn_get(chunk, "choices"), 0), delta = tn_get(choice, "delta");
    const char *word = tn_get_text(choice, "finish_reason", NULL);
    if (tn_get(chunk, "error") != NULL) {
        call->status = 0; /* an error after a successful start */
        response_fail(call, chunk, NULL);
        return;
    }
    tn_answer_set_model(&call->answer, tn_get(chunk, "model"));
    tn_answer_add_text(&call->answer, tn_get(delta, "content"));
    tn_answer_add_refusal(&call->answer, tn_get(delta, "refusal"));
    response_read_calls(call, tn_get(delta, "tool_calls"));
    response_read_usage(call, tn_get(chunk, "usage"));
    if (word != NULL) tn_answer_finish(&call->answer, response_reason(word));
}

void response_read_event(struct call *call, tn_value event) {
    uint64_t length = 0;
    const char *data = tn_chars(tn_get(event, "data"), &length);
    if (data != NULL && strcmp(data, "[DONE]") == 0) call->is_done = true;
    if (data == NULL || length == 0 || call->is_done) return;
    tn_value chunk = tn_from_json(data, length);
    if (tn.value->kind(chunk) == TN_OBJECT)
        response_read_chunk(call, chunk);
    else
        call_fail(call, "INVALID_RESPONSE", "sent an event that is not a JSON object; check `base_url`, or try again");
    tn_release(chunk);
}

void response_read_end(struct call *call, tn_value end) {
    int64_t status = tn_get_int(end, "status", 0);
    call->status = status;
    if (status >= 200 && status <= 299) {
        if (tn_answer_is_finished(&call->answer))
            tn_answer_end(&call->answer);
        else
            call_fail(call, "INVALID_RESPONSE",
                      "sent a stream that stopped before its end; check `base_url`, or try again");
        return;
    }
    response_fail(call, tn_get(end, "body"), tn_get(end, "headers"));
}

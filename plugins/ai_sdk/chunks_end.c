/*
 * chunks_end.c - the first and the last chunks of a leg: its start, what the run waits for, how it has ended.
 */
#include "chunks_internal.h"
#include "history.h"
#include <tenon/message.h>

void chunks_start(struct chunks *chunks, tn_value metadata) {
    send_take(chunks, tn_build("{s:s, s:s, s:v*}", "type", "start", "messageId", chunks->message_id, "messageMetadata",
                               metadata));
}

/* ---- A leg that continues an answer ---- */

static const char *part_state(tn_value part) { return tn_get_text(part, "state", ""); }

void chunks_continue(struct chunks *chunks, tn_value parts) {
    static const char prefix[] = CALL_OF_APPROVAL;
    for (uint64_t i = 0, count = tn.value->count(parts); i < count; i++) {
        tn_value part = tn.value->at(parts, i), approval = tn_get(part, "approval");
        const char *id = tn_get_text(part, "toolCallId", "");
        if (strncmp(id, prefix, sizeof prefix - 1) != 0 || strcmp(part_state(part), "approval-responded") != 0)
            continue;
        calls_end(chunks, id);
        if (serving_true(tn_get(approval, "approved")))
            send_take(chunks, tn_build("{s:s, s:s, s:{s:b}}", "type", "tool-output-available", "toolCallId", id,
                                       "output", "approved", 1));
        else
            send_take(chunks, tn_build("{s:s, s:s}", "type", "tool-output-denied", "toolCallId", id));
    }
}

/* ---- What was not streamed ---- */

/* Of a message behind `from`. */
static bool has_result(tn_value messages, uint64_t from, tn_value call) {
    tn_value id = tn_get(call, "id");
    for (uint64_t i = from + 1, count = tn.value->count(messages); id != NULL && i < count; i++)
        if (tn.value->equal(tn_get(tn.value->at(messages, i), "tool_call_id"), id) != 0) return true;
    return false;
}

static void send_rest_messages(struct chunks *chunks, tn_value messages) {
    uint64_t count = tn.value->kind(messages) == TN_ARRAY ? tn.value->count(messages) : 0;
    uint64_t from = chunks->knows ? 0 : history_last_answer(messages);
    for (uint64_t i = from; i < count; i++) {
        tn_value message = tn.value->at(messages, i), calls = tn_message_calls(message);
        bool answers = tn_message_is(message, "ai") || tn_message_is(message, "error");
        bool old = i < chunks->known && tn_get(message, "id") == NULL;
        if (!answers || old || message_was_seen(chunks, message) || calls_are_known(chunks, calls)) continue;
        const char *finish = tn_get_text(message, "finish_reason", NULL);
        if (finish != NULL) {
            serving_free(chunks->finish);
            chunks->finish = serving_text_copy(finish);
        }
        content_send(chunks, tn_get(message, "content"));
        for (uint64_t k = 0, made = tn.value->count(calls); k < made; k++)
            if (!has_result(messages, i, tn.value->at(calls, k))) calls_start(chunks, tn.value->at(calls, k));
    }
}

static void send_rest(struct chunks *chunks, tn_value report) {
    tn_value state = tn_get(report, "state");
    if (chunks->graph.input == SERVING_MESSAGES) {
        send_rest_messages(chunks, tn_get(state, chunks->graph.channel));
    } else if (serving_is(tn_get(report, "status"), "done")) {
        tn_value text = serving_result_text(&chunks->graph, state);
        if (text != NULL) content_send(chunks, text);
        tn_release(text);
    }
}

/* ---- Interrupts ---- */

static void ask_approval(struct chunks *chunks, tn_value interrupt) {
    tn_value payload = tn_get(interrupt, "payload");
    const char *id = tn_get_text(interrupt, "id", "");
    struct call *call = calls_of_interrupt(chunks, interrupt, CALL_OF_APPROVAL);
    if (call == NULL) return;
    call->state = CALL_ASKS;
    send_take(chunks,
              tn_build("{s:s, s:s, s:s}", "type", "tool-approval-request", "approvalId", id, "toolCallId", call->id));
    send_take(chunks, tn_build("{s:s, s:s, s:{s:s, s:v*, s:v*, s:v*, s:v*, s:v*}}", "type", "data-approval", "id", id,
                               "data", "toolCallId", call->id, "title", tn_get(payload, "title"), "why",
                               tn_get(payload, "why"), "caller", tn_get(payload, "caller"), "effects",
                               tn_get(payload, "effects"), "when", tn_get(interrupt, "when")));
}

/* The client may show the question as a form (data-interrupt), or only its text. */
static void ask_question(struct chunks *chunks, tn_value interrupt) {
    tn_value text = serving_ask_text(interrupt);
    if (text != NULL) text_send(chunks, text);
    send_take(chunks, tn_build("{s:s, s:v, s:{s:v, s:v*, s:v*, s:v?, s:v*, s:v*}}", "type", "data-interrupt", "id",
                               tn_get(interrupt, "id"), "data", "id", tn_get(interrupt, "id"), "node",
                               tn_get(interrupt, "node"), "path", tn_get(interrupt, "path"), "payload",
                               tn_get(interrupt, "payload"), "schema", tn_get(interrupt, "schema"), "text", text));
    tn_release(text);
}

static void ask(struct chunks *chunks, tn_value interrupt) {
    if (serving_ask_is_approval(interrupt) || interrupt_is_pause(interrupt))
        ask_approval(chunks, interrupt);
    else if (interrupt_client_tool(interrupt) != NULL)
        (void)calls_of_interrupt(chunks, interrupt, CALL_OF_TOOL);
    else
        ask_question(chunks, interrupt);
}

/* ---- The end ---- */

static const char *finish_reason(const struct chunks *chunks, tn_value report) {
    static const char *const rows[][2] = {
        {"stop", "stop"}, {"length", "length"}, {"content_filter", "content-filter"}, {"other", "other"}};
    if (serving_is(tn_get(report, "status"), "failed")) return "error";
    if (calls_are_open(chunks)) return "tool-calls";
    for (size_t i = 0; chunks->finish != NULL && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], chunks->finish) == 0) return rows[i][1];
    return "stop";
}

/* The names are those of the SDK's LanguageModelUsage. */
static tn_value end_metadata(tn_value report) {
    tn_value usage = tn_get(report, "usage"), made = NULL;
    if (usage != NULL)
        made = tn_build("{s:v*, s:v*, s:v*, s:v*, s:v*}", "inputTokens", tn_get(usage, "input_tokens"), "outputTokens",
                        tn_get(usage, "output_tokens"), "totalTokens", tn_get(usage, "total_tokens"), "reasoningTokens",
                        tn_get(usage, "reasoning_tokens"), "cachedInputTokens", tn_get(usage, "cached_tokens"));
    return tn_build("{s:v*, s:V*, s:v*, s:v*}", "status", tn_get(report, "status"), "usage", made, "cost",
                    tn_get(usage, "cost"), "code", tn_get(tn_get(report, "error"), "code"));
}

static void send_finish(struct chunks *chunks, tn_value report) {
    const char *reason = finish_reason(chunks, report);
    /* A client that sends results by itself would repeat those of the last step. */
    if (chunks->step_has_output && !calls_are_open(chunks)) {
        step_end(chunks);
        step_for_part(chunks);
    }
    step_end(chunks);
    send_take(chunks, tn_build("{s:s, s:s, s:V*}", "type", "finish", "finishReason", reason, "messageMetadata",
                               end_metadata(report)));
}

void chunks_end(struct chunks *chunks, tn_value report) {
    tn_value interrupts = tn_get(report, "interrupts");
    const char *status = tn_get_text(report, "status", "failed");
    bool ends = strcmp(status, "cancelled") == 0 || strcmp(status, "stopped") == 0;
    bool complete = strcmp(status, "done") == 0 || strcmp(status, "interrupted") == 0;
    streams_end(chunks, complete ? STREAM_COMPLETE : STREAM_DISCARDED);
    if (!ends) send_rest(chunks, report);
    if (strcmp(status, "interrupted") == 0)
        for (uint64_t i = 0, count = tn.value->count(interrupts); i < count; i++)
            ask(chunks, tn.value->at(interrupts, i));
    if (ends) {
        step_end(chunks);
        send_take(chunks, tn_build("{s:s, s:s}", "type", "abort", "reason", status));
        return;
    }
    if (strcmp(status, "failed") == 0) {
        parts_close(chunks);
        send_take(chunks, tn_build("{s:s, s:s}", "type", "error", "errorText",
                                   tn_get_text(tn_get(report, "error"), "message", "The run has failed.")));
    }
    send_finish(chunks, report);
}

/* ---- Parts that the client has ---- */

static void replay_text(tn_value part, const char *kind, uint64_t number, chunks_handler *handler, void *user) {
    static const char *const steps[] = {"start", "delta", "end"};
    char id[ID_MAX + 16], type[32];
    (void)snprintf(id, sizeof id, "before-%llu", (unsigned long long)number);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        (void)snprintf(type, sizeof type, "%s-%s", kind, steps[i]);
        tn_value chunk =
            tn_build("{s:s, s:s, s:v*}", "type", type, "id", id, "delta", i == 1 ? tn_get(part, "text") : NULL);
        if (chunk != NULL) handler(user, chunk);
        tn_release(chunk);
    }
}

static void replay_take(tn_value chunk, chunks_handler *handler, void *user) {
    if (chunk != NULL) handler(user, chunk);
    tn_release(chunk);
}

static void replay_call(tn_value part, const char *name, chunks_handler *handler, void *user) {
    const char *id = tn_get_text(part, "toolCallId", NULL), *state = part_state(part);
    tn_value approval = tn_get(part, "approval");
    if (id == NULL) return;
    tn_value start = tn_build("{s:s, s:s, s:s, s:v?}", "type", "tool-input-available", "toolCallId", id, "toolName",
                              name, "input", tn_get(part, "input"));
    if (start != NULL && serving_is(tn_get(part, "type"), "dynamic-tool"))
        start = tn_set_take(start, "dynamic", tn_bool(1));
    replay_take(start, handler, user);
    if (tn_get_text(approval, "id", NULL) != NULL)
        replay_take(tn_build("{s:s, s:v, s:s}", "type", "tool-approval-request", "approvalId", tn_get(approval, "id"),
                             "toolCallId", id),
                    handler, user);
    if (strcmp(state, "output-available") == 0)
        replay_take(tn_build("{s:s, s:s, s:v?}", "type", "tool-output-available", "toolCallId", id, "output",
                             tn_get(part, "output")),
                    handler, user);
    else if (strcmp(state, "output-error") == 0)
        replay_take(tn_build("{s:s, s:s, s:s}", "type", "tool-output-error", "toolCallId", id, "errorText",
                             tn_get_text(part, "errorText", "")),
                    handler, user);
    else if (strcmp(state, "output-denied") == 0)
        replay_take(tn_build("{s:s, s:s}", "type", "tool-output-denied", "toolCallId", id), handler, user);
}

void parts_replay(tn_value parts, chunks_handler *handler, void *user) {
    for (uint64_t i = 0, count = tn.value->count(parts); i < count; i++) {
        tn_value part = tn.value->at(parts, i);
        const char *type = tn_get_text(part, "type", ""), *name = part_tool_name(part);
        if (name != NULL)
            replay_call(part, name, handler, user);
        else if (strcmp(type, "text") == 0 || strcmp(type, "reasoning") == 0)
            replay_text(part, type, i, handler, user);
        else if (strcmp(type, "step-start") == 0)
            replay_take(tn_build("{s:s}", "type", "start-step"), handler, user);
        else if (strncmp(type, "data-", 5) == 0 || strcmp(type, "file") == 0 || strncmp(type, "source-", 7) == 0)
            handler(user, part); /* the chunk has the form of the part */
    }
}

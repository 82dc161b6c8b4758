/*
 * plan.c - what a request does to its thread. Pure: it reads values and makes values.
 */
#include "plan.h"
#include "chunks.h"
#include <tenon/message.h>

static void refuse(struct chat_plan *plan, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void refuse(struct chat_plan *plan, int32_t status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(plan->reason, sizeof plan->reason, format, arguments);
    va_end(arguments);
    plan->status = status;
}

#define MODES "[\"updates\", \"messages\", \"custom\", \"tasks\"]"

/* Takes `config` and the value of `member`, which may be NULL. */
static void plan_method_take(struct chat_plan *plan, const char *method, const struct serving_graph *graph,
                             tn_value config, const char *member, tn_value value) {
    plan->method = method;
    plan->params = tn_build("{s:s, s:V, s:V, s:V*}", "document", graph->document, "config", config, "modes",
                            tn_from_json(MODES, sizeof MODES - 1), member, value);
    if (plan->params != NULL) return;
    plan->method = NULL;
    refuse(plan, 500, "Memory ran out.");
}

static void plan_resume_take(struct chat_plan *plan, const struct chat_request *request,
                             const struct serving_graph *graph, tn_value answers) {
    plan->continues = request->parts != NULL;
    plan_method_take(plan, "run/resume", graph, tn_build("{s:s}", "thread_id", request->chat_id), "answers", answers);
}

static void plan_start_take(struct chat_plan *plan, const struct chat_request *request,
                            const struct serving_graph *graph, bool replace, tn_value input) {
    tn_value config = tn_build("{s:s}", "thread_id", request->chat_id);
    if (config != NULL && replace) config = tn_set_take(config, "replace", tn_bool(1));
    plan_method_take(plan, "run/start", graph, config, "input", input);
}

/* ---- Answers ---- */

static const char *state_of(tn_value part) { return tn_get_text(part, "state", ""); }

/* An id of an interrupt can come again in a later step, so an approval counts only for the call that the person saw. */
static bool part_is_of_approval(tn_value part, tn_value interrupt) {
    tn_value payload = tn_get(interrupt, "payload"), tool = tn_get(payload, "tool"), input;
    const char *name = part_tool_name(part);
    if (name == NULL || tn.value->equal(tn_get(tn_get(part, "approval"), "id"), tn_get(interrupt, "id")) == 0)
        return false;
    if (tool == NULL) return true;
    input = tn_call_arguments(payload);
    bool same = serving_is(tool, name) && tn.value->equal(tn_get(part, "input"), input) != 0;
    tn_release(input);
    return same;
}

static tn_value approval_answer(const struct chat_request *request, tn_value interrupt) {
    for (uint64_t i = 0, count = tn.value->count(request->parts); i < count; i++) {
        tn_value part = tn.value->at(request->parts, i), approval = tn_get(part, "approval");
        if (!part_is_of_approval(part, interrupt)) continue;
        if (tn.value->kind(tn_get(approval, "approved")) != TN_BOOL) continue;
        if (interrupt_is_pause(interrupt)) return serving_true(tn_get(approval, "approved")) ? tn_bool(1) : NULL;
        return tn_build("{s:v, s:v*}", "approved", tn_get(approval, "approved"), "reason", tn_get(approval, "reason"));
    }
    return NULL;
}

static bool part_is_of_tool(tn_value part, tn_value interrupt) {
    tn_value tool = interrupt_client_tool(interrupt), input;
    const char *name = part_tool_name(part);
    char id[256];
    (void)snprintf(id, sizeof id, CALL_OF_TOOL "%.200s", tn_get_text(interrupt, "id", ""));
    if (name == NULL || strncmp(state_of(part), "output-", 7) != 0) return false;
    if (serving_is(tn_get(part, "toolCallId"), id)) return true;
    input = tn_call_arguments(tool);
    bool same = serving_is(tn_get(tool, "tool"), name) && tn.value->equal(tn_get(part, "input"), input) != 0;
    tn_release(input);
    return same;
}

static tn_value tool_answer(const struct chat_request *request, tn_value interrupt) {
    for (uint64_t i = tn.value->count(request->parts); i > 0; i--) {
        tn_value part = tn.value->at(request->parts, i - 1);
        if (!part_is_of_tool(part, interrupt)) continue;
        if (strcmp(state_of(part), "output-available") == 0) return tn_retain(tn_get(part, "output"));
        return tn_build("{s:s}", "error", tn_get_text(part, "errorText", "The tool was not run."));
    }
    return NULL;
}

/* The first question that a text answers takes the text; *text is NULL then. */
static tn_value question_answer(tn_value interrupt, tn_value *text) {
    uint64_t length = 0;
    const char *chars = tn_chars(*text, &length);
    if (chars == NULL || length == 0) return NULL;
    tn_value answer = serving_ask_answer(interrupt, chars, length);
    tn_release(*text);
    *text = NULL;
    return answer;
}

static tn_value answer_of(const struct chat_request *request, tn_value interrupt, tn_value *text) {
    tn_value given = tn_get_key(request->answers, tn_get(interrupt, "id"));
    if (given != NULL) return tn_retain(given);
    if (serving_ask_is_approval(interrupt)) return approval_answer(request, interrupt);
    return interrupt_client_tool(interrupt) != NULL ? tool_answer(request, interrupt)
                                                    : question_answer(interrupt, text);
}

/* {id: answer} of what the thread waits for; NULL if the request answers nothing. */
static tn_value read_answers(const struct chat_request *request, tn_value thread) {
    tn_value interrupts = tn_get(thread, "interrupts"), saved = tn_get(thread, "answers"), answers = tn_build("{}");
    tn_value text = request->user != NULL ? tn_content_text(tn_get(request->user, "content")) : NULL;
    for (uint64_t i = 0, count = tn.value->count(interrupts); i < count; i++) {
        tn_value interrupt = tn.value->at(interrupts, i), id = tn_get(interrupt, "id"), answer;
        if (tn_chars(id, NULL) == NULL || tn_get_key(saved, id) != NULL) continue;
        answer = answer_of(request, interrupt, &text);
        if (answer != NULL && answers != NULL) answers = tn_set_take(answers, tn_chars(id, NULL), answer);
    }
    tn_release(text);
    if (tn.value->count(answers) > 0) return answers;
    tn_release(answers);
    return NULL;
}

/* ---- The last message is the assistant's ---- */

/* The output of a tool that the client has run, as the message that the graph expects. */
static tn_value tool_message(tn_value part, const char *id) {
    tn_value output = tn_get(part, "output"), content;
    bool failed = strcmp(state_of(part), "output-error") == 0;
    if (failed)
        content = tn_text(tn_get_text(part, "errorText", "The tool has failed."));
    else
        content = tn_chars(output, NULL) != NULL ? tn_retain(output) : tn_to_json(output);
    tn_value message = content != NULL ? tn_message_tool(content, id, part_tool_name(part), failed) : NULL;
    tn_release(content);
    return message;
}

/* Of a message at `from` or behind it. */
static bool has_result(tn_value messages, uint64_t from, tn_value id) {
    for (uint64_t i = tn.value->count(messages); i > from; i--)
        if (tn.value->equal(tn_get(tn.value->at(messages, i - 1), "tool_call_id"), id) != 0) return true;
    return false;
}

/* The part of a call: its id is that of the model, or has a number behind it (chunks_calls.c). */
static tn_value part_of_call(tn_value parts, tn_value call) {
    const char *own = tn_get_text(call, "id", "");
    size_t length = strlen(own);
    for (uint64_t i = tn.value->count(parts); i > 0; i--) {
        tn_value part = tn.value->at(parts, i - 1);
        const char *id = tn_get_text(part, "toolCallId", ""), *state = state_of(part);
        bool ended = strcmp(state, "output-available") == 0 || strcmp(state, "output-error") == 0;
        if (!ended || part_tool_name(part) == NULL || strncmp(id, own, length) != 0) continue;
        if (id[length] == '\0' ||
            (id[length] == '.' && strspn(id + length + 1, "0123456789") == strlen(id + length + 1)))
            return part;
    }
    return NULL;
}

/* Messages for the calls without a result of the last message that has calls. A new reference. */
static tn_value output_messages(tn_value messages, tn_value parts) {
    tn_value made = tn_build("[]"), calls = NULL;
    uint64_t at = tn.value->count(messages);
    while (at > 0 && calls == NULL) calls = tn_message_calls(tn.value->at(messages, --at));
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i), id = tn_get(call, "id"), part = part_of_call(parts, call);
        if (part != NULL && id != NULL && !has_result(messages, at, id))
            (void)tn_append_take(&made, tool_message(part, tn_chars(id, NULL)));
    }
    return made;
}

static void plan_outputs(struct chat_plan *plan, const struct chat_request *request, const struct serving_graph *graph,
                         tn_value state) {
    tn_value messages = graph->input == SERVING_MESSAGES ? tn_get(state, graph->channel) : NULL;
    tn_value made = output_messages(messages, request->parts);
    if (tn.value->count(made) > 0) {
        plan->continues = true;
        plan_start_take(plan, request, graph, false, tn_build("{s:v}", graph->channel, made));
    } else {
        refuse(plan, 409, "The chat waits for nothing: send a message of the user.");
    }
    tn_release(made);
}

static void plan_continue(struct chat_plan *plan, const struct chat_request *request, const struct serving_graph *graph,
                          tn_value thread, tn_value state) {
    if (thread == NULL) {
        refuse(plan, 404, "The chat does not exist, so its answer cannot be continued. Send a message of the user.");
    } else if (serving_is(tn_get(thread, "status"), "done")) {
        plan_outputs(plan, request, graph, state);
    } else {
        tn_value answers = read_answers(request, thread);
        if (answers == NULL && serving_is(tn_get(thread, "status"), "interrupted"))
            refuse(plan, 409, "The chat waits for an answer that the message does not contain.");
        else
            plan_resume_take(plan, request, graph, answers);
        plan->repeats = answers == NULL;
    }
}

/* ---- The last message is the user's ---- */

/* The first message that does not count any more: what follows the message that is sent again, or the calls without
 * results that an unfinished run has left. */
static uint64_t first_discarded(const struct chat_request *request, tn_value messages, bool unfinished) {
    uint64_t count = tn.value->count(messages), from = count;
    for (uint64_t i = 0; i < count; i++)
        if (tn.value->equal(tn_get(tn.value->at(messages, i), "id"), tn_get(request->user, "id")) != 0) return i + 1;
    for (uint64_t i = count; request->regenerate && i > 0; i--)
        if (tn_message_is(tn.value->at(messages, i - 1), "user")) return i - 1;
    for (uint64_t i = 0; unfinished && i < count; i++) {
        tn_value calls = tn_message_calls(tn.value->at(messages, i));
        for (uint64_t k = 0, made = tn.value->count(calls); k < made && from == count; k++)
            if (!has_result(messages, i, tn_get(tn.value->at(calls, k), "id"))) from = i;
    }
    return from;
}

/* Messages that remove others; false if the graph keeps all of them. */
static bool remove_messages(const struct serving_graph *graph, tn_value messages, uint64_t from, tn_value *list) {
    uint64_t count = tn.value->count(messages);
    for (uint64_t i = from; i < count; i++) {
        tn_value id = tn_get(tn.value->at(messages, i), "id");
        if (!graph->removes || id == NULL) return false;
        (void)tn_append_take(list, tn_build("{s:s, s:v}", "type", "remove", "id", id));
    }
    return true;
}

static tn_value with_input_take(const struct chat_request *request, const char *channel, tn_value value) {
    tn_value input = request->input != NULL ? tn_retain(request->input) : tn_build("{}");
    return input != NULL ? tn_set_take(input, channel, value) : NULL;
}

static bool content_is_empty(tn_value content) {
    uint64_t length = 0;
    return tn_chars(content, &length) != NULL ? length == 0 : tn.value->count(content) == 0;
}

static void plan_messages(struct chat_plan *plan, const struct chat_request *request, const struct serving_graph *graph,
                          bool unfinished, tn_value state, bool fresh) {
    tn_value messages = tn_get(state, graph->channel), list = tn_build("[]");
    uint64_t from = first_discarded(request, messages, unfinished);
    uint64_t earlier = fresh ? tn.value->count(request->history) : 0;
    for (uint64_t i = 0; i < earlier; i++) (void)tn_append_take(&list, tn_retain(tn.value->at(request->history, i)));
    if (!remove_messages(graph, messages, from, &list)) {
        refuse(plan, 501,
               "The graph `%.100s` keeps all messages, so an answer cannot be made again: its channel `%.100s` needs "
               "`type: reduce, reducer: messages`.",
               graph->name, graph->channel);
        tn_release(list);
        return;
    }
    if (!content_is_empty(tn_get(request->user, "content"))) (void)tn_append_take(&list, tn_retain(request->user));
    plan_start_take(plan, request, graph, unfinished, with_input_take(request, graph->channel, list));
}

static void plan_text(struct chat_plan *plan, const struct chat_request *request, const struct serving_graph *graph,
                      bool unfinished) {
    tn_value text = tn_content_text(tn_get(request->user, "content")), input = NULL;
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (graph->input == SERVING_ONE_TEXT)
        input = with_input_take(request, graph->channel, tn_retain(text));
    else if (length == 0 && request->input != NULL)
        input = tn_retain(request->input);
    else
        input = chars != NULL ? tn_from_json(chars, length) : NULL;
    tn_release(text);
    if (tn.value->kind(input) == TN_OBJECT) {
        plan_start_take(plan, request, graph, unfinished, input);
        return;
    }
    tn_release(input);
    refuse(plan, 400,
           "The graph `%.100s` has neither a channel of messages nor one text as its input: send the input as the JSON "
           "object of a text, or as a part data-input.",
           graph->name);
}

static void plan_user(struct chat_plan *plan, const struct chat_request *request, const struct serving_graph *graph,
                      tn_value thread, tn_value state) {
    const char *status = tn_get_text(thread, "status", "done");
    bool unfinished = strcmp(status, "done") != 0;
    tn_value answers = NULL;
    if (strcmp(status, "interrupted") == 0 && !request->regenerate) answers = read_answers(request, thread);
    if (answers != NULL)
        plan_resume_take(plan, request, graph, answers);
    else if (request->answers != NULL)
        refuse(plan, 409, "The chat does not wait for this answer any more.");
    else if (graph->input == SERVING_MESSAGES)
        plan_messages(plan, request, graph, unfinished, state, thread == NULL);
    else
        plan_text(plan, request, graph, unfinished);
}

void chat_plan_make(struct chat_plan *plan, const struct chat_request *request, const struct serving_graph *graph,
                    tn_value thread, tn_value state) {
    *plan = (struct chat_plan){0};
    if (serving_is(tn_get(thread, "status"), "importing"))
        refuse(plan, 409, "The chat is being imported; try again later.");
    else if (request->parts != NULL)
        plan_continue(plan, request, graph, thread, state);
    else
        plan_user(plan, request, graph, thread, state);
}

void chat_plan_finish(struct chat_plan *plan) {
    tn_release(plan->params);
    plan->params = NULL;
}

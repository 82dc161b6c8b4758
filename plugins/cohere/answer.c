/*
 * answer.c - converts the service's events, or its answer in one piece, to a message.
 *
 * A stream consists of message-start; a start, deltas and an end of each content (thoughts, text) and of each tool
 * call; pieces of the plan of the calls; citations, at any place after the text that they are about; and message-end,
 * which has the reason and the usage. Unknown events are skipped.
 *
 * A citation repeats the whole text of its sources. The message keeps each source once, as a `source` part after the
 * text, and citations with the ids of their sources in its extra.cohere.
 */
#include "cohere.h"

static struct cohere_call *answer_state(const struct model_call *call) { return call->provider_data; }

/* ---- Usage ---- */

/* `billed_units` are another measure: they leave out the service's own prompts. */
static void answer_read_usage(struct model_call *call, tn_value usage) {
    struct tn_answer_usage counts = TN_ANSWER_USAGE;
    tn_value tokens = tn_get(usage, "tokens"), billed = tn_get(usage, "billed_units");
    counts.input = cohere_count(tokens, "input_tokens");
    counts.output = cohere_count(tokens, "output_tokens");
    counts.cached = cohere_count(usage, "cached_tokens");
    model_set_usage(call, &counts);
    if (tn.value->kind(billed) == TN_OBJECT) model_set_extra(call, "billed_units", billed);
}

/* ---- Citations ---- */

static bool sources_have(tn_value sources, tn_value source) {
    tn_value id = tn_get(source, "id");
    for (uint64_t i = 0, count = sources != NULL ? tn.value->count(sources) : 0; i < count; i++) {
        tn_value other = tn.value->at(sources, i);
        if (cohere_is_text(id) ? tn.value->equal(id, tn_get(other, "id")) : tn.value->equal(source, other)) return true;
    }
    return false;
}

static void citation_take_source(struct cohere_call *state, tn_value source) {
    bool full = state->sources != NULL && tn.value->count(state->sources) >= COHERE_SOURCES_MAX;
    if (tn.value->kind(source) != TN_OBJECT || full || sources_have(state->sources, source)) return;
    (void)tn_append_take(&state->sources, tn_retain(source));
}

static void citation_add(struct model_call *call, tn_value citation) {
    static const char *const skip[] = {"sources", NULL};
    struct cohere_call *state = answer_state(call);
    tn_value sources = tn_get(citation, "sources");
    uint64_t count = tn.value->kind(sources) == TN_ARRAY ? tn.value->count(sources) : 0;
    bool full = state->citations != NULL && tn.value->count(state->citations) >= COHERE_CITATIONS_MAX;
    if (tn.value->kind(citation) != TN_OBJECT || full) return;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_members(builder, citation, skip);
    tn_put_begin(builder, "sources", TN_ARRAY);
    for (uint64_t i = 0; i < count && i < COHERE_SOURCES_MAX; i++) {
        tn_value source = tn.value->at(sources, i), id = tn_get(source, "id");
        citation_take_source(state, source);
        if (cohere_is_text(id)) tn_put(builder, NULL, id);
    }
    tn.value->end(builder);
    tn.value->end(builder);
    (void)tn_append_take(&state->citations, tn_finish(builder));
}

/* Adds one citation, or each of a list. */
static void citations_add(struct model_call *call, tn_value citations) {
    if (tn.value->kind(citations) == TN_OBJECT) citation_add(call, citations);
    for (uint64_t i = 0; tn.value->kind(citations) == TN_ARRAY && i < tn.value->count(citations); i++)
        citation_add(call, tn.value->at(citations, i));
}

static tn_value source_first_text(tn_value source, const char *const *names) {
    tn_value holder = tn_get(source, "document");
    if (tn.value->kind(holder) != TN_OBJECT) holder = tn_get(source, "tool_output");
    for (; *names != NULL; names++)
        if (cohere_is_text(tn_get(holder, *names))) return tn_get(holder, *names);
    return NULL;
}

static void sources_emit(struct model_call *call) {
    static const char *const titles[] = {"title", "name", NULL}, *const urls[] = {"url", NULL};
    const struct cohere_call *state = answer_state(call);
    for (uint64_t i = 0, count = state->sources != NULL ? tn.value->count(state->sources) : 0; i < count; i++) {
        tn_value source = tn.value->at(state->sources, i), title = source_first_text(source, titles);
        if (title == NULL && cohere_is_text(tn_get(source, "id"))) title = tn_get(source, "id");
        tn_value part = tn_build("{s:s, s:v*, s:v*, s:{s:v}}", "type", "source", "url", source_first_text(source, urls),
                                 "title", title, "extra", "cohere", source);
        model_add_part(call, part);
        tn_release(part);
    }
}

/* ---- Content ---- */

static void answer_add_content(struct model_call *call, tn_value content) {
    model_add_reasoning(call, tn_get(content, "thinking"));
    model_add_text(call, tn_get(content, "text"));
}

static void answer_add_plan(struct model_call *call, tn_value plan) {
    if (!cohere_is_text(plan)) return;
    tn_value yes = tn_bool(1);
    model_add_reasoning(call, plan);
    model_set_part_extra(call, "tool_plan", yes);
    tn_release(yes);
}

static void answer_add_call(struct model_call *call, int64_t index, tn_value tool_call) {
    tn_value function = tn_get(tool_call, "function");
    model_add_tool_call(call, index, tn_get(tool_call, "id"), tn_get(function, "name"), tn_get(function, "arguments"));
}

static void answer_add_logprobs(struct model_call *call, tn_value logprobs) {
    if (tn.value->kind(logprobs) == TN_OBJECT) (void)tn_append_take(&answer_state(call)->logprobs, tn_retain(logprobs));
    for (uint64_t i = 0; tn.value->kind(logprobs) == TN_ARRAY && i < tn.value->count(logprobs); i++)
        (void)tn_append_take(&answer_state(call)->logprobs, tn_retain(tn.value->at(logprobs, i)));
}

/* ---- The end ---- */

/* `from` has the finish_reason, and `error` if the service failed. */
static void answer_finish(struct model_call *call, tn_value from) {
    static const char *const reasons[][2] = {{"COMPLETE", "stop"},
                                             {"STOP_SEQUENCE", "stop"},
                                             {"TOOL_CALL", "tool_calls"},
                                             {"MAX_TOKENS", "length"},
                                             {"ERROR_TOXIC", "content_filter"}};
    const struct cohere_call *state = answer_state(call);
    tn_value reason = tn_get(from, "finish_reason");
    const char *word = tn_chars(reason, NULL), *finish = "other", *error = tn_get_text(from, "error", NULL);
    if (word == NULL) {
        model_fail_response(call, "an end of the answer without a finish_reason");
        return;
    }
    if (strcmp(word, "ERROR") == 0 || strcmp(word, "TIMEOUT") == 0 || strcmp(word, "ERROR_LIMIT") == 0) {
        tn_value body = tn_build("{s:v, s:s}", "type", reason, "message",
                                 error != NULL ? error : "the answer ended with an error, which has no message");
        model_fail_service(call, body);
        tn_release(body);
        return;
    }
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i][0], word) == 0) finish = reasons[i][1];
    if (strcmp(finish, "other") == 0) model_set_extra(call, "finish_reason", reason);
    sources_emit(call);
    model_set_extra(call, "citations", state->citations);
    model_set_extra(call, "logprobs", state->logprobs);
    model_finish(call, finish);
}

void cohere_answer_message(struct model_call *call, tn_value json) {
    tn_value message = tn_get(json, "message"), id = tn_get(json, "id");
    tn_value content = tn_get(message, "content"), calls = tn_get(message, "tool_calls");
    if (tn.value->kind(message) != TN_OBJECT) {
        if (cohere_is_text(message))
            model_fail_service(call, json);
        else
            model_fail_response(call, "an answer without the object `message`");
        return;
    }
    if (cohere_is_text(id)) model_set_extra(call, "id", id);
    answer_add_plan(call, tn_get(message, "tool_plan"));
    for (uint64_t i = 0; tn.value->kind(content) == TN_ARRAY && i < tn.value->count(content); i++) {
        model_end_part(call);
        answer_add_content(call, tn.value->at(content, i));
    }
    for (uint64_t i = 0; tn.value->kind(calls) == TN_ARRAY && i < tn.value->count(calls); i++)
        answer_add_call(call, (int64_t)i, tn.value->at(calls, i));
    citations_add(call, tn_get(message, "citations"));
    answer_add_logprobs(call, tn_get(json, "logprobs"));
    answer_read_usage(call, tn_get(json, "usage"));
    answer_finish(call, json);
}

/* ---- Events ---- */

static void answer_on_message_start(struct model_call *call, tn_value json, tn_value message) {
    (void)message;
    if (cohere_is_text(tn_get(json, "id"))) model_set_extra(call, "id", tn_get(json, "id"));
}

static void answer_on_content_start(struct model_call *call, tn_value json, tn_value message) {
    (void)json;
    model_end_part(call);
    answer_add_content(call, tn_get(message, "content"));
}

static void answer_on_content_delta(struct model_call *call, tn_value json, tn_value message) {
    answer_add_content(call, tn_get(message, "content"));
    answer_add_logprobs(call, tn_get(json, "logprobs"));
}

static void answer_on_content_end(struct model_call *call, tn_value json, tn_value message) {
    (void)json, (void)message;
    model_end_part(call);
}

static void answer_on_plan(struct model_call *call, tn_value json, tn_value message) {
    (void)json;
    answer_add_plan(call, tn_get(message, "tool_plan"));
}

static void answer_on_call(struct model_call *call, tn_value json, tn_value message) {
    answer_add_call(call, tn_get_int(json, "index", 0), tn_get(message, "tool_calls"));
}

static void answer_on_citation(struct model_call *call, tn_value json, tn_value message) {
    (void)json;
    citations_add(call, tn_get(message, "citations"));
}

static void answer_on_message_end(struct model_call *call, tn_value json, tn_value message) {
    tn_value delta = tn_get(json, "delta");
    (void)message;
    answer_read_usage(call, tn_get(delta, "usage"));
    answer_finish(call, delta);
    model_end_stream(call);
}

void cohere_event(struct model_call *call, const char *name, tn_value json) {
    static const struct {
        const char *name;
        void (*take)(struct model_call *call, tn_value json, tn_value message);
    } events[] = {{"content-delta", answer_on_content_delta}, {"tool-call-delta", answer_on_call},
                  {"tool-plan-delta", answer_on_plan},        {"citation-start", answer_on_citation},
                  {"content-start", answer_on_content_start}, {"content-end", answer_on_content_end},
                  {"tool-call-start", answer_on_call},        {"message-start", answer_on_message_start},
                  {"message-end", answer_on_message_end}};
    const char *type = tn_get_text(json, "type", name);
    if (json == NULL) { /* [DONE] */
        model_end_stream(call);
        return;
    }
    if (tn.value->kind(json) != TN_OBJECT) {
        model_fail_response(call, "an event that is %s; expected an object with `type`", tn_kind_name(json));
        return;
    }
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(events[i].name, type) != 0) continue;
        if (model_is_finished(call))
            model_fail_response(call, "%s after message-end", type);
        else
            events[i].take(call, json, tn_get(tn_get(json, "delta"), "message"));
        return;
    }
    if (tn_get(json, "delta") == NULL && cohere_is_text(tn_get(json, "message"))) model_fail_service(call, json);
}

/*
 * answer.c - converts the service's events, or its answer in one piece, to a message.
 *
 * A stream consists of messageStart; for each block an optional start, deltas and a stop; messageStop with the reason;
 * and metadata with the usage. A block without a start is text or reasoning. Any other order is an error, but
 * messageStart may be missing. Blocks of the service's own tools, and blocks and deltas of unknown kinds, are skipped.
 */
#include "bedrock.h"
#include <tenon/base64.h>

static bool answer_has_text(tn_value text) {
    uint64_t length = 0;
    return tn_chars(text, &length) != NULL && length > 0;
}

static struct bedrock_call *answer_state(const struct model_call *call) { return call->provider_data; }

/* Appends to a buffer of the block. Its limit is the same as that of a part. */
static void answer_append(struct model_call *call, struct tn_text_buffer *buffer, const void *bytes, uint64_t length) {
    buffer->limit = TN_ANSWER_TEXT_MAX;
    int32_t status = tn_text_append_n(buffer, bytes, length);
    if (status == TN_LIMIT)
        model_fail_response(call, "a block of more than %d bytes", TN_ANSWER_TEXT_MAX);
    else if (status != TN_OK)
        model_fail(call, "LIMIT", "not enough memory for the answer");
}

/* ---- Usage ---- */

static int64_t usage_or_zero(int64_t count) { return count > 0 ? count : 0; }

/* The service counts the input without what is read from and written to the cache. */
static void answer_read_usage(struct model_call *call, tn_value usage) {
    struct tn_answer_usage sums = TN_ANSWER_USAGE;
    int64_t input = tn_answer_get_count(usage, "inputTokens");
    sums.output = tn_answer_get_count(usage, "outputTokens");
    sums.cached = tn_answer_get_count(usage, "cacheReadInputTokens");
    sums.cache_write = tn_answer_get_count(usage, "cacheWriteInputTokens");
    if (input >= 0) sums.input = input + usage_or_zero(sums.cached) + usage_or_zero(sums.cache_write);
    model_set_usage(call, &sums);
}

/* ---- Blocks ---- */

static void block_clear(struct bedrock_call *state) {
    tn_release(state->citations);
    state->citations = NULL;
    tn_text_free(&state->signature);
    tn_text_free(&state->bytes);
    state->image = NULL;
    state->has_text = state->has_reasoning = false;
    state->block = BLOCK_NONE;
}

static const char *block_image_type(const char *format) {
    static const char *const types[][2] = {
        {"png", "image/png"}, {"jpeg", "image/jpeg"}, {"gif", "image/gif"}, {"webp", "image/webp"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i][0], format) == 0) return types[i][1];
    return "application/octet-stream";
}

static void block_start_tool(struct model_call *call, tn_value tool) {
    struct bedrock_call *state = answer_state(call);
    tn_value id = tn_get(tool, "toolUseId"), name = tn_get(tool, "name");
    state->block = BLOCK_SKIPPED;
    if (bedrock_has_type(tool, "server_tool_use")) return; /* the service calls it itself */
    if (!answer_has_text(id) || !answer_has_text(name)) {
        model_fail_response(call, "a tool call without %s", answer_has_text(id) ? "a name" : "an id");
        return;
    }
    if (bedrock_uses_answer_tool(call) && strcmp(tn_chars(name, NULL), BEDROCK_ANSWER_TOOL) == 0) {
        state->block = BLOCK_ANSWER;
        return;
    }
    state->block = BLOCK_TOOL;
    model_add_tool_call(call, state->index, id, name, NULL);
}

static void block_add_tool_input(struct model_call *call, tn_value piece) {
    struct bedrock_call *state = answer_state(call);
    if (state->block == BLOCK_TOOL)
        model_add_tool_call(call, state->index, NULL, NULL, piece);
    else if (state->block == BLOCK_ANSWER)
        model_add_text(call, piece);
}

static void block_add_signature(struct model_call *call, tn_value signature) {
    uint64_t length = 0;
    const char *text = tn_chars(signature, &length);
    if (text != NULL) answer_append(call, &answer_state(call)->signature, text, length);
}

static void block_add_redacted(struct model_call *call, tn_value data) {
    if (!answer_has_text(data)) return;
    tn_value part = tn_build("{s:s,s:{s:{s:v}}}", "type", "reasoning", "extra", "bedrock", "redacted", data);
    model_add_part(call, part);
    tn_release(part);
}

static void block_add_citation(struct model_call *call, tn_value citation) {
    if (tn.value->kind(citation) == TN_OBJECT)
        (void)tn_append_take(&answer_state(call)->citations, tn_retain(citation));
}

static void block_add_bytes(struct model_call *call, tn_value base64) {
    uint64_t length = 0;
    const char *text = tn_chars(base64, &length);
    if (text == NULL || length == 0) return;
    char *bytes = length <= TN_ANSWER_TEXT_MAX ? tn.core->alloc(tn.host, length) : NULL;
    if (bytes == NULL) {
        model_fail_response(call, "an image of more than %d bytes", TN_ANSWER_TEXT_MAX);
        return;
    }
    answer_append(call, &answer_state(call)->bytes, bytes, tn_base64_take(text, length, bytes, length));
    tn.core->release(tn.host, bytes);
}

static void block_add_text(struct model_call *call, tn_value text) {
    if (!answer_has_text(text)) return;
    answer_state(call)->has_text = true;
    model_add_text(call, text);
}

static void block_add_reasoning(struct model_call *call, tn_value reasoning) {
    tn_value text = tn_get(reasoning, "text");
    if (answer_has_text(text)) {
        answer_state(call)->has_reasoning = true;
        model_add_reasoning(call, text);
    }
    block_add_signature(call, tn_get(reasoning, "signature"));
    block_add_redacted(call, tn_get(reasoning, "redactedContent"));
}

static bool block_has_source(tn_value citations, uint64_t before, tn_value citation) {
    tn_value url = tn_get(tn_get(tn_get(citation, "location"), "web"), "url");
    for (uint64_t i = 0; i < before; i++) {
        tn_value other = tn.value->at(citations, i);
        tn_value other_url = tn_get(tn_get(tn_get(other, "location"), "web"), "url");
        if (url != NULL || other_url != NULL ? url != NULL && tn.value->equal(url, other_url)
                                             : tn.value->equal(tn_get(citation, "title"), tn_get(other, "title")))
            return true;
    }
    return false;
}

/* Adds one `source` part for each address or title of the citations. */
static void block_emit_sources(struct model_call *call, tn_value citations) {
    for (uint64_t i = 0, count = tn.value->count(citations); i < count; i++) {
        tn_value citation = tn.value->at(citations, i), title = tn_get(citation, "title");
        tn_value url = tn_get(tn_get(tn_get(citation, "location"), "web"), "url");
        if ((!answer_has_text(url) && !answer_has_text(title)) || block_has_source(citations, i, citation)) continue;
        tn_builder *builder = tn_builder_new();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "type", "source");
        if (answer_has_text(url)) tn_put(builder, "url", url);
        if (answer_has_text(title)) tn_put(builder, "title", title);
        tn.value->end(builder);
        tn_value part = tn_finish(builder);
        model_add_part(call, part);
        tn_release(part);
    }
}

static void block_emit_image(struct model_call *call) {
    const struct bedrock_call *state = answer_state(call);
    char *text = tn.core->alloc(tn.host, TN_BASE64_SIZE(state->bytes.length) + 1);
    tn_value data = NULL;
    if (text != NULL) {
        const char *end = tn_base64_put(text, tn_text_chars(&state->bytes), state->bytes.length);
        data = tn_text_n(text, (uint64_t)(end - text));
    }
    tn.core->release(tn.host, text);
    tn_value part = tn_build("{s:s,s:s,s:V}", "type", "image", "media_type", state->image, "data", data);
    model_add_part(call, part);
    tn_release(part);
}

static void block_end(struct model_call *call) {
    struct bedrock_call *state = answer_state(call);
    if (state->signature.length > 0) {
        tn_value signature = tn_text_n(tn_text_chars(&state->signature), state->signature.length);
        if (!state->has_reasoning) model_end_part(call);
        if (state->has_reasoning)
            model_set_part_extra(call, "signature", signature);
        else {
            tn_value part =
                tn_build("{s:s,s:{s:{s:v}}}", "type", "reasoning", "extra", "bedrock", "signature", signature);
            model_add_part(call, part);
            tn_release(part);
        }
        tn_release(signature);
    }
    if (state->citations != NULL && state->has_text) model_set_part_extra(call, "citations", state->citations);
    model_end_part(call);
    if (state->citations != NULL) block_emit_sources(call, state->citations);
    if (state->image != NULL && state->bytes.length > 0) block_emit_image(call);
    block_clear(state);
}

static void block_start(struct model_call *call, int64_t index) {
    struct bedrock_call *state = answer_state(call);
    if (state->block != BLOCK_NONE) block_end(call); /* a service that sends no contentBlockStop */
    state->index = index;
    state->block = BLOCK_CONTENT;
}

/* ---- An answer in one piece ---- */

static void answer_add_citations(struct model_call *call, tn_value cited) {
    tn_value content = tn_get(cited, "content"), citations = tn_get(cited, "citations");
    for (uint64_t i = 0, count = tn.value->count(content); i < count; i++)
        block_add_text(call, tn_get(tn.value->at(content, i), "text"));
    for (uint64_t i = 0, count = tn.value->count(citations); i < count; i++)
        block_add_citation(call, tn.value->at(citations, i));
}

static void answer_add_block(struct model_call *call, tn_value block) {
    tn_value tool = tn_get(block, "toolUse"), reasoning = tn_get(block, "reasoningContent"),
             image = tn_get(block, "image");
    if (tool != NULL) {
        tn_value input = tn_get(tool, "input"), text = tn.value->kind(input) > TN_NULL ? tn_to_json(input) : NULL;
        block_start_tool(call, tool);
        block_add_tool_input(call, text);
        tn_release(text);
    } else if (reasoning != NULL) {
        tn_value text = tn_get(reasoning, "reasoningText");
        block_add_reasoning(call, text != NULL ? text : reasoning);
    } else if (tn_get(block, "citationsContent") != NULL) {
        answer_add_citations(call, tn_get(block, "citationsContent"));
    } else if (image != NULL) {
        answer_state(call)->image = block_image_type(tn_get_text(image, "format", ""));
        block_add_bytes(call, tn_get(tn_get(image, "source"), "bytes"));
    } else {
        block_add_text(call, tn_get(block, "text"));
    }
}

/* ---- The end ---- */

static void answer_stop(struct model_call *call, tn_value reason, tn_value fields) {
    static const char *const reasons[][2] = {{"end_turn", "stop"},
                                             {"stop_sequence", "stop"},
                                             {"tool_use", "tool_calls"},
                                             {"max_tokens", "length"},
                                             {"model_context_window_exceeded", "length"},
                                             {"guardrail_intervened", "content_filter"},
                                             {"content_filtered", "content_filter"}};
    struct bedrock_call *state = answer_state(call);
    const char *text = tn.value->kind(reason) == TN_STRING ? tn_chars(reason, NULL) : NULL, *finish = "other";
    if (text == NULL) {
        model_fail_response(call, "an end of the answer without a stopReason");
        return;
    }
    if (strncmp(text, "malformed_", 10) == 0) {
        model_fail_response(call, "the stop reason %.60s: the model's output was malformed", text);
        return;
    }
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i][0], text) == 0) finish = reasons[i][1];
    if (strcmp(text, "end_turn") != 0 && strcmp(text, "tool_use") != 0) model_set_extra(call, "stop_reason", reason);
    if (tn.value->kind(fields) > TN_NULL) model_set_extra(call, "additionalModelResponseFields", fields);
    state->stopped = true;
    model_finish(call, finish);
}

static void answer_read_metadata(struct model_call *call, tn_value json) {
    answer_read_usage(call, tn_get(json, "usage"));
    if (tn.value->kind(tn_get(json, "trace")) == TN_OBJECT) model_set_extra(call, "trace", tn_get(json, "trace"));
}

void bedrock_answer(struct model_call *call, tn_value json) {
    tn_value content = tn_get(tn_get(tn_get(json, "output"), "message"), "content");
    if (tn.value->kind(content) != TN_ARRAY) {
        model_fail_response(call, "an answer without the list `output.message.content`");
        return;
    }
    for (uint64_t i = 0, count = tn.value->count(content); i < count && !call->ended; i++) {
        tn_value block = tn.value->at(content, i);
        if (tn.value->kind(block) != TN_OBJECT) {
            model_fail_response(call, "a block that is %s, not an object", tn_kind_name(block));
            return;
        }
        block_start(call, (int64_t)i);
        answer_add_block(call, block);
        block_end(call);
    }
    answer_read_metadata(call, json);
    answer_stop(call, tn_get(json, "stopReason"), tn_get(json, "additionalModelResponseFields"));
}

/* ---- Events ---- */

static void answer_on_block_start(struct model_call *call, tn_value json) {
    tn_value start = tn_get(json, "start"), image = tn_get(start, "image");
    block_start(call, tn_get_int(json, "contentBlockIndex", 0));
    if (tn_get(start, "toolUse") != NULL)
        block_start_tool(call, tn_get(start, "toolUse"));
    else if (image != NULL)
        answer_state(call)->image = block_image_type(tn_get_text(image, "format", ""));
    else if (tn_get(start, "toolResult") != NULL)
        answer_state(call)->block = BLOCK_SKIPPED;
}

static void answer_on_block_delta(struct model_call *call, tn_value json) {
    struct bedrock_call *state = answer_state(call);
    int64_t index = tn_get_int(json, "contentBlockIndex", 0);
    tn_value delta = tn_get(json, "delta"), tool = tn_get(delta, "toolUse");
    if (state->block == BLOCK_NONE || state->index != index) {
        if (tool != NULL) {
            model_fail_response(call, "a piece of the tool call %lld, which has not started", (long long)index);
            return;
        }
        block_start(call, index);
    }
    if (state->block == BLOCK_SKIPPED) return;
    if (tool != NULL) block_add_tool_input(call, tn_get(tool, "input"));
    if (tn_get(delta, "text") != NULL) block_add_text(call, tn_get(delta, "text"));
    if (tn_get(delta, "reasoningContent") != NULL) block_add_reasoning(call, tn_get(delta, "reasoningContent"));
    block_add_citation(call, tn_get(delta, "citation"));
    if (tn_get(delta, "image") != NULL)
        block_add_bytes(call, tn_get(tn_get(tn_get(delta, "image"), "source"), "bytes"));
}

static void answer_on_block_stop(struct model_call *call, tn_value json) {
    (void)json;
    if (answer_state(call)->block != BLOCK_NONE) block_end(call);
}

static void answer_on_message_stop(struct model_call *call, tn_value json) {
    if (answer_state(call)->block != BLOCK_NONE) block_end(call);
    answer_stop(call, tn_get(json, "stopReason"), tn_get(json, "additionalModelResponseFields"));
}

static void answer_on_message_start(struct model_call *call, tn_value json) {
    (void)json;
    if (answer_state(call)->started) model_fail_response(call, "messageStart in the middle of an answer");
}

static void answer_on_metadata(struct model_call *call, tn_value json) {
    answer_read_metadata(call, json);
    model_end_stream(call);
}

void bedrock_event(struct model_call *call, const char *name, tn_value json) {
    static const struct {
        const char *name;
        bool is_content;
        void (*take)(struct model_call *call, tn_value json);
    } events[] = {
        {"contentBlockStart", true, answer_on_block_start}, {"contentBlockDelta", true, answer_on_block_delta},
        {"contentBlockStop", true, answer_on_block_stop},   {"messageStop", true, answer_on_message_stop},
        {"messageStart", false, answer_on_message_start},   {"metadata", false, answer_on_metadata}};
    struct bedrock_call *state = answer_state(call);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(events[i].name, name) != 0) continue;
        if (events[i].is_content && state->stopped)
            model_fail_response(call, "%s after messageStop", name);
        else
            events[i].take(call, json);
        state->started = true;
        return;
    }
}

/* Fails the call with an exception of the stream. */
static void answer_fail(struct model_call *call, const struct frames_message *message, tn_value json) {
    tn_value text = tn_get(json, "message");
    if (tn.value->kind(text) != TN_STRING) text = tn_get(json, "Message");
    tn_value body =
        tn_build("{s:s,s:v*}", "__type", message->name, "message", tn.value->kind(text) == TN_STRING ? text : NULL);
    model_fail_service(call, body);
    tn_release(body);
}

void bedrock_data(struct model_call *call, const void *bytes, uint64_t length) {
    struct bedrock_call *state = answer_state(call);
    struct frames_message message;
    enum frames_found found = FRAMES_MORE;
    if (!frames_add(&state->frames, bytes, length)) model_fail(call, "LIMIT", "not enough memory for the answer");
    while (!call->ended && (found = frames_next(&state->frames, &message)) == FRAMES_FOUND) {
        tn_value json = message.length > 0 ? tn_from_json(message.payload, message.length) : NULL;
        if (strcmp(message.type, "event") != 0)
            answer_fail(call, &message, json);
        else if (json == NULL)
            model_fail_response(call, "an event %.40s whose payload is not JSON (%llu bytes)", message.name,
                                (unsigned long long)message.length);
        else
            bedrock_event(call, message.name, json);
        tn_release(json);
    }
    if (!call->ended && found == FRAMES_BROKEN) model_fail_response(call, "%s", state->frames.problem);
}

void bedrock_answer_release(struct bedrock_call *state) { block_clear(state); }

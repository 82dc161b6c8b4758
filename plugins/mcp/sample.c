/*
 * sample.c - a server's request for a model: converted to a model's input, and the model's output to its result.
 *
 * A message of the protocol may contain text, tool calls and tool results together. A model's message has the calls
 * beside its content, and each result is a separate message, so one message may become several.
 */
#include "content.h"

/* The content may be one block or a list of blocks; these functions treat both as a list. */
static uint64_t block_count(tn_value content) {
    return tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : content != NULL;
}
static tn_value block_at(tn_value content, uint64_t index) {
    return tn.value->kind(content) == TN_ARRAY ? tn.value->at(content, index) : content;
}
static bool block_is(tn_value block, const char *type) { return value_is(tn_get(block, "type"), type); }

static void put_tool_result(tn_builder *builder, tn_value block) {
    tn_value content = content_from_blocks(tn_get(block, "content"));
    const char *id = tn_get_text(block, "toolUseId", "");
    tn_put_take(builder, NULL, tn_message_tool(content, id, NULL, value_is_true(tn_get(block, "isError"))));
    tn_release(content);
}

static void put_tool_use(tn_builder *builder, tn_value block) {
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put(builder, "id", tn_get(block, "id"));
    tn_put(builder, "name", tn_get(block, "name"));
    tn_put(builder, "arguments", tn_get(block, "input"));
    tn.value->end(builder);
}

/* The results come first: they answer calls of the previous message. */
static void put_sample_message(tn_builder *builder, tn_value message) {
    tn_value content = tn_get(message, "content");
    uint64_t count = block_count(content), calls = 0, parts = 0;
    for (uint64_t i = 0; i < count; i++) {
        tn_value block = block_at(content, i);
        if (block_is(block, "tool_result"))
            put_tool_result(builder, block);
        else if (block_is(block, "tool_use"))
            calls++;
        else
            parts++;
    }
    if (calls + parts == 0) return;
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_text(builder, "type", value_is(tn_get(message, "role"), "assistant") ? "ai" : "user");
    tn_put_begin(builder, "content", TN_ARRAY);
    for (uint64_t i = 0; i < count; i++) {
        tn_value block = block_at(content, i);
        if (!block_is(block, "tool_result") && !block_is(block, "tool_use"))
            tn_put_take(builder, NULL, content_part(block));
    }
    tn.value->end(builder);
    if (calls > 0) tn_put_begin(builder, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0; calls > 0 && i < count; i++)
        if (block_is(block_at(content, i), "tool_use")) put_tool_use(builder, block_at(content, i));
    if (calls > 0) tn.value->end(builder);
    tn.value->end(builder);
}

static void put_sample_options(tn_builder *builder, tn_value params) {
    static const char *const names[][2] = {
        {"maxTokens", "max_tokens"}, {"temperature", "temperature"}, {"stopSequences", "stop"}};
    tn_value choice = value_get_nested(params, "toolChoice", "mode");
    tn_put_begin(builder, "options", TN_OBJECT);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value value = tn_get(params, names[i][0]);
        if (tn.value->kind(value) > TN_NULL) tn_put(builder, names[i][1], value);
    }
    if (choice != NULL) tn_put(builder, "tool_choice", choice);
    tn.value->end(builder);
}

static void put_sample_tools(tn_builder *builder, tn_value tools) {
    if (tn.value->count(tools) == 0) return;
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) {
        tn_value tool = tn.value->at(tools, i), description = tn_get(tool, "description");
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put(builder, "name", tn_get(tool, "name"));
        if (description != NULL) tn_put(builder, "description", description);
        tn_put(builder, "input_schema", tn_get(tool, "inputSchema"));
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

tn_value sample_input(tn_value params, const char **why) {
    tn_value messages = tn_get(params, "messages"), prompt = tn_get(params, "systemPrompt");
    *why = "`messages` must be a list with at least one item";
    if (tn.value->kind(messages) != TN_ARRAY || tn.value->count(messages) == 0) return NULL;
    *why = "`messages` or `tools` does not follow the protocol";
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "messages", TN_ARRAY);
    if (tn_chars(prompt, NULL) != NULL) tn_put_take(builder, NULL, tn_message("system", prompt));
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++)
        put_sample_message(builder, tn.value->at(messages, i));
    tn.value->end(builder);
    put_sample_options(builder, params);
    put_sample_tools(builder, tn_get(params, "tools"));
    tn.value->end(builder);
    return tn_finish(builder);
}

/* ---- The result ---- */

static void put_block(tn_builder *builder, const char *key, const char *type, tn_value part) {
    bool text = strcmp(type, "text") == 0;
    tn_put_begin(builder, key, TN_OBJECT);
    tn_put_text(builder, "type", type);
    if (text) {
        tn_put(builder, "text", tn.value->kind(part) == TN_STRING ? part : tn_get(part, "text"));
    } else {
        tn_put(builder, "data", tn_get(part, "data"));
        tn_put_text(builder, "mimeType", tn_get_text(part, "media_type", "application/octet-stream"));
    }
    tn.value->end(builder);
}

/* Returns the protocol's type of a part, or NULL if it has none. */
static const char *block_type(tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    if (strcmp(type, "text") == 0) return "text";
    bool data = tn_chars(tn_get(part, "data"), NULL) != NULL;
    if (strcmp(type, "image") == 0 && data) return "image";
    return strcmp(type, "audio") == 0 && data ? "audio" : NULL;
}

static void put_content_list(tn_builder *builder, tn_value content, tn_value calls) {
    tn_put_begin(builder, "content", TN_ARRAY);
    if (tn.value->kind(content) == TN_STRING && (*tn_chars(content, NULL) != '\0' || calls == NULL))
        put_block(builder, NULL, "text", content);
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value part = tn.value->at(content, i);
        if (block_type(part) != NULL) put_block(builder, NULL, block_type(part), part);
    }
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i);
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put_text(builder, "type", "tool_use");
        tn_put(builder, "id", tn_get(call, "id"));
        tn_put(builder, "name", tn_get(call, "name"));
        tn_put_take(builder, "input", tn_call_arguments(call));
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static const char *stop_reason(const char *finish_reason) {
    static const char *const words[][2] = {{"stop", "endTurn"}, {"length", "maxTokens"}, {"tool_calls", "toolUse"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(finish_reason, words[i][0]) == 0) return words[i][1];
    return finish_reason;
}

tn_value sample_result(tn_value output, bool list) {
    tn_value message = tn_get(output, "message"), content = tn_get(message, "content");
    tn_value calls = tn_message_calls(message);
    bool one_text = tn.value->kind(content) == TN_STRING && calls == NULL;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "role", "assistant");
    if (list && !one_text) {
        put_content_list(builder, content, calls);
    } else {
        tn_value text = tn_content_text(content);
        put_block(builder, "content", "text", text);
        tn_release(text);
    }
    tn_put_text(builder, "model", tn_get_text(message, "model", "unknown"));
    tn_put_text(builder, "stopReason", stop_reason(tn_get_text(output, "finish_reason", "stop")));
    tn.value->end(builder);
    return tn_finish(builder);
}

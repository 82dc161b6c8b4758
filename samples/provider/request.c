/*
 * request.c - a model's input as a request of the service.
 */
#include "chat.h"

/* ---- Messages ---- */

/* The text of a message. Images, files and audio are refused, instead of being left out silently. */
static tn_value request_text(struct call *call, tn_value content) {
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        const char *type = tn_get_text(tn.value->at(content, i), "type", "");
        if (strcmp(type, "image") != 0 && strcmp(type, "file") != 0 && strcmp(type, "audio") != 0) continue;
        call_fail(call, "UNSUPPORTED", "accepts only text; use another model for images, files and audio");
        break;
    }
    return tn_content_text(content);
}

static void request_put_calls(struct call *call, tn_builder *body, tn_value tool_calls) {
    tn_put_begin(body, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(tool_calls); i < count; i++) {
        tn_value tool_call = tn.value->at(tool_calls, i), arguments = tn_get(tool_call, "arguments");
        const char *name = tn_tool_names_to_service(&call->names, tn_get_text(tool_call, "name", ""));
        /* Arguments that were not JSON stay a text in the message. */
        tn_value text = tn.value->kind(arguments) == TN_STRING ? tn_retain(arguments) : tn_to_json(arguments);
        tn_put_take(body, NULL,
                    tn_build("{s:v, s:s, s:{s:s, s:V}}", "id", tn_get(tool_call, "id"), "type", "function", "function",
                             "name", name, "arguments", text));
    }
    tn.value->end(body);
}

static void request_put_message(struct call *call, tn_builder *body, tn_value message) {
    const char *type = tn_message_type(message);
    bool is_ai = strcmp(type, "ai") == 0;
    if (strcmp(type, "error") == 0) return; /* for people */
    tn_put_begin(body, NULL, TN_OBJECT);
    tn_put_text(body, "role", is_ai ? "assistant" : type);
    tn_put_take(body, "content", request_text(call, tn_get(message, "content")));
    if (strcmp(type, "tool") == 0) tn_put(body, "tool_call_id", tn_get(message, "tool_call_id"));
    if (is_ai && tn_message_calls(message) != NULL) request_put_calls(call, body, tn_message_calls(message));
    tn.value->end(body);
}

static void request_put_messages(struct call *call, tn_builder *body, tn_value messages) {
    bool is_text = tn.value->kind(messages) == TN_STRING;
    tn_put_begin(body, "messages", TN_ARRAY);
    for (uint64_t i = 0, count = is_text ? 1 : tn.value->count(messages); i < count; i++) {
        tn_value message = tn_message_normal(is_text ? messages : tn.value->at(messages, i));
        if (message != NULL)
            request_put_message(call, body, message);
        else
            call_fail(call, "INVALID_REQUEST", "found something in `messages` that is not a message");
        tn_release(message);
    }
    tn.value->end(body);
}

/* ---- Tools and options ---- */

static void request_put_tools(struct call *call, tn_builder *body, tn_value tools) {
    if (tn.value->count(tools) == 0) return;
    tn_put_begin(body, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) {
        tn_value tool = tn.value->at(tools, i);
        const char *name = tn_tool_names_to_service(&call->names, tn_get_text(tool, "name", ""));
        tn_put_take(body, NULL,
                    tn_build("{s:s, s:{s:s, s:v*, s:v*}}", "type", "function", "function", "name", name, "description",
                             tn_get(tool, "description"), "parameters", tn_get(tool, "input_schema")));
    }
    tn.value->end(body);
}

/* An option of this call, or else of the configuration; NULL if neither is set. */
static tn_value request_option(const struct call *call, tn_value input, const char *name) {
    tn_value value = tn_get(tn_get(input, "options"), name);
    if (value == NULL) value = tn_get(call->chat->config, name);
    return tn.value->kind(value) > TN_NULL ? value : NULL;
}

static void request_put_options(struct call *call, tn_builder *body, tn_value input) {
    static const char *const names[] = {"temperature", "top_p", "max_tokens", "stop", "seed", "parallel_tool_calls"};
    static const char *const none[] = {NULL};
    tn_value choice = request_option(call, input, "tool_choice");
    tn_value schema = tn_get(input, "response_schema");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_value value = request_option(call, input, names[i]);
        if (value != NULL) tn_put(body, names[i], value);
    }
    if (tn_get(choice, "name") != NULL) {
        const char *name = tn_tool_names_to_service(&call->names, tn_get_text(choice, "name", ""));
        tn_put_take(body, "tool_choice", tn_build("{s:s, s:{s:s}}", "type", "function", "function", "name", name));
    } else if (choice != NULL)
        tn_put(body, "tool_choice", choice);
    if (tn.value->kind(schema) > TN_NULL)
        tn_put_take(
            body, "response_format",
            tn_build("{s:s, s:{s:s, s:v}}", "type", "json_schema", "json_schema", "name", "answer", "schema", schema));
    tn_put_members(body, tn_get(tn_get(input, "options"), "extra"), none);
}

static tn_value request_body(struct call *call, tn_value input) {
    tn_builder *body = tn_builder_new();
    tn.value->begin(body, TN_OBJECT);
    tn_put(body, "model", tn_get(call->chat->config, "model"));
    tn_put_bool(body, "stream", 1);
    tn_put_take(body, "stream_options", tn_build("{s:b}", "include_usage", 1));
    request_put_messages(call, body, tn_get(input, "messages"));
    request_put_tools(call, body, tn_get(input, "tools"));
    request_put_options(call, body, input);
    tn.value->end(body);
    return tn_finish(body);
}

tn_value request_build(struct call *call, tn_value input) {
    tn_value config = call->chat->config, key = tn_get(config, "api_key");
    struct tn_text_buffer url = TN_TEXT_BUFFER(4096);
    if (tn_get(input, "embed") != NULL) {
        call_fail(call, "UNSUPPORTED", "has no embeddings; use another model");
        return NULL;
    }
    if (tn_tool_names_add(&call->names, tn_get(input, "tools")) != TN_OK)
        call_fail(call, "LIMIT", "cannot process so many tools");
    tn_text_append_format(&url, "%s/chat/completions", tn_get_text(config, "base_url", ""));
    tn_value body = request_body(call, input);
    /* The host inserts the text of the secret: this plugin never has it. */
    tn_value authorization = key != NULL ? tn_build("[s, v]", "Bearer ", key) : NULL;
    tn_value request = tn_build("{s:V, s:s, s:{s:V*}, s:V, s:s, s:{s:I}}", "url", tn_text_finish(&url), "method",
                                "POST", "headers", "authorization", authorization, "json", body, "receive", "events",
                                "timeout", "idle_ms", tn_get_int(config, "idle_ms", 60000));
    if (request == NULL) call_fail(call, "INVALID_REQUEST", "cannot send this request: it cannot be written as JSON");
    if (call->error == NULL) return request;
    tn_release(request);
    return NULL;
}

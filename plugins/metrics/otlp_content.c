/*
 * otlp_content.c - messages of a conversation for gen_ai.input.messages and gen_ai.output.messages: an array of {role,
 * parts: [{type: "text", content} | {type: "tool_call", id, name, arguments} | {type: "tool_call_response", id,
 * response}]}, as JSON in a text. Parts that are no text have only their type.
 */
#include "otlp.h"
#include "serving.h"

static const char *role_of(tn_value message) {
    tn_value type = tn_get(message, "type");
    if (serving_is(type, "ai")) return "assistant";
    if (serving_is(type, "tool")) return "tool";
    return serving_is(type, "system") ? "system" : "user";
}

static void add_text(tn_value *parts, tn_value text) {
    (void)tn_append_take(parts, tn_build("{s:s, s:v}", "type", "text", "content", text));
}

static void add_part(tn_value *parts, tn_value part) {
    tn_value text = tn_get(part, "text");
    if (serving_is(tn_get(part, "type"), "text") && text != NULL)
        add_text(parts, text);
    else
        (void)tn_append_take(parts, tn_build("{s:s}", "type", tn_get_text(part, "type", "unknown")));
}

static tn_value parts_of(tn_value message) {
    tn_value parts = tn_build("[]"), content = tn_get(message, "content"), calls = tn_get(message, "tool_calls");
    if (serving_is(tn_get(message, "type"), "tool"))
        (void)tn_append_take(&parts, tn_build("{s:s, s:s, s:v?}", "type", "tool_call_response", "id",
                                              tn_get_text(message, "tool_call_id", ""), "response", content));
    else if (content != NULL && tn.value->kind(content) == TN_STRING)
        add_text(&parts, content);
    else if (content != NULL && tn.value->kind(content) == TN_ARRAY)
        for (uint64_t i = 0; i < tn.value->count(content); i++) add_part(&parts, tn.value->at(content, i));
    if (calls != NULL && tn.value->kind(calls) == TN_ARRAY)
        for (uint64_t i = 0; i < tn.value->count(calls); i++) {
            tn_value call = tn.value->at(calls, i);
            (void)tn_append_take(&parts, tn_build("{s:s, s:s, s:s, s:v?}", "type", "tool_call", "id",
                                                  tn_get_text(call, "id", ""), "name", tn_get_text(call, "name", ""),
                                                  "arguments", tn_get(call, "arguments")));
        }
    return parts;
}

tn_value otlp_value(tn_value value) {
    uint64_t length = 0;
    tn_value json = tn_to_json(value);
    if (json == NULL || (tn_chars(json, &length) != NULL && length <= OTLP_CONTENT_MAX)) return json;
    tn_release(json);
    return NULL;
}

tn_value otlp_messages(tn_value messages) {
    tn_value list = tn_build("[]");
    if (tn.value->kind(messages) != TN_ARRAY) {
        (void)tn_append_take(
            &list, tn_build("{s:s, s:[{s:s, s:v}]}", "role", "user", "parts", "type", "text", "content", messages));
    } else {
        for (uint64_t i = 0; i < tn.value->count(messages); i++) {
            tn_value message = tn.value->at(messages, i);
            bool text = tn.value->kind(message) == TN_STRING;
            tn_value parts = text ? NULL : parts_of(message);
            if (text) add_text(&parts, message);
            (void)tn_append_take(&list,
                                 tn_build("{s:s, s:V}", "role", text ? "user" : role_of(message), "parts", parts));
        }
    }
    tn_value json = list != NULL ? otlp_value(list) : NULL;
    tn_release(list);
    return json;
}

/*
 * content.c - messages of AG-UI as messages of Tenon (tenon/message.h).
 */
#include "ag_ui.h"
#include <tenon/message.h>

/* {type: "data", value, mimeType} or {type: "url", value, mimeType?}. NULL if it is neither. */
static tn_value source_part(const char *type, tn_value source, const char *name) {
    const char *kind = tn_get_text(source, "type", ""), *value = tn_get_text(source, "value", NULL);
    const char *media = tn_get_text(source, "mimeType", NULL);
    if (value == NULL) return NULL;
    if (strcmp(kind, "url") == 0)
        return tn_build("{s:s, s:s, s:s*, s:s*}", "type", type, "url", value, "media_type", media, "name", name);
    if (strcmp(kind, "data") != 0 || media == NULL) return NULL;
    return tn_build("{s:s, s:s, s:s, s:s*}", "type", type, "data", value, "media_type", media, "name", name);
}

/* The part of before 1.0: {type: "binary", mimeType, data | url, filename?}. */
static tn_value binary_part(tn_value part) {
    const char *media = tn_get_text(part, "mimeType", ""), *name = tn_get_text(part, "filename", NULL);
    const char *type = strncmp(media, "image/", 6) == 0 ? "image" : strncmp(media, "audio/", 6) == 0 ? "audio" : "file";
    const char *data = tn_get_text(part, "data", NULL), *url = tn_get_text(part, "url", NULL);
    if (data == NULL && url == NULL) return NULL;
    return tn_build("{s:s, s:s, s:s*, s:s*, s:s*}", "type", type, "media_type", media, "data", data, "url",
                    data == NULL ? url : NULL, "name", name);
}

static tn_value read_part(tn_value part) {
    static const char *const rows[][2] = {
        {"image", "image"}, {"audio", "audio"}, {"video", "file"}, {"document", "file"}};
    const char *type = tn_get_text(part, "type", ""), *name = tn_get_text(part, "filename", NULL);
    tn_value text = tn_get(part, "text");
    if (strcmp(type, "text") == 0)
        return tn.value->kind(text) == TN_STRING ? tn_build("{s:s, s:v}", "type", "text", "text", text) : NULL;
    if (strcmp(type, "binary") == 0) return binary_part(part);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], type) == 0) return source_part(rows[i][1], tn_get(part, "source"), name);
    return NULL;
}

tn_value ag_content(struct ag_request *request, tn_value content, uint64_t index) {
    tn_value parts = NULL;
    if (tn.value->kind(content) == TN_STRING) return tn_retain(content);
    if (tn.value->kind(content) != TN_ARRAY) {
        (void)ag_request_refuse(request, 400, "`messages[%llu].content` must be a text or an array of parts",
                                (unsigned long long)index);
        return NULL;
    }
    parts = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(content); i < count; i++) {
        tn_value part = tn.value->at(content, i), made = read_part(part);
        if (made != NULL && tn_append_take(&parts, made) == TN_OK) continue;
        (void)ag_request_refuse(
            request, 400,
            "`messages[%llu].content[%llu]` is a part of the type `%.40s`: expected text, image, audio, video or "
            "document with its text, or its source {type: url or data, value, mimeType}",
            (unsigned long long)index, (unsigned long long)i, tn_get_text(part, "type", "(none)"));
        tn_release(parts);
        return NULL;
    }
    return parts;
}

/* The calls of an assistant's message: new; NULL if it has none. */
static tn_value read_calls(tn_value message) {
    tn_value calls = tn_get(message, "toolCalls"), made = NULL;
    for (uint64_t i = 0, count = tn.value->kind(calls) == TN_ARRAY ? tn.value->count(calls) : 0; i < count; i++) {
        tn_value call = tn.value->at(calls, i), function = tn_get(call, "function");
        tn_value arguments = tn_call_arguments(function);
        if (arguments == NULL) arguments = tn_retain(tn_get(function, "arguments")); /* not JSON: it stays a text */
        (void)tn_append_take(&made, tn_build("{s:v, s:v, s:V}", "id", tn_get(call, "id"), "name",
                                             tn_get(function, "name"), "arguments", arguments));
    }
    return made;
}

/* Texts only, because a service could reject reasoning without its signature. */
static tn_value read_assistant(struct ag_request *request, tn_value message, uint64_t index) {
    tn_value given = tn_get(message, "content"), calls = read_calls(message), content, made;
    content = tn.value->kind(given) > TN_NULL ? ag_content(request, given, index) : tn_text("");
    made = content != NULL ? tn_build("{s:s, s:v, s:v, s:v*}", "type", "ai", "id", tn_get(message, "id"), "content",
                                      content, "tool_calls", calls)
                           : NULL;
    tn_release(content);
    tn_release(calls);
    return made;
}

static tn_value read_tool(struct ag_request *request, tn_value message, uint64_t index) {
    const char *call = tn_get_text(message, "toolCallId", NULL), *error = tn_get_text(message, "error", NULL);
    tn_value content;
    if (call == NULL) {
        (void)ag_request_refuse(request, 400, "`messages[%llu]` of the role tool needs `toolCallId`",
                                (unsigned long long)index);
        return NULL;
    }
    content = error != NULL ? tn_text(error) : ag_content(request, tn_get(message, "content"), index);
    tn_value made = content != NULL ? tn_message_tool(content, call, NULL, error != NULL) : NULL;
    tn_release(content);
    return made != NULL ? tn_set_take(made, "id", tn_retain(tn_get(message, "id"))) : NULL;
}

tn_value ag_message(struct ag_request *request, tn_value message, uint64_t index, bool *wrong) {
    const char *role = tn_get_text(message, "role", "");
    tn_value content, made = NULL;
    *wrong = false;
    if (strcmp(role, "reasoning") == 0 || strcmp(role, "activity") == 0) return NULL;
    if (strcmp(role, "assistant") == 0) {
        made = read_assistant(request, message, index);
    } else if (strcmp(role, "tool") == 0) {
        made = read_tool(request, message, index);
    } else {
        content = ag_content(request, tn_get(message, "content"), index);
        if (content != NULL)
            made = tn_build("{s:s, s:v, s:V, s:v*}", "type", role, "id", tn_get(message, "id"), "content", content,
                            "name", tn_get(message, "name"));
    }
    *wrong = made == NULL;
    return made;
}

/*
 * tenon/message.h - messages, and what a model is given and gives: the shapes, and helpers over them for tenon/easy.h.
 *
 * MESSAGE  {type, content, …}; `type` is
 *   "system" "developer" "user"   content; name?
 *   "ai"     content; tool_calls? [{id, name, arguments: any JSON}]; usage?; finish_reason?; model?; name?
 *   "tool"   content; tool_call_id; name?; status? "ok" | "error"
 *   "error"  content: for people, and kept out of what a model is sent
 * each with id? (what the reducer `messages` merges by) and extra? {PROVIDER: anything}: what that provider gave and
 * wants back as it was (thinking signatures, response ids, citations); others leave it alone. `role` is understood for
 * `type`, "human" for user, "assistant" for ai; arguments as JSON text for arguments. tn_message_normal makes it so.
 * CONTENT  a text, or an array of parts:
 *   {type: "text", text}
 *   {type: "image", media_type?, url | data | file_id}    data: base64, or bytes
 *   {type: "file", media_type?, name?, url | data | file_id}
 *   {type: "audio", media_type, data}
 *   {type: "reasoning", text?, extra?}       what a model thought, where its service tells
 *   {type: "refusal", text}                  it declined, and said so
 *   {type: "source", url?, title?, extra?}   what an answer is grounded on
 *
 * A MODEL (tn_component_1 of kind "model") is created with {model, …options}, and started with
 *   {messages, tools?, options?, response_schema?}
 *     tools     [{name, description?, input_schema}]: any name; providers map it to what their service takes, and back
 *     options   {temperature? top_p? max_tokens? stop? [text] seed? tool_choice? "auto" | "none" | "required" | {name},
 *               parallel_tool_calls? reasoning? {effort? "none" "low" "medium" "high", max_tokens?}, modalities?
 *               ["text", "image"], extra? {…}: into the request as it is}; they win over those it was created with
 *     response_schema   a JSON Schema that the content, as JSON, is to fit
 * and completes with {message: an "ai" MESSAGE, usage: USAGE, finish_reason}.
 *   finish_reason  "stop" "length" "tool_calls" "content_filter" "other"
 *   USAGE          {input_tokens, output_tokens, total_tokens, cached_tokens?, cache_write_tokens?, reasoning_tokens?}:
 *                  cached and written are part of the input, reasoning is part of the output
 * Meanwhile it emits DELTAS: {content: text}, {reasoning: text}, {part: a part that is whole},
 *   {tool_call_delta: {index, id?, type_name?, name?, arguments?: a piece of JSON text}}, and at last
 *   {done: {finish_reason, usage}}. Put together they are the message. {reset: {code, …}} begins them anew: what came
 *   before it is void, as where a fallback or a gateway has asked again.
 * {embed: [text], options? {dimensions?}} instead asks for {embeddings: [[number]], usage}.
 * ERRORS  AUTH, RATE_LIMITED (retryable, retry_after_ms where it is told), CONTEXT_LENGTH, INVALID_REQUEST, OVERLOADED
 *   (retryable), INVALID_RESPONSE (retryable), TIMEOUT (retryable), CONNECT (retryable), UNSUPPORTED (this model
 * cannot); detail has {status?, provider, type?, request_id?}: what the service said.
 */
#ifndef TENON_MESSAGE_H
#define TENON_MESSAGE_H

#include <tenon/easy.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* The message's type, in the words above; NULL where it has none that is known. Static. */
static inline const char *tn_message_type(tn_value message) {
    static const char *const words[][2] = {
        {"system", "system"}, {"developer", "developer"}, {"user", "user"}, {"human", "user"},
        {"ai", "ai"},         {"assistant", "ai"},        {"tool", "tool"}, {"error", "error"}};
    const char *given = tn_get_text(message, "type", NULL);
    if (given == NULL) given = tn_get_text(message, "role", NULL);
    for (size_t i = 0; given != NULL && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(given, words[i][0]) == 0) return words[i][1];
    return NULL;
}

static inline int32_t tn_message_is(tn_value message, const char *type) {
    const char *found = tn_message_type(message);
    return found != NULL && strcmp(found, type) == 0;
}

/* A message of a type that needs nothing more. A new reference, like all below that make one. */
static inline tn_value tn_message(const char *type, tn_value content) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", type);
    tn_put(builder, "content", content);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* A tool's answer. `name` may be NULL; `failed`: content says why. */
static inline tn_value tn_message_tool(tn_value content, const char *tool_call_id, const char *name, int32_t failed) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "tool");
    tn_put(builder, "content", content);
    tn_put_text(builder, "tool_call_id", tool_call_id);
    if (name != NULL) tn_put_text(builder, "name", name);
    if (failed) tn_put_text(builder, "status", "error");
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* A part's text and its length; NULL where it is no text part. */
static inline const char *tn_part_text(tn_value part, uint64_t *length) {
    if (strcmp(tn_get_text(part, "type", ""), "text") != 0) return NULL;
    return tn_chars(tn.value->get(part, "text"), length);
}

/* The text of a content: itself, or that of its text parts, joined. NULL without memory. */
static inline tn_value tn_content_text(tn_value content) {
    uint64_t length = 0, count = tn.value->count(content), texts = 0, size = 0;
    tn_value only = NULL, made;
    char *joined, *end;
    if (tn.value->kind(content) == TN_STRING) return tn_retain(content);
    for (uint64_t i = 0; i < count; i++) {
        tn_value part = tn.value->at(content, i);
        if (tn_part_text(part, &size) == NULL) continue;
        only = tn.value->get(part, "text");
        length += size;
        texts++;
    }
    if (texts == 1) return tn_retain(only);
    joined = end = TN_EASY_FROM(char *, tn.core->alloc(tn.host, length + 1));
    if (joined == NULL) return NULL;
    for (uint64_t i = 0; i < count; i++) {
        const char *text = tn_part_text(tn.value->at(content, i), &size);
        if (text == NULL) continue;
        memcpy(end, text, size);
        end += size;
    }
    made = tn_text_n(joined, length);
    tn.core->release(tn.host, joined);
    return made;
}

/* Its tool calls: borrowed, an array that is not empty, or NULL. */
static inline tn_value tn_message_calls(tn_value message) {
    tn_value calls = tn.value->get(message, "tool_calls");
    return tn.value->kind(calls) == TN_ARRAY && tn.value->count(calls) > 0 ? calls : NULL;
}

/* A call's arguments: JSON in a text is read; nothing is {}. NULL where the text is no JSON. */
static inline tn_value tn_call_arguments(tn_value call) {
    tn_value arguments = tn.value->get(call, "arguments"), read = NULL;
    uint64_t length = 0;
    const char *text = tn_chars(arguments, &length);
    if (text == NULL && tn.value->kind(arguments) > TN_NULL) return tn_retain(arguments);
    if (length == 0) text = "{}", length = 2;
    return tn.value->from_json(text, length, &read) == TN_OK ? read : NULL;
}

/* Copies the members of an object, but for those that `skip` names: NULL ends it. */
static inline void tn_put_members(tn_builder *builder, tn_value object, const char *const *skip) {
    for (uint64_t i = 0, count = tn.value->count(object); i < count; i++) {
        tn_value key, value;
        const char *const *name = skip;
        if (tn.value->entry(object, i, &key, &value) != TN_OK) return;
        while (*name != NULL && strcmp(*name, tn_chars(key, NULL)) != 0) name++;
        if (*name == NULL) tn_put(builder, tn_chars(key, NULL), value);
    }
}

/* One call in the form above: also OpenAI's {type: "function", function: {name, arguments}}. NULL: it is none. */
static inline tn_value tn_call_normal(tn_value call) {
    static const char *const plain[] = {"name", "arguments", NULL};
    static const char *const wrapped[] = {"name", "arguments", "function", "type", NULL};
    tn_value function = tn.value->get(call, "function"), from = function != NULL ? function : call;
    tn_value arguments = tn_call_arguments(from);
    tn_builder *builder = tn.value->builder();
    if (arguments == NULL) arguments = tn_retain(tn.value->get(from, "arguments"));
    tn.value->begin(builder, TN_OBJECT);
    tn_put_members(builder, call, function != NULL ? wrapped : plain);
    tn_put(builder, "name", tn.value->get(from, "name"));
    tn_put_take(builder, "arguments", arguments);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* Whether all calls are in the form above. */
static inline int32_t tn_calls_normal(tn_value calls) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i);
        if (tn.value->get(call, "function") != NULL || tn.value->kind(tn.value->get(call, "name")) != TN_STRING ||
            tn.value->kind(tn.value->get(call, "arguments")) != TN_OBJECT)
            return 0;
    }
    return 1;
}

/*
 * The message in the form above. A text alone is a user's. NULL where it is no message: no object or text, no type that
 * is known, content that is neither text, null nor parts. One that is in this form already is given back itself.
 */
static inline tn_value tn_message_normal(tn_value message) {
    static const char *const ours[] = {"type", "role", "content", "tool_calls", NULL};
    const char *type = tn_message_type(message), *given = tn_get_text(message, "type", "");
    tn_value content = tn.value->get(message, "content"), calls = tn_message_calls(message);
    int32_t kind = tn.value->kind(content), whole = kind == TN_STRING || kind == TN_ARRAY;
    tn_builder *builder;
    if (tn.value->kind(message) == TN_STRING) return tn_message("user", message);
    if (type == NULL || (!whole && kind != TN_NULL && kind != TN_NONE)) return NULL;
    if (whole && strcmp(type, given) == 0 && tn_calls_normal(calls)) return tn_retain(message);
    builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", type);
    if (whole)
        tn_put(builder, "content", content);
    else
        tn_put_text(builder, "content", "");
    if (calls != NULL) {
        tn_put_begin(builder, "tool_calls", TN_ARRAY);
        for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
            tn_put_take(builder, NULL, tn_call_normal(tn.value->at(calls, i)));
        tn.value->end(builder);
    }
    tn_put_members(builder, message, ours);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

#if defined(__cplusplus)
}
#endif
#endif

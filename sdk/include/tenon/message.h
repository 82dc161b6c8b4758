/*
 * tenon/message.h - messages, and the input and output of models: their shapes, and helpers for tenon/easy.h. The same
 * shapes are JSON Schemas: share/tenon/schema/component/1/message.schema.json and model.schema.json.
 *
 * MESSAGE  {type, content, …}; `type` is
 *   "system" "developer" "user"   content; name?
 *   "ai"     content; tool_calls? [{id, name, arguments: any JSON}]; usage?; finish_reason?; model?; name?
 *   "tool"   content; tool_call_id; name?; status? "ok" | "error"
 *   "error"  content: shown to people, not sent to models
 * Every message can have id? (the reducer `messages` merges by it) and extra? {PROVIDER: anything}: data that this
 * provider returned and needs back unchanged (thinking signatures, response ids, citations); other providers ignore it.
 * Also understood: `role` for `type`, "human" for user, "assistant" for ai, JSON text for arguments. tn_message_normal
 * converts these.
 * CONTENT  a text, or an array of parts:
 *   {type: "text", text}
 *   {type: "image", media_type?, url | data | file_id}    data: base64, or bytes
 *   {type: "file", media_type?, name?, url | data | file_id}
 *   {type: "audio", media_type, data}
 *   {type: "reasoning", text?, extra?}       the model's reasoning, if its service returns it
 *   {type: "refusal", text}                  the model declined
 *   {type: "source", url?, title?, extra?}   a source of the answer
 *
 * A MODEL (tn_component_1 of kind "model") is created with {model, …options}, and started with
 *   {messages, tools?, options?, response_schema?}
 *     messages  an array of MESSAGEs and texts (a user's), or one of them alone
 *     tools     [{name, description?, input_schema}]: any name; providers map names to what their service accepts
 *     options   {temperature? top_p? max_tokens? stop? [text] seed? tool_choice? "auto" | "none" | "required" | {name},
 *               parallel_tool_calls? reasoning? {effort? "none" "low" "medium" "high", max_tokens?}, modalities?
 *               ["text", "image", "audio"], speech? {voice?, format? "wav" "mp3" …}: without modalities, it asks for
 *               audio; extra? {…}: copied into the request}; they override the options of create
 *     response_schema   a JSON Schema for the content, which is then JSON
 * and completes with {message: an "ai" MESSAGE, usage: USAGE, finish_reason}.
 *   finish_reason  "stop" "length" "tool_calls" "content_filter" "other"
 *   USAGE          {input_tokens, output_tokens, total_tokens, cached_tokens?, cache_write_tokens?, reasoning_tokens?}:
 *                  input includes cached and cache_write, output includes reasoning
 * Before that it emits DELTAS: {content: text}, {reasoning: text}, {part: a complete part},
 *   {tool_call_delta: {index, id?, type_name?, name?, arguments?: a piece of JSON text}}, and finally
 *   {done: {finish_reason, usage}}. Joined, they are the message. {reset: {code, …}} discards all deltas before it, for
 *   example because a fallback or a gateway has repeated the request.
 * With the input {embed: [text], options? {dimensions?, purpose? "query" | "document"}} it completes with {embeddings:
 *   [[number]], usage}. The host splits a long list, and so also takes {batch?: {texts?, bytes?, parallel?}}, which a
 *   model does not see. `maxItems` of `embed` in the manifest's input schema is the most texts of one request; beside
 *   it, `x-tenon-batches: [{if: SCHEMA of the configuration, maxItems}]` lowers it for some models.
 * ERRORS  AUTH, QUOTA (the account has no credit, or its quota is used up for long), NOT_FOUND (of the model, or of
 *   what the request names), RATE_LIMITED (retryable, with retry_after_ms if known), CONTEXT_LENGTH, INVALID_REQUEST,
 *   OVERLOADED (retryable), INVALID_RESPONSE (retryable), TIMEOUT (retryable), CONNECT (retryable), UNSUPPORTED (by
 * this model); detail has {status?, provider, type?, request_id?, field? (of the request), body? (its beginning,
 * without keys), secret? (the name of the secret that was sent as the key, for AUTH)} of the service's response.
 *
 * A limit in tenon.yaml finds a key by {secret: NAME} in `api_key`. If a model has a default secret, the schema of
 * `api_key` in the manifest names it: `x-tenon-secret: NAME`.
 */
#ifndef TENON_MESSAGE_H
#define TENON_MESSAGE_H

#include <tenon/easy.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* The message's type as above; NULL if it is missing or unknown. Static. */
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

/* A message with only type and content. A new reference, as from all functions below that make a value. */
static inline tn_value tn_message(const char *type, tn_value content) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", type);
    tn_put(builder, "content", content);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* The result of a tool. `name` may be NULL. If `failed`, the content is the reason. */
static inline tn_value tn_message_tool(tn_value content, const char *tool_call_id, const char *name, int32_t failed) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "tool");
    tn_put(builder, "content", content);
    tn_put_text(builder, "tool_call_id", tool_call_id);
    if (name != NULL) tn_put_text(builder, "name", name);
    if (failed) tn_put_text(builder, "status", "error");
    tn.value->end(builder);
    return tn_finish(builder);
}

/* A part's text and its length; NULL if it is not a text part. */
static inline const char *tn_part_text(tn_value part, uint64_t *length) {
    if (strcmp(tn_get_text(part, "type", ""), "text") != 0) return NULL;
    return tn_chars(tn_get(part, "text"), length);
}

/* The text of a content: the content itself, or its text parts, joined. NULL if memory runs out. */
static inline tn_value tn_content_text(tn_value content) {
    uint64_t length = 0, count = tn.value->count(content), texts = 0, size = 0;
    tn_value only = NULL, made;
    char *joined, *end;
    if (tn.value->kind(content) == TN_STRING) return tn_retain(content);
    for (uint64_t i = 0; i < count; i++) {
        tn_value part = tn.value->at(content, i);
        if (tn_part_text(part, &size) == NULL) continue;
        only = tn_get(part, "text");
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

/* The message's tool calls: a non-empty array, borrowed; or NULL. */
static inline tn_value tn_message_calls(tn_value message) {
    tn_value calls = tn_get(message, "tool_calls");
    return tn.value->kind(calls) == TN_ARRAY && tn.value->count(calls) > 0 ? calls : NULL;
}

/* A call's arguments. JSON text is parsed; missing arguments are {}. NULL if the text is not JSON. */
static inline tn_value tn_call_arguments(tn_value call) {
    tn_value arguments = tn_get(call, "arguments");
    uint64_t length = 0;
    const char *text = tn_chars(arguments, &length);
    if (text == NULL && tn.value->kind(arguments) > TN_NULL) return tn_retain(arguments);
    return length == 0 ? tn_from_json("{}", 2) : tn_from_json(text, length);
}

/* Copies the members of an object except those in `skip`, an array that NULL ends. */
static inline void tn_put_members(tn_builder *builder, tn_value object, const char *const *skip) {
    for (uint64_t i = 0, count = tn.value->count(object); i < count; i++) {
        tn_value key, value;
        const char *const *name = skip;
        const char *text;
        uint64_t length = 0;
        if (tn.value->entry(object, i, &key, &value) != TN_OK) return;
        text = tn_chars(key, &length);
        while (*name != NULL && !(strlen(*name) == length && memcmp(*name, text, length) == 0)) name++;
        if (*name != NULL) continue;
        tn.value->key(builder, text, length);
        tn.value->add(builder, value);
    }
}

/* Converts one call to the form above, also from OpenAI's {type: "function", function: {name, arguments}}. NULL if it
 * is not a call. */
static inline tn_value tn_call_normal(tn_value call) {
    static const char *const plain[] = {"name", "arguments", NULL};
    static const char *const wrapped[] = {"name", "arguments", "function", "type", NULL};
    tn_value function = tn_get(call, "function"), from = function != NULL ? function : call;
    tn_value arguments = tn_call_arguments(from);
    tn_builder *builder = tn_builder_new();
    if (arguments == NULL) arguments = tn_retain(tn_get(from, "arguments"));
    tn.value->begin(builder, TN_OBJECT);
    tn_put_members(builder, call, function != NULL ? wrapped : plain);
    tn_put(builder, "name", tn_get(from, "name"));
    tn_put_take(builder, "arguments", arguments);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* 1 if all calls have the form above. */
static inline int32_t tn_calls_normal(tn_value calls) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i);
        if (tn_get(call, "function") != NULL || tn.value->kind(tn_get(call, "name")) != TN_STRING ||
            tn.value->kind(tn_get(call, "arguments")) != TN_OBJECT)
            return 0;
    }
    return 1;
}

/*
 * Converts a message to the form above. A text becomes a user's message; a message in that form is returned unchanged.
 * NULL if it is not a message: neither object nor text, of an unknown type, or with content that is not text, null or
 * parts.
 */
static inline tn_value tn_message_normal(tn_value message) {
    static const char *const ours[] = {"type", "role", "content", "tool_calls", NULL};
    const char *type = tn_message_type(message), *given = tn_get_text(message, "type", "");
    tn_value content = tn_get(message, "content"), calls = tn_message_calls(message);
    int32_t kind = tn.value->kind(content), whole = kind == TN_STRING || kind == TN_ARRAY;
    tn_builder *builder;
    if (tn.value->kind(message) == TN_STRING) return tn_message("user", message);
    if (type == NULL || (!whole && kind != TN_NULL && kind != TN_NONE)) return NULL;
    if (whole && strcmp(type, given) == 0 && tn_calls_normal(calls)) return tn_retain(message);
    builder = tn_builder_new();
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
    return tn_finish(builder);
}

#if defined(__cplusplus)
}
#endif
#endif

/*
 * messages.c - converts messages, and the files in them.
 *
 * The service has no files in messages: a file with text becomes one of the request's `documents`, which the answer can
 * cite. A tool's result that is a list of objects, as that of a search, becomes a list of documents, so that a citation
 * is about one of them. Media in a tool's result become a text such as "[image]".
 */
#include "cohere.h"
#include <tenon/base64.h>

/* ---- Documents ---- */

/* True unless the type says that it is not a text; the bytes decide then. */
static bool documents_may_be_text(const char *type) {
    static const char *const others[] = {"application/pdf", "image/", "audio/", "video/"};
    for (size_t i = 0; type != NULL && i < sizeof others / sizeof *others; i++)
        if (strncmp(type, others[i], strlen(others[i])) == 0) return false;
    return true;
}

/* Returns the text of base64, a new reference. NULL if it is not UTF-8, or if the call has failed. */
static tn_value documents_decode(struct model_call *call, tn_value base64) {
    uint64_t length = 0;
    const char *text = tn_chars(base64, &length);
    char *bytes = tn.core->alloc(tn.host, length + 1);
    if (bytes == NULL) {
        model_fail(call, "LIMIT", "not enough memory for a document");
        return NULL;
    }
    tn_value decoded = tn_text_n(bytes, tn_base64_take(text, length, bytes, length));
    tn.core->release(tn.host, bytes);
    return decoded;
}

/* Returns {data: {title?, text}, id?} of a file, a new reference. NULL if the call has failed. */
static tn_value documents_build(struct model_call *call, tn_value part) {
    const char *name = tn_get_text(part, "name", NULL);
    struct model_media media;
    tn_value text = NULL, id = tn_get(model_get_extra(call, part), "id"), document = NULL;
    bool found = model_media_init(&media, part);
    if (!found)
        model_fail_request(call, "a part of type `file` is empty: expected `data` (base64, or bytes)");
    else if (media.data == NULL)
        model_fail(call, "UNSUPPORTED",
                   "a file with a `%s`, but cohere accepts only the text of a file: download it, and use `data`",
                   media.url != NULL ? "url" : "file_id");
    else if (!documents_may_be_text(media.media_type) || (text = documents_decode(call, media.data)) == NULL)
        model_fail(call, "UNSUPPORTED",
                   "a file of media type %.100s, but cohere accepts only files with text in UTF-8: convert it to text "
                   "first",
                   media.media_type != NULL ? media.media_type : "(unknown)");
    if (found) model_media_finish(&media);
    if (text == NULL) return NULL;
    tn_value data = tn_build("{s:s*, s:V}", "title", name, "text", text);
    document = tn_build("{s:v*, s:V}", "id", tn.value->kind(id) == TN_STRING ? id : NULL, "data", data);
    if (document == NULL) model_fail(call, "LIMIT", "not enough memory for a document");
    return document;
}

/* ---- Messages of users ---- */

static void messages_put_text(tn_builder *builder, tn_value text) {
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "text");
    tn_put(builder, "text", text);
    tn.value->end(builder);
}

static void messages_put_image(struct model_call *call, tn_builder *builder, tn_value part) {
    tn_value detail = tn_get(model_get_extra(call, part), "detail");
    struct model_media media;
    bool found = model_media_init(&media, part);
    if (!found || (media.url == NULL && media.data == NULL)) {
        if (found) model_media_finish(&media);
        model_fail_request(call, "an image without `url` and `data`: expected an address, base64 or bytes");
        return;
    }
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "image_url");
    tn_put_begin(builder, "image_url", TN_OBJECT);
    if (media.url != NULL)
        tn_put(builder, "url", media.url);
    else
        tn_put_take(builder, "url", model_media_to_data_url(&media));
    if (tn.value->kind(detail) == TN_STRING) tn_put(builder, "detail", detail);
    tn.value->end(builder);
    tn.value->end(builder);
    model_media_finish(&media);
}

/* Adds the documents of the files. Returns true if the content has an image. */
static bool messages_take_files(struct model_call *call, tn_value content, tn_value *documents) {
    bool has_image = false;
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value part = tn.value->at(content, i);
        has_image |= cohere_has_type(part, "image");
        if (cohere_has_type(part, "file")) {
            tn_value document = documents_build(call, part);
            if (document != NULL) (void)tn_append_take(documents, document);
        } else if (cohere_has_type(part, "audio"))
            model_fail(call, "UNSUPPORTED", "cohere accepts no audio: use another model, or send its text");
    }
    return has_image;
}

/* The service refuses a message without content, as one with only files would be. */
static void messages_put_joined(tn_builder *builder, tn_value content) {
    tn_value text = tn_content_text(content);
    if (!cohere_is_text(text) && tn.value->kind(content) == TN_ARRAY && tn.value->count(content) > 0)
        tn_put_text(builder, "content", "(See the documents.)");
    else
        tn_put(builder, "content", text);
    tn_release(text);
}

static void messages_put_user(struct model_call *call, tn_builder *builder, tn_value content, tn_value *documents) {
    if (!messages_take_files(call, content, documents)) {
        messages_put_joined(builder, content);
        return;
    }
    tn_put_begin(builder, "content", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(content); i < count; i++) {
        tn_value part = tn.value->at(content, i);
        if (cohere_has_type(part, "image"))
            messages_put_image(call, builder, part);
        else if (cohere_has_type(part, "text") && cohere_is_text(tn_get(part, "text")))
            messages_put_text(builder, tn_get(part, "text"));
    }
    tn.value->end(builder);
}

/* ---- Messages of tools ---- */

static void messages_put_document_take(tn_builder *builder, tn_value document) {
    tn_put_take(builder, NULL, tn_build("{s:s, s:V}", "type", "document", "document", document));
}

/* Writes the objects of a JSON list as documents. Returns false if the text is something else. */
static bool messages_put_listed(tn_builder *builder, tn_value text) {
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    tn_value list = chars != NULL && length > 0 && chars[0] == '[' ? tn_from_json(chars, length) : NULL;
    uint64_t count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0, objects = 0;
    for (uint64_t i = 0; i < count; i++) objects += tn.value->kind(tn.value->at(list, i)) == TN_OBJECT;
    bool listed = count > 0 && objects == count;
    if (listed) tn_put_begin(builder, "content", TN_ARRAY);
    for (uint64_t i = 0; listed && i < count; i++)
        messages_put_document_take(builder, tn_build("{s:v}", "data", tn.value->at(list, i)));
    if (listed) tn.value->end(builder);
    tn_release(list);
    return listed;
}

static void messages_put_tool(struct model_call *call, tn_builder *builder, tn_value message) {
    tn_value content = tn_get(message, "content"), id = tn_get(message, "tool_call_id");
    if (!cohere_is_text(id))
        model_fail_request(call, "a message of type tool has no `tool_call_id`: it answers one call of the ai message "
                                 "before it");
    tn_put(builder, "tool_call_id", id);
    if (tn.value->kind(content) != TN_ARRAY) {
        if (!messages_put_listed(builder, content)) tn_put(builder, "content", content);
        return;
    }
    tn_put_begin(builder, "content", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(content); i < count && !call->ended; i++) {
        tn_value part = tn.value->at(content, i);
        char media[64];
        (void)snprintf(media, sizeof media, "[%.20s]", tn_get_text(part, "type", "unknown"));
        if (cohere_has_type(part, "text"))
            messages_put_text(builder, tn_get(part, "text"));
        else if (cohere_has_type(part, "file"))
            messages_put_document_take(builder, documents_build(call, part));
        else {
            tn_value text = tn_text(media);
            messages_put_text(builder, text);
            tn_release(text);
        }
    }
    tn.value->end(builder);
}

/* ---- Messages of models ---- */

static void messages_put_calls(struct model_call *call, tn_builder *builder, tn_value calls) {
    tn_put_begin(builder, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value one = tn.value->at(calls, i);
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "id", tn_get_text(one, "id", ""));
        tn_put_text(builder, "type", "function");
        tn_put_begin(builder, "function", TN_OBJECT);
        tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(one, "name", "")));
        tn_put_take(builder, "arguments", model_arguments_text(one));
        tn.value->end(builder);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

/* True if thoughts are sent back: the service accepts them only while thinking is enabled. */
static bool messages_sends_thoughts(const struct model_call *call) {
    tn_value reasoning = model_get_option(call, "reasoning");
    int32_t wanted = 1;
    (void)tn.value->as_bool(model_get_config(call, "send_reasoning"), &wanted);
    return wanted && strcmp(tn_get_text(reasoning, "effort", ""), "none") != 0 &&
           tn_get_int(reasoning, "max_tokens", -1) != 0;
}

/* Returns the array of the thoughts that the service has sent itself, or NULL. *plan is its plan, borrowed, or NULL. */
static tn_value messages_get_thoughts(struct model_call *call, tn_value message, tn_value *plan) {
    tn_value content = tn_get(message, "content"), thoughts = NULL;
    bool own = model_get_extra(call, message) != NULL && tn.value->kind(content) == TN_ARRAY;
    *plan = NULL;
    for (uint64_t i = 0, count = own ? tn.value->count(content) : 0; i < count; i++) {
        tn_value part = tn.value->at(content, i), text = tn_get(part, "text");
        if (!cohere_has_type(part, "reasoning") || !cohere_is_text(text)) continue;
        if (tn_get(model_get_extra(call, part), "tool_plan") != NULL)
            *plan = text;
        else if (messages_sends_thoughts(call))
            (void)tn_append_take(&thoughts, tn_build("{s:s, s:v}", "type", "thinking", "thinking", text));
    }
    return thoughts;
}

/*
 * The service refuses a text beside calls: it takes either thoughts or a plan. So the text of such a message is sent as
 * its last thought or, if it has none, as its plan.
 */
static void messages_put_assistant(struct model_call *call, tn_builder *builder, tn_value message) {
    tn_value calls = tn_message_calls(message), text = tn_content_text(tn_get(message, "content")), plan;
    tn_value thoughts = messages_get_thoughts(call, message, &plan);
    const char *kind = calls != NULL ? "thinking" : "text";
    if (thoughts != NULL) {
        if (calls != NULL && plan != NULL)
            (void)tn_append_take(&thoughts, tn_build("{s:s, s:v}", "type", kind, kind, plan));
        if (cohere_is_text(text)) (void)tn_append_take(&thoughts, tn_build("{s:s, s:v}", "type", kind, kind, text));
        tn_put(builder, "content", thoughts);
    } else if (calls != NULL && (plan != NULL || cohere_is_text(text)))
        tn_put(builder, "tool_plan", plan != NULL ? plan : text);
    else if (calls == NULL)
        tn_put(builder, "content", text);
    if (calls != NULL) messages_put_calls(call, builder, calls);
    tn_release(thoughts);
    tn_release(text);
}

/* An answer without text and calls is left out: the service refuses it. */
static bool messages_is_empty_answer(tn_value message) {
    if (tn_message_is(message, "ai") == 0 || tn_message_calls(message) != NULL) return false;
    tn_value text = tn_content_text(tn_get(message, "content"));
    bool empty = !cohere_is_text(text);
    tn_release(text);
    return empty;
}

void cohere_put_messages(struct model_call *call, tn_builder *builder, tn_value *documents) {
    for (uint64_t i = 0, count = tn.value->count(call->messages); i < count && !call->ended; i++) {
        tn_value message = tn.value->at(call->messages, i), content = tn_get(message, "content");
        const char *type = tn_message_type(message);
        bool ai = strcmp(type, "ai") == 0, known = ai || strcmp(type, "user") == 0 || strcmp(type, "tool") == 0;
        if (messages_is_empty_answer(message)) continue;
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "role", ai ? "assistant" : known ? type : "system");
        if (ai)
            messages_put_assistant(call, builder, message);
        else if (strcmp(type, "tool") == 0)
            messages_put_tool(call, builder, message);
        else if (known)
            messages_put_user(call, builder, content, documents);
        else
            tn_put_take(builder, "content", tn_content_text(content));
        tn.value->end(builder);
    }
}

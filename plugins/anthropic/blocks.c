/*
 * blocks.c - converts messages to the service's turns, which are lists of blocks.
 *
 * System messages before the first turn become `system`. Then "user" and "assistant" turns alternate: consecutive
 * messages of one side form one turn. In a user's turn the results of tools precede all other blocks, as the service
 * requires. A later system message becomes a text in the user's turn, between <system> tags. With `late_system: system`
 * it becomes a separate message if its position allows this: after a user's turn, and before an assistant's or at the
 * end. Empty texts are not sent, because the service refuses them.
 */
#include "anthropic.h"
#include <tenon/base64.h>

enum side { SIDE_NONE, SIDE_USER, SIDE_ASSISTANT };

struct turns {
    struct model_call *call;
    tn_builder *builder; /* of the request's body */
    enum side side;      /* of the open turn */
    tn_value first;      /* tool_result blocks of the open turn; an array, or NULL */
    tn_value rest;       /* its other blocks; an array, or NULL */
    tn_value late;       /* text blocks of system messages that follow the turn; an array, or NULL */
    uint64_t count;      /* number of turns written */
};

/* ---- Blocks ---- */

static bool blocks_is_blank(tn_value text) {
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    for (uint64_t i = 0; chars != NULL && i < length; i++)
        if (strchr(" \t\r\n", chars[i]) == NULL) return false;
    return true;
}

/* Copies the members of the part's extra.anthropic that apply to the block: cache control, citations, and so on. */
static void blocks_put_extra(const struct model_call *call, tn_builder *builder, tn_value part,
                             const char *const *names) {
    tn_value extra = model_get_extra(call, part);
    for (; *names != NULL; names++) anthropic_put(builder, *names, tn_get(extra, *names));
}

/* Writes the citations without `file_id`, which the service does not accept in a request. */
static void blocks_put_citations(tn_builder *builder, tn_value citations) {
    if (tn.value->kind(citations) != TN_ARRAY) return;
    tn_put_begin(builder, "citations", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(citations); i < count; i++) {
        tn_value key, value, citation = tn.value->at(citations, i);
        tn.value->begin(builder, TN_OBJECT);
        for (uint64_t k = 0; tn.value->entry(citation, k, &key, &value) == TN_OK; k++)
            if (strcmp(tn_chars(key, NULL), "file_id") != 0) tn_put_key(builder, key, value);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static const char *const cacheable[] = {"cache_control", NULL};

/* Returns a text block, or NULL if the text is blank. `part` may be NULL. */
static tn_value blocks_build_text(const struct model_call *call, tn_value text, tn_value part) {
    if (blocks_is_blank(text)) return NULL;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "text");
    tn_put(builder, "text", text);
    blocks_put_citations(builder, tn_get(model_get_extra(call, part), "citations"));
    blocks_put_extra(call, builder, part, cacheable);
    tn.value->end(builder);
    return tn_finish(builder);
}

static void blocks_put_source(tn_builder *builder, const struct model_media *media) {
    tn_put_begin(builder, "source", TN_OBJECT);
    if (media->file_id != NULL) {
        tn_put_text(builder, "type", "file");
        tn_put(builder, "file_id", media->file_id);
    } else if (media->url != NULL) {
        tn_put_text(builder, "type", "url");
        tn_put(builder, "url", media->url);
    } else {
        tn_put_text(builder, "type", "base64");
        tn_put_text(builder, "media_type", media->media_type != NULL ? media->media_type : "");
        tn_put(builder, "data", media->data);
    }
    tn.value->end(builder);
}

static bool blocks_is_text_type(const char *type) {
    static const char *const others[] = {"application/json", "application/xml", "application/yaml"};
    for (size_t i = 0; type != NULL && i < sizeof others / sizeof *others; i++)
        if (strncmp(type, others[i], strlen(others[i])) == 0) return true;
    return type != NULL && strncmp(type, "text/", 5) == 0;
}

/* Returns the text of a text document, which the service accepts directly. NULL if it is not UTF-8. */
static tn_value blocks_decode_text(tn_value data) {
    uint64_t length = 0;
    const char *text = tn_chars(data, &length);
    char *out = tn.core->alloc(tn.host, length + 1);
    if (out == NULL) return NULL;
    tn_value decoded = tn_text_n(out, tn_base64_take(text, length, out, length));
    tn.core->release(tn.host, out);
    return decoded;
}

/* Returns NULL if there is no block; the call may have failed. */
static tn_value blocks_build_document(struct model_call *call, tn_value part, const struct model_media *media) {
    static const char *const names[] = {"cache_control", "citations", "context", NULL};
    bool plain = media->data != NULL && blocks_is_text_type(media->media_type);
    bool known =
        media->data == NULL || (media->media_type != NULL && strcmp(media->media_type, "application/pdf") == 0);
    tn_value text = plain ? blocks_decode_text(media->data) : NULL;
    if (plain ? text == NULL : !known) {
        model_fail(call, "UNSUPPORTED",
                   "a file of type %s: anthropic accepts PDF, and text in UTF-8; convert it, or use a url "
                   "or a file_id",
                   media->media_type != NULL ? media->media_type : "(unknown)");
        return NULL;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "document");
    if (plain) {
        tn_put_begin(builder, "source", TN_OBJECT);
        tn_put_text(builder, "type", "text");
        tn_put_text(builder, "media_type", "text/plain");
        tn_put(builder, "data", text);
        tn.value->end(builder);
    } else {
        blocks_put_source(builder, media);
    }
    anthropic_put(builder, "title", tn_get(part, "name"));
    blocks_put_extra(call, builder, part, names);
    tn.value->end(builder);
    tn_release(text);
    return tn_finish(builder);
}

static tn_value blocks_build_image(struct model_call *call, tn_value part, const struct model_media *media) {
    static const char *const types[] = {"image/jpeg", "image/png", "image/gif", "image/webp"};
    bool known = media->data == NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        known = known || (media->media_type != NULL && strcmp(media->media_type, types[i]) == 0);
    if (!known) {
        model_fail(call, "UNSUPPORTED", "an image of type %s: anthropic accepts JPEG, PNG, GIF and WebP; convert it",
                   media->media_type != NULL ? media->media_type : "(unknown)");
        return NULL;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "image");
    blocks_put_source(builder, media);
    blocks_put_extra(call, builder, part, cacheable);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Returns the block for a part of a user's or a tool's message. NULL if there is nothing to send, or if the call has
 * failed. */
static tn_value blocks_build_user_part(struct model_call *call, tn_value part) {
    bool image = anthropic_has_type(part, "image"), file = anthropic_has_type(part, "file");
    if (anthropic_has_type(part, "text")) return blocks_build_text(call, tn_get(part, "text"), part);
    if (anthropic_has_type(part, "audio")) {
        model_fail(call, "UNSUPPORTED",
                   "a part is audio, which anthropic does not accept: transcribe it, or remove it");
        return NULL;
    }
    if (!image && !file) return NULL;
    struct model_media media;
    tn_value block = NULL;
    if (!model_media_init(&media, part))
        model_fail_request(call, "a part of type %s has neither a `url`, nor `data` in base64, nor a `file_id`",
                           image ? "image" : "file");
    else if (image || (media.media_type != NULL && strncmp(media.media_type, "image/", 6) == 0))
        block = blocks_build_image(call, part, &media);
    else
        block = blocks_build_document(call, part, &media);
    model_media_finish(&media);
    return block;
}

/* ---- Assistant messages ---- */

/* Replaces characters that this service does not accept in ids. A call and its result get the same id. */
static tn_value blocks_replace_id_characters(tn_value id) {
    uint64_t length = 0;
    const char *text = tn_chars(id, &length);
    char *buffer = tn.core->alloc(tn.host, length + 1);
    if (buffer == NULL) return NULL;
    for (uint64_t i = 0; i < length; i++) {
        char c = text[i];
        bool allowed =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        buffer[i] = allowed ? c : '_';
    }
    tn_value value = tn_text_n(buffer, length);
    tn.core->release(tn.host, buffer);
    return value;
}

static tn_value blocks_build_tool_use(struct model_call *call, tn_value tool_call) {
    tn_value extra = model_get_extra(call, tool_call), arguments = tn_get(tool_call, "arguments");
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "tool_use");
    tn_put_take(builder, "id", blocks_replace_id_characters(tn_get(tool_call, "id")));
    tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(tool_call, "name", "")));
    if (tn.value->kind(arguments) == TN_OBJECT) {
        tn_put(builder, "input", arguments);
    } else { /* the service requires an object: send invalid arguments as a member of one */
        tn_put_begin(builder, "input", TN_OBJECT);
        anthropic_put(builder, "invalid_json", arguments);
        tn.value->end(builder);
    }
    anthropic_put(builder, "caller", tn_get(extra, "caller"));
    anthropic_put(builder, "toolset_name", tn_get(extra, "toolset_name"));
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Returns NULL for thinking that has neither a signature nor redacted data, because the service refuses it. */
static tn_value blocks_build_thinking(const struct model_call *call, tn_value part) {
    tn_value extra = model_get_extra(call, part), signature = tn_get(extra, "signature");
    tn_value redacted = tn_get(extra, "redacted"), text = tn_get(part, "text");
    if (signature == NULL && redacted == NULL) return NULL;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", redacted != NULL ? "redacted_thinking" : "thinking");
    if (redacted != NULL) {
        tn_put(builder, "data", redacted);
    } else {
        tn_put_take(builder, "thinking", text != NULL ? tn_retain(text) : tn_text(""));
        tn_put(builder, "signature", signature);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

/* The service accepts no media in assistant messages: media of another model is replaced by the text "[image]", … */
static tn_value blocks_build_assistant_part(const struct model_call *call, tn_value part) {
    if (tn.value->kind(part) == TN_STRING) return blocks_build_text(call, part, NULL);
    if (anthropic_has_type(part, "text")) return blocks_build_text(call, tn_get(part, "text"), part);
    if (anthropic_has_type(part, "reasoning")) return blocks_build_thinking(call, part);
    if (!anthropic_has_type(part, "image") && !anthropic_has_type(part, "file") && !anthropic_has_type(part, "audio"))
        return NULL;
    char text[64];
    (void)snprintf(text, sizeof text, "[%.20s]", tn_get_text(part, "type", ""));
    tn_value text_value = tn_text(text), block = blocks_build_text(call, text_value, NULL);
    tn_release(text_value);
    return block;
}

static tn_value blocks_get_part(tn_value content, uint64_t index) {
    if (tn.value->kind(content) == TN_STRING) return index == 0 ? content : NULL;
    return tn.value->at(content, index);
}

static tn_value blocks_lookup_call_by_id(tn_value calls, tn_value id) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        if (tn.value->equal(tn_get(tn.value->at(calls, i), "id"), id)) return tn.value->at(calls, i);
    return NULL;
}

/* Adds the blocks in their original order. Returns false, and adds nothing, if the message was edited. */
static bool turns_add_in_order(struct turns *turns, tn_value message) {
    struct model_call *call = turns->call;
    tn_value blocks = tn_get(model_get_extra(call, message), "blocks"), list = tn_get(blocks, "list");
    tn_value content = tn_get(message, "content"), calls = tn_message_calls(message);
    uint64_t parts = tn.value->count(content), length = 0;
    if (tn_chars(content, &length) != NULL) parts = length > 0 ? 1 : 0; /* a text is one part */
    int64_t left = (int64_t)tn.value->count(calls);
    if (tn.value->kind(list) != TN_ARRAY || tn_get_int(blocks, "parts", -1) != (int64_t)parts) return false;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++)
        if (blocks_lookup_call_by_id(calls, tn_get(tn.value->at(list, i), "call")) != NULL) left--;
    if (left != 0) return false;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value item = tn.value->at(list, i), tool_call = blocks_lookup_call_by_id(calls, tn_get(item, "call"));
        int64_t part = tn_get_int(item, "part", -1);
        if (tool_call != NULL)
            (void)tn_append_take(&turns->rest, blocks_build_tool_use(call, tool_call));
        else if (part >= 0)
            (void)tn_append_take(&turns->rest,
                                 blocks_build_assistant_part(call, blocks_get_part(content, (uint64_t)part)));
        else if (tn_get(item, "type") != NULL)
            (void)tn_append_take(&turns->rest, tn_retain(item));
    }
    return true;
}

static void turns_add_assistant(struct turns *turns, tn_value message) {
    tn_value content = tn_get(message, "content"), calls = tn_message_calls(message);
    if (turns_add_in_order(turns, message)) return;
    uint64_t parts = tn.value->kind(content) == TN_STRING ? 1 : tn.value->count(content);
    for (uint64_t i = 0; i < parts; i++)
        (void)tn_append_take(&turns->rest, blocks_build_assistant_part(turns->call, blocks_get_part(content, i)));
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        (void)tn_append_take(&turns->rest, blocks_build_tool_use(turns->call, tn.value->at(calls, i)));
}

/* ---- User messages ---- */

static void turns_add_user(struct turns *turns, tn_value message) {
    tn_value content = tn_get(message, "content");
    if (tn.value->kind(content) == TN_STRING)
        (void)tn_append_take(&turns->rest, blocks_build_text(turns->call, content, message));
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        (void)tn_append_take(&turns->rest, blocks_build_user_part(turns->call, tn.value->at(content, i)));
}

static void turns_add_result(struct turns *turns, tn_value message) {
    tn_value content = tn_get(message, "content"), id = tn_get(message, "tool_call_id"), blocks = NULL;
    if (tn.value->kind(id) != TN_STRING) {
        model_fail_request(turns->call,
                           "a message of type tool has no `tool_call_id`: it answers one call of the ai message "
                           "before it");
        return;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "tool_result");
    tn_put_take(builder, "tool_use_id", blocks_replace_id_characters(id));
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        (void)tn_append_take(&blocks, blocks_build_user_part(turns->call, tn.value->at(content, i)));
    if (tn.value->kind(content) == TN_STRING && !blocks_is_blank(content)) tn_put(builder, "content", content);
    if (blocks != NULL) tn_put_take(builder, "content", blocks);
    if (strcmp(tn_get_text(message, "status", "ok"), "error") == 0) tn_put_bool(builder, "is_error", 1);
    blocks_put_extra(turns->call, builder, message, cacheable);
    tn.value->end(builder);
    (void)tn_append_take(&turns->first, tn_finish(builder));
}

/* ---- Turns ---- */

/* Writes the texts in `late` as a separate system message. */
static void turns_put_late(struct turns *turns) {
    if (turns->late == NULL) return;
    tn.value->begin(turns->builder, TN_OBJECT);
    tn_put_text(turns->builder, "role", "system");
    tn_put(turns->builder, "content", turns->late);
    tn.value->end(turns->builder);
    tn_release(turns->late);
    turns->late = NULL;
}

static void turns_end_turn(struct turns *turns) {
    bool has_blocks = turns->first != NULL || turns->rest != NULL;
    if (has_blocks) {
        turns->count++;
        tn.value->begin(turns->builder, TN_OBJECT);
        tn_put_text(turns->builder, "role", turns->side == SIDE_USER ? "user" : "assistant");
        tn_put_begin(turns->builder, "content", TN_ARRAY);
        const tn_value lists[] = {turns->first, turns->rest};
        for (size_t k = 0; k < 2; k++)
            for (uint64_t i = 0, count = tn.value->count(lists[k]); i < count; i++)
                tn_put(turns->builder, NULL, tn.value->at(lists[k], i));
        tn.value->end(turns->builder);
        tn.value->end(turns->builder);
    }
    tn_release(turns->first);
    tn_release(turns->rest);
    turns->first = turns->rest = NULL;
}

/* The user's turn continues: moves the texts in `late` into it, between <system> tags. */
static void turns_append_late(struct turns *turns) {
    for (uint64_t i = 0, count = tn.value->count(turns->late); i < count; i++) {
        tn_value block = tn.value->at(turns->late, i), tagged = model_late_system_text(tn_get(block, "text"));
        (void)tn_append_take(&turns->rest, blocks_build_text(turns->call, tagged, NULL));
        tn_release(tagged);
    }
    tn_release(turns->late);
    turns->late = NULL;
}

/* Ends the open turn if the next message is of the other side. */
static void turns_change_side(struct turns *turns, enum side side) {
    if (turns->side == side) {
        turns_append_late(turns);
        return;
    }
    turns_end_turn(turns);
    turns_put_late(turns);
    turns->side = side;
}

static void turns_add_system(struct turns *turns, tn_value message) {
    tn_value mode = model_get_config(turns->call, "late_system");
    tn_value text = tn_content_text(tn_get(message, "content"));
    bool separate = mode != NULL && strcmp(tn_chars(mode, NULL), "system") == 0 && turns->side == SIDE_USER &&
                    (turns->first != NULL || turns->rest != NULL);
    if (!blocks_is_blank(text)) {
        if (!separate) {
            tn_value tagged = model_late_system_text(text);
            turns_change_side(turns, SIDE_USER);
            (void)tn_append_take(&turns->rest, blocks_build_text(turns->call, tagged, message));
            tn_release(tagged);
        } else {
            (void)tn_append_take(&turns->late, blocks_build_text(turns->call, text, message));
        }
    }
    tn_release(text);
}

static bool blocks_is_system(tn_value message) {
    return tn_message_is(message, "system") || tn_message_is(message, "developer");
}

/* Writes the leading system messages as `system` and returns their number. The last message is never one of them,
 * because the service requires at least one message. */
static uint64_t blocks_put_system(const struct model_call *call, tn_builder *builder) {
    uint64_t count = 0;
    tn_value blocks = NULL;
    uint64_t total = tn.value->count(call->messages);
    for (; count + 1 < total && blocks_is_system(tn.value->at(call->messages, count)); count++) {
        tn_value message = tn.value->at(call->messages, count), content = tn_get(message, "content");
        if (tn.value->kind(content) == TN_STRING)
            (void)tn_append_take(&blocks, blocks_build_text(call, content, message));
        for (uint64_t i = 0; tn.value->kind(content) == TN_ARRAY && i < tn.value->count(content); i++) {
            tn_value part = tn.value->at(content, i);
            if (anthropic_has_type(part, "text"))
                (void)tn_append_take(&blocks, blocks_build_text(call, tn_get(part, "text"), part));
        }
    }
    if (blocks != NULL) tn_put_take(builder, "system", blocks);
    return count;
}

void anthropic_put_messages(struct model_call *call, tn_builder *builder) {
    struct turns turns = {.call = call, .builder = builder};
    uint64_t first = blocks_put_system(call, builder), count = tn.value->count(call->messages);
    tn_put_begin(builder, "messages", TN_ARRAY);
    for (uint64_t i = first; i < count; i++) {
        tn_value message = tn.value->at(call->messages, i);
        if (blocks_is_system(message)) {
            turns_add_system(&turns, message);
        } else if (tn_message_is(message, "ai")) {
            turns_change_side(&turns, SIDE_ASSISTANT);
            turns_add_assistant(&turns, message);
        } else {
            turns_change_side(&turns, SIDE_USER);
            if (tn_message_is(message, "tool"))
                turns_add_result(&turns, message);
            else
                turns_add_user(&turns, message);
        }
    }
    turns_end_turn(&turns);
    turns_put_late(&turns);
    tn.value->end(builder);
    if (turns.count == 0)
        model_fail_request(call, "the messages contain nothing to answer: expected at least a user's text");
}

/*
 * blocks.c - our messages as the service's turns of blocks.
 *
 * What stands before the first turn is `system`. Then turns of "user" and "assistant" take turns: messages of one side
 * that follow each other are one turn, and of a user's turn the results of tools come first, as the service demands. A
 * system message further on is a text in the user's turn, between <system> tags, or, with `late_system: system`, one of
 * its own where it may stand: after a user's turn, and before an assistant's or at the end. Nothing is sent that is
 * empty: the service refuses empty texts.
 */
#include "anthropic.h"
#include <tenon/base64.h>

enum side { SIDE_NONE, SIDE_USER, SIDE_ASSISTANT };

struct turns {
    struct model_call *call;
    tn_builder *builder; /* of the body */
    enum side side;      /* of the open turn */
    tn_value first;      /* its blocks: the results of tools; arrays, or NULL */
    tn_value rest;
    tn_value late;  /* texts of system messages behind it */
    uint64_t count; /* turns that were put */
};

/* ---- Blocks ---- */

static void add_take(tn_value *list, tn_value block) {
    if (block == NULL) return;
    if (*list == NULL) {
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_ARRAY);
        tn.value->end(builder);
        *list = tn.value->finish(builder);
    }
    tn_value longer = tn.value->append(*list, block);
    tn_release(*list);
    tn_release(block);
    *list = longer;
}

static bool is_blank(tn_value text) {
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    for (uint64_t i = 0; chars != NULL && i < length; i++)
        if (strchr(" \t\r\n", chars[i]) == NULL) return false;
    return true;
}

/* What the part's extra.anthropic says about the block: where a cache may end, whether to cite, and so on. */
static void put_extra(const struct model_call *call, tn_builder *builder, tn_value part, const char *const *names) {
    tn_value extra = model_extra_of(call, part);
    for (; *names != NULL; names++) anthropic_put(builder, *names, tn.value->get(extra, *names));
}

/* What a citation has that the service does not take back. */
static void put_citations(tn_builder *builder, tn_value citations) {
    if (tn.value->kind(citations) != TN_ARRAY) return;
    tn_put_begin(builder, "citations", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(citations); i < count; i++) {
        tn_value key, value, citation = tn.value->at(citations, i);
        tn.value->begin(builder, TN_OBJECT);
        for (uint64_t k = 0; tn.value->entry(citation, k, &key, &value) == TN_OK; k++)
            if (strcmp(tn_chars(key, NULL), "file_id") != 0) tn_put(builder, tn_chars(key, NULL), value);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static const char *const cacheable[] = {"cache_control", NULL};

/* A text; `part` may be NULL. NULL where it is blank. */
static tn_value text_block(const struct model_call *call, tn_value text, tn_value part) {
    if (is_blank(text)) return NULL;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "text");
    tn_put(builder, "text", text);
    put_citations(builder, tn.value->get(model_extra_of(call, part), "citations"));
    put_extra(call, builder, part, cacheable);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static void put_source(tn_builder *builder, const struct model_media *media) {
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

static bool is_text_type(const char *type) {
    static const char *const others[] = {"application/json", "application/xml", "application/yaml"};
    for (size_t i = 0; type != NULL && i < sizeof others / sizeof *others; i++)
        if (strncmp(type, others[i], strlen(others[i])) == 0) return true;
    return type != NULL && strncmp(type, "text/", 5) == 0;
}

/* The text of a document that is one: the service takes that as it is. NULL where it is no UTF-8. */
static tn_value text_of_base64(tn_value data) {
    uint64_t length = 0;
    const char *text = tn_chars(data, &length);
    char *out = tn.core->alloc(tn.host, length + 1);
    if (out == NULL) return NULL;
    tn_value made = tn_text_n(out, tn_base64_take(text, length, out, length));
    tn.core->release(tn.host, out);
    return made;
}

/* NULL, and the call may have been failed. */
static tn_value document_block(struct model_call *call, tn_value part, const struct model_media *media) {
    static const char *const names[] = {"cache_control", "citations", "context", NULL};
    bool plain = media->data != NULL && is_text_type(media->media_type);
    bool known =
        media->data == NULL || (media->media_type != NULL && strcmp(media->media_type, "application/pdf") == 0);
    tn_value text = plain ? text_of_base64(media->data) : NULL;
    if (plain ? text == NULL : !known) {
        model_fail(
            call, "UNSUPPORTED",
            "a file of type %s: anthropic takes PDF, and text in UTF-8; turn it into one of these, or give a url "
            "or a file_id",
            media->media_type != NULL ? media->media_type : "that is not said");
        return NULL;
    }
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "document");
    if (plain) {
        tn_put_begin(builder, "source", TN_OBJECT);
        tn_put_text(builder, "type", "text");
        tn_put_text(builder, "media_type", "text/plain");
        tn_put(builder, "data", text);
        tn.value->end(builder);
    } else {
        put_source(builder, media);
    }
    anthropic_put(builder, "title", tn.value->get(part, "name"));
    put_extra(call, builder, part, names);
    tn.value->end(builder);
    tn_release(text);
    return tn.value->finish(builder);
}

static tn_value image_block(struct model_call *call, tn_value part, const struct model_media *media) {
    static const char *const types[] = {"image/jpeg", "image/png", "image/gif", "image/webp"};
    bool known = media->data == NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        known = known || (media->media_type != NULL && strcmp(media->media_type, types[i]) == 0);
    if (!known) {
        model_fail(call, "UNSUPPORTED", "an image of type %s: anthropic takes JPEG, PNG, GIF and WebP; convert it",
                   media->media_type != NULL ? media->media_type : "that is neither said nor seen");
        return NULL;
    }
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "image");
    put_source(builder, media);
    put_extra(call, builder, part, cacheable);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* A part of a user's, or a tool's, message; NULL where it is nothing to send, or the call has been failed. */
static tn_value given_block(struct model_call *call, tn_value part) {
    bool image = anthropic_is(part, "image"), file = anthropic_is(part, "file");
    if (anthropic_is(part, "text")) return text_block(call, tn.value->get(part, "text"), part);
    if (anthropic_is(part, "audio")) {
        model_fail(call, "UNSUPPORTED",
                   "a part is audio, which anthropic does not take: transcribe it, or leave it out");
        return NULL;
    }
    if (!image && !file) return NULL;
    struct model_media media;
    tn_value block = NULL;
    if (!model_media_init(&media, part))
        model_refuse(call, "a part of type %s has neither a `url`, nor `data` in base64, nor a `file_id`",
                     image ? "image" : "file");
    else if (image || (media.media_type != NULL && strncmp(media.media_type, "image/", 6) == 0))
        block = image_block(call, part, &media);
    else
        block = document_block(call, part, &media);
    model_media_finish(&media);
    return block;
}

/* ---- An assistant's ---- */

/* Ids of other services may have characters that this one refuses: the call's and the result's alike. */
static tn_value id_value(tn_value id) {
    uint64_t length = 0;
    const char *text = tn_chars(id, &length);
    char *made = tn.core->alloc(tn.host, length + 1);
    if (made == NULL) return NULL;
    for (uint64_t i = 0; i < length; i++) {
        char c = text[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        made[i] = good ? c : '_';
    }
    tn_value value = tn_text_n(made, length);
    tn.core->release(tn.host, made);
    return value;
}

static tn_value call_block(struct model_call *call, tn_value tool_call) {
    tn_value extra = model_extra_of(call, tool_call), arguments = tn.value->get(tool_call, "arguments");
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "tool_use");
    tn_put_take(builder, "id", id_value(tn.value->get(tool_call, "id")));
    tn_put_text(builder, "name", model_tool_name(call, tn_get_text(tool_call, "name", "")));
    if (tn.value->kind(arguments) == TN_OBJECT) {
        tn_put(builder, "input", arguments);
    } else { /* an object it has to be: what the model wrote badly is shown to it as that */
        tn_put_begin(builder, "input", TN_OBJECT);
        anthropic_put(builder, "invalid_json", arguments);
        tn.value->end(builder);
    }
    anthropic_put(builder, "caller", tn.value->get(extra, "caller"));
    anthropic_put(builder, "toolset_name", tn.value->get(extra, "toolset_name"));
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* Thinking only with the signature that it came with: nobody else's is taken. */
static tn_value thinking_block(const struct model_call *call, tn_value part) {
    tn_value extra = model_extra_of(call, part), signature = tn.value->get(extra, "signature");
    tn_value hidden = tn.value->get(extra, "redacted"), text = tn.value->get(part, "text");
    if (signature == NULL && hidden == NULL) return NULL;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", hidden != NULL ? "redacted_thinking" : "thinking");
    if (hidden != NULL) {
        tn_put(builder, "data", hidden);
    } else {
        tn_put_take(builder, "thinking", text != NULL ? tn_retain(text) : tn_text(""));
        tn_put(builder, "signature", signature);
    }
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* What another model has shown is told to be there: the service takes no images from its own side. */
static tn_value said_block(const struct model_call *call, tn_value part) {
    if (tn.value->kind(part) == TN_STRING) return text_block(call, part, NULL);
    if (anthropic_is(part, "text")) return text_block(call, tn.value->get(part, "text"), part);
    if (anthropic_is(part, "reasoning")) return thinking_block(call, part);
    if (!anthropic_is(part, "image") && !anthropic_is(part, "file") && !anthropic_is(part, "audio")) return NULL;
    char text[64];
    (void)snprintf(text, sizeof text, "[%.20s]", tn_get_text(part, "type", ""));
    tn_value said = tn_text(text), block = text_block(call, said, NULL);
    tn_release(said);
    return block;
}

static tn_value part_at(tn_value content, uint64_t index) {
    if (tn.value->kind(content) == TN_STRING) return index == 0 ? content : NULL;
    return tn.value->at(content, index);
}

static tn_value call_of(tn_value calls, tn_value id) {
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        if (tn.value->equal(tn.value->get(tn.value->at(calls, i), "id"), id)) return tn.value->at(calls, i);
    return NULL;
}

/* By the order that it came in; false where the message is no longer what it was. */
static bool add_in_order(struct turns *turns, tn_value message) {
    struct model_call *call = turns->call;
    tn_value blocks = tn.value->get(model_extra_of(call, message), "blocks"), list = tn.value->get(blocks, "list");
    tn_value content = tn.value->get(message, "content"), calls = tn_message_calls(message);
    uint64_t parts = tn.value->count(content), length = 0;
    if (tn_chars(content, &length) != NULL) parts = length > 0 ? 1 : 0; /* one part that is a text stands for itself */
    int64_t left = (int64_t)tn.value->count(calls);
    if (tn.value->kind(list) != TN_ARRAY || tn_get_int(blocks, "parts", -1) != (int64_t)parts) return false;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++)
        if (call_of(calls, tn.value->get(tn.value->at(list, i), "call")) != NULL) left--;
    if (left != 0) return false;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value item = tn.value->at(list, i), tool_call = call_of(calls, tn.value->get(item, "call"));
        int64_t part = tn_get_int(item, "part", -1);
        if (tool_call != NULL)
            add_take(&turns->rest, call_block(call, tool_call));
        else if (part >= 0)
            add_take(&turns->rest, said_block(call, part_at(content, (uint64_t)part)));
        else if (tn.value->get(item, "type") != NULL)
            add_take(&turns->rest, tn_retain(item));
    }
    return true;
}

static void add_said(struct turns *turns, tn_value message) {
    tn_value content = tn.value->get(message, "content"), calls = tn_message_calls(message);
    if (add_in_order(turns, message)) return;
    uint64_t parts = tn.value->kind(content) == TN_STRING ? 1 : tn.value->count(content);
    for (uint64_t i = 0; i < parts; i++) add_take(&turns->rest, said_block(turns->call, part_at(content, i)));
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        add_take(&turns->rest, call_block(turns->call, tn.value->at(calls, i)));
}

/* ---- A user's ---- */

static void add_given(struct turns *turns, tn_value message) {
    tn_value content = tn.value->get(message, "content");
    if (tn.value->kind(content) == TN_STRING) add_take(&turns->rest, text_block(turns->call, content, message));
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        add_take(&turns->rest, given_block(turns->call, tn.value->at(content, i)));
}

static void add_result(struct turns *turns, tn_value message) {
    tn_value content = tn.value->get(message, "content"), id = tn.value->get(message, "tool_call_id"), blocks = NULL;
    if (tn.value->kind(id) != TN_STRING) {
        model_refuse(turns->call, "a message of type tool has no `tool_call_id`: it answers one call of the ai message "
                                  "before it");
        return;
    }
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "tool_result");
    tn_put_take(builder, "tool_use_id", id_value(id));
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        add_take(&blocks, given_block(turns->call, tn.value->at(content, i)));
    if (tn.value->kind(content) == TN_STRING && !is_blank(content)) tn_put(builder, "content", content);
    if (blocks != NULL) tn_put_take(builder, "content", blocks);
    if (strcmp(tn_get_text(message, "status", "ok"), "error") == 0) tn_put_bool(builder, "is_error", 1);
    put_extra(turns->call, builder, message, cacheable);
    tn.value->end(builder);
    add_take(&turns->first, tn.value->finish(builder));
}

/* ---- Turns ---- */

/* One late system message, as a message of its own. */
static void put_late(struct turns *turns) {
    if (turns->late == NULL) return;
    tn.value->begin(turns->builder, TN_OBJECT);
    tn_put_text(turns->builder, "role", "system");
    tn_put(turns->builder, "content", turns->late);
    tn.value->end(turns->builder);
    tn_release(turns->late);
    turns->late = NULL;
}

static void end_turn(struct turns *turns) {
    bool some = turns->first != NULL || turns->rest != NULL;
    if (some) {
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

/* "<system>\n…\n</system>", for a user's turn. */
static tn_value marked(tn_value text) {
    static const char before[] = "<system>\n", after[] = "\n</system>";
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    char *made = tn.core->alloc(tn.host, length + sizeof before + sizeof after);
    if (made == NULL) return NULL;
    memcpy(made, before, sizeof before - 1);
    memcpy(made + sizeof before - 1, chars, length);
    memcpy(made + sizeof before - 1 + length, after, sizeof after - 1);
    tn_value value = tn_text_n(made, length + sizeof before + sizeof after - 2);
    tn.core->release(tn.host, made);
    return value;
}

/* More of a user's turn comes: what was to follow it has to be in it. */
static void fold_late(struct turns *turns) {
    for (uint64_t i = 0, count = tn.value->count(turns->late); i < count; i++) {
        tn_value block = tn.value->at(turns->late, i), said = marked(tn.value->get(block, "text"));
        add_take(&turns->rest, text_block(turns->call, said, NULL));
        tn_release(said);
    }
    tn_release(turns->late);
    turns->late = NULL;
}

/* The side that the next message is on. Turns that turn out empty leave no trace: the one before them goes on. */
static void take_side(struct turns *turns, enum side side) {
    if (turns->side == side) {
        fold_late(turns);
        return;
    }
    end_turn(turns);
    put_late(turns);
    turns->side = side;
}

static void add_system(struct turns *turns, tn_value message) {
    tn_value how = model_config(turns->call, "late_system");
    tn_value text = tn_content_text(tn.value->get(message, "content"));
    bool own = how != NULL && strcmp(tn_chars(how, NULL), "system") == 0 && turns->side == SIDE_USER &&
               (turns->first != NULL || turns->rest != NULL);
    if (!is_blank(text)) {
        if (!own) {
            tn_value said = marked(text);
            take_side(turns, SIDE_USER);
            add_take(&turns->rest, text_block(turns->call, said, message));
            tn_release(said);
        } else {
            add_take(&turns->late, text_block(turns->call, text, message));
        }
    }
    tn_release(text);
}

static bool is_system(tn_value message) {
    return tn_message_is(message, "system") || tn_message_is(message, "developer");
}

/* The system messages before all others; how many. The last message is never one: something has to be answered. */
static uint64_t put_system(const struct model_call *call, tn_builder *builder) {
    uint64_t count = 0;
    tn_value blocks = NULL;
    uint64_t total = tn.value->count(call->messages);
    for (; count + 1 < total && is_system(tn.value->at(call->messages, count)); count++) {
        tn_value message = tn.value->at(call->messages, count), content = tn.value->get(message, "content");
        if (tn.value->kind(content) == TN_STRING) add_take(&blocks, text_block(call, content, message));
        for (uint64_t i = 0; tn.value->kind(content) == TN_ARRAY && i < tn.value->count(content); i++) {
            tn_value part = tn.value->at(content, i);
            if (anthropic_is(part, "text")) add_take(&blocks, text_block(call, tn.value->get(part, "text"), part));
        }
    }
    if (blocks != NULL) tn_put_take(builder, "system", blocks);
    return count;
}

void anthropic_put_messages(struct model_call *call, tn_builder *builder) {
    struct turns turns = {.call = call, .builder = builder};
    uint64_t first = put_system(call, builder), count = tn.value->count(call->messages);
    tn_put_begin(builder, "messages", TN_ARRAY);
    for (uint64_t i = first; i < count; i++) {
        tn_value message = tn.value->at(call->messages, i);
        if (is_system(message)) {
            add_system(&turns, message);
        } else if (tn_message_is(message, "ai")) {
            take_side(&turns, SIDE_ASSISTANT);
            add_said(&turns, message);
        } else {
            take_side(&turns, SIDE_USER);
            if (tn_message_is(message, "tool"))
                add_result(&turns, message);
            else
                add_given(&turns, message);
        }
    }
    end_turn(&turns);
    put_late(&turns);
    tn.value->end(builder);
    if (turns.count == 0)
        model_refuse(call, "the messages have nothing in them to answer: expected a user's text, at least");
}

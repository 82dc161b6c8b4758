/*
 * blocks.c - converts messages to the service's turns, which are lists of blocks.
 *
 * System messages before the first turn become `system`. Then "user" and "assistant" turns alternate: consecutive
 * messages of one side form one turn. A later system message becomes a text in the user's turn, between <system> tags.
 * Blank texts are not sent, because the service refuses them.
 */
#include "bedrock.h"
#include <tenon/util/sha256.h>

#define TOOL_ID_MAX       64
#define MISTRAL_ID_LENGTH 9
#define DOCUMENT_NAME_MAX 200

struct turns {
    struct model_call *call;
    const char *role; /* of the open turn; NULL: none is open */
    tn_value blocks;  /* of the open turn; an array, or NULL */
    tn_value list;    /* the finished turns; an array, or NULL */
    uint32_t documents;
};

/* ---- Texts and cache points ---- */

static bool blocks_is_blank(tn_value text) {
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    for (uint64_t i = 0; chars != NULL && i < length; i++)
        if (strchr(" \t\r\n", chars[i]) == NULL) return false;
    return true;
}

const char *bedrock_cache(const struct model_call *call) {
    tn_value cache = model_get_config(call, "cache");
    int32_t enabled = 0;
    if (tn_chars(cache, NULL) != NULL) return tn_chars(cache, NULL);
    (void)tn.value->as_bool(cache, &enabled);
    return enabled ? "" : NULL;
}

void bedrock_put_cache_point(tn_builder *builder, const char *ttl) {
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "cachePoint", TN_OBJECT);
    tn_put_text(builder, "type", "default");
    if (ttl != NULL && *ttl != '\0') tn_put_text(builder, "ttl", ttl);
    tn.value->end(builder);
    tn.value->end(builder);
}

static void blocks_add_cache_point(tn_value *list, const char *ttl) {
    tn_builder *builder = tn_builder_new();
    bedrock_put_cache_point(builder, ttl);
    (void)tn_append_take(list, tn_finish(builder));
}

/* Adds the cache point that the extra.bedrock of a part or message asks for. */
static void blocks_add_marked(const struct model_call *call, tn_value *list, tn_value holder) {
    tn_value point = tn_get(model_get_extra(call, holder), "cachePoint");
    if (tn.value->kind(point) == TN_OBJECT) (void)tn_append_take(list, tn_build("{s:v}", "cachePoint", point));
}

static void blocks_add_text(tn_value *list, tn_value text) {
    if (!blocks_is_blank(text)) (void)tn_append_take(list, tn_build("{s:v}", "text", text));
}

/* ---- Media ---- */

static const struct media_form {
    const char *type, *block, *format;
} media_forms[] = {
    {"image/png", "image", "png"},
    {"image/jpeg", "image", "jpeg"},
    {"image/gif", "image", "gif"},
    {"image/webp", "image", "webp"},
    {"application/pdf", "document", "pdf"},
    {"text/csv", "document", "csv"},
    {"text/html", "document", "html"},
    {"text/markdown", "document", "md"},
    {"application/msword", "document", "doc"},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "document", "docx"},
    {"application/vnd.ms-excel", "document", "xls"},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "document", "xlsx"},
    {"application/json", "document", "txt"},
    {"application/xml", "document", "txt"},
    {"application/yaml", "document", "txt"},
    {"text/", "document", "txt"},
    {"video/mp4", "video", "mp4"},
    {"video/quicktime", "video", "mov"},
    {"video/x-matroska", "video", "mkv"},
    {"video/webm", "video", "webm"},
    {"video/mpeg", "video", "mpeg"},
    {"video/x-flv", "video", "flv"},
    {"video/x-ms-wmv", "video", "wmv"},
    {"video/3gpp", "video", "three_gp"},
    {"audio/mpeg", "audio", "mp3"},
    {"audio/mp3", "audio", "mp3"},
    {"audio/wav", "audio", "wav"},
    {"audio/x-wav", "audio", "wav"},
    {"audio/flac", "audio", "flac"},
    {"audio/ogg", "audio", "ogg"},
    {"audio/aac", "audio", "aac"},
    {"audio/opus", "audio", "opus"},
    {"audio/webm", "audio", "webm"},
    {"audio/mp4", "audio", "mp4"},
};

static const struct media_form *media_form_of(const char *type) {
    for (size_t i = 0; type != NULL && i < sizeof media_forms / sizeof *media_forms; i++)
        if (strncmp(type, media_forms[i].type, strlen(media_forms[i].type)) == 0) return &media_forms[i];
    return NULL;
}

/* Replaces what the service does not allow in a document's name: all but letters, digits, space, -, ( ) and [ ]. */
static tn_value blocks_document_name(struct turns *turns, tn_value name) {
    char text[DOCUMENT_NAME_MAX + 1];
    uint64_t length = 0, used = 0;
    const char *given = tn_chars(name, &length);
    turns->documents++;
    for (uint64_t i = 0; given != NULL && i < length && used < DOCUMENT_NAME_MAX; i++) {
        char c = given[i];
        bool allowed =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr(" -()[]", c) != NULL;
        if (c == '\0' || !allowed) c = '-';
        if (c == ' ' && used > 0 && text[used - 1] == ' ') continue; /* two spaces in a row are refused */
        text[used++] = c;
    }
    text[used] = '\0';
    if (used == 0) (void)snprintf(text, sizeof text, "document-%u", (unsigned)turns->documents);
    return tn_text(text);
}

static void blocks_put_source(tn_builder *builder, const struct model_media *media) {
    tn_put_begin(builder, "source", TN_OBJECT);
    if (media->data != NULL)
        tn_put(builder, "bytes", media->data);
    else {
        tn_put_begin(builder, "s3Location", TN_OBJECT);
        tn_put(builder, "uri", media->url);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static tn_value blocks_build_media(struct turns *turns, tn_value part, const struct model_media *media) {
    const struct media_form *form = media_form_of(media->media_type);
    tn_value extra = model_get_extra(turns->call, part);
    if (media->data == NULL && (media->url == NULL || strncmp(tn_chars(media->url, NULL), "s3://", 5) != 0)) {
        model_fail(turns->call, "UNSUPPORTED",
                   "a part of type %s has no `data`: bedrock accepts data, and addresses of S3 (s3://…); download the "
                   "file first",
                   tn_get_text(part, "type", ""));
        return NULL;
    }
    if (form == NULL) {
        model_fail(
            turns->call, "UNSUPPORTED",
            "a part of media type %.100s: bedrock accepts PNG, JPEG, GIF, WebP, PDF, Office documents, text, video and "
            "audio; set `media_type`, or convert it",
            media->media_type != NULL ? media->media_type : "(unknown)");
        return NULL;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, form->block, TN_OBJECT);
    tn_put_text(builder, "format", form->format);
    if (strcmp(form->block, "document") == 0) {
        tn_put_take(builder, "name", blocks_document_name(turns, tn_get(part, "name")));
        bedrock_put(builder, "context", tn_get(extra, "context"));
        bedrock_put(builder, "citations", tn_get(extra, "citations"));
    }
    blocks_put_source(builder, media);
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Adds the part's block, unless there is none; the call may have failed. */
static void turns_add_user_part(struct turns *turns, tn_value *list, tn_value part) {
    struct model_media media;
    if (tn.value->kind(part) == TN_STRING) {
        blocks_add_text(list, part);
        return;
    }
    if (bedrock_has_type(part, "text")) {
        blocks_add_text(list, tn_get(part, "text"));
    } else if (bedrock_has_type(part, "image") || bedrock_has_type(part, "file") || bedrock_has_type(part, "audio")) {
        if (model_media_init(&media, part)) {
            tn_value block = blocks_build_media(turns, part, &media);
            if (block != NULL) (void)tn_append_take(list, block);
        } else
            model_fail_request(turns->call,
                               "a part of type %s has neither an address of S3 (s3://…) nor `data` in base64",
                               tn_get_text(part, "type", ""));
        model_media_finish(&media);
    }
    blocks_add_marked(turns->call, list, part);
}

/* ---- Calls ---- */

static bool blocks_is_id(const char *text, uint64_t length, bool mistral) {
    for (uint64_t i = 0; i < length; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (mistral || c == '\0' || strchr("_.:-", c) == NULL)) return false;
    }
    return mistral ? length == MISTRAL_ID_LENGTH : length > 0 && length <= TOOL_ID_MAX;
}

/* Ids that the service does not accept, for example of another provider, become a hash: the same for a call and its
 * result. */
static tn_value blocks_build_id(const struct model_call *call, tn_value id) {
    const struct bedrock *bedrock = call->model->provider_data;
    bool mistral = bedrock->family == FAMILY_MISTRAL;
    struct tn_sha256 state;
    char text[TN_SHA256_TEXT];
    uint64_t length = 0;
    const char *chars = tn_chars(id, &length);
    if (chars != NULL && blocks_is_id(chars, length, mistral)) return tn_retain(id);
    tn_sha256_init(&state);
    tn_sha256_update(&state, chars != NULL ? chars : "", length);
    tn_sha256_finish_text(&state, text);
    return tn_text_n(text, mistral ? MISTRAL_ID_LENGTH : 32);
}

static tn_value blocks_build_tool_use(struct model_call *call, tn_value tool_call) {
    tn_value arguments = tn_get(tool_call, "arguments");
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "toolUse", TN_OBJECT);
    tn_put_take(builder, "toolUseId", blocks_build_id(call, tn_get(tool_call, "id")));
    tn_put_text(builder, "name", model_tool_name_to_service(call, tn_get_text(tool_call, "name", "")));
    if (tn.value->kind(arguments) == TN_OBJECT) {
        tn_put(builder, "input", arguments);
    } else { /* the service requires an object: send invalid arguments as a member of one */
        tn_put_begin(builder, "input", TN_OBJECT);
        bedrock_put(builder, "invalid_json", arguments);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

static void turns_add_result(struct turns *turns, tn_value message) {
    const struct bedrock *bedrock = turns->call->model->provider_data;
    tn_value content = tn_get(message, "content"), id = tn_get(message, "tool_call_id"), blocks = NULL;
    if (tn.value->kind(id) != TN_STRING) {
        model_fail_request(turns->call,
                           "a message of type tool has no `tool_call_id`: it answers one call of the ai message "
                           "before it");
        return;
    }
    if (tn.value->kind(content) == TN_STRING) blocks_add_text(&blocks, content);
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value part = tn.value->at(content, i), one = NULL;
        turns_add_user_part(turns, &one, part);
        if (tn.value->count(one) > 0) (void)tn_append_take(&blocks, tn_retain(tn.value->at(one, 0)));
        tn_release(one);
    }
    bool failed = strcmp(tn_get_text(message, "status", "ok"), "error") == 0;
    bool has_status = bedrock->family == FAMILY_ANTHROPIC || bedrock->family == FAMILY_NOVA;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "toolResult", TN_OBJECT);
    tn_put_take(builder, "toolUseId", blocks_build_id(turns->call, id));
    if (blocks != NULL)
        tn_put(builder, "content", blocks);
    else {
        tn_put_begin(builder, "content", TN_ARRAY);
        tn.value->end(builder);
    }
    if (failed && has_status) tn_put_text(builder, "status", "error");
    tn.value->end(builder);
    tn.value->end(builder);
    tn_release(blocks);
    (void)tn_append_take(&turns->blocks, tn_finish(builder));
    blocks_add_marked(turns->call, &turns->blocks, message);
}

/* ---- Assistant messages ---- */

static tn_value blocks_build_cited(tn_value text, tn_value citations) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "citationsContent", TN_OBJECT);
    tn_put_begin(builder, "content", TN_ARRAY);
    tn_put_take(builder, NULL, tn_build("{s:v}", "text", text));
    tn.value->end(builder);
    tn_put(builder, "citations", citations);
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Adds reasoning that has a signature or redacted data; the service refuses any other. */
static void turns_add_reasoning(struct turns *turns, tn_value part) {
    tn_value extra = model_get_extra(turns->call, part), signature = tn_get(extra, "signature");
    tn_value redacted = tn_get(extra, "redacted"), text = tn_get(part, "text");
    if (redacted != NULL) {
        (void)tn_append_take(&turns->blocks, tn_build("{s:{s:v}}", "reasoningContent", "redactedContent", redacted));
    } else if (signature != NULL) {
        tn_value shown = text != NULL ? tn_retain(text) : tn_text("");
        (void)tn_append_take(&turns->blocks, tn_build("{s:{s:{s:v,s:v}}}", "reasoningContent", "reasoningText", "text",
                                                      shown, "signature", signature));
        tn_release(shown);
    }
}

/* The service accepts no media in assistant messages: they are replaced by the text "[image]", … */
static void turns_add_assistant_part(struct turns *turns, tn_value part) {
    tn_value citations = tn_get(model_get_extra(turns->call, part), "citations"), text = tn_get(part, "text");
    if (tn.value->kind(part) == TN_STRING) {
        blocks_add_text(&turns->blocks, part);
    } else if (bedrock_has_type(part, "text") && tn.value->kind(citations) == TN_ARRAY && !blocks_is_blank(text)) {
        (void)tn_append_take(&turns->blocks, blocks_build_cited(text, citations));
    } else if (bedrock_has_type(part, "text")) {
        blocks_add_text(&turns->blocks, text);
    } else if (bedrock_has_type(part, "reasoning")) {
        turns_add_reasoning(turns, part);
    } else if (bedrock_has_type(part, "image") || bedrock_has_type(part, "file") || bedrock_has_type(part, "audio")) {
        char replaced[64];
        (void)snprintf(replaced, sizeof replaced, "[%.20s]", tn_get_text(part, "type", ""));
        (void)tn_append_take(&turns->blocks, tn_build("{s:s}", "text", replaced));
    }
    blocks_add_marked(turns->call, &turns->blocks, part);
}

static void turns_add_assistant(struct turns *turns, tn_value message) {
    tn_value content = tn_get(message, "content"), calls = tn_message_calls(message);
    if (tn.value->kind(content) == TN_STRING) turns_add_assistant_part(turns, content);
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        turns_add_assistant_part(turns, tn.value->at(content, i));
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++)
        (void)tn_append_take(&turns->blocks, blocks_build_tool_use(turns->call, tn.value->at(calls, i)));
}

/* ---- Turns ---- */

static void turns_end_turn(struct turns *turns) {
    if (turns->blocks != NULL)
        (void)tn_append_take(&turns->list, tn_build("{s:s,s:v}", "role", turns->role, "content", turns->blocks));
    tn_release(turns->blocks);
    turns->blocks = NULL;
}

static void turns_change_role(struct turns *turns, const char *role) {
    if (turns->role != NULL && strcmp(turns->role, role) == 0) return;
    turns_end_turn(turns);
    turns->role = role;
}

static bool blocks_is_system(tn_value message) {
    return tn_message_is(message, "system") || tn_message_is(message, "developer");
}

/* A system message after the first turn. */
static void turns_add_late_system(struct turns *turns, tn_value message) {
    tn_value text = tn_content_text(tn_get(message, "content"));
    if (!blocks_is_blank(text)) {
        turns_change_role(turns, "user");
        (void)tn_append_take(&turns->blocks, tn_build("{s:V}", "text", model_late_system_text(text)));
    }
    tn_release(text);
}

/* Writes the leading system messages and returns their number. The last message is never one of them, because the
 * service requires at least one turn. */
static uint64_t blocks_put_system(const struct model_call *call, tn_builder *builder) {
    uint64_t count = 0, total = tn.value->count(call->messages);
    tn_value blocks = NULL;
    for (; count + 1 < total && blocks_is_system(tn.value->at(call->messages, count)); count++) {
        tn_value message = tn.value->at(call->messages, count), content = tn_get(message, "content");
        if (tn.value->kind(content) == TN_STRING) blocks_add_text(&blocks, content);
        for (uint64_t i = 0; tn.value->kind(content) == TN_ARRAY && i < tn.value->count(content); i++) {
            tn_value part = tn.value->at(content, i);
            if (!bedrock_has_type(part, "text")) continue;
            blocks_add_text(&blocks, tn_get(part, "text"));
            blocks_add_marked(call, &blocks, part);
        }
        blocks_add_marked(call, &blocks, message);
    }
    if (blocks != NULL && bedrock_cache(call) != NULL) blocks_add_cache_point(&blocks, bedrock_cache(call));
    if (blocks != NULL) tn_put_take(builder, "system", blocks);
    return count;
}

void bedrock_put_messages(struct model_call *call, tn_builder *builder) {
    struct turns turns = {.call = call};
    uint64_t first = blocks_put_system(call, builder), count = tn.value->count(call->messages);
    for (uint64_t i = first; i < count && !call->ended; i++) {
        tn_value message = tn.value->at(call->messages, i), content = tn_get(message, "content");
        if (blocks_is_system(message)) {
            turns_add_late_system(&turns, message);
            continue;
        }
        turns_change_role(&turns, tn_message_is(message, "ai") ? "assistant" : "user");
        if (tn_message_is(message, "ai"))
            turns_add_assistant(&turns, message);
        else if (tn_message_is(message, "tool"))
            turns_add_result(&turns, message);
        else {
            if (tn.value->kind(content) == TN_STRING) turns_add_user_part(&turns, &turns.blocks, content);
            for (uint64_t k = 0; tn.value->kind(content) == TN_ARRAY && k < tn.value->count(content); k++)
                turns_add_user_part(&turns, &turns.blocks, tn.value->at(content, k));
            blocks_add_marked(call, &turns.blocks, message);
        }
    }
    bool is_user = turns.role != NULL && strcmp(turns.role, "user") == 0;
    if (turns.blocks != NULL && is_user && bedrock_cache(call) != NULL)
        blocks_add_cache_point(&turns.blocks, bedrock_cache(call));
    turns_end_turn(&turns);
    if (turns.list != NULL)
        tn_put_take(builder, "messages", turns.list);
    else
        model_fail_request(call, "the messages contain nothing to answer: expected at least a user's text");
}

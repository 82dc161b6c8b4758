/*
 * acp_content.c - content blocks of the protocol, and the content of messages (tenon/message.h).
 *
 *     text           {type: text, text}
 *     image, audio   {type: image or audio, media_type, data}
 *     resource       with `text`: a text part with the address around it
 *                    with `blob`: {type: file, media_type, name, data}
 *     resource_link  a text part: the address. The graph, or a tool of it, reads it if it needs it
 */
#include "adl/value/base64.h"
#include "host/server/acp/acp_internal.h"
#include <string.h>

/* ---- From the client ---- */

static tn_value text_part_take(tn_value text) {
    tn_value part = value_set_take(value_object_reserve(2), "type", value_text("text"));
    return value_set_take(part, "text", text);
}

static tn_value media_part(tn_value block, const char *type) {
    tn_value part = value_set_take(value_object_reserve(3), "type", value_text(type));
    part = value_set_take(part, "media_type", value_ref(value_get(block, "mimeType")));
    return value_set_take(part, "data", value_ref(value_get(block, "data")));
}

static tn_value link_part(tn_value block) {
    const char *title = acp_text(block, "title"), *text = acp_text(block, "description");
    const char *name = title ? title : acp_text(block, "name");
    return text_part_take(
        value_format("[%s](%s)%s%s", name, acp_text(block, "uri"), text ? ": " : "", text ? text : ""));
}

static const char *last_of_uri(const char *uri) {
    const char *slash = strrchr(uri, '/');
    return slash && slash[1] ? slash + 1 : uri;
}

static tn_value resource_part(tn_value resource) {
    const char *uri = acp_text(resource, "uri"), *text = acp_text(resource, "text");
    tn_value media = value_get(resource, "mimeType");
    if (text) return text_part_take(value_format("<resource uri=\"%s\">\n%s\n</resource>", uri, text));
    tn_value part = value_set_take(value_object_reserve(4), "type", value_text("file"));
    if (media && value_is(media, TN_STRING)) part = value_set_take(part, "media_type", value_ref(media));
    part = value_set_take(part, "name", value_text(last_of_uri(uri)));
    return value_set_take(part, "data", value_ref(value_get(resource, "blob")));
}

/* False with the error if `data` is a text that is not base64. It may be NULL, or have another type. */
static bool check_base64(const char *type, tn_value data, struct error *error) {
    size_t length;
    if (!data || !value_is(data, TN_STRING)) return true;
    const char *text = value_chars(data, &length);
    tn_value bytes = base64_read_lines(text, length);
    bool good = bytes != NULL;
    value_unref(bytes);
    if (!good)
        error_set(error, TN_INVALID, "INVALID_INPUT",
                  "`prompt`: the data of content of the type `%s` is not valid base64", type);
    return good;
}

/* NULL with the error if the graph does not accept it. */
static tn_value part_of_block(const struct acp *acp, tn_value block, struct error *error) {
    const char *type = acp_text(block, "type");
    tn_value resource = strcmp(type, "resource") == 0 ? value_get(block, "resource") : NULL; /* validated only then */
    bool media = strcmp(type, "image") == 0 || strcmp(type, "audio") == 0 || (resource && !acp_text(resource, "text"));
    if (media && acp->input != ACP_INPUT_MESSAGES) {
        error_set(
            error, TN_INVALID, "INVALID_INPUT",
            "`prompt`: found content of the type `%s`; this agent accepts only texts, because its document has no "
            "channel of messages",
            type);
        return NULL;
    }
    tn_value data = resource ? value_get(resource, "blob") : media ? value_get(block, "data") : NULL;
    if (!check_base64(type, data, error)) return NULL;
    if (strcmp(type, "text") == 0) return text_part_take(value_ref(value_get(block, "text")));
    if (strcmp(type, "resource_link") == 0) return link_part(block);
    return resource ? resource_part(resource) : media_part(block, type);
}

tn_value acp_content_read(const struct acp *acp, tn_value prompt, struct error *error) {
    tn_value parts = value_array_reserve(value_count(prompt));
    for (size_t i = 0; i < value_count(prompt); i++) {
        tn_value part = part_of_block(acp, value_at(prompt, i), error);
        if (!part) {
            value_unref(parts);
            return NULL;
        }
        parts = value_push_take(parts, part);
    }
    tn_value first = value_at(parts, 0);
    if (value_count(parts) > 1 || !value_text_is(value_get(first, "type"), "text")) return parts;
    tn_value text = value_ref(value_get(first, "text"));
    value_unref(parts);
    return text;
}

/* ---- Texts ---- */

tn_value acp_content_text(tn_value content) {
    if (!content) return value_text("");
    if (value_is(content, TN_STRING)) return value_ref(content);
    struct buffer joined;
    buffer_init(&joined, ACP_PROMPT_MAX);
    for (size_t i = 0; value_is(content, TN_ARRAY) && i < value_count(content); i++) {
        tn_value part = value_at(content, i), words = value_get(part, "text");
        size_t length;
        if (!value_text_is(value_get(part, "type"), "text") || !words || !value_is(words, TN_STRING)) continue;
        const char *text = value_chars(words, &length);
        if (joined.length) buffer_char(&joined, '\n');
        buffer_append(&joined, text, length);
    }
    tn_value text = value_string_lossy(buffer_cstr(&joined), joined.length);
    buffer_finish(&joined);
    return text;
}

tn_value acp_text_cut_take(tn_value text, size_t most) {
    size_t length, cut = most;
    const char *chars = value_chars(text, &length);
    if (length <= most) return text;
    while (cut && ((unsigned char)chars[cut] & 0xc0) == 0x80) cut--;
    tn_value shorter = value_format("%.*s… (%zu bytes more)", (int)cut, chars, length - cut);
    value_unref(text);
    return shorter;
}

tn_value acp_text_block(tn_value text) {
    tn_value block = value_set_take(value_object_reserve(2), "type", value_text("text"));
    return value_set_take(block, "text", value_ref(text));
}

tn_value acp_chunk_take(tn_value text, const char *message_id) {
    tn_value chunk = value_set_take(value_object_reserve(3), "content", acp_text_block(text));
    value_unref(text);
    return message_id ? value_set_take(chunk, "messageId", value_text(message_id)) : chunk;
}

/* ---- To the client ---- */

/* A part as a block of the protocol; NULL if it has no form there. */
static tn_value block_of_part(tn_value part) {
    const char *type = acp_text(part, "type"), *url = acp_text(part, "url"), *text = acp_text(part, "text");
    tn_value data = value_get(part, "data"), media = value_get(part, "media_type");
    if (!type) return NULL;
    if ((strcmp(type, "text") == 0 || strcmp(type, "refusal") == 0 || strcmp(type, "reasoning") == 0) && text)
        return acp_text_block(value_get(part, "text"));
    bool has_data = data && value_is(data, TN_STRING) && media && value_is(media, TN_STRING);
    if ((strcmp(type, "image") == 0 || strcmp(type, "audio") == 0) && has_data) {
        tn_value block = value_set_take(value_object_reserve(3), "type", value_text(type));
        block = value_set_take(block, "mimeType", value_ref(media));
        return value_set_take(block, "data", value_ref(data));
    }
    if (!url) return NULL;
    const char *name = acp_text(part, "title") ? acp_text(part, "title") : acp_text(part, "name");
    tn_value block = value_set_take(value_object_reserve(3), "type", value_text("resource_link"));
    block = value_set_take(block, "uri", value_text(url));
    return value_set_take(block, "name", value_text(name ? name : last_of_uri(url)));
}

tn_value acp_content_blocks(tn_value content, bool thoughts) {
    tn_value blocks = value_array();
    size_t length = 0;
    if (content && value_is(content, TN_STRING)) {
        (void)value_chars(content, &length);
        return thoughts || !length ? blocks : value_push_take(blocks, acp_text_block(content));
    }
    for (size_t i = 0; content && value_is(content, TN_ARRAY) && i < value_count(content); i++) {
        tn_value part = value_at(content, i);
        if (value_text_is(value_get(part, "type"), "reasoning") != thoughts) continue;
        tn_value block = block_of_part(part);
        if (block) blocks = value_push_take(blocks, block);
    }
    return blocks;
}

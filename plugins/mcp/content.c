/*
 * content.c - converts blocks of the protocol, resources and prompts to parts of messages.
 */
#include "content.h"

static void copy_member(tn_builder *builder, const char *key, tn_value from, const char *name) {
    tn_value value = tn_get(from, name);
    if (value != NULL) tn_put(builder, key, value);
}

static tn_value finish_object(tn_builder *builder) {
    tn.value->end(builder);
    return tn_finish(builder);
}

static tn_builder *start_part(const char *type) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", type);
    return builder;
}

static tn_value make_media_part(const char *type, tn_value block) {
    tn_builder *builder = start_part(type);
    copy_member(builder, "media_type", block, "mimeType");
    copy_member(builder, "data", block, "data");
    return finish_object(builder);
}

static void put_resource_origin(tn_builder *builder, tn_value from) {
    static const char *const names[] = {"uri", "mimeType", "description", "size", "annotations"};
    tn_put_begin(builder, "extra", TN_OBJECT);
    tn_put_begin(builder, "mcp", TN_OBJECT);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) copy_member(builder, names[i], from, names[i]);
    tn.value->end(builder);
    tn.value->end(builder);
}

static tn_value make_resource_part(tn_value resource) {
    tn_value text = tn_get(resource, "text");
    const char *type = tn_get_text(resource, "mimeType", "application/octet-stream");
    if (tn_chars(text, NULL) != NULL) {
        tn_builder *builder = start_part("text");
        tn_put(builder, "text", text);
        put_resource_origin(builder, resource);
        return finish_object(builder);
    }
    bool image = strncmp(type, "image/", 6) == 0;
    tn_builder *builder = start_part(image ? "image" : "file");
    tn_put_text(builder, "media_type", type);
    if (!image) copy_member(builder, "name", resource, "uri");
    copy_member(builder, "data", resource, "blob");
    put_resource_origin(builder, resource);
    return finish_object(builder);
}

static tn_value make_link_part(tn_value link) {
    tn_builder *builder = start_part("source");
    tn_value title = tn_get(link, "title");
    copy_member(builder, "url", link, "uri");
    copy_member(builder, "title", link, title != NULL ? "title" : "name");
    put_resource_origin(builder, link);
    return finish_object(builder);
}

static tn_value make_text_part(tn_value text) {
    tn_builder *builder = start_part("text");
    tn_put(builder, "text", text);
    return finish_object(builder);
}

tn_value content_part(tn_value block) {
    const char *type = tn_get_text(block, "type", "");
    tn_value text = tn_get(block, "text");
    if (strcmp(type, "text") == 0 && tn_chars(text, NULL) != NULL) return make_text_part(text);
    if (strcmp(type, "image") == 0 || strcmp(type, "audio") == 0) return make_media_part(type, block);
    if (strcmp(type, "resource") == 0) return make_resource_part(tn_get(block, "resource"));
    if (strcmp(type, "resource_link") == 0) return make_link_part(block);
    tn_value json = tn_to_json(block), part = make_text_part(json);
    tn_release(json);
    return part;
}

bool content_only_text(tn_value blocks) {
    for (uint64_t i = 0, count = tn.value->count(blocks); i < count; i++)
        if (!value_is(tn_get(tn.value->at(blocks, i), "type"), "text")) return false;
    return true;
}

static tn_value make_parts(tn_value list, tn_value (*part)(tn_value)) {
    uint64_t count = tn.value->count(list);
    tn_value text = count == 1 ? tn_get(tn.value->at(list, 0), "text") : NULL;
    if (count == 0) return tn_text("");
    if (tn_chars(text, NULL) != NULL) return tn_retain(text);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; i < count; i++) tn_put_take(builder, NULL, part(tn.value->at(list, i)));
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value content_from_blocks(tn_value blocks) { return make_parts(blocks, content_part); }
tn_value content_resources(tn_value contents) { return make_parts(contents, make_resource_part); }

tn_value content_messages(tn_value messages) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++) {
        tn_value message = tn.value->at(messages, i), block = tn_get(message, "content");
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put_text(builder, "type", value_is(tn_get(message, "role"), "assistant") ? "ai" : "user");
        if (value_is(tn_get(block, "type"), "text")) {
            tn_put(builder, "content", tn_get(block, "text"));
        } else {
            tn_put_begin(builder, "content", TN_ARRAY);
            tn_put_take(builder, NULL, content_part(block));
            tn.value->end(builder);
        }
        tn.value->end(builder);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

/*
 * form.c - finds files in the schema of a form. Properties are looked for in the schema itself and in what `allOf`,
 * `anyOf` and `oneOf` add to it.
 */
#include "form.h"
#include "upload.h"
#include <strings.h>

#define FORM_DEPTH_MAX 8u

static const char *const form_lists[] = {"allOf", "anyOf", "oneOf"};

/* ---- Files ---- */

static bool is_text_media_type(const char *type) {
    return strncasecmp(type, "text/", 5) == 0 || strncasecmp(type, "application/json", 16) == 0 ||
           strstr(type, "+json") != NULL;
}

static bool has_string_type(tn_value schema) {
    tn_value type = tn_get(schema, "type");
    if (type == NULL) return true;
    for (uint64_t i = 0, count = tn.value->count(type); tn.value->kind(type) == TN_ARRAY && i < count; i++)
        if (strcmp(tn_chars(tn.value->at(type, i), NULL) != NULL ? tn_chars(tn.value->at(type, i), NULL) : "",
                   "string") == 0)
            return true;
    return tn.value->kind(type) == TN_STRING && strcmp(tn_chars(type, NULL), "string") == 0;
}

/* `schema` is resolved. */
static enum file_form read_file_form(tn_value schema) {
    const char *format = tn_get_text(schema, "format", ""), *encoding = tn_get_text(schema, "contentEncoding", "");
    const char *media_type = tn_get_text(schema, "contentMediaType", NULL);
    if (tn.value->kind(schema) != TN_OBJECT || !has_string_type(schema)) return FILE_NONE;
    if (strcasecmp(encoding, "base64url") == 0) return FILE_BASE64URL;
    if (strcasecmp(encoding, "base64") == 0 || strcmp(format, "byte") == 0) return FILE_BASE64;
    if (*encoding != 0 && strcasecmp(encoding, "binary") != 0) return FILE_NONE;
    bool bytes = strcmp(format, "binary") == 0 || strcasecmp(encoding, "binary") == 0;
    return bytes || (media_type != NULL && !is_text_media_type(media_type)) ? FILE_BYTES : FILE_NONE;
}

/* The same for a property: also an array of files. *schema becomes that of the file. */
static enum file_form property_file_form(struct documents *documents, struct document_node *schema, bool *list) {
    struct document_node found = node_resolve(documents, *schema);
    struct document_node items = node_get(documents, found, "items");
    *list = items.value != NULL && tn.value->kind(items.value) == TN_OBJECT && !has_string_type(found.value);
    if (*list) found = items;
    enum file_form form = read_file_form(found.value);
    if (form != FILE_NONE) *schema = found;
    return form;
}

static bool has_files_below(struct documents *documents, struct document_node schema, uint32_t depth) {
    struct document_node found = node_resolve(documents, schema), properties = node_get(documents, found, "properties");
    tn_value key, value;
    bool list;
    for (uint64_t i = 0, count = tn.value->count(properties.value); i < count; i++) {
        if (tn.value->entry(properties.value, i, &key, &value) != TN_OK) break;
        if (property_file_form(documents, &(struct document_node){properties.document, value}, &list) != FILE_NONE)
            return true;
    }
    for (size_t k = 0; k < sizeof(form_lists) / sizeof(form_lists[0]) && depth < FORM_DEPTH_MAX; k++) {
        struct document_node parts = {found.document, tn_get(found.value, form_lists[k])};
        for (uint64_t i = 0, count = tn.value->count(parts.value); i < count; i++)
            if (has_files_below(documents, (struct document_node){parts.document, tn.value->at(parts.value, i)},
                                depth + 1))
                return true;
    }
    return false;
}

bool form_has_files(struct documents *documents, struct document_node schema) {
    return schema.value != NULL && has_files_below(documents, schema, 0);
}

/* ---- Parts ---- */

/* The first media type of a list; NULL if it has `*`. A new reference. */
static tn_value single_media_type(const char *types) {
    size_t length = strcspn(types, ",");
    if (length == 0 || memchr(types, '*', length) != NULL || strpbrk(types, "\r\n") != NULL) return NULL;
    return tn_text_n(types, length);
}

static void body_add_part(struct body *body, tn_value name, enum file_form file, tn_value media_type) {
    bool known = false;
    for (uint32_t i = 0; i < body->part_count; i++) known = known || tn.value->equal(body->parts[i].name, name);
    if (!known && body->part_count < FORM_PARTS_MAX && (file != FILE_NONE || media_type != NULL)) {
        struct body_part *grown =
            tn.core->resize(tn.host, body->parts, (body->part_count + 1u) * sizeof(*grown)); /* few */
        if (grown != NULL) {
            body->parts = grown;
            body->parts[body->part_count++] = (struct body_part){tn_retain(name), file, tn_retain(media_type)};
        }
    }
    tn_release(media_type);
}

void form_finish(struct body *body) {
    for (uint32_t i = 0; i < body->part_count; i++) {
        tn_release(body->parts[i].name);
        tn_release(body->parts[i].media_type);
    }
    if (body->parts != NULL) tn.core->release(tn.host, body->parts);
    body->parts = NULL;
    body->part_count = 0;
}

struct form_reader {
    struct schema_maker *maker;
    const struct service *service;
    struct document_node encoding;
    struct body *body;
    uint32_t depth;
};

static void put_property(struct form_reader *form, tn_builder *out, tn_value key, struct document_node schema) {
    struct documents *documents = form->maker->library->documents;
    struct document_node encoding = node_get(documents, form->encoding, tn_chars(key, NULL)), file = schema;
    const char *types = tn_get_text(encoding.value, "contentType", "");
    bool list;
    enum file_form kind = property_file_form(documents, &file, &list);
    if (*types == 0 && kind != FILE_NONE) types = tn_get_text(file.value, "contentMediaType", "");
    body_add_part(form->body, key, kind, single_media_type(types));
    tn_value converted = kind == FILE_NONE
                             ? schema_convert(form->maker, schema)
                             : upload_make_schema(form->service, tn_get_text(file.value, "description", NULL), false);
    if (kind != FILE_NONE && list) {
        tn_put_begin(out, tn_chars(key, NULL), TN_OBJECT);
        tn_put_text(out, "type", "array");
        tn_put_take(out, "items", converted);
        tn_put_int(out, "maxItems", UPLOAD_FILES_MAX);
        tn.value->end(out);
    } else {
        tn_put_take(out, tn_chars(key, NULL), converted);
    }
}

static void put_properties(struct form_reader *form, tn_builder *out, struct document_node properties) {
    tn_put_begin(out, "properties", TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(properties.value); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(properties.value, i, &key, &value) != TN_OK) break;
        struct document_node schema = {properties.document, value};
        if (!schema_is_read_only(form->maker, schema)) put_property(form, out, key, schema);
    }
    tn.value->end(out);
}

static bool is_form_list(const char *key) {
    for (size_t i = 0; i < sizeof(form_lists) / sizeof(form_lists[0]); i++)
        if (strcmp(key, form_lists[i]) == 0) return true;
    return false;
}

static void put_form_schema(struct form_reader *form, tn_builder *out, const char *name, struct document_node schema) {
    struct document_node found = node_resolve(form->maker->library->documents, schema);
    tn_put_begin(out, name, TN_OBJECT);
    form->depth++;
    for (uint64_t i = 0, count = tn.value->count(found.value); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(found.value, i, &key, &value) != TN_OK) break;
        const char *word = tn_chars(key, NULL);
        struct document_node part = {found.document, value};
        if (strcmp(word, "properties") == 0 && tn.value->kind(value) == TN_OBJECT) {
            put_properties(form, out, part);
        } else if (is_form_list(word) && tn.value->count(value) > 0 && form->depth <= FORM_DEPTH_MAX) {
            tn_put_begin(out, word, TN_ARRAY);
            for (uint64_t k = 0, items = tn.value->count(value); k < items; k++)
                put_form_schema(form, out, NULL, (struct document_node){found.document, tn.value->at(value, k)});
            tn.value->end(out);
        } else {
            schema_put_keyword(form->maker, out, found, word, value);
        }
    }
    form->depth--;
    tn.value->end(out);
}

/* A builder makes whole values, so the schema is temporarily in an array. */
tn_value form_convert(struct schema_maker *maker, const struct service *service, struct document_node schema,
                      struct document_node encoding, struct body *body) {
    struct form_reader form = {maker, service, encoding, body, 0};
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_ARRAY);
    put_form_schema(&form, out, NULL, schema);
    tn.value->end(out);
    tn_value array = tn_finish(out), converted = tn_retain(tn.value->at(array, 0));
    tn_release(array);
    return converted;
}

/*
 * schema.c - converts keywords: those that contain schemas, those that only OpenAPI has, and those of version 3.0.
 */
#include "schema.h"
#include <stdio.h>
#include <tenon/util/build.h>

void schema_init(struct schema_maker *maker, struct documents *documents, bool old) {
    *maker = (struct schema_maker){.documents = documents, .old = old};
}

void schema_finish(struct schema_maker *maker) {
    for (uint32_t i = 0; i < maker->count; i++) {
        tn_release(maker->defs[i].name);
        tn_release(maker->defs[i].schema);
    }
    if (maker->defs != NULL) tn.core->release(tn.host, maker->defs);
    maker->defs = NULL;
}

static bool is_listed_keyword(const char *word, const char *const *words) {
    for (; *words != NULL; words++)
        if (strcmp(word, *words) == 0) return true;
    return false;
}

/* Keywords without meaning for validation, and keywords that are converted elsewhere. */
static const char *const dropped[] = {"discriminator", "xml",         "externalDocs", "example",  "nullable",
                                      "readOnly",      "writeOnly",   "$schema",      "$id",      "$anchor",
                                      "$defs",         "definitions", "$comment",     "examples", NULL};
static const char *const of_schemas[] = {"properties", "patternProperties", "dependentSchemas", NULL};
static const char *const lists[] = {"allOf", "anyOf", "oneOf", "prefixItems", NULL};
static const char *const schemas[] = {"items",
                                      "additionalProperties",
                                      "not",
                                      "contains",
                                      "if",
                                      "then",
                                      "else",
                                      "propertyNames",
                                      "unevaluatedItems",
                                      "unevaluatedProperties",
                                      NULL};

/* ---- References ---- */

/* Returns a name for `$defs`: the last part of the reference, with a number if two files have the same name. */
static tn_value definition_name(const struct schema_maker *maker, const char *reference) {
    const char *slash = strrchr(reference, '/'), *last = slash != NULL ? slash + 1 : reference;
    for (uint32_t attempt = 0;; attempt++) {
        struct tn_text_buffer name = {.limit = 300};
        char digits[16];
        uint32_t i;
        for (const char *at = *last == '#' ? last + 1 : last; *at != 0 && name.length < 200; at++) {
            bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
            tn_text_append_n(&name, plain || *at == '_' || *at == '-' || *at == '.' ? at : "_", 1);
        }
        (void)snprintf(digits, sizeof(digits), "_%u", attempt + 1);
        if (attempt > 0) tn_text_append(&name, digits);
        for (i = 0; i < maker->count; i++)
            if (strcmp(tn_chars(maker->defs[i].name, NULL), tn_text_chars(&name)) == 0) break;
        if (i == maker->count || name.status != TN_OK) return tn_text_finish(&name);
        tn_text_free(&name);
    }
}

/* Returns the index of the definition in the list, or UINT32_MAX if it is missing or the list is full. */
static uint32_t add_definition(struct schema_maker *maker, struct document_node node, const char *reference) {
    struct document_node target = node_follow_reference(maker->documents, node, reference);
    if (target.value == NULL) return UINT32_MAX;
    for (uint32_t i = 0; i < maker->count; i++)
        if (maker->defs[i].node.value == target.value) return i;
    if (maker->count >= SCHEMA_DEFS_MAX) return UINT32_MAX;
    struct schema_def *grown =
        tn.core->resize(tn.host, maker->defs, (maker->count + 1u) * sizeof(*grown)); /* few, so one at a time */
    if (grown == NULL) return UINT32_MAX;
    maker->defs = grown;
    tn_value name = definition_name(maker, reference);
    if (name == NULL) return UINT32_MAX;
    maker->defs[maker->count] = (struct schema_def){target, name, NULL};
    return maker->count++;
}

static void put_schema_reference(struct schema_maker *maker, tn_builder *out, struct document_node node,
                                 const char *reference) {
    uint32_t index = add_definition(maker, node, reference);
    if (index == UINT32_MAX) return; /* any value is valid */
    struct tn_text_buffer path = {.limit = 400};
    tn_text_append(&path, "#/$defs/");
    tn_text_append(&path, tn_chars(maker->defs[index].name, NULL));
    tn_put_take(out, "$ref", tn_text_finish(&path));
}

/* ---- Schemas ---- */

static void convert_schema(struct schema_maker *maker, tn_builder *out, const char *key, struct document_node node);

static bool is_read_only(struct schema_maker *maker, struct document_node schema) {
    int32_t truth = 0;
    if (schema.value == NULL) return false;
    schema = node_resolve(maker->documents, schema);
    return tn.value->as_bool(tn_get(schema.value, "readOnly"), &truth) == TN_OK && truth;
}

static struct document_node schema_context(struct document_node node, tn_value value) {
    return (struct document_node){node.document, value};
}

static void convert_map(struct schema_maker *maker, tn_builder *out, const char *key, struct document_node map) {
    tn_put_begin(out, key, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(map.value); i < count; i++) {
        tn_value name, schema;
        if (tn.value->entry(map.value, i, &name, &schema) != TN_OK) break;
        if (is_read_only(maker, schema_context(map, schema))) continue;
        uint64_t length;
        const char *text = tn_chars(name, &length);
        tn.value->key(out, text, length);
        convert_schema(maker, out, NULL, schema_context(map, schema));
    }
    tn.value->end(out);
}

static void convert_list(struct schema_maker *maker, tn_builder *out, const char *key, struct document_node list) {
    if (tn.value->count(list.value) == 0) return;
    tn_put_begin(out, key, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(list.value); i < count; i++)
        convert_schema(maker, out, NULL, schema_context(list, tn.value->at(list.value, i)));
    tn.value->end(out);
}

/* Leaves out properties that are readOnly. */
static void convert_required(struct schema_maker *maker, tn_builder *out, struct document_node schema,
                             tn_value required) {
    tn_value properties = tn_get(schema.value, "properties");
    tn_put_begin(out, "required", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(required); i < count; i++) {
        tn_value name = tn.value->at(required, i);
        const char *chars = tn_chars(name, NULL);
        if (chars == NULL || is_read_only(maker, schema_context(schema, tn_get(properties, chars)))) continue;
        tn_put(out, NULL, name);
    }
    tn.value->end(out);
}

static bool has_true_member(tn_value schema, const char *key) {
    int32_t truth = 0;
    return tn.value->as_bool(tn_get(schema, key), &truth) == TN_OK && truth;
}

/* In 3.0, exclusiveMinimum and exclusiveMaximum are bools beside the bound. */
static bool convert_exclusive_bound(tn_builder *out, tn_value schema, const char *key) {
    static const char *const bounds[][2] = {{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}};
    for (int i = 0; i < 2; i++) {
        if (strcmp(key, bounds[i][1]) == 0) return true;
        if (strcmp(key, bounds[i][0]) != 0 || !has_true_member(schema, bounds[i][1])) continue;
        tn_put(out, bounds[i][1], tn_get(schema, key));
        return true;
    }
    return false;
}

/* Converts `nullable` of 3.0 to one more type or one more value of an enumeration. */
static bool put_nullable_schema(tn_builder *out, const char *key, tn_value value) {
    bool type = strcmp(key, "type") == 0 && tn.value->kind(value) == TN_STRING, values = strcmp(key, "enum") == 0;
    if (!type && !values) return false;
    tn_put_begin(out, key, TN_ARRAY);
    bool has_null = false;
    for (uint64_t i = 0, count = tn.value->count(value); values && i < count; i++) {
        tn_put(out, NULL, tn.value->at(value, i));
        has_null |= tn.value->kind(tn.value->at(value, i)) == TN_NULL;
    }
    if (type) {
        tn_put(out, NULL, value);
        tn_put_text(out, NULL, "null");
    } else if (!has_null) {
        tn_put_take(out, NULL, tn_null());
    }
    tn.value->end(out);
    return true;
}

static void put_member(struct schema_maker *maker, tn_builder *out, struct document_node schema, const char *key,
                       tn_value value, bool nullable) {
    if (strncmp(key, "x-", 2) == 0 || is_listed_keyword(key, dropped)) return;
    if (strcmp(key, "$ref") == 0) {
        const char *reference = tn_chars(value, NULL);
        if (reference != NULL) put_schema_reference(maker, out, schema, reference);
        return;
    }
    if (maker->old && convert_exclusive_bound(out, schema.value, key)) return;
    if (nullable && put_nullable_schema(out, key, value)) return;
    if (strcmp(key, "required") == 0 && tn.value->kind(value) == TN_ARRAY)
        convert_required(maker, out, schema, value);
    else if (is_listed_keyword(key, of_schemas) && tn.value->kind(value) == TN_OBJECT)
        convert_map(maker, out, key, schema_context(schema, value));
    else if (is_listed_keyword(key, lists) && tn.value->kind(value) == TN_ARRAY)
        convert_list(maker, out, key, schema_context(schema, value));
    else if (is_listed_keyword(key, schemas))
        convert_schema(maker, out, key, schema_context(schema, value));
    else
        tn_put(out, key, value);
}

static void convert_members(struct schema_maker *maker, tn_builder *out, struct document_node schema) {
    bool nullable = maker->old && has_true_member(schema.value, "nullable");
    tn_value example = tn_get(schema.value, "example"), examples = tn_get(schema.value, "examples");
    /* In 3.0, only descriptions have a meaning beside `$ref`. */
    bool ref_only = maker->old && tn_get(schema.value, "$ref") != NULL;
    for (uint64_t i = 0, count = tn.value->count(schema.value); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema.value, i, &key, &value) != TN_OK) break;
        uint64_t length;
        const char *name = tn_chars(key, &length);
        if (ref_only && strcmp(name, "$ref") != 0 && strcmp(name, "description") != 0) continue;
        if (strlen(name) == length)
            put_member(maker, out, schema, name, value, nullable);
        else
            tn_put_key(out, key, value);
    }
    if (example != NULL && !ref_only) {
        tn_put_begin(out, "examples", TN_ARRAY);
        tn_put(out, NULL, example);
        tn.value->end(out);
    } else if (tn.value->kind(examples) == TN_ARRAY && !ref_only) {
        tn_put(out, "examples", examples);
    }
}

/* {nullable, allOf: […]}: null, or what the schema requires. */
static bool is_wrapped_null(const struct schema_maker *maker, tn_value schema) {
    return maker->old && has_true_member(schema, "nullable") && tn_get(schema, "type") == NULL &&
           tn_get(schema, "enum") == NULL && tn_get(schema, "$ref") == NULL;
}

static void convert_schema(struct schema_maker *maker, tn_builder *out, const char *key, struct document_node node) {
    bool object = tn.value->kind(node.value) == TN_OBJECT;
    if (!object || ++maker->nodes > SCHEMA_NODES_MAX || maker->depth >= SCHEMA_DEPTH_MAX) {
        /* A bool is a schema. Any other kind is not a schema, and becomes `true`. */
        int32_t truth = 1;
        if (!object) (void)tn.value->as_bool(node.value, &truth);
        tn_put_bool(out, key, truth);
        return;
    }
    maker->depth++;
    tn_put_begin(out, key, TN_OBJECT);
    if (is_wrapped_null(maker, node.value)) {
        tn_put_begin(out, "anyOf", TN_ARRAY);
        tn_put_begin(out, NULL, TN_OBJECT);
        convert_members(maker, out, node);
        tn.value->end(out);
        tn_put_begin(out, NULL, TN_OBJECT);
        tn_put_text(out, "type", "null");
        tn.value->end(out);
        tn.value->end(out);
    } else {
        convert_members(maker, out, node);
    }
    tn.value->end(out);
    maker->depth--;
}

/* A builder makes whole values, so the schema is temporarily in an array. */
tn_value schema_convert(struct schema_maker *maker, struct document_node node) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_ARRAY);
    convert_schema(maker, out, NULL, node);
    tn.value->end(out);
    tn_value array = tn_finish(out), schema = tn_retain(tn.value->at(array, 0));
    tn_release(array);
    return schema;
}

tn_value schema_make_definitions(struct schema_maker *maker) {
    /* Converting one definition may add more. */
    for (; maker->done < maker->count; maker->done++) {
        tn_value schema = schema_convert(maker, maker->defs[maker->done].node);
        maker->defs[maker->done].schema = schema;
    }
    if (maker->count == 0) return NULL;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    for (uint32_t i = 0; i < maker->count; i++) tn_put(out, tn_chars(maker->defs[i].name, NULL), maker->defs[i].schema);
    tn.value->end(out);
    return tn_finish(out);
}

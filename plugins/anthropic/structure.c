/*
 * structure.c - converts the schema of a structured answer to the subset of JSON Schema that the service enforces.
 *
 * Constraints that it does not enforce (bounds, patterns, lengths, most formats) are moved to the description. The
 * caller validates the answer against the original schema. Every object gets `additionalProperties: false`, as the
 * service requires.
 */
#include "anthropic.h"

#define STRUCTURE_DEPTH_MAX 100 /* deeper schemas are sent unchanged */
/* Number of schemas that are converted (a list of types multiplies them). The rest is sent unchanged. */
#define STRUCTURE_SCHEMAS_MAX 10000

struct structure {
    tn_builder *builder;
    int left; /* number of schemas that may still be converted */
};

static void structure_put_schema(struct structure *out, const char *key, tn_value schema, const char *type, int depth);

static bool structure_list_has(const char *text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0) return true;
    return false;
}

/* True if the service enforces the keyword for a schema of this type (NULL: no type). */
static bool structure_is_enforced(const char *keyword, tn_value value, const char *type) {
    static const char *const always[] = {
        "type",       "enum",        "const",       "anyOf", "oneOf", "allOf",    "$defs",   "title",
        "properties", "description", "definitions", "items", "$ref",  "required", "$schema", "additionalProperties"};
    static const char *const formats[] = {"date-time", "time", "date", "duration", "email",
                                          "hostname",  "uri",  "ipv4", "ipv6",     "uuid"};
    int64_t least = -1;
    if (structure_list_has(keyword, always, sizeof always / sizeof *always)) return true;
    if (strcmp(keyword, "format") == 0 && tn_chars(value, NULL) != NULL)
        return structure_list_has(tn_chars(value, NULL), formats, sizeof formats / sizeof *formats);
    if (strcmp(keyword, "minItems") == 0 && type != NULL && strcmp(type, "array") == 0)
        return tn.value->as_int(value, &least) == TN_OK && (least == 0 || least == 1);
    return false;
}

/* Returns {minimum: 1, …}, the constraints for the description. NULL if there are none. */
static tn_value structure_constraints_text(tn_value schema, const char *type) {
    tn_value key, value;
    bool any = false;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0; tn.value->entry(schema, i, &key, &value) == TN_OK; i++) {
        if (structure_is_enforced(tn_chars(key, NULL), value, type)) continue;
        tn_put_key(builder, key, value);
        any = true;
    }
    tn.value->end(builder);
    tn_value constraints = tn_finish(builder), text = any ? tn_to_json(constraints) : NULL;
    tn_release(constraints);
    return text;
}

static void structure_put_description(tn_builder *builder, tn_value schema, const char *type) {
    uint64_t original_length = 0, added_length = 0;
    tn_value described = tn_get(schema, "description"), constraints = structure_constraints_text(schema, type);
    const char *original = tn_chars(described, &original_length), *added = tn_chars(constraints, &added_length);
    char *joined = added != NULL ? tn.core->alloc(tn.host, original_length + added_length + 2) : NULL;
    if (joined == NULL) {
        anthropic_put(builder, "description", described);
    } else {
        uint64_t used = original != NULL ? original_length : 0;
        if (used > 0) {
            memcpy(joined, original, used);
            joined[used++] = '\n';
            joined[used++] = '\n';
        }
        memcpy(joined + used, added, added_length);
        tn_put_take(builder, "description", tn_text_n(joined, used + added_length));
        tn.core->release(tn.host, joined);
    }
    tn_release(constraints);
}

static void structure_put_map(struct structure *out, const char *name, tn_value schemas, int depth) {
    tn_value key, value;
    if (tn.value->kind(schemas) != TN_OBJECT) return;
    tn_put_begin(out->builder, name, TN_OBJECT);
    for (uint64_t i = 0; tn.value->entry(schemas, i, &key, &value) == TN_OK; i++) {
        uint64_t length;
        const char *text = tn_chars(key, &length);
        tn.value->key(out->builder, text, length);
        structure_put_schema(out, NULL, value, NULL, depth);
    }
    tn.value->end(out->builder);
}

static void structure_put_list(struct structure *out, const char *name, tn_value schemas, int depth) {
    if (tn.value->kind(schemas) != TN_ARRAY) return;
    tn_put_begin(out->builder, name, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(schemas); i < count; i++)
        structure_put_schema(out, NULL, tn.value->at(schemas, i), NULL, depth);
    tn.value->end(out->builder);
}

/* Writes a schema with several types as anyOf: the schema once with each type. */
static void structure_put_types(struct structure *out, tn_value schema, tn_value types, int depth) {
    tn_put_begin(out->builder, "anyOf", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(types); i < count; i++) {
        const char *type = tn_chars(tn.value->at(types, i), NULL);
        if (type != NULL) structure_put_schema(out, NULL, schema, type, depth);
    }
    tn.value->end(out->builder);
}

static void structure_put_object(struct structure *out, tn_value schema, int depth) {
    tn_value properties = tn_get(schema, "properties");
    if (tn.value->kind(properties) == TN_OBJECT) {
        structure_put_map(out, "properties", properties, depth);
    } else {
        tn_put_begin(out->builder, "properties", TN_OBJECT);
        tn.value->end(out->builder);
    }
    anthropic_put(out->builder, "required", tn_get(schema, "required"));
    tn_put_bool(out->builder, "additionalProperties", 0);
}

/* `type` selects one of the schema's types; NULL: use the schema's `type`. */
static void structure_put_schema(struct structure *out, const char *key, tn_value schema, const char *type, int depth) {
    if (tn.value->kind(schema) != TN_OBJECT || depth > STRUCTURE_DEPTH_MAX || out->left-- <= 0) {
        tn_put(out->builder, key, schema);
        return;
    }
    tn_value types = tn_get(schema, "type");
    bool chosen = type != NULL, several = !chosen && tn.value->kind(types) == TN_ARRAY;
    bool literal = tn_get(schema, "enum") != NULL || tn_get(schema, "const") != NULL;
    if (type == NULL) type = tn_chars(types, NULL);
    tn_put_begin(out->builder, key, TN_OBJECT);
    if (!chosen) { /* written once, not for each type */
        structure_put_map(out, "$defs", tn_get(schema, "$defs"), depth + 1);
        structure_put_map(out, "definitions", tn_get(schema, "definitions"), depth + 1);
        anthropic_put(out->builder, "$ref", tn_get(schema, "$ref"));
    }
    if (several && !literal) {
        structure_put_types(out, schema, types, depth + 1);
    } else if (tn_get(schema, "$ref") == NULL) {
        if (tn_get(schema, "enum") != NULL) tn_put(out->builder, "enum", tn_get(schema, "enum"));
        if (tn_get(schema, "const") != NULL) tn_put(out->builder, "const", tn_get(schema, "const"));
        if (type != NULL && !literal) tn_put_text(out->builder, "type", type);
        if (!chosen) anthropic_put(out->builder, "title", tn_get(schema, "title"));
        structure_put_description(out->builder, schema, type);
        structure_put_list(out, "anyOf", tn_get(schema, "anyOf"), depth + 1);
        if (tn_get(schema, "anyOf") == NULL) structure_put_list(out, "anyOf", tn_get(schema, "oneOf"), depth + 1);
        structure_put_list(out, "allOf", tn_get(schema, "allOf"), depth + 1);
        if (type != NULL && strcmp(type, "object") == 0) structure_put_object(out, schema, depth + 1);
        if (tn_get(schema, "items") != NULL && type != NULL && strcmp(type, "array") == 0)
            structure_put_schema(out, "items", tn_get(schema, "items"), NULL, depth + 1);
        if (type != NULL && strcmp(type, "string") == 0 &&
            structure_is_enforced("format", tn_get(schema, "format"), type))
            tn_put(out->builder, "format", tn_get(schema, "format"));
        if (structure_is_enforced("minItems", tn_get(schema, "minItems"), type))
            anthropic_put(out->builder, "minItems", tn_get(schema, "minItems"));
    }
    tn.value->end(out->builder);
}

tn_value anthropic_convert_schema(tn_value schema) {
    struct structure out = {tn_builder_new(), STRUCTURE_SCHEMAS_MAX};
    structure_put_schema(&out, NULL, schema, NULL, 0);
    return tn_finish(out.builder);
}

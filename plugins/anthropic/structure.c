/*
 * structure.c - the schema of a structured answer, in the part of JSON Schema that the service can hold a model to.
 *
 * What it cannot hold it to (bounds, patterns, lengths, most formats) is told to the model in the description instead;
 * whoever asked checks the answer against the schema as it was. Objects are closed, as the service demands.
 */
#include "anthropic.h"

#define STRUCTURE_DEPTH_MAX   100   /* a schema that is deeper is sent as it is from there */
#define STRUCTURE_SCHEMAS_MAX 10000 /* written out: lists of types may multiply; what is over is sent as it is */

struct structure {
    tn_builder *builder;
    int left; /* schemas that may be written yet */
};

static void put_schema(struct structure *out, const char *key, tn_value schema, const char *type, int depth);

static bool is_one_of(const char *text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0) return true;
    return false;
}

/* Whether the service can hold a model to the keyword, beside a type (NULL: none). */
static bool is_held(const char *keyword, tn_value value, const char *type) {
    static const char *const always[] = {
        "type",       "enum",        "const",       "anyOf", "oneOf", "allOf",    "$defs",   "title",
        "properties", "description", "definitions", "items", "$ref",  "required", "$schema", "additionalProperties"};
    static const char *const formats[] = {"date-time", "time", "date", "duration", "email",
                                          "hostname",  "uri",  "ipv4", "ipv6",     "uuid"};
    int64_t least = -1;
    if (is_one_of(keyword, always, sizeof always / sizeof *always)) return true;
    if (strcmp(keyword, "format") == 0 && tn_chars(value, NULL) != NULL)
        return is_one_of(tn_chars(value, NULL), formats, sizeof formats / sizeof *formats);
    if (strcmp(keyword, "minItems") == 0 && type != NULL && strcmp(type, "array") == 0)
        return tn.value->as_int(value, &least) == TN_OK && (least == 0 || least == 1);
    return false;
}

/* {minimum: 1, …}: what the model is told; NULL where there is nothing to tell. */
static tn_value told_of(tn_value schema, const char *type) {
    tn_value key, value;
    bool any = false;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0; tn.value->entry(schema, i, &key, &value) == TN_OK; i++) {
        if (is_held(tn_chars(key, NULL), value, type)) continue;
        tn_put(builder, tn_chars(key, NULL), value);
        any = true;
    }
    tn.value->end(builder);
    tn_value told = tn.value->finish(builder), text = any ? tn.value->to_json(told) : NULL;
    tn_release(told);
    return text;
}

static void put_description(tn_builder *builder, tn_value schema, const char *type) {
    uint64_t said_length = 0, told_length = 0;
    tn_value described = tn.value->get(schema, "description"), told = told_of(schema, type);
    const char *said = tn_chars(described, &said_length), *more = tn_chars(told, &told_length);
    char *joined = more != NULL ? tn.core->alloc(tn.host, said_length + told_length + 2) : NULL;
    if (joined == NULL) {
        anthropic_put(builder, "description", described);
    } else {
        uint64_t used = said != NULL ? said_length : 0;
        if (used > 0) {
            memcpy(joined, said, used);
            joined[used++] = '\n';
            joined[used++] = '\n';
        }
        memcpy(joined + used, more, told_length);
        tn_put_take(builder, "description", tn_text_n(joined, used + told_length));
        tn.core->release(tn.host, joined);
    }
    tn_release(told);
}

static void put_map(struct structure *out, const char *name, tn_value schemas, int depth) {
    tn_value key, value;
    if (tn.value->kind(schemas) != TN_OBJECT) return;
    tn_put_begin(out->builder, name, TN_OBJECT);
    for (uint64_t i = 0; tn.value->entry(schemas, i, &key, &value) == TN_OK; i++)
        put_schema(out, tn_chars(key, NULL), value, NULL, depth);
    tn.value->end(out->builder);
}

static void put_list(struct structure *out, const char *name, tn_value schemas, int depth) {
    if (tn.value->kind(schemas) != TN_ARRAY) return;
    tn_put_begin(out->builder, name, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(schemas); i < count; i++)
        put_schema(out, NULL, tn.value->at(schemas, i), NULL, depth);
    tn.value->end(out->builder);
}

/* Several types: any of the schema with each of them. */
static void put_types(struct structure *out, tn_value schema, tn_value types, int depth) {
    tn_put_begin(out->builder, "anyOf", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(types); i < count; i++) {
        const char *type = tn_chars(tn.value->at(types, i), NULL);
        if (type != NULL) put_schema(out, NULL, schema, type, depth);
    }
    tn.value->end(out->builder);
}

static void put_object(struct structure *out, tn_value schema, int depth) {
    tn_value properties = tn.value->get(schema, "properties");
    if (tn.value->kind(properties) == TN_OBJECT) {
        put_map(out, "properties", properties, depth);
    } else {
        tn_put_begin(out->builder, "properties", TN_OBJECT);
        tn.value->end(out->builder);
    }
    anthropic_put(out->builder, "required", tn.value->get(schema, "required"));
    tn_put_bool(out->builder, "additionalProperties", 0);
}

/* `type`: the one of the schema's types that is meant, or NULL: as it says. */
static void put_schema(struct structure *out, const char *key, tn_value schema, const char *type, int depth) {
    if (tn.value->kind(schema) != TN_OBJECT || depth > STRUCTURE_DEPTH_MAX || out->left-- <= 0) {
        tn_put(out->builder, key, schema);
        return;
    }
    tn_value types = tn.value->get(schema, "type");
    bool chosen = type != NULL, several = !chosen && tn.value->kind(types) == TN_ARRAY;
    bool literal = tn.value->get(schema, "enum") != NULL || tn.value->get(schema, "const") != NULL;
    if (type == NULL) type = tn_chars(types, NULL);
    tn_put_begin(out->builder, key, TN_OBJECT);
    if (!chosen) { /* beside its types, not in each of them */
        put_map(out, "$defs", tn.value->get(schema, "$defs"), depth + 1);
        put_map(out, "definitions", tn.value->get(schema, "definitions"), depth + 1);
        anthropic_put(out->builder, "$ref", tn.value->get(schema, "$ref"));
    }
    if (several && !literal) {
        put_types(out, schema, types, depth + 1);
    } else if (tn.value->get(schema, "$ref") == NULL) {
        if (tn.value->get(schema, "enum") != NULL) tn_put(out->builder, "enum", tn.value->get(schema, "enum"));
        if (tn.value->get(schema, "const") != NULL) tn_put(out->builder, "const", tn.value->get(schema, "const"));
        if (type != NULL && !literal) tn_put_text(out->builder, "type", type);
        if (!chosen) anthropic_put(out->builder, "title", tn.value->get(schema, "title"));
        put_description(out->builder, schema, type);
        put_list(out, "anyOf", tn.value->get(schema, "anyOf"), depth + 1);
        if (tn.value->get(schema, "anyOf") == NULL) put_list(out, "anyOf", tn.value->get(schema, "oneOf"), depth + 1);
        put_list(out, "allOf", tn.value->get(schema, "allOf"), depth + 1);
        if (type != NULL && strcmp(type, "object") == 0) put_object(out, schema, depth + 1);
        if (tn.value->get(schema, "items") != NULL && type != NULL && strcmp(type, "array") == 0)
            put_schema(out, "items", tn.value->get(schema, "items"), NULL, depth + 1);
        if (type != NULL && strcmp(type, "string") == 0 && is_held("format", tn.value->get(schema, "format"), type))
            tn_put(out->builder, "format", tn.value->get(schema, "format"));
        if (is_held("minItems", tn.value->get(schema, "minItems"), type))
            anthropic_put(out->builder, "minItems", tn.value->get(schema, "minItems"));
    }
    tn.value->end(out->builder);
}

tn_value anthropic_structure(tn_value schema) {
    struct structure out = {tn.value->builder(), STRUCTURE_SCHEMAS_MAX};
    put_schema(&out, NULL, schema, NULL, 0);
    return tn.value->finish(out.builder);
}

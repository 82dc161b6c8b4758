/*
 * schema.c - conversion by keyword: which hold schemas, which are OpenAPI's own, and what 3.0 wrote otherwise.
 */
#include "schema.h"
#include <stdio.h>

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

static bool is_one_of(const char *word, const char *const *words) {
    for (; *words != NULL; words++)
        if (strcmp(word, *words) == 0) return true;
    return false;
}

/* Members that say something to people or to OpenAPI's own tools, or are written otherwise here. */
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

/* A name for `$defs`: the reference's last part, told apart by a number where two files have it. */
static tn_value name_of(const struct schema_maker *maker, const char *reference) {
    const char *slash = strrchr(reference, '/'), *last = slash != NULL ? slash + 1 : reference;
    for (uint32_t again = 0;; again++) {
        struct text name = {.limit = 300};
        char digits[16];
        uint32_t i;
        for (const char *at = *last == '#' ? last + 1 : last; *at != 0 && name.length < 200; at++) {
            bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
            text_add(&name, plain || *at == '_' || *at == '-' || *at == '.' ? at : "_", 1);
        }
        (void)snprintf(digits, sizeof(digits), "_%u", again + 1);
        if (again > 0) text_put(&name, digits);
        for (i = 0; i < maker->count; i++)
            if (strcmp(tn_chars(maker->defs[i].name, NULL), text_chars(&name)) == 0) break;
        if (i == maker->count || name.failed) return text_finish(&name);
        text_free(&name);
    }
}

/* The definition's place in the list; UINT32_MAX where there is none, or no room. */
static uint32_t define(struct schema_maker *maker, struct place place, const char *reference) {
    struct place target = place_target(maker->documents, place, reference);
    if (target.value == NULL) return UINT32_MAX;
    for (uint32_t i = 0; i < maker->count; i++)
        if (maker->defs[i].place.value == target.value) return i;
    if (maker->count >= SCHEMA_DEFS_MAX) return UINT32_MAX;
    struct schema_def *grown =
        tn.core->resize(tn.host, maker->defs, (maker->count + 1u) * sizeof(*grown)); /* few, so one at a time */
    if (grown == NULL) return UINT32_MAX;
    maker->defs = grown;
    tn_value name = name_of(maker, reference);
    if (name == NULL) return UINT32_MAX;
    maker->defs[maker->count] = (struct schema_def){target, name, NULL};
    return maker->count++;
}

static void put_reference(struct schema_maker *maker, tn_builder *out, struct place place, const char *reference) {
    uint32_t index = define(maker, place, reference);
    if (index == UINT32_MAX) return; /* anything */
    struct text path = {.limit = 400};
    text_put(&path, "#/$defs/");
    text_put(&path, tn_chars(maker->defs[index].name, NULL));
    tn_put_take(out, "$ref", text_finish(&path));
}

/* ---- Schemas ---- */

static void put_schema(struct schema_maker *maker, tn_builder *out, const char *key, struct place place);

static bool is_read_only(struct schema_maker *maker, struct place schema) {
    int32_t truth = 0;
    if (schema.value == NULL) return false;
    schema = place_resolve(maker->documents, schema);
    return tn.value->as_bool(tn.value->get(schema.value, "readOnly"), &truth) == TN_OK && truth;
}

static struct place inside(struct place place, tn_value value) { return (struct place){place.document, value}; }

static void put_map(struct schema_maker *maker, tn_builder *out, const char *key, struct place map) {
    tn_put_begin(out, key, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(map.value); i < count; i++) {
        tn_value name, schema;
        if (tn.value->entry(map.value, i, &name, &schema) != TN_OK) break;
        if (is_read_only(maker, inside(map, schema))) continue;
        put_schema(maker, out, tn_chars(name, NULL), inside(map, schema));
    }
    tn.value->end(out);
}

static void put_list(struct schema_maker *maker, tn_builder *out, const char *key, struct place list) {
    if (tn.value->count(list.value) == 0) return;
    tn_put_begin(out, key, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(list.value); i < count; i++)
        put_schema(maker, out, NULL, inside(list, tn.value->at(list.value, i)));
    tn.value->end(out);
}

/* Without those that are only read. */
static void put_required(struct schema_maker *maker, tn_builder *out, struct place schema, tn_value required) {
    tn_value properties = tn.value->get(schema.value, "properties");
    tn_put_begin(out, "required", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(required); i < count; i++) {
        tn_value name = tn.value->at(required, i);
        const char *chars = tn_chars(name, NULL);
        if (chars == NULL || is_read_only(maker, inside(schema, tn.value->get(properties, chars)))) continue;
        tn_put(out, NULL, name);
    }
    tn.value->end(out);
}

static bool is_true(tn_value schema, const char *key) {
    int32_t truth = 0;
    return tn.value->as_bool(tn.value->get(schema, key), &truth) == TN_OK && truth;
}

/* 3.0: a truth beside the bound says that the bound itself is out. */
static bool put_old_bound(tn_builder *out, tn_value schema, const char *key) {
    static const char *const bounds[][2] = {{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}};
    for (int i = 0; i < 2; i++) {
        if (strcmp(key, bounds[i][1]) == 0) return true;
        if (strcmp(key, bounds[i][0]) != 0 || !is_true(schema, bounds[i][1])) continue;
        tn_put(out, bounds[i][1], tn.value->get(schema, key));
        return true;
    }
    return false;
}

/* 3.0's nullable, as one more type, and one more value of an enumeration. */
static bool put_nullable(tn_builder *out, const char *key, tn_value value) {
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
        tn_put_take(out, NULL, tn.value->make_null());
    }
    tn.value->end(out);
    return true;
}

static void put_member(struct schema_maker *maker, tn_builder *out, struct place schema, const char *key,
                       tn_value value, bool nullable) {
    if (strncmp(key, "x-", 2) == 0 || is_one_of(key, dropped)) return;
    if (strcmp(key, "$ref") == 0) {
        const char *reference = tn_chars(value, NULL);
        if (reference != NULL) put_reference(maker, out, schema, reference);
        return;
    }
    if (maker->old && put_old_bound(out, schema.value, key)) return;
    if (nullable && put_nullable(out, key, value)) return;
    if (strcmp(key, "required") == 0 && tn.value->kind(value) == TN_ARRAY)
        put_required(maker, out, schema, value);
    else if (is_one_of(key, of_schemas) && tn.value->kind(value) == TN_OBJECT)
        put_map(maker, out, key, inside(schema, value));
    else if (is_one_of(key, lists) && tn.value->kind(value) == TN_ARRAY)
        put_list(maker, out, key, inside(schema, value));
    else if (is_one_of(key, schemas))
        put_schema(maker, out, key, inside(schema, value));
    else
        tn_put(out, key, value);
}

static void put_members(struct schema_maker *maker, tn_builder *out, struct place schema) {
    bool nullable = maker->old && is_true(schema.value, "nullable");
    tn_value example = tn.value->get(schema.value, "example"), examples = tn.value->get(schema.value, "examples");
    /* 3.0 knows nothing beside a reference but what people read. */
    bool alone = maker->old && tn.value->get(schema.value, "$ref") != NULL;
    for (uint64_t i = 0, count = tn.value->count(schema.value); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema.value, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, NULL);
        if (alone && strcmp(name, "$ref") != 0 && strcmp(name, "description") != 0) continue;
        put_member(maker, out, schema, name, value, nullable);
    }
    if (example != NULL && !alone) {
        tn_put_begin(out, "examples", TN_ARRAY);
        tn_put(out, NULL, example);
        tn.value->end(out);
    } else if (tn.value->kind(examples) == TN_ARRAY && !alone) {
        tn_put(out, "examples", examples);
    }
}

/* {nullable, allOf: […]}: what it says holds, or it is null. */
static bool is_wrapped_null(const struct schema_maker *maker, tn_value schema) {
    return maker->old && is_true(schema, "nullable") && tn.value->get(schema, "type") == NULL &&
           tn.value->get(schema, "enum") == NULL && tn.value->get(schema, "$ref") == NULL;
}

static void put_schema(struct schema_maker *maker, tn_builder *out, const char *key, struct place place) {
    bool object = tn.value->kind(place.value) == TN_OBJECT;
    if (!object || ++maker->nodes > SCHEMA_NODES_MAX || maker->depth >= SCHEMA_DEPTH_MAX) {
        /* A truth is a schema; anything else is none, and lets everything through. */
        int32_t truth = 1;
        if (!object) (void)tn.value->as_bool(place.value, &truth);
        tn_put_bool(out, key, truth);
        return;
    }
    maker->depth++;
    tn_put_begin(out, key, TN_OBJECT);
    if (is_wrapped_null(maker, place.value)) {
        tn_put_begin(out, "anyOf", TN_ARRAY);
        tn_put_begin(out, NULL, TN_OBJECT);
        put_members(maker, out, place);
        tn.value->end(out);
        tn_put_begin(out, NULL, TN_OBJECT);
        tn_put_text(out, "type", "null");
        tn.value->end(out);
        tn.value->end(out);
    } else {
        put_members(maker, out, place);
    }
    tn.value->end(out);
    maker->depth--;
}

/* By itself: a builder makes whole values, so it stands in an array for a moment. */
tn_value schema_convert(struct schema_maker *maker, struct place place) {
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_ARRAY);
    put_schema(maker, out, NULL, place);
    tn.value->end(out);
    tn_value array = tn.value->finish(out), schema = tn_retain(tn.value->at(array, 0));
    tn_release(array);
    return schema;
}

tn_value schema_defs(struct schema_maker *maker) {
    /* Converting one may define more. */
    for (; maker->done < maker->count; maker->done++) {
        tn_value schema = schema_convert(maker, maker->defs[maker->done].place);
        maker->defs[maker->done].schema = schema;
    }
    if (maker->count == 0) return NULL;
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    for (uint32_t i = 0; i < maker->count; i++) tn_put(out, tn_chars(maker->defs[i].name, NULL), maker->defs[i].schema);
    tn.value->end(out);
    return tn.value->finish(out);
}

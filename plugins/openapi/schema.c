/*
 * schema.c - converts keywords: those that contain schemas, those that only OpenAPI has, and those of version 3.0.
 */
#include "schema.h"
#include <tenon/util/build.h>

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

/* ---- The library ---- */

static uint32_t hash_node(tn_value value) {
    uint64_t bits = (uint64_t)(uintptr_t)value * 0x9E3779B97F4A7C15u;
    return (uint32_t)(bits >> 32);
}

static uint32_t hash_name(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name != 0; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* The slot of a definition's schema, or of a name: a free one if there is none. The tables are never full. */
static uint32_t *node_slot(const struct schema_library *library, tn_value value) {
    uint32_t at = hash_node(value) & (library->slots - 1);
    while (library->by_node[at] != 0 && library->defs[library->by_node[at] - 1].node.value != value)
        at = (at + 1) & (library->slots - 1);
    return &library->by_node[at];
}

static uint32_t *name_slot(const struct schema_library *library, const char *name) {
    uint32_t at = hash_name(name) & (library->slots - 1);
    while (library->by_name[at] != 0 && strcmp(tn_chars(library->defs[library->by_name[at] - 1].name, NULL), name) != 0)
        at = (at + 1) & (library->slots - 1);
    return &library->by_name[at];
}

/* Makes room for one more definition, in tables of which at least half is free. */
static bool library_reserve(struct schema_library *library) {
    if (library->count < library->capacity) return true;
    uint32_t capacity = library->capacity > 0 ? library->capacity * 2 : 64, slots = capacity * 2;
    uint64_t size = slots * sizeof(uint32_t);
    struct schema_def *defs = tn.core->resize(tn.host, library->defs, capacity * sizeof(*defs));
    if (defs != NULL) library->defs = defs;
    uint32_t *by_node = tn.core->alloc(tn.host, size), *by_name = tn.core->alloc(tn.host, size);
    if (defs == NULL || by_node == NULL || by_name == NULL) {
        if (by_node != NULL) tn.core->release(tn.host, by_node);
        if (by_name != NULL) tn.core->release(tn.host, by_name);
        return false;
    }
    memset(by_node, 0, size);
    memset(by_name, 0, size);
    if (library->by_node != NULL) tn.core->release(tn.host, library->by_node);
    if (library->by_name != NULL) tn.core->release(tn.host, library->by_name);
    library->by_node = by_node;
    library->by_name = by_name;
    library->capacity = capacity;
    library->slots = slots;
    for (uint32_t i = 0; i < library->count; i++) {
        *node_slot(library, defs[i].node.value) = i + 1;
        *name_slot(library, tn_chars(defs[i].name, NULL)) = i + 1;
    }
    return true;
}

void schema_library_finish(struct schema_library *library) {
    for (uint32_t i = 0; i < library->count; i++) {
        tn_release(library->defs[i].name);
        tn_release(library->defs[i].schema);
        if (library->defs[i].uses.items != NULL) tn.core->release(tn.host, library->defs[i].uses.items);
    }
    if (library->defs != NULL) tn.core->release(tn.host, library->defs);
    if (library->by_node != NULL) tn.core->release(tn.host, library->by_node);
    if (library->by_name != NULL) tn.core->release(tn.host, library->by_name);
    *library = (struct schema_library){0};
}

void schema_finish(struct schema_maker *maker) {
    if (maker->uses.items != NULL) tn.core->release(tn.host, maker->uses.items);
    maker->uses = (struct schema_uses){0};
}

/* ---- References ---- */

/* Returns a name for `$defs`: the last part of the reference, with a number if another definition has that name. */
static tn_value definition_name(const struct schema_library *library, const char *reference) {
    const char *slash = strrchr(reference, '/'), *last = slash != NULL ? slash + 1 : reference;
    for (uint32_t attempt = 0;; attempt++) {
        struct tn_text_buffer name = {.limit = 300};
        for (const char *at = *last == '#' ? last + 1 : last; *at != 0 && name.length < 200; at++) {
            bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
            tn_text_append_n(&name, plain || *at == '_' || *at == '-' || *at == '.' ? at : "_", 1);
        }
        if (attempt > 0) tn_text_append_format(&name, "_%u", attempt + 1);
        if (name.status != TN_OK || *name_slot(library, tn_text_chars(&name)) == 0) return tn_text_finish(&name);
        tn_text_free(&name);
    }
}

static bool uses_add(struct schema_uses *uses, uint32_t index) {
    if (uses->count == uses->capacity) {
        uint32_t capacity = uses->capacity > 0 ? uses->capacity * 2 : 8;
        uint32_t *grown = tn.core->resize(tn.host, uses->items, capacity * sizeof(*grown));
        if (grown == NULL) return false;
        uses->items = grown;
        uses->capacity = capacity;
    }
    uses->items[uses->count++] = index;
    return true;
}

/* Returns the index of the definition in the library, or UINT32_MAX if it has no target or memory runs out. */
static uint32_t add_definition(struct schema_library *library, struct document_node node, const char *reference) {
    struct document_node target = node_follow_reference(library->documents, node, reference);
    if (target.value == NULL || !library_reserve(library)) return UINT32_MAX;
    uint32_t *slot = node_slot(library, target.value);
    if (*slot != 0) return *slot - 1;
    tn_value name = definition_name(library, reference);
    if (name == NULL) return UINT32_MAX;
    uint32_t index = library->count;
    *slot = index + 1;
    *name_slot(library, tn_chars(name, NULL)) = index + 1;
    library->defs[index] = (struct schema_def){.node = target, .name = name};
    library->count++;
    return index;
}

static void put_schema_reference(struct schema_maker *maker, tn_builder *out, struct document_node node,
                                 const char *reference) {
    uint32_t index = add_definition(maker->library, node, reference);
    if (index == UINT32_MAX || !uses_add(&maker->uses, index)) return; /* any value is valid */
    struct tn_text_buffer path = {.limit = 400};
    tn_text_append(&path, "#/$defs/");
    tn_text_append(&path, tn_chars(maker->library->defs[index].name, NULL));
    tn_put_take(out, "$ref", tn_text_finish(&path));
}

/* ---- Schemas ---- */

static void convert_schema(struct schema_maker *maker, tn_builder *out, const char *key, struct document_node node);

bool schema_is_read_only(struct schema_maker *maker, struct document_node schema) {
    int32_t truth = 0;
    if (schema.value == NULL) return false;
    schema = node_resolve(maker->library->documents, schema);
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
        if (schema_is_read_only(maker, schema_context(map, schema))) continue;
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
        if (chars == NULL || schema_is_read_only(maker, schema_context(schema, tn_get(properties, chars)))) continue;
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
    if (maker->library->old && convert_exclusive_bound(out, schema.value, key)) return;
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

void schema_put_keyword(struct schema_maker *maker, tn_builder *out, struct document_node schema, const char *key,
                        tn_value value) {
    put_member(maker, out, schema, key, value, false);
}

static void convert_members(struct schema_maker *maker, tn_builder *out, struct document_node schema) {
    bool nullable = maker->library->old && has_true_member(schema.value, "nullable");
    tn_value example = tn_get(schema.value, "example"), examples = tn_get(schema.value, "examples");
    /* In 3.0, only descriptions have a meaning beside `$ref`. */
    bool ref_only = maker->library->old && tn_get(schema.value, "$ref") != NULL;
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
    return maker->library->old && has_true_member(schema, "nullable") && tn_get(schema, "type") == NULL &&
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

/* Converts a definition at the first use. This may add others to the library, and move them. */
static void convert_definition(struct schema_library *library, uint32_t index) {
    struct schema_maker maker = {.library = library};
    if (library->defs[index].schema != NULL) return;
    tn_value schema = schema_convert(&maker, library->defs[index].node);
    library->defs[index].schema = schema;
    library->defs[index].uses = maker.uses;
    library->defs[index].nodes = maker.nodes;
}

/* Appends the definitions that are not listed yet. */
static bool list_uses(struct schema_library *library, struct schema_uses *list, const struct schema_uses *uses) {
    for (uint32_t i = 0; i < uses->count; i++) {
        struct schema_def *def = &library->defs[uses->items[i]];
        if (def->stamp == library->stamp) continue;
        def->stamp = library->stamp;
        if (!uses_add(list, uses->items[i])) return false;
    }
    return true;
}

tn_value schema_make_definitions(struct schema_maker *maker) {
    struct schema_library *library = maker->library;
    struct schema_uses list = {0};
    tn_builder *out;
    library->stamp++;
    bool good = list_uses(library, &list, &maker->uses);
    if (list.count == 0) return NULL;
    out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    for (uint32_t i = 0; good && i < list.count; i++) {
        /* Beyond the limits a definition is still a target of references, and any value is valid. */
        bool within = i < SCHEMA_DEFS_MAX && maker->nodes < SCHEMA_NODES_MAX;
        if (within) convert_definition(library, list.items[i]);
        struct schema_def *def = &library->defs[list.items[i]];
        if (!within) {
            tn_put_bool(out, tn_chars(def->name, NULL), 1);
            continue;
        }
        maker->nodes += def->nodes;
        tn_put(out, tn_chars(def->name, NULL), def->schema);
        good = list_uses(library, &list, &def->uses);
    }
    tn.value->end(out);
    if (list.items != NULL) tn.core->release(tn.host, list.items);
    tn_value made = tn_finish(out);
    if (good) return made;
    tn_release(made);
    return NULL;
}

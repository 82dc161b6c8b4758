/*
 * method_type_read.c - the type of a JSON Schema, as far as types can express it.
 *
 * Parts of a schema (`allOf`, members beside `$ref`) are merged to one schema first; each alternative of `oneOf` and
 * `anyOf` is merged with what is around it. So a type is never an intersection, which not every language has. The
 * result accepts at least what the schema accepts. The rows are part of the program: their nesting is small.
 */
#include "host/server/method_types_internal.h"
#include <stdio.h>
#include <string.h>

#define MERGES_MAX 32u /* nested references and parts; more is a cycle of `allOf` */

struct type_reading {
    tn_value schemas;
    const char *place;
    struct error *error;
    unsigned depth;
};

/* ---- Keywords ---- */

/* What a keyword does: it selects the type, it only accepts fewer values of the type, or it is a remark. */
enum keyword_effect { SELECTS, NARROWS, REMARKS };

static const struct {
    const char *name;
    enum keyword_effect effect;
} keywords[] = {
    {"type", SELECTS},
    {"properties", SELECTS},
    {"required", SELECTS},
    {"additionalProperties", SELECTS},
    {"patternProperties", SELECTS},
    {"items", SELECTS},
    {"enum", SELECTS},
    {"const", SELECTS},
    {"oneOf", SELECTS},
    {"anyOf", SELECTS},
    {"allOf", SELECTS},
    {"$ref", SELECTS},
    {"minimum", NARROWS},
    {"maximum", NARROWS},
    {"exclusiveMinimum", NARROWS},
    {"exclusiveMaximum", NARROWS},
    {"multipleOf", NARROWS},
    {"minLength", NARROWS},
    {"maxLength", NARROWS},
    {"pattern", NARROWS},
    {"minItems", NARROWS},
    {"maxItems", NARROWS},
    {"uniqueItems", NARROWS},
    {"minProperties", NARROWS},
    {"maxProperties", NARROWS},
    {"propertyNames", NARROWS},
    {"title", REMARKS},
    {"description", REMARKS},
    {"default", REMARKS},
    {"examples", REMARKS},
    {"deprecated", REMARKS},
    {"format", REMARKS},
    {"contentEncoding", REMARKS},
    {"contentMediaType", REMARKS},
    {"x-tenon", REMARKS},
};

static tn_value type_fail(const struct type_reading *reading, const char *found, const char *expected) {
    error_set(reading->error, TN_INVALID, "INVALID", "the schema of %s has %s; types for clients can express %s",
              reading->place, found, expected);
    return NULL;
}

static bool keyword_find(const char *name, enum keyword_effect *effect) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strcmp(keywords[i].name, name) != 0) continue;
        *effect = keywords[i].effect;
        return true;
    }
    return false;
}

/* True also for a keyword that is not in the table: it must not be lost before it is reported. */
static bool keyword_selects(const char *name) {
    enum keyword_effect effect = SELECTS;
    (void)keyword_find(name, &effect);
    return effect == SELECTS;
}

static bool keywords_are_known(const struct type_reading *reading, tn_value schema) {
    for (size_t i = 0; i < value_count(schema); i++) {
        const char *name = value_chars(value_key_at(schema, i), NULL);
        enum keyword_effect effect;
        char found[100];
        if (keyword_find(name, &effect)) continue;
        (void)snprintf(found, sizeof found, "the keyword `%.60s`", name);
        (void)type_fail(reading, found, "only the keywords that host/server/method_type_read.c lists: add it there");
        return false;
    }
    return true;
}

/* True if the schema has a keyword that selects a type. */
static bool is_selecting(tn_value schema) {
    for (size_t i = 0; i < value_count(schema); i++)
        if (keyword_selects(value_chars(value_key_at(schema, i), NULL))) return true;
    return false;
}

static bool has_only(tn_value schema, const char *keyword) {
    for (size_t i = 0; i < value_count(schema); i++) {
        const char *name = value_chars(value_key_at(schema, i), NULL);
        if (strcmp(name, keyword) != 0 && keyword_selects(name)) return false;
    }
    return value_get(schema, keyword) != NULL;
}

static tn_value without(tn_value schema, const char *keyword) {
    return value_remove_take(value_ref(schema), value_text(keyword));
}

static bool texts_contain(tn_value texts, tn_value text) {
    for (size_t i = 0; i < value_count(texts); i++)
        if (value_equal(value_at(texts, i), text)) return true;
    return false;
}

/* ---- Merging ---- */

/* The name in `#/components/schemas/NAME`; NULL if the reference has another form. */
static const char *reference_name(tn_value reference) {
    static const char place[] = "#/components/schemas/";
    const char *at = value_is(reference, TN_STRING) ? value_chars(reference, NULL) : "";
    return strncmp(at, place, sizeof place - 1) == 0 ? at + sizeof place - 1 : NULL;
}

/* The shared schema that is referred to, borrowed. */
static tn_value reference_target(const struct type_reading *reading, tn_value reference) {
    const char *name = reference_name(reference);
    tn_value target = name ? value_get(reading->schemas, name) : NULL;
    return target ? target : type_fail(reading, "an unknown reference", "references to #/components/schemas/NAME");
}

static tn_value merged_properties_take(tn_value all, tn_value more) {
    for (size_t i = 0; i < value_count(more); i++) {
        tn_value name = value_key_at(more, i), schema = value_ref(value_value_at(more, i));
        tn_value known = value_get_key(all, name);
        if (known && !value_equal(known, schema)) {
            tn_value both = value_push_take(value_push_take(value_array(), value_ref(known)), schema);
            schema = value_set_take(value_object(), "allOf", both);
        }
        all = value_set_key_take(all, value_ref(name), schema);
    }
    return all;
}

static tn_value merged_required_take(tn_value all, tn_value more) {
    for (size_t i = 0; i < value_count(more); i++)
        if (!texts_contain(all, value_at(more, i))) all = value_push_take(all, value_ref(value_at(more, i)));
    return all;
}

/* A keyword of both schemas with different values; NULL if they cannot be merged. */
static tn_value merged_keyword(const struct type_reading *reading, const char *name, tn_value one, tn_value two) {
    if (strcmp(name, "properties") == 0) return merged_properties_take(value_ref(one), two);
    if (strcmp(name, "required") == 0) return merged_required_take(value_ref(one), two);
    if (strcmp(name, "additionalProperties") == 0 && value_is(one, TN_BOOL))
        return value_ref(value_to_bool(one) ? two : one);
    if (strcmp(name, "additionalProperties") == 0 && value_is(two, TN_BOOL))
        return value_ref(value_to_bool(two) ? one : two);
    if (!keyword_selects(name)) return value_ref(one);
    char found[100];
    (void)snprintf(found, sizeof found, "parts with a different `%.60s`", name);
    return type_fail(reading, found, "parts that add members to an object");
}

/* Consumes `schema`. */
static tn_value merge_take(const struct type_reading *reading, tn_value schema, tn_value part) {
    for (size_t i = 0; schema && i < value_count(part); i++) {
        tn_value key = value_key_at(part, i), value = value_value_at(part, i), known = value_get_key(schema, key);
        tn_value merged = !known || value_equal(known, value)
                              ? value_ref(value)
                              : merged_keyword(reading, value_chars(key, NULL), known, value);
        if (merged) {
            schema = value_set_key_take(schema, value_ref(key), merged);
        } else {
            value_unref(schema);
            schema = NULL;
        }
    }
    return schema;
}

/* The schema without `$ref` and `allOf`, whose parts are merged into it; a new reference. */
static tn_value type_flatten(struct type_reading *reading, tn_value schema) {
    tn_value reference = value_get(schema, "$ref"), parts = value_get(schema, "allOf");
    if (!reference && !parts) return value_ref(schema);
    if (reading->depth == MERGES_MAX) return type_fail(reading, "parts that contain themselves", "finite schemas");
    reading->depth++;
    tn_value own = without(schema, "$ref"), flat = without(own, "allOf");
    value_unref(own);
    size_t count = value_count(parts) + (reference != NULL);
    for (size_t i = 0; flat && i < count; i++) {
        tn_value from = i < value_count(parts) ? value_at(parts, i) : reference_target(reading, reference);
        tn_value part = from ? type_flatten(reading, from) : NULL;
        if (part) {
            flat = merge_take(reading, flat, part);
        } else {
            value_unref(flat);
            flat = NULL;
        }
        value_unref(part);
    }
    reading->depth--;
    return flat;
}

/* ---- Types ---- */

static tn_value type_of_schema(struct type_reading *reading, tn_value schema);

static tn_value type_new(const char *is) { return value_set_take(value_object(), "is", value_text(is)); }

static tn_value type_with_take(const char *is, const char *key, tn_value value) {
    return value ? value_set_take(type_new(is), key, value) : NULL;
}

/* Adds a type, or the types of a union, without duplicates. */
static tn_value union_add_take(tn_value types, tn_value type) {
    tn_value inner = type_is(type, "union") ? value_get(type, "of") : NULL;
    for (size_t i = 0; i < value_count(inner); i++) types = union_add_take(types, value_ref(value_at(inner, i)));
    if (!inner && !texts_contain(types, type)) return value_push_take(types, type);
    value_unref(type);
    return types;
}

static tn_value union_new_take(tn_value types) {
    if (value_count(types) != 1) return type_with_take("union", "of", types);
    tn_value only = value_ref(value_at(types, 0));
    value_unref(types);
    return only;
}

static tn_value type_of_literals(const struct type_reading *reading, tn_value values) {
    for (size_t i = 0; i < value_count(values); i++) {
        int kind = value_kind(value_at(values, i));
        if (kind != TN_NULL && kind != TN_BOOL && kind != TN_INT && kind != TN_STRING)
            return type_fail(reading, "an `enum` or `const` with another value", "null, booleans, integers and texts");
    }
    return type_with_take("literal", "values", value_ref(values));
}

/* ---- Alternatives ---- */

/*
 * For alternatives that only require members: each member that another alternative adds to this one's cannot be
 * present, because `oneOf` accepts only one of them. The property's schema becomes `false`.
 */
static tn_value exclude_others_take(tn_value schema, tn_value alternatives, tn_value alternative) {
    tn_value own = value_get(alternative, "required"), properties = value_ref(value_get(schema, "properties"));
    for (size_t i = 0; i < value_count(alternatives); i++) {
        tn_value other = value_get(value_at(alternatives, i), "required"), only = NULL;
        size_t added = 0;
        for (size_t j = 0; j < value_count(other); j++)
            if (!texts_contain(own, value_at(other, j))) only = value_at(other, j), added++;
        if (added == 1) properties = value_set_key_take(properties, value_ref(only), value_bool(false));
    }
    return value_set_take(schema, "properties", properties);
}

static bool only_require_members(tn_value alternatives) {
    for (size_t i = 0; i < value_count(alternatives); i++)
        if (!has_only(value_at(alternatives, i), "required")) return false;
    return true;
}

/* One alternative, merged with the schema around it; a new reference. */
static tn_value alternative_schema(struct type_reading *reading, tn_value around, tn_value alternatives, size_t index,
                                   bool exclusive) {
    tn_value alternative = value_at(alternatives, index);
    if (!is_selecting(around)) return value_ref(alternative);
    tn_value part = type_flatten(reading, alternative);
    if (!part) return NULL;
    tn_value merged = merge_take(reading, value_ref(around), part);
    value_unref(part);
    bool excludes = merged && exclusive && value_get(merged, "properties");
    return excludes ? exclude_others_take(merged, alternatives, alternative) : merged;
}

/*
 * A name for an object among alternatives: its title, or the only member that it requires if the alternatives differ in
 * these. Types with a name of their own have no use for it.
 */
static tn_value alternative_set_title_take(tn_value type, tn_value alternative, bool required) {
    tn_value title = value_get(alternative, "title"), members = value_get(alternative, "required");
    if (!title && required && value_count(members) == 1) title = value_at(members, 0);
    return title && type_is(type, "object") ? value_set_take(type, "title", value_ref(title)) : type;
}

static tn_value type_of_alternatives(struct type_reading *reading, tn_value schema, const char *keyword) {
    tn_value alternatives = value_get(schema, keyword), around = without(schema, keyword), types = value_array();
    bool required = only_require_members(alternatives) && is_selecting(around);
    bool exclusive = required && strcmp(keyword, "oneOf") == 0;
    for (size_t i = 0; types && i < value_count(alternatives); i++) {
        tn_value whole = alternative_schema(reading, around, alternatives, i, exclusive);
        tn_value type = whole ? type_of_schema(reading, whole) : NULL;
        value_unref(whole);
        if (type) {
            types = union_add_take(types, alternative_set_title_take(type, value_at(alternatives, i), required));
        } else {
            value_unref(types);
            types = NULL;
        }
    }
    tn_value whole = types ? union_new_take(types) : NULL;
    bool overlaps = whole && required && !exclusive && type_is(whole, "union");
    tn_value all = overlaps ? type_of_schema(reading, around) : NULL;
    value_unref(around);
    return all ? value_set_take(whole, "around", all) : whole;
}

/* ---- Objects ---- */

static tn_value member_new(struct type_reading *reading, tn_value name, tn_value schema, bool required) {
    tn_value type = schema ? type_of_schema(reading, schema) : type_new("any");
    if (!type) return NULL;
    tn_value member = value_set_take(value_object(), "name", value_ref(name));
    static const char *const remarks[] = {"description", "default"};
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++) {
        tn_value remark = value_get(schema, remarks[i]);
        if (remark) member = value_set_take(member, remarks[i], value_ref(remark));
    }
    member = value_set_take(member, "required", value_bool(required));
    return value_set_take(member, "type", type);
}

/* The members in the order of `properties`, then required ones that it does not have. */
static tn_value type_members(struct type_reading *reading, tn_value schema) {
    tn_value properties = value_get(schema, "properties"), required = value_get(schema, "required");
    tn_value members = value_array();
    size_t declared = value_count(properties);
    for (size_t i = 0; i < declared + value_count(required); i++) {
        tn_value name = i < declared ? value_key_at(properties, i) : value_at(required, i - declared);
        if (i >= declared && value_get_key(properties, name)) continue;
        tn_value of = i < declared ? value_value_at(properties, i) : NULL;
        tn_value member = member_new(reading, name, of, texts_contain(required, name));
        if (!member) {
            value_unref(members);
            return NULL;
        }
        members = value_push_take(members, member);
    }
    return members;
}

/* The values of members with any name, of an open object. */
static tn_value type_of_other_members(struct type_reading *reading, tn_value schema) {
    tn_value others = value_get(schema, "additionalProperties"), patterns = value_get(schema, "patternProperties");
    tn_value types = value_array();
    bool closed = others && value_is(others, TN_BOOL) && !value_to_bool(others);
    for (size_t i = 0; i < value_count(patterns) + !closed; i++) {
        tn_value one = i < value_count(patterns) ? value_value_at(patterns, i) : others ? others : value_bool(true);
        tn_value type = type_of_schema(reading, one);
        if (!type) {
            value_unref(types);
            return NULL;
        }
        if (type_is(type, "any")) { /* every other type is a part of it */
            value_unref(types);
            return type;
        }
        types = union_add_take(types, type);
    }
    return union_new_take(types);
}

/* {$bytes: TEXT}, the form of bytes in JSON. */
static bool is_form_of_bytes(tn_value members, bool open) {
    tn_value only = !open && value_count(members) == 1 ? value_at(members, 0) : NULL;
    return value_text_is(value_get(only, "name"), "$bytes") && type_flag(only, "required") &&
           type_is(value_get(only, "type"), "string");
}

static tn_value type_of_object(struct type_reading *reading, tn_value schema) {
    tn_value others = value_get(schema, "additionalProperties"), patterns = value_get(schema, "patternProperties");
    bool open = patterns || !others || !value_is(others, TN_BOOL) || value_to_bool(others);
    bool declared = value_count(value_get(schema, "properties")) > 0;
    tn_value members = type_members(reading, schema);
    if (!members) return NULL;
    if (open && !value_count(members)) return type_with_take("map", "of", type_of_other_members(reading, schema));
    if (is_form_of_bytes(members, open)) {
        value_unref(members);
        return type_new("bytes");
    }
    tn_value type = type_with_take("object", "members", members);
    type = value_set_take(type, "open", value_bool(open));
    return value_set_take(type, "declared", value_bool(declared || !open));
}

/* ---- By keyword ---- */

static tn_value type_of_kind(struct type_reading *reading, tn_value schema, const char *kind) {
    static const char *const plain[] = {"null", "boolean", "integer", "number", "string", "bytes"};
    if (strcmp(kind, "object") == 0) return type_of_object(reading, schema);
    if (strcmp(kind, "array") == 0) {
        tn_value items = value_get(schema, "items");
        return type_with_take("list", "of", items ? type_of_schema(reading, items) : type_new("any"));
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(kind, plain[i]) == 0) return type_new(kind);
    return type_fail(reading, "an unknown `type`", "the types of JSON Schema, and bytes");
}

static tn_value type_of_kinds(struct type_reading *reading, tn_value schema, tn_value kinds) {
    tn_value types = value_array();
    for (size_t i = 0; i < value_count(kinds); i++) {
        tn_value type = type_of_kind(reading, schema, value_chars(value_at(kinds, i), NULL));
        if (!type) {
            value_unref(types);
            return NULL;
        }
        types = union_add_take(types, type);
    }
    return union_new_take(types);
}

/* A schema without `$ref` and `allOf`. One without a type, but with keywords of objects or arrays, describes these. */
static tn_value type_of_flat(struct type_reading *reading, tn_value schema) {
    tn_value type = value_get(schema, "type"), one = value_get(schema, "const");
    if (one) {
        tn_value values = value_push_take(value_array(), value_ref(one)), literal = type_of_literals(reading, values);
        value_unref(values);
        return literal;
    }
    if (value_get(schema, "enum")) return type_of_literals(reading, value_get(schema, "enum"));
    if (value_get(schema, "oneOf")) return type_of_alternatives(reading, schema, "oneOf");
    if (value_get(schema, "anyOf")) return type_of_alternatives(reading, schema, "anyOf");
    if (value_is(type, TN_ARRAY)) return type_of_kinds(reading, schema, type);
    if (type) return type_of_kind(reading, schema, value_chars(type, NULL));
    if (value_get(schema, "items")) return type_of_kind(reading, schema, "array");
    return is_selecting(schema) ? type_of_object(reading, schema) : type_new("any");
}

/* The only part of a schema that selects a type, if it is a single one in `allOf`; NULL otherwise. Borrowed. */
static tn_value single_part(tn_value schema) {
    tn_value parts = value_get(schema, "allOf"), single = NULL;
    if (!has_only(schema, "allOf")) return NULL;
    for (size_t i = 0; i < value_count(parts); i++) {
        if (!is_selecting(value_at(parts, i))) continue;
        if (single) return NULL;
        single = value_at(parts, i);
    }
    return single;
}

static tn_value type_of_schema(struct type_reading *reading, tn_value schema) {
    if (value_is(schema, TN_BOOL)) return type_new(value_to_bool(schema) ? "any" : "never");
    if (!value_is(schema, TN_OBJECT)) return type_fail(reading, "a part that is not a schema", "objects and booleans");
    if (!keywords_are_known(reading, schema)) return NULL;
    tn_value single = single_part(schema);
    if (single) return type_of_schema(reading, single);
    if (has_only(schema, "$ref")) {
        tn_value reference = value_get(schema, "$ref");
        if (!reference_target(reading, reference)) return NULL;
        return type_with_take("ref", "name", value_text(reference_name(reference)));
    }
    tn_value flat = type_flatten(reading, schema);
    tn_value type = flat && keywords_are_known(reading, flat) ? type_of_flat(reading, flat) : NULL;
    value_unref(flat);
    return type;
}

tn_value type_read(tn_value schema, tn_value schemas, const char *place, struct error *error) {
    struct type_reading reading = {.schemas = schemas, .place = place, .error = error};
    return type_of_schema(&reading, schema);
}

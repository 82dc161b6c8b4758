/*
 * exercise_generate.c - walks through the schema and makes a seeded random choice wherever the schema allows several.
 *
 * Combined schemas (allOf, $ref beside other members, a branch of anyOf or oneOf) are merged first. The later schema
 * replaces the members of the earlier one, except `properties` and `required`, which are joined. This is right for most
 * schemas; the caller validates the result.
 */
#include "host/plugin/conformance/exercise_generate.h"
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 8u
#define ITEMS_MAX 100
#define BOUND_MAX (INT64_MAX / 4) /* larger bounds are cut, so that calculations do not overflow */

struct generation {
    struct generator *generator;
    tn_value root; /* $ref points into it */
};

uint64_t generate_number(struct generator *generator, uint64_t below) { /* splitmix64 */
    uint64_t mixed = generator->state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return (mixed ^ (mixed >> 31)) % below;
}

static tn_value generate_choice(struct generator *generator, tn_value list) {
    return value_at(list, generate_number(generator, value_count(list)));
}

static bool is_filled_array(tn_value value) { return value_is(value, TN_ARRAY) && value_count(value) > 0; }

static bool array_has(tn_value list, tn_value item) {
    for (size_t i = 0; value_is(list, TN_ARRAY) && i < value_count(list); i++)
        if (value_equal(value_at(list, i), item)) return true;
    return false;
}

/* ---- Merging schemas ---- */

static tn_value schema_merge_take(tn_value to, tn_value from) {
    for (size_t i = 0; value_is(from, TN_OBJECT) && i < value_count(from); i++) {
        tn_value key = value_key_at(from, i), value = value_value_at(from, i);
        const char *name = value_chars(key, NULL);
        tn_value old = value_get(to, name);
        if (old && strcmp(name, "properties") == 0)
            value = schema_merge_take(value_ref(old), value);
        else if (is_filled_array(old) && is_filled_array(value) && strcmp(name, "required") == 0)
            value = value_concat_take(value_ref(old), value_ref(value));
        else
            value_ref(value);
        to = value_set_key_take(to, value_ref(key), value);
    }
    return to;
}

/* Resolves a JSON pointer such as "/$defs/a~1b"; NULL if it leads nowhere. Borrowed. */
static tn_value schema_resolve_pointer(tn_value at, const char *pointer) {
    while (at && *pointer == '/') {
        char name[256];
        size_t length = 0;
        for (pointer++; *pointer && *pointer != '/' && length < sizeof name - 1; pointer++) {
            bool escape = *pointer == '~' && (pointer[1] == '0' || pointer[1] == '1');
            name[length++] = !escape ? *pointer : *++pointer == '0' ? '~' : '/';
        }
        name[length] = 0;
        at = value_is(at, TN_OBJECT) ? value_get(at, name) : NULL;
    }
    return *pointer ? NULL : at;
}

static tn_value schema_flatten(const struct generation *generation, tn_value schema, unsigned depth);

static tn_value schema_add_take(const struct generation *generation, tn_value to, tn_value schema, unsigned depth) {
    tn_value flat = schema_flatten(generation, schema, depth + 1);
    to = schema_merge_take(to, flat);
    value_unref(flat);
    return to;
}

/* Merges the schema, everything that it refers to, and one branch of each choice; a new reference. */
static tn_value schema_flatten(const struct generation *generation, tn_value schema, unsigned depth) {
    if (!value_is(schema, TN_OBJECT) || depth > DEPTH_MAX) return value_object();
    tn_value all = value_object(), reference = value_get(schema, "$ref"), parts = value_get(schema, "allOf");
    const char *target = value_is(reference, TN_STRING) ? value_chars(reference, NULL) : NULL;
    if (target && target[0] == '#')
        all = schema_add_take(generation, all, schema_resolve_pointer(generation->root, target + 1), depth);
    for (size_t i = 0; value_is(parts, TN_ARRAY) && i < value_count(parts); i++)
        all = schema_add_take(generation, all, value_at(parts, i), depth);
    static const char *const choices[] = {"anyOf", "oneOf"};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (is_filled_array(value_get(schema, choices[i])))
            all = schema_add_take(generation, all,
                                  generate_choice(generation->generator, value_get(schema, choices[i])), depth);
    return schema_merge_take(all, schema);
}

/* ---- Values of each type ---- */

static tn_value generate_value(const struct generation *generation, tn_value schema, unsigned depth);

/* A numeric member, cut to BOUND_MAX. */
static int64_t schema_bound(tn_value schema, const char *key, int64_t otherwise) {
    tn_value found = value_get(schema, key);
    int64_t number;
    if (!found || !value_is_number(found) || !value_as_int(found, &number)) return otherwise;
    return number < -BOUND_MAX ? -BOUND_MAX : number > BOUND_MAX ? BOUND_MAX : number;
}

static tn_value generate_object(const struct generation *generation, tn_value schema, unsigned depth) {
    tn_value properties = value_get(schema, "properties"), required = value_get(schema, "required");
    tn_value others = value_get(schema, "additionalProperties"), object = value_object();
    for (size_t i = 0; value_is(properties, TN_OBJECT) && i < value_count(properties); i++) {
        tn_value key = value_key_at(properties, i);
        if (!array_has(required, key) && generate_number(generation->generator, 2)) continue;
        object = value_set_key_take(object, value_ref(key),
                                    generate_value(generation, value_value_at(properties, i), depth + 1));
    }
    for (size_t i = 0; value_is(required, TN_ARRAY) && i < value_count(required); i++) {
        tn_value key = value_at(required, i);
        if (value_is(key, TN_STRING) && !value_get(object, value_chars(key, NULL)))
            object = value_set_key_take(object, value_ref(key), generate_value(generation, others, depth + 1));
    }
    if (value_is(others, TN_OBJECT) && generate_number(generation->generator, 2))
        object = value_set_take(object, "another", generate_value(generation, others, depth + 1));
    return object;
}

static tn_value generate_array(const struct generation *generation, tn_value schema, unsigned depth) {
    int64_t least = schema_bound(schema, "minItems", 0), most = schema_bound(schema, "maxItems", least + 3);
    tn_value first = value_get(schema, "prefixItems"), items = value_get(schema, "items"), array = value_array();
    if (least > ITEMS_MAX) least = ITEMS_MAX;
    if (most > least + 3) most = least + 3;
    if (most < least) most = least;
    int64_t count = least + (int64_t)generate_number(generation->generator, (uint64_t)(most - least) + 1);
    for (int64_t i = 0; i < count; i++) {
        bool fixed = value_is(first, TN_ARRAY) && (size_t)i < value_count(first);
        array =
            value_push_take(array, generate_value(generation, fixed ? value_at(first, (size_t)i) : items, depth + 1));
    }
    return array;
}

/* For fields with `x-tenon`: each is a template without holes, and a name. */
static const char *const safe_names[] = {"a", "b", "key", "x1"};
/* Valid whatever names the field has. */
static const char *const safe_expressions[] = {"1", "true", "\"b\"", "[1, 2]", "1 + 1 == 2 ? \"a\" : \"b\""};

static tn_value generate_text(const struct generation *generation, tn_value schema) {
    static const char *const texts[] = {"a", "text", "key", "x1", "\xc3\xa9\xe2\x82\xac", "one two three"};
    char padded[256];
    if (value_text_is(value_get(schema, "x-tenon"), "expression"))
        return value_text(safe_expressions[generate_number(generation->generator,
                                                           sizeof safe_expressions / sizeof *safe_expressions)]);
    if (value_get(schema, "x-tenon"))
        return value_text(safe_names[generate_number(generation->generator, sizeof safe_names / sizeof *safe_names)]);
    int64_t least = schema_bound(schema, "minLength", 0), most = schema_bound(schema, "maxLength", 200);
    const char *text = texts[generate_number(generation->generator, sizeof texts / sizeof *texts)];
    if (most < 1) return value_text("");
    if ((int64_t)strlen(text) > most) text = "a";
    if (least <= (int64_t)strlen(text) || least >= (int64_t)sizeof padded) return value_text(text);
    memset(padded, 'a', (size_t)least);
    padded[least] = 0;
    return value_text(padded);
}

static tn_value generate_numeric(const struct generation *generation, tn_value schema) {
    int64_t least = schema_bound(schema, "minimum", schema_bound(schema, "exclusiveMinimum", -4) + 1);
    int64_t most = schema_bound(schema, "maximum", schema_bound(schema, "exclusiveMaximum", 101) - 1);
    int64_t step = schema_bound(schema, "multipleOf", 1);
    if (most < least) most = least;
    uint64_t span = (uint64_t)most - (uint64_t)least;
    int64_t number = least + (int64_t)generate_number(generation->generator, span < 1000 ? span + 1 : 1000);
    if (generate_number(generation->generator, 4) == 0)
        number = generate_number(generation->generator, 2) ? least : most;
    return value_int(step > 1 ? number / step * step : number);
}

static tn_value generate_flat(const struct generation *generation, tn_value schema, unsigned depth) {
    static const char *const types[] = {"null", "boolean", "integer", "string"};
    struct generator *generator = generation->generator;
    tn_value constant = value_get(schema, "const"), choices = value_get(schema, "enum");
    tn_value otherwise = value_get(schema, "default"), examples = value_get(schema, "examples");
    if (constant) return value_ref(constant);
    if (is_filled_array(choices)) return value_ref(generate_choice(generator, choices));
    if (otherwise && generate_number(generator, 3) == 0) return value_ref(otherwise);
    if (is_filled_array(examples) && generate_number(generator, 2))
        return value_ref(generate_choice(generator, examples));
    tn_value type = value_get(schema, "type");
    if (is_filled_array(type)) type = generate_choice(generator, type);
    const char *name = value_is(type, TN_STRING)                                          ? value_chars(type, NULL)
                       : value_get(schema, "properties") || value_get(schema, "required") ? "object"
                       : value_get(schema, "items")                                       ? "array"
                                                    : types[generate_number(generator, 4)];
    if (strcmp(name, "object") == 0) return generate_object(generation, schema, depth);
    if (strcmp(name, "array") == 0) return generate_array(generation, schema, depth);
    if (strcmp(name, "string") == 0) return generate_text(generation, schema);
    if (strcmp(name, "boolean") == 0) return value_bool(generate_number(generator, 2));
    if (strcmp(name, "null") == 0) return value_null();
    if (strcmp(name, "number") == 0 && !value_get(schema, "minimum") && generate_number(generator, 2))
        return value_double(0.5);
    return generate_numeric(generation, schema);
}

static tn_value generate_value(const struct generation *generation, tn_value schema, unsigned depth) {
    if (!value_is(schema, TN_OBJECT) || depth > DEPTH_MAX) return value_text("text");
    tn_value flat = schema_flatten(generation, schema, 0), made = generate_flat(generation, flat, depth);
    value_unref(flat);
    return made;
}

tn_value generate(struct generator *generator, tn_value schema) {
    return generate_value(&(struct generation){generator, schema}, schema, 0);
}

/* ---- Mutants ---- */

/* A value that `schema` probably does not allow. */
static tn_value generate_wrong(const struct generation *generation, tn_value schema) {
    static const char *const bounds[] = {"minimum", "maximum", "maxLength", "maxItems"};
    size_t which = generate_number(generation->generator, 8);
    int64_t limit = which < 4 && value_get(schema, bounds[which]) ? schema_bound(schema, bounds[which], 0) : INT64_MIN;
    char padded[1024];
    if (limit > -INT64_MAX && which == 0) return value_int(limit - 1);
    if (limit > INT64_MIN && limit < INT64_MAX && which == 1) return value_int(limit + 1);
    if (limit >= 0 && limit < (int64_t)sizeof padded - 2 && which == 2) {
        memset(padded, 'a', (size_t)limit + 1);
        padded[limit + 1] = 0;
        return value_text(padded);
    }
    switch (which) {
    case 4: return value_int(-1);
    case 5: return value_text("");
    case 6: return value_push_take(value_array(), value_null());
    case 7: return value_set_take(value_object(), "a", value_null());
    default: return value_null();
    }
}

static tn_value generate_mutation(const struct generation *generation, tn_value schema, tn_value value,
                                  unsigned depth) {
    struct generator *generator = generation->generator;
    size_t count = value_is(value, TN_OBJECT) ? value_count(value) : 0;
    if (depth > 0 && (!count || generate_number(generator, 2))) return generate_wrong(generation, schema);
    if (!value_is(value, TN_OBJECT)) return value_set_take(value_object(), "no-such-key", value_int(1));
    if (!count || generate_number(generator, 5) == 0)
        return value_set_take(value_ref(value), "no-such-key", value_int(1));
    tn_value key = value_key_at(value, generate_number(generator, count));
    if (generate_number(generator, 4) == 0) return value_remove_take(value_ref(value), value_ref(key));
    const char *name = value_chars(key, NULL);
    tn_value flat = schema_flatten(generation, value_get(value_get(schema, "properties"), name), 0);
    tn_value wrong = generate_mutation(generation, flat, value_get(value, name), depth + 1);
    value_unref(flat);
    return value_set_key_take(value_ref(value), value_ref(key), wrong);
}

tn_value generate_mutant(struct generator *generator, tn_value schema, tn_value value) {
    struct generation generation = {generator, schema};
    tn_value flat = schema_flatten(&generation, schema, 0), wrong = generate_mutation(&generation, flat, value, 0);
    value_unref(flat);
    return wrong;
}

/*
 * generate.c - a small generator: what manifests' schemas are made of, and no more.
 */
#include "host/check/generate.h"
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 6u

uint64_t generate_number(struct generator *generator, uint64_t below) { /* splitmix64 */
    uint64_t mixed = generator->state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return (mixed ^ (mixed >> 31)) % below;
}

static tn_value pick(struct generator *generator, tn_value list) {
    return value_ref(value_at(list, generate_number(generator, value_count(list))));
}

static int64_t bound(tn_value schema, const char *key, int64_t otherwise) {
    tn_value found = value_get(schema, key);
    int64_t number;
    return found && value_is_number(found) && value_as_int(found, &number) ? number : otherwise;
}

static tn_value make_object(struct generator *generator, tn_value schema, unsigned depth) {
    tn_value properties = value_get(schema, "properties"), required = value_get(schema, "required");
    tn_value object = value_object();
    for (size_t i = 0; value_is(properties, TN_OBJECT) && i < value_count(properties); i++) {
        tn_value key = value_key_at(properties, i);
        bool needed = false;
        for (size_t j = 0; value_is(required, TN_ARRAY) && j < value_count(required); j++)
            needed |= value_equal(value_at(required, j), key);
        if (!needed && generate_number(generator, 2)) continue;
        object =
            value_set_key_take(object, value_ref(key), generate(generator, value_value_at(properties, i), depth + 1));
    }
    return object;
}

static tn_value make_array(struct generator *generator, tn_value schema, unsigned depth) {
    int64_t least = bound(schema, "minItems", 0), most = bound(schema, "maxItems", least + 3);
    if (most > least + 3) most = least + 3;
    if (least > 100) least = most = 100;
    tn_value array = value_array(), items = value_get(schema, "items");
    int64_t count = least + (int64_t)generate_number(generator, (uint64_t)(most > least ? most - least + 1 : 1));
    for (int64_t i = 0; i < count; i++) array = value_push_take(array, generate(generator, items, depth + 1));
    return array;
}

static tn_value make_text(struct generator *generator, tn_value schema) {
    static const char *const texts[] = {"a", "text", "key", "x1", "\xc3\xa9\xe2\x82\xac", "one two three"};
    char padded[256];
    int64_t least = bound(schema, "minLength", 0), most = bound(schema, "maxLength", 200);
    const char *text = texts[generate_number(generator, sizeof texts / sizeof *texts)];
    if (most < 1) return value_text("");
    if ((int64_t)strlen(text) > most) text = "a";
    if (least <= (int64_t)strlen(text) || least >= (int64_t)sizeof padded) return value_text(text);
    memset(padded, 'a', (size_t)least);
    padded[least] = 0;
    return value_text(padded);
}

static tn_value make_number(struct generator *generator, tn_value schema) {
    int64_t least = bound(schema, "minimum", -3), most = bound(schema, "maximum", 100);
    if (most < least) most = least;
    uint64_t span = (uint64_t)most - (uint64_t)least;
    if (generate_number(generator, 4) == 0) return value_int(generate_number(generator, 2) ? least : most);
    return value_int((int64_t)((uint64_t)least + generate_number(generator, span < 1000 ? span + 1 : 1000)));
}

tn_value generate(struct generator *generator, tn_value schema, unsigned depth) {
    static const char *const types[] = {"null", "boolean", "integer", "string", "array", "object"};
    tn_value choices = value_get(schema, "enum"), constant = value_get(schema, "const");
    tn_value otherwise = value_get(schema, "default"), examples = value_get(schema, "examples");
    if (!value_is(schema, TN_OBJECT) || depth > DEPTH_MAX) return value_text("text");
    if (constant) return value_ref(constant);
    if (value_count(choices) > 0 && value_is(choices, TN_ARRAY)) return pick(generator, choices);
    if (otherwise && generate_number(generator, 3) == 0) return value_ref(otherwise);
    if (value_is(examples, TN_ARRAY) && value_count(examples) > 0 && generate_number(generator, 2))
        return pick(generator, examples);
    tn_value type = value_get(schema, "type");
    if (value_is(type, TN_ARRAY) && value_count(type) > 0)
        type = value_at(type, generate_number(generator, value_count(type)));
    const char *name = value_is(type, TN_STRING)         ? value_chars(type, NULL)
                       : value_get(schema, "properties") ? "object"
                                                         : types[generate_number(generator, 4)];
    if (strcmp(name, "object") == 0) return make_object(generator, schema, depth);
    if (strcmp(name, "array") == 0) return make_array(generator, schema, depth);
    if (strcmp(name, "string") == 0) return make_text(generator, schema);
    if (strcmp(name, "boolean") == 0) return value_bool(generate_number(generator, 2));
    if (strcmp(name, "null") == 0) return value_null();
    if (strcmp(name, "number") == 0 && generate_number(generator, 2)) return value_double(0.5);
    return make_number(generator, schema);
}

tn_value generate_mutant(struct generator *generator, tn_value value) {
    size_t count = value_is(value, TN_OBJECT) ? value_count(value) : 0;
    if (!count || generate_number(generator, 4) == 0)
        return value_set_take(value_is(value, TN_OBJECT) ? value_ref(value) : value_object(), "no-such-key",
                              value_int(1));
    tn_value key = value_key_at(value, generate_number(generator, count));
    if (generate_number(generator, 3) == 0) return value_remove_take(value_ref(value), value_ref(key));
    static const uint64_t kinds = 5;
    tn_value wrong = value_null();
    switch (generate_number(generator, kinds)) {
    case 0: wrong = value_int(-1); break;
    case 1: wrong = value_text(""); break;
    case 2: wrong = value_push_take(value_array(), value_null()); break;
    case 3: wrong = value_set_take(value_object(), "a", value_null()); break;
    default: break;
    }
    return value_set_key_take(value_ref(value), value_ref(key), wrong);
}

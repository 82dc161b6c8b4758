/*
 * schema_plan_test.c - a plan has the verdict of the checks that it was made of.
 *
 * Random schemas of all keywords, over few names and values so that they meet, validate random instances in both ways
 * (SCHEMA_SEED repeats a run; the seed is printed). Tables change their form with their size, so each form has a case
 * at its boundary.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/schema_checks.h" /* before cmocka.h, which defines a macro `fail` */

#include <cmocka.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"

#define SCHEMAS   2000
#define INSTANCES 12

static uint64_t state;

static uint32_t below(uint32_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

static bool one_in(uint32_t count) { return below(count) == 0; }

/* ---- Random values --------------------------------------------------------------------------------------------- */

static tn_value random_name(void) {
    if (one_in(12)) return value_format("a name that is longer than sixteen bytes %u", below(3));
    return value_format("%c%s", 'a' + (int)below(6), one_in(6) ? "_long_name" : "");
}

static tn_value random_scalar(void) {
    static const double doubles[] = {0.5, 1.0, 2.5, -1.5, 3.0, 1e300, -0.0, 9007199254740993.0, 1.8446744073709552e19};
    static const int64_t ints[] = {INT64_MAX, INT64_MIN, (int64_t)1 << 60, ((int64_t)1 << 53) + 1, -((int64_t)1 << 61)};
    switch (below(9)) {
    case 0: return value_null();
    case 1: return value_bool(one_in(2));
    case 2: return value_double(doubles[below(sizeof doubles / sizeof *doubles)]);
    case 3: return value_int(ints[below(sizeof ints / sizeof *ints)]);
    case 4: return value_text(one_in(2) ? "äöü€" : "");
    case 5:
    case 6: return random_name();
    default: return value_int((int64_t)below(8) - 2);
    }
}

static tn_value random_instance(unsigned depth) {
    uint32_t what = depth == 0 ? 0 : below(8), count = one_in(8) ? below(24) : below(5);
    if (what < 3) return random_scalar();
    tn_value list = what < 5 ? value_array() : value_object();
    for (uint32_t i = 0; i < count; i++) {
        tn_value item = random_instance(depth - 1);
        list = what < 5 ? value_push_take(list, item) : value_set_key_take(list, random_name(), item);
    }
    return list;
}

/* ---- Random schemas -------------------------------------------------------------------------------------------- */

static tn_value random_schema(unsigned depth);

static tn_value random_names(void) {
    tn_value names = value_array();
    for (uint32_t i = below(4); i > 0; i--) names = value_push_take(names, random_name());
    return names;
}

static tn_value random_map(unsigned depth, uint32_t most) {
    tn_value map = value_object();
    for (uint32_t i = 1 + below(most); i > 0; i--) map = value_set_key_take(map, random_name(), random_schema(depth));
    return map;
}

static tn_value random_list(unsigned depth) {
    tn_value list = value_array();
    for (uint32_t i = 1 + below(3); i > 0; i--) list = value_push_take(list, random_schema(depth));
    return list;
}

static tn_value random_type(void) {
    static const char *const names[] = {"null", "boolean", "number", "integer", "string", "array", "object", "bytes"};
    if (one_in(3)) {
        tn_value list = value_array();
        for (uint32_t i = 1 + below(3); i > 0; i--) list = value_push_take(list, value_text(names[below(8)]));
        return list;
    }
    return value_text(names[below(8)]);
}

static tn_value random_values(void) {
    tn_value list = value_array();
    for (uint32_t i = below(one_in(4) ? 40 : 5); i > 0; i--)
        list = value_push_take(list, one_in(5) ? random_instance(1) : random_scalar());
    return list;
}

static tn_value random_number(void) {
    for (;;) {
        tn_value number = random_scalar();
        if (value_is_number(number)) return number;
        value_unref(number);
    }
}

static tn_value random_reference(void) { return value_format("#/$defs/%c", 'a' + (int)below(4)); }

static tn_value add_keyword(tn_value schema, unsigned depth) {
    static const char *const patterns[] = {"^a", "b", "^[a-c]+$", "^.{1,3}$", "^[a-f]_", "^(a|b)$", "^[^b]*$"};
    const char *pattern = patterns[below(sizeof patterns / sizeof *patterns)];
    tn_value count = value_int(below(4));
    const char *name = NULL;
    tn_value value = NULL;
    switch (below(depth > 0 ? 36 : 19)) {
    case 0:
    case 1:
    case 2: name = "type", value = random_type(); break;
    case 3: name = "enum", value = random_values(); break;
    case 4: name = "const", value = random_instance(1); break;
    case 5: name = "minimum", value = random_number(); break;
    case 6: name = "maximum", value = random_number(); break;
    case 7: name = "exclusiveMinimum", value = random_number(); break;
    case 8: name = "exclusiveMaximum", value = random_number(); break;
    case 9: name = "multipleOf", value = one_in(2) ? value_int(2) : value_double(0.5); break;
    case 10: name = "minLength", value = value_ref(count); break;
    case 11: name = "maxLength", value = value_ref(count); break;
    case 12: name = "pattern", value = value_text(pattern); break;
    case 13: name = one_in(2) ? "minItems" : "minProperties", value = value_ref(count); break;
    case 14: name = one_in(2) ? "maxItems" : "maxProperties", value = value_ref(count); break;
    case 15: name = "uniqueItems", value = value_bool(true); break;
    case 16: name = "required", value = random_names(); break;
    case 17: name = "$ref", value = random_reference(); break;
    case 18:
        name = "dependentRequired", value = value_set_key_take(value_object(), random_name(), random_names());
        break;
    case 19: name = "items", value = random_schema(depth - 1); break;
    case 20: name = "prefixItems", value = random_list(depth - 1); break;
    case 21: name = "contains", value = random_schema(depth - 1); break;
    case 22:
    case 23:
    case 24: name = "properties", value = random_map(depth - 1, one_in(5) ? 14 : 4); break;
    case 25:
        name = "patternProperties";
        value = value_set_take(value_object(), pattern, random_schema(depth - 1));
        break;
    case 26: name = "additionalProperties", value = random_schema(depth - 1); break;
    case 27: name = "propertyNames", value = random_schema(depth - 1); break;
    case 28: name = "dependentSchemas", value = random_map(depth - 1, 2); break;
    case 29: name = "allOf", value = random_list(depth - 1); break;
    case 30: name = "anyOf", value = random_list(depth - 1); break;
    case 31: name = "oneOf", value = random_list(depth - 1); break;
    case 32: name = "not", value = random_schema(depth - 1); break;
    case 33:
        schema = value_set_take(schema, "then", random_schema(depth - 1));
        schema = value_set_take(schema, "else", random_schema(depth - 1));
        name = "if", value = random_schema(depth - 1);
        break;
    case 34: name = "unevaluatedProperties", value = one_in(2) ? value_bool(false) : random_schema(depth - 1); break;
    default: name = "unevaluatedItems", value = random_schema(depth - 1); break;
    }
    value_unref(count);
    return value_set_take(schema, name, value);
}

static tn_value random_schema(unsigned depth) {
    if (one_in(10)) return value_bool(one_in(2));
    tn_value schema = value_object();
    for (uint32_t i = 1 + below(4); i > 0; i--) schema = add_keyword(schema, depth);
    return schema;
}

static tn_value random_document(void) {
    tn_value schema = random_schema(3), defs = value_object();
    if (!value_is(schema, TN_OBJECT)) schema = value_object();
    for (int name = 'a'; name < 'e'; name++) {
        tn_value definition = random_schema(2);
        char key[2] = {(char)name, 0};
        if (name == 'd' && one_in(3) && value_is(definition, TN_OBJECT)) /* the dynamic scope */
            definition = value_set_take(definition, "$dynamicAnchor", value_text("node"));
        defs = value_set_take(defs, key, definition);
    }
    if (one_in(4) && value_get(value_get(defs, "d"), "$dynamicAnchor"))
        defs = value_set_take(defs, "c", value_set_take(value_object(), "$dynamicRef", value_text("#node")));
    return value_set_take(schema, "$defs", defs);
}

/* ---- Both ways ------------------------------------------------------------------------------------------------- */

static void agree(const struct schema *schema, tn_value instance) {
    int32_t plan = schema_validate(schema, instance, NULL), checks = validate_by_checks(schema, instance);
    if (plan == checks || plan == TN_LIMIT || checks == TN_LIMIT) return;
    char *schema_text = json_text(schema_document(schema), JSON_COMPACT), *text = json_text(instance, JSON_COMPACT);
    fail_msg("the plan returned %d, the checks %d: %s of %s", plan, checks, text, schema_text);
}

static void random_schemas_agree(void **unused) {
    (void)unused;
    int64_t live = value_live_count();
    uint32_t valid = 0, all = 0;
    for (int i = 0; i < SCHEMAS; i++) {
        tn_value document = random_document();
        struct schema_options options = {.work = 20000};
        struct schema *schema;
        if (schema_compile(document, &options, &schema, NULL) == TN_OK) {
            for (int j = 0; j < INSTANCES; j++) {
                tn_value instance = random_instance(4);
                agree(schema, instance);
                valid += schema_validate(schema, instance, NULL) == TN_OK;
                all++;
                value_unref(instance);
            }
            schema_unref(schema);
        }
        value_unref(document);
    }
    (void)printf("%u of %u instances were valid\n", valid, all);
    assert_true(valid > all / 20 && valid < all - all / 20); /* the schemas mean something */
    assert_true(all > (uint32_t)SCHEMAS * INSTANCES / 2);
    assert_true(value_live_count() == live);
}

/* ---- The forms of tables --------------------------------------------------------------------------------------- */

static struct schema *compile_take(tn_value document) {
    struct schema *schema;
    struct error error = ERROR_INIT;
    if (schema_compile(document, NULL, &schema, &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(document);
    return schema;
}

static void validates(const struct schema *schema, tn_value instance, bool valid) {
    agree(schema, instance);
    if ((schema_validate(schema, instance, NULL) == TN_OK) != valid) {
        char *text = json_text(instance, JSON_COMPACT);
        fail_msg("%s must be %s", text, valid ? "valid" : "invalid");
    }
    value_unref(instance);
}

/* Objects with 0 … 140 properties, all required: without each of them, and with one more. */
static void objects_of_every_size(void **unused) {
    (void)unused;
    static const size_t sizes[] = {1, 4, 5, 8, 9, 63, 64, 65, 140};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        tn_value properties = value_object(), required = value_array(), instance = value_object();
        for (size_t i = 0; i < sizes[s]; i++) {
            tn_value name = value_format("name_%zu", i);
            properties = value_set_key_take(properties, value_ref(name), value_bool(true));
            required = value_push_take(required, value_ref(name));
            instance = value_set_key_take(instance, name, value_int((int64_t)i));
        }
        for (int closed = 0; closed < 2; closed++) {
            tn_value document = value_set_take(value_object(), "required", value_ref(required));
            if (closed) document = value_set_take(document, "additionalProperties", value_bool(false));
            document = value_set_take(document, "properties", value_ref(properties));
            struct schema *schema = compile_take(document);
            validates(schema, value_ref(instance), true);
            validates(schema, value_set_take(value_ref(instance), "more", value_null()), !closed);
            for (size_t i = 0; i < sizes[s]; i++) {
                tn_value less = value_remove_take(value_ref(instance), value_ref(value_at(required, i)));
                validates(schema, value_ref(less), false);
                validates(schema, value_set_take(less, "more", value_null()), false);
            }
            schema_unref(schema);
        }
        value_unref(properties);
        value_unref(required);
        value_unref(instance);
    }
}

/* Sets of integers that are bits, and sets that are searched; the neighbours of each are not members. */
static void sets_of_numbers(void **unused) {
    (void)unused;
    static const int64_t steps[] = {1, 2, 63, 64, 65, 1000, (int64_t)1 << 55};
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        tn_value values = value_array();
        for (int64_t i = -20; i < 20; i++) values = value_push_take(values, value_int(i * steps[s]));
        values = value_push_take(values, value_double(0.25));
        values = value_push_take(values, value_double(-7.75));
        struct schema *schema = compile_take(value_set_take(value_object(), "enum", values));
        for (int64_t i = -20; i < 20; i++) {
            validates(schema, value_int(i * steps[s]), true);
            validates(schema, value_double((double)(i * steps[s])), true);
            validates(schema, value_int(i * steps[s] + 1), steps[s] == 1 && i < 19);
        }
        validates(schema, value_int(-20 * steps[s] - 1), false);
        validates(schema, value_int(INT64_MAX), false);
        validates(schema, value_int(INT64_MIN), false);
        validates(schema, value_double(0.25), true);
        validates(schema, value_double(-7.75), true);
        validates(schema, value_double(0.5), false);
        schema_unref(schema);
    }
}

/* Every bound at the limits of integers and of doubles, against values around them. */
static void bounds_of_numbers(void **unused) {
    (void)unused;
    static const char *const keywords[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"};
    static const double doubles[] = {-1e300,
                                     -0x1.0000000000001p63,
                                     -0x1p63,
                                     -0x1.fffffffffffffp62,
                                     -1.5,
                                     -0.0,
                                     0.5,
                                     1.0,
                                     0x1p53,
                                     0x1p60,
                                     0x1.fffffffffffffp62,
                                     0x1p63,
                                     1e300};
    static const int64_t ints[] = {
        INT64_MIN,     INT64_MIN + 1, -2, -1, 0, 1, 2, ((int64_t)1 << 53) - 1, (int64_t)1 << 53, ((int64_t)1 << 53) + 1,
        INT64_MAX - 1, INT64_MAX};
    tn_value all = value_array();
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) all = value_push_take(all, value_double(doubles[i]));
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) all = value_push_take(all, value_int(ints[i]));
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < value_count(all); i++)
            for (size_t other = 0; other < value_count(all); other++) {
                tn_value document = value_set_take(value_object(), keywords[k], value_ref(value_at(all, i)));
                document = value_set_take(document, keywords[(k + 1) % 4], value_ref(value_at(all, other)));
                struct schema *schema = compile_take(document);
                for (size_t j = 0; j < value_count(all); j++) agree(schema, value_at(all, j));
                schema_unref(schema);
            }
    value_unref(all);
}

/* uniqueItems at the sizes where its method changes, with one item twice. */
static void unique_items_of_every_size(void **unused) {
    (void)unused;
    static const size_t sizes[] = {2, 15, 16, 17, 255, 256, 257, 400};
    struct schema *schema = compile_take(value_set_take(value_object(), "uniqueItems", value_bool(true)));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 4; kind++) {
            tn_value list = value_array();
            for (size_t i = 0; i < sizes[s]; i++) {
                tn_value item = kind == 0   ? value_int((int64_t)i)
                                : kind == 1 ? value_format("item %zu", i)
                                : kind == 2 ? value_double((double)i + 0.5)
                                            : value_set_take(value_object(), "n", value_int((int64_t)i));
                list = value_push_take(list, item);
            }
            for (size_t at = 0; at < sizes[s] - 1; at += sizes[s] / 2) {
                tn_value again = value_ref(value_at(list, at));
                validates(schema, value_replace_take(value_ref(list), sizes[s] - 1, again), false);
            }
            validates(schema, value_replace_take(value_ref(list), 0, value_int(-1)), true);
            validates(schema, list, true);
        }
    schema_unref(schema);
}

int main(void) {
    const char *given = getenv("SCHEMA_SEED");
    state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    (void)printf("SCHEMA_SEED=%llu\n", (unsigned long long)state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schemas_agree),
        cmocka_unit_test(objects_of_every_size),
        cmocka_unit_test(sets_of_numbers),
        cmocka_unit_test(bounds_of_numbers),
        cmocka_unit_test(unique_items_of_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * schema_disjoint_test.c - two schemas that no value fits, and pairs that must not be reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adl/schema/disjoint.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(json_read(text, strlen(text), NULL, &value, NULL), TN_OK);
    return value;
}

#define OPEN NULL

/* What is made, what is taken, and the reason; OPEN if the pair may fit. */
static const struct {
    const char *made, *taken, *why;
} pairs[] = {
    /* Types. */
    {"{\"type\": \"string\"}", "{\"type\": \"integer\"}", "found a string, expected an integer"},
    {"{\"type\": [\"string\", \"null\"]}", "{\"type\": [\"array\", \"object\"]}",
     "found null or a string, expected a list or an object"},
    {"{\"type\": \"integer\"}", "{\"type\": \"number\"}", OPEN},
    {"{\"type\": \"number\"}", "{\"type\": \"integer\"}", OPEN},
    {"{\"type\": \"bytes\"}", "{\"type\": \"string\"}", "found bytes, expected a string"},
    {"{}", "{\"type\": \"string\"}", OPEN},
    {"true", "{\"type\": \"string\"}", OPEN},
    {"{\"type\": \"string\"}", "false", "no value is accepted"},
    {"{\"minLength\": 3}", "{\"type\": \"integer\"}", OPEN},
    /* Objects. */
    {"{\"type\": \"object\", \"properties\": {\"a\": {}}, \"additionalProperties\": false}",
     "{\"type\": \"object\", \"required\": [\"b\"]}", "`b` is required and never there"},
    {"{\"type\": \"object\", \"properties\": {\"a\": {}}}", "{\"type\": \"object\", \"required\": [\"b\"]}", OPEN},
    {"{\"type\": \"object\", \"patternProperties\": {\"^b\": {}}, \"additionalProperties\": false}",
     "{\"type\": \"object\", \"required\": [\"b\"]}", OPEN},
    {"{\"type\": \"object\", \"required\": [\"a\"]}", "{\"type\": \"object\", \"additionalProperties\": false}",
     "`a` is always there and not accepted"},
    {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}",
     "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}}", OPEN},
    {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}",
     "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}, \"required\": [\"a\"]}",
     "`a`: found a string, expected an integer"},
    {"{\"type\": [\"object\", \"null\"], \"additionalProperties\": false}",
     "{\"type\": [\"object\", \"null\"], \"required\": [\"b\"]}", OPEN},
    {"{\"required\": [\"a\"]}", "{\"properties\": {\"a\": false}}", OPEN},
    /* Lists. */
    {"{\"type\": \"array\", \"items\": {\"type\": \"string\"}}",
     "{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}", OPEN},
    {"{\"type\": \"array\", \"items\": {\"type\": \"string\"}, \"minItems\": 1}",
     "{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}", "item 0: found a string, expected an integer"},
    {"{\"type\": \"array\", \"prefixItems\": [{}, {\"type\": \"null\"}], \"minItems\": 2}",
     "{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}", "item 1: found null, expected an integer"},
    {"{\"type\": \"array\", \"maxItems\": 2}", "{\"type\": \"array\", \"minItems\": 3}",
     "found at most 2 items, expected at least 3"},
    {"{\"type\": \"array\", \"minItems\": 4}", "{\"type\": \"array\", \"maxItems\": 3}",
     "found at least 4 items, expected at most 3"},
    /* Constants. */
    {"{\"const\": \"a\"}", "{\"type\": \"integer\"}", "\"a\": "},
    {"{\"enum\": [\"a\", 1]}", "{\"type\": \"integer\"}", OPEN},
    {"{\"enum\": [\"a\", \"b\"]}", "{\"enum\": [\"c\"]}", "\"a\": "},
    {"{\"type\": \"string\"}", "{\"enum\": [1, null]}", "1: "},
    {"{\"enum\": []}", "{\"type\": \"integer\"}", OPEN},
    /* Combinations and references. */
    {"{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}", "{\"type\": \"object\"}",
     "found a string, expected an object"},
    {"{\"anyOf\": [{\"type\": \"string\"}, {}]}", "{\"type\": \"object\"}", OPEN},
    {"{\"anyOf\": []}", "{\"type\": \"object\"}", OPEN},
    {"{\"type\": \"string\"}", "{\"oneOf\": [{\"type\": \"null\"}, {\"type\": \"array\"}]}",
     "found a string, expected null"},
    {"{\"type\": \"string\"}", "{\"allOf\": [{\"minLength\": 1}, {\"type\": \"array\"}]}",
     "found a string, expected a list"},
    {"{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"type\": \"string\"}}}", "{\"type\": \"object\"}",
     "found a string, expected an object"},
    {"{\"$ref\": \"other.json\"}", "{\"type\": \"object\"}", OPEN},
    {"{\"$ref\": \"#/$defs/none\", \"$defs\": {}}", "{\"type\": \"object\"}", OPEN},
    {"{\"$ref\": \"#\"}", "{\"$ref\": \"#\"}", OPEN},
    {"{\"allOf\": [{\"$id\": \"tenon:a\", \"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"type\": \"string\"}}}]}",
     "{\"type\": \"object\"}", "found a string, expected an object"},
    {"{\"type\": \"array\", \"minItems\": 1, \"items\": {\"$ref\": \"#\"}}",
     "{\"type\": \"array\", \"minItems\": 1, \"items\": {\"$ref\": \"#\"}}", OPEN},
    {"{\"not\": {}}", "{\"type\": \"object\"}", OPEN},
    /* Nonsense. */
    {"7", "{\"type\": \"object\"}", OPEN},
    {"{\"type\": 7, \"required\": 3, \"properties\": []}", "{\"type\": \"object\", \"required\": [1]}", OPEN},
};

static void pairs_are_compared(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        tn_value made = json(pairs[i].made), taken = json(pairs[i].taken);
        struct buffer why;
        buffer_init(&why, 300);
        bool disjoint = schema_disjoint(made, taken, &why);
        if (disjoint != (pairs[i].why != NULL))
            fail_msg("%s and %s: %s", pairs[i].made, pairs[i].taken, buffer_cstr(&why));
        if (disjoint && strncmp(buffer_cstr(&why), pairs[i].why, strlen(pairs[i].why)) != 0)
            fail_msg("%s and %s: %s", pairs[i].made, pairs[i].taken, buffer_cstr(&why));
        if (!disjoint) assert_string_equal(buffer_cstr(&why), "");
        assert_false(schema_disjoint(NULL, taken, &why));
        assert_false(schema_disjoint(made, NULL, &why));
        buffer_finish(&why);
        value_unref(made);
        value_unref(taken);
    }
}

/* 2^32 pairs of alternatives: the comparison gives up, and finds nothing. */
static void the_work_is_limited(void **state) {
    (void)state;
    tn_value schema = json("{\"type\": \"string\"}"), number = json("{\"type\": \"integer\"}");
    for (int i = 0; i < 16; i++) {
        tn_value two = value_push_take(value_push_take(value_array(), value_ref(schema)), schema);
        schema = value_set_take(value_object_reserve(1), "anyOf", two);
        two = value_push_take(value_push_take(value_array(), value_ref(number)), number);
        number = value_set_take(value_object_reserve(1), "anyOf", two);
    }
    struct buffer why;
    buffer_init(&why, 300);
    assert_false(schema_disjoint(schema, number, &why));
    buffer_finish(&why);
    value_unref(schema);
    value_unref(number);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_are_compared), cmocka_unit_test(the_work_is_limited)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

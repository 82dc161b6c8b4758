/* Values generated from schemas: nearly all fit, most mutants do not, and a seed repeats the same values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adl/expr/expr.h"
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "host/plugin/conformance/exercise_generate.h"
#include <string.h>

#define ROUNDS 200

static const char *const schemas[] = {
    "{\"type\": \"object\", \"required\": [\"a\"], \"additionalProperties\": false, \"properties\": {\"a\": "
    "{\"type\": \"integer\", \"minimum\": 3, \"maximum\": 7}, \"b\": {\"type\": \"string\", \"maxLength\": 5}}}",
    "{\"type\": \"object\", \"properties\": {\"list\": {\"type\": \"array\", \"minItems\": 1, \"items\": {\"$ref\": "
    "\"#/$defs/one\"}}}, \"required\": [\"list\"], \"$defs\": {\"one\": {\"enum\": [1, 2, \"x\"]}}}",
    "{\"type\": \"object\", \"allOf\": [{\"properties\": {\"k\": {\"const\": \"v\"}}, \"required\": [\"k\"]}, "
    "{\"properties\": {\"n\": {\"type\": \"number\"}}, \"required\": [\"n\"]}]}",
    "{\"type\": \"object\", \"required\": [\"x\"], \"properties\": {\"x\": {\"oneOf\": [{\"type\": \"integer\"}, "
    "{\"type\": \"string\"}]}}}",
    "{\"type\": \"object\", \"required\": [\"t\"], \"properties\": {\"t\": {\"$ref\": \"#/$defs/tree\"}}, \"$defs\": "
    "{\"tree\": {\"type\": \"object\", \"required\": [\"name\"], \"properties\": {\"name\": {\"type\": \"string\"}, "
    "\"kids\": {\"type\": \"array\", \"maxItems\": 2, \"items\": {\"$ref\": \"#/$defs/tree\"}}}}}}",
    "{\"type\": \"object\", \"additionalProperties\": {\"type\": \"boolean\"}}",
    "{\"type\": \"object\", \"required\": [\"p\"], \"properties\": {\"p\": {\"type\": \"array\", \"prefixItems\": "
    "[{\"type\": \"integer\"}, {\"type\": \"string\"}], \"minItems\": 2, \"maxItems\": 2}}}",
};

static void test_fits(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        tn_value text = NULL;
        struct error error = ERROR_INIT;
        assert_int_equal(json_read(schemas[i], strlen(schemas[i]), NULL, &text, NULL), TN_OK);
        struct schema *schema = NULL;
        assert_int_equal(schema_compile(text, NULL, &schema, &error), TN_OK);
        struct generator one = {.state = 7}, same = {.state = 7};
        int fit = 0, wrong = 0;
        for (int round = 0; round < ROUNDS; round++) {
            tn_value made = generate(&one, text), again = generate(&same, text);
            tn_value mutant = generate_mutant(&one, text, made), mutant_again = generate_mutant(&same, text, again);
            assert_true(value_equal(made, again));
            assert_true(value_equal(mutant, mutant_again));
            fit += schema_validate(schema, made, NULL) == TN_OK;
            wrong += schema_validate(schema, mutant, NULL) != TN_OK;
            value_unref(made);
            value_unref(again);
            value_unref(mutant);
            value_unref(mutant_again);
        }
        if (fit < ROUNDS * 9 / 10 || wrong < ROUNDS / 4)
            fail_msg("%s: %d of %d fit, %d mutants do not", schemas[i], fit, ROUNDS, wrong);
        schema_unref(schema);
        value_unref(text);
    }
}

/* A text of a field for expressions compiles, whatever names there are. */
static void test_expressions(void **state) {
    (void)state;
    tn_value schema = NULL;
    const char *text = "{\"type\": \"string\", \"x-tenon\": \"expression\"}";
    assert_int_equal(json_read(text, strlen(text), NULL, &schema, NULL), TN_OK);
    struct generator generator = {.state = 7};
    for (int round = 0; round < ROUNDS; round++) {
        tn_value made = generate(&generator, schema);
        struct expr *expr = NULL;
        struct error error = ERROR_INIT;
        if (expr_compile(value_chars(made, NULL), strlen(value_chars(made, NULL)), NULL, NULL, &expr, &error) != TN_OK)
            fail_msg("%s: %s", value_chars(made, NULL), error.message);
        expr_unref(expr);
        value_unref(made);
    }
    value_unref(schema);
}

/* Generation ends for schemas that refer to themselves or to nothing, or that nothing can fit. */
static void test_hostile(void **state) {
    (void)state;
    static const char *const hostile[] = {
        "{\"$ref\": \"#\"}",
        "{\"$ref\": \"#/nowhere\"}",
        "{\"allOf\": [{\"$ref\": \"#\"}, {\"$ref\": \"#\"}]}",
        "{\"type\": \"array\", \"minItems\": 9223372036854775807}",
        "{\"type\": \"string\", \"minLength\": 1000000000}",
        "{\"type\": \"integer\", \"minimum\": -9223372036854775808, \"maximum\": 9223372036854775807}",
        "true",
        "[]",
        "{\"enum\": []}",
        "{\"anyOf\": []}",
        "{\"type\": \"object\", \"required\": [1, \"a\"]}",
        "{\"type\": \"integer\", \"exclusiveMinimum\": 9223372036854775807}",
        "{\"type\": 5}"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        tn_value schema = NULL;
        struct generator generator = {.state = i};
        assert_int_equal(json_read(hostile[i], strlen(hostile[i]), NULL, &schema, NULL), TN_OK);
        for (int round = 0; round < 20; round++) {
            tn_value made = generate(&generator, schema), mutant = generate_mutant(&generator, schema, made);
            assert_non_null(made);
            assert_non_null(mutant);
            value_unref(made);
            value_unref(mutant);
        }
        value_unref(schema);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fits), cmocka_unit_test(test_expressions),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* nearest_test.c - the suggestion of "did you mean", and the cases without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adl/value/nearest.h"

#define NAMES_MAX 8

static const struct {
    const char *wanted;
    const char *offered[NAMES_MAX];
    const char *meant; /* NULL: no candidate is near */
} cases[] = {
    {"input_kye", {"output_key", "input_key", "input"}, "input_key"}, /* a swap */
    {"reseacher", {"researcher", "reviewer"}, "researcher"},          /* a missing letter */
    {"Model", {"mode", "model"}, "model"},                            /* case counts half */
    {"max-tokens", {"max_token", "max_tokens"}, "max_tokens"},
    {"temprature", {"timeout", "temperature"}, "temperature"},
    {"ot", {"to"}, "to"},
    {"a", {"b"}, NULL}, /* one letter is not enough */
    {"A", {"a"}, "a"},
    {"LLM", {"log", "llm"}, "llm"}, /* only the case differs */
    {"score", {"verdict", "topic"}, NULL},
    {"abcdef", {"abcxef", "abcdxf"}, "abcxef"}, /* equally near: the first */
    {"", {"a"}, NULL},
    {"ab", {""}, NULL},
};

static void offers_the_nearest(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nearest near;
        nearest_init(&near, cases[i].wanted, strlen(cases[i].wanted));
        for (size_t j = 0; j < NAMES_MAX && cases[i].offered[j]; j++)
            nearest_add_candidate(&near, cases[i].offered[j], strlen(cases[i].offered[j]));
        const char *meant = nearest_result(&near);
        if (!cases[i].meant) {
            assert_null(meant);
        } else {
            assert_non_null(meant);
            assert_string_equal(meant, cases[i].meant);
            assert_int_equal(near.best_length, strlen(cases[i].meant));
        }
    }
}

static void long_names_are_not_compared(void **state) {
    (void)state;
    char wanted[NEAREST_LENGTH_MAX + 1], candidate[NEAREST_LENGTH_MAX + 1];
    memset(wanted, 'x', sizeof wanted);
    memset(candidate, 'x', sizeof candidate);
    struct nearest near;
    nearest_init(&near, wanted, NEAREST_LENGTH_MAX);
    nearest_add_candidate(&near, candidate, NEAREST_LENGTH_MAX);
    assert_ptr_equal(nearest_result(&near), candidate);
    nearest_init(&near, wanted, NEAREST_LENGTH_MAX + 1);
    nearest_add_candidate(&near, candidate, NEAREST_LENGTH_MAX);
    assert_null(nearest_result(&near));
    nearest_init(&near, wanted, NEAREST_LENGTH_MAX);
    nearest_add_candidate(&near, candidate, NEAREST_LENGTH_MAX + 1);
    assert_null(nearest_result(&near));
}

static void hint_ends_a_message(void **state) {
    (void)state;
    struct nearest near;
    nearest_init(&near, "input_kye", 9);
    assert_string_equal(nearest_hint(&near).text, "");
    nearest_add_candidate(&near, "input_key: 1", 9); /* not NUL-terminated at its end */
    assert_string_equal(nearest_hint(&near).text, "; did you mean `input_key`?");
    assert_string_equal(nearest_hint_of("node").text, "; did you mean `node`?");
    assert_string_equal(nearest_hint_of(NULL).text, "");
    char name[NEAREST_LENGTH_MAX + 1] = {0};
    memset(name, 'x', NEAREST_LENGTH_MAX);
    assert_int_equal(strlen(nearest_hint_of(name).text), strlen("; did you mean ``?") + NEAREST_LENGTH_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offers_the_nearest),
        cmocka_unit_test(hint_ends_a_message),
        cmocka_unit_test(long_names_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * util_fixture.h - fake_core.h with cmocka, and values as JSON.
 *
 *     struct tn_arena arena = TN_ARENA;
 *     fails_at = 1;                                      // the next allocation fails
 *     assert_null(tn_arena_alloc(&arena, 1));
 *     assert_int_equal(blocks, 0);                       // nothing was leaked
 */
#ifndef TENON_TESTS_UTIL_FIXTURE_H
#define TENON_TESTS_UTIL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/fake_core.h"

static int util_setup(void **state) {
    (void)state;
    fake_core_open();
    return 0;
}

/* Takes the value. */
static inline void expect_json_take(tn_value value, const char *json) {
    tn_value text = tn_to_json(value);
    assert_non_null(text);
    assert_string_equal(tn_chars(text, NULL), json);
    tn_release(text);
    tn_release(value);
}

static inline tn_value json_value(const char *text) {
    tn_value value = tn_from_json(text, TN_Z);
    assert_non_null(value);
    return value;
}

#endif

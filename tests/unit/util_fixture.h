/*
 * util_fixture.h - `tn` for tests of <tenon/util/...>: the host's values, and memory that is counted and can fail.
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
#include <stdlib.h>

#include <cmocka.h>
#include <tenon/easy.h>

extern const tn_value_1 interface_value; /* the host's */

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static int64_t blocks, fails_at; /* fails_at: 1 is the next; 0: none */

static void *util_resize(const tn_host *host, void *memory, uint64_t size) {
    (void)host;
    if (fails_at > 0 && --fails_at == 0) return NULL;
    blocks += memory == NULL;
    return realloc(memory, size);
}
static void *util_alloc(const tn_host *host, uint64_t size) { return util_resize(host, NULL, size); }
static void util_release(const tn_host *host, void *memory) {
    (void)host;
    blocks -= memory != NULL;
    free(memory);
}
static const tn_core_1 util_core = {
    .size = sizeof(tn_core_1), .alloc = util_alloc, .resize = util_resize, .release = util_release};

static int util_setup(void **state) {
    (void)state;
    tn.value = &interface_value;
    tn.core = &util_core;
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

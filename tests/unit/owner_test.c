/*
 * owner_test.c - the prefix of an owner in ids.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/call/owner.h"

static void names_are_checked(void **state) {
    static const char *const good[] = {"a", "0", "alice", "a.b_c-9", "abcdefghijklmnopqrstuvwxyz012345"};
    static const char *const bad[] = {
        "", "A", ".a", "_a", "-", "a b", "a:", "a@", "@a", "a/b", "a\n", "é", "abcdefghijklmnopqrstuvwxyz0123456"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!owner_is_valid(good[i])) fail_msg("%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (owner_is_valid(bad[i])) fail_msg("%s", bad[i]);
}

static void owners_of_ids_are_found(void **state) {
    static const char *const none[] = {
        "", "t1", "@", "@:t", "@A:t", "@a", "a:t", " @a:t", "@.a:t", "@a b:t", "@abcdefghijklmnopqrstuvwxyz0123456:t"};
    char out[OWNER_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (owner_of(none[i], out)) fail_msg("%s: %s", none[i], out);
    assert_false(owner_of(NULL, out));
    assert_true(owner_of("@alice:t1", out));
    assert_string_equal(out, "alice");
    assert_true(owner_of("@abcdefghijklmnopqrstuvwxyz012345:", out));
    assert_int_equal(strlen(out), OWNER_MAX);
    assert_true(owner_of("@b:@a:t", out));
    assert_string_equal(out, "b");
    assert_true(owner_has("a", "@a:t"));
    assert_false(owner_has("a", "@ab:t"));
    assert_false(owner_has("ab", "@a:t"));
    assert_false(owner_has("a", "t"));
    assert_true(owner_has(NULL, "@a:t") && owner_has(NULL, "t"));
}

static void is_completed(const char *owner, const char *id, const char *whole) {
    struct error error = ERROR_INIT;
    char *made = owner_complete(owner, id, &error), *confined = owner_confine(owner, id);
    if (whole) {
        assert_string_equal(made, whole);
        assert_string_equal(confined, whole);
    } else {
        assert_null(made);
        assert_string_equal(error.code, "NOT_FOUND");
        assert_true(owner_has(owner, confined));
    }
    mem_free(made);
    mem_free(confined);
    error_finish(&error);
}

static void ids_are_completed(void **state) {
    (void)state;
    is_completed("b", "t", "@b:t");
    is_completed("b", "@b:t", "@b:t");
    is_completed("b", "@b:@a:t", "@b:@a:t");
    is_completed("b", "@:t", "@b:@:t"); /* not a prefix */
    is_completed("b", "@B:t", "@b:@B:t");
    is_completed("b", "@a:t", NULL);
    is_completed("b", "@bb:t", NULL);
    is_completed(NULL, "@a:t", "@a:t");
    is_completed(NULL, "t", "t");
}

static void values_are_confined(void **state) {
    static const char *const same[] = {"\"\"", "\"a\\u0000b\"", "7", "null", "[\"t\"]"};
    char out[OWNER_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        tn_value value = NULL;
        assert_int_equal(json_read(same[i], strlen(same[i]), NULL, &value, NULL), TN_OK);
        tn_value confined = owner_confine_value("b", value);
        assert_true(value_equal(value, confined));
        value_unref(confined);
        value_unref(value);
    }
    tn_value id = value_text("t"), confined = owner_confine_value("b", id), operator= owner_confine_value(NULL, id);
    assert_true(value_text_is(confined, "@b:t") && value_text_is(operator, "t"));
    value_unref(operator);
    value_unref(confined);
    value_unref(id);
    tn_value context = value_set_take(value_object(), "run_id", value_text("@b:r"));
    assert_true(owner_of_context(context, out));
    assert_string_equal(out, "b");
    context = value_set_take(context, "thread_id", value_null());
    assert_true(owner_of_context(context, out));
    context = value_set_take(context, "thread_id", value_text("@a:t")); /* the thread decides */
    assert_true(owner_of_context(context, out));
    assert_string_equal(out, "a");
    value_unref(context);
    assert_false(owner_of_context(NULL, out));
}

static void ranges_have_all_ids_of_an_owner(void **state) {
    char from[OWNER_PREFIX_TEXT], to[OWNER_PREFIX_TEXT];
    (void)state;
    owner_range("a", from, to);
    assert_true(strcmp(from, "@a:") <= 0 && strcmp("@a:\x7f\xff", to) < 0);
    assert_true(strcmp("@a", from) < 0 && strcmp("@ab:t", to) >= 0 && strcmp("@a.b:t", from) < 0);
    owner_range("abcdefghijklmnopqrstuvwxyz012345", from, to);
    assert_int_equal(strlen(from), OWNER_PREFIX_TEXT - 1);
    owner_prefix(NULL, from);
    assert_string_equal(from, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(owners_of_ids_are_found),
        cmocka_unit_test(ids_are_completed),
        cmocka_unit_test(values_are_confined),
        cmocka_unit_test(ranges_have_all_ids_of_an_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

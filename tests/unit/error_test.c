/* error_test.c - errors: setting, replacing, moving, copying, and conversion to values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "adl/value/error.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(json_read(text, strlen(text), NULL, &value, NULL), TN_OK);
    return value;
}

static void setting(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    assert_int_equal(error_set(&error, TN_LIMIT, "LIMIT", "found %d, expected %s", 5, "fewer"), TN_LIMIT);
    assert_string_equal(error.code, "LIMIT");
    assert_string_equal(error.message, "found 5, expected fewer");
    assert_null(error.more);
    error.more = json("{\"retryable\":true}");
    error.span = (struct span){1, 2};
    assert_int_equal(error_set(&error, TN_INVALID, error.code, "in b: %s", error.message), TN_INVALID); /* its own */
    assert_string_equal(error.code, "LIMIT");
    assert_string_equal(error.message, "in b: found 5, expected fewer");
    assert_null(error.more);
    assert_int_equal(error.span.end, 0);
    error_finish(&error);
    assert_null(error.code);
    error_finish(&error);
    error_finish(NULL);
    assert_int_equal(error_set(NULL, TN_ERROR, "X", "%s", "ignored"), TN_ERROR);
}

__attribute__((format(printf, 2, 3))) static int32_t forward(struct error *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int32_t status = error_vset(error, TN_TYPE, "TYPE", format, args);
    va_end(args);
    return status;
}

static void setting_with_a_list_of_arguments(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    assert_int_equal(forward(&error, "%d %s", 1, "x"), TN_TYPE);
    assert_string_equal(error.message, "1 x");
    error_finish(&error);
}

/* Whatever text is at the cut, the message is at most the maximum, and UTF-8. */
static void long_messages_are_cut(void **state) {
    (void)state;
    static const char *const ends[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    char text[ERROR_MESSAGE_MAX + 100];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t size = strlen(ends[i]);
        for (size_t before = 0; before <= size + 2; before++) {
            size_t at = ERROR_MESSAGE_MAX - before;
            memset(text, 'a', at);
            for (size_t j = 0; j < 10; j++) memcpy(text + at + j * size, ends[i], size + 1);
            struct error error = ERROR_INIT;
            (void)error_set(&error, TN_ERROR, "X", "%s", text);
            size_t length = strlen(error.message);
            assert_true(length <= ERROR_MESSAGE_MAX && length > ERROR_MESSAGE_MAX - size);
            assert_true(utf8_valid(error.message, length));
            assert_memory_equal(error.message, text, length);
            error_finish(&error);
        }
    }
    memset(text, 'a', ERROR_MESSAGE_MAX);
    text[ERROR_MESSAGE_MAX] = '\0';
    struct error error = ERROR_INIT;
    (void)error_set(&error, TN_ERROR, "X", "%s", text); /* fits just */
    assert_string_equal(error.message, text);
    error_finish(&error);
}

static void moving_and_copying(void **state) {
    (void)state;
    int64_t live = value_live_count();
    struct error from = ERROR_INIT, to = ERROR_INIT, copy = ERROR_INIT;
    (void)error_set(&to, TN_ERROR, "OLD", "old");
    error_move(&to, &from); /* nothing to move: the error is unchanged */
    assert_string_equal(to.code, "OLD");

    (void)error_set(&from, TN_ERROR, "NEW", "new");
    from.more = json("{\"detail\":[1]}");
    from.span = (struct span){3, 4};
    error_copy(&copy, &from);
    assert_string_equal(copy.message, "new");
    assert_ptr_equal(copy.more, from.more);
    assert_int_equal(copy.span.start, 3);
    error_move(&to, &from);
    assert_string_equal(to.code, "NEW");
    assert_int_equal(to.span.end, 4);
    assert_null(from.code);
    assert_null(from.more);
    error_move(&to, &to);
    error_copy(&to, &to);
    assert_string_equal(to.code, "NEW");
    error_move(NULL, &to); /* moved to NULL: freed */
    assert_null(to.code);
    error_copy(&copy, &to); /* no error: no value */
    assert_null(copy.code);
    error_copy(NULL, &copy);
    error_move(&to, NULL);
    assert_int_equal(value_live_count(), live);
}

static void expect_text(const struct error *error, const char *expected) {
    tn_value value = error_to_value(error);
    char *text = json_text(value, JSON_COMPACT);
    assert_string_equal(text, expected);
    mem_free(text);
    value_unref(value);
}

static void as_values(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    expect_text(&error, "{\"code\":\"ERROR\",\"message\":\"\",\"retryable\":false}");
    expect_text(NULL, "{\"code\":\"ERROR\",\"message\":\"\",\"retryable\":false}");
    (void)error_set(&error, TN_ERROR, "RATE", "slow \xff down");
    expect_text(&error, "{\"code\":\"RATE\",\"message\":\"slow \xef\xbf\xbd down\",\"retryable\":false}");
    error.more = json("{\"detail\":[1],\"retry_after_ms\":50,\"retryable\":true,\"other\":1}");
    expect_text(&error, "{\"code\":\"RATE\",\"message\":\"slow \xef\xbf\xbd down\",\"retryable\":true,"
                        "\"retry_after_ms\":50,\"detail\":[1]}");
    error_finish(&error);
}

static void retryable(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    assert_false(error_retryable(&error));
    assert_false(error_retryable(NULL));
    (void)error_set(&error, TN_ERROR, "TIMEOUT", "late"); /* as in its row of codes.h */
    assert_true(error_retryable(&error));
    error.more = json("{\"retryable\":false}");
    assert_false(error_retryable(&error));
    (void)error_set(&error, TN_ERROR, "PARSE", "bad");
    assert_false(error_retryable(&error));
    error.more = json("{\"retryable\":true}");
    assert_true(error_retryable(&error));
    (void)error_set(&error, TN_ERROR, "MY_OWN", "unknown");
    assert_false(error_retryable(&error));
    error_finish(&error);
}

static void from_values(void **state) {
    (void)state;
    static const struct {
        const char *value, *code, *message, *more;
    } cases[] = {
        {"{\"code\":\"A\",\"message\":\"m\"}", "A", "m", NULL},
        {"{\"code\":\"A\",\"message\":\"m\",\"retryable\":true,\"retry_after_ms\":5,\"detail\":{\"x\":1}}", "A", "m",
         "{\"retryable\":true,\"retry_after_ms\":5,\"detail\":{\"x\":1}}"},
        {"{\"message\":\"m\",\"status\":404,\"url\":\"u\"}", "ERROR", "m",
         "{\"detail\":{\"status\":404,\"url\":\"u\"}}"},
        {"{\"detail\":{\"x\":1},\"status\":404}", "ERROR", "", "{\"detail\":{\"status\":404,\"x\":1}}"},
        {"{\"detail\":7,\"status\":404}", "ERROR", "", "{\"detail\":{\"status\":404,\"detail\":7}}"},
        {"{\"code\":5,\"message\":{\"a\":1},\"retryable\":\"yes\",\"retry_after_ms\":\"soon\"}", "5", "{\"a\":1}",
         NULL},
        {"\"just text\"", "ERROR", "just text", NULL},
        {"[1]", "ERROR", "[1]", NULL},
        {"null", "ERROR", "", NULL},
    };
    int64_t live = value_live_count();
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_value value = json(cases[i].value);
        error_from_value(&error, value);
        assert_string_equal(error.code, cases[i].code);
        assert_string_equal(error.message, cases[i].message);
        char *more = error.more != NULL ? json_text(error.more, JSON_COMPACT) : NULL;
        assert_int_equal(more != NULL, cases[i].more != NULL);
        if (more != NULL) assert_string_equal(more, cases[i].more);
        mem_free(more);
        value_unref(value);
    }
    error_from_value(&error, NULL);
    assert_string_equal(error.code, "ERROR");
    error_from_value(NULL, value_null());
    error_finish(&error);
    assert_int_equal(value_live_count(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting),
        cmocka_unit_test(setting_with_a_list_of_arguments),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(moving_and_copying),
        cmocka_unit_test(as_values),
        cmocka_unit_test(retryable),
        cmocka_unit_test(from_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

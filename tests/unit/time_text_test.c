/*
 * time_text_test.c - times as RFC 3339 text: before and after 1970, and at the edges of a second.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/base/time_text.h"

static void writes_utc_with_milliseconds(void **state) {
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {999, "1970-01-01T00:00:00.999Z"},
        {1000, "1970-01-01T00:00:01.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-1000, "1969-12-31T23:59:59.000Z"},
        {INT64_C(951782400000), "2000-02-29T00:00:00.000Z"},
        {INT64_C(1767225600007), "2026-01-01T00:00:00.007Z"},
        {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
    };
    char text[TIME_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        time_text(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
        tn_value value = time_value(rows[i].ms);
        assert_string_equal(value_chars(value, NULL), rows[i].text);
        value_unref(value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_utc_with_milliseconds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

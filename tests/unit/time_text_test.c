/*
 * time_text_test.c - times as RFC 3339 text: before and after 1970, at the edges of a second, and as users write them.
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

static void reads_times_and_dates(void **state) {
    static const struct {
        const char *text, *read; /* NULL: refused */
    } rows[] = {
        {"2026-01-31", "2026-01-31T00:00:00.000Z"},
        {"2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z"},
        {"2026-01-31T12:00:00.1239999Z", "2026-01-31T12:00:00.123Z"},
        {"2026-01-31T00:30:00+02:00", "2026-01-30T22:30:00.000Z"},
        {"1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500Z"},
        {"", NULL},
        {"2026-02-30", NULL},
        {"2026-01-31 12", NULL},
        {"2026-01-31T12:00:00", NULL},
        {"2026-01-31T12:00:00.00000000000000000000000000000000000000000000000000Z", NULL}, /* too long */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[TIME_TEXT] = "unchanged";
        assert_int_equal(time_text_read(rows[i].text, text), rows[i].read != NULL);
        assert_string_equal(text, rows[i].read ? rows[i].read : "unchanged");
    }
}

static void days_before_are_the_end_of_a_second(void **state) {
    char text[TIME_TEXT];
    (void)state;
    time_text_days_before(INT64_C(1767225600007), 0, text);
    assert_string_equal(text, "2026-01-01T00:00:00.999Z");
    time_text_days_before(INT64_C(1767225600007), 31, text);
    assert_string_equal(text, "2025-12-01T00:00:00.999Z");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(writes_utc_with_milliseconds),
                                       cmocka_unit_test(reads_times_and_dates),
                                       cmocka_unit_test(days_before_are_the_end_of_a_second)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

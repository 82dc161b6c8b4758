/* <tenon/util/time.h>: RFC 3339 both ways, and the calendar. */
#include "tests/unit/util_fixture.h"

#include <tenon/util/time.h>

static void test_known_times(void **state) {
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
        int32_t weekday;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z", 4},
        {-1, "1969-12-31T23:59:59.999Z", 3},
        {951782400000, "2000-02-29T00:00:00.000Z", 2},
        {1800000000250, "2027-01-15T08:00:00.250Z", 5},
        {4107542400000, "2100-03-01T00:00:00.000Z", 1},
        {-62167219200000, "0000-01-01T00:00:00.000Z", 6},
        {253402300799999, "9999-12-31T23:59:59.999Z", 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[TN_TIME_TEXT];
        int64_t ms = 7;
        assert_true(tn_time_format(cases[i].ms, text));
        assert_string_equal(text, cases[i].text);
        assert_int_equal(tn_time_split(cases[i].ms).weekday, cases[i].weekday);
        assert_true(tn_time_parse(text, strlen(text), &ms));
        assert_int_equal(ms, cases[i].ms);
    }
    char text[TN_TIME_TEXT];
    assert_true(tn_time_format_seconds(1800000000999, text));
    assert_string_equal(text, "2027-01-15T08:00:00Z");
    assert_false(tn_time_format(253402300800000, text));
    assert_string_equal(text, "");
    assert_false(tn_time_format(-62167219200001, text));
    assert_false(tn_time_format(INT64_MAX, text));
    assert_false(tn_time_format(INT64_MIN, text));
}

/* Every day of 800 years, there and back. */
static void test_calendar(void **state) {
    (void)state;
    int32_t month = 0, day = 0;
    for (int64_t at = tn_time_days(1600, 1, 1), end = tn_time_days(2400, 1, 1); at < end; at++) {
        struct tn_time time = tn_time_split(at * 86400000 + 43200000);
        assert_int_equal(tn_time_days(time.year, time.month, time.day), at);
        assert_true(time.day == day + 1 || (time.day == 1 && (time.month == month + 1 || time.month == 1)));
        month = time.month;
        day = time.day;
    }
}

static void test_parse(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        {"1985-04-12T23:20:50.52Z", 482196050520}, /* RFC 3339, 5.8 */
        {"1996-12-19T16:39:57-08:00", 851042397000}, {"1990-12-31T23:59:60Z", 662688000000},
        {"1990-12-31T15:59:60-08:00", 662688000000}, {"1937-01-01T12:00:27.87+00:20", -1041337172130},
        {"2026-11-22t19:46:20z", 1795376780000},     {"2026-11-22T19:46:20.123456789Z", 1795376780123},
    };
    static const char *const bad[] = {
        "",
        "2026",
        "2026-11-22",
        "2026-11-22T19:46:20",
        "2026-11-22 19:46:20Z",
        "2026-13-22T19:46:20Z",
        "2026-00-22T19:46:20Z",
        "2026-02-29T19:46:20Z",
        "2100-02-29T00:00:00Z",
        "2026-11-31T19:46:20Z",
        "2026-11-22T24:00:00Z",
        "2026-11-22T19:60:20Z",
        "2026-11-22T19:46:61Z",
        "2026-11-22T19:46:60Z",
        "2026-11-22T19:46:20.Z",
        "2026-11-22T19:46:20+24:00",
        "2026-11-22T19:46:20+01:60",
        "2026-11-22T19:46:20+0100",
        "2026-11-22T19:46:20+01",
        "2026-11-22T19:46:20ZZ",
        "+026-11-22T19:46:20Z",
        "2026-11-2aT19:46:20Z",
        "2026-11-22T19:46:20Z ",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t ms = 0;
        assert_true(tn_time_parse(good[i].text, strlen(good[i].text), &ms));
        assert_int_equal(ms, good[i].ms);
        for (uint64_t length = 0; length < strlen(good[i].text); length++) /* no start of it is a time */
            assert_false(tn_time_parse(good[i].text, length, &ms));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t ms = 7;
        assert_false(tn_time_parse(bad[i], strlen(bad[i]), &ms));
        assert_int_equal(ms, 7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_times),
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_parse),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}

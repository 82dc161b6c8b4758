/* tenon.http against a server of its own: requests, bodies, streams. */
#include "tests/unit/http_fixture.h"

static int setup(void **state) {
    (void)state;
    fixture_begin("{}", NULL, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fixture_end();
    return 0;
}

static void test_hello(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/hello\"}");
    assert_string_equal(got->trace, "HE");
    assert_int_equal(status_of(got), 200);
    assert_string_equal(body_of(got), "hello");
    assert_string_equal(header_of(got, "x-twice"), "a, b");
}

static void test_events(void **state) {
    (void)state;
    struct got *got = exchange("{\"url\": \"HTTP/events?size=3\", \"receive\": \"events\"}");
    data_is(got, "[{\"event\":\"first\",\"data\":\"a\\nb\",\"id\":\"1\"},{\"event\":\"message\",\"data\":\"{\\\"n\\\": "
                 "2}\",\"id\":\"1\"},{\"event\":\"message\",\"data\":\"\",\"id\":\"1\",\"retry\":7},"
                 "{\"event\":\"message\",\"data\":\"ä \xef\xbf\xbd!\",\"id\":\"1\"},"
                 "{\"event\":\"message\",\"data\":\"last\"}]");
    assert_string_equal(got->trace, "HDDDDDE");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_hello),
        TEST(test_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

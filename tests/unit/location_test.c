/*
 * location_test.c - URLs in answers of services (plugins/rest/location.h): resolved as RFC 3986 says, and compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "location.h"
#include "util_fixture.h"

static void assert_resolves(const char *base, const char *reference, const char *expected) {
    struct tn_text_buffer out = TN_TEXT_BUFFER(LOCATION_MAX);
    bool good = location_resolve(&out, base, reference);
    if (expected == NULL)
        assert_false(good);
    else
        assert_string_equal(good ? tn_text_chars(&out) : "(invalid)", expected);
    tn_text_free(&out);
}

/* RFC 3986, 5.4, without fragments. */
static void test_references(void **state) {
    static const char base[] = "http://a/b/c/d;p?q";
    static const struct {
        const char *reference, *expected;
    } cases[] = {
        {"http:h", NULL}, /* another scheme's form: not http://… */
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g/"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"g#s", "http://a/b/c/g"},
        {";x", "http://a/b/c/;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"https://h:8443/x/../y?z", "https://h:8443/y?z"},
        {"HTTPS://h", "HTTPS://h/"},
        {"ftp://h/", NULL},
        {"file:///etc/passwd", NULL},
        {"javascript:alert(1)", NULL},
        {"http://user@h/", NULL},
        {"//user:p@h/", NULL},
        {"http://", NULL},
        {"http://h:99999/", NULL},
        {"http://h:x/", NULL},
        {"/a b", NULL},
        {"/a\r\nx: y", NULL},
        {"\\\\h\\x", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_resolves(base, cases[i].reference, cases[i].expected);
    assert_resolves("http://a", "g", "http://a/g");
    assert_resolves("http://a?q", "?y", "http://a/?y");
    assert_resolves("ftp://a/", "g", NULL);
    char *longest = malloc(LOCATION_MAX + 1);
    memset(longest, 'x', LOCATION_MAX);
    longest[LOCATION_MAX] = 0;
    assert_resolves(base, longest, NULL);
    free(longest);
    assert_int_equal(blocks, 0);
}

static void test_origins(void **state) {
    (void)state;
    assert_true(location_same_origin("http://A/x", "http://a:80/y?z"));
    assert_true(location_same_origin("https://[::1]:8/x", "https://[::1]:8"));
    assert_false(location_same_origin("http://a/", "https://a/"));
    assert_false(location_same_origin("http://a/", "http://a:81/"));
    assert_false(location_same_origin("http://a/", "http://a.b/"));
    assert_false(location_same_origin("http://a/", "http://a@b/"));
    assert_true(location_is_upgrade("http://a/", "https://a/x"));
    assert_false(location_is_upgrade("http://a:8080/", "https://a/x"));
    assert_false(location_is_upgrade("https://a/", "http://a/"));
    assert_true(location_is_downgrade("https://a/", "http://b/"));
    assert_true(location_host_matches("https://x.example.org/", "*.example.org"));
    assert_false(location_host_matches("https://example.org/", "*.example.org"));
    assert_false(location_host_matches("https://x.example.org.b/", "*.example.org"));
    assert_true(location_host_matches("https://h:8/", "h:8"));
    assert_true(location_host_matches("https://h:8/", "H"));
    assert_false(location_host_matches("https://h:8/", "h:9"));
}

static void assert_next(const char *link, const char *expected) {
    uint64_t length = 0;
    const char *found = location_find_next(link, &length);
    if (expected == NULL) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(found, expected, length);
}

static void test_links(void **state) {
    (void)state;
    assert_next("<a>; rel=next", "a");
    assert_next("<a>; rel=\"prev\", <b>; rel=\"next\"", "b");
    assert_next("<a> ; title=\"x, <y>; rel=next\" ;rel = \"last NEXT\"", "a");
    assert_next("<a,b>;rel=next", "a,b");
    assert_next("<a>; rel=prev; rel=next", NULL); /* only the first counts */
    assert_next("<a>; rel=nextish, <b>", NULL);
    assert_next("", NULL);
    assert_next("<a", NULL);
    assert_next("a; rel=next", NULL);
    assert_next("<a>; rel=\"next", "a");
    assert_next("<a>;;, <b>; rel=next", "b");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_references), cmocka_unit_test(test_origins),
                                       cmocka_unit_test(test_links)};
    return cmocka_run_group_tests(tests, util_setup, NULL);
}

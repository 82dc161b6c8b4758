/*
 * url_test.c - URLs read, joined and written: the examples of RFC 3986, 5.4, and what is refused.
 */
#include "adl/value/memory.h"
#include "host/base/url.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char *resolve_url(const char *base, const char *reference, const char **why) {
    struct url from = {.target = NULL}, to = {.target = NULL};
    struct buffer out;
    *why = base ? url_read(&from, base, strlen(base), NULL) : NULL;
    if (*why) fail_msg("%s: %s", base, *why);
    *why = url_read(&to, reference, strlen(reference), base ? &from : NULL);
    buffer_init(&out, SIZE_MAX);
    if (!*why) url_write(&out, &to);
    url_finish(&from);
    url_finish(&to);
    return *why ? NULL : buffer_detach(&out, NULL);
}

static void expect(const char *base, const char *reference, const char *expected) {
    const char *why;
    char *found = resolve_url(base, reference, &why);
    if (!found || strcmp(found, expected) != 0)
        fail_msg("%s from %s: found %s, expected %s", reference, base ? base : "nothing", found ? found : why,
                 expected);
    mem_free(found);
}

/* RFC 3986, 5.4.1 and 5.4.2, but for fragments, which are dropped, and other schemes, which are refused. */
static void references(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g/"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"g#s", "http://a/b/c/g"},
        {"g#a:b/c?d", "http://a/b/c/g"},
        {"g?y#s", "http://a/b/c/g?y"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/./x", "http://a/b/c/g?y/./x"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"./g:h", "http://a/b/c/g:h"},
        {"https://x:1/y", "https://x:1/y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect("http://a/b/c/d;p?q", cases[i][0], cases[i][1]);
    const char *why;
    assert_null(resolve_url("http://a/b", "g:h", &why));
    assert_null(resolve_url("http://a/b", "http:g", &why));
}

static void absolute_urls(void **state) {
    (void)state;
    static const char *const good[][2] = {
        {"HTTP://A.Example", "http://a.example/"},
        {"https://a.example:443?q", "https://a.example/?q"},
        {"https://a.example:80/", "https://a.example:80/"},
        {"http://a.example:/x", "http://a.example/x"},
        {"http://a.example./x", "http://a.example/x"},
        {"http://a_b.example/", "http://a_b.example/"},
        {"http://[::1]:8080/x", "http://[::1]:8080/x"},
        {"http://[FE80::A]/", "http://[fe80::a]/"},
        {"http://a//b/../c", "http://a//c"},
        {"http://a/%2e%2e/b", "http://a/%2e%2e/b"},
        {"http://a/\xc3\xa4?\xe2\x82\xac", "http://a/%C3%A4?%E2%82%AC"},
        {"http://a/\\\\x", "http://a/\\\\x"},
    };
    static const char *const bad[] = {"",
                                      "a.example",
                                      "//a",
                                      "http:///x",
                                      "http://?",
                                      "http://.",
                                      "http://a b/",
                                      "http://a\\b/",
                                      "http://a%41/",
                                      "http://[::1",
                                      "http://[]/",
                                      "http://[g]/",
                                      "http://[::1]x",
                                      "http://a:b/",
                                      "http://a:0/",
                                      "http://a:65536/",
                                      "http://a:-1/",
                                      "http://a:000080/",
                                      "http://u@a/",
                                      "http://a/\x7f",
                                      "http://a/ ",
                                      "http://a/?a b",
                                      "ws://a/",
                                      "http://a../",
                                      "http://a..b/",
                                      "http:/a"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) expect(NULL, good[i][0], good[i][1]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *why;
        char *found = resolve_url(NULL, bad[i], &why);
        if (found) fail_msg("%s: read as %s", bad[i], found);
    }
}

static void url_limits(void **state) {
    (void)state;
    struct buffer text;
    struct url url;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "http://");
    for (uint32_t i = 0; i < URL_HOST_MAX; i++) buffer_char(&text, 'a');
    assert_null(url_read(&url, text.data, text.length, NULL));
    url_finish(&url);
    buffer_char(&text, 'a');
    assert_string_equal(url_read(&url, text.data, text.length, NULL), "its host is longer than 255 bytes");
    buffer_clear(&text);
    buffer_text(&text, "http://a/");
    while (text.length < URL_MAX) buffer_char(&text, 'a');
    assert_null(url_read(&url, text.data, text.length, NULL));
    url_finish(&url);
    buffer_char(&text, 'a');
    assert_string_equal(url_read(&url, text.data, text.length, NULL), "it is longer than 64 KiB");
    buffer_clear(&text);
    buffer_text(&text, "http://a/"); /* what is not ASCII becomes three times as long */
    while (text.length + 2 <= URL_MAX) buffer_text(&text, "\xc3\xa4");
    assert_string_equal(url_read(&url, text.data, text.length, NULL), "it is longer than 64 KiB");
    assert_string_equal(url_read(&url, "http://a/\0b", 11, NULL), "it contains a NUL");
    buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references),
        cmocka_unit_test(absolute_urls),
        cmocka_unit_test(url_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

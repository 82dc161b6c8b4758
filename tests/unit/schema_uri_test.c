/*
 * schema_uri_test.c - references between schemas: the examples of RFC 3986 section 5.4, and cases that it leaves open.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "adl/schema/uri.h"
#include "adl/value/memory.h"

#define BASE "http://a/b/c/d;p?q"

static const struct {
    const char *base, *reference, *target;
} cases[] = {
    {BASE, "g:h", "g:h"},
    {BASE, "g", "http://a/b/c/g"},
    {BASE, "./g", "http://a/b/c/g"},
    {BASE, "g/", "http://a/b/c/g/"},
    {BASE, "/g", "http://a/g"},
    {BASE, "//g", "http://g"},
    {BASE, "?y", "http://a/b/c/d;p?y"},
    {BASE, "g?y", "http://a/b/c/g?y"},
    {BASE, "#s", "http://a/b/c/d;p?q#s"},
    {BASE, "g#s", "http://a/b/c/g#s"},
    {BASE, "g?y#s", "http://a/b/c/g?y#s"},
    {BASE, ";x", "http://a/b/c/;x"},
    {BASE, "g;x?y#s", "http://a/b/c/g;x?y#s"},
    {BASE, "", "http://a/b/c/d;p?q"},
    {BASE, ".", "http://a/b/c/"},
    {BASE, "./", "http://a/b/c/"},
    {BASE, "..", "http://a/b/"},
    {BASE, "../", "http://a/b/"},
    {BASE, "../g", "http://a/b/g"},
    {BASE, "../..", "http://a/"},
    {BASE, "../../g", "http://a/g"},
    {BASE, "../../../g", "http://a/g"},
    {BASE, "/./g", "http://a/g"},
    {BASE, "/../g", "http://a/g"},
    {BASE, "g.", "http://a/b/c/g."},
    {BASE, "..g", "http://a/b/c/..g"},
    {BASE, "./../g", "http://a/b/g"},
    {BASE, "./g/.", "http://a/b/c/g/"},
    {BASE, "g/../h", "http://a/b/c/h"},
    {BASE, "g;x=1/../y", "http://a/b/c/y"},
    {BASE, "g?y/../x", "http://a/b/c/g?y/../x"},
    {"http://a", "b", "http://a/b"},
    {"", "name.json#/x", "name.json#/x"},
    {"", "", ""},
    {"urn:example:a", "#x", "urn:example:a#x"},
    {"urn:example:a", "urn:b:..", "urn:b:.."},
};

static void resolves(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *found = uri_resolve(cases[i].base, cases[i].reference);
        if (strcmp(found, cases[i].target) != 0)
            fail_msg("%s from %s: expected %s, found %s", cases[i].reference, cases[i].base, cases[i].target, found);
        mem_free(found);
    }
}

static void splits_and_decodes(void **state) {
    (void)state;
    char uri[] = "http://a/b#/$defs/a%25b%7e1c", plain[] = "http://a/b";
    char *fragment = uri_split(uri);
    assert_string_equal(uri, "http://a/b");
    assert_true(uri_decode(fragment));
    assert_string_equal(fragment, "/$defs/a%b~1c");
    assert_string_equal(uri_split(plain), "");
    const char *const malformed[] = {"%", "%4", "%4g", "%00"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        char text[8];
        snprintf(text, sizeof text, "%s", malformed[i]);
        assert_false(uri_decode(text));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resolves),
        cmocka_unit_test(splits_and_decodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * lsp_position_test.c - positions in each unit, and URIs of files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_position.h"

static const char text[] = "a: \xc3\xa9\xf0\x9f\x98\x80x\nb: 1\n"; /* é, an emoji */

static void expect_json(tn_value value, const char *expected) {
    char *got = json_text(value, JSON_COMPACT);
    assert_string_equal(got, expected);
    mem_free(got);
    value_unref(value);
}

static void positions_count_in_the_unit(void **state) {
    struct source *source = source_new("a.yaml", text, strlen(text));
    uint32_t x = (uint32_t)(strchr(text, 'x') - text), offset;
    (void)state;
    expect_json(lsp_position(source, x, SOURCE_BYTES), "{\"line\":0,\"character\":9}");
    expect_json(lsp_position(source, x, SOURCE_UTF16), "{\"line\":0,\"character\":6}");
    expect_json(lsp_range(source, (struct span){x, x + 1}, SOURCE_UTF16),
                "{\"start\":{\"line\":0,\"character\":6},\"end\":{\"line\":0,\"character\":7}}");
    tn_value position = lsp_position(source, x, SOURCE_UTF16);
    assert_true(lsp_read_position(source, position, SOURCE_UTF16, &offset));
    assert_int_equal(offset, x);
    value_unref(position);
    source_unref(source);
}

static bool read_range(const char *json, struct span *out) {
    struct source *source = source_new("a.yaml", text, strlen(text));
    tn_value range;
    assert_int_equal(json_read(json, strlen(json), NULL, &range, NULL), TN_OK);
    bool read = lsp_read_range(source, range, SOURCE_BYTES, out);
    value_unref(range);
    source_unref(source);
    return read;
}

static void ranges_are_read_with_care(void **state) {
    struct span span;
    (void)state;
    assert_true(read_range("{\"start\":{\"line\":1,\"character\":0},\"end\":{\"line\":99,\"character\":99}}", &span));
    assert_int_equal(span.end, strlen(text)); /* what is past the end means the end */
    assert_true(read_range("{\"start\":{\"line\":1,\"character\":3},\"end\":{\"line\":0,\"character\":0}}", &span));
    assert_true(span.start == 0 && span.end > 0); /* in the right order */
    assert_true(read_range("{\"start\":{\"line\":0,\"character\":4294967296},\"end\":{\"line\":0,\"character\":1e300}}",
                           &span) == false);
    assert_false(read_range("{\"start\":{\"line\":-1,\"character\":0},\"end\":{\"line\":0,\"character\":0}}", &span));
    assert_false(read_range("{\"start\":{\"line\":0}}", &span));
    assert_false(read_range("[1]", &span));
}

static void expect_path(const char *uri, const char *expected) {
    char *path = lsp_uri_path(uri);
    if (expected)
        assert_string_equal(path, expected);
    else
        assert_null(path);
    mem_free(path);
}

static void uris_are_paths(void **state) {
    (void)state;
    expect_path("file:///a/b%20c.yaml", "/a/b c.yaml");
    expect_path("file://localhost/a", "/a");
    expect_path("file:///a%2Gb%", "/a%2Gb%"); /* not an escape */
    expect_path("file:///a#fragment", "/a");
    expect_path("file://server/a", NULL);
    expect_path("file:///a%00b", NULL);
    expect_path("untitled:Untitled-1", NULL);
    tn_value uri = lsp_path_uri("/a b/\xc3\xa9?.yaml");
    assert_string_equal(value_chars(uri, NULL), "file:///a%20b/%C3%A9%3F.yaml");
    expect_path(value_chars(uri, NULL), "/a b/\xc3\xa9?.yaml");
    value_unref(uri);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_count_in_the_unit),
        cmocka_unit_test(ranges_are_read_with_care),
        cmocka_unit_test(uris_are_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* <tenon/util/merge_patch.h>, against RFC 7396's examples, and <tenon/util/build.h>. */
#include "tests/unit/util_fixture.h"

#include <tenon/util/build.h>
#include <tenon/util/merge_patch.h>

extern int64_t value_live_count(void);

/* RFC 7396, appendix A. */
static void test_merge_patch(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    };
    int64_t before = value_live_count();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_value target = json_value(cases[i][0]), patch = json_value(cases[i][1]), out = NULL;
        assert_int_equal(tn_merge_patch(target, patch, &out), TN_OK);
        expect_json_take(out, cases[i][2]);
        tn_release(target);
        tn_release(patch);
    }
    assert_int_equal(value_live_count(), before);
}

static void test_merge_patch_limits(void **state) {
    (void)state;
    int64_t before = value_live_count();
    tn_value patch = json_value("{\"a\":{\"b\":1,\"c\":null}}"), out = NULL, untouched = patch;
    assert_int_equal(tn_merge_patch(NULL, patch, &out), TN_OK);
    expect_json_take(out, "{\"a\":{\"b\":1}}");
    assert_int_equal(tn_merge_patch(patch, NULL, &untouched), TN_INVALID);
    assert_ptr_equal(untouched, patch);
    tn_value odd = json_value("{\"a\\u0000b\":1}");
    assert_int_equal(tn_merge_patch(odd, patch, &out), TN_OK);
    expect_json_take(out, "{\"a\\u0000b\":1,\"a\":{\"b\":1}}");
    tn_release(odd);
    tn_release(patch);
    tn_value deep = json_value("1");
    for (int i = 0; i < TN_MERGE_PATCH_DEPTH + 1; i++) deep = tn_build("{s:V}", "a", deep);
    assert_int_equal(tn_merge_patch(NULL, deep, &untouched), TN_LIMIT);
    assert_int_equal(tn_merge_patch(deep, tn_get(deep, "a"), &out), TN_OK);
    tn_release(out);
    tn_release(deep);
    assert_int_equal(value_live_count(), before);
}

static void test_build(void **state) {
    (void)state;
    int64_t before = value_live_count();
    tn_value list = json_value("[1]");
    expect_json_take(tn_build("{s:s,s:i}", "a", "b", "c", 7), "{\"a\":\"b\",\"c\":7}");
    expect_json_take(tn_build("{}"), "{}");
    expect_json_take(tn_build("[]"), "[]");
    expect_json_take(tn_build("s", "alone"), "\"alone\"");
    expect_json_take(tn_build(" [ i I f b n ] ", -1, INT64_MAX, 0.5, 2), "[-1,9223372036854775807,0.5,true,null]");
    expect_json_take(tn_build("{s:{s:[{},[]]},s:s#}", "a", "b", "c", "xyz", (uint64_t)2),
                     "{\"a\":{\"b\":[{},[]]},\"c\":\"xy\"}");
    expect_json_take(tn_build("{s:v,s:V,s:v}", "a", list, "b", tn_retain(list), "c", list),
                     "{\"a\":[1],\"b\":[1],\"c\":[1]}");
    expect_json_take(tn_build("{s:s?,s:s*,s:v?,s:v*,s:V?,s:V*,s:i}", "a", NULL, "b", NULL, "c", NULL, "d", NULL, "e",
                              NULL, "f", NULL, "g", 1),
                     "{\"a\":null,\"c\":null,\"e\":null,\"g\":1}");
    expect_json_take(tn_build("[s*s?s#*v*]", NULL, "x", NULL, (uint64_t)3, list), "[\"x\",[1]]");
    tn_release(list);
    assert_int_equal(value_live_count(), before);
}

static void test_build_failures(void **state) {
    (void)state;
    int64_t before = value_live_count();
    assert_null(tn_build("{s:s}", "a", NULL));
    assert_null(tn_build("{s:i}", NULL, 1));
    assert_null(tn_build("{s:s}", "a", "\xFF"));
    assert_null(tn_build("{s:f}", "a", 1.0 / 0.0));
    assert_null(tn_build("{s:v}", "a", NULL));
    /* A reference that V takes is released whatever fails, before or after it. */
    assert_null(tn_build("{s:V,s:s}", "a", json_value("[1]"), "b", NULL));
    assert_null(tn_build("{s:s,s:V}", "b", NULL, "a", json_value("[1]")));
    assert_null(tn_build("[VV]", NULL, json_value("[1]")));
    static const char *const malformed[] = {"",   "{",  "}",   "[",   "]",    "{]",   "[}",  "x",   "[x]", "{i}",
                                            "{n", "nn", "{}n", "[]]", "{s:}", "{s?}", "{s#", "[n?", "n*",  ":"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        assert_null(tn_build(malformed[i], "a", (uint64_t)1, "b"));
    char deep[2 * TN_BUILD_DEPTH + 3] = "";
    memset(deep, '[', TN_BUILD_DEPTH);
    memset(deep + TN_BUILD_DEPTH, ']', TN_BUILD_DEPTH);
    tn_value value = tn_build(deep);
    assert_non_null(value);
    tn_release(value);
    memset(deep, '[', TN_BUILD_DEPTH + 1);
    memset(deep + TN_BUILD_DEPTH + 1, ']', TN_BUILD_DEPTH + 1);
    assert_null(tn_build(deep));
    assert_int_equal(value_live_count(), before);
}

static void test_set_and_append(void **state) {
    (void)state;
    int64_t before = value_live_count();
    expect_json_take(tn_set_take(tn_build("{s:i}", "a", 1), "b", tn_int(2)), "{\"a\":1,\"b\":2}");
    assert_null(tn_set_take(NULL, "b", tn_int(2)));
    assert_null(tn_set_take(json_value("{\"a\":1}"), "b", NULL));
    tn_value list = NULL;
    assert_int_equal(tn_append_take(&list, NULL), TN_INVALID);
    assert_null(list);
    assert_int_equal(tn_append_take(&list, tn_int(1)), TN_OK);
    assert_int_equal(tn_append_take(&list, tn_int(2)), TN_OK);
    expect_json_take(list, "[1,2]");
    tn_value object = json_value("{\"a\":1}");
    assert_int_not_equal(tn_append_take(&object, tn_int(1)), TN_OK);
    expect_json_take(object, "{\"a\":1}");
    assert_int_equal(value_live_count(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_patch),    cmocka_unit_test(test_merge_patch_limits), cmocka_unit_test(test_build),
        cmocka_unit_test(test_build_failures), cmocka_unit_test(test_set_and_append),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}

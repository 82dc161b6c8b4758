/* <tenon/testkit.h> with its own values: JSON both ways, builders, mistakes, and a node on it. */
#include <float.h>
#include <tenon/easy.h>
#include <tenon/util/build.h>
#include <tenon/util/merge_patch.h>

TN_PLUGIN("test.kit", "1.0.0", "A plugin for the test of the test kit")
TN_NODE(words, "test.words", "Counts blanks.", TN_PURE, (READ, from, "text"), (WRITE, to, "number")) {
    tn_value text = tn_read_text(task, config->from);
    int64_t count = 0;
    if (text == NULL) return TN_FAILED;
    for (const char *at = tn_chars(text, NULL); *at != '\0'; at++) count += *at == ' ';
    tn_release(text);
    return tn_done_written(task, tn_write_int(task, config->to, count));
}

#include <tenon/testkit.h>

/* What is read is written again in this form; NULL: it is not JSON. */
static void expect_json(const char *json, const char *again) {
    tn_value value = NULL;
    int32_t status = tn_test_from_json(json, strlen(json), &value);
    TN_TEST_ASSERT((status == TN_OK) == (again != NULL));
    TN_TEST_ASSERT(again == NULL || tn_test_is(value, again));
    tn_test_release(value);
    TN_TEST_ASSERT(tn_test.values == 0);
}

static void test_json(void) {
    expect_json(" { \"a\" : [ 1 , -2.50 , 1e3 , true , false , null ] , \"b\" : { } } ",
                "{\"a\":[1,-2.5,1000.0,true,false,null],\"b\":{}}");
    expect_json("\"\\u00e9\\ud83d\\ude00\\n\\u0001\\\"\\\\\\/\"", "\"\xC3\xA9\xF0\x9F\x98\x80\\n\\u0001\\\"\\\\/\"");
    expect_json("9223372036854775807", "9223372036854775807");
    expect_json("9223372036854775808", "9.223372036854776e+18");
    expect_json("{\"$bytes\":\"aGk=\"}", "{\"$bytes\":\"aGk=\"}");
    expect_json("\"a\\u0000b\"", "\"a\\u0000b\"");
    static const char *const bad[] = {"",
                                      " ",
                                      "[",
                                      "]",
                                      "[1,]",
                                      "[,1]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{a:1}",
                                      "{\"a\":1,}",
                                      "{\"a\":1,\"a\":2}",
                                      "01",
                                      "1.",
                                      "-",
                                      "+1",
                                      ".5",
                                      "1e",
                                      "nul",
                                      "truex",
                                      "\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\ud800\"",
                                      "\"\xFF\"",
                                      "\"\n\"",
                                      "1 2",
                                      "[1 2]",
                                      "1e999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) expect_json(bad[i], NULL);
    char deep[2 * TN_TEST_DEPTH + 3];
    memset(deep, '[', sizeof(deep));
    memset(deep + TN_TEST_DEPTH, ']', TN_TEST_DEPTH);
    deep[2 * TN_TEST_DEPTH] = '\0';
    expect_json(deep, deep);
    memset(deep, '[', TN_TEST_DEPTH + 1);
    memset(deep + TN_TEST_DEPTH + 1, ']', TN_TEST_DEPTH + 1);
    deep[2 * TN_TEST_DEPTH + 2] = '\0';
    expect_json(deep, NULL);
}

static void test_values(void) {
    TN_TEST_ASSERT(tn_test_enter() != NULL);
    TN_TEST_ASSERT(tn_build("{s:s", "a", "b") == NULL);
    tn_value value = tn_build("{s:[ifb],s:{s:s}}", "a", 1, 0.5, 1, "b", "c", "d");
    TN_TEST_ASSERT(tn_test_is(value, "{\"a\":[1,0.5,true],\"b\":{\"c\":\"d\"}}"));
    tn_value patch = tn_build("{s:n,s:{s:n,s:i}}", "a", "b", "c", "e", 2), merged = NULL;
    TN_TEST_ASSERT(tn_merge_patch(value, patch, &merged) == TN_OK && tn_test_is(merged, "{\"b\":{\"e\":2}}"));
    TN_TEST_ASSERT(tn_test_is(value, "{\"a\":[1,0.5,true],\"b\":{\"c\":\"d\"}}")); /* unchanged */
    tn_value one = tn_build("{s:i,s:i}", "a", 1, "b", 2), two = tn_build("{s:f,s:f}", "b", 2.0, "a", 1.0);
    TN_TEST_ASSERT(tn_test_equal(one, two) && !tn_test_equal(one, value) && !tn_test_equal(one, NULL));
    int64_t integer = 7;
    TN_TEST_ASSERT(tn_test_as_int(tn_test_get(two, "b"), &integer) == TN_OK && integer == 2);
    TN_TEST_ASSERT(tn_test_as_int(two, &integer) == TN_TYPE && tn_test_as_int(NULL, &integer) == TN_TYPE);
    TN_TEST_ASSERT(tn_test_make_double(DBL_MAX * 2) == NULL && tn_test_make_text("\xFF", 1) == NULL);
    tn_value all[] = {value, patch, merged, one, two};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) tn_release(all[i]);
    TN_TEST_ASSERT(tn_test.values == 0);
    tn_test_finish();
}

static void test_builder_mistakes(void) {
    for (int which = 0; which < 8; which++) {
        tn_builder *builder = tn_test_make_builder();
        if (which == 0) tn_test_builder_end(builder);
        if (which == 1) tn_test_builder_key(builder, "a");
        if (which == 2) tn_test_builder_add(builder, NULL);
        if (which == 3) tn_test_builder_begin(builder, TN_STRING);
        if (which >= 4) tn_test_builder_begin(builder, TN_OBJECT);
        if (which == 5) tn_test_builder_key(builder, "a"), tn_test_builder_end(builder);
        if (which == 6) tn_test_builder_begin(builder, TN_ARRAY);
        if (which == 7) tn_test_builder_key(builder, "a"), tn_test_builder_key(builder, "b");
        TN_TEST_ASSERT(tn_test_builder_finish(builder) == NULL);
        TN_TEST_ASSERT(tn_test.values == 0);
    }
}

static void test_node(void) {
    tn_test_set_channel("in", "\"a b c\"");
    tn_test_set_channel("out", "0");
    tn_test_run("test.words", "{\"from\": \"in\", \"to\": \"out\"}", "null");
    TN_TEST_ASSERT(tn_test_wrote("out", "2"));
    tn_test_set_channel("in", "1");
    TN_TEST_ASSERT(tn_test_failed(tn_test_start("null"), "TYPE"));
    tn_test_finish();
}

int main(void) {
    test_json();
    test_values();
    test_builder_mistakes();
    test_node();
    return 0;
}

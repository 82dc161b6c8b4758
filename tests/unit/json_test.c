/*
 * json_test.c - JSON text to values and back: accepted and refused texts with their messages, and round trips. Random
 * documents are in json_oracle_test.c, numbers in number_test.c.
 */
#include "tests/unit/corpus.h"

#include "adl/value/base64.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"

static tn_value read_text(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

static void expect_text(tn_value value, enum json_style style, const char *expected) {
    char *text = json_text(value, style);
    assert_string_equal(text, expected);
    mem_free(text);
}

static void check_error(const struct corpus_case *test, void *user) {
    (void)user;
    const char *text = corpus_need(test, "in");
    size_t length = strlen(text);
    char *exact = malloc(length + 1); /* so that a sanitizer detects a read past the end */
    memcpy(exact, text, length);
    tn_value value = VALUE_IMMEDIATE_TRUE;
    struct error error = ERROR_INIT;
    char *end = realloc(exact, length > 0 ? length : 1);
    int32_t status = json_read(end, length, NULL, &value, &error);
    free(end);
    if (status != TN_INVALID) fail_msg("%s:%zu: status %d", test->path, test->line, (int)status);
    assert_ptr_equal(value, VALUE_IMMEDIATE_TRUE);
    struct buffer got;
    buffer_init(&got, SIZE_MAX);
    buffer_format(&got, "%s: %s", error.code, error.message);
    corpus_expect(test, "error", got.data);
    buffer_clear(&got);
    buffer_format(&got, "%u-%u", error.span.start, error.span.end);
    corpus_expect(test, "at", got.data);
    buffer_finish(&got);
    error_finish(&error);
}

static void mistakes_are_explained(void **state) {
    (void)state;
    int64_t live = value_live_count();
    assert_true(corpus_each("tests/corpus/value/json_errors.txt", check_error, NULL) > 20);
    assert_int_equal(value_live_count(), live);
}

static void texts_come_back(void **state) {
    (void)state;
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "1152921504606846976", /* one more than fits a handle */
        "0.5",
        "-0.0",
        "1e300",
        "\"\"",
        "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0000\\u001f/ é \xf0\x9f\x98\x80\"",
        "[]",
        "{}",
        "[[],{},[[]],null]",
        "{\"\":1,\"b\":2,\"a\":{\"z\":[1,2.5,\"x\"]}}",
        "{\"a\\u0000b\":1}",
        "{\"$bytes\":\"\"}",
        "{\"$bytes\":\"AP+/\"}",
        "[{\"k\":1},{\"k\":2},{\"k\":3},{\"k\":4},{\"k\":5},{\"k\":6},{\"k\":7},{\"k\":8},{\"k\":9}]",
    };
    int64_t live = value_live_count();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tn_value value = read_text(texts[i]);
        expect_text(value, JSON_COMPACT, texts[i]);
        char *indented = json_text(value, JSON_INDENTED);
        tn_value again = read_text(indented);
        assert_true(value_identical(value, again));
        assert_true(value_hash(value) == value_hash(again));
        mem_free(indented);
        value_unref(again);
        value_unref(value);
    }
    assert_int_equal(value_live_count(), live);
}

static void kinds_are_kept(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int kind;
        const char *written;
    } cases[] = {
        {"1", TN_INT, "1"},
        {"-0", TN_INT, "0"},
        {"1.0", TN_DOUBLE, "1.0"},
        {"1e0", TN_DOUBLE, "1.0"},
        {"-0.0", TN_DOUBLE, "-0.0"},
        {"1E+2", TN_DOUBLE, "100.0"},
        {"9223372036854775808", TN_DOUBLE, "9.223372036854776e18"}, /* not an int64 */
        {"-9223372036854775809", TN_DOUBLE, "-9.223372036854776e18"},
        {"100000000000000000000000000000", TN_DOUBLE, "1e29"},
        {"1e-400", TN_DOUBLE, "0.0"},
        {" \t\r\n 7 \n", TN_INT, "7"},
        {"\"\\u00e9\\/\\ud83d\\ude00\"", TN_STRING, "\"é/\xf0\x9f\x98\x80\""},
        {"{\"$bytes\":\"aGk=\"}", TN_BYTES, "{\"$bytes\":\"aGk=\"}"},
        {"{\"$bytes\":\"aGk\"}", TN_OBJECT, "{\"$bytes\":\"aGk\"}"},   /* without padding */
        {"{\"$bytes\":\"aGl=\"}", TN_OBJECT, "{\"$bytes\":\"aGl=\"}"}, /* unused bits set */
        {"{\"$bytes\":\"a===\"}", TN_OBJECT, "{\"$bytes\":\"a===\"}"},
        {"{\"$bytes\":\"====\"}", TN_OBJECT, "{\"$bytes\":\"====\"}"},
        {"{\"$bytes\":\"aG k\"}", TN_OBJECT, "{\"$bytes\":\"aG k\"}"},
        {"{\"$bytes\":\"aG=k\"}", TN_OBJECT, "{\"$bytes\":\"aG=k\"}"},
        {"{\"$bytes\":7}", TN_OBJECT, "{\"$bytes\":7}"},
        {"{\"$bytes\":\"aGk=\",\"a\":1}", TN_OBJECT, "{\"$bytes\":\"aGk=\",\"a\":1}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_value value = read_text(cases[i].text);
        if (value_kind(value) != cases[i].kind) fail_msg("%s is %s", cases[i].text, value_kind_name(value_kind(value)));
        expect_text(value, JSON_COMPACT, cases[i].written);
        value_unref(value);
    }
}

static void styles(void **state) {
    (void)state;
    tn_value value = read_text("{\"b\":[1,{\"d\":null,\"c\":[]}],\"a\":{},\"ab\":\"x\",\"$bytes\":\"\"}");
    expect_text(value, JSON_SORTED, "{\"$bytes\":\"\",\"a\":{},\"ab\":\"x\",\"b\":[1,{\"c\":[],\"d\":null}]}");
    expect_text(value, JSON_INDENTED,
                "{\n  \"b\": [\n    1,\n    {\n      \"d\": null,\n      \"c\": []\n    }\n  ],\n  \"a\": {},\n"
                "  \"ab\": \"x\",\n  \"$bytes\": \"\"\n}");
    value_unref(value);
}

static void limits_hold(void **state) {
    (void)state;
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    struct json_limits limits = {.depth = 3, .length = 20};
    assert_int_equal(json_read("[[[1]]]", 7, &limits, &value, &error), TN_OK);
    value_unref(value);
    assert_int_equal(json_read("[[[[1]]]]", 9, &limits, &value, &error), TN_LIMIT);
    assert_string_equal(error.code, "LIMIT");
    assert_string_equal(error.message, "arrays and objects are nested deeper than the limit of 3, at line 1, column 4");
    assert_int_equal(json_read("\"123456789012345678\"", 20, &limits, &value, &error), TN_OK);
    value_unref(value);
    assert_int_equal(json_read("\"1234567890123456789\"", 21, &limits, &value, &error), TN_LIMIT);
    assert_string_equal(error.message, "the text is longer, in bytes, than the limit of 20, at line 1, column 1");
    error_finish(&error);

    limits = (struct json_limits){.values = 4};
    assert_int_equal(json_read("[[],{\"a\":1}]", 12, &limits, &value, &error), TN_OK);
    value_unref(value);
    assert_int_equal(json_read("[[],{\"a\":1},2]", 14, &limits, &value, &error), TN_LIMIT);
    assert_string_equal(error.code, "LIMIT");
    assert_string_equal(error.message, "the text has more values than the limit of 4, at line 1, column 13");
    error_finish(&error);

    char deep[2 * JSON_DEPTH_MAX + 2];
    memset(deep, '[', sizeof deep);
    memset(deep + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    assert_int_equal(json_read(deep, 2 * JSON_DEPTH_MAX, NULL, &value, NULL), TN_OK);
    value_unref(value);
    memset(deep, '[', JSON_DEPTH_MAX + 1);
    memset(deep + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    assert_int_equal(json_read(deep, 2 * JSON_DEPTH_MAX + 2, NULL, &value, NULL), TN_LIMIT);

    char *large = mem_alloc(JSON_LENGTH_MAX + 1);
    memset(large, ' ', JSON_LENGTH_MAX + 1);
    large[0] = '7';
    assert_int_equal(json_read(large, JSON_LENGTH_MAX, NULL, &value, NULL), TN_OK);
    assert_int_equal(json_read(large, JSON_LENGTH_MAX + 1, NULL, &value, NULL), TN_LIMIT);
    size_t length = 2 * (size_t)JSON_VALUES_MAX; /* the array and its items are one value too many */
    for (size_t i = 1; i < length; i++) large[i] = i % 2 ? '1' : ',';
    large[0] = '[';
    large[length] = ']';
    assert_int_equal(json_read(large, length + 1, NULL, &value, NULL), TN_LIMIT);
    large[length - 2] = ']'; /* one item less */
    assert_int_equal(json_read(large, length - 1, NULL, &value, NULL), TN_OK);
    value_unref(value);
    mem_free(large);
}

/* Equal keys are found in a time that grows with their number: with its square, this would take hours. */
static void many_equal_keys(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (int i = 0; i < 500000; i++) buffer_text(&text, i == 0 ? "{\"k\":1" : ",\"k\":1");
    buffer_text(&text, "}");
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(json_read(text.data, text.length, NULL, &value, &error), TN_INVALID);
    assert_non_null(strstr(error.message, "found the key \"k\" a second time"));
    error_finish(&error);
    buffer_finish(&text);
}

static void deep_values_are_written_and_read(void **state) {
    (void)state;
    int64_t live = value_live_count();
    enum { DEPTH = 300000 };
    tn_value deep = value_array();
    for (int i = 1; i < DEPTH; i++) {
        if (i % 2 == 0)
            deep = value_push_take(value_array(), deep);
        else
            deep = value_set_take(value_object(), "k", deep);
    }
    char *text = json_text(deep, JSON_SORTED);
    struct json_limits limits = {.depth = DEPTH};
    tn_value again = NULL;
    assert_int_equal(json_read(text, strlen(text), &limits, &again, NULL), TN_OK);
    assert_true(value_equal(deep, again));
    assert_true(value_identical(deep, again));
    assert_true(value_hash(deep) == value_hash(again));
    tn_value merged = value_merge_patch(deep, again);
    assert_true(value_equal(deep, merged));
    mem_free(text);
    value_unref(merged);
    value_unref(again);
    value_unref(deep);
    assert_int_equal(value_live_count(), live);
}

static void writing_stops_at_the_limit(void **state) {
    (void)state;
    tn_value value = read_text("{\"a\":[1,2,{\"b\":\"0123456789\"}],\"c\":{\"$bytes\":\"AAAAAAAA\"}}");
    char *whole = json_text(value, JSON_SORTED);
    size_t length = strlen(whole);
    for (size_t limit = 0; limit <= length; limit++) {
        struct buffer out;
        buffer_init(&out, limit);
        json_write(&out, value, JSON_SORTED);
        assert_int_equal(out.overflow, limit < length);
        assert_memory_equal(buffer_cstr(&out), whole, out.length);
        buffer_finish(&out);
    }
    mem_free(whole);
    value_unref(value);
}

static void writing_stops_at_the_depth(void **state) {
    (void)state;
    static const size_t depths[] = {1, 2, 31, 32, 33, 63, 64, 65, 264, 5000};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        tn_value value = value_set_take(value_object(), "z", value_int(1));
        for (size_t depth = 1; depth < depths[i]; depth++)
            value = depth % 2 ? value_push_take(value_array(), value) : value_set_take(value_object(), "k", value);
        char *whole = json_text(value, JSON_SORTED);
        for (size_t depth = depths[i] - 1; depth <= depths[i] + 1; depth++) {
            struct buffer out;
            buffer_init(&out, SIZE_MAX);
            assert_int_equal(json_write_bounded(&out, value, JSON_SORTED, depth), depth >= depths[i]);
            if (depth >= depths[i]) assert_string_equal(buffer_cstr(&out), whole);
            buffer_finish(&out);
        }
        mem_free(whole);
        value_unref(value);
    }
}

static void strings_are_quoted(void **state) {
    (void)state;
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    json_write_string(&out, "a\0\x7f\x1f\"", 5);
    assert_string_equal(out.data, "\"a\\u0000\x7f\\u001f\\\"\"");
    buffer_finish(&out);
}

static void base64_both_ways(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *text;
    } cases[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer out;
        buffer_init(&out, SIZE_MAX);
        base64_write(&out, cases[i].bytes, strlen(cases[i].bytes));
        assert_string_equal(buffer_cstr(&out), cases[i].text);
        tn_value bytes = base64_read(cases[i].text, strlen(cases[i].text));
        size_t length;
        assert_memory_equal(value_data(bytes, &length), cases[i].bytes, strlen(cases[i].bytes));
        assert_int_equal(length, strlen(cases[i].bytes));
        value_unref(bytes);
        buffer_finish(&out);
    }
    unsigned char all[5000];
    for (size_t i = 0; i < sizeof all; i++) all[i] = (unsigned char)(i * 7);
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    base64_write(&out, all, sizeof all);
    tn_value bytes = base64_read(out.data, out.length);
    assert_memory_equal(value_data(bytes, NULL), all, sizeof all);
    value_unref(bytes);
    buffer_finish(&out);
    assert_null(base64_read("A", 1));
    assert_null(base64_read("Zg=A", 4));
    assert_null(base64_read("Zh==", 4));
    assert_null(base64_read("Z-_=", 4));
}

static void every_code_point(void **state) {
    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char bytes[4];
        uint32_t back = 0;
        size_t size = utf8_encode(code, bytes);
        bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        if (utf8_decode(bytes, size, &back) != (surrogate ? 0 : size) || utf8_valid(bytes, size) == surrogate ||
            (!surrogate && back != code))
            fail_msg("U+%04X", (unsigned)code);
        if (size > 1 && utf8_decode(bytes, size - 1, &back) != 0) fail_msg("U+%04X cut short", (unsigned)code);
    }
}

static void malformed_utf8(void **state) {
    (void)state;
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xe0\x80\x80",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xf0\x80\x80\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xc3",
                                      "\xe2\x82",
                                      "\xc3(",
                                      "12345678\xff",
                                      "\xf0\x9f\x98(",
                                      "\xfe\x80\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(utf8_valid(bad[i], strlen(bad[i])));
        char json[40];
        int length = snprintf(json, sizeof json, "\"12345678%s\"", bad[i]);
        tn_value value;
        assert_int_equal(json_read(json, (size_t)length, NULL, &value, NULL), TN_INVALID);
    }
    assert_true(utf8_valid("", 0));
    assert_true(utf8_valid("12345678é12345678", strlen("12345678é12345678")));
}

static void half_of_a_pair_can_be_allowed(void **state) {
    static const struct {
        const char *text, *expected; /* NULL: an error */
    } cases[] = {{"\"\\ud83d\"", "\xEF\xBF\xBD"},
                 {"\"\\ude00\"", "\xEF\xBF\xBD"},
                 {"\"\\ud83d\\ud83d\\ude00\"", "\xEF\xBF\xBD\xf0\x9f\x98\x80"},
                 {"\"\\ud83dx\\n\"", "\xEF\xBF\xBDx\n"},
                 {"\"\\ud83d\\u00zz\"", NULL},
                 {"\"\\ud8\"", NULL}};
    const struct json_limits limits = {.half_pairs = true};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_value value = NULL;
        int32_t status = json_read(cases[i].text, strlen(cases[i].text), &limits, &value, NULL);
        assert_int_equal(status, cases[i].expected ? TN_OK : TN_INVALID);
        if (cases[i].expected) assert_string_equal(value_chars(value, NULL), cases[i].expected);
        value_unref(cases[i].expected ? value : NULL);
        assert_int_equal(json_read(cases[i].text, strlen(cases[i].text), NULL, &value, NULL), TN_INVALID);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_a_pair_can_be_allowed),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(kinds_are_kept),
        cmocka_unit_test(styles),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(many_equal_keys),
        cmocka_unit_test(deep_values_are_written_and_read),
        cmocka_unit_test(writing_stops_at_the_limit),
        cmocka_unit_test(writing_stops_at_the_depth),
        cmocka_unit_test(strings_are_quoted),
        cmocka_unit_test(base64_both_ways),
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(malformed_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* <tenon/util/text.h>: appending, limits, cutting, encodings, memory that runs out. */
#include "tests/unit/util_fixture.h"

#include <tenon/util/text.h>

static void test_append(void **state) {
    (void)state;
    struct tn_text_buffer text = {0};
    assert_string_equal(tn_text_chars(&text), "");
    assert_int_equal(tn_text_append(&text, "a"), TN_OK);
    assert_int_equal(tn_text_append_n(&text, "bcd", 2), TN_OK);
    assert_int_equal(tn_text_append_n(&text, NULL, 0), TN_OK);
    assert_int_equal(tn_text_append_char(&text, '-'), TN_OK);
    assert_int_equal(tn_text_append_format(&text, "%d%s", 42, "!"), TN_OK);
    assert_string_equal(tn_text_chars(&text), "abc-42!");
    tn_text_drop(&text, 4);
    assert_string_equal(tn_text_chars(&text), "42!");
    tn_text_drop(&text, 100);
    assert_string_equal(tn_text_chars(&text), "");
    for (int i = 0; i < 1000; i++) (void)tn_text_append_format(&text, "%d,", i);
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
    tn_text_clear(&text, UINT64_MAX);
    assert_true(text.capacity > 0 && text.length == 0);
    tn_text_clear(&text, 16);
    assert_int_equal(text.capacity, 0);
    assert_int_equal(blocks, 0);
}

static void test_values(void **state) {
    (void)state;
    struct tn_text_buffer text = {0};
    tn_value string = tn_text("a \"b\""), list = json_value("[1,null]");
    (void)tn_text_append_value(&text, string);
    (void)tn_text_append_value(&text, list);
    (void)tn_text_append_value(&text, NULL);
    tn_release(string);
    tn_release(list);
    tn_value made = tn_text_finish(&text);
    assert_string_equal(tn_chars(made, NULL), "a \"b\"[1,null]");
    tn_release(made);
    made = tn_text_finish(&text); /* empty */
    assert_string_equal(tn_chars(made, NULL), "");
    tn_release(made);
    (void)tn_text_append(&text, "\xFF");
    assert_null(tn_text_finish(&text));
    assert_int_equal(blocks, 0);
}

static void test_limit(void **state) {
    (void)state;
    struct tn_text_buffer text = TN_TEXT_BUFFER(5);
    assert_int_equal(tn_text_append(&text, "12345"), TN_OK);
    assert_int_equal(tn_text_append_char(&text, '6'), TN_LIMIT);
    assert_string_equal(tn_text_chars(&text), "12345");
    tn_text_drop(&text, 5);
    assert_int_equal(tn_text_append(&text, "x"), TN_LIMIT); /* the failure stays */
    assert_int_equal(tn_text_append_format(&text, "x"), TN_LIMIT);
    assert_int_equal(tn_text_append_percent(&text, "x", 1, ""), TN_LIMIT);
    assert_int_equal(tn_text_append_lossy(&text, "x", 1), TN_LIMIT);
    assert_null(tn_text_finish(&text));
    assert_int_equal(text.limit, 5);
    assert_int_equal(tn_text_append_n(&text, "x", UINT64_MAX), TN_LIMIT);
    tn_text_free(&text);
    struct tn_text_buffer unlimited = {0};
    assert_int_equal(tn_text_append_n(&unlimited, "x", UINT64_MAX), TN_LIMIT);
    tn_text_free(&unlimited);
    assert_int_equal(blocks, 0);
}

static void test_cut(void **state) {
    (void)state;
    struct tn_text_buffer text = TN_TEXT_BUFFER(6);
    assert_int_equal(tn_text_append_cut(&text, "abc", 3), TN_OK);
    assert_int_equal(tn_text_append_cut(&text, "d\xE2\x82\xAC", 4), TN_LIMIT); /* the euro sign does not fit */
    assert_int_equal(tn_text_append_cut(&text, "e", 1), TN_LIMIT);
    tn_value made = tn_text_finish_cut(&text);
    assert_string_equal(tn_chars(made, NULL), "abcd");
    tn_release(made);
    (void)tn_text_append_cut(&text, "1234567", 7);
    assert_null(tn_text_finish(&text));
    (void)tn_text_append_cut(&text, "123456", 6);
    made = tn_text_finish(&text);
    assert_string_equal(tn_chars(made, NULL), "123456");
    tn_release(made);
    assert_int_equal(blocks, 0);
}

static void test_encodings(void **state) {
    (void)state;
    struct tn_text_buffer text = {0};
    (void)tn_text_append_percent(&text, "a/b c\xC3\xA9\0~", 9, "/");
    assert_string_equal(tn_text_chars(&text), "a/b%20c%C3%A9%00~");
    tn_text_free(&text);
    static const struct {
        const char *bytes, *text;
    } lossy[] = {
        {"plain", "plain"},
        {"\xC3\xA9", "\xC3\xA9"},
        {"a\xFFz", "a\xEF\xBF\xBDz"},
        {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},                     /* overlong: each byte by itself */
        {"\xE2\x82", "\xEF\xBF\xBD"},                                 /* cut: one for the start of a character */
        {"\xE2\x82Z", "\xEF\xBF\xBDZ"},                               /* the same within a text */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},     /* a surrogate */
        {"\xF0\x9F\x98\x80\xF0\x9F", "\xF0\x9F\x98\x80\xEF\xBF\xBD"}, /* U+1F600, and its start */
        {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* above U+10FFFF */
    };
    for (size_t i = 0; i < sizeof lossy / sizeof *lossy; i++) {
        (void)tn_text_append_lossy(&text, lossy[i].bytes, strlen(lossy[i].bytes));
        assert_string_equal(tn_text_chars(&text), lossy[i].text);
        tn_text_free(&text);
    }
    assert_int_equal(blocks, 0);
}

static void test_memory(void **state) {
    (void)state;
    struct tn_text_buffer text = {0};
    fails_at = 1;
    assert_int_equal(tn_text_append(&text, "a"), TN_NO_MEMORY);
    assert_int_equal(tn_text_append(&text, "b"), TN_NO_MEMORY);
    assert_null(tn_text_finish(&text));
    (void)tn_text_append(&text, "a");
    fails_at = 1;
    assert_int_equal(tn_text_append_format(&text, "%1000d", 1), TN_NO_MEMORY);
    assert_string_equal(tn_text_chars(&text), "a"); /* what was there stays */
    assert_null(tn_text_finish_cut(&text));
    assert_int_equal(blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append), cmocka_unit_test(test_values),    cmocka_unit_test(test_limit),
        cmocka_unit_test(test_cut),    cmocka_unit_test(test_encodings), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}

/*
 * terminal_test.c - what terminal_text does with each kind of character, in each form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/terminal.h"
#include <string.h>

static void expect_form(const char *text, size_t length, enum terminal_form form, const char *wanted) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    terminal_text(&out, text, length, form);
    assert_string_equal(buffer_cstr(&out), wanted);
    buffer_finish(&out);
}

static void each_kind_has_its_form(void **state) {
    (void)state;
    static const struct {
        const char *text, *line, *json;
    } cases[] = {
        {"plain, \xc3\xa9 \xe4\xbd\x90 \xf0\x9f\x98\x80 \\ \"", "plain, \xc3\xa9 \xe4\xbd\x90 \xf0\x9f\x98\x80 \\ \"",
         "plain, \xc3\xa9 \xe4\xbd\x90 \xf0\x9f\x98\x80 \\ \""},
        {"\x1b[31m", "<U+001B>[31m", "\\u001b[31m"},
        {"\r\b\x7f", "<U+000D><U+0008><U+007F>", "\\u000d\\u0008\\u007f"},
        {"\xc2\x9b\xc2\x80", "<U+009B><U+0080>", "\\u009b\\u0080"},
        {"\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", "<U+202A><U+202E><U+2066><U+2069>",
         "\\u202a\\u202e\\u2066\\u2069"},
        {"\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", "<U+061C><U+200E><U+200F>", "\\u061c\\u200e\\u200f"},
        {"\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf", "<U+2028><U+2029><U+FEFF>", "\\u2028\\u2029\\ufeff"},
        {"\xf3\xa0\x81\x81", "<U+E0041>", "\\udb40\\udc41"},
        {"\xff\xc3(\xed\xa0\x80", "<FF><C3>(<ED><A0><80>", "<FF><C3>(<ED><A0><80>"},
        {"\xe2\x80", "<E2><80>", "<E2><80>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].text);
        expect_form(cases[i].text, length, TERMINAL_LINE, cases[i].line);
        expect_form(cases[i].text, length, TERMINAL_LINES, cases[i].line);
        expect_form(cases[i].text, length, TERMINAL_JSON, cases[i].json);
    }
    expect_form("a\nb\tc\0d", 7, TERMINAL_LINE, "a b    c<U+0000>d");
    expect_form("a\nb\tc\0d", 7, TERMINAL_LINES, "a\nb    c<U+0000>d");
}

/* Each character of the basic plane: what is printed has no control character, and the JSON stays the same. */
static void json_stays_the_same(void **state) {
    (void)state;
    for (uint32_t point = 1; point < 0x10000; point++) {
        char character[4];
        if (point >= 0xd800 && point < 0xe000) continue;
        tn_value text = value_string(character, utf8_encode(point, character)), again = NULL;
        struct buffer out;
        char *json = json_text(text, JSON_COMPACT);
        buffer_init(&out, SIZE_MAX);
        terminal_text(&out, json, strlen(json), TERMINAL_JSON);
        for (size_t i = 0; i < out.length; i++) assert_true((unsigned char)out.data[i] >= ' ' && out.data[i] != 0x7f);
        assert_int_equal(json_read(out.data, out.length, NULL, &again, NULL), TN_OK);
        assert_true(value_equal(text, again));
        buffer_finish(&out);
        mem_free(json);
        value_unref(text);
        value_unref(again);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind_has_its_form), cmocka_unit_test(json_stays_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* diagnostic_test.c - the collection, its limits, the table of codes, and both output formats. */
#include "adl/diagnostic/diagnostic.h"
#include "adl/diagnostic/print.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "corpus.h"

static struct span span(uint32_t start, uint32_t end) { return (struct span){start, end}; }

static void expect_text(const char *got, const char *expected) {
    if (strcmp(got, expected) != 0) fail_msg("expected:\n%s\nfound:\n%s", expected, got);
}

static void test_codes(void **state) {
    (void)state;
    for (int i = 0; i < DIAGNOSTIC_CODES; i++) {
        const struct diagnostic_info *info = diagnostic_info((enum diagnostic_code)i);
        static const char letters[] = "EWH";
        assert_int_equal(strlen(info->code), strlen("ADL-E001"));
        assert_int_equal(info->code[4], letters[info->severity]);
        assert_true(strlen(info->title) > 0 && info->title[strlen(info->title) - 1] != '.');
        assert_true(strlen(info->explanation) > 40);
        assert_non_null(diagnostic_kind_name(info->kind));
        assert_ptr_equal(diagnostic_info_find(info->code), info);
        assert_ptr_equal(diagnostic_info_find(info->code + 4), info); /* ascending, so names are unique */
    }
    assert_null(diagnostic_info_find("ADL-E000"));
    assert_null(diagnostic_info_find(""));
    assert_string_equal(diagnostic_info(ADL_E001)->code, "ADL-E001");
    assert_string_equal(diagnostic_kind_name(DIAGNOSTIC_UNKNOWN_NODE_TYPE), "UnknownNodeType");
    assert_string_equal(diagnostic_severity_name(DIAGNOSTIC_HINT), "hint");
}

static void test_sorting(void **state) {
    (void)state;
    struct diagnostics *found = diagnostics_new();
    struct source *b = source_new("b", "0123456789", 10), *a = source_new("a", "0123456789", 10);
    diagnostics_add(found, ADL_E008, b, span(5, 6), "third");
    diagnostics_add(found, ADL_E008, a, span(0, 1), "other source");
    diagnostics_add(found, ADL_E001, b, span(1, 3), "second");
    diagnostics_add(found, ADL_E008, b, span(1, 2), "first");
    diagnostic_suggest(diagnostics_add(found, ADL_E008, b, span(5, 6), "third"), "the double is dropped");
    diagnostics_add(found, ADL_E008, b, span(5, 6), "third, but different");
    diagnostics_add(found, ADL_E008, NULL, span(0, 0), "nowhere");
    assert_int_equal(diagnostics_errors(found), 7);
    diagnostics_sort(found);
    static const char *const expected[] = {"nowhere",     "first", "second", "third", "third, but different",
                                           "other source"};
    assert_int_equal(diagnostics_count(found), 6);
    assert_int_equal(diagnostics_errors(found), 6);
    for (size_t i = 0; i < 6; i++) assert_string_equal(diagnostics_at(found, i)->message, expected[i]);
    assert_null(diagnostics_at(found, 3)->suggestion);
    diagnostics_free(found);
    diagnostics_free(NULL);
    source_unref(a);
    source_unref(b);
}

static bool is_in_first_byte(void *user, const struct diagnostic *diagnostic) {
    (void)user;
    return diagnostic->span.start == 0;
}

/* A text that is read twice under one name is one source; other texts, and other names, are others. */
static void test_sources(void **state) {
    (void)state;
    struct diagnostics *found = diagnostics_new();
    struct source *sources[] = {source_new("a", "one", 3), source_new("a", "one", 3), source_new("a", "two", 3),
                                source_new("b", "one", 3)};
    for (size_t i = 0; i < 4; i++) {
        diagnostics_add(found, ADL_E008, sources[i], span(0, 1), "here");
        diagnostics_add(found, ADL_W101, sources[i], span(1, 2), "there");
    }
    diagnostics_sort(found);
    assert_int_equal(diagnostics_count(found), 6);
    diagnostics_remove(found, is_in_first_byte, NULL);
    assert_int_equal(diagnostics_count(found), 3);
    assert_int_equal(diagnostics_errors(found), 0);
    assert_int_equal(diagnostics_warnings(found), 3);
    diagnostics_free(found);
    for (size_t i = 0; i < 4; i++) source_unref(sources[i]);
}

static void test_bounds(void **state) {
    (void)state;
    struct diagnostics *found = diagnostics_new();
    struct source *source = source_new("a", "x", 1);
    for (unsigned i = 0; i < DIAGNOSTICS_MAX + 50; i++) {
        struct diagnostic *it = diagnostics_add(found, ADL_E008, source, span(0, 1), "number %u", i);
        diagnostic_suggest(it, "one");
        diagnostic_suggest(it, "two");
        diagnostic_suggest_name(it, span(0, 1), "name", 4);
        diagnostic_relate(it, source, span(0, 1), "related");
    }
    diagnostics_sort(found);
    assert_int_equal(diagnostics_count(found), DIAGNOSTICS_MAX + 1);
    assert_int_equal(diagnostics_errors(found), DIAGNOSTICS_MAX + 50);
    assert_int_equal(diagnostics_at(found, DIAGNOSTICS_MAX)->code, ADL_H001);
    assert_int_equal(diagnostics_warnings(found), 0);
    diagnostics_free(found);

    found = diagnostics_new();
    char *longer = mem_zalloc(DIAGNOSTICS_MESSAGE_MAX + 100);
    memset(longer, 'x', DIAGNOSTICS_MESSAGE_MAX - 4);
    strcat(longer, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
    struct diagnostic *it = diagnostics_add(found, ADL_E008, source, span(0, 1), "%s", longer);
    assert_true(strlen(it->message) <= DIAGNOSTICS_MESSAGE_MAX);
    assert_true(utf8_valid(it->message, strlen(it->message)));
    assert_string_equal(it->message + strlen(it->message) - 3, "…");
    for (unsigned i = 0; i < DIAGNOSTICS_RELATED_MAX + 5; i++) diagnostic_relate(it, NULL, span(0, 0), "%u", i);
    assert_int_equal(it->related_count, DIAGNOSTICS_RELATED_MAX);
    diagnostic_suggest_name(it, span(0, 1), NULL, 0);
    assert_null(it->suggestion);
    assert_null(it->fix);
    mem_free(longer);
    diagnostics_free(found);
    source_unref(source);
}

/* Prints one diagnostic about [start, end) of `text`. Free the result with mem_free. */
static char *print_one(const char *text, uint32_t start, uint32_t end, const struct diagnostic_style *style) {
    struct diagnostics *found = diagnostics_new();
    struct source *source = source_new("f", text, strlen(text));
    diagnostics_add(found, ADL_E008, source, span(start, end), "m");
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    diagnostic_print(&out, diagnostics_at(found, 0), style);
    diagnostics_free(found);
    source_unref(source);
    return buffer_detach(&out, NULL);
}

static void expect_print(const char *text, uint32_t start, uint32_t end, uint32_t width, const char *expected) {
    struct diagnostic_style style = {false, width};
    char *got = print_one(text, start, end, &style);
    expect_text(got, expected);
    mem_free(got);
}

static void test_carets(void **state) {
    (void)state;
    expect_print("a: bcd\n", 3, 6, 0, "f:1:4: error[ADL-E008]: m\n   1 | a: bcd\n     |    ^~~\n");
    expect_print("a: bcd\n", 3, 3, 0, "f:1:4: error[ADL-E008]: m\n   1 | a: bcd\n     |    ^\n");
    expect_print("", 0, 0, 0, "f:1:1: error[ADL-E008]: m\n   1 |\n     | ^\n");
    expect_print("x\n\nab\ncd", 3, 8, 0, "f:3:1: error[ADL-E008]: m\n   3 | ab\n     | ^~\n"); /* over two lines */
    expect_print("x\n", 2, 2, 0, "f:2:1: error[ADL-E008]: m\n   2 |\n     | ^\n");
    /* a tab is four columns, a wide character two, a combining one none */
    expect_print("\ta: b", 4, 5, 0, "f:1:5: error[ADL-E008]: m\n   1 |     a: b\n     |        ^\n");
    expect_print("日本: e\xcc\x81x", 8, 12, 0, "f:1:5: error[ADL-E008]: m\n   1 | 日本: e\xcc\x81x\n     |       ^~\n");
    /* no characters that affect a terminal */
    expect_print("\x1b[1m\xff\xe2\x80\xae!", 8, 9, 0,
                 "f:1:7: error[ADL-E008]: m\n   1 | <U+001B>[1m<FF><U+202E>!\n     |                        ^\n");
}

static void test_long_lines(void **state) {
    (void)state;
    const char *line = "0123456789abcdefghijklmnopqrstuvwxyz";
    expect_print(line, 2, 4, 10, "f:1:3: error[ADL-E008]: m\n   1 | 0123456789…\n     |   ^~\n");
    expect_print(line, 20, 22, 10, "f:1:21: error[ADL-E008]: m\n   1 | …fghijklmn…\n     |       ^~\n");
    expect_print(line, 35, 36, 10, "f:1:36: error[ADL-E008]: m\n   1 | …uvwxyz\n     |       ^\n");
    expect_print(line, 20, 36, 10, "f:1:21: error[ADL-E008]: m\n   1 | …fghijklmn…\n     |       ^~~~\n");
}

static struct diagnostics *everything(struct source *source) {
    struct diagnostics *found = diagnostics_new();
    struct diagnostic *it = diagnostics_add(found, ADL_E008, source, span(8, 12), "found `%s`", "étp");
    diagnostic_relate(it, source, span(0, 4), "the first\nis here");
    diagnostic_suggest_name(it, span(8, 12), "type", 4);
    diagnostics_add(found, ADL_H001, NULL, span(0, 0), "in no text");
    return found;
}

static void test_printing(void **state) {
    (void)state;
    struct source *source = source_new("d.yaml", "\xf0\x9f\x98\x80: 1\n\xc3\xa9tp: 2", 15);
    struct diagnostics *found = everything(source);
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    diagnostics_print(&out, found, NULL);
    expect_text(buffer_cstr(&out), "d.yaml:2:1: error[ADL-E008]: found `étp`\n"
                                   "   2 | étp: 2\n"
                                   "     | ^~~\n"
                                   "d.yaml:1:1: note: the first is here\n"
                                   "   1 | 😀: 1\n"
                                   "     | ^~\n"
                                   "   = help: did you mean `type`?\n\n"
                                   "hint[ADL-H001]: in no text\n\n");
    buffer_clear(&out);
    diagnostics_print(&out, found, &(struct diagnostic_style){.colour = true});
    assert_non_null(strstr(buffer_cstr(&out), "\033[1;31merror[ADL-E008]\033[0m: found"));
    buffer_finish(&out);
    diagnostics_free(found);
    source_unref(source);
}

static void test_json(void **state) {
    (void)state;
    struct source *source = source_new("d.yaml", "\xf0\x9f\x98\x80x: 1\n\xc3\xa9tp: 2", 15);
    struct diagnostics *found = diagnostics_new();
    struct diagnostic *it = diagnostics_add(found, ADL_E008, source, span(11, 13), "found `\xff`");
    diagnostic_relate(it, source, span(4, 5), "here");
    diagnostic_suggest_name(it, span(11, 13), "type", 4);
    diagnostics_add(found, ADL_H001, NULL, span(0, 0), "in no text");
    tn_value value = diagnostics_to_value(found);
    char *text = json_text(value, JSON_COMPACT);
    expect_text(
        text, "[{\"code\":\"ADL-E008\",\"severity\":\"error\",\"message\":\"found `\xef\xbf\xbd`\",\"file\":\"d.yaml\","
              "\"range\":{\"start\":{\"line\":1,\"character\":1},\"end\":{\"line\":1,\"character\":3}},"
              "\"suggestion\":\"did you mean `type`?\",\"related\":[{\"message\":\"here\",\"file\":\"d.yaml\","
              "\"range\":{\"start\":{\"line\":0,\"character\":2},\"end\":{\"line\":0,\"character\":3}}}],"
              "\"fix\":{\"title\":\"replace with `type`\",\"range\":{\"start\":{\"line\":1,\"character\":1},"
              "\"end\":{\"line\":1,\"character\":3}},\"replacement\":\"type\"}},"
              "{\"code\":\"ADL-H001\",\"severity\":\"hint\",\"message\":\"in no text\"}]");
    mem_free(text);
    value_unref(value);
    diagnostics_free(found);
    source_unref(source);
}

/* Of a file that is not a document no line is printed; of a hidden one, nothing that could contain its text. */
static void test_views(void **state) {
    (void)state;
    static const char *const expected[] = {
        [SOURCE_LINES_HIDDEN] = "d.yaml:1:1: error[ADL-E008]: found `secret`\nd.yaml:1:1: note: the first\n"
                                "   = help: did you mean `s`?\n\n",
        [SOURCE_HIDDEN] = "d.yaml:1:1: error[ADL-E008]: duplicate key\n\n",
    };
    for (int view = SOURCE_LINES_HIDDEN; view <= SOURCE_HIDDEN; view++) {
        struct source *source = source_new("d.yaml", "secret", 6), *outer = source_new("o.yaml", "x", 1);
        source_set_view(source, (enum source_view)view);
        struct diagnostics *found = diagnostics_new();
        struct diagnostic *it = diagnostics_add(found, ADL_E008, source, span(0, 6), "found `secret`");
        diagnostic_relate(it, source, span(0, 1), "the first");
        diagnostic_suggest_name(it, span(0, 6), "s", 1);
        struct buffer out;
        buffer_init(&out, SIZE_MAX);
        diagnostics_print(&out, found, NULL);
        expect_text(buffer_cstr(&out), expected[view]);
        diagnostic_set_fix(it, span(0, 6), "s", 1, "remove `secret`");
        tn_value list = diagnostics_to_value(found);
        assert_true((view == SOURCE_HIDDEN) == !value_get(value_at(list, 0), "fix"));
        value_unref(list);
        it = diagnostics_add(found, ADL_E008, outer, span(0, 1), "here");
        diagnostic_relate(it, source, span(0, 1), "secret");
        assert_int_equal(it->related_count, view == SOURCE_HIDDEN ? 0 : 1);
        buffer_finish(&out);
        diagnostics_free(found);
        source_unref(source);
        source_unref(outer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes),  cmocka_unit_test(test_sorting),    cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_carets), cmocka_unit_test(test_long_lines), cmocka_unit_test(test_printing),
        cmocka_unit_test(test_json),   cmocka_unit_test(test_views),      cmocka_unit_test(test_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

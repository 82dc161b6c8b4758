/*
 * sse_test.c - the parsers of server-sent events and lines, and the replacement of invalid UTF-8. Each case is parsed
 * in one piece, byte by byte, and in two pieces divided at each offset.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* http_parse is built with the same definitions. */
#define TN_UTIL_RESIZE  realloc
#define TN_UTIL_RELEASE free
#include "lines.h"
#include "sse.h"

/* A text that may contain NULs, and its length. */
#define T(text) text, sizeof(text) - 1

struct row {
    const char *stream;
    size_t length;
    const char *expected; /* "type|data|id|retry\n" for each event; without "|retry" if the event has no retry */
};

static const struct row rows[] = {
    {T(""), ""},
    {T("data: a\n\n"), "|a|\n"},
    {T("data:a\n\n"), "|a|\n"},
    {T("data:  a \n\n"), "| a |\n"},
    {T("data: a\r\n\r\n"), "|a|\n"},
    {T("data: a\r\r"), "|a|\n"},
    {T("data: a\r\n\rdata: b\n\r"), "|a|\n|b|\n"},
    {T("data: a\n\ndata: b\r\n\r\ndata: c\r\r"), "|a|\n|b|\n|c|\n"},
    {T("\r\n\n\rdata: a\n\n"), "|a|\n"},
    /* Several data lines. */
    {T("data: a\ndata: b\ndata\ndata: c\n\n"), "|a\nb\n\nc|\n"},
    {T("data\n\n"), "||\n"},
    {T("data\ndata\n\n"), "|\n|\n"},
    {T("data:\n\n"), "||\n"},
    {T("data: \n\ndata\n\n"), "||\n||\n"},
    /* A block without data is not an event: its type is dropped, its id is kept. */
    {T("\n\n\n"), ""},
    {T("event: a\n\ndata: b\n\n"), "|b|\n"},
    {T("id: 1\n\ndata: b\n\n"), "|b|1\n"},
    {T("event: a\ndata: b\n\ndata: c\n\n"), "a|b|\n|c|\n"},
    {T("event: a\nevent: b\ndata: c\n\n"), "b|c|\n"},
    {T("event\ndata: c\n\n"), "|c|\n"},
    {T("data: c\nevent: late\n\n"), "late|c|\n"},
    /* Ids. */
    {T("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\nid: 2\ndata: d\n\n"), "|a|1\n|b|1\n|c|\n|d|2\n"},
    {T("id: 1\ndata: a\n\nid: x\0y\ndata: b\n\n"), "|a|1\n|b|1\n"},
    {T("id:1\nid: 2\ndata: a\n\n"), "|a|2\n"},
    /* retry consists of digits. */
    {T("retry: 100\ndata: a\n\ndata: b\n\n"), "|a||100\n|b|\n"},
    {T("retry: 1\n\nretry: 2\n\ndata: b\n\n"), "|b||2\n"},
    {T("retry: 1x\ndata: a\n\nretry:\ndata: b\n\nretry: -1\ndata: c\n\nretry:  1\ndata: d\n\n"),
     "|a|\n|b|\n|c|\n|d|\n"},
    {T("retry: 99999999999999999999999999\ndata: a\n\n"), "|a||86400000\n"},
    /* Comments, unknown fields, misspelled fields. */
    {T(": comment\n:\n::data: x\ndata: a\n: data: x\n\n"), "|a|\n"},
    {T("other: a\ndata: b\nDATA: c\n data: d\ndata : e\ndatum: f\nd: g\n\n"), "|b|\n"},
    {T("data: a: b\ndata:c:d\n\n"), "|a: b\nc:d|\n"},
    {T("data: a\0b\n\n"), "|a\\0b|\n"},
    /* One byte order mark at the start is skipped. */
    {T("\xef\xbb\xbf"
       "data: a\n\n"),
     "|a|\n"},
    {T("\xef\xbb\xbf\xef\xbb\xbf"
       "data: a\n\ndata: b\n\n"),
     "|b|\n"},
    {T("\n\xef\xbb\xbf"
       "data: a\n\ndata: b\n\n"),
     "|b|\n"},
    {T("\xef\xbb\ndata: a\n\n"), "|a|\n"},
    {T("\xef\xbb\xbf\n\ndata: a\n\n"), "|a|\n"},
    /* An incomplete event at the end of the stream is dropped. */
    {T("data: a"), ""},
    {T("data: a\n"), ""},
    {T("data: a\n\ndata: b\n"), "|a|\n"},
    {T("data: a\n\ndata: b\r"), "|a|\n"},
};

static void append(char *out, size_t size, const char *text, size_t length) {
    size_t at = strlen(out);
    for (size_t i = 0; i < length && at + 3 < size; i++) {
        if (text[i] == '\0') {
            out[at++] = '\\';
            out[at++] = '0';
        } else {
            out[at++] = text[i];
        }
    }
    out[at] = '\0';
}

static void append_buffer(char *out, size_t size, const struct tn_text_buffer *bytes) {
    append(out, size, tn_text_chars(bytes), bytes->length);
}

/*
 * Parses a first piece of `first` bytes (if not 0), then pieces of `each` bytes. Each piece is allocated separately, so
 * that the address sanitizer finds a read past its end.
 */
static void read_events(const struct row *row, size_t first, size_t each, char *out, size_t size) {
    struct sse sse = SSE_INIT;
    out[0] = '\0';
    for (size_t from = 0; from < row->length;) {
        size_t length = from == 0 && first > 0 ? first : each;
        if (length > row->length - from) length = row->length - from;
        char *piece = malloc(length);
        assert_non_null(piece);
        memcpy(piece, row->stream + from, length);
        const char *at = piece, *end = piece + length;
        enum parse parse;
        while ((parse = sse_next(&sse, &at, end)) == PARSE_FOUND) {
            append_buffer(out, size, &sse.event);
            append(out, size, "|", 1);
            append_buffer(out, size, &sse.data);
            append(out, size, "|", 1);
            append_buffer(out, size, &sse.id);
            if (sse.retry >= 0) {
                char number[32];
                append(out, size, number, (size_t)snprintf(number, sizeof number, "|%lld", (long long)sse.retry));
            }
            append(out, size, "\n", 1);
        }
        assert_int_equal(parse, PARSE_MORE);
        assert_ptr_equal(at, end);
        free(piece);
        from += length;
    }
    sse_finish(&sse);
}

static void test_events(void **state) {
    (void)state;
    char found[1024];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t each = 1; each <= rows[i].length + 1; each++) {
            read_events(&rows[i], 0, each, found, sizeof found);
            if (strcmp(found, rows[i].expected) != 0)
                fail_msg("row %zu in pieces of %zu:\n%s\nexpected:\n%s", i, each, found, rows[i].expected);
        }
        for (size_t cut = 1; cut < rows[i].length; cut++) {
            read_events(&rows[i], cut, rows[i].length, found, sizeof found);
            if (strcmp(found, rows[i].expected) != 0)
                fail_msg("row %zu cut at %zu:\n%s\nexpected:\n%s", i, cut, found, rows[i].expected);
        }
    }
}

static enum parse feed(struct sse *sse, const char *text, size_t length) {
    const char *at = text;
    return sse_next(sse, &at, text + length);
}

static void test_events_are_bounded(void **state) {
    (void)state;
    char *line = malloc(SSE_MAX + 1u);
    assert_non_null(line);
    memset(line, 'x', SSE_MAX + 1u);
    /* A line in one piece, and in two pieces. */
    struct sse sse = SSE_INIT;
    assert_int_equal(feed(&sse, line, SSE_MAX), PARSE_MORE);
    assert_int_equal(feed(&sse, "\n", 1), PARSE_MORE);
    assert_int_equal(feed(&sse, line, SSE_MAX + 1u), PARSE_LIMIT);
    assert_int_equal(feed(&sse, line, SSE_MAX / 2), PARSE_MORE);
    assert_int_equal(feed(&sse, line, SSE_MAX / 2), PARSE_MORE);
    assert_int_equal(feed(&sse, line, 1), PARSE_LIMIT);
    sse_finish(&sse);
    /* An event with many lines of data. */
    sse = (struct sse)SSE_INIT;
    memcpy(line, "data: ", 6);
    line[1048576 - 1] = '\n';
    enum parse parse = PARSE_MORE;
    size_t count = 0;
    while (parse == PARSE_MORE && count < 100) {
        parse = feed(&sse, line, 1048576);
        count++;
    }
    assert_int_equal(parse, PARSE_LIMIT);
    assert_int_equal(count, 33);
    assert_true(sse.data.length <= SSE_MAX);
    sse_finish(&sse);
    /* The memory of a large event is released after it. */
    sse = (struct sse)SSE_INIT;
    assert_int_equal(feed(&sse, line, 1048576), PARSE_MORE);
    assert_int_equal(feed(&sse, "\n", 1), PARSE_FOUND);
    assert_int_equal(feed(&sse, "data: a\n\n", 9), PARSE_FOUND);
    assert_true(sse.data.capacity <= SSE_KEEP);
    assert_true(sse.line.capacity <= SSE_KEEP);
    sse_finish(&sse);
    free(line);
}

/* ---- Lines ---- */

static void read_lines(const char *text, size_t length, size_t each, char *out, size_t size) {
    struct lines lines = LINES_INIT;
    out[0] = '\0';
    for (size_t from = 0; from < length; from += each) {
        size_t left = length - from < each ? length - from : each;
        char *piece = malloc(left);
        assert_non_null(piece);
        memcpy(piece, text + from, left);
        const char *at = piece, *end = piece + left;
        while (lines_next(&lines, &at, end) == PARSE_FOUND) {
            append(out, size, lines.text, lines.length);
            append(out, size, "|", 1);
        }
        assert_ptr_equal(at, end);
        free(piece);
    }
    if (lines_last(&lines)) {
        append(out, size, lines.text, lines.length);
        append(out, size, "!", 1);
    }
    assert_false(lines_last(&lines));
    lines_finish(&lines);
}

static void test_lines(void **state) {
    (void)state;
    static const struct row texts[] = {
        {T(""), ""},
        {T("\n"), "|"},
        {T("a"), "a!"},
        {T("a\n"), "a|"},
        {T("a\nb"), "a|b!"},
        {T("a\r\nb\r\n"), "a|b|"},
        {T("a\rb\n"), "a\rb|"},
        {T("\r\n\r\n"), "||"},
        {T("a\r\r\nb\r"), "a\r|b!"},
        {T("a\0b\n"), "a\\0b|"},
        {T("\n\na\n\n"), "||a||"},
        {T("one\ntwo\nthree"), "one|two|three!"},
    };
    char found[256];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t each = 1; each <= texts[i].length + 1; each++) {
            read_lines(texts[i].stream, texts[i].length, each, found, sizeof found);
            assert_string_equal(found, texts[i].expected);
        }
}

static void test_lines_are_bounded(void **state) {
    (void)state;
    struct lines lines = LINES_INIT;
    char *text = malloc(LINE_MAX_BYTES + 1u);
    assert_non_null(text);
    memset(text, 'x', LINE_MAX_BYTES + 1u);
    const char *at = text;
    assert_int_equal(lines_next(&lines, &at, text + LINE_MAX_BYTES + 1), PARSE_LIMIT);
    assert_int_equal(lines_next(&lines, &at, text + LINE_MAX_BYTES), PARSE_MORE);
    at = text;
    assert_int_equal(lines_next(&lines, &at, text + 1), PARSE_LIMIT);
    lines_finish(&lines);
    free(text);
}

/* ---- Text ---- */

#define R "\xef\xbf\xbd"

static void test_invalid_utf8_is_replaced(void **state) {
    (void)state;
    static const struct row texts[] = {
        {T(""), ""},
        {T("plain"), "plain"},
        {T("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {T("\xff"), R},
        {T("a\xff\xfe"
           "b"),
         "a" R R "b"},
        {T("\xc3"), R},
        {T("\xc3("), R "("},
        {T("\xc0\x80"), R R},
        {T("\xc1\xbf"), R R},
        {T("\xe2\x82"), R},
        {T("\xe2\x82("), R "("},
        {T("\xe2\x82\xe2\x82\xac"), R "\xe2\x82\xac"},
        {T("\xe0\x80\x80"), R R R},       /* overlong encoding */
        {T("\xed\xa0\x80"), R R R},       /* half of a surrogate pair */
        {T("\xf0\x9f\x98"), R},           /* truncated */
        {T("\xf0\x8f\xbf\xbf"), R R R R}, /* overlong encoding */
        {T("\xf4\x90\x80\x80"), R R R R}, /* above U+10FFFF */
        {T("\xf5\x80\x80\x80"), R R R R},
        {T("\x80\xbf"), R R},
        {T("\xef\xbf\xbf\xf4\x8f\xbf\xbf"), "\xef\xbf\xbf\xf4\x8f\xbf\xbf"},
        /* The Unicode standard's example (3.9, table 3-8). */
        {T("a\xf1\x80\x80\xe1\x80\xc2"
           "b\x80"
           "c\x80\xbf"
           "d"),
         "a" R R R "b" R "c" R R "d"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tn_text_buffer out = {0};
        char *exact = malloc(texts[i].length + 1);
        assert_non_null(exact);
        memcpy(exact, texts[i].stream, texts[i].length);
        assert_true(tn_text_append_lossy(&out, exact, texts[i].length) == TN_OK);
        assert_string_equal(tn_text_chars(&out), texts[i].expected);
        tn_text_free(&out);
        free(exact);
    }
}

static void test_bytes(void **state) {
    (void)state;
    struct tn_text_buffer bytes = {0};
    assert_true(tn_text_append_n(&bytes, NULL, 0) == TN_OK);
    assert_int_equal(bytes.length, 0);
    assert_string_equal(tn_text_chars(&bytes), "");
    for (int i = 0; i < 1000; i++) assert_true(tn_text_append(&bytes, "abc") == TN_OK);
    assert_int_equal(bytes.length, 3000);
    assert_int_equal(strlen(tn_text_chars(&bytes)), 3000);
    assert_false(tn_text_append_n(&bytes, "x", SIZE_MAX / 2) == TN_OK);
    assert_int_equal(bytes.length, 3000);
    tn_text_clear(&bytes, 10000);
    assert_int_equal(bytes.length, 0);
    assert_true(bytes.capacity >= 3000);
    tn_text_clear(&bytes, 10);
    assert_int_equal(bytes.capacity, 0);
    tn_text_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_events_are_bounded),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lines_are_bounded),
        cmocka_unit_test(test_invalid_utf8_is_replaced),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

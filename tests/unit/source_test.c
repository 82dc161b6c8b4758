/* source_test.c - offsets to lines and columns and back, compared with a simple count. */
#include "adl/source/source.h"
#include "adl/value/buffer.h"
#include "corpus.h"

static void expect_place(const struct source *source, uint32_t offset, uint32_t line, uint32_t byte, uint32_t point,
                         uint32_t utf16) {
    struct source_place place = source_locate(source, offset);
    assert_int_equal(place.line, line);
    assert_int_equal(place.byte, byte);
    assert_int_equal(place.point, point);
    assert_int_equal(place.utf16, utf16);
}

static void test_units(void **state) {
    (void)state;
    struct source *source = source_new("a.yaml", "a\xc3\xa9\xf0\x9f\x98\x80z\nb", 10);
    expect_place(source, 0, 0, 0, 0, 0);
    expect_place(source, 1, 0, 1, 1, 1);
    expect_place(source, 2, 0, 1, 1, 1); /* inside é */
    expect_place(source, 3, 0, 3, 2, 2);
    expect_place(source, 7, 0, 7, 3, 4);
    expect_place(source, 8, 0, 8, 4, 5); /* the line end */
    expect_place(source, 9, 1, 0, 0, 0);
    expect_place(source, 10, 1, 1, 1, 1);
    expect_place(source, 99, 1, 1, 1, 1);
    assert_int_equal(source_offset(source, 0, 3, SOURCE_BYTES), 3);
    assert_int_equal(source_offset(source, 0, 2, SOURCE_POINTS), 3);
    assert_int_equal(source_offset(source, 0, 3, SOURCE_POINTS), 7);
    assert_int_equal(source_offset(source, 0, 3, SOURCE_UTF16), 3); /* the second half of a pair */
    assert_int_equal(source_offset(source, 0, 4, SOURCE_UTF16), 7);
    assert_int_equal(source_offset(source, 0, 99, SOURCE_UTF16), 8);
    assert_int_equal(source_offset(source, 0, 99, SOURCE_BYTES), 8);
    assert_int_equal(source_offset(source, 7, 0, SOURCE_POINTS), 10);
    source_unref(source);
}

static void test_lines(void **state) {
    (void)state;
    static const char text[] = "one\ntwo\r\nthree\rfour\n\r\n";
    static const char *const lines[] = {"one", "two", "three", "four", "", ""};
    struct source *source = source_new("dir/b.json", text, sizeof text - 1);
    assert_string_equal(source_name(source), "dir/b.json");
    assert_string_equal(source_text(source), text);
    assert_int_equal(source_length(source), sizeof text - 1);
    assert_int_equal(source_lines(source), 6);
    for (uint32_t i = 0; i < 6; i++) {
        size_t length;
        const char *line = source_line(source, i, &length);
        assert_int_equal(length, strlen(lines[i]));
        assert_memory_equal(line, lines[i], length);
        assert_int_equal(source_line_span(source, i).end - source_line_span(source, i).start, length);
    }
    assert_null(source_line(source, 6, NULL));
    assert_int_equal(source_line_span(source, 6).start, sizeof text - 1);
    source_unref(source);
}

static void test_edges(void **state) {
    (void)state;
    struct source *empty = source_new("", "", 0);
    assert_int_equal(source_lines(empty), 1);
    expect_place(empty, 0, 0, 0, 0, 0);
    size_t length = 1;
    assert_non_null(source_line(empty, 0, &length));
    assert_int_equal(length, 0);
    assert_ptr_equal(source_ref(empty), empty);
    source_unref(empty);
    source_unref(empty);
    assert_null(source_ref(NULL));
    source_unref(NULL);

    struct source *marked = source_new("a", "\xef\xbb\xbfx: 1", 7);
    expect_place(marked, 0, 0, 0, 0, 0);
    expect_place(marked, 3, 0, 0, 0, 0);
    expect_place(marked, 4, 0, 1, 1, 1);
    assert_int_equal(*source_line(marked, 0, NULL), 'x');
    assert_int_equal(source_offset(marked, 0, 0, SOURCE_UTF16), 3);
    source_unref(marked);

    struct source *raw = source_new("a", "a\0\xff\x80z", 5); /* NUL and malformed UTF-8 have places, too */
    expect_place(raw, 4, 0, 4, 3, 4);
    source_unref(raw);
}

/* Many long lines with wide characters: compares each offset with a count from the line's start. */
static void test_matches_a_reference_count(void **state) {
    (void)state;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (int i = 0; i < 900; i++) {
        buffer_text(&text, "ascii \xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80");
        if (i % 7 == 3 || i > 850) buffer_text(&text, i % 2 ? "\r\n" : "\n");
        if (i == 300) /* one line over several strides */
            for (int j = 0; j < 2000; j++) buffer_text(&text, "\xe6\x97\xa5\xf0\x9f\x98\x80");
    }
    struct source *source = source_new("a", text.data, text.length);
    uint32_t line = 0, start = 0, points = 0, units = 0;
    for (uint32_t at = 0; at < text.length; at++) {
        unsigned char byte = (unsigned char)text.data[at];
        if ((byte & 0xc0) == 0x80) continue;
        if (at % 97 == 0 || at - start < 3) {
            expect_place(source, at, line, at - start, points, units);
            if (byte != '\n' && byte != '\r') {
                assert_int_equal(source_offset(source, line, points, SOURCE_POINTS), at);
                assert_int_equal(source_offset(source, line, units, SOURCE_UTF16), at);
            }
        }
        points++;
        units += byte >= 0xf0 ? 2 : 1;
        if (byte == '\n') {
            line++;
            start = at + 1;
            points = units = 0;
        }
    }
    assert_int_equal(source_lines(source), line + 1);
    source_unref(source);
    buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_matches_a_reference_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * line_edits_test.c - edits of lines: applied to the first text they give the second one, and they are few.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adl/format/line_edits.h"
#include "adl/value/buffer.h"

struct applied {
    struct buffer out;
    const char *from;
    uint32_t at; /* the end of the last edit */
    int count;
};

static void apply_edit(void *user, struct span span, const char *text, size_t length) {
    struct applied *applied = user;
    assert_true(span.start >= applied->at && span.end >= span.start);
    assert_true(applied->count == 0 || span.start > applied->at); /* edits do not touch each other */
    assert_true(span.start == 0 || applied->from[span.start - 1] == '\n');
    assert_true(span.end > span.start || length > 0);
    buffer_append(&applied->out, applied->from + applied->at, span.start - applied->at);
    buffer_append(&applied->out, text, length);
    applied->at = span.end;
    applied->count++;
}

/* Returns the number of edits, after checking that they give `to`. */
static int edits_between(const char *from, const char *to) {
    struct applied applied = {.from = from};
    buffer_init(&applied.out, SIZE_MAX);
    line_edits(from, strlen(from), to, strlen(to), apply_edit, &applied);
    buffer_append(&applied.out, from + applied.at, strlen(from) - applied.at);
    assert_string_equal(buffer_cstr(&applied.out), to);
    buffer_finish(&applied.out);
    return applied.count;
}

static void differing_lines_are_replaced(void **state) {
    (void)state;
    assert_int_equal(edits_between("", ""), 0);
    assert_int_equal(edits_between("a\nb\n", "a\nb\n"), 0);
    assert_int_equal(edits_between("", "a\n"), 1);
    assert_int_equal(edits_between("a\n", ""), 1);
    assert_int_equal(edits_between("a\nb\nc\n", "a\nB\nc\n"), 1);
    assert_int_equal(edits_between("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n"), 2);
    assert_int_equal(edits_between("a\nb", "a\nb\n"), 1);
    assert_int_equal(edits_between("a\n\n\nb\n", "a\n\nb\n"), 1);
    assert_int_equal(edits_between("x\na\nb\n", "a\nb\ny\n"), 2);
}

static void random_texts_agree(void **state) {
    (void)state;
    srand(1);
    for (int round = 0; round < 2000; round++) {
        char from[64] = "", to[64] = "";
        for (int i = rand() % 12; i > 0; i--) strcat(from, (const char *[]){"a\n", "b\n", "c\n", "\n"}[rand() % 4]);
        for (int i = rand() % 12; i > 0; i--) strcat(to, (const char *[]){"a\n", "b\n", "c\n", "\n"}[rand() % 4]);
        if (rand() % 2) strcat(to, "end");
        (void)edits_between(from, to);
    }
}

/* More differences than the limit are one edit between the first and the last one. */
static void many_differences_are_one_edit(void **state) {
    struct buffer from, to;
    (void)state;
    for (int lines = LINE_EDITS_DISTANCE / 2 - 1; lines <= LINE_EDITS_DISTANCE; lines += LINE_EDITS_DISTANCE / 2) {
        buffer_init(&from, SIZE_MAX);
        buffer_init(&to, SIZE_MAX);
        for (int i = 0; i < lines; i++) {
            buffer_format(&from, "old %d\nsame\n", i);
            buffer_format(&to, "new %d\nsame\n", i);
        }
        assert_int_equal(edits_between(buffer_cstr(&from), buffer_cstr(&to)),
                         lines < LINE_EDITS_DISTANCE / 2 ? lines : 1);
        buffer_finish(&from);
        buffer_finish(&to);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differing_lines_are_replaced),
        cmocka_unit_test(random_texts_agree),
        cmocka_unit_test(many_differences_are_one_edit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* buffer_test.c - growing text and its limit; allocation, which ends the process when memory runs out. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "adl/value/buffer.h"
#include "adl/value/memory.h"

static void grows(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, SIZE_MAX);
    assert_string_equal(buffer_cstr(&buffer), "");
    for (int i = 0; i < 5000; i++) {
        buffer_char(&buffer, 'a');
        buffer_text(&buffer, "bc");
        buffer_append(&buffer, "d\0e", 3);
        buffer_format(&buffer, "%d;%s", i, "x");
        assert_int_equal(buffer.data[buffer.length], '\0');
        assert_true(buffer.length < buffer.capacity);
    }
    assert_false(buffer.overflow);
    const char *at = buffer.data;
    for (int i = 0; i < 5000; i++) {
        char expected[40];
        size_t length = 6 + (size_t)snprintf(expected + 6, sizeof expected - 6, "%d;%s", i, "x");
        memcpy(expected, "abcd\0e", 6);
        assert_memory_equal(at, expected, length);
        at += length;
    }
    assert_ptr_equal(at, buffer.data + buffer.length);
    buffer_finish(&buffer);
    assert_null(buffer.data);
    buffer_finish(&buffer);
}

static void the_limit_is_exact(void **state) {
    (void)state;
    for (size_t limit = 0; limit < 200; limit++) {
        struct buffer buffer;
        buffer_init(&buffer, limit);
        for (size_t i = 0; i < limit; i++) buffer_char(&buffer, 'x');
        assert_false(buffer.overflow);
        assert_int_equal(buffer.length, limit);
        buffer_append(&buffer, "", 0);
        buffer_text(&buffer, "");
        buffer_format(&buffer, "%s", "");
        assert_false(buffer.overflow);
        buffer_char(&buffer, 'y');
        assert_true(buffer.overflow);
        assert_int_equal(buffer.length, limit);
        assert_int_equal(strspn(buffer_cstr(&buffer), "x"), limit);
        buffer_finish(&buffer);
    }
}

static void overflow_is_whole_and_lasts(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 10);
    buffer_text(&buffer, "1234567");
    buffer_text(&buffer, "89ab"); /* nothing of it */
    assert_true(buffer.overflow);
    assert_string_equal(buffer.data, "1234567");
    buffer_char(&buffer, '8');
    buffer_format(&buffer, "%d", 8);
    buffer_append(&buffer, "8", 1);
    assert_string_equal(buffer.data, "1234567");

    buffer_clear(&buffer);
    assert_false(buffer.overflow);
    assert_string_equal(buffer.data, "");
    buffer_format(&buffer, "%s", "1234567890");
    assert_false(buffer.overflow);
    buffer_clear(&buffer);
    buffer_format(&buffer, "%s", "12345678901");
    assert_true(buffer.overflow);
    assert_string_equal(buffer.data, "");
    buffer_finish(&buffer);
}

static void formats_of_any_length(void **state) {
    (void)state;
    char text[600];
    for (int length = 0; length < 600; length++) {
        memset(text, 'z', (size_t)length);
        text[length] = '\0';
        struct buffer buffer;
        buffer_init(&buffer, 600);
        buffer_format(&buffer, "%s", text);
        assert_string_equal(buffer_cstr(&buffer), text);
        buffer_finish(&buffer);
    }
}

__attribute__((format(printf, 2, 3))) static void forward(struct buffer *buffer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    buffer_vformat(buffer, format, args);
    va_end(args);
}

static void takes_a_list_of_arguments(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 100);
    forward(&buffer, "%d and %s, longer than what there was room for: %080d", 1, "two", 3);
    assert_int_equal(buffer.length, 0); /* 129 bytes */
    assert_true(buffer.overflow);
    buffer_clear(&buffer);
    forward(&buffer, "%d and %s, %070d", 1, "two", 3);
    assert_int_equal(buffer.length, 81);
    buffer_finish(&buffer);
}

static void detaching(void **state) {
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer, 5);
    size_t length = 7;
    char *text = buffer_detach(&buffer, &length);
    assert_string_equal(text, "");
    assert_int_equal(length, 0);
    mem_free(text);
    buffer_text(&buffer, "abc");
    text = buffer_detach(&buffer, NULL);
    assert_string_equal(text, "abc");
    mem_free(text);
    buffer_text(&buffer, "abcdef"); /* the limit is still there */
    assert_true(buffer.overflow);
    buffer_finish(&buffer);
}

static void memory(void **state) {
    (void)state;
    char *zeros = mem_zalloc(100);
    for (int i = 0; i < 100; i++) assert_int_equal(zeros[i], 0);
    zeros[0] = 'a';
    zeros = mem_resize(zeros, 1000);
    assert_int_equal(zeros[0], 'a');
    int *numbers = mem_array(NULL, 10, sizeof *numbers);
    numbers[9] = 9;
    numbers = mem_array(numbers, 1000, sizeof *numbers);
    assert_int_equal(numbers[9], 9);
    char *text = mem_text("hello"), *part = mem_text_n("hello", 3), *empty = mem_alloc(0),
         *none = mem_array(NULL, 0, 8);
    assert_string_equal(text, "hello");
    assert_string_equal(part, "hel");
    assert_non_null(empty);
    assert_non_null(none);
    mem_free(zeros);
    mem_free(numbers);
    mem_free(text);
    mem_free(part);
    mem_free(empty);
    mem_free(none);
    mem_free(NULL);
}

static void growing_arrays(void **state) {
    (void)state;
    int *items = NULL, *doubled = NULL, few[3], *inlined = few;
    uint32_t count = 0, capacity = 0, inlined_capacity = 3;
    for (; count < 100; count++) {
        MEM_GROW(items, count, capacity);
        MEM_EXTEND(doubled, count);
        MEM_GROW_FROM(inlined, few, count, inlined_capacity);
        items[count] = doubled[count] = inlined[count] = (int)count;
        assert_int_equal(inlined == few, count < 3);
    }
    assert_int_equal(capacity, 128);
    assert_int_equal(inlined_capacity, 192);
    for (int i = 0; i < 100; i++) assert_true(items[i] == i && doubled[i] == i && inlined[i] == i);
    mem_free(items);
    mem_free(doubled);
    mem_free(inlined);
}

static void overflowing_capacity(void) {
    uint32_t capacity = UINT32_C(1) << 31;
    char *items = NULL;
    MEM_GROW(items, capacity, capacity);
    mem_free(items);
}

static void overflowing_array(void) { mem_free(mem_array(NULL, SIZE_MAX / 2, 3)); }
static void endless_text(void) { mem_free(mem_text_n("", SIZE_MAX)); }
static void by_name(void) { mem_exhausted(123); }

/* Each case runs in a child, which must abort with a message. */
static void exhaustion_ends_the_process(void **state) {
    (void)state;
    static void (*const ways[])(void) = {overflowing_array, overflowing_capacity, endless_text, by_name};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        (void)fflush(stdout);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            const struct rlimit none = {0, 0};
            (void)setrlimit(RLIMIT_CORE, &none);
            (void)signal(SIGABRT, SIG_DFL);
            (void)dup2(pipes[1], 2);
            ways[i]();
            _exit(0);
        }
        (void)close(pipes[1]);
        char said[200] = "";
        ssize_t length = read(pipes[0], said, sizeof said - 1);
        (void)close(pipes[0]);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        assert_true(length > 0 && strstr(said, "tenon: out of memory: ") != NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
        cmocka_unit_test(the_limit_is_exact),
        cmocka_unit_test(overflow_is_whole_and_lasts),
        cmocka_unit_test(formats_of_any_length),
        cmocka_unit_test(takes_a_list_of_arguments),
        cmocka_unit_test(detaching),
        cmocka_unit_test(memory),
        cmocka_unit_test(growing_arrays),
        cmocka_unit_test(exhaustion_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

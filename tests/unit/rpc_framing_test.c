/*
 * rpc_framing_test.c - where messages end: both framings, bytes cut anywhere, wrong headers, limits, memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adl/value/memory.h"
#include "host/server/rpc/rpc_framing.h"

#define SMALL_MAX 100u /* the limit of messages in these tests */

/* Reads all messages into `seen`, each in angle brackets; then "!CODE" if reading has failed. */
static void read_all(struct rpc_reader *reader, struct buffer *seen, char **why) {
    const char *text;
    size_t length;
    struct error error = ERROR_INIT;
    enum rpc_read result;
    while ((result = rpc_reader_next(reader, &text, &length, &error)) == RPC_READ_MESSAGE) {
        buffer_char(seen, '<');
        buffer_append(seen, text, length);
        buffer_char(seen, '>');
    }
    if (result == RPC_READ_FAILED && !*why) {
        buffer_format(seen, "!%s", error.code);
        *why = mem_text(error.message);
    }
    error_finish(&error);
}

/* The stream, in pieces of `part` bytes. "…" is added if it ends inside a message. */
static void read_parts(enum rpc_framing framing, const char *bytes, size_t size, size_t part, struct buffer *seen,
                       char **why) {
    struct rpc_reader reader;
    rpc_reader_init(&reader, framing, SMALL_MAX);
    for (size_t from = 0; from < size; from += part) {
        size_t length = size - from < part ? size - from : part;
        char *piece = mem_alloc(length); /* a sanitizer sees a read after its end */
        memcpy(piece, bytes + from, length);
        rpc_reader_add(&reader, piece, length);
        mem_free(piece);
        read_all(&reader, seen, why);
        rpc_reader_rest(&reader);
    }
    if (!*why && rpc_reader_is_inside(&reader)) buffer_text(seen, "…");
    rpc_reader_finish(&reader);
}

/* Every way to cut the stream into equal pieces has the same result. `part` of the error's message may be NULL. */
static void expect_read(enum rpc_framing framing, const char *bytes, size_t size, const char *expected,
                        const char *part_of_why) {
    for (size_t part = 1; part <= size; part++) {
        struct buffer seen;
        char *why = NULL;
        buffer_init(&seen, SIZE_MAX);
        read_parts(framing, bytes, size, part, &seen, &why);
        if (strcmp(buffer_cstr(&seen), expected) != 0)
            fail_msg("%s\nin pieces of %zu: %s\nexpected: %s", bytes, part, buffer_cstr(&seen), expected);
        if (part_of_why && (!why || !strstr(why, part_of_why))) fail_msg("%s: %s", bytes, why ? why : "no error");
        mem_free(why);
        buffer_finish(&seen);
    }
}

static void expect(const char *bytes, const char *expected) {
    expect_read(RPC_FRAMING_DETECT, bytes, strlen(bytes), expected, NULL);
}

static void expect_failure(const char *bytes, const char *expected, const char *why) {
    expect_read(RPC_FRAMING_DETECT, bytes, strlen(bytes), expected, why);
}

static void framing_is_detected(void **state) {
    (void)state;
    expect("{}\n[]\n", "<{}><[]>");
    expect("\r\n \t[1]\n", "<[1]>");
    expect("Content-Length: 2\r\n\r\n{}", "<{}>");
    expect("\n\ncontent-LENGTH:2\n\n{}", "<{}>");
    expect("", "");
    expect(" \r\n\t", "");
    expect_failure("\xef\xbb\xbf{}\n\n", "!INVALID_INPUT", "expected `Content-Length: N`"); /* a byte order mark */
    expect_read(RPC_FRAMING_DETECT, "\0{}\n\n", 5, "!INVALID_INPUT", NULL);
}

static void lines_have_messages(void **state) {
    (void)state;
    expect("{\"a\":1}\r\n\r\n\n  \n{\"b\":2}\n{", "<{\"a\":1}\r><{\"b\":2}>…");
    expect_read(RPC_FRAMING_LINES, "garbage\n7\n", 10, "<garbage><7>", NULL);
    expect_read(RPC_FRAMING_LINES, "Content-Length: 2\r\n\r\n{}", 23, "<Content-Length: 2\r>…", NULL);
}

static void headers_have_messages(void **state) {
    (void)state;
    expect("Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]", "<{}><[1]>");
    expect("Content-Length: 2\n\n{}Content-Length: 3\n\n[1]", "<{}><[1]>");       /* LF only */
    expect("Content-Length: 2\r\n\n{}\r\nContent-Length: 2\n\r\n[]", "<{}><[]>"); /* mixed, and a line end after it */
    expect("Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", "<><{}>");
    expect("Content-Length: 6\r\n\r\n\r\n\r\n{}", "<\r\n\r\n{}>"); /* the length decides, not the content */
    expect("X: y\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length:  2 \r\n\r\n{}", "<{}>");
    expect("Content-Type: a; CHARSET=\"UTF8\"\r\nContent-Length: 2\r\n\r\n{}", "<{}>");
    expect("Content-Length: 2\r\nContent-Length: 02\r\n\r\n{}", "<{}>"); /* the same twice */
    expect("Content-Length: 5\r\n\r\n{}", "…");
    expect("Content-Length: 5\r\n", "…");
    expect("Content-Length: 100\r\n\r\n{", "…");
}

static void wrong_headers_end_the_stream(void **state) {
    (void)state;
    expect_failure("Content-Length: -1\r\n\r\n{}", "!INVALID_INPUT", "`Content-Length: -1`");
    expect_failure("Content-Length: 2x\r\n\r\n{}", "!INVALID_INPUT", "`Content-Length: 2x`");
    expect_failure("Content-Length: \r\n\r\n{}", "!INVALID_INPUT", "`Content-Length: `");
    expect_failure("Content-Length: 2.0\r\n\r\n{}", "!INVALID_INPUT", NULL);
    expect_failure("Content-Length: 0x2\r\n\r\n{}", "!INVALID_INPUT", NULL);
    expect_failure("Content-Length: 101\r\n\r\n{}", "!LIMIT", "a message of 101 bytes is announced");
    expect_failure("Content-Length: 18446744073709551618\r\n\r\n{}", "!LIMIT", "18446744073709551618");
    expect_failure("Content-Length: 99999999999999999999999999999999999999999999999\r\n\r\n{}", "!LIMIT", NULL);
    expect_failure("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", "!INVALID_INPUT", "different values: 2 and 3");
    expect_failure("Content-Type: text; charset=latin1\r\nContent-Length: 2\r\n\r\n{}", "!INVALID_INPUT",
                   "expected utf-8");
    expect_failure("Content-Type: text; charset=\r\nContent-Length: 2\r\n\r\n{}", "!INVALID_INPUT", NULL);
    expect_failure("Content-Type: text\r\n\r\n{}", "!INVALID_INPUT", "without the header `Content-Length`");
    expect_failure("Content-Length : 2\r\n\r\n{}", "!INVALID_INPUT", "without the header");
    expect_failure("GET / HTTP/1.1\r\n\r\n", "!INVALID_INPUT", "found `GET / HTTP/1.1`");
    expect_failure(": 2\r\n\r\n{}", "!INVALID_INPUT", NULL);
    expect_failure("Content-Length: 2\r\n\r\n{}nonsense\r\n\r\n", "<{}>!INVALID_INPUT", "found `nonsense`");
}

/* After a failure no byte is a message any more. */
static void a_failure_is_final(void **state) {
    struct rpc_reader reader;
    struct error error = ERROR_INIT;
    const char *text;
    size_t length;
    (void)state;
    rpc_reader_init(&reader, RPC_FRAMING_HEADERS, 0);
    rpc_reader_add(&reader, "x\n\nContent-Length: 2\n\n{}", 24);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rpc_reader_next(&reader, &text, &length, &error), RPC_READ_FAILED);
        error_finish(&error);
    }
    rpc_reader_finish(&reader);
}

static void limits_are_exact(void **state) {
    char line[SMALL_MAX + 3], expected[SMALL_MAX + 3];
    (void)state;
    memset(line, '{', sizeof line);
    line[SMALL_MAX] = '\n';
    (void)snprintf(expected, sizeof expected, "<%.*s>", (int)SMALL_MAX, line);
    expect_read(RPC_FRAMING_DETECT, line, SMALL_MAX + 1, expected, NULL);
    line[SMALL_MAX] = '{';
    expect_read(RPC_FRAMING_DETECT, line, SMALL_MAX + 1, "!LIMIT", "a line of more than 100 bytes");

    struct buffer headers;
    buffer_init(&headers, SIZE_MAX);
    buffer_text(&headers, "Content-Length: 2\r\nX: ");
    while (headers.length < RPC_HEADERS_MAX - 4) buffer_char(&headers, 'x');
    buffer_text(&headers, "\r\n\r\n{}");
    struct buffer seen;
    char *why = NULL;
    buffer_init(&seen, SIZE_MAX);
    for (size_t part = 1; part <= headers.length; part = part * 7 + 1)
        read_parts(RPC_FRAMING_DETECT, headers.data, headers.length, part, &seen, &why);
    assert_string_equal(buffer_cstr(&seen), "<{}><{}><{}><{}><{}>");
    buffer_clear(&seen);
    memset(headers.data + RPC_HEADERS_MAX - 4, 'x', 5); /* one byte more, and no end */
    read_parts(RPC_FRAMING_DETECT, headers.data, RPC_HEADERS_MAX + 1, 1000, &seen, &why);
    assert_string_equal(buffer_cstr(&seen), "!LIMIT");
    mem_free(why);
    buffer_finish(&seen);
    buffer_finish(&headers);
}

/* An announced message uses no memory before it arrives, and a long one that was read keeps none. */
static void memory_follows_the_bytes(void **state) {
    struct rpc_reader reader;
    const char *text;
    size_t length = 0, size = 8u << 20;
    char *long_text = mem_zalloc(size), head[64];
    (void)state;
    rpc_reader_init(&reader, RPC_FRAMING_HEADERS, 0);
    (void)snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", size);
    rpc_reader_add(&reader, head, strlen(head));
    assert_int_equal(rpc_reader_next(&reader, &text, &length, NULL), RPC_READ_MORE);
    assert_true(reader.held.capacity < 4096);
    rpc_reader_add(&reader, long_text, size);
    assert_int_equal(rpc_reader_next(&reader, &text, &length, NULL), RPC_READ_MESSAGE);
    assert_int_equal(length, size);
    rpc_reader_rest(&reader);
    assert_int_equal(reader.held.capacity, 0);
    rpc_reader_add(&reader, "Content-Length: 2\n\n{}", 21);
    assert_int_equal(rpc_reader_next(&reader, &text, &length, NULL), RPC_READ_MESSAGE);
    assert_int_equal(length, 2);
    rpc_reader_finish(&reader);
    mem_free(long_text);
}

static void frames_are_read_back(void **state) {
    static const enum rpc_framing framings[] = {RPC_FRAMING_DETECT, RPC_FRAMING_HEADERS, RPC_FRAMING_LINES};
    (void)state;
    for (size_t i = 0; i < sizeof framings / sizeof *framings; i++) {
        struct buffer out;
        buffer_init(&out, SIZE_MAX);
        rpc_frame(&out, framings[i], "{\"a\":\"ä\"}", 10);
        rpc_frame(&out, framings[i], "[]", 2);
        expect_read(framings[i], out.data, out.length, "<{\"a\":\"ä\"}><[]>", NULL);
        buffer_finish(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(framing_is_detected),      cmocka_unit_test(lines_have_messages),
        cmocka_unit_test(headers_have_messages),    cmocka_unit_test(wrong_headers_end_the_stream),
        cmocka_unit_test(a_failure_is_final),       cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(memory_follows_the_bytes), cmocka_unit_test(frames_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

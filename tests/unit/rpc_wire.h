/*
 * rpc_wire.h - the far end of a connection, for tests: raw bytes go in, and lines of JSON come out.
 *
 *     struct wire wire;
 *     struct rpc_stream *stream = wire_open(&wire, loop);        // give it to peer_new or connection_new
 *     wire_send(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
 *     wire_expect(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
 *     wire_close(&wire);
 *
 * A socket pair delivers at once, so some turns of the loop are all that anything needs: no test waits for time.
 */
#ifndef TENON_TESTS_RPC_WIRE_H
#define TENON_TESTS_RPC_WIRE_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/server/rpc/rpc_stream.h"

#define WIRE_UNUSED __attribute__((unused))
#define WIRE_TURNS  12

struct wire {
    struct loop *loop;
    int far;           /* -1: closed */
    struct buffer got; /* received, and not taken yet */
    size_t at;         /* start of the next line */
    bool ended;        /* the near end has closed */
    bool deaf;         /* reads nothing */
};

WIRE_UNUSED static struct rpc_stream *wire_open(struct wire *wire, struct loop *loop) {
    int ends[2];
    struct error error = ERROR_INIT;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail_msg("socketpair: %s", strerror(errno));
    (void)signal(SIGPIPE, SIG_IGN); /* as the program does */
    *wire = (struct wire){.loop = loop, .far = ends[1]};
    buffer_init(&wire->got, SIZE_MAX);
    struct rpc_stream *stream = rpc_stream_open(loop, ends[0], ends[0], &error);
    if (!stream) fail_msg("%s", error.message);
    return stream;
}

WIRE_UNUSED static void wire_receive(struct wire *wire) {
    char bytes[65536];
    ssize_t count = -1;
    while (wire->far >= 0 && !wire->deaf && (count = recv(wire->far, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        buffer_append(&wire->got, bytes, (size_t)count);
    if (count == 0 || (count < 0 && errno == ECONNRESET)) wire->ended = true;
}

/* Some turns of the loop, and what they have sent. */
WIRE_UNUSED static void wire_turn(struct wire *wire) {
    for (int i = 0; i < WIRE_TURNS; i++) {
        loop_run_turn(wire->loop);
        wire_receive(wire);
    }
}

/* Sends all, with turns of the loop while the socket is full. Returns how much was taken before nothing was any more.
 */
WIRE_UNUSED static size_t wire_send_n(struct wire *wire, const char *bytes, size_t length) {
    size_t sent = 0;
    for (int idle = 0; sent < length && idle < WIRE_TURNS;) {
        ssize_t count = send(wire->far, bytes + sent, length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) sent += (size_t)count;
        idle = count > 0 ? 0 : idle + 1;
        wire_turn(wire);
    }
    return sent;
}

WIRE_UNUSED static void wire_send(struct wire *wire, const char *text) {
    assert_int_equal(wire_send_n(wire, text, strlen(text)), strlen(text));
}

/* The end of the input: the other direction stays. */
WIRE_UNUSED static void wire_end_input(struct wire *wire) {
    assert_int_equal(shutdown(wire->far, SHUT_WR), 0);
    wire_turn(wire);
}

/* The next line, to be freed with mem_free; NULL if there is none. */
WIRE_UNUSED static char *wire_line(struct wire *wire) {
    const char *start = buffer_cstr(&wire->got) + wire->at, *end = strchr(start, '\n');
    if (!end) return NULL;
    wire->at += (size_t)(end - start) + 1;
    return mem_text_n(start, (size_t)(end - start));
}

WIRE_UNUSED static void wire_expect(struct wire *wire, const char *expected) {
    char *line = wire_line(wire);
    if (!line || strcmp(line, expected) != 0) fail_msg("received: %s\nexpected: %s", line ? line : "nothing", expected);
    mem_free(line);
}

/* The next line contains both texts. */
WIRE_UNUSED static void wire_expect_parts(struct wire *wire, const char *part, const char *other) {
    char *line = wire_line(wire);
    if (!line || !strstr(line, part) || !strstr(line, other))
        fail_msg("received: %s\nexpected: %s … %s", line ? line : "nothing", part, other);
    mem_free(line);
}

/* The next line as a value, a new reference. */
WIRE_UNUSED static tn_value wire_message(struct wire *wire) {
    char *line = wire_line(wire);
    tn_value message = NULL;
    if (!line)
        fail_msg("received nothing");
    else if (json_read(line, strlen(line), &(struct json_limits){.depth = 1000}, &message, NULL) != TN_OK)
        fail_msg("not JSON: %s", line);
    mem_free(line);
    return message;
}

WIRE_UNUSED static void wire_expect_nothing(struct wire *wire) {
    char *line = wire_line(wire);
    if (line) fail_msg("received: %s\nexpected nothing", line);
}

/* The same as wire_close, after the loop was freed. */
WIRE_UNUSED static void wire_drop(struct wire *wire) {
    if (wire->far >= 0) (void)close(wire->far);
    wire->far = -1;
    buffer_finish(&wire->got);
}

/* The far end goes away. Turns of the loop let the near end notice. */
WIRE_UNUSED static void wire_close(struct wire *wire) {
    if (wire->far >= 0) (void)close(wire->far);
    wire->far = -1;
    wire_turn(wire);
    buffer_finish(&wire->got);
}

#endif

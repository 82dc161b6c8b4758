/*
 * command_lsp_sent.c - `tenon lsp --connect`: copies bytes between an editor and the language server of a host that
 * runs.
 *
 *     stdin  ─▶ editor ─▶ host ─▶ socket       a side is not read while RPC_STREAM_FULL bytes wait for the other one
 *     stdout ◀─ editor ◀─ host ◀─ socket
 *
 * The bytes are not changed. They are read only to know the exit status: as in the Language Server Protocol, it is 0 if
 * the editor has sent `shutdown`, otherwise 1. The end of the editor's input is passed on; the host then answers what
 * is open, and closes the connection. If the host closes it first, the command ends.
 */
#include "adl/value/json.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/program/command.h"
#include "host/program/command_lsp.h"
#include "host/program/method_caller.h"
#include "host/server/connection.h"
#include "host/server/rpc/rpc_framing.h"
#include "host/server/rpc/rpc_listener.h"
#include "host/server/rpc/rpc_stream.h"
#include <string.h>
#include <unistd.h>

/* After the end of the editor's input. By then the host has answered or cancelled, and sent what waits. */
#define RELAY_LINGER_MS (CONNECTION_LINGER_MS + 2 * RPC_FLUSH_MS)

struct relay_side {
    struct relay *relay;
    struct relay_side *other;
    struct rpc_stream *stream; /* NULL: it was not opened, or is closed */
};

struct relay {
    struct loop *loop;
    struct relay_side editor, host;
    struct rpc_reader reader; /* of the editor's messages */
    struct loop_timer linger;
    bool shut_down; /* the editor has sent `shutdown` */
    bool lost;      /* the host has closed the connection before the end of the editor's input */
    bool ending;    /* the editor's input has ended */
};

/* ---- The exit status ---- */

static bool is_shutdown(const char *text, size_t length) {
    static const char name[] = "shutdown";
    tn_value message = NULL;
    if (!memmem(text, length, name, sizeof name - 1)) return false; /* nearly all messages */
    bool is = json_read(text, length, NULL, &message, NULL) == TN_OK && value_get(message, "id") &&
              strcmp(command_text(message, "method", ""), name) == 0;
    value_unref(message);
    return is;
}

static void relay_look_for_shutdown(struct relay *relay, const char *bytes, size_t length) {
    const char *text;
    size_t size;
    if (relay->shut_down || relay->reader.failed) return;
    rpc_reader_add(&relay->reader, bytes, length);
    while (rpc_reader_next(&relay->reader, &text, &size, NULL) == RPC_READ_MESSAGE)
        relay->shut_down |= is_shutdown(text, size);
    rpc_reader_rest(&relay->reader);
}

/* ---- Copying ---- */

static void relay_close(struct relay *relay) {
    loop_timer_stop(relay->loop, &relay->linger);
    rpc_stream_close(relay->editor.stream);
    rpc_stream_close(relay->host.stream);
}

static void relay_on_data(void *user, const char *bytes, size_t length) {
    struct relay_side *side = user;
    struct relay *relay = side->relay;
    rpc_stream_write(side->other->stream, bytes, length);
    if (rpc_stream_waiting(side->other->stream) >= RPC_STREAM_FULL) rpc_stream_pause(side->stream, true);
    if (side == &relay->editor) relay_look_for_shutdown(relay, bytes, length);
}

static void relay_on_drained(void *user) {
    struct relay_side *side = user;
    rpc_stream_pause(side->other->stream, false);
}

static void relay_on_linger(struct loop_timer *timer) { relay_close(CONTAINER_OF(timer, struct relay, linger)); }

static void relay_on_ended(void *user, const struct error *why) {
    struct relay_side *side = user;
    struct relay *relay = side->relay;
    if (side == &relay->editor && !why) {
        relay->ending = true;
        rpc_stream_end_output(relay->host.stream);
        loop_timer_start(relay->loop, &relay->linger, RELAY_LINGER_MS, relay_on_linger);
        return;
    }
    relay->lost = side == &relay->host && !relay->ending;
    relay_close(relay);
}

static void relay_on_closed(void *user) {
    struct relay_side *side = user;
    side->stream = NULL;
    loop_wake(side->relay->loop);
}

static const struct rpc_stream_ops relay_ops = {
    .data = relay_on_data, .ended = relay_on_ended, .drained = relay_on_drained, .closed = relay_on_closed};

/* ---- The command ---- */

static bool relay_is_closed(void *user) {
    const struct relay *relay = user;
    return !relay->editor.stream && !relay->host.stream;
}

static bool relay_must_end(void *relay) { return relay_is_closed(relay) || command_got_signal(); }

static bool relay_open(struct relay *relay, const char *address, struct error *error) {
    relay->host.stream = rpc_connect(relay->loop, address, error);
    if (relay->host.stream) relay->editor.stream = rpc_stream_open(relay->loop, STDIN_FILENO, STDOUT_FILENO, error);
    return relay->editor.stream != NULL;
}

static void relay_run(struct relay *relay) {
    command_watch_signals_in(relay->loop);
    rpc_stream_start(relay->host.stream, &relay_ops, &relay->host);
    rpc_stream_start(relay->editor.stream, &relay_ops, &relay->editor);
    (void)loop_run(relay->loop, relay_must_end, relay);
}

int command_lsp_sent(const struct arguments *arguments) {
    const char *address = argument_text(arguments, "connect");
    struct error error = ERROR_INIT;
    int code = method_caller_refuse_host_options(arguments);
    if (code) return code;
    struct relay relay = {.loop = loop_new(&error)};
    relay.editor = (struct relay_side){.relay = &relay, .other = &relay.host};
    relay.host = (struct relay_side){.relay = &relay, .other = &relay.editor};
    rpc_reader_init(&relay.reader, RPC_FRAMING_DETECT, 0);
    if (relay.loop && relay_open(&relay, address, &error)) {
        relay_run(&relay);
        code = relay.shut_down ? COMMAND_OK : COMMAND_RUN_FAILED;
    } else {
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    }
    if (relay.lost && !relay.shut_down) command_warn("the host at %s has closed the connection", address);
    if (relay.loop) {
        relay_close(&relay);
        (void)loop_run(relay.loop, relay_is_closed, &relay);
    }
    rpc_reader_finish(&relay.reader);
    loop_free(relay.loop);
    error_finish(&error);
    return code;
}

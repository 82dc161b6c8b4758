/*
 * stdio.c - messages as lines through a child's pipes.
 *
 * What the pipe does not accept waits in `unsent`, which is bounded: a server that does not read is stopped. After a
 * child has ended, its remaining output is read first, because it may contain its last answer. No event is called from
 * inside send.
 */
#include "stdio.h"
#include "child.h"
#include "lines.h"
#include "pipe.h"
#include <errno.h>
#include <unistd.h>

#define CHUNK      65536
#define READS_MAX  64   /* chunks per event, so that others have their turn */
#define STDERR_MAX 2000 /* logged bytes of a line of standard error */
#define ENDING_MS  500  /* from the end of the output to the end of the child, whose status is then reported */

struct stdio {
    struct transport transport; /* must be first */
    struct child *child;
    char *name;
    int ends[3]; /* of its input, output and error; -1: closed */
    uint64_t watches[3];
    struct tn_text_buffer unsent;
    struct lines out, err;
    char how[96]; /* how it ended; "" while it runs */
    uint64_t timer;
    bool has_output; /* it has sent something */
    bool *freed;     /* on the stack of the function that delivers an event */
};

static void stdio_unwatch(struct stdio *stdio, int index) {
    if (stdio->watches[index] != 0) (void)mcp_poll->unwatch(tn.host, stdio->watches[index]);
    if (stdio->ends[index] >= 0) (void)close(stdio->ends[index]);
    stdio->watches[index] = 0;
    stdio->ends[index] = -1;
}

static void stdio_close(struct transport *transport) {
    struct stdio *stdio = (struct stdio *)transport;
    if (stdio->freed != NULL) *stdio->freed = true;
    for (int i = 0; i < 3; i++) stdio_unwatch(stdio, i);
    if (stdio->timer != 0) (void)tn.core->unpost(tn.host, stdio->timer);
    child_end(stdio->child, stdio->has_output);
    tn_text_free(&stdio->unsent);
    lines_free(&stdio->out);
    lines_free(&stdio->err);
    mcp_free(stdio->name);
    mcp_free(stdio);
}

/* ---- Output of the server ---- */

static bool on_stdout_line(void *user, const char *line, uint64_t length) {
    struct stdio *stdio = user;
    const struct transport_events *events = &stdio->transport.events;
    tn_value message = NULL;
    bool freed = false, *outer = stdio->freed;
    stdio->has_output = true;
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) length--;
    if (line != NULL && length == 0) return true;
    stdio->freed = &freed;
    if (line == NULL) {
        events->message(events->user, NULL, 0, "a line of more than 64 MiB");
    } else if (tn.value->from_json(tn.host, line, length, &message, NULL) != TN_OK) {
        char why[128];
        (void)snprintf(why, sizeof why, "%s: %.*s",
                       tn_utf8_is_valid(line, length) ? "a line that is not JSON" : "a line that is not UTF-8",
                       (int)(length < 64 ? length : 64), line);
        events->message(events->user, NULL, 0, why);
    } else {
        events->message(events->user, message, 0, NULL);
    }
    tn_release(message);
    if (!freed)
        stdio->freed = outer;
    else if (outer != NULL)
        *outer = true;
    return !freed;
}

static bool on_stderr_line(void *user, const char *line, uint64_t length) {
    struct stdio *stdio = user;
    if (line != NULL && length > 0)
        log_format(TN_LOG_INFO, "server `%s`: stderr: %.*s", stdio->name,
                   (int)(length < STDERR_MAX ? length : STDERR_MAX), line);
    return true;
}

/* Reads what is available. Returns 1: there may be more; 0: nothing now; -1: end of the stream; -2: the transport is
 * freed. */
static int stdio_drain(struct stdio *stdio, int index, lines_line line) {
    static char chunk[CHUNK]; /* used only on the loop's thread */
    struct lines *lines = index == 1 ? &stdio->out : &stdio->err;
    for (int i = 0; i < READS_MAX; i++) {
        ssize_t got = read(stdio->ends[index], chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return 0;
        if (got <= 0) return -1;
        if (!lines_feed(lines, chunk, (uint64_t)got, line, stdio)) return -2;
    }
    return 1;
}

/* Reports the end once: the output is at its end, and the child has ended or closed its output. */
static void stdio_report_closed(struct stdio *stdio) {
    const struct transport_events *events = &stdio->transport.events;
    char why[128];
    (void)snprintf(why, sizeof why, "%s", *stdio->how != '\0' ? stdio->how : "it has closed its output");
    events->closed(events->user, why);
}

static void on_end_timeout(void *argument) {
    struct stdio *stdio = argument;
    stdio->timer = 0;
    stdio_report_closed(stdio);
}

/* The end of the output usually means the end of the child, whose status is then reported. */
static void on_child_stdout(void *user, int32_t events) {
    struct stdio *stdio = user;
    (void)events;
    if (stdio_drain(stdio, 1, on_stdout_line) != -1) return;
    stdio_unwatch(stdio, 1);
    stdio_unwatch(stdio, 0);
    stdio->timer = tn_post(ENDING_MS, on_end_timeout, stdio);
}

static void on_child_stderr(void *user, int32_t events) {
    struct stdio *stdio = user;
    (void)events;
    if (stdio_drain(stdio, 2, on_stderr_line) == -1) stdio_unwatch(stdio, 2);
}

/* Its children may keep the output open: read only what is available. */
static void on_server_process_ended(void *user, const char *how) {
    struct stdio *stdio = user;
    (void)snprintf(stdio->how, sizeof stdio->how, "%s", how);
    if (stdio->timer != 0) (void)tn.core->unpost(tn.host, stdio->timer);
    stdio->timer = 0;
    if (stdio->ends[2] >= 0) (void)stdio_drain(stdio, 2, on_stderr_line);
    while (stdio->ends[1] >= 0) {
        int more = stdio_drain(stdio, 1, on_stdout_line);
        if (more == -2) return;
        if (more != 1) break;
    }
    for (int i = 0; i < 3; i++) stdio_unwatch(stdio, i);
    stdio_report_closed(stdio);
}

/* ---- Messages to the server ---- */

/* Returns false if the child no longer reads. The end of the output or of the child reports it. */
static bool stdio_flush(struct stdio *stdio) {
    uint64_t done = 0;
    bool good = true;
    while (good && done < stdio->unsent.length) {
        ssize_t written = pipe_write(stdio->ends[0], stdio->unsent.bytes + done, stdio->unsent.length - done);
        if (written > 0) done += (uint64_t)written;
        if (written >= 0 || errno == EINTR) continue;
        good = errno == EAGAIN;
        break;
    }
    tn_text_drop(&stdio->unsent, done);
    if (!good) stdio_unwatch(stdio, 0);
    return good;
}

static void on_child_stdin(void *user, int32_t events) {
    struct stdio *stdio = user;
    (void)events;
    if (!stdio_flush(stdio) || stdio->unsent.length > 0) return;
    tn_text_free(&stdio->unsent);
    (void)mcp_poll->unwatch(tn.host, stdio->watches[0]);
    stdio->watches[0] = 0;
}

static int32_t stdio_send(struct transport *transport, tn_value message, int64_t id, tn_value extra) {
    struct stdio *stdio = (struct stdio *)transport;
    uint64_t length = 0;
    (void)id, (void)extra;
    if (stdio->ends[0] < 0) return TN_ERROR;
    tn_value json = tn_to_json(message);
    const char *text = tn_chars(json, &length);
    int32_t status = text != NULL ? tn_text_append_n(&stdio->unsent, text, length) : TN_NO_MEMORY;
    if (status == TN_OK) status = tn_text_append_n(&stdio->unsent, "\n", 1);
    tn_release(json);
    if (status != TN_OK || !stdio_flush(stdio)) {
        stdio_unwatch(stdio, 0); /* part of a line may have been written; nothing may follow it */
        return status != TN_OK ? status : TN_ERROR;
    }
    if (stdio->unsent.length > 0 && stdio->watches[0] == 0)
        status = mcp_poll->watch(tn.host, stdio->ends[0], TN_POLL_WRITE, on_child_stdin, stdio, &stdio->watches[0]);
    return status;
}

static bool stdio_abort(struct transport *transport, int64_t id, bool modern) {
    (void)transport, (void)id, (void)modern;
    return false;
}

static void stdio_set_version(struct transport *transport, const char *version, bool modern) {
    (void)transport, (void)version, (void)modern;
}

/* The end of the input ends the session. */
static bool stdio_end_session(struct transport *transport, void (*ended)(void)) {
    (void)transport, (void)ended;
    return false;
}

static const struct transport_class stdio_class = {"stdio",           stdio_send,        stdio_abort,
                                                   stdio_set_version, stdio_end_session, stdio_close};

struct transport *stdio_new(const struct stdio_options *options, const struct transport_events *events, char *why,
                            size_t size) {
    struct stdio *stdio = mcp_alloc(sizeof *stdio);
    if (stdio == NULL) {
        (void)snprintf(why, size, "not enough memory");
        return NULL;
    }
    const struct child_options child = {options->command, options->env, options->inherit_env, options->cwd};
    stdio->transport = (struct transport){&stdio_class, *events};
    for (int i = 0; i < 3; i++) stdio->ends[i] = -1;
    stdio->unsent.limit = MCP_UNSENT_MAX;
    stdio->out.partial.limit = MCP_MESSAGE_MAX;
    stdio->err.partial.limit = CHUNK;
    stdio->name = copy_text(options->name);
    stdio->child = child_new(&child, on_server_process_ended, stdio, stdio->ends, why, size);
    if (stdio->child != NULL &&
        mcp_poll->watch(tn.host, stdio->ends[1], TN_POLL_READ, on_child_stdout, stdio, &stdio->watches[1]) == TN_OK &&
        mcp_poll->watch(tn.host, stdio->ends[2], TN_POLL_READ, on_child_stderr, stdio, &stdio->watches[2]) == TN_OK)
        return &stdio->transport;
    if (stdio->child != NULL) (void)snprintf(why, size, "the pipes of the server cannot be watched");
    stdio_close(&stdio->transport);
    return NULL;
}

void stdio_stop_timers(void) { child_stop_timers(); }
void stdio_end_all(void) { child_end_all(); }

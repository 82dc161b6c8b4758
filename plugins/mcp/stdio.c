/*
 * stdio.c - messages as lines through a child's pipes.
 *
 * What the pipe does not take at once waits in `unsent`, bounded: a server that reads nothing is ended. When the child
 * has ended, what it wrote before is read first: its last answer counts. Nobody is told from inside send.
 */
#include "stdio.h"
#include "buffer.h"
#include "child.h"
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define CHUNK      65536
#define READS_MAX  64   /* chunks read before others have their turn */
#define STDERR_MAX 2000 /* bytes of a line of standard error that are logged */
#define ENDING_MS  500  /* between the end of its output and its own, for which is told */

struct stdio {
    struct transport transport; /* first */
    struct child *child;
    char *name;
    int ends[3]; /* of its input, output and error; -1 when closed */
    uint64_t watches[3];
    struct buffer unsent;
    struct lines out, err;
    char how[96]; /* it ended; "" while it runs */
    uint64_t timer;
    bool heard;  /* it has said something */
    bool *freed; /* on the stack of whoever is giving an event */
};

static void stop_watching(struct stdio *stdio, int index) {
    if (stdio->watches[index] != 0) (void)mcp_poll->unwatch(tn.host, stdio->watches[index]);
    if (stdio->ends[index] >= 0) (void)close(stdio->ends[index]);
    stdio->watches[index] = 0;
    stdio->ends[index] = -1;
}

static void stdio_close(struct transport *transport) {
    struct stdio *stdio = (struct stdio *)transport;
    if (stdio->freed != NULL) *stdio->freed = true;
    for (int i = 0; i < 3; i++) stop_watching(stdio, i);
    if (stdio->timer != 0) (void)tn.core->unpost(tn.host, stdio->timer);
    child_end(stdio->child, stdio->heard);
    buffer_free(&stdio->unsent);
    lines_free(&stdio->out);
    lines_free(&stdio->err);
    give(stdio->name);
    give(stdio);
}

/* ---- Out of the server ---- */

static bool on_line(void *user, const char *line, uint64_t length) {
    struct stdio *stdio = user;
    const struct transport_events *events = &stdio->transport.events;
    tn_value message = NULL;
    bool freed = false, *outer = stdio->freed;
    stdio->heard = true;
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) length--;
    if (line != NULL && length == 0) return true;
    stdio->freed = &freed;
    if (line == NULL) {
        events->message(events->user, NULL, 0, "a line of more than 64 MiB");
    } else if (tn.value->from_json(line, length, &message) != TN_OK) {
        char why[128];
        (void)snprintf(why, sizeof why, "a line that is not JSON: %.*s", (int)(length < 64 ? length : 64), line);
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

static bool on_error_line(void *user, const char *line, uint64_t length) {
    struct stdio *stdio = user;
    if (line != NULL && length > 0)
        say(TN_LOG_INFO, "server `%s`: stderr: %.*s", stdio->name, (int)(length < STDERR_MAX ? length : STDERR_MAX),
            line);
    return true;
}

/* What is there now. 1: there may be more; 0: not now; -1: it is at its end; -2: the transport is gone. */
static int drain(struct stdio *stdio, int index, lines_line line) {
    static char chunk[CHUNK]; /* the loop's thread alone */
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

/* Told once: its output is at its end, and it has ended (or has closed its output, which is the end as well). */
static void tell_closed(struct stdio *stdio) {
    const struct transport_events *events = &stdio->transport.events;
    char why[128];
    (void)snprintf(why, sizeof why, "%s", *stdio->how != '\0' ? stdio->how : "it has closed its output");
    events->closed(events->user, why);
}

static void on_silence(void *argument) {
    struct stdio *stdio = argument;
    stdio->timer = 0;
    tell_closed(stdio);
}

/* Its end is as a rule the end of the child as well, which then says how. */
static void on_output(void *user, int32_t events) {
    struct stdio *stdio = user;
    (void)events;
    if (drain(stdio, 1, on_line) != -1) return;
    stop_watching(stdio, 1);
    stop_watching(stdio, 0);
    stdio->timer = tn.core->post(tn.host, ENDING_MS, on_silence, stdio);
}

static void on_error(void *user, int32_t events) {
    struct stdio *stdio = user;
    (void)events;
    if (drain(stdio, 2, on_error_line) == -1) stop_watching(stdio, 2);
}

/* Grandchildren may hold its output open: what is there now is read, and that is all. */
static void on_ended(void *user, const char *how) {
    struct stdio *stdio = user;
    (void)snprintf(stdio->how, sizeof stdio->how, "%s", how);
    if (stdio->timer != 0) (void)tn.core->unpost(tn.host, stdio->timer);
    stdio->timer = 0;
    if (stdio->ends[2] >= 0) (void)drain(stdio, 2, on_error_line);
    while (stdio->ends[1] >= 0) {
        int more = drain(stdio, 1, on_line);
        if (more == -2) return;
        if (more != 1) break;
    }
    for (int i = 0; i < 3; i++) stop_watching(stdio, i);
    tell_closed(stdio);
}

/* ---- Into the server ---- */

/* A pipe that nobody reads raises SIGPIPE, which may be anybody's in this process: it is taken back. */
static ssize_t write_quietly(int descriptor, const char *bytes, size_t length) {
    sigset_t broken, pending, before;
    (void)sigemptyset(&broken);
    (void)sigaddset(&broken, SIGPIPE);
    (void)sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &broken, &before);
    ssize_t written = write(descriptor, bytes, length);
    int error = errno;
    if (written < 0 && error == EPIPE && !was_pending) {
        const struct timespec now = {0, 0};
        while (sigtimedwait(&broken, NULL, &now) < 0 && errno == EINTR) continue;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

/* False: nobody reads any more. The end is told by the output's, or the child's. */
static bool flush(struct stdio *stdio) {
    uint64_t done = 0;
    bool good = true;
    while (good && done < stdio->unsent.length) {
        ssize_t written = write_quietly(stdio->ends[0], stdio->unsent.bytes + done, stdio->unsent.length - done);
        if (written > 0) done += (uint64_t)written;
        if (written >= 0 || errno == EINTR) continue;
        good = errno == EAGAIN;
        break;
    }
    buffer_drop(&stdio->unsent, done);
    if (!good) stop_watching(stdio, 0);
    return good;
}

static void on_input(void *user, int32_t events) {
    struct stdio *stdio = user;
    (void)events;
    if (!flush(stdio) || stdio->unsent.length > 0) return;
    buffer_free(&stdio->unsent);
    (void)mcp_poll->unwatch(tn.host, stdio->watches[0]);
    stdio->watches[0] = 0;
}

static int32_t stdio_send(struct transport *transport, tn_value message, int64_t id, tn_value extra) {
    struct stdio *stdio = (struct stdio *)transport;
    uint64_t length = 0;
    (void)id, (void)extra;
    if (stdio->ends[0] < 0) return TN_ERROR;
    tn_value json = tn.value->to_json(message);
    const char *text = tn_chars(json, &length);
    int32_t status = text != NULL ? buffer_add(&stdio->unsent, text, length) : TN_NO_MEMORY;
    if (status == TN_OK) status = buffer_add(&stdio->unsent, "\n", 1);
    tn_release(json);
    if (status != TN_OK || !flush(stdio)) {
        stop_watching(stdio, 0); /* half a line may be there: nothing may follow it */
        return status != TN_OK ? status : TN_ERROR;
    }
    if (stdio->unsent.length > 0 && stdio->watches[0] == 0)
        status = mcp_poll->watch(tn.host, stdio->ends[0], TN_POLL_WRITE, on_input, stdio, &stdio->watches[0]);
    return status;
}

static bool stdio_abort(struct transport *transport, int64_t id, bool modern) {
    (void)transport, (void)id, (void)modern;
    return false;
}

static void stdio_agreed(struct transport *transport, const char *version, bool modern) {
    (void)transport, (void)version, (void)modern;
}

/* The end of its input says it. */
static bool stdio_leave(struct transport *transport, void (*left)(void)) {
    (void)transport, (void)left;
    return false;
}

static const struct transport_class stdio_class = {"stdio",      stdio_send,  stdio_abort,
                                                   stdio_agreed, stdio_leave, stdio_close};

struct transport *stdio_new(const struct stdio_options *options, const struct transport_events *events, char *why,
                            size_t size) {
    struct stdio *stdio = take(sizeof *stdio);
    if (stdio == NULL) {
        (void)snprintf(why, size, "there is no memory left");
        return NULL;
    }
    const struct child_options child = {options->command, options->env, options->cwd};
    stdio->transport = (struct transport){&stdio_class, *events};
    for (int i = 0; i < 3; i++) stdio->ends[i] = -1;
    stdio->unsent.limit = MCP_UNSENT_MAX;
    stdio->out.partial.limit = MCP_MESSAGE_MAX;
    stdio->err.partial.limit = CHUNK;
    stdio->name = copy_text(options->name);
    stdio->child = child_new(&child, on_ended, stdio, stdio->ends, why, size);
    if (stdio->child != NULL &&
        mcp_poll->watch(tn.host, stdio->ends[1], TN_POLL_READ, on_output, stdio, &stdio->watches[1]) == TN_OK &&
        mcp_poll->watch(tn.host, stdio->ends[2], TN_POLL_READ, on_error, stdio, &stdio->watches[2]) == TN_OK)
        return &stdio->transport;
    if (stdio->child != NULL) (void)snprintf(why, size, "its pipes cannot be watched");
    stdio_close(&stdio->transport);
    return NULL;
}

void stdio_last(void) { child_last(); }
void stdio_end_all(void) { child_end_all(); }

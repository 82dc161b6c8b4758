/*
 * process.c - starts the child, reads and writes its socket, and determines how it ended.
 *
 * All descriptors are non-blocking. Messages are queued, and written at the end of the loop's turn or when the socket
 * accepts more. When the socket is closed or the pidfd becomes readable, the child has ended: its group is killed, the
 * remaining messages are read, and its exit status is read with waitpid. The states of a process are:
 *
 *     running
 *     dead          the child was killed and reaped; the handles are closing
 *     end reported  ended() was called, after the last message; skipped if process_free was called before
 *     memory freed  when process_free was called, all handles are closed, and no callback is running
 *
 * Two functions block: process_call_take, with poll, and process_reap, for at most EXIT_WAIT_MS with poll and then with
 * waitpid until the killed child has ended.
 */
#include "host/plugin/isolate/process.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/plugin/isolate/frame.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/shared.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#define READ_MAX          (256u << 10) /* bytes read from the socket in one turn */
#define SOCKET_READ_BYTES 65536u       /* bytes of one read */
#define OUTPUT_MAX        (64u << 10)  /* bytes of output read in one turn */
#define EXIT_WAIT_MS      3000         /* time that a child has to exit after it has closed its socket */
#define POLL_MAX_MS       250          /* a longer wait is made in parts, and a part counts as at most that */

/* Memory in which the host writes large texts for the child. */
enum sharing {
    SHARING_UNKNOWN, /* the child has not said that it can use it */
    SHARING_ALLOWED, /* there is none yet */
    SHARING_OFFERED, /* the descriptor was queued; the child has not answered */
    SHARING_USED
};

#define PASSED_MAX 2 /* descriptors that a child gets: of the memory in which the host writes, and of the other one */

/* A request of process_request_take without a response. */
struct process_request {
    int64_t id, tag;
    const char *method; /* a literal */
    process_responded *responded;
    void *user;
};

struct process {
    struct loop *loop;
    struct process_options options;
    char *name;
    pid_t pid;
    int socket, output;
    int pidfd; /* -1 if the kernel does not have pidfds */
    uv_poll_t socket_poll, output_poll, pidfd_poll;
    uv_timer_t exit_timer;      /* EXIT_WAIT_MS; in real time, because the child does not have a test's fake clock */
    unsigned open_handles;      /* of libuv: the handles above that are not closed */
    unsigned holds;             /* calls of process_hold without their process_unhold */
    bool polling_writes;        /* socket_poll also waits until the socket accepts bytes */
    bool socket_closed;         /* the child has closed its socket and may still run; its exit is awaited */
    bool output_closed;         /* the child has closed its output */
    bool dead;                  /* the child has ended, and waitpid has returned its exit status */
    bool end_reported;          /* ended() was called */
    bool free_requested;        /* process_free was called */
    bool in_message_now;        /* message_now() has not returned */
    unsigned callbacks_running; /* calls of message() and ended() that have not returned */
    struct frame_reader reader;
    struct buffer outgoing; /* messages for the child */
    size_t outgoing_sent;   /* bytes at the start of `outgoing` that were sent */
    uint64_t sent_total;    /* bytes that were ever sent */
    struct passed {
        int descriptor;
        uint64_t at;      /* it goes with the byte at which sent_total is this */
    } passed[PASSED_MAX]; /* descriptors that were not sent yet, in order */
    size_t passed_count;
    enum sharing sharing;
    struct shared_memory *shared_out, *shared_in; /* the host writes in the first, the child in the second; or NULL */
    size_t shared_bytes;                          /* of the message that was read last */
    struct loop_work flush, deliver;
    tn_value *postponed; /* messages that arrived while process_call_take waited for its response */
    size_t postponed_count, postponed_capacity;
    size_t postponed_bytes;           /* their size on the wire */
    int64_t last_id;                  /* of the last request */
    struct process_request *requests; /* in order of id */
    size_t request_count, request_capacity;
    char *lines[PROCESS_LINES]; /* the last lines of output, a ring; NULL where there was no line */
    size_t line_count;          /* number of lines that were put into the ring */
    struct buffer line;         /* the line whose end was not read yet */
    char *kill_reason;          /* NULL if the host has not killed the child */
    struct error end_error;     /* describes how the child ended */
};

/* ---- The child's output ---- */

/*
 * Logs a line of output, and keeps it for the error that reports the child's end. A line of the child's own log begins
 * with PROTOCOL_LOG_MARK and its level, a digit; all other lines are LOG_INFO.
 */
static void process_log_line(struct process *process, const char *text, size_t length) {
    int32_t level = LOG_INFO;
    if (length > 2 && text[0] == PROTOCOL_LOG_MARK && text[1] >= '0' + LOG_DEBUG && text[1] <= '0' + LOG_ERROR) {
        level = text[1] - '0';
        text += 2;
        length -= 2;
    }
    char *line = mem_text_n(text, length);
    char *scrubbed = process->options.scrub ? process->options.scrub(process->options.scrub_user, line) : NULL;
    if (scrubbed) {
        mem_free(line);
        line = scrubbed;
    }
    log_write(level, process->name, "%s", line);
    if (level < LOG_INFO) {
        mem_free(line);
        return;
    }
    char **place = &process->lines[process->line_count++ % PROCESS_LINES];
    mem_free(*place);
    *place = line;
}

/* Splits output into lines, and logs each complete one. */
static void process_split_output(struct process *process, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            process_log_line(process, buffer_cstr(&process->line), process->line.length);
            buffer_clear(&process->line);
        } else {
            buffer_char(&process->line, bytes[i]); /* drops bytes beyond PROCESS_LINE_MAX */
        }
    }
}

/* Reads the output that is available, but at most OUTPUT_MAX bytes, because the child may print without end. */
static void process_read_output(struct process *process) {
    char bytes[4096];
    ssize_t got = 1;
    for (size_t total = 0; got > 0 && total < OUTPUT_MAX; total += (size_t)got) {
        got = read(process->output, bytes, sizeof bytes);
        if (got > 0) process_split_output(process, bytes, (size_t)got);
    }
    if (got == 0) process->output_closed = true; /* the child may still run */
}

static void process_on_output(uv_poll_t *poll, int status, int events) {
    struct process *process = poll->data;
    (void)events;
    process_read_output(process);
    if (status < 0 || process->output_closed) uv_poll_stop(poll);
}

/* The last lines of output, oldest first: an array of strings; a new reference. */
static tn_value process_lines(const struct process *process) {
    tn_value lines = value_array();
    for (size_t i = 0; i < PROCESS_LINES; i++) {
        const char *line = process->lines[(process->line_count + i) % PROCESS_LINES];
        if (line) lines = value_push_take(lines, value_string_lossy(line, strlen(line)));
    }
    return lines;
}

/* ---- Ending: kill, reap, report, free ---- */

/* Sets end_error from the status of waitpid. `own_reason` (or NULL) is stated, unless the host killed the child. */
static void process_describe_end(struct process *process, int status, const char *own_reason) {
    tn_value lines = process_lines(process), detail = value_object_reserve(3);
    const char *reason = process->kill_reason ? process->kill_reason : own_reason;
    char how[160];
    if (WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        detail = value_set_take(detail, "signal", value_int(WTERMSIG(status)));
    } else {
        snprintf(how, sizeof how, "exited with status %d", WEXITSTATUS(status));
        detail = value_set_take(detail, "exit", value_int(WEXITSTATUS(status)));
    }
    detail = value_set_take(detail, "log", lines);
    size_t count = value_count(lines);
    tn_value last = count ? value_at(lines, count - 1) : NULL;
    error_set(&process->end_error, TN_FAILED, "PLUGIN_CRASHED", "plugin `%s`: its process %s%s%s%s%s", process->name,
              how, reason ? ": " : "", reason ? reason : "", last ? "; its last line of output was: " : "",
              last ? value_chars(last, NULL) : "");
    error_set_detail_take(&process->end_error, detail);
}

/*
 * Calls ended() if the child has ended and all messages were delivered. Frees the memory if process_free was called,
 * all handles are closed, and no callback is running. Otherwise does nothing; it is called again after each such
 * change. The process may be freed when it returns: call it last.
 */
static void process_report_or_free(struct process *process) {
    if (process->callbacks_running) return;
    if (process->dead && !process->end_reported && !process->free_requested && !process->postponed_count) {
        process->end_reported = true;
        process->callbacks_running++;
        process->options.ended(process->options.user, &process->end_error);
        process->callbacks_running--;
    }
    if (!process->free_requested || process->open_handles) return;
    close(process->socket);
    close(process->output);
    if (process->pidfd >= 0) close(process->pidfd);
    if (process->holds) {
        process->holds = 1; /* nested holds count once in the loop: end them together */
        process_unhold(process);
    }
    loop_undefer(process->loop, &process->flush);
    loop_undefer(process->loop, &process->deliver);
    for (size_t i = 0; i < process->postponed_count; i++) value_unref(process->postponed[i]);
    mem_free((void *)process->postponed);
    mem_free(process->requests);
    for (size_t i = 0; i < PROCESS_LINES; i++) mem_free(process->lines[i]);
    frame_reader_finish(&process->reader);
    shared_free(process->shared_out);
    shared_free(process->shared_in);
    buffer_finish(&process->outgoing);
    buffer_finish(&process->line);
    error_finish(&process->end_error);
    mem_free(process->kill_reason);
    mem_free(process->name);
    mem_free(process);
}

static void process_on_closed(uv_handle_t *handle) {
    struct process *process = handle->data;
    process->open_handles--;
    process_report_or_free(process);
}

static void process_close_handles(struct process *process) {
    uv_close((uv_handle_t *)&process->socket_poll, process_on_closed);
    uv_close((uv_handle_t *)&process->output_poll, process_on_closed);
    uv_close((uv_handle_t *)&process->exit_timer, process_on_closed);
    if (process->pidfd >= 0) uv_close((uv_handle_t *)&process->pidfd_poll, process_on_closed);
}

/*
 * Blocks until the child has exited, at most `wait_ms`. Returns false if it still runs after that. Without a pidfd,
 * which is needed to determine that, it returns true at once.
 */
static bool process_exit_wait(const struct process *process, int wait_ms) {
    struct pollfd exit = {.fd = process->pidfd, .events = POLLIN};
    int64_t deadline_ms = clock_now_ms() + wait_ms;
    int ready;
    if (process->pidfd < 0) return true;
    do {
        int64_t left_ms = deadline_ms - clock_now_ms();
        ready = poll(&exit, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (ready < 0 && errno == EINTR);
    return ready == 1;
}

/*
 * Kills the child and its group, reads its exit status and the rest of its output, and schedules ended(). A child that
 * has closed its socket usually exits soon: it has `wait_ms` for that, so that its status is not that of being killed.
 */
static void process_reap(struct process *process, int wait_ms) {
    if (process->dead) return;
    const char *own_reason = NULL;
    int status = 0;
    process->dead = true;
    if (!process->kill_reason && !process_exit_wait(process, wait_ms))
        own_reason = "it closed its socket and did not exit";
    kill(-process->pid, SIGKILL);
    kill(process->pid, SIGKILL); /* if it has not called setpgid yet, it is not in the group */
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) continue;
    process_read_output(process);
    if (process->line.length) process_split_output(process, "\n", 1);
    process_describe_end(process, status, own_reason);
    process_close_handles(process);
    if (process->socket_closed) process_unhold(process);
    /* process_on_deliver reports the end, after the messages that arrived before it. */
    loop_defer(process->loop, &process->deliver);
}

void process_kill(struct process *process, const char *why) {
    if (process->dead) return;
    if (!process->kill_reason) process->kill_reason = mem_text(why);
    process_reap(process, 0);
}

void process_free(struct process *process) {
    if (!process) return;
    process->free_requested = true;
    process_kill(process, "the host stopped it");
    process_report_or_free(process);
}

/* ---- The child's socket ---- */

static void process_on_socket(uv_poll_t *poll, int status, int events);

/* Polls for writing only while there is something to write. */
static void process_update_poll(struct process *process) {
    bool writes = process->outgoing.length > process->outgoing_sent;
    if (process->dead || process->socket_closed || writes == process->polling_writes) return;
    process->polling_writes = writes;
    uv_poll_start(&process->socket_poll, UV_READABLE | (writes ? UV_WRITABLE : 0), process_on_socket);
}

/* Sends the next bytes, up to the next descriptor, or with it. Returns what sendmsg returns. */
static ssize_t process_send_some(struct process *process) {
    union {
        struct cmsghdr header; /* for its alignment */
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    size_t left = process->outgoing.length - process->outgoing_sent;
    struct iovec bytes = {process->outgoing.data + process->outgoing_sent, left};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    struct passed *passed = process->passed;
    bool passes = process->passed_count > 0 && passed->at == process->sent_total;
    if (passes) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        control.header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &passed->descriptor, sizeof(int));
    }
    const struct passed *next = process->passed_count > passes ? passed + passes : NULL;
    if (next && next->at - process->sent_total < left) bytes.iov_len = (size_t)(next->at - process->sent_total);
    ssize_t wrote = sendmsg(process->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote <= 0) return wrote;
    process->sent_total += (uint64_t)wrote;
    process->outgoing_sent += (size_t)wrote;
    if (passes) memmove(passed, passed + 1, --process->passed_count * sizeof *passed);
    return wrote;
}

/* Writes as much as the socket accepts. Returns false if the child has closed it. */
static bool process_write(struct process *process) {
    while (!process->dead && process->outgoing_sent < process->outgoing.length) {
        ssize_t wrote = process_send_some(process);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (wrote < 0) return false;
    }
    frame_discard_sent(&process->outgoing, &process->outgoing_sent);
    return true;
}

/* Ignores a failure to write: the next read of the socket notices that the child has ended. */
static void process_on_flush(struct loop_work *work) {
    struct process *process = CONTAINER_OF(work, struct process, flush);
    if (process->dead) return;
    process_write(process);
    process_update_poll(process);
}

/* Reads what is available, but not much more than READ_MAX bytes. Returns false if the child has closed the socket. */
static bool process_read(struct process *process) {
    static _Thread_local char bytes[SOCKET_READ_BYTES];
    for (size_t total = 0; total < READ_MAX;) {
        ssize_t got = recv(process->socket, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (got <= 0) return false;
        frame_feed(&process->reader, bytes, (size_t)got);
        total += (size_t)got;
        if ((size_t)got < sizeof bytes) return true; /* a short read: the socket was empty */
    }
    return true;
}

/* ---- Shared memory ---- */

static void process_notify_position(struct process *process, uint64_t position) {
    process_notify_take(process, "shared_taken",
                        value_set_take(value_object_reserve(1), "position", value_int((int64_t)position)));
}

/* Creates memory and queues its descriptor. NULL if the system refuses: then large texts stay in the messages. */
static struct shared_memory *process_share(struct process *process, const char *writer) {
    struct shared_memory *memory = process->passed_count < PASSED_MAX ? shared_new() : NULL;
    if (!memory) {
        log_write(LOG_DEBUG, process->name, "no shared memory for large values: %s", strerror(errno));
        return NULL;
    }
    process->passed[process->passed_count++] = (struct passed){
        shared_descriptor(memory), process->sent_total + (process->outgoing.length - process->outgoing_sent)};
    tn_value params = value_set_take(value_object_reserve(2), "writer", value_text(writer));
    process_notify_take(process, "shared_memory", value_set_take(params, "size", value_int(SHARED_SIZE)));
    return memory;
}

void process_allow_shared(struct process *process) {
    if (process->sharing == SHARING_UNKNOWN) process->sharing = SHARING_ALLOWED;
}

/* The child has read what the host wrote before the position. Returns false if it lies. */
static bool process_on_taken(struct process *process, tn_value params) {
    tn_value position = value_get(params, "position");
    if (!value_is(position, TN_INT) || value_to_int(position) < 0 || !process->shared_out) return false;
    process->sharing = SHARING_USED;
    return shared_release(process->shared_out, (uint64_t)value_to_int(position));
}

/*
 * Handles the messages about shared memory, and puts the texts of *message in their places. Returns TN_OK if the
 * message is for others, TN_AGAIN if it was one of these; TN_INVALID if it is invalid.
 */
static int32_t process_read_shared(struct process *process, tn_value *message, struct error *error) {
    tn_value method = value_get(*message, "method"), params = value_get(*message, "params");
    uint64_t position;
    process->shared_bytes = 0;
    if (process->sharing == SHARING_UNKNOWN) return TN_OK; /* a program may use such members and methods itself */
    if (process->shared_in && value_get(*message, "shared")) {
        int32_t status = shared_unpack(process->shared_in, message, &position, &process->shared_bytes, error);
        if (status == TN_OK) process_notify_position(process, position);
        return status;
    }
    if (value_text_is(method, "shared_memory")) {
        if (!process->shared_in) process->shared_in = process_share(process, "plugin");
        return TN_AGAIN;
    }
    if (!value_text_is(method, "shared_taken")) return TN_OK;
    if (process_on_taken(process, value_is(params, TN_OBJECT) ? params : NULL)) return TN_AGAIN;
    return error_set(error, TN_INVALID, "PROTOCOL", "the position in `shared_taken` is impossible");
}

/* ---- Reading messages ---- */

/*
 * Sets *message to the next message that was read, a new reference. Returns false if there is none. An invalid one is
 * logged and kills the child; nothing after it can be read.
 */
static bool process_next_message(struct process *process, tn_value *message) {
    struct error error = ERROR_INIT;
    int32_t status = TN_AGAIN;
    while (status == TN_AGAIN) {
        if (process->reader.broken) return false;
        status = frame_next(&process->reader, message, &error);
        if (status == TN_OK && !*message) return false;
        if (status == TN_OK) {
            status = process_read_shared(process, message, &error);
            if (status == TN_OK) return true;
            value_unref(*message);
        }
    }
    log_write(LOG_ERROR, process->name, "it sent an invalid message: %s", error.message);
    error_finish(&error);
    process->reader.broken = true;
    process_kill(process, "it sent an invalid message");
    return false;
}

/* Splits a response into result or error. Returns what process_call_take returns for it; the caller owns both. */
static int32_t process_read_response(const struct process *process, const char *method, tn_value response,
                                     tn_value *result, struct error *error) {
    tn_value object = value_get(response, "error");
    if (!object && frame_is_pruned(response))
        return error_set(error, TN_LIMIT, "LIMIT", "plugin `%s`: the response to `%s` is %s that can be sent",
                         process->name, method, frame_fit_text(FRAME_TOO_DEEP));
    if (!object) {
        *result = value_ref(value_get(response, "result"));
        return TN_OK;
    }
    /* data is a Tenon error object; errors that a JSON-RPC library made have none. */
    if (value_get(object, "data")) object = value_get(object, "data");
    if (!error) return TN_FAILED;
    error_from_value(error, object);
    if (!*error->message)
        error_set(error, TN_FAILED, value_get(object, "code") ? error->code : "PLUGIN_INVALID",
                  "plugin `%s`: the request `%s` failed without an error message", process->name, method);
    return TN_FAILED;
}

/* If the message is a response to process_request_take, calls its responded() and returns true. */
static bool process_handle_response(struct process *process, tn_value message) {
    tn_value number = value_get(message, "id");
    if (!process->request_count || value_get(message, "method") || !value_is(number, TN_INT)) return false;
    size_t at = 0;
    while (at < process->request_count && process->requests[at].id != value_to_int(number)) at++;
    if (at == process->request_count) return false;
    struct process_request request = process->requests[at];
    memmove(&process->requests[at], &process->requests[at + 1],
            (--process->request_count - at) * sizeof *process->requests);
    struct error error = ERROR_INIT;
    tn_value result = NULL;
    int32_t status = process_read_response(process, request.method, message, &result, &error);
    request.responded(request.user, request.tag, status, result, &error);
    value_unref(result);
    error_finish(&error);
    return true;
}

/* Passes a message to the receiver that waits for it. */
static void process_deliver(struct process *process, tn_value message) {
    if (!process_handle_response(process, message)) process->options.message(process->options.user, message);
}

/*
 * Passes the messages that were read to message(), unless postponed ones must be delivered before them. The process may
 * be freed when it returns: call it last.
 */
static void process_dispatch(struct process *process) {
    tn_value message;
    process->callbacks_running++;
    while (!process->free_requested && !process->postponed_count && process_next_message(process, &message)) {
        process_deliver(process, message);
        value_unref(message);
    }
    process->callbacks_running--;
    process_report_or_free(process);
}

static void process_on_exit_timer(uv_timer_t *timer) {
    struct process *process = timer->data;
    process_reap(process, 0);
    process_dispatch(process);
}

/* Waits for the exit, which process_on_pidfd notices, at most EXIT_WAIT_MS. */
static void process_await_exit(struct process *process) {
    if (process->pidfd < 0) {
        process_reap(process, 0);
        return;
    }
    process_hold(process);
    process->socket_closed = true;
    uv_poll_stop(&process->socket_poll);
    uv_update_time(loop_uv(process->loop));
    uv_timer_start(&process->exit_timer, process_on_exit_timer, EXIT_WAIT_MS, 0);
}

static void process_on_socket(uv_poll_t *poll, int status, int events) {
    struct process *process = poll->data;
    (void)events;
    if (status >= 0 && process_read(process)) {
        process_write(process); /* the next read notices a failure */
        process_update_poll(process);
    } else {
        process_await_exit(process);
    }
    process_dispatch(process);
}

static void process_on_pidfd(uv_poll_t *poll, int status, int events) {
    struct process *process = poll->data;
    (void)status, (void)events;
    if (!process->dead) {
        kill(-process->pid, SIGKILL); /* the child has exited, but its own children may still hold the socket open */
        process_read(process);        /* once is enough: READ_MAX is larger than a socket's default buffer */
    }
    process_reap(process, 0);
    process_dispatch(process);
}

/* Delivers the messages that process_call_take postponed or left unread, then reports the end if the child has ended.
 */
static void process_on_deliver(struct loop_work *work) {
    struct process *process = CONTAINER_OF(work, struct process, deliver);
    size_t count = process->postponed_count;
    tn_value *postponed = process->postponed;
    process->postponed = NULL;
    process->postponed_count = process->postponed_capacity = process->postponed_bytes = 0;
    process->callbacks_running++;
    for (size_t i = 0; i < count; i++) {
        if (!process->free_requested) process_deliver(process, postponed[i]);
        value_unref(postponed[i]);
    }
    process->callbacks_running--;
    mem_free((void *)postponed);
    process_dispatch(process); /* also frees the memory if process_free was called */
}

/* ---- Sending notifications ---- */

/* Queues a message, and takes its reference. */
static enum frame_fit process_send_take(struct process *process, tn_value message) {
    enum frame_fit fits = FRAME_FITS;
    if (!process->dead) {
        if (process->sharing == SHARING_ALLOWED && shared_is_worthwhile(message)) {
            process->sharing = SHARING_OFFERED; /* this message is still sent as it is */
            process->shared_out = process_share(process, "host");
        }
        fits = shared_frame_write_take(process->sharing == SHARING_USED ? process->shared_out : NULL,
                                       &process->outgoing, &message);
        if (process->outgoing.overflow)
            process_kill(process, "it did not read the messages that the host sent");
        else
            loop_defer(process->loop, &process->flush);
    }
    value_unref(message);
    return fits;
}

enum frame_fit process_notify_take(struct process *process, const char *method, tn_value params) {
    tn_value message = value_set_take(value_object_reserve(3), "jsonrpc", value_text("2.0"));
    message = value_set_take(message, "method", value_text(method));
    return process_send_take(process, value_set_take(message, "params", params));
}

/* ---- Requests: waiting for the response ---- */

/* Takes the message's reference. `size`: its bytes on the wire. */
static void process_postpone_take(struct process *process, tn_value message, size_t size) {
    process->postponed_bytes += size + sizeof message;
    if (process->postponed_bytes > PROCESS_POSTPONED_MAX)
        process_kill(process, "it sent too many messages before its response");
    if (process->dead) {
        value_unref(message);
        return;
    }
    MEM_GROW(process->postponed, process->postponed_count, process->postponed_capacity);
    process->postponed[process->postponed_count++] = message;
    loop_defer(process->loop, &process->deliver);
}

static bool is_response_to(tn_value message, int64_t id) {
    tn_value number = value_get(message, "id");
    return !value_get(message, "method") && value_is(number, TN_INT) && value_to_int(number) == id;
}

/*
 * Sets *response to the response to the request `id`, a new reference, if it was read. Passes the messages before it to
 * message_now(), or postpones them.
 */
static bool process_take_response(struct process *process, int64_t id, tn_value *response) {
    const struct process_options *options = &process->options;
    tn_value message;
    size_t unread_before = frame_unread(&process->reader);
    while (!process->dead && process_next_message(process, &message)) {
        size_t unread = frame_unread(&process->reader), size = unread_before - unread + process->shared_bytes;
        unread_before = unread;
        if (is_response_to(message, id)) {
            *response = message;
            return true;
        }
        process->in_message_now = true;
        bool handled = process_handle_response(process, message) ||
                       (options->message_now && options->message_now(options->user, message));
        process->in_message_now = false;
        if (handled)
            value_unref(message);
        else
            process_postpone_take(process, message, size);
    }
    return false;
}

/*
 * Blocks until the child can be read from or written to, or has exited, but not longer than `wait_ms`; a signal also
 * ends the wait. Then reads messages and output, and writes. Returns false if the child has exited or closed its
 * socket; what it sent before was read then.
 */
static bool process_transfer_wait(struct process *process, int64_t wait_ms) {
    short writes = process->outgoing_sent < process->outgoing.length ? POLLOUT : 0;
    /* poll ignores a descriptor that is -1. */
    struct pollfd ready[3] = {{.fd = process->socket, .events = (short)(POLLIN | writes)},
                              {.fd = process->output_closed ? -1 : process->output, .events = POLLIN},
                              {.fd = process->pidfd, .events = POLLIN}};
    poll(ready, 3, wait_ms > POLL_MAX_MS ? POLL_MAX_MS : (int)wait_ms);
    bool exited = ready[2].revents;
    if (exited) kill(-process->pid, SIGKILL); /* its own children may still hold the socket open */
    if (ready[1].revents) process_read_output(process);
    process_write(process); /* the read notices a failure */
    return process_read(process) && !exited;
}

/* Queues a request with the next id. */
static enum frame_fit process_send_request_take(struct process *process, const char *method, tn_value params) {
    tn_value request = value_set_take(value_object_reserve(4), "jsonrpc", value_text("2.0"));
    request = value_set_take(request, "id", value_int(++process->last_id));
    request = value_set_take(request, "method", value_text(method));
    return process_send_take(process, value_set_take(request, "params", params));
}

enum frame_fit process_request_take(struct process *process, const char *method, tn_value params,
                                    process_responded *responded, void *user, int64_t tag) {
    enum frame_fit fit = process_send_request_take(process, method, params);
    if (fit != FRAME_FITS) return fit;
    MEM_GROW(process->requests, process->request_count, process->request_capacity);
    process->requests[process->request_count++] =
        (struct process_request){process->last_id, tag, method, responded, user};
    return FRAME_FITS;
}

int32_t process_call_take(struct process *process, const char *method, tn_value params, int64_t timeout_ms,
                          tn_value *result, struct error *error) {
    int64_t id = process->last_id + 1, left_ms = timeout_ms, last_ms = clock_now_ms();
    tn_value response;
    assert(!process->in_message_now);
    enum frame_fit fit = process_send_request_take(process, method, params);
    if (fit != FRAME_FITS)
        return error_set(error, TN_LIMIT, "LIMIT", "plugin `%s`: the request `%s` is %s that can be sent",
                         process->name, method, frame_fit_text(fit));
    bool ended = false; /* the child is reaped after the messages that it sent before its end were handled */
    while (!process->dead) {
        if (process_take_response(process, id, &response)) {
            int32_t status = process_read_response(process, method, response, result, error);
            value_unref(response);
            process_update_poll(process);
            /* Messages behind the response were read already: the socket does not report them. */
            if (frame_unread(&process->reader) > 0) loop_defer(process->loop, &process->deliver);
            return status;
        }
        if (process->dead) break;
        /* A machine that stands still uses up only one part of the child's time, so the child can still answer. */
        int64_t now_ms = clock_now_ms(), passed_ms = now_ms - last_ms;
        left_ms -= passed_ms < POLL_MAX_MS ? passed_ms : POLL_MAX_MS;
        last_ms = now_ms;
        if (ended) {
            process_reap(process, EXIT_WAIT_MS);
        } else if (left_ms <= 0) {
            tn_value why = value_format("it did not answer `%s` within %lld ms", method, (long long)timeout_ms);
            process_kill(process, value_chars(why, NULL));
            value_unref(why);
        } else {
            ended = !process_transfer_wait(process, left_ms);
        }
    }
    error_copy(error, &process->end_error);
    return TN_ERROR;
}

bool process_refresh(struct process *process) {
    if (!process->dead && !process_transfer_wait(process, 0)) process_reap(process, EXIT_WAIT_MS);
    return !process->dead;
}

const struct error *process_end(const struct process *process) { return &process->end_error; }

/* ---- Starting ---- */

/*
 * Runs in the forked child. Before execve, it may call only async-signal-safe functions; the report that execve failed
 * is an exception. Exits with 127 if the program cannot be run, as a shell does, and with 126 after other failures.
 */
static _Noreturn void process_exec(const struct process_options *options, int socket, int output, pid_t parent) {
    static char *const no_environment[] = {NULL};
    int null_device = open("/dev/null", O_RDONLY);
    sigset_t no_signals;
    sigemptyset(&no_signals);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &no_signals, NULL); /* process_fork has blocked all */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Moves both descriptors above those that dup2 overwrites. */
    socket = fcntl(socket, F_DUPFD, 10);
    output = fcntl(output, F_DUPFD, 10);
    if (getppid() != parent) _exit(126); /* the host ended before prctl took effect */
    if (null_device < 0 || socket < 0 || output < 0 || dup2(null_device, 0) < 0 || dup2(output, 1) < 0 ||
        dup2(output, 2) < 0 || dup2(socket, PROCESS_SOCKET) < 0)
        _exit(126);
    closefrom(PROCESS_SOCKET + 1);
    execve(options->arguments[0], (char *const *)(uintptr_t)options->arguments,
           options->environment ? (char *const *)(uintptr_t)options->environment : no_environment);
    dprintf(2, "cannot run %s: %s\n", options->arguments[0], strerror(errno));
    _exit(127);
}

/*
 * Forks, and executes the program in the child. All signals are blocked until the child has reset the handlers: a
 * handler of this process must not run there. Returns -1 with errno on failure.
 */
static pid_t process_fork(const struct process_options *options, int socket, int output) {
    pid_t parent = getpid();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) process_exec(options, socket, output, parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static void process_watch(struct process *process, uv_poll_t *poll, int descriptor, uv_poll_cb callback) {
    uv_poll_init(loop_uv(process->loop), poll, descriptor);
    poll->data = process;
    uv_poll_start(poll, UV_READABLE, callback);
    uv_unref((uv_handle_t *)poll); /* handles do not keep the loop running; process_hold does */
    process->open_handles++;
}

struct process *process_start(struct loop *loop, const struct process_options *options, struct error *error) {
    int pair[2] = {-1, -1}, output[2] = {-1, -1};
    pid_t pid = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 && pipe2(output, O_CLOEXEC) == 0)
        pid = process_fork(options, pair[1], output[1]);
    int failure = errno;
    if (pair[1] >= 0) close(pair[1]);
    if (output[1] >= 0) close(output[1]);
    if (pid < 0) {
        if (pair[0] >= 0) close(pair[0]);
        if (output[0] >= 0) close(output[0]);
        error_set(error, TN_ERROR, "PLUGIN_CRASHED", "plugin `%s`: its process cannot be started: %s", options->name,
                  strerror(failure));
        return NULL;
    }
    setpgid(pid, pid); /* parent and child both call it, because either may run first */
    struct process *process = mem_zalloc(sizeof *process);
    process->loop = loop;
    process->options = *options;
    process->options.arguments = process->options.environment = NULL;
    process->name = mem_text(options->name);
    process->pid = pid;
    process->socket = pair[0];
    process->output = output[0];
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    fcntl(process->socket, F_SETFL, O_NONBLOCK);
    fcntl(process->output, F_SETFL, O_NONBLOCK);
    frame_reader_init(&process->reader);
    buffer_init(&process->outgoing, PROCESS_OUTGOING_MAX);
    buffer_init(&process->line, PROCESS_LINE_MAX);
    process->flush.run = process_on_flush;
    process->deliver.run = process_on_deliver;
    process_watch(process, &process->socket_poll, process->socket, process_on_socket);
    process_watch(process, &process->output_poll, process->output, process_on_output);
    uv_timer_init(loop_uv(loop), &process->exit_timer);
    process->exit_timer.data = process;
    uv_unref((uv_handle_t *)&process->exit_timer);
    process->open_handles++;
    if (process->pidfd >= 0) process_watch(process, &process->pidfd_poll, process->pidfd, process_on_pidfd);
    return process;
}

pid_t process_id(const struct process *process) { return process->pid; }
bool process_has_ended(const struct process *process) { return process->dead || process->socket_closed; }

/* ---- Holding ---- */

void process_hold(struct process *process) {
    if (process->holds++ > 0) return;
    loop_hold(process->loop); /* while held, a test's fake clock does not advance: the child works in real time */
    loop_spin(process->loop, true);
    if (!process->dead) uv_ref((uv_handle_t *)&process->socket_poll);
}

void process_unhold(struct process *process) {
    if (--process->holds > 0) return;
    loop_release(process->loop);
    loop_spin(process->loop, false);
    if (!process->dead) uv_unref((uv_handle_t *)&process->socket_poll);
}

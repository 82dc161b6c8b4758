/*
 * process_messages.c - the messages of a child: writing and reading its socket, the memory that it shares with the
 * host, requests and their responses.
 */
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/plugin/isolate/process_internal.h"
#include "host/plugin/isolate/shared.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#define READ_MAX          (256u << 10) /* bytes read from the socket in one turn */
#define SOCKET_READ_BYTES 65536u       /* bytes of one read */
#define POLL_MAX_MS       250          /* a longer wait is made in parts, and a part counts as at most that */

/* ---- The child's socket ---- */

/* Polls for writing only while there is something to write. */
void process_update_poll(struct process *process) {
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
bool process_write(struct process *process) {
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
void process_on_flush(struct loop_work *work) {
    struct process *process = CONTAINER_OF(work, struct process, flush);
    if (process->dead) return;
    process_write(process);
    process_update_poll(process);
}

/* Reads what is available, but not much more than READ_MAX bytes. Returns false if the child has closed the socket. */
bool process_read(struct process *process) {
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
void process_deliver(struct process *process, tn_value message) {
    if (!process_handle_response(process, message)) process->options.message(process->options.user, message);
}

/*
 * Passes the messages that were read to message(), unless postponed ones must be delivered before them. The process may
 * be freed when it returns: call it last.
 */
void process_dispatch(struct process *process) {
    tn_value message;
    process->callbacks_running++;
    while (!process->free_requested && !process->postponed_count && process_next_message(process, &message)) {
        process_deliver(process, message);
        value_unref(message);
    }
    process->callbacks_running--;
    process_report_or_free(process);
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

/* The time that a call may take, as far as it is known now. */
static int64_t process_call_limit(const struct process *process, int64_t timeout_ms, int64_t now_ms) {
    const _Atomic int64_t *ends_by_ms = process->options.ends_by_ms;
    int64_t by_ms = ends_by_ms ? atomic_load(ends_by_ms) : 0;
    bool ends = by_ms != 0 && now_ms >= by_ms;
    return ends && timeout_ms > PROCESS_LAST_CALL_MS ? PROCESS_LAST_CALL_MS : timeout_ms;
}

static void process_kill_late(struct process *process, const char *method, int64_t limit_ms, int64_t timeout_ms) {
    tn_value why = value_format("it did not answer `%s` within %lld ms%s", method, (long long)limit_ms,
                                limit_ms < timeout_ms ? " at the end of the host" : "");
    process_kill(process, value_chars(why, NULL));
    value_unref(why);
}

int32_t process_call_take(struct process *process, const char *method, tn_value params, int64_t timeout_ms,
                          tn_value *result, struct error *error) {
    int64_t id = process->last_id + 1, used_ms = 0, last_ms = clock_now_ms();
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
        int64_t limit_ms = process_call_limit(process, timeout_ms, now_ms);
        used_ms += passed_ms < POLL_MAX_MS ? passed_ms : POLL_MAX_MS;
        last_ms = now_ms;
        if (ended)
            process_reap(process, EXIT_WAIT_MS);
        else if (used_ms >= limit_ms)
            process_kill_late(process, method, limit_ms, timeout_ms);
        else
            ended = !process_transfer_wait(process, limit_ms - used_ms);
    }
    error_copy(error, &process->end_error);
    return TN_ERROR;
}

bool process_refresh(struct process *process) {
    if (!process->dead && !process_transfer_wait(process, 0)) process_reap(process, EXIT_WAIT_MS);
    return !process->dead;
}

const struct error *process_end(const struct process *process) { return &process->end_error; }

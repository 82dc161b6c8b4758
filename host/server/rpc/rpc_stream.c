/*
 * rpc_stream.c - a libuv stream with a buffer of what waits to be written.
 *
 *     open -> reading <-> paused -> input ended or failed
 *       |        |           |          |
 *       +--------+-----------+----------+--> closing (flushes for RPC_FLUSH_MS) -> handles closed -> freed
 *
 * There are two buffers: one that libuv is writing, and one that collects what is written meanwhile. All that is
 * written in a turn of the loop is sent by one call.
 */
#include "host/server/rpc/rpc_stream.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define READ_SIZE   65536u
#define KEPT_MAX    ((size_t)256 << 10) /* memory that an empty buffer keeps */
#define TRIMMED_MIN (1u << 20)          /* after an answer of this size, the memory of its values is given back */

struct rpc_stream {
    struct loop *loop;
    const struct rpc_stream_ops *ops;
    void *user;
    uv_pipe_t input, output; /* `output` is not used if `shared` */
    int file_in, file_out;   /* descriptors of regular files, or -1 */
    bool input_open, output_open;
    bool shared; /* both directions use `input` */
    bool paused, ended, failed, closing, full;
    bool closed;             /* the handles are being closed */
    bool output_ends;        /* rpc_stream_end_output was called */
    int flags_in, flags_out; /* of descriptors that stay open, because they are standard ones; -1: none */
    bool writing;            /* libuv has `sending` */
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct buffer sending, pending;
    struct loop_work flush; /* stream_flush */
    struct loop_work read;  /* reads a file; then reports the end or a failure */
    struct loop_timer give_up;
    unsigned handles; /* open handles, while closing */
    char *space;      /* READ_SIZE bytes */
};

static uv_stream_t *stream_out(struct rpc_stream *stream) {
    return (uv_stream_t *)(stream->shared ? &stream->input : &stream->output);
}

static void stream_finish_closing(struct rpc_stream *stream);

/* Reports the end once. */
static void stream_end(struct rpc_stream *stream, const struct error *why) {
    if (why) stream->failed = true;
    if (stream->ended) return;
    stream->ended = true;
    if (!stream->closing) stream->ops->ended(stream->user, why);
}

static void stream_fail(struct rpc_stream *stream, const char *what, const char *reason) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_FAILED, "IO", "cannot %s: %s", what, reason);
    buffer_clear(&stream->pending);
    stream_end(stream, &error);
    error_finish(&error);
    if (stream->closing) stream_finish_closing(stream);
}

/* ---- Reading ---- */

static void stream_alloc(uv_handle_t *handle, size_t size, uv_buf_t *out) {
    struct rpc_stream *stream = handle->data;
    (void)size;
    if (!stream->space) stream->space = mem_alloc(READ_SIZE);
    *out = uv_buf_init(stream->space, READ_SIZE);
}

static void stream_on_read(uv_stream_t *handle, ssize_t count, const uv_buf_t *bytes) {
    struct rpc_stream *stream = handle->data;
    if (count > 0 && !stream->closing) stream->ops->data(stream->user, bytes->base, (size_t)count);
    if (count >= 0) return;
    (void)uv_read_stop(handle);
    if (count == UV_EOF || count == UV_ECONNRESET)
        stream_end(stream, NULL);
    else
        stream_fail(stream, "read from the client", uv_strerror((int)count));
}

/* One piece of a regular file in each turn. */
static void stream_read_file(struct loop_work *work) {
    struct rpc_stream *stream = CONTAINER_OF(work, struct rpc_stream, read);
    if (!stream->space) stream->space = mem_alloc(READ_SIZE);
    ssize_t count = read(stream->file_in, stream->space, READ_SIZE);
    if (count < 0) {
        stream_fail(stream, "read from the client", strerror(errno));
    } else if (count == 0) {
        stream_end(stream, NULL);
    } else {
        loop_defer(stream->loop, &stream->read);
        stream->ops->data(stream->user, stream->space, (size_t)count);
    }
}

static void stream_read(struct rpc_stream *stream) {
    if (stream->file_in >= 0)
        loop_defer(stream->loop, &stream->read);
    else
        (void)uv_read_start((uv_stream_t *)&stream->input, stream_alloc, stream_on_read);
}

void rpc_stream_start(struct rpc_stream *stream, const struct rpc_stream_ops *ops, void *user) {
    stream->ops = ops;
    stream->user = user;
    stream_read(stream);
}

void rpc_stream_pause(struct rpc_stream *stream, bool paused) {
    if (stream->paused == paused || stream->ended || stream->closing) return;
    stream->paused = paused;
    if (!paused)
        stream_read(stream);
    else if (stream->file_in >= 0)
        loop_undefer(stream->loop, &stream->read);
    else
        (void)uv_read_stop((uv_stream_t *)&stream->input);
}

/* ---- Writing ---- */

size_t rpc_stream_waiting(const struct rpc_stream *stream) { return stream->sending.length + stream->pending.length; }

static void empty_buffer(struct buffer *buffer) {
    if (buffer->capacity <= KEPT_MAX) {
        buffer_clear(buffer);
        return;
    }
    bool large = buffer->capacity >= TRIMMED_MIN;
    buffer_finish(buffer);
    buffer_init(buffer, SIZE_MAX);
    if (large) mem_trim();
}

static void stream_on_shut_down(uv_shutdown_t *shutdown, int status) { (void)shutdown, (void)status; }

/* When all is sent. A failure is not reported: the other side has closed the socket, which ends the input, too. */
static void stream_send_end(struct rpc_stream *stream) {
    if (stream->output_ends && !stream->failed && !stream->closing && rpc_stream_waiting(stream) == 0)
        (void)uv_shutdown(&stream->shutdown, stream_out(stream), stream_on_shut_down);
}

/* After some bytes were written. */
static void stream_report_drained(struct rpc_stream *stream) {
    if (!stream->full || rpc_stream_waiting(stream) >= RPC_STREAM_FULL / 2) return;
    stream->full = false;
    if (!stream->closing && !stream->failed) stream->ops->drained(stream->user);
}

static void stream_on_written(uv_write_t *write, int status) {
    struct rpc_stream *stream = CONTAINER_OF(write, struct rpc_stream, write);
    stream->writing = false;
    empty_buffer(&stream->sending);
    if (status == UV_ECANCELED) return; /* the handle is being closed */
    if (status < 0) {
        stream_fail(stream, "write to the client", uv_strerror(status));
        return;
    }
    if (stream->pending.length) loop_defer(stream->loop, &stream->flush);
    stream_report_drained(stream);
    stream_send_end(stream);
    if (stream->closing && rpc_stream_waiting(stream) == 0) stream_finish_closing(stream);
}

/* A regular file takes everything at once. */
static void flush_to_file(struct rpc_stream *stream) {
    const char *at = stream->pending.data;
    for (size_t left = stream->pending.length; left > 0;) {
        ssize_t count = write(stream->file_out, at, left);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            stream_fail(stream, "write to the client", strerror(errno));
            return;
        }
        at += count;
        left -= (size_t)count;
    }
    empty_buffer(&stream->pending);
    stream_report_drained(stream);
    if (stream->closing) stream_finish_closing(stream);
}

static void stream_flush(struct loop_work *work) {
    struct rpc_stream *stream = CONTAINER_OF(work, struct rpc_stream, flush);
    if (stream->writing || stream->failed || stream->pending.length == 0) return;
    if (stream->file_out >= 0) {
        flush_to_file(stream);
        return;
    }
    struct buffer full = stream->pending;
    stream->pending = stream->sending;
    stream->sending = full;
    stream->writing = true;
    uv_buf_t bytes = uv_buf_init(full.data, (unsigned)full.length);
    int failed = uv_write(&stream->write, stream_out(stream), &bytes, 1, stream_on_written);
    if (failed) {
        stream->writing = false;
        empty_buffer(&stream->sending);
        stream_fail(stream, "write to the client", uv_strerror(failed));
    }
}

void rpc_stream_write(struct rpc_stream *stream, const char *bytes, size_t length) {
    if (stream->failed || stream->closing || stream->output_ends) return;
    buffer_append(&stream->pending, bytes, length);
    if (rpc_stream_waiting(stream) >= RPC_STREAM_FULL) stream->full = true;
    if (!stream->writing) loop_defer(stream->loop, &stream->flush);
}

void rpc_stream_end_output(struct rpc_stream *stream) {
    if (stream->output_ends) return;
    stream->output_ends = true;
    stream_send_end(stream);
}

/* What libuv is writing is freed with the handle. */
void rpc_stream_discard(struct rpc_stream *stream) {
    stream->failed = true;
    buffer_finish(&stream->pending);
    buffer_init(&stream->pending, SIZE_MAX);
    if (stream->closing) stream_finish_closing(stream);
}

/* ---- Opening ---- */

static struct rpc_stream *stream_new(struct loop *loop) {
    struct rpc_stream *stream = mem_zalloc(sizeof *stream);
    stream->loop = loop;
    stream->file_in = stream->file_out = -1;
    stream->flags_in = stream->flags_out = -1;
    stream->flush.run = stream_flush;
    stream->read.run = stream_read_file;
    buffer_init(&stream->sending, SIZE_MAX);
    buffer_init(&stream->pending, SIZE_MAX);
    return stream;
}

/* libuv makes a descriptor non-blocking, which other processes notice that share it: a terminal, for example. */
static int open_handle(struct rpc_stream *stream, uv_pipe_t *pipe, bool *open, int *flags, int descriptor) {
    (void)uv_pipe_init(loop_uv(stream->loop), pipe, 0);
    pipe->data = stream;
    *open = true;
    if (descriptor <= STDERR_FILENO) *flags = fcntl(descriptor, F_GETFL);
    return uv_pipe_open(pipe, descriptor);
}

static void stream_free(struct rpc_stream *stream) {
    loop_timer_stop(stream->loop, &stream->give_up);
    loop_undefer(stream->loop, &stream->flush);
    loop_undefer(stream->loop, &stream->read);
    if (stream->file_in >= 0) (void)close(stream->file_in);
    if (stream->file_out >= 0 && stream->file_out != stream->file_in) (void)close(stream->file_out);
    buffer_finish(&stream->sending);
    buffer_finish(&stream->pending);
    mem_free(stream->space);
    mem_free(stream);
}

struct rpc_stream *rpc_stream_open(struct loop *loop, int input, int output, struct error *error) {
    struct rpc_stream *stream = stream_new(loop);
    int failed = 0;
    stream->shared = input == output;
    if (uv_guess_handle(input) == UV_FILE)
        stream->file_in = input;
    else
        failed = open_handle(stream, &stream->input, &stream->input_open, &stream->flags_in, input);
    if (!failed && !stream->shared) {
        if (uv_guess_handle(output) == UV_FILE)
            stream->file_out = output;
        else
            failed = open_handle(stream, &stream->output, &stream->output_open, &stream->flags_out, output);
    }
    if (!failed) return stream;
    error_set(error, TN_FAILED, "IO", "cannot use the descriptors %d and %d for messages: %s", input, output,
              uv_strerror(failed));
    if (!stream->output_open) (void)close(input); /* the failed one is not libuv's yet */
    if (!stream->shared) (void)close(output);
    rpc_stream_close(stream);
    return NULL;
}

struct rpc_stream *rpc_stream_accept(struct loop *loop, struct uv_stream_s *listener, struct error *error) {
    struct rpc_stream *stream = stream_new(loop);
    stream->shared = true;
    (void)uv_pipe_init(loop_uv(loop), &stream->input, 0);
    stream->input.data = stream;
    stream->input_open = true;
    int failed = uv_accept(listener, (uv_stream_t *)&stream->input);
    if (!failed) return stream;
    error_set(error, TN_FAILED, "IO", "cannot accept a connection: %s", uv_strerror(failed));
    rpc_stream_close(stream);
    return NULL;
}

/* ---- Closing ---- */

static void stream_on_closed(uv_handle_t *handle) {
    struct rpc_stream *stream = handle->data;
    if (--stream->handles > 0) return;
    if (stream->ops) stream->ops->closed(stream->user);
    stream_free(stream);
}

static void restore_flags(const uv_pipe_t *pipe, int flags) {
    uv_os_fd_t descriptor;
    if (flags >= 0 && uv_fileno((const uv_handle_t *)pipe, &descriptor) == 0) (void)fcntl(descriptor, F_SETFL, flags);
}

/* Without a handle, `closed` is called here. */
static void stream_close_handles(struct loop_work *work) {
    struct rpc_stream *stream = CONTAINER_OF(work, struct rpc_stream, read);
    stream->closed = true;
    restore_flags(&stream->input, stream->flags_in);
    restore_flags(&stream->output, stream->flags_out);
    stream->handles = (stream->input_open ? 1u : 0u) + (stream->output_open ? 1u : 0u);
    if (stream->handles == 0) {
        if (stream->ops) stream->ops->closed(stream->user);
        stream_free(stream);
        return;
    }
    bool output = stream->output_open;
    if (stream->input_open) uv_close((uv_handle_t *)&stream->input, stream_on_closed);
    if (output) uv_close((uv_handle_t *)&stream->output, stream_on_closed);
}

/* In a later turn, because a callback of libuv may be active. */
static void stream_finish_closing(struct rpc_stream *stream) {
    if (stream->closed) return;
    loop_timer_stop(stream->loop, &stream->give_up);
    loop_undefer(stream->loop, &stream->flush);
    stream->read.run = stream_close_handles;
    loop_defer(stream->loop, &stream->read);
}

static void stream_give_up(struct loop_timer *timer) {
    stream_finish_closing(CONTAINER_OF(timer, struct rpc_stream, give_up));
}

void rpc_stream_close(struct rpc_stream *stream) {
    if (!stream || stream->closing) return;
    stream->closing = true;
    loop_undefer(stream->loop, &stream->read);
    if (stream->input_open) (void)uv_read_stop((uv_stream_t *)&stream->input);
    if (stream->failed || rpc_stream_waiting(stream) == 0)
        stream_finish_closing(stream);
    else
        loop_timer_start(stream->loop, &stream->give_up, RPC_FLUSH_MS, stream_give_up);
}

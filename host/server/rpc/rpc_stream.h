/*
 * rpc_stream.h - bytes to and from a client: a connected socket, or two descriptors such as stdin and stdout.
 *
 *     struct rpc_stream *stream = rpc_stream_open(loop, STDIN_FILENO, STDOUT_FILENO, &error);
 *     rpc_stream_start(stream, &ops, me);
 *     rpc_stream_write(stream, text, length);           // copied; sent together with other writes of this turn
 *     rpc_stream_close(stream);                         // in the end: sends what waits, for RPC_FLUSH_MS
 *
 * What is written waits until the client reads it. The stream has no limit: its user looks at rpc_stream_waiting and
 * stops writing until `drained`. A regular file can be the input (it is read at once) or the output.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_RPC_RPC_STREAM_H
#define TENON_HOST_SERVER_RPC_RPC_STREAM_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>

struct loop;
struct rpc_stream;
struct uv_stream_s;

#define RPC_STREAM_FULL ((size_t)1 << 20) /* bytes that wait; `drained` is called when fewer than half of them do */
#define RPC_FLUSH_MS    2000              /* time for what waits, after rpc_stream_close */

struct rpc_stream_ops {
    void (*data)(void *user, const char *bytes, size_t length); /* borrowed */
    /*
     * The input has ended (`why` is NULL), or the stream has failed: nothing more can be read, and after a failure
     * nothing more can be written. Called once.
     */
    void (*ended)(void *user, const struct error *why);
    /* RPC_STREAM_FULL or more bytes waited, and fewer than half of that wait now. */
    void (*drained)(void *user);
    void (*closed)(void *user); /* after rpc_stream_close: the last callback */
};

/* Takes both descriptors, which may be the same. Returns NULL with IO, and closes them, if one cannot be used. */
struct rpc_stream *rpc_stream_open(struct loop *loop, int input, int output, struct error *error);
/* Accepts a connection of a listening libuv stream; NULL with the reason. */
struct rpc_stream *rpc_stream_accept(struct loop *loop, struct uv_stream_s *listener, struct error *error);
/* Begins to read. `ops` must outlive the stream. */
void rpc_stream_start(struct rpc_stream *stream, const struct rpc_stream_ops *ops, void *user);
/* While it is paused, nothing is read, and the client waits. */
void rpc_stream_pause(struct rpc_stream *stream, bool paused);
/* No effect after a failure. */
void rpc_stream_write(struct rpc_stream *stream, const char *bytes, size_t length);
size_t rpc_stream_waiting(const struct rpc_stream *stream);
/*
 * Of a socket: sends what waits, and then the end of the output (a half-close). The stream still reads; what is written
 * later has no effect.
 */
void rpc_stream_end_output(struct rpc_stream *stream);
/* Frees what waits, and sends nothing more. `ended` is not called: the user closes the stream. */
void rpc_stream_discard(struct rpc_stream *stream);
/* Stops reading, sends what waits for at most RPC_FLUSH_MS, and calls `closed`. Then the stream is freed. */
void rpc_stream_close(struct rpc_stream *stream);

#endif

/*
 * rpc_framing.h - where one message of JSON-RPC ends in a stream of bytes: headers with Content-Length, or lines.
 *
 *     struct rpc_reader reader;
 *     rpc_reader_init(&reader, RPC_FRAMING_DETECT, 0);
 *     rpc_reader_add(&reader, bytes, length);
 *     while ((result = rpc_reader_next(&reader, &text, &size, &error)) == RPC_READ_MESSAGE) handle(text, size);
 *     if (result == RPC_READ_FAILED) close_with(&error);          // nothing after it can be read
 *     rpc_reader_finish(&reader);
 *
 * RPC_FRAMING_HEADERS is the framing of the Language Server Protocol (section Base Protocol): `Content-Length: N`,
 * other header fields, an empty line, and N bytes. A line of the headers ends with CRLF or LF. RPC_FRAMING_LINES is one
 * message in each line, as in ACP and MCP; empty lines are skipped. RPC_FRAMING_DETECT decides by the first character
 * that is not blank: a message begins with `{` or `[`, a header with a letter.
 *
 * The reader keeps at most one message and the bytes that were added after it. A long message that is only announced
 * uses no memory before its bytes arrive, and rpc_reader_rest frees that of a long one that was read. Thread: one at a
 * time.
 */
#ifndef TENON_HOST_SERVER_RPC_RPC_FRAMING_H
#define TENON_HOST_SERVER_RPC_RPC_FRAMING_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>

#define RPC_MESSAGE_MAX (64u << 20) /* bytes of a message; a longer one ends the connection */
#define RPC_HEADERS_MAX 8192u       /* bytes of the headers of a message */

enum rpc_framing { RPC_FRAMING_DETECT, RPC_FRAMING_HEADERS, RPC_FRAMING_LINES };

enum rpc_read { RPC_READ_MORE /* bytes are missing */, RPC_READ_MESSAGE, RPC_READ_FAILED };

struct rpc_reader {
    enum rpc_framing framing;
    size_t message_max;
    struct buffer held;
    size_t at;      /* start of what was not returned yet */
    size_t scanned; /* bytes after `at` that contain no end of a line or of the headers */
    size_t body;    /* bytes of the message whose headers were read, plus one; 0: no headers were read */
    bool failed;
};

/* `message_max` 0 means RPC_MESSAGE_MAX. */
void rpc_reader_init(struct rpc_reader *reader, enum rpc_framing framing, size_t message_max);
void rpc_reader_finish(struct rpc_reader *reader);
void rpc_reader_add(struct rpc_reader *reader, const char *bytes, size_t length);
/*
 * *text and *length are the next message, valid until the next call of rpc_reader_add. RPC_READ_FAILED: INVALID_INPUT
 * or LIMIT; every later call fails, too.
 */
enum rpc_read rpc_reader_next(struct rpc_reader *reader, const char **text, size_t *length, struct error *error);
/* No more bytes are expected soon: frees the memory of a long message that was returned. */
void rpc_reader_rest(struct rpc_reader *reader);
/* Bytes of what was not returned yet. */
size_t rpc_reader_held(const struct rpc_reader *reader);
/* True if the bytes so far end inside a message. */
bool rpc_reader_is_inside(const struct rpc_reader *reader);

/* Appends a message in a framing; for RPC_FRAMING_DETECT, as RPC_FRAMING_HEADERS. `text` contains no line end. */
void rpc_frame(struct buffer *out, enum rpc_framing framing, const char *text, size_t length);

#endif

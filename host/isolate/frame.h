/*
 * frame.h - JSON-RPC messages over a byte stream: "Content-Length: N", an empty line, N bytes of JSON.
 *
 * The framing of the Language Server Protocol, base protocol. Reading is incremental: bytes come as they come, messages
 * go out whole. A stream that breaks the rules is broken for good: what follows cannot be trusted.
 *
 *     frame_feed(&reader, bytes, got);
 *     while ((status = frame_next(&reader, &message, &error)) == TN_OK && message) {
 *         handle(message);
 *         value_unref(message);
 *     }
 *     frame_write(&out, message);
 */
#ifndef TENON_HOST_FRAME_H
#define TENON_HOST_FRAME_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"

#define FRAME_HEADER_MAX  1024u       /* bytes of a header, its empty line included */
#define FRAME_MESSAGE_MAX (64u << 20) /* bytes of a message's JSON */

struct frame_reader {
    struct buffer bytes; /* [start, length) is not read yet */
    size_t start;
    bool broken;
};

void frame_reader_init(struct frame_reader *reader);
void frame_reader_finish(struct frame_reader *reader);
void frame_feed(struct frame_reader *reader, const void *bytes, size_t length);
/*
 * The next whole message: a new reference, or NULL where more bytes are needed. TN_INVALID (code PROTOCOL): the stream
 * is broken; the message says what was found, with its first bytes.
 */
int32_t frame_next(struct frame_reader *reader, tn_value *message, struct error *error);
/* Bytes that have been fed and not been read. */
size_t frame_unread(const struct frame_reader *reader);
/* Appends one message. False: it is longer than FRAME_MESSAGE_MAX, and nothing was; an `out` that overflows says so. */
bool frame_write(struct buffer *out, tn_value message);
/* The first *sent bytes of `out` have left: forgets them, at once or when it is worth it; *sent is what is kept. */
void frame_sent(struct buffer *out, size_t *sent);

#endif

/*
 * frame.h - JSON-RPC messages over a byte stream: "Content-Length: N", an empty line, N bytes of JSON.
 *
 * This is the framing of the Language Server Protocol (base protocol). Reading is incremental: feed any number of
 * bytes, get complete messages. After invalid input the stream stays broken, because the start of the next message is
 * unknown.
 *
 *     frame_feed(&reader, bytes, got);
 *     while ((status = frame_next(&reader, &message, &error)) == TN_OK && message) {
 *         handle(message);
 *         value_unref(message);
 *     }
 *     frame_write(&out, message);
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_FRAME_H
#define TENON_HOST_PLUGIN_ISOLATE_FRAME_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"

#define FRAME_HEADER_MAX  1024u       /* bytes of a header, including its empty line */
#define FRAME_MESSAGE_MAX (64u << 20) /* bytes of a message's JSON */

struct frame_reader {
    struct buffer bytes; /* [start, length) is unread */
    size_t start;
    bool broken;
};

void frame_reader_init(struct frame_reader *reader);
void frame_reader_finish(struct frame_reader *reader);
void frame_feed(struct frame_reader *reader, const void *bytes, size_t length);
/*
 * Sets `message` to the next complete message, a new reference, or to NULL if more bytes are needed. TN_INVALID (code
 * PROTOCOL): the stream is broken; the error quotes the first invalid bytes.
 */
int32_t frame_next(struct frame_reader *reader, tn_value *message, struct error *error);
/* The number of bytes that were fed and not yet returned in a message. */
size_t frame_unread(const struct frame_reader *reader);
/*
 * Appends one message. Returns false if the message is longer than FRAME_MESSAGE_MAX; then `out` is unchanged. If `out`
 * overflows, out->overflow is set.
 */
bool frame_write(struct buffer *out, tn_value message);
/*
 * The first *sent bytes of `out` were sent. Removes them now or later, and sets *sent to the number of sent bytes that
 * are still in the buffer.
 */
void frame_discard_sent(struct buffer *out, size_t *sent);

#endif

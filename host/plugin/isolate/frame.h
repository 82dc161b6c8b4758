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
#include "adl/value/json.h"
#include "adl/value/value.h"

#define FRAME_HEADER_MAX  1024u       /* bytes of a header, including its empty line */
#define FRAME_MESSAGE_MAX (64u << 20) /* bytes of a message's JSON */
/* Nesting of a message: of a value that a reader of JSON accepts, and of the message around it. */
#define FRAME_DEPTH_MAX (JSON_DEPTH_MAX + 8)

/* Why a message was not written. */
enum frame_fit { FRAME_FITS, FRAME_TOO_LONG, FRAME_TOO_DEEP };

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
 *
 * A message that is nested deeper than FRAME_DEPTH_MAX does not break the stream: arrays and objects below that depth
 * are replaced by null, and frame_is_pruned returns true, so that only what the message is about needs to fail. A
 * message with more than JSON_VALUES_MAX values breaks it.
 */
int32_t frame_next(struct frame_reader *reader, tn_value *message, struct error *error);
bool frame_is_pruned(tn_value message);
/* The number of bytes that were fed and not yet returned in a message. */
size_t frame_unread(const struct frame_reader *reader);
/*
 * Appends one message, unless it is longer than FRAME_MESSAGE_MAX or nested deeper than FRAME_DEPTH_MAX; then `out` is
 * unchanged. If `out` overflows, out->overflow is set.
 */
enum frame_fit frame_write(struct buffer *out, tn_value message);
/* What a message that was not written is, for "… that can be sent": "longer than the 64 MiB". Static text. */
const char *frame_fit_text(enum frame_fit fit);
/*
 * The first *sent bytes of `out` were sent. Removes them now or later, and sets *sent to the number of sent bytes that
 * are still in the buffer.
 */
void frame_discard_sent(struct buffer *out, size_t *sent);

#endif

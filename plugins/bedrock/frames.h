/*
 * frames.h - splits a stream of type application/vnd.amazon.eventstream into its messages.
 *
 *     frames_add(&frames, bytes, length);                       // any pieces
 *     while ((found = frames_next(&frames, &message)) == FRAMES_FOUND) use(&message);
 *     if (found == FRAMES_BROKEN) fail(frames.problem);
 *
 * A message is  total length, length of the headers, CRC of these 8 bytes, headers, payload, CRC of all before it;
 * numbers are big-endian. Both CRCs are checked. Thread: any.
 */
#ifndef TENON_PLUGINS_BEDROCK_FRAMES_H
#define TENON_PLUGINS_BEDROCK_FRAMES_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/util/text.h>

#define FRAMES_MESSAGE_MAX (UINT32_C(24) << 20) /* bytes of a message, as in Amazon's own libraries */
#define FRAMES_HEADERS_MAX (UINT32_C(128) << 10)
#define FRAMES_NAME_MAX    64 /* bytes of a header's value that are kept */

enum frames_found { FRAMES_FOUND, FRAMES_MORE, FRAMES_BROKEN };

struct frames {
    struct tn_text_buffer bytes;
    uint64_t at;         /* where the next message starts in `bytes` */
    bool broken;         /* the stream cannot be read further */
    const char *problem; /* with FRAMES_BROKEN; static */
};

/* The payload is borrowed until the next call with the same frames. Texts are "" if their header is missing. */
struct frames_message {
    char type[FRAMES_NAME_MAX]; /* :message-type: "event", "exception" or "error" */
    char name[FRAMES_NAME_MAX]; /* :event-type, :exception-type or :error-code */
    const char *payload;
    uint64_t length;
};

/* Copies the bytes. False if memory runs out. */
bool frames_add(struct frames *frames, const void *bytes, uint64_t length);
enum frames_found frames_next(struct frames *frames, struct frames_message *out);
void frames_free(struct frames *frames);

#endif

/*
 * sse.h - a parser of server-sent events, as the WHATWG HTML specification defines it (9.2.6).
 *
 * The input may be split anywhere. Events are returned one at a time, so that the caller can stop after any of them.
 * Only the incomplete line and event are stored, each at most SSE_MAX bytes. An incomplete event at the end of the
 * stream is discarded. Bytes that are not UTF-8 are passed on; the caller replaces them.
 *
 *     struct sse sse = SSE_INIT;
 *     const char *at = chunk, *end = chunk + length;
 *     while (sse_next(&sse, &at, end) == PARSE_FOUND) take(sse.event, sse.data, sse.id);
 *     sse_finish(&sse);
 */
#ifndef TENON_PLUGINS_HTTP_SSE_H
#define TENON_PLUGINS_HTTP_SSE_H

#include <stdint.h>
#include <tenon/util/text.h>

#define SSE_MAX   33554432 /* bytes of a line, and of an event's data, which may be an image */
#define SSE_KEEP  4096     /* bytes of memory that each buffer keeps between events */
#define RETRY_MAX 86400000 /* ms; the limit for `retry` */

enum parse {
    PARSE_MORE,  /* all input was read; no event is complete */
    PARSE_FOUND, /* found one; *at is behind it */
    PARSE_LIMIT, /* too long; the rest of the stream cannot be parsed */
    PARSE_MEMORY,
};

struct sse {
    struct tn_text_buffer event; /* event type; empty: "message" */
    struct tn_text_buffer data;  /* lines joined by LF */
    struct tn_text_buffer id;    /* the last id, of this or an earlier event; empty: none yet */
    int64_t retry;               /* ms; -1: no `retry` since the last event */
    /* Private. */
    struct tn_text_buffer line;
    bool begun, has_data, found, after_cr;
};
#define SSE_INIT                                                                                                       \
    { TN_TEXT_BUFFER(0), TN_TEXT_BUFFER(0), TN_TEXT_BUFFER(0), -1, TN_TEXT_BUFFER(0), false, false, false, false }

/* Reads from *at until an event is complete or all input is read. The event is valid until the next call. */
enum parse sse_next(struct sse *sse, const char **at, const char *end);
void sse_finish(struct sse *sse);

#endif

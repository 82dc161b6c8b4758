/*
 * sse.h - server-sent events, as the WHATWG HTML specification parses an event stream (9.2.6).
 *
 * Bytes go in as they come, cut anywhere; events come out one at a time, so that who takes them may stop after any.
 * Nothing is kept but the line and the event that have begun: neither grows beyond SSE_MAX. What the stream ends in the
 * middle of is no event. Bytes that are not UTF-8 are passed on: utf8.h replaces them, as the specification says.
 *
 *     struct sse sse = SSE_INIT;
 *     const char *at = chunk, *end = chunk + length;
 *     while (sse_next(&sse, &at, end) == PARSE_FOUND) take(sse.event, sse.data, sse.id);
 *     sse_finish(&sse);
 */
#ifndef TENON_PLUGINS_HTTP_SSE_H
#define TENON_PLUGINS_HTTP_SSE_H

#include "bytes.h"
#include <stdint.h>

#define SSE_MAX   33554432 /* bytes of a line, and of an event's data: an image may be one */
#define SSE_KEEP  4096     /* bytes of memory kept from one event to the next, of each part */
#define RETRY_MAX 86400000 /* ms; a longer `retry` is this */

enum parse {
    PARSE_MORE,  /* everything was taken; nothing is whole */
    PARSE_FOUND, /* one is; *at is behind it */
    PARSE_LIMIT, /* too long; the stream cannot be gone on with */
    PARSE_MEMORY,
};

struct sse {
    struct bytes event; /* its type; empty: "message" */
    struct bytes data;  /* lines joined by LF */
    struct bytes id;    /* the last that was given, of this event or an earlier one; empty: none */
    int64_t retry;      /* ms; -1 where none was given since the last event */
    /* Its own. */
    struct bytes line;
    bool begun, has_data, found, after_cr;
};
#define SSE_INIT                                                                                                       \
    { BYTES_INIT, BYTES_INIT, BYTES_INIT, -1, BYTES_INIT, false, false, false, false }

/* Takes bytes from *at until an event is whole, or all are taken. The event is there until the next call. */
enum parse sse_next(struct sse *sse, const char **at, const char *end);
void sse_finish(struct sse *sse);

#endif

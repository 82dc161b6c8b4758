/*
 * sse.h - a text/event-stream taken apart: data, ids and the time to reconnect after, from bytes in any pieces.
 *
 * As the HTML standard says it: lines end with \r\n, \n or \r; a byte order mark at the very beginning is left out; an
 * event without data is none, though its id counts. Streams are resumed by the last id, which tenon.http's "events" do
 * not tell of events without data, nor `retry`: so bytes are parsed here.
 *
 *     struct sse sse;
 *     sse_init(&sse, MCP_MESSAGE_MAX);
 *     if (!sse_feed(&sse, bytes, length, on_event, user)) return;   // stopped: sse may be gone
 *     sse_finish(&sse);
 */
#ifndef MCP_SSE_H
#define MCP_SSE_H

#include "buffer.h"

#define SSE_ID_MAX 1024 /* bytes of an id; a longer one is left out, as one with a NUL is */

struct sse {
    struct buffer line, data;
    char id[SSE_ID_MAX + 1]; /* the last one; "" before there is any */
    int64_t retry_ms;        /* -1 where nothing was said */
    bool skipping, overflow; /* a line, or an event's data, that is too long */
    bool after_cr, begun, has_data, other_event;
};

/* `data` is NULL for an event that was too long. False: stop. */
typedef bool (*sse_event)(void *user, const char *data, uint64_t length);

void sse_init(struct sse *sse, uint64_t limit);
void sse_finish(struct sse *sse);
/* Events of a type other than "message" are left out. False: it was stopped, and `sse` was not touched any more. */
bool sse_feed(struct sse *sse, const char *bytes, uint64_t length, sse_event event, void *user);

#endif

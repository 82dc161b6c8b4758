/*
 * stream.h - a response as server-sent events, which a client of a session can take up again.
 *
 * Each event has the id STREAM-NUMBER. A stream keeps its last events, so that a client whose connection was lost reads
 * the rest with GET and Last-Event-ID. In 2026-07-28 events have no ids, and nothing is kept.
 *
 *     struct stream *stream = stream_new(plugin, session, http);
 *     if (stream_send(stream, notification) == TN_SERVER_FULL) pause();
 *     stream_finish(stream);
 */
#ifndef MCPS_STREAM_H
#define MCPS_STREAM_H

#include "plugin.h"

struct session;

struct stream_event {
    struct stream_event *next;
    uint64_t number, size;
    tn_value json;
};

struct stream {
    struct stream *next; /* of the session */
    struct plugin *plugin;
    uint64_t id, http; /* http: whose response it is; 0: the client is away */
    uint64_t last;     /* the number of the last event */
    struct stream_event *first_kept, **last_kept;
    uint64_t kept, kept_bytes;
    bool resumable, finished;
};

/* Begins the response. `session` NULL: not resumable. NULL if memory runs out. */
struct stream *stream_new(struct plugin *plugin, struct session *session, uint64_t http);
/* Sends a message, or keeps it if the client is away. TN_OK, TN_SERVER_FULL, or another status: the client is gone. */
int32_t stream_send(struct stream *stream, tn_value json);
/* The same for messages that no run waits for: a client that does not read them loses its connection. */
void stream_send_or_abort(struct stream *stream, tn_value json);
/* The last message was sent. A stream of a session stays, for a client that comes back. Others are freed. */
void stream_finish(struct stream *stream);
/* Closes the connection, but not the stream: the client comes back after MCPS_RETRY_MS. */
void stream_disconnect(struct stream *stream);
/* Continues the stream as the response of another request, with the events after `number`. */
void stream_take_up(struct stream *stream, uint64_t http, uint64_t number);
/* Reads an event id. False if it is not one. */
bool stream_read_id(const char *text, uint64_t *stream, uint64_t *number);
void stream_free(struct stream *stream);

#endif

/*
 * stream.c - responses as server-sent events.
 */
#include "stream.h"
#include "session.h"
#include <inttypes.h>
#include <stdlib.h>

static void event_id(const struct stream *stream, uint64_t number, char out[48]) {
    (void)snprintf(out, 48, "%" PRIu64 "-%" PRIu64, stream->id, number);
}

bool stream_read_id(const char *text, uint64_t *stream, uint64_t *number) {
    char *end = NULL;
    if (text == NULL || *text < '0' || *text > '9' || strlen(text) > 44) return false;
    *stream = strtoull(text, &end, 10);
    if (*end != '-' || end[1] < '0' || end[1] > '9') return false;
    *number = strtoull(end + 1, &end, 10);
    return *end == '\0';
}

static int32_t write_event(const struct stream *stream, uint64_t number, tn_value json, int64_t retry_ms) {
    char id[48];
    event_id(stream, number, id);
    tn_value retry = retry_ms > 0 ? tn_int(retry_ms) : NULL;
    tn_value text = json == NULL ? tn_text("") : NULL;
    tn_value event = tn_build("{s:v, s:s*, s:V*}", "data", json != NULL ? json : text, "id",
                              stream->resumable ? id : NULL, "retry", retry);
    int32_t status = event != NULL ? stream->plugin->serving.server->event(tn.host, stream->http, event) : TN_NO_MEMORY;
    tn_release(text);
    tn_release(event);
    return status;
}

static void begin_response(const struct stream *stream, const struct session *session) {
    tn_value response = tn_build("{s:i, s:s, s:{s:s, s:s*}}", "status", 200, "stream", "events", "headers",
                                 "x-accel-buffering", "no", "mcp-session-id", session != NULL ? session->id : NULL);
    (void)stream->plugin->serving.server->respond(tn.host, stream->http, response);
    tn_release(response);
}

struct stream *stream_new(struct plugin *plugin, struct session *session, uint64_t http) {
    struct stream *stream = serving_alloc(sizeof *stream);
    if (stream == NULL) return NULL;
    *stream = (struct stream){.plugin = plugin, .http = http, .resumable = session != NULL};
    stream->last_kept = &stream->first_kept;
    if (session != NULL) session_add_stream(session, stream);
    begin_response(stream, session);
    /* The first event has no message: from it on, the client knows where to continue. */
    if (session != NULL && strcmp(session->version, MCPS_LEGACY) >= 0)
        (void)write_event(stream, 0, NULL, MCPS_RETRY_MS);
    return stream;
}

static void forget_first(struct stream *stream) {
    struct stream_event *event = stream->first_kept;
    stream->first_kept = event->next;
    if (stream->first_kept == NULL) stream->last_kept = &stream->first_kept;
    stream->kept--;
    stream->kept_bytes -= event->size;
    stream->plugin->kept_bytes -= event->size;
    tn_release(event->json);
    serving_free(event);
}

static void keep_event(struct stream *stream, tn_value json) {
    struct stream_event *event = serving_alloc(sizeof *event);
    tn_value text = tn_to_json(json);
    uint64_t size = 0;
    (void)tn_chars(text, &size);
    tn_release(text);
    if (event == NULL) return;
    *event = (struct stream_event){.number = stream->last, .size = size, .json = tn_retain(json)};
    *stream->last_kept = event;
    stream->last_kept = &event->next;
    stream->kept++;
    stream->kept_bytes += size;
    stream->plugin->kept_bytes += size;
    while (stream->kept > 1 && (stream->kept > MCPS_EVENTS_MAX || stream->kept_bytes > MCPS_EVENTS_BYTES))
        forget_first(stream);
    while (stream->kept > 0 && stream->plugin->kept_bytes > MCPS_KEPT_BYTES) forget_first(stream);
}

int32_t stream_send(struct stream *stream, tn_value json) {
    stream->last++;
    if (stream->resumable) keep_event(stream, json);
    if (stream->http == 0) return TN_OK;
    return write_event(stream, stream->last, json, 0); /* if the client has gone, CLOSED follows */
}

void stream_finish(struct stream *stream) {
    stream->finished = true;
    if (stream->http != 0) (void)stream->plugin->serving.server->finish(tn.host, stream->http);
    stream->http = 0;
    if (!stream->resumable) stream_free(stream);
}

void stream_send_or_abort(struct stream *stream, tn_value json) {
    if (stream_send(stream, json) == TN_SERVER_FULL && stream->http != 0)
        (void)stream->plugin->serving.server->abort(tn.host, stream->http);
}

void stream_disconnect(struct stream *stream) {
    if (!stream->resumable || stream->http == 0) return;
    (void)stream->plugin->serving.server->finish(tn.host, stream->http);
    stream->http = 0;
}

void stream_take_up(struct stream *stream, uint64_t http, uint64_t number) {
    if (stream->http != 0) (void)stream->plugin->serving.server->finish(tn.host, stream->http);
    stream->http = http;
    begin_response(stream, NULL);
    for (const struct stream_event *event = stream->first_kept; event != NULL; event = event->next)
        if (event->number > number) (void)write_event(stream, event->number, event->json, 0);
    if (!stream->finished) return;
    (void)stream->plugin->serving.server->finish(tn.host, http);
    stream->http = 0;
}

void stream_free(struct stream *stream) {
    while (stream->first_kept != NULL) forget_first(stream);
    serving_free(stream);
}

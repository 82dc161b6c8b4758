/*
 * serving_stream.c - the events of a run for one client, which may read them slowly.
 */
#include "serving.h"

bool serving_stream_begin(struct serving_stream *stream) {
    tn_value response = tn_build("{s:i, s:s}", "status", 200, "stream", "events");
    stream->begun = response != NULL && stream->serving->server->respond(tn.host, stream->number, response) == TN_OK;
    tn_release(response);
    return stream->begun;
}

static void send_now(struct serving_stream *stream, tn_value data) {
    tn_value event = tn_build("{s:v}", "data", data);
    if (event != NULL && stream->serving->server->event(tn.host, stream->number, event) == TN_SERVER_FULL)
        stream->full = true;
    tn_release(event);
}

void serving_stream_send(struct serving_stream *stream, tn_value data, struct serving_run *run) {
    if (!stream->full && tn.value->count(stream->waiting) == 0)
        send_now(stream, data);
    else
        (void)tn_append_take(&stream->waiting, tn_retain(data));
    if (stream->full && run != NULL) serving_run_pause(run);
}

/* Sends what waits; after the end, finishes the response when all was sent. */
static void send_waiting(struct serving_stream *stream) {
    while (!stream->full && tn.value->count(stream->waiting) > 0) {
        send_now(stream, tn.value->at(stream->waiting, 0));
        if (tn.value->splice(&stream->waiting, 0, 1, NULL) != TN_OK) break;
    }
    if (!stream->full && stream->ended) (void)stream->serving->server->finish(tn.host, stream->number);
}

void serving_stream_room(struct serving_stream *stream, struct serving_run *run) {
    stream->full = false;
    if (!stream->ended && run != NULL) serving_run_flow(run);
    send_waiting(stream);
}

void serving_stream_end(struct serving_stream *stream) {
    stream->ended = true;
    send_waiting(stream);
}

void serving_stream_close(struct serving_stream *stream) {
    tn_release(stream->waiting);
    stream->waiting = NULL;
}

/*
 * http_recording.h - exchanges as files, and responses from these files: `--record DIR` and `--replay DIR`.
 *
 * Each exchange is one JSON file, which people can read, edit and keep with samples or tests. It contains the request
 * without secrets, and the events that the plugin received, up to END, FAILED or the cancellation. A name starts with a
 * number, in the order of the requests; in a folder that has recordings, the numbers continue.
 *
 *     {"format": "tenon-http/1", "plugin": "tenon.openai",
 *      "request": {"method": "POST", "url": "https://…", "headers": {…}, "json": {…}, "receive": "events"},
 *      "response": {"status": 200, "headers": {…}, "attempt": 1, "data": [{"event": "message", "data": "…"}, …],
 *                   "end": {"attempts": 1, "ms": 240}}}
 *
 * Bytes are a string if they are UTF-8, otherwise {"$bytes": base64}. Instead of "end", a recording can have "failed"
 * with an error, or "cancelled": true.
 *
 * A replay finds a response by method, URL, body and `receive`. Equal requests get the responses in the order of the
 * recordings; a request after the last one fails with NOT_RECORDED. The idempotency key in `_meta` of an MCP request is
 * not compared, because each call has another one.
 *
 *     replayer_open("recordings", &replayer, &error);
 *     replayer_find(replayer, http_request_redacted(&request), &playback, &error);
 *     while ((event = playback_next(playback, &value))) deliver(event, value);
 *
 * Thread: the loop's, for all functions.
 */
#ifndef TENON_HOST_NET_HTTP_RECORDING_H
#define TENON_HOST_NET_HTTP_RECORDING_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stddef.h>

struct playback;
struct recorder;
struct recording;
struct replayer;
struct secrets;

#define RECORD_FILE_MAX  (256u << 20) /* bytes of a file */
#define RECORD_FILES_MAX 100000u      /* number of recordings in a folder */

/* ---- Recording ---- */

/* Creates the folder if it does not exist. Fails with IO. */
int32_t recorder_open(const char *folder, struct recorder **out, struct error *error);
void recorder_free(struct recorder *recorder); /* NULL is allowed */
/* Starts a recording; takes the redacted request (http_request_redacted). NULL, with a warning, if the folder is full.
 */
struct recording *recording_new_take(struct recorder *recorder, const char *plugin, tn_value request);
/* Adds an event. `recording` may be NULL, here and below. */
void recording_event(struct recording *recording, int32_t event, tn_value value);
/* Writes the file, without secrets, and frees the recording. Without END or FAILED it is recorded as cancelled. A
 * failure is logged as a warning. */
void recording_finish(struct recording *recording, struct secrets *secrets);

/* ---- Replaying ---- */

/* Reads all recordings of the folder. Fails with NOT_FOUND, LIMIT, or INVALID_INPUT with the name of the file. */
int32_t replayer_open(const char *folder, struct replayer **out, struct error *error);
void replayer_free(struct replayer *replayer); /* NULL is allowed */
/* Fails with NOT_RECORDED; the message shows the difference from the nearest recording. */
int32_t replayer_find(struct replayer *replayer, tn_value request, struct playback **out, struct error *error);
/* Returns the next event (TN_HTTP_…) with its value, a new reference; 0 if there are no more. */
int32_t playback_next(struct playback *playback, tn_value *value);
void playback_free(struct playback *playback); /* NULL is allowed */

#endif

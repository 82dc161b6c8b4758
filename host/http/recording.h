/*
 * recording.h - exchanges kept as files, and answers given from them: `--record DIR` and `--replay DIR`.
 *
 * One exchange is one file, JSON to be read by people, changed, and kept with the samples or tests that need it. It has
 * the request without secrets, and what the plugin was given, piece by piece as it was given, to the end or the failure
 * or to where the plugin cancelled it. Names begin with a number in the order in which the requests were made, and go
 * on where a folder has recordings.
 *
 *     {"format": "tenon-http/1", "plugin": "tenon.openai",
 *      "request": {"method": "POST", "url": "https://…", "headers": {…}, "json": {…}, "receive": "events"},
 *      "response": {"status": 200, "headers": {…}, "attempt": 1, "data": [{"event": "message", "data": "…"}, …],
 *                   "end": {"attempts": 1, "ms": 240}}}
 *
 * Bytes are a string where they are UTF-8, else {"$bytes": base64}. "failed" with an error stands in the place of
 * "end", or "cancelled": true.
 *
 * A replay finds an answer by method, URL, body and `receive`; of several to equal requests the first request gets the
 * first, and so on, and one more than there are is NOT_RECORDED. Everything is [loop].
 */
#ifndef TENON_HOST_HTTP_RECORDING_H
#define TENON_HOST_HTTP_RECORDING_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stddef.h>

struct playback;
struct recorder;
struct recording;
struct replayer;
struct secrets;

#define RECORD_FILE_MAX  (256u << 20) /* bytes of a file */
#define RECORD_FILES_MAX 100000u      /* in a folder */

/* ---- Recording ---- */

/* Makes the folder where it is not there. IO. */
int32_t recorder_open(const char *folder, struct recorder **out, struct error *error);
void recorder_free(struct recorder *record); /* NULL is allowed */
/* Takes the redacted request (http_request_redacted). */
struct recording *recording_new_take(struct recorder *record, const char *plugin, tn_value request);
/* NULL is allowed, here and below. */
void recording_event(struct recording *recording, int32_t event, tn_value value);
/* Writes it, without secrets; without an end it is one that was cancelled. Frees it. What fails is a warning. */
void recording_finish(struct recording *recording, struct secrets *secrets);

/* ---- Replaying ---- */

/* Reads all of them. NOT_FOUND, INVALID_INPUT (names the file). */
int32_t replayer_open(const char *folder, struct replayer **out, struct error *error);
void replayer_free(struct replayer *replay); /* NULL is allowed */
/* NOT_RECORDED, with what differs from the nearest one. */
int32_t replayer_find(struct replayer *replay, tn_value request, struct playback **out, struct error *error);
/* The next event (TN_HTTP_…) with its value, a new reference; 0: nothing comes any more. */
int32_t playback_next(struct playback *playback, tn_value *value);
void playback_free(struct playback *playback); /* NULL is allowed */

#endif

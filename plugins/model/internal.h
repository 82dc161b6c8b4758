/*
 * internal.h - declarations that the files of this library share. Providers do not include it.
 */
#ifndef TENON_PLUGINS_MODEL_INTERNAL_H
#define TENON_PLUGINS_MODEL_INTERNAL_H

#include "model.h"
#include <tenon/util/build.h>
#include <tenon/util/text.h>
#include <tenon/util/wav.h>

void *model_memory_alloc(uint64_t size); /* zeroed; NULL if allocation fails */
void model_memory_free(void *memory);

/* Between enter and leave the call is not freed, even if its task ends. */
void model_call_enter(struct model_call *call);
void model_call_leave(struct model_call *call);
/* Marks the call as ended, cancels its exchange and timer, and removes it from the instance. It is freed when `busy` is
 * 0. */
void model_call_end(struct model_call *call);

/* answer.c */
/* Emits the queued deltas. Returns true if the queue is empty. */
bool model_answer_flush(struct model_call *call);
/* The stream ended successfully: emits `done`, and completes the task as soon as all deltas are emitted. */
void model_answer_end(struct model_call *call);

/* content.c */
tn_value model_bytes_to_base64(const void *bytes, uint64_t length); /* a new reference; NULL: too long, or no memory */
const char *model_detect_media_type(const unsigned char *bytes, uint64_t length); /* NULL: unknown */

/* audio.c: Returns a WAV file with these samples as base64, a new reference, or NULL. */
tn_value model_pcm_to_wav(const void *samples, uint64_t length, const struct tn_pcm *pcm);

/* names.c */
bool model_names_init(struct model_call *call);

/* model.c: Sends a request of tenon/http.h. Takes it; NULL fails the call. */
void model_send_message_take(struct model_call *call, tn_value message);

/* authorize.c */
/* Sends the request when there is a token. Takes it. */
void model_authorize_take(struct model_call *call, tn_value request);
/* The service refused the token: sends the request again with another. Returns false if it was sent again already. */
bool model_authorize_again(struct model_call *call);
void model_authorize_cancel(struct model_call *call);
void model_authorize_release(struct model_call *call);

/* failure.c */
void model_fail_http_status(struct model_call *call, tn_value end);
void model_fail_exchange(struct model_call *call, tn_value error);
/* The data of an event is not JSON: quotes it. */
void model_fail_event(struct model_call *call, const char *data, uint64_t length);
/* The response is successful, but its body is neither JSON nor a stream of events: quotes it. */
void model_fail_unexpected_body(struct model_call *call, tn_value end, const char *advice);

#endif

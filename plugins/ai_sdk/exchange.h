/*
 * exchange.h - a request from its arrival until its answer: the calls that it needs, one after the other.
 *
 *     POST      graph/list ─▶ run/list ─▶ thread/get ─▶ thread/state ─▶ plan ─▶ leg_start
 *               a run is active ─▶ run/cancel ─▶ run/wait ─▶ thread/get …
 *     GET       run/list ─▶ the leg of the run, or leg_follow
 *               no run is active ─▶ thread/get ─▶ 204, unless its process has ended before it:
 *                                   graph/list ─▶ thread/state ─▶ run/resume
 *     DELETE    run/list ─▶ run/cancel
 *     messages  thread/state
 *
 * An exchange ends with its answer, or when the client has gone: calls that are open are cancelled then. Once a run has
 * started, the leg owns the request. [loop]
 */
#ifndef AI_SDK_EXCHANGE_H
#define AI_SDK_EXCHANGE_H

#include "leg.h"

#define EXCHANGES_MAX 1024 /* requests whose run has not started yet; further ones get 503 */

struct exchanges;

struct exchanges *exchanges_new(const struct serving *serving, struct legs *legs);
void exchanges_free(struct exchanges *exchanges); /* NULL is allowed */

/* TN_SERVER_REQUEST of the routes. */
void exchange_post(struct exchanges *exchanges, uint64_t request, tn_value value);
void exchange_resume(struct exchanges *exchanges, uint64_t request, tn_value value);
void exchange_history(struct exchanges *exchanges, uint64_t request, tn_value value);
void exchange_cancel(struct exchanges *exchanges, uint64_t request, tn_value value);
/* The client has gone. */
void exchanges_on_closed(struct exchanges *exchanges, uint64_t request);

/* Answers with a text, which the client shows to the person. */
void answer_text(const struct serving *serving, uint64_t request, int32_t status, const char *text);

#endif

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
 * The steps end with the answer, or when the client has gone: calls that are open are cancelled then. Once a run has
 * started, its leg answers the request. [loop]
 */
#ifndef AI_SDK_EXCHANGE_H
#define AI_SDK_EXCHANGE_H

#include "leg.h"

#define EXCHANGES_MAX 1024 /* requests whose run has not started yet; further ones get 503 */

struct ai_sdk {
    struct serving serving;
    struct legs *legs;
    struct serving_exchanges exchanges;
    uint64_t starting; /* requests whose run has not started yet */
};

extern const struct serving_protocol ai_sdk_protocol; /* of a struct ai_sdk */

#endif

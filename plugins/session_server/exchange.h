/*
 * exchange.h - a request from its arrival until its answer.
 *
 *     graph/list ─▶ thread/get ─▶ thread/state ─▶ it waits, and the session has the answers ─▶ run/resume
 *                              │             ─▶ otherwise                                 ─▶ thread/delete ─▶ run/start
 *                              └▶ it does not exist                                       ─▶ run/start
 *
 * A client sends the whole session each time, so a thread is needed only while a run waits. [loop]
 */
#ifndef SESSION_SERVER_EXCHANGE_H
#define SESSION_SERVER_EXCHANGE_H

#include "session.h"

#define EXCHANGES_MAX 4096 /* open requests; further ones get 503 */

struct session_server {
    struct serving serving;
    struct serving_exchanges exchanges;
};

extern const struct serving_protocol session_protocol; /* of a struct session_server */

#endif

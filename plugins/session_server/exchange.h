/*
 * exchange.h - a request from its arrival until its answer.
 *
 *     graph/list ─▶ thread/get ─▶ it waits, and the session has the answers ─▶ thread/state ─▶ run/resume
 *                              ─▶ it exists                                 ─▶ thread/delete ─▶ run/start
 *                              ─▶ it does not exist                         ─▶ run/start
 *
 * A client sends the whole session each time, so a thread is needed only while a run waits. [loop]
 */
#ifndef SESSION_SERVER_EXCHANGE_H
#define SESSION_SERVER_EXCHANGE_H

#include "session.h"

#define EXCHANGES_MAX 4096 /* open requests; further ones get 503 */

struct exchange;

struct exchanges {
    struct serving serving;
    struct exchange *first;
    uint64_t count;
};

void exchange_begin(struct exchanges *all, uint64_t request, tn_value value);
void exchange_on_room(struct exchanges *all, uint64_t request);
void exchange_on_closed(struct exchanges *all, uint64_t request, const char *reason);
void exchanges_finish(struct exchanges *all);
/* AgentResponseData with the error. `session` may be NULL. */
void exchange_refuse(const struct serving *serving, uint64_t request, int32_t status, tn_value session,
                     const char *message);

#endif

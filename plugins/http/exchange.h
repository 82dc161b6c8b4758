/*
 * exchange.h - a request from its being sent to its END or FAILED: attempts, redirects, waiting, what is given on.
 *
 * An exchange waits for its place, is on the wire, waits to try again, or is over and still being given on: to who has
 * paused, nothing is given until it resumes. Handlers are called from exchanges_settle and from posted calls alone.
 *
 *     int32_t status = exchange_send(request, handler, user, &number);
 *     exchange_pause(number); exchange_resume(number); exchange_cancel(number);    // TN_STALE where it is over
 */
#ifndef TENON_PLUGINS_HTTP_EXCHANGE_H
#define TENON_PLUGINS_HTTP_EXCHANGE_H

#include "base.h"

#define EXCHANGES_MAX 65536 /* at once, those that wait among them; beyond: TN_LIMIT */

int32_t exchange_send(tn_value request, tn_http_handler handler, void *user, uint64_t *number);
int32_t exchange_pause(uint64_t number);
int32_t exchange_resume(uint64_t number);
int32_t exchange_cancel(uint64_t number);
void exchanges_settle(void); /* what libcurl has ended, and what has something to give */
void exchanges_close(void);  /* all are cancelled */

#endif

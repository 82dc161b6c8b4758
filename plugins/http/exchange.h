/*
 * exchange.h - a request from its start to its END or FAILED: attempts, waiting, and delivery to the handler.
 *
 * An exchange waits in the queue, is being transferred, waits for the next attempt, or has ended and still delivers
 * data. While the handler has paused it, nothing is delivered. Handlers are called only from exchanges_advance.
 *
 *     int32_t status = exchange_send(request, handler, user, &handle);
 *     exchange_pause(handle); exchange_resume(handle); exchange_cancel(handle);    // TN_STALE if it has ended
 */
#ifndef TENON_PLUGINS_HTTP_EXCHANGE_H
#define TENON_PLUGINS_HTTP_EXCHANGE_H

#include "base.h"

#define EXCHANGES_MAX 65536 /* waiting ones included; beyond this: TN_LIMIT */

int32_t exchange_send(tn_value request, tn_http_handler handler, void *user, uint64_t *handle);
int32_t exchange_pause(uint64_t handle);
int32_t exchange_resume(uint64_t handle);
int32_t exchange_cancel(uint64_t handle);
/* Processes the transfers that have ended, delivers data and starts waiting exchanges, until nothing is left to do. */
void exchanges_advance(void);
void exchanges_close(void); /* cancels all, and calls delivery_close */

#endif

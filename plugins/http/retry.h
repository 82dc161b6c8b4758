/*
 * retry.h - whether another attempt can succeed, and when to make it.
 */
#ifndef TENON_PLUGINS_HTTP_RETRY_H
#define TENON_PLUGINS_HTTP_RETRY_H

#include "request.h"

bool retry_status_is_transient(int64_t status);
/*
 * Returns the ms to wait after attempt number `attempt` (from 1): the response's Retry-After, at most max_ms; else a
 * random number from 0 to initial_ms, doubled for each attempt, at most max_ms. `headers` may be NULL.
 */
int64_t retry_delay_ms(const struct request *request, int64_t attempt, tn_value headers);

#endif

/*
 * retry.h - whether an answer is worth another attempt, and when.
 */
#ifndef TENON_PLUGINS_HTTP_RETRY_H
#define TENON_PLUGINS_HTTP_RETRY_H

#include "request.h"

bool retry_status(int64_t status);
/*
 * ms to wait before the attempt after `attempt` (from 1): what the answer's Retry-After says, up to max_ms; else
 * anything from 0 to initial_ms, doubled for each attempt, up to max_ms. `headers` may be NULL.
 */
int64_t retry_delay_ms(const struct request *request, int64_t attempt, tn_value headers);

#endif

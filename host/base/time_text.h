/*
 * time_text.h - formats times as RFC 3339 text in UTC. No other file of host/ formats a time stamp.
 *
 *     char text[TIME_TEXT];
 *     time_text(loop_wall_ms(loop), text);  // "2026-01-01T00:00:00.000Z"
 */
#ifndef TENON_HOST_BASE_TIME_TEXT_H
#define TENON_HOST_BASE_TIME_TEXT_H

#include "adl/value/value.h"
#include <stdint.h>

#define TIME_TEXT 32 /* bytes, with the NUL */

/* Thread: any. `ms` is the time since 1970 UTC and may be negative. */
void time_text(int64_t ms, char out[TIME_TEXT]);
tn_value time_value(int64_t ms); /* a new reference */

#endif

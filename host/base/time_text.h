/*
 * time_text.h - formats times as RFC 3339 text in UTC, and reads times of users into that form. No other file of host/
 * formats a time stamp.
 *
 *     char text[TIME_TEXT];
 *     time_text(loop_wall_ms(loop), text);                        // "2026-01-01T00:00:00.000Z"
 *     if (!time_text_read("2026-01-31", text)) return refuse();   // "2026-01-31T00:00:00.000Z"
 *
 * Texts of this form sort by time. Thread: any.
 */
#ifndef TENON_HOST_BASE_TIME_TEXT_H
#define TENON_HOST_BASE_TIME_TEXT_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

#define TIME_TEXT 32 /* bytes, with the NUL */

/* `ms` is the time since 1970 UTC and may be negative. */
void time_text(int64_t ms, char out[TIME_TEXT]);
tn_value time_value(int64_t ms); /* a new reference */
/*
 * Rewrites a time in ISO 8601, with any offset, or a date, which is its first moment in UTC. False, and `out` is
 * unchanged, if `text` is neither.
 */
bool time_text_read(const char *text, char out[TIME_TEXT]);
/* The same, as ms since 1970 UTC; a part of a millisecond is dropped. */
bool time_text_read_ms(const char *text, int64_t *ms);
/* The end of the second that was `days` before `now_ms`, so that it includes every time in this second. */
void time_text_days_before(int64_t now_ms, int64_t days, char out[TIME_TEXT]);

#endif

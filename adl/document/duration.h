/* duration.h - durations in documents: "30s", "500ms", "0.5s", "10m", "1h", "7d"; a number means seconds. */
#ifndef TENON_ADL_DOCUMENT_DURATION_H
#define TENON_ADL_DOCUMENT_DURATION_H

#include <stddef.h>
#include <stdint.h>

#define DURATION_MAX_MS (INT64_C(366) * 24 * 60 * 60 * 1000) /* 366 days: the longest duration in a document */

enum duration_problem {
    DURATION_OK,
    DURATION_MALFORMED, /* no number, or an unknown unit */
    DURATION_TOO_LONG,
    DURATION_TOO_SHORT, /* above 0 and below one millisecond */
};

/* A number without a unit means seconds. *milliseconds is unchanged on failure. */
enum duration_problem duration_read(const char *text, size_t length, int64_t *milliseconds);
enum duration_problem duration_from_seconds(double seconds, int64_t *milliseconds); /* negative: MALFORMED */

#endif

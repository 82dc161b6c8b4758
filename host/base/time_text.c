/*
 * time_text.c - times as RFC 3339 text.
 */
#include "host/base/time_text.h"
#include "adl/expr/time.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

void time_text(int64_t ms, char out[TIME_TEXT]) {
    int64_t part = ms % 1000;
    if (part < 0) part += 1000;
    time_t seconds = (time_t)((ms - part) / 1000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts)) memset(&parts, 0, sizeof parts);
    char day[24];
    if (!strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts)) day[0] = 0;
    snprintf(out, TIME_TEXT, "%s.%03dZ", day, (int)part);
}

tn_value time_value(int64_t ms) {
    char text[TIME_TEXT];
    time_text(ms, text);
    return value_text(text);
}

bool time_text_read_ms(const char *text, int64_t *ms) {
    int64_t seconds;
    uint32_t nanoseconds;
    char whole[64];
    bool date = strlen(text) == sizeof "2026-01-01" - 1;
    int length = snprintf(whole, sizeof whole, "%s%s", text, date ? "T00:00:00Z" : "");
    if (length < 0 || (size_t)length >= sizeof whole) return false;
    if (!timestamp_parse(whole, (size_t)length, &seconds, &nanoseconds)) return false;
    *ms = seconds * 1000 + nanoseconds / 1000000;
    return true;
}

bool time_text_read(const char *text, char out[TIME_TEXT]) {
    int64_t ms;
    if (!time_text_read_ms(text, &ms)) return false;
    time_text(ms, out);
    return true;
}

void time_text_days_before(int64_t now_ms, int64_t days, char out[TIME_TEXT]) {
    time_text((now_ms / 1000 - days * 86400) * 1000 + 999, out);
}

/*
 * time_text.c - times as RFC 3339 text.
 */
#include "host/base/time_text.h"
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

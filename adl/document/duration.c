/*
 * duration.c - exact decimal arithmetic, so that "0.1s" is 100 ms in every locale.
 */
#include "adl/document/duration.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t milliseconds;
} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 60 * 60 * 1000}, {"d", 24 * 60 * 60 * 1000}, {"", 1000}};

static enum duration_problem duration_finish(int64_t whole, int64_t millionths, int64_t unit, int64_t *milliseconds) {
    if (whole > DURATION_MAX_MS / unit) return DURATION_TOO_LONG;
    int64_t total = whole * unit + millionths * unit / 1000000;
    if (total > DURATION_MAX_MS) return DURATION_TOO_LONG;
    if (total == 0 && (whole || millionths)) return DURATION_TOO_SHORT;
    *milliseconds = total;
    return DURATION_OK;
}

enum duration_problem duration_read(const char *text, size_t length, int64_t *milliseconds) {
    size_t at = 0, digits = 0;
    int64_t whole = 0, millionths = 0, place = 100000;
    bool huge = false;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++, digits++) {
        if (whole <= DURATION_MAX_MS)
            whole = whole * 10 + (text[at] - '0');
        else
            huge = true;
    }
    if (at < length && text[at] == '.') {
        for (at++; at < length && text[at] >= '0' && text[at] <= '9'; at++, digits++, place /= 10)
            millionths += (text[at] - '0') * place;
    }
    if (digits == 0) return DURATION_MALFORMED;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t unit_length = strlen(units[i].name);
        if (length - at != unit_length || memcmp(text + at, units[i].name, unit_length) != 0) continue;
        return huge ? DURATION_TOO_LONG : duration_finish(whole, millionths, units[i].milliseconds, milliseconds);
    }
    return DURATION_MALFORMED;
}

enum duration_problem duration_from_seconds(double seconds, int64_t *milliseconds) {
    if (!(seconds >= 0)) return DURATION_MALFORMED;
    if (seconds > (double)DURATION_MAX_MS / 1000) return DURATION_TOO_LONG;
    double rounded = floor(seconds * 1000 + 0.5);
    if (rounded < 1 && seconds > 0) return DURATION_TOO_SHORT;
    *milliseconds = (int64_t)rounded;
    return DURATION_OK;
}

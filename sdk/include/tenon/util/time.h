/*
 * tenon/util/time.h - times as text (RFC 3339) and as a calendar date, in UTC.
 *
 * A time is a count of milliseconds since 1970-01-01T00:00:00Z, as tenon.core's wall_ms returns it. Leap seconds do not
 * count. The calendar is the Gregorian one, also before 1582.
 *
 *     char text[TN_TIME_TEXT];
 *     int64_t ms;
 *     if (tn_time_format(tn.core->wall_ms(tn.host), text)) ...           // "2026-11-22T19:46:20.250Z"
 *     if (!tn_time_parse("2026-11-22T20:46:20+01:00", 25, &ms)) ...      // not a time
 *
 * Thread: any. Nothing here allocates, or reads a clock or a time zone.
 */
#ifndef TENON_UTIL_TIME_H
#define TENON_UTIL_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <tenon/util/cast.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_TIME_TEXT 32 /* room for every text that this header makes, with the NUL */

struct tn_time {
    int64_t year;
    int32_t month, day;                        /* from 1 */
    int32_t hour, minute, second, millisecond; /* from 0 */
    int32_t weekday;                           /* 0: Sunday */
};

/* Days from 1970-01-01 to a date; negative before it. */
static inline int64_t tn_time_days(int64_t year, int32_t month, int32_t day) {
    int64_t shifted = month > 2 ? year : year - 1, era = (shifted >= 0 ? shifted : shifted - 399) / 400;
    int64_t year_of_era = shifted - era * 400,
            day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static inline struct tn_time tn_time_split(int64_t ms) {
    struct tn_time time;
    int64_t days = ms / 86400000, rest = ms % 86400000, era, day_of_era, year_of_era, day_of_year, part;
    if (rest < 0) {
        rest += 86400000;
        days--;
    }
    time.weekday = TN_UTIL_CAST(int32_t, ((days + 4) % 7 + 7) % 7);
    days += 719468; /* from 0000-03-01 */
    era = (days >= 0 ? days : days - 146096) / 146097;
    day_of_era = days - era * 146097;
    year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    part = (5 * day_of_year + 2) / 153;
    time.day = TN_UTIL_CAST(int32_t, day_of_year - (153 * part + 2) / 5 + 1);
    time.month = TN_UTIL_CAST(int32_t, part < 10 ? part + 3 : part - 9);
    time.year = year_of_era + era * 400 + (time.month <= 2 ? 1 : 0);
    time.hour = TN_UTIL_CAST(int32_t, rest / 3600000);
    time.minute = TN_UTIL_CAST(int32_t, rest / 60000 % 60);
    time.second = TN_UTIL_CAST(int32_t, rest / 1000 % 60);
    time.millisecond = TN_UTIL_CAST(int32_t, rest % 1000);
    return time;
}

/* "2026-11-22T19:46:20.250Z". False, and "" in `out`, if the year is not between 0 and 9999. */
static inline bool tn_time_format(int64_t ms, char out[TN_TIME_TEXT]) {
    struct tn_time time = tn_time_split(ms);
    out[0] = '\0';
    if (time.year < 0 || time.year > 9999) return false;
    (void)snprintf(out, TN_TIME_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", TN_UTIL_CAST(int, time.year % 10000),
                   time.month % 100, time.day % 100, time.hour % 100, time.minute % 100, time.second % 100,
                   time.millisecond % 1000);
    return true;
}

/* "2026-11-22T19:46:20Z": the same without the milliseconds, which are cut. */
static inline bool tn_time_format_seconds(int64_t ms, char out[TN_TIME_TEXT]) {
    if (!tn_time_format(ms, out)) return false;
    out[19] = 'Z';
    out[20] = '\0';
    return true;
}

/* `count` digits at *at as a number, and *at behind them; -1 if they are not there. */
static inline int32_t tn_time_digits(const char **at, const char *end, int32_t count) {
    int32_t number = 0;
    for (; count > 0; count--, ++*at) {
        if (*at == end || **at < '0' || **at > '9') return -1;
        number = number * 10 + (**at - '0');
    }
    return number;
}

static inline bool tn_time_skip(const char **at, const char *end, char wanted, char other) {
    if (*at == end || (**at != wanted && **at != other)) return false;
    ++*at;
    return true;
}

static inline int32_t tn_time_days_of_month(int32_t year, int32_t month) {
    static const int32_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/*
 * Reads a whole text that is an RFC 3339 date-time: "2026-11-22T19:46:20Z", with any number of digits after the second
 * (those after the third are cut) and any offset. The leap second 23:59:60 UTC reads as the second after it. False, and
 * *ms untouched, for any other text.
 */
static inline bool tn_time_parse(const char *text, uint64_t length, int64_t *ms) {
    const char *at = text, *end = text + length;
    int32_t year, month, day, hour, minute, second, fraction = 0, scale = 100, sign = 0, hours = 0, minutes = 0;
    int64_t seconds;
    if ((year = tn_time_digits(&at, end, 4)) < 0 || !tn_time_skip(&at, end, '-', '-')) return false;
    if ((month = tn_time_digits(&at, end, 2)) < 1 || month > 12 || !tn_time_skip(&at, end, '-', '-')) return false;
    if ((day = tn_time_digits(&at, end, 2)) < 1 || day > tn_time_days_of_month(year, month)) return false;
    if (!tn_time_skip(&at, end, 'T', 't')) return false;
    if ((hour = tn_time_digits(&at, end, 2)) < 0 || hour > 23 || !tn_time_skip(&at, end, ':', ':')) return false;
    if ((minute = tn_time_digits(&at, end, 2)) < 0 || minute > 59 || !tn_time_skip(&at, end, ':', ':')) return false;
    if ((second = tn_time_digits(&at, end, 2)) < 0 || second > 60) return false;
    if (tn_time_skip(&at, end, '.', '.')) {
        const char *first = at;
        for (; at < end && *at >= '0' && *at <= '9'; at++, scale /= 10) fraction += (*at - '0') * scale;
        if (at == first) return false;
    }
    if (!tn_time_skip(&at, end, 'Z', 'z')) {
        sign = at < end && *at == '-' ? -1 : 1;
        if (!tn_time_skip(&at, end, '+', '-')) return false;
        if ((hours = tn_time_digits(&at, end, 2)) < 0 || hours > 23 || !tn_time_skip(&at, end, ':', ':')) return false;
        if ((minutes = tn_time_digits(&at, end, 2)) < 0 || minutes > 59) return false;
    }
    if (at != end) return false;
    seconds = tn_time_days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    seconds -= sign * (hours * 3600 + minutes * 60);
    if (second == 60 && seconds % 86400 != 0) return false; /* leap seconds end a day of UTC */
    *ms = seconds * 1000 + fraction;
    return true;
}

#ifdef __cplusplus
}
#endif
#endif

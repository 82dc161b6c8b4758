/*
 * time.c - calendar arithmetic, and the texts of timestamps and durations.
 *
 * Days are counted in eras of 400 years that start on 1 March, so that leap days come last and every month has a fixed
 * position. Parsers accept exactly their format: no spaces, no missing parts.
 */
#include "adl/expr/time.h"
#include <stdio.h>
#include <string.h>

int64_t days_of(int64_t year, int32_t month, int32_t day) {
    int64_t shifted = month <= 2 ? year - 1 : year;
    int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
    int64_t of_era = shifted - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void calendar_of(int64_t seconds, struct calendar *out) {
    int64_t days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t of_era = shifted - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    out->day = (int32_t)(of_year - (153 * month + 2) / 5 + 1);
    out->month = (int32_t)(month < 10 ? month + 3 : month - 9);
    out->year = (int32_t)(year + era * 400 + (out->month <= 2));
    out->hour = (int32_t)(rest / 3600);
    out->minute = (int32_t)(rest / 60 % 60);
    out->second = (int32_t)(rest % 60);
    out->weekday = (int32_t)(((days + 4) % 7 + 7) % 7);
    out->day_of_year = (int32_t)(days - days_of(out->year, 1, 1));
}

static bool time_is_digit(char character) { return character >= '0' && character <= '9'; }

/* Reads `count` digits at *at and moves past them. */
static bool read_digits(const char **at, const char *end, int count, int32_t *out) {
    int32_t number = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (*at == end || !time_is_digit(**at)) return false;
        number = number * 10 + (**at - '0');
    }
    *out = number;
    return true;
}

static bool read_char(const char **at, const char *end, char wanted) {
    if (*at == end || **at != wanted) return false;
    ++*at;
    return true;
}

/* Reads the digits after the point as nanoseconds; digits after the ninth are cut off. */
static bool read_fraction(const char **at, const char *end, uint32_t *nanoseconds) {
    uint32_t scale = SECOND_NANOSECONDS / 10, sum = 0;
    if (*at == end || !time_is_digit(**at)) return false;
    for (; *at < end && time_is_digit(**at); ++*at, scale /= 10) sum += (uint32_t)(**at - '0') * scale;
    *nanoseconds = sum;
    return true;
}

static int32_t days_in_month(int32_t year, int32_t month) {
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

bool offset_parse(const char *text, size_t length, int32_t *seconds) {
    const char *at = text, *end = text + length;
    if ((length == 1 && (*text == 'Z' || *text == 'z')) || (length == 3 && memcmp(text, "UTC", 3) == 0)) {
        *seconds = 0;
        return true;
    }
    int32_t sign = 1, hours, minutes;
    if (at < end && (*at == '+' || *at == '-')) sign = *at++ == '-' ? -1 : 1;
    if (!read_digits(&at, end, 2, &hours) || !read_char(&at, end, ':') || !read_digits(&at, end, 2, &minutes))
        return false;
    if (at != end || hours > 23 || minutes > 59) return false;
    *seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

bool timestamp_parse(const char *text, size_t length, int64_t *seconds, uint32_t *nanoseconds) {
    const char *at = text, *end = text + length;
    struct calendar day;
    uint32_t fraction = 0;
    int32_t offset = 0;
    if (!read_digits(&at, end, 4, &day.year) || !read_char(&at, end, '-') || !read_digits(&at, end, 2, &day.month) ||
        !read_char(&at, end, '-') || !read_digits(&at, end, 2, &day.day))
        return false;
    if (!read_char(&at, end, 'T') && !read_char(&at, end, 't')) return false;
    if (!read_digits(&at, end, 2, &day.hour) || !read_char(&at, end, ':') || !read_digits(&at, end, 2, &day.minute) ||
        !read_char(&at, end, ':') || !read_digits(&at, end, 2, &day.second))
        return false;
    if (read_char(&at, end, '.') && !read_fraction(&at, end, &fraction)) return false;
    if (at == end || time_is_digit(*at) || *at == 'U' || !offset_parse(at, (size_t)(end - at), &offset)) return false;
    if (day.year < 1 || day.month < 1 || day.month > 12 || day.day < 1 || day.day > days_in_month(day.year, day.month))
        return false;
    if (day.hour > 23 || day.minute > 59 || day.second > 59) return false;
    int64_t sum = days_of(day.year, day.month, day.day) * 86400 + day.hour * INT64_C(3600) + day.minute * INT64_C(60) +
                  day.second - offset;
    if (sum < TIMESTAMP_FIRST || sum > TIMESTAMP_LAST) return false;
    *seconds = sum;
    *nanoseconds = fraction;
    return true;
}

/* Writes ".5" for 500000000, without trailing zeros; "" for 0. */
static size_t fraction_text(uint32_t nanoseconds, char *out) {
    if (nanoseconds == 0) return 0;
    size_t length = (size_t)snprintf(out, 12, ".%09u", nanoseconds);
    while (out[length - 1] == '0') length--;
    return length;
}

size_t timestamp_text(int64_t seconds, uint32_t nanoseconds, char *out) {
    struct calendar day;
    calendar_of(seconds, &day);
    size_t length = (size_t)snprintf(out, 28, "%04d-%02d-%02dT%02d:%02d:%02d", day.year, day.month, day.day, day.hour,
                                     day.minute, day.second);
    length += fraction_text(nanoseconds, out + length);
    out[length++] = 'Z';
    out[length] = 0;
    return length;
}

/* Returns the nanoseconds of the unit at *at, or 0 if it is unknown. */
static int64_t read_unit(const char **at, const char *end) {
    static const struct {
        const char *name;
        int64_t nanoseconds;
    } units[] = {/* longer names first: "ms" before "m" */
                 {"ns", 1},       {"us", 1000},      {"\xc2\xb5s", 1000}, {"\xce\xbcs", 1000},
                 {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000},  {"h", 3600000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t length = strlen(units[i].name);
        if ((size_t)(end - *at) < length || memcmp(*at, units[i].name, length) != 0) continue;
        *at += length;
        return units[i].nanoseconds;
    }
    return 0;
}

/*
 * Reads one "12.5m" at *at and adds it to *sum, which is at most 0, because the most negative number has no positive
 * counterpart.
 */
static bool duration_read_part(const char **at, const char *end, int64_t *sum) {
    const char *digits = *at;
    int64_t whole = 0;
    for (; *at < end && time_is_digit(**at); ++*at)
        if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_sub_overflow(whole, **at - '0', &whole))
            return false;
    size_t count = (size_t)(*at - digits);
    const char *fraction = NULL;
    if (*at < end && **at == '.') {
        fraction = ++*at;
        while (*at < end && time_is_digit(**at)) ++*at;
        count += (size_t)(*at - fraction);
    }
    const char *fraction_end = *at;
    int64_t unit = read_unit(at, end), scaled;
    if (unit == 0 || count == 0) return false;
    if (__builtin_mul_overflow(whole, unit, &scaled) || __builtin_add_overflow(*sum, scaled, sum)) return false;
    for (int64_t scale = unit; fraction && fraction < fraction_end && scale; fraction++) {
        /* Each digit is a tenth of the one before; parts below a nanosecond are cut off. */
        int64_t worth = scale / 10 * (*fraction - '0') + scale % 10 * (*fraction - '0') / 10;
        if (__builtin_sub_overflow(*sum, worth, sum)) return false;
        scale /= 10;
    }
    return true;
}

bool duration_parse(const char *text, size_t length, int64_t *nanoseconds) {
    const char *at = text, *end = text + length;
    bool negative = at < end && *at == '-';
    int64_t sum = 0;
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (end - at == 1 && *at == '0') {
        *nanoseconds = 0;
        return true;
    }
    if (at == end) return false;
    while (at < end)
        if (!duration_read_part(&at, end, &sum)) return false;
    if (!negative && __builtin_sub_overflow((int64_t)0, sum, &sum)) return false;
    *nanoseconds = sum;
    return true;
}

size_t duration_text(int64_t nanoseconds, char *out) {
    uint64_t size = nanoseconds < 0 ? 0 - (uint64_t)nanoseconds : (uint64_t)nanoseconds;
    size_t length = (size_t)snprintf(out, 24, "%s%llu", nanoseconds < 0 ? "-" : "",
                                     (unsigned long long)(size / SECOND_NANOSECONDS));
    length += fraction_text((uint32_t)(size % SECOND_NANOSECONDS), out + length);
    out[length++] = 's';
    out[length] = 0;
    return length;
}

/*
 * zone.c - reads TZif (RFC 8536): a table of the moments when the offset changed, and a rule for later times.
 *
 * A version 2 file contains its data twice: first with 32-bit times for old readers, which is skipped, then with 64-bit
 * times; then follows the footer, a POSIX TZ string ("CET-1CEST,M3.5.0,M10.5.0/3"). In modern files the rule follows
 * where the table ends, so the footer answers most queries about the present. Every count is checked against the length
 * of the data.
 */
#include "adl/expr/zone.h"
#include "adl/expr/time.h"
#include <string.h>

#define HEADER 44u
#define DAY    86400

struct table {
    const unsigned char *moments, *kinds_at, *kinds;
    uint32_t moment_count, kind_count;
    uint32_t moment_size;
    size_t length; /* total length */
};

static uint32_t read_u32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t read_moment(const struct table *table, uint32_t index) {
    const unsigned char *at = table->moments + (size_t)index * table->moment_size;
    if (table->moment_size == 4) return (int32_t)read_u32(at);
    return (int64_t)((uint64_t)read_u32(at) << 32 | read_u32(at + 4));
}

/* Reads the header at `at` and the positions of the parts after it. */
static bool table_read(const unsigned char *at, size_t length, uint32_t moment_size, struct table *out) {
    if (length < HEADER || memcmp(at, "TZif", 4) != 0) return false;
    uint64_t utc_flags = read_u32(at + 20), wall_flags = read_u32(at + 24), leaps = read_u32(at + 28);
    uint64_t moments = read_u32(at + 32), kinds = read_u32(at + 36), characters = read_u32(at + 40);
    uint64_t total = HEADER + moments * (moment_size + 1) + kinds * 6 + characters + leaps * (moment_size + 4) +
                     wall_flags + utc_flags;
    if (total > length || kinds == 0 || kinds > 256) return false;
    out->moments = at + HEADER;
    out->kinds_at = out->moments + moments * moment_size;
    out->kinds = out->kinds_at + moments;
    out->moment_count = (uint32_t)moments;
    out->kind_count = (uint32_t)kinds;
    out->moment_size = moment_size;
    out->length = (size_t)total;
    return true;
}

static bool kind_offset(const struct table *table, uint32_t kind, int32_t *offset) {
    if (kind >= table->kind_count) return false;
    int32_t found = (int32_t)read_u32(table->kinds + (size_t)kind * 6);
    if (found < -DAY || found > DAY) return false;
    *offset = found;
    return true;
}

/* Returns the number of moments that are not after `utc`. */
static uint32_t moments_until(const struct table *table, int64_t utc) {
    uint32_t low = 0, high = table->moment_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (read_moment(table, middle) <= utc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- The footer ---- */

struct text {
    const char *at, *end;
};

static bool zone_take(struct text *text, char wanted) {
    if (text->at == text->end || *text->at != wanted) return false;
    text->at++;
    return true;
}

static bool zone_take_number(struct text *text, int32_t highest, int32_t *out) {
    int32_t number = 0;
    const char *from = text->at;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        number = number * 10 + (*text->at - '0');
        if (number > highest) return false;
    }
    *out = number;
    return text->at > from;
}

/* Reads [+-]hh[:mm[:ss]] as seconds. */
static bool zone_take_time(struct text *text, int32_t *seconds) {
    int32_t hours, minutes = 0, rest = 0;
    bool negative = zone_take(text, '-');
    if (!negative) zone_take(text, '+');
    if (!zone_take_number(text, 167, &hours)) return false;
    if (zone_take(text, ':') && !zone_take_number(text, 59, &minutes)) return false;
    if (minutes && zone_take(text, ':') && !zone_take_number(text, 59, &rest)) return false;
    *seconds = (hours * 3600 + minutes * 60 + rest) * (negative ? -1 : 1);
    return true;
}

/* Reads the abbreviation: letters, or anything between < and >. */
static bool zone_take_name(struct text *text) {
    const char *from = text->at;
    if (zone_take(text, '<')) {
        while (text->at < text->end && *text->at != '>') text->at++;
        return zone_take(text, '>');
    }
    for (; text->at < text->end; text->at++) {
        char letter = (char)(*text->at | 0x20);
        if (letter < 'a' || letter > 'z') break;
    }
    return text->at > from;
}

/* Reads the day of a rule in `year` (Mm.w.d, Jn or n) as days since 1970. */
static bool take_day(struct text *text, int32_t year, int64_t *day) {
    int32_t number, month, week, weekday;
    int64_t new_year = days_of(year, 1, 1);
    if (zone_take(text, 'M')) {
        if (!zone_take_number(text, 12, &month) || month < 1 || !zone_take(text, '.') ||
            !zone_take_number(text, 5, &week) || week < 1 || !zone_take(text, '.') ||
            !zone_take_number(text, 6, &weekday))
            return false;
        int64_t first = days_of(year, month, 1);
        int64_t after = month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1);
        int64_t first_weekday = ((first + 4) % 7 + 7) % 7;
        *day = first + (weekday - first_weekday + 7) % 7 + (week - INT64_C(1)) * 7;
        if (*day >= after) *day -= 7;
        return true;
    }
    bool julian = zone_take(text, 'J');
    if (!zone_take_number(text, 365, &number) || (julian && number < 1)) return false;
    if (julian && number >= 60 && days_of(year, 3, 1) - new_year == 60) number++; /* J60 is 1 March in every year */
    *day = new_year + number - julian;
    return true;
}

/* Reads ",day[/time]" and returns the moment of the change in UTC seconds; `offset` applies before it. */
static bool take_change(struct text *text, int32_t year, int32_t offset, int64_t *moment) {
    int64_t day;
    int32_t time = 7200;
    if (!zone_take(text, ',') || !take_day(text, year, &day)) return false;
    if (zone_take(text, '/') && !zone_take_time(text, &time)) return false;
    *moment = day * DAY + time - offset;
    return true;
}

static bool footer_offset(struct text text, int64_t utc, int32_t *offset) {
    int32_t standard, summer;
    if (!zone_take_name(&text) || !zone_take_time(&text, &standard)) return false;
    standard = -standard; /* POSIX counts west of UTC */
    summer = standard + 3600;
    *offset = standard;
    if (text.at == text.end) return true;
    if (!zone_take_name(&text)) return false;
    if (text.at < text.end && *text.at != ',') {
        if (!zone_take_time(&text, &summer)) return false;
        summer = -summer;
    }
    struct calendar calendar;
    int64_t starts, ends;
    calendar_of(utc + standard, &calendar);
    if (!take_change(&text, calendar.year, standard, &starts) || !take_change(&text, calendar.year, summer, &ends))
        return false;
    bool is_summer = starts < ends ? utc >= starts && utc < ends : utc >= starts || utc < ends;
    *offset = is_summer ? summer : standard;
    return true;
}

/* Finds the footer: the line between two newlines after the table. */
static bool footer_find(const unsigned char *at, size_t length, struct text *out) {
    if (length < 2 || *at != '\n') return false;
    const unsigned char *end = memchr(at + 1, '\n', length - 1);
    if (!end || end == at + 1) return false;
    *out = (struct text){(const char *)at + 1, (const char *)end};
    return true;
}

bool zone_offset(const void *bytes, size_t length, int64_t utc, int32_t *offset) {
    const unsigned char *at = bytes;
    struct table table;
    struct text footer;
    if (!table_read(at, length, 4, &table)) return false;
    size_t from = 0;
    if (at[4] >= '2') {
        from = table.length;
        if (!table_read(at + from, length - from, 8, &table)) return false;
    }
    uint32_t before = moments_until(&table, utc);
    bool last = before == table.moment_count && table.moment_size == 8;
    size_t behind = from + table.length;
    if (last && footer_find(at + behind, length - behind, &footer) && footer_offset(footer, utc, offset)) return true;
    /* Before the first change, the first kind applies. */
    return kind_offset(&table, before == 0 ? 0 : table.kinds_at[before - 1], offset);
}

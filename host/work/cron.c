/*
 * cron.c - reads cron expressions, and searches the next due time.
 *
 * A search has two parts. The calendar finds the next local time that matches (cron_next_local). The zone converts it:
 * its offsets are only known for UTC instants, so a span of time is divided into segments of constant offset
 * (zone_segment), and the local time is looked up in them.
 */
#include "host/work/cron.h"
#include "adl/expr/time.h"
#include "host/base/zone.h"
#include <string.h>
#include <strings.h>

#define DAY_SECONDS 86400
#define DAYS_MAX    (CRON_YEARS_MAX * INT64_C(366))
#define ALL_HOURS   0xffffffu
#define SHOWN_MAX   20 /* bytes shown of a wrong part */
/* More than the difference of any two offsets of a zone (RFC 8536: -25 to +26 hours). */
#define OFFSET_SPAN (INT64_C(52) * 3600)
/* No zone has two changes of its offset within this time. */
#define SEGMENT_STEP (INT64_C(3) * 3600)

/* ---- Fields ---- */

struct cron_field {
    const char *name;
    unsigned low, high, count; /* `count` different values: the largest step */
    const char *const *names;  /* of the values from `low`; may be NULL */
    unsigned name_count;
};

static const char *const cron_month_names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                               "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const cron_weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

enum { CRON_MINUTE, CRON_HOUR, CRON_DAY, CRON_MONTH, CRON_WEEKDAY, CRON_FIELDS };

static const struct cron_field cron_fields[CRON_FIELDS] = {
    [CRON_MINUTE] = {"minute", 0, 59, 60, NULL, 0},
    [CRON_HOUR] = {"hour", 0, 23, 24, NULL, 0},
    [CRON_DAY] = {"day of month", 1, 31, 31, NULL, 0},
    [CRON_MONTH] = {"month", 1, 12, 12, cron_month_names, 12},
    [CRON_WEEKDAY] = {"day of week", 0, 7, 7, cron_weekday_names, 7},
};

static const struct {
    const char *name, *text;
} cron_nicknames[] = {
    {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"},
};

struct cron_reader {
    const char *text;
    size_t length, at;
    const struct cron_field *field;
    struct error *error;
};

static bool is_cron_space(char c) { return c == ' ' || c == '\t'; }
static bool is_cron_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_cron_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static char cron_peek(const struct cron_reader *reader) {
    return reader->at < reader->length ? reader->text[reader->at] : ' ';
}

static void cron_skip_spaces(struct cron_reader *reader) {
    while (reader->at < reader->length && is_cron_space(reader->text[reader->at])) reader->at++;
}

/* The end of the part at `at`: up to a space or one of `,-/`, but `-5` and `/5` are one part. */
static size_t cron_part_end(const struct cron_reader *reader, size_t at) {
    size_t end = at;
    if (at < reader->length && reader->text[at] == ',') return at + 1;
    while (end < reader->length && !is_cron_space(reader->text[end]) &&
           (end == at || !strchr(",-/", reader->text[end]) || reader->text[end] == '\0'))
        end++;
    return end;
}

/* The bytes to show of a part: SHOWN_MAX at most, and no part of a character. */
static int cron_shown_length(const char *text, size_t length) {
    size_t shown = length < SHOWN_MAX ? length : SHOWN_MAX;
    while (shown < length && shown && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    return (int)shown;
}

/* Reports the part at `at`. `expected` ends the message. Returns false. */
static bool cron_refuse(const struct cron_reader *reader, size_t at, const char *expected) {
    size_t end = cron_part_end(reader, at);
    if (end == at)
        error_set(reader->error, TN_INVALID, "INVALID_CONFIG",
                  "%s, column %zu: found the end of the field, expected %s", reader->field->name, at + 1, expected);
    else
        error_set(reader->error, TN_INVALID, "INVALID_CONFIG", "%s, column %zu: found `%.*s`, expected %s",
                  reader->field->name, at + 1, cron_shown_length(reader->text + at, end - at), reader->text + at,
                  expected);
    return false;
}

/* What a value of the field can be, for messages. */
static const char *cron_expected_value(const struct cron_field *field) {
    static const char *const expected[CRON_FIELDS] = {
        [CRON_MINUTE] = "0 to 59",
        [CRON_HOUR] = "0 to 23",
        [CRON_DAY] = "1 to 31",
        [CRON_MONTH] = "1 to 12 or jan to dec",
        [CRON_WEEKDAY] = "0 to 7 (0 and 7 are Sunday) or sun to sat",
    };
    return expected[field - cron_fields];
}

/* Reads digits. A number above 9999 becomes 9999, which no field allows. */
static unsigned cron_read_digits(struct cron_reader *reader) {
    unsigned number = 0;
    while (is_cron_digit(cron_peek(reader))) {
        number = number * 10 + (unsigned)(reader->text[reader->at++] - '0');
        if (number > 9999) number = 9999;
    }
    return number;
}

static bool cron_read_value(struct cron_reader *reader, unsigned *value, bool *named) {
    const struct cron_field *field = reader->field;
    size_t start = reader->at;
    *named = false;
    if (is_cron_digit(cron_peek(reader))) {
        *value = cron_read_digits(reader);
        bool ended = is_cron_space(cron_peek(reader)) || cron_peek(reader) == ',' || cron_peek(reader) == '-' ||
                     cron_peek(reader) == '/';
        if (ended && *value >= field->low && *value <= field->high) return true;
        return cron_refuse(reader, start, cron_expected_value(field));
    }
    while (is_cron_letter(cron_peek(reader))) reader->at++;
    for (unsigned i = 0; i < field->name_count; i++)
        if (reader->at - start == 3 && strncasecmp(reader->text + start, field->names[i], 3) == 0) {
            *value = field->low + i;
            *named = true;
            return true;
        }
    return cron_refuse(reader, start, cron_expected_value(field));
}

/* Reads `/STEP`, if it is there. */
static bool cron_read_step(struct cron_reader *reader, bool range, unsigned *step) {
    static const char *const expected[CRON_FIELDS] = {
        [CRON_MINUTE] = "a step from 1 to 60", [CRON_HOUR] = "a step from 1 to 24",
        [CRON_DAY] = "a step from 1 to 31",    [CRON_MONTH] = "a step from 1 to 12",
        [CRON_WEEKDAY] = "a step from 1 to 7",
    };
    *step = 1;
    if (cron_peek(reader) != '/') return true;
    if (!range) return cron_refuse(reader, reader->at, "a step only after `*` or a range, as in `5-59/10`");
    size_t start = ++reader->at;
    *step = cron_read_digits(reader);
    bool ended = is_cron_space(cron_peek(reader)) || cron_peek(reader) == ',';
    if (ended && reader->at > start && *step >= 1 && *step <= reader->field->count) return true;
    return cron_refuse(reader, start, expected[reader->field - cron_fields]);
}

static bool cron_read_item(struct cron_reader *reader, uint64_t *set) {
    const struct cron_field *field = reader->field;
    unsigned from = field->low, to = field->high, step;
    bool named, range = true;
    size_t start = reader->at;
    if (cron_peek(reader) == '*') {
        reader->at++;
    } else {
        if (!cron_read_value(reader, &from, &named)) return false;
        to = from;
        range = cron_peek(reader) == '-';
        if (range) {
            reader->at++;
            if (!cron_read_value(reader, &to, &named)) return false;
            if (named && to == 0 && from > 0 && field == &cron_fields[CRON_WEEKDAY]) to = 7; /* sat-sun */
            if (to < from) {
                error_set(reader->error, TN_INVALID, "INVALID_CONFIG",
                          "%s, column %zu: found the range `%.*s`, expected its end not before its start", field->name,
                          start + 1, cron_shown_length(reader->text + start, reader->at - start), reader->text + start);
                return false;
            }
        }
    }
    if (!cron_read_step(reader, range, &step)) return false;
    for (unsigned value = from; value <= to; value += step) *set |= UINT64_C(1) << value;
    return true;
}

static bool cron_read_field(struct cron_reader *reader, uint64_t *set) {
    *set = 0;
    for (;;) {
        if (!cron_read_item(reader, set)) return false;
        if (is_cron_space(cron_peek(reader))) return true;
        if (cron_peek(reader) != ',') return cron_refuse(reader, reader->at, "`,`, `-`, `/` or a space");
        reader->at++;
    }
}

static bool cron_read_fields(struct cron_reader *reader, struct cron *out) {
    uint64_t sets[CRON_FIELDS];
    bool star[CRON_FIELDS];
    for (int i = 0; i < CRON_FIELDS; i++) {
        cron_skip_spaces(reader);
        if (reader->at == reader->length) {
            error_set(reader->error, TN_INVALID, "INVALID_CONFIG",
                      "found %d field%s, expected 5: minute, hour, day of month, month, day of week", i,
                      i == 1 ? "" : "s");
            return false;
        }
        reader->field = &cron_fields[i];
        star[i] = cron_peek(reader) == '*';
        if (!cron_read_field(reader, &sets[i])) return false;
    }
    cron_skip_spaces(reader);
    if (reader->at < reader->length) {
        size_t end = cron_part_end(reader, reader->at);
        error_set(reader->error, TN_INVALID, "INVALID_CONFIG",
                  "column %zu: found `%.*s` after 5 fields; there are no fields for seconds, years, users or commands",
                  reader->at + 1, cron_shown_length(reader->text + reader->at, end - reader->at),
                  reader->text + reader->at);
        return false;
    }
    if (sets[CRON_WEEKDAY] >> 7 & 1) sets[CRON_WEEKDAY] |= 1;
    *out = (struct cron){
        .minutes = sets[CRON_MINUTE],
        .hours = (uint32_t)sets[CRON_HOUR],
        .days = (uint32_t)sets[CRON_DAY],
        .months = (uint16_t)sets[CRON_MONTH],
        .weekdays = (uint8_t)(sets[CRON_WEEKDAY] & 0x7f),
        .any_day = star[CRON_DAY],
        .any_weekday = star[CRON_WEEKDAY],
    };
    return true;
}

/* Replaces @daily by its expression. */
static bool cron_read_nickname(struct cron_reader *reader) {
    size_t start = reader->at, end = reader->length;
    while (end > start && is_cron_space(reader->text[end - 1])) end--;
    for (size_t i = 0; i < sizeof cron_nicknames / sizeof *cron_nicknames; i++) {
        const char *name = cron_nicknames[i].name;
        if (strlen(name) != end - start || strncasecmp(name, reader->text + start, end - start) != 0) continue;
        reader->text = cron_nicknames[i].text;
        reader->length = strlen(reader->text);
        reader->at = 0;
        return true;
    }
    error_set(reader->error, TN_INVALID, "INVALID_CONFIG",
              "found `%.*s`, expected @hourly, @daily, @weekly, @monthly, @yearly or five fields",
              cron_shown_length(reader->text + start, end - start), reader->text + start);
    return false;
}

/* ---- The calendar ---- */

static int64_t divide_down(int64_t number, int64_t by) { return number / by - (number % by < 0); }

static bool cron_matches_day(const struct cron *cron, const struct calendar *date) {
    bool day = cron->days >> date->day & 1, weekday = cron->weekdays >> date->weekday & 1;
    return cron->any_day || cron->any_weekday ? day && weekday : day || weekday;
}

/* Returns the first matching minute of a day from `minute` (0 to 1439), or -1. */
static int cron_next_minute(const struct cron *cron, int minute) {
    for (int hour = minute / 60, from = minute % 60; hour < 24; hour++, from = 0) {
        uint64_t left = cron->minutes >> from;
        if (cron->hours >> hour & 1 && left) return hour * 60 + from + __builtin_ctzll(left);
    }
    return -1;
}

/* Finds the first matching local time that is not before `from`, both in seconds since 1970 of the local clock. */
static bool cron_next_local(const struct cron *cron, int64_t from, int64_t *out) {
    int64_t day = divide_down(divide_down(from + 59, 60), 24 * 60), last = day + DAYS_MAX;
    int minute = (int)(divide_down(from + 59, 60) - day * 24 * 60);
    while (day <= last) {
        struct calendar date;
        calendar_of(day * DAY_SECONDS, &date);
        if (!(cron->months >> date.month & 1)) {
            day = date.month == 12 ? days_of(date.year + 1, 1, 1) : days_of(date.year, date.month + 1, 1);
            minute = 0;
            continue;
        }
        int found = cron_matches_day(cron, &date) ? cron_next_minute(cron, minute) : -1;
        if (found >= 0) {
            *out = day * DAY_SECONDS + found * 60;
            return true;
        }
        day++;
        minute = 0;
    }
    return false;
}

int32_t cron_parse(const char *text, size_t length, struct cron *out, struct error *error) {
    struct cron_reader reader = {.text = text, .length = length, .error = error};
    struct cron cron;
    int64_t unused;
    if (length > CRON_TEXT_MAX)
        return error_set(error, TN_INVALID, "INVALID_CONFIG", "found %zu bytes, expected at most %d", length,
                         CRON_TEXT_MAX);
    cron_skip_spaces(&reader);
    if (cron_peek(&reader) == '@' && !cron_read_nickname(&reader)) return TN_INVALID;
    if (!cron_read_fields(&reader, &cron)) return TN_INVALID;
    /* Leap days of all weekdays are within CRON_YEARS_MAX of any day. */
    if (!cron_next_local(&cron, 0, &unused))
        return error_set(error, TN_INVALID, "INVALID_CONFIG",
                         "found `%.*s`, which is never due: none of the months has such a day",
                         cron_shown_length(text, length), text);
    *out = cron;
    return TN_OK;
}

/* ---- The zone ---- */

/* From `start` until before `end` the zone has this offset. */
struct zone_segment {
    int64_t start, end;
    int32_t offset;
};

static bool cron_offset(const char *zone, int64_t at, int32_t *offset) {
    *offset = 0;
    return strcmp(zone, "UTC") == 0 || zone_find(NULL, zone, strlen(zone), at, offset);
}

/* The segment that begins at `start`. It ends at the next change of the offset, or at `limit`. */
static bool zone_segment(const char *zone, int64_t start, int64_t limit, struct zone_segment *out) {
    int32_t offset, next;
    if (!cron_offset(zone, start, &offset)) return false;
    int64_t same = start, other = start;
    do {
        same = other;
        other = other + SEGMENT_STEP < limit ? other + SEGMENT_STEP : limit;
        if (!cron_offset(zone, other, &next)) return false;
    } while (next == offset && other < limit);
    /* If the offset changes, it is still the same at `same`, and another one at `other`. */
    for (bool changes = next != offset; changes && other - same > 1;) {
        int64_t middle = same + (other - same) / 2;
        if (!cron_offset(zone, middle, &next)) return false;
        *(next == offset ? &same : &other) = middle;
    }
    *out = (struct zone_segment){start, other, offset};
    return true;
}

/* Sets *shown to the latest local time that the zone's clock has shown until `at`. */
static bool zone_latest_local(const char *zone, int64_t at, int64_t *shown) {
    struct zone_segment segment = {.end = at - OFFSET_SPAN};
    int64_t latest = INT64_MIN;
    while (segment.end <= at) {
        if (!zone_segment(zone, segment.end, at + 1, &segment)) return false;
        if (segment.end - 1 + segment.offset > latest) latest = segment.end - 1 + segment.offset;
    }
    *shown = latest;
    return true;
}

/* Sets *at to the first instant at which the zone's clock shows the local time, or a later one. */
static bool zone_first_instant(const char *zone, int64_t local, int64_t *at) {
    struct zone_segment segment = {.end = local - OFFSET_SPAN};
    for (;;) {
        if (!zone_segment(zone, segment.end, local + OFFSET_SPAN, &segment)) return false;
        if (segment.start + segment.offset >= local) { /* the clock has jumped over it */
            *at = segment.start;
            return true;
        }
        if (local - segment.offset < segment.end) {
            *at = local - segment.offset;
            return true;
        }
        if (segment.end >= local + OFFSET_SPAN) return false; /* the file of the zone is wrong */
    }
}

/* All hours match: the first instant after `after` at which the clock shows a matching time. */
static bool cron_next_elapsed(const struct cron *cron, const char *zone, int64_t after, int64_t *due) {
    struct zone_segment segment = {.end = after + 1};
    int64_t last = after + DAYS_MAX * DAY_SECONDS;
    while (segment.end <= last) {
        int64_t local;
        if (!zone_segment(zone, segment.end, segment.end + OFFSET_SPAN, &segment)) return false;
        if (!cron_next_local(cron, segment.start + segment.offset, &local)) return false;
        if (local - segment.offset < segment.end) {
            *due = local - segment.offset;
            return true;
        }
        /* Nothing matches until then. */
        if (local - OFFSET_SPAN > segment.end) segment.end = local - OFFSET_SPAN;
    }
    return false;
}

bool cron_next(const struct cron *cron, const char *zone, int64_t after, int64_t *due) {
    int64_t shown, local;
    if (after < 0 || after > CRON_TIME_LAST) return false;
    if (cron->hours == ALL_HOURS) return cron_next_elapsed(cron, zone, after, due);
    return zone_latest_local(zone, after, &shown) && cron_next_local(cron, shown + 1, &local) &&
           zone_first_instant(zone, local, due);
}

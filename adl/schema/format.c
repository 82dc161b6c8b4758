/*
 * format.c - assertions of `format`: RFC 3339 dates, RFC 5321 mail addresses, RFC 1123 names, RFC 3986 URIs and others.
 *
 * Every function reads bytes, allocates nothing (except `regex`), and takes time linear in the length. All formats
 * accept only ASCII. Leap seconds are accepted at 23:59:60 UTC of any day. Internationalised names are not decoded.
 */
#include "adl/schema/format.h"

#include <stdint.h>
#include <string.h>

#include "adl/schema/pattern.h"
#include "adl/schema/schema.h"

struct cursor {
    const char *at, *end;
};

static bool format_is_digit(char c) { return c >= '0' && c <= '9'; }
static bool format_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool format_is_hex_digit(char c) {
    return format_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool among(char c, const char *set) { return c && strchr(set, c); }

static bool format_take(struct cursor *cursor, char c) {
    if (cursor->at == cursor->end || *cursor->at != c) return false;
    cursor->at++;
    return true;
}

static bool format_take_any_case(struct cursor *cursor, char lower) {
    return format_take(cursor, lower) || format_take(cursor, (char)(lower - 'a' + 'A'));
}

/* Reads exactly `count` digits. */
static bool format_take_number(struct cursor *cursor, int count, int *number) {
    *number = 0;
    for (int i = 0; i < count; i++) {
        if (cursor->at == cursor->end || !format_is_digit(*cursor->at)) return false;
        *number = *number * 10 + (*cursor->at++ - '0');
    }
    return true;
}

static size_t format_take_digits(struct cursor *cursor) {
    const char *start = cursor->at;
    while (cursor->at < cursor->end && format_is_digit(*cursor->at)) cursor->at++;
    return (size_t)(cursor->at - start);
}

/* ---- Dates and times ------------------------------------------------------------------------------------------- */

static bool format_take_date(struct cursor *cursor) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    if (!format_take_number(cursor, 4, &year) || !format_take(cursor, '-') || !format_take_number(cursor, 2, &month) ||
        !format_take(cursor, '-') || !format_take_number(cursor, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1) return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= days[month - 1] + (month == 2 && leap);
}

static bool format_take_time(struct cursor *cursor) {
    int hour, minute, second, offset_hour = 0, offset_minute = 0, sign = 1;
    if (!format_take_number(cursor, 2, &hour) || !format_take(cursor, ':') || !format_take_number(cursor, 2, &minute) ||
        !format_take(cursor, ':') || !format_take_number(cursor, 2, &second))
        return false;
    if (format_take(cursor, '.') && format_take_digits(cursor) == 0) return false;
    if (!format_take_any_case(cursor, 'z')) {
        if (format_take(cursor, '-'))
            sign = -1;
        else if (!format_take(cursor, '+'))
            return false;
        if (!format_take_number(cursor, 2, &offset_hour) || !format_take(cursor, ':') ||
            !format_take_number(cursor, 2, &offset_minute))
            return false;
    }
    if (hour > 23 || minute > 59 || second > 60 || offset_hour > 23 || offset_minute > 59) return false;
    if (second < 60) return true;
    int utc = (hour * 60 + minute - sign * (offset_hour * 60 + offset_minute) + 2880) % 1440;
    return utc == 23 * 60 + 59;
}

static bool format_is_date(const char *text, size_t length) {
    struct cursor cursor = {text, text + length};
    return format_take_date(&cursor) && cursor.at == cursor.end;
}

static bool format_is_time(const char *text, size_t length) {
    struct cursor cursor = {text, text + length};
    return format_take_time(&cursor) && cursor.at == cursor.end;
}

static bool format_is_date_time(const char *text, size_t length) {
    struct cursor cursor = {text, text + length};
    return format_take_date(&cursor) && format_take_any_case(&cursor, 't') && format_take_time(&cursor) &&
           cursor.at == cursor.end;
}

/* Reads consecutive units of `units` in order. Returns their number, or -1. */
static int take_units(struct cursor *cursor, const char *units) {
    int count = 0;
    while (cursor->at < cursor->end && format_is_digit(*cursor->at)) {
        format_take_digits(cursor);
        const char *unit = cursor->at < cursor->end && *cursor->at ? strchr(units, *cursor->at) : NULL;
        if (!unit || (count && unit != units)) return -1;
        units = unit + 1;
        cursor->at++;
        count++;
    }
    return count;
}

static bool is_duration(const char *text, size_t length) {
    struct cursor cursor = {text, text + length};
    if (!format_take(&cursor, 'P')) return false;
    struct cursor weeks = cursor;
    if (format_take_digits(&weeks) && format_take(&weeks, 'W')) return weeks.at == weeks.end;
    int date = take_units(&cursor, "YMD"), time = 0;
    if (format_take(&cursor, 'T')) {
        time = take_units(&cursor, "HMS");
        if (time < 1) return false;
    }
    return date >= 0 && date + time > 0 && cursor.at == cursor.end;
}

/* ---- Hosts and mail -------------------------------------------------------------------------------------------- */

static bool is_ipv4(const char *text, size_t length) {
    struct cursor cursor = {text, text + length};
    for (int part = 0; part < 4; part++) {
        if (part && !format_take(&cursor, '.')) return false;
        const char *start = cursor.at;
        size_t digits = format_take_digits(&cursor);
        if (digits == 0 || digits > 3 || (digits > 1 && *start == '0')) return false;
        int number = 0;
        for (size_t i = 0; i < digits; i++) number = number * 10 + (start[i] - '0');
        if (number > 255) return false;
    }
    return cursor.at == cursor.end;
}

static bool is_ipv6(const char *text, size_t length) {
    const char *at = text, *end = text + length;
    int groups = 0;
    bool gap = false;
    if (length >= 2 && at[0] == ':' && at[1] == ':') gap = true, at += 2;
    while (at < end) {
        const char *start = at;
        while (at < end && format_is_hex_digit(*at)) at++;
        if (at < end && *at == '.') {
            groups += 2;
            return is_ipv4(start, (size_t)(end - start)) && (gap ? groups < 8 : groups == 8);
        }
        if (at == start || at - start > 4) return false;
        groups++;
        if (at == end) break;
        if (*at++ != ':' || at == end) return false;
        if (*at != ':') continue;
        if (gap) return false;
        gap = true;
        at++;
    }
    return gap ? groups < 8 : groups == 8;
}

static bool is_hostname(const char *text, size_t length) {
    size_t label = 0;
    if (length == 0 || length > 253) return false;
    for (size_t i = 0; i <= length; i++) {
        if (i == length || text[i] == '.') {
            if (label == 0 || label > 63 || text[i - 1] == '-') return false;
            label = 0;
            continue;
        }
        if (!format_is_letter(text[i]) && !format_is_digit(text[i]) && (text[i] != '-' || label == 0)) return false;
        label++;
    }
    return true;
}

static bool is_mail_domain(const char *text, size_t length) {
    if (length < 3 || text[0] != '[') return is_hostname(text, length);
    if (text[length - 1] != ']') return false;
    text++, length -= 2;
    if (length > 5 && memcmp(text, "IPv6:", 5) == 0) return is_ipv6(text + 5, length - 5);
    return is_ipv4(text, length);
}

static bool is_email(const char *text, size_t length) {
    size_t i = 0;
    if (length && text[0] == '"') {
        for (i = 1; i < length && text[i] != '"'; i++) {
            if (text[i] == '\\') i++;
            if (i >= length || text[i] < ' ' || text[i] > '~') return false;
        }
        if (i++ >= length) return false;
    } else {
        for (; i < length && text[i] != '@'; i++) {
            bool dot = text[i] == '.';
            if (dot && (i == 0 || text[i - 1] == '.' || i + 1 == length || text[i + 1] == '@')) return false;
            if (!dot && !format_is_letter(text[i]) && !format_is_digit(text[i]) &&
                !among(text[i], "!#$%&'*+-/=?^_`{|}~"))
                return false;
        }
    }
    return i > 0 && i < length && text[i] == '@' && is_mail_domain(text + i + 1, length - i - 1);
}

/* ---- URIs ------------------------------------------------------------------------------------------------------ */

/* Checks the characters of a URI part: unreserved, sub-delims, those in `more`, and %XX. */
static bool uri_characters(const char *at, const char *end, const char *more) {
    for (; at < end; at++) {
        if (*at == '%') {
            if (end - at < 3 || !format_is_hex_digit(at[1]) || !format_is_hex_digit(at[2])) return false;
            at += 2;
        } else if (!format_is_letter(*at) && !format_is_digit(*at) && !among(*at, "-._~!$&'()*+,;=") &&
                   !among(*at, more)) {
            return false;
        }
    }
    return true;
}

static const char *format_lookup(const char *at, const char *end, const char *set) {
    while (at < end && !among(*at, set)) at++;
    return at;
}

static bool uri_authority(const char *at, const char *end) {
    for (const char *p = at; p < end; p++) {
        if (*p != '@') continue;
        if (!uri_characters(at, p, ":")) return false;
        at = p + 1;
        break;
    }
    if (at < end && *at == '[') {
        const char *close = format_lookup(at, end, "]");
        if (close == end) return false;
        size_t length = (size_t)(close - at - 1);
        bool future = length && (at[1] == 'v' || at[1] == 'V') && uri_characters(at + 1, close, ":");
        if (!future && !is_ipv6(at + 1, length)) return false;
        at = close + 1;
    } else {
        const char *colon = format_lookup(at, end, ":");
        if (!uri_characters(at, colon, "")) return false;
        at = colon;
    }
    if (at == end) return true;
    struct cursor port = {at + 1, end};
    format_take_digits(&port);
    return *at == ':' && port.at == end;
}

static bool uri(const char *at, const char *end, bool absolute) {
    const char *colon = format_lookup(at, end, ":/?#");
    bool scheme = colon < end && *colon == ':';
    if (scheme) {
        if (!format_is_letter(*at)) return false;
        for (; at < colon; at++)
            if (!format_is_letter(*at) && !format_is_digit(*at) && !among(*at, "+-.")) return false;
        at++;
    }
    if (absolute && !scheme) return false;
    if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
        const char *stop = format_lookup(at + 2, end, "/?#");
        if (!uri_authority(at + 2, stop)) return false;
        at = stop;
    }
    const char *stop = format_lookup(at, end, "?#");
    if (!uri_characters(at, stop, ":@/")) return false;
    at = stop;
    if (at < end && *at == '?') {
        stop = format_lookup(at, end, "#");
        if (!uri_characters(at + 1, stop, ":@/?")) return false;
        at = stop;
    }
    return at == end || uri_characters(at + 1, end, ":@/?");
}

static bool is_uri(const char *text, size_t length) { return uri(text, text + length, true); }
static bool is_uri_reference(const char *text, size_t length) { return uri(text, text + length, false); }

/* ---- The rest -------------------------------------------------------------------------------------------------- */

static bool is_uuid(const char *text, size_t length) {
    if (length != 36) return false;
    for (size_t i = 0; i < length; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !format_is_hex_digit(text[i])) return false;
    }
    return true;
}

static bool is_json_pointer(const char *text, size_t length) {
    if (length && text[0] != '/') return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] == '~' && (i + 1 == length || (text[i + 1] != '0' && text[i + 1] != '1'))) return false;
    return true;
}

static bool is_relative_json_pointer(const char *text, size_t length) {
    struct cursor cursor = {text, text + length};
    size_t digits = format_take_digits(&cursor);
    if (digits == 0 || (digits > 1 && text[0] == '0')) return false;
    if (format_take(&cursor, '#')) return cursor.at == cursor.end;
    return is_json_pointer(cursor.at, (size_t)(cursor.end - cursor.at));
}

static bool is_regex(const char *text, size_t length) {
    struct pattern *pattern;
    char reason[1];
    if (!pattern_new(text, length, &pattern, reason, sizeof reason)) return false;
    pattern_free(pattern);
    return true;
}

static const struct {
    const char *name;
    format_fn check;
} formats[] = {
    {"date-time", format_is_date_time},
    {"date", format_is_date},
    {"time", format_is_time},
    {"duration", is_duration},
    {"email", is_email},
    {"hostname", is_hostname},
    {"ipv4", is_ipv4},
    {"ipv6", is_ipv6},
    {"uri", is_uri},
    {"uri-reference", is_uri_reference},
    {"uuid", is_uuid},
    {"json-pointer", is_json_pointer},
    {"relative-json-pointer", is_relative_json_pointer},
    {"regex", is_regex},
};

format_fn format_find(const char *name) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(name, formats[i].name) == 0) return formats[i].check;
    return NULL;
}

bool schema_format_known(const char *name) { return format_find(name) != NULL; }

/*
 * print.c - diagnostics as text with the source line and a caret, and as values.
 *
 * A source line is shown through a window: the whole line if it fits, else the part around the caret, so that a
 * minified file costs no more than any other. Columns are terminal columns: wide characters take two, combining
 * characters none, a tab four. Characters that could affect the terminal are shown as <U+XXXX>.
 */
#include "adl/diagnostic/print.h"
#include "adl/value/json.h"
#include <stdio.h>
#include <string.h>

#define TAB_WIDTH 4u

static const char *const colours[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"}; /* [severity] */
#define BOLD  "\033[1m"
#define BLUE  "\033[1;34m"
#define PLAIN "\033[0m"

static const struct diagnostic_style default_style = {false, 0};

/* ---- Characters on a terminal ---- */

struct range {
    uint32_t first, last;
};

/* Unicode East Asian Wide and Fullwidth characters and emoji, in blocks. */
static const struct range wide_ranges[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x26a1, 0x26a1},   {0x26bd, 0x26be},   {0x2705, 0x2705},   {0x274c, 0x274c},
    {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
    {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

/* Combining marks, joiners and variation selectors. */
static const struct range empty_ranges[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

/* Characters that could move the cursor, hide text or change its direction: C0 without the tab, DEL, C1, and others. */
static const struct range unsafe_ranges[] = {
    {0x00, 0x08},     {0x0a, 0x1f},     {0x7f, 0x9f},     {0x200e, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
};

static bool in_ranges(uint32_t point, const struct range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last) return true;
    return false;
}
#define IN(point, ranges) in_ranges(point, ranges, sizeof(ranges) / sizeof(ranges)[0])

/* Appends the printable form of the first character of `text`, unless `out` is NULL. Returns the character's bytes. */
static size_t show_character(struct buffer *out, const char *text, size_t length, uint32_t *columns) {
    uint32_t point;
    size_t size = utf8_decode(text, length, &point);
    char escape[16];
    if (size == 0) {
        size = 1;
        snprintf(escape, sizeof escape, "<%02X>", (unsigned char)text[0]);
    } else if (point == '\t') {
        snprintf(escape, sizeof escape, "%*s", (int)TAB_WIDTH, "");
    } else if (IN(point, unsafe_ranges)) {
        snprintf(escape, sizeof escape, "<U+%04X>", point);
    } else {
        *columns = point < 0x300 ? 1 : IN(point, empty_ranges) ? 0 : IN(point, wide_ranges) ? 2 : 1;
        if (out) buffer_append(out, text, size);
        return size;
    }
    *columns = (uint32_t)strlen(escape);
    if (out) buffer_text(out, escape);
    return size;
}

void diagnostic_text(struct buffer *out, const char *text) {
    size_t length = strlen(text);
    for (size_t at = 0; at < length;) {
        uint32_t columns;
        if (text[at] == '\n') {
            buffer_char(out, ' ');
            at++;
        } else {
            at += show_character(out, text + at, length - at, &columns);
        }
    }
}

/* ---- A source line ---- */

static void paint(struct buffer *out, const struct diagnostic_style *style, const char *colour) {
    if (style->colour) buffer_text(out, colour);
}

static uint32_t width_of(const char *text, size_t from, size_t to, uint32_t most) {
    uint32_t total = 0;
    while (from < to && total <= most) {
        uint32_t columns;
        from += show_character(NULL, text + from, to - from, &columns);
        total += columns;
    }
    return total;
}

/*
 * The start of the window: the start of the line if the text up to the caret takes less than three quarters of the
 * window.
 */
static size_t window_start(const char *line, size_t caret, uint32_t width) {
    uint32_t used = width_of(line, 0, caret < 4 * (size_t)width ? caret : 4 * (size_t)width, width);
    if (caret < 4 * (size_t)width && used <= width * 3 / 4) return 0;
    size_t at = caret;
    uint32_t room = width / 2;
    while (at > 0) {
        size_t before = at - 1;
        while (before > 0 && ((unsigned char)line[before] & 0xc0) == 0x80) before--;
        uint32_t columns = width_of(line, before, at, width);
        if (columns > room) break;
        room -= columns;
        at = before;
    }
    return at;
}

static void gutter(struct buffer *out, const struct diagnostic_style *style, const char *number, int width) {
    paint(out, style, BLUE);
    buffer_format(out, "%*s |", width, number);
    paint(out, style, PLAIN);
}

/* Prints the line of span.start and underlines the part of the span in that line. */
static void print_line(struct buffer *out, const struct source *source, struct span span, const char *colour,
                       const struct diagnostic_style *style) {
    uint32_t width = style->width ? style->width : DIAGNOSTIC_WIDTH;
    uint32_t number = source_locate(source, span.start).line;
    struct span line = source_line_span(source, number);
    const char *text = source_text(source) + line.start;
    size_t length = line.end - line.start;
    size_t from = span.start > line.start ? span.start - line.start : 0;
    size_t to = span.end > line.start ? span.end - line.start : 0;
    if (from > length) from = length;
    if (to > length) to = length;
    if (to < from) to = from;
    char digits[16];
    snprintf(digits, sizeof digits, "%u", number + 1);
    int margin = strlen(digits) > 4 ? (int)strlen(digits) : 4;
    gutter(out, style, digits, margin);

    size_t at = window_start(text, from, width);
    uint32_t used = 0, before = 0, under = 0;
    buffer_text(out, length > 0 ? " " : "");
    if (at > 0) {
        buffer_text(out, "…");
        before = used = 1;
    }
    while (at < length) {
        uint32_t columns;
        size_t size = show_character(NULL, text + at, length - at, &columns);
        if (used + columns > width) {
            buffer_text(out, "…");
            break;
        }
        show_character(out, text + at, length - at, &columns);
        if (at < from)
            before += columns;
        else if (at < to)
            under += columns;
        used += columns;
        at += size;
    }
    buffer_char(out, '\n');
    gutter(out, style, "", margin);
    buffer_format(out, " %*s", (int)before, "");
    paint(out, style, colour);
    buffer_char(out, '^');
    for (uint32_t i = 1; i < under; i++) buffer_char(out, '~');
    paint(out, style, PLAIN);
    buffer_char(out, '\n');
}

/* ---- A diagnostic ---- */

static void print_head(struct buffer *out, const struct source *source, struct span span, const char *colour,
                       const char *label, const char *message, const struct diagnostic_style *style) {
    if (source) {
        struct source_place place = source_locate(source, span.start);
        paint(out, style, BOLD);
        diagnostic_text(out, source_name(source));
        buffer_format(out, ":%u:%u: ", place.line + 1, place.point + 1);
        paint(out, style, PLAIN);
    }
    paint(out, style, colour);
    buffer_text(out, label);
    paint(out, style, PLAIN);
    buffer_text(out, ": ");
    diagnostic_text(out, message);
    buffer_char(out, '\n');
    if (source && source_view(source) == SOURCE_SHOWN) print_line(out, source, span, colour, style);
}

static void print_help(struct buffer *out, const char *text, const struct diagnostic_style *style) {
    paint(out, style, BLUE);
    buffer_text(out, "   = help: ");
    paint(out, style, PLAIN);
    diagnostic_text(out, text);
    buffer_char(out, '\n');
}

void diagnostic_print(struct buffer *out, const struct diagnostic *diagnostic, const struct diagnostic_style *style) {
    if (!style) style = &default_style;
    char label[64];
    snprintf(label, sizeof label, "%s[%s]", diagnostic_severity_name(diagnostic->severity),
             diagnostic_info(diagnostic->code)->code);
    print_head(out, diagnostic->source, diagnostic->span, colours[diagnostic->severity], label, diagnostic->message,
               style);
    for (size_t i = 0; i < diagnostic->related_count; i++) {
        const struct diagnostic_related *related = &diagnostic->related[i];
        print_head(out, related->source, related->span, BLUE, "note", related->message, style);
    }
    if (diagnostic->suggestion)
        print_help(out, diagnostic->suggestion, style);
    else if (diagnostic->fix)
        print_help(out, diagnostic->fix->title, style);
}

void diagnostics_print(struct buffer *out, const struct diagnostics *found, const struct diagnostic_style *style) {
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        diagnostic_print(out, diagnostics_at(found, i), style);
        buffer_char(out, '\n');
    }
}

/* ---- As values ---- */

/* Messages quote documents, which may be malformed UTF-8 (ADL-E003); malformed bytes become U+FFFD. */
static tn_value text_value(const char *text) {
    size_t length = strlen(text);
    tn_value value = value_string(text, length);
    if (value) return value;
    struct buffer valid;
    buffer_init(&valid, SIZE_MAX);
    for (size_t at = 0; at < length;) {
        uint32_t point;
        size_t size = utf8_decode(text + at, length - at, &point);
        if (size > 0)
            buffer_append(&valid, text + at, size);
        else
            buffer_text(&valid, "\xEF\xBF\xBD");
        at += size > 0 ? size : 1;
    }
    value = value_string(buffer_cstr(&valid), valid.length);
    buffer_finish(&valid);
    return value;
}

static tn_value place_value(const struct source *source, uint32_t offset) {
    struct source_place place = source_locate(source, offset);
    tn_value value = value_set_take(value_object(), "line", value_int(place.line));
    return value_set_take(value, "character", value_int(place.utf16));
}

static tn_value range_value(const struct source *source, struct span span) {
    tn_value value = value_set_take(value_object(), "start", place_value(source, span.start));
    return value_set_take(value, "end", place_value(source, span.end));
}

static tn_value set_place_take(tn_value object, const struct source *source, struct span span) {
    if (!source) return object;
    object = value_set_take(object, "file", text_value(source_name(source)));
    return value_set_take(object, "range", range_value(source, span));
}

static tn_value fix_value(const struct source *source, const struct diagnostic_fix *fix) {
    tn_value value = value_set_take(value_object(), "title", text_value(fix->title));
    if (source) value = value_set_take(value, "range", range_value(source, fix->span));
    return value_set_take(value, "replacement", text_value(fix->replacement));
}

static tn_value related_value(const struct diagnostic *diagnostic) {
    tn_value list = value_array();
    for (size_t i = 0; i < diagnostic->related_count; i++) {
        const struct diagnostic_related *related = &diagnostic->related[i];
        tn_value item = value_set_take(value_object(), "message", text_value(related->message));
        list = value_push_take(list, set_place_take(item, related->source, related->span));
    }
    return list;
}

static tn_value diagnostic_to_value(const struct diagnostic *diagnostic) {
    tn_value value = value_set_take(value_object(), "code", value_text(diagnostic_info(diagnostic->code)->code));
    value = value_set_take(value, "severity", value_text(diagnostic_severity_name(diagnostic->severity)));
    value = value_set_take(value, "message", text_value(diagnostic->message));
    value = set_place_take(value, diagnostic->source, diagnostic->span);
    if (diagnostic->suggestion) value = value_set_take(value, "suggestion", text_value(diagnostic->suggestion));
    if (diagnostic->related_count > 0) value = value_set_take(value, "related", related_value(diagnostic));
    if (diagnostic->fix) value = value_set_take(value, "fix", fix_value(diagnostic->source, diagnostic->fix));
    return value;
}

tn_value diagnostics_to_value(const struct diagnostics *found) {
    tn_value list = value_array();
    for (size_t i = 0; i < diagnostics_count(found); i++)
        list = value_push_take(list, diagnostic_to_value(diagnostics_at(found, i)));
    return list;
}

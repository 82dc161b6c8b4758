/*
 * print.c - diagnostics as text with the source line and a caret, and as values.
 *
 * A source line is shown through a window: the whole line if it fits, else the part around the caret, so that a
 * minified file costs no more than any other. Columns are terminal columns (adl/value/terminal.h).
 */
#include "adl/diagnostic/print.h"
#include "adl/value/json.h"
#include "adl/value/terminal.h"
#include <stdio.h>
#include <string.h>

static const char *const colours[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"}; /* [severity] */
#define BOLD  "\033[1m"
#define BLUE  "\033[1;34m"
#define PLAIN "\033[0m"

static const struct diagnostic_style default_style = {false, 0};

void diagnostic_text(struct buffer *out, const char *text) { terminal_text(out, text, strlen(text), TERMINAL_LINE); }

/* ---- A source line ---- */

static void paint(struct buffer *out, const struct diagnostic_style *style, const char *colour) {
    if (style->colour) buffer_text(out, colour);
}

static uint32_t width_of(const char *text, size_t from, size_t to, uint32_t most) {
    uint32_t total = 0;
    while (from < to && total <= most) {
        uint32_t columns;
        from += terminal_character(NULL, text + from, to - from, &columns);
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
        size_t size = terminal_character(NULL, text + at, length - at, &columns);
        if (used + columns > width) {
            buffer_text(out, "…");
            break;
        }
        terminal_character(out, text + at, length - at, &columns);
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

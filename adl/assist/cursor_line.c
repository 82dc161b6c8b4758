/*
 * cursor_line.c - one line of a YAML text in block style: its dashes and its key.
 */
#include "adl/assist/cursor_internal.h"
#include <string.h>

void line_measure(const struct source *source, uint32_t number, struct line *line) {
    const char *text = source_text(source);
    struct span span = source_line_span(source, number);
    line->start = line->content = span.start;
    line->end = span.end;
    line->count = 0;
    while (line->content < line->end && (text[line->content] == ' ' || text[line->content] == '\t')) line->content++;
    line->tab = memchr(text + line->start, '\t', line->content - line->start) != NULL;
}

bool line_is_empty(const struct source *source, const struct line *line) {
    const char *text = source_text(source) + line->content;
    uint32_t length = line->end - line->content;
    if (length == 0 || *text == '#') return true;
    if (line->content != line->start) return false;
    return *text == '%' || (length >= 3 && (memcmp(text, "---", 3) == 0 || memcmp(text, "...", 3) == 0));
}

bool line_is_deeper(const struct source *source, uint32_t number, uint32_t column) {
    struct span span = source_line_span(source, number);
    const char *text = source_text(source) + span.start;
    uint32_t length = span.end - span.start, at = 0;
    while (at < length && at <= column && text[at] == ' ') at++;
    return at > column;
}

uint32_t cursor_line_of(const struct source *source, uint32_t offset) {
    uint32_t low = 0, high = source_lines(source) - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (source_line_span(source, middle).start <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Most strings have no escapes, so their end is the next quote. */
static uint32_t next_of(const char *text, uint32_t from, uint32_t end, char c) {
    const char *found = memchr(text + from, c, end - from);
    return found ? (uint32_t)(found - text) : end;
}

uint32_t quote_end(const char *text, uint32_t from, uint32_t end) {
    char quote = text[from];
    uint32_t at = from + 1;
    while (at < end) {
        uint32_t close = next_of(text, at, end, quote);
        uint32_t escape = quote == '"' ? next_of(text, at, close, '\\') : close;
        if (escape < close) {
            at = escape + 2;
        } else if (close < end && quote == '\'' && close + 1 < end && text[close + 1] == quote) {
            at = close + 2;
        } else {
            return close;
        }
    }
    return end;
}

uint32_t line_plain_end(const struct source *source, uint32_t from, uint32_t end, uint32_t *comment) {
    const char *text = source_text(source);
    uint32_t at = from;
    while (at < end && !(text[at] == '#' && (at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t'))) at++;
    *comment = at;
    while (at > from && (text[at - 1] == ' ' || text[at - 1] == '\t')) at--;
    return at;
}

static uint32_t skip_spaces(const char *text, uint32_t at, uint32_t end) {
    while (at < end && (text[at] == ' ' || text[at] == '\t')) at++;
    return at;
}

uint32_t anchor_end(const char *text, uint32_t at, uint32_t end) {
    do at++;
    while (at < end && !strchr(" \t\r\n,[]{}", text[at]));
    return at < end ? at : end;
}

/* Moves past `&name `. */
static uint32_t line_skip_anchor(const char *text, uint32_t at, uint32_t end, struct span *anchor) {
    if (at >= end || text[at] != '&') return at;
    *anchor = (struct span){at, anchor_end(text, at, end)};
    return skip_spaces(text, anchor->end, end);
}

static bool is_colon(const char *text, uint32_t at, uint32_t end) {
    return text[at] == ':' && (at + 1 == end || text[at + 1] == ' ' || text[at + 1] == '\t');
}

/* Finds the end of a key at `from`, and its colon. Returns false when the text there is not a key. */
static bool key_at(const char *text, uint32_t from, uint32_t end, uint32_t *key_end, uint32_t *colon) {
    if (from >= end || strchr("[]{},#|>%@`*!?", text[from])) return false;
    if (text[from] == '"' || text[from] == '\'') {
        uint32_t close = quote_end(text, from, end);
        if (close == end) return false;
        *key_end = close + 1;
        *colon = skip_spaces(text, *key_end, end);
        return *colon < end && text[*colon] == ':';
    }
    for (uint32_t i = from; i < end; i++) {
        if (text[i] == '#' && i > from && text[i - 1] == ' ') return false;
        if (!is_colon(text, i, end)) continue;
        *colon = *key_end = i;
        while (*key_end > from && text[*key_end - 1] == ' ') (*key_end)--;
        return *key_end > from;
    }
    return false;
}

void line_read(const struct source *source, uint32_t number, struct line *line) {
    const char *text = source_text(source);
    line_measure(source, number, line);
    uint32_t at = line->content, end = line->end;
    while (at < end && text[at] == '-' && (at + 1 == end || strchr(" \t", text[at + 1])) && line->count < OPENERS_MAX) {
        struct opener *opener = &line->openers[line->count++];
        *opener = (struct opener){.dash = true, .column = at - line->start, .span = {at, at + 1}};
        opener->value = line_skip_anchor(text, skip_spaces(text, at + 1, end), end, &opener->anchor);
        at = opener->value;
    }
    uint32_t key_end, colon;
    if (line->count == OPENERS_MAX || !key_at(text, at, end, &key_end, &colon)) return;
    struct opener *opener = &line->openers[line->count++];
    *opener = (struct opener){.column = at - line->start, .span = {at, key_end}};
    opener->value = line_skip_anchor(text, skip_spaces(text, colon + 1, end), end, &opener->anchor);
}

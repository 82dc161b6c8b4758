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
}

bool line_is_empty(const struct source *source, const struct line *line) {
    const char *text = source_text(source) + line->content;
    uint32_t length = line->end - line->content;
    if (length == 0 || *text == '#') return true;
    if (line->content != line->start) return false;
    return *text == '%' || (length >= 3 && (memcmp(text, "---", 3) == 0 || memcmp(text, "...", 3) == 0));
}

uint32_t quote_end(const char *text, uint32_t from, uint32_t end) {
    char quote = text[from];
    for (uint32_t i = from + 1; i < end; i++) {
        if (quote == '"' && text[i] == '\\')
            i++;
        else if (text[i] == quote && quote == '\'' && i + 1 < end && text[i + 1] == quote)
            i++;
        else if (text[i] == quote)
            return i;
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

/* Moves past `&name `. */
static uint32_t skip_anchor(const char *text, uint32_t at, uint32_t end) {
    if (at >= end || text[at] != '&') return at;
    uint32_t behind = at;
    while (behind < end && text[behind] != ' ') behind++;
    return skip_spaces(text, behind, end);
}

static bool is_colon(const char *text, uint32_t at, uint32_t end) {
    return text[at] == ':' && (at + 1 == end || text[at + 1] == ' ' || text[at + 1] == '\t');
}

/* Finds the end of a key at `from`, and its colon. Returns false if there is no key. */
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
    while (at < end && text[at] == '-' && (at + 1 == end || text[at + 1] == ' ') && line->count < OPENERS_MAX) {
        uint32_t behind = skip_anchor(text, skip_spaces(text, at + 1, end), end);
        line->openers[line->count++] = (struct opener){true, at - line->start, {at, at + 1}, behind};
        at = behind;
    }
    uint32_t key_end, colon;
    if (line->count == OPENERS_MAX || !key_at(text, at, end, &key_end, &colon)) return;
    uint32_t value = skip_anchor(text, skip_spaces(text, colon + 1, end), end);
    line->openers[line->count++] = (struct opener){false, at - line->start, {at, key_end}, value};
}

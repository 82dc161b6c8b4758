/*
 * cursor_text.c - the other keys of a mapping, and the text of scalars.
 */
#include "adl/assist/cursor_internal.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <string.h>

/* ---- Siblings ---- */

struct siblings {
    const struct cursor *cursor;
    struct span self;
    bool (*visit)(void *user, const struct cursor_entry *entry);
    void *user;
};

static bool visit_unless_self(void *user, const struct cursor_entry *entry) {
    const struct siblings *siblings = user;
    if (entry->key.start >= siblings->self.start && entry->key.end <= siblings->self.end &&
        entry->key.start <= siblings->self.end)
        return true;
    return siblings->visit(siblings->user, entry);
}

/* Visits the key at `column` of one line. Returns false at the end of the mapping, or if the visitor stops. */
static bool sibling_line(struct siblings *siblings, uint32_t number, uint32_t column) {
    const struct source *source = siblings->cursor->source;
    struct line line;
    if (line_is_deeper(source, number, column)) return true;
    line_read(source, number, &line);
    uint32_t indent = line.content - line.start;
    if (indent > column || line_is_empty(source, &line)) return true;
    const char *text = source_text(source);
    for (uint32_t i = 0; i < line.count; i++) {
        const struct opener *opener = &line.openers[i];
        if (opener->dash || opener->column != column) continue;
        bool quoted = text[opener->span.start] == '"' || text[opener->span.start] == '\'';
        const struct cursor_entry entry = {{opener->span.start + quoted, opener->span.end - quoted}, opener->value};
        if (!visit_unless_self(siblings, &entry)) return false;
    }
    return indent == column;
}

static void block_siblings(struct siblings *siblings, uint32_t number, uint32_t column) {
    uint32_t count = source_lines(siblings->cursor->source);
    for (uint32_t i = number; i < count; i++) {
        struct line line;
        line_measure(siblings->cursor->source, i, &line);
        bool start = i > number && line.content < line.end && line.content - line.start < column;
        if (start && !line_is_empty(siblings->cursor->source, &line)) break; /* the next item */
        if (!sibling_line(siblings, i, column) && i > number) break;
    }
    struct line line;
    line_read(siblings->cursor->source, number, &line);
    if (line.content - line.start < column && line.count > 0) return; /* the mapping starts on this line */
    while (number-- > 0)
        if (!sibling_line(siblings, number, column)) return;
}

void cursor_each_sibling(const struct cursor *cursor, uint32_t at,
                         bool (*visit)(void *user, const struct cursor_entry *entry), void *user) {
    if (at >= cursor->depth || !cursor->steps[at].key) return;
    const struct cursor_step *step = &cursor->steps[at];
    struct siblings siblings = {cursor, step->span, visit, user};
    if (step->flow)
        flow_each_key(cursor->source, cursor->json, step->open, visit_unless_self, &siblings);
    else
        block_siblings(&siblings, step->line, step->column);
}

struct wanted_sibling {
    const char *text, *key;
    uint32_t value;
    bool found;
};

static bool is_wanted(void *user, const struct cursor_entry *entry) {
    struct wanted_sibling *wanted = user;
    size_t length = entry->key.end - entry->key.start;
    if (strlen(wanted->key) != length || memcmp(wanted->text + entry->key.start, wanted->key, length) != 0) return true;
    wanted->value = entry->value;
    wanted->found = true;
    return false;
}

bool cursor_sibling(const struct cursor *cursor, uint32_t at, const char *key, uint32_t *value) {
    struct wanted_sibling wanted = {source_text(cursor->source), key, 0, false};
    cursor_each_sibling(cursor, at, is_wanted, &wanted);
    if (wanted.found) *value = wanted.value;
    return wanted.found;
}

/* The item that starts on a line. Returns false at the end of the list, or if the visitor stops. */
static bool item_line(const struct source *source, uint32_t number, uint32_t column,
                      bool (*visit)(void *user, uint32_t value), void *user) {
    struct line line;
    if (line_is_deeper(source, number, column)) return true;
    line_read(source, number, &line);
    if (line_is_empty(source, &line)) return true;
    bool item = line.count > 0 && line.openers[0].dash && line.openers[0].column == column;
    return item && visit(user, line.openers[0].value);
}

void cursor_each_item(const struct cursor *cursor, uint32_t at, bool (*visit)(void *user, uint32_t value), void *user) {
    if (at >= cursor->depth || cursor->steps[at].key) return;
    const struct cursor_step *step = &cursor->steps[at];
    if (step->flow) {
        flow_each_item(cursor->source, cursor->json, step->open, visit, user);
        return;
    }
    for (uint32_t i = step->line; i-- > 0;)
        if (!item_line(cursor->source, i, step->column, visit, user)) break;
    for (uint32_t i = step->line + 1; i < source_lines(cursor->source); i++)
        if (!item_line(cursor->source, i, step->column, visit, user)) break;
}

/* ---- Text ---- */

static void text_add(struct cursor_text *out, const char *bytes, size_t length, uint32_t at) {
    for (size_t i = 0; i < length; i++) {
        out->text[out->length] = bytes[i];
        out->at[out->length++] = at;
    }
}

static uint32_t hexadecimal(const char *text, uint32_t count, uint32_t left) {
    uint32_t code = 0;
    for (uint32_t i = 0; i < count; i++) {
        char c = i < left ? text[i] : '0';
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') : ((uint32_t)c | 32u) - 'a' + 10u;
        code = code * 16 + (digit & 15u);
    }
    return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? code : 0xfffd;
}

/* Decodes the escape at `at`, a backslash. Returns the number of its bytes. An escape never decodes to more bytes. */
static uint32_t text_escape(struct cursor_text *out, const char *text, uint32_t at, uint32_t end) {
    static const char from[] = "0abtnvfre\"/\\N_LP", to[] = "\0\a\b\t\n\v\f\r\x1b\"/\\\n   ";
    if (at + 1 >= end) {
        text_add(out, "\\", 1, at);
        return 1;
    }
    char c = text[at + 1], utf8[4];
    uint32_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0, left = end - at - 2;
    if (digits > 0) {
        size_t length = utf8_encode(hexadecimal(text + at + 2, digits, left), utf8);
        text_add(out, utf8, length, at);
        return 2 + (digits < left ? digits : left);
    }
    const char *found = memchr(from, c, sizeof from - 1);
    text_add(out, found ? &to[found - from] : &c, 1, at);
    return 2;
}

static void text_decode(const struct source *source, struct span inner, enum cursor_quote quote,
                        struct cursor_text *out) {
    const char *text = source_text(source);
    uint32_t end = inner.end;
    if (end - inner.start > CURSOR_SCALAR_MAX) end = inner.start + CURSOR_SCALAR_MAX;
    out->text = mem_alloc((size_t)(end - inner.start) + 1);
    out->at = mem_array(NULL, (size_t)(end - inner.start) + 1, sizeof *out->at);
    out->length = 0;
    for (uint32_t i = inner.start; i < end;) {
        if (quote == CURSOR_DOUBLE && text[i] == '\\') {
            i += text_escape(out, text, i, end);
        } else if (quote == CURSOR_SINGLE && text[i] == '\'' && i + 1 < end && text[i + 1] == '\'') {
            text_add(out, "'", 1, i);
            i += 2;
        } else {
            text_add(out, text + i, 1, i);
            i++;
        }
    }
    out->text[out->length] = '\0';
    out->at[out->length] = end;
}

void cursor_text(const struct cursor *cursor, struct cursor_text *out) {
    text_decode(cursor->source, cursor->inner, cursor->quote, out);
}

void cursor_text_at(const struct source *source, uint32_t value, bool flow, struct cursor_text *out) {
    const char *text = source_text(source);
    struct span line = source_line_span(source, cursor_line_of(source, value));
    uint32_t end = line.end > value ? line.end : value, comment;
    char first = value < end ? text[value] : '#';
    enum cursor_quote quote = first == '"' ? CURSOR_DOUBLE : first == '\'' ? CURSOR_SINGLE : CURSOR_PLAIN;
    struct span inner = {value, value};
    if (quote != CURSOR_PLAIN)
        inner = (struct span){value + 1, quote_end(text, value, end)};
    else if (!strchr("#[]{}|>*", first))
        inner.end = line_plain_end(source, value, end, &comment);
    for (uint32_t i = inner.start; flow && quote == CURSOR_PLAIN && i < inner.end; i++)
        if (strchr(",[]{}", text[i])) inner.end = i;
    text_decode(source, inner, quote, out);
}

void cursor_text_finish(struct cursor_text *text) {
    mem_free(text->text);
    mem_free(text->at);
    *text = (struct cursor_text){0};
}

size_t cursor_text_index(const struct cursor_text *text, uint32_t offset) {
    size_t low = 0, high = text->length;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (text->at[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * place.c - walks the source of a scalar and its value in parallel.
 *
 * The readers have accepted the scalar already, so this only has to stay in step with them: an escape is one character
 * of the value; a line end with the indentation around it is a blank, a line end, or nothing. If source and value
 * disagree (an unforeseen case), the walk fails and the whole scalar is reported.
 */
#include "adl/document/place.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include <stdbool.h>
#include <string.h>

struct walk {
    const char *source, *source_end; /* the rest of each */
    const char *text, *text_end;
    char quote; /* '"', '\'' or 0 */
};

static bool place_is_blank(char character) { return character == ' ' || character == '\t'; }
static bool is_break(char character) { return character == '\n' || character == '\r'; }

/* Returns the length of the escape at the current position, for YAML and JSON. */
static size_t escape_length(const struct walk *walk) {
    size_t left = (size_t)(walk->source_end - walk->source);
    if (left < 2) return left;
    switch (walk->source[1]) {
    case 'x': return 4;
    case 'U': return 10;
    case 'u': {
        bool high = left >= 12 && (walk->source[2] | 0x20) == 'd' && strchr("89abAB", walk->source[3]) != NULL;
        return high && walk->source[6] == '\\' && walk->source[7] == 'u' ? 12 : 6;
    }
    default: return 2;
    }
}

static bool skip_escape(struct walk *walk) {
    if (walk->source + 1 < walk->source_end && is_break(walk->source[1])) { /* a continued line: nothing in the value */
        walk->source++;
        while (walk->source < walk->source_end && (place_is_blank(*walk->source) || is_break(*walk->source)))
            walk->source++;
        return true;
    }
    size_t length = escape_length(walk);
    uint32_t code_point;
    size_t size = utf8_decode(walk->text, (size_t)(walk->text_end - walk->text), &code_point);
    if (length > (size_t)(walk->source_end - walk->source) || size == 0) return false;
    walk->source += length;
    walk->text += size;
    return true;
}

/* Skips a run of blanks with a line end, which is a blank, line ends, or nothing in the value. */
static bool skip_fold(struct walk *walk) {
    const char *end = walk->source;
    bool line_end = false;
    for (; end < walk->source_end && (place_is_blank(*end) || is_break(*end)); end++) line_end |= is_break(*end);
    if (!line_end) return false;
    walk->source = end;
    while (walk->text < walk->text_end && (place_is_blank(*walk->text) || *walk->text == '\n')) walk->text++;
    return true;
}

/* Moves over one character of the value, or one thing between two characters. Returns false if the two disagree. */
static bool place_step(struct walk *walk) {
    if (walk->source >= walk->source_end) return false;
    char here = *walk->source;
    if (walk->quote == '"' && here == '\\') return skip_escape(walk);
    if (walk->quote == '\'' && here == '\'') {
        walk->source += 2;
        walk->text++;
        return true;
    }
    if ((place_is_blank(here) || is_break(here)) && skip_fold(walk)) return true;
    if (here != *walk->text) return false;
    walk->source++;
    walk->text++;
    return true;
}

static bool at_continued_line(const struct walk *walk) {
    return walk->quote == '"' && walk->source + 1 < walk->source_end && *walk->source == '\\' &&
           is_break(walk->source[1]);
}

/* ---- A cursor in a scalar ---- */

static void cursor_restart(struct place_cursor *cursor) {
    cursor->source = cursor->start;
    cursor->at = 0;
}

void place_cursor_init(struct place_cursor *cursor, const struct source *source, const struct tree_node *scalar,
                       const char *text, size_t length) {
    const char *base = source_text(source), *end = base + scalar->span.end, *start = base + scalar->span.start;
    *cursor = (struct place_cursor){.base = base, .text = text, .length = length, .whole = scalar->span, .end = end};
    if (start < end && (*start == '"' || *start == '\'')) {
        cursor->quote = *start++;
        cursor->end--;
    } else if (start < end && scalar->style == TREE_BLOCK) { /* skip `|` or `>` up to the end of that line */
        while (start < end && !is_break(*start)) start++;
        while (start < end && (place_is_blank(*start) || is_break(*start))) start++;
    }
    cursor->start = start;
    cursor->same = cursor->end >= start && (size_t)(cursor->end - start) == length && memcmp(start, text, length) == 0;
    cursor_restart(cursor);
}

/* Moves to the byte `offset` of the text, and returns its place in the source, or UINT32_MAX. */
static uint32_t cursor_move(struct place_cursor *cursor, size_t offset) {
    if (offset < cursor->at) cursor_restart(cursor);
    struct walk walk = {cursor->source, cursor->end, cursor->text + cursor->at, cursor->text + cursor->length,
                        cursor->quote};
    while (walk.text < cursor->text + offset)
        if (!place_step(&walk)) return UINT32_MAX;
    if (at_continued_line(&walk)) skip_escape(&walk);
    cursor->source = walk.source;
    cursor->at = (size_t)(walk.text - cursor->text);
    return (uint32_t)(walk.source - cursor->base);
}

/* The end in the source of the character at the byte `last` of the text, which the cursor is at. */
static uint32_t cursor_end(const struct place_cursor *cursor, size_t end, uint32_t from) {
    struct walk walk = {cursor->base + from, cursor->end, cursor->text + cursor->at, cursor->text + cursor->length,
                        cursor->quote};
    while (walk.text < cursor->text + end && place_step(&walk)) from = (uint32_t)(walk.source - cursor->base);
    return from;
}

struct span place_cursor_find(struct place_cursor *cursor, struct span part) {
    struct span whole = cursor->whole;
    cursor->failed = true;
    if (whole.start >= whole.end || part.start > part.end || part.end > cursor->length) return whole;
    if (cursor->same) {
        uint32_t start = (uint32_t)(cursor->start - cursor->base);
        cursor->failed = false;
        return (struct span){start + part.start, start + part.end};
    }
    size_t last = part.end; /* start of the last character, whose source may be longer */
    if (last > part.start) last--;
    while (last > part.start && ((unsigned char)cursor->text[last] & 0xc0) == 0x80) last--;
    uint32_t start = cursor_move(cursor, part.start);
    struct place_cursor ahead = *cursor; /* the next part may start in this one */
    uint32_t end = cursor_move(&ahead, last);
    if (start == UINT32_MAX || end == UINT32_MAX) return whole;
    cursor->failed = false;
    if (part.end > part.start) end = cursor_end(&ahead, part.end, end);
    return (struct span){start, end > whole.end ? whole.end : end};
}

struct span place_in_scalar(const struct source *source, const struct tree_node *scalar, const char *text,
                            size_t length, struct span part) {
    struct place_cursor cursor;
    place_cursor_init(&cursor, source, scalar, text, length);
    return place_cursor_find(&cursor, part);
}

struct span place_in_quotes(const struct source *source, struct span span) {
    const char *text = source_text(source);
    bool quoted = span.end >= span.start + 2 && (text[span.start] == '"' || text[span.start] == '\'');
    return quoted ? (struct span){span.start + 1, span.end - 1} : span;
}

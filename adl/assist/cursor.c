/*
 * cursor.c - finds the place of an offset in block style, from the indentation of the lines above it.
 *
 * The walk starts at the line of the cursor. Each line above it that starts further left is a parent; a line that
 * starts at the same column is another key or item of the same mapping or list; every other line belongs to those. A
 * parent whose value is a block scalar, an open bracket or an open quote ends the guess: then the cursor is inside of
 * that value, and the steps found so far were only text.
 */
#include "adl/assist/cursor_internal.h"
#include "adl/tree/tree.h"
#include <string.h>

/* The state of a walk, from the cursor outwards. */
struct walk {
    struct cursor *cursor;
    struct cursor_step steps[CURSOR_DEPTH_MAX]; /* innermost first */
    uint32_t count;
    uint32_t column;         /* of the outermost construct so far */
    bool dash;               /* it is a dash */
    bool blank;              /* nothing is written yet, so it may be either */
    bool word;               /* only a word is written, which may become a key */
    bool sibling;            /* a key at the column of the blank or the word was found … */
    uint32_t sibling_column; /* … which is this one */
    bool tabs;               /* the line of the cursor is indented with a tab, as others then are */
    bool deep;               /* more steps than CURSOR_DEPTH_MAX */
    bool inside;             /* the cursor is filled: it is inside the value of a parent */
};

bool cursor_push(struct cursor *cursor, struct cursor_step step) {
    if (cursor->depth == CURSOR_DEPTH_MAX) return false;
    cursor->steps[cursor->depth++] = step;
    return true;
}

static void walk_push(struct walk *walk, const struct opener *opener, uint32_t line) {
    struct cursor_step step = {.span = opener->span, .line = line, .column = opener->column};
    const char *text = source_text(walk->cursor->source) + opener->span.start;
    if (!opener->dash) {
        bool quoted = *text == '"' || *text == '\'';
        step.key = text + quoted;
        step.length = opener->span.end - opener->span.start - 2u * quoted;
    }
    if (walk->count < CURSOR_DEPTH_MAX)
        walk->steps[walk->count++] = step;
    else
        walk->deep = true;
    walk->column = opener->column;
    walk->dash = opener->dash;
    walk->blank = walk->word = false;
}

/* Moves the steps of the walk to the cursor, outermost first. */
static void walk_finish(struct walk *walk) {
    struct cursor *cursor = walk->cursor;
    uint32_t inner = cursor->depth;
    if (walk->deep || inner + walk->count > CURSOR_DEPTH_MAX) {
        cursor->kind = CURSOR_NOTHING;
        return;
    }
    memmove(cursor->steps + walk->count, cursor->steps, inner * sizeof *cursor->steps);
    for (uint32_t i = 0; i < walk->count; i++) cursor->steps[i] = walk->steps[walk->count - 1 - i];
    cursor->depth = inner + walk->count;
}

/* ---- Scalars ---- */

bool cursor_set_alias(struct cursor *cursor, uint32_t at, uint32_t end) {
    uint32_t behind = anchor_end(source_text(cursor->source), at, end);
    if (cursor->offset <= at || cursor->offset > behind) return false;
    cursor->kind = CURSOR_ALIAS;
    cursor->quote = CURSOR_PLAIN;
    cursor->span = (struct span){at, behind};
    cursor->inner = (struct span){at + 1, behind};
    return true;
}

/* Fills the cursor with the plain scalar of a line. */
static void set_plain(struct cursor *cursor, uint32_t from, uint32_t end) {
    uint32_t comment, offset = cursor->offset;
    uint32_t stop = line_plain_end(cursor->source, from, end, &comment);
    if (offset > comment || (offset == comment && comment < end && stop < offset)) return;
    cursor->kind = CURSOR_VALUE;
    cursor->quote = CURSOR_PLAIN;
    cursor->span = cursor->inner = (struct span){from, offset > stop ? offset : stop};
    if (offset < from) cursor->span.start = cursor->inner.start = offset < stop ? from : offset;
}

/* The end of the lines behind line `number` that are deeper than `column`, or blank. */
static uint32_t deeper_end(const struct source *source, uint32_t number, uint32_t column) {
    uint32_t start = source_line_span(source, number).end, end = start;
    for (uint32_t i = number + 1; i < source_lines(source) && end - start < CURSOR_SCALAR_MAX; i++) {
        struct line line;
        line_measure(source, i, &line);
        if (line.content < line.end && line.content - line.start <= column) break;
        end = line.end;
    }
    return end;
}

/* True if the scalar in quotes at `from` contains the cursor; lines that are not deeper than `column` end it. */
static bool set_quoted(struct cursor *cursor, uint32_t from, uint32_t column) {
    const struct source *source = cursor->source;
    const char *text = source_text(source);
    uint32_t number = cursor_line_of(source, from), here = cursor_line_of(source, cursor->offset);
    uint32_t line_end = source_line_span(source, number).end, end = line_end, close = quote_end(text, from, end);
    if (close == end) {
        end = deeper_end(source, number, column);
        close = quote_end(text, from, end);
    }
    bool closed = close < end;
    if (!closed && here == number) close = line_end; /* it is not closed yet: its line is meant */
    if (cursor->offset > close) return false;
    cursor->kind = CURSOR_VALUE;
    cursor->quote = text[from] == '"' ? CURSOR_DOUBLE : CURSOR_SINGLE;
    cursor->inner = (struct span){from + 1, close};
    cursor->span = (struct span){from, closed ? close + 1 : close};
    return true;
}

/* The cursor is in the block scalar whose header is on line `number`; its lines are deeper than `column`. */
static void set_block(struct cursor *cursor, uint32_t number, uint32_t column) {
    const struct source *source = cursor->source;
    uint32_t start = number + 1 < source_lines(source) ? source_line_span(source, number + 1).start : cursor->offset;
    uint32_t end = start, here = cursor_line_of(source, cursor->offset);
    for (uint32_t i = number + 1; i < source_lines(source) && end - start < CURSOR_SCALAR_MAX; i++) {
        struct line line;
        line_measure(source, i, &line);
        bool blank = line.content == line.end;
        if (!blank && line.content - line.start <= column && i != here) break;
        if (!blank || i == here) end = line.end;
    }
    cursor->kind = CURSOR_VALUE;
    cursor->quote = CURSOR_BLOCK;
    cursor->span = cursor->inner = (struct span){start, end > cursor->offset ? end : cursor->offset};
}

/* The cursor is in a further line of the plain scalar at `from`. */
static void set_folded(struct cursor *cursor, uint32_t from, uint32_t number, uint32_t column) {
    uint32_t end = deeper_end(cursor->source, number, column);
    cursor->kind = CURSOR_VALUE;
    cursor->quote = CURSOR_PLAIN;
    cursor->span = cursor->inner = (struct span){from, end > cursor->offset ? end : cursor->offset};
}

/* ---- The value of a parent ---- */

static bool is_header(char c) { return c == '|' || c == '>'; }

/* `opener` is the last one of its line, above the cursor. True if the cursor is inside of its value. */
static bool inside_value(struct walk *walk, const struct opener *opener, const struct line *line, uint32_t number) {
    struct cursor *cursor = walk->cursor;
    const char *text = source_text(cursor->source);
    if (opener->value >= line->end || text[opener->value] == '#') return false;
    char first = text[opener->value];
    struct cursor before = *cursor;
    cursor->kind = CURSOR_NOTHING;
    cursor->depth = 0;
    cursor->fresh = cursor->dash = cursor->space = cursor->colon = cursor->flow = false;
    bool inside = true;
    if (is_header(first))
        set_block(cursor, number, opener->column);
    else if (first == '{' || first == '[')
        inside = flow_find(cursor, opener->value);
    else if (first == '"' || first == '\'')
        inside = set_quoted(cursor, opener->value, opener->column);
    else if (walk->count == 0 && first != '*')
        set_folded(cursor, opener->value, number, opener->column);
    if (!inside) {
        *cursor = before;
        if (walk->count == 0) cursor->kind = CURSOR_NOTHING; /* the value ended above */
        return false;
    }
    walk->count = 0;
    walk->deep = false;
    walk->inside = true;
    return true;
}

/* ---- The walk ---- */

/* A line of which something is at the column of the walk, or left of it. */
static void walk_line(struct walk *walk, const struct line *line, uint32_t number) {
    for (uint32_t i = line->count; i-- > 0;) {
        const struct opener *opener = &line->openers[i];
        bool open = walk->blank || walk->word;
        if (opener->column > walk->column) continue;
        if (opener->column == walk->column && !walk->dash) {
            if (!opener->dash && walk->count == 0) walk->sibling = true, walk->sibling_column = walk->column;
            /* Another key, or an item of another key's list. A word without a dash is a key, too. */
            if (!opener->dash || !walk->blank || walk->sibling || walk->column == 0) continue;
            /* An item of this list may start here. */
            struct opener item = {.dash = true, .column = opener->column};
            item.span = (struct span){walk->cursor->offset, walk->cursor->offset};
            walk->cursor->dash = true;
            walk_push(walk, &item, number);
            walk->steps[walk->count - 1].index = 1;
            continue;
        }
        if (opener->column == walk->column && opener->dash) {
            walk->steps[walk->count - 1].index++;
            continue;
        }
        bool last = i + 1 == line->count;
        if (!last && opener->dash && open && !line->openers[i + 1].dash) {
            walk->sibling = true; /* between a dash and its key: the key's column is meant */
            walk->sibling_column = line->openers[i + 1].column;
        }
        if (last) inside_value(walk, opener, line, number);
        walk_push(walk, opener, number);
    }
}

/* The commonest line: the first one of another item of the same list. */
static bool another_item(struct walk *walk, const struct line *line) {
    const char *text = source_text(walk->cursor->source) + line->content;
    bool dash = line->content - line->start == walk->column && *text == '-' && (text[1] == ' ' || text[1] == '\t');
    if (dash) walk->steps[walk->count - 1].index++;
    return dash;
}

static void walk_up(struct walk *walk, uint32_t number) {
    const struct source *source = walk->cursor->source;
    while (number-- > 0 && (walk->column > 0 || walk->dash || walk->blank || walk->word)) {
        struct line line;
        if (line_is_deeper(source, number, walk->column)) continue;
        line_measure(source, number, &line);
        if (line.content - line.start > walk->column || line_is_empty(source, &line)) continue;
        if (line.tab && !walk->tabs) continue; /* a mistake in that line; it must not hide the parents above it */
        if (walk->dash && another_item(walk, &line)) continue;
        line_read(source, number, &line);
        walk_line(walk, &line, number);
        if (walk->column == 0 && !walk->dash && walk->sibling) break;
    }
}

/* True if the next line with content has a key at `column`, or, behind a dash, at any deeper column: then sets it. */
static bool key_follows(const struct cursor *cursor, uint32_t number, uint32_t *column, bool deeper) {
    for (uint32_t i = number + 1; i < source_lines(cursor->source); i++) {
        struct line line;
        line_read(cursor->source, i, &line);
        if (line_is_empty(cursor->source, &line)) continue;
        uint32_t indent = line.content - line.start;
        if (indent > *column && !deeper) continue;
        bool fits = deeper ? indent > *column : indent == *column;
        if (!fits || line.count == 0 || line.openers[0].dash) return false;
        *column = indent;
        return true;
    }
    return false;
}

/* ---- The line of the cursor ---- */

/* The value behind the last opener on the line of the cursor, or of the whole line. */
static void set_value(struct cursor *cursor, const struct line *line, uint32_t value, uint32_t column) {
    const char *text = source_text(cursor->source);
    char first = value < line->end ? text[value] : '#';
    if (first == '#') {
        if (cursor->offset > value && value < line->end) return;
        cursor->kind = CURSOR_VALUE;
        cursor->span = cursor->inner = (struct span){cursor->offset, cursor->offset};
    } else if (first == '{' || first == '[') {
        if (cursor->offset > value)
            flow_find(cursor, value);
        else
            set_plain(cursor, value, line->end);
    } else if (first == '"' || first == '\'') {
        set_quoted(cursor, value, column);
    } else if (first == '*') {
        (void)cursor_set_alias(cursor, value, line->end);
    } else if (!is_header(first)) {
        set_plain(cursor, value, line->end);
    }
}

static void set_key(struct cursor *cursor, const struct opener *opener) {
    const char *text = source_text(cursor->source);
    bool quoted = text[opener->span.start] == '"' || text[opener->span.start] == '\'';
    cursor->kind = CURSOR_KEY;
    cursor->colon = true;
    cursor->quote = !quoted ? CURSOR_PLAIN : text[opener->span.start] == '"' ? CURSOR_DOUBLE : CURSOR_SINGLE;
    cursor->span = opener->span;
    cursor->inner = (struct span){opener->span.start + quoted, opener->span.end - quoted};
}

/* Turns a word or a blank into a key of the mapping that the steps lead to. */
static void become_key(struct cursor *cursor, uint32_t line, uint32_t column) {
    if (cursor->kind != CURSOR_VALUE || cursor->quote == CURSOR_BLOCK) return;
    struct cursor_step step = {.span = cursor->span, .line = line, .column = column};
    step.key = source_text(cursor->source) + cursor->inner.start;
    step.length = cursor->inner.end - cursor->inner.start;
    cursor->kind = cursor_push(cursor, step) ? CURSOR_KEY : CURSOR_NOTHING;
    cursor->fresh = false;
}

/* The number of openers that the cursor is behind, or in. */
static uint32_t count_used(const struct line *line, uint32_t offset) {
    uint32_t used = 0;
    while (used < line->count && line->openers[used].span.start + line->openers[used].dash <= offset) used++;
    return used;
}

/* Fills the cursor from its own line. `used` openers are before it. */
static void set_place(struct cursor *cursor, const struct line *line, uint32_t used) {
    const char *text = source_text(cursor->source);
    const struct opener *last = used > 0 ? &line->openers[used - 1] : NULL;
    uint32_t offset = cursor->offset, column = line->content - line->start;
    if (last && !last->dash && offset <= last->span.end) {
        set_key(cursor, last);
        return;
    }
    if (last && last->anchor.end > last->anchor.start && offset <= last->anchor.end) return;
    bool blank = line->content == line->end;
    bool before_dash = !last && line->count > 0 && line->openers[0].dash;
    if (before_dash || (!blank && (offset < line->content || line_is_empty(cursor->source, line)))) return;
    if (last)
        set_value(cursor, line, last->value, last->column);
    else
        set_value(cursor, line, line->content, column > 0 ? column - 1 : 0);
    bool empty = cursor->span.start == cursor->span.end;
    cursor->fresh = cursor->kind == CURSOR_VALUE && !cursor->flow && (!last || last->dash);
    cursor->space =
        last && empty && cursor->kind == CURSOR_VALUE && (text[offset - 1] == ':' || text[offset - 1] == '-');
}

/* A word or a blank is a key if the mapping that the steps lead to has other keys, before or behind it. */
static void decide_key(const struct walk *walk, const struct line *line, uint32_t number, uint32_t used) {
    struct cursor *cursor = walk->cursor;
    bool opened = used > 0 && !line->openers[used - 1].dash; /* it is the value of a key on its line */
    if (walk->inside || opened || cursor->dash || cursor->flow || cursor->kind != CURSOR_VALUE) return;
    bool blank = line->content == line->end;
    uint32_t column = (blank ? cursor->offset : line->content) - line->start;
    if (used > 0) column = line->openers[used - 1].column;
    bool follows = key_follows(cursor, number, &column, used > 0);
    bool precedes = used == 0 && (walk->sibling || cursor->depth == 0);
    if (precedes && walk->sibling) column = walk->sibling_column;
    if (follows || precedes) become_key(cursor, number, column);
}

static void find_in_lines(struct cursor *cursor) {
    uint32_t number = cursor_line_of(cursor->source, cursor->offset);
    struct line line;
    line_read(cursor->source, number, &line);
    bool blank = line.content == line.end;
    uint32_t used = count_used(&line, cursor->offset);
    struct walk walk = {.cursor = cursor, .column = (blank ? cursor->offset : line.content) - line.start};
    walk.tabs = line.tab;
    set_place(cursor, &line, used);
    for (uint32_t i = used; i-- > 0;) walk_push(&walk, &line.openers[i], number);
    walk.blank = used == 0 && blank;
    walk.word = used == 0 && !blank;
    walk_up(&walk, number);
    walk_finish(&walk);
    decide_key(&walk, &line, number, used);
}

/* The first line with content, or the number of lines. */
static uint32_t first_line(const struct source *source) {
    uint32_t number = 0;
    for (struct line line; number < source_lines(source); number++) {
        line_measure(source, number, &line);
        if (!line_is_empty(source, &line)) break;
    }
    return number;
}

void cursor_find(const struct source *source, uint32_t offset, struct cursor *cursor) {
    uint32_t length = (uint32_t)source_length(source);
    memset(cursor, 0, offsetof(struct cursor, steps));
    cursor->source = source;
    cursor->offset = offset < length ? offset : length;
    cursor->json = tree_name_is_json(source_name(source));
    cursor->span = cursor->inner = (struct span){cursor->offset, cursor->offset};
    uint32_t first = first_line(source);
    struct line line = {.content = length};
    if (first < source_lines(source)) line_measure(source, first, &line);
    bool bracket = line.content < length && strchr("{[", source_text(source)[line.content]);
    if (cursor->json || bracket) {
        if (cursor->offset > line.content) flow_find(cursor, line.content);
        return;
    }
    find_in_lines(cursor);
}

bool cursor_step_is(const struct cursor *cursor, uint32_t at, const char *key) {
    const struct cursor_step *step = &cursor->steps[at];
    return at < cursor->depth && step->key && strlen(key) == step->length && memcmp(step->key, key, step->length) == 0;
}

/*
 * tree_json.c - JSON (RFC 8259) to a tree.
 *
 * One loop over the text uses the builder's frames as its stack, so that depth costs no C stack. The reader is strict,
 * like adl/value/json.h. It recovers without loss only from a superfluous or missing comma. After any other error it
 * continues at the next comma or closing bracket of the same collection in the line. If the line has none, it continues
 * at the first line below that starts an item in the column of the items of an open collection, or that closes one in
 * the column of the line that opened it. An error thus costs one value, or the items up to such a line. Text is skipped
 * only forwards, so that the cost is linear.
 */
#include "adl/source/source.h"
#include "adl/tree/conflict.h"
#include "adl/tree/tree_arena.h"
#include "adl/tree/tree_build.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/json_scan.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

#define NO_COLUMN      UINT32_MAX
#define LINE_LOOKED_AT 1000u /* bytes after a wrong bracket in which others are counted */

/* An open collection. */
struct json_level {
    uint32_t column; /* of its first item, if that starts a line; else NO_COLUMN */
    uint32_t indent; /* of the line that opens it */
    char bracket;    /* `[` or `{` */
    bool begun;      /* `column` was set */
};

struct reader {
    struct builder *builder;
    const char *text; /* NUL-terminated; a NUL inside was refused before */
    uint32_t at, length;
    struct json_level *levels; /* all open collections, including skipped ones, which the builder does not record */
    size_t depth, levels_capacity;
    uint32_t line, line_text; /* start of the line that find_line found, and of its text */
    struct buffer string;
    bool failed; /* an error was reported; the reader must find a place to continue */
};

enum expected { EXPECT_VALUE, EXPECT_FIRST, EXPECT_KEY, EXPECT_COMMA };

static void tree_json_skip_space(struct reader *reader) {
    while (json_is_space(reader->text[reader->at])) reader->at++;
}

/* ---- Errors ---- */

/* Describes the character or word at `at`, for "found …". */
static const char *tree_json_describe(const struct reader *reader, uint32_t at, char out[48], uint32_t *end) {
    *end = at;
    if (at >= reader->length) return "the end of the text";
    if (reader->text[at] == '\n' || reader->text[at] == '\r') return "the end of the line";
    if (reader->text[at] == '\t') return "a tab";
    while (*end < reader->length && *end - at < 24) {
        unsigned char c = (unsigned char)reader->text[*end];
        bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                    c == '-' || c == '+' || c == '.' || c >= 0x80;
        if (!word) break;
        (*end)++;
    }
    while (*end > at && *end < reader->length && ((unsigned char)reader->text[*end] & 0xc0) == 0x80) (*end)--;
    if (*end == at) (*end)++;
    snprintf(out, 48, "`%.*s`", (int)(*end - at), reader->text + at);
    return out;
}

static struct diagnostic *tree_json_fail(struct reader *reader, uint32_t at, const char *expected) {
    char found[48];
    uint32_t end;
    const char *what = tree_json_describe(reader, at, found, &end);
    reader->failed = true;
    struct diagnostic *it = diagnostics_add(reader->builder->found, ADL_E002, reader->builder->source,
                                            (struct span){at, end}, "found %s, expected %s", what, expected);
    char c = at < reader->length ? reader->text[at] : '\0';
    if (c == '/' || c == '#')
        diagnostic_suggest(it, "JSON has no comments: rename the file to .yaml and write comments with `#`");
    if (c == '\'') diagnostic_suggest(it, "put strings in double quotes");
    return it;
}

/* ---- Strings ---- */

/* The end of the string at `at`, or of the line if it has no end. */
static uint32_t json_string_end(const struct reader *reader, uint32_t at) {
    const char *text = reader->text;
    for (at++; text[at] && text[at] != '\n' && text[at] != '\r' && text[at] != '"'; at++)
        if (text[at] == '\\' && (text[at + 1] == '"' || text[at + 1] == '\\')) at++;
    return text[at] == '"' ? at + 1 : at;
}

/* Appends the character of the escape at reader->at to reader->string. Returns false if an error was reported. */
static bool unescape(struct reader *reader) {
    const char *at = reader->text + reader->at;
    struct json_escape escape = json_scan_escape(at, reader->text + reader->length);
    char bytes[4];
    switch (escape.fault) {
    case JSON_FAULT_NONE:
        buffer_append(&reader->string, bytes, utf8_encode(escape.code_point, bytes));
        reader->at += (uint32_t)(escape.end - at);
        return true;
    case JSON_FAULT_HEX: tree_json_fail(reader, reader->at, "four hexadecimal digits after \\u"); return false;
    case JSON_FAULT_END:
    case JSON_FAULT_ESCAPE:
        tree_json_fail(reader, reader->at, "one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
        return false;
    default:
        tree_json_fail(reader, reader->at, "both halves of a surrogate pair (\\ud83d\\ude00), not one");
        return false;
    }
}

/*
 * Reads the string whose quote is at `at`. *text points into the source or into reader->string. Returns false after
 * reporting an error.
 */
static bool read_string(struct reader *reader, const char **text, size_t *length) {
    uint32_t start = ++reader->at, from = start;
    bool escaped = false;
    buffer_clear(&reader->string);
    for (;;) {
        reader->at += (uint32_t)json_scan_plain(reader->text + reader->at, reader->text + reader->length);
        unsigned char c = (unsigned char)reader->text[reader->at];
        if (c == '"') break;
        if (c < 0x20) { /* includes the NUL at the end */
            uint32_t open = start - 1;
            struct diagnostic *it = tree_json_fail(reader, reader->at, "the rest of the string and its closing quote");
            diagnostic_relate(it, reader->builder->source, (struct span){open, start}, "the string starts here");
            reader->at = json_string_end(reader, open);
            return false;
        }
        if (c != '\\') { /* UTF-8 beyond ASCII, which the source has checked */
            while ((unsigned char)reader->text[reader->at] >= 0x80) reader->at++;
            continue;
        }
        escaped = true;
        buffer_append(&reader->string, reader->text + from, reader->at - from);
        if (!unescape(reader)) {
            reader->at = json_string_end(reader, start - 1);
            return false;
        }
        from = reader->at;
    }
    if (escaped) buffer_append(&reader->string, reader->text + from, reader->at - from);
    *text = escaped ? buffer_cstr(&reader->string) : reader->text + start;
    *length = escaped ? reader->string.length : reader->at - start;
    reader->at++;
    return true;
}

static void read_string_value(struct reader *reader) {
    uint32_t start = reader->at;
    const char *text;
    size_t length;
    if (!read_string(reader, &text, &length)) return;
    struct span span = {start, reader->at};
    if (builder_length_allowed(reader->builder, length, span))
        builder_scalar(reader->builder, value_string(text, length), TREE_QUOTED, span);
    else
        builder_broken(reader->builder, span);
}

static void tree_json_key(struct reader *reader) {
    uint32_t start = reader->at;
    const char *text;
    size_t length;
    if (reader->text[start] != '"') {
        tree_json_fail(reader, start, "a key in double quotes");
        return;
    }
    if (!read_string(reader, &text, &length)) return;
    struct span span = {start, reader->at};
    tree_json_skip_space(reader);
    bool colon = reader->text[reader->at] == ':';
    if (!colon)
        tree_json_fail(reader, reader->at, "`:` after the key");
    else
        reader->at++;
    builder_key(reader->builder, text, length, span);
}

/* ---- Other values ---- */

/* The end of the number at reader->at, or reader->at if it is not a number. */
static uint32_t number_end(const struct reader *reader) {
    struct json_number number = json_scan_number(reader->text + reader->at, reader->text + reader->length);
    char next = *number.end;
    bool ends = next == '\0' || json_is_space(next) || strchr(",]}:\"[{/#", next);
    return ends && !number.fault ? (uint32_t)(number.end - reader->text) : reader->at;
}

static void tree_json_number(struct reader *reader) {
    uint32_t start = reader->at, end = number_end(reader);
    if (end == start) {
        tree_json_fail(reader, start, "a JSON number such as -12, 0.5 or 1e9");
        return;
    }
    struct span span = {start, end};
    reader->at = end;
    tn_value value = scalar_number(reader->text + start, end - start);
    if (value) {
        builder_scalar(reader->builder, value, TREE_LITERAL, span);
        return;
    }
    diagnostics_add(reader->builder->found, ADL_E015, reader->builder->source, span,
                    "found a number that is too large; expected at most about 1.8e308");
    builder_broken(reader->builder, span);
}

static void tree_json_read_word(struct reader *reader) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        uint32_t length = (uint32_t)strlen(words[i]), end;
        char found[48];
        if (strncmp(reader->text + reader->at, words[i], length) != 0) continue;
        tree_json_describe(reader, reader->at, found, &end);
        if (end != reader->at + length) break;
        struct span span = {reader->at, end};
        reader->at = end;
        builder_scalar(reader->builder, i == 2 ? value_null() : value_bool(i == 0), TREE_LITERAL, span);
        return;
    }
    tree_json_fail(reader, reader->at, "a value: a string in double quotes, a number, true, false, null, `[` or `{`");
}

/* ---- Structure ---- */

/* The line that contains `at`; of one line after the other, each is looked at once. */
static void find_line(struct reader *reader, uint32_t at) {
    struct source *source = reader->builder->source;
    struct span line = source_line_span(source, source_line_at(source, at));
    if (line.start == reader->line && reader->line_text > line.start) return;
    reader->line = reader->line_text = line.start;
    while (reader->text[reader->line_text] == ' ' || reader->text[reader->line_text] == '\t') reader->line_text++;
}

/* The column of the text at `at`, or NO_COLUMN if it does not start its line. */
static uint32_t tree_json_column(struct reader *reader, uint32_t at) {
    find_line(reader, at);
    return reader->line_text == at ? at - reader->line : NO_COLUMN;
}

static void tree_json_open(struct reader *reader) {
    char c = reader->text[reader->at];
    MEM_GROW(reader->levels, reader->depth, reader->levels_capacity);
    struct json_level *level = &reader->levels[reader->depth++];
    *level = (struct json_level){.column = NO_COLUMN, .indent = NO_COLUMN, .bracket = c};
    builder_open(reader->builder, c == '[' ? TN_ARRAY : TN_OBJECT, TREE_FLOW, reader->at++);
}

static char innermost(const struct reader *reader) {
    return reader->depth ? reader->levels[reader->depth - 1].bracket : '\0';
}

static void tree_json_close(struct reader *reader) {
    reader->depth--;
    builder_close(reader->builder, ++reader->at);
}

static enum expected tree_json_value(struct reader *reader) {
    char c = reader->text[reader->at];
    if (c == '{' || c == '[') {
        tree_json_open(reader);
        return EXPECT_FIRST;
    }
    if (c == '"')
        read_string_value(reader);
    else if (c == '-' || (c >= '0' && c <= '9'))
        tree_json_number(reader);
    else
        tree_json_read_word(reader);
    return EXPECT_COMMA;
}

static bool is_outer_item(struct reader *reader);

/* Returns true if another item follows, so that only the comma is missing: reading continues as if it were present. */
static bool fail_comma(struct reader *reader) {
    bool list = innermost(reader) == '[';
    char next = reader->text[reader->at];
    bool item = (next == '"' || (list && next && strchr("{[-0123456789", next))) && !is_outer_item(reader);
    struct diagnostic *it =
        tree_json_fail(reader, reader->at, list ? "`,` or `]` after an item" : "`,` or `}` after a value");
    if (!item) return false;
    uint32_t end = reader->at;
    while (json_is_space(reader->text[end - 1])) end--;
    diagnostic_suggest(it, "put a comma after the value before");
    diagnostic_set_fix(it, (struct span){end, end}, ",", 1, "insert a comma");
    reader->failed = false;
    return true;
}

/* Reports a comma before a closing bracket: the only error with a certain correction. */
static void report_comma(struct reader *reader, uint32_t comma) {
    struct span span = {comma, comma + 1};
    struct diagnostic *it =
        diagnostics_add(reader->builder->found, ADL_E002, reader->builder->source, span,
                        "found `,` before `%c`, expected no comma after the last item", reader->text[reader->at]);
    diagnostic_suggest(it, "remove the comma");
    diagnostic_set_fix(it, span, "", 0, "remove the comma");
}

static bool closes(const struct reader *reader) {
    return reader->text[reader->at] == (innermost(reader) == '[' ? ']' : '}');
}

static enum expected read_first(struct reader *reader) {
    if (closes(reader)) {
        tree_json_close(reader);
        return EXPECT_COMMA;
    }
    return innermost(reader) == '[' ? EXPECT_VALUE : EXPECT_KEY;
}

/*
 * `"type":` above `"config": {` has no value: the string below it was read as one, but is the next key. Reports the
 * missing value, and returns to the key.
 */
static bool value_was_key(struct reader *reader) {
    struct builder *builder = reader->builder;
    if (reader->text[reader->at] != ':' || innermost(reader) != '{' || builder->skip > 0) return false;
    const struct tree_item *last = &builder->stack[builder->stack_count - 1];
    uint32_t from = last->key_span.end, to = last->node->span.start;
    if (last->node->kind != TN_STRING || !memchr(reader->text + from, '\n', to - from)) return false;
    tree_json_fail(reader, to, "a value for the key before it");
    reader->failed = false;
    builder->frames[builder->depth - 1].key = last->key;
    builder->frames[builder->depth - 1].key_span = last->key_span;
    builder->stack_count--;
    builder_broken(builder, (struct span){from + 1, from + 1});
    reader->at = to;
    return true;
}

static enum expected read_comma(struct reader *reader) {
    if (closes(reader)) {
        tree_json_close(reader);
        return EXPECT_COMMA;
    }
    if (reader->text[reader->at] != ',') {
        if (value_was_key(reader)) return EXPECT_KEY;
        if (!fail_comma(reader)) return EXPECT_COMMA;
        return innermost(reader) == '[' ? EXPECT_VALUE : EXPECT_KEY;
    }
    uint32_t comma = reader->at++;
    tree_json_skip_space(reader);
    if (closes(reader)) {
        report_comma(reader, comma);
        tree_json_close(reader);
        return EXPECT_COMMA;
    }
    return innermost(reader) == '[' ? EXPECT_VALUE : EXPECT_KEY;
}

/* ---- Recovery ---- */

/* Where reading continues. */
struct json_place {
    uint32_t at;
    size_t depth; /* collections that stay open */
    enum expected expected;
};

/* Notes the columns of the level at its first item. Only errors use them, so they are found when one occurs. */
static void note_columns(struct reader *reader) {
    for (size_t i = reader->depth < reader->builder->depth ? reader->depth : reader->builder->depth; i-- > 0;) {
        struct json_level *level = &reader->levels[i];
        if (level->begun) return; /* those outside were noted before */
        level->begun = true;
        uint32_t start = reader->builder->frames[i].start, first = start + 1;
        find_line(reader, start);
        level->indent = reader->line_text - reader->line;
        while (json_is_space(reader->text[first])) first++;
        level->column = tree_json_column(reader, first);
    }
}

static bool is_closed_by(const struct json_level *level, char c) { return c == (level->bracket == '[' ? ']' : '}'); }

/* The number of collections that the rest of the line closes, from `at` on. */
static size_t closed_in_line(const struct reader *reader, uint32_t at) {
    size_t closed = 0, nested = 0;
    uint32_t limit = at + LINE_LOOKED_AT;
    for (char c; at < limit && (c = reader->text[at]) != '\0' && c != '\n' && c != '\r';) {
        if (c == '[' || c == '{') nested++;
        if (c == ']' || c == '}') nested > 0 ? nested-- : closed++;
        at = c == '"' ? json_string_end(reader, at) : at + 1;
    }
    return closed;
}

/*
 * The place at a bracket that does not close the innermost collection. If the line has enough brackets for all
 * collections that start in it, this one is a mistake for another; otherwise one is missing before it.
 */
static bool place_at_wrong_bracket(const struct reader *reader, uint32_t at, uint32_t line, struct json_place *place) {
    size_t outer = reader->depth;
    while (outer > 0 && reader->builder->frames[outer - 1].start >= line) outer--;
    if (outer < reader->depth && closed_in_line(reader, at) >= reader->depth - outer) {
        *place = (struct json_place){at + 1, reader->depth - 1, EXPECT_COMMA};
        return reader->depth > 1;
    }
    for (size_t depth = reader->depth; depth > outer; depth--) {
        if (!is_closed_by(&reader->levels[depth - 1], reader->text[at])) continue;
        *place = (struct json_place){at, depth, EXPECT_COMMA};
        return true;
    }
    return false;
}

/* Finds the comma or bracket in the line that ends the item with the error, or a collection around it in the line. */
static bool place_in_line(const struct reader *reader, uint32_t at, struct json_place *place) {
    struct source *source = reader->builder->source;
    uint32_t nested = 0, line = source_line_span(source, source_line_at(source, at)).start;
    for (char c; (c = reader->text[at]) != '\0' && c != '\n' && c != '\r';) {
        bool ends = c == ',' || c == ']' || c == '}';
        if (ends && nested == 0) {
            *place = (struct json_place){at, reader->depth, EXPECT_COMMA};
            return c == ',' || is_closed_by(&reader->levels[reader->depth - 1], c) ||
                   place_at_wrong_bracket(reader, at, line, place);
        }
        if (c == '[' || c == '{') nested++;
        if (c == ']' || c == '}') nested--;
        at = c == '"' ? json_string_end(reader, at) : at + 1;
    }
    return false;
}

/* True if the text at `at` starts an item of a list, or of a mapping: a key with a colon. */
static bool starts_json_item(const struct reader *reader, char bracket, uint32_t at) {
    const char *text = reader->text;
    if (bracket == '[') return text[at] && strchr("{[\"-0123456789tfn", text[at]);
    if (text[at] != '"') return false;
    uint32_t end = json_string_end(reader, at);
    while (json_is_space(text[end])) end++;
    return text[end] == ':';
}

/* Finds the innermost of the first `depth` collections that continues or ends at the text at the start of a line. */
static bool place_at_column(const struct reader *reader, uint32_t at, uint32_t column, size_t depth,
                            struct json_place *place) {
    char c = reader->text[at];
    for (size_t i = depth; i-- > 0;) {
        const struct json_level *level = &reader->levels[i];
        bool ends = is_closed_by(level, c) && level->indent == column;
        if (!ends && (level->column != column || !starts_json_item(reader, level->bracket, at))) continue;
        *place = (struct json_place){at, i + 1,
                                     ends                    ? EXPECT_COMMA
                                     : level->bracket == '[' ? EXPECT_VALUE
                                                             : EXPECT_KEY};
        return true;
    }
    return false;
}

/* True if the text at the start of a line is in the column of a collection around the innermost, which is not closed.
 */
static bool is_outer_item(struct reader *reader) {
    note_columns(reader);
    size_t depth = reader->depth < reader->builder->depth ? reader->depth : reader->builder->depth;
    uint32_t column = tree_json_column(reader, reader->at);
    struct json_place place;
    return column != NO_COLUMN && depth > 1 && reader->levels[depth - 1].column != column &&
           place_at_column(reader, reader->at, column, depth - 1, &place);
}

/* Finds the place in the lines below `at`. */
static bool place_below(const struct reader *reader, uint32_t at, size_t depth, struct json_place *place) {
    const struct source *source = reader->builder->source;
    uint32_t lines = source_lines(source);
    for (uint32_t line = source_line_at(source, at) + 1; line < lines; line++) {
        uint32_t start = source_line_span(source, line).start, text = start;
        while (reader->text[text] == ' ' || reader->text[text] == '\t') text++;
        if (place_at_column(reader, text, text - start, depth, place)) return true;
    }
    return false;
}

static bool find_place(struct reader *reader, size_t depth, struct json_place *place) {
    uint32_t at = reader->at, column = tree_json_column(reader, at);
    if (column != NO_COLUMN && depth > 0 && place_at_column(reader, at, column, depth - 1, place)) return true;
    if (depth == reader->depth && place_in_line(reader, at, place)) return true;
    return place_below(reader, at, depth, place);
}

/* Completes the item with the error: a broken value for a key or in a list; else the collection lacks an item. */
static void leave_item(struct reader *reader, enum expected expected, struct span span) {
    struct builder *builder = reader->builder;
    struct builder_frame *frame = &builder->frames[builder->depth - 1];
    builder->tree->whole = false;
    if (frame->key && span.start < frame->key_span.end) span.start = frame->key_span.end;
    if (span.end < span.start) span.end = span.start;
    if (frame->key || (expected == EXPECT_VALUE && frame->kind == TN_ARRAY))
        builder_broken(builder, span);
    else if (!frame->drop)
        frame->incomplete = true;
    frame->drop = false;
}

/* Continues after an error, which is reported, at `before` or later. Returns false at the end. */
static bool tree_json_recover(struct reader *reader, enum expected *expected, uint32_t before) {
    struct builder *builder = reader->builder;
    note_columns(reader);
    size_t depth = reader->depth < builder->depth ? reader->depth : builder->depth; /* skipped levels have no places */
    struct json_place place;
    if (depth == 0) return false;
    bool found = find_place(reader, depth, &place);
    uint32_t end = found ? place.at : reader->length;
    while (end > before && (json_is_space(reader->text[end - 1]) || reader->text[end - 1] == ',')) end--;
    if (builder->skip == 0) leave_item(reader, *expected, (struct span){before, end});
    builder_cut(builder, found ? (uint32_t)place.depth : 1, end);
    if (!found) {
        builder->frames[0].incomplete = true;
        return false;
    }
    reader->failed = false;
    reader->depth = place.depth;
    reader->at = place.at;
    *expected = place.expected;
    return true;
}

static void tree_json_read_document(struct reader *reader) {
    enum expected expected = EXPECT_VALUE;
    while (!reader->builder->stopped) {
        tree_json_skip_space(reader);
        if (expected == EXPECT_COMMA && reader->depth == 0) break;
        uint32_t before = reader->at;
        enum expected then;
        switch (expected) {
        case EXPECT_VALUE: then = tree_json_value(reader); break;
        case EXPECT_FIRST: then = read_first(reader); break;
        case EXPECT_KEY:
            tree_json_key(reader);
            then = EXPECT_VALUE;
            break;
        default: then = read_comma(reader); break;
        }
        if (reader->failed) {
            if (!tree_json_recover(reader, &expected, before)) return;
        } else {
            expected = then;
        }
    }
    tree_json_skip_space(reader);
    if (reader->at < reader->length && !reader->builder->stopped)
        tree_json_fail(reader, reader->at, "the end of the text after the document's value");
}

static bool tree_json_read_text(struct builder *builder, const char *text) {
    struct reader reader = {.builder = builder,
                            .text = text,
                            .at = source_line_span(builder->source, 0).start,
                            .length = (uint32_t)source_length(builder->source)};
    buffer_init(&reader.string, SIZE_MAX);
    tree_json_read_document(&reader);
    if (reader.failed) builder->tree->whole = false;
    buffer_finish(&reader.string);
    mem_free(reader.levels);
    return builder->tree->whole;
}

void tree_read_json(struct builder *builder) {
    const char *text = source_text(builder->source);
    struct builder_mark none = builder_mark(builder);
    if (tree_json_read_text(builder, text)) return;
    char *copy = mem_text_n(text, source_length(builder->source));
    if (conflicts_hide(builder, copy)) {
        builder_rewind(builder, &none, (struct span){0, (uint32_t)source_length(builder->source)});
        builder->stopped = false;
        tree_json_read_text(builder, copy);
    }
    mem_free(copy);
}

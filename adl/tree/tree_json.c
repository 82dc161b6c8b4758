/*
 * tree_json.c - JSON (RFC 8259) to a tree.
 *
 * One loop over the text uses the builder's frames as its stack, so that depth costs no C stack. The reader is strict,
 * like adl/value/json.h. It recovers without loss only from a superfluous or missing comma. After any other error it
 * abandons the current top-level member and continues at the next line that starts with a key in the column of the
 * first top-level key. If the document has line breaks, the other members are still read.
 */
#include "adl/tree/tree_arena.h"
#include "adl/tree/tree_build.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/json_scan.h"
#include <stdio.h>
#include <string.h>

struct reader {
    struct builder *builder;
    const char *text; /* NUL-terminated; a NUL inside was refused before */
    uint32_t at, length;
    uint32_t column; /* column of the first top-level key if it starts its line; else UINT32_MAX */
    struct buffer string;
    bool failed; /* an error was reported; the rest of the section is skipped */
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
            return false;
        }
        if (c != '\\') { /* UTF-8 beyond ASCII, which the source has checked */
            while ((unsigned char)reader->text[reader->at] >= 0x80) reader->at++;
            continue;
        }
        escaped = true;
        buffer_append(&reader->string, reader->text + from, reader->at - from);
        if (!unescape(reader)) return false;
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

/* `open` contains `[` or `{` for each open collection, including skipped ones, which the builder does not record. */

static void tree_json_open(struct reader *reader, struct buffer *open) {
    char c = reader->text[reader->at];
    buffer_char(open, c);
    builder_open(reader->builder, c == '[' ? TN_ARRAY : TN_OBJECT, TREE_FLOW, reader->at++);
}

static char innermost(const struct buffer *open) { return open->length ? open->data[open->length - 1] : '\0'; }

static void tree_json_close(struct reader *reader, struct buffer *open) {
    open->length--;
    builder_close(reader->builder, ++reader->at);
}

static enum expected tree_json_value(struct reader *reader, struct buffer *open) {
    char c = reader->text[reader->at];
    if (c == '{' || c == '[') {
        tree_json_open(reader, open);
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

/* Returns true if another item follows, so that only the comma is missing: reading continues as if it were present. */
static bool fail_comma(struct reader *reader, const struct buffer *open) {
    bool list = innermost(open) == '[';
    char next = reader->text[reader->at];
    bool item = next == '"' || (list && next && strchr("{[-0123456789", next));
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

static bool closes(const struct reader *reader, const struct buffer *open) {
    return reader->text[reader->at] == (innermost(open) == '[' ? ']' : '}');
}

static enum expected read_first(struct reader *reader, struct buffer *open) {
    if (closes(reader, open)) {
        tree_json_close(reader, open);
        return EXPECT_COMMA;
    }
    return innermost(open) == '[' ? EXPECT_VALUE : EXPECT_KEY;
}

static enum expected read_comma(struct reader *reader, struct buffer *open) {
    if (closes(reader, open)) {
        tree_json_close(reader, open);
        return EXPECT_COMMA;
    }
    if (reader->text[reader->at] != ',') {
        if (!fail_comma(reader, open)) return EXPECT_COMMA;
        return innermost(open) == '[' ? EXPECT_VALUE : EXPECT_KEY;
    }
    uint32_t comma = reader->at++;
    tree_json_skip_space(reader);
    if (closes(reader, open)) {
        report_comma(reader, comma);
        tree_json_close(reader, open);
        return EXPECT_COMMA;
    }
    return innermost(open) == '[' ? EXPECT_VALUE : EXPECT_KEY;
}

/* ---- Recovery ---- */

static void note_column(struct reader *reader, const struct buffer *open) {
    if (reader->column != UINT32_MAX || open->length != 1) return;
    uint32_t start = reader->at;
    while (start > 0 && (reader->text[start - 1] == ' ' || reader->text[start - 1] == '\t')) start--;
    bool begins = start > 0 && (reader->text[start - 1] == '\n' || reader->text[start - 1] == '\r');
    reader->column = begins ? reader->at - start : UINT32_MAX - 1;
}

/* True if the line that starts at `line` starts with a top-level key; *key is set to its quote. */
static bool line_starts_member(const struct reader *reader, uint32_t line, uint32_t *key) {
    const char *text = reader->text;
    uint32_t at = line;
    while (text[at] == ' ' || text[at] == '\t') at++;
    if (at - line != reader->column || text[at] != '"') return false;
    *key = at++;
    while (text[at] && text[at] != '"' && text[at] != '\n') at += text[at] == '\\' && text[at + 1] ? 2 : 1;
    if (text[at] != '"') return false;
    at++;
    while (json_is_space(text[at])) at++;
    return text[at] == ':';
}

/* Finds the next top-level key at or after `from`; returns false at the end. */
static bool next_member(const struct reader *reader, uint32_t from, uint32_t *key) {
    const struct source *source = reader->builder->source;
    uint32_t lines = source_lines(source);
    for (uint32_t line = source_locate(source, from).line; line < lines; line++)
        if (line_starts_member(reader, source_line_span(source, line).start, key) && *key >= from) return true;
    return false;
}

/* Abandons the member with the error and continues with the next one. Returns false at the end. */
static bool tree_json_recover(struct reader *reader, struct buffer *open, uint32_t error) {
    struct builder *builder = reader->builder;
    if (open->length == 0 || open->data[0] != '{' || reader->column >= UINT32_MAX - 1) return false;
    bool lost = true;
    builder_unwind(builder);
    if (!builder_wants_key(builder)) {
        builder_broken(builder, (struct span){error, error});
        lost = false;
    }
    uint32_t key;
    bool found = next_member(reader, error, &key);
    if (lost && (!found || key != error)) builder->frames[0].incomplete = true;
    if (!found) return false;
    open->length = 1;
    reader->failed = false;
    reader->at = key;
    return true;
}

static void tree_json_read_document(struct reader *reader, struct buffer *open) {
    enum expected expected = EXPECT_VALUE;
    while (!reader->builder->stopped) {
        tree_json_skip_space(reader);
        if (expected == EXPECT_COMMA && open->length == 0) break;
        uint32_t before = reader->at;
        switch (expected) {
        case EXPECT_VALUE: expected = tree_json_value(reader, open); break;
        case EXPECT_FIRST: expected = read_first(reader, open); break;
        case EXPECT_KEY:
            note_column(reader, open);
            tree_json_key(reader);
            expected = EXPECT_VALUE;
            break;
        case EXPECT_COMMA: expected = read_comma(reader, open); break;
        }
        if (!reader->failed) continue;
        uint32_t error = reader->at > before ? reader->at : before;
        if (!tree_json_recover(reader, open, error)) return;
        expected = EXPECT_KEY;
    }
    tree_json_skip_space(reader);
    if (reader->at < reader->length && !reader->builder->stopped)
        tree_json_fail(reader, reader->at, "the end of the text after the document's value");
}

void tree_read_json(struct builder *builder) {
    struct reader reader = {.builder = builder,
                            .text = source_text(builder->source),
                            .at = source_line_span(builder->source, 0).start,
                            .length = (uint32_t)source_length(builder->source),
                            .column = UINT32_MAX};
    struct buffer open;
    buffer_init(&reader.string, SIZE_MAX);
    buffer_init(&open, SIZE_MAX);
    tree_json_read_document(&reader, &open);
    if (reader.failed) builder->tree->whole = false;
    buffer_finish(&reader.string);
    buffer_finish(&open);
}

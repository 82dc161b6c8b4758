/*
 * tree_json.c - JSON (RFC 8259) to a tree.
 *
 * One loop over the text with the builder's frames as its stack, so that depth costs no C stack. Strict, like
 * adl/value/json.h; the only thing it goes on after without losing anything is a comma too many. After any other
 * error it gives up the top-level member it is in, and looks for the next line that begins, in the column of the
 * first top-level key, with a key: in a document with line breaks the other members are still read.
 */
#include "adl/text/tree_arena.h"
#include "adl/text/tree_build.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include <stdio.h>
#include <string.h>

struct reader {
    struct builder *builder;
    const char *text; /* NUL-terminated; a NUL inside has been refused */
    uint32_t at, length;
    uint32_t column; /* of the first top-level key, where it begins its line; else UINT32_MAX */
    struct buffer string;
    bool failed; /* an error was reported; the rest of the section is not read */
};

enum expected { EXPECT_VALUE, EXPECT_FIRST, EXPECT_KEY, EXPECT_COMMA };

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip_space(struct reader *reader) {
    while (is_space(reader->text[reader->at])) reader->at++;
}

/* ---- Errors ---- */

/* The character or word at `at`, for "found …". */
static const char *describe(const struct reader *reader, uint32_t at, char out[48], uint32_t *end) {
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

static struct diagnostic *fail(struct reader *reader, uint32_t at, const char *expected) {
    char found[48];
    uint32_t end;
    const char *what = describe(reader, at, found, &end);
    reader->failed = true;
    struct diagnostic *it = diagnostics_add(reader->builder->found, ADL_E002, reader->builder->source,
                                            (struct span){at, end}, "found %s, expected %s", what, expected);
    char c = at < reader->length ? reader->text[at] : '\0';
    if (c == '/' || c == '#')
        diagnostic_suggest(it, "JSON has no comments: name the file .yaml to write them with `#`");
    if (c == '\'') diagnostic_suggest(it, "JSON strings are in double quotes");
    return it;
}

/* ---- Strings ---- */

static int hex4(const char *at) {
    int number = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        number = number * 16 + digit;
    }
    return number;
}

/* \uXXXX at `at`, the one after it where they are a pair. False: reported. */
static bool unescape_unicode(struct reader *reader) {
    uint32_t at = reader->at;
    int unit = hex4(reader->text + at + 2);
    if (unit < 0) {
        fail(reader, at, "four hexadecimal digits after \\u");
        return false;
    }
    uint32_t point = (uint32_t)unit;
    reader->at += 6;
    if (point >= 0xd800 && point < 0xe000) {
        const char *next = reader->text + reader->at;
        int low = point < 0xdc00 && next[0] == '\\' && next[1] == 'u' ? hex4(next + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff) {
            fail(reader, at, "both halves of a surrogate pair (\\ud83d\\ude00), not one");
            return false;
        }
        point = 0x10000 + ((point - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
        reader->at += 6;
    }
    char bytes[4];
    buffer_append(&reader->string, bytes, utf8_encode(point, bytes));
    return true;
}

static bool unescape(struct reader *reader) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char c = reader->text[reader->at + 1];
    if (c == 'u') return unescape_unicode(reader);
    const char *letter = c ? strchr(letters, c) : NULL;
    if (!letter) {
        fail(reader, reader->at, "one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
        return false;
    }
    buffer_char(&reader->string, meanings[letter - letters]);
    reader->at += 2;
    return true;
}

/* Reads the string whose quote is at `at`. *text is in the source or in reader->string. False: reported. */
static bool read_string(struct reader *reader, const char **text, size_t *length) {
    uint32_t start = ++reader->at, from = start;
    bool escaped = false;
    buffer_clear(&reader->string);
    for (;;) {
        unsigned char c = (unsigned char)reader->text[reader->at];
        if (c == '"') break;
        if (c < 0x20) { /* the NUL at the end as well */
            uint32_t open = start - 1;
            struct diagnostic *it = fail(reader, reader->at, "the rest of the string and its closing quote");
            diagnostic_relate(it, reader->builder->source, (struct span){open, start}, "the string begins here");
            return false;
        }
        if (c != '\\') {
            reader->at++;
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

static void read_key(struct reader *reader) {
    uint32_t start = reader->at;
    const char *text;
    size_t length;
    if (reader->text[start] != '"') {
        fail(reader, start, "a key in double quotes");
        return;
    }
    if (!read_string(reader, &text, &length)) return;
    struct span span = {start, reader->at};
    skip_space(reader);
    bool colon = reader->text[reader->at] == ':';
    if (!colon)
        fail(reader, reader->at, "`:` after the key");
    else
        reader->at++;
    builder_key(reader->builder, text, length, span);
}

/* ---- Other values ---- */

static uint32_t skip_digits(const struct reader *reader, uint32_t at) {
    while (reader->text[at] >= '0' && reader->text[at] <= '9') at++;
    return at;
}

/* Past the number at reader->at; `at` itself where it is none. */
static uint32_t number_end(const struct reader *reader) {
    const char *text = reader->text;
    uint32_t at = reader->at + (text[reader->at] == '-');
    uint32_t whole = text[at] == '0' ? at + 1 : skip_digits(reader, at);
    if (whole == at) return reader->at;
    at = whole;
    if (text[at] == '.') {
        uint32_t fraction = skip_digits(reader, at + 1);
        if (fraction == at + 1) return reader->at;
        at = fraction;
    }
    if (text[at] == 'e' || text[at] == 'E') {
        uint32_t sign = at + 1 + (text[at + 1] == '+' || text[at + 1] == '-');
        uint32_t exponent = skip_digits(reader, sign);
        if (exponent == sign) return reader->at;
        at = exponent;
    }
    char next = text[at];
    bool ends = next == '\0' || is_space(next) || strchr(",]}:\"[{/#", next);
    return ends ? at : reader->at;
}

static void read_number(struct reader *reader) {
    uint32_t start = reader->at, end = number_end(reader);
    if (end == start) {
        fail(reader, start, "a number as JSON writes them: -12, 0.5, 1e9");
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

static void read_word(struct reader *reader) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        uint32_t length = (uint32_t)strlen(words[i]), end;
        char found[48];
        if (strncmp(reader->text + reader->at, words[i], length) != 0) continue;
        describe(reader, reader->at, found, &end);
        if (end != reader->at + length) break;
        struct span span = {reader->at, end};
        reader->at = end;
        builder_scalar(reader->builder, i == 2 ? value_null() : value_bool(i == 0), TREE_LITERAL, span);
        return;
    }
    fail(reader, reader->at, "a value: a string in double quotes, a number, true, false, null, `[` or `{`");
}

/* ---- Structure ---- */

/* `open` holds `[` or `{` for each collection that is: the builder does not keep those that it skips. */

static void open_collection(struct reader *reader, struct buffer *open) {
    char c = reader->text[reader->at];
    buffer_char(open, c);
    builder_open(reader->builder, c == '[' ? TN_ARRAY : TN_OBJECT, TREE_FLOW, reader->at++);
}

static char innermost(const struct buffer *open) { return open->length ? open->data[open->length - 1] : '\0'; }

static void close_collection(struct reader *reader, struct buffer *open) {
    open->length--;
    builder_close(reader->builder, ++reader->at);
}

static enum expected read_value(struct reader *reader, struct buffer *open) {
    char c = reader->text[reader->at];
    if (c == '{' || c == '[') {
        open_collection(reader, open);
        return EXPECT_FIRST;
    }
    if (c == '"')
        read_string_value(reader);
    else if (c == '-' || (c >= '0' && c <= '9'))
        read_number(reader);
    else
        read_word(reader);
    return EXPECT_COMMA;
}

/* Where another item follows, the comma is all that is missing: true, and reading goes on as if it were there. */
static bool fail_comma(struct reader *reader, const struct buffer *open) {
    bool list = innermost(open) == '[';
    char next = reader->text[reader->at];
    bool item = next == '"' || (list && next && strchr("{[-0123456789", next));
    struct diagnostic *it = fail(reader, reader->at, list ? "`,` or `]` after an item" : "`,` or `}` after a value");
    if (!item) return false;
    uint32_t end = reader->at;
    while (is_space(reader->text[end - 1])) end--;
    diagnostic_suggest(it, "put a comma after the value before");
    diagnostic_set_fix(it, (struct span){end, end}, ",", 1, "insert a comma");
    reader->failed = false;
    return true;
}

/* The comma at `comma` is followed by a closing bracket: the one error whose correction is certain. */
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
        close_collection(reader, open);
        return EXPECT_COMMA;
    }
    return innermost(open) == '[' ? EXPECT_VALUE : EXPECT_KEY;
}

static enum expected read_comma(struct reader *reader, struct buffer *open) {
    if (closes(reader, open)) {
        close_collection(reader, open);
        return EXPECT_COMMA;
    }
    if (reader->text[reader->at] != ',') {
        if (!fail_comma(reader, open)) return EXPECT_COMMA;
        return innermost(open) == '[' ? EXPECT_VALUE : EXPECT_KEY;
    }
    uint32_t comma = reader->at++;
    skip_space(reader);
    if (closes(reader, open)) {
        report_comma(reader, comma);
        close_collection(reader, open);
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

/* Whether the line that begins at `line` begins with a top-level key; *key becomes its quote. */
static bool is_member(const struct reader *reader, uint32_t line, uint32_t *key) {
    const char *text = reader->text;
    uint32_t at = line;
    while (text[at] == ' ' || text[at] == '\t') at++;
    if (at - line != reader->column || text[at] != '"') return false;
    *key = at++;
    while (text[at] && text[at] != '"' && text[at] != '\n') at += text[at] == '\\' && text[at + 1] ? 2 : 1;
    if (text[at] != '"') return false;
    at++;
    while (is_space(text[at])) at++;
    return text[at] == ':';
}

/* Where the next top-level key is at or after `from`; false where there is none. */
static bool next_member(const struct reader *reader, uint32_t from, uint32_t *key) {
    const struct source *source = reader->builder->source;
    uint32_t lines = source_lines(source);
    for (uint32_t line = source_locate(source, from).line; line < lines; line++)
        if (is_member(reader, source_line_span(source, line).start, key) && *key >= from) return true;
    return false;
}

/* Gives up the member that the error is in, and goes to the next one. False: there is none. */
static bool recover(struct reader *reader, struct buffer *open, uint32_t error) {
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

static void read_document(struct reader *reader, struct buffer *open) {
    enum expected expected = EXPECT_VALUE;
    while (!reader->builder->stopped) {
        skip_space(reader);
        if (expected == EXPECT_COMMA && open->length == 0) break;
        uint32_t before = reader->at;
        switch (expected) {
        case EXPECT_VALUE: expected = read_value(reader, open); break;
        case EXPECT_FIRST: expected = read_first(reader, open); break;
        case EXPECT_KEY:
            note_column(reader, open);
            read_key(reader);
            expected = EXPECT_VALUE;
            break;
        case EXPECT_COMMA: expected = read_comma(reader, open); break;
        }
        if (!reader->failed) continue;
        uint32_t error = reader->at > before ? reader->at : before;
        if (!recover(reader, open, error)) return;
        expected = EXPECT_KEY;
    }
    skip_space(reader);
    if (reader->at < reader->length && !reader->builder->stopped)
        fail(reader, reader->at, "the end of the text after the document's value");
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
    read_document(&reader, &open);
    if (reader.failed) builder->tree->whole = false;
    buffer_finish(&reader.string);
    buffer_finish(&open);
}

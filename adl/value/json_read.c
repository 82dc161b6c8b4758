/*
 * json_read.c - JSON text to a value, strictly by RFC 8259, in one pass without recursion.
 *
 * Finished values are collected on a stack; a closing bracket makes a container of exact size from the values above its
 * start. Keys without escapes are cached during one read, so that an array of similar objects stores each key once. The
 * line and column of an error are computed only when an error occurs.
 */
#include <stdio.h>
#include <string.h>

#include "adl/value/base64.h"
#include "adl/value/block.h"
#include "adl/value/json.h"
#include "adl/value/json_scan.h"
#include "adl/value/memory.h"

#define WORD_MAX       24 /* letters of an unknown word that a message shows */
#define STACK_HERE     32 /* values and frames without an allocation */
#define FRAMES_HERE    16
#define KEYS_BEFORE    16 /* keys read before the cache is created */
#define CACHED_KEYS    64
#define CACHED_KEY_MAX 32 /* bytes */
#define KEY_SHOWN_MAX  64 /* bytes of a key that a message shows */

/* An open container and the start of its values on the stack. */
struct frame {
    size_t start;
    const char *text; /* its opening bracket */
    bool object;
};

struct reader {
    const char *text, *at, *end;
    tn_value *stack; /* items of open arrays; key, value, key, value … of open objects */
    size_t count, capacity;
    struct frame *frames;
    size_t depth, frame_capacity, depth_max;
    uint32_t values_left, values_max;
    struct buffer scratch; /* text of a string with escapes */
    tn_value *keys;        /* the cache; NULL before KEYS_BEFORE */
    size_t key_count;
    struct error *error;
    int32_t status;
    bool half_pairs; /* of json_limits */
};

/* ---- Errors ---- */

/* Appends a description of the text at `at`; returns the length of that text. */
static size_t json_describe(const struct reader *reader, const char *at, struct buffer *out) {
    if (at >= reader->end) {
        buffer_text(out, "the end of the text");
        return 0;
    }
    size_t before = out->length;
    const char *word = at;
    while (word < reader->end && word - at < WORD_MAX &&
           ((*word >= 'a' && *word <= 'z') || (*word >= 'A' && *word <= 'Z')))
        word++;
    uint32_t code_point;
    size_t size = utf8_decode(at, (size_t)(reader->end - at), &code_point);
    if (word - at > 1)
        size = (size_t)(word - at);
    else if (size == 0)
        buffer_format(out, "the byte 0x%02X", (unsigned)(unsigned char)*at);
    else if (code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0) || code_point == 0xFEFF)
        buffer_format(out, "the character U+%04X", (unsigned)code_point);
    if (out->length == before) buffer_format(out, "`%.*s`", (int)size, at);
    return size > 0 ? size : 1;
}

void json_locate(const char *text, size_t offset, size_t *line, size_t *column) {
    *line = *column = 1;
    for (const char *c = text; c < text + offset; c++) {
        if (*c == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)*c & 0xC0) != 0x80) {
            ++*column;
        }
    }
}

static bool fail_as(struct reader *reader, int32_t status, const char *code, const char *at, size_t length,
                    const char *message) {
    size_t line, column;
    json_locate(reader->text, (size_t)(at - reader->text), &line, &column);
    reader->status = error_set(reader->error, status, code, "%s, at line %zu, column %zu", message, line, column);
    if (reader->error != NULL) {
        reader->error->span.start = (uint32_t)(at - reader->text);
        reader->error->span.end = (uint32_t)((size_t)(at - reader->text) + length);
    }
    return false;
}

/* Reports "found …, <expected>" at `at`. Always returns false. */
static bool json_fail(struct reader *reader, const char *at, const char *expected) {
    struct buffer message;
    buffer_init(&message, SIZE_MAX);
    buffer_text(&message, "found ");
    size_t length = json_describe(reader, at, &message);
    buffer_format(&message, ", %s", expected);
    (void)fail_as(reader, TN_INVALID, "PARSE", at, length, message.data);
    buffer_finish(&message);
    return false;
}

static bool fail_limit(struct reader *reader, const char *at, const char *what, uint64_t limit) {
    char message[128];
    (void)snprintf(message, sizeof message, "%s the limit of %llu", what, (unsigned long long)limit);
    return fail_as(reader, TN_LIMIT, "LIMIT", at, 0, message);
}

/* ---- The stack ---- */

static inline void json_push(struct reader *reader, tn_value value) {
    if (reader->count == reader->capacity) {
        tn_value *old = reader->stack;
        reader->stack = mem_array(reader->capacity > STACK_HERE ? old : NULL, reader->capacity * 2, sizeof *old);
        if (reader->capacity == STACK_HERE) memcpy(reader->stack, old, STACK_HERE * sizeof *old);
        reader->capacity *= 2;
    }
    reader->stack[reader->count++] = value;
}

static inline void json_skip_space(struct reader *reader) {
    const char *at = reader->at;
    while (at < reader->end && json_is_space(*at)) at++;
    reader->at = at;
}

/* True if a closing bracket at `at` follows a comma. */
static bool is_trailing_comma(const struct reader *reader, const char *at) {
    if (at >= reader->end || (*at != ']' && *at != '}')) return false;
    while (at > reader->text && json_is_space(at[-1])) at--;
    return at > reader->text && at[-1] == ',';
}

/* ---- Strings ---- */

/* True for \uXXXX alone that is half of a surrogate pair. */
static bool is_half_pair(enum json_fault fault) {
    return fault == JSON_FAULT_NO_PAIR || fault == JSON_FAULT_PAIR_LOW || fault == JSON_FAULT_LOW_FIRST;
}

/* Reads the escape at reader->at, and appends its character to scratch. */
static bool read_escape(struct reader *reader) {
    static const char *const expected[] = {
        [JSON_FAULT_END] = "expected the rest of a string and `\"`",
        [JSON_FAULT_ESCAPE] = "expected one of `\"`, `\\`, `/`, `b`, `f`, `n`, `r`, `t`, `u` after `\\`",
        [JSON_FAULT_HEX] = "expected four hexadecimal digits after `\\u`",
        [JSON_FAULT_PAIR_HEX] = "expected four hexadecimal digits after `\\u`",
        [JSON_FAULT_NO_PAIR] = "expected a second `\\u` escape: this one is the first half of a surrogate pair",
        [JSON_FAULT_PAIR_LOW] = "expected the second half of a surrogate pair, \\uDC00 to \\uDFFF",
        [JSON_FAULT_LOW_FIRST] = "expected the first half of a surrogate pair, \\uD800 to \\uDBFF, before it"};
    struct json_escape escape = json_scan_escape(reader->at, reader->end);
    if (reader->half_pairs && is_half_pair(escape.fault))
        escape = (struct json_escape){reader->at + 6, 0xFFFD, JSON_FAULT_NONE};
    if (escape.fault) return json_fail(reader, escape.end, expected[escape.fault]);
    char utf8[4];
    if (escape.code_point < 0x80)
        buffer_char(&reader->scratch, (char)escape.code_point);
    else
        buffer_append(&reader->scratch, utf8, utf8_encode(escape.code_point, utf8));
    reader->at = escape.end;
    return true;
}

/*
 * Reads a string from after the opening quote to after the closing quote. Text with escapes is decoded into scratch;
 * other text is returned in place.
 */
static bool read_chars(struct reader *reader, const char **chars, size_t *length) {
    const char *from = reader->at;
    bool escaped = false;
    for (;;) {
        reader->at += json_scan_plain(reader->at, reader->end);
        if (reader->at >= reader->end) return json_fail(reader, reader->end, "expected the rest of a string and `\"`");
        unsigned char c = (unsigned char)*reader->at;
        if (c == '"') break;
        if (c == '\\') {
            if (!escaped) buffer_clear(&reader->scratch);
            escaped = true;
            buffer_append(&reader->scratch, from, (size_t)(reader->at - from));
            if (!read_escape(reader)) return false;
            from = reader->at;
        } else if (c < 0x20) {
            return json_fail(reader, reader->at,
                             "expected an escape: write control characters in strings as `\\n`, `\\u0001` …");
        } else {
            uint32_t code_point;
            size_t size = utf8_decode(reader->at, (size_t)(reader->end - reader->at), &code_point);
            if (size == 0) return json_fail(reader, reader->at, "expected UTF-8");
            reader->at += size;
        }
    }
    if (escaped) {
        buffer_append(&reader->scratch, from, (size_t)(reader->at - from));
        *chars = reader->scratch.data;
        *length = reader->scratch.length;
    } else {
        *chars = from;
        *length = (size_t)(reader->at - from);
    }
    reader->at++;
    return true;
}

static tn_value string_value(const char *chars, size_t length) {
    struct string *string = string_new(TN_STRING, length);
    if (length > 0) memcpy(string->chars, chars, length);
    return &string->header;
}

static tn_value key_value(struct reader *reader, const char *chars, size_t length) {
    if (length == 0 || length > CACHED_KEY_MAX || reader->key_count++ < KEYS_BEFORE) return string_value(chars, length);
    if (reader->keys == NULL) reader->keys = mem_zalloc(CACHED_KEYS * sizeof *reader->keys);
    size_t slot = (length * 7 + (unsigned char)chars[0] * 31u + (unsigned char)chars[length - 1] +
                   (unsigned char)chars[length / 2] * 5u) %
                  CACHED_KEYS;
    tn_value cached = reader->keys[slot];
    if (cached != NULL) {
        const struct string *string = string_of(cached);
        if (string->length == length && memcmp(string->chars, chars, length) == 0) return value_ref(cached);
    }
    value_unref(cached);
    return value_ref(reader->keys[slot] = string_value(chars, length));
}

/* ---- Numbers ---- */

static bool json_read_number(struct reader *reader, tn_value *out) {
    static const char *const expected[] = {[JSON_FAULT_NO_DIGIT] = "expected a digit after `-`",
                                           [JSON_FAULT_LEADING_ZERO] = "expected a number without a leading zero",
                                           [JSON_FAULT_FRACTION] = "expected a digit after `.`",
                                           [JSON_FAULT_EXPONENT] = "expected a digit of the exponent"};
    const char *start = reader->at;
    struct json_number number = json_scan_number(start, reader->end);
    if (number.fault) return json_fail(reader, number.end, expected[number.fault]);
    reader->at = number.end;
    if (number.is_integer) {
        *out = value_int(number.integer);
        return true;
    }
    double real;
    if (!json_double_read(start, (size_t)(number.end - start), &real))
        return fail_as(reader, TN_INVALID, "PARSE", start, (size_t)(number.end - start),
                       "found a number that is too large, expected at most 1.8e308");
    *out = value_double(real);
    return true;
}

/* ---- Words, and what is not JSON ---- */

static bool json_fail_value(struct reader *reader) {
    const char *at = reader->at;
    char c = at < reader->end ? *at : '\0';
    const char *expected = "expected a value";
    if (c == '\'') expected = "expected a value: strings are in double quotes";
    if (c == '/' || c == '#') expected = "expected a value: JSON has no comments";
    if (is_trailing_comma(reader, at)) expected = "expected a value: remove the comma before it";
    if (c == '+' || c == '.') expected = "expected a value: numbers begin with a digit or `-`";
    if (c == 'T' || c == 'F' || c == 'N' || c == 't' || c == 'f' || c == 'n' || c == 'I')
        expected = "expected a value: the words of JSON are `true`, `false` and `null`";
    return json_fail(reader, at, expected);
}

static bool json_read_word(struct reader *reader, const char *word, size_t length, tn_value meaning, tn_value *out) {
    const char *after = reader->at + length;
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0 ||
        (after < reader->end && ((*after | 0x20) >= 'a' && (*after | 0x20) <= 'z')))
        return json_fail_value(reader);
    reader->at = after;
    *out = meaning;
    return true;
}

/* ---- Containers ---- */

static bool open_container(struct reader *reader, bool object) {
    if (reader->depth == reader->depth_max)
        return fail_limit(reader, reader->at, "arrays and objects are nested deeper than", reader->depth_max);
    if (reader->depth == reader->frame_capacity) {
        struct frame *old = reader->frames;
        size_t room = reader->frame_capacity;
        reader->frames = mem_array(room > FRAMES_HERE ? old : NULL, room * 2, sizeof *old);
        if (room == FRAMES_HERE) memcpy(reader->frames, old, FRAMES_HERE * sizeof *old);
        reader->frame_capacity = room * 2;
    }
    reader->frames[reader->depth++] = (struct frame){reader->count, reader->at, object};
    reader->at++;
    json_skip_space(reader);
    return true;
}

/* Reads a key and its colon. */
static bool json_read_key(struct reader *reader) {
    const char *at = reader->at, *chars;
    size_t length;
    if (at >= reader->end || *at != '"')
        return json_fail(reader, at,
                         is_trailing_comma(reader, at) ? "expected a key: remove the comma before it"
                                                       : "expected a key in double quotes");
    reader->at++;
    if (!read_chars(reader, &chars, &length)) return false;
    json_push(reader, key_value(reader, chars, length));
    json_skip_space(reader);
    if (reader->at >= reader->end || *reader->at != ':')
        return json_fail(reader, reader->at, "expected `:` after a key");
    reader->at++;
    return true;
}

/* Finds the text of an entry's key in an object that was read, starting at its `{`. */
static const char *find_key_text(const char *at, size_t entry) {
    size_t depth = 0;
    for (bool key = false;; at++) {
        if (*at == '"') {
            if (depth == 1 && key && entry-- == 0) return at;
            key = false;
            for (at++; *at != '"'; at++)
                if (*at == '\\') at++;
        } else if (*at == '{' || *at == '[') {
            key = ++depth == 1;
        } else if (*at == '}' || *at == ']') {
            depth--;
        } else if (*at == ',') {
            key = depth == 1;
        }
    }
}

static bool fail_duplicate(struct reader *reader, const struct frame *frame, size_t entry) {
    const char *at = find_key_text(frame->text, entry), *end = at;
    do end += *end == '\\' ? 2 : 1;
    while (*end != '"');
    size_t written = (size_t)(end + 1 - at), length = written > KEY_SHOWN_MAX ? KEY_SHOWN_MAX : written;
    while (length < written && ((unsigned char)at[length] & 0xC0) == 0x80) length--;
    struct buffer message;
    buffer_init(&message, SIZE_MAX);
    buffer_format(&message, "found the key %.*s%s a second time, expected every key of an object once", (int)length, at,
                  length < written ? "…" : "");
    (void)fail_as(reader, TN_INVALID, "PARSE", at, written, message.data);
    buffer_finish(&message);
    return false;
}

/* Returns the first entry whose key occurred before, or the number of entries. Quadratic: for small objects. */
static size_t find_duplicate(const tn_value *items, size_t entries) {
    for (size_t i = 1; i < entries; i++) {
        for (size_t j = 0; j < i; j++)
            if (string_same(items[2 * i], items[2 * j])) return i;
    }
    return entries;
}

/* Returns {"$bytes": "base64"} as bytes and releases both items, or NULL if the object is not of that form. */
static tn_value bytes_of(tn_value *items, size_t entries) {
    if (entries != 1 || !value_is(items[1], TN_STRING) || !value_text_is(items[0], "$bytes")) return NULL;
    size_t length;
    const char *chars = value_chars(items[1], &length);
    tn_value bytes = base64_read(chars, length);
    if (bytes == NULL) return NULL;
    value_unref(items[0]);
    value_unref(items[1]);
    return bytes;
}

/* At a closing bracket: turns the values above the frame's start into one container. */
static bool close_container(struct reader *reader, tn_value *out) {
    const struct frame *frame = &reader->frames[reader->depth - 1];
    tn_value *items = reader->stack + frame->start, made = NULL;
    size_t entries = (reader->count - frame->start) / (frame->object ? 2 : 1);
    if (frame->object && entries <= OBJECT_LINEAR_MAX) {
        size_t again = find_duplicate(items, entries);
        if (again < entries) return fail_duplicate(reader, frame, again);
        made = bytes_of(items, entries);
    }
    if (made == NULL) made = list_make(frame->object ? TN_OBJECT : TN_ARRAY, items, entries);
    reader->count = frame->start;
    if (frame->object && entries > OBJECT_LINEAR_MAX) { /* the hash table is faster */
        size_t again = object_duplicate(made);
        if (again < entries) {
            value_unref(made);
            return fail_duplicate(reader, frame, again);
        }
    }
    reader->depth--;
    reader->at++;
    *out = made;
    return true;
}

/* ---- The whole ---- */

/* At a value, after blanks: reads a scalar or an empty container, or opens a container and sets *opened. */
static bool json_read_value(struct reader *reader, tn_value *out, bool *opened) {
    *opened = false;
    if (reader->at >= reader->end) return json_fail_value(reader);
    if (reader->values_left-- == 0)
        return fail_limit(reader, reader->at, "the text has more values than", reader->values_max);
    char c = *reader->at;
    const char *chars;
    size_t length;
    switch (c) {
    case '"':
        reader->at++;
        if (!read_chars(reader, &chars, &length)) return false;
        *out = string_value(chars, length);
        return true;
    case '[':
    case '{':
        if (!open_container(reader, c == '{')) return false;
        if (reader->at < reader->end && *reader->at == (c == '{' ? '}' : ']')) return close_container(reader, out);
        *opened = true;
        return true;
    case 't': return json_read_word(reader, "true", 4, VALUE_IMMEDIATE_TRUE, out);
    case 'f': return json_read_word(reader, "false", 5, VALUE_IMMEDIATE_FALSE, out);
    case 'n': return json_read_word(reader, "null", 4, VALUE_IMMEDIATE_NULL, out);
    default: return c == '-' || (c >= '0' && c <= '9') ? json_read_number(reader, out) : json_fail_value(reader);
    }
}

static bool read_all(struct reader *reader, tn_value *out) {
    tn_value value;
    bool opened;
    json_skip_space(reader);
    for (;;) {
        if (!json_read_value(reader, &value, &opened)) return false;
        while (!opened) { /* a value is complete: continue or close its container */
            if (reader->depth == 0) {
                *out = value;
                return true;
            }
            json_push(reader, value);
            json_skip_space(reader);
            struct frame *frame = &reader->frames[reader->depth - 1];
            char c = reader->at < reader->end ? *reader->at : '\0';
            if (c == ',') {
                reader->at++;
                json_skip_space(reader);
                break;
            }
            if (c != (frame->object ? '}' : ']'))
                return json_fail(reader, reader->at, frame->object ? "expected `,` or `}`" : "expected `,` or `]`");
            if (!close_container(reader, &value)) return false;
        }
        if (reader->frames[reader->depth - 1].object) {
            if (!json_read_key(reader)) return false;
            json_skip_space(reader);
        }
    }
}

int32_t json_read(const char *text, size_t length, const struct json_limits *limits, tn_value *out,
                  struct error *error) {
    uint64_t length_max = limits != NULL && limits->length != 0 ? limits->length : JSON_LENGTH_MAX;
    tn_value stack[STACK_HERE];
    struct frame frames[FRAMES_HERE];
    struct reader reader = {.text = text, .at = text, .end = text + length, .error = error, .status = TN_OK};
    reader.stack = stack;
    reader.capacity = STACK_HERE;
    reader.frames = frames;
    reader.frame_capacity = FRAMES_HERE;
    reader.half_pairs = limits != NULL && limits->half_pairs;
    reader.values_max = limits != NULL && limits->values != 0 ? limits->values : JSON_VALUES_MAX;
    reader.values_left = reader.values_max;
    reader.depth_max = limits != NULL && limits->depth != 0 ? limits->depth : JSON_DEPTH_MAX;
    buffer_init(&reader.scratch, SIZE_MAX);
    tn_value value = NULL;
    if (length > length_max) {
        (void)fail_limit(&reader, text, "the text is longer, in bytes, than", length_max);
    } else if (read_all(&reader, &value)) {
        json_skip_space(&reader);
        if (reader.at < reader.end) {
            (void)json_fail(&reader, reader.at, "expected the end of the text after one value");
            value_unref(value);
        }
    }
    for (size_t i = 0; i < reader.count; i++) value_unref(reader.stack[i]);
    for (size_t i = 0; reader.keys != NULL && i < CACHED_KEYS; i++) value_unref(reader.keys[i]);
    mem_free(reader.keys);
    if (reader.stack != stack) mem_free(reader.stack);
    if (reader.frames != frames) mem_free(reader.frames);
    buffer_finish(&reader.scratch);
    if (reader.status == TN_OK) *out = value;
    return reader.status;
}

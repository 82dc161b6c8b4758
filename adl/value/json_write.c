/*
 * json_write.c - values as JSON text: compact, indented, or with sorted keys.
 *
 * Open containers are on an explicit stack, because the depth of a value is not bounded. Only quotes, backslashes and
 * control characters are escaped. Writing ends when the buffer overflows.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "adl/value/base64.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"

struct level {
    tn_value container; /* borrowed */
    size_t next;
    size_t *order; /* order of an object's entries if keys are sorted, else NULL */
};

#define LEVELS_HERE 32

struct writer {
    struct buffer *out;
    enum json_style style;
    size_t depth, capacity;
    size_t depth_max; /* at least `capacity` */
    bool too_deep;
    struct level *levels;
    struct level here[LEVELS_HERE];
};

static const char escapes[] = "uuuuuuuubtnufruu"
                              "uuuuuuuuuuuuuuuu";

/* True if one of the eight bytes must be escaped: it is less than 0x20, or equals a quote or a backslash. */
static bool word_has_escape(const char *text) {
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t word, quote, slash;
    memcpy(&word, text, sizeof word);
    quote = word ^ ones * '"';
    slash = word ^ ones * '\\';
    return (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & highs;
}

/* The bytes before the first one that must be escaped. */
static size_t plain_length(const char *text, size_t length) {
    size_t at = 0;
    while (at + 8 <= length && !word_has_escape(text + at)) at += 8;
    if (length >= 8 && length - at < 8 && !word_has_escape(text + length - 8)) return length;
    for (; at < length; at++) {
        unsigned char c = (unsigned char)text[at];
        if (c < 0x20 || c == '"' || c == '\\') break;
    }
    return at;
}

static void write_escaped(struct buffer *out, const char *text, size_t length) {
    static const char hex[] = "0123456789abcdef";
    buffer_char(out, '"');
    size_t from = 0;
    for (size_t at = plain_length(text, length); at < length; at += plain_length(text + at, length - at)) {
        unsigned char c = (unsigned char)text[at];
        buffer_append(out, text + from, at - from);
        from = ++at;
        char escape[6] = {'\\', c < 0x20 ? escapes[c] : text[at - 1], '0', '0', hex[c >> 4], hex[c & 15]};
        buffer_append(out, escape, escape[1] == 'u' ? 6 : 2);
    }
    buffer_append(out, text + from, length - from);
    buffer_char(out, '"');
}

/* Most strings need no escape: they are one append, with the quotes and `after`, which has `after_length` bytes. */
static void write_string(struct buffer *out, const char *text, size_t length, const char *after, size_t after_length) {
    char *room;
    if (plain_length(text, length) < length || out->limit - out->length < length + after_length + 2) {
        write_escaped(out, text, length);
        buffer_append(out, after, after_length);
    } else if ((room = buffer_extend(out, length + after_length + 2)) != NULL) {
        *room++ = '"';
        if (length > 0) memcpy(room, text, length);
        room[length] = '"';
        if (after_length > 0) memcpy(room + length + 1, after, after_length);
    }
}

void json_write_string(struct buffer *out, const char *text, size_t length) { write_string(out, text, length, "", 0); }

static void write_integer(struct buffer *out, int64_t integer) {
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    do digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (integer < 0) digits[--at] = '-';
    buffer_append(out, digits + at, sizeof digits - at);
}

static void json_write_scalar(struct buffer *out, tn_value value, int kind) {
    char number[32];
    size_t length;
    const char *chars;
    switch (kind) {
    case TN_BOOL: buffer_text(out, value_to_bool(value) ? "true" : "false"); return;
    case TN_INT: write_integer(out, value_to_int(value)); return;
    case TN_DOUBLE: buffer_append(out, number, json_double_text(value_to_double(value), number)); return;
    case TN_STRING:
        chars = value_chars(value, &length);
        json_write_string(out, chars, length);
        return;
    case TN_BYTES:
        chars = value_data(value, &length);
        buffer_text(out, "{\"$bytes\":\"");
        base64_write(out, chars, length);
        buffer_text(out, "\"}");
        return;
    default: buffer_text(out, "null"); return;
    }
}

static int by_key(const void *a, const void *b, void *object) {
    tn_value x = value_key_at(object, *(const size_t *)a), y = value_key_at(object, *(const size_t *)b);
    return value_compare_strings(x, y);
}

static size_t *sorted_order(tn_value object) {
    size_t count = value_count(object), *order = mem_array(NULL, count, sizeof *order);
    for (size_t i = 0; i < count; i++) order[i] = i;
    qsort_r(order, count, sizeof *order, by_key, (void *)(uintptr_t)object);
    return order;
}

static void break_line(struct writer *writer) {
    if (!(writer->style & JSON_INDENTED)) return;
    buffer_char(writer->out, '\n');
    for (size_t i = 0; i < writer->depth && !writer->out->overflow; i++) buffer_append(writer->out, "  ", 2);
}

static void json_drop_levels(struct writer *writer) {
    while (writer->depth > 0) mem_free(writer->levels[--writer->depth].order);
}

/* Makes room for one more level. Returns false at the greatest depth; then writing ends. */
static bool json_grow_levels(struct writer *writer) {
    size_t capacity = writer->capacity > writer->depth_max / 2 ? writer->depth_max : writer->capacity * 2;
    if (writer->capacity == writer->depth_max) {
        writer->too_deep = true;
        json_drop_levels(writer);
        return false;
    }
    writer->levels = mem_array_from(writer->levels, writer->here, writer->depth, capacity, sizeof *writer->levels);
    writer->capacity = capacity;
    return true;
}

static void json_open(struct writer *writer, tn_value container, int kind) {
    if (value_count(container) == 0) {
        buffer_text(writer->out, kind == TN_ARRAY ? "[]" : "{}");
        return;
    }
    buffer_char(writer->out, kind == TN_ARRAY ? '[' : '{');
    if (writer->depth == writer->capacity && !json_grow_levels(writer)) return;
    size_t *order = kind == TN_OBJECT && (writer->style & JSON_SORTED) ? sorted_order(container) : NULL;
    writer->levels[writer->depth++] = (struct level){container, 0, order};
}

/*
 * Writes the comma and key before the next item of the innermost container and returns the item. At the end, closes the
 * container and returns NULL.
 */
static tn_value json_next(struct writer *writer) {
    struct level *level = &writer->levels[writer->depth - 1];
    bool object = value_is(level->container, TN_OBJECT);
    if (level->next == value_count(level->container)) {
        mem_free(level->order);
        writer->depth--;
        break_line(writer);
        buffer_char(writer->out, object ? '}' : ']');
        return NULL;
    }
    if (level->next > 0) buffer_char(writer->out, ',');
    break_line(writer);
    size_t i = level->next++;
    if (!object) return value_at(level->container, i);
    if (level->order != NULL) i = level->order[i];
    size_t length;
    const char *key = value_chars(value_key_at(level->container, i), &length);
    write_string(writer->out, key, length, ": ", writer->style & JSON_INDENTED ? 2 : 1);
    return value_value_at(level->container, i);
}

bool json_write_bounded(struct buffer *out, tn_value value, enum json_style style, size_t depth) {
    struct writer writer = {
        .out = out, .style = style, .capacity = depth < LEVELS_HERE ? depth : LEVELS_HERE, .depth_max = depth};
    writer.levels = writer.here;
    assert(value != NULL);
    do {
        int kind = value_kind(value);
        if (kind >= TN_ARRAY)
            json_open(&writer, value, kind);
        else if (kind != TN_NONE) /* else a container has ended */
            json_write_scalar(out, value, kind);
        if (writer.depth == 0) break;
        value = json_next(&writer);
    } while (!out->overflow);
    json_drop_levels(&writer);
    if (writer.levels != writer.here) mem_free(writer.levels);
    return !writer.too_deep;
}

void json_write(struct buffer *out, tn_value value, enum json_style style) {
    json_write_bounded(out, value, style, SIZE_MAX);
}

char *json_text(tn_value value, enum json_style style) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    json_write(&out, value, style);
    return buffer_detach(&out, NULL);
}

void json_hash(tn_value value, enum json_style style, char out[TN_SHA256_TEXT]) {
    struct buffer text;
    struct tn_sha256 hash;
    buffer_init(&text, SIZE_MAX);
    json_write(&text, value, style);
    tn_sha256_init(&hash);
    tn_sha256_update(&hash, buffer_cstr(&text), text.length);
    tn_sha256_finish_text(&hash, out);
    buffer_finish(&text);
}

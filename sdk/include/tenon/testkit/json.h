/*
 * tenon/testkit/json.h - the values of the fake host as JSON text, in both directions; include <tenon/testkit.h>.
 */
#ifndef TENON_TESTKIT_JSON_H
#define TENON_TESTKIT_JSON_H

#include <errno.h>
#include <tenon/base64.h>
#include <tenon/testkit/builder.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tn_test_reader {
    const char *at, *end;
    uint32_t depth;
    bool deep; /* it was nested deeper than TN_TEST_DEPTH */
};

static inline void tn_test_skip_blanks(struct tn_test_reader *reader) {
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) != NULL && *reader->at != '\0') reader->at++;
}

static inline bool tn_test_skip(struct tn_test_reader *reader, const char *word) {
    size_t length = strlen(word);
    if (TN_UTIL_CAST(size_t, reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) return false;
    reader->at += length;
    return true;
}

/* The four digits of \uXXXX; false if they are not there. */
static inline bool tn_test_read_hex(struct tn_test_reader *reader, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, reader->at++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = reader->at < reader->end && *reader->at != '\0' ? strchr(digits, *reader->at) : NULL;
        if (digit == NULL) return false;
        *out = *out << 4 | (TN_UTIL_CAST(uint32_t, digit - digits) & 15);
    }
    return true;
}

/* Behind the opening quote. NULL if the string is malformed. */
static inline struct tn_test_value *tn_test_read_string(struct tn_test_reader *reader) {
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    struct tn_test_value *string = NULL;
    char *out = TN_UTIL_CAST(char *, malloc(TN_UTIL_CAST(size_t, reader->end - reader->at) + 1));
    uint64_t length = 0;
    bool good = true;
    TN_TEST_ASSERT(out != NULL);
    while (good && reader->at < reader->end && *reader->at != '"' && TN_UTIL_CAST(unsigned char, *reader->at) >= ' ') {
        const char *escape;
        uint32_t code = 0, low = 0;
        if (*reader->at != '\\') {
            out[length++] = *reader->at++;
            continue;
        }
        if (++reader->at == reader->end || *reader->at == '\0') break;
        escape = strchr(escapes, *reader->at);
        if (escape != NULL) {
            out[length++] = meant[escape - escapes];
            reader->at++;
            continue;
        }
        good = *reader->at++ == 'u' && tn_test_read_hex(reader, &code);
        if (good && code >= 0xD800 && code < 0xDC00) {
            good = tn_test_skip(reader, "\\u") && tn_test_read_hex(reader, &low) && low >= 0xDC00 && low <= 0xDFFF;
            if (good) code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        if (good) length += tn_utf8_encode(code, out + length);
    }
    if (good && tn_test_skip(reader, "\"") && tn_utf8_is_valid(out, length))
        string = tn_test_new_text(TN_STRING, out, length);
    free(out);
    return string;
}

static inline struct tn_test_value *tn_test_read_number(struct tn_test_reader *reader) {
    char text[400];
    size_t length = 0;
    char *end;
    bool whole = true;
    long long integer;
    double number;
    tn_value value = NULL;
    while (reader->at + length < reader->end && length < sizeof(text) - 1 && reader->at[length] != '\0' &&
           strchr("+-.0123456789eE", reader->at[length]) != NULL) {
        text[length] = reader->at[length];
        if (strchr(".eE", text[length]) != NULL) whole = false;
        length++;
    }
    text[length] = '\0';
    end = text + (text[0] == '-');
    if (*end < '0' || *end > '9' || (end[0] == '0' && end[1] >= '0' && end[1] <= '9') || text[length - 1] == '.')
        return NULL;
    errno = 0;
    integer = strtoll(text, &end, 10);
    if (whole && errno == 0 && *end == '\0') value = tn_test_make_int(NULL, integer);
    number = strtod(text, &end);
    if (value == NULL && *end == '\0') (void)tn_test_make_double(NULL, number, &value);
    if (value != NULL) reader->at += length;
    return tn_test_block(value);
}

static inline struct tn_test_value *tn_test_read_value(struct tn_test_reader *reader);

/* Behind the opening bracket. */
static inline struct tn_test_value *tn_test_read_container(struct tn_test_reader *reader, int32_t kind) {
    struct tn_test_value *made = tn_test_new(kind), *key = NULL, *item;
    const char *close = kind == TN_ARRAY ? "]" : "}";
    bool good = ++reader->depth <= TN_TEST_DEPTH;
    if (!good) reader->deep = true;
    tn_test_skip_blanks(reader);
    while (good && !tn_test_skip(reader, close)) {
        if (made->length > 0) good = tn_test_skip(reader, ",");
        tn_test_skip_blanks(reader);
        if (good && kind == TN_OBJECT) {
            key = tn_test_skip(reader, "\"") ? tn_test_read_string(reader) : NULL;
            tn_test_skip_blanks(reader);
            good = key != NULL && tn_test_skip(reader, ":");
        }
        item = good ? tn_test_read_value(reader) : NULL;
        good = item != NULL;
        if (good && kind == TN_ARRAY) tn_test_push(made, item);
        if (good && kind == TN_OBJECT)
            good = tn_test_put(made, key, item);
        else
            tn_test_release(tn_test_value_of(key));
        key = NULL;
        tn_test_skip_blanks(reader);
    }
    reader->depth--;
    if (good) return made;
    tn_test_release(tn_test_value_of(made));
    return NULL;
}

/* {"$bytes": "aGk="} is bytes; any other object stays. Takes the object. */
static inline struct tn_test_value *tn_test_bytes_of(struct tn_test_value *object) {
    tn_value text =
        object != NULL && object->length == 2 ? tn_test_get(tn_test_value_of(object), "$bytes", TN_Z) : NULL;
    struct tn_test_value *bytes;
    uint64_t length = 0;
    const char *chars = tn_test_as_text(text, &length);
    if (chars == NULL || (length > 0 && !tn_is_base64(chars, length))) return object;
    bytes = tn_test_new_text(TN_BYTES, chars, length); /* decoding makes it shorter */
    bytes->length = tn_base64_take(chars, length, bytes->text, length);
    bytes->text[bytes->length] = '\0';
    tn_test_release(tn_test_value_of(object));
    return bytes;
}

static inline struct tn_test_value *tn_test_read_value(struct tn_test_reader *reader) {
    struct tn_test_value *value = NULL;
    tn_test_skip_blanks(reader);
    if (reader->at == reader->end) return NULL;
    if (tn_test_skip(reader, "{"))
        value = tn_test_bytes_of(tn_test_read_container(reader, TN_OBJECT));
    else if (tn_test_skip(reader, "["))
        value = tn_test_read_container(reader, TN_ARRAY);
    else if (tn_test_skip(reader, "\""))
        value = tn_test_read_string(reader);
    else if (tn_test_skip(reader, "true"))
        value = tn_test_block(tn_test_make_bool(NULL, 1));
    else if (tn_test_skip(reader, "false"))
        value = tn_test_block(tn_test_make_bool(NULL, 0));
    else if (tn_test_skip(reader, "null"))
        value = tn_test_block(tn_test_make_null(NULL));
    else
        value = tn_test_read_number(reader);
    tn_test_skip_blanks(reader);
    return value;
}

/* An ERROR whose detail is the position where reading stopped. */
static inline tn_value tn_test_json_reason(const char *json, const struct tn_test_reader *reader) {
    const char *const names[] = {"offset", "line", "column"};
    struct tn_test_value *detail = tn_test_new(TN_OBJECT);
    int64_t numbers[] = {reader->at - json, 1, 1};
    for (const char *at = json; at < reader->at; at++) {
        numbers[1] += *at == '\n';
        numbers[2] = *at == '\n' ? 1 : numbers[2] + 1;
    }
    for (int i = 0; i < 3; i++) {
        tn_test_push(detail, tn_test_new_text(TN_STRING, names[i], strlen(names[i])));
        tn_test_push(detail, tn_test_block(tn_test_make_int(NULL, numbers[i])));
    }
    return reader->deep ? tn_test_reason("LIMIT", "arrays and objects are nested too deep", detail)
                        : tn_test_reason("PARSE", "the text is not JSON", detail);
}

static inline int32_t tn_test_from_json(const tn_host *host, const char *json, uint64_t length, tn_value *out,
                                        tn_value *error) {
    struct tn_test_reader reader;
    struct tn_test_value *value;
    (void)host;
    if (json == NULL) return TN_INVALID;
    reader.at = json;
    reader.end = json + tn_test_length(json, length);
    reader.depth = 0;
    reader.deep = false;
    value = tn_test_read_value(&reader);
    if (value == NULL || reader.at != reader.end) {
        tn_test_release(tn_test_value_of(value));
        if (error != NULL) *error = tn_test_json_reason(json, &reader);
        return TN_FAILED;
    }
    *out = tn_test_value_of(value);
    return TN_OK;
}

struct tn_test_writer {
    char *text; /* NULL: only count */
    uint64_t length;
    uint32_t depth;
    bool pretty, sorted;
};

static inline void tn_test_write_n(struct tn_test_writer *writer, const char *text, uint64_t length) {
    if (writer->text != NULL) memcpy(writer->text + writer->length, text, TN_UTIL_CAST(size_t, length));
    writer->length += length;
}

static inline void tn_test_write_string(struct tn_test_writer *writer, const char *text, uint64_t length) {
    static const char controls[] = "\b\f\n\r\t", names[] = "bfnrt";
    tn_test_write_n(writer, "\"", 1);
    for (uint64_t i = 0; i < length; i++) {
        char escape[8];
        const char *control = text[i] != '\0' ? strchr(controls, text[i]) : NULL;
        if (text[i] == '"' || text[i] == '\\')
            (void)snprintf(escape, sizeof(escape), "\\%c", text[i]);
        else if (control != NULL)
            (void)snprintf(escape, sizeof(escape), "\\%c", names[control - controls]);
        else if (TN_UTIL_CAST(unsigned char, text[i]) < ' ')
            (void)snprintf(escape, sizeof(escape), "\\u%04x", TN_UTIL_CAST(unsigned, text[i]) & 0xFF);
        else
            (void)snprintf(escape, sizeof(escape), "%c", text[i]);
        tn_test_write_n(writer, escape, strlen(escape));
    }
    tn_test_write_n(writer, "\"", 1);
}

static inline void tn_test_write_number(struct tn_test_writer *writer, double number) {
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        double again;
        (void)snprintf(text, sizeof(text), "%.*g", digits, number);
        again = strtod(text, NULL);
        if (again <= number && again >= number) break;
    }
    if (strpbrk(text, ".e") == NULL) (void)strcat(text, ".0");
    tn_test_write_n(writer, text, strlen(text));
}

static inline void tn_test_write_bytes(struct tn_test_writer *writer, const struct tn_test_value *value) {
    char *base64 = TN_UTIL_CAST(char *, malloc(TN_UTIL_CAST(size_t, TN_BASE64_SIZE(value->length)) + 1)), *end;
    TN_TEST_ASSERT(base64 != NULL);
    end = tn_base64_put(base64, value->text, value->length);
    tn_test_write_n(writer, writer->pretty ? "{\"$bytes\": " : "{\"$bytes\":", writer->pretty ? 11 : 10);
    tn_test_write_string(writer, base64, TN_UTIL_CAST(uint64_t, end - base64));
    tn_test_write_n(writer, "}", 1);
    free(base64);
}

static inline void tn_test_write_line(struct tn_test_writer *writer) {
    if (!writer->pretty) return;
    tn_test_write_n(writer, "\n", 1);
    for (uint32_t i = 0; i < writer->depth; i++) tn_test_write_n(writer, "  ", 2);
}

/* True if the key `a` is before `b` in the order of their bytes. */
static inline bool tn_test_before(const struct tn_test_value *a, const struct tn_test_value *b) {
    uint64_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->text, b->text, TN_UTIL_CAST(size_t, shorter));
    return order < 0 || (order == 0 && a->length < b->length);
}

/* The key that is written after `last`, which is NULL first; NULL after the last key. */
static inline struct tn_test_value *const *tn_test_next_key(const struct tn_test_writer *writer,
                                                            const struct tn_test_value *object,
                                                            struct tn_test_value *const *last) {
    struct tn_test_value *const *next = NULL, *const *end = object->items + object->length;
    if (!writer->sorted) {
        next = last == NULL ? object->items : last + 2;
        return next != end ? next : NULL;
    }
    for (struct tn_test_value *const *key = object->items; key != end; key += 2)
        if ((last == NULL || tn_test_before(*last, *key)) && (next == NULL || tn_test_before(*key, *next))) next = key;
    return next;
}

static inline void tn_test_write(struct tn_test_writer *writer, const struct tn_test_value *value);

static inline void tn_test_write_container(struct tn_test_writer *writer, const struct tn_test_value *value) {
    bool is_array = value->kind == TN_ARRAY;
    struct tn_test_value *const *key = NULL;
    tn_test_write_n(writer, is_array ? "[" : "{", 1);
    writer->depth++;
    for (uint64_t i = 0; i < value->length; i += is_array ? 1 : 2) {
        if (i > 0) tn_test_write_n(writer, ",", 1);
        tn_test_write_line(writer);
        if (is_array) {
            tn_test_write(writer, value->items[i]);
            continue;
        }
        key = tn_test_next_key(writer, value, key);
        tn_test_write(writer, *key);
        tn_test_write_n(writer, ": ", writer->pretty ? 2 : 1);
        tn_test_write(writer, key[1]);
    }
    writer->depth--;
    if (value->length > 0) tn_test_write_line(writer);
    tn_test_write_n(writer, is_array ? "]" : "}", 1);
}

static inline void tn_test_write(struct tn_test_writer *writer, const struct tn_test_value *value) {
    char text[32];
    switch (value->kind) {
    case TN_NULL: tn_test_write_n(writer, "null", 4); break;
    case TN_BOOL: tn_test_write_n(writer, value->integer != 0 ? "true" : "false", value->integer != 0 ? 4 : 5); break;
    case TN_INT:
        (void)snprintf(text, sizeof(text), "%lld", TN_UTIL_CAST(long long, value->integer));
        tn_test_write_n(writer, text, strlen(text));
        break;
    case TN_DOUBLE: tn_test_write_number(writer, value->number); break;
    case TN_STRING: tn_test_write_string(writer, value->text, value->length); break;
    case TN_BYTES: tn_test_write_bytes(writer, value); break;
    default: tn_test_write_container(writer, value);
    }
}

/* Reads one option of to_json; a status. */
static inline int32_t tn_test_option(tn_value options, const char *name, uint64_t *known, bool *out) {
    int32_t truth = 0;
    tn_value value = tn_test_get(options, name, TN_Z);
    if (value != NULL && tn_test_as_bool(value, &truth) != TN_OK) return TN_TYPE;
    *known += value != NULL;
    *out = truth != 0;
    return TN_OK;
}

static inline int32_t tn_test_to_json(tn_value value, tn_value options, tn_value *out) {
    struct tn_test_writer writer;
    struct tn_test_value *text;
    uint64_t known = 0;
    memset(&writer, 0, sizeof(writer));
    if (value == NULL) return TN_INVALID;
    if (options != NULL && tn_test_kind(options) != TN_OBJECT) return TN_TYPE;
    if (tn_test_option(options, "pretty", &known, &writer.pretty) != TN_OK ||
        tn_test_option(options, "sorted", &known, &writer.sorted) != TN_OK)
        return TN_TYPE;
    if (known != tn_test_count(options)) return TN_INVALID; /* an option that does not exist */
    tn_test_write(&writer, tn_test_block(value));
    text = tn_test_new_text(TN_STRING, "", 0);
    free(text->text);
    text->text = TN_UTIL_CAST(char *, malloc(TN_UTIL_CAST(size_t, writer.length) + 1));
    TN_TEST_ASSERT(text->text != NULL);
    text->length = writer.length;
    writer.text = text->text;
    writer.length = 0;
    tn_test_write(&writer, tn_test_block(value));
    text->text[text->length] = '\0';
    *out = tn_test_value_of(text);
    return TN_OK;
}

static const tn_value_1 tn_test_values = {sizeof(tn_value_1),
                                          tn_test_retain,
                                          tn_test_release,
                                          tn_test_kind,
                                          tn_test_as_bool,
                                          tn_test_as_int,
                                          tn_test_as_double,
                                          tn_test_as_text,
                                          tn_test_as_bytes,
                                          tn_test_count,
                                          tn_test_at,
                                          tn_test_get,
                                          tn_test_entry,
                                          tn_test_equal,
                                          tn_test_make_null,
                                          tn_test_make_bool,
                                          tn_test_make_int,
                                          tn_test_make_double,
                                          tn_test_make_text,
                                          tn_test_make_bytes,
                                          tn_test_set,
                                          tn_test_remove,
                                          tn_test_append,
                                          tn_test_splice,
                                          tn_test_concat,
                                          tn_test_slice,
                                          tn_test_make_builder,
                                          tn_test_builder_begin,
                                          tn_test_builder_key,
                                          tn_test_builder_add,
                                          tn_test_builder_add_text,
                                          tn_test_builder_end,
                                          tn_test_builder_finish,
                                          tn_test_from_json,
                                          tn_test_to_json};

#ifdef __cplusplus
}
#endif
#endif

/*
 * tenon/testkit.h - a host in one header, for testing a plugin without Tenon.
 *
 * A test includes the plugin's sources and this header, so that the plugin's entry is in the same program. The fake
 * host has channels, tasks, a clock and posted calls. Nothing happens by itself: tn_test_advance runs posted calls,
 * tn_test_call_end ends a component that the plugin called, and emit returns TN_AGAIN while `tn_test.room` is 0. An
 * expression is `state.NAME`, JSON, or anything else, which fails; `{NAME}` in a template is a channel.
 *
 *     #include "../src/plugin.c"
 *     #include <tenon/testkit.h>
 *     int main(void) {
 *         tn_test_set_channel("text", "\"a b\"");
 *         tn_test_run("acme.words", "{\"input_key\": \"text\", \"output_key\": \"n\"}", "null");
 *         TN_TEST_ASSERT(tn_test_wrote("n", "2"));
 *         tn_test_finish();                              // also fails if a value or a posted call is left
 *     }
 *
 * A test framework may define TN_TEST_ASSERT(condition) before it includes this header; by default a failure prints the
 * condition and aborts. Everything runs on one thread. One such host for each source file that includes this header.
 */
#ifndef TENON_TESTKIT_H
#define TENON_TESTKIT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon.h>
#include <tenon/base64.h>
#include <tenon/eval.h>
#include <tenon/graph.h>
#include <tenon/util/cast.h>
#include <tenon/util/utf8.h>

#ifdef __cplusplus
#define TN_TEST_POINTER(type, pointer) reinterpret_cast<type>(reinterpret_cast<uintptr_t>(pointer))
extern "C" {
#else
#define TN_TEST_POINTER(type, pointer) ((type)(uintptr_t)(pointer))
#endif

#ifndef TN_TEST_ASSERT
#define TN_TEST_ASSERT(condition)                                                                                      \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
#endif

#define TN_TEST_MAX 64 /* channels, tasks, texts and posted calls */

enum tn_test_state { TN_TEST_OPEN, TN_TEST_COMPLETED, TN_TEST_FAILED };

struct tn_test_task {
    enum tn_test_state state;
    tn_value output, error; /* owned; error: {code, message, ...more} */
    bool cancelled;
};

struct tn_test_channel {
    char name[32];
    tn_value value, written; /* written: NULL if it was not */
    bool readable, writable; /* bound as such */
};

struct tn_test_posted {
    uint64_t id, due;
    void (*function)(void *argument);
    void *argument;
};

struct tn_test_called { /* the last call of a component */
    char kind[16], name[64];
    tn_task task;
    tn_value input;
    tn_call_done done;
    void *user;
};

static struct tn_test_host {
    struct tn_test_channel channels[TN_TEST_MAX];
    uint32_t channel_count;
    struct tn_test_task tasks[TN_TEST_MAX]; /* a token is an index + 1 */
    uint32_t task_count;
    char *texts[TN_TEST_MAX]; /* bound expressions and templates */
    uint32_t text_count;
    struct tn_test_posted posts[TN_TEST_MAX];
    uint64_t post_count, next_post, now;
    struct tn_test_called call;
    tn_value emitted; /* an array */
    uint32_t room;    /* chunks that emit still takes */
    uint64_t deny;    /* the allocation that fails: 1 is the next; 0: none */
    int64_t values;   /* that exist, of the values below */
    char refusal[512];
    char missing[64];                    /* an interface that the host does not offer */
    const void *(*more)(const char *id); /* further interfaces; may be NULL */
    bool started;
    const tn_component_1 *components;
    void *self, *instance;
} tn_test;

/* ---- Values ---------------------------------------------------------------------------------------------------- */

#ifndef TN_TEST_VALUES

#define TN_TEST_DEPTH 200 /* arrays and objects in one another */

struct tn_test_value {
    int64_t references;
    int64_t integer; /* of a bool too */
    double number;
    char *text;                   /* of strings and bytes; NUL-terminated */
    struct tn_test_value **items; /* of an array; of an object: key, value, key, value */
    uint64_t length;              /* of the text, or of `items` */
    int32_t kind;
};

struct tn_test_builder {
    struct tn_test_value *open[TN_TEST_DEPTH], *root, *key;
    uint32_t depth;
    bool bad;
};

static inline struct tn_test_value *tn_test_block(tn_value value) {
    return TN_TEST_POINTER(struct tn_test_value *, value);
}
static inline tn_value tn_test_value_of(struct tn_test_value *block) { return TN_TEST_POINTER(tn_value, block); }

static inline struct tn_test_value *tn_test_new(int32_t kind) {
    struct tn_test_value *block = TN_UTIL_CAST(struct tn_test_value *, calloc(1, sizeof(*block)));
    TN_TEST_ASSERT(block != NULL);
    block->references = 1;
    block->kind = kind;
    tn_test.values++;
    return block;
}

static inline tn_value tn_test_retain(tn_value value) {
    if (value != NULL) tn_test_block(value)->references++;
    return value;
}

static inline void tn_test_release(tn_value value) {
    struct tn_test_value *block = tn_test_block(value);
    if (block == NULL || --block->references > 0) return;
    TN_TEST_ASSERT(block->references == 0);
    for (uint64_t i = 0; block->items != NULL && i < block->length; i++)
        tn_test_release(tn_test_value_of(block->items[i]));
    free(block->items);
    free(block->text);
    free(block);
    tn_test.values--;
}

static inline struct tn_test_value *tn_test_new_text(int32_t kind, const void *bytes, uint64_t length) {
    struct tn_test_value *block = tn_test_new(kind);
    block->text = TN_UTIL_CAST(char *, malloc(TN_UTIL_CAST(size_t, length) + 1));
    TN_TEST_ASSERT(block->text != NULL);
    if (length > 0) memcpy(block->text, bytes, TN_UTIL_CAST(size_t, length));
    block->text[length] = '\0';
    block->length = length;
    return block;
}

/* Appends to an array or object that has one reference only. Takes the item. */
static inline void tn_test_push(struct tn_test_value *block, struct tn_test_value *item) {
    void *grown = realloc(block->items, TN_UTIL_CAST(size_t, block->length + 1) * sizeof(*block->items));
    TN_TEST_ASSERT(grown != NULL);
    block->items = TN_UTIL_CAST(struct tn_test_value **, grown);
    block->items[block->length++] = item;
}

static inline int32_t tn_test_kind(tn_value value) { return value != NULL ? tn_test_block(value)->kind : TN_NONE; }

static inline int32_t tn_test_as_bool(tn_value value, int32_t *out) {
    if (tn_test_kind(value) != TN_BOOL) return TN_TYPE;
    *out = tn_test_block(value)->integer != 0;
    return TN_OK;
}

static inline int32_t tn_test_as_int(tn_value value, int64_t *out) {
    double number = tn_test_kind(value) == TN_DOUBLE ? tn_test_block(value)->number : 0.5;
    if (tn_test_kind(value) == TN_INT) {
        *out = tn_test_block(value)->integer;
        return TN_OK;
    }
    if (!(number >= -9223372036854775808.0 && number < 9223372036854775808.0)) return TN_TYPE;
    if (number < TN_UTIL_CAST(double, TN_UTIL_CAST(int64_t, number)) ||
        number > TN_UTIL_CAST(double, TN_UTIL_CAST(int64_t, number)))
        return TN_TYPE;
    *out = TN_UTIL_CAST(int64_t, number);
    return TN_OK;
}

static inline int32_t tn_test_as_double(tn_value value, double *out) {
    int32_t kind = tn_test_kind(value);
    if (kind != TN_INT && kind != TN_DOUBLE) return TN_TYPE;
    *out = kind == TN_DOUBLE ? tn_test_block(value)->number : TN_UTIL_CAST(double, tn_test_block(value)->integer);
    return TN_OK;
}

static inline const char *tn_test_as_text(tn_value value, uint64_t *length) {
    if (tn_test_kind(value) != TN_STRING) return NULL;
    if (length != NULL) *length = tn_test_block(value)->length;
    return tn_test_block(value)->text;
}

static inline const void *tn_test_as_bytes(tn_value value, uint64_t *length) {
    if (tn_test_kind(value) != TN_BYTES) return NULL;
    if (length != NULL) *length = tn_test_block(value)->length;
    return tn_test_block(value)->text;
}

static inline uint64_t tn_test_count(tn_value value) {
    int32_t kind = tn_test_kind(value);
    return kind == TN_ARRAY ? tn_test_block(value)->length : kind == TN_OBJECT ? tn_test_block(value)->length / 2 : 0;
}

static inline tn_value tn_test_at(tn_value array, uint64_t index) {
    bool there = tn_test_kind(array) == TN_ARRAY && index < tn_test_count(array);
    return there ? tn_test_value_of(tn_test_block(array)->items[index]) : NULL;
}

static inline int32_t tn_test_entry(tn_value object, uint64_t index, tn_value *key, tn_value *value) {
    if (tn_test_kind(object) != TN_OBJECT || index >= tn_test_count(object)) return TN_NOT_FOUND;
    *key = tn_test_value_of(tn_test_block(object)->items[2 * index]);
    *value = tn_test_value_of(tn_test_block(object)->items[2 * index + 1]);
    return TN_OK;
}

static inline tn_value tn_test_get(tn_value object, const char *name) {
    tn_value key, value;
    for (uint64_t i = 0; tn_test_entry(object, i, &key, &value) == TN_OK; i++)
        if (tn_test_block(key)->length == strlen(name) && strcmp(tn_test_block(key)->text, name) == 0) return value;
    return NULL;
}

static inline int32_t tn_test_equal(tn_value a, tn_value b) {
    int32_t kind = tn_test_kind(a);
    const struct tn_test_value *left = tn_test_block(a), *right = tn_test_block(b);
    double x, y;
    tn_value key, value;
    if (tn_test_as_double(a, &x) == TN_OK && tn_test_as_double(b, &y) == TN_OK) {
        if (kind == TN_INT && tn_test_kind(b) == TN_INT) return left->integer == right->integer;
        return x <= y && x >= y;
    }
    if (kind != tn_test_kind(b)) return 0;
    if (kind == TN_BOOL) return left->integer == right->integer;
    if (kind == TN_STRING || kind == TN_BYTES)
        return left->length == right->length &&
               memcmp(left->text, right->text, TN_UTIL_CAST(size_t, left->length)) == 0;
    if (tn_test_count(a) != tn_test_count(b)) return 0;
    for (uint64_t i = 0; i < tn_test_count(a); i++) {
        if (kind == TN_ARRAY && !tn_test_equal(tn_test_at(a, i), tn_test_at(b, i))) return 0;
        if (kind != TN_OBJECT || tn_test_entry(a, i, &key, &value) != TN_OK) continue;
        if (!tn_test_equal(value, tn_test_get(b, tn_test_block(key)->text))) return 0;
    }
    return 1;
}

static inline tn_value tn_test_make_null(void) { return tn_test_value_of(tn_test_new(TN_NULL)); }

static inline tn_value tn_test_make_bool(int32_t truth) {
    struct tn_test_value *block = tn_test_new(TN_BOOL);
    block->integer = truth != 0;
    return tn_test_value_of(block);
}

static inline tn_value tn_test_make_int(int64_t number) {
    struct tn_test_value *block = tn_test_new(TN_INT);
    block->integer = number;
    return tn_test_value_of(block);
}

static inline tn_value tn_test_make_double(double number) {
    struct tn_test_value *block;
    if (!(number - number <= 0 && number - number >= 0)) return NULL; /* NaN or infinite */
    block = tn_test_new(TN_DOUBLE);
    block->number = number;
    return tn_test_value_of(block);
}

static inline tn_value tn_test_make_text(const char *text, uint64_t length) {
    return tn_utf8_is_valid(text, length) ? tn_test_value_of(tn_test_new_text(TN_STRING, text, length)) : NULL;
}

static inline tn_value tn_test_make_bytes(const void *bytes, uint64_t length) {
    return tn_test_value_of(tn_test_new_text(TN_BYTES, bytes, length));
}

static inline struct tn_test_value *tn_test_copy_items(tn_value value) {
    struct tn_test_value *copy = tn_test_new(tn_test_kind(value));
    for (uint64_t i = 0; i < tn_test_block(value)->length; i++)
        tn_test_push(copy, tn_test_block(tn_test_retain(tn_test_value_of(tn_test_block(value)->items[i]))));
    return copy;
}

static inline tn_value tn_test_append(tn_value array, tn_value item) {
    struct tn_test_value *copy;
    if (tn_test_kind(array) != TN_ARRAY || item == NULL) return NULL;
    copy = tn_test_copy_items(array);
    tn_test_push(copy, tn_test_block(tn_test_retain(item)));
    return tn_test_value_of(copy);
}

/* Sets a member of an object that has one reference only. Takes key and value. False if it replaced a member. */
static inline bool tn_test_put(struct tn_test_value *object, struct tn_test_value *key, struct tn_test_value *value) {
    for (uint64_t i = 0; i < object->length; i += 2) {
        if (!tn_test_equal(tn_test_value_of(object->items[i]), tn_test_value_of(key))) continue;
        tn_test_release(tn_test_value_of(key));
        tn_test_release(tn_test_value_of(object->items[i + 1]));
        object->items[i + 1] = value;
        return false;
    }
    tn_test_push(object, key);
    tn_test_push(object, value);
    return true;
}

static inline tn_value tn_test_set(tn_value object, const char *name, tn_value value) {
    struct tn_test_value *copy;
    if (tn_test_kind(object) != TN_OBJECT || value == NULL || !tn_utf8_is_valid(name, strlen(name))) return NULL;
    copy = tn_test_copy_items(object);
    (void)tn_test_put(copy, tn_test_new_text(TN_STRING, name, strlen(name)), tn_test_block(tn_test_retain(value)));
    return tn_test_value_of(copy);
}

static inline tn_builder *tn_test_make_builder(void) {
    void *builder = calloc(1, sizeof(struct tn_test_builder));
    TN_TEST_ASSERT(builder != NULL);
    return TN_TEST_POINTER(tn_builder *, builder);
}

/* Takes the value. */
static inline void tn_test_builder_attach(struct tn_test_builder *builder, struct tn_test_value *value) {
    struct tn_test_value *parent = builder->depth > 0 ? builder->open[builder->depth - 1] : NULL;
    struct tn_test_value *key = builder->key;
    builder->key = NULL;
    if (parent == NULL && builder->root == NULL) {
        builder->root = value;
    } else if (parent != NULL && parent->kind == TN_ARRAY) {
        tn_test_push(parent, value);
    } else if (parent != NULL && key != NULL) {
        if (!tn_test_put(parent, key, value)) builder->bad = true;
    } else {
        builder->bad = true;
        tn_test_release(tn_test_value_of(value));
    }
}

static inline void tn_test_builder_begin(tn_builder *builder, int32_t kind) {
    struct tn_test_builder *state = TN_TEST_POINTER(struct tn_test_builder *, builder);
    struct tn_test_value *block;
    if (state->depth == TN_TEST_DEPTH || (kind != TN_ARRAY && kind != TN_OBJECT)) state->bad = true;
    if (state->bad) return;
    block = tn_test_new(kind);
    tn_test_builder_attach(state, block);
    if (!state->bad) state->open[state->depth++] = block;
}

static inline void tn_test_builder_key(tn_builder *builder, const char *key) {
    struct tn_test_builder *state = TN_TEST_POINTER(struct tn_test_builder *, builder);
    bool inside = state->depth > 0 && state->open[state->depth - 1]->kind == TN_OBJECT && state->key == NULL;
    if (!inside || !tn_utf8_is_valid(key, strlen(key))) state->bad = true;
    if (!state->bad) state->key = tn_test_new_text(TN_STRING, key, strlen(key));
}

static inline void tn_test_builder_add(tn_builder *builder, tn_value value) {
    struct tn_test_builder *state = TN_TEST_POINTER(struct tn_test_builder *, builder);
    if (value == NULL) state->bad = true;
    if (!state->bad) tn_test_builder_attach(state, tn_test_block(tn_test_retain(value)));
}

static inline void tn_test_builder_end(tn_builder *builder) {
    struct tn_test_builder *state = TN_TEST_POINTER(struct tn_test_builder *, builder);
    if (state->depth == 0 || state->key != NULL) state->bad = true;
    if (!state->bad) state->depth--;
}

static inline tn_value tn_test_builder_finish(tn_builder *builder) {
    struct tn_test_builder *state = TN_TEST_POINTER(struct tn_test_builder *, builder);
    tn_value made = tn_test_value_of(state->root);
    if (state->bad || state->depth > 0) {
        tn_test_release(made);
        made = NULL;
    }
    tn_test_release(tn_test_value_of(state->key));
    free(state);
    return made;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

struct tn_test_reader {
    const char *at, *end;
    uint32_t depth;
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
    reader->at += length;
    errno = 0;
    integer = strtoll(text, &end, 10);
    if (whole && errno == 0 && *end == '\0') return tn_test_block(tn_test_make_int(integer));
    number = strtod(text, &end);
    return *end == '\0' ? tn_test_block(tn_test_make_double(number)) : NULL;
}

static inline struct tn_test_value *tn_test_read_value(struct tn_test_reader *reader);

/* Behind the opening bracket. */
static inline struct tn_test_value *tn_test_read_container(struct tn_test_reader *reader, int32_t kind) {
    struct tn_test_value *made = tn_test_new(kind), *key = NULL, *item;
    const char *close = kind == TN_ARRAY ? "]" : "}";
    bool good = ++reader->depth <= TN_TEST_DEPTH;
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
    tn_value text = object != NULL && object->length == 2 ? tn_test_get(tn_test_value_of(object), "$bytes") : NULL;
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
        value = tn_test_block(tn_test_make_bool(1));
    else if (tn_test_skip(reader, "false"))
        value = tn_test_block(tn_test_make_bool(0));
    else if (tn_test_skip(reader, "null"))
        value = tn_test_block(tn_test_make_null());
    else
        value = tn_test_read_number(reader);
    tn_test_skip_blanks(reader);
    return value;
}

static inline int32_t tn_test_from_json(const char *json, uint64_t length, tn_value *out) {
    struct tn_test_reader reader;
    struct tn_test_value *value;
    reader.at = json;
    reader.end = json + length;
    reader.depth = 0;
    value = tn_test_read_value(&reader);
    if (value == NULL || reader.at != reader.end) {
        tn_test_release(tn_test_value_of(value));
        return TN_INVALID;
    }
    *out = tn_test_value_of(value);
    return TN_OK;
}

struct tn_test_writer {
    char *text; /* NULL: only count */
    uint64_t length;
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
    case TN_BYTES: {
        char *base64 = TN_UTIL_CAST(char *, malloc(TN_UTIL_CAST(size_t, TN_BASE64_SIZE(value->length)) + 1)), *end;
        TN_TEST_ASSERT(base64 != NULL);
        end = tn_base64_put(base64, value->text, value->length);
        tn_test_write_n(writer, "{\"$bytes\":", 10);
        tn_test_write_string(writer, base64, TN_UTIL_CAST(uint64_t, end - base64));
        tn_test_write_n(writer, "}", 1);
        free(base64);
        break;
    }
    default:
        tn_test_write_n(writer, value->kind == TN_ARRAY ? "[" : "{", 1);
        for (uint64_t i = 0; i < value->length; i++) {
            bool is_value = value->kind == TN_OBJECT && i % 2 == 1;
            if (i > 0) tn_test_write_n(writer, is_value ? ":" : ",", 1);
            tn_test_write(writer, value->items[i]);
        }
        tn_test_write_n(writer, value->kind == TN_ARRAY ? "]" : "}", 1);
    }
}

static inline tn_value tn_test_to_json(tn_value value) {
    struct tn_test_writer writer = {NULL, 0};
    struct tn_test_value *text;
    if (value == NULL) return NULL;
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
    return tn_test_value_of(text);
}

static const tn_value_1 tn_test_values = {sizeof(tn_value_1),
                                          0,
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
                                          tn_test_append,
                                          tn_test_set,
                                          tn_test_make_builder,
                                          tn_test_builder_begin,
                                          tn_test_builder_key,
                                          tn_test_builder_add,
                                          tn_test_builder_end,
                                          tn_test_builder_finish,
                                          tn_test_from_json,
                                          tn_test_to_json};
#define TN_TEST_VALUES (&tn_test_values)

#endif
/* ---- Core ------------------------------------------------------------------------------------------------------ */

static inline void tn_test_log(const tn_host *host, int32_t level, const char *message) {
    (void)host;
    (void)snprintf(tn_test.refusal, sizeof(tn_test.refusal), "log %d: %s", TN_UTIL_CAST(int, level), message);
}

static inline int64_t tn_test_wall_ms(const tn_host *host) {
    (void)host;
    return TN_UTIL_CAST(int64_t, tn_test.now);
}

static inline int64_t tn_test_monotonic_ns(const tn_host *host) { return tn_test_wall_ms(host) * 1000000; }

static inline bool tn_test_denies(void) { return tn_test.deny > 0 && --tn_test.deny == 0; }

static inline void *tn_test_resize(const tn_host *host, void *memory, uint64_t size) {
    (void)host;
    return tn_test_denies() ? NULL : realloc(memory, TN_UTIL_CAST(size_t, size > 0 ? size : 1));
}

static inline void *tn_test_alloc(const tn_host *host, uint64_t size) { return tn_test_resize(host, NULL, size); }

static inline void tn_test_free(const tn_host *host, void *memory) {
    (void)host;
    free(memory);
}

static inline uint64_t tn_test_post(const tn_host *host, uint64_t delay_ms, void (*function)(void *), void *argument) {
    struct tn_test_posted *post = &tn_test.posts[tn_test.post_count];
    (void)host;
    if (tn_test.post_count == TN_TEST_MAX) return 0;
    tn_test.post_count++;
    post->id = ++tn_test.next_post;
    post->due = tn_test.now + delay_ms;
    post->function = function;
    post->argument = argument;
    return post->id;
}

static inline int32_t tn_test_unpost(const tn_host *host, uint64_t id) {
    (void)host;
    for (uint64_t i = 0; i < tn_test.post_count; i++) {
        if (tn_test.posts[i].id != id) continue;
        tn_test.posts[i] = tn_test.posts[--tn_test.post_count];
        return TN_OK;
    }
    return TN_NOT_FOUND;
}

static const tn_core_1 tn_test_core = {sizeof(tn_core_1),    0,
                                       tn_test_log,          tn_test_wall_ms,
                                       tn_test_monotonic_ns, tn_test_alloc,
                                       tn_test_resize,       tn_test_free,
                                       tn_test_post,         tn_test_unpost};

/* ---- Tasks ----------------------------------------------------------------------------------------------------- */

/* Takes both references. */
static inline tn_value tn_test_with(tn_value object, const char *key, tn_value value) {
    tn_value made = TN_TEST_VALUES->set(object, key, value);
    TN_TEST_ASSERT(made != NULL);
    TN_TEST_VALUES->release(object);
    TN_TEST_VALUES->release(value);
    return made;
}

/* NULL if it is not JSON. */
static inline tn_value tn_test_json(const char *text) {
    tn_value value = NULL;
    return TN_TEST_VALUES->from_json(text, strlen(text), &value) == TN_OK ? value : NULL;
}

static inline tn_value tn_test_error(const char *code, const char *message) {
    tn_value error = tn_test_with(tn_test_json("{}"), "code", TN_TEST_VALUES->make_text(code, strlen(code)));
    return tn_test_with(error, "message", TN_TEST_VALUES->make_text(message, strlen(message)));
}

/* NULL if the task has ended. */
static inline struct tn_test_task *tn_test_task_of(tn_task token) {
    struct tn_test_task *task = token > 0 && token <= tn_test.task_count ? &tn_test.tasks[token - 1] : NULL;
    return task != NULL && task->state == TN_TEST_OPEN ? task : NULL;
}

static inline int32_t tn_test_complete(tn_task token, tn_value output) {
    struct tn_test_task *task = tn_test_task_of(token);
    if (task == NULL) return TN_STALE;
    task->state = TN_TEST_COMPLETED;
    task->output = TN_TEST_VALUES->retain(output);
    return TN_OK;
}

/* Takes the error. */
static inline int32_t tn_test_fail_take(tn_task token, tn_value error) {
    struct tn_test_task *task = tn_test_task_of(token);
    if (task == NULL) {
        TN_TEST_VALUES->release(error);
        return TN_STALE;
    }
    task->state = TN_TEST_FAILED;
    task->error = error;
    return TN_OK;
}

static inline int32_t tn_test_fail(tn_task token, const char *code, const char *message, tn_value more) {
    tn_value error = tn_test_error(code, message), key, value;
    for (uint64_t i = 0; TN_TEST_VALUES->entry(more, i, &key, &value) == TN_OK; i++)
        error = tn_test_with(error, TN_TEST_VALUES->as_text(key, NULL), TN_TEST_VALUES->retain(value));
    return tn_test_fail_take(token, error);
}

static inline int32_t tn_test_interrupt(tn_task task, tn_value payload, tn_value schema, tn_value continuation) {
    (void)task, (void)payload, (void)schema, (void)continuation;
    return TN_UNSUPPORTED;
}

static inline int32_t tn_test_emit(tn_task token, tn_value chunk) {
    struct tn_test_task *task = tn_test_task_of(token);
    tn_value longer;
    if (task == NULL) return TN_STALE;
    if (task->cancelled) return TN_CANCELLED;
    if (tn_test.room == 0) return TN_AGAIN;
    tn_test.room--;
    longer = TN_TEST_VALUES->append(tn_test.emitted, chunk);
    TN_TEST_VALUES->release(tn_test.emitted);
    tn_test.emitted = longer;
    return TN_OK;
}

static inline int32_t tn_test_cancelled(tn_task token) {
    const struct tn_test_task *task = tn_test_task_of(token);
    return task == NULL ? TN_STALE : task->cancelled ? 1 : 0;
}

static inline tn_value tn_test_context(tn_task token) {
    return tn_test_task_of(token) != NULL ? tn_test_json("{}") : NULL;
}

static inline tn_value tn_test_read(tn_task token, uint32_t index) {
    TN_TEST_ASSERT(index < tn_test.channel_count && tn_test.channels[index].readable); /* only what was bound */
    return tn_test_task_of(token) != NULL ? TN_TEST_VALUES->retain(tn_test.channels[index].value) : NULL;
}

static inline int32_t tn_test_write_channel(tn_task token, uint32_t index, tn_value value) {
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    if (value == NULL) return TN_INVALID;
    TN_TEST_ASSERT(index < tn_test.channel_count && tn_test.channels[index].writable);
    TN_TEST_VALUES->release(tn_test.channels[index].written);
    tn_test.channels[index].written = TN_TEST_VALUES->retain(value);
    return TN_OK;
}

#define TN_TEST_CALLEE 7 /* the index of every callee */

static inline int32_t tn_test_call(tn_task token, uint32_t callee, tn_value input, tn_call_done done, void *user) {
    if (tn_test_task_of(token) == NULL || callee != TN_TEST_CALLEE) return TN_INVALID;
    tn_test.call.task = token;
    tn_test.call.input = TN_TEST_VALUES->retain(input);
    tn_test.call.done = done;
    tn_test.call.user = user;
    return TN_OK;
}

static inline int32_t tn_test_call_wait(tn_task token, uint32_t callee, tn_value input, tn_value *result) {
    (void)token, (void)callee, (void)input, (void)result;
    return TN_WRONG_THREAD;
}

static inline int32_t tn_test_find_channel(const char *name, uint32_t *index) {
    for (uint32_t i = 0; i < tn_test.channel_count; i++) {
        if (strcmp(tn_test.channels[i].name, name) != 0) continue;
        *index = i;
        return TN_OK;
    }
    (void)snprintf(tn_test.refusal, sizeof(tn_test.refusal), "no channel `%s`", name);
    return TN_NOT_FOUND;
}

static inline int32_t tn_test_bind_read(tn_binder *binder, const char *channel, uint32_t *index) {
    int32_t status = tn_test_find_channel(channel, index);
    (void)binder;
    if (status == TN_OK) tn_test.channels[*index].readable = true;
    return status;
}

static inline int32_t tn_test_bind_write(tn_binder *binder, const char *channel, uint32_t *index) {
    int32_t status = tn_test_find_channel(channel, index);
    (void)binder;
    if (status == TN_OK) tn_test.channels[*index].writable = true;
    return status;
}

static inline int32_t tn_test_bind_call(tn_binder *binder, const char *kind, const char *name, tn_value config,
                                        uint32_t *callee) {
    (void)binder, (void)config;
    (void)snprintf(tn_test.call.kind, sizeof(tn_test.call.kind), "%s", kind);
    (void)snprintf(tn_test.call.name, sizeof(tn_test.call.name), "%s", name);
    *callee = TN_TEST_CALLEE;
    return TN_OK;
}

static inline int32_t tn_test_refuse(tn_binder *binder, const char *code, const char *message) {
    (void)binder;
    (void)snprintf(tn_test.refusal, sizeof(tn_test.refusal), "%s: %s", code, message);
    return TN_INVALID;
}

static const tn_task_1 tn_test_tasks = {sizeof(tn_task_1), 0,
                                        tn_test_complete,  tn_test_fail,
                                        tn_test_interrupt, tn_test_emit,
                                        tn_test_cancelled, tn_test_context,
                                        tn_test_read,      tn_test_write_channel,
                                        tn_test_call,      tn_test_call_wait,
                                        tn_test_bind_read, tn_test_bind_write,
                                        tn_test_bind_call, tn_test_refuse};

/* ---- Expressions, templates, schemas, graphs ------------------------------------------------------------------- */

static inline int32_t tn_test_bind_text(tn_binder *binder, const char *text, uint32_t *index) {
    size_t size = strlen(text) + 1;
    char *copy;
    if (strcmp(text, "invalid(") == 0) return tn_test_refuse(binder, "EXPRESSION", "it does not end");
    TN_TEST_ASSERT(tn_test.text_count < TN_TEST_MAX);
    copy = TN_UTIL_CAST(char *, malloc(size));
    TN_TEST_ASSERT(copy != NULL);
    memcpy(copy, text, size);
    *index = tn_test.text_count;
    tn_test.texts[tn_test.text_count++] = copy;
    return TN_OK;
}

static inline int32_t tn_test_bind_schema(tn_binder *binder, tn_value schema, uint32_t *index) {
    (void)schema;
    return tn_test_bind_text(binder, "schema", index);
}

static inline int32_t tn_test_evaluate(tn_task token, uint32_t expression, tn_value item, tn_value *out) {
    const char *text = tn_test.texts[expression];
    uint32_t index;
    (void)item;
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    if (strncmp(text, "state.", 6) == 0 && tn_test_find_channel(text + 6, &index) == TN_OK) {
        *out = TN_TEST_VALUES->retain(tn_test.channels[index].value);
        return TN_OK;
    }
    *out = tn_test_json(text);
    if (*out != NULL) return TN_OK;
    *out = tn_test_error("EXPRESSION_ERROR", text);
    return TN_FAILED;
}

static inline int32_t tn_test_render(tn_task token, uint32_t text, tn_value variables, tn_value *out) {
    char made[4096];
    size_t length = 0;
    (void)variables;
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    for (const char *at = tn_test.texts[text]; *at != '\0' && length < sizeof(made) - 1;) {
        char name[32] = "";
        const char *chars;
        uint32_t index;
        size_t size = strcspn(at, "}");
        if (*at != '{') {
            made[length++] = *at++;
            continue;
        }
        (void)snprintf(name, sizeof(name), "%.*s", TN_UTIL_CAST(int, size > 0 ? size - 1 : 0), at + 1);
        at += at[size] == '}' ? size + 1 : size;
        if (tn_test_find_channel(name, &index) != TN_OK) {
            *out = tn_test_error("MISSING_VARIABLE", name);
            return TN_FAILED;
        }
        chars = TN_TEST_VALUES->as_text(tn_test.channels[index].value, NULL);
        TN_TEST_ASSERT(chars != NULL && strlen(chars) < sizeof(made) - length);
        memcpy(made + length, chars, strlen(chars));
        length += strlen(chars);
    }
    *out = TN_TEST_VALUES->make_text(made, length);
    return TN_OK;
}

/* Every schema requires an object. */
static inline int32_t tn_test_validate(tn_task token, uint32_t schema, tn_value instance, tn_value *error) {
    (void)token, (void)schema;
    if (TN_TEST_VALUES->kind(instance) == TN_OBJECT) return TN_OK;
    *error = tn_test_error("SCHEMA", "an object was expected");
    return TN_FAILED;
}

static inline int32_t tn_test_fail_with(tn_task token, tn_value error) {
    return tn_test_fail_take(token, TN_TEST_VALUES->retain(error));
}

static const tn_eval_draft tn_test_eval = {sizeof(tn_eval_draft), 0,
                                           tn_test_bind_text,     tn_test_bind_text,
                                           tn_test_bind_schema,   tn_test_evaluate,
                                           tn_test_render,        tn_test_validate,
                                           tn_test_fail_with};

static inline int32_t tn_test_bind_document(tn_binder *binder, const char *document, uint32_t *callee) {
    return tn_test_bind_call(binder, "graph", document, NULL, callee);
}

static const tn_graph_draft tn_test_graph = {sizeof(tn_graph_draft), 0, tn_test_bind_document};

/* ---- The host -------------------------------------------------------------------------------------------------- */

static inline const void *tn_test_interface(void *self, const char *id) {
    (void)self;
    if (strcmp(id, tn_test.missing) == 0) return NULL;
    if (strcmp(id, TN_VALUE_1) == 0) return TN_TEST_VALUES;
    if (strcmp(id, TN_CORE_1) == 0) return &tn_test_core;
    if (strcmp(id, TN_TASK_1) == 0) return &tn_test_tasks;
    if (strcmp(id, TN_EVAL_DRAFT) == 0) return &tn_test_eval;
    if (strcmp(id, TN_GRAPH_DRAFT) == 0) return &tn_test_graph;
    return tn_test.more != NULL ? tn_test.more(id) : NULL;
}

static const tn_host tn_test_the_host = {sizeof(tn_host), 0, NULL, tn_test_interface};

/* Enters the plugin. NULL if it declined. */
static inline const tn_plugin *tn_test_enter(void) {
    const tn_plugin *plugin = tn_plugin_entry_1(&tn_test_the_host);
    const void *components = plugin != NULL ? plugin->get(plugin->self, TN_COMPONENT_1) : NULL;
    tn_test.components = TN_UTIL_CAST(const tn_component_1 *, components);
    tn_test.self = plugin != NULL ? plugin->self : NULL;
    return plugin;
}

/* Sets a channel's value, and makes the channel if there is none of that name. */
static inline void tn_test_set_channel(const char *name, const char *json) {
    uint32_t index = tn_test.channel_count;
    if (tn_test_find_channel(name, &index) != TN_OK) {
        TN_TEST_ASSERT(tn_test.channel_count < TN_TEST_MAX);
        index = tn_test.channel_count++;
    }
    (void)snprintf(tn_test.channels[index].name, sizeof(tn_test.channels[index].name), "%s", name);
    TN_TEST_VALUES->release(tn_test.channels[index].value);
    tn_test.channels[index].value = tn_test_json(json);
    TN_TEST_ASSERT(tn_test.channels[index].value != NULL);
}

/* Creates the instance that tn_test_start uses. Returns what the plugin's create returned. */
static inline int32_t tn_test_create(const char *id, const char *config) {
    tn_value value = tn_test_json(config);
    int32_t status;
    TN_TEST_ASSERT(value != NULL);
    if (!tn_test.started) TN_TEST_ASSERT(tn_test_enter() != NULL);
    tn_test.started = true;
    if (tn_test.emitted == NULL) tn_test.emitted = tn_test_json("[]");
    status = tn_test.components->create(tn_test.self, id, value, NULL, &tn_test.instance);
    TN_TEST_VALUES->release(value);
    return status;
}

/* Starts a task with the input. If start fails, the task has failed with its status as the code. */
static inline struct tn_test_task *tn_test_start(const char *input) {
    tn_value value = tn_test_json(input);
    struct tn_test_task *task = &tn_test.tasks[tn_test.task_count];
    int32_t status;
    TN_TEST_ASSERT(tn_test.task_count < TN_TEST_MAX && tn_test.components->start != NULL);
    tn_test.task_count++;
    task->state = TN_TEST_OPEN;
    status = tn_test.components->start(tn_test.instance, tn_test.task_count, value);
    if (status != TN_OK) {
        char code[16];
        (void)snprintf(code, sizeof(code), "%d", TN_UTIL_CAST(int, status));
        status = tn_test_fail(tn_test.task_count, code, "start failed", NULL);
        TN_TEST_ASSERT(status == TN_OK); /* it must not have ended as well */
    }
    TN_TEST_VALUES->release(value);
    return task;
}

/* Both: creates an instance and starts a task of it. */
static inline struct tn_test_task *tn_test_run(const char *id, const char *config, const char *input) {
    int32_t status = tn_test_create(id, config);
    TN_TEST_ASSERT(status == TN_OK);
    return tn_test_start(input);
}

static inline tn_task tn_test_token(const struct tn_test_task *task) {
    return TN_UTIL_CAST(tn_task, task - tn_test.tasks) + 1;
}

static inline void tn_test_cancel(struct tn_test_task *task) {
    task->cancelled = true;
    tn_test.components->cancel(tn_test.instance, tn_test_token(task));
}

/* There is room for so many chunks again. */
static inline void tn_test_ready(const struct tn_test_task *task, uint32_t room) {
    tn_test.room = room;
    tn_test.components->ready(tn_test.instance, tn_test_token(task));
}

/* Moves the clock, and runs the posted calls that are due. */
static inline void tn_test_advance(uint64_t ms) {
    tn_test.now += ms;
    for (uint64_t i = 0; i < tn_test.post_count;) {
        struct tn_test_posted post = tn_test.posts[i];
        if (post.due > tn_test.now) {
            i++;
            continue;
        }
        tn_test.posts[i] = tn_test.posts[--tn_test.post_count];
        post.function(post.argument);
        i = 0;
    }
}

/* Ends the component that the plugin called last. `json` may be NULL: no result. */
static inline void tn_test_call_end(int32_t status, const char *json) {
    tn_value result = json != NULL ? tn_test_json(json) : NULL;
    TN_TEST_VALUES->release(tn_test.call.input);
    tn_test.call.input = NULL;
    tn_test.call.done(tn_test.call.user, status, result);
    TN_TEST_VALUES->release(result);
}

/* True if the value is this JSON, compact and with its members in this order; else both are printed. */
static inline bool tn_test_is(tn_value value, const char *json) {
    tn_value text = TN_TEST_VALUES->to_json(value);
    const char *chars = text != NULL ? TN_TEST_VALUES->as_text(text, NULL) : "nothing";
    bool same = strcmp(chars, json) == 0;
    if (!same) (void)fprintf(stderr, "found:    %s\nexpected: %s\n", chars, json);
    TN_TEST_VALUES->release(text);
    return same;
}

static inline bool tn_test_wrote(const char *channel, const char *json) {
    uint32_t index;
    return tn_test_find_channel(channel, &index) == TN_OK && tn_test_is(tn_test.channels[index].written, json);
}

static inline bool tn_test_failed(const struct tn_test_task *task, const char *code) {
    const char *found = TN_TEST_VALUES->as_text(TN_TEST_VALUES->get(task->error, "code"), NULL);
    bool same = task->state == TN_TEST_FAILED && found != NULL && strcmp(found, code) == 0;
    if (!same)
        (void)fprintf(stderr, "found:    state %d, %s\nexpected: %s\n", TN_UTIL_CAST(int, task->state),
                      found != NULL ? found : "no error", code);
    return same;
}

/* Destroys the instance and clears everything. Every task must have ended, and no posted call and no value be left. */
static inline void tn_test_finish(void) {
    int64_t left;
    for (uint32_t i = 0; i < tn_test.task_count; i++) {
        TN_TEST_ASSERT(tn_test.tasks[i].state != TN_TEST_OPEN);
        TN_TEST_VALUES->release(tn_test.tasks[i].output);
        TN_TEST_VALUES->release(tn_test.tasks[i].error);
    }
    TN_TEST_ASSERT(tn_test.post_count == 0);
    if (tn_test.instance != NULL) tn_test.components->destroy(tn_test.instance);
    for (uint32_t i = 0; i < tn_test.channel_count; i++) {
        TN_TEST_VALUES->release(tn_test.channels[i].value);
        TN_TEST_VALUES->release(tn_test.channels[i].written);
    }
    for (uint32_t i = 0; i < tn_test.text_count; i++) free(tn_test.texts[i]);
    TN_TEST_VALUES->release(tn_test.emitted);
    TN_TEST_VALUES->release(tn_test.call.input);
    left = tn_test.values;
    memset(&tn_test, 0, sizeof(tn_test));
    TN_TEST_ASSERT(left == 0);
}

#ifdef __cplusplus
}
#endif
#endif

/*
 * value.c - references, and the kinds that are one block: numbers, strings and bytes.
 *
 * A block is freed when its count reaches zero. Only three things in a block ever change: the count; a value with one
 * reference, in array.c and object.c; and the cached hash of a string. Lists are freed in list.c.
 */
#include "adl/value/value.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "adl/value/block.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"

static struct block_counter block_counters[BLOCK_COUNTERS];
_Thread_local struct block_counter *block_own_counter;

void block_count_without(int64_t by) {
    static _Atomic uint32_t owned;
    uint32_t index = atomic_load_explicit(&owned, memory_order_relaxed);
    while (index < BLOCK_COUNTERS - 1 && !atomic_compare_exchange_weak(&owned, &index, index + 1)) {
    }
    struct block_counter *counter = &block_counters[index];
    if (index < BLOCK_COUNTERS - 1) block_own_counter = counter;
    (void)atomic_fetch_add_explicit(&counter->live, by, memory_order_relaxed);
}

int64_t value_live_count(void) {
    int64_t sum = 0;
    for (size_t i = 0; i < BLOCK_COUNTERS; i++)
        sum += atomic_load_explicit(&block_counters[i].live, memory_order_relaxed);
    return sum;
}

void value_free_block(struct tn_value_s *block) {
    if (block->kind < TN_ARRAY)
        block_free(block);
    else
        list_free((struct list *)(void *)block);
}

const char *value_kind_name(int kind) {
    static const char *const names[] = {"none", "null", "bool", "int", "double", "string", "bytes", "array", "object"};
    return kind >= TN_NONE && kind <= TN_OBJECT ? names[kind] : "unknown";
}

/* ---- Numbers ---- */

static struct number *number_new(int kind) {
    struct number *number = block_alloc(sizeof *number);
    block_init(&number->header, kind);
    return number;
}

tn_value value_int_block(int64_t integer) {
    struct number *number = number_new(TN_INT);
    number->integer = integer;
    return &number->header;
}

int64_t value_to_int_block(tn_value value) {
    assert(value_is(value, TN_INT));
    return ((const struct number *)(const void *)value)->integer;
}

tn_value value_double(double real) {
    assert(isfinite(real));
    struct number *number = number_new(TN_DOUBLE);
    number->real = real;
    return &number->header;
}

double value_to_double(tn_value value) {
    if (value_is(value, TN_INT)) return (double)value_to_int(value);
    assert(value_is(value, TN_DOUBLE));
    return ((const struct number *)(const void *)value)->real;
}

bool value_as_int(tn_value value, int64_t *out) {
    int kind = value_kind(value);
    if (kind == TN_INT) {
        *out = value_to_int(value);
        return true;
    }
    if (kind != TN_DOUBLE) return false;
    double real = value_to_double(value);
    /* 2^63 is the first double above every int64; -2^63 is exact. */
    if (!(real >= -0x1p63 && real < 0x1p63) || real != trunc(real)) return false;
    *out = (int64_t)real;
    return true;
}

/* ---- Strings and bytes ---- */

struct string *string_new(int kind, size_t length) {
    if (length > STRING_LENGTH_MAX) mem_exhausted(length);
    struct string *string = block_alloc(sizeof *string + length + 1);
    block_init(&string->header, kind);
    atomic_init(&string->hash, 0);
    string->length = (uint32_t)length;
    string->chars[length] = '\0';
    return string;
}

static tn_value string_copy(int kind, const void *bytes, size_t length) {
    struct string *string = string_new(kind, length);
    if (length > 0) memcpy(string->chars, bytes, length);
    return &string->header;
}

tn_value value_string(const char *utf8, size_t length) {
    return utf8_valid(utf8, length) ? string_copy(TN_STRING, utf8, length) : NULL;
}

tn_value value_text(const char *utf8) { return value_text_n(utf8, strlen(utf8)); }

tn_value value_text_n(const char *utf8, size_t length) {
    assert(utf8_valid(utf8, length));
    return string_copy(TN_STRING, utf8, length);
}

tn_value value_string_lossy(const char *text, size_t length) {
    if (utf8_valid(text, length)) return string_copy(TN_STRING, text, length);
    struct buffer good;
    buffer_init(&good, SIZE_MAX);
    for (size_t at = 0; at < length;) {
        uint32_t code_point;
        size_t used = utf8_decode(text + at, length - at, &code_point);
        if (used > 0)
            buffer_append(&good, text + at, used);
        else
            buffer_text(&good, "\xEF\xBF\xBD");
        at += used > 0 ? used : 1;
    }
    tn_value value = string_copy(TN_STRING, good.data, good.length);
    buffer_finish(&good);
    return value;
}

tn_value value_format(const char *format, ...) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    va_list args;
    va_start(args, format);
    buffer_vformat(&text, format, args);
    va_end(args);
    tn_value value = value_string_lossy(buffer_cstr(&text), text.length);
    buffer_finish(&text);
    return value;
}

tn_value value_bytes(const void *bytes, size_t length) { return string_copy(TN_BYTES, bytes, length); }

tn_value value_filled(int kind, size_t length, bool (*fill)(void *user, void *to, size_t length), void *user) {
    assert(kind == TN_STRING || kind == TN_BYTES);
    struct string *string = string_new(kind, length);
    if (fill(user, string->chars, length) && (kind == TN_BYTES || utf8_valid(string->chars, length)))
        return &string->header;
    value_unref(&string->header);
    return NULL;
}

const char *value_chars(tn_value value, size_t *length) {
    assert(value_is(value, TN_STRING));
    const struct string *string = string_of(value);
    if (length != NULL) *length = string->length;
    return string->chars;
}

const void *value_data(tn_value value, size_t *length) {
    assert(value_is(value, TN_BYTES));
    const struct string *bytes = string_of(value);
    if (length != NULL) *length = bytes->length;
    return bytes->chars;
}

bool value_text_is(tn_value value, const char *text) {
    if (!value_is(value, TN_STRING)) return false;
    const struct string *string = string_of(value);
    return strlen(text) == string->length && memcmp(string->chars, text, string->length) == 0;
}

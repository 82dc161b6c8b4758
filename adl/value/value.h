/*
 * value.h - the one data type of Tenon: a JSON value or bytes; immutable, reference-counted, shared between threads.
 *
 * tn_value is the handle that plugins see too (tenon.h). null, booleans and integers of up to 61 bits live in the
 * handle itself and cost nothing; everything else is one heap block with an atomic count. A reference is owned by
 * whoever made or was given it, and ends with value_unref.
 *
 *     tn_value state = value_object();                                   // the empty one: no allocation
 *     state = value_set_take(state, "name", value_text("ada"));          // in place: nobody else holds it
 *     tn_value older = value_ref(state);
 *     state = value_set_take(state, "age", value_int(36));               // older keeps one key, and shares it
 *     value_unref(older); value_unref(state);
 *
 * Arguments are borrowed; a name that ends in _take consumes its value arguments (all of them), whatever happens.
 * Arrays append in constant time by sharing their prefix: the newest array of a family grows in the shared block,
 * an older one is copied first. Objects keep insertion order, and add a new key in the same way. A value changes in
 * place only while its count is one and it was given with _take. Allocation failure aborts (mem_alloc).
 * Asking for the wrong kind is a bug of ours and asserts; what an outsider sends is checked with value_kind first.
 */
#ifndef TENON_ADL_VALUE_H
#define TENON_ADL_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenon.h>

/* The handle's low three bits: 000 a heap block, 001 an integer, 010 null or a boolean. */
#define VALUE_IMMEDIATE_INT 1u
#define VALUE_IMMEDIATE_NULL ((tn_value)(uintptr_t)0x02)
#define VALUE_IMMEDIATE_FALSE ((tn_value)(uintptr_t)0x0a)
#define VALUE_IMMEDIATE_TRUE ((tn_value)(uintptr_t)0x12)

/* TN_NONE for NULL, else TN_NULL … TN_OBJECT. */
int value_kind(tn_value value);
const char *value_kind_name(int kind); /* "null", "bool", "int", "double", "string", "bytes", "array", "object" */
static inline bool value_is(tn_value value, int kind) { return value_kind(value) == kind; }
static inline bool value_is_number(tn_value value) {
    int kind = value_kind(value);
    return kind == TN_INT || kind == TN_DOUBLE;
}

tn_value value_ref(tn_value value); /* returns its argument; NULL gives NULL */
void value_unref(tn_value value);   /* NULL is allowed */

/* ---- Making ---- */
static inline tn_value value_null(void) { return VALUE_IMMEDIATE_NULL; }
static inline tn_value value_bool(bool truth) { return truth ? VALUE_IMMEDIATE_TRUE : VALUE_IMMEDIATE_FALSE; }
tn_value value_int(int64_t number);
tn_value value_double(double number); /* asserts it is finite */
tn_value value_string(const char *utf8, size_t length); /* NUL allowed inside; NULL where it is not UTF-8 */
tn_value value_text(const char *utf8); /* of a NUL-terminated string that is known to be UTF-8 */
tn_value value_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
tn_value value_bytes(const void *bytes, size_t length);
tn_value value_array(void);  /* the empty one; needs no unref, but may be given it */
tn_value value_object(void); /* likewise */
tn_value value_array_reserve(size_t capacity);  /* empty, with room */
tn_value value_object_reserve(size_t capacity); /* empty, with room */

/* ---- Reading: everything returned is borrowed from its argument ---- */
bool value_to_bool(tn_value value);
int64_t value_to_int(tn_value value);      /* of TN_INT */
double value_to_double(tn_value value);    /* of TN_INT or TN_DOUBLE */
bool value_as_int(tn_value value, int64_t *out); /* TN_INT, or a TN_DOUBLE that equals an int64 */
const char *value_chars(tn_value value, size_t *length); /* of a string: NUL-terminated; length may be NULL */
const void *value_data(tn_value value, size_t *length);  /* of bytes */
size_t value_count(tn_value value); /* items or keys; 0 for every other kind */
tn_value value_at(tn_value array, size_t index);
tn_value value_get(tn_value object, const char *key); /* NULL where absent, or where it is no object */
tn_value value_get_n(tn_value object, const char *key, size_t length);
tn_value value_get_key(tn_value object, tn_value key); /* key a string value: fastest, its hash is kept */
tn_value value_key_at(tn_value object, size_t index);
tn_value value_value_at(tn_value object, size_t index);
bool value_text_is(tn_value value, const char *text); /* false where it is no string */

/* ---- Changing: a new value comes back ---- */
tn_value value_push_take(tn_value array, tn_value item);
tn_value value_concat_take(tn_value array, tn_value more);
tn_value value_slice(tn_value array, size_t from, size_t to); /* a new reference; bounds must hold */
tn_value value_replace_take(tn_value array, size_t index, tn_value item);
tn_value value_set_take(tn_value object, const char *key, tn_value value); /* a replaced key keeps its place */
tn_value value_set_key_take(tn_value object, tn_value key, tn_value value);
tn_value value_remove_take(tn_value object, tn_value key); /* the key need not be there */
tn_value value_merge_patch(tn_value target, tn_value patch); /* JSON Merge Patch, RFC 7396; arguments borrowed */

/* ---- Comparing ---- */
bool value_equal(tn_value a, tn_value b);   /* deep; numbers by mathematical value; key order does not count */
bool value_identical(tn_value a, tn_value b); /* deep; kinds, and key order, count: equal bytes of JSON */
int value_compare_numbers(tn_value a, tn_value b); /* -1 0 1, exact between int64 and double */
int value_compare_strings(tn_value a, tn_value b); /* by bytes, which is by code point */
uint64_t value_hash(tn_value value); /* equal values, equal hashes; the same in every process */

/* Live heap blocks of the process, for tests of leaks and for check mode. */
int64_t value_live_count(void);

#endif

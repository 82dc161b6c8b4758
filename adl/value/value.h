/*
 * value.h - the one data type of Tenon: a JSON value or bytes; immutable, reference-counted, shared between threads.
 *
 * tn_value is also the handle that plugins see (tenon.h). null, booleans, integers of up to 61 bits and the empty array
 * and object are stored in the handle itself and need no memory; everything else is one heap block with an atomic
 * count. A function that creates or receives a reference owns it and ends it with value_unref.
 *
 *     tn_value state = value_object();                                   // the empty one: no allocation
 *     state = value_set_take(state, "name", value_text("ada"));          // in place: the only reference
 *     tn_value older = value_ref(state);
 *     state = value_set_take(state, "age", value_int(36));               // older keeps one key; both share it
 *     value_unref(older); value_unref(state);
 *
 * Arguments are borrowed. A function whose name ends in _take consumes all of its value arguments, also when it fails.
 * Arrays append in constant time by sharing their prefix: the newest array of a family grows in the shared block, an
 * older one is copied first. Objects keep insertion order and add a new key in the same way. A value changes in place
 * only if its count is one and it was passed to a _take function. Allocation failure aborts (mem_alloc), and so does a
 * value of more than 2^29 - 1 items or keys, or 2^31 - 1 bytes. No function recurses, so only memory bounds the depth
 * of nesting. Passing the wrong kind is a programming error and asserts; check data from outside with value_kind first.
 */
#ifndef TENON_ADL_VALUE_H
#define TENON_ADL_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenon.h>

/* The start of every heap block; block.h defines the rest. Use it only through the functions below. */
struct tn_value_s {
    _Atomic uint32_t references;
    uint8_t kind;
};

/* The handle's low three bits: 000 a heap block, 001 an integer, 010 null, a boolean or an empty container. */
#define VALUE_TAG_MASK          ((uintptr_t)7)
#define VALUE_TAG_INT           ((uintptr_t)1)
#define VALUE_IMMEDIATE_NULL    ((tn_value)(uintptr_t)0x02)
#define VALUE_IMMEDIATE_FALSE   ((tn_value)(uintptr_t)0x0a)
#define VALUE_IMMEDIATE_TRUE    ((tn_value)(uintptr_t)0x12)
#define VALUE_IMMEDIATE_ARRAY   ((tn_value)(uintptr_t)0x1a)
#define VALUE_IMMEDIATE_OBJECT  ((tn_value)(uintptr_t)0x22)
#define VALUE_IMMEDIATE_INT_MAX (((int64_t)1 << 60) - 1)
#define VALUE_IMMEDIATE_INT_MIN (-((int64_t)1 << 60))
_Static_assert(sizeof(uintptr_t) == 8, "integers of 61 bits live in a handle of 64");

/* For the inline functions below only. */
void value_free_block(struct tn_value_s *block);
tn_value value_int_block(int64_t number);
int64_t value_to_int_block(tn_value value);

/* True if the value is reference-counted: neither NULL nor an immediate. */
static inline bool value_is_block(tn_value value) { return ((uintptr_t)value & VALUE_TAG_MASK) == 0 && value != NULL; }

/* TN_NONE for NULL, else TN_NULL … TN_OBJECT. */
static inline int value_kind(tn_value value) {
    uintptr_t bits = (uintptr_t)value, tag = bits & VALUE_TAG_MASK;
    if (tag == 0) return value != NULL ? value->kind : TN_NONE;
    if (tag == VALUE_TAG_INT) return TN_INT;
    return (int)(0x87221u >> (4 * (bits >> 3 & 7)) & 15); /* a nibble for each of the five immediates, in order */
}
const char *value_kind_name(int kind); /* "null", "bool", "int", "double", "string", "bytes", "array", "object" */
static inline bool value_is(tn_value value, int kind) { return value_kind(value) == kind; }
static inline bool value_is_number(tn_value value) {
    int kind = value_kind(value);
    return kind == TN_INT || kind == TN_DOUBLE;
}

/* Adds a reference and returns its argument; NULL returns NULL. */
static inline tn_value value_ref(tn_value value) {
    if (value_is_block(value)) {
        struct tn_value_s *block = (struct tn_value_s *)(uintptr_t)value;
        (void)atomic_fetch_add_explicit(&block->references, 1, memory_order_relaxed);
    }
    return value;
}

/* Releases a reference; NULL is allowed. Frees without recursion, however deep the value is. */
static inline void value_unref(tn_value value) {
    if (!value_is_block(value)) return;
    struct tn_value_s *block = (struct tn_value_s *)(uintptr_t)value;
    /* The only owner needs no atomic subtraction: no other thread can take a reference. */
    if (atomic_load_explicit(&block->references, memory_order_acquire) == 1 ||
        atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) == 1)
        value_free_block(block);
}

/* ---- Making ---- */
static inline tn_value value_null(void) { return VALUE_IMMEDIATE_NULL; }
static inline tn_value value_bool(bool truth) { return truth ? VALUE_IMMEDIATE_TRUE : VALUE_IMMEDIATE_FALSE; }
static inline tn_value value_int(int64_t number) {
    if (number < VALUE_IMMEDIATE_INT_MIN || number > VALUE_IMMEDIATE_INT_MAX) return value_int_block(number);
    return (tn_value)(uintptr_t)((uint64_t)number << 3 | VALUE_TAG_INT);
}
tn_value value_double(double number);                   /* asserts it is finite */
tn_value value_string(const char *utf8, size_t length); /* may contain NUL; returns NULL if it is not UTF-8 */
tn_value value_text(const char *utf8);                  /* the NUL-terminated text must be UTF-8 */
tn_value value_text_n(const char *utf8, size_t length); /* must be UTF-8 */
/* For text of unknown origin: replaces malformed UTF-8 by U+FFFD. */
tn_value value_string_lossy(const char *text, size_t length);
tn_value value_format(const char *format, ...) __attribute__((format(printf, 1, 2))); /* malformed UTF-8 is replaced */
tn_value value_bytes(const void *bytes, size_t length);
/*
 * A TN_STRING or TN_BYTES whose `length` bytes fill() writes. NULL if fill() returns false, or if a string is not
 * UTF-8, which is checked after fill() has returned.
 */
tn_value value_filled(int kind, size_t length, bool (*fill)(void *user, void *to, size_t length), void *user);
/* The empty array and object are immediates: value_unref is allowed but not required. */
static inline tn_value value_array(void) { return VALUE_IMMEDIATE_ARRAY; }
static inline tn_value value_object(void) { return VALUE_IMMEDIATE_OBJECT; }
tn_value value_array_reserve(size_t capacity);  /* empty, with room */
tn_value value_object_reserve(size_t capacity); /* empty, with room */

/* ---- Reading: everything returned is borrowed from its argument ---- */
static inline bool value_to_bool(tn_value value) { return value == VALUE_IMMEDIATE_TRUE; }
static inline int64_t value_to_int(tn_value value) { /* requires TN_INT */
    /* A right shift of a negative number keeps its sign in every supported compiler. */
    if (((uintptr_t)value & VALUE_TAG_MASK) == VALUE_TAG_INT) return (int64_t)(uintptr_t)value >> 3;
    return value_to_int_block(value);
}
double value_to_double(tn_value value);                  /* requires TN_INT or TN_DOUBLE */
bool value_as_int(tn_value value, int64_t *out);         /* TN_INT, or a TN_DOUBLE that equals an int64 */
const char *value_chars(tn_value value, size_t *length); /* requires a string; NUL-terminated; length may be NULL */
const void *value_data(tn_value value, size_t *length);  /* requires bytes */
size_t value_count(tn_value value);                      /* items or keys; 0 for any other kind */
tn_value value_at(tn_value array, size_t index);
tn_value value_get(tn_value object, const char *key); /* NULL if absent or not an object */
tn_value value_get_n(tn_value object, const char *key, size_t length);
tn_value value_get_key(tn_value object,
                       tn_value key); /* the key is a string value: fastest, because its hash is cached */
tn_value value_key_at(tn_value object, size_t index);
tn_value value_value_at(tn_value object, size_t index);
bool value_text_is(tn_value value, const char *text); /* false if it is not a string */

/* ---- Changing: a new value comes back ---- */
tn_value value_push_take(tn_value array, tn_value item);
tn_value value_concat_take(tn_value array, tn_value more);
/*
 * Returns a new reference; the bounds must hold. The result shares the items if it has at least half of them, and
 * copies them otherwise.
 */
tn_value value_slice(tn_value array, size_t from, size_t to);
/* Returns the number of identical items at the start of two arrays; constant time if one array grew from the other. */
size_t value_common_prefix(tn_value array, tn_value other);
tn_value value_replace_take(tn_value array, size_t index, tn_value item);
tn_value value_set_take(tn_value object, const char *key, tn_value value); /* a replaced key keeps its place */
tn_value value_set_key_take(tn_value object, tn_value key, tn_value value);
tn_value value_remove_take(tn_value object, tn_value key);   /* the key may be absent */
tn_value value_merge_patch(tn_value target, tn_value patch); /* JSON Merge Patch, RFC 7396; arguments borrowed */

/* ---- Comparing ---- */
bool value_equal(tn_value a, tn_value b);          /* deep; numbers by mathematical value; key order is ignored */
bool value_identical(tn_value a, tn_value b);      /* deep; kinds and key order matter: equal bytes of JSON */
int value_compare_numbers(tn_value a, tn_value b); /* -1 0 1, exact between int64 and double */
int value_compare_strings(tn_value a, tn_value b); /* by bytes, which is by code point */
uint64_t value_hash(tn_value value);               /* equal values have equal hashes, in every process */

/* The number of live heap blocks in the process, for leak tests and for check mode. */
int64_t value_live_count(void);

#endif

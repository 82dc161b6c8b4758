/*
 * view.h - inline reading of values, for loops that read very many of them (the plans of adl/schema).
 *
 *     size_t count;
 *     const tn_value *items = view_items(array, &count);
 *     for (size_t i = 0; i < count; i++) sum += value_kind(items[i]);
 *
 * The views are borrowed: they last as long as the value. Everything else reads values through value.h, so that the
 * layout of the blocks can change.
 */
#ifndef TENON_ADL_VIEW_H
#define TENON_ADL_VIEW_H

#include "adl/value/block.h"

/* The items of an array; NULL if it is empty. */
static inline const tn_value *view_items(tn_value array, size_t *count) {
    *count = 0;
    if (!value_is_block(array)) return NULL;
    const struct list *list = list_of(array);
    if (list_is_deferred(list)) list = list_of(deferred_items(array));
    *count = list->length;
    return list_items(list);
}

/* The entries of an object, each a key and a value; NULL if it is empty. */
static inline const tn_value *view_entries(tn_value object, size_t *count) {
    *count = 0;
    if (!value_is_block(object)) return NULL;
    const struct list *list = list_of(object);
    *count = list->length;
    return list->slots->items;
}

/* The number of items or entries of an array or object. */
static inline size_t view_count(tn_value container) {
    return value_is_block(container) ? list_of(container)->length : 0;
}

/* True if an object has so few entries that it is searched from its start. */
static inline bool view_is_short(size_t count) { return count <= OBJECT_LINEAR_MAX; }

/* The number in a value of kind TN_DOUBLE. */
static inline double view_double(tn_value number) { return ((const struct number *)(const void *)number)->real; }

/* The bytes of a string that is stored in a value of kind TN_STRING. */
static inline const struct string *view_string(tn_value text) { return string_of(text); }

static inline uint64_t view_word(const char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline uint32_t view_half(const char *bytes) {
    uint32_t half;
    memcpy(&half, bytes, sizeof half);
    return half;
}

/* memcmp(…) == 0 for short texts without a call: two words that overlap are compared. */
static inline bool view_same_bytes(const char *a, const char *b, size_t length) {
    if (length > 16) return memcmp(a, b, length) == 0;
    if (length >= 8) return view_word(a) == view_word(b) && view_word(a + length - 8) == view_word(b + length - 8);
    if (length >= 4) return view_half(a) == view_half(b) && view_half(a + length - 4) == view_half(b + length - 4);
    for (size_t i = 0; i < length; i++)
        if (a[i] != b[i]) return false;
    return true;
}

static inline bool view_same_text(const struct string *a, const struct string *b) {
    return a == b || (a->length == b->length && view_same_bytes(a->chars, b->chars, a->length));
}

/* The hash of a string for tables of this process. */
static inline uint32_t view_hash(const struct string *text) {
    uint32_t hash = atomic_load_explicit(&((struct string *)(uintptr_t)text)->hash, memory_order_relaxed);
    return hash != 0 ? hash : string_hash_of((struct string *)(uintptr_t)text);
}

#endif

/*
 * object.c - objects: entries in insertion order. Keys are found by comparison, above OBJECT_LINEAR_MAX by hash.
 *
 * A new key is added in the same way as an array appends (block.h). Replacing and removing change the entries in place
 * if one handle owns them, and copy them otherwise. Keys are unique in the slots, not only in one handle's part: only
 * the newest handle adds to the slots, and it sees every entry.
 */
#include <string.h>

#include "adl/value/block.h"

#define OBJECT_CAPACITY_FIRST 2 /* most objects are small and many */

tn_value value_object_reserve(size_t capacity) {
    return capacity > 0 ? &list_new(TN_OBJECT, capacity)->header : VALUE_IMMEDIATE_OBJECT;
}

static inline bool key_equals_chars(const struct string *key, const char *chars, size_t length) {
    return key->length == length && (key->chars == chars || memcmp(key->chars, chars, length) == 0);
}

static bool is_key_of(const struct slots *slots, uint32_t entry, struct string *key) {
    struct string *other = string_of(slots->items[2 * (size_t)entry]);
    return string_hash_of(other) == string_hash_of(key) && key_equals_chars(other, key->chars, key->length);
}

#define NEAR 16u /* places of the index, in which no key is compared */

/* Of equal keys, which only an object has that is not checked yet, the first ones are entered: a chain of all is
 * quadratic. */
void object_index(struct slots *slots, uint32_t from, uint32_t to) {
    _Atomic uint32_t *index = slots_index(slots);
    uint32_t mask = slots->index_mask;
    if (from == 0)
        for (uint32_t i = 0; i <= mask; i++) atomic_init(&index[i], 0);
    for (uint32_t entry = from; entry < to; entry++) {
        struct string *key = string_of(slots->items[2 * (size_t)entry]);
        uint32_t at = string_hash_of(key) & mask, passed = 0, other;
        while ((other = atomic_load_explicit(&index[at], memory_order_relaxed)) != 0 &&
               !(++passed > NEAR && is_key_of(slots, other - 1, key)))
            at = (at + 1) & mask;
        if (other == 0) atomic_store_explicit(&index[at], entry + 1, memory_order_relaxed);
    }
}

/*
 * Removes the newest entries, `from` to `to`, from the index. Each is the last one of its chain, because later entries
 * were removed before, so no other entry is behind it.
 */
static void object_unindex(struct slots *slots, uint32_t from, uint32_t to) {
    _Atomic uint32_t *index = slots_index(slots);
    for (uint32_t entry = to; entry-- > from;) {
        uint32_t at = string_hash_of(string_of(slots->items[2 * (size_t)entry])) & slots->index_mask;
        while (atomic_load_explicit(&index[at], memory_order_relaxed) != entry + 1) at = (at + 1) & slots->index_mask;
        atomic_store_explicit(&index[at], 0, memory_order_relaxed);
    }
}

/* Returns the number of the entry, or -1. `known` is the key as a value, or NULL. */
static int64_t object_find(tn_value object, const char *chars, size_t length, struct string *known) {
    if (!value_is_block(object) || object->kind != TN_OBJECT) return -1;
    const struct list *list = list_of(object);
    struct slots *slots = list->slots;
    if (slots->index_mask == 0 || list->length <= OBJECT_LINEAR_MAX) {
        const tn_value *items = slots->items;
        for (size_t i = 0; i < list->length; i++)
            if (key_equals_chars(string_of(items[2 * i]), chars, length)) return (int64_t)i;
        return -1;
    }
    _Atomic uint32_t *index = slots_index(slots);
    uint32_t at = known != NULL ? string_hash_of(known) : string_hash(chars, length);
    for (;; at++) {
        uint32_t entry = atomic_load_explicit(&index[at & slots->index_mask], memory_order_relaxed);
        if (entry == 0) return -1;
        if (entry > list->length) continue; /* belongs to a newer handle, and may not be written yet */
        const struct string *key = string_of(slots->items[2 * (size_t)(entry - 1)]);
        if (key_equals_chars(key, chars, length)) return entry - 1;
    }
}

static inline int64_t object_find_key(tn_value object, tn_value key) {
    struct string *string = string_of(key);
    return object_find(object, string->chars, string->length, string);
}

static inline tn_value value_of_entry(tn_value object, int64_t entry) {
    return entry >= 0 ? list_of(object)->slots->items[2 * entry + 1] : NULL;
}

/* Names usually differ in their first letter, so the length of `key` is not computed first. */
static inline bool is_called(const struct string *string, const char *key) {
    size_t at = 0;
    while (string->chars[at] == key[at] && key[at] != '\0') at++;
    return key[at] == '\0' && string->length == at;
}

tn_value value_get(tn_value object, const char *key) {
    if (!value_is_block(object) || object->kind != TN_OBJECT) return NULL;
    const struct list *list = list_of(object);
    if (list->length > OBJECT_LINEAR_MAX) return value_of_entry(object, object_find(object, key, strlen(key), NULL));
    const tn_value *items = list->slots->items;
    for (size_t i = 0; i < list->length; i++)
        if (is_called(string_of(items[2 * i]), key)) return items[2 * i + 1];
    return NULL;
}

tn_value value_get_n(tn_value object, const char *key, size_t length) {
    return value_of_entry(object, object_find(object, key, length, NULL));
}

tn_value value_get_key(tn_value object, tn_value key) {
    assert(value_is(key, TN_STRING));
    return value_of_entry(object, object_find_key(object, key));
}

tn_value value_key_at(tn_value object, size_t index) {
    assert(value_is(object, TN_OBJECT) && index < value_count(object));
    return list_of(object)->slots->items[2 * index];
}

tn_value value_value_at(tn_value object, size_t index) {
    assert(value_is(object, TN_OBJECT) && index < value_count(object));
    return list_of(object)->slots->items[2 * index + 1];
}

size_t object_duplicate(tn_value object) {
    size_t count = value_count(object), entry = 0;
    while (entry < count && object_find_key(object, value_key_at(object, entry)) == (int64_t)entry) entry++;
    return entry;
}

/* Consumes all three arguments. The key must not be in the object. */
static tn_value object_add(tn_value object, tn_value key, tn_value value) {
    if (!value_is_block(object)) {
        tn_value items[2] = {key, value};
        return list_make_roomy(TN_OBJECT, OBJECT_CAPACITY_FIRST, items, 1);
    }
    struct list *list = list_extend(list_of(object), 1, &value);
    struct slots *slots = list->slots;
    uint32_t entry = list->length - 1;
    slots->items[2 * (size_t)entry] = key;
    slots->items[2 * (size_t)entry + 1] = value;
    if (slots->index_mask != 0) object_index(slots, entry, entry + 1);
    return &list->header;
}

static tn_value object_replace(tn_value object, int64_t entry, tn_value value) {
    struct list *list = list_separate(list_of(object));
    tn_value *place = &list->slots->items[2 * entry + 1];
    tn_value old = *place;
    *place = value;
    value_unref(old);
    return &list->header;
}

tn_value value_set_take(tn_value object, const char *key, tn_value value) {
    assert(value_is(object, TN_OBJECT) && value != NULL);
    size_t length = strlen(key);
    int64_t entry = value_is_block(object) ? object_find(object, key, length, NULL) : -1;
    return entry >= 0 ? object_replace(object, entry, value) : object_add(object, value_text_n(key, length), value);
}

tn_value value_set_key_take(tn_value object, tn_value key, tn_value value) {
    assert(value_is(object, TN_OBJECT) && value_is(key, TN_STRING) && value != NULL);
    int64_t entry = value_is_block(object) ? object_find_key(object, key) : -1;
    if (entry < 0) return object_add(object, key, value);
    object = object_replace(object, entry, value);
    value_unref(key);
    return object;
}

tn_value value_remove_take(tn_value object, tn_value key) {
    assert(value_is(object, TN_OBJECT) && value_is(key, TN_STRING));
    int64_t entry = object_find_key(object, key);
    if (entry >= 0 && value_count(object) == 1) {
        value_unref(object);
        object = VALUE_IMMEDIATE_OBJECT;
    } else if (entry >= 0) {
        struct list *list = list_separate(list_of(object));
        struct slots *slots = list->slots;
        tn_value *items = slots->items;
        /* Entries beyond the list's own belonged to a newer handle that is freed: release them too. */
        uint32_t used = atomic_load_explicit(&slots->used, memory_order_relaxed);
        tn_value gone[2] = {items[2 * entry], items[2 * entry + 1]};
        bool last = entry + 1 == (int64_t)list->length;
        if (last && slots->index_mask != 0) object_unindex(slots, list->length - 1, used);
        for (uint32_t i = 2 * list->length; i < 2 * used; i++) value_unref(items[i]);
        memmove(items + 2 * entry, items + 2 * entry + 2, (list->length - (size_t)entry - 1) * 2 * sizeof *items);
        list->length--;
        atomic_store_explicit(&slots->used, list->length, memory_order_relaxed);
        if (!last && slots->index_mask != 0) object_index(slots, 0, list->length);
        value_unref(gone[0]);
        value_unref(gone[1]);
        object = &list->header;
    }
    value_unref(key);
    return object;
}

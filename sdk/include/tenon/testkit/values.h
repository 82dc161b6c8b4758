/*
 * tenon/testkit/values.h - the values of the fake host; include <tenon/testkit.h>.
 *
 * A value is a block with a count of its references. An edit changes the block if the caller's reference is the only
 * one, and a copy otherwise, as the host does, so that a plugin that forgets to retain a value fails here as well.
 */
#ifndef TENON_TESTKIT_VALUES_H
#define TENON_TESTKIT_VALUES_H

#include <tenon/testkit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_TEST_DEPTH 200 /* arrays and objects in one another */

static int64_t tn_test_value_count; /* values that exist */

struct tn_test_value {
    int64_t references;
    int64_t integer; /* of a bool too */
    double number;
    char *text;                   /* of strings and bytes; NUL-terminated */
    struct tn_test_value **items; /* of an array; of an object: key, value, key, value */
    uint64_t length;              /* of the text, or of `items` */
    int32_t kind;
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
    tn_test_value_count++;
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
    tn_test_value_count--;
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
    if (value == NULL || out == NULL) return TN_INVALID;
    if (tn_test_kind(value) != TN_BOOL) return TN_TYPE;
    *out = tn_test_block(value)->integer != 0;
    return TN_OK;
}

static inline int32_t tn_test_as_int(tn_value value, int64_t *out) {
    double number = tn_test_kind(value) == TN_DOUBLE ? tn_test_block(value)->number : 0.5;
    if (value == NULL || out == NULL) return TN_INVALID;
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
    if (value == NULL || out == NULL) return TN_INVALID;
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

static inline bool tn_test_text_is(tn_value value, const char *text, uint64_t length) {
    const struct tn_test_value *block = tn_test_block(value);
    return block->length == length && memcmp(block->text, text, TN_UTIL_CAST(size_t, length)) == 0;
}

static inline tn_value tn_test_get(tn_value object, const char *name, uint64_t length) {
    tn_value key, value;
    if (name == NULL) return NULL;
    length = tn_test_length(name, length);
    for (uint64_t i = 0; tn_test_entry(object, i, &key, &value) == TN_OK; i++)
        if (tn_test_text_is(key, name, length)) return value;
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
    if (kind == TN_STRING || kind == TN_BYTES) return tn_test_text_is(a, right->text, right->length);
    if (tn_test_count(a) != tn_test_count(b)) return 0;
    for (uint64_t i = 0; i < tn_test_count(a); i++) {
        if (kind == TN_ARRAY && !tn_test_equal(tn_test_at(a, i), tn_test_at(b, i))) return 0;
        if (kind != TN_OBJECT || tn_test_entry(a, i, &key, &value) != TN_OK) continue;
        if (!tn_test_equal(value, tn_test_get(b, tn_test_block(key)->text, tn_test_block(key)->length))) return 0;
    }
    return 1;
}

/* ---- Makers ---- */

static inline tn_value tn_test_make_null(const tn_host *host) {
    (void)host;
    return tn_test_value_of(tn_test_new(TN_NULL));
}

static inline tn_value tn_test_make_bool(const tn_host *host, int32_t truth) {
    struct tn_test_value *block = tn_test_new(TN_BOOL);
    (void)host;
    block->integer = truth != 0;
    return tn_test_value_of(block);
}

static inline tn_value tn_test_make_int(const tn_host *host, int64_t number) {
    struct tn_test_value *block = tn_test_new(TN_INT);
    (void)host;
    block->integer = number;
    return tn_test_value_of(block);
}

static inline int32_t tn_test_make_double(const tn_host *host, double number, tn_value *out) {
    struct tn_test_value *block;
    (void)host;
    if (!(number - number <= 0 && number - number >= 0)) return TN_INVALID; /* NaN or infinite */
    block = tn_test_new(TN_DOUBLE);
    block->number = number;
    *out = tn_test_value_of(block);
    return TN_OK;
}

static inline int32_t tn_test_make_text(const tn_host *host, const char *text, uint64_t length, tn_value *out) {
    (void)host;
    if (text == NULL && length > 0) return TN_INVALID;
    length = text != NULL ? tn_test_length(text, length) : 0;
    if (!tn_utf8_is_valid(text, length)) return TN_INVALID;
    *out = tn_test_value_of(tn_test_new_text(TN_STRING, text, length));
    return TN_OK;
}

static inline int32_t tn_test_make_bytes(const tn_host *host, const void *bytes, uint64_t length, tn_value *out) {
    (void)host;
    if (bytes == NULL && length > 0) return TN_INVALID;
    *out = tn_test_value_of(tn_test_new_text(TN_BYTES, bytes, length));
    return TN_OK;
}

/* ---- Edits ---- */

static inline struct tn_test_value *tn_test_copy_items(tn_value value, uint64_t from, uint64_t count) {
    struct tn_test_value *copy = tn_test_new(tn_test_kind(value));
    for (uint64_t i = from; i < from + count; i++)
        tn_test_push(copy, tn_test_block(tn_test_retain(tn_test_value_of(tn_test_block(value)->items[i]))));
    return copy;
}

/* The array or object, to be changed: a copy, which replaces it, unless the caller's reference is the only one. */
static inline struct tn_test_value *tn_test_own(tn_value *value) {
    struct tn_test_value *block = tn_test_block(*value);
    if (block->references == 1) return block;
    block = tn_test_copy_items(*value, 0, block->length);
    tn_test_release(*value);
    *value = tn_test_value_of(block);
    return block;
}

static inline int32_t tn_test_editable(const tn_value *value, int32_t kind) {
    if (value == NULL || *value == NULL) return TN_INVALID;
    return tn_test_kind(*value) == kind ? TN_OK : TN_TYPE;
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

static inline int32_t tn_test_set(tn_value *object, const char *name, uint64_t length, tn_value item) {
    int32_t status = tn_test_editable(object, TN_OBJECT);
    if (status != TN_OK) return status;
    if (name == NULL || item == NULL) return TN_INVALID;
    length = tn_test_length(name, length);
    if (!tn_utf8_is_valid(name, length)) return TN_INVALID;
    (void)tn_test_retain(item); /* first: it may be the object itself */
    (void)tn_test_put(tn_test_own(object), tn_test_new_text(TN_STRING, name, length), tn_test_block(item));
    return TN_OK;
}

static inline int32_t tn_test_append(tn_value *array, tn_value item) {
    int32_t status = tn_test_editable(array, TN_ARRAY);
    if (status != TN_OK) return status;
    if (item == NULL) return TN_INVALID;
    (void)tn_test_retain(item);
    tn_test_push(tn_test_own(array), tn_test_block(item));
    return TN_OK;
}

/* Replaces `count` of the items of a block that has one reference only, by those of `more`, which may be NULL. */
static inline void tn_test_exchange(struct tn_test_value *block, uint64_t index, uint64_t count,
                                    const struct tn_test_value *more) {
    struct tn_test_value **old = block->items;
    uint64_t length = block->length;
    block->items = NULL;
    block->length = 0;
    for (uint64_t i = 0; i < index; i++) tn_test_push(block, old[i]);
    for (uint64_t i = 0; more != NULL && i < more->length; i++)
        tn_test_push(block, tn_test_block(tn_test_retain(tn_test_value_of(more->items[i]))));
    for (uint64_t i = index; i < index + count; i++) tn_test_release(tn_test_value_of(old[i]));
    for (uint64_t i = index + count; i < length; i++) tn_test_push(block, old[i]);
    free(old);
}

static inline int32_t tn_test_remove(tn_value *object, const char *name, uint64_t length) {
    int32_t status = tn_test_editable(object, TN_OBJECT);
    uint64_t at = 0;
    tn_value key, value;
    if (status != TN_OK) return status;
    if (name == NULL) return TN_INVALID;
    length = tn_test_length(name, length);
    for (; tn_test_entry(*object, at, &key, &value) == TN_OK; at++)
        if (tn_test_text_is(key, name, length)) break;
    if (at == tn_test_count(*object)) return TN_NOT_FOUND;
    tn_test_exchange(tn_test_own(object), 2 * at, 2, NULL);
    return TN_OK;
}

static inline int32_t tn_test_splice(tn_value *array, uint64_t index, uint64_t count, tn_value items) {
    int32_t status = tn_test_editable(array, TN_ARRAY);
    if (status != TN_OK) return status;
    if (items != NULL && tn_test_kind(items) != TN_ARRAY) return TN_TYPE;
    if (index > tn_test_count(*array) || count > tn_test_count(*array) - index) return TN_NOT_FOUND;
    (void)tn_test_retain(items);
    tn_test_exchange(tn_test_own(array), index, count, tn_test_block(items));
    tn_test_release(items);
    return TN_OK;
}

static inline int32_t tn_test_concat(tn_value *value, tn_value more) {
    const struct tn_test_value *first, *second = tn_test_block(more);
    struct tn_test_value *both;
    int32_t kind;
    if (value == NULL || *value == NULL || more == NULL) return TN_INVALID;
    kind = tn_test_kind(*value);
    if (kind != tn_test_kind(more)) return TN_TYPE;
    if (kind == TN_ARRAY) return tn_test_splice(value, tn_test_count(*value), 0, more);
    if (kind != TN_STRING && kind != TN_BYTES) return TN_TYPE;
    first = tn_test_block(*value);
    both = tn_test_new_text(kind, NULL, 0);
    free(both->text);
    both->length = first->length + second->length;
    both->text = TN_UTIL_CAST(char *, malloc(TN_UTIL_CAST(size_t, both->length) + 1));
    TN_TEST_ASSERT(both->text != NULL);
    memcpy(both->text, first->text, TN_UTIL_CAST(size_t, first->length));
    memcpy(both->text + first->length, second->text, TN_UTIL_CAST(size_t, second->length) + 1);
    tn_test_release(*value);
    *value = tn_test_value_of(both);
    return TN_OK;
}

static inline int32_t tn_test_slice(tn_value value, uint64_t index, uint64_t count, tn_value *out) {
    const struct tn_test_value *block = tn_test_block(value);
    int32_t kind = tn_test_kind(value);
    if (value == NULL) return TN_INVALID;
    if (kind != TN_ARRAY && kind != TN_STRING && kind != TN_BYTES) return TN_TYPE;
    if (index > block->length || count > block->length - index) return TN_NOT_FOUND;
    if (kind == TN_STRING && !tn_utf8_is_valid(block->text + index, count)) return TN_INVALID;
    *out = tn_test_value_of(kind == TN_ARRAY ? tn_test_copy_items(value, index, count)
                                             : tn_test_new_text(kind, block->text + index, count));
    return TN_OK;
}

/* An ERROR; `detail` is taken. */
static inline tn_value tn_test_reason(const char *code, const char *message, struct tn_test_value *detail) {
    struct tn_test_value *error = tn_test_new(TN_OBJECT);
    const char *const texts[] = {"code", code, "message", message};
    for (int i = 0; i < 4; i++) tn_test_push(error, tn_test_new_text(TN_STRING, texts[i], strlen(texts[i])));
    tn_test_push(error, tn_test_new_text(TN_STRING, "detail", 6));
    tn_test_push(error, detail);
    return tn_test_value_of(error);
}

#ifdef __cplusplus
}
#endif
#endif

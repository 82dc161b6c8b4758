/*
 * cell.c - cells: reading, equality and order across kinds of number, and conversion of results to values.
 *
 * Equality is CEL's: numbers of all kinds by value, lists and maps by content, values of different kinds unequal
 * instead of an error, NaN unequal to everything. Two values from outside are compared by value_equal. Nesting is
 * bounded: for values by the JSON reader, for built cells by the expression's depth.
 */
#include "adl/expr/cell.h"
#include "adl/expr/time.h"
#include "adl/value/base64.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWO_63       9223372036854775808.0
#define TWO_64       18446744073709551616.0
#define INDEXED_FROM 8u /* entries; smaller maps are searched linearly */

struct cell cell_of(tn_value value) {
    struct cell cell = {.kind = (uint8_t)value_kind(value)};
    switch (cell.kind) {
    case TN_BOOL: cell.as.truth = value_to_bool(value); break;
    case TN_INT: cell.as.integer = value_to_int(value); break;
    case TN_DOUBLE: cell.as.real = value_to_double(value); break;
    default: cell.as.value = value; break;
    }
    return cell;
}

const char *cell_chars(const struct cell *cell, size_t *length) {
    if (cell->built) {
        *length = cell->length;
        return cell->as.chars;
    }
    return cell->kind == TN_STRING ? value_chars(cell->as.value, length) : value_data(cell->as.value, length);
}

size_t cell_count(const struct cell *cell) {
    if (!cell->built) return value_count(cell->as.value);
    return cell->kind == TN_ARRAY ? cell->as.list->count : cell->as.map->count;
}

uint32_t cell_weight(const struct cell *cell) {
    if (!cell->built) return 1;
    if (cell->kind == TN_ARRAY) return cell->as.list->weight;
    if (cell->kind == TN_OBJECT) return cell->as.map->weight;
    return 1 + cell->length / (uint32_t)sizeof *cell;
}

uint32_t cell_depth(const struct cell *cell) {
    if (!cell->built || cell->kind < TN_ARRAY) return 0;
    return cell->kind == TN_ARRAY ? cell->as.list->depth : cell->as.map->depth;
}

/* Updates the weight and depth of a list or map that contains `item`. */
static void account(uint32_t *weight, uint32_t *depth, const struct cell *item) {
    if (__builtin_add_overflow(*weight, cell_weight(item), weight)) *weight = UINT32_MAX;
    uint32_t inside = cell_depth(item) + 1;
    if (inside > *depth) *depth = inside;
}

struct cell cell_item(const struct cell *list, size_t index) {
    return list->built ? list->as.list->items[index] : cell_of(value_at(list->as.value, index));
}

struct cell cell_key(const struct cell *map, size_t index) {
    return map->built ? map->as.map->entries[index].key : cell_of(value_key_at(map->as.value, index));
}

struct cell cell_entry_value(const struct cell *map, size_t index) {
    return map->built ? map->as.map->entries[index].value : cell_of(value_value_at(map->as.value, index));
}

static struct cell map_value(const struct cell *map, size_t index) {
    return map->built ? map->as.map->entries[index].value : cell_of(value_value_at(map->as.value, index));
}

/* ---- Numbers ---- */

static bool is_number(const struct cell *cell) {
    return cell->kind == TN_INT || cell->kind == TN_DOUBLE || cell->kind == EXPR_UINT;
}

static int compare_int64(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int order_int_uint(int64_t a, uint64_t b) { return a < 0 || (uint64_t)a < b ? -1 : (uint64_t)a > b; }

static int order_doubles(double a, double b) { return isnan(a) || isnan(b) ? 2 : (a > b) - (a < b); }

/*
 * Orders an integer and a double. If the double is outside the range of integers, its sign decides; otherwise the
 * integer is converted to the nearest double. This is CEL's rule: its conformance tests contain 9223372036854775807 ==
 * 9223372036854775808.0.
 */
static int order_int_double(int64_t a, double b) {
    return b > TWO_63 ? -1 : b < -TWO_63 ? 1 : order_doubles((double)a, b);
}

static int order_uint_double(uint64_t a, double b) { return b > TWO_64 ? -1 : b < 0 ? 1 : order_doubles((double)a, b); }

static int turned(int order) { return order == 2 ? 2 : -order; }

static int order_numbers(const struct cell *a, const struct cell *b) {
    if (a->kind == TN_INT) {
        if (b->kind == TN_INT) return compare_int64(a->as.integer, b->as.integer);
        if (b->kind == TN_DOUBLE) return order_int_double(a->as.integer, b->as.real);
        return order_int_uint(a->as.integer, b->as.natural);
    }
    if (a->kind == TN_DOUBLE) {
        if (b->kind == TN_DOUBLE) return order_doubles(a->as.real, b->as.real);
        if (b->kind == TN_INT) return turned(order_int_double(b->as.integer, a->as.real));
        return turned(order_uint_double(b->as.natural, a->as.real));
    }
    if (b->kind == TN_INT) return -order_int_uint(b->as.integer, a->as.natural);
    if (b->kind == TN_DOUBLE) return order_uint_double(a->as.natural, b->as.real);
    return (a->as.natural > b->as.natural) - (a->as.natural < b->as.natural);
}

/* ---- Equality and order ---- */

static bool cell_equal_chars(const struct cell *a, const struct cell *b) {
    size_t a_length, b_length;
    const char *a_chars = cell_chars(a, &a_length), *b_chars = cell_chars(b, &b_length);
    return a_length == b_length && (a_length == 0 || memcmp(a_chars, b_chars, a_length) == 0);
}

static bool cell_equal_lists(const struct cell *a, const struct cell *b) {
    size_t count = cell_count(a);
    if (count != cell_count(b)) return false;
    for (size_t i = 0; i < count; i++) {
        struct cell left = cell_item(a, i), right = cell_item(b, i);
        if (!cell_equal(&left, &right)) return false;
    }
    return true;
}

static bool same_maps(const struct cell *a, const struct cell *b) {
    size_t count = cell_count(a);
    if (count != cell_count(b)) return false;
    for (size_t i = 0; i < count; i++) {
        struct cell key = cell_key(a, i), left = map_value(a, i), right = cell_lookup(b, &key);
        if (right.kind == TN_NONE || !cell_equal(&left, &right)) return false;
    }
    return true;
}

bool cell_equal(const struct cell *a, const struct cell *b) {
    if (is_number(a)) return is_number(b) && order_numbers(a, b) == 0;
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case TN_NULL: return true;
    case TN_BOOL: return a->as.truth == b->as.truth;
    case TN_STRING:
    case TN_BYTES: return cell_equal_chars(a, b);
    case TN_ARRAY: return a->built || b->built ? cell_equal_lists(a, b) : value_equal(a->as.value, b->as.value);
    case TN_OBJECT: return a->built || b->built ? same_maps(a, b) : value_equal(a->as.value, b->as.value);
    case EXPR_TIMESTAMP: return a->as.integer == b->as.integer && a->length == b->length;
    default: return a->as.integer == b->as.integer; /* duration, type */
    }
}

static int order_chars(const struct cell *a, const struct cell *b) {
    size_t a_length, b_length;
    const char *a_chars = cell_chars(a, &a_length), *b_chars = cell_chars(b, &b_length);
    size_t shared = a_length < b_length ? a_length : b_length;
    int order = shared ? memcmp(a_chars, b_chars, shared) : 0;
    if (order == 0) return (a_length > b_length) - (a_length < b_length);
    return order < 0 ? -1 : 1;
}

bool cell_compare(const struct cell *a, const struct cell *b, int *order) {
    if (is_number(a) && is_number(b)) {
        *order = order_numbers(a, b);
        return true;
    }
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case TN_BOOL: *order = (int)a->as.truth - (int)b->as.truth; return true;
    case TN_STRING:
    case TN_BYTES: *order = order_chars(a, b); return true;
    case EXPR_TIMESTAMP:
        *order = compare_int64(a->as.integer, b->as.integer);
        if (*order == 0) *order = compare_int64(a->length, b->length);
        return true;
    case EXPR_DURATION: *order = compare_int64(a->as.integer, b->as.integer); return true;
    default: return false;
    }
}

/* ---- Maps ---- */

bool cell_is_key(const struct cell *cell) {
    if (cell->kind == TN_DOUBLE) return cell->as.real == floor(cell->as.real) && fabs(cell->as.real) < TWO_64;
    return cell->kind == TN_BOOL || cell->kind == TN_INT || cell->kind == EXPR_UINT || cell->kind == TN_STRING;
}

static uint64_t cell_hash_bytes(const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

/* Equal keys have equal hashes: numbers are hashed by their value as 64 bits, for all kinds of number. */
static uint64_t key_hash(const struct cell *key) {
    uint64_t number = 0;
    switch (key->kind) {
    case TN_STRING: {
        size_t length;
        const char *chars = cell_chars(key, &length);
        return cell_hash_bytes(chars, length);
    }
    case TN_BOOL: return key->as.truth ? 3 : 5;
    case TN_DOUBLE:
        if (key->as.real >= -TWO_63 && key->as.real < TWO_63)
            number = (uint64_t)(int64_t)key->as.real;
        else if (key->as.real >= 0 && key->as.real < TWO_64)
            number = (uint64_t)key->as.real;
        break;
    case TN_INT: number = (uint64_t)key->as.integer; break;
    default: number = key->as.natural; break;
    }
    return cell_hash_bytes(&number, sizeof number);
}

/* Returns the index slot of the key, or the free slot where it belongs. */
static uint32_t map_slot(const struct cell_map *map, const struct cell *key) {
    uint32_t mask = map->index_size - 1, slot = (uint32_t)key_hash(key) & mask;
    while (map->index[slot] && !cell_equal(&map->entries[map->index[slot] - 1].key, key)) slot = (slot + 1) & mask;
    return slot;
}

static const struct cell_entry *map_find(const struct cell_map *map, const struct cell *key) {
    if (map->index_size) {
        uint32_t found = map->index[map_slot(map, key)];
        return found ? &map->entries[found - 1] : NULL;
    }
    for (uint32_t i = 0; i < map->count; i++)
        if (cell_equal(&map->entries[i].key, key)) return &map->entries[i];
    return NULL;
}

struct cell cell_lookup(const struct cell *map, const struct cell *key) {
    if (map->built) {
        const struct cell_entry *entry = map_find(map->as.map, key);
        return entry ? entry->value : (struct cell){0};
    }
    if (key->kind != TN_STRING) return (struct cell){0};
    if (!key->built) return cell_of(value_get_key(map->as.value, key->as.value));
    return cell_of(value_get_n(map->as.value, key->as.chars, key->length));
}

struct cell_list *cell_list_new(struct arena *arena, uint32_t capacity) {
    struct cell_list *list = arena_take(arena, sizeof *list);
    struct cell *items = arena_take(arena, capacity * sizeof *items);
    if (!list || !items) return NULL;
    *list = (struct cell_list){.capacity = capacity, .weight = 1, .depth = 1, .items = items};
    return list;
}

bool cell_list_add(struct arena *arena, struct cell_list *list, const struct cell *item) {
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? list->capacity * 2 : 4;
        struct cell *items = arena_take(arena, capacity * sizeof *items);
        if (!items) return false;
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *item;
    account(&list->weight, &list->depth, item);
    return true;
}

struct cell_map *cell_map_new(struct arena *arena, uint32_t capacity) {
    struct cell_map *map = arena_take(arena, sizeof *map);
    struct cell_entry *entries = arena_take(arena, capacity * sizeof *entries);
    if (!map || !entries) return NULL;
    *map = (struct cell_map){.capacity = capacity, .weight = 1, .depth = 1, .entries = entries};
    return map;
}

static bool map_index(struct arena *arena, struct cell_map *map) {
    uint32_t size = 32;
    while (size < map->capacity * 2) size *= 2;
    uint32_t *index = arena_take(arena, size * sizeof *index);
    if (!index) return false;
    memset(index, 0, size * sizeof *index);
    map->index = index;
    map->index_size = size;
    for (uint32_t i = 0; i < map->count; i++) index[map_slot(map, &map->entries[i].key)] = i + 1;
    return true;
}

static bool map_grow(struct arena *arena, struct cell_map *map) {
    uint32_t capacity = map->capacity ? map->capacity * 2 : 4;
    struct cell_entry *entries = arena_take(arena, capacity * sizeof *entries);
    if (!entries) return false;
    if (map->entries && map->count) memcpy(entries, map->entries, map->count * sizeof *entries);
    map->entries = entries;
    map->capacity = capacity;
    return map->index_size == 0 || map_index(arena, map);
}

bool cell_map_add(struct arena *arena, struct cell_map *map, const struct cell *key, const struct cell *value,
                  bool *duplicate) {
    *duplicate = map_find(map, key) != NULL;
    if (*duplicate) return true;
    if (map->count == map->capacity && !map_grow(arena, map)) return false;
    assert(map->entries != NULL);
    map->entries[map->count++] = (struct cell_entry){*key, *value};
    account(&map->weight, &map->depth, key);
    account(&map->weight, &map->depth, value);
    if (map->count <= INDEXED_FROM) return true;
    if (map->index_size == 0) return map_index(arena, map);
    map->index[map_slot(map, key)] = map->count;
    return true;
}

/* ---- Text and values of results ---- */

static const char *const kind_names[] = {
    [TN_NULL] = "null",
    [TN_BOOL] = "bool",
    [TN_INT] = "int",
    [TN_DOUBLE] = "double",
    [TN_STRING] = "string",
    [TN_BYTES] = "bytes",
    [TN_ARRAY] = "list",
    [TN_OBJECT] = "map",
    [EXPR_UINT] = "uint",
    [EXPR_TIMESTAMP] = "timestamp",
    [EXPR_DURATION] = "duration",
    [EXPR_TYPE] = "type",
};

const char *expr_kind_name(int kind) { return kind >= TN_NULL && kind <= EXPR_TYPE ? kind_names[kind] : "nothing"; }

const char *cell_type_name(int kind) {
    if (kind == TN_NULL) return "null_type";
    if (kind == EXPR_TIMESTAMP) return "google.protobuf.Timestamp";
    if (kind == EXPR_DURATION) return "google.protobuf.Duration";
    return expr_kind_name(kind);
}

const char *expr_kinds_text(uint32_t kinds, char *out, size_t size) {
    size_t length = 0;
    uint32_t left = kinds & EXPR_ANY;
    const char *first = left == EXPR_ANY || left == 0 ? "any kind" : "";
    int written = snprintf(out, size, "%s", first);
    if (*first) return out;
    for (int kind = TN_NULL; left && written >= 0; kind++) {
        if (!(left & EXPR_KIND(kind))) continue;
        left &= ~EXPR_KIND(kind);
        const char *join = length == 0 ? "" : left ? ", " : " or ";
        written = snprintf(out + length, size - length, "%s%s", join, expr_kind_name(kind));
        length += (size_t)written;
        if (length >= size) break;
    }
    return out;
}

/* Writes a double as other CEL implementations do: 2 for 2.0, exponents with a sign and two digits (JSON has 1e7). */
static size_t double_text(double number, char out[CELL_TEXT]) {
    if (isnan(number)) return (size_t)snprintf(out, CELL_TEXT, "NaN");
    if (isinf(number)) return (size_t)snprintf(out, CELL_TEXT, number < 0 ? "-Infinity" : "Infinity");
    size_t length = json_double_text(number, out);
    if (length > 2 && memcmp(out + length - 2, ".0", 2) == 0) return length - 2;
    const char *exponent = memchr(out, 'e', length);
    if (!exponent) return length;
    size_t mantissa = (size_t)(exponent - out);
    long power = strtol(exponent + 1, NULL, 10);
    return mantissa +
           (size_t)snprintf(out + mantissa, CELL_TEXT - mantissa, "e%c%02ld", power < 0 ? '-' : '+', labs(power));
}

size_t cell_scalar_text(const struct cell *cell, char out[CELL_TEXT]) {
    switch (cell->kind) {
    case TN_NULL: return (size_t)snprintf(out, CELL_TEXT, "null");
    case TN_BOOL: return (size_t)snprintf(out, CELL_TEXT, cell->as.truth ? "true" : "false");
    case TN_INT: return (size_t)snprintf(out, CELL_TEXT, "%lld", (long long)cell->as.integer);
    case EXPR_UINT: return (size_t)snprintf(out, CELL_TEXT, "%llu", (unsigned long long)cell->as.natural);
    case TN_DOUBLE: return double_text(cell->as.real, out);
    case EXPR_TIMESTAMP: return timestamp_text(cell->as.integer, cell->length, out);
    case EXPR_DURATION: return duration_text(cell->as.integer, out);
    case EXPR_TYPE: return (size_t)snprintf(out, CELL_TEXT, "%s", cell_type_name((int)cell->as.integer));
    default: return 0;
    }
}

static tn_value list_to_value(const struct cell_list *list, const char **why) {
    tn_value array = value_array_reserve(list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        tn_value item = cell_to_value(&list->items[i], why);
        if (!item) {
            value_unref(array);
            return NULL;
        }
        array = value_push_take(array, item);
    }
    return array;
}

static tn_value key_to_value(const struct cell *key) {
    char text[CELL_TEXT];
    size_t length;
    const char *chars = text;
    if (key->kind != TN_STRING)
        length = cell_scalar_text(key, text);
    else if (!key->built)
        return value_ref(key->as.value);
    else
        chars = cell_chars(key, &length);
    return value_string(chars, length);
}

/* {"$bytes": base64} is bytes, as in JSON. Returns NULL if the map is not of that form. */
static tn_value map_to_bytes(const struct cell_map *map) {
    if (map->count != 1 || map->entries[0].key.kind != TN_STRING || map->entries[0].value.kind != TN_STRING)
        return NULL;
    size_t length;
    const char *key = cell_chars(&map->entries[0].key, &length);
    if (length != strlen("$bytes") || memcmp(key, "$bytes", length) != 0) return NULL;
    const char *text = cell_chars(&map->entries[0].value, &length);
    return base64_read(text, length);
}

static tn_value map_to_value(const struct cell_map *map, const char **why) {
    tn_value bytes = map_to_bytes(map);
    if (bytes) return bytes;
    tn_value object = value_object_reserve(map->count);
    for (uint32_t i = 0; i < map->count; i++) {
        tn_value key = key_to_value(&map->entries[i].key);
        tn_value item = NULL;
        if (value_get_key(object, key))
            *why = "a map with two keys that are the same in JSON";
        else
            item = cell_to_value(&map->entries[i].value, why);
        if (!item) {
            value_unref(key);
            value_unref(object);
            return NULL;
        }
        object = value_set_key_take(object, key, item);
    }
    return object;
}

tn_value cell_to_value(const struct cell *cell, const char **why) {
    switch (cell->kind) {
    case TN_NULL: return value_null();
    case TN_BOOL: return value_bool(cell->as.truth);
    case TN_INT: return value_int(cell->as.integer);
    case TN_DOUBLE:
        if (isfinite(cell->as.real)) return value_double(cell->as.real);
        *why = isnan(cell->as.real) ? "NaN, which JSON cannot write" : "an infinite number, which JSON cannot write";
        return NULL;
    case EXPR_UINT:
        if (cell->as.natural <= INT64_MAX) return value_int((int64_t)cell->as.natural);
        *why = "a uint above 9223372036854775807, which no int can hold";
        return NULL;
    case EXPR_TIMESTAMP:
    case EXPR_DURATION:
    case EXPR_TYPE: return key_to_value(cell);
    default: break;
    }
    if (!cell->built) return value_ref(cell->as.value);
    switch (cell->kind) {
    case TN_STRING: return value_string(cell->as.chars, cell->length);
    case TN_BYTES: return value_bytes(cell->as.chars, cell->length);
    case TN_ARRAY: return list_to_value(cell->as.list, why);
    default: return map_to_value(cell->as.map, why);
    }
}

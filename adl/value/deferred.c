/*
 * deferred.c - deferred arrays: a handle whose slots have no room (LIST_DEFERRED) and follow a struct deferred.
 *
 * A deferred array has either a source, or a deferred array before it (`base`) and a tail of items that are known. The
 * complete items are made once and kept: two threads may both make them, and one of the results is dropped.
 */
#include "adl/value/deferred.h"
#include "adl/value/block.h"
#include "adl/value/weight.h"

#define READ_DEPTH_MAX 256 /* no store keeps a value that is nested deeper (TN_STORE_DEPTH_MAX) */

struct deferred {
    _Atomic(tn_value) items;
    int64_t weight;
    tn_value base, tail; /* or NULL and NULL */
    const struct value_source *source;
    void *context;
};

static struct deferred *deferred_before(struct slots *slots) { return (struct deferred *)(void *)slots - 1; }
static struct deferred *deferred_of(tn_value array) { return deferred_before(list_of(array)->slots); }

static tn_value deferred_items_known(const struct deferred *deferred) {
    return atomic_load_explicit(&deferred->items, memory_order_acquire);
}

static tn_value deferred_make(size_t count, struct deferred made) {
    struct deferred *deferred = block_alloc(sizeof *deferred + sizeof(struct slots));
    struct slots *slots = (struct slots *)(void *)(deferred + 1);
    struct list *list = block_alloc(sizeof *list);
    *deferred = made;
    atomic_init(&deferred->items, NULL);
    atomic_init(&slots->references, 1);
    atomic_init(&slots->used, 0);
    slots->capacity = LIST_DEFERRED;
    slots->index_mask = 0;
    block_init(&list->header, TN_ARRAY);
    list->offset = 0;
    list->length = (uint32_t)count;
    list->slots = slots;
    return &list->header;
}

tn_value value_deferred(size_t count, int64_t weight, const struct value_source *source, void *context) {
    assert(count > 0);
    if (count > LIST_LENGTH_MAX) mem_exhausted(count);
    return deferred_make(count, (struct deferred){.weight = weight, .source = source, .context = context});
}

void deferred_free(struct slots *slots) {
    struct deferred *deferred = deferred_before(slots);
    value_unref(deferred_items_known(deferred));
    value_unref(deferred->base);
    value_unref(deferred->tail);
    if (deferred->source) deferred->source->release(deferred->context);
    block_free(deferred);
}

tn_value deferred_items(tn_value array) {
    struct deferred *deferred = deferred_of(array);
    tn_value items = deferred_items_known(deferred), none = NULL;
    if (items) return items;
    if (deferred->base)
        items = value_concat_take(value_ref(deferred_items(deferred->base)), value_ref(deferred->tail));
    else
        items = deferred->source->load(deferred->context, list_of(array)->length);
    assert(value_count(items) == list_of(array)->length);
    if (atomic_compare_exchange_strong_explicit(&deferred->items, &none, items, memory_order_acq_rel,
                                                memory_order_acquire))
        return items;
    value_unref(items);
    return none;
}

bool value_is_deferred(tn_value value) {
    return value_is_block(value) && value->kind == TN_ARRAY && list_is_deferred(list_of(value)) &&
           !deferred_items_known(deferred_of(value));
}

size_t value_known_from(tn_value array) {
    if (!value_is_deferred(array)) return 0;
    tn_value base = deferred_of(array)->base;
    return value_count(base ? base : array);
}

tn_value deferred_at(tn_value array, size_t index) {
    const struct deferred *deferred = deferred_of(array);
    size_t base = deferred->base ? value_count(deferred->base) : SIZE_MAX;
    if (index >= base && !deferred_items_known(deferred)) return value_at(deferred->tail, index - base);
    return value_at(deferred_items(array), index);
}

tn_value deferred_concat_take(tn_value array, tn_value more) {
    struct deferred *deferred = deferred_of(array);
    tn_value items = deferred_items_known(deferred);
    if (items) {
        items = value_concat_take(value_ref(items), more);
        value_unref(array);
        return items;
    }
    size_t count = value_count(array) + value_count(more);
    tn_value base = value_ref(deferred->base ? deferred->base : array);
    tn_value tail = deferred->base ? value_ref(deferred->tail) : value_array();
    int64_t weight = deferred->weight;
    for (size_t i = 0; i < value_count(more); i++) weight += value_weight(value_at(more, i));
    value_unref(array); /* so that the tail grows in place if it has no other owner */
    tail = value_concat_take(tail, more);
    return deferred_make(count, (struct deferred){.weight = weight, .base = base, .tail = tail});
}

/* The part that two arrays share without a look at the items of a base; SIZE_MAX if that is not known. */
size_t deferred_common_prefix(tn_value array, tn_value other) {
    if (array == other) return value_count(array);
    if (!value_is_deferred(array) || !value_is_deferred(other)) return SIZE_MAX;
    const struct deferred *left = deferred_of(array), *right = deferred_of(other);
    tn_value base = left->base ? left->base : array;
    if (base != (right->base ? right->base : other)) return SIZE_MAX;
    size_t count = value_count(base);
    return left->base && right->base ? count + value_common_prefix(left->tail, right->tail) : count;
}

/* A slice that needs no item of the base; NULL if it does. */
tn_value deferred_slice(tn_value array, size_t from, size_t to) {
    const struct deferred *deferred = deferred_of(array);
    if (deferred_items_known(deferred) || !deferred->base) return NULL;
    size_t base = value_count(deferred->base);
    if (from >= base) return value_slice(deferred->tail, from - base, to - base);
    if (from > 0 || to < base) return NULL;
    return deferred_concat_take(value_ref(deferred->base), value_slice(deferred->tail, 0, to - base));
}

int64_t deferred_weight(tn_value array) { return deferred_of(array)->weight; }

static void read_all(tn_value value, int depth) {
    int kind = value_kind(value);
    if (kind == TN_ARRAY && value_is_block(value) && list_is_deferred(list_of(value))) value = deferred_items(value);
    for (size_t i = 0, count = value_count(value); depth > 0 && i < count; i++)
        read_all(kind == TN_OBJECT ? value_value_at(value, i) : value_at(value, i), depth - 1);
}

void value_read_all(tn_value value) { read_all(value, READ_DEPTH_MAX); }

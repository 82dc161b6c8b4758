/*
 * array.c - arrays: reading, and the operations that return a changed array.
 *
 * Appending shares the prefix (block.h). A slice shares the slots if it shows at least half of them. A window that
 * moves over a growing array therefore costs constant time and never keeps much more memory than it shows.
 */
#include <string.h>

#include "adl/value/block.h"

#define ARRAY_CAPACITY_FIRST 4

tn_value value_array_reserve(size_t capacity) {
    return capacity > 0 ? &list_new(TN_ARRAY, capacity)->header : VALUE_IMMEDIATE_ARRAY;
}

size_t value_count(tn_value value) {
    if (!value_is_block(value) || value->kind < TN_ARRAY) return 0;
    return list_of(value)->length;
}

tn_value value_at(tn_value array, size_t index) {
    assert(value_is(array, TN_ARRAY) && index < value_count(array));
    const struct list *list = list_of(array);
    return list_is_deferred(list) ? deferred_at(array, index) : list_items(list)[index];
}

tn_value value_push_take(tn_value array, tn_value item) {
    assert(value_is(array, TN_ARRAY) && item != NULL);
    if (!value_is_block(array)) return list_make_roomy(TN_ARRAY, ARRAY_CAPACITY_FIRST, &item, 1);
    if (list_is_deferred(list_of(array)))
        return deferred_concat_take(array, list_make_roomy(TN_ARRAY, ARRAY_CAPACITY_FIRST, &item, 1));
    struct list *list = list_extend(list_of(array), 1, &item);
    list_items(list)[list->length - 1] = item;
    return &list->header;
}

/* The complete items of a deferred array. */
static tn_value read_take(tn_value array) {
    tn_value items = value_ref(deferred_items(array));
    value_unref(array);
    return items;
}

tn_value value_concat_take(tn_value array, tn_value more) {
    assert(value_is(array, TN_ARRAY) && value_is(more, TN_ARRAY));
    size_t before = value_count(array), count = value_count(more);
    if (count == 0 || before == 0) {
        value_unref(count == 0 ? more : array);
        return count == 0 ? array : more;
    }
    if (list_is_deferred(list_of(array))) return deferred_concat_take(array, more);
    if (list_is_deferred(list_of(more))) more = read_take(more);
    tn_value *from = list_items(list_of(more));
    struct list *list = list_extend(list_of(array), count, from);
    tn_value *to = list_items(list) + before;
    for (size_t i = 0; i < count; i++) to[i] = value_ref(from[i]);
    value_unref(more);
    return &list->header;
}

tn_value value_slice(tn_value array, size_t from, size_t to) {
    assert(value_is(array, TN_ARRAY) && from <= to && to <= value_count(array));
    size_t count = to - from;
    if (count == 0) return VALUE_IMMEDIATE_ARRAY;
    struct list *whole = list_of(array);
    if (count == whole->length) return value_ref(array);
    if (list_is_deferred(whole)) {
        tn_value part = deferred_slice(array, from, to);
        return part ? part : value_slice(deferred_items(array), from, to);
    }
    struct slots *slots = whole->slots;
    if (count >= atomic_load_explicit(&slots->used, memory_order_relaxed) / 2) {
        struct list *part = block_alloc(sizeof *part);
        block_init(&part->header, TN_ARRAY);
        part->offset = whole->offset + (uint32_t)from;
        part->length = (uint32_t)count;
        part->slots = slots;
        (void)atomic_fetch_add_explicit(&slots->references, 1, memory_order_relaxed);
        return &part->header;
    }
    struct list *part = list_extend(list_new(TN_ARRAY, count), count, list_items(whole) + from);
    for (size_t i = 0; i < count; i++) part->slots->items[i] = value_ref(list_items(whole)[from + i]);
    return &part->header;
}

size_t value_common_prefix(tn_value array, tn_value other) {
    assert(value_is(array, TN_ARRAY) && value_is(other, TN_ARRAY));
    size_t count = value_count(array), others = value_count(other), least = count < others ? count : others, same = 0;
    if (least == 0) return 0;
    if (list_is_deferred(list_of(array)) || list_is_deferred(list_of(other))) {
        size_t known = deferred_common_prefix(array, other);
        if (known != SIZE_MAX) return known < least ? known : least;
        if (list_is_deferred(list_of(array))) array = deferred_items(array);
        if (list_is_deferred(list_of(other))) other = deferred_items(other);
    }
    const struct list *left = list_of(array), *right = list_of(other);
    /* Two handles of one family: the part that both show is identical. */
    if (left->slots == right->slots && left->offset == right->offset) return least;
    while (same < least && list_items(left)[same] == list_items(right)[same]) same++;
    return same;
}

tn_value value_replace_take(tn_value array, size_t index, tn_value item) {
    assert(value_is(array, TN_ARRAY) && index < value_count(array) && item != NULL);
    if (list_is_deferred(list_of(array))) array = read_take(array);
    struct list *list = list_separate(list_of(array));
    tn_value *place = &list_items(list)[index];
    tn_value old = *place;
    *place = item;
    value_unref(old);
    return &list->header;
}

/*
 * function_list.c - the extension libraries `lists` and `sets` of CEL, sum() and with().
 *
 * Items are compared as by == and <. Comparing counts as walking what is compared, so a search in a long list of large
 * items reaches the limit of operations.
 */
#include "adl/expr/function.h"
#include "adl/value/weight.h"
#include <string.h>

#define PATH_MAX_KEYS 32u

/* ---- Parts of a list ---- */

static struct cell list_part(struct machine *machine, const struct cell *list, size_t from, size_t to) {
    if (!charge_items(machine, to - from)) return stopped(machine);
    struct cell result = build_list(machine, to - from);
    for (size_t i = from; i < to && result.kind != CELL_ERROR; i++) {
        struct cell item = cell_item(list, i);
        build_list_add(machine, &result, &item);
    }
    return result;
}

HANDLER(slice) {
    int64_t from, to;
    size_t items = cell_count(arguments);
    if (arguments[2].kind == TN_DOUBLE || !cell_to_index(&arguments[2], &to)) return no_overload(machine);
    if (!cell_to_index(&arguments[1], &from) || from < 0 || (uint64_t)from > items)
        return out_of_range(machine, &arguments[1]);
    if (to < from || (uint64_t)to > items) return out_of_range(machine, &arguments[2]);
    return list_part(machine, arguments, (size_t)from, (size_t)to);
}

HANDLER(first) { return cell_count(arguments) ? cell_item(arguments, 0) : fault_cell(machine, FAULT_EMPTY, NULL); }

HANDLER(last) {
    size_t items = cell_count(arguments);
    return items ? cell_item(arguments, items - 1) : fault_cell(machine, FAULT_EMPTY, NULL);
}

HANDLER(lists_range) {
    int64_t end;
    if (!cell_to_index(arguments, &end) || end < 0) return out_of_range(machine, arguments);
    struct cell list = build_list(machine, (size_t)end);
    if (!charge_items(machine, list.kind == CELL_ERROR ? 0 : (size_t)end)) return stopped(machine);
    for (int64_t i = 0; i < end && list.kind != CELL_ERROR; i++) {
        struct cell item = cell_int(i);
        build_list_add(machine, &list, &item);
    }
    return list;
}

/* Adds the items of `list`, and instead of those that are lists their items, `depth` levels deep. */
static void flatten_into(struct machine *machine, struct cell *result, const struct cell *list, int64_t depth) {
    size_t items = cell_count(list);
    if (!charge_items(machine, items)) *result = stopped(machine);
    for (size_t i = 0; i < items && result->kind != CELL_ERROR; i++) {
        struct cell item = cell_item(list, i);
        if (item.kind == TN_ARRAY && depth > 0) {
            machine->left--; /* an empty list costs, too */
            flatten_into(machine, result, &item, depth - 1);
        } else {
            build_list_add(machine, result, &item);
        }
    }
}

HANDLER(flatten) {
    int64_t depth = 1;
    if (count == 2 && (!cell_to_index(&arguments[1], &depth) || depth < 0)) return out_of_range(machine, &arguments[1]);
    struct cell result = build_list(machine, 0);
    /* Values are never nested deeper than this, and the function recurses. */
    flatten_into(machine, &result, arguments, depth < 512 ? depth : 512);
    return machine->left < 0 && result.kind != CELL_ERROR ? machine_stop(machine, FAULT_OPERATIONS) : result;
}

/* ---- Equal items ---- */

static bool list_contains(const struct cell *list, const struct cell *wanted) {
    for (size_t i = 0, items = cell_count(list); i < items; i++) {
        struct cell item = cell_item(list, i);
        if (cell_equal(&item, wanted)) return true;
    }
    return false;
}

/* The cost of comparing an item once, in items. A value from outside counts by its size. */
static uint64_t item_cost(const struct cell *item) {
    bool large = item->kind >= TN_STRING && item->kind <= TN_OBJECT;
    return large && !item->built ? 1 + (uint64_t)value_weight(item->as.value) / 16 : cell_weight(item);
}

static uint64_t comparison_cost(const struct cell *list) {
    uint64_t cost = 1;
    for (size_t i = 0, items = cell_count(list); i < items; i++) {
        struct cell item = cell_item(list, i);
        cost += item_cost(&item);
    }
    return cost;
}

/* Charges for comparing each item of one list with each of the other. */
static bool charge_pairs(struct machine *machine, const struct cell *a, const struct cell *b) {
    uint64_t left = comparison_cost(a), right = comparison_cost(b), pairs;
    if (__builtin_mul_overflow(left, right, &pairs)) pairs = UINT64_MAX / 2;
    return charge_items(machine, pairs);
}

static bool contains_all(const struct cell *list, const struct cell *part) {
    for (size_t i = 0, items = cell_count(part); i < items; i++) {
        struct cell item = cell_item(part, i);
        if (!list_contains(list, &item)) return false;
    }
    return true;
}

HANDLER(sets_contains) {
    if (!charge_pairs(machine, &arguments[0], &arguments[1])) return stopped(machine);
    return cell_bool(contains_all(&arguments[0], &arguments[1]));
}

HANDLER(sets_equivalent) {
    if (!charge_pairs(machine, &arguments[0], &arguments[1])) return stopped(machine);
    return cell_bool(contains_all(&arguments[0], &arguments[1]) && contains_all(&arguments[1], &arguments[0]));
}

HANDLER(sets_intersects) {
    if (!charge_pairs(machine, &arguments[0], &arguments[1])) return stopped(machine);
    for (size_t i = 0, items = cell_count(&arguments[1]); i < items; i++) {
        struct cell item = cell_item(&arguments[1], i);
        if (list_contains(&arguments[0], &item)) return cell_bool(true);
    }
    return cell_bool(false);
}

/* Items that can be keys are found by their hash, others (lists, maps, null, fractions) by comparing. */
HANDLER(distinct) {
    size_t items = cell_count(arguments);
    if (!charge_items(machine, comparison_cost(arguments))) return stopped(machine);
    struct cell result = build_list(machine, 0), others = build_list(machine, 0);
    struct cell_map *keys = cell_map_new(&machine->arena, 4);
    uint64_t others_cost = 0;
    if (!keys) return machine_stop(machine, FAULT_MEMORY);
    for (size_t i = 0; i < items && result.kind != CELL_ERROR; i++) {
        struct cell item = cell_item(arguments, i), nothing = cell_bool(true);
        bool known = false;
        if (cell_is_key(&item)) {
            if (!cell_map_add(&machine->arena, keys, &item, &nothing, &known))
                return machine_stop(machine, FAULT_MEMORY);
        } else {
            if (!charge_items(machine, others_cost)) return stopped(machine);
            known = list_contains(&others, &item);
            if (!known) build_list_add(machine, &others, &item);
            others_cost += known ? 0 : item_cost(&item);
            if (others.kind == CELL_ERROR) return others;
        }
        if (!known) build_list_add(machine, &result, &item);
    }
    return result;
}

/* ---- Order ---- */

struct sorting {
    const struct cell *keys; /* copied from the list, for speed */
    bool unordered;          /* two keys have no order */
    struct cell culprit;
};

static bool is_after(struct sorting *sorting, uint32_t a, uint32_t b) {
    int order = 0;
    if (!cell_compare(&sorting->keys[a], &sorting->keys[b], &order) || order == 2) {
        sorting->unordered = true;
        sorting->culprit = sorting->keys[b];
    }
    return order == 1;
}

/* Merge sort of indexes, from the bottom up: stable, and without recursion. Returns the sorted array. */
static uint32_t *sort_indexes(struct sorting *sorting, uint32_t *from, uint32_t *to, uint32_t count) {
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t start = 0; start < count; start += 2 * width) {
            uint32_t middle = start + width < count ? start + width : count;
            uint32_t end = start + 2 * width < count ? start + 2 * width : count;
            uint32_t left = start, right = middle;
            for (uint32_t at = start; at < end; at++) {
                bool take_left = left < middle && (right == end || !is_after(sorting, from[left], from[right]));
                to[at] = take_left ? from[left++] : from[right++];
            }
        }
        uint32_t *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

/* Numbers of all kinds have an order, other kinds only among themselves. NaN has none. */
static bool may_sort(const struct cell *first, const struct cell *key) {
    int order;
    return cell_compare(first, key, &order) && order != 2;
}

struct cell sorted_by(struct machine *machine, const struct cell *list, const struct cell *keys) {
    size_t count = cell_count(keys);
    uint32_t levels = 1;
    if (list->kind != TN_ARRAY || keys->kind != TN_ARRAY || cell_count(list) != count)
        return fault_cell(machine, FAULT_ARGUMENT, list);
    if (count > machine->expr->limits.list_length) return machine_stop(machine, FAULT_LIST_LENGTH);
    while (((size_t)1 << levels) < count) levels++;
    if (!charge_items(machine, comparison_cost(keys) * levels)) return stopped(machine);
    struct cell *copies = arena_take(&machine->arena, (count + 1) * sizeof *copies);
    uint32_t *indexes = arena_take(&machine->arena, (2 * count + 1) * sizeof *indexes);
    if (!copies || !indexes) return machine_stop(machine, FAULT_MEMORY);
    for (uint32_t i = 0; i < count; i++) {
        indexes[i] = i;
        copies[i] = cell_item(keys, i);
        if (!may_sort(&copies[0], &copies[i])) return fault_cell(machine, FAULT_ORDER, &copies[i]);
    }
    struct sorting sorting = {.keys = copies};
    const uint32_t *sorted = sort_indexes(&sorting, indexes, indexes + count, (uint32_t)count);
    if (sorting.unordered) return fault_cell(machine, FAULT_ORDER, &sorting.culprit);
    struct cell result = build_list(machine, count);
    for (size_t i = 0; i < count && result.kind != CELL_ERROR; i++) {
        struct cell item = cell_item(list, sorted[i]);
        build_list_add(machine, &result, &item);
    }
    return result;
}

HANDLER(sort) { return sorted_by(machine, arguments, arguments); }

/* ---- sum ---- */

HANDLER(sum) {
    size_t items = cell_count(arguments);
    struct cell sum = cell_int(0);
    if (!charge_items(machine, items)) return stopped(machine);
    for (size_t i = 0; i < items && sum.kind != CELL_ERROR; i++) {
        struct cell item = cell_item(arguments, i);
        bool number = item.kind == TN_INT || item.kind == TN_DOUBLE || item.kind == EXPR_UINT;
        if (!number && item.kind != EXPR_DURATION) return fault_cell(machine, FAULT_NOT_NUMBER, &item);
        sum = i == 0 ? item : operate(machine, OP_ADD, &sum, &item);
    }
    return sum;
}

/* ---- with ---- */

/* One change: the keys that lead to it, and the new value. */
struct change {
    struct machine *machine;
    struct cell keys[PATH_MAX_KEYS];
    uint32_t count;
    struct cell value;
};

/* Converts a cell to a value, which is copied if an expression has built it. Returns NULL if it fails. */
static tn_value convert(struct machine *machine, const struct cell *cell, struct cell *fault) {
    const char *why = NULL;
    bool built = (cell->kind == TN_ARRAY || cell->kind == TN_OBJECT) && cell->built;
    if (built && !charge_items(machine, cell_weight(cell))) {
        *fault = stopped(machine);
        return NULL;
    }
    tn_value value = cell_to_value(cell, &why);
    if (!value) *fault = cannot(machine, cell);
    return value;
}

/* A value from outside is changed as a value, which shares what stays the same. */
static struct cell change_value(struct machine *machine, tn_value in, const struct cell *key, int64_t index,
                                const struct cell *changed) {
    struct cell fault = {.kind = CELL_ERROR};
    size_t length, bytes = 16 * (value_count(in) + 8);
    tn_value value = convert(machine, changed, &fault);
    if (!value) return fault;
    if (value_is(in, TN_ARRAY))
        return build_held_take(machine, value_replace_take(value_ref(in), (size_t)index, value), bytes);
    const char *chars = cell_chars(key, &length);
    return build_held_take(machine, value_set_key_take(value_ref(in), value_string(chars, length), value), bytes);
}

/* A list or map that an expression has built is copied: its keys and items need not be JSON. */
static struct cell change_built(struct machine *machine, const struct cell *in, const struct cell *key, int64_t index,
                                const struct cell *changed) {
    size_t count = cell_count(in);
    bool map = in->kind == TN_OBJECT, found = false;
    struct cell result = map ? build_map(machine, count + 1) : build_list(machine, count);
    for (size_t i = 0; i < count && result.kind != CELL_ERROR; i++) {
        struct cell entry_key = map ? cell_key(in, i) : cell_int((int64_t)i);
        bool here = map ? cell_equal(&entry_key, key) : (int64_t)i == index;
        struct cell item = here ? *changed : map ? cell_entry_value(in, i) : cell_item(in, i);
        found |= here;
        if (map)
            build_map_add(machine, &result, &entry_key, &item);
        else
            build_list_add(machine, &result, &item);
    }
    struct cell added = key->kind == TN_DOUBLE ? cell_int((int64_t)key->as.real) : *key;
    if (map && !found && result.kind != CELL_ERROR) build_map_add(machine, &result, &added, changed);
    return result;
}

/* Returns the changed list or map. Recurses once for each key. */
static struct cell change_apply(struct change *change, uint32_t depth, const struct cell *in) {
    struct machine *machine = change->machine;
    const struct cell *key = &change->keys[depth];
    bool last = depth + 1 == change->count, map = in->kind == TN_OBJECT;
    int64_t index = -1;
    struct cell inner;
    if (!map && in->kind != TN_ARRAY) return fault_cell(machine, FAULT_NOT_INDEXED, in);
    if (!charge_items(machine, cell_count(in))) return stopped(machine);
    if (map) {
        if (!cell_is_key(key)) return fault_cell(machine, FAULT_NOT_KEY, key);
        inner = cell_lookup(in, key);
        if (inner.kind == TN_NONE && !last) return fault_cell(machine, FAULT_NO_KEY, key);
    } else {
        if (!cell_to_index(key, &index)) return fault_cell(machine, FAULT_NOT_INDEX, key);
        if (index < 0 || (uint64_t)index >= cell_count(in)) return fault_cell(machine, FAULT_NO_ITEM, key);
        inner = cell_item(in, (size_t)index);
    }
    struct cell changed = last ? change->value : change_apply(change, depth + 1, &inner);
    if (changed.kind == CELL_ERROR) return changed;
    if (!in->built && (!map || key->kind == TN_STRING))
        return change_value(machine, in->as.value, key, index, &changed);
    return change_built(machine, in, key, index, &changed);
}

HANDLER(with) {
    struct change change = {.machine = machine, .count = 1, .keys = {arguments[1]}, .value = arguments[2]};
    if (arguments[1].kind == TN_ARRAY) {
        size_t keys = cell_count(&arguments[1]);
        if (keys == 0 || keys > PATH_MAX_KEYS) return fault_cell(machine, FAULT_PATH, NULL);
        change.count = (uint32_t)keys;
        for (uint32_t i = 0; i < change.count; i++) change.keys[i] = cell_item(&arguments[1], i);
    }
    return change_apply(&change, 0, &arguments[0]);
}

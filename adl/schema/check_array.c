/*
 * check_array.c - the keywords of arrays.
 *
 * uniqueItems compares short arrays pairwise, in place. Longer arrays are sorted by hash, and only items with equal
 * hashes are compared. The hash is the same in every process, so the author of an instance can create collisions: these
 * comparisons count as work and are bounded like all other work.
 */
#include <stdlib.h>

#include "adl/schema/internal.h"
#include "adl/value/memory.h"

#define PAIRWISE_MAX 16 /* items; longer arrays are compared by hash */

static const char *items(size_t count) { return count == 1 ? "item" : "items"; }

CHECK_FUNCTION(check_items) {
    (void)node;
    size_t count = value_count(instance), prefix = check->as.items.prefix.count;
    const struct node *rest = check->as.items.rest;
    bool good = true;
    if (!rest && count > prefix) count = prefix;
    for (size_t i = 0; i < count; i++) {
        struct place item = {place, NULL, i, false};
        if (marks) marks_set(marks, i);
        if (descend(run, i < prefix ? check->as.items.prefix.at[i] : rest, value_at(instance, i), &item)) continue;
        good = false;
        if (!run_thorough(run) || run->status != TN_OK) return false;
    }
    return good;
}

static bool fail_further(struct run *run, const struct node *node, const struct check *check, tn_value item,
                         const struct place *place) {
    if (!run->errors) return false;
    struct buffer text;
    buffer_init(&text, SCHEMA_MESSAGE_MAX);
    describe(&text, item);
    fail(run, node, check, item, place, "found %s, expected no further item", buffer_cstr(&text));
    buffer_finish(&text);
    return false;
}

CHECK_FUNCTION(check_unevaluated_items) {
    bool good = true;
    if (!value_is(instance, TN_ARRAY)) return true;
    for (size_t i = 0; i < value_count(instance); i++) {
        if (marks_has(marks, i)) continue;
        struct place item = {place, NULL, i, false};
        if (check->as.node->kinds == 0 && !run->visitor)
            good = fail_further(run, node, check, value_at(instance, i), &item);
        else
            good = descend(run, check->as.node, value_at(instance, i), &item) && good;
        if (!good && (!run_thorough(run) || run->status != TN_OK)) return false;
    }
    marks->all = true;
    return good;
}

CHECK_FUNCTION(check_contains) {
    uint64_t found = 0;
    for (size_t i = 0; i < value_count(instance); i++) {
        struct place item = {place, NULL, i, false};
        tn_value value = value_at(instance, i);
        if (!holds(run, check->as.contains.node, value, &item, NULL)) {
            if (run->status != TN_OK) return false;
            continue;
        }
        found++;
        if (marks) marks_set(marks, i);
        if (run->visitor)
            descend(run, check->as.contains.node, value, &item);
        else if (!marks && found >= check->as.contains.least && check->as.contains.most == UINT64_MAX)
            return true;
    }
    unsigned long long least = check->as.contains.least, most = check->as.contains.most;
    if (found < least)
        return fail(run, node, check, instance, place,
                    "found %llu of %zu items that match `contains`, expected at least %llu", (unsigned long long)found,
                    value_count(instance), least);
    return found <= most || fail(run, node, check, instance, place,
                                 "found %llu of %zu items that match `contains`, expected at most %llu",
                                 (unsigned long long)found, value_count(instance), most);
}

CHECK_FUNCTION(check_min_items) {
    (void)marks;
    size_t count = value_count(instance);
    return count >= check->as.count ||
           fail(run, node, check, instance, place, "found an array of %zu %s, expected at least %llu", count,
                items(count), (unsigned long long)check->as.count);
}

CHECK_FUNCTION(check_max_items) {
    (void)marks;
    size_t count = value_count(instance);
    return count <= check->as.count ||
           fail(run, node, check, instance, place, "found an array of %zu %s, expected at most %llu", count,
                items(count), (unsigned long long)check->as.count);
}

static bool fail_twice(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                       size_t first, size_t second, const struct place *place) {
    if (!run->errors) return false;
    struct buffer text;
    buffer_init(&text, SCHEMA_MESSAGE_MAX);
    describe(&text, value_at(instance, second));
    struct place item = {place, NULL, second, false};
    fail(run, node, check, value_at(instance, second), &item,
         "found %s again, which is item %zu as well; expected items that all differ", buffer_cstr(&text), first + 1);
    buffer_finish(&text);
    return false;
}

struct hashed {
    uint64_t hash;
    size_t index;
};

static int compare_hashed(const void *a, const void *b) {
    const struct hashed *left = a, *right = b;
    if (left->hash != right->hash) return left->hash < right->hash ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

static bool unique_by_hash(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                           const struct place *place) {
    size_t count = value_count(instance);
    struct hashed *list = mem_array(NULL, count, sizeof *list);
    for (size_t i = 0; i < count; i++) list[i] = (struct hashed){value_hash(value_at(instance, i)), i};
    qsort(list, count, sizeof *list, compare_hashed);
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        for (size_t j = i + 1; j < count && good && list[j].hash == list[i].hash; j++) {
            good = spend(run, place, 1);
            if (good && value_equal(value_at(instance, list[i].index), value_at(instance, list[j].index)))
                good = fail_twice(run, node, check, instance, list[i].index, list[j].index, place);
        }
    }
    mem_free(list);
    return good;
}

CHECK_FUNCTION(check_unique) {
    (void)marks;
    size_t count = value_count(instance);
    if (count > PAIRWISE_MAX) return unique_by_hash(run, node, check, instance, place);
    for (size_t j = 1; j < count; j++)
        for (size_t i = 0; i < j; i++)
            if (value_equal(value_at(instance, i), value_at(instance, j)))
                return fail_twice(run, node, check, instance, i, j, place);
    return true;
}

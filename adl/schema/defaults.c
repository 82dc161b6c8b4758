/*
 * defaults.c - fills in the `default`s of absent properties.
 *
 * This is a separate walk instead of a watched validation, because filled values decide which branches match
 * afterwards: each keyword sees the instance as the keywords before it left it. An instance without missing defaults is
 * returned unchanged. A default is filled in turn, so a schema that refers to itself below a default would never end:
 * levels and the number of defaults are bounded, and beyond these limits the instance stays unchanged.
 */
#include "adl/schema/internal.h"

#define DEFAULT_LOOK_MAX 16u /* references followed to find a property's default */

static tn_value defaults_fill(struct run *run, const struct node *node, tn_value instance, unsigned depth);

/* The `default` of a node or of the node it refers to; borrowed. */
static tn_value default_of(const struct node *node, unsigned depth) {
    tn_value found = value_get(node->value, "default");
    for (size_t i = 0; !found && depth < DEFAULT_LOOK_MAX && i < node->check_count; i++) {
        const struct check *check = &node->checks[i];
        if (check->run == check_ref) found = default_of(check->as.node, depth + 1);
        for (size_t j = 0; !found && check->run == check_all_of && j < check->as.nodes.count; j++)
            found = default_of(check->as.nodes.at[j], depth + 1);
    }
    return found;
}

static tn_value fill_absent(struct run *run, const struct members *members, tn_value object, unsigned depth) {
    for (size_t i = 0; i < members->named.count; i++) {
        tn_value name = value_key_at(members->index, i);
        if (value_get_key(object, name)) continue;
        tn_value found = default_of(members->named.at[i], 0);
        if (!found || run->defaults == 0) continue;
        run->defaults--;
        found = defaults_fill(run, members->named.at[i], value_ref(found), depth + 1);
        object = value_set_key_take(object, value_ref(name), found);
    }
    return object;
}

/* Fills the member at `index`; the object changes only if the member did. */
static tn_value fill_member(struct run *run, const struct node *node, tn_value object, size_t index, unsigned depth) {
    tn_value before = value_value_at(object, index);
    tn_value after = defaults_fill(run, node, value_ref(before), depth + 1);
    if (after != before) return value_set_key_take(object, value_ref(value_key_at(object, index)), after);
    value_unref(after);
    return object;
}

static tn_value fill_members(struct run *run, const struct members *members, tn_value object, unsigned depth) {
    size_t count = value_count(object);
    for (size_t i = 0; i < count; i++) {
        tn_value key = value_key_at(object, i);
        tn_value position = members->index ? value_get_key(members->index, key) : NULL;
        bool known = position != NULL;
        if (position) object = fill_member(run, members->named.at[value_to_int(position)], object, i, depth);
        for (size_t j = 0; j < members->patterned.count; j++) {
            size_t length;
            const char *text = value_chars(value_key_at(object, i), &length);
            if (pattern_match(members->patterns[j], text, length, &run->scratch) != 1) continue;
            known = true;
            object = fill_member(run, members->patterned.at[j], object, i, depth);
        }
        if (!known && members->additional) object = fill_member(run, members->additional, object, i, depth);
    }
    return fill_absent(run, members, object, depth);
}

static tn_value fill_items(struct run *run, const struct check *check, tn_value array, unsigned depth) {
    for (size_t i = 0; i < value_count(array); i++) {
        bool in_prefix = i < check->as.items.prefix.count;
        const struct node *node = in_prefix ? check->as.items.prefix.at[i] : check->as.items.rest;
        if (!node) break;
        tn_value before = value_at(array, i);
        tn_value after = defaults_fill(run, node, value_ref(before), depth + 1);
        if (after == before)
            value_unref(after);
        else
            array = value_replace_take(array, i, after);
    }
    return array;
}

static tn_value fill_in_place(struct run *run, const struct check *check, tn_value instance, unsigned depth) {
    if (check->run == check_ref) return defaults_fill(run, check->as.node, instance, depth + 1);
    if (check->run == check_dynamic_ref) return defaults_fill(run, check->as.dynamic.node, instance, depth + 1);
    if (check->run == check_if) {
        bool condition = holds(run, check->as.branch.condition, instance, NULL, NULL);
        const struct node *next = condition ? check->as.branch.then : check->as.branch.otherwise;
        if (condition) instance = defaults_fill(run, check->as.branch.condition, instance, depth + 1);
        return next ? defaults_fill(run, next, instance, depth + 1) : instance;
    }
    bool all = check->run == check_all_of;
    if (!all && check->run != check_any_of && check->run != check_one_of) return instance;
    for (size_t i = 0; i < check->as.nodes.count; i++) {
        const struct node *branch = check->as.nodes.at[i];
        if (!all && !holds(run, branch, instance, NULL, NULL)) continue;
        instance = defaults_fill(run, branch, instance, depth + 1);
        if (!all) break;
    }
    return instance;
}

/* Takes ownership of the instance. */
static tn_value defaults_fill(struct run *run, const struct node *node, tn_value instance, unsigned depth) {
    if (depth > SCHEMA_DEFAULTS_DEPTH_MAX || !spend(run, NULL, 1)) return instance;
    struct scope scope = {run->scope, node->resource};
    const struct scope *outer = run->scope;
    run->scope = &scope;
    int kind = value_kind(instance);
    for (size_t i = 0; i < node->check_count; i++) {
        const struct check *check = &node->checks[i];
        if (check->run == check_members && kind == TN_OBJECT)
            instance = fill_members(run, check->as.members, instance, depth);
        else if (check->run == check_items && kind == TN_ARRAY)
            instance = fill_items(run, check, instance, depth);
        else if (check->group == GROUP_ANY)
            instance = fill_in_place(run, check, instance, depth);
    }
    run->scope = outer;
    return instance;
}

tn_value schema_with_defaults(const struct schema *schema, tn_value instance) {
    struct run run;
    run_init(&run, schema);
    tn_value filled = defaults_fill(&run, schema->root, value_ref(instance), 0);
    run_finish(&run);
    return filled;
}

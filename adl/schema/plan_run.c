/*
 * plan_run.c - runs the steps of a plan over a value.
 *
 * Only the verdict is found, and the run ends at the first failure. A nested subschema needs a level of the run
 * (SCHEMA_NESTING_MAX), and each subschema applied a unit of work, as in validate.c. Steps leave out subschemas that
 * cannot matter, so a valid instance reaches a limit later than with the checks. An invalid one may reach it earlier,
 * because the order of the steps differs.
 */
#include <math.h>

#include "adl/schema/plan.h"

#define PAIRWISE_MAX 16  /* items that are compared in pairs */
#define HASHED_MAX   256 /* items that are compared by hash, without memory */

static inline bool node_holds(struct run *run, const struct node *node, tn_value value) {
    int kind = value_kind(value);
    if (run->work == 0) return spend(run, NULL, 1);
    run->work--;
    return node->by_kind[kind].run(run, node, node->by_kind[kind].step, value);
}

bool plan_holds(struct run *run, const struct node *node, tn_value value) {
    if (run->nesting == 0) return endless(run, NULL);
    return node_holds(run, node, value);
}

/* ---- Lists ----------------------------------------------------------------------------------------------------- */

STEP_FUNCTION(step_pass) {
    (void)run, (void)node, (void)step, (void)value;
    return true;
}

STEP_FUNCTION(step_fail) {
    (void)run, (void)node, (void)step, (void)value;
    return false;
}

STEP_FUNCTION(step_list) {
    for (; step->run; step++)
        if (!step->run(run, node, step, value)) return false;
    return true;
}

STEP_FUNCTION(step_scope) {
    struct scope scope = {run->scope, node->resource};
    const struct scope *outer = run->scope;
    if (!outer || outer->resource != node->resource) run->scope = &scope;
    bool good = step_list(run, node, step, value);
    run->scope = outer;
    return good;
}

/* ---- Scalars --------------------------------------------------------------------------------------------------- */

/* value_equal, without a call for most values. */
static inline bool plan_same(tn_value a, tn_value b) {
    if (a == b) return true;
    if (!value_is_block(a) && !value_is_block(b)) return false;
    if (value_is(a, TN_STRING)) return value_is(b, TN_STRING) && view_same_text(view_string(a), view_string(b));
    return value_equal(a, b);
}

/* Bisection of an ascending list. */
static bool ints_have(const struct numbers *numbers, int64_t number) {
    const int64_t *at = numbers->ints;
    for (uint32_t left = numbers->int_count; left > 1;) {
        uint32_t half = left / 2;
        if (at[half] <= number) at += half;
        left -= half;
    }
    return numbers->int_count > 0 && *at == number;
}

static bool doubles_have(const struct numbers *numbers, double number) {
    const double *at = numbers->doubles;
    for (uint32_t left = numbers->double_count; left > 1;) {
        uint32_t half = left / 2;
        if (at[half] <= number) at += half;
        left -= half;
    }
    return numbers->double_count > 0 && *at == number;
}

static inline bool has_integer(const struct numbers *numbers, int64_t integer) {
    if (!numbers->bits) return ints_have(numbers, integer);
    uint64_t at = (uint64_t)integer - numbers->first;
    return at < numbers->bit_count && (numbers->bits[at / 64] >> (at % 64) & 1);
}

STEP_FUNCTION(step_int_numbers) {
    (void)run, (void)node;
    return has_integer(step->as.numbers, value_to_int(value));
}

STEP_FUNCTION(step_double_numbers) {
    (void)run, (void)node;
    int64_t integer;
    if (value_as_int(value, &integer)) return has_integer(step->as.numbers, integer);
    return doubles_have(step->as.numbers, view_double(value));
}

STEP_FUNCTION(step_int_range) {
    (void)run, (void)node;
    int64_t integer = value_to_int(value);
    return integer >= step->as.range->least && integer <= step->as.range->most;
}

STEP_FUNCTION(step_double_range) {
    (void)run, (void)node;
    double real = view_double(value);
    return real >= step->as.range->low && real <= step->as.range->high;
}

STEP_FUNCTION(step_double_whole) {
    (void)run, (void)node, (void)step;
    double real = view_double(value);
    return floor(real) == real;
}

/* Returns the name, or NULL. */
static inline const struct name *names_find(const struct names *names, const struct string *text) {
    if (text->length > names->longest) return NULL;
    if (!names->slots) {
        for (uint32_t i = 0; i < names->count; i++)
            if (view_same_text(names->at[i].text, text)) return &names->at[i];
        return NULL;
    }
    for (uint32_t at = view_hash(text);; at++) {
        uint32_t slot = names->slots[at & names->mask];
        if (slot == 0) return NULL;
        if (view_same_text(names->at[slot - 1].text, text)) return &names->at[slot - 1];
    }
}

STEP_FUNCTION(step_text) {
    (void)run, (void)node;
    return view_same_text(step->as.text, view_string(value));
}

STEP_FUNCTION(step_texts) {
    (void)run, (void)node;
    return names_find(step->as.names, view_string(value)) != NULL;
}

STEP_FUNCTION(step_length) {
    (void)run, (void)node;
    const struct extent *extent = step->as.extent;
    const struct string *text = view_string(value);
    size_t bytes = text->length;
    if (bytes < extent->least) return false;
    if (bytes / 4 >= extent->least && bytes <= extent->most) return true; /* a character has at most four bytes */
    if (bytes / 4 > extent->most) return false;
    size_t found = count_code_points(text->chars, bytes);
    return found >= extent->least && found <= extent->most;
}

STEP_FUNCTION(step_pattern) {
    (void)node;
    return run_match(run, step->as.pattern, value, NULL) > 0;
}

STEP_FUNCTION(step_values) {
    (void)node;
    if (!spend(run, NULL, step->count)) return false;
    for (uint32_t i = 0; i < step->count; i++)
        if (plan_same(value, step->as.values[i])) return true;
    return false;
}

/* ---- Arrays ---------------------------------------------------------------------------------------------------- */

STEP_FUNCTION(step_count) {
    (void)run, (void)node;
    size_t count = view_count(value);
    return count >= step->as.extent->least && count <= step->as.extent->most;
}

static inline bool items_hold(struct run *run, const struct item_nodes *nodes, tn_value value) {
    size_t count, i = 0;
    const tn_value *items = view_items(value, &count);
    if (count < nodes->count.least || count > nodes->count.most) return false;
    for (; i < count && i < nodes->prefix_count; i++)
        if (!node_holds(run, nodes->prefix[i], items[i])) return false;
    if (!nodes->rest) return true;
    for (; i < count; i++)
        if (!node_holds(run, nodes->rest, items[i])) return false;
    return true;
}

STEP_FUNCTION(step_items) {
    (void)node;
    if (run->nesting == 0) return endless(run, NULL);
    run->nesting--;
    bool good = items_hold(run, step->as.items, value);
    run->nesting++;
    return good;
}

/* A hash that an outsider cannot predict. */
static uint32_t item_hash(tn_value item) {
    if (value_is(item, TN_STRING)) return view_hash(view_string(item));
    uint64_t hash = value_hash(item);
    return string_hash((const char *)&hash, sizeof hash);
}

static bool __attribute__((noinline)) unique_by_table(const tn_value *items, size_t count) {
    uint16_t slots[2 * HASHED_MAX] = {0};
    uint32_t hashes[HASHED_MAX];
    const uint32_t mask = 2 * HASHED_MAX - 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = hashes[i] = item_hash(items[i]);
        for (; slots[at & mask] != 0; at++) {
            size_t other = slots[at & mask] - 1u;
            if (hashes[other] == hashes[i] && plan_same(items[other], items[i])) return false;
        }
        slots[at & mask] = (uint16_t)(i + 1);
    }
    return true;
}

STEP_FUNCTION(step_unique) {
    size_t count;
    const tn_value *items = view_items(value, &count);
    if (count > HASHED_MAX) return step->as.check->run(run, node, step->as.check, value, NULL, NULL);
    if (count > PAIRWISE_MAX) return unique_by_table(items, count);
    for (size_t j = 1; j < count; j++)
        for (size_t i = 0; i < j; i++)
            if (plan_same(items[i], items[j])) return false;
    return true;
}

/* ---- Objects --------------------------------------------------------------------------------------------------- */

/*
 * Returns the value of a name, or NULL. `next` is the entry at which it is expected: members mostly have the order of
 * the properties.
 */
static inline tn_value member_find(tn_value object, const tn_value *entries, size_t count, const struct string *text,
                                   size_t *next) {
    if (*next < count && view_same_text(view_string(entries[2 * *next]), text)) {
        ++*next;
        return entries[2 * *next - 1];
    }
    if (!view_is_short(count)) {
        tn_value found = value_get_key(object, value_of(text));
        return found;
    }
    for (size_t i = 0; i < count; i++) {
        if (!view_same_text(view_string(entries[2 * i]), text)) continue;
        *next = i + 1;
        return entries[2 * i + 1];
    }
    return NULL;
}

STEP_FUNCTION(step_required) {
    (void)run, (void)node;
    const struct names *names = step->as.names;
    size_t count, next = 0;
    const tn_value *entries = view_entries(value, &count);
    if (count < names->count) return false;
    for (uint32_t i = 0; i < names->count; i++)
        if (!member_find(value, entries, count, names->at[i].text, &next)) return false;
    return true;
}

/* For an object with more members than the plan has names. */
static bool object_by_names(struct run *run, const struct object_plan *plan, tn_value value, const tn_value *entries,
                            size_t count) {
    size_t next = 0;
    for (uint32_t i = 0; i < plan->names.count; i++) {
        const struct name *name = &plan->names.at[i];
        tn_value found = member_find(value, entries, count, name->text, &next);
        if (!found) {
            if (i < 64 && (plan->required >> i & 1)) return false;
        } else if (name->node && !node_holds(run, name->node, found)) {
            return false;
        }
    }
    return true;
}

/* Applies patternProperties and additionalProperties to a member. */
static bool object_member_holds(struct run *run, const struct object_plan *plan, bool known, tn_value key,
                                tn_value value) {
    for (size_t i = 0; i < plan->pattern_count; i++) {
        int found = run_match(run, plan->patterns[i], key, NULL);
        if (found < 0) return false;
        if (!found) continue;
        known = true;
        if (plan->patterned[i] && !node_holds(run, plan->patterned[i], value)) return false;
    }
    if (known) return true;
    if (plan->closed) return false;
    return !plan->additional || node_holds(run, plan->additional, value);
}

static bool object_by_members(struct run *run, const struct object_plan *plan, const tn_value *entries, size_t count) {
    const struct names *names = &plan->names;
    uint64_t missing = plan->required;
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++) {
        tn_value key = entries[2 * i];
        const struct string *text = view_string(key);
        const struct name *name = NULL;
        if (next < names->count && view_same_text(names->at[next].text, text))
            name = &names->at[next];
        else
            name = names_find(names, text);
        if (name) {
            uint32_t index = (uint32_t)(name - names->at);
            next = index + 1;
            if (index < 64) missing &= ~(1ull << index);
            if (name->node && !node_holds(run, name->node, entries[2 * i + 1])) return false;
        }
        if (plan->every && (!name || !name->known || plan->pattern_count) &&
            !object_member_holds(run, plan, name && name->known, key, entries[2 * i + 1]))
            return false;
    }
    return missing == 0;
}

static bool object_holds(struct run *run, const struct object_plan *plan, tn_value value) {
    size_t count;
    const tn_value *entries = view_entries(value, &count);
    if (count < plan->required_count) return false;
    if (!plan->every && plan->names.count < count) return object_by_names(run, plan, value, entries, count);
    return object_by_members(run, plan, entries, count);
}

STEP_FUNCTION(step_object) {
    (void)node;
    if (run->nesting == 0) return endless(run, NULL);
    run->nesting--;
    bool good = object_holds(run, step->as.object, value);
    run->nesting++;
    return good;
}

/* ---- In place -------------------------------------------------------------------------------------------------- */

/* Applies a node to the same value. */
static inline bool again_holds(struct run *run, const struct node *node, tn_value value) {
    if (run->nesting == 0) return endless(run, NULL);
    run->nesting--;
    bool good = node_holds(run, node, value);
    run->nesting++;
    return good;
}

STEP_FUNCTION(step_node) {
    (void)node;
    return again_holds(run, step->as.node, value);
}

STEP_FUNCTION(step_any_of) {
    (void)node;
    for (uint32_t i = 0; i < step->count; i++) {
        if (again_holds(run, step->as.nodes[i], value)) return true;
        if (run->status != TN_OK) return false;
    }
    return false;
}

STEP_FUNCTION(step_one_of) {
    (void)node;
    bool found = false;
    for (uint32_t i = 0; i < step->count; i++) {
        bool good = again_holds(run, step->as.nodes[i], value);
        if (run->status != TN_OK || (good && found)) return false;
        found = found || good;
    }
    return found;
}

STEP_FUNCTION(step_not) {
    (void)node;
    return !again_holds(run, step->as.node, value) && run->status == TN_OK;
}

STEP_FUNCTION(step_if) {
    (void)node;
    bool condition = again_holds(run, step->as.nodes[0], value);
    if (run->status != TN_OK) return false;
    const struct node *next = step->as.nodes[condition ? 1 : 2];
    return !next || again_holds(run, next, value);
}

STEP_FUNCTION(step_check) {
    if (run->nesting == 0) return endless(run, NULL);
    run->nesting--;
    bool good = step->as.check->run(run, node, step->as.check, value, NULL, NULL);
    run->nesting++;
    return good;
}

STEP_FUNCTION(step_tracked) {
    (void)step;
    if (run->nesting == 0) return endless(run, NULL);
    run->nesting--;
    bool good = run_tracked(run, node, value);
    run->nesting++;
    return good;
}

/*
 * plan_run.c - runs the steps of a plan over a value.
 *
 * Only the verdict is found, and the run ends at the first failure. A nested subschema needs a level of the run
 * (SCHEMA_NESTING_MAX), and each subschema applied a unit of work, as in validate.c. Steps leave out subschemas that
 * cannot matter, so they reach a limit later than the checks, never earlier.
 */
#include <math.h>

#include "adl/schema/plan.h"

#define PAIRWISE_MAX 16  /* items that are compared in pairs */
#define HASHED_MAX   256 /* items that are compared by hash, without memory */

static bool steps_hold(struct run *run, const struct node *node, const struct step *step, tn_value value);

static bool __attribute__((noinline)) steps_hold_in_scope(struct run *run, const struct node *node,
                                                          const struct step *step, tn_value value) {
    struct scope scope = {run->scope, node->resource};
    const struct scope *outer = run->scope;
    if (!outer || outer->resource != node->resource) run->scope = &scope;
    bool good = steps_hold(run, node, step, value);
    run->scope = outer;
    return good;
}

static bool is_whole(tn_value number) {
    double real = view_double(number);
    return floor(real) == real;
}

static inline bool node_holds(struct run *run, const struct node *node, tn_value value) {
    static const uint8_t lists[TN_OBJECT + 1] = {
        [TN_INT] = PLAN_NUMBER,  [TN_DOUBLE] = PLAN_NUMBER, [TN_STRING] = PLAN_STRING,
        [TN_ARRAY] = PLAN_ARRAY, [TN_OBJECT] = PLAN_OBJECT,
    };
    int kind = value_kind(value);
    if (run->work == 0) return spend(run, NULL, 1);
    run->work--;
    if (!(node->kinds >> kind & 1) && !(kind == TN_DOUBLE && node->integral && is_whole(value))) return false;
    const struct step *step = node->lists[lists[kind]];
    if (!step) return true;
    return run->schema->dynamic ? steps_hold_in_scope(run, node, step, value) : steps_hold(run, node, step, value);
}

bool plan_holds(struct run *run, const struct node *node, tn_value value) {
    if (run->nesting == 0) return endless(run, NULL);
    return node_holds(run, node, value);
}

/* ---- Values ---------------------------------------------------------------------------------------------------- */

/* value_equal, without a call for most values. */
static inline bool plan_same(tn_value a, tn_value b) {
    if (a == b) return true;
    if (!value_is_block(a) && !value_is_block(b)) return false;
    if (value_is(a, TN_STRING)) return value_is(b, TN_STRING) && view_same_text(view_string(a), view_string(b));
    return value_equal(a, b);
}

static bool has_integer(const struct numbers *numbers, int64_t integer) {
    if (numbers->int_count == 0) return false;
    if (numbers->bits) {
        uint64_t at = (uint64_t)integer - (uint64_t)numbers->ints[0];
        uint64_t last = (uint64_t)numbers->ints[numbers->int_count - 1] - (uint64_t)numbers->ints[0];
        return integer >= numbers->ints[0] && at <= last && (numbers->bits[at / 64] >> (at % 64) & 1);
    }
    const int64_t *at = numbers->ints;
    for (uint32_t left = numbers->int_count; left > 1;) {
        uint32_t half = left / 2;
        if (at[half] <= integer) at += half;
        left -= half;
    }
    return *at == integer;
}

static bool has_number(const struct numbers *numbers, tn_value value) {
    int64_t integer;
    if (value_as_int(value, &integer)) return has_integer(numbers, integer);
    if (numbers->double_count == 0) return false;
    double real = view_double(value);
    const double *at = numbers->doubles;
    for (uint32_t left = numbers->double_count; left > 1;) {
        uint32_t half = left / 2;
        if (at[half] <= real) at += half;
        left -= half;
    }
    return *at == real;
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

static bool values_hold(struct run *run, const struct step *step, tn_value value) {
    if (!spend(run, NULL, step->count)) return false;
    for (uint32_t i = 0; i < step->count; i++)
        if (plan_same(value, step->as.values[i])) return true;
    return false;
}

static inline bool range_holds(const struct range *range, tn_value value) {
    if (value_is(value, TN_INT)) {
        int64_t integer = value_to_int(value);
        return integer >= range->least && integer <= range->most;
    }
    double real = view_double(value);
    return (real > range->low || (real == range->low && !range->low_open)) &&
           (real < range->high || (real == range->high && !range->high_open));
}

static inline bool length_holds(const struct extent *extent, const struct string *text) {
    size_t bytes = text->length;
    if (bytes < extent->least) return false;
    if (bytes / 4 >= extent->least && bytes <= extent->most) return true; /* a character has at most four bytes */
    if (bytes / 4 > extent->most) return false;
    size_t found = count_code_points(text->chars, bytes);
    return found >= extent->least && found <= extent->most;
}

/* ---- Arrays ---------------------------------------------------------------------------------------------------- */

static bool items_hold(struct run *run, const struct item_nodes *nodes, tn_value value) {
    size_t count, i = 0;
    const tn_value *items = view_items(value, &count);
    for (; i < count && i < nodes->prefix_count; i++)
        if (!node_holds(run, nodes->prefix[i], items[i])) return false;
    if (!nodes->rest) return true;
    for (; i < count; i++)
        if (!node_holds(run, nodes->rest, items[i])) return false;
    return true;
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

static bool unique_hold(struct run *run, const struct node *node, const struct step *step, tn_value value) {
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
 * Returns the value of a name, or NULL. `next` is the entry where it is expected: members mostly have the order of the
 * properties.
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

static bool required_hold(const struct names *names, tn_value value) {
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

/* ---- In place -------------------------------------------------------------------------------------------------- */

static bool any_holds(struct run *run, const struct step *step, tn_value value) {
    for (uint32_t i = 0; i < step->count; i++) {
        if (node_holds(run, step->as.nodes[i], value)) return true;
        if (run->status != TN_OK) return false;
    }
    return false;
}

static bool one_holds(struct run *run, const struct step *step, tn_value value) {
    bool found = false;
    for (uint32_t i = 0; i < step->count; i++) {
        bool good = node_holds(run, step->as.nodes[i], value);
        if (run->status != TN_OK || (good && found)) return false;
        found = found || good;
    }
    return found;
}

static bool branch_of_if_holds(struct run *run, const struct step *step, tn_value value) {
    bool condition = node_holds(run, step->as.nodes[0], value);
    if (run->status != TN_OK) return false;
    const struct node *next = step->as.nodes[condition ? 1 : 2];
    return !next || node_holds(run, next, value);
}

/* Steps that apply further subschemas. */
static bool nested_holds(struct run *run, const struct node *node, const struct step *step, tn_value value) {
    if (run->nesting == 0) return endless(run, NULL);
    run->nesting--;
    bool good = false;
    switch (step->op) {
    case STEP_NODE: good = node_holds(run, step->as.node, value); break;
    case STEP_ANY_OF: good = any_holds(run, step, value); break;
    case STEP_ONE_OF: good = one_holds(run, step, value); break;
    case STEP_NOT: good = !node_holds(run, step->as.node, value) && run->status == TN_OK; break;
    case STEP_IF: good = branch_of_if_holds(run, step, value); break;
    case STEP_ITEMS: good = items_hold(run, step->as.items, value); break;
    case STEP_OBJECT: good = object_holds(run, step->as.object, value); break;
    case STEP_TRACKED: good = run_tracked(run, node, value); break;
    default: good = step->as.check->run(run, node, step->as.check, value, NULL, NULL); break; /* STEP_CHECK */
    }
    run->nesting++;
    return good;
}

static bool steps_hold(struct run *run, const struct node *node, const struct step *step, tn_value value) {
    for (;; step++) {
        bool good = false;
        switch (step->op) {
        case STEP_END: return true;
        case STEP_FAIL: return false;
        case STEP_TEXT: good = view_same_text(step->as.text, view_string(value)); break;
        case STEP_TEXTS: good = names_find(step->as.names, view_string(value)) != NULL; break;
        case STEP_NUMBERS: good = has_number(step->as.numbers, value); break;
        case STEP_VALUES: good = values_hold(run, step, value); break;
        case STEP_RANGE: good = range_holds(step->as.range, value); break;
        case STEP_LENGTH: good = length_holds(step->as.extent, view_string(value)); break;
        case STEP_PATTERN: good = run_match(run, step->as.pattern, value, NULL) > 0; break;
        case STEP_COUNT: {
            size_t count = view_count(value);
            good = count >= step->as.extent->least && count <= step->as.extent->most;
            break;
        }
        case STEP_UNIQUE: good = unique_hold(run, node, step, value); break;
        case STEP_REQUIRED: good = required_hold(step->as.names, value); break;
        default: good = nested_holds(run, node, step, value); break;
        }
        if (!good) return false;
    }
}

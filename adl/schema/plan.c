/*
 * plan.c - makes the steps of a compiled schema (plan.h).
 *
 * First the kinds are found that each node accepts; then each node's checks are translated, once for each list. The
 * memory is one chain of parts, freed with the schema. Every table has an entry for each name or value of a keyword in
 * the document, so all of them together take memory in proportion to it. The only tables with entries of other
 * subschemas (unevaluatedProperties behind allOf and $ref, see plan_closed.c) are optional and have limits of their
 * own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adl/schema/plan_make.h"
#include "adl/value/memory.h"

#define PART_SIZE    4096u
#define TARGET_HOPS  32u /* references to references that are followed */
#define NAMES_LINEAR 4u  /* names that are compared one by one */
#define BITS_PER_INT 64u /* bits of a set of integers for each of them, at most */
#define DOUBLE_EXACT ((int64_t)1 << 53)

/* The kinds that have the same steps. */
enum plan_list { PLAN_OTHER, PLAN_INT, PLAN_DOUBLE, PLAN_STRING, PLAN_ARRAY, PLAN_OBJECT, PLAN_LISTS };

#define KINDS_NUMBER (1u << TN_INT | 1u << TN_DOUBLE)

static const uint32_t list_kinds[PLAN_LISTS] = {
    [PLAN_OTHER] = 1u << TN_NULL | 1u << TN_BOOL | 1u << TN_BYTES,
    [PLAN_INT] = 1u << TN_INT,
    [PLAN_DOUBLE] = 1u << TN_DOUBLE,
    [PLAN_STRING] = 1u << TN_STRING,
    [PLAN_ARRAY] = 1u << TN_ARRAY,
    [PLAN_OBJECT] = 1u << TN_OBJECT,
};

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

struct plan_part {
    struct plan_part *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

void *plan_alloc(struct schema *schema, size_t count, size_t size) {
    size_t needed = (count * size + 15) / 16 * 16; /* count is bounded by the size of a document */
    struct plan_part *part = schema->parts;
    if (!part || part->size - part->used < needed) {
        size_t room = needed > PART_SIZE / 4 ? needed : PART_SIZE;
        part = mem_alloc(sizeof *part + room);
        *part = (struct plan_part){.used = 0, .size = room};
        if (room == PART_SIZE || !schema->parts) { /* a part for one large table is put behind the current one */
            part->next = schema->parts;
            schema->parts = part;
        } else {
            part->next = schema->parts->next;
            schema->parts->next = part;
        }
    }
    void *memory = part->bytes + part->used;
    part->used += needed;
    memset(memory, 0, needed);
    return memory;
}

void schema_plan_free(struct schema *schema) {
    for (struct plan_part *part = schema->parts, *next; part; part = next) {
        next = part->next;
        mem_free(part);
    }
    schema->parts = NULL;
}

/* ---- Steps ----------------------------------------------------------------------------------------------------- */

struct step *plan_add_step(struct planner *planner, step_fn run) {
    MEM_GROW(planner->steps, planner->count, planner->room);
    struct step *step = &planner->steps[planner->count++];
    *step = (struct step){.run = run};
    return step;
}

const struct node *plan_target(const struct schema *schema, const struct node *node) {
    const struct node *first = node;
    for (unsigned hops = 0; hops < TARGET_HOPS && !schema->dynamic; hops++) {
        bool only_reference = node->check_count == 1 && node->kinds == KINDS_ALL && node->checks->run == check_ref;
        if (!only_reference) return node;
        node = node->checks->as.node;
    }
    return first; /* references in a circle are followed when the schema is used, up to its limit */
}

static bool accepts_everything(const struct node *node) { return node->check_count == 0 && node->kinds == KINDS_ALL; }

/* The node to apply, or NULL if every value is valid. */
const struct node *plan_applied(const struct schema *schema, const struct node *node) {
    node = plan_target(schema, node);
    return accepts_everything(node) ? NULL : node;
}

static const struct node **plan_nodes(struct planner *planner, const struct nodes *nodes, uint32_t kinds,
                                      uint32_t *count) {
    const struct node **list = plan_alloc(planner->schema, nodes->count, sizeof(struct node *));
    *count = 0;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct node *node = plan_target(planner->schema, nodes->at[i]);
        if (node->accepts & kinds) list[(*count)++] = node;
    }
    return list;
}

static void plan_choice(struct planner *planner, const struct check *check, step_fn run, uint32_t kinds) {
    uint32_t count;
    const struct node **nodes = plan_nodes(planner, &check->as.nodes, kinds, &count);
    struct step *step = plan_add_step(planner, count == 0 ? step_fail : count == 1 ? step_node : run);
    step->count = count;
    if (count == 1)
        step->as.node = nodes[0];
    else
        step->as.nodes = nodes;
}

static void plan_add_node(struct planner *planner, const struct node *node, uint32_t kinds) {
    node = plan_applied(planner->schema, node);
    if (!node) return;
    plan_add_step(planner, node->accepts & kinds ? step_node : step_fail)->as.node = node;
}

static void plan_if(struct planner *planner, const struct check *check) {
    const struct node *then = check->as.branch.then, *otherwise = check->as.branch.otherwise;
    const struct node **nodes = plan_alloc(planner->schema, 3, sizeof(struct node *));
    nodes[0] = plan_target(planner->schema, check->as.branch.condition);
    nodes[1] = then ? plan_applied(planner->schema, then) : NULL;
    nodes[2] = otherwise ? plan_applied(planner->schema, otherwise) : NULL;
    if (nodes[1] || nodes[2]) plan_add_step(planner, step_if)->as.nodes = nodes;
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

void name_list_init(struct name_list *list, tn_value keys) {
    size_t count = value_count(keys);
    *list = (struct name_list){.at = mem_array(NULL, count ? count : 1, sizeof *list->at), .keys = keys};
    list->count = list->room = count;
    for (size_t i = 0; i < count; i++) list->at[i] = (struct name){.text = view_string(value_key_at(keys, i))};
}

struct name *name_list_add(struct name_list *list, tn_value text) {
    tn_value position = list->keys ? value_get_key(list->keys, text) : NULL;
    if (position) return &list->at[value_to_int(position)];
    position = list->index ? value_get_key(list->index, text) : NULL;
    if (position) return &list->at[value_to_int(position)];
    if (!list->index) list->index = value_object();
    list->index = value_set_key_take(list->index, value_ref(text), value_int((int64_t)list->count));
    MEM_GROW(list->at, list->count, list->room);
    list->at[list->count] = (struct name){.text = view_string(text)};
    return &list->at[list->count++];
}

void name_list_finish(struct name_list *list) {
    value_unref(list->index);
    mem_free(list->at);
}

void plan_names(struct schema *schema, struct names *names, const struct name *at, size_t count) {
    names->count = (uint32_t)count;
    names->at = plan_alloc(schema, count, sizeof *names->at);
    for (size_t i = 0; i < count; i++) {
        names->at[i] = at[i];
        if (at[i].text->length > names->longest) names->longest = at[i].text->length;
    }
    if (count <= NAMES_LINEAR) return;
    uint32_t size = 8;
    while (size < 2 * count) size *= 2;
    names->mask = size - 1;
    names->slots = plan_alloc(schema, size, sizeof *names->slots);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = view_hash(at[i].text);
        while (names->slots[slot & names->mask] != 0) slot++;
        names->slots[slot & names->mask] = i + 1;
    }
}

static void plan_add_required(struct planner *planner, const struct name *at, size_t count) {
    if (count == 0) return;
    struct names *names = plan_alloc(planner->schema, 1, sizeof *names);
    plan_names(planner->schema, names, at, count);
    plan_add_step(planner, step_required)->as.names = names;
}

/* ---- Values: enum and const ------------------------------------------------------------------------------------ */

static int compare_ints(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void plan_numbers(struct planner *planner, enum plan_list list, const tn_value *values, size_t count) {
    struct numbers *numbers = plan_alloc(planner->schema, 1, sizeof *numbers);
    numbers->ints = plan_alloc(planner->schema, count, sizeof *numbers->ints);
    numbers->doubles = plan_alloc(planner->schema, count, sizeof *numbers->doubles);
    for (size_t i = 0; i < count; i++) {
        int64_t integer;
        if (!value_is_number(values[i])) continue;
        if (value_as_int(values[i], &integer))
            numbers->ints[numbers->int_count++] = integer;
        else
            numbers->doubles[numbers->double_count++] = view_double(values[i]);
    }
    size_t ints = numbers->int_count, doubles = numbers->double_count;
    if (list == PLAN_INT)
        plan_add_step(planner, ints > 0 ? step_int_numbers : step_fail)->as.numbers = numbers;
    else
        plan_add_step(planner, ints + doubles > 0 ? step_double_numbers : step_fail)->as.numbers = numbers;
    if (doubles) qsort(numbers->doubles, doubles, sizeof *numbers->doubles, compare_doubles);
    if (!ints) return;
    qsort(numbers->ints, ints, sizeof *numbers->ints, compare_ints);
    uint64_t first = (uint64_t)numbers->ints[0], last = (uint64_t)numbers->ints[ints - 1] - first;
    if (last >= ints * BITS_PER_INT) return;
    numbers->first = first;
    numbers->bit_count = last + 1;
    numbers->bits = plan_alloc(planner->schema, (size_t)last / 64 + 1, sizeof *numbers->bits);
    for (size_t i = 0; i < ints; i++) {
        uint64_t at = (uint64_t)numbers->ints[i] - first;
        numbers->bits[at / 64] |= 1ull << (at % 64);
    }
}

static void plan_texts(struct planner *planner, const struct name *at, size_t count) {
    if (count == 0) {
        plan_add_step(planner, step_fail);
    } else if (count == 1) {
        plan_add_step(planner, step_text)->as.text = at[0].text;
    } else {
        struct names *names = plan_alloc(planner->schema, 1, sizeof *names);
        plan_names(planner->schema, names, at, count);
        plan_add_step(planner, step_texts)->as.names = names;
    }
}

/* The values are borrowed from the document. */
static void plan_values(struct planner *planner, enum plan_list list, const tn_value *values, size_t count) {
    if (list == PLAN_INT || list == PLAN_DOUBLE) {
        plan_numbers(planner, list, values, count);
        return;
    }
    tn_value *some = plan_alloc(planner->schema, count, sizeof *some);
    uint32_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (list_kinds[list] >> value_kind(values[i]) & 1) some[kept++] = values[i];
    struct step *step = plan_add_step(planner, kept ? step_values : step_fail);
    step->count = kept;
    step->as.values = some;
}

static void plan_enum(struct planner *planner, enum plan_list list, const struct check *check) {
    if (list == PLAN_STRING) {
        struct name_list names;
        name_list_init(&names, check->as.values.strings);
        plan_texts(planner, names.at, names.count);
        name_list_finish(&names);
        return;
    }
    size_t count;
    const tn_value *values = view_items(check->as.values.others, &count);
    plan_values(planner, list, values, count);
}

static void plan_const(struct planner *planner, enum plan_list list, const struct check *check) {
    if (list == PLAN_STRING)
        plan_add_step(planner, step_text)->as.text = view_string(check->value);
    else
        plan_values(planner, list, &check->value, 1);
}

/* ---- Numbers, strings, counts ---------------------------------------------------------------------------------- */

static void range_exclude_ints(struct range *range) {
    range->least = INT64_MAX;
    range->most = INT64_MIN;
}

static void range_raise(struct range *range, double bound, bool open) {
    range->low = fmax(range->low, open ? nextafter(bound, INFINITY) : bound);
    double first = open ? floor(bound) : ceil(bound); /* the integer itself is outside if the bound is open */
    if (first >= 0x1p63) range_exclude_ints(range);
    if (first >= 0x1p63 || first < -0x1p63) return;
    int64_t least = (int64_t)first;
    if (open && least == INT64_MAX) range_exclude_ints(range);
    if (open && least < INT64_MAX) least++;
    if (least > range->least) range->least = least;
}

static void range_lower(struct range *range, double bound, bool open) {
    range->high = fmin(range->high, open ? nextafter(bound, -INFINITY) : bound);
    double last = open ? ceil(bound) : floor(bound);
    if (last < -0x1p63 || (open && last == -0x1p63)) range_exclude_ints(range);
    if (last >= 0x1p63 || last < -0x1p63 || (open && last == -0x1p63)) return;
    int64_t most = (int64_t)last - open;
    if (most < range->most) range->most = most;
}

/* True if the double that is nearest to the number is the number. */
static bool is_exact(tn_value number) {
    if (value_is(number, TN_DOUBLE)) return true;
    int64_t integer = value_to_int(number);
    return integer >= -DOUBLE_EXACT && integer <= DOUBLE_EXACT;
}

static bool check_is_bound(const struct check *check) {
    return check->run == check_minimum || check->run == check_maximum || check->run == check_exclusive_minimum ||
           check->run == check_exclusive_maximum;
}

/* Combines all bounds of a node; integers beyond 2^53 are left to the checks. */
static void plan_range(struct planner *planner, const struct node *node, enum plan_list list) {
    struct range *range = plan_alloc(planner->schema, 1, sizeof *range);
    *range = (struct range){.least = INT64_MIN, .most = INT64_MAX, .low = -INFINITY, .high = INFINITY};
    bool any = false;
    for (size_t i = 0; i < node->check_count; i++) {
        const struct check *check = &node->checks[i];
        if (!check_is_bound(check)) continue;
        if (!is_exact(check->value)) {
            plan_add_step(planner, step_check)->as.check = check;
            continue;
        }
        any = true;
        double bound = value_to_double(check->value);
        if (check->run == check_minimum || check->run == check_exclusive_minimum)
            range_raise(range, bound, check->run == check_exclusive_minimum);
        else
            range_lower(range, bound, check->run == check_exclusive_maximum);
    }
    if (any) plan_add_step(planner, list == PLAN_INT ? step_int_range : step_double_range)->as.range = range;
}

static struct extent extent_of(const struct node *node, check_fn least, check_fn most) {
    struct extent extent = {0, UINT64_MAX};
    for (size_t i = 0; i < node->check_count; i++) {
        if (node->checks[i].run == least) extent.least = node->checks[i].as.count;
        if (node->checks[i].run == most) extent.most = node->checks[i].as.count;
    }
    return extent;
}

static void plan_extent(struct planner *planner, step_fn run, struct extent extent) {
    struct extent *kept = plan_alloc(planner->schema, 1, sizeof *kept);
    *kept = extent;
    plan_add_step(planner, run)->as.extent = kept;
}

/* ---- Arrays and objects ---------------------------------------------------------------------------------------- */

/* prefixItems and items, with minItems and maxItems. */
static void plan_items(struct planner *planner, const struct node *node, const struct check *check) {
    const struct nodes *prefix = &check->as.items.prefix;
    struct item_nodes *items = plan_alloc(planner->schema, 1, sizeof *items);
    const struct node **nodes = plan_alloc(planner->schema, prefix->count, sizeof(struct node *));
    for (size_t i = 0; i < prefix->count; i++) nodes[i] = plan_target(planner->schema, prefix->at[i]);
    items->count = extent_of(node, check_min_items, check_max_items);
    items->prefix = nodes;
    items->prefix_count = prefix->count;
    items->rest = check->as.items.rest ? plan_applied(planner->schema, check->as.items.rest) : NULL;
    plan_add_step(planner, step_items)->as.items = items;
}

/* The patterns of `members` and of `closed`; each may be NULL. */
static void plan_patterns(struct planner *planner, const struct members *members, const struct closed *closed,
                          struct object_plan *plan) {
    size_t own = members ? members->patterned.count : 0, count = own + (closed ? closed->pattern_count : 0);
    const struct pattern **patterns = plan_alloc(planner->schema, count, sizeof(struct pattern *));
    const struct node **nodes = plan_alloc(planner->schema, count, sizeof(struct node *));
    for (size_t i = 0; i < count; i++) {
        patterns[i] = i < own ? members->patterns[i] : closed->patterns[i - own];
        nodes[i] = i < own ? plan_applied(planner->schema, members->patterned.at[i]) : NULL;
    }
    plan->patterns = patterns;
    plan->patterned = nodes;
    plan->pattern_count = count;
}

/*
 * properties, patternProperties and additionalProperties together with required, and with unevaluatedProperties if it
 * is known what others evaluate. Each part may be NULL.
 */
static void plan_object(struct planner *planner, const struct members *members, const struct check *required,
                        const struct closed *closed) {
    struct object_plan *plan = plan_alloc(planner->schema, 1, sizeof *plan);
    struct name_list list, others = {0};
    name_list_init(&list, members ? members->index : NULL);
    for (size_t i = 0; i < list.count; i++) {
        list.at[i].node = plan_applied(planner->schema, members->named.at[i]);
        list.at[i].known = true;
    }
    for (size_t i = 0; closed && i < closed->names.count; i++)
        name_list_add(&list, value_of(closed->names.at[i].text))->known = true;
    for (size_t i = 0; required && i < value_count(required->value); i++) {
        size_t index = (size_t)(name_list_add(&list, value_at(required->value, i)) - list.at);
        if (index < 64)
            plan->required |= 1ull << index;
        else
            name_list_add(&others, value_at(required->value, i));
    }
    for (uint64_t bits = plan->required; bits; bits &= bits - 1) plan->required_count++;
    plan_names(planner->schema, &plan->names, list.at, list.count);
    plan_patterns(planner, members, closed, plan);
    const struct node *additional = members ? members->additional : NULL;
    if (closed) additional = closed->rest;
    if (additional) {
        plan->closed = additional->kinds == 0;
        plan->additional = plan_applied(planner->schema, additional);
    }
    plan->every = plan->pattern_count || plan->closed || plan->additional;
    plan_add_required(planner, others.at, others.count);
    plan_add_step(planner, step_object)->as.object = plan;
    name_list_finish(&list);
    name_list_finish(&others);
}

static const struct check *node_check(const struct node *node, check_fn run) {
    for (size_t i = 0; i < node->check_count; i++)
        if (node->checks[i].run == run) return &node->checks[i];
    return NULL;
}

static void plan_required(struct planner *planner, const struct node *node, const struct check *check) {
    if (node_check(node, check_members)) return; /* part of plan_object */
    struct name_list list = {0};
    for (size_t i = 0; i < value_count(check->value); i++) name_list_add(&list, value_at(check->value, i));
    plan_add_required(planner, list.at, list.count);
    name_list_finish(&list);
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

/* True if an earlier check of the node began the step that this one is part of. */
static bool has_earlier(const struct node *node, const struct check *check, check_fn other) {
    for (const struct check *at = node->checks; at < check; at++)
        if (at->run == other) return true;
    return false;
}

static bool earlier_bound(const struct node *node, const struct check *check) {
    for (const struct check *at = node->checks; at < check; at++)
        if (check_is_bound(at)) return true;
    return false;
}

static void plan_check_of_group(struct planner *planner, const struct node *node, const struct check *check,
                                enum plan_list list, const struct closed *closed) {
    check_fn run = check->run;
    if (check_is_bound(check)) {
        if (!earlier_bound(node, check)) plan_range(planner, node, list);
    } else if (run == check_min_length || run == check_max_length) {
        if (run == check_min_length || !has_earlier(node, check, check_min_length))
            plan_extent(planner, step_length, extent_of(node, check_min_length, check_max_length));
    } else if (run == check_min_items || run == check_max_items) {
        if (!node_check(node, check_items) && (run == check_min_items || !has_earlier(node, check, check_min_items)))
            plan_extent(planner, step_count, extent_of(node, check_min_items, check_max_items));
    } else if (run == check_min_properties || run == check_max_properties) {
        if (run == check_min_properties || !has_earlier(node, check, check_min_properties))
            plan_extent(planner, step_count, extent_of(node, check_min_properties, check_max_properties));
    } else if (run == check_pattern) {
        plan_add_step(planner, step_pattern)->as.pattern = check->as.pattern;
    } else if (run == check_items) {
        plan_items(planner, node, check);
    } else if (run == check_unique) {
        plan_add_step(planner, step_unique)->as.check = check;
    } else if (run == check_members) {
        plan_object(planner, check->as.members, node_check(node, check_required), closed);
    } else if (run == check_required) {
        plan_required(planner, node, check);
    } else {
        plan_add_step(planner, step_check)->as.check = check;
    }
}

static void plan_check_in_place(struct planner *planner, const struct check *check, enum plan_list list) {
    uint32_t kinds = list_kinds[list];
    check_fn run = check->run;
    if (run == check_ref) {
        plan_add_node(planner, check->as.node, kinds);
    } else if (run == check_all_of) {
        for (size_t i = 0; i < check->as.nodes.count; i++) plan_add_node(planner, check->as.nodes.at[i], kinds);
    } else if (run == check_any_of) {
        plan_choice(planner, check, step_any_of, kinds);
    } else if (run == check_one_of) {
        plan_choice(planner, check, step_one_of, kinds);
    } else if (run == check_not) {
        const struct node *node = plan_target(planner->schema, check->as.node);
        if (node->accepts & kinds) plan_add_step(planner, step_not)->as.node = node;
    } else if (run == check_if) {
        plan_if(planner, check);
    } else if (run == check_enum) {
        plan_enum(planner, list, check);
    } else if (run == check_const) {
        plan_const(planner, list, check);
    } else {
        plan_add_step(planner, step_check)->as.check = check;
    }
}

static void plan_list(struct planner *planner, const struct node *node, enum plan_list list) {
    static const enum group groups[PLAN_LISTS] = {GROUP_ANY,    GROUP_NUMBER, GROUP_NUMBER,
                                                  GROUP_STRING, GROUP_ARRAY,  GROUP_OBJECT};
    const struct check *last_items = node_check(node, check_unevaluated_items);
    const struct check *last_members = node_check(node, check_unevaluated_properties);
    struct closed known = {0}, *closed = NULL;
    enum group group = groups[list];
    planner->count = 0;
    if (!(node->accepts & list_kinds[list])) {
        plan_add_step(planner, step_fail);
        return;
    }
    if (list == PLAN_OBJECT && last_members && closed_collect(planner, &known, node, last_members->as.node))
        closed = &known;
    if ((list == PLAN_ARRAY && last_items) || (list == PLAN_OBJECT && last_members && !closed)) {
        plan_add_step(planner, step_tracked);
        goto out;
    }
    if (closed && closed->everything) closed = NULL; /* nothing is left for unevaluatedProperties */
    if (list == PLAN_DOUBLE && !(node->kinds >> TN_DOUBLE & 1)) plan_add_step(planner, step_double_whole);
    for (size_t i = node->start[group]; list != PLAN_OTHER && i < node->start[group + 1]; i++)
        plan_check_of_group(planner, node, &node->checks[i], list, closed);
    for (size_t i = node->start[GROUP_ANY]; i < node->start[GROUP_ANY + 1]; i++)
        plan_check_in_place(planner, &node->checks[i], list);
    if (closed && !node_check(node, check_members)) plan_object(planner, NULL, NULL, closed);
out:
    closed_finish(&known);
}

/* A number may be an integer or a double. */
static uint32_t kind_of_value(tn_value value) {
    return value_is_number(value) ? KINDS_NUMBER : 1u << value_kind(value);
}

static uint32_t kinds_of_enum(const struct check *check) {
    size_t count;
    const tn_value *values = view_items(check->as.values.others, &count);
    uint32_t kinds = value_count(check->as.values.strings) ? 1u << TN_STRING : 0;
    for (size_t i = 0; i < count; i++) kinds |= kind_of_value(values[i]);
    return kinds;
}

static uint32_t node_accepts(const struct node *node) {
    uint32_t kinds = node->kinds | (node->integral ? 1u << TN_DOUBLE : 0);
    for (size_t i = 0; i < node->check_count; i++) {
        const struct check *check = &node->checks[i];
        if (check->run == check_const) kinds &= kind_of_value(check->value);
        if (check->run == check_enum) kinds &= kinds_of_enum(check);
    }
    return kinds;
}

static void plan_node(struct planner *planner, struct node *node) {
    for (enum plan_list list = 0; list < PLAN_LISTS; list++) {
        plan_list(planner, node, list);
        size_t count = planner->count;
        struct step *steps = NULL;
        if (count > 0) { /* and a step without a function behind them */
            steps = plan_alloc(planner->schema, count + 1, sizeof *steps);
            memcpy(steps, planner->steps, count * sizeof *steps);
        }
        step_fn run = count == 0 ? step_pass : count == 1 ? steps->run : step_list;
        if (planner->schema->dynamic && count > 0) run = step_scope;
        for (int kind = TN_NULL; kind <= TN_OBJECT; kind++) {
            if (!(list_kinds[list] >> kind & 1)) continue;
            bool allowed = node->kinds >> kind & 1 || (kind == TN_DOUBLE && node->integral);
            node->by_kind[kind].run = allowed ? run : step_fail;
            node->by_kind[kind].step = steps;
        }
    }
}

void schema_plan(struct schema *schema) {
    for (size_t i = 0; i < schema->node_count; i++) {
        struct node *node = schema->nodes[i];
        node->accepts = node_accepts(node);
        for (size_t j = 0; j < node->check_count; j++)
            if (node->checks[j].run == check_dynamic_ref && node->checks[j].as.dynamic.name) schema->dynamic = true;
    }
    struct planner planner = {.schema = schema};
    for (size_t i = 0; i < schema->node_count; i++) plan_node(&planner, schema->nodes[i]);
    mem_free(planner.steps);
}

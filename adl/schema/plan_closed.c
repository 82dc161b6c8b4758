/*
 * plan_closed.c - the members that unevaluatedProperties leaves over, found before any instance is known.
 *
 * Most schemas with unevaluatedProperties combine others with allOf and $ref. All of these must hold, so they evaluate
 * the same members of every valid instance: the names and patterns are collected once, and the keyword becomes an
 * additionalProperties over all of them. Branches of anyOf, oneOf, if and dependentSchemas are no obstacle if they add
 * nothing to what is known (they often only require members). Everything else is tracked in each validation.
 *
 * The names of one subschema can be collected for many others, so their number is bounded, for each and for all.
 */
#include "adl/schema/plan_make.h"
#include "adl/value/memory.h"

#define VISITED_MAX 64u     /* nodes for one unevaluatedProperties */
#define DEPTH_MAX   32u     /* allOf and $ref within each other */
#define NAMES_MAX   1024u   /* names and patterns for one unevaluatedProperties */
#define ALL_MAX     100000u /* and for all of a schema together */

static bool closed_visit(struct closed *closed, const struct node *node, unsigned depth);

static void closed_members(struct closed *closed, const struct members *members) {
    size_t names = members->named.count, patterns = members->patterned.count;
    if (members->additional) closed->everything = true;
    for (size_t i = 0; i < names && closed->names.count <= NAMES_MAX; i++)
        name_list_add(&closed->names, value_key_at(members->index, i));
    for (size_t i = 0; i < patterns && closed->pattern_count <= NAMES_MAX; i++) {
        MEM_GROW(closed->patterns, closed->pattern_count, closed->pattern_room);
        closed->patterns[closed->pattern_count++] = members->patterns[i];
    }
}

/* True if a branch that may or may not hold evaluates nothing that is not known. */
static bool closed_branch(struct closed *closed, const struct node *node, unsigned depth) {
    size_t names = closed->names.count, patterns = closed->pattern_count;
    bool everything = closed->everything;
    if (!closed_visit(closed, node, depth)) return false;
    return closed->names.count == names && closed->pattern_count == patterns && closed->everything == everything;
}

static bool closed_check(struct closed *closed, const struct check *check, unsigned depth) {
    if (check->run == check_members) closed_members(closed, check->as.members);
    if (check->run == check_unevaluated_properties) closed->everything = true;
    if (check->run == check_ref) return closed_visit(closed, check->as.node, depth);
    if (check->run == check_dynamic_ref) return false;
    bool all = check->run == check_all_of;
    if (all || check->run == check_any_of || check->run == check_one_of) {
        for (size_t i = 0; i < check->as.nodes.count; i++) {
            const struct node *branch = check->as.nodes.at[i];
            if (!(all ? closed_visit(closed, branch, depth) : closed_branch(closed, branch, depth))) return false;
        }
    }
    if (check->run == check_if) {
        const struct node *branches[] = {check->as.branch.condition, check->as.branch.then, check->as.branch.otherwise};
        for (size_t i = 0; i < sizeof branches / sizeof *branches; i++)
            if (branches[i] && !closed_branch(closed, branches[i], depth)) return false;
    }
    for (size_t i = 0; check->run == check_dependents && i < check->as.dependents.count; i++) {
        const struct node *branch = check->as.dependents.at[i].node;
        if (branch && !closed_branch(closed, branch, depth)) return false;
    }
    return true;
}

/* What is certain comes first, so that branches find it known. */
static bool closed_checks(struct closed *closed, const struct node *node, bool certain, unsigned depth) {
    for (size_t i = 0; i < node->check_count; i++) {
        const struct check *check = &node->checks[i];
        bool is_certain = check->run == check_members || check->run == check_ref || check->run == check_all_of;
        if (depth == 0 && check->run == check_unevaluated_properties) continue; /* the one that asks */
        if (is_certain == certain && !closed_check(closed, check, depth + 1)) return false;
    }
    return true;
}

static bool closed_visit(struct closed *closed, const struct node *node, unsigned depth) {
    if (++closed->visited > VISITED_MAX || depth > DEPTH_MAX) return false;
    return closed_checks(closed, node, true, depth) && closed_checks(closed, node, false, depth) &&
           closed->names.count + closed->pattern_count <= NAMES_MAX;
}

bool closed_collect(struct planner *planner, struct closed *closed, const struct node *node, const struct node *rest) {
    closed->rest = rest;
    bool good = closed_visit(closed, node, 0);
    planner->closed_names += closed->names.count + closed->pattern_count;
    return good && planner->closed_names <= ALL_MAX;
}

void closed_finish(struct closed *closed) {
    name_list_finish(&closed->names);
    mem_free(closed->patterns);
}

/*
 * check_object.c - the keywords of objects.
 *
 * Members are walked once, in the instance's order, for any combination of properties, patternProperties and
 * additionalProperties; a name is found by its cached hash.
 */
#include "adl/schema/internal.h"
#include "adl/value/memory.h"

int run_match(struct run *run, const struct pattern *pattern, tn_value text, const struct place *place) {
    if (!run->scratch) run->scratch = atomic_exchange(&run->schema->spare->scratch, NULL);
    size_t length;
    const char *chars = value_chars(text, &length);
    int found = pattern_match(pattern, chars, length, &run->scratch);
    if (found >= 0) return found;
    exhausted(run, place, "matching a pattern against this takes more than is allowed");
    return -1;
}

/* Checks one member. `known` is true if a name or pattern describes it. */
static bool check_member(struct run *run, const struct members *members, tn_value key, tn_value value,
                         const struct place *place, bool *known) {
    bool good = true;
    tn_value position = members->index ? value_get_key(members->index, key) : NULL;
    *known = position != NULL;
    if (position) good = descend(run, members->named.at[value_to_int(position)], value, place);
    for (size_t i = 0; i < members->patterned.count; i++) {
        if (!good && !run_thorough(run)) return false;
        int found = run_match(run, members->patterns[i], key, place);
        if (found < 0) return false;
        if (!found) continue;
        *known = true;
        good = descend(run, members->patterned.at[i], value, place) && good;
    }
    return good;
}

CHECK_FUNCTION(check_members) {
    const struct members *members = check->as.members;
    bool good = true;
    for (size_t i = 0; i < value_count(instance); i++) {
        tn_value key = value_key_at(instance, i), value = value_value_at(instance, i);
        struct place member = {place, key, i, false};
        bool known, right = check_member(run, members, key, value, &member, &known);
        if (run->status != TN_OK) return false;
        if (!known && members->additional) {
            known = true;
            if (members->additional->kinds == 0 && !run->visitor)
                right = fail_unknown(run, node, check, &member);
            else
                right = descend(run, members->additional, value, &member);
        }
        if (known && marks) marks_set(marks, i);
        if (right) continue;
        good = false;
        if (!run_thorough(run) || run->status != TN_OK) return false;
    }
    return good;
}

CHECK_FUNCTION(check_unevaluated_properties) {
    bool good = true;
    if (!value_is(instance, TN_OBJECT)) return true;
    for (size_t i = 0; i < value_count(instance); i++) {
        if (marks_has(marks, i)) continue;
        struct place member = {place, value_key_at(instance, i), i, false};
        bool right;
        if (check->as.node->kinds == 0 && !run->visitor)
            right = fail_unknown(run, node, check, &member);
        else
            right = descend(run, check->as.node, value_value_at(instance, i), &member);
        if (right) continue;
        good = false;
        if (!run_thorough(run) || run->status != TN_OK) return false;
    }
    marks->all = true;
    return good;
}

CHECK_FUNCTION(check_names) {
    (void)node;
    (void)marks;
    bool good = true;
    for (size_t i = 0; i < value_count(instance); i++) {
        tn_value key = value_key_at(instance, i);
        struct place name = {place, key, i, true};
        if (descend(run, check->as.node, key, &name)) continue;
        good = false;
        if (!run_thorough(run) || run->status != TN_OK) return false;
    }
    return good;
}

/* Reports a missing required name, unless a misspelt form of it was already reported as unknown. */
static bool fail_missing(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                         tn_value name, tn_value because, const struct place *place) {
    if (!run->errors) return false;
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_format(&message, "missing property `%s`", value_chars(name, NULL));
    if (because) buffer_format(&message, ", which `%s` needs", value_chars(because, NULL));
    const struct finding finding = {node, check->keyword, place, instance, name, NULL, 0, NULL};
    fail_finding(run, &finding, buffer_cstr(&message));
    buffer_finish(&message);
    return false;
}

static bool all_there(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                      tn_value names, tn_value because, const struct place *place) {
    bool good = true;
    for (size_t i = 0; i < value_count(names); i++) {
        tn_value name = value_at(names, i);
        if (value_get_key(instance, name)) continue;
        good = fail_missing(run, node, check, instance, name, because, place);
        if (!run->errors) return false;
    }
    return good;
}

CHECK_FUNCTION(check_required) {
    (void)marks;
    return all_there(run, node, check, instance, check->value, NULL, place);
}

CHECK_FUNCTION(check_dependents) {
    bool good = true;
    for (size_t i = 0; i < check->as.dependents.count; i++) {
        const struct dependent *dependent = &check->as.dependents.at[i];
        if (!value_get_key(instance, dependent->name)) continue;
        if (dependent->node)
            good = evaluate(run, dependent->node, instance, place, marks) && good;
        else
            good = all_there(run, node, check, instance, dependent->required, dependent->name, place) && good;
        if (!good && (!run_thorough(run) || run->status != TN_OK)) return false;
    }
    return good;
}

static const char *properties(uint64_t count) { return count == 1 ? "property" : "properties"; }

CHECK_FUNCTION(check_min_properties) {
    (void)marks;
    size_t count = value_count(instance);
    return count >= check->as.count ||
           fail(run, node, check, instance, place, "found an object with %zu %s, expected at least %llu", count,
                properties(count), (unsigned long long)check->as.count);
}

CHECK_FUNCTION(check_max_properties) {
    (void)marks;
    size_t count = value_count(instance);
    return count <= check->as.count ||
           fail(run, node, check, instance, place, "found an object with %zu %s, expected at most %llu", count,
                properties(count), (unsigned long long)check->as.count);
}

CHECK_FUNCTION(check_pattern) {
    (void)marks;
    int found = run_match(run, check->as.pattern, instance, place);
    if (found != 0) return found > 0;
    if (!run->errors) return false;
    struct buffer text;
    buffer_init(&text, SCHEMA_MESSAGE_MAX);
    describe(&text, instance);
    fail(run, node, check, instance, place, "found %s, expected a match of the pattern %.200s", buffer_cstr(&text),
         value_chars(check->value, NULL));
    buffer_finish(&text);
    return false;
}

/*
 * keywords.c - the table of keywords: how each contains subschemas (for scanning), and the check it becomes.
 *
 * A row's compile function checks the form of the keyword's value, as the metaschema would, and appends a check to the
 * node. Keywords that depend on each other (properties and additionalProperties, contains and minContains, if and then)
 * become one check, created by the first of them. A keyword that asserts nothing has no function; its subschemas are
 * only known. Keywords that are not in the table are annotations.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adl/schema/plan.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"

#define REASON_SIZE 256

#define COMPILE_FUNCTION(name)                                                                                         \
    static bool name(struct compiler *compiler, struct node *node, const struct keyword *keyword, tn_value value)

static bool keyword_expected(struct compiler *compiler, const struct node *node, const char *keyword, tn_value value,
                             const char *what) {
    struct buffer found;
    buffer_init(&found, SCHEMA_MESSAGE_MAX);
    describe(&found, value);
    compile_fail(compiler, node, keyword, NULL, "found %s, expected %s", buffer_cstr(&found), what);
    buffer_finish(&found);
    return false;
}

static struct check *keyword_add_check(struct node *node, const struct keyword *keyword, tn_value value, check_fn run) {
    MEM_EXTEND(node->checks, node->check_count);
    struct check *check = &node->checks[node->check_count];
    *check = (struct check){.run = run, .keyword = keyword->name, .value = value, .group = (uint8_t)keyword->group};
    check->order = node->check_count++;
    return check;
}

static bool has(const struct node *node, check_fn run) {
    for (size_t i = 0; i < node->check_count; i++)
        if (node->checks[i].run == run) return true;
    return false;
}

static bool keyword_child(struct compiler *compiler, const struct node *node, const char *keyword, tn_value key,
                          struct node **out) {
    *out = compile_child(compiler, node, keyword, key);
    return *out != NULL;
}

/* Compiles the subschemas of a list. */
static bool keyword_children(struct compiler *compiler, const struct node *node, const char *keyword, tn_value value,
                             struct nodes *out) {
    size_t count = value_count(value);
    if (!value_is(value, TN_ARRAY) || count == 0)
        return keyword_expected(compiler, node, keyword, value, "an array with at least one schema");
    out->at = mem_array(NULL, count, sizeof(struct node *));
    for (size_t i = 0; i < count; i++, out->count++)
        if (!keyword_child(compiler, node, keyword, value_int((int64_t)i), &out->at[i])) return false;
    return true;
}

static bool keyword_is_object(struct compiler *compiler, const struct node *node, const char *keyword, tn_value value) {
    return value_is(value, TN_OBJECT) || keyword_expected(compiler, node, keyword, value, "an object");
}

static bool count_of(struct compiler *compiler, const struct node *node, const char *keyword, tn_value value,
                     uint64_t *out) {
    int64_t integer;
    if (value_is_number(value) && value_to_double(value) > 1e15) { /* larger than any possible count */
        *out = UINT64_MAX;
        return true;
    }
    if (!value_is_number(value) || !value_as_int(value, &integer) || integer < 0)
        return keyword_expected(compiler, node, keyword, value, "a non-negative integer");
    *out = (uint64_t)integer;
    return true;
}

/* ---- Of any instance ------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t kinds;
} types[] = {
    {"null", 1u << TN_NULL},     {"boolean", 1u << TN_BOOL},  {"number", 1u << TN_INT | 1u << TN_DOUBLE},
    {"integer", 1u << TN_INT},   {"string", 1u << TN_STRING}, {"array", 1u << TN_ARRAY},
    {"object", 1u << TN_OBJECT}, {"bytes", 1u << TN_BYTES},
};

static bool fail_type(struct compiler *compiler, const struct node *node, const char *keyword, tn_value name) {
    struct buffer what;
    buffer_init(&what, SCHEMA_MESSAGE_MAX);
    buffer_text(&what, "null, boolean, number, integer, string, array or object, or an array of such names");
    if (value_is(name, TN_STRING)) {
        size_t length;
        const char *text = value_chars(name, &length);
        struct nearest near;
        nearest_init(&near, text, length);
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            nearest_add_candidate(&near, types[i].name, strlen(types[i].name));
        if (near.best) buffer_format(&what, "; did you mean \"%s\"?", near.best);
    }
    keyword_expected(compiler, node, keyword, name, buffer_cstr(&what));
    buffer_finish(&what);
    return false;
}

static bool keyword_add_type(struct compiler *compiler, struct node *node, const char *keyword, tn_value name) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!value_text_is(name, types[i].name)) continue;
        node->kinds |= types[i].kinds;
        if (types[i].kinds == 1u << TN_INT) node->integral = true;
        return true;
    }
    return fail_type(compiler, node, keyword, name);
}

COMPILE_FUNCTION(compile_type) {
    node->kinds = 0;
    if (!value_is(value, TN_ARRAY)) return keyword_add_type(compiler, node, keyword->name, value);
    for (size_t i = 0; i < value_count(value); i++)
        if (!keyword_add_type(compiler, node, keyword->name, value_at(value, i))) return false;
    return value_count(value) > 0 || fail_type(compiler, node, keyword->name, value);
}

COMPILE_FUNCTION(compile_enum) {
    if (!value_is(value, TN_ARRAY)) return keyword_expected(compiler, node, keyword->name, value, "an array of values");
    if (!compile_count_entries(compiler, node, value_count(value))) return false;
    struct check *check = keyword_add_check(node, keyword, value, check_enum);
    check->as.values.strings = value_object();
    check->as.values.others = value_array();
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value item = value_at(value, i);
        if (value_is(item, TN_STRING))
            check->as.values.strings = value_set_key_take(check->as.values.strings, value_ref(item), value_bool(true));
        else
            check->as.values.others = value_push_take(check->as.values.others, value_ref(item));
    }
    return true;
}

COMPILE_FUNCTION(compile_const) {
    (void)compiler;
    keyword_add_check(node, keyword, value, check_const);
    return true;
}

COMPILE_FUNCTION(compile_ref) {
    bool dynamic;
    struct node *target = compile_reference(compiler, node, keyword->name, value, &dynamic);
    if (!target) return false;
    keyword_add_check(node, keyword, value, check_ref)->as.node = target;
    return true;
}

COMPILE_FUNCTION(compile_dynamic_ref) {
    bool dynamic;
    struct node *target = compile_reference(compiler, node, keyword->name, value, &dynamic);
    if (!target) return false;
    struct check *check = keyword_add_check(node, keyword, value, check_dynamic_ref);
    check->as.dynamic.node = target;
    check->as.dynamic.name = dynamic ? value_chars(value_get(target->value, "$dynamicAnchor"), NULL) : NULL;
    return true;
}

static bool compile_list(struct compiler *compiler, struct node *node, const struct keyword *keyword, tn_value value,
                         check_fn run) {
    return keyword_children(compiler, node, keyword->name, value,
                            &keyword_add_check(node, keyword, value, run)->as.nodes);
}

COMPILE_FUNCTION(compile_all_of) { return compile_list(compiler, node, keyword, value, check_all_of); }
COMPILE_FUNCTION(compile_any_of) { return compile_list(compiler, node, keyword, value, check_any_of); }
COMPILE_FUNCTION(compile_one_of) { return compile_list(compiler, node, keyword, value, check_one_of); }

COMPILE_FUNCTION(compile_not) {
    return keyword_child(compiler, node, keyword->name, NULL,
                         &keyword_add_check(node, keyword, value, check_not)->as.node);
}

COMPILE_FUNCTION(compile_if) {
    bool then = value_get(node->value, "then"), otherwise = value_get(node->value, "else");
    struct check *check = keyword_add_check(node, keyword, value, check_if);
    return keyword_child(compiler, node, "if", NULL, &check->as.branch.condition) &&
           (!then || keyword_child(compiler, node, "then", NULL, &check->as.branch.then)) &&
           (!otherwise || keyword_child(compiler, node, "else", NULL, &check->as.branch.otherwise));
}

/* ---- Of numbers and strings ------------------------------------------------------------------------------------ */

static bool compile_bound(struct compiler *compiler, struct node *node, const struct keyword *keyword, tn_value value,
                          check_fn run) {
    if (!value_is_number(value)) return keyword_expected(compiler, node, keyword->name, value, "a number");
    keyword_add_check(node, keyword, value, run);
    return true;
}

COMPILE_FUNCTION(compile_minimum) { return compile_bound(compiler, node, keyword, value, check_minimum); }
COMPILE_FUNCTION(compile_maximum) { return compile_bound(compiler, node, keyword, value, check_maximum); }
COMPILE_FUNCTION(compile_over) { return compile_bound(compiler, node, keyword, value, check_exclusive_minimum); }
COMPILE_FUNCTION(compile_under) { return compile_bound(compiler, node, keyword, value, check_exclusive_maximum); }

COMPILE_FUNCTION(compile_multiple_of) {
    if (!value_is_number(value) || value_to_double(value) <= 0)
        return keyword_expected(compiler, node, keyword->name, value, "a number above 0");
    keyword_add_check(node, keyword, value, check_multiple_of)->as.decimal = decimal_of(value);
    return true;
}

static bool compile_count(struct compiler *compiler, struct node *node, const struct keyword *keyword, tn_value value,
                          check_fn run) {
    uint64_t count;
    if (!count_of(compiler, node, keyword->name, value, &count)) return false;
    keyword_add_check(node, keyword, value, run)->as.count = count;
    return true;
}

COMPILE_FUNCTION(compile_min_length) { return compile_count(compiler, node, keyword, value, check_min_length); }
COMPILE_FUNCTION(compile_max_length) { return compile_count(compiler, node, keyword, value, check_max_length); }
COMPILE_FUNCTION(compile_min_items) { return compile_count(compiler, node, keyword, value, check_min_items); }
COMPILE_FUNCTION(compile_max_items) { return compile_count(compiler, node, keyword, value, check_max_items); }
COMPILE_FUNCTION(compile_min_members) { return compile_count(compiler, node, keyword, value, check_min_properties); }
COMPILE_FUNCTION(compile_max_members) { return compile_count(compiler, node, keyword, value, check_max_properties); }

static bool compile_regex(struct compiler *compiler, const struct node *node, const char *keyword, tn_value key,
                          tn_value text, struct pattern **out) {
    char reason[REASON_SIZE];
    size_t length;
    const char *chars = value_chars(text, &length);
    if (pattern_new(chars, length, out, reason, sizeof reason)) {
        pattern_quicken(*out, chars, length, &compiler->quick);
        return true;
    }
    return compile_fail(compiler, node, keyword, key, "found \"%.100s\", expected a regular expression of ECMA-262: %s",
                        chars, reason);
}

COMPILE_FUNCTION(compile_pattern) {
    if (!value_is(value, TN_STRING)) return keyword_expected(compiler, node, keyword->name, value, "a string");
    struct pattern *pattern;
    if (!compile_regex(compiler, node, keyword->name, NULL, value, &pattern)) return false;
    keyword_add_check(node, keyword, value, check_pattern)->as.pattern = pattern;
    return true;
}

COMPILE_FUNCTION(compile_format) {
    if (!value_is(value, TN_STRING)) return keyword_expected(compiler, node, keyword->name, value, "a string");
    format_fn format = format_find(value_chars(value, NULL));
    if (format && (compiler->schema->assert_format || (node->resource->dialect & DIALECT_FORMAT)))
        keyword_add_check(node, keyword, value, check_format)->as.format = format;
    return true;
}

/* ---- Of arrays ------------------------------------------------------------------------------------------------- */

/* items, prefixItems and, in older drafts, additionalItems are one check. */
COMPILE_FUNCTION(compile_items) {
    if (has(node, check_items)) return true;
    bool legacy = node->resource->dialect & DIALECT_LEGACY;
    tn_value items = value_get(node->value, "items");
    tn_value prefix = legacy ? items : value_get(node->value, "prefixItems");
    const char *prefix_name = legacy ? "items" : "prefixItems", *rest_name = "items";
    if (legacy && !value_is(items, TN_ARRAY)) prefix = NULL;
    if (!legacy && value_is(items, TN_ARRAY))
        return compile_fail(compiler, node, "items", NULL, "found an array, expected a schema; use `prefixItems`");
    struct check *check = keyword_add_check(node, keyword, value, check_items);
    if (legacy && prefix && value_count(prefix) == 0) prefix = NULL;
    if (prefix && !keyword_children(compiler, node, prefix_name, prefix, &check->as.items.prefix)) return false;
    if (legacy && value_is(items, TN_ARRAY)) rest_name = "additionalItems";
    if (legacy && !items) return true; /* additionalItems without items has no effect */
    return !value_get(node->value, rest_name) || keyword_child(compiler, node, rest_name, NULL, &check->as.items.rest);
}

COMPILE_FUNCTION(compile_contains) {
    struct check *check = keyword_add_check(node, keyword, value, check_contains);
    check->as.contains.least = 1;
    check->as.contains.most = UINT64_MAX;
    tn_value least = value_get(node->value, "minContains"), most = value_get(node->value, "maxContains");
    if (!(node->resource->dialect & DIALECT_VALIDATION)) least = most = NULL;
    return keyword_child(compiler, node, "contains", NULL, &check->as.contains.node) &&
           (!least || count_of(compiler, node, "minContains", least, &check->as.contains.least)) &&
           (!most || count_of(compiler, node, "maxContains", most, &check->as.contains.most));
}

COMPILE_FUNCTION(compile_unique) {
    if (!value_is(value, TN_BOOL)) return keyword_expected(compiler, node, keyword->name, value, "true or false");
    if (value_to_bool(value)) keyword_add_check(node, keyword, value, check_unique);
    return true;
}

/* ---- Of objects ------------------------------------------------------------------------------------------------ */

static bool compile_named(struct compiler *compiler, struct node *node, tn_value value, struct members *members) {
    size_t count = value_count(value);
    if (!keyword_is_object(compiler, node, "properties", value)) return false;
    members->index = value_object_reserve(count);
    members->named.at = mem_array(NULL, count ? count : 1, sizeof(struct node *));
    for (size_t i = 0; i < count; i++, members->named.count++) {
        tn_value name = value_key_at(value, i);
        if (!keyword_child(compiler, node, "properties", name, &members->named.at[i])) return false;
        members->index = value_set_key_take(members->index, value_ref(name), value_int((int64_t)i));
    }
    return true;
}

static bool compile_patterned(struct compiler *compiler, struct node *node, tn_value value, struct members *members) {
    size_t count = value_count(value);
    if (!keyword_is_object(compiler, node, "patternProperties", value)) return false;
    members->patterned.at = mem_array(NULL, count ? count : 1, sizeof(struct node *));
    members->patterns = mem_array(NULL, count ? count : 1, sizeof(struct pattern *));
    for (size_t i = 0; i < count; i++) {
        tn_value text = value_key_at(value, i);
        struct node **target = &members->patterned.at[i];
        if (!keyword_child(compiler, node, "patternProperties", text, target) ||
            !compile_regex(compiler, node, "patternProperties", text, text, &members->patterns[i]))
            return false;
        members->patterned.count++;
    }
    return true;
}

COMPILE_FUNCTION(compile_members) {
    if (has(node, check_members)) return true;
    struct members *members = mem_zalloc(sizeof *members);
    struct check *check = keyword_add_check(node, keyword, value, check_members);
    check->as.members = members;
    tn_value named = value_get(node->value, "properties"), patterned = value_get(node->value, "patternProperties");
    tn_value additional = value_get(node->value, "additionalProperties");
    return (!named || compile_named(compiler, node, named, members)) &&
           (!patterned || compile_patterned(compiler, node, patterned, members)) &&
           (!additional || keyword_child(compiler, node, "additionalProperties", NULL, &members->additional));
}

COMPILE_FUNCTION(compile_names) {
    return keyword_child(compiler, node, keyword->name, NULL,
                         &keyword_add_check(node, keyword, value, check_names)->as.node);
}

static bool keyword_is_names(tn_value value) {
    if (!value_is(value, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(value); i++)
        if (!value_is(value_at(value, i), TN_STRING)) return false;
    return true;
}

COMPILE_FUNCTION(compile_required) {
    if (!keyword_is_names(value))
        return keyword_expected(compiler, node, keyword->name, value, "an array of property names");
    if (!compile_count_entries(compiler, node, value_count(value))) return false;
    keyword_add_check(node, keyword, value, check_required);
    return true;
}

/* dependentRequired, dependentSchemas, and dependencies, which combines both. */
COMPILE_FUNCTION(compile_dependents) {
    if (!keyword_is_object(compiler, node, keyword->name, value)) return false;
    size_t count = value_count(value);
    struct check *check = keyword_add_check(node, keyword, value, check_dependents);
    struct dependent *at = check->as.dependents.at = mem_array(NULL, count ? count : 1, sizeof *at);
    for (size_t i = 0; i < count; i++, check->as.dependents.count++) {
        tn_value name = value_key_at(value, i), what = value_value_at(value, i);
        at[i] = (struct dependent){name, NULL, NULL};
        if (keyword_is_names(what) && keyword->shape != SHAPE_MAP) {
            at[i].required = what;
            if (!compile_count_entries(compiler, node, value_count(what))) return false;
        } else if (keyword->shape == SHAPE_NONE) {
            return compile_fail(compiler, node, keyword->name, name, "expected an array of property names");
        } else if (!keyword_child(compiler, node, keyword->name, name, &at[i].node)) {
            return false;
        }
    }
    return true;
}

static bool compile_last(struct compiler *compiler, struct node *node, const struct keyword *keyword, tn_value value,
                         check_fn run) {
    node->unevaluated = true;
    return keyword_child(compiler, node, keyword->name, NULL, &keyword_add_check(node, keyword, value, run)->as.node);
}

COMPILE_FUNCTION(compile_last_items) { return compile_last(compiler, node, keyword, value, check_unevaluated_items); }
COMPILE_FUNCTION(compile_last_members) {
    return compile_last(compiler, node, keyword, value, check_unevaluated_properties);
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define C DIALECT_CORE
#define A DIALECT_APPLICATOR
#define V DIALECT_VALIDATION
#define U DIALECT_UNEVALUATED
#define L DIALECT_LEGACY
static const struct keyword keywords[] = {
    {"type",                  V, 0, SHAPE_NONE,          GROUP_ANY,    compile_type},
    {"enum",                  V, 0, SHAPE_NONE,          GROUP_ANY,    compile_enum},
    {"const",                 V, 0, SHAPE_NONE,          GROUP_ANY,    compile_const},
    {"minimum",               V, 0, SHAPE_NONE,          GROUP_NUMBER, compile_minimum},
    {"maximum",               V, 0, SHAPE_NONE,          GROUP_NUMBER, compile_maximum},
    {"exclusiveMinimum",      V, 0, SHAPE_NONE,          GROUP_NUMBER, compile_over},
    {"exclusiveMaximum",      V, 0, SHAPE_NONE,          GROUP_NUMBER, compile_under},
    {"multipleOf",            V, 0, SHAPE_NONE,          GROUP_NUMBER, compile_multiple_of},
    {"minLength",             V, 0, SHAPE_NONE,          GROUP_STRING, compile_min_length},
    {"maxLength",             V, 0, SHAPE_NONE,          GROUP_STRING, compile_max_length},
    {"pattern",               V, 0, SHAPE_NONE,          GROUP_STRING, compile_pattern},
    {"format",                C, 0, SHAPE_NONE,          GROUP_STRING, compile_format},
    {"minItems",              V, 0, SHAPE_NONE,          GROUP_ARRAY,  compile_min_items},
    {"maxItems",              V, 0, SHAPE_NONE,          GROUP_ARRAY,  compile_max_items},
    {"uniqueItems",           V, 0, SHAPE_NONE,          GROUP_ARRAY,  compile_unique},
    {"prefixItems",           A, L, SHAPE_LIST,          GROUP_ARRAY,  compile_items},
    {"items",                 A, 0, SHAPE_ONE_OR_LIST,   GROUP_ARRAY,  compile_items},
    {"additionalItems",       L, 0, SHAPE_ONE,           GROUP_ARRAY,  compile_items},
    {"contains",              A, 0, SHAPE_ONE,           GROUP_ARRAY,  compile_contains},
    {"minProperties",         V, 0, SHAPE_NONE,          GROUP_OBJECT, compile_min_members},
    {"maxProperties",         V, 0, SHAPE_NONE,          GROUP_OBJECT, compile_max_members},
    {"required",              V, 0, SHAPE_NONE,          GROUP_OBJECT, compile_required},
    {"properties",            A, 0, SHAPE_MAP,           GROUP_OBJECT, compile_members},
    {"patternProperties",     A, 0, SHAPE_MAP,           GROUP_OBJECT, compile_members},
    {"additionalProperties",  A, 0, SHAPE_ONE,           GROUP_OBJECT, compile_members},
    {"propertyNames",         A, 0, SHAPE_ONE,           GROUP_OBJECT, compile_names},
    {"dependentRequired",     V, 0, SHAPE_NONE,          GROUP_OBJECT, compile_dependents},
    {"dependentSchemas",      A, 0, SHAPE_MAP,           GROUP_OBJECT, compile_dependents},
    {"dependencies",          A, 0, SHAPE_MAP_OR_NAMES,  GROUP_OBJECT, compile_dependents},
    {"$ref",                  C, 0, SHAPE_NONE,          GROUP_ANY,    compile_ref},
    {"$dynamicRef",           C, L, SHAPE_NONE,          GROUP_ANY,    compile_dynamic_ref},
    {"$recursiveRef",         L, 0, SHAPE_NONE,          GROUP_ANY,    compile_ref},
    {"allOf",                 A, 0, SHAPE_LIST,          GROUP_ANY,    compile_all_of},
    {"anyOf",                 A, 0, SHAPE_LIST,          GROUP_ANY,    compile_any_of},
    {"oneOf",                 A, 0, SHAPE_LIST,          GROUP_ANY,    compile_one_of},
    {"not",                   A, 0, SHAPE_ONE,           GROUP_ANY,    compile_not},
    {"if",                    A, 0, SHAPE_ONE,           GROUP_ANY,    compile_if},
    {"then",                  A, 0, SHAPE_ONE,           GROUP_ANY,    NULL},
    {"else",                  A, 0, SHAPE_ONE,           GROUP_ANY,    NULL},
    {"unevaluatedItems",      U, 0, SHAPE_ONE,           GROUP_LAST,   compile_last_items},
    {"unevaluatedProperties", U, 0, SHAPE_ONE,           GROUP_LAST,   compile_last_members},
    {"$defs",                 C, 0, SHAPE_MAP,           GROUP_ANY,    NULL},
    {"definitions",           C, 0, SHAPE_MAP,           GROUP_ANY,    NULL},
    {"contentSchema",         C, 0, SHAPE_ONE,           GROUP_ANY,    NULL},
};
/* clang-format on */

const struct keyword *keyword_find(tn_value name, uint32_t dialect) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        const struct keyword *keyword = &keywords[i];
        if (!(keyword->dialect & dialect) || (keyword->not_in & dialect)) continue;
        if (value_text_is(name, keyword->name)) return keyword;
    }
    return NULL;
}

static int compare_checks(const void *a, const void *b) {
    const struct check *left = a, *right = b;
    return left->group != right->group ? left->group - right->group : left->order - right->order;
}

bool keywords_compile(struct compiler *compiler, struct node *node) {
    node->kinds = KINDS_ALL;
    if (value_is(node->value, TN_BOOL)) {
        if (!value_to_bool(node->value)) node->kinds = 0;
        return true;
    }
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        const struct keyword *keyword = &keywords[i];
        uint32_t dialect = node->resource->dialect;
        if (!keyword->compile || !(keyword->dialect & dialect) || (keyword->not_in & dialect)) continue;
        tn_value value = value_get(node->value, keyword->name);
        if (value && !keyword->compile(compiler, node, keyword, value)) return false;
    }
    size_t count = node->check_count;
    if (count) qsort(node->checks, count, sizeof *node->checks, compare_checks);
    size_t next = 0;
    for (int group = 0; group <= GROUP_COUNT; group++) {
        while (next < count && node->checks[next].group < group) next++;
        node->start[group] = (uint8_t)next;
    }
    return true;
}

/* ---- The end of it --------------------------------------------------------------------------------------------- */

static void members_free(struct members *members) {
    value_unref(members->index);
    for (size_t i = 0; i < members->patterned.count; i++) pattern_free(members->patterns[i]);
    mem_free(members->patterns);
    mem_free(members->patterned.at);
    mem_free(members->named.at);
    mem_free(members);
}

/* The operands of an incomplete check are zero. */
static void keyword_check_finish(struct check *check) {
    if (check->run == check_members) {
        members_free(check->as.members);
    } else if (check->run == check_enum) {
        value_unref(check->as.values.strings);
        value_unref(check->as.values.others);
    } else if (check->run == check_pattern) {
        pattern_free(check->as.pattern);
    } else if (check->run == check_items) {
        mem_free(check->as.items.prefix.at);
    } else if (check->run == check_dependents) {
        mem_free(check->as.dependents.at);
    } else if (check->run == check_all_of || check->run == check_any_of || check->run == check_one_of) {
        mem_free(check->as.nodes.at);
    }
}

static void node_free(struct node *node) {
    for (size_t i = 0; i < node->check_count; i++) keyword_check_finish(&node->checks[i]);
    mem_free(node->checks);
    mem_free(node->pointer);
    mem_free(node);
}

void schema_unref(struct schema *schema) {
    if (!schema || atomic_fetch_sub_explicit(&schema->references, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < schema->node_count; i++) node_free(schema->nodes[i]);
    for (size_t i = 0; i < schema->resource_count; i++) {
        mem_free(schema->resources[i]->uri);
        mem_free(schema->resources[i]->dynamic);
        mem_free(schema->resources[i]);
    }
    for (size_t i = 0; i < schema->document_count; i++) {
        mem_free(schema->documents[i].uri);
        value_unref(schema->documents[i].root);
    }
    schema_plan_free(schema);
    pattern_scratch_free(atomic_load(&schema->spare->scratch));
    mem_free(schema->spare);
    mem_free(schema->nodes);
    mem_free(schema->resources);
    mem_free(schema->documents);
    mem_free(schema);
}

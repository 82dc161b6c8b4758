/*
 * validate.c - runs a schema over an instance: nodes, in-place applicators, and references.
 *
 * One evaluator serves three purposes. If only the result is needed, it stops at the first failure and uses no memory
 * but the stack. If errors are needed, it continues and reports them. With a visitor it continues and shows each node
 * with its place. If the result of a branch decides how to continue (anyOf, oneOf, not, if), the branch is first
 * evaluated without reporting, so that unused branches produce neither errors nor visits.
 *
 * Evaluated properties and items are tracked only below a node that needs them (unevaluated…); elsewhere marks are
 * NULL. A failed subschema keeps its marks if its failure fails the whole schema, so that a wrong value is not reported
 * again as unevaluated.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adl/schema/plan.h"
#include "adl/value/memory.h"

/* ---- Runs ------------------------------------------------------------------------------------------------------ */

void run_init(struct run *run, const struct schema *schema) {
    *run = (struct run){
        .schema = schema, .work = schema->work, .nesting = SCHEMA_NESTING_MAX, .defaults = SCHEMA_DEFAULTS_MAX};
}

void run_finish(struct run *run) {
    if (run->scratch) pattern_scratch_free(atomic_exchange(&run->schema->spare->scratch, run->scratch));
}

bool exhausted(struct run *run, const struct place *place, const char *what) {
    if (run->status != TN_OK) return false;
    run->status = TN_LIMIT;
    run->errors = run->report; /* report this error even if a branch is only being tried */
    const struct finding finding = {.node = run->schema->root, .keyword = "", .place = place};
    return fail_finding(run, &finding, what);
}

bool spend(struct run *run, const struct place *place, uint64_t amount) {
    if (run->work >= amount) {
        run->work -= amount;
        return true;
    }
    run->work = 0;
    return exhausted(run, place,
                     "validating this takes more work than is allowed; make the schema or the value smaller");
}

/* ---- Marks ----------------------------------------------------------------------------------------------------- */

static void marks_init(struct marks *marks, tn_value instance) {
    marks->all = false;
    marks->words = (value_count(instance) + 63) / 64;
    marks->bits = marks->words <= MARKS_INLINE ? marks->room : mem_alloc(marks->words * sizeof *marks->bits);
    memset(marks->bits, 0, marks->words * sizeof *marks->bits);
}

static void marks_finish(struct marks *marks) {
    if (marks->bits != marks->room) mem_free(marks->bits);
}

static void marks_merge(struct marks *into, const struct marks *from) {
    into->all = into->all || from->all;
    for (size_t i = 0; i < into->words; i++) into->bits[i] |= from->bits[i];
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

static bool kind_allowed(const struct node *node, tn_value instance, int kind) {
    if (node->kinds >> kind & 1) return true;
    if (kind != TN_DOUBLE || !node->integral) return false;
    double number = value_to_double(instance);
    return floor(number) == number;
}

static bool run_group(struct run *run, const struct node *node, enum group group, tn_value instance,
                      const struct place *place, struct marks *marks) {
    bool good = true;
    for (size_t i = node->start[group]; i < node->start[group + 1]; i++) {
        const struct check *check = &node->checks[i];
        if (check->run(run, node, check, instance, place, marks)) continue;
        good = false;
        if (!run_thorough(run) || run->status != TN_OK) return false;
    }
    return good;
}

static bool run_checks(struct run *run, const struct node *node, tn_value instance, int kind, const struct place *place,
                       struct marks *marks) {
    static const uint8_t groups[TN_OBJECT + 1] = {
        [TN_INT] = GROUP_NUMBER + 1,  [TN_DOUBLE] = GROUP_NUMBER + 1, [TN_STRING] = GROUP_STRING + 1,
        [TN_ARRAY] = GROUP_ARRAY + 1, [TN_OBJECT] = GROUP_OBJECT + 1,
    };
    bool good = true;
    if (groups[kind]) good = run_group(run, node, groups[kind] - 1u, instance, place, marks);
    if (!good && !run_thorough(run)) return false;
    return run_group(run, node, GROUP_ANY, instance, place, marks) && good;
}

static bool run_tracking(struct run *run, const struct node *node, tn_value instance, int kind,
                         const struct place *place, struct marks *outer) {
    struct marks own; /* sibling nodes do not share marks */
    marks_init(&own, instance);
    bool good = run_checks(run, node, instance, kind, place, &own);
    if ((good || run_thorough(run)) && run->status == TN_OK)
        good = run_group(run, node, GROUP_LAST, instance, place, &own) && good;
    if (outer) marks_merge(outer, &own);
    marks_finish(&own);
    return good;
}

bool run_tracked(struct run *run, const struct node *node, tn_value instance) {
    struct scope scope = {run->scope, node->resource};
    const struct scope *outer = run->scope;
    run->scope = &scope;
    bool good = run_tracking(run, node, instance, value_kind(instance), NULL, NULL);
    run->scope = outer;
    return good;
}

bool endless(struct run *run, const struct place *place) {
    char text[200];
    snprintf(text, sizeof text,
             "the schema applies more than %u subschemas within each other here: it refers to itself without end, "
             "or the value is too deep",
             SCHEMA_NESTING_MAX);
    return exhausted(run, place, text);
}

bool evaluate(struct run *run, const struct node *node, tn_value instance, const struct place *place,
              struct marks *marks) {
    if (!marks && run_is_plain(run)) return plan_holds(run, node, instance);
    if (run->nesting == 0) return endless(run, place);
    if (!spend(run, place, 1)) return false;
    if (run->visitor) run->visitor->visit(run->visitor, node, instance, place);
    int kind = value_kind(instance);
    bool good = kind_allowed(node, instance, kind);
    if (!good) {
        fail_kind(run, node, instance, place);
        if (!run->visitor) return false; /* further errors of this value would only distract */
    }
    if (!node->checks) return good;
    struct scope scope = {run->scope, node->resource};
    const struct scope *outer = run->scope;
    if (!outer || outer->resource != node->resource) run->scope = &scope;
    run->nesting--;
    if (node->unevaluated && kind >= TN_ARRAY)
        good = run_tracking(run, node, instance, kind, place, marks) && good;
    else
        good = run_checks(run, node, instance, kind, place, marks) && good;
    run->nesting++;
    run->scope = outer;
    return good;
}

bool descend(struct run *run, const struct node *node, tn_value instance, const struct place *place) {
    if (run->visitor && run->visitor->enters && !run->visitor->enters(run->visitor, place)) return true;
    return evaluate(run, node, instance, place, NULL);
}

bool holds(struct run *run, const struct node *node, tn_value instance, const struct place *place,
           struct marks *marks) {
    struct schema_errors *errors = run->errors;
    struct visitor *visitor = run->visitor;
    run->errors = NULL;
    run->visitor = NULL;
    bool good = evaluate(run, node, instance, place, marks);
    run->errors = errors;
    run->visitor = visitor;
    return good;
}

/* ---- In place -------------------------------------------------------------------------------------------------- */

CHECK_FUNCTION(check_ref) {
    (void)node;
    return evaluate(run, check->as.node, instance, place, marks);
}

CHECK_FUNCTION(check_dynamic_ref) {
    (void)node;
    const struct node *target = check->as.dynamic.node;
    if (check->as.dynamic.name) {
        /* Use the outermost resource on the way that has such an anchor. */
        for (const struct scope *scope = run->scope; scope; scope = scope->parent) {
            const struct resource *resource = scope->resource;
            for (size_t i = 0; i < resource->dynamic_count; i++)
                if (strcmp(resource->dynamic[i].name, check->as.dynamic.name) == 0) target = resource->dynamic[i].node;
        }
    }
    return evaluate(run, target, instance, place, marks);
}

CHECK_FUNCTION(check_all_of) {
    (void)node;
    bool good = true;
    for (size_t i = 0; i < check->as.nodes.count; i++) {
        if (evaluate(run, check->as.nodes.at[i], instance, place, marks)) continue;
        good = false;
        if (!run_thorough(run) || run->status != TN_OK) return false;
    }
    return good;
}

/* Returns the result of a branch; its marks are kept only if it matches. */
static bool branch_holds(struct run *run, const struct node *branch, tn_value instance, const struct place *place,
                         struct marks *marks) {
    if (!marks) return holds(run, branch, instance, place, NULL);
    struct marks own;
    marks_init(&own, instance);
    bool good = holds(run, branch, instance, place, &own);
    if (good) marks_merge(marks, &own);
    marks_finish(&own);
    return good;
}

CHECK_FUNCTION(check_any_of) {
    bool good = false;
    for (size_t i = 0; i < check->as.nodes.count; i++) {
        const struct node *branch = check->as.nodes.at[i];
        if (!branch_holds(run, branch, instance, place, marks)) {
            if (run->status != TN_OK) return false;
            continue;
        }
        good = true;
        if (run->visitor) evaluate(run, branch, instance, place, NULL);
        if (!marks && !run->visitor) return true;
    }
    return good || fail_closest(run, node, check, instance, place, marks);
}

CHECK_FUNCTION(check_one_of) {
    size_t first = 0, second = 0, count = 0;
    for (size_t i = 0; i < check->as.nodes.count; i++) {
        const struct node *branch = check->as.nodes.at[i];
        if (!branch_holds(run, branch, instance, place, marks)) {
            if (run->status != TN_OK) return false;
            continue;
        }
        if (run->visitor) evaluate(run, branch, instance, place, NULL);
        if (++count == 1) first = i;
        if (count == 2) second = i;
        if (count == 2 && !run->visitor) break;
    }
    if (count == 0) return fail_closest(run, node, check, instance, place, marks);
    if (count == 1) return true;
    return fail(run, node, check, instance, place,
                "matches two alternatives of `oneOf` (number %zu and number %zu), expected exactly one", first + 1,
                second + 1);
}

/* Writes "`a` and `b`" if the schema only requires properties, which the instance therefore has; else returns false. */
static bool describe_required_only(struct buffer *out, tn_value schema) {
    tn_value names = value_is(schema, TN_OBJECT) && value_count(schema) == 1 ? value_get(schema, "required") : NULL;
    size_t count = value_is(names, TN_ARRAY) ? value_count(names) : 0;
    for (size_t i = 0; i < count; i++)
        buffer_format(out, "%s`%s`",
                      i == 0          ? ""
                      : i + 1 < count ? ", "
                                      : " and ",
                      value_chars(value_at(names, i), NULL));
    return count > 1;
}

CHECK_FUNCTION(check_not) {
    (void)marks;
    if (!holds(run, check->as.node, instance, place, NULL)) return run->status == TN_OK;
    if (!run->errors) return false;
    struct buffer found, what;
    buffer_init(&found, SCHEMA_MESSAGE_MAX);
    buffer_init(&what, SCHEMA_MESSAGE_MAX);
    if (describe_required_only(&what, check->value)) {
        fail(run, node, check, instance, place, "found %s together, expected only one of them", buffer_cstr(&what));
    } else {
        buffer_clear(&what);
        describe(&found, instance);
        describe_short(&what, check->value);
        fail(run, node, check, instance, place, "found %s, expected anything but what matches %s", buffer_cstr(&found),
             buffer_cstr(&what));
    }
    buffer_finish(&found);
    buffer_finish(&what);
    return false;
}

CHECK_FUNCTION(check_if) {
    (void)node;
    bool condition = branch_holds(run, check->as.branch.condition, instance, place, marks);
    if (run->status != TN_OK) return false;
    if (condition && run->visitor) evaluate(run, check->as.branch.condition, instance, place, NULL);
    const struct node *next = condition ? check->as.branch.then : check->as.branch.otherwise;
    return !next || evaluate(run, next, instance, place, marks);
}

/* ---- The call -------------------------------------------------------------------------------------------------- */

int32_t schema_validate(const struct schema *schema, tn_value instance, struct schema_errors *errors) {
    struct run run;
    run_init(&run, schema);
    bool good = plan_holds(&run, schema->root, instance);
    if (!good && errors) { /* run the checks, which say what is wrong; a limit is reached again */
        run_finish(&run);
        run_init(&run, schema);
        run.errors = run.report = errors;
        good = evaluate(&run, schema->root, instance, NULL, NULL);
    }
    run_finish(&run);
    if (run.status != TN_OK) return run.status;
    return good ? TN_OK : TN_INVALID;
}

/*
 * closest.c - finds the alternative that was probably meant if none matches.
 *
 * Each branch of the anyOf or oneOf is validated into a separate list. The distances, from far to near: a branch that
 * expects another kind of value; one whose const or enum names another variant (`type: "b"`); one with an error at this
 * place; one with an error deeper down, because the path to it was right. The nearest branch's errors are reported as
 * if it were the only branch; if it is a choice of values, the types of the others are added. Branches that differ only
 * in the expected type or values are merged into one sentence. If several branches are equally near, one error names
 * the first problem of each.
 */
#include <string.h>

#include "adl/schema/internal.h"
#include "adl/value/memory.h"

#define BRANCH_ERRORS_MAX 16u /* errors of a branch that are counted */
#define NAMED_MAX         3u  /* equally near branches that a message names */

/* The distance that each kind of mistake adds. */
#define FAR_KIND    1000u
#define FAR_VARIANT 100u
#define FAR_VALUE   20u
#define FAR_HERE    4u
#define FAR_DEEPER  1u

struct attempt {
    struct schema_errors errors;
    unsigned distance;
};

static bool is_choice(const struct schema_error *error) {
    return strcmp(error->keyword, "const") == 0 || strcmp(error->keyword, "enum") == 0;
}

static bool is_kind(const struct schema_error *error) {
    return error->kinds || strcmp(error->keyword, "type") == 0 || strcmp(error->keyword, "false") == 0;
}

/* True if the pointer below the anyOf is a single step. */
static bool pointer_is_member(const char *below) { return *below == '/' && !strchr(below + 1, '/'); }

static unsigned distance_of(const struct schema_errors *errors, const char *here) {
    size_t start = strlen(here);
    unsigned distance = 0;
    for (size_t i = 0; i < errors->count; i++) {
        const struct schema_error *error = &errors->items[i];
        const char *below = error->pointer + start;
        if (*below == 0)
            distance += is_kind(error) ? FAR_KIND : is_choice(error) ? FAR_VALUE : FAR_HERE;
        else if (pointer_is_member(below) && !error->on_key && is_choice(error))
            distance += FAR_VARIANT;
        else if (pointer_is_member(below) && error->on_key)
            distance += FAR_HERE;
        else
            distance += FAR_DEEPER;
    }
    return distance;
}

static void attempt_make(struct attempt *attempt, struct run *run, const struct node *branch, tn_value instance,
                         const struct place *place, const char *here, struct marks *marks) {
    struct schema_errors *errors = run->errors;
    struct visitor *visitor = run->visitor;
    errors_init(&attempt->errors, BRANCH_ERRORS_MAX);
    run->errors = &attempt->errors;
    run->visitor = NULL;
    evaluate(run, branch, instance, place, marks);
    run->errors = errors;
    run->visitor = visitor;
    attempt->distance = distance_of(&attempt->errors, here);
}

/* Returns the branch's error if it is its only one and refers to a value's kind or choice of values. */
static struct schema_error *only_error(const struct attempt *attempt, bool kind) {
    if (attempt->errors.count != 1) return NULL;
    struct schema_error *error = &attempt->errors.items[0];
    return (kind ? error->kinds || strcmp(error->keyword, "type") == 0 : is_choice(error)) ? error : NULL;
}

/* Returns the error about the choice of values at `pointer`. */
static struct schema_error *choice_at(const struct attempt *attempt, const char *pointer) {
    for (size_t i = 0; i < attempt->errors.count; i++) {
        struct schema_error *error = &attempt->errors.items[i];
        if (is_choice(error) && !error->on_key && strcmp(error->pointer, pointer) == 0) return error;
    }
    return NULL;
}

/*
 * If all branches report the same value for its kind or its choice, stores these errors, one per branch, in `out`. A
 * choice at a member distinguishes variants, so it decides even if the branches have further errors.
 */
static bool same_complaint(const struct attempt *attempts, size_t count, size_t best, const char *here,
                           struct schema_error **out) {
    bool kind = only_error(&attempts[best], true) != NULL;
    struct schema_error *first = kind ? only_error(&attempts[best], true) : only_error(&attempts[best], false);
    bool only = first != NULL;
    for (size_t i = 0; !first && i < attempts[best].errors.count; i++) {
        struct schema_error *error = &attempts[best].errors.items[i];
        if (is_choice(error) && !error->on_key && pointer_is_member(error->pointer + strlen(here))) first = error;
    }
    if (!first) return false;
    for (size_t i = 0; i < count; i++) {
        out[i] = only && kind ? only_error(&attempts[i], true) : choice_at(&attempts[i], first->pointer);
        if (!out[i] || strcmp(out[i]->pointer, first->pointer) != 0) return false;
    }
    return true;
}

static tn_value add_once(tn_value list, tn_value item) {
    for (size_t i = 0; i < value_count(list); i++)
        if (value_equal(value_at(list, i), item)) return list;
    return value_push_take(list, value_ref(item));
}

/* The values or types that all branches together accept; a new array. */
static tn_value closest_merge(struct schema_error *const *complaints, size_t count) {
    tn_value list = value_array();
    for (size_t i = 0; i < count; i++) {
        tn_value expected = complaints[i]->expected;
        bool several = value_is(expected, TN_ARRAY) && strcmp(complaints[i]->keyword, "const") != 0;
        if (!several) list = add_once(list, expected);
        for (size_t j = 0; several && j < value_count(expected); j++) list = add_once(list, value_at(expected, j));
    }
    return list;
}

/* Reports one error instead of all of them. */
static void report_merged(struct run *run, const struct node *node, const struct check *check,
                          struct schema_error *const *complaints, size_t count) {
    tn_value expected = closest_merge(complaints, count), found = complaints[0]->found;
    bool kinds = is_kind(complaints[0]);
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_text(&message, "found ");
    describe(&message, found);
    buffer_text(&message, kinds || value_count(expected) == 1 ? ", expected " : ", expected one of ");
    if (kinds)
        describe_types(&message, expected);
    else
        describe_values(&message, expected);
    struct nearest near = {0};
    if (!kinds && value_is(found, TN_STRING)) {
        size_t length;
        const char *text = value_chars(found, &length);
        nearest_init(&near, text, length);
        for (size_t i = 0; i < value_count(expected); i++) {
            if (!value_is(value_at(expected, i), TN_STRING)) continue;
            text = value_chars(value_at(expected, i), &length);
            nearest_add_candidate(&near, text, length);
        }
        if (near.best) buffer_format(&message, "; did you mean \"%s\"?", near.best);
    }
    const struct finding finding = {
        node, check->keyword, NULL, found, expected, near.best, near.best_length, complaints[0]->pointer};
    size_t before = run->errors->count;
    fail_finding(run, &finding, buffer_cstr(&message));
    if (kinds && run->errors->count > before) run->errors->items[before].kinds = true;
    buffer_finish(&message);
    value_unref(expected);
}

/* The length of a message up to the expected part; 0 without one. */
static size_t found_length(const char *message) {
    const char *end = strstr(message, ", expected ");
    return end ? (size_t)(end - message) + strlen(", expected ") : 0;
}

/* Reports the first error of each of several equally near branches; the found value is mentioned once. */
static void report_tie(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                       const struct place *place, const struct attempt *attempts, unsigned distance, const char *here) {
    size_t count = check->as.nodes.count, start = strlen(here), named = 0;
    const struct schema_error *first = NULL;
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_format(&message, "none of the %zu alternatives of `%s` holds: ", count, check->keyword);
    for (size_t i = 0; i < count; i++) {
        if (attempts[i].distance != distance || attempts[i].errors.count == 0) continue;
        if (named == NAMED_MAX) {
            buffer_text(&message, "; or …");
            break;
        }
        const struct schema_error *error = &attempts[i].errors.items[0];
        size_t same = first && strcmp(first->pointer, error->pointer) == 0 ? found_length(first->message) : 0;
        bool again = same && strncmp(first->message, error->message, same) == 0;
        buffer_text(&message, named++ ? "; or " : "");
        if (error->pointer[start] && !again) buffer_format(&message, "at `%s` ", error->pointer + start);
        buffer_text(&message, error->message + (again ? same : 0));
        if (!first) first = error;
    }
    fail(run, node, check, instance, place, "%s", buffer_cstr(&message));
    buffer_finish(&message);
}

/*
 * Appends the types that all other branches expect to a choice of values, unless a value is similar: the answer 5 is
 * neither "yes" nor "no", and a boolean is also valid. `kinds` has room for `count` errors.
 */
static void choice_add_types(const struct attempt *attempts, size_t count, size_t best, struct schema_error **kinds) {
    struct schema_error *choice = only_error(&attempts[best], false);
    size_t others = 0;
    if (!choice || choice->suggestion) return;
    for (size_t i = 0; i < count; i++) {
        if (i == best) continue;
        kinds[others] = only_error(&attempts[i], true);
        if (!kinds[others] || strcmp(kinds[others++]->pointer, choice->pointer) != 0) return;
    }
    if (!others) return;
    tn_value types = closest_merge(kinds, others);
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_format(&message, "%s, or ", choice->message);
    describe_types(&message, types);
    mem_free(choice->message);
    choice->message = mem_text(buffer_cstr(&message));
    buffer_finish(&message);
    value_unref(types);
}

static void closest_report(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                           const struct place *place, struct attempt *attempts, size_t best, const char *here) {
    size_t count = check->as.nodes.count, ties = 0;
    for (size_t i = 0; i < count; i++) ties += attempts[i].distance == attempts[best].distance;
    struct schema_error **complaints = mem_array(NULL, count, sizeof(struct schema_error *));
    if (count > 1 && same_complaint(attempts, count, best, here, complaints)) {
        report_merged(run, node, check, complaints, count);
    } else if (ties > 1) {
        report_tie(run, node, check, instance, place, attempts, attempts[best].distance, here);
    } else {
        choice_add_types(attempts, count, best, complaints);
        errors_move(run->errors, &attempts[best].errors);
    }
    mem_free(complaints);
}

CHECK_FUNCTION(fail_closest) {
    if (!run_thorough(run)) return false;
    size_t count = check->as.nodes.count, best = 0;
    struct attempt *attempts = mem_array(NULL, count, sizeof *attempts);
    char *here = place_pointer(place);
    for (size_t i = 0; i < count; i++) {
        attempt_make(&attempts[i], run, check->as.nodes.at[i], instance, place, here, NULL);
        if (attempts[i].distance < attempts[best].distance) best = i;
    }
    if (run->status == TN_OK && run->errors) closest_report(run, node, check, instance, place, attempts, best, here);
    unsigned distance = attempts[best].distance;
    for (size_t i = 0; i < count && run->status == TN_OK; i++) {
        if (i != best && (attempts[i].distance != distance || !run->visitor || !run->visitor->every_closest)) continue;
        if (marks) { /* members of the closest branch must not be reported as unevaluated, too */
            schema_errors_finish(&attempts[i].errors);
            attempt_make(&attempts[i], run, check->as.nodes.at[i], instance, place, here, marks);
        }
        if (run->visitor) evaluate(run, check->as.nodes.at[i], instance, place, NULL);
    }
    for (size_t i = 0; i < count; i++) schema_errors_finish(&attempts[i].errors);
    mem_free(attempts);
    mem_free(here);
    return false;
}

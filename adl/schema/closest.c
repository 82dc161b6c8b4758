/*
 * closest.c - which alternative was meant, where none of them holds.
 *
 * Each branch of the anyOf or oneOf is validated into a list of its own. A branch that expects another kind of value is
 * farthest, then one whose const or enum names another variant (`type: "b"`), then what is wrong in place, then what is
 * wrong deeper down, where at least the way there was right. The nearest branch's errors are reported as if it had been
 * the only one. Branches that only differ in the type or values they want are merged into one sentence, and where
 * several are equally near, one error names each of their first complaints.
 */
#include <string.h>

#include "adl/schema/internal.h"
#include "adl/value/memory.h"

#define BRANCH_ERRORS_MAX 16u /* errors of a branch that count */
#define NAMED_MAX         3u  /* equally near branches named in a message */

/* How far each kind of mistake puts a branch. */
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
    return strcmp(error->keyword, "type") == 0 || strcmp(error->keyword, "false") == 0;
}

static unsigned distance_of(const struct schema_errors *errors, const char *here) {
    size_t start = strlen(here);
    unsigned distance = 0;
    for (size_t i = 0; i < errors->count; i++) {
        const struct schema_error *error = &errors->items[i];
        const char *below = error->pointer + start;
        bool at_member = *below == '/' && !strchr(below + 1, '/');
        if (*below == 0)
            distance += is_kind(error) ? FAR_KIND : is_choice(error) ? FAR_VALUE : FAR_HERE;
        else if (at_member && !error->on_key && is_choice(error))
            distance += FAR_VARIANT;
        else if (at_member && error->on_key)
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

/* Whether every branch has one error, here, of this keyword. */
static bool all_only(const struct attempt *attempts, size_t count, const char *here, const char *keyword,
                     const char *other) {
    for (size_t i = 0; i < count; i++) {
        const struct schema_errors *errors = &attempts[i].errors;
        if (errors->count != 1 || strcmp(errors->items[0].pointer, here) != 0) return false;
        const char *found = errors->items[0].keyword;
        if (strcmp(found, keyword) != 0 && strcmp(found, other) != 0) return false;
    }
    return true;
}

static tn_value add_once(tn_value list, tn_value item) {
    for (size_t i = 0; i < value_count(list); i++)
        if (value_equal(value_at(list, i), item)) return list;
    return value_push_take(list, value_ref(item));
}

/* What all branches together would have taken; a new array. */
static tn_value merged(const struct attempt *attempts, size_t count) {
    tn_value list = value_array();
    for (size_t i = 0; i < count; i++) {
        const struct schema_error *error = &attempts[i].errors.items[0];
        bool several = value_is(error->expected, TN_ARRAY) && strcmp(error->keyword, "const") != 0;
        if (!several) list = add_once(list, error->expected);
        for (size_t j = 0; several && j < value_count(error->expected); j++)
            list = add_once(list, value_at(error->expected, j));
    }
    return list;
}

static void report_merged(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                          const struct place *place, const struct attempt *attempts, size_t count, bool kinds) {
    tn_value expected = merged(attempts, count);
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_text(&message, "found ");
    describe(&message, instance);
    buffer_text(&message, kinds ? ", expected " : ", expected one of ");
    if (kinds)
        describe_types(&message, expected);
    else
        describe_values(&message, expected);
    struct nearest near = {0};
    if (!kinds && value_is(instance, TN_STRING)) {
        size_t length;
        const char *text = value_chars(instance, &length);
        nearest_init(&near, text, length);
        for (size_t i = 0; i < value_count(expected); i++) {
            if (!value_is(value_at(expected, i), TN_STRING)) continue;
            text = value_chars(value_at(expected, i), &length);
            nearest_offer(&near, text, length);
        }
        if (near.best) buffer_format(&message, "; did you mean \"%s\"?", near.best);
    }
    const struct finding finding = {node, check->keyword, place, instance, expected, near.best, near.best_length};
    fail_finding(run, &finding, buffer_cstr(&message));
    buffer_finish(&message);
    value_unref(expected);
}

/* Several are equally near: the first complaint of each. */
static void report_tie(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                       const struct place *place, const struct attempt *attempts, size_t count, unsigned distance) {
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_format(&message, "none of the %zu alternatives of `%s` holds: ", count, check->keyword);
    const char *here_end = "";
    char *here = place_pointer(place);
    size_t start = strlen(here), named = 0;
    for (size_t i = 0; i < count; i++) {
        if (attempts[i].distance != distance || attempts[i].errors.count == 0) continue;
        if (named == NAMED_MAX) {
            buffer_text(&message, "; or …");
            break;
        }
        const struct schema_error *error = &attempts[i].errors.items[0];
        here_end = error->pointer + start;
        buffer_text(&message, named++ ? "; or " : "");
        if (*here_end) buffer_format(&message, "at `%s` ", here_end);
        buffer_text(&message, error->message);
    }
    mem_free(here);
    fail(run, node, check, instance, place, "%s", buffer_cstr(&message));
    buffer_finish(&message);
}

static void report(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                   const struct place *place, struct attempt *attempts, size_t best, const char *here) {
    size_t count = check->as.nodes.count, ties = 0;
    for (size_t i = 0; i < count; i++) ties += attempts[i].distance == attempts[best].distance;
    bool kinds = all_only(attempts, count, here, "type", "type");
    if (count > 1 && (kinds || all_only(attempts, count, here, "const", "enum")))
        report_merged(run, node, check, instance, place, attempts, count, kinds);
    else if (ties > 1)
        report_tie(run, node, check, instance, place, attempts, count, attempts[best].distance);
    else
        errors_move(run->errors, &attempts[best].errors);
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
    if (run->status == TN_OK && run->errors) report(run, node, check, instance, place, attempts, best, here);
    unsigned distance = attempts[best].distance;
    for (size_t i = 0; i < count && run->status == TN_OK; i++) {
        if (i != best && (attempts[i].distance != distance || !run->visitor || !run->visitor->every_closest)) continue;
        if (marks) { /* what the closest branch describes is not unevaluated as well */
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

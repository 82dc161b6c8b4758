/* grade.c - what a case compares, and whether it is as expected. */
#include "host/evaluation/grade.h"
#include "adl/expr/expr.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/zone.h"
#include "host/engine/model/message_text.h"
#include "host/evaluation/suite.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SHOWN_MAX 300 /* bytes of an answer in an explanation */

/* ---- Expressions ---- */

static const struct expr_variable variables[] = {{.name = "output"}, {.name = "input"}, {.name = "answer"},
                                                 {.name = "usage"},  {.name = "cost"},  {.name = "ms"}};
#define VARIABLES        (sizeof variables / sizeof *variables)
#define ANSWER_VARIABLES 2 /* those that the expression `answer` can use */

static tn_value find_variable(void *self, uint32_t index) { return value_get((tn_value)self, variables[index].name); }

static int64_t wall_now(void *self) {
    struct timespec now;
    (void)self;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int32_t compile(tn_value text, size_t count, struct expr **out, struct error *error) {
    const struct expr_scope scope = {.variables = variables, .variable_count = count};
    size_t length;
    const char *chars = value_chars(text, &length);
    return expr_compile(chars, length, &scope, NULL, out, error);
}

/* The value of an expression over the members of `names`; a new reference, or NULL. */
static tn_value evaluate(tn_value text, size_t count, tn_value names, struct error *error) {
    const struct expr_env env = {
        .self = (void *)(uintptr_t)names, .variable = find_variable, .zone = zone_find, .now = wall_now};
    struct expr *expr = NULL;
    tn_value value = NULL;
    if (compile(text, count, &expr, error) == TN_OK) (void)expr_eval(expr, &env, &value, error);
    expr_unref(expr);
    return value;
}

int32_t grade_check_answer(tn_value text, struct error *error) {
    struct expr *expr = NULL;
    int32_t status = compile(text, ANSWER_VARIABLES, &expr, error);
    expr_unref(expr);
    return status;
}

int32_t grade_check_expectation(tn_value kind, tn_value value, struct error *error) {
    struct schema *schema = NULL;
    struct expr *expr = NULL;
    int32_t status = TN_OK;
    if (value_text_is(kind, "schema")) status = schema_compile(value, NULL, &schema, error);
    if (value_text_is(kind, "check")) status = compile(value, VARIABLES, &expr, error);
    if (expr && !(expr_kinds(expr) & EXPR_KIND(TN_BOOL)))
        status = error_set(error, TN_INVALID, "EXPRESSION_ERROR", "`%s` is never true or false", expr_text(expr));
    schema_unref(schema);
    expr_unref(expr);
    return status;
}

static tn_value graded_names(const struct graded *graded) {
    tn_value cost = value_get(graded->usage, "cost"), calls = value_get(graded->usage, "llm_calls");
    tn_value names = value_object_reserve(6);
    bool unknown = !cost && calls && !value_equal(calls, value_int(0));
    names = value_set_take(names, "answer", value_ref(graded->answer));
    names = value_set_take(names, "output", value_ref(graded->output));
    names = value_set_take(names, "input", value_ref(graded->input));
    names = value_set_take(names, "usage", graded->usage ? value_ref(graded->usage) : value_object());
    names = value_set_take(names, "cost", cost ? value_ref(cost) : unknown ? value_null() : value_double(0));
    return value_set_take(names, "ms", value_double(graded->ms));
}

/* ---- The answer ---- */

tn_value grade_answer(const struct suite_case *one, tn_value output, struct error *error) {
    tn_value messages = value_get(output, "messages");
    if (one->answer) {
        struct graded graded = {.answer = output, .output = output, .input = one->input};
        tn_value names = graded_names(&graded), answer = evaluate(one->answer, ANSWER_VARIABLES, names, error);
        value_unref(names);
        return answer;
    }
    for (size_t i = value_is(messages, TN_ARRAY) ? value_count(messages) : 0; i > 0; i--)
        if (value_text_is(value_get(value_at(messages, i - 1), "type"), "ai"))
            return message_text(value_get(value_at(messages, i - 1), "content"));
    if (value_is(output, TN_OBJECT) && value_count(output) == 1) return value_ref(value_value_at(output, 0));
    return value_ref(output);
}

/* ---- Expectations ---- */

tn_value grade_check(tn_value kind, bool passed, const char *why) {
    tn_value check = value_set_take(value_object_reserve(3), "kind", value_ref(kind));
    check = value_set_take(check, "passed", value_bool(passed));
    return why ? value_set_take(check, "why", value_string_lossy(why, strlen(why))) : check;
}

/* Appends a value as people read it, cut between characters. */
static void append_shown(struct buffer *out, tn_value value) {
    char *text = json_text(value, JSON_COMPACT);
    size_t length = strlen(text), shown = length;
    if (length > SHOWN_MAX) {
        shown = SHOWN_MAX;
        while (shown && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    }
    buffer_append(out, text, shown);
    if (shown < length) buffer_text(out, "…");
    mem_free(text);
}

static tn_value fail_expected(tn_value kind, const struct graded *graded, const char *what, tn_value expected) {
    struct buffer why;
    buffer_init(&why, SIZE_MAX);
    buffer_text(&why, "found ");
    append_shown(&why, graded->answer);
    buffer_format(&why, ", expected %s", what);
    append_shown(&why, expected);
    tn_value check = grade_check(kind, false, buffer_cstr(&why));
    buffer_finish(&why);
    return check;
}

static tn_value grade_contains(const struct graded *graded, tn_value kind, tn_value text) {
    char *json = value_is(graded->answer, TN_STRING) ? NULL : json_text(graded->answer, JSON_COMPACT);
    size_t length = json ? strlen(json) : 0, wanted;
    const char *answer = json ? json : value_chars(graded->answer, &length), *chars = value_chars(text, &wanted);
    bool found = memmem(answer, length, chars, wanted) != NULL;
    mem_free(json);
    return found ? grade_check(kind, true, NULL) : fail_expected(kind, graded, "it to contain ", text);
}

/* An answer that is JSON as a text, as a model writes it, is validated as what it means. */
static tn_value grade_schema(const struct graded *graded, tn_value kind, tn_value document) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    struct error error = ERROR_INIT;
    struct schema *schema = NULL;
    tn_value parsed = NULL, answer = graded->answer, check;
    size_t length;
    errors.limit = 1;
    if (value_is(answer, TN_STRING)) {
        const char *text = value_chars(answer, &length);
        if (json_read(text, length, NULL, &parsed, NULL) == TN_OK) answer = parsed;
    }
    if (schema_compile(document, NULL, &schema, &error) != TN_OK)
        check = grade_check(kind, false, error.message);
    else if (schema_validate(schema, answer, &errors) == TN_OK)
        check = grade_check(kind, true, NULL);
    else {
        tn_value why = value_format("%s: %s", errors.count ? errors.items[0].pointer : "",
                                    errors.count ? errors.items[0].message : "the answer does not match");
        check = grade_check(kind, false, value_chars(why, NULL));
        value_unref(why);
    }
    schema_errors_finish(&errors);
    schema_unref(schema);
    error_finish(&error);
    value_unref(parsed);
    return check;
}

static tn_value grade_expression(const struct graded *graded, tn_value kind, tn_value text) {
    struct error error = ERROR_INIT;
    tn_value names = graded_names(graded), value = evaluate(text, VARIABLES, names, &error), why = NULL;
    bool passed = value && value_is(value, TN_BOOL) && value_to_bool(value);
    if (!value)
        why = value_format("`%s`: %s", value_chars(text, NULL), error.message);
    else if (!value_is(value, TN_BOOL))
        why = value_format("`%s` is %s, expected true or false", value_chars(text, NULL),
                           value_kind_name(value_kind(value)));
    else if (!passed)
        why = value_format("`%s` is false", value_chars(text, NULL));
    tn_value check = grade_check(kind, passed, why ? value_chars(why, NULL) : NULL);
    value_unref(why);
    value_unref(value);
    value_unref(names);
    error_finish(&error);
    return check;
}

tn_value grade_expectation(const struct graded *graded, tn_value expectation) {
    tn_value kind = value_get(expectation, "kind"), value = value_get(expectation, "value");
    if (value_text_is(kind, "contains")) return grade_contains(graded, kind, value);
    if (value_text_is(kind, "schema")) return grade_schema(graded, kind, value);
    if (value_text_is(kind, "check")) return grade_expression(graded, kind, value);
    if (value_equal(graded->answer, value)) return grade_check(kind, true, NULL);
    return fail_expected(kind, graded, "", value);
}

/*
 * fuzz_expr.c - compiles any bytes as an expression, checked and unchecked, and evaluates it over a small state.
 *
 * The first byte selects the scope. An expression that compiles must evaluate to a value or an error within its limits,
 * twice to the same result, without a leak. Every use and token must lie within the text.
 */
#include "adl/expr/expr.h"
#include "adl/value/json.h"
#include <assert.h>
#include <string.h>

static const char state_text[] =
    "{\"score\": 81, \"ratio\": 0.5, \"name\": \"ada\", \"tags\": [\"urgent\", \"x\"], "
    "\"user\": {\"name\": \"ada\", \"list\": [1, [2, null]]}, \"big\": 9223372036854775807}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int32_t field_index(void *self, const char *name, size_t length) {
    tn_value state = *(tn_value *)self;
    for (size_t i = 0; i < value_count(state); i++) {
        size_t other;
        const char *chars = value_chars(value_key_at(state, i), &other);
        if (other == length && memcmp(chars, name, length) == 0) return (int32_t)i;
    }
    return -1;
}

static const char *field_name(void *self, uint32_t index) {
    tn_value state = *(tn_value *)self;
    return index < value_count(state) ? value_chars(value_key_at(state, index), NULL) : NULL;
}

static uint32_t field_kinds(void *self, uint32_t index) {
    return EXPR_KIND(value_kind(value_value_at(*(tn_value *)self, index)));
}

static tn_value variable(void *self, uint32_t index) { return index == 0 ? *(tn_value *)self : NULL; }

static tn_value field(void *self, uint32_t index, uint32_t at) {
    assert(index == 0);
    return value_value_at(*(tn_value *)self, at);
}

static tn_value name(void *self, const char *text, size_t length) {
    return value_get_n(*(tn_value *)self, text, length);
}

static bool token(void *self, enum expr_token_kind kind, struct span span) {
    size_t *last = self;
    assert(kind <= EXPR_TOKEN_INVALID && span.start >= *last && span.end > span.start);
    *last = span.end;
    return true;
}

static void check_uses(const struct expr *expr, size_t length) {
    for (size_t i = 0; i < expr_use_count(expr); i++) {
        const struct expr_use *use = expr_use_at(expr, i);
        assert(use->span.start < use->span.end && use->span.end <= length);
    }
}

static void evaluate(const struct expr *expr, const struct expr_env *env) {
    tn_value first = NULL, second = NULL;
    struct error error = ERROR_INIT;
    int32_t status = expr_eval(expr, env, &first, &error);
    assert(expr_eval(expr, env, &second, NULL) == status);
    assert(status == TN_OK || status == TN_FAILED || status == TN_LIMIT);
    assert((status == TN_OK) == (first != NULL) && (status == TN_OK) == (error.code == NULL));
    if (first) assert(value_identical(first, second));
    if (first) assert(expr_kinds(expr) & EXPR_ANY);
    value_unref(first);
    value_unref(second);
    error_finish(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tn_value state;
    if (!state) (void)json_read(state_text, strlen(state_text), NULL, &state, NULL);
    if (size == 0) return 0;
    int64_t live = value_live_count();
    const char *text = (const char *)data + 1;
    size_t length = size - 1, last = 0;
    const struct expr_fields fields = {&state, field_index, field_name, data[0] & 1 ? field_kinds : NULL, NULL};
    const struct expr_variable variables[] = {{.name = "state", .fields = &fields, .bare = (data[0] & 2) != 0}};
    const struct expr_scope scope = {
        .variables = variables, .variable_count = 1, .open = (data[0] & 4) != 0, .unchecked = (data[0] & 8) != 0};
    const struct expr_env env = {.self = &state, .variable = variable, .field = field, .name = name};
    struct expr *expr = NULL;
    struct error error = ERROR_INIT;
    int32_t status = expr_compile(text, length, &scope, NULL, &expr, &error);
    assert((status == TN_OK) == (error.code == NULL));
    assert(error.span.start <= error.span.end);
    error_finish(&error);
    expr_each_token(text, length, token, &last);
    if (status == TN_OK) {
        check_uses(expr, length);
        evaluate(expr, &env);
        expr_unref(expr);
    }
    assert(value_live_count() == live);
    return 0;
}

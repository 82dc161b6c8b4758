/*
 * fuzz_template.c - compiles any bytes as a template, and renders it with all names defined.
 *
 * The first byte selects whether the scope is open. Rendering twice produces the same text. Holes lie within the text,
 * in order.
 */
#include "adl/template/template.h"
#include "adl/value/json.h"
#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tn_value name(void *self, const char *text, size_t length) {
    (void)text;
    return length % 2 ? *(tn_value *)self : VALUE_IMMEDIATE_NULL;
}

static void check_holes(const struct template *template, size_t length) {
    size_t last = 0;
    for (size_t i = 0; i < template_hole_count(template); i++) {
        const struct template_hole *hole = template_hole_at(template, i);
        assert(hole->span.start >= last && hole->span.end > hole->start && hole->span.end <= length);
        last = hole->span.end;
    }
}

static void render(const struct template *template, const struct expr_env *env) {
    struct buffer first, second;
    struct error error = ERROR_INIT;
    buffer_init(&first, 4096);
    buffer_init(&second, 4096);
    int32_t status = template_render(template, env, &first, &error);
    assert(template_render(template, env, &second, NULL) == status);
    assert((status == TN_OK) == (error.code == NULL));
    assert(first.length == second.length && first.length <= 4096);
    if (first.length) assert(memcmp(first.data, second.data, first.length) == 0);
    error_finish(&error);
    buffer_finish(&first);
    buffer_finish(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tn_value value;
    if (!value) (void)json_read("{\"a\": [1, \"x\"]}", 15, NULL, &value, NULL);
    if (size == 0) return 0;
    int64_t live = value_live_count();
    const char *text = (const char *)data + 1;
    const struct expr_scope scope = {.open = (data[0] & 1) != 0};
    const struct expr_env env = {.self = &value, .name = name};
    struct template *template = NULL;
    struct error error = ERROR_INIT;
    int32_t status = template_compile(text, size - 1, &scope, NULL, &template, &error);
    assert((status == TN_OK) == (error.code == NULL) && error.span.end < size);
    error_finish(&error);
    if (status == TN_OK) {
        check_holes(template, size - 1);
        render(template, &env);
        template_unref(template);
    }
    assert(value_live_count() == live);
    return 0;
}

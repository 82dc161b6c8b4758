/*
 * fuzz_schema.c - a malformed schema and a malformed instance: JSON of the schema, a NUL, JSON of the instance.
 *
 * Every function of the interface is called with a schema that compiles. All ways to validate must agree (with errors,
 * without, and the checks without the plan), an error must have a message, and nothing may leak.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "tests/unit/schema_checks.h"

#define WORK_MAX  20000
#define NODES_MAX 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value value) {
    size_t *sum = self;
    *sum += strlen(pointer) + on_key + (size_t)value_kind(where) + (size_t)value_kind(value);
}

static void subschema(void *self, tn_value value) {
    size_t *sum = self;
    *sum += (size_t)value_kind(value);
}

static void use(const struct schema *schema, tn_value instance) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t verdict = schema_validate(schema, instance, NULL), status = schema_validate(schema, instance, &errors);
    /* Finding all errors takes more work than finding one, so one of the two may exceed the limit. */
    if (verdict != status && verdict != TN_LIMIT && status != TN_LIMIT) abort();
    if ((status != TN_OK) != (errors.count > 0)) abort();
    int32_t checked = validate_by_checks(schema, instance);
    if (verdict != checked && verdict != TN_LIMIT && checked != TN_LIMIT) abort();
    size_t sum = 0;
    for (size_t i = 0; i < errors.count; i++) {
        if (!errors.items[i].message[0]) abort();
        schema_at(schema, instance, errors.items[i].pointer, subschema, &sum);
    }
    schema_errors_finish(&errors);
    schema_each_annotation(schema, instance, "x-tenon", annotation, &sum);
    schema_at(schema, instance, "/a/0", subschema, &sum);
    tn_value filled = schema_with_defaults(schema, instance);
    if (!filled || !schema_kinds(schema)) sum++;
    value_unref(filled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    if (!end) return 0;
    const char *text = (const char *)data;
    size_t first = (size_t)(end - data);
    int64_t live = value_live_count();
    tn_value document = NULL, instance = NULL;
    if (json_read(text, first, NULL, &document, NULL) == TN_OK &&
        json_read(text + first + 1, size - first - 1, NULL, &instance, NULL) == TN_OK) {
        struct schema_options options = {.assert_format = true, .nodes = NODES_MAX, .work = WORK_MAX};
        struct schema *schema = NULL;
        struct error error = ERROR_INIT;
        if (schema_compile(document, &options, &schema, &error) == TN_OK)
            use(schema, instance);
        else if (!error.message || !error.message[0])
            abort();
        error_finish(&error);
        schema_unref(schema);
    }
    value_unref(document);
    value_unref(instance);
    if (value_live_count() != live) abort();
    return 0;
}

/*
 * tool_validate.c - reports violations of a schema as a message and as data.
 */
#include "host/engine/tool/tool_validate.h"
#include "adl/schema/violations.h"

int32_t tool_validate(const struct schema *schema, tn_value value, enum tool_side side, const char *name,
                      struct error *error) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    if (!schema || schema_validate(schema, value, &errors) == TN_OK) {
        schema_errors_finish(&errors);
        return TN_OK;
    }
    struct buffer text;
    buffer_init(&text, ERROR_MESSAGE_MAX);
    violations_text(&errors, &text);
    if (side == TOOL_ARGUMENTS)
        error_set(error, TN_INVALID, "INVALID_INPUT", "the arguments do not match the schema of the tool `%s`: %s",
                  name, buffer_cstr(&text));
    else
        error_set(error, TN_INVALID, "INVALID_OUTPUT", "the result of the tool `%s` does not match its schema: %s",
                  name, buffer_cstr(&text));
    if (error) {
        value_unref(error->more);
        error->more = value_set_take(value_object_reserve(1), "detail", violations_value(&errors));
    }
    buffer_finish(&text);
    schema_errors_finish(&errors);
    return TN_INVALID;
}

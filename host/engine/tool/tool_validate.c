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
    tn_value what = side == TOOL_ARGUMENTS
                        ? value_format("the arguments do not match the schema of the tool `%s`", name)
                        : value_format("the result of the tool `%s` does not match its schema", name);
    int32_t status = violations_refuse(&errors, side == TOOL_ARGUMENTS ? "INVALID_INPUT" : "INVALID_OUTPUT",
                                       value_chars(what, NULL), error);
    value_unref(what);
    schema_errors_finish(&errors);
    return status;
}

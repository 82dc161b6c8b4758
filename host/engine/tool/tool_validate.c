/*
 * tool_validate.c - reports violations of a schema as a message and as data.
 */
#include "host/engine/tool/tool_validate.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"

static tn_value violations_to_value(const struct schema_errors *errors) {
    tn_value list = value_array_reserve(errors->count);
    for (size_t i = 0; i < errors->count; i++) {
        tn_value entry = value_set_take(value_object_reserve(2), "pointer", value_text(errors->items[i].pointer));
        list = value_push_take(list, value_set_take(entry, "message", value_text(errors->items[i].message)));
    }
    tn_value detail = value_set_take(value_object_reserve(2), "violations", list);
    return errors->more ? value_set_take(detail, "more", value_bool(true)) : detail;
}

static void describe_violations(const struct schema_errors *errors, struct buffer *out) {
    for (size_t i = 0; i < errors->count && i < TOOL_VIOLATIONS_SHOWN; i++) {
        const struct schema_error *item = &errors->items[i];
        buffer_format(out, "%s%s%s%s%s", i ? "; " : "", *item->pointer ? "at " : "", item->pointer,
                      *item->pointer ? ": " : "", item->message);
    }
    if (errors->count > TOOL_VIOLATIONS_SHOWN || errors->more) buffer_text(out, "; and more");
    if (!errors->count) buffer_text(out, "the schema does not allow this value");
}

int32_t tool_validate(const struct schema *schema, tn_value value, enum tool_side side, const char *name,
                      struct error *error) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    if (!schema || schema_validate(schema, value, &errors) == TN_OK) {
        schema_errors_finish(&errors);
        return TN_OK;
    }
    struct buffer text;
    buffer_init(&text, ERROR_MESSAGE_MAX);
    describe_violations(&errors, &text);
    if (side == TOOL_ARGUMENTS)
        error_set(error, TN_INVALID, "INVALID_INPUT", "the arguments do not match the schema of the tool `%s`: %s",
                  name, buffer_cstr(&text));
    else
        error_set(error, TN_INVALID, "INVALID_OUTPUT", "the result of the tool `%s` does not match its schema: %s",
                  name, buffer_cstr(&text));
    if (error) {
        value_unref(error->more);
        error->more = value_set_take(value_object_reserve(1), "detail", violations_to_value(&errors));
    }
    buffer_finish(&text);
    schema_errors_finish(&errors);
    return TN_INVALID;
}

/*
 * validate.c - violations of a schema, as one message and as data.
 */
#include "host/tool/validate.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"

static tn_value violations_of(const struct schema_errors *errors) {
    tn_value list = value_array_reserve(errors->count);
    for (size_t i = 0; i < errors->count; i++) {
        tn_value entry = value_set_take(value_object_reserve(2), "pointer", value_text(errors->items[i].pointer));
        list = value_push_take(list, value_set_take(entry, "message", value_text(errors->items[i].message)));
    }
    tn_value detail = value_set_take(value_object_reserve(2), "violations", list);
    return errors->more ? value_set_take(detail, "more", value_bool(true)) : detail;
}

static void describe(const struct schema_errors *errors, struct buffer *out) {
    for (size_t i = 0; i < errors->count && i < TOOL_VIOLATIONS_SHOWN; i++) {
        const struct schema_error *item = &errors->items[i];
        buffer_format(out, "%s%s%s%s%s", i ? "; " : "", *item->pointer ? "at " : "", item->pointer,
                      *item->pointer ? ": " : "", item->message);
    }
    if (errors->count > TOOL_VIOLATIONS_SHOWN || errors->more) buffer_text(out, "; and more");
    if (!errors->count) buffer_text(out, "it takes no such value");
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
    describe(&errors, &text);
    if (side == TOOL_ARGUMENTS)
        error_set(error, TN_INVALID, "INVALID_INPUT", "the arguments do not fit the tool `%s`: %s", name,
                  buffer_cstr(&text));
    else
        error_set(error, TN_INVALID, "INVALID_OUTPUT", "the tool `%s` gave what its own schema does not allow: %s",
                  name, buffer_cstr(&text));
    if (error) {
        value_unref(error->more);
        error->more = value_set_take(value_object_reserve(1), "detail", violations_of(&errors));
    }
    buffer_finish(&text);
    schema_errors_finish(&errors);
    return TN_INVALID;
}

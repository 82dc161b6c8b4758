/*
 * violations.c - errors of a validation as a message and as data.
 */
#include "adl/schema/violations.h"
#include "adl/value/buffer.h"

static tn_value violations_value(const struct schema_errors *errors) {
    tn_value list = value_array_reserve(errors->count);
    for (size_t i = 0; i < errors->count; i++) {
        tn_value entry = value_set_take(value_object_reserve(2), "pointer", value_text(errors->items[i].pointer));
        list = value_push_take(list, value_set_take(entry, "message", value_text(errors->items[i].message)));
    }
    tn_value all = value_set_take(value_object_reserve(2), "violations", list);
    return errors->more ? value_set_take(all, "more", value_bool(true)) : all;
}

static void violations_text(const struct schema_errors *errors, struct buffer *out) {
    for (size_t i = 0; i < errors->count && i < VIOLATIONS_SHOWN; i++) {
        const struct schema_error *item = &errors->items[i];
        buffer_format(out, "%s%s%s%s%s", i ? "; " : "", *item->pointer ? "at " : "", item->pointer,
                      *item->pointer ? ": " : "", item->message);
    }
    if (errors->count > VIOLATIONS_SHOWN || errors->more) buffer_text(out, "; and more");
    if (!errors->count) buffer_text(out, "the schema does not allow this value");
}

int32_t violations_refuse(const struct schema_errors *errors, const char *code, const char *what, struct error *error) {
    struct buffer text;
    buffer_init(&text, ERROR_MESSAGE_MAX);
    violations_text(errors, &text);
    error_set(error, TN_INVALID, code, "%s: %s", what, buffer_cstr(&text));
    error_set_detail_take(error, violations_value(errors));
    buffer_finish(&text);
    return TN_INVALID;
}

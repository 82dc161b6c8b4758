/*
 * method_document.c - the schemas of the method table as one JSON Schema document, and what the documents share.
 *
 * Rows refer to shared schemas as OpenRPC does. Other documents have them in another place, so each schema is copied
 * with its references changed. The rows are part of the program: their nesting is small, and the copy may recurse.
 */
#include "host/server/method_document.h"
#include "adl/value/buffer.h"
#include <string.h>

static const char shared_place[] = "#/components/schemas/";

/* ---- Copies of schemas ---- */

/* How JSON carries bytes (adl/value/json.h). */
static tn_value bytes_schema(void) {
    tn_value text = value_set_take(value_object(), "type", value_text("string"));
    text = value_set_take(text, "contentEncoding", value_text("base64"));
    tn_value schema = value_set_take(value_object(), "type", value_text("object"));
    schema = value_set_take(schema, "required", value_push_take(value_array(), value_text("$bytes")));
    schema = value_set_take(schema, "properties", value_set_take(value_object(), "$bytes", text));
    return value_set_take(schema, "additionalProperties", value_bool(false));
}

static tn_value moved_reference(const char *reference, const char *place) {
    size_t length = strlen(shared_place);
    if (strncmp(reference, shared_place, length) != 0) return value_text(reference);
    return value_format("%s%s", place, reference + length);
}

static tn_value copied_member(tn_value key, tn_value member, const char *place) {
    if (value_text_is(key, "$ref") && value_is(member, TN_STRING))
        return moved_reference(value_chars(member, NULL), place);
    return method_schema_for(member, place);
}

tn_value method_schema_for(tn_value schema, const char *place) {
    if (value_is(schema, TN_ARRAY)) {
        tn_value copy = value_array_reserve(value_count(schema));
        for (size_t i = 0; i < value_count(schema); i++)
            copy = value_push_take(copy, method_schema_for(value_at(schema, i), place));
        return copy;
    }
    if (!value_is(schema, TN_OBJECT)) return value_ref(schema);
    tn_value copy =
        value_text_is(value_get(schema, "type"), "bytes") ? bytes_schema() : value_object_reserve(value_count(schema));
    bool is_bytes = value_count(copy) > 0;
    for (size_t i = 0; i < value_count(schema); i++) {
        tn_value key = value_key_at(schema, i);
        if (is_bytes && value_get_key(copy, key)) continue;
        copy = value_set_key_take(copy, value_ref(key), copied_member(key, value_value_at(schema, i), place));
    }
    return copy;
}

/* ---- Errors ---- */

static tn_value add_code(tn_value codes, tn_value code) {
    for (size_t i = 0; i < value_count(codes); i++)
        if (value_equal(value_at(codes, i), code)) return codes;
    return value_push_take(codes, value_ref(code));
}

tn_value method_error_codes(const struct method *method) {
    tn_value codes = value_push_take(value_array(), value_text("INVALID_INPUT"));
    codes = value_push_take(codes, value_text("PERMISSION_DENIED"));
    tn_value own = value_get(method->row, "errors");
    for (size_t i = 0; i < value_count(own); i++) codes = add_code(codes, value_at(own, i));
    return codes;
}

/* ---- The document of schemas ---- */

/* thread/list and "params" make `thread_list_params`. */
static tn_value add_definition(tn_value definitions, const char *name, const char *part, tn_value schema) {
    struct buffer key;
    buffer_init(&key, SIZE_MAX);
    for (; *name; name++) buffer_char(&key, *name == '/' || *name == '-' ? '_' : *name);
    buffer_format(&key, "_%s", part);
    definitions = value_set_take(definitions, buffer_cstr(&key), method_schema_for(schema, "#/$defs/"));
    buffer_finish(&key);
    return definitions;
}

tn_value method_json_schemas(void) {
    tn_value schemas = method_schemas(), events = method_events(), definitions = value_object();
    const struct method *method;
    for (size_t i = 0; i < value_count(schemas); i++)
        definitions = value_set_key_take(definitions, value_ref(value_key_at(schemas, i)),
                                         method_schema_for(value_value_at(schemas, i), "#/$defs/"));
    for (size_t i = 0; (method = method_at(i)) != NULL; i++) {
        definitions = add_definition(definitions, method->name, "params", value_get(method->row, "params"));
        definitions = add_definition(definitions, method->name, "result", value_get(method->row, "result"));
    }
    for (size_t i = 0; i < value_count(events); i++)
        definitions = add_definition(definitions, value_chars(value_key_at(events, i), NULL), "event",
                                     value_get(value_value_at(events, i), "params"));
    tn_value document =
        value_set_take(value_object(), "$schema", value_text("https://json-schema.org/draft/2020-12/schema"));
    document = value_set_take(document, "title", value_text("The parameters and results of methods, and events"));
    return value_set_take(document, "$defs", definitions);
}

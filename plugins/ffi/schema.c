/*
 * schema.c - builds the tool for a function: JSON Schemas of the arguments and the result, as narrow as the types.
 *
 * The arguments are the inputs that are neither fixed nor lengths. The result has the function's result and its
 * outputs. It is always an object, so that results can be added later without changing the others.
 */
#include "convert.h"
#include <inttypes.h>

/* ---- Which parameters ---- */

static bool accepts_capacity(const struct function *function, const struct parameter *length) {
    if (length->length_of < 0 || function->parameters[length->length_of].capacity_max == 0) return false;
    for (const struct parameter *other = function->parameters; other < length; other++)
        if (other->length_of == length->length_of)
            return false; /* only the first length parameter accepts a capacity */
    return true;
}

bool parameter_is_input(const struct function *function, const struct parameter *parameter) {
    if (parameter->length_of != NO_PARAMETER) return accepts_capacity(function, parameter);
    return !parameter->fixed && parameter->direction != DIRECTION_OUT;
}

bool parameter_is_output(const struct function *function, const struct parameter *parameter) {
    (void)function;
    return parameter->direction != DIRECTION_IN && parameter->length_of == NO_PARAMETER;
}

/* A result that only reports success is not part of the tool's result. */
bool result_is_output(const struct function *function) {
    return function->result.type->kind != TYPE_VOID && function->result.length_of == NO_PARAMETER &&
           function->failure != FAILURE_NONZERO &&
           !(function->failure == FAILURE_UNLESS && function->unless_count == 1);
}

/* ---- Types ---- */

static void append_type(tn_builder *builder, const char *name, const char *other, bool null) {
    if (other == NULL && !null) {
        tn_put_text(builder, "type", name);
        return;
    }
    tn_put_begin(builder, "type", TN_ARRAY);
    tn_put_text(builder, NULL, name);
    if (other != NULL) tn_put_text(builder, NULL, other);
    if (null) tn_put_text(builder, NULL, "null");
    tn.value->end(builder);
}

/* An unsigned 64-bit number above INT64_MAX is not a JSON integer here. It is passed as a text of digits. */
static void append_integer_schema(tn_builder *builder, const struct type *type, bool null) {
    int64_t least;
    uint64_t most;
    type_range(type, &least, &most);
    append_type(builder, "integer", most > INT64_MAX ? "string" : NULL, null);
    tn_put_int(builder, "minimum", least);
    if (most <= INT64_MAX)
        tn_put_int(builder, "maximum", (int64_t)most);
    else
        tn_put_text(builder, "pattern", "^[0-9]{1,20}$");
}

static void append_enum_names(tn_builder *builder, const struct type *type, bool null) {
    tn_put_begin(builder, "enum", TN_ARRAY);
    for (uint32_t i = 0; i < type->value_count; i++) {
        bool seen = false; /* a list may repeat a name */
        for (uint32_t j = 0; j < i && !seen; j++) seen = strcmp(type->values[i].name, type->values[j].name) == 0;
        if (!seen) tn_put_text(builder, NULL, type->values[i].name);
    }
    if (null) tn_put_take(builder, NULL, tn_null());
    tn.value->end(builder);
}

static void append_enum_schema(tn_builder *builder, const struct type *type, bool out, bool null) {
    if (!out && !type->open) {
        append_enum_names(builder, type, null);
        return;
    }
    tn_put_begin(builder, "anyOf", TN_ARRAY);
    tn.value->begin(builder, TN_OBJECT);
    append_enum_names(builder, type, null);
    tn.value->end(builder);
    tn.value->begin(builder, TN_OBJECT);
    append_integer_schema(builder, type->base, false);
    tn.value->end(builder);
    tn.value->end(builder);
}

static void append_type_schema(tn_builder *builder, const struct type *type, bool out, bool null);

static void append_field_schema(tn_builder *builder, const struct field *field, bool out) {
    bool string = field->type->kind == TYPE_STRING;
    tn_put_begin(builder, field->name, TN_OBJECT);
    if (field->description != NULL) tn_put_text(builder, "description", field->description);
    if (field->count != 0) {
        tn_put_text(builder, "type", "array");
        tn_put_int(builder, "minItems", field->count);
        tn_put_int(builder, "maxItems", field->count);
        tn_put_begin(builder, "items", TN_OBJECT);
        append_type_schema(builder, field->type, out, false);
        tn.value->end(builder);
    } else {
        append_type_schema(builder, field->type, out, string && field->chars == 0);
    }
    if (field->chars != 0 && !out) tn_put_int(builder, "maxLength", field->chars - 1);
    tn.value->end(builder);
}

static void append_struct_schema(tn_builder *builder, const struct type *type, bool out, bool null) {
    append_type(builder, "object", NULL, null);
    tn_put_begin(builder, "properties", TN_OBJECT);
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].type->kind != TYPE_POINTER) append_field_schema(builder, &type->fields[i], out);
    tn.value->end(builder);
    tn_put_begin(builder, "required", TN_ARRAY);
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].type->kind != TYPE_POINTER) tn_put_text(builder, NULL, type->fields[i].name);
    tn.value->end(builder);
    tn_put_bool(builder, "additionalProperties", 0);
}

static void append_handle_schema(tn_builder *builder, const struct type *type, bool null) {
    char pattern[96];
    (void)snprintf(pattern, sizeof pattern, "^%.64s:[0-9]+$", type->name);
    append_type(builder, "string", NULL, null);
    tn_put_text(builder, "pattern", pattern);
}

/* Adds the members of a schema to the open object. */
static void append_type_schema(tn_builder *builder, const struct type *type, bool out, bool null) {
    switch (type->kind) {
    case TYPE_INTEGER: append_integer_schema(builder, type, null); break;
    case TYPE_FLOAT: append_type(builder, "number", NULL, null); break;
    case TYPE_BOOL: append_type(builder, "boolean", NULL, null); break;
    case TYPE_STRING: append_type(builder, "string", NULL, null); break;
    case TYPE_BUFFER: append_type(builder, "bytes", out ? NULL : "string", null); break;
    case TYPE_ENUM: append_enum_schema(builder, type, out, null); break;
    case TYPE_STRUCT: append_struct_schema(builder, type, out, null); break;
    case TYPE_HANDLE: append_handle_schema(builder, type, null); break;
    case TYPE_POINTER:
    case TYPE_VOID: break;
    }
}

/* ---- Arguments and result ---- */

/* Adds the schema of a buffer's capacity, which replaces the schema of its length parameter. */
static void append_capacity_schema(tn_builder *builder, const struct function *function,
                                   const struct parameter *length) {
    const struct parameter *buffer = &function->parameters[length->length_of];
    char text[160];
    (void)snprintf(text, sizeof text, "The capacity of `%s` in bytes.", buffer->name);
    tn_put_text(builder, "description", length->description != NULL ? length->description : text);
    tn_put_text(builder, "type", "integer");
    tn_put_int(builder, "minimum", 0);
    tn_put_int(builder, "maximum", (int64_t)buffer->capacity_max);
    tn_put_int(builder, "default", (int64_t)buffer->capacity);
}

static void append_argument_schema(tn_builder *builder, const struct function *function,
                                   const struct parameter *parameter) {
    tn_put_begin(builder, parameter->name, TN_OBJECT);
    if (parameter->length_of != NO_PARAMETER) {
        append_capacity_schema(builder, function, parameter);
    } else {
        if (parameter->description != NULL) tn_put_text(builder, "description", parameter->description);
        append_type_schema(builder, parameter->type, false, parameter->nullable);
        if (parameter->value != NULL) tn_put(builder, "default", parameter->value);
    }
    tn.value->end(builder);
}

static void append_input_schema(tn_builder *builder, const struct function *function) {
    tn_put_begin(builder, "input", TN_OBJECT);
    tn_put_text(builder, "type", "object");
    tn_put_begin(builder, "properties", TN_OBJECT);
    for (uint32_t i = 0; i < function->count; i++)
        if (parameter_is_input(function, &function->parameters[i]))
            append_argument_schema(builder, function, &function->parameters[i]);
    tn.value->end(builder);
    tn_put_begin(builder, "required", TN_ARRAY);
    for (uint32_t i = 0; i < function->count; i++) {
        const struct parameter *parameter = &function->parameters[i];
        if (parameter_is_input(function, parameter) && parameter->length_of == NO_PARAMETER &&
            parameter->value == NULL && !parameter->nullable)
            tn_put_text(builder, NULL, parameter->name);
    }
    tn.value->end(builder);
    tn_put_bool(builder, "additionalProperties", 0);
    tn.value->end(builder);
}

static void append_result_schema(tn_builder *builder, const struct parameter *parameter, bool null) {
    tn_put_begin(builder, parameter->name, TN_OBJECT);
    if (parameter->description != NULL) tn_put_text(builder, "description", parameter->description);
    if (parameter->as_text)
        append_type(builder, "string", NULL, null);
    else
        append_type_schema(builder, parameter->type, true, null);
    tn.value->end(builder);
}

static bool may_be_null(const struct parameter *parameter) {
    enum type_kind kind = parameter->type->kind;
    return (kind == TYPE_STRING && parameter->capacity == 0) || kind == TYPE_HANDLE;
}

static void append_output_schema(tn_builder *builder, const struct function *function) {
    const struct parameter *result = &function->result;
    bool pointer = may_be_null(result) || result->type->kind == TYPE_STRUCT || result->type->kind == TYPE_BUFFER;
    tn_put_begin(builder, "output", TN_OBJECT);
    tn_put_text(builder, "type", "object");
    tn_put_begin(builder, "properties", TN_OBJECT);
    if (result_is_output(function)) append_result_schema(builder, result, pointer && function->failure != FAILURE_NULL);
    for (uint32_t i = 0; i < function->count; i++)
        if (parameter_is_output(function, &function->parameters[i]))
            append_result_schema(builder, &function->parameters[i], may_be_null(&function->parameters[i]));
    tn.value->end(builder);
    tn_put_begin(builder, "required", TN_ARRAY);
    if (result_is_output(function)) tn_put_text(builder, NULL, result->name);
    for (uint32_t i = 0; i < function->count; i++)
        if (parameter_is_output(function, &function->parameters[i]))
            tn_put_text(builder, NULL, function->parameters[i].name);
    tn.value->end(builder);
    tn_put_bool(builder, "additionalProperties", 0);
    tn.value->end(builder);
}

/* A C function has no place for an idempotency key, which matters only if a second call could do harm. */
static bool lacks_key(const struct function *function) {
    return !function->idempotent && (function->effects == NULL || tn.value->count(function->effects) > 0);
}

tn_value function_component(const struct function *function) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "kind", "tool");
    tn_put_text(builder, "id", function->id);
    tn_put_text(builder, "title", function->title);
    if (function->documentation != NULL) tn_put_text(builder, "documentation", function->documentation);
    tn_put_text(builder, "style", "blocking");
    if (function->idempotent) tn_put_bool(builder, "idempotent", 1);
    if (lacks_key(function)) tn_put_bool(builder, "idempotency_key", 0);
    if (function->effects != NULL) tn_put(builder, "effects", function->effects);
    append_input_schema(builder, function);
    append_output_schema(builder, function);
    tn.value->end(builder);
    return tn_finish(builder);
}

/*
 * acp_form.c - the JSON Schema of an answer as the schema of a form.
 *
 * A form has one level: texts, numbers, booleans, and lists of choices. An answer that is not an object is wrapped as
 * the member `answer`. A schema that a form cannot have is asked in the text instead.
 */
#include "adl/schema/schema.h"
#include "host/server/acp/acp_prompt.h"
#include <string.h>

#define FORM_MEMBERS_MAX 100u

/* ---- What a field can have ---- */

static bool form_is_text(tn_value value) { return value_is(value, TN_STRING); }
static bool form_is_boolean(tn_value value) { return value_is(value, TN_BOOL); }
static bool form_is_integer(tn_value value) { return value_is(value, TN_INT); }
static bool form_is_number(tn_value value) { return value_is_number(value); }
static bool form_is_count(tn_value value) {
    return value_is(value, TN_INT) && value_to_int(value) >= 0 && value_to_int(value) <= UINT32_MAX;
}

static bool form_is_format(tn_value value) {
    static const char *const known[] = {"email", "uri", "date", "date-time"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (value_text_is(value, known[i])) return true;
    return false;
}

static bool form_is_choices(tn_value list) {
    for (size_t i = 0; i < value_count(list); i++)
        if (!value_is(value_at(list, i), TN_STRING)) return false;
    return list && value_is(list, TN_ARRAY) && value_count(list) > 0;
}

/* Members that do not fit are left out, because clients refuse them. The run checks the answer with the whole schema.
 */
static const struct form_member {
    const char *type, *name; /* `type` of the field; NULL for every type */
    bool (*fits)(tn_value value);
} form_members[] = {
    {NULL, "title", form_is_text},           {NULL, "description", form_is_text},
    {"string", "minLength", form_is_count},  {"string", "maxLength", form_is_count},
    {"string", "pattern", form_is_text},     {"string", "format", form_is_format},
    {"string", "default", form_is_text},     {"number", "minimum", form_is_number},
    {"number", "maximum", form_is_number},   {"number", "default", form_is_number},
    {"integer", "minimum", form_is_integer}, {"integer", "maximum", form_is_integer},
    {"integer", "default", form_is_integer}, {"boolean", "default", form_is_boolean},
    {"array", "minItems", form_is_count},    {"array", "maxItems", form_is_count},
    {"array", "default", form_is_choices},
};

static tn_value form_copy_members_take(tn_value field, tn_value schema, const char *type) {
    for (size_t i = 0; i < sizeof form_members / sizeof *form_members; i++) {
        const struct form_member *row = &form_members[i];
        tn_value found = value_get(schema, row->name);
        if (found && (!row->type || strcmp(row->type, type) == 0) && row->fits(found))
            field = value_set_take(field, row->name, value_ref(found));
    }
    return field;
}

/* The type of a field; NULL if it cannot be one. *choices: of a text, or of the items of a list; NULL if any can be
 * given. */
static const char *form_field_type(tn_value schema, tn_value *choices) {
    static const char *const plain[] = {"string", "number", "integer", "boolean"};
    if (!schema || !value_is(schema, TN_OBJECT)) return NULL;
    tn_value type = value_get(schema, "type");
    *choices = value_get(schema, "enum");
    if (*choices && !form_is_choices(*choices)) return NULL;
    if (*choices) return !type || value_text_is(type, "string") ? "string" : NULL;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (value_text_is(type, plain[i])) return plain[i];
    *choices = value_get(value_get(schema, "items"), "enum");
    return value_text_is(type, "array") && form_is_choices(*choices) ? "array" : NULL;
}

/* A field of a form; NULL if it cannot be one. */
static tn_value form_field(tn_value schema) {
    tn_value choices = NULL;
    const char *type = form_field_type(schema, &choices);
    if (!type) return NULL;
    tn_value field = value_set_take(value_object_reserve(8), "type", value_text(type));
    field = form_copy_members_take(field, schema, type);
    if (strcmp(type, "array") == 0) {
        tn_value items = value_set_take(value_object_reserve(2), "type", value_text("string"));
        return value_set_take(field, "items", value_set_take(items, "enum", value_ref(choices)));
    }
    return choices ? value_set_take(field, "enum", value_ref(choices)) : field;
}

/* ---- The form ---- */

static tn_value form_of(tn_value fields, tn_value required, tn_value schema) {
    tn_value form = value_set_take(value_object_reserve(5), "type", value_text("object"));
    if (schema) form = form_copy_members_take(form, schema, "object");
    form = value_set_take(form, "properties", fields);
    return required ? value_set_take(form, "required", required) : form;
}

static tn_value form_with_answer(tn_value field) {
    tn_value fields = value_set_take(value_object_reserve(1), "answer", field);
    return form_of(fields, value_push_take(value_array(), value_text("answer")), NULL);
}

/* Of a schema or null (an answer that can be declined): the schema. Borrowed. */
static tn_value form_without_null(tn_value schema) {
    tn_value list = schema && value_is(schema, TN_OBJECT) ? value_get(schema, "anyOf") : NULL, found = NULL;
    if (!list || !value_is(list, TN_ARRAY)) return schema;
    for (size_t i = 0; i < value_count(list); i++) {
        if (value_text_is(value_get(value_at(list, i), "type"), "null")) continue;
        if (found) return schema;
        found = value_at(list, i);
    }
    return found ? found : schema;
}

tn_value acp_form_schema(tn_value given, bool *wraps) {
    tn_value schema = form_without_null(given);
    tn_value members = schema && value_is(schema, TN_OBJECT) ? value_get(schema, "properties") : NULL;
    *wraps = true;
    if (!schema || value_is(schema, TN_BOOL) || value_count(schema) == 0)
        return form_with_answer(value_set_take(value_object_reserve(1), "type", value_text("string")));
    tn_value only = form_field(schema);
    if (only) return form_with_answer(only);
    *wraps = false;
    if (!value_text_is(value_get(schema, "type"), "object") || !members || !value_is(members, TN_OBJECT) ||
        value_count(members) == 0 || value_count(members) > FORM_MEMBERS_MAX)
        return NULL;
    tn_value fields = value_object_reserve(value_count(members)), required = value_get(schema, "required");
    for (size_t i = 0; i < value_count(members); i++) {
        tn_value field = form_field(value_value_at(members, i));
        if (!field) return value_unref(fields), NULL;
        fields = value_set_key_take(fields, value_ref(value_key_at(members, i)), field);
    }
    return form_of(fields, required && value_is(required, TN_ARRAY) ? value_ref(required) : NULL, schema);
}

bool acp_form_accepts_null(tn_value schema) {
    struct schema *compiled = NULL;
    if (!schema) return true;
    if (schema_compile(schema, NULL, &compiled, NULL) != TN_OK) return false;
    bool accepts = schema_validate(compiled, value_null(), NULL) == TN_OK;
    schema_unref(compiled);
    return accepts;
}

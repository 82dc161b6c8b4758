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

static bool form_copy_member(tn_value *out, tn_value schema, const char *name) {
    tn_value found = value_get(schema, name);
    if (!found) return false;
    *out = value_set_take(*out, name, value_ref(found));
    return true;
}

static bool form_is_choices(tn_value list) {
    for (size_t i = 0; i < value_count(list); i++)
        if (!value_is(value_at(list, i), TN_STRING)) return false;
    return list && value_is(list, TN_ARRAY) && value_count(list) > 0;
}

/* A field of a form; NULL if it cannot be one. */
static tn_value form_field(tn_value schema) {
    static const char *const copied[] = {"title",   "description", "minLength", "maxLength", "pattern", "format",
                                         "default", "minimum",     "maximum",   "minItems",  "maxItems"};
    tn_value type = schema && value_is(schema, TN_OBJECT) ? value_get(schema, "type") : NULL;
    tn_value choices = schema && value_is(schema, TN_OBJECT) ? value_get(schema, "enum") : NULL;
    if (!type && form_is_choices(choices))
        type = value_text("string");
    else if (type)
        type = value_ref(type);
    if (!type || !value_is(type, TN_STRING)) return value_unref(type), NULL;
    const char *word = value_chars(type, NULL);
    bool plain = strcmp(word, "string") == 0 || strcmp(word, "number") == 0 || strcmp(word, "integer") == 0 ||
                 strcmp(word, "boolean") == 0;
    bool list = strcmp(word, "array") == 0 && form_is_choices(value_get(value_get(schema, "items"), "enum"));
    if ((!plain && !list) || (choices && (strcmp(word, "string") != 0 || !form_is_choices(choices))))
        return value_unref(type), NULL;
    tn_value field = value_set_take(value_object_reserve(4), "type", type);
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) (void)form_copy_member(&field, schema, copied[i]);
    if (choices) field = value_set_take(field, "enum", value_ref(choices));
    if (!list) return field;
    tn_value items = value_set_take(value_object_reserve(2), "type", value_text("string"));
    items = value_set_take(items, "enum", value_ref(value_get(value_get(schema, "items"), "enum")));
    return value_set_take(field, "items", items);
}

static tn_value form_of(tn_value fields, tn_value required, tn_value schema) {
    tn_value form = value_set_take(value_object_reserve(5), "type", value_text("object"));
    if (schema) {
        (void)form_copy_member(&form, schema, "title");
        (void)form_copy_member(&form, schema, "description");
    }
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

/*
 * keyword.c - a table of JSON Schema's keywords, the commonest first.
 */
#include "adl/assist/keyword.h"
#include <string.h>

static const struct schema_keyword keywords[] = {
    {"type", KEYWORD_TEXT,
     "The kind of the value: string, number, integer, boolean, array, object or null; or a list of these."},
    {"description", KEYWORD_TEXT, "What the value is, for people and for models."},
    {"properties", KEYWORD_NAMES, "The members of an object, each with its schema."},
    {"required", KEYWORD_LIST, "The members that an object must have."},
    {"additionalProperties", KEYWORD_OTHER, "Whether an object may have other members, or their schema."},
    {"items", KEYWORD_SCHEMA, "The schema of each item of an array."},
    {"enum", KEYWORD_LIST, "The allowed values."},
    {"const", KEYWORD_OTHER, "The only allowed value."},
    {"default", KEYWORD_OTHER, "The value if none is given."},
    {"examples", KEYWORD_LIST, "Examples of values."},
    {"title", KEYWORD_TEXT, "A short name of the value."},
    {"minimum", KEYWORD_OTHER, "The least number."},
    {"maximum", KEYWORD_OTHER, "The greatest number."},
    {"exclusiveMinimum", KEYWORD_OTHER, "The number must be greater."},
    {"exclusiveMaximum", KEYWORD_OTHER, "The number must be less."},
    {"multipleOf", KEYWORD_OTHER, "The number must be a multiple."},
    {"minLength", KEYWORD_OTHER, "The least number of characters of a string."},
    {"maxLength", KEYWORD_OTHER, "The greatest number of characters of a string."},
    {"pattern", KEYWORD_TEXT, "A regular expression that a string must match somewhere."},
    {"format", KEYWORD_TEXT, "The form of a string, such as date-time, email or uri."},
    {"minItems", KEYWORD_OTHER, "The least number of items of an array."},
    {"maxItems", KEYWORD_OTHER, "The greatest number of items of an array."},
    {"uniqueItems", KEYWORD_OTHER, "True if the items of an array must differ."},
    {"minProperties", KEYWORD_OTHER, "The least number of members of an object."},
    {"maxProperties", KEYWORD_OTHER, "The greatest number of members of an object."},
    {"patternProperties", KEYWORD_NAMES, "Schemas of the members whose names match a regular expression."},
    {"propertyNames", KEYWORD_SCHEMA, "The schema of the names of all members."},
    {"prefixItems", KEYWORD_SCHEMAS, "Schemas of the first items of an array."},
    {"allOf", KEYWORD_SCHEMAS, "The value must match all of these schemas."},
    {"anyOf", KEYWORD_SCHEMAS, "The value must match at least one of these schemas."},
    {"oneOf", KEYWORD_SCHEMAS, "The value must match exactly one of these schemas."},
    {"not", KEYWORD_SCHEMA, "The value must not match this schema."},
    {"$ref", KEYWORD_TEXT, "Another schema, such as #/$defs/name."},
    {"$defs", KEYWORD_NAMES, "Schemas that $ref names."},
    {"deprecated", KEYWORD_OTHER, "True if the value should no longer be used."},
};

const struct schema_keyword *schema_keyword_at(size_t index) {
    return index < sizeof keywords / sizeof *keywords ? &keywords[index] : NULL;
}

const struct schema_keyword *schema_keyword_find(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strlen(keywords[i].name) == length && memcmp(keywords[i].name, name, length) == 0) return &keywords[i];
    return NULL;
}

/* What the value of a key of a schema is. */
static enum keyword_form form_of(const struct cursor_step *step) {
    static const char *const schemas[] = {
        "additionalProperties", "if", "then", "else", "contains", "unevaluatedProperties", "unevaluatedItems"};
    const struct schema_keyword *row = step->key ? schema_keyword_find(step->key, step->length) : NULL;
    for (size_t i = 0; step->key && i < sizeof schemas / sizeof *schemas; i++)
        if (strlen(schemas[i]) == step->length && memcmp(schemas[i], step->key, step->length) == 0)
            return KEYWORD_SCHEMA;
    return row ? row->form : KEYWORD_OTHER;
}

bool keyword_place(const struct meaning *meaning) {
    const struct cursor *cursor = &meaning->cursor;
    enum keyword_form form = KEYWORD_SCHEMA;
    uint32_t end = cursor->depth - (cursor->kind == CURSOR_KEY);
    for (uint32_t i = meaning->config_step + 1; i < end; i++) {
        if (form == KEYWORD_SCHEMA)
            form = form_of(&cursor->steps[i]);
        else if (form == KEYWORD_NAMES || form == KEYWORD_SCHEMAS)
            form = KEYWORD_SCHEMA;
        else
            return false;
    }
    return form == KEYWORD_SCHEMA;
}

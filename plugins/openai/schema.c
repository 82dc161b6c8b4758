/*
 * schema.c - structured output: decides whether the service can enforce a JSON Schema.
 *
 * "strict" output uses a grammar that supports a subset of JSON Schema: objects with `additionalProperties: false`
 * whose members are all required, and no combinations except anyOf. Other schemas are sent without strict: the model
 * tries to follow them, and the caller validates the answer.
 */
#include "dialect.h"
#include "openai.h"

#define SCHEMA_DEPTH_MAX      10 /* limits of the service */
#define SCHEMA_PROPERTIES_MAX 5000

struct totals {
    uint32_t depth;
    uint64_t properties;
};

static bool schema_check_strict(tn_value schema, struct totals *totals);

static bool schema_keyword_is_known(const char *keyword) {
    static const char *const words[] = {"type",
                                        "properties",
                                        "required",
                                        "additionalProperties",
                                        "items",
                                        "enum",
                                        "const",
                                        "anyOf",
                                        "$ref",
                                        "$defs",
                                        "definitions",
                                        "title",
                                        "format",
                                        "description",
                                        "pattern",
                                        "minimum",
                                        "maximum",
                                        "exclusiveMinimum",
                                        "multipleOf",
                                        "minItems",
                                        "exclusiveMaximum",
                                        "maxItems",
                                        "$schema",
                                        "$comment",
                                        "$id"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i], keyword) == 0) return true;
    return false;
}

static bool schema_check_list_strict(tn_value schemas, struct totals *totals) {
    bool object = tn.value->kind(schemas) == TN_OBJECT;
    for (uint64_t i = 0, count = tn.value->count(schemas); i < count; i++) {
        tn_value key = NULL, schema = tn.value->at(schemas, i);
        if (object) (void)tn.value->entry(schemas, i, &key, &schema);
        if (!schema_check_strict(schema, totals)) return false;
    }
    return true;
}

static bool schema_is_object(tn_value schema) {
    tn_value type = tn_get(schema, "type");
    for (uint64_t i = 0; i < tn.value->count(type); i++)
        if (strcmp(tn_chars(tn.value->at(type, i), NULL) != NULL ? tn_chars(tn.value->at(type, i), NULL) : "",
                   "object") == 0)
            return true;
    return strcmp(tn_get_text(schema, "type", ""), "object") == 0 || tn_get(schema, "properties") != NULL;
}

/* True if the object is closed and every member is required. */
static bool schema_is_closed(tn_value schema) {
    tn_value properties = tn_get(schema, "properties"), required = tn_get(schema, "required");
    int32_t more = 1;
    if (tn.value->as_bool(tn_get(schema, "additionalProperties"), &more) != TN_OK || more) return false;
    for (uint64_t i = 0, count = tn.value->count(properties); i < count; i++) {
        tn_value key, value;
        bool found = false;
        if (tn.value->entry(properties, i, &key, &value) != TN_OK) return false;
        for (uint64_t k = 0; k < tn.value->count(required) && !found; k++)
            found = tn.value->equal(tn.value->at(required, k), key) != 0;
        if (!found) return false;
    }
    return true;
}

static bool schema_check_strict(tn_value schema, struct totals *totals) {
    if (tn.value->kind(schema) != TN_OBJECT || totals->depth >= SCHEMA_DEPTH_MAX) return false;
    totals->properties += tn.value->count(tn_get(schema, "properties"));
    if (totals->properties > SCHEMA_PROPERTIES_MAX) return false;
    for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema, i, &key, &value) != TN_OK || !schema_keyword_is_known(tn_chars(key, NULL)))
            return false;
    }
    if (schema_is_object(schema) && !schema_is_closed(schema)) return false;
    tn_value items = tn_get(schema, "items");
    totals->depth++;
    bool all = schema_check_list_strict(tn_get(schema, "properties"), totals) &&
               schema_check_list_strict(tn_get(schema, "anyOf"), totals) &&
               schema_check_list_strict(tn_get(schema, "$defs"), totals) &&
               schema_check_list_strict(tn_get(schema, "definitions"), totals) &&
               (items == NULL || schema_check_strict(items, totals));
    totals->depth--;
    return all;
}

/* True if every object of the schema is closed and has all members required, so that the service can enforce it. */
static bool openai_schema_is_strict(tn_value schema) {
    struct totals totals = {0, 0};
    return schema_is_object(schema) && schema_check_strict(schema, &totals);
}

void openai_put_format(const struct model_call *call, tn_builder *builder, bool named, bool strict) {
    char name[TN_TOOL_NAME_MAX + 1];
    const char *title = tn_get_text(call->schema, "title", "");
    uint64_t used = 0;
    for (; *title != '\0' && used < TN_TOOL_NAME_MAX; title++) {
        bool plain = (*title >= 'a' && *title <= 'z') || (*title >= 'A' && *title <= 'Z') ||
                     (*title >= '0' && *title <= '9') || *title == '_' || *title == '-';
        if (plain || *title == ' ') name[used++] = plain ? *title : '_';
    }
    name[used] = '\0';
    if (named) tn_put_text(builder, "name", used > 0 ? name : "answer");
    tn_put(builder, "schema", call->schema);
    if (strict) tn_put_bool(builder, "strict", openai_schema_is_strict(call->schema));
}

/* ---- The schema as a text, for servers that cannot enforce it ---- */

bool openai_schema_in_prompt(const struct model_call *call) {
    /* `extra` can have selected the mode, too. */
    tn_value format = tn_get(tn_get(model_get_option(call, "extra"), "response_format"), "type");
    const char *structured = openai_dialect(call)->structured, *chosen = tn_chars(format, NULL);
    if (call->schema == NULL) return false;
    if (chosen != NULL) return strcmp(chosen, "json_object") == 0;
    return structured == NULL || strcmp(structured, "json_schema") != 0;
}

/*
 * schema.c - structured output: which JSON Schemas the service can hold its answer to.
 *
 * "strict" output is made with a grammar, which knows a part of JSON Schema: closed objects whose members are all
 * required, and no combinations but anyOf. A schema outside of that is sent without strict: the model then tries to fit
 * it, and whoever asked validates.
 */
#include "openai.h"

#define DEPTH_MAX    10 /* the service's bounds */
#define PROPERTY_MAX 5000

struct looked {
    uint32_t depth;
    uint64_t properties;
};

static bool fits(tn_value schema, struct looked *looked);

static bool known(const char *keyword) {
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

static bool all_fit(tn_value schemas, struct looked *looked) {
    bool object = tn.value->kind(schemas) == TN_OBJECT;
    for (uint64_t i = 0, count = tn.value->count(schemas); i < count; i++) {
        tn_value key = NULL, schema = tn.value->at(schemas, i);
        if (object) (void)tn.value->entry(schemas, i, &key, &schema);
        if (!fits(schema, looked)) return false;
    }
    return true;
}

static bool is_object(tn_value schema) {
    tn_value type = tn.value->get(schema, "type");
    for (uint64_t i = 0; i < tn.value->count(type); i++)
        if (strcmp(tn_chars(tn.value->at(type, i), NULL) != NULL ? tn_chars(tn.value->at(type, i), NULL) : "",
                   "object") == 0)
            return true;
    return strcmp(tn_get_text(schema, "type", ""), "object") == 0 || tn.value->get(schema, "properties") != NULL;
}

/* Closed, and every member required. */
static bool closed(tn_value schema) {
    tn_value properties = tn.value->get(schema, "properties"), required = tn.value->get(schema, "required");
    int32_t more = 1;
    if (tn.value->as_bool(tn.value->get(schema, "additionalProperties"), &more) != TN_OK || more) return false;
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

static bool fits(tn_value schema, struct looked *looked) {
    if (tn.value->kind(schema) != TN_OBJECT || looked->depth >= DEPTH_MAX) return false;
    looked->properties += tn.value->count(tn.value->get(schema, "properties"));
    if (looked->properties > PROPERTY_MAX) return false;
    for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema, i, &key, &value) != TN_OK || !known(tn_chars(key, NULL))) return false;
    }
    if (is_object(schema) && !closed(schema)) return false;
    tn_value items = tn.value->get(schema, "items");
    looked->depth++;
    bool all = all_fit(tn.value->get(schema, "properties"), looked) &&
               all_fit(tn.value->get(schema, "anyOf"), looked) && all_fit(tn.value->get(schema, "$defs"), looked) &&
               all_fit(tn.value->get(schema, "definitions"), looked) && (items == NULL || fits(items, looked));
    looked->depth--;
    return all;
}

bool openai_schema_strict(tn_value schema) {
    struct looked looked = {0, 0};
    return is_object(schema) && fits(schema, &looked);
}

void openai_put_format(const struct model_call *call, tn_builder *builder) {
    char name[MODEL_NAME_MAX + 1];
    const char *title = tn_get_text(call->schema, "title", "");
    uint64_t used = 0;
    for (; *title != '\0' && used < MODEL_NAME_MAX; title++) {
        bool plain = (*title >= 'a' && *title <= 'z') || (*title >= 'A' && *title <= 'Z') ||
                     (*title >= '0' && *title <= '9') || *title == '_' || *title == '-';
        if (plain || *title == ' ') name[used++] = plain ? *title : '_';
    }
    name[used] = '\0';
    tn_put_text(builder, "name", used > 0 ? name : "answer");
    tn_put(builder, "schema", call->schema);
    tn_put_bool(builder, "strict", openai_schema_strict(call->schema));
}

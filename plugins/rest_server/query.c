/*
 * query.c - the query of a GET as parameters: texts become what the schema of their parameter asks for.
 */
#include "rest_server.h"

tn_value openrpc_find(tn_value document, const char *method) {
    tn_value methods = tn_get(document, "methods");
    for (uint64_t i = 0, count = tn.value->count(methods); i < count; i++)
        if (serving_is(tn_get(tn.value->at(methods, i), "name"), method)) return tn.value->at(methods, i);
    return NULL;
}

tn_value openrpc_resolve(tn_value document, tn_value schema) {
    static const char place[] = "#/components/schemas/";
    tn_value schemas = tn_get(tn_get(document, "components"), "schemas");
    for (int depth = 0; depth < 8; depth++) {
        const char *reference = tn_get_text(schema, "$ref", NULL);
        if (reference == NULL || strncmp(reference, place, sizeof place - 1) != 0) break;
        schema = tn_get(schemas, reference + sizeof place - 1);
    }
    return schema;
}

/* ---- Flat schemas ---- */

static bool is_scalar_name(tn_value type) {
    return serving_is(type, "string") || serving_is(type, "integer") || serving_is(type, "number") ||
           serving_is(type, "boolean");
}

static bool is_scalar(tn_value schema) {
    tn_value type = tn_get(schema, "type"), values = tn_get(schema, "enum");
    bool is = values != NULL || is_scalar_name(type);
    for (uint64_t i = 0, count = tn.value->count(values); i < count; i++)
        if (tn.value->kind(tn.value->at(values, i)) != TN_STRING) return false;
    if (type == NULL || tn.value->kind(type) != TN_ARRAY) return is;
    for (uint64_t i = 0, count = tn.value->count(type); i < count; i++)
        if (!is_scalar_name(tn.value->at(type, i))) return false;
    return true;
}

static bool is_list(tn_value schema) { return serving_is(tn_get(schema, "type"), "array"); }

bool query_is_flat(tn_value document, tn_value row) {
    tn_value params = tn_get(row, "params");
    if (!serving_is(tn_get(row, "x-tenon-scope"), "read") || tn_get(row, "x-tenon-params") != NULL) return false;
    for (uint64_t i = 0, count = tn.value->count(params); i < count; i++) {
        tn_value schema = openrpc_resolve(document, tn_get(tn.value->at(params, i), "schema"));
        if (is_list(schema)) schema = openrpc_resolve(document, tn_get(schema, "items"));
        if (!is_scalar(schema)) return false;
    }
    return true;
}

/* ---- Values ---- */

static bool has_type(tn_value schema, const char *name) {
    tn_value type = tn_get(schema, "type");
    if (serving_is(type, name)) return true;
    if (type == NULL || tn.value->kind(type) != TN_ARRAY) return false;
    for (uint64_t i = 0, count = tn.value->count(type); i < count; i++)
        if (serving_is(tn.value->at(type, i), name)) return true;
    return false;
}

/* The text as a JSON number or a bool, if the schema asks for one: new. */
static tn_value scalar_value(tn_value schema, tn_value text) {
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    bool number = has_type(schema, "integer") || has_type(schema, "number"), boolean = has_type(schema, "boolean");
    if (chars == NULL || length == 0 || length > 40 || (!number && !boolean)) return tn_retain(text);
    tn_value value = tn_from_json(chars, length);
    int32_t kind = value != NULL ? tn.value->kind(value) : TN_NULL;
    if ((number && (kind == TN_INT || kind == TN_DOUBLE)) || (boolean && kind == TN_BOOL)) return value;
    tn_release(value);
    return tn_retain(text);
}

static tn_value list_value(tn_value items, tn_value given) {
    tn_value list = tn_build("[]");
    if (tn.value->kind(given) != TN_ARRAY) {
        (void)tn_append_take(&list, scalar_value(items, given));
        return list;
    }
    for (uint64_t i = 0, count = tn.value->count(given); i < count; i++)
        (void)tn_append_take(&list, scalar_value(items, tn.value->at(given, i)));
    return list;
}

static tn_value schema_of(tn_value document, tn_value row, const char *name) {
    tn_value params = tn_get(row, "params");
    for (uint64_t i = 0, count = tn.value->count(params); i < count; i++)
        if (serving_is(tn_get(tn.value->at(params, i), "name"), name))
            return openrpc_resolve(document, tn_get(tn.value->at(params, i), "schema"));
    return NULL;
}

tn_value query_params(tn_value document, tn_value row, tn_value query) {
    tn_builder *builder = tn_builder_new();
    tn_value key, given;
    if (builder == NULL) return NULL;
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0; query != NULL && tn.value->entry(query, i, &key, &given) == TN_OK; i++) {
        tn_value schema = schema_of(document, row, tn_chars(key, NULL));
        tn_value value = is_list(schema) ? list_value(openrpc_resolve(document, tn_get(schema, "items")), given)
                         : tn.value->kind(given) == TN_STRING ? scalar_value(schema, given)
                                                              : tn_retain(given);
        tn_put_key_take(builder, key, value);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

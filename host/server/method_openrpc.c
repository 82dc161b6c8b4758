/*
 * method_openrpc.c - the method table as an OpenRPC 1.3 document.
 *
 * Each parameter of a method is one content descriptor, and calls pass them by name. A schema of parameters can have
 * rules about several of them ("document or text"), which descriptors cannot express: the extension `x-tenon-params`
 * has the whole schema then. Codes of errors are texts in Tenon, so all of them share one number.
 */
#include "adl/value/codes.h"
#include "host/server/method_document.h"
#include <string.h>

#define OPENRPC_VERSION "1.3.2"
#define OPENRPC_PLACE   "#/components/schemas/"

static tn_value openrpc_set_text(tn_value object, const char *key, tn_value text) {
    return text ? value_set_take(object, key, value_ref(text)) : object;
}

/* ---- Parameters and result ---- */

static bool is_required(tn_value params, tn_value name) {
    tn_value required = value_get(params, "required");
    for (size_t i = 0; i < value_count(required); i++)
        if (value_equal(value_at(required, i), name)) return true;
    return false;
}

static tn_value openrpc_params(tn_value params) {
    tn_value properties = value_get(params, "properties"), list = value_array();
    for (size_t i = 0; i < value_count(properties); i++) {
        tn_value name = value_key_at(properties, i), schema = value_value_at(properties, i);
        tn_value one = value_set_take(value_object(), "name", value_ref(name));
        one = openrpc_set_text(one, "description", value_get(schema, "description"));
        one = value_set_take(one, "required", value_bool(is_required(params, name)));
        list = value_push_take(list, value_set_take(one, "schema", method_schema_for(schema, OPENRPC_PLACE)));
    }
    return list;
}

/* True if content descriptors express all of the schema. */
static bool is_plain(tn_value params) {
    static const char *const plain[] = {"type", "properties", "required", "additionalProperties", "description"};
    size_t known = 0;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) known += value_get(params, plain[i]) != NULL;
    return known == value_count(params);
}

static tn_value openrpc_result(tn_value schema) {
    tn_value result = value_set_take(value_object(), "name", value_text("result"));
    result = openrpc_set_text(result, "description", value_get(schema, "description"));
    return value_set_take(result, "schema", method_schema_for(schema, OPENRPC_PLACE));
}

/* ---- Errors, tags and examples ---- */

/* The first sentence of the explanation: OpenRPC asks for a short one. */
static tn_value openrpc_error_message(const char *code) {
    const struct error_code *row = error_code_find(code);
    if (!row) return value_text(code);
    const char *end = strstr(row->explanation, ". ");
    return value_text_n(row->explanation, end ? (size_t)(end - row->explanation) + 1 : strlen(row->explanation));
}

static tn_value openrpc_errors(const struct method *method) {
    tn_value codes = method_error_codes(method), list = value_array();
    for (size_t i = 0; i < value_count(codes); i++) {
        tn_value code = value_at(codes, i), error = value_object();
        error = value_set_take(error, "code", value_int(METHOD_JSON_RPC_ERROR));
        error = value_set_take(error, "message", openrpc_error_message(value_chars(code, NULL)));
        error = value_set_take(error, "data", value_set_take(value_object(), "code", value_ref(code)));
        list = value_push_take(list, error);
    }
    value_unref(codes);
    return list;
}

/* The group of thread/list is `thread`. */
static tn_value openrpc_tags(const char *name) {
    tn_value tag = value_set_take(value_object(), "name", value_text_n(name, strcspn(name, "/")));
    return value_push_take(value_array(), tag);
}

static tn_value openrpc_example_value(tn_value name, tn_value value) {
    tn_value example = value_set_take(value_object(), "name", value_ref(name));
    return value_set_take(example, "value", value_ref(value));
}

static tn_value openrpc_examples(const struct method *method) {
    tn_value example = value_get(method->row, "example"), given = value_get(example, "params"), params = value_array();
    for (size_t i = 0; i < value_count(given); i++)
        params = value_push_take(params, openrpc_example_value(value_key_at(given, i), value_value_at(given, i)));
    tn_value pair = value_set_take(value_object(), "name", value_text(method->name)), name = value_text("result");
    pair = value_set_take(pair, "params", params);
    pair = value_set_take(pair, "result", openrpc_example_value(name, value_get(example, "result")));
    value_unref(name);
    return value_push_take(value_array(), pair);
}

/* ---- The document ---- */

static tn_value openrpc_method(const struct method *method) {
    tn_value params = value_get(method->row, "params");
    tn_value one = value_set_take(value_object(), "name", value_text(method->name));
    one = value_set_take(one, "summary", value_text(method->summary));
    one = openrpc_set_text(one, "description", value_get(method->row, "description"));
    one = value_set_take(one, "tags", openrpc_tags(method->name));
    one = value_set_take(one, "paramStructure", value_text("by-name"));
    one = value_set_take(one, "params", openrpc_params(params));
    one = value_set_take(one, "result", openrpc_result(value_get(method->row, "result")));
    one = value_set_take(one, "errors", openrpc_errors(method));
    one = value_set_take(one, "examples", openrpc_examples(method));
    one = value_set_take(one, "x-tenon-scope", value_text(method_scope_name(method->scope)));
    one = openrpc_set_text(one, "x-tenon-owned", value_get(method->row, "owned"));
    if (is_plain(params)) return one;
    return value_set_take(one, "x-tenon-params", method_schema_for(params, OPENRPC_PLACE));
}

static tn_value openrpc_events(void) {
    tn_value events = method_events(), list = value_array();
    for (size_t i = 0; i < value_count(events); i++) {
        tn_value row = value_value_at(events, i);
        tn_value one = value_set_take(value_object(), "name", value_ref(value_key_at(events, i)));
        one = openrpc_set_text(one, "summary", value_get(row, "summary"));
        one = value_set_take(one, "params", method_schema_for(value_get(row, "params"), OPENRPC_PLACE));
        list = value_push_take(list, one);
    }
    return list;
}

static tn_value openrpc_info(void) {
    tn_value info = value_set_take(value_object(), "title", value_text("Tenon"));
    info = value_set_take(info, "description",
                          value_text("The methods of a Tenon host. Each error has a stable code in `data.code`."));
    return value_set_take(info, "version", value_text(TENON_VERSION));
}

tn_value method_openrpc(void) { return method_openrpc_of(NULL, NULL); }

tn_value method_openrpc_of(bool (*shown)(void *user, const struct method *method), void *user) {
    const struct method *method;
    tn_value methods = value_array();
    for (size_t i = 0; (method = method_at(i)) != NULL; i++)
        if (!shown || shown(user, method)) methods = value_push_take(methods, openrpc_method(method));
    tn_value schemas = method_schema_for(method_schemas(), OPENRPC_PLACE);
    tn_value document = value_set_take(value_object(), "openrpc", value_text(OPENRPC_VERSION));
    document = value_set_take(document, "info", openrpc_info());
    document = value_set_take(document, "methods", methods);
    document = value_set_take(document, "components", value_set_take(value_object(), "schemas", schemas));
    return value_set_take(document, "x-tenon-events", openrpc_events());
}

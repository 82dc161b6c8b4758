/*
 * acp_params.c - validates what the client sends, with the schemas of acp_params.json.
 *
 * The schemas are compiled once for the process. Members that they do not name are allowed: later releases add some.
 */
#include "adl/schema/violations.h"
#include "adl/value/json.h"
#include "host/server/acp/acp_internal.h"
#include "host/server/rpc/rpc_peer.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char acp_params_text[];
extern const unsigned acp_params_length;

#define METHODS_MAX 32u

/* Process-wide: the schemas are part of the program. */
static struct {
    pthread_once_t once;
    size_t count;
    struct {
        const char *method;
        struct schema *schema;
    } rows[METHODS_MAX];
    tn_value file; /* rows point into it */
} acp_params = {.once = PTHREAD_ONCE_INIT};

static _Noreturn void params_broken(const char *what) {
    fprintf(stderr, "tenon: acp_params.json is broken: %s\n", what);
    abort();
}

static void params_read(void) {
    struct error error = ERROR_INIT;
    if (json_read(acp_params_text, acp_params_length, NULL, &acp_params.file, &error) != TN_OK)
        params_broken(error.message);
    tn_value methods = value_get(acp_params.file, "methods"), defs = value_get(acp_params.file, "$defs");
    if (value_count(methods) > METHODS_MAX) params_broken("too many methods");
    for (size_t i = 0; i < value_count(methods); i++) {
        tn_value whole = value_set_take(value_ref(value_value_at(methods, i)), "$defs", value_ref(defs));
        acp_params.rows[i].method = value_chars(value_key_at(methods, i), NULL);
        if (schema_compile(whole, NULL, &acp_params.rows[i].schema, &error) != TN_OK) params_broken(error.message);
        value_unref(whole);
    }
    acp_params.count = value_count(methods);
    error_finish(&error);
}

static const struct schema *params_schema(const char *method) {
    (void)pthread_once(&acp_params.once, params_read);
    for (size_t i = 0; i < acp_params.count; i++)
        if (strcmp(acp_params.rows[i].method, method) == 0) return acp_params.rows[i].schema;
    return NULL;
}

bool acp_params_check(struct peer_request *request) {
    const char *method = peer_request_method(request);
    const struct schema *schema = params_schema(method);
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    bool good = schema && schema_validate(schema, peer_request_params(request), &errors) == TN_OK;
    if (!good) {
        struct error error = ERROR_INIT;
        tn_value what = value_format("the parameters of `%s` do not match their schema", method);
        (void)violations_refuse(&errors, "INVALID_INPUT", value_chars(what, NULL), &error);
        peer_refuse(request, RPC_INVALID_PARAMS, "%s", error.message);
        value_unref(what);
        error_finish(&error);
    }
    schema_errors_finish(&errors);
    return good;
}

bool acp_params_match(const char *method, tn_value params) {
    const struct schema *schema = params_schema(method);
    return schema && schema_validate(schema, params, NULL) == TN_OK;
}

const char *acp_text(tn_value object, const char *name) {
    tn_value text = value_get(object, name);
    return text && value_is(text, TN_STRING) ? value_chars(text, NULL) : NULL;
}

tn_value acp_array(tn_value object, const char *name) {
    tn_value array = value_get(object, name);
    return array && value_is(array, TN_ARRAY) ? value_ref(array) : value_array();
}

/*
 * openapi.c - the OpenRPC document of a host as an OpenAPI 3.1 document. Both use JSON Schema 2020-12, and have shared
 * schemas at the same place, so schemas are copied as they are.
 */
#include "rest_server.h"

/* Routes that are not methods, and what all of them share. */
static const char extra[] =
    "{\"/api/runs/{run_id}/events\": {\"get\": {\"operationId\": \"run_events\", \"tags\": [\"run\"],"
    " \"summary\": \"The events of a run as server-sent events; their ids are for Last-Event-ID.\", \"parameters\": ["
    "{\"name\": \"run_id\", \"in\": \"path\", \"required\": true, \"schema\": {\"type\": \"string\", \"minLength\": "
    "1}},"
    "{\"name\": \"after\", \"in\": \"query\", \"schema\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": "
    "999999999999999}, \"description\": \"The number of the last event that the client has.\"}], \"responses\": {"
    "\"200\": {\"description\": \"Events `run/event` and `run/ended`\", \"content\": {\"text/event-stream\": {}}},"
    "\"204\": {\"description\": \"The run has ended, and has no more events.\"},"
    "\"default\": {\"$ref\": \"#/components/responses/Failure\"}}}},"
    "\"/api/artifacts/{name}\": {\"put\": {\"operationId\": \"artifact_upload\", \"tags\": [\"artifact\"],"
    " \"summary\": \"Writes an Artifact of at most 1 GiB; its media type is the Content-Type.\", \"parameters\": ["
    "{\"name\": \"name\", \"in\": \"path\", \"required\": true, \"schema\": {\"type\": \"string\", \"minLength\": 1,"
    " \"maxLength\": 512}}], \"requestBody\": {\"content\": {\"application/octet-stream\": {}}}, \"responses\": {"
    "\"201\": {\"description\": \"The Artifact\", \"content\": {\"application/json\": {\"schema\": {\"$ref\": "
    "\"#/components/schemas/Artifact\"}}}}, \"default\": {\"$ref\": \"#/components/responses/Failure\"}}}},"
    "\"/api/artifacts/{id}/body\": {\"get\": {\"operationId\": \"artifact_body\", \"tags\": [\"artifact\"],"
    " \"summary\": \"The bytes of an Artifact, or one range of them.\", \"parameters\": ["
    "{\"name\": \"id\", \"in\": \"path\", \"required\": true, \"schema\": {\"type\": \"string\", \"minLength\": 1}}],"
    " \"responses\": {\"200\": {\"description\": \"The body\", \"content\": {\"*/*\": {}}},"
    "\"206\": {\"description\": \"A range of the body\", \"content\": {\"*/*\": {}}},"
    "\"304\": {\"description\": \"The client has it.\"},"
    "\"default\": {\"$ref\": \"#/components/responses/Failure\"}}}}}";

static const char failure[] =
    "{\"description\": \"Why the request failed\", \"content\": {\"application/json\": {\"schema\": {\"type\": "
    "\"object\", \"required\": [\"error\"], \"properties\": {\"error\": {\"type\": \"object\", \"required\": [\"code\","
    " \"message\", \"status\"], \"properties\": {\"code\": {\"type\": \"string\", \"description\": \"A stable code\"},"
    " \"message\": {\"type\": \"string\"}, \"status\": {\"type\": \"integer\"}, \"detail\": {}}}}}}}}";

static tn_value params_schema(tn_value row) {
    tn_value whole = tn_get(row, "x-tenon-params"), params = tn_get(row, "params");
    if (whole != NULL) return tn_retain(whole);
    tn_value properties = tn_build("{}"), required = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(params); i < count; i++) {
        tn_value one = tn.value->at(params, i);
        const char *name = tn_get_text(one, "name", "");
        properties = tn_set_take(properties, name, tn_retain(tn_get(one, "schema")));
        if (serving_true(tn_get(one, "required"))) (void)tn_append_take(&required, tn_text(name));
    }
    return tn_build("{s:s, s:V, s:V, s:b}", "type", "object", "properties", properties, "required", required,
                    "additionalProperties", 0);
}

static tn_value responses_of(tn_value row) {
    tn_value schema = tn_get(tn_get(row, "result"), "schema");
    return tn_build("{s:{s:s, s:{s:{s:v}}}, s:{s:s}}", "200", "description", tn_get_text(row, "summary", "The result"),
                    "content", "application/json", "schema", schema, "default", "$ref",
                    "#/components/responses/Failure");
}

/* `suffix` distinguishes the two operations of a method. */
static tn_value operation(tn_value row, const char *suffix) {
    struct tn_text_buffer id = TN_TEXT_BUFFER(256);
    const char *name = tn_get_text(row, "name", "");
    for (const char *at = name; *at != '\0'; at++) (void)tn_text_append_char(&id, *at == '/' ? '_' : *at);
    (void)tn_text_append(&id, suffix);
    tn_value tag = tn_text_n(name, strcspn(name, "/"));
    tn_value made = tn_build("{s:s, s:s, s:v*, s:[V], s:v*, s:V}", "operationId", tn_text_chars(&id), "summary",
                             tn_get_text(row, "summary", ""), "description", tn_get(row, "description"), "tags", tag,
                             "x-tenon-scope", tn_get(row, "x-tenon-scope"), "responses", responses_of(row));
    tn_text_free(&id);
    return made;
}

static tn_value post_of(tn_value row) {
    tn_value schema = params_schema(row);
    bool required = tn.value->count(tn_get(schema, "required")) > 0 || tn_get(schema, "oneOf") != NULL;
    tn_value body =
        tn_build("{s:b, s:{s:{s:V}}}", "required", required, "content", "application/json", "schema", schema);
    return tn_set_take(operation(row, ""), "requestBody", body);
}

static tn_value get_of(tn_value row) {
    tn_value params = tn_get(row, "params"), list = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(params); i < count; i++) {
        tn_value one = tn.value->at(params, i);
        (void)tn_append_take(&list, tn_build("{s:v, s:s, s:b, s:v*, s:v}", "name", tn_get(one, "name"), "in", "query",
                                             "required", serving_true(tn_get(one, "required")), "description",
                                             tn_get(one, "description"), "schema", tn_get(one, "schema")));
    }
    return tn_set_take(operation(row, "_get"), "parameters", list);
}

static tn_value paths_of(tn_value openrpc) {
    tn_value methods = tn_get(openrpc, "methods"), paths = tn_from_json(extra, sizeof extra - 1);
    for (uint64_t i = 0, count = tn.value->count(methods); i < count; i++) {
        tn_value row = tn.value->at(methods, i);
        const char *name = tn_get_text(row, "name", "");
        char path[256];
        if (rest_is_of_events(name)) continue;
        (void)snprintf(path, sizeof path, "/api/%s", name);
        tn_value item = tn_build("{s:V}", "post", post_of(row));
        if (query_is_flat(openrpc, row)) item = tn_set_take(item, "get", get_of(row));
        paths = tn_set_take(paths, path, item);
    }
    return paths;
}

tn_value openapi_build(tn_value openrpc, const char *origin) {
    static const char about[] = "The methods of a Tenon host that this key may call. Each error has a stable code. "
                                "/rpc offers the same methods, "
                                "and events, by JSON-RPC; /openrpc.json describes them.";
    tn_value response = tn_from_json(failure, sizeof failure - 1);
    tn_value components =
        tn_build("{s:v?, s:{s:V}, s:{s:{s:s, s:s}}}", "schemas", tn_get(tn_get(openrpc, "components"), "schemas"),
                 "responses", "Failure", response, "securitySchemes", "key", "type", "http", "scheme", "bearer");
    return tn_build("{s:s, s:{s:s, s:s, s:s}, s:[{s:s}], s:[{s:[]}], s:V, s:V}", "openapi", "3.1.0", "info", "title",
                    "Tenon", "description", about, "version", tn_get_text(tn_get(openrpc, "info"), "version", "0"),
                    "servers", "url", origin, "security", "key", "paths", paths_of(openrpc), "components", components);
}

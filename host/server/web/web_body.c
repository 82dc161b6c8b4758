/*
 * web_body.c - whether a route takes a body, and the body as JSON.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/wildcard.h"
#include "host/server/web/web_internal.h"
#include <string.h>
#include <strings.h>

static const char *content_type(const struct web_request *request) {
    const char *type = web_header(request, "content-type");
    return type ? type : "";
}

/* The media type without parameters, in lower case; cut if it is long. */
static void media_type(const struct web_request *request, char out[128]) {
    const char *text = content_type(request);
    size_t length = 0;
    for (; text[length] && !strchr("; \t,", text[length]) && length < 127; length++)
        out[length] = text[length] >= 'A' && text[length] <= 'Z' ? (char)(text[length] + 32) : text[length];
    out[length] = '\0';
}

static bool is_json(const char *type) {
    size_t length = strlen(type);
    return strcmp(type, "application/json") == 0 || (length > 5 && strcmp(type + length - 5, "+json") == 0);
}

static bool type_fits(tn_value types, const char *type) {
    if (!types) return true;
    for (size_t i = 0; i < value_count(types); i++)
        if (wildcard_matches(value_chars(value_at(types, i), NULL), type)) return true;
    return false;
}

static bool refuse_type(struct web_request *request, const char *type) {
    char *types = json_text(request->route->types, JSON_COMPACT);
    web_refuse_format(request, 415, "UNSUPPORTED_MEDIA_TYPE", "the body has the type `%s`; expected one of %.500s",
                      type, types);
    mem_free(types);
    return false;
}

static bool refuse_missing(struct web_request *request) {
    bool sized = value_get(value_get(request->head, "headers"), "content-length") != NULL;
    if (sized || request->length)
        web_refuse_format(request, 400, "INVALID_INPUT", "the body is empty; the path needs one");
    else
        web_refuse_format(request, 411, "LENGTH_REQUIRED", "the request has no body; the path needs one");
    return false;
}

bool web_check_body(struct web_request *request) {
    const struct web_route *route = request->route;
    char type[128];
    request->limit = route->body ? route->body_max : 0;
    if (!request->length) return !route->body || route->optional || refuse_missing(request);
    if (request->length > request->limit) {
        web_refuse_format(request, 413, "BODY_TOO_LARGE", "the body has %lld bytes; the path takes %lld",
                          (long long)request->length, (long long)request->limit);
        return false;
    }
    media_type(request, type);
    request->json = is_json(type);
    return !route->body || type_fits(route->types, type) || refuse_type(request, type);
}

static bool take_json(struct web_request *request) {
    static const struct json_limits limits = {.half_pairs = true};
    struct error error = ERROR_INIT;
    tn_value json;
    int32_t status = json_read(request->body.data, request->body.length, &limits, &json, &error);
    if (status == TN_OK)
        request->event = value_set_take(request->event, "json", json);
    else
        web_refuse_format(request, 400, "INVALID_JSON", "the body is not JSON: %.800s", error.message);
    error_finish(&error);
    return status == TN_OK;
}

bool web_request_take_body(struct web_request *request) {
    if (!request->body.length) return !request->route->body || request->route->optional || refuse_missing(request);
    if (request->json) return take_json(request);
    request->event = value_set_take(request->event, "body", value_bytes(request->body.data, request->body.length));
    return true;
}

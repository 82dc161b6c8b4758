/*
 * request.c - puts each argument into its part of the request (path, query, header, cookie or body), in one of
 * OpenAPI's styles.
 *
 * Arrays and objects are joined as in RFC 6570: names and values are encoded, separators are not.
 */
#include "request.h"
#include "idempotency.h"
#include "multipart.h"
#include <strings.h>
#include <tenon/base64.h>
#include <tenon/util/build.h>

struct building {
    const struct operation *operation;
    tn_value arguments;
    struct tn_text_buffer url, query, cookie;
    tn_value headers;
    const struct uploads *uploads;
    const char *why;
};

/* A later header replaces an earlier one of the same name. */
static void set_header_take(struct building *building, const char *name, tn_value value) {
    if (value != NULL) (void)tn.value->set(&building->headers, name, TN_Z, value);
    tn_release(value);
}

/* ---- Values in a style ---- */

static const char *unescaped_characters(const struct parameter *parameter) {
    return parameter->reserved ? ":/?#[]@!$&'()*+,;=" : "";
}

static void append_argument(struct tn_text_buffer *out, const struct parameter *parameter, tn_value value) {
    bool coded = parameter->in != IN_HEADER;
    rest_append_scalar(out, value, coded, unescaped_characters(parameter));
}

/* Appends items, or keys and values, separated by `between`; `equals` separates a key from its value. */
static void put_joined(struct tn_text_buffer *out, const struct parameter *parameter, tn_value value,
                       const char *between, const char *equals) {
    bool object = tn.value->kind(value) == TN_OBJECT;
    for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
        tn_value key, item = object ? NULL : tn.value->at(value, i);
        if (i > 0) tn_text_append(out, between);
        if (object) {
            if (tn.value->entry(value, i, &key, &item) != TN_OK) break;
            append_argument(out, parameter, key);
            tn_text_append(out, equals);
        }
        append_argument(out, parameter, item);
    }
}

static bool is_list_or_map(tn_value value) {
    return tn.value->kind(value) == TN_ARRAY || tn.value->kind(value) == TN_OBJECT;
}

/* The styles simple, label and matrix in a path; simple in a header. */
static void put_path_value(struct tn_text_buffer *out, const struct parameter *parameter, tn_value value) {
    const char *between = ",", *equals = parameter->explode ? "=" : ",";
    if (parameter->style == STYLE_LABEL) {
        tn_text_append(out, ".");
        if (parameter->explode) between = ".";
    } else if (parameter->style == STYLE_MATRIX) {
        tn_text_append(out, ";");
        if (!parameter->explode || !is_list_or_map(value)) {
            append_argument(out, parameter, parameter->name);
            tn_text_append(out, "=");
        } else if (tn.value->kind(value) == TN_ARRAY) {
            for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
                if (i > 0) tn_text_append(out, ";");
                append_argument(out, parameter, parameter->name);
                tn_text_append(out, "=");
                append_argument(out, parameter, tn.value->at(value, i));
            }
            return;
        } else {
            between = ";";
        }
    }
    if (is_list_or_map(value))
        put_joined(out, parameter, value, between, equals);
    else
        append_argument(out, parameter, value);
}

static void start_pair(struct tn_text_buffer *out, const char *between) {
    if (out->length > 0) tn_text_append(out, between);
}

/* Appends name=value, for a query or a cookie. */
static void put_pairs(struct tn_text_buffer *out, const struct parameter *parameter, tn_value value,
                      const char *between) {
    bool object = tn.value->kind(value) == TN_OBJECT, deep = parameter->style == STYLE_DEEP;
    if (is_list_or_map(value) && (parameter->explode || deep)) {
        for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
            tn_value key = parameter->name, item = tn.value->at(value, i);
            start_pair(out, between);
            if (object && tn.value->entry(value, i, &key, &item) != TN_OK) break;
            if (deep && object) {
                append_argument(out, parameter, parameter->name);
                tn_text_append(out, "%5B");
                append_argument(out, parameter, key);
                tn_text_append(out, "%5D");
            } else {
                append_argument(out, parameter, key);
            }
            tn_text_append(out, "=");
            append_argument(out, parameter, item);
        }
        return;
    }
    start_pair(out, between);
    append_argument(out, parameter, parameter->name);
    tn_text_append(out, "=");
    const char *join = parameter->style == STYLE_SPACE ? "%20" : parameter->style == STYLE_PIPE ? "%7C" : ",";
    if (is_list_or_map(value))
        put_joined(out, parameter, value, join, join);
    else
        append_argument(out, parameter, value);
}

/* ---- Locations ---- */

static tn_value get_argument(const struct building *building, const struct parameter *parameter) {
    return tn_get(building->arguments, tn_chars(parameter->property, NULL));
}

static void append_path(struct building *building) {
    const char *path = tn_chars(building->operation->path, NULL);
    while (*path != 0) {
        size_t plain = strcspn(path, "{"), length = path[plain] == '{' ? strcspn(path + plain + 1, "}") : 0;
        const struct parameter *found = NULL;
        tn_text_append_n(&building->url, path, plain);
        path += plain;
        if (*path == 0) return;
        for (uint32_t i = 0; i < building->operation->count && found == NULL; i++) {
            const struct parameter *parameter = &building->operation->parameters[i];
            uint64_t size;
            const char *name = tn_chars(parameter->name, &size);
            if (parameter->in == IN_PATH && size == length && memcmp(name, path + 1, size) == 0) found = parameter;
        }
        tn_value value = found != NULL ? get_argument(building, found) : NULL;
        if (value == NULL) {
            building->why = "a part of the path has no argument";
            return;
        }
        uint64_t before = building->url.length;
        if (found->json)
            rest_append_scalar(&building->url, value, true, "");
        else
            put_path_value(&building->url, found, value);
        /* An empty part or ".." would result in another path. */
        const char *put = tn_text_chars(&building->url) + before;
        if (building->url.length == before || strcmp(put, ".") == 0 || strcmp(put, "..") == 0)
            building->why = "an argument in the path is empty, `.` or `..`";
        path += length + 2;
    }
}

static void put_json(struct tn_text_buffer *out, const struct parameter *parameter, tn_value value,
                     const char *between) {
    tn_value json = tn_to_json(value);
    start_pair(out, between);
    append_argument(out, parameter, parameter->name);
    tn_text_append(out, "=");
    rest_append_scalar(out, json, true, "");
    tn_release(json);
}

static void put_request_header(struct building *building, const struct parameter *parameter, tn_value value) {
    struct tn_text_buffer text = {.limit = 8192};
    tn_value json = parameter->json ? tn_to_json(value) : NULL;
    if (json != NULL)
        tn_text_append(&text, tn_chars(json, NULL));
    else
        put_path_value(&text, parameter, value);
    if (strpbrk(tn_text_chars(&text), "\r\n") != NULL) building->why = "an argument in a header has more than one line";
    set_header_take(building, tn_chars(parameter->name, NULL), tn_text_finish(&text));
    tn_release(json);
}

static void put_parameters(struct building *building) {
    for (uint32_t i = 0; i < building->operation->count; i++) {
        const struct parameter *parameter = &building->operation->parameters[i];
        tn_value value = get_argument(building, parameter);
        if (value == NULL || parameter->in == IN_PATH) continue;
        if (parameter->in == IN_HEADER)
            put_request_header(building, parameter, value);
        else if (parameter->json)
            put_json(parameter->in == IN_QUERY ? &building->query : &building->cookie, parameter, value,
                     parameter->in == IN_QUERY ? "&" : "; ");
        else if (parameter->in == IN_QUERY)
            put_pairs(&building->query, parameter, value, "&");
        else
            put_pairs(&building->cookie, parameter, value, "; ");
    }
}

static void put_auths(struct building *building) {
    for (uint32_t i = 0; building->operation->auths[i] != NULL; i++) {
        const struct auth *auth = building->operation->auths[i];
        tn_value value = auth->value != NULL ? auth->value : auth->token;
        struct tn_text_buffer *pairs = auth->in == IN_QUERY ? &building->query : &building->cookie;
        if (auth->in == IN_HEADER) {
            set_header_take(building, tn_chars(auth->key, NULL), tn_retain(value));
            continue;
        }
        start_pair(pairs, auth->in == IN_QUERY ? "&" : "; ");
        rest_append_scalar(pairs, auth->key, true, "");
        tn_text_append(pairs, "=");
        rest_append_scalar(pairs, value, true, "");
    }
}

/* Adds the operator's headers and `accept`; none is duplicated. */
static void put_plain_headers(struct building *building) {
    tn_value own = building->operation->service->headers;
    bool accepts = false;
    for (uint64_t i = 0, count = tn.value->count(own); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(own, i, &key, &value) != TN_OK) break;
        set_header_take(building, tn_chars(key, NULL), tn_retain(value));
        accepts |= strcasecmp(tn_chars(key, NULL), "accept") == 0;
    }
    if (!accepts) set_header_take(building, "accept", tn_text("application/json, */*;q=0.5"));
}

/* ---- The body ---- */

static void put_form_body(struct tn_text_buffer *out, tn_value body) {
    for (uint64_t i = 0, count = tn.value->count(body); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(body, i, &key, &value) != TN_OK) break;
        uint64_t items = tn.value->kind(value) == TN_ARRAY ? tn.value->count(value) : 1;
        for (uint64_t k = 0; k < items; k++) {
            start_pair(out, "&");
            rest_append_scalar(out, key, true, "");
            tn_text_append(out, "=");
            rest_append_scalar(out, tn.value->kind(value) == TN_ARRAY ? tn.value->at(value, k) : value, true, "");
        }
    }
}

/* Decodes base64. Returns NULL if the value is not base64. */
static tn_value argument_bytes(tn_value value) {
    uint64_t length;
    const char *chars = tn_chars(value, &length);
    struct tn_text_buffer out = {0};
    bool good = chars != NULL;
    while (good && length > 0 && chars[length - 1] == '=') length--;
    for (uint64_t i = 0; good && i < length; i++) good = tn_base64_sextet((unsigned char)chars[i]) != 64;
    if (good && tn_text_reserve(&out, length + 1) == TN_OK)
        out.length = tn_base64_take(chars, length, out.bytes, length);
    tn_value result = good && out.status == TN_OK ? tn_bytes(tn_text_chars(&out), out.length) : NULL;
    tn_text_free(&out);
    return result;
}

static bool is_json_body_type(const char *type) {
    size_t length = strcspn(type, "; ");
    return (length == 16 && strncmp(type, "application/json", 16) == 0) ||
           (length > 5 && strncmp(type + length - 5, "+json", 5) == 0);
}

/* The whole body is a file, or base64 of one. */
static tn_value make_file_body(struct building *building, tn_value value) {
    const struct body *body = &building->operation->body;
    const struct upload_file *file = upload_find(building->uploads, value);
    tn_value type = body->media_type;
    if (file != NULL && body->any_type && file->media_type != NULL) type = file->media_type;
    if (strpbrk(tn_chars(type, NULL), "\r\n") != NULL) building->why = "a file's `media_type` has more than one line";
    set_header_take(building, "content-type", tn_retain(type));
    if (file != NULL) return tn_bytes(tn_text_chars(&file->bytes), file->bytes.length);
    tn_value bytes = tn.value->kind(value) == TN_STRING ? argument_bytes(value) : NULL;
    if (bytes == NULL) building->why = "the body must be base64 or a file, because the service expects bytes";
    return bytes;
}

static void put_request_body(struct building *building, tn_builder *out) {
    const struct body *body = &building->operation->body;
    tn_value value = body->property != NULL ? tn_get(building->arguments, tn_chars(body->property, NULL)) : NULL;
    if (value == NULL) return;
    const char *type = tn_chars(body->media_type, NULL);
    struct tn_text_buffer text = {.limit = TN_HTTP_BODY_MAX};
    if (body->is_file) {
        tn_put_take(out, "body", make_file_body(building, value));
        return;
    }
    if (strncmp(type, "multipart/form-data", 19) == 0 && tn.value->kind(value) == TN_OBJECT) {
        tn_value content_type = NULL;
        const char *why = NULL;
        tn_put_take(out, "body", multipart_make_body(body, value, building->uploads, &content_type, &why));
        set_header_take(building, "content-type", content_type);
        if (why != NULL) building->why = why;
        return;
    }
    set_header_take(building, "content-type", tn_retain(body->media_type));
    if (is_json_body_type(type)) {
        tn_put_take(out, "body", tn_to_json(value));
        return;
    }
    if (strncmp(type, "application/x-www-form-urlencoded", 33) == 0 && tn.value->kind(value) == TN_OBJECT)
        put_form_body(&text, value);
    else
        rest_append_scalar(&text, value, false, "");
    tn_put_take(out, "body", tn_text_finish(&text));
}

/* ---- The request ---- */

static void put_request_timeout(tn_builder *out, const struct service *service) {
    tn_put_begin(out, "timeout", TN_OBJECT);
    if (service->connect_ms > 0) tn_put_int(out, "connect_ms", service->connect_ms);
    if (service->idle_ms > 0) tn_put_int(out, "idle_ms", service->idle_ms);
    if (service->total_ms > 0) tn_put_int(out, "total_ms", service->total_ms);
    tn.value->end(out);
}

/* Adds the idempotency key of the task, unless the operator sets this header. */
static void put_idempotency_key(struct building *building, tn_task task) {
    const struct operation *operation = building->operation;
    tn_value configured = operation->service->idempotency_header;
    const char *name = idempotency_header_name(configured);
    if (!idempotency_applies(configured, tn_chars(operation->method, NULL))) return;
    if (!headers_have(building->headers, name)) set_header_take(building, name, idempotency_key(task));
}

tn_value operation_make_request(const struct operation *operation, tn_value arguments, const struct uploads *uploads,
                                tn_task task, const char **why) {
    struct building building = {
        .operation = operation, .arguments = arguments, .url = {.limit = URL_MAX}, .uploads = uploads};
    tn_builder *out = tn_builder_new();
    building.query.limit = building.cookie.limit = URL_MAX;
    building.headers = tn_build("{}");
    tn.value->begin(out, TN_OBJECT);
    tn_text_append(&building.url, tn_chars(operation->service->base_url, NULL));
    append_path(&building);
    put_plain_headers(&building);
    put_parameters(&building);
    put_idempotency_key(&building, task);
    put_auths(&building);
    put_request_body(&building, out);
    if (building.cookie.length > 0) set_header_take(&building, "cookie", tn_text_finish(&building.cookie));
    if (building.query.length > 0) {
        tn_text_append(&building.url, strchr(tn_text_chars(&building.url), '?') != NULL ? "&" : "?");
        tn_text_append(&building.url, tn_text_chars(&building.query));
    }
    if (building.query.status != TN_OK || building.cookie.status != TN_OK || building.url.status != TN_OK)
        building.why = "the URL with these arguments is longer than 16 KiB";
    tn_text_free(&building.query);
    tn_text_free(&building.cookie);
    tn_put(out, "method", operation->method);
    tn_put_take(out, "url", tn_text_finish(&building.url));
    tn_put_take(out, "headers", building.headers);
    tn_put_int(out, "max_bytes", operation->service->max_bytes);
    put_request_timeout(out, operation->service);
    tn.value->end(out);
    tn_value request = tn_finish(out);
    *why = building.why;
    if (building.why == NULL) return request;
    tn_release(request);
    return NULL;
}

/* True if the query of the URL has a member of this name, as it is encoded. */
static bool query_has(const char *url, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strpbrk(url, "?&"); at != NULL; at = strpbrk(at + 1, "?&"))
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '=') return true;
    return false;
}

tn_value operation_make_page_request(const struct operation *operation, tn_value request, tn_value url) {
    struct tn_text_buffer whole = TN_TEXT_BUFFER(URL_MAX);
    tn_text_append(&whole, tn_chars(url, NULL));
    for (uint32_t i = 0; operation->auths[i] != NULL; i++) {
        const struct auth *auth = operation->auths[i];
        struct tn_text_buffer name = TN_TEXT_BUFFER(URL_MAX);
        rest_append_scalar(&name, auth->key, true, "");
        if (auth->in == IN_QUERY && !query_has(tn_text_chars(&whole), tn_text_chars(&name))) {
            tn_text_append(&whole, strchr(tn_text_chars(&whole), '?') != NULL ? "&" : "?");
            tn_text_append_format(&whole, "%s=", tn_text_chars(&name));
            rest_append_scalar(&whole, auth->value != NULL ? auth->value : auth->token, true, "");
        }
        tn_text_free(&name);
    }
    return tn_set_take(tn_retain(request), "url", tn_text_finish(&whole));
}

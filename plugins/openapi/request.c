/*
 * request.c - where each argument goes, and in which of OpenAPI's styles.
 *
 * Values of arrays and objects are joined as RFC 6570 has it: names and values encoded, what joins them not.
 */
#include "request.h"
#include <strings.h>

struct building {
    const struct operation *operation;
    tn_value arguments;
    struct text url, query, cookie;
    tn_value headers;
    const char *why;
};

/* The last one of a name counts. */
static void set_header_take(struct building *building, const char *name, tn_value value) {
    tn_value headers = value != NULL ? tn.value->set(building->headers, name, value) : NULL;
    tn_release(value);
    if (headers == NULL) return;
    tn_release(building->headers);
    building->headers = headers;
}

/* ---- Values in a style ---- */

static const char *keep_of(const struct parameter *parameter) {
    return parameter->reserved ? ":/?#[]@!$&'()*+,;=" : "";
}

static void put_one(struct text *out, const struct parameter *parameter, tn_value value) {
    bool coded = parameter->in != IN_HEADER;
    text_value(out, value, coded, keep_of(parameter));
}

/* Items, or keys and values, with `between`; `equals` between a key and its value. */
static void put_joined(struct text *out, const struct parameter *parameter, tn_value value, const char *between,
                       const char *equals) {
    bool object = tn.value->kind(value) == TN_OBJECT;
    for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
        tn_value key, item = object ? NULL : tn.value->at(value, i);
        if (i > 0) text_put(out, between);
        if (object) {
            if (tn.value->entry(value, i, &key, &item) != TN_OK) break;
            put_one(out, parameter, key);
            text_put(out, equals);
        }
        put_one(out, parameter, item);
    }
}

static bool is_many(tn_value value) { return tn.value->kind(value) == TN_ARRAY || tn.value->kind(value) == TN_OBJECT; }

/* simple, label, matrix: in a path; simple: in a header. */
static void put_path_value(struct text *out, const struct parameter *parameter, tn_value value) {
    const char *between = ",", *equals = parameter->explode ? "=" : ",";
    if (parameter->style == STYLE_LABEL) {
        text_put(out, ".");
        if (parameter->explode) between = ".";
    } else if (parameter->style == STYLE_MATRIX) {
        text_put(out, ";");
        if (!parameter->explode || !is_many(value)) {
            put_one(out, parameter, parameter->name);
            text_put(out, "=");
        } else if (tn.value->kind(value) == TN_ARRAY) {
            for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
                if (i > 0) text_put(out, ";");
                put_one(out, parameter, parameter->name);
                text_put(out, "=");
                put_one(out, parameter, tn.value->at(value, i));
            }
            return;
        } else {
            between = ";";
        }
    }
    if (is_many(value))
        put_joined(out, parameter, value, between, equals);
    else
        put_one(out, parameter, value);
}

static void begin_pair(struct text *out, const char *between) {
    if (out->length > 0) text_put(out, between);
}

/* name=value, as a query or a cookie has it. */
static void put_pairs(struct text *out, const struct parameter *parameter, tn_value value, const char *between) {
    bool object = tn.value->kind(value) == TN_OBJECT, deep = parameter->style == STYLE_DEEP;
    if (is_many(value) && (parameter->explode || deep)) {
        for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
            tn_value key = parameter->name, item = tn.value->at(value, i);
            begin_pair(out, between);
            if (object && tn.value->entry(value, i, &key, &item) != TN_OK) break;
            if (deep && object) {
                put_one(out, parameter, parameter->name);
                text_put(out, "%5B");
                put_one(out, parameter, key);
                text_put(out, "%5D");
            } else {
                put_one(out, parameter, key);
            }
            text_put(out, "=");
            put_one(out, parameter, item);
        }
        return;
    }
    begin_pair(out, between);
    put_one(out, parameter, parameter->name);
    text_put(out, "=");
    const char *join = parameter->style == STYLE_SPACE ? "%20" : parameter->style == STYLE_PIPE ? "%7C" : ",";
    if (is_many(value))
        put_joined(out, parameter, value, join, join);
    else
        put_one(out, parameter, value);
}

/* ---- Places ---- */

static tn_value argument_of(const struct building *building, const struct parameter *parameter) {
    return tn.value->get(building->arguments, tn_chars(parameter->property, NULL));
}

static void put_path(struct building *building) {
    const char *path = tn_chars(building->operation->path, NULL);
    while (*path != 0) {
        size_t plain = strcspn(path, "{"), length = path[plain] == '{' ? strcspn(path + plain + 1, "}") : 0;
        const struct parameter *found = NULL;
        text_add(&building->url, path, plain);
        path += plain;
        if (*path == 0) return;
        for (uint32_t i = 0; i < building->operation->count && found == NULL; i++) {
            const struct parameter *parameter = &building->operation->parameters[i];
            uint64_t size;
            const char *name = tn_chars(parameter->name, &size);
            if (parameter->in == IN_PATH && size == length && memcmp(name, path + 1, size) == 0) found = parameter;
        }
        tn_value value = found != NULL ? argument_of(building, found) : NULL;
        if (value == NULL) {
            building->why = "a part of the path has no argument";
            return;
        }
        uint64_t before = building->url.length;
        if (found->json)
            text_value(&building->url, value, true, "");
        else
            put_path_value(&building->url, found, value);
        /* "..", or nothing at all, would be another path. */
        const char *put = text_chars(&building->url) + before;
        if (building->url.length == before || strcmp(put, ".") == 0 || strcmp(put, "..") == 0)
            building->why = "an argument that is a part of the path is empty, or `.` or `..`";
        path += length + 2;
    }
}

static void put_json(struct text *out, const struct parameter *parameter, tn_value value, const char *between) {
    tn_value json = tn.value->to_json(value);
    begin_pair(out, between);
    put_one(out, parameter, parameter->name);
    text_put(out, "=");
    text_value(out, json, true, "");
    tn_release(json);
}

static void put_header(struct building *building, const struct parameter *parameter, tn_value value) {
    struct text text = {.limit = 8192};
    tn_value json = parameter->json ? tn.value->to_json(value) : NULL;
    if (json != NULL)
        text_put(&text, tn_chars(json, NULL));
    else
        put_path_value(&text, parameter, value);
    if (strpbrk(text_chars(&text), "\r\n") != NULL)
        building->why = "an argument that is a header has more than one line";
    set_header_take(building, tn_chars(parameter->name, NULL), text_finish(&text));
    tn_release(json);
}

static void put_parameters(struct building *building) {
    for (uint32_t i = 0; i < building->operation->count; i++) {
        const struct parameter *parameter = &building->operation->parameters[i];
        tn_value value = argument_of(building, parameter);
        if (value == NULL || parameter->in == IN_PATH) continue;
        if (parameter->in == IN_HEADER)
            put_header(building, parameter, value);
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
        struct text *pairs = auth->in == IN_QUERY ? &building->query : &building->cookie;
        if (auth->in == IN_HEADER) {
            set_header_take(building, tn_chars(auth->key, NULL), tn_retain(value));
            continue;
        }
        begin_pair(pairs, auth->in == IN_QUERY ? "&" : "; ");
        text_value(pairs, auth->key, true, "");
        text_put(pairs, "=");
        text_value(pairs, value, true, "");
    }
}

/* The operator's, and what we take; none twice. */
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

static void put_form(struct text *out, tn_value body) {
    for (uint64_t i = 0, count = tn.value->count(body); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(body, i, &key, &value) != TN_OK) break;
        uint64_t items = tn.value->kind(value) == TN_ARRAY ? tn.value->count(value) : 1;
        for (uint64_t k = 0; k < items; k++) {
            begin_pair(out, "&");
            text_value(out, key, true, "");
            text_put(out, "=");
            text_value(out, tn.value->kind(value) == TN_ARRAY ? tn.value->at(value, k) : value, true, "");
        }
    }
}

#define BOUNDARY "tenon-7d1f5a0c9b3e4826"

/* Parts of a form: texts as they are, anything else as JSON. False: a value has the boundary in it. */
static bool put_multipart(struct text *out, tn_value body) {
    for (uint64_t i = 0, count = tn.value->count(body); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(body, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, NULL);
        if (strpbrk(name, "\"\r\n") != NULL) return false;
        text_put(out, "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"");
        text_put(out, name);
        text_put(out, is_many(value) ? "\"\r\nContent-Type: application/json\r\n\r\n" : "\"\r\n\r\n");
        uint64_t before = out->length;
        text_value(out, value, false, "");
        if (out->failed || strstr(out->data + before, BOUNDARY) != NULL) return false;
        text_put(out, "\r\n");
    }
    text_put(out, "--" BOUNDARY "--\r\n");
    return true;
}

static int32_t digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Base64 to bytes; NULL where it is none. */
static tn_value bytes_of(tn_value value) {
    uint64_t length;
    const char *chars = tn_chars(value, &length);
    struct text out = {0};
    uint32_t bits = 0, have = 0;
    bool good = chars != NULL;
    while (good && length > 0 && chars[length - 1] == '=') length--;
    for (uint64_t i = 0; good && i < length; i++) {
        int32_t six = digit(chars[i]);
        good = six >= 0;
        bits = bits << 6 | (uint32_t)(good ? six : 0);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        char byte = (char)(bits >> have & 255);
        text_add(&out, &byte, 1);
    }
    tn_value made = good && !out.failed ? tn.value->make_bytes(text_chars(&out), out.length) : NULL;
    text_free(&out);
    return made;
}

static bool is_json(const char *type) {
    size_t length = strcspn(type, "; ");
    return (length == 16 && strncmp(type, "application/json", 16) == 0) ||
           (length > 5 && strncmp(type + length - 5, "+json", 5) == 0);
}

static void put_body(struct building *building, tn_builder *out) {
    const struct body *body = &building->operation->body;
    tn_value value = body->property != NULL ? tn.value->get(building->arguments, tn_chars(body->property, NULL)) : NULL;
    if (value == NULL) return;
    const char *type = tn_chars(body->media_type, NULL);
    struct text text = {.limit = TN_HTTP_BODY_MAX};
    tn_value bytes = NULL;
    if (is_json(type)) {
        tn_put_take(out, "body", tn.value->to_json(value));
        set_header_take(building, "content-type", tn_retain(body->media_type));
        return;
    }
    if (strncmp(type, "application/x-www-form-urlencoded", 33) == 0 && tn.value->kind(value) == TN_OBJECT) {
        put_form(&text, value);
        set_header_take(building, "content-type", tn_retain(body->media_type));
    } else if (strncmp(type, "multipart/form-data", 19) == 0 && tn.value->kind(value) == TN_OBJECT) {
        if (!put_multipart(&text, value)) building->why = "the body cannot be sent as a form: a name or a value is odd";
        set_header_take(building, "content-type", tn_text("multipart/form-data; boundary=" BOUNDARY));
    } else if (strncmp(type, "text/", 5) == 0 || tn.value->kind(value) != TN_STRING) {
        text_value(&text, value, false, "");
        set_header_take(building, "content-type", tn_retain(body->media_type));
    } else {
        bytes = bytes_of(value);
        if (bytes == NULL) building->why = "the body is no base64, and the service takes bytes";
        set_header_take(building, "content-type", tn_retain(body->media_type));
    }
    tn_put_take(out, "body", bytes != NULL ? bytes : text_finish(&text));
    if (bytes != NULL) text_free(&text);
}

/* ---- All of it ---- */

static void put_timeout(tn_builder *out, const struct service *service) {
    tn_put_begin(out, "timeout", TN_OBJECT);
    if (service->connect_ms > 0) tn_put_int(out, "connect_ms", service->connect_ms);
    if (service->idle_ms > 0) tn_put_int(out, "idle_ms", service->idle_ms);
    if (service->total_ms > 0) tn_put_int(out, "total_ms", service->total_ms);
    tn.value->end(out);
}

static tn_value empty_object(void) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

tn_value request_make(const struct operation *operation, tn_value arguments, const char **why) {
    struct building building = {.operation = operation, .arguments = arguments, .url = {.limit = URL_MAX}};
    tn_builder *out = tn.value->builder();
    building.query.limit = building.cookie.limit = URL_MAX;
    building.headers = empty_object();
    tn.value->begin(out, TN_OBJECT);
    text_put(&building.url, tn_chars(operation->service->base_url, NULL));
    put_path(&building);
    put_plain_headers(&building);
    put_parameters(&building);
    put_auths(&building);
    put_body(&building, out);
    if (building.cookie.length > 0) set_header_take(&building, "cookie", text_finish(&building.cookie));
    if (building.query.length > 0) {
        text_put(&building.url, strchr(text_chars(&building.url), '?') != NULL ? "&" : "?");
        text_put(&building.url, text_chars(&building.query));
    }
    if (building.query.failed || building.cookie.failed || building.url.failed)
        building.why = "the arguments make an address of more than 16 KiB";
    text_free(&building.query);
    text_free(&building.cookie);
    tn_put(out, "method", operation->method);
    tn_put_take(out, "url", text_finish(&building.url));
    tn_put_take(out, "headers", building.headers);
    tn_put_int(out, "max_bytes", operation->service->max_bytes);
    put_timeout(out, operation->service);
    tn.value->end(out);
    tn_value request = tn.value->finish(out);
    *why = building.why;
    if (building.why == NULL) return request;
    tn_release(request);
    return NULL;
}

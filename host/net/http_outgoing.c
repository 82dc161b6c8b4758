/*
 * http_outgoing.c - fills a request with secrets for the provider, and changes it to follow a redirect.
 *
 * `query` becomes part of the URL and `json` becomes the body, so a provider interprets neither. Each leg gets a new
 * value.
 */
#include "adl/value/memory.h"
#include "host/base/secrets/secrets.h"
#include "host/net/http_request_internal.h"
#include "host/net/http_text.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>
#include <strings.h>
#include <tenon/http.h>

/* ---- The query ---- */

/* Appends name=value. Appends nothing if an optional secret is absent. */
static int32_t outgoing_append_query(struct buffer *out, const char *name, size_t name_length, tn_value value,
                                     struct secrets *secrets, int64_t now_ms, bool *secret, struct error *error) {
    tn_value text = NULL;
    int32_t status = TN_OK;
    if (value_is_number(value) || value_is(value, TN_BOOL)) {
        char *json = json_text(value, JSON_COMPACT);
        text = value_text(json);
        mem_free(json);
    } else {
        status = http_text_fill(value, secrets, now_ms, &text, error);
        *secret |= http_text_has_secret(value);
    }
    if (status != TN_OK || !text) return status;
    size_t length;
    const char *chars = value_chars(text, &length);
    buffer_char(out, memchr(out->data, '?', out->length) ? '&' : '?');
    url_escape(out, name, name_length);
    buffer_char(out, '=');
    url_escape(out, chars, length);
    value_unref(text);
    return TN_OK;
}

static int32_t outgoing_fill_url(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                                 struct outgoing *out, struct error *error) {
    tn_value query = value_get(request->object, "query");
    struct buffer target;
    int32_t status = TN_OK;
    buffer_init(&target, URL_MAX);
    buffer_text(&target, request->url.target);
    for (size_t i = 0; status == TN_OK && i < value_count(query); i++) {
        size_t length;
        const char *name = value_chars(value_key_at(query, i), &length);
        tn_value item = value_value_at(query, i);
        bool list = http_request_query_lists(item);
        for (size_t j = 0; status == TN_OK && j < (list ? value_count(item) : 1); j++)
            status = outgoing_append_query(&target, name, length, list ? value_at(item, j) : item, secrets, now_ms,
                                           &out->url_secret, error);
    }
    if (status == TN_OK && target.overflow)
        status = error_set(error, TN_LIMIT, "LIMIT", "a request's URL is longer than 64 KiB with its query");
    if (status == TN_OK) {
        out->url = request->url;
        out->url.target = buffer_detach(&target, NULL);
    }
    buffer_wipe(&target);
    return status;
}

/* ---- Headers and body ---- */

static tn_value lower_case_value(const char *name) {
    char lower[257];
    size_t length = strnlen(name, sizeof lower - 1);
    for (size_t i = 0; i < length; i++) lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    return value_text_n(lower, length);
}

static int32_t outgoing_fill_headers(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                                     struct outgoing *out, struct error *error) {
    tn_value headers = value_get(request->object, "headers");
    bool typed = false;
    for (size_t i = 0; i < value_count(headers); i++) {
        tn_value name = value_key_at(headers, i), template = value_value_at(headers, i), text = NULL;
        size_t length;
        int32_t status = http_text_fill(template, secrets, now_ms, &text, error);
        if (status != TN_OK) return status;
        if (!text) continue;
        const char *chars = value_chars(text, &length);
        bool secret = http_text_has_secret(template);
        /* http_request_read has checked literals, so this is in a secret, which must not be shown. */
        if (memchr(chars, '\n', length) || memchr(chars, '\r', length) || memchr(chars, 0, length)) {
            value_unref(text);
            return error_set(
                error, TN_INVALID, "INVALID_INPUT",
                "a request's `headers.%s`: the secret in it contains a line end, which a header cannot contain",
                value_chars(name, NULL));
        }
        typed |= strcasecmp(value_chars(name, NULL), "content-type") == 0;
        out->headers = value_set_key_take(out->headers, value_ref(name), text);
        if (secret)
            out->secret = value_set_key_take(out->secret, lower_case_value(value_chars(name, NULL)), value_bool(true));
    }
    if (request->json && !typed)
        out->headers = value_set_take(out->headers, "content-type", value_text("application/json"));
    return TN_OK;
}

static int32_t outgoing_fill_body(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                                  struct outgoing *out, struct error *error) {
    size_t length = 0;
    if (!request->body || value_is(request->body, TN_BYTES)) {
        out->body = value_ref(request->body);
        return TN_OK;
    }
    out->body_secret = http_text_has_secret(request->body);
    int32_t status = http_text_fill(request->body, secrets, now_ms, &out->body, error);
    if (status == TN_OK && out->body) value_chars(out->body, &length);
    if (length > TN_HTTP_BODY_MAX)
        status = error_set(error, TN_LIMIT, "LIMIT", "a request's `body` is longer than %d MiB, which is the limit",
                           TN_HTTP_BODY_MAX >> 20);
    return status;
}

int32_t http_request_fill(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                          struct outgoing *out, struct error *error) {
    struct outgoing made = {.request = request, .headers = value_object(), .secret = value_object()};
    memcpy(made.method, request->method, sizeof made.method);
    int32_t status = outgoing_fill_url(request, secrets, now_ms, &made, error);
    if (status == TN_OK) status = outgoing_fill_headers(request, secrets, now_ms, &made, error);
    if (status == TN_OK) status = outgoing_fill_body(request, secrets, now_ms, &made, error);
    if (status == TN_OK)
        *out = made;
    else
        outgoing_finish(&made);
    return status;
}

void outgoing_finish(struct outgoing *outgoing) {
    url_finish(&outgoing->url);
    value_unref(outgoing->headers);
    value_unref(outgoing->secret);
    value_unref(outgoing->body);
    *outgoing = (struct outgoing){.request = NULL};
}

tn_value outgoing_value(const struct outgoing *outgoing, int64_t left_ms) {
    static const char *const passed_on[] = {"retry", "max_bytes"};
    tn_value object = outgoing->request->object, timeout = value_get(object, "timeout");
    tn_value made = value_object_reserve(8);
    struct buffer url;
    buffer_init(&url, SIZE_MAX);
    url_write(&url, &outgoing->url);
    made = value_set_take(made, "url", value_text_n(url.data, url.length));
    buffer_wipe(&url);
    made = value_set_take(made, "method", value_text(outgoing->method));
    made = value_set_take(made, "headers", value_ref(outgoing->headers));
    if (outgoing->body) made = value_set_take(made, "body", value_ref(outgoing->body));
    made = value_set_take(made, "receive", value_text(receive_name(outgoing->request->receive)));
    if (timeout) {
        timeout = value_ref(timeout);
        if (left_ms) timeout = value_set_take(timeout, "total_ms", value_int(left_ms));
        made = value_set_take(made, "timeout", timeout);
    }
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (value_get(object, passed_on[i]))
            made = value_set_take(made, passed_on[i], value_ref(value_get(object, passed_on[i])));
    return made;
}

/* ---- Redirects ---- */

static void outgoing_drop_headers(struct outgoing *outgoing,
                                  bool (*drops)(const struct outgoing *outgoing, const char *lower)) {
    tn_value kept = value_object();
    for (size_t i = 0; i < value_count(outgoing->headers); i++) {
        tn_value name = value_key_at(outgoing->headers, i), lower = lower_case_value(value_chars(name, NULL));
        if (!drops(outgoing, value_chars(lower, NULL)))
            kept = value_set_key_take(kept, value_ref(name), value_ref(value_value_at(outgoing->headers, i)));
        value_unref(lower);
    }
    value_unref(outgoing->headers);
    outgoing->headers = kept;
}

static bool is_body_header(const struct outgoing *outgoing, const char *lower) {
    (void)outgoing;
    return strncmp(lower, "content-", 8) == 0;
}

static bool is_origin_header(const struct outgoing *outgoing, const char *lower) {
    return value_get(outgoing->secret, lower) || http_request_is_sensitive_header(lower);
}

static int32_t redirect_denied(struct error *error, const struct url *to, const char *why) {
    struct buffer origin;
    buffer_init(&origin, ERROR_MESSAGE_MAX / 2);
    url_write_origin(&origin, to);
    error_set(error, TN_INVALID, "PERMISSION_DENIED", "the server redirects to %s, %s", buffer_cstr(&origin), why);
    buffer_finish(&origin);
    return TN_INVALID;
}

int32_t outgoing_redirect(struct outgoing *outgoing, int64_t status, const char *location, const struct plugin *plugin,
                          struct secrets *secrets, struct error *error) {
    struct url to;
    const char *why = url_read(&to, location, strlen(location), &outgoing->url);
    if (why) return error_set(error, TN_ERROR, "PROTOCOL", "the server redirects to an invalid URL: %s", why);
    bool other_origin = !url_same_origin(&to, &outgoing->url);
    bool to_get = (status == 303 && strcmp(outgoing->method, "HEAD") != 0) ||
                  ((status == 301 || status == 302) && strcmp(outgoing->method, "POST") == 0);
    int32_t result = http_request_permit_url(&to, plugin, error);
    if (result == TN_OK && other_origin) {
        tn_value target = value_string_lossy(to.target, strlen(to.target));
        tn_value safe = secrets_scrub(secrets, target, SECRETS_SCRUB_MIN);
        if (outgoing->url.secure && !to.secure)
            result = redirect_denied(error, &to, "which is not encrypted, but the request was");
        else if (outgoing->body_secret && !to_get)
            result = redirect_denied(error, &to, "and the body would be sent there, which contains a secret");
        else if (safe != target)
            result = redirect_denied(error, &to, "with a secret in the URL that must not be sent there");
        value_unref(safe);
        value_unref(target);
    }
    if (result != TN_OK) {
        url_finish(&to);
        return result;
    }
    if (to_get) {
        memcpy(outgoing->method, "GET", 4);
        value_unref(outgoing->body);
        outgoing->body = NULL;
        outgoing_drop_headers(outgoing, is_body_header);
    }
    if (other_origin) outgoing_drop_headers(outgoing, is_origin_header);
    url_finish(&outgoing->url);
    outgoing->url = to;
    return TN_OK;
}

/*
 * sending.c - a request with its secrets in place, as it goes to the provider; and where a redirect leads it.
 *
 * The query becomes a part of the URL here, and `json` a body, so that a provider and a redirect have nothing to
 * interpret. Values are made anew for each leg: what a provider does with one is not seen in the next.
 */
#include "adl/value/memory.h"
#include "host/http/request_internal.h"
#include "host/http/secrets.h"
#include "host/http/text.h"
#include "host/plugin/plugin.h"
#include <string.h>
#include <strings.h>
#include <tenon/http.h>

/* ---- The query ---- */

/* Appends name=value; nothing where an optional secret is not there. */
static int32_t add_value(struct buffer *out, const char *name, size_t name_length, tn_value value,
                         struct secrets *secrets, int64_t now_ms, bool *secret, struct error *error) {
    tn_value text = NULL;
    int32_t status = TN_OK;
    if (value_is_number(value) || value_is(value, TN_BOOL)) {
        char *json = json_text(value, JSON_COMPACT);
        text = value_text(json);
        mem_free(json);
    } else {
        status = text_fill(value, secrets, now_ms, &text, error);
        *secret |= text_has_secret(value);
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

static int32_t fill_url(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                        struct sending *out, struct error *error) {
    tn_value query = value_get(request->given, "query");
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
            status = add_value(&target, name, length, list ? value_at(item, j) : item, secrets, now_ms,
                               &out->url_secret, error);
    }
    if (status == TN_OK && target.overflow)
        status = error_set(error, TN_LIMIT, "LIMIT", "a request's URL is longer than 64 KiB with its query");
    if (status == TN_OK) {
        out->url = request->url;
        out->url.target = buffer_detach(&target, NULL);
    }
    if (target.data) explicit_bzero(target.data, target.length);
    buffer_finish(&target);
    return status;
}

/* ---- Headers and body ---- */

static tn_value lower_key(const char *name) {
    char lower[257];
    size_t length = strnlen(name, sizeof lower - 1);
    for (size_t i = 0; i < length; i++) lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    return value_text_n(lower, length);
}

static int32_t fill_headers(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                            struct sending *out, struct error *error) {
    tn_value headers = value_get(request->given, "headers");
    bool typed = false;
    for (size_t i = 0; i < value_count(headers); i++) {
        tn_value name = value_key_at(headers, i), given = value_value_at(headers, i), text = NULL;
        size_t length;
        int32_t status = text_fill(given, secrets, now_ms, &text, error);
        if (status != TN_OK) return status;
        if (!text) continue;
        const char *chars = value_chars(text, &length);
        bool secret = text_has_secret(given);
        /* Literals have been looked at: this is of a secret, and must not be shown. */
        if (memchr(chars, '\n', length) || memchr(chars, '\r', length) || memchr(chars, 0, length)) {
            value_unref(text);
            return error_set(error, TN_INVALID, "INVALID_INPUT",
                             "a request's `headers.%s`: the secret in it has a line end inside, which no header has",
                             value_chars(name, NULL));
        }
        typed |= strcasecmp(value_chars(name, NULL), "content-type") == 0;
        out->headers = value_set_key_take(out->headers, value_ref(name), text);
        if (secret) out->secret = value_set_key_take(out->secret, lower_key(value_chars(name, NULL)), value_bool(true));
    }
    if (request->json && !typed)
        out->headers = value_set_take(out->headers, "content-type", value_text("application/json"));
    return TN_OK;
}

static int32_t fill_body(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                         struct sending *out, struct error *error) {
    size_t length = 0;
    if (!request->body || value_is(request->body, TN_BYTES)) {
        out->body = value_ref(request->body);
        return TN_OK;
    }
    out->body_secret = text_has_secret(request->body);
    int32_t status = text_fill(request->body, secrets, now_ms, &out->body, error);
    if (status == TN_OK && out->body) value_chars(out->body, &length);
    if (length > TN_HTTP_BODY_MAX)
        status = error_set(error, TN_LIMIT, "LIMIT", "a request's `body` is longer than %d MiB, the most that is sent",
                           TN_HTTP_BODY_MAX >> 20);
    return status;
}

int32_t http_request_fill(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                          struct sending *out, struct error *error) {
    struct sending made = {.request = request, .headers = value_object(), .secret = value_object()};
    memcpy(made.method, request->method, sizeof made.method);
    int32_t status = fill_url(request, secrets, now_ms, &made, error);
    if (status == TN_OK) status = fill_headers(request, secrets, now_ms, &made, error);
    if (status == TN_OK) status = fill_body(request, secrets, now_ms, &made, error);
    if (status == TN_OK)
        *out = made;
    else
        sending_finish(&made);
    return status;
}

void sending_finish(struct sending *sending) {
    url_finish(&sending->url);
    value_unref(sending->headers);
    value_unref(sending->secret);
    value_unref(sending->body);
    *sending = (struct sending){.request = NULL};
}

tn_value sending_value(const struct sending *sending, int64_t left_ms) {
    static const char *const passed_on[] = {"retry", "max_bytes"};
    tn_value given = sending->request->given, timeout = value_get(given, "timeout");
    tn_value made = value_object_reserve(8);
    struct buffer url;
    buffer_init(&url, SIZE_MAX);
    url_write(&url, &sending->url);
    made = value_set_take(made, "url", value_text_n(url.data, url.length));
    explicit_bzero(url.data, url.length);
    buffer_finish(&url);
    made = value_set_take(made, "method", value_text(sending->method));
    made = value_set_take(made, "headers", value_ref(sending->headers));
    if (sending->body) made = value_set_take(made, "body", value_ref(sending->body));
    made = value_set_take(made, "receive", value_text(receive_name(sending->request->receive)));
    if (timeout) {
        timeout = value_ref(timeout);
        if (left_ms) timeout = value_set_take(timeout, "total_ms", value_int(left_ms));
        made = value_set_take(made, "timeout", timeout);
    }
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (value_get(given, passed_on[i]))
            made = value_set_take(made, passed_on[i], value_ref(value_get(given, passed_on[i])));
    return made;
}

/* ---- Redirects ---- */

static void drop_headers(struct sending *sending, bool (*drops)(const struct sending *sending, const char *lower)) {
    tn_value kept = value_object();
    for (size_t i = 0; i < value_count(sending->headers); i++) {
        tn_value name = value_key_at(sending->headers, i), lower = lower_key(value_chars(name, NULL));
        if (!drops(sending, value_chars(lower, NULL)))
            kept = value_set_key_take(kept, value_ref(name), value_ref(value_value_at(sending->headers, i)));
        value_unref(lower);
    }
    value_unref(sending->headers);
    sending->headers = kept;
}

static bool is_of_body(const struct sending *sending, const char *lower) {
    (void)sending;
    return strncmp(lower, "content-", 8) == 0;
}

static bool is_of_origin(const struct sending *sending, const char *lower) {
    return value_get(sending->secret, lower) || http_request_is_sensitive_header(lower);
}

static int32_t denied(struct error *error, const struct url *to, const char *why) {
    struct buffer origin;
    buffer_init(&origin, ERROR_MESSAGE_MAX / 2);
    url_write_origin(&origin, to);
    error_set(error, TN_INVALID, "PERMISSION_DENIED", "the server redirects to %s, %s", buffer_cstr(&origin), why);
    buffer_finish(&origin);
    return TN_INVALID;
}

int32_t sending_redirect(struct sending *sending, int64_t status, const char *location, const struct plugin *plugin,
                         struct secrets *secrets, struct error *error) {
    struct url to;
    const char *why = url_read(&to, location, strlen(location), &sending->url);
    if (why) return error_set(error, TN_ERROR, "PROTOCOL", "the server redirects to a URL that is none: %s", why);
    bool elsewhere = !url_same_origin(&to, &sending->url);
    bool to_get = (status == 303 && strcmp(sending->method, "HEAD") != 0) ||
                  ((status == 301 || status == 302) && strcmp(sending->method, "POST") == 0);
    int32_t result = http_request_permit_url(&to, plugin, error);
    if (result == TN_OK && elsewhere) {
        tn_value target = value_string_lossy(to.target, strlen(to.target));
        tn_value safe = secrets_scrub(secrets, target, SECRETS_SCRUB_MIN);
        if (sending->url.secure && !to.secure)
            result = denied(error, &to, "which is not encrypted, and the request was");
        else if (sending->body_secret && !to_get)
            result = denied(error, &to, "where the body would have to go, which has a secret in it");
        else if (safe != target)
            result = denied(error, &to, "with a secret in the URL that was not meant for there");
        value_unref(safe);
        value_unref(target);
    }
    if (result != TN_OK) {
        url_finish(&to);
        return result;
    }
    if (to_get) {
        memcpy(sending->method, "GET", 4);
        value_unref(sending->body);
        sending->body = NULL;
        drop_headers(sending, is_of_body);
    }
    if (elsewhere) drop_headers(sending, is_of_origin);
    url_finish(&sending->url);
    sending->url = to;
    return TN_OK;
}

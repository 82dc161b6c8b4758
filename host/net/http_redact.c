/*
 * http_redact.c - the form of a request that may be stored: with names of secrets instead of their texts.
 *
 * It depends only on the request, not on whether its secrets are available, because a replay looks up recordings by it.
 * A literal value of a header or parameter that is usually secret becomes {redacted}.
 */
#include "adl/value/memory.h"
#include "host/base/secrets/secrets.h"
#include "host/net/http_request_internal.h"
#include "host/net/http_text.h"
#include <string.h>
#include <strings.h>

static bool is_one_of_names(const char *const *names, size_t count, const char *name, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && strncasecmp(names[i], name, length) == 0) return true;
    return false;
}

bool http_request_is_sensitive_header(const char *lower) {
    static const char *const names[] = {"authorization", "x-api-key",           "api-key", "x-goog-api-key", "cookie",
                                        "set-cookie",    "proxy-authorization", "dpop"};
    return is_one_of_names(names, sizeof names / sizeof *names, lower, strlen(lower));
}

static bool is_sensitive_query(const char *name, size_t length) {
    static const char *const names[] = {"key", "api_key", "access_token"};
    return is_one_of_names(names, sizeof names / sizeof *names, name, length);
}

/* Appends path and query. Values of query parameters that are usually secret are redacted. */
static void redact_target(struct buffer *out, const char *target) {
    const char *query = strchr(target, '?');
    if (!query) {
        buffer_text(out, target);
        return;
    }
    buffer_append(out, target, (size_t)(query - target));
    for (const char *at = query; *at;) {
        size_t length = 1 + strcspn(at + 1, "&"), name = strcspn(at + 1, "=&");
        bool hidden = at[1 + name] == '=' && is_sensitive_query(at + 1, name);
        buffer_append(out, at, hidden ? name + 2 : length);
        if (hidden) buffer_text(out, "{redacted}");
        at += length;
    }
}

static void redact_query_value(struct buffer *out, const char *name, size_t length, tn_value value) {
    struct buffer text;
    bool number = value_is_number(value) || value_is(value, TN_BOOL);
    bool plain = number || !http_text_has_secret(value);
    buffer_init(&text, SIZE_MAX);
    if (number)
        json_write(&text, value, JSON_COMPACT);
    else
        http_text_redact(&text, value, !is_sensitive_query(name, length));
    buffer_char(out, memchr(out->data, '?', out->length) ? '&' : '?');
    url_escape(out, name, length);
    buffer_char(out, '=');
    if (plain && !is_sensitive_query(name, length))
        url_escape(out, buffer_cstr(&text), text.length);
    else
        buffer_append(out, buffer_cstr(&text), text.length);
    buffer_finish(&text);
}

static tn_value redact_url(const struct http_request *request) {
    tn_value query = value_get(request->object, "query");
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    url_write_origin(&out, &request->url);
    redact_target(&out, request->url.target);
    for (size_t i = 0; i < value_count(query); i++) {
        size_t length;
        const char *name = value_chars(value_key_at(query, i), &length);
        tn_value item = value_value_at(query, i);
        bool list = http_request_query_lists(item);
        for (size_t j = 0; j < (list ? value_count(item) : 1); j++)
            redact_query_value(&out, name, length, list ? value_at(item, j) : item);
    }
    tn_value url = value_string_lossy(out.data, out.length);
    buffer_finish(&out);
    return url;
}

static tn_value redact_header(const char *name, tn_value text) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    http_text_redact(&out, text, !http_request_is_sensitive_header(name));
    tn_value result = value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return result;
}

/* Names become lower case. */
static tn_value redact_request_headers(tn_value headers) {
    tn_value made = value_object();
    for (size_t i = 0; i < value_count(headers); i++) {
        char *name = mem_text(value_chars(value_key_at(headers, i), NULL));
        for (char *c = name; *c; c++)
            if (*c >= 'A' && *c <= 'Z') *c = (char)(*c + 32);
        tn_value text = redact_header(name, value_value_at(headers, i));
        made = value_set_take(made, name, text);
        mem_free(name);
    }
    return made;
}

static tn_value redact_body(const struct http_request *request) {
    if (value_is(request->body, TN_BYTES)) return value_ref(request->body);
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    http_text_redact(&out, request->body, true);
    tn_value result = value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return result;
}

/* Returns the parsed text if it is JSON, otherwise the text. */
static tn_value json_if_valid_take(tn_value text) {
    size_t length;
    const char *chars = value_chars(text, &length);
    tn_value value = NULL;
    if (json_read(chars, length, NULL, &value, NULL) != TN_OK) return text;
    value_unref(text);
    return value;
}

static tn_value redact_private(const struct http_request *request) {
    const char *name = value_chars(value_get(request->object, "private"), NULL);
    tn_value made = value_set_take(value_object_reserve(3), "method", value_text(HTTP_PRIVATE));
    made = value_set_take(made, "url", value_format("private://%s", name));
    return value_set_take(made, "receive", value_text(receive_name(request->receive)));
}

tn_value http_request_redacted(const struct http_request *request) {
    if (request->is_private) return redact_private(request);
    tn_value headers = value_get(request->object, "headers");
    tn_value made = value_set_take(value_object_reserve(5), "method", value_text(request->method));
    made = value_set_take(made, "url", redact_url(request));
    if (value_count(headers)) made = value_set_take(made, "headers", redact_request_headers(headers));
    if (request->body) {
        tn_value body = redact_body(request);
        if (request->json)
            made = value_set_take(made, "json", json_if_valid_take(body));
        else
            made = value_set_take(made, "body", body);
    }
    return value_set_take(made, "receive", value_text(receive_name(request->receive)));
}

/* ---- Credentials that a plugin sends ---- */

/* Learns the values of "a=1; b=2". */
static void learn_cookie_values(const char *text, struct secrets *secrets) {
    while (*text) {
        size_t length = strcspn(text, ";"), name = strcspn(text, "=;");
        if (name < length) secrets_learn_sent(secrets, text + name + 1, length - name - 1);
        text += length + (text[length] != 0);
    }
}

void http_request_add_secrets(const struct http_request *request, struct secrets *secrets) {
    tn_value headers = value_get(request->object, "headers");
    for (size_t i = 0; i < value_count(headers); i++) {
        const char *name = value_chars(value_key_at(headers, i), NULL);
        tn_value text = value_value_at(headers, i);
        if (!value_is(text, TN_STRING) || !http_request_is_sensitive_header(name)) continue;
        size_t length;
        const char *chars = value_chars(text, &length), *space = strchr(chars, ' ');
        if (strcasecmp(name, "cookie") == 0)
            learn_cookie_values(chars, secrets);
        else if (space) /* after the scheme, as in "Bearer …" */
            secrets_learn_sent(secrets, space + strspn(space, " "), strlen(space + strspn(space, " ")));
        else
            secrets_learn_sent(secrets, chars, length);
    }
}

tn_value http_request_redact_headers(tn_value headers, struct secrets *secrets) {
    tn_value made = value_object();
    for (size_t i = 0; i < value_count(headers); i++) {
        tn_value key = value_key_at(headers, i);
        tn_value value = http_request_is_sensitive_header(value_chars(key, NULL))
                             ? value_text("{redacted}")
                             : value_ref(value_value_at(headers, i));
        made = value_set_key_take(made, value_ref(key), value);
    }
    tn_value safe = secrets_scrub(secrets, made, SECRETS_SCRUB_MIN);
    value_unref(made);
    return safe;
}

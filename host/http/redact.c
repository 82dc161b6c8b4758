/*
 * redact.c - a request as it may be written down: with the names of secrets, not their texts.
 *
 * It is made from the request alone, so that it is the same whether its secrets are there or not: what a replay finds a
 * recording by. What is usually secret and is written out is {redacted}.
 */
#include "adl/value/memory.h"
#include "host/http/request_internal.h"
#include "host/http/secrets.h"
#include "host/http/text.h"
#include <string.h>
#include <strings.h>

static bool is_one_of(const char *const *names, size_t count, const char *name, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && strncasecmp(names[i], name, length) == 0) return true;
    return false;
}

bool http_request_is_sensitive_header(const char *lower) {
    static const char *const names[] = {"authorization", "x-api-key",           "api-key", "x-goog-api-key", "cookie",
                                        "set-cookie",    "proxy-authorization", "dpop"};
    return is_one_of(names, sizeof names / sizeof *names, lower, strlen(lower));
}

static bool is_sensitive_query(const char *name, size_t length) {
    static const char *const names[] = {"key", "api_key", "access_token"};
    return is_one_of(names, sizeof names / sizeof *names, name, length);
}

/* The target with its own query: values of names that are usually secret are not shown. */
static void write_target(struct buffer *out, const char *target) {
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

static void write_query_value(struct buffer *out, const char *name, size_t length, tn_value value) {
    struct buffer text;
    bool number = value_is_number(value) || value_is(value, TN_BOOL);
    bool plain = number || !text_has_secret(value);
    buffer_init(&text, SIZE_MAX);
    if (number)
        json_write(&text, value, JSON_COMPACT);
    else
        text_redact(&text, value, !is_sensitive_query(name, length));
    buffer_char(out, memchr(out->data, '?', out->length) ? '&' : '?');
    url_escape(out, name, length);
    buffer_char(out, '=');
    if (plain && !is_sensitive_query(name, length))
        url_escape(out, buffer_cstr(&text), text.length);
    else
        buffer_append(out, buffer_cstr(&text), text.length);
    buffer_finish(&text);
}

static tn_value redacted_url(const struct http_request *request) {
    tn_value query = value_get(request->given, "query");
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    url_write_origin(&out, &request->url);
    write_target(&out, request->url.target);
    for (size_t i = 0; i < value_count(query); i++) {
        size_t length;
        const char *name = value_chars(value_key_at(query, i), &length);
        tn_value item = value_value_at(query, i);
        bool list = http_request_query_lists(item);
        for (size_t j = 0; j < (list ? value_count(item) : 1); j++)
            write_query_value(&out, name, length, list ? value_at(item, j) : item);
    }
    tn_value url = value_string_lossy(out.data, out.length);
    buffer_finish(&out);
    return url;
}

static tn_value redacted_header(const char *name, tn_value text) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    text_redact(&out, text, !http_request_is_sensitive_header(name));
    tn_value result = value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return result;
}

/* In lower case, which is what a header is found by. */
static tn_value redacted_headers(tn_value headers) {
    tn_value made = value_object();
    for (size_t i = 0; i < value_count(headers); i++) {
        char *name = mem_text(value_chars(value_key_at(headers, i), NULL));
        for (char *c = name; *c; c++)
            if (*c >= 'A' && *c <= 'Z') *c = (char)(*c + 32);
        tn_value text = redacted_header(name, value_value_at(headers, i));
        made = value_set_take(made, name, text);
        mem_free(name);
    }
    return made;
}

static tn_value redacted_body(const struct http_request *request) {
    if (value_is(request->body, TN_BYTES)) return value_ref(request->body);
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    text_redact(&out, request->body, true);
    tn_value result = value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return result;
}

/* As JSON that can be read, where it is that. */
static tn_value as_json_take(tn_value text) {
    size_t length;
    const char *chars = value_chars(text, &length);
    tn_value value = NULL;
    if (json_read(chars, length, NULL, &value, NULL) != TN_OK) return text;
    value_unref(text);
    return value;
}

static tn_value private_redacted(const struct http_request *request) {
    const char *name = value_chars(value_get(request->given, "private"), NULL);
    tn_value made = value_set_take(value_object_reserve(3), "method", value_text(HTTP_PRIVATE));
    made = value_set_take(made, "url", value_format("private://%s", name));
    return value_set_take(made, "receive", value_text(receive_name(request->receive)));
}

tn_value http_request_redacted(const struct http_request *request) {
    if (request->is_private) return private_redacted(request);
    tn_value headers = value_get(request->given, "headers");
    tn_value made = value_set_take(value_object_reserve(5), "method", value_text(request->method));
    made = value_set_take(made, "url", redacted_url(request));
    if (value_count(headers)) made = value_set_take(made, "headers", redacted_headers(headers));
    if (request->body) {
        tn_value body = redacted_body(request);
        if (request->json)
            made = value_set_take(made, "json", as_json_take(body));
        else
            made = value_set_take(made, "body", body);
    }
    return value_set_take(made, "receive", value_text(receive_name(request->receive)));
}

/* ---- What a plugin says who it is with ---- */

/* "a=1; b=2": the values. */
static void learn_cookies(const char *text, struct secrets *secrets) {
    while (*text) {
        size_t length = strcspn(text, ";"), name = strcspn(text, "=;");
        if (name < length) secrets_learn_sent(secrets, text + name + 1, length - name - 1);
        text += length + (text[length] != 0);
    }
}

void http_request_learn(const struct http_request *request, struct secrets *secrets) {
    tn_value headers = value_get(request->given, "headers");
    for (size_t i = 0; i < value_count(headers); i++) {
        const char *name = value_chars(value_key_at(headers, i), NULL);
        tn_value text = value_value_at(headers, i);
        if (!value_is(text, TN_STRING) || !http_request_is_sensitive_header(name)) continue;
        size_t length;
        const char *chars = value_chars(text, &length), *space = strchr(chars, ' ');
        if (strcasecmp(name, "cookie") == 0)
            learn_cookies(chars, secrets);
        else if (space) /* behind the scheme; a key has none */
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

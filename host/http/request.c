/*
 * request.c - the request object, member by member: a table of what there is, and what each may be.
 *
 * Everything that can be said of a request without a secret is said here, whoever sends it and wherever it is sent to.
 */
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/http/request_internal.h"
#include "host/http/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <tenon/http.h>

static const char *const receives[] = {
    [RECEIVE_WHOLE] = "whole", [RECEIVE_BYTES] = "bytes", [RECEIVE_EVENTS] = "events", [RECEIVE_LINES] = "lines"};

const char *receive_name(enum receive receive) { return receives[receive]; }

/* ---- Faults ---- */

static int32_t invalid(struct error *error, const char *member, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int32_t invalid(struct error *error, const char *member, const char *format, ...) {
    struct buffer said;
    va_list args;
    buffer_init(&said, ERROR_MESSAGE_MAX);
    va_start(args, format);
    buffer_vformat(&said, format, args);
    va_end(args);
    error_set(error, TN_INVALID, "INVALID_INPUT", "a request's `%s`: %s", member, buffer_cstr(&said));
    buffer_finish(&said);
    return TN_INVALID;
}

static int32_t wrong_kind(struct error *error, const char *member, tn_value found, const char *expected) {
    return invalid(error, member, "found %s, expected %s", value_kind_name(value_kind(found)), expected);
}

static int32_t read_number(const char *member, tn_value value, int64_t least, int64_t most, int64_t *out,
                           struct error *error) {
    int64_t number;
    if (!value_is_number(value)) return wrong_kind(error, member, value, "a whole number");
    if (!value_as_int(value, &number) || number < least || number > most)
        return invalid(error, member, "found %g, expected a whole number from %lld to %lld", value_to_double(value),
                       (long long)least, (long long)most);
    *out = number;
    return TN_OK;
}

/* A mapping of numbers: `members` ends with a row without a name. */
struct number {
    const char *name;
    int64_t least, most;
};

static int32_t unknown(struct error *error, const char *where, const char *name, const struct nearest *near) {
    const char *meant = nearest_result(near);
    return error_set(error, TN_INVALID, "INVALID_INPUT", "a request%s has no member `%.80s`%s%s%s", where, name,
                     meant ? "; did you mean `" : "; tenon/http.h lists them", meant ? meant : "", meant ? "`?" : "");
}

static int32_t read_numbers(const char *member, tn_value value, const struct number *members, struct error *error) {
    if (!value_is(value, TN_OBJECT)) return wrong_kind(error, member, value, "an object");
    for (size_t i = 0; i < value_count(value); i++) {
        const char *name = value_chars(value_key_at(value, i), NULL);
        const struct number *row = members;
        char where[64];
        int64_t number;
        while (row->name && strcmp(row->name, name) != 0) row++;
        if (!row->name) {
            struct nearest near;
            nearest_init(&near, name, strlen(name));
            for (row = members; row->name; row++) nearest_offer(&near, row->name, strlen(row->name));
            snprintf(where, sizeof where, "'s `%s`", member);
            return unknown(error, where, name, &near);
        }
        snprintf(where, sizeof where, "%s.%s", member, row->name);
        if (read_number(where, value_value_at(value, i), row->least, row->most, &number, error) != TN_OK)
            return TN_INVALID;
    }
    return TN_OK;
}

/* ---- Members ---- */

/* RFC 9110's tokens: names of methods and of headers. */
static bool is_token(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (!c || !strchr("!#$%&'*+-.^_`|~", c))) return false;
    }
    return length > 0;
}

static int32_t read_url(struct http_request *request, tn_value value, struct error *error) {
    size_t length;
    if (!value_is(value, TN_STRING)) return wrong_kind(error, "url", value, "a string, as in \"https://host/path\"");
    const char *text = value_chars(value, &length), *why = url_read(&request->url, text, length, NULL);
    return why ? invalid(error, "url", "found \"%.200s\": %s", text, why) : TN_OK;
}

static int32_t read_method(struct http_request *request, tn_value value, struct error *error) {
    size_t length;
    if (!value_is(value, TN_STRING)) return wrong_kind(error, "method", value, "a string, as in \"GET\"");
    const char *text = value_chars(value, &length);
    if (length > HTTP_METHOD_MAX || !is_token(text, length) || strcasecmp(text, "CONNECT") == 0)
        return invalid(error, "method", "found \"%.40s\", expected a method's name, as in \"GET\"", text);
    memcpy(request->method, text, length + 1);
    return TN_OK;
}

static bool has_line_end(const char *text, size_t length) {
    return memchr(text, '\r', length) || memchr(text, '\n', length) || memchr(text, 0, length);
}

/* One that a secret could not be in the place of is found when it is filled in. */
static int32_t check_text(const char *where, tn_value text, bool one_line, struct error *error) {
    const char *fault = text_fault(text);
    if (fault) return invalid(error, where, "found %s, expected a string, {secret: NAME}, or an array of those", fault);
    size_t total = 0;
    for (size_t i = 0; i < text_count(text); i++) {
        struct text_part part = text_at(text, i);
        size_t length = 0;
        if (!part.literal) continue;
        const char *chars = value_chars(part.literal, &length);
        total += length;
        if (one_line && has_line_end(chars, length))
            return invalid(error, where, "it has a line end or a NUL in it, which no header has");
    }
    if (one_line && total > HTTP_FIELD_MAX) return invalid(error, where, "it is longer than 128 KiB");
    return TN_OK;
}

static bool is_named_before(tn_value headers, size_t index) {
    const char *name = value_chars(value_key_at(headers, index), NULL);
    for (size_t i = 0; i < index; i++)
        if (strcasecmp(value_chars(value_key_at(headers, i), NULL), name) == 0) return true;
    return false;
}

static int32_t read_headers(struct http_request *request, tn_value value, struct error *error) {
    (void)request;
    if (!value_is(value, TN_OBJECT)) return wrong_kind(error, "headers", value, "an object of names and texts");
    if (value_count(value) > HTTP_FIELDS_MAX) return invalid(error, "headers", "more than %u", HTTP_FIELDS_MAX);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;
        const char *name = value_chars(value_key_at(value, i), &length);
        char where[128];
        if (length > 256 || !is_token(name, length))
            return invalid(error, "headers", "\"%.80s\" is no header's name", name);
        if (strcasecmp(name, "host") == 0 || strcasecmp(name, "content-length") == 0 ||
            strcasecmp(name, "transfer-encoding") == 0)
            return invalid(error, "headers", "`%s` follows from the rest of the request; leave it out", name);
        if (is_named_before(value, i)) return invalid(error, "headers", "`%s` is there twice", name);
        snprintf(where, sizeof where, "headers.%s", name);
        if (check_text(where, value_value_at(value, i), true, error) != TN_OK) return TN_INVALID;
    }
    return TN_OK;
}

static int32_t check_query(const char *where, tn_value value, struct error *error) {
    if (value_is_number(value) || value_is(value, TN_BOOL)) return TN_OK;
    return check_text(where, value, false, error);
}

/* An array is a TEXT where a secret is in it, else a list of values. */
static bool is_list(tn_value value) {
    if (!value_is(value, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(value); i++)
        if (value_is(value_at(value, i), TN_OBJECT)) return false;
    return true;
}

bool http_request_query_lists(tn_value value) { return is_list(value); }

static int32_t read_query(struct http_request *request, tn_value value, struct error *error) {
    size_t count = value_count(value);
    (void)request;
    if (!value_is(value, TN_OBJECT)) return wrong_kind(error, "query", value, "an object of names and values");
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value item = value_value_at(value, i);
        char where[128];
        snprintf(where, sizeof where, "query.%.80s", value_chars(value_key_at(value, i), NULL));
        if (!is_list(item) && check_query(where, item, error) != TN_OK) return TN_INVALID;
        if (!is_list(item)) continue;
        count += value_count(item);
        for (size_t j = 0; count <= HTTP_FIELDS_MAX && j < value_count(item); j++)
            if (check_query(where, value_at(item, j), error) != TN_OK) return TN_INVALID;
    }
    return count > HTTP_FIELDS_MAX ? invalid(error, "query", "more than %u values", HTTP_FIELDS_MAX) : TN_OK;
}

static int32_t too_long(struct error *error, const char *member) {
    return error_set(error, TN_LIMIT, "LIMIT", "a request's `%s` is longer than %d MiB, the most that is sent", member,
                     TN_HTTP_BODY_MAX >> 20);
}

static int32_t read_body(struct http_request *request, tn_value value, struct error *error) {
    size_t total = 0, length = 0;
    if (value_is(value, TN_BYTES)) {
        value_data(value, &total);
    } else {
        if (check_text("body", value, false, error) != TN_OK) return TN_INVALID;
        for (size_t i = 0; i < text_count(value); i++, total += length)
            if (text_at(value, i).literal)
                value_chars(text_at(value, i).literal, &length);
            else
                length = 0;
    }
    if (total > TN_HTTP_BODY_MAX) return too_long(error, "body");
    value_unref(request->body);
    request->body = value_ref(value);
    return TN_OK;
}

static int32_t read_json(struct http_request *request, tn_value value, struct error *error) {
    struct buffer text;
    buffer_init(&text, TN_HTTP_BODY_MAX);
    json_write(&text, value, JSON_COMPACT);
    bool fits = !text.overflow;
    if (fits) {
        value_unref(request->body);
        request->body = value_text_n(buffer_cstr(&text), text.length);
        request->json = true;
    }
    buffer_finish(&text);
    return fits ? TN_OK : too_long(error, "json");
}

static int32_t read_receive(struct http_request *request, tn_value value, struct error *error) {
    for (size_t i = 0; i < sizeof receives / sizeof *receives; i++) {
        if (!value_text_is(value, receives[i])) continue;
        request->receive = (enum receive)i;
        return TN_OK;
    }
    if (!value_is(value, TN_STRING)) return wrong_kind(error, "receive", value, "a string");
    return invalid(error, "receive", "found \"%.40s\", expected \"whole\", \"bytes\", \"events\" or \"lines\"",
                   value_chars(value, NULL));
}

static int32_t read_timeout(struct http_request *request, tn_value value, struct error *error) {
    static const struct number members[] = {{"connect_ms", 1, HTTP_TIMEOUT_MAX},
                                            {"idle_ms", 1, HTTP_TIMEOUT_MAX},
                                            {"total_ms", 1, HTTP_TIMEOUT_MAX},
                                            {NULL, 0, 0}};
    if (read_numbers("timeout", value, members, error) != TN_OK) return TN_INVALID;
    tn_value total = value_get(value, "total_ms");
    if (total) value_as_int(total, &request->total_ms);
    return TN_OK;
}

static int32_t read_retry(struct http_request *request, tn_value value, struct error *error) {
    static const struct number members[] = {
        {"max_attempts", 2, 10}, {"initial_ms", 1, HTTP_TIMEOUT_MAX}, {"max_ms", 1, HTTP_TIMEOUT_MAX}, {NULL, 0, 0}};
    (void)request;
    if (read_numbers("retry", value, members, error) != TN_OK) return TN_INVALID;
    return value_get(value, "max_attempts") ? TN_OK : invalid(error, "retry", "`max_attempts` is missing; 2 to 10");
}

static int32_t read_redirects(struct http_request *request, tn_value value, struct error *error) {
    return read_number("redirects", value, 0, HTTP_REDIRECTS_MAX, &request->redirects, error);
}

static int32_t read_private(struct http_request *request, tn_value value, struct error *error) {
    size_t length;
    if (!value_is(value, TN_STRING)) return wrong_kind(error, "private", value, "a name");
    const char *name = value_chars(value, &length);
    if (length > 100 || !is_token(name, length))
        return invalid(error, "private", "found \"%.80s\", expected a name of letters, digits and -", name);
    request->is_private = true;
    return TN_OK;
}

static int32_t read_max_bytes(struct http_request *request, tn_value value, struct error *error) {
    int64_t number;
    (void)request;
    return read_number("max_bytes", value, 1, TN_HTTP_BODY_MAX, &number, error);
}

/* ---- The whole ---- */

static const struct member {
    const char *name;
    int32_t (*read)(struct http_request *request, tn_value value, struct error *error);
} members[] = {
    {"url", read_url},     {"method", read_method},       {"query", read_query},         {"headers", read_headers},
    {"body", read_body},   {"json", read_json},           {"receive", read_receive},     {"timeout", read_timeout},
    {"retry", read_retry}, {"redirects", read_redirects}, {"max_bytes", read_max_bytes}, {"private", read_private}};

static int32_t read_member(struct http_request *request, tn_value key, tn_value value, struct error *error) {
    const char *name = value_chars(key, NULL);
    const size_t count = sizeof members / sizeof *members;
    for (size_t i = 0; i < count; i++)
        if (value_text_is(key, members[i].name)) return members[i].read(request, value, error);
    struct nearest near;
    nearest_init(&near, name, strlen(name));
    for (size_t i = 0; i < count; i++) nearest_offer(&near, members[i].name, strlen(members[i].name));
    return unknown(error, "", name, &near);
}

int32_t http_request_read(struct http_request *request, tn_value object, struct error *error) {
    struct http_request made = {.receive = RECEIVE_WHOLE};
    int32_t status = TN_OK;
    if (!value_is(object, TN_OBJECT))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "a request: found %s, expected an object",
                         value_kind_name(value_kind(object)));
    if (!value_get(object, "url")) return invalid(error, "url", "it is missing");
    for (size_t i = 0; status == TN_OK && i < value_count(object); i++)
        status = read_member(&made, value_key_at(object, i), value_value_at(object, i), error);
    if (status == TN_OK && value_get(object, "body") && value_get(object, "json"))
        status = invalid(error, "json", "there is a `body` as well; give one of them");
    if (status == TN_OK && made.is_private && made.receive != RECEIVE_WHOLE)
        status = invalid(error, "receive", "what is `private` is received \"whole\" alone");
    if (status == TN_OK && !made.method[0]) memcpy(made.method, made.body ? "POST" : "GET", made.body ? 5 : 4);
    made.given = value_ref(object);
    if (status == TN_OK)
        *request = made;
    else
        http_request_finish(&made);
    return status;
}

void http_request_finish(struct http_request *request) {
    url_finish(&request->url);
    value_unref(request->given);
    value_unref(request->body);
}

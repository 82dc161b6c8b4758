/*
 * http_request.c - reads and checks the request object by a table of its members.
 *
 * All checks that need no secret, no permission and no network are here.
 */
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/net/http_request_internal.h"
#include "host/net/http_sign.h"
#include "host/net/http_text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <tenon/http.h>

static const char *const receives[] = {
    [RECEIVE_WHOLE] = "whole", [RECEIVE_BYTES] = "bytes", [RECEIVE_EVENTS] = "events", [RECEIVE_LINES] = "lines"};

const char *receive_name(enum receive receive) { return receives[receive]; }

/* ---- Faults ---- */

static int32_t request_fail(struct error *error, const char *member, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int32_t request_fail(struct error *error, const char *member, const char *format, ...) {
    struct buffer text;
    va_list args;
    buffer_init(&text, ERROR_MESSAGE_MAX);
    va_start(args, format);
    buffer_vformat(&text, format, args);
    va_end(args);
    error_set(error, TN_INVALID, "INVALID_INPUT", "a request's `%s`: %s", member, buffer_cstr(&text));
    buffer_finish(&text);
    return TN_INVALID;
}

static int32_t request_wrong_kind(struct error *error, const char *member, tn_value found, const char *expected) {
    return request_fail(error, member, "found %s, expected %s", value_kind_name(value_kind(found)), expected);
}

static int32_t request_read_number(const char *member, tn_value value, int64_t least, int64_t most, int64_t *out,
                                   struct error *error) {
    int64_t number;
    if (!value_is_number(value)) return request_wrong_kind(error, member, value, "a whole number");
    if (!value_as_int(value, &number) || number < least || number > most)
        return request_fail(error, member, "found %g, expected a whole number from %lld to %lld",
                            value_to_double(value), (long long)least, (long long)most);
    *out = number;
    return TN_OK;
}

/* A member of an object of numbers. A table of these ends with a row without a name. */
struct request_number {
    const char *name;
    int64_t least, most;
};

static int32_t request_unknown_member(struct error *error, const char *where, const char *name,
                                      const struct nearest *near) {
    return error_set(error, TN_INVALID, "INVALID_INPUT", "a request%s has no member `%.80s`%s", where, name,
                     near->best ? nearest_hint(near).text : "; tenon/http.h lists them");
}

static int32_t request_read_numbers(const char *member, tn_value value, const struct request_number *members,
                                    struct error *error) {
    if (!value_is(value, TN_OBJECT)) return request_wrong_kind(error, member, value, "an object");
    for (size_t i = 0; i < value_count(value); i++) {
        const char *name = value_chars(value_key_at(value, i), NULL);
        const struct request_number *row = members;
        char where[64];
        int64_t number;
        while (row->name && strcmp(row->name, name) != 0) row++;
        if (!row->name) {
            struct nearest near;
            nearest_init(&near, name, strlen(name));
            for (row = members; row->name; row++) nearest_add_candidate(&near, row->name, strlen(row->name));
            snprintf(where, sizeof where, "'s `%s`", member);
            return request_unknown_member(error, where, name, &near);
        }
        snprintf(where, sizeof where, "%s.%s", member, row->name);
        if (request_read_number(where, value_value_at(value, i), row->least, row->most, &number, error) != TN_OK)
            return TN_INVALID;
    }
    return TN_OK;
}

/* ---- Members ---- */

/* A token of RFC 9110: the form of methods and header names. */
static bool is_http_token(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (!c || !strchr("!#$%&'*+-.^_`|~", c))) return false;
    }
    return length > 0;
}

/* An error does not repeat what can be secret in a URL: the user's name and password, and the query. */
static int32_t request_fail_url(const char *text, const char *why, struct error *error) {
    size_t from = 0, end = strcspn(text, "?#");
    for (size_t i = 0; i < end; i++)
        if (text[i] == '@') from = i;
    int shown = end - from > 200 ? 200 : (int)(end - from);
    return request_fail(error, "url", "found \"%s%.*s%s\": %s", from ? "…" : "", shown, text + from,
                        text[from + (size_t)shown] ? "…" : "", why);
}

static int32_t request_read_url(struct http_request *request, tn_value value, struct error *error) {
    size_t length;
    if (!value_is(value, TN_STRING))
        return request_wrong_kind(error, "url", value, "a string, as in \"https://host/path\"");
    const char *text = value_chars(value, &length), *why = url_read(&request->url, text, length, NULL);
    return why ? request_fail_url(text, why, error) : TN_OK;
}

static int32_t request_read_method(struct http_request *request, tn_value value, struct error *error) {
    size_t length;
    if (!value_is(value, TN_STRING)) return request_wrong_kind(error, "method", value, "a string, as in \"GET\"");
    const char *text = value_chars(value, &length);
    if (length > HTTP_METHOD_MAX || !is_http_token(text, length) || strcasecmp(text, "CONNECT") == 0)
        return request_fail(error, "method", "found \"%.40s\", expected a method, as in \"GET\"", text);
    memcpy(request->method, text, length + 1);
    return TN_OK;
}

static bool has_line_end(const char *text, size_t length) {
    return memchr(text, '\r', length) || memchr(text, '\n', length) || memchr(text, 0, length);
}

/* Checks the literal parts. http_request_fill checks the texts of secrets. */
static int32_t request_check_text(const char *where, tn_value text, bool one_line, struct error *error) {
    const char *fault = http_text_fault(text);
    if (fault)
        return request_fail(error, where, "found %s, expected a string, {secret: NAME}, or an array of those", fault);
    size_t total = 0;
    for (size_t i = 0; i < http_text_count(text); i++) {
        struct http_text_part part = http_text_part_at(text, i);
        size_t length = 0;
        if (!part.literal) continue;
        const char *chars = value_chars(part.literal, &length);
        total += length;
        if (one_line && has_line_end(chars, length))
            return request_fail(error, where, "it contains a line end or a NUL, which a header cannot contain");
    }
    if (one_line && total > HTTP_FIELD_MAX) return request_fail(error, where, "it is longer than 128 KiB");
    return TN_OK;
}

static bool header_occurs_before(tn_value headers, size_t index) {
    const char *name = value_chars(value_key_at(headers, index), NULL);
    for (size_t i = 0; i < index; i++)
        if (strcasecmp(value_chars(value_key_at(headers, i), NULL), name) == 0) return true;
    return false;
}

static int32_t request_read_headers(struct http_request *request, tn_value value, struct error *error) {
    (void)request;
    if (!value_is(value, TN_OBJECT)) return request_wrong_kind(error, "headers", value, "an object of names and texts");
    if (value_count(value) > HTTP_FIELDS_MAX) return request_fail(error, "headers", "more than %u", HTTP_FIELDS_MAX);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t length;
        const char *name = value_chars(value_key_at(value, i), &length);
        char where[128];
        if (length > 256 || !is_http_token(name, length))
            return request_fail(error, "headers", "\"%.80s\" is not a valid header name", name);
        if (strcasecmp(name, "host") == 0 || strcasecmp(name, "content-length") == 0 ||
            strcasecmp(name, "transfer-encoding") == 0)
            return request_fail(error, "headers", "the host sets `%s` itself; remove it", name);
        if (header_occurs_before(value, i)) return request_fail(error, "headers", "`%s` occurs twice", name);
        snprintf(where, sizeof where, "headers.%s", name);
        if (request_check_text(where, value_value_at(value, i), true, error) != TN_OK) return TN_INVALID;
    }
    return TN_OK;
}

static int32_t request_check_query(const char *where, tn_value value, struct error *error) {
    if (value_is_number(value) || value_is(value, TN_BOOL)) return TN_OK;
    return request_check_text(where, value, false, error);
}

/* An array with a secret in it is one TEXT; any other array is a list of values. */
static bool is_query_list(tn_value value) {
    if (!value_is(value, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(value); i++)
        if (value_is(value_at(value, i), TN_OBJECT)) return false;
    return true;
}

bool http_request_query_lists(tn_value value) { return is_query_list(value); }

static int32_t request_read_query(struct http_request *request, tn_value value, struct error *error) {
    size_t count = value_count(value);
    (void)request;
    if (!value_is(value, TN_OBJECT)) return request_wrong_kind(error, "query", value, "an object of names and values");
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value item = value_value_at(value, i);
        char where[128];
        snprintf(where, sizeof where, "query.%.80s", value_chars(value_key_at(value, i), NULL));
        if (!is_query_list(item) && request_check_query(where, item, error) != TN_OK) return TN_INVALID;
        if (!is_query_list(item)) continue;
        count += value_count(item);
        for (size_t j = 0; count <= HTTP_FIELDS_MAX && j < value_count(item); j++)
            if (request_check_query(where, value_at(item, j), error) != TN_OK) return TN_INVALID;
    }
    return count > HTTP_FIELDS_MAX ? request_fail(error, "query", "more than %u values", HTTP_FIELDS_MAX) : TN_OK;
}

static int32_t request_too_long(struct error *error, const char *member) {
    return error_set(error, TN_LIMIT, "LIMIT", "a request's `%s` is longer than %d MiB, which is the limit", member,
                     TN_HTTP_BODY_MAX >> 20);
}

static int32_t request_read_body(struct http_request *request, tn_value value, struct error *error) {
    size_t total = 0, length = 0;
    if (value_is(value, TN_BYTES)) {
        value_data(value, &total);
    } else {
        if (request_check_text("body", value, false, error) != TN_OK) return TN_INVALID;
        for (size_t i = 0; i < http_text_count(value); i++, total += length)
            if (http_text_part_at(value, i).literal)
                value_chars(http_text_part_at(value, i).literal, &length);
            else
                length = 0;
    }
    if (total > TN_HTTP_BODY_MAX) return request_too_long(error, "body");
    value_unref(request->body);
    request->body = value_ref(value);
    return TN_OK;
}

static int32_t request_read_json(struct http_request *request, tn_value value, struct error *error) {
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
    return fits ? TN_OK : request_too_long(error, "json");
}

static int32_t request_read_receive(struct http_request *request, tn_value value, struct error *error) {
    for (size_t i = 0; i < sizeof receives / sizeof *receives; i++) {
        if (!value_text_is(value, receives[i])) continue;
        request->receive = (enum receive)i;
        return TN_OK;
    }
    if (!value_is(value, TN_STRING)) return request_wrong_kind(error, "receive", value, "a string");
    return request_fail(error, "receive", "found \"%.40s\", expected \"whole\", \"bytes\", \"events\" or \"lines\"",
                        value_chars(value, NULL));
}

static int32_t request_read_timeout(struct http_request *request, tn_value value, struct error *error) {
    static const struct request_number members[] = {{"connect_ms", 1, HTTP_TIMEOUT_MAX},
                                                    {"idle_ms", 1, HTTP_TIMEOUT_MAX},
                                                    {"total_ms", 1, HTTP_TIMEOUT_MAX},
                                                    {NULL, 0, 0}};
    if (request_read_numbers("timeout", value, members, error) != TN_OK) return TN_INVALID;
    tn_value total = value_get(value, "total_ms");
    if (total) value_as_int(total, &request->total_ms);
    return TN_OK;
}

static int32_t request_read_retry(struct http_request *request, tn_value value, struct error *error) {
    static const struct request_number members[] = {
        {"max_attempts", 2, 10}, {"initial_ms", 1, HTTP_TIMEOUT_MAX}, {"max_ms", 1, HTTP_TIMEOUT_MAX}, {NULL, 0, 0}};
    (void)request;
    if (request_read_numbers("retry", value, members, error) != TN_OK) return TN_INVALID;
    return value_get(value, "max_attempts") ? TN_OK
                                            : request_fail(error, "retry", "`max_attempts` is missing; 2 to 10");
}

static int32_t request_read_redirects(struct http_request *request, tn_value value, struct error *error) {
    return request_read_number("redirects", value, 0, HTTP_REDIRECTS_MAX, &request->redirects, error);
}

static int32_t request_read_private(struct http_request *request, tn_value value, struct error *error) {
    size_t length;
    if (!value_is(value, TN_STRING)) return request_wrong_kind(error, "private", value, "a name");
    const char *name = value_chars(value, &length);
    if (length > 100 || !is_http_token(name, length))
        return request_fail(error, "private", "found \"%.80s\", expected a name of letters, digits and -", name);
    request->is_private = true;
    return TN_OK;
}

static int32_t request_read_sign(struct http_request *request, tn_value value, struct error *error) {
    const char *fault = http_sign_fault(value);
    (void)request;
    return fault ? request_fail(error, "sign", "%s", fault) : TN_OK;
}

static int32_t request_read_max_bytes(struct http_request *request, tn_value value, struct error *error) {
    int64_t number;
    (void)request;
    return request_read_number("max_bytes", value, 1, HTTP_STREAM_MAX, &number, error);
}

/* ---- The request ---- */

static const struct request_member {
    const char *name;
    int32_t (*read)(struct http_request *request, tn_value value, struct error *error);
} members[] = {{"url", request_read_url},
               {"method", request_read_method},
               {"query", request_read_query},
               {"headers", request_read_headers},
               {"body", request_read_body},
               {"json", request_read_json},
               {"receive", request_read_receive},
               {"timeout", request_read_timeout},
               {"retry", request_read_retry},
               {"redirects", request_read_redirects},
               {"max_bytes", request_read_max_bytes},
               {"private", request_read_private},
               {"sign", request_read_sign}};

static int32_t request_read_member(struct http_request *request, tn_value key, tn_value value, struct error *error) {
    const char *name = value_chars(key, NULL);
    const size_t count = sizeof members / sizeof *members;
    for (size_t i = 0; i < count; i++)
        if (value_text_is(key, members[i].name)) return members[i].read(request, value, error);
    struct nearest near;
    nearest_init(&near, name, strlen(name));
    for (size_t i = 0; i < count; i++) nearest_add_candidate(&near, members[i].name, strlen(members[i].name));
    return request_unknown_member(error, "", name, &near);
}

int32_t http_request_read(struct http_request *request, tn_value object, struct error *error) {
    struct http_request made = {.receive = RECEIVE_WHOLE};
    int32_t status = TN_OK;
    if (!value_is(object, TN_OBJECT))
        return error_set(error, TN_INVALID, "INVALID_INPUT", "a request: found %s, expected an object",
                         value_kind_name(value_kind(object)));
    if (!value_get(object, "url")) return request_fail(error, "url", "it is missing");
    for (size_t i = 0; status == TN_OK && i < value_count(object); i++)
        status = request_read_member(&made, value_key_at(object, i), value_value_at(object, i), error);
    if (status == TN_OK && value_get(object, "body") && value_get(object, "json"))
        status = request_fail(error, "json", "the request has both `body` and `json`; remove one of them");
    tn_value max_bytes = value_get(object, "max_bytes");
    if (status == TN_OK && max_bytes && made.receive == RECEIVE_WHOLE)
        status = request_read_number("max_bytes", max_bytes, 1, TN_HTTP_BODY_MAX, &(int64_t){0}, error);
    if (status == TN_OK && made.is_private && made.receive != RECEIVE_WHOLE)
        status = request_fail(error, "receive", "a `private` request requires \"whole\"");
    if (status == TN_OK && value_get(object, "sign") && made.redirects > 0)
        status = request_fail(error, "sign", "a signature is for one address; remove `redirects`");
    if (status == TN_OK && !made.method[0]) memcpy(made.method, made.body ? "POST" : "GET", made.body ? 5 : 4);
    made.object = value_ref(object);
    if (status == TN_OK)
        *request = made;
    else
        http_request_finish(&made);
    return status;
}

void http_request_finish(struct http_request *request) {
    url_finish(&request->url);
    value_unref(request->object);
    value_unref(request->body);
}

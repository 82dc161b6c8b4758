/*
 * request.c - reads members by tables, URLs with libcurl's parser, and headers by the grammar of RFC 9110.
 */
#include "request.h"
#include <stdlib.h>

#define MS_MAX       86400000 /* one day */
#define CONNECT_MS   10000
#define IDLE_MS      60000
#define INITIAL_MS   500
#define RETRY_MAX_MS 30000
#define ATTEMPTS_MAX 10
#define STREAM_MAX   (INT64_C(1) << 53) /* bytes, if the body is delivered piece by piece */

static bool is_absent_or_null(tn_value value) { return tn.value->kind(value) <= TN_NULL; }

static tn_value request_fail_wrong_kind(const char *name, const char *what, tn_value value) {
    return http_failure("INVALID_INPUT", "`%s` must be %s; found %s", name, what, tn_kind_name(value));
}

/* ---- Numbers ---- */

static tn_value read_request_number(tn_value object, const char *key, const char *name, int64_t least, int64_t most,
                                    int64_t *out) {
    tn_value value = tn_get(object, key);
    int64_t number;
    if (is_absent_or_null(value)) return NULL;
    if (tn.value->as_int(value, &number) != TN_OK) return request_fail_wrong_kind(name, "an integer", value);
    if (number < least || number > most)
        return http_failure("INVALID_INPUT", "`%s` must be from %lld to %lld; found %lld", name, (long long)least,
                            (long long)most, (long long)number);
    *out = number;
    return NULL;
}

/* Fails if `object` has a member that is not in `known`, which ends with NULL. */
static tn_value request_check_members(tn_value object, const char *where, const char *const *known) {
    if (tn.value->kind(object) != TN_OBJECT) return request_fail_wrong_kind(where, "an object", object);
    for (uint64_t i = 0; i < tn.value->count(object); i++) {
        tn_value key = NULL;
        const char *const *at = known;
        (void)tn.value->entry(object, i, &key, NULL);
        while (*at != NULL && strcmp(*at, tn_chars(key, NULL)) != 0) at++;
        if (*at == NULL)
            return http_failure("INVALID_INPUT",
                                "`%s` has the unknown member `%.60s`; tenon/http.h lists the known ones", where,
                                tn_chars(key, NULL));
    }
    return NULL;
}

static tn_value read_timeouts(tn_value value, struct request *out) {
    static const char *const known[] = {"connect_ms", "idle_ms", "total_ms", NULL};
    if (is_absent_or_null(value)) return NULL;
    tn_value why = request_check_members(value, "timeout", known);
    if (why == NULL) why = read_request_number(value, "connect_ms", "timeout.connect_ms", 1, MS_MAX, &out->connect_ms);
    if (why == NULL) why = read_request_number(value, "idle_ms", "timeout.idle_ms", 1, MS_MAX, &out->idle_ms);
    if (why == NULL) why = read_request_number(value, "total_ms", "timeout.total_ms", 1, MS_MAX, &out->total_ms);
    return why;
}

static tn_value read_retry(tn_value value, struct request *out) {
    static const char *const known[] = {"max_attempts", "initial_ms", "max_ms", NULL};
    if (is_absent_or_null(value)) return NULL;
    tn_value why = request_check_members(value, "retry", known);
    if (why == NULL && is_absent_or_null(tn_get(value, "max_attempts")))
        why = http_failure("INVALID_INPUT", "`retry.max_attempts` is missing: an integer from 2 to %d", ATTEMPTS_MAX);
    if (why == NULL)
        why = read_request_number(value, "max_attempts", "retry.max_attempts", 2, ATTEMPTS_MAX, &out->attempts);
    if (why == NULL) why = read_request_number(value, "initial_ms", "retry.initial_ms", 0, MS_MAX, &out->initial_ms);
    if (why == NULL) why = read_request_number(value, "max_ms", "retry.max_ms", 0, MS_MAX, &out->max_ms);
    return why;
}

/* ---- Method and receive ---- */

static bool is_method_token(const char *text, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) return false;
    }
    return length > 0;
}

static void set_method(struct request *request, const char *method) {
    (void)snprintf(request->method, sizeof request->method, "%s", method);
}

static tn_value read_method(tn_value value, struct request *out) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    if (is_absent_or_null(value)) return NULL;
    if (text == NULL) return request_fail_wrong_kind("method", "a string", value);
    if (!is_method_token(text, length) || length >= sizeof out->method)
        return http_failure("INVALID_INPUT", "`method` must be an HTTP method such as GET or POST");
    for (uint64_t i = 0; i <= length; i++)
        out->method[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
    if (strcmp(out->method, "CONNECT") == 0 || strcmp(out->method, "TRACE") == 0)
        return http_failure("INVALID_INPUT", "`method` is %s, which plugins may not use", out->method);
    return NULL;
}

static tn_value read_receive(tn_value value, struct request *out) {
    static const char *const names[] = {"whole", "bytes", "events", "lines"};
    const char *text = tn_chars(value, NULL);
    if (is_absent_or_null(value)) return NULL;
    for (size_t i = 0; text != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0) {
            out->receive = (enum receive)i;
            return NULL;
        }
    return http_failure("INVALID_INPUT", "`receive` must be whole, bytes, events or lines; found %s",
                        text != NULL ? "another string" : tn_kind_name(value));
}

/* ---- URL ---- */

static tn_value add_pair(struct tn_text_buffer *out, tn_value key, tn_value value) {
    uint64_t key_length = 0, length = 0;
    const char *name = tn_chars(key, &key_length), *text = tn_chars(value, &length);
    int32_t kind = tn.value->kind(value), truth = 0;
    tn_value shown = NULL, why = NULL;
    if (kind == TN_INT || kind == TN_DOUBLE) {
        shown = tn_to_json(value);
        text = tn_chars(shown, &length);
    } else if (kind == TN_BOOL) {
        (void)tn.value->as_bool(value, &truth);
        text = truth != 0 ? "true" : "false";
        length = strlen(text);
    }
    if (text == NULL)
        why = http_failure("INVALID_INPUT",
                           "`query.%.60s` must be a string, a number, a bool, or an array of those; found %s", name,
                           tn_kind_name(value));
    tn_text_append_percent(out, name, key_length, "");
    tn_text_append(out, "=");
    if (text != NULL) tn_text_append_percent(out, text, length, "");
    if (tn_text_append(out, "&") != TN_OK && why == NULL) why = http_failure_memory();
    tn_release(shown);
    return why;
}

/* Appends "a=1&b=2&": a `&` follows each pair. */
static tn_value read_query(tn_value query, struct tn_text_buffer *out) {
    tn_value why = NULL;
    if (is_absent_or_null(query)) return NULL;
    if (tn.value->kind(query) != TN_OBJECT) return request_fail_wrong_kind("query", "an object", query);
    for (uint64_t i = 0; why == NULL && i < tn.value->count(query); i++) {
        tn_value key = NULL, value = NULL;
        (void)tn.value->entry(query, i, &key, &value);
        if (tn.value->kind(value) != TN_ARRAY) {
            if (!is_absent_or_null(value)) why = add_pair(out, key, value);
            continue;
        }
        for (uint64_t j = 0; why == NULL && j < tn.value->count(value); j++)
            why = add_pair(out, key, tn.value->at(value, j));
    }
    return why;
}

static const char *url_problem(CURLUcode code) {
    if (code == CURLUE_USER_NOT_ALLOWED) return "contains a user name; use the header `authorization` instead";
    if (code == CURLUE_UNSUPPORTED_SCHEME) return "is neither http nor https";
    return "is not a URL; expected https://host/path";
}

/* Splits `handle` into origin and URL. If `text` is not NULL, it becomes the URL unchanged. */
static tn_value take_url(CURLU *handle, const char *text, struct request *out) {
    char *scheme = NULL, *host = NULL, *port = NULL, *full_url = NULL;
    tn_value why = NULL;
    bool known = curl_url_get(handle, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                 (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    if (!known) {
        why = http_failure("INVALID_INPUT", "`url` %s", url_problem(CURLUE_UNSUPPORTED_SCHEME));
    } else if (curl_url_get(handle, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
               curl_url_get(handle, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
               (text == NULL && curl_url_get(handle, CURLUPART_URL, &full_url, 0) != CURLUE_OK)) {
        why = http_failure_memory();
    } else {
        out->https = strcmp(scheme, "https") == 0;
        out->url = strdup(text != NULL ? text : full_url);
        if (out->url == NULL || asprintf(&out->origin, "%s://%s:%s", scheme, host, port) < 0) {
            out->origin = NULL;
            why = http_failure_memory();
        }
    }
    for (char *c = out->origin; c != NULL && *c != '\0'; c++) *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(full_url);
    return why;
}

static tn_value check_url(const char *url, struct request *out) {
    CURLU *handle = curl_url();
    if (handle == NULL) return http_failure_memory();
    CURLUcode code = curl_url_set(handle, CURLUPART_URL, url, CURLU_DISALLOW_USER);
    tn_value why =
        code != CURLUE_OK ? http_failure("INVALID_INPUT", "`url` %s", url_problem(code)) : take_url(handle, url, out);
    curl_url_cleanup(handle);
    return why;
}

static tn_value read_url(tn_value value, tn_value query, struct request *out) {
    struct tn_text_buffer url = {0}, pairs = {0};
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    if (text == NULL) return request_fail_wrong_kind("url", "a string", value);
    if (strlen(text) != length) return http_failure("INVALID_INPUT", "`url` contains a NUL");
    const char *fragment = strchr(text, '#'), *mark = strchr(text, '?');
    size_t used = fragment != NULL ? (size_t)(fragment - text) : length;
    bool has_query = mark != NULL && (fragment == NULL || mark < fragment);
    tn_value why = read_query(query, &pairs);
    tn_text_append_n(&url, text, used);
    if (pairs.length > 0) {
        bool open = has_query && (text[used - 1] == '?' || text[used - 1] == '&');
        if (!open) tn_text_append(&url, has_query ? "&" : "?");
        tn_text_append_n(&url, pairs.bytes, pairs.length - 1);
    }
    if (why == NULL && url.length > REQUEST_URL_MAX)
        why = http_failure("LIMIT", "`url` with its query has %zu bytes; the limit is %d", url.length, REQUEST_URL_MAX);
    if (why == NULL) why = url.status == TN_OK ? check_url(tn_text_chars(&url), out) : http_failure_memory();
    tn_text_free(&url);
    tn_text_free(&pairs);
    return why;
}

/* ---- Headers ---- */

/* Headers that concern the connection or select the destination: the plugin sets them itself. */
static const char *const own_headers[] = {"connection",
                                          "content-length",
                                          "expect",
                                          "host",
                                          "keep-alive",
                                          "proxy-connection",
                                          "te",
                                          "trailer",
                                          "transfer-encoding",
                                          "upgrade",
                                          "proxy-authorization",
                                          NULL};

static bool header_name_is(const char *header, const char *name) {
    size_t length = strlen(name);
    return strncasecmp(header, name, length) == 0 &&
           (header[length] == ':' || header[length] == ';' || header[length] == '\0');
}

static bool is_known_member(const char *header, const char *const *names) {
    while (*names != NULL && !header_name_is(header, *names)) names++;
    return *names != NULL;
}

static bool add_header(struct request *request, const char *line) {
    struct curl_slist *longer = curl_slist_append(request->headers, line);
    if (longer != NULL) request->headers = longer;
    return longer != NULL;
}

static tn_value add_pair_header(struct request *out, const char *name, uint64_t name_length, const char *value,
                                uint64_t length) {
    struct tn_text_buffer line = {0};
    /* libcurl removes a header without a value unless a semicolon ends it. */
    tn_text_append_n(&line, name, name_length);
    tn_text_append(&line, length > 0 ? ": " : ";");
    bool fits = tn_text_append_n(&line, value, length) == TN_OK && add_header(out, tn_text_chars(&line));
    tn_text_free(&line);
    return fits ? NULL : http_failure_memory();
}

static tn_value read_header(tn_value key, tn_value value, struct request *out) {
    uint64_t name_length = 0, length = 0;
    const char *name = tn_chars(key, &name_length), *text = tn_chars(value, &length);
    if (!is_method_token(name, name_length))
        return http_failure("INVALID_INPUT", "`headers` has a member whose name is not a valid header name");
    if (is_known_member(name, own_headers))
        return http_failure("INVALID_INPUT", "`headers.%.60s` is set by the host and cannot be given", name);
    if (text == NULL)
        return http_failure("INVALID_INPUT", "`headers.%.60s` must be a string; found %s", name, tn_kind_name(value));
    for (uint64_t i = 0; i < length; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 127)
            return http_failure("INVALID_INPUT",
                                "`headers.%.60s` contains a character that headers cannot have (a line break?)", name);
    return add_pair_header(out, name, name_length, text, length);
}

static tn_value read_headers(tn_value headers, struct request *out) {
    uint64_t count = tn.value->count(headers), bytes = 0;
    tn_value why = NULL;
    if (is_absent_or_null(headers)) return NULL;
    if (tn.value->kind(headers) != TN_OBJECT) return request_fail_wrong_kind("headers", "an object", headers);
    if (count > REQUEST_HEADERS_MAX)
        return http_failure("LIMIT", "`headers` has %llu members; the limit is %d", (unsigned long long)count,
                            REQUEST_HEADERS_MAX);
    for (uint64_t i = 0; why == NULL && i < count; i++) {
        tn_value key = NULL, value = NULL;
        uint64_t length = 0;
        (void)tn.value->entry(headers, i, &key, &value);
        if (is_absent_or_null(value)) continue;
        (void)tn_chars(value, &length);
        bytes += length;
        why = bytes > REQUEST_HEADER_MAX ? http_failure("LIMIT", "`headers` has more than %d bytes", REQUEST_HEADER_MAX)
                                         : read_header(key, value, out);
    }
    return why;
}

static bool has_header(const struct request *request, const char *name) {
    const struct curl_slist *at = request->headers;
    while (at != NULL && !header_name_is(at->data, name)) at = at->next;
    return at != NULL;
}

/* ---- Body ---- */

static tn_value read_body(tn_value body, tn_value json, struct request *out) {
    const bool has_json = json != NULL; /* null is also a value to send */
    if (is_absent_or_null(body) && !has_json) return NULL;
    if (!is_absent_or_null(body) && has_json)
        return http_failure("INVALID_INPUT", "found both `body` and `json`; expected at most one");
    out->body_owner = has_json ? tn_to_json(json) : tn_retain(body);
    if (out->body_owner == NULL) return http_failure_memory();
    out->body = tn.value->as_text(out->body_owner, &out->body_length);
    if (out->body == NULL) out->body = tn.value->as_bytes(out->body_owner, &out->body_length);
    if (out->body == NULL && tn.value->kind(out->body_owner) == TN_BYTES) out->body = "";
    if (out->body == NULL) return request_fail_wrong_kind("body", "a string or bytes (`json` accepts any value)", body);
    if (out->body_length > TN_HTTP_BODY_MAX)
        return http_failure("LIMIT", "the body has %llu bytes; the limit is %d", (unsigned long long)out->body_length,
                            TN_HTTP_BODY_MAX);
    if (has_json && !has_header(out, "content-type") && !add_header(out, "content-type: application/json"))
        return http_failure_memory();
    return NULL;
}

/* Removes headers that libcurl would add by itself. */
static tn_value end_headers(struct request *out) {
    bool fits = true;
    if (out->body != NULL) {
        fits = add_header(out, "Expect:");
        if (!has_header(out, "content-type")) fits = fits && add_header(out, "Content-Type:");
    }
    if (!has_header(out, "accept") && out->receive == RECEIVE_EVENTS)
        fits = fits && add_header(out, "accept: text/event-stream");
    return fits ? NULL : http_failure_memory();
}

/* ---- The request ---- */

tn_value request_read(tn_value value, struct request *out) {
    static const char *const known[] = {"url",     "method",  "query", "headers",   "body", "json",
                                        "receive", "timeout", "retry", "max_bytes", NULL};
    *out = (struct request){.connect_ms = CONNECT_MS,
                            .idle_ms = IDLE_MS,
                            .attempts = 1,
                            .initial_ms = INITIAL_MS,
                            .max_ms = RETRY_MAX_MS,
                            .max_bytes = TN_HTTP_BODY_MAX};
    tn_value why = request_check_members(value, "request", known);
    if (why == NULL) why = read_url(tn_get(value, "url"), tn_get(value, "query"), out);
    if (why == NULL) why = read_headers(tn_get(value, "headers"), out);
    if (why == NULL) why = read_body(tn_get(value, "body"), tn_get(value, "json"), out);
    set_method(out, out->body != NULL ? "POST" : "GET");
    if (why == NULL) why = read_method(tn_get(value, "method"), out);
    if (why == NULL) why = read_receive(tn_get(value, "receive"), out);
    if (why == NULL) why = end_headers(out);
    if (why == NULL) why = read_timeouts(tn_get(value, "timeout"), out);
    if (why == NULL) why = read_retry(tn_get(value, "retry"), out);
    if (why == NULL)
        why = read_request_number(value, "max_bytes", "max_bytes", 1,
                                  out->receive == RECEIVE_WHOLE ? TN_HTTP_BODY_MAX : STREAM_MAX, &out->max_bytes);
    return why;
}

void request_finish(struct request *request) {
    free(request->url);
    free(request->origin);
    curl_slist_free_all(request->headers);
    tn_release(request->body_owner);
    *request = (struct request){0};
}

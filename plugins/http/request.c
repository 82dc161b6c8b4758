/*
 * request.c - members by a table of them, URLs by libcurl's parser, headers by the grammar of RFC 9110.
 */
#include "request.h"
#include <stdlib.h>

#define MS_MAX        86400000 /* a day */
#define CONNECT_MS    10000
#define IDLE_MS       60000
#define INITIAL_MS    500
#define RETRY_MAX_MS  30000
#define ATTEMPTS_MAX  10
#define REDIRECTS_MAX 20
#define STREAM_MAX    (INT64_C(1) << 53) /* bytes, where they are given on piece by piece */

static bool is_absent(tn_value value) { return tn.value->kind(value) <= TN_NULL; }

static tn_value is_no(const char *name, const char *what, tn_value value) {
    return failure("INVALID_INPUT", "`%s` is %s, and %s was found", name, what, tn_kind_name(value));
}

/* ---- Numbers ---- */

static tn_value read_number(tn_value object, const char *key, const char *name, int64_t least, int64_t most,
                            int64_t *out) {
    tn_value value = tn.value->get(object, key);
    int64_t number;
    if (is_absent(value)) return NULL;
    if (tn.value->as_int(value, &number) != TN_OK) return is_no(name, "an integer", value);
    if (number < least || number > most)
        return failure("INVALID_INPUT", "`%s` is %lld, and must be from %lld to %lld", name, (long long)number,
                       (long long)least, (long long)most);
    *out = number;
    return NULL;
}

/* Only members of the list (ended by NULL). */
static tn_value check_members(tn_value object, const char *where, const char *const *known) {
    if (tn.value->kind(object) != TN_OBJECT) return is_no(where, "an object", object);
    for (uint64_t i = 0; i < tn.value->count(object); i++) {
        tn_value key = NULL;
        const char *const *at = known;
        (void)tn.value->entry(object, i, &key, NULL);
        while (*at != NULL && strcmp(*at, tn_chars(key, NULL)) != 0) at++;
        if (*at == NULL)
            return failure("INVALID_INPUT", "`%s` has no member `%.60s`; tenon/http.h has those that there are", where,
                           tn_chars(key, NULL));
    }
    return NULL;
}

static tn_value read_timeouts(tn_value value, struct request *out) {
    static const char *const known[] = {"connect_ms", "idle_ms", "total_ms", NULL};
    if (is_absent(value)) return NULL;
    tn_value why = check_members(value, "timeout", known);
    if (why == NULL) why = read_number(value, "connect_ms", "timeout.connect_ms", 1, MS_MAX, &out->connect_ms);
    if (why == NULL) why = read_number(value, "idle_ms", "timeout.idle_ms", 1, MS_MAX, &out->idle_ms);
    if (why == NULL) why = read_number(value, "total_ms", "timeout.total_ms", 1, MS_MAX, &out->total_ms);
    return why;
}

static tn_value read_retry(tn_value value, struct request *out) {
    static const char *const known[] = {"max_attempts", "initial_ms", "max_ms", NULL};
    if (is_absent(value)) return NULL;
    tn_value why = check_members(value, "retry", known);
    if (why == NULL && is_absent(tn.value->get(value, "max_attempts")))
        why = failure("INVALID_INPUT", "`retry.max_attempts` is missing: an integer from 2 to %d", ATTEMPTS_MAX);
    if (why == NULL) why = read_number(value, "max_attempts", "retry.max_attempts", 2, ATTEMPTS_MAX, &out->attempts);
    if (why == NULL) why = read_number(value, "initial_ms", "retry.initial_ms", 0, MS_MAX, &out->initial_ms);
    if (why == NULL) why = read_number(value, "max_ms", "retry.max_ms", 0, MS_MAX, &out->max_ms);
    return why;
}

/* ---- Method and receive ---- */

static bool is_token(const char *text, uint64_t length) {
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
    if (is_absent(value)) return NULL;
    if (text == NULL) return is_no("method", "text", value);
    if (!is_token(text, length) || length >= sizeof out->method)
        return failure("INVALID_INPUT", "`method` is no method of HTTP: GET, POST and the like were expected");
    for (uint64_t i = 0; i <= length; i++)
        out->method[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
    if (strcmp(out->method, "CONNECT") == 0 || strcmp(out->method, "TRACE") == 0)
        return failure("INVALID_INPUT", "`method` is %s, which is not for plugins", out->method);
    return NULL;
}

static tn_value read_receive(tn_value value, struct request *out) {
    static const char *const names[] = {"whole", "bytes", "events", "lines"};
    const char *text = tn_chars(value, NULL);
    if (is_absent(value)) return NULL;
    for (size_t i = 0; text != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0) {
            out->receive = (enum receive)i;
            return NULL;
        }
    return failure("INVALID_INPUT", "`receive` is one of whole, bytes, events and lines, and %s was found",
                   text != NULL ? "another text" : tn_kind_name(value));
}

/* ---- URL ---- */

static bool add_encoded(struct bytes *out, const char *text, uint64_t length) {
    static const char hex[] = "0123456789ABCDEF";
    for (uint64_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        char coded[3] = {'%', hex[c >> 4], hex[c & 15]};
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c != '\0' && strchr("-._~", c) != NULL);
        if (!(plain ? bytes_add(out, text + i, 1) : bytes_add(out, coded, 3))) return false;
    }
    return true;
}

static tn_value add_pair(struct bytes *out, tn_value key, tn_value value) {
    uint64_t key_length = 0, length = 0;
    const char *name = tn_chars(key, &key_length), *text = tn_chars(value, &length);
    int32_t kind = tn.value->kind(value), truth = 0;
    tn_value shown = NULL, why = NULL;
    if (kind == TN_INT || kind == TN_DOUBLE) {
        shown = tn.value->to_json(value);
        text = tn_chars(shown, &length);
    } else if (kind == TN_BOOL) {
        (void)tn.value->as_bool(value, &truth);
        text = truth != 0 ? "true" : "false";
        length = strlen(text);
    }
    if (text == NULL)
        why =
            failure("INVALID_INPUT", "`query.%.60s` is text, a number, a bool, or an array of those, and %s was found",
                    name, tn_kind_name(value));
    else if (!add_encoded(out, name, key_length) || !bytes_text(out, "=") || !add_encoded(out, text, length) ||
             !bytes_text(out, "&"))
        why = failure_memory();
    tn_release(shown);
    return why;
}

/* "a=1&b=2&": each with its `&`. */
static tn_value read_query(tn_value query, struct bytes *out) {
    tn_value why = NULL;
    if (is_absent(query)) return NULL;
    if (tn.value->kind(query) != TN_OBJECT) return is_no("query", "an object", query);
    for (uint64_t i = 0; why == NULL && i < tn.value->count(query); i++) {
        tn_value key = NULL, value = NULL;
        (void)tn.value->entry(query, i, &key, &value);
        if (tn.value->kind(value) != TN_ARRAY) {
            if (!is_absent(value)) why = add_pair(out, key, value);
            continue;
        }
        for (uint64_t j = 0; why == NULL && j < tn.value->count(value); j++)
            why = add_pair(out, key, tn.value->at(value, j));
    }
    return why;
}

static const char *no_url(CURLUcode code) {
    if (code == CURLUE_USER_NOT_ALLOWED) return "has a user's name in it; put that into the header `authorization`";
    if (code == CURLUE_UNSUPPORTED_SCHEME) return "is neither http nor https";
    return "is no URL; https://host/path was expected";
}

/* Takes `handle` apart into origin and url. The URL as `text` has it, where that is given: nothing is written anew. */
static tn_value take_url(CURLU *handle, const char *text, struct request *out) {
    char *scheme = NULL, *host = NULL, *port = NULL, *whole = NULL;
    tn_value why = NULL;
    bool known = curl_url_get(handle, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                 (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    if (!known) {
        why = failure("INVALID_INPUT", "`url` %s", no_url(CURLUE_UNSUPPORTED_SCHEME));
    } else if (curl_url_get(handle, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
               curl_url_get(handle, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
               (text == NULL && curl_url_get(handle, CURLUPART_URL, &whole, 0) != CURLUE_OK)) {
        why = failure_memory();
    } else {
        out->https = strcmp(scheme, "https") == 0;
        out->url = strdup(text != NULL ? text : whole);
        if (out->url == NULL || asprintf(&out->origin, "%s://%s:%s", scheme, host, port) < 0) {
            out->origin = NULL;
            why = failure_memory();
        }
    }
    for (char *c = out->origin; c != NULL && *c != '\0'; c++) *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(whole);
    return why;
}

static tn_value check_url(const char *url, struct request *out) {
    CURLU *handle = curl_url();
    if (handle == NULL) return failure_memory();
    CURLUcode code = curl_url_set(handle, CURLUPART_URL, url, CURLU_DISALLOW_USER);
    tn_value why = code != CURLUE_OK ? failure("INVALID_INPUT", "`url` %s", no_url(code)) : take_url(handle, url, out);
    curl_url_cleanup(handle);
    return why;
}

static tn_value read_url(tn_value value, tn_value query, struct request *out) {
    struct bytes url = BYTES_INIT, pairs = BYTES_INIT;
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    if (text == NULL) return is_no("url", "text", value);
    if (strlen(text) != length) return failure("INVALID_INPUT", "`url` has a NUL in it");
    const char *fragment = strchr(text, '#'), *mark = strchr(text, '?');
    size_t kept = fragment != NULL ? (size_t)(fragment - text) : length;
    bool has_query = mark != NULL && (fragment == NULL || mark < fragment);
    tn_value why = read_query(query, &pairs);
    bool fits = bytes_add(&url, text, kept);
    if (pairs.length > 0) {
        bool open = has_query && (text[kept - 1] == '?' || text[kept - 1] == '&');
        if (!open) fits = fits && bytes_text(&url, has_query ? "&" : "?");
        fits = fits && bytes_add(&url, pairs.data, pairs.length - 1);
    }
    if (why == NULL && url.length > REQUEST_URL_MAX)
        why = failure("LIMIT", "`url` has %zu bytes with its query, and may have %d", url.length, REQUEST_URL_MAX);
    const char *whole = fits ? bytes_cstr(&url) : NULL;
    if (why == NULL) why = whole != NULL ? check_url(whole, out) : failure_memory();
    bytes_finish(&url);
    bytes_finish(&pairs);
    return why;
}

/* ---- Headers ---- */

/* What is between the connection and us, or says where the request goes. */
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

/* What can have no secret, and goes to another origin as well. */
static const char *const plain_headers[] = {"accept",
                                            "accept-encoding",
                                            "accept-language",
                                            "content-encoding",
                                            "content-language",
                                            "content-type",
                                            "user-agent",
                                            "range",
                                            NULL};

static bool names_it(const char *header, const char *name) {
    size_t length = strlen(name);
    return strncasecmp(header, name, length) == 0 &&
           (header[length] == ':' || header[length] == ';' || header[length] == '\0');
}

static bool is_one_of(const char *header, const char *const *names) {
    while (*names != NULL && !names_it(header, *names)) names++;
    return *names != NULL;
}

static bool add_header(struct request *request, const char *line) {
    struct curl_slist *longer = curl_slist_append(request->headers, line);
    if (longer != NULL) request->headers = longer;
    return longer != NULL;
}

static tn_value add_pair_header(struct request *out, const char *name, uint64_t name_length, const char *value,
                                uint64_t length) {
    struct bytes line = BYTES_INIT;
    /* What has no value ends with a semicolon: libcurl would take the header out. */
    bool fits = bytes_add(&line, name, name_length) && bytes_text(&line, length > 0 ? ": " : ";") &&
                bytes_add(&line, value, length) && bytes_cstr(&line) != NULL && add_header(out, line.data);
    bytes_finish(&line);
    return fits ? NULL : failure_memory();
}

static tn_value read_header(tn_value key, tn_value value, struct request *out) {
    uint64_t name_length = 0, length = 0;
    const char *name = tn_chars(key, &name_length), *text = tn_chars(value, &length);
    if (!is_token(name, name_length)) return failure("INVALID_INPUT", "`headers` has a name that no header can have");
    if (is_one_of(name, own_headers))
        return failure("INVALID_INPUT", "`headers.%.60s` is made by the host, and cannot be given", name);
    if (text == NULL)
        return failure("INVALID_INPUT", "`headers.%.60s` is text, and %s was found", name, tn_kind_name(value));
    for (uint64_t i = 0; i < length; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 127)
            return failure("INVALID_INPUT", "`headers.%.60s` has a character that a header cannot have (a line's end?)",
                           name);
    return add_pair_header(out, name, name_length, text, length);
}

static tn_value read_headers(tn_value headers, struct request *out) {
    uint64_t count = tn.value->count(headers), bytes = 0;
    tn_value why = NULL;
    if (is_absent(headers)) return NULL;
    if (tn.value->kind(headers) != TN_OBJECT) return is_no("headers", "an object", headers);
    if (count > REQUEST_HEADERS_MAX)
        return failure("LIMIT", "`headers` has %llu, and may have %d", (unsigned long long)count, REQUEST_HEADERS_MAX);
    for (uint64_t i = 0; why == NULL && i < count; i++) {
        tn_value key = NULL, value = NULL;
        uint64_t length = 0;
        (void)tn.value->entry(headers, i, &key, &value);
        if (is_absent(value)) continue;
        (void)tn_chars(value, &length);
        bytes += length;
        why = bytes > REQUEST_HEADER_MAX ? failure("LIMIT", "`headers` has more than %d bytes", REQUEST_HEADER_MAX)
                                         : read_header(key, value, out);
    }
    return why;
}

static bool has_header(const struct request *request, const char *name) {
    const struct curl_slist *at = request->headers;
    while (at != NULL && !names_it(at->data, name)) at = at->next;
    return at != NULL;
}

/* ---- Body ---- */

static tn_value read_body(tn_value body, tn_value json, struct request *out) {
    const bool has_json = json != NULL; /* null is a value to send */
    if (is_absent(body) && !has_json) return NULL;
    if (!is_absent(body) && has_json) return failure("INVALID_INPUT", "there are both `body` and `json`; one is sent");
    out->holds = has_json ? tn.value->to_json(json) : tn_retain(body);
    if (out->holds == NULL) return failure_memory();
    out->body = tn.value->as_text(out->holds, &out->body_length);
    if (out->body == NULL) out->body = tn.value->as_bytes(out->holds, &out->body_length);
    if (out->body == NULL && tn.value->kind(out->holds) == TN_BYTES) out->body = "";
    if (out->body == NULL) return is_no("body", "text or bytes (`json` is for any value)", body);
    if (out->body_length > TN_HTTP_BODY_MAX)
        return failure("LIMIT", "the body has %llu bytes, and may have %d", (unsigned long long)out->body_length,
                       TN_HTTP_BODY_MAX);
    if (has_json && !has_header(out, "content-type") && !add_header(out, "content-type: application/json"))
        return failure_memory();
    return NULL;
}

/* What libcurl would add by itself, and nobody asked for. */
static tn_value end_headers(struct request *out) {
    bool fits = true;
    if (out->body != NULL) {
        fits = add_header(out, "Expect:");
        if (!has_header(out, "content-type")) fits = fits && add_header(out, "Content-Type:");
    }
    if (!has_header(out, "accept") && out->receive == RECEIVE_EVENTS)
        fits = fits && add_header(out, "accept: text/event-stream");
    return fits ? NULL : failure_memory();
}

/* ---- The whole ---- */

tn_value request_read(tn_value value, struct request *out) {
    static const char *const known[] = {"url",     "method",  "query", "headers",   "body",      "json",
                                        "receive", "timeout", "retry", "redirects", "max_bytes", NULL};
    *out = (struct request){.connect_ms = CONNECT_MS,
                            .idle_ms = IDLE_MS,
                            .attempts = 1,
                            .initial_ms = INITIAL_MS,
                            .max_ms = RETRY_MAX_MS,
                            .max_bytes = TN_HTTP_BODY_MAX};
    tn_value why = check_members(value, "request", known);
    if (why == NULL) why = read_url(tn.value->get(value, "url"), tn.value->get(value, "query"), out);
    if (why == NULL) why = read_headers(tn.value->get(value, "headers"), out);
    if (why == NULL) why = read_body(tn.value->get(value, "body"), tn.value->get(value, "json"), out);
    set_method(out, out->body != NULL ? "POST" : "GET");
    if (why == NULL) why = read_method(tn.value->get(value, "method"), out);
    if (why == NULL) why = read_receive(tn.value->get(value, "receive"), out);
    if (why == NULL) why = end_headers(out);
    if (why == NULL) why = read_timeouts(tn.value->get(value, "timeout"), out);
    if (why == NULL) why = read_retry(tn.value->get(value, "retry"), out);
    if (why == NULL) why = read_number(value, "redirects", "redirects", 0, REDIRECTS_MAX, &out->redirects);
    if (why == NULL)
        why = read_number(value, "max_bytes", "max_bytes", 1,
                          out->receive == RECEIVE_WHOLE ? TN_HTTP_BODY_MAX : STREAM_MAX, &out->max_bytes);
    return why;
}

void request_finish(struct request *request) {
    free(request->url);
    free(request->origin);
    curl_slist_free_all(request->headers);
    tn_release(request->holds);
    *request = (struct request){0};
}

/* ---- Redirects ---- */

static bool drops_body(const struct request *from, int64_t status) {
    if (status == 303) return strcmp(from->method, "HEAD") != 0;
    return (status == 301 || status == 302) && strcmp(from->method, "POST") == 0;
}

static bool copy_headers(const struct request *from, bool same_origin, bool body, struct request *out) {
    for (const struct curl_slist *at = from->headers; at != NULL; at = at->next) {
        if (!same_origin && !is_one_of(at->data, plain_headers) && strcmp(at->data, "Expect:") != 0) continue;
        if (!body && strncasecmp(at->data, "content-", 8) == 0) continue;
        if (!add_header(out, at->data)) return false;
    }
    return true;
}

static tn_value resolve(const char *base, const char *location, struct request *out) {
    CURLU *handle = curl_url();
    if (handle == NULL) return failure_memory();
    CURLUcode code = curl_url_set(handle, CURLUPART_URL, base, 0);
    if (code == CURLUE_OK) code = curl_url_set(handle, CURLUPART_URL, location, CURLU_URLENCODE | CURLU_DISALLOW_USER);
    if (code == CURLUE_OK) (void)curl_url_set(handle, CURLUPART_FRAGMENT, NULL, 0);
    tn_value why = code == CURLUE_OK ? take_url(handle, NULL, out) : NULL;
    if (code != CURLUE_OK || why != NULL) {
        tn_release(why);
        why = failure("PROTOCOL", "the answer redirects to what is no URL of http or https");
    }
    curl_url_cleanup(handle);
    return why;
}

tn_value request_redirect(const struct request *from, int64_t status, const char *location, struct request *out,
                          bool *follow) {
    bool body = from->body != NULL && !drops_body(from, status);
    *follow = false;
    *out = *from;
    out->url = out->origin = NULL;
    out->headers = NULL;
    out->holds = body ? tn_retain(from->holds) : NULL;
    if (!body) out->body = NULL;
    if (drops_body(from, status)) set_method(out, "GET");
    tn_value why = resolve(from->url, location, out);
    if (why != NULL || out->origin == NULL) return why;
    bool same_origin = strcmp(from->origin, out->origin) == 0;
    *follow = (same_origin || !body) && (!from->https || out->https);
    out->redirects = from->redirects - 1;
    return copy_headers(from, same_origin, body, out) ? NULL : failure_memory();
}

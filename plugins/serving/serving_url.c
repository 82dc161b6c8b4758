/*
 * serving_url.c - requests to addresses that clients choose: push notifications, webhooks. The operator says where they
 * may be: otherwise a client could reach the network of the server through it.
 *
 * An address is read strictly, so that the HTTP client cannot understand it in another way: no user, no fragment, no
 * character that programs read differently.
 */
#include "serving.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TIMEOUTS "{\"connect_ms\": 10000, \"idle_ms\": 10000, \"total_ms\": 30000}"
#define RETRIES  "{\"max_attempts\": 3, \"initial_ms\": 500, \"max_ms\": 5000}"

struct origin {
    bool secure;
    const char *host, *port; /* not terminated; the port is empty if there is none */
    size_t host_length, port_length;
    const char *rest; /* the path and the query */
};

static bool host_is(const struct origin *origin, const char *host) {
    return strlen(host) == origin->host_length && strncasecmp(origin->host, host, origin->host_length) == 0;
}

static bool is_loopback(const struct origin *origin) {
    return host_is(origin, "localhost") || host_is(origin, "127.0.0.1") || host_is(origin, "[::1]");
}

static bool read_host(const char **at, struct origin *origin, bool pattern) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";
    const char *from = *at;
    if (strncmp(from, "[::1]", 5) == 0) {
        *at = from + 5;
    } else {
        if (pattern && strncmp(from, "*.", 2) == 0) *at += 2;
        size_t length = strspn(*at, allowed);
        if (length == 0 || **at == '.') return false;
        *at += length;
    }
    origin->host = from;
    origin->host_length = (size_t)(*at - from);
    return origin->host_length <= 253;
}

static bool read_port(const char **at, struct origin *origin, bool pattern) {
    origin->port = *at;
    origin->port_length = 0;
    if (**at != ':') return true;
    origin->port = ++*at;
    origin->port_length = pattern && **at == '*' ? 1 : strspn(*at, "0123456789");
    *at += origin->port_length;
    return origin->port_length >= 1 && origin->port_length <= 5;
}

static bool read_rest(const char *rest) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%!$&'()*+,;=:@/?";
    return (*rest == '\0' || *rest == '/' || *rest == '?') && rest[strspn(rest, allowed)] == '\0';
}

/* Only https, and http on this machine. */
static bool read_origin(const char *text, bool pattern, struct origin *origin) {
    origin->secure = strncmp(text, "https://", 8) == 0;
    if (!origin->secure && strncmp(text, "http://", 7) != 0) return false;
    const char *at = text + (origin->secure ? 8 : 7);
    if (!read_host(&at, origin, pattern) || !read_port(&at, origin, pattern)) return false;
    origin->rest = at;
    return (pattern ? *at == '\0' : read_rest(at)) && (origin->secure || is_loopback(origin));
}

static bool host_matches(const struct origin *pattern, const struct origin *origin) {
    size_t suffix = pattern->host_length - 1;
    if (pattern->host[0] != '*')
        return pattern->host_length == origin->host_length &&
               strncasecmp(pattern->host, origin->host, origin->host_length) == 0;
    return origin->host_length > suffix &&
           strncasecmp(pattern->host + 1, origin->host + origin->host_length - suffix, suffix) == 0;
}

static long port_of(const struct origin *origin) {
    return origin->port_length > 0 ? strtol(origin->port, NULL, 10) : origin->secure ? 443 : 80;
}

static bool matches(const struct origin *pattern, const struct origin *origin) {
    bool any_port = pattern->port_length == 1 && pattern->port[0] == '*';
    return pattern->secure == origin->secure && host_matches(pattern, origin) &&
           (any_port || port_of(pattern) == port_of(origin));
}

bool serving_origin_is_valid(const char *text) {
    struct origin origin;
    return read_origin(text, true, &origin);
}

bool serving_url_is_allowed(const char *url, tn_value allow) {
    struct origin origin, pattern;
    if (strlen(url) > SERVING_URL_MAX || !read_origin(url, false, &origin)) return false;
    long port = port_of(&origin);
    if (port < 1 || port > 65535) return false;
    for (uint64_t i = 0, count = tn.value->count(allow); i < count; i++) {
        const char *text = tn_chars(tn.value->at(allow, i), NULL);
        if (text != NULL && read_origin(text, true, &pattern) && matches(&pattern, &origin)) return true;
    }
    return false;
}

tn_value serving_origins_read(tn_value allow, const char *where) {
    tn_value kept = NULL;
    struct tn_text_buffer text = TN_TEXT_BUFFER(1024);
    for (uint64_t i = 0, count = tn.value->count(allow); i < count; i++) {
        const char *origin = tn_chars(tn.value->at(allow, i), NULL);
        if (origin != NULL && serving_origin_is_valid(origin)) {
            (void)tn_append_take(&kept, tn_retain(tn.value->at(allow, i)));
            continue;
        }
        tn_text_clear(&text, 1024);
        (void)tn_text_append_format(&text,
                                    "%s has %.200s, which is ignored; expected an address without a path: "
                                    "https://example.com, https://*.example.com, http://localhost:8080",
                                    where, origin != NULL ? origin : "what is not a text");
        tn_log(TN_LOG_ERROR, tn_text_chars(&text));
    }
    tn_text_free(&text);
    return kept;
}

tn_value serving_post(const char *url, tn_value headers_take, tn_value body) {
    return tn_build("{s:s, s:s, s:V, s:v, s:V, s:V, s:i, s:i}", "url", url, "method", "POST", "headers", headers_take,
                    "body", body, "timeout", tn_from_json(TIMEOUTS, strlen(TIMEOUTS)), "retry",
                    tn_from_json(RETRIES, strlen(RETRIES)), "redirects", 0, "max_bytes", 65536);
}

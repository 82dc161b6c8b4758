/*
 * web_origin.c - checks of `Host` and `Origin`.
 */
#include "host/server/web/web_origin.h"
#include <string.h>
#include <strings.h>

/* The length of the name in "name:port" or "[::1]:port"; 0 if the text is malformed. */
static size_t name_length(const char *host) {
    size_t length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    const char *port = host + length;
    if (*host == '[' && host[length - 1] != ']') return 0;
    if (*port == ':') {
        port++;
        if (!*port || strspn(port, "0123456789") != strlen(port)) return 0;
    }
    return *port && host[length] != ':' ? 0 : length;
}

static bool is_name(const char *name, size_t length, const char *text) {
    return strlen(text) == length && strncasecmp(name, text, length) == 0;
}

/* A text without a port stands for every port. */
static bool contains_host(tn_value hosts, const char *host, size_t length) {
    for (size_t i = 0; i < value_count(hosts); i++) {
        tn_value item = value_at(hosts, i);
        if (!value_is(item, TN_STRING)) continue;
        const char *text = value_chars(item, NULL);
        if (strcasecmp(text, host) == 0 || is_name(host, length, text)) return true;
    }
    return false;
}

bool web_origin_allows_host(const struct web_origin *self, const char *host) {
    size_t length = name_length(host);
    if (!length) return false;
    if (contains_host(self->hosts, host, length)) return true;
    if (is_name(host, length, "localhost") || is_name(host, length, "127.0.0.1") || is_name(host, length, "[::1]"))
        return true;
    return !self->loopback && !value_count(self->hosts);
}

bool web_origin_is_own(const char *origin, const char *host) {
    const char *authority = strstr(origin, "://");
    if (!host || !authority) return false;
    size_t scheme = (size_t)(authority - origin), length;
    if (!is_name(origin, scheme, "http") && !is_name(origin, scheme, "https")) return false;
    authority += 3;
    length = strlen(host);
    const char *port = scheme == 4 ? ":80" : ":443"; /* a browser does not send the default port */
    return strcasecmp(authority, host) == 0 ||
           (strlen(authority) + strlen(port) == length && strncasecmp(authority, host, strlen(authority)) == 0 &&
            strcmp(host + strlen(authority), port) == 0);
}

bool web_origin_allows(const struct web_origin *self, const char *origin) {
    for (size_t i = 0; i < value_count(self->origins); i++)
        if (value_text_is(value_at(self->origins, i), origin) || value_text_is(value_at(self->origins, i), "*"))
            return true;
    return false;
}

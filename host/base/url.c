/*
 * url.c - reads, joins and writes URLs.
 *
 * The host is checked strictly. The path is passed on as it is, except for bytes that a request line cannot contain.
 * Nothing is decoded.
 */
#include "host/base/url.h"
#include "adl/value/memory.h"
#include <string.h>
#include <strings.h>

static bool is_host_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

static char url_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static const char *url_read_port(struct url *url, const char *text, size_t length) {
    uint32_t port = 0;
    if (!length) return NULL; /* "host:" has the default port of the scheme */
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || i >= 5) return "its port is not a number from 1 to 65535";
        port = port * 10 + (uint32_t)(text[i] - '0');
    }
    if (port < 1 || port > 65535) return "its port is not a number from 1 to 65535";
    url->port = port;
    return NULL;
}

static const char *url_read_ipv6(struct url *url, const char *text, size_t length, size_t *used) {
    const char *end = memchr(text, ']', length);
    if (!end || (size_t)(end - text) >= 48) return "its IPv6 address has no closing bracket";
    for (const char *at = text + 1; at < end; at++) {
        char c = url_lower(*at);
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.'))
            return "its IPv6 address contains a character other than digits, a to f, : and .";
        url->host[at - text] = c;
    }
    url->host[0] = '[';
    url->host[end - text] = ']';
    url->host[end - text + 1] = 0;
    *used = (size_t)(end - text) + 1;
    return *used > 3 ? NULL : "its IPv6 address is empty";
}

/* Reads host[:port]. */
static const char *url_read_authority(struct url *url, const char *text, size_t length) {
    size_t used = 0;
    if (memchr(text, '@', length)) return "it has a user name; send an `authorization` header instead";
    if (length && text[0] == '[') {
        const char *why = url_read_ipv6(url, text, length, &used);
        if (why) return why;
    } else {
        while (used < length && text[used] != ':') {
            char c = url_lower(text[used]);
            if ((unsigned char)c >= 0x80) return "its host is not ASCII; write an international name as xn--…";
            if (!is_host_char(c)) return "its host contains a character that is not allowed in a host name";
            if (used >= URL_HOST_MAX) return "its host is longer than 255 bytes";
            url->host[used++] = c;
        }
        url->host[used] = 0;
        if (used > 1 && url->host[used - 1] == '.') url->host[used - 1] = 0; /* "host." is "host" */
        if (!url->host[0] || url->host[0] == '.') return "it has no host";
        if (strstr(url->host, "..") || url->host[strlen(url->host) - 1] == '.') return "its host has an empty part";
    }
    url->port = url->secure ? 443 : 80;
    if (used == length) return NULL;
    if (text[used] != ':') return "its host is followed by unexpected text";
    return url_read_port(url, text + used + 1, length - used - 1);
}

/* ---- The target ---- */

/* Removes dot segments from a path, in place (RFC 3986, 5.2.4). */
static void url_remove_dots(struct buffer *path) {
    char *data = path->data, *out = data;
    const char *in = data, *end = data + path->length;
    while (in < end) {
        const char *slash = memchr(in + 1, '/', (size_t)(end - in - 1)), *stop = slash ? slash : end;
        size_t length = (size_t)(stop - in);
        bool one = length == 2 && in[1] == '.', two = length == 3 && in[1] == '.' && in[2] == '.';
        if (two)
            while (out > data && *--out != '/') continue;
        if (!one && !two) {
            memmove(out, in, length);
            out += length;
        } else if (stop == end) {
            *out++ = '/';
        }
        in = stop;
    }
    if (out == data) *out++ = '/';
    *out = 0;
    path->length = (size_t)(out - data);
}

static const char *url_append_target(struct buffer *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= 0x20 || c == 0x7f) return "it contains a space or a control character; percent-encode it";
        if (c >= 0x80)
            buffer_format(out, "%%%02X", c);
        else
            buffer_char(out, (char)c);
    }
    return NULL;
}

/* `text` follows the authority. A path that does not start with '/' is relative to the path of `base`. */
static const char *url_read_target(struct url *url, const char *text, size_t length, const struct url *base) {
    struct buffer path, whole;
    size_t size = 0;
    while (size < length && text[size] != '?') size++;
    buffer_init(&path, URL_MAX);
    if (base && (!size || text[0] != '/')) {
        size_t kept = strcspn(base->target, "?");
        while (size && kept && base->target[kept - 1] != '/') kept--;
        buffer_append(&path, base->target, kept);
    }
    if (!path.length && (!size || text[0] != '/')) buffer_char(&path, '/');
    const char *why = url_append_target(&path, text, size);
    if (!why && path.length) url_remove_dots(&path);
    buffer_init(&whole, URL_MAX);
    buffer_append(&whole, buffer_cstr(&path), path.length);
    if (!why) {
        const char *query = text + size;
        size_t rest = length - size;
        if (!length && base && strchr(base->target, '?')) { /* an empty reference means the same document */
            query = strchr(base->target, '?');
            rest = strlen(query);
        }
        why = url_append_target(&whole, query, rest);
    }
    if (!why && (whole.overflow || path.overflow)) why = "it is longer than 64 KiB";
    buffer_finish(&path);
    if (!why) url->target = buffer_detach(&whole, NULL);
    buffer_finish(&whole);
    return why;
}

/* ---- URLs ---- */

static bool url_has_scheme(const char *text, size_t length) {
    for (size_t i = 0; i < length && text[i] != '/' && text[i] != '?'; i++)
        if (text[i] == ':') return true;
    return false;
}

const char *url_read(struct url *url, const char *text, size_t length, const struct url *base) {
    struct url made = {.target = NULL};
    const char *why, *fragment = memchr(text, '#', length);
    if (memchr(text, 0, length)) return "it contains a NUL";
    if (length > URL_MAX) return "it is longer than 64 KiB";
    if (fragment) length = (size_t)(fragment - text);
    size_t scheme = 0;
    if (length >= 7 && strncasecmp(text, "http://", 7) == 0) scheme = 5;
    if (length >= 8 && strncasecmp(text, "https://", 8) == 0) scheme = 6;
    if (!scheme && (!base || url_has_scheme(text, length)))
        return base ? "it is not an http or https URL" : "expected http://… or https://…";
    made.secure = scheme ? scheme == 6 : base->secure;
    text += scheme;
    length -= scheme;
    if (length >= 2 && text[0] == '/' && text[1] == '/') {
        size_t end = 2;
        while (end < length && text[end] != '/' && text[end] != '?') end++;
        why = url_read_authority(&made, text + 2, end - 2);
        if (!why) why = url_read_target(&made, text + end, length - end, NULL);
    } else {
        memcpy(made.host, base->host, sizeof made.host);
        made.port = base->port;
        why = url_read_target(&made, text, length, base);
    }
    if (!why) *url = made;
    return why;
}

void url_finish(struct url *url) {
    mem_free(url->target);
    url->target = NULL;
}

void url_write_origin(struct buffer *out, const struct url *url) {
    buffer_format(out, "%s://%s", url->secure ? "https" : "http", url->host);
    if (url->port != (url->secure ? 443 : 80)) buffer_format(out, ":%u", url->port);
}

void url_write(struct buffer *out, const struct url *url) {
    url_write_origin(out, url);
    buffer_text(out, url->target);
}

bool url_same_origin(const struct url *a, const struct url *b) {
    return a->secure == b->secure && a->port == b->port && strcmp(a->host, b->host) == 0;
}

void url_escape(struct buffer *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (is_host_char(url_lower(c)) || c == '~')
            buffer_char(out, c);
        else
            buffer_format(out, "%%%02X", (unsigned char)c);
    }
}

bool url_matches(const struct url *url, const char *pattern) {
    size_t length = strlen(pattern);
    const char *bracket = strrchr(pattern, ']'), *colon = strrchr(bracket ? bracket : pattern, ':');
    if (colon) {
        struct url port = {.port = 0};
        if (url_read_port(&port, colon + 1, strlen(colon + 1)) || port.port != url->port) return false;
        length = (size_t)(colon - pattern);
    }
    if (length > 2 && pattern[0] == '*' && pattern[1] == '.') {
        size_t host = strlen(url->host), tail = length - 1; /* with its dot */
        return host > tail && strncasecmp(url->host + host - tail, pattern + 1, tail) == 0;
    }
    return strlen(url->host) == length && strncasecmp(url->host, pattern, length) == 0;
}

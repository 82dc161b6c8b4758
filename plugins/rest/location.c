/*
 * location.c - resolves and compares URLs. Only what a URL of http and https can have is understood.
 */
#include "location.h"
#include <stdlib.h>
#include <strings.h>

struct location_origin {
    bool secure;
    uint32_t port;
    char host[LOCATION_HOST_MAX + 1];
};

/* The length of the scheme and authority of an absolute URL; 0 if it is not one of http or https. */
static size_t origin_length(const char *url) {
    size_t scheme = strncasecmp(url, "http://", 7) == 0 ? 7 : strncasecmp(url, "https://", 8) == 0 ? 8 : 0;
    return scheme > 0 ? scheme + strcspn(url + scheme, "/?#") : 0;
}

static bool read_port(const char *text, size_t length, uint32_t *port) {
    uint32_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || number > 65535) return false;
        number = number * 10 + (uint32_t)(text[i] - '0');
    }
    if (length > 0) *port = number;
    return number <= 65535;
}

static bool read_origin(const char *url, struct location_origin *out) {
    size_t end = origin_length(url), start = strncasecmp(url, "https", 5) == 0 ? 8 : 7, host;
    if (end <= start || memchr(url, '@', end) != NULL) return false;
    out->secure = start == 8;
    out->port = out->secure ? 443 : 80;
    const char *bracket = url[start] == '[' ? memchr(url + start, ']', end - start) : NULL;
    host = bracket != NULL ? (size_t)(bracket + 1 - url) : start + strcspn(url + start, ":/?#");
    if (host == start || host - start > LOCATION_HOST_MAX) return false;
    if (host < end && (url[host] != ':' || !read_port(url + host + 1, end - host - 1, &out->port))) return false;
    memcpy(out->host, url + start, host - start);
    out->host[host - start] = 0;
    return true;
}

bool location_same_origin(const char *a, const char *b) {
    struct location_origin first, second;
    return read_origin(a, &first) && read_origin(b, &second) && first.secure == second.secure &&
           first.port == second.port && strcasecmp(first.host, second.host) == 0;
}

bool location_is_upgrade(const char *from, const char *to) {
    struct location_origin first, second;
    return read_origin(from, &first) && read_origin(to, &second) && !first.secure && first.port == 80 &&
           second.secure && second.port == 443 && strcasecmp(first.host, second.host) == 0;
}

bool location_is_downgrade(const char *from, const char *to) {
    struct location_origin first, second;
    return read_origin(from, &first) && read_origin(to, &second) && first.secure && !second.secure;
}

bool location_host_matches(const char *url, const char *pattern) {
    struct location_origin origin;
    const char *bracket = strrchr(pattern, ']'), *colon = strrchr(bracket != NULL ? bracket : pattern, ':');
    size_t length = colon != NULL ? (size_t)(colon - pattern) : strlen(pattern);
    uint32_t port = 0;
    if (!read_origin(url, &origin)) return false;
    if (colon != NULL && (!read_port(colon + 1, strlen(colon + 1), &port) || port != origin.port)) return false;
    size_t host = strlen(origin.host);
    if (length > 2 && pattern[0] == '*' && pattern[1] == '.')
        return host > length - 1 && strncasecmp(origin.host + host - (length - 1), pattern + 1, length - 1) == 0;
    return host == length && strncasecmp(origin.host, pattern, length) == 0;
}

/* ---- References ---- */

/* Appends a path without its segments `.` and `..` (RFC 3986, 5.2.4). The path starts with `/`. */
static void append_path(struct tn_text_buffer *out, const char *path, size_t length) {
    uint64_t root = out->length;
    for (size_t at = 0; at < length;) {
        const char *slash = memchr(path + at + 1, '/', length - at - 1);
        size_t end = slash != NULL ? (size_t)(slash - path) : length, size = end - at - 1;
        const char *segment = path + at + 1;
        bool here = size == 1 && segment[0] == '.', up = size == 2 && segment[0] == '.' && segment[1] == '.';
        while (up && out->length > root && out->bytes[--out->length] != '/') {
        }
        if (!here && !up)
            tn_text_append_n(out, path + at, end - at);
        else if (end == length)
            tn_text_append(out, "/");
        at = end;
    }
    if (out->length == root) tn_text_append(out, "/");
}

static bool is_scheme(const char *reference) {
    size_t colon = strcspn(reference, ":/?#");
    return reference[colon] == ':' && colon > 0;
}

bool location_resolve(struct tn_text_buffer *out, const char *base, const char *reference) {
    struct tn_text_buffer path = TN_TEXT_BUFFER(LOCATION_MAX);
    struct location_origin origin;
    uint64_t before = out->length;
    size_t authority = origin_length(base), length = strcspn(reference, "#");
    const char *from = base;
    if (authority == 0) return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)reference[i] <= ' ' || reference[i] == 0x7f || reference[i] == '\\') return false;
    size_t base_path = strcspn(base + authority, "?#");
    if (origin_length(reference) > 0) {
        from = reference;
        authority = origin_length(reference);
        tn_text_append_n(&path, reference + authority, length - authority);
    } else if (is_scheme(reference)) {
        return false;
    } else if (length > 1 && reference[0] == '/' && reference[1] == '/') {
        struct tn_text_buffer whole = TN_TEXT_BUFFER(LOCATION_MAX);
        tn_text_append_n(&whole, base, strcspn(base, ":") + 1);
        tn_text_append_n(&whole, reference, length);
        bool good = whole.status == TN_OK && location_resolve(out, base, tn_text_chars(&whole));
        tn_text_free(&whole);
        return good;
    } else if (length == 0 || reference[0] == '?') {
        size_t query = length == 0 ? strcspn(base + authority, "#") : base_path;
        tn_text_append_n(&path, base + authority, query);
        tn_text_append_n(&path, reference, length);
    } else {
        size_t folder = base_path;
        while (folder > 0 && base[authority + folder - 1] != '/') folder--;
        if (reference[0] != '/') tn_text_append_n(&path, base + authority, folder);
        if (reference[0] != '/' && folder == 0) tn_text_append(&path, "/");
        tn_text_append_n(&path, reference, length);
    }
    tn_text_append_n(out, from, authority);
    size_t plain = strcspn(tn_text_chars(&path), "?");
    append_path(out, tn_text_chars(&path), plain);
    tn_text_append(out, tn_text_chars(&path) + plain);
    bool good = path.status == TN_OK && out->status == TN_OK && read_origin(tn_text_chars(out) + before, &origin);
    tn_text_free(&path);
    return good;
}

/* ---- Link headers ---- */

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

/* True if a value of `rel`, a list of relations, has `next`. */
static bool has_next_relation(const char *value, size_t length) {
    for (size_t at = 0; at < length;) {
        size_t word = 0;
        while (at < length && (value[at] == ' ' || value[at] == '\t')) at++;
        while (at + word < length && value[at + word] != ' ' && value[at + word] != '\t') word++;
        if (word == 4 && strncasecmp(value + at, "next", 4) == 0) return true;
        at += word;
    }
    return false;
}

/* Reads the parameters of a link at *at, up to the comma after them. Returns true if the relation is `next`. */
static bool read_link_parameters(const char **at) {
    bool next = false, seen = false;
    *at = skip_blanks(*at);
    while (**at == ';') {
        const char *name = skip_blanks(*at + 1);
        size_t length = strcspn(name, " \t=;,\""), size;
        const char *value = skip_blanks(name + length);
        bool rel = length == 3 && strncasecmp(name, "rel", 3) == 0;
        if (*value == '=') {
            value = skip_blanks(value + 1);
            bool quoted = *value == '"';
            if (quoted) value++;
            size = quoted ? strcspn(value, "\"") : strcspn(value, " \t;,");
            if (rel && !seen) next = has_next_relation(value, size); /* only the first counts (RFC 8288, 3.3) */
            seen = seen || rel;
            value += size;
            if (quoted && *value == '"') value++;
        }
        *at = skip_blanks(value);
    }
    return next;
}

const char *location_find_next(const char *link, uint64_t *length) {
    while (*link != 0) {
        link += strspn(link, " \t,");
        if (*link != '<') return NULL;
        const char *target = link + 1;
        size_t size = strcspn(target, ">");
        if (target[size] != '>') return NULL;
        link = target + size + 1;
        if (read_link_parameters(&link)) {
            *length = size;
            return target;
        }
        if (*link != ',' && *link != 0) return NULL;
    }
    return NULL;
}

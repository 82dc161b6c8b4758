/*
 * address.c - the parts of an address, by RFC 3986 as far as http and https need it.
 */
#include "address.h"
#include "text.h" /* of plugins/rest */

bool address_read(const char *url, struct address *out) {
    *out = (struct address){0};
    if (url == NULL || strlen(url) > OAUTH_URL_MAX) return false;
    for (const char *c = url; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~' || *c == '#' || *c == '\\' || *c == '"' || *c == '<' || *c == '>') return false;
    out->secure = strncasecmp(url, "https://", 8) == 0;
    if (!out->secure && strncasecmp(url, "http://", 7) != 0) return false;
    const char *host = url + (out->secure ? 8 : 7);
    size_t whole = strcspn(host, "/?"), length = whole;
    if (memchr(host, '@', whole) != NULL) return false;
    const char *bracket = *host == '[' ? memchr(host, ']', whole) : NULL;
    const char *from = bracket != NULL ? bracket : host, *colon = memchr(from, ':', whole - (size_t)(from - host));
    out->port = out->secure ? 443 : 80;
    if (colon != NULL) {
        char *end = NULL;
        unsigned long port = colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
        if (port == 0 || port > 65535 || end != host + whole) return false;
        out->port = (uint32_t)port;
        out->has_port = true;
        length = (size_t)(colon - host);
    }
    if (length == 0 || length >= sizeof out->host || (*host == '[' && bracket != host + length - 1)) return false;
    for (size_t i = 0; i < length; i++)
        out->host[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] + 32 : host[i]);
    out->path = host + whole;
    out->path_size = strcspn(out->path, "?");
    if (out->path[out->path_size] == '?') out->query = out->path + out->path_size + 1;
    return true;
}

bool address_is_local(const struct address *address) {
    const char *host = address->host;
    if (strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0) return true;
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == strlen(host);
}

bool address_is_safe(const struct address *address, bool local) {
    return address->secure || (local && address_is_local(address));
}

static void put_origin(struct text *text, const struct address *address) {
    char port[16];
    text_put(text, address->secure ? "https://" : "http://");
    text_put(text, address->host);
    if (address->port == (address->secure ? 443u : 80u)) return;
    (void)snprintf(port, sizeof port, ":%u", address->port);
    text_put(text, port);
}

tn_value address_origin(const struct address *address) {
    struct text text = {.limit = OAUTH_URL_MAX};
    put_origin(&text, address);
    return text_finish(&text);
}

tn_value address_resource(const struct address *address) {
    struct text text = {.limit = OAUTH_URL_MAX};
    put_origin(&text, address);
    if (address_has_path(address)) text_add(&text, address->path, address->path_size);
    if (address->query != NULL) {
        text_put(&text, "?");
        text_put(&text, address->query);
    }
    return text_finish(&text);
}

bool address_has_path(const struct address *address) {
    return address->path_size > 1 || (address->path_size == 1 && address->path[0] != '/');
}

tn_value address_well_known(const struct address *address, const char *name, enum well_known where) {
    struct text text = {.limit = OAUTH_URL_MAX};
    uint64_t path = address->path_size;
    if (path > 0 && address->path[path - 1] == '/') path--;
    put_origin(&text, address);
    if (where == WELL_KNOWN_APPENDED) text_add(&text, address->path, path);
    text_put(&text, "/.well-known/");
    text_put(&text, name);
    if (where == WELL_KNOWN_INSERTED) text_add(&text, address->path, path);
    return text_finish(&text);
}

bool address_covers(const char *resource, const char *url) {
    struct address a, b;
    if (!address_read(resource, &a) || !address_read(url, &b)) return false;
    if (a.secure != b.secure || a.port != b.port || strcmp(a.host, b.host) != 0) return false;
    if (a.query != NULL && (b.query == NULL || strcmp(a.query, b.query) != 0)) return false;
    uint64_t length = a.path_size;
    while (length > 0 && a.path[length - 1] == '/') length--;
    if (length > b.path_size || memcmp(a.path, b.path, length) != 0) return false;
    return length == b.path_size || b.path[length] == '/';
}

/* ---- Queries ---- */

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* As application/x-www-form-urlencoded has it. */
static tn_value decoded(const char *from, size_t length) {
    struct text text = {.limit = OAUTH_TEXT_MAX};
    for (size_t i = 0; i < length; i++) {
        char c = from[i] == '+' ? ' ' : from[i];
        if (c == '%') {
            int high = i + 2 < length ? digit(from[i + 1]) : -1, low = high >= 0 ? digit(from[i + 2]) : -1;
            text.failed |= low < 0;
            c = (char)(high * 16 + low);
            i += 2;
        }
        text.failed |= c == '\0';
        text_add(&text, &c, 1);
    }
    return text_finish(&text); /* NULL too where it is not UTF-8 */
}

tn_value address_query(const char *query) {
    tn_value made = empty_object();
    while (made != NULL && *query != '\0') {
        size_t whole = strcspn(query, "&"), name = strcspn(query, "=&");
        tn_value key = decoded(query, name), value = NULL;
        if (whole > name) value = decoded(query + name + 1, whole - name - 1);
        if (whole == name) value = tn_text("");
        const char *chars = tn_chars(key, NULL);
        bool good = chars != NULL && value != NULL && tn.value->get(made, chars) == NULL;
        if (good && *chars != '\0') {
            made = with_take(made, chars, tn_retain(value));
        } else if (!good) {
            tn_release(made);
            made = NULL;
        }
        tn_release(key);
        tn_release(value);
        query += whole;
        if (*query == '&') query++;
    }
    return made;
}

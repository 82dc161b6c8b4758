/*
 * address.c - splits http and https URLs by RFC 3986.
 */
#include "address.h"
#include "encode.h" /* in plugins/rest */

bool address_read(const char *url, struct address *out) {
    *out = (struct address){0};
    if (url == NULL || strlen(url) > OAUTH_URL_MAX) return false;
    for (const char *c = url; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~' || *c == '#' || *c == '\\' || *c == '"' || *c == '<' || *c == '>') return false;
    out->secure = strncasecmp(url, "https://", 8) == 0;
    if (!out->secure && strncasecmp(url, "http://", 7) != 0) return false;
    const char *host = url + (out->secure ? 8 : 7);
    size_t authority_length = strcspn(host, "/?"), length = authority_length;
    if (memchr(host, '@', authority_length) != NULL) return false;
    const char *bracket = *host == '[' ? memchr(host, ']', authority_length) : NULL;
    const char *from = bracket != NULL ? bracket : host,
               *colon = memchr(from, ':', authority_length - (size_t)(from - host));
    out->port = out->secure ? 443 : 80;
    if (colon != NULL) {
        char *end = NULL;
        unsigned long port = colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
        if (port == 0 || port > 65535 || end != host + authority_length) return false;
        out->port = (uint32_t)port;
        out->has_port = true;
        length = (size_t)(colon - host);
    }
    if (length == 0 || length >= sizeof out->host || (*host == '[' && bracket != host + length - 1)) return false;
    for (size_t i = 0; i < length; i++)
        out->host[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] + 32 : host[i]);
    out->path = host + authority_length;
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

static void append_origin(struct tn_text_buffer *text, const struct address *address) {
    char port[16];
    tn_text_append(text, address->secure ? "https://" : "http://");
    tn_text_append(text, address->host);
    if (address->port == (address->secure ? 443u : 80u)) return;
    (void)snprintf(port, sizeof port, ":%u", address->port);
    tn_text_append(text, port);
}

tn_value address_origin(const struct address *address) {
    struct tn_text_buffer text = {.limit = OAUTH_URL_MAX};
    append_origin(&text, address);
    return tn_text_finish(&text);
}

tn_value address_resource(const struct address *address) {
    struct tn_text_buffer text = {.limit = OAUTH_URL_MAX};
    append_origin(&text, address);
    if (address_has_path(address)) tn_text_append_n(&text, address->path, address->path_size);
    if (address->query != NULL) {
        tn_text_append(&text, "?");
        tn_text_append(&text, address->query);
    }
    return tn_text_finish(&text);
}

bool address_has_path(const struct address *address) {
    return address->path_size > 1 || (address->path_size == 1 && address->path[0] != '/');
}

tn_value address_well_known(const struct address *address, const char *name, enum well_known where) {
    struct tn_text_buffer text = {.limit = OAUTH_URL_MAX};
    uint64_t path = address->path_size;
    if (path > 0 && address->path[path - 1] == '/') path--;
    append_origin(&text, address);
    if (where == WELL_KNOWN_APPENDED) tn_text_append_n(&text, address->path, path);
    tn_text_append(&text, "/.well-known/");
    tn_text_append(&text, name);
    if (where == WELL_KNOWN_INSERTED) tn_text_append_n(&text, address->path, path);
    return tn_text_finish(&text);
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

static int percent_digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes application/x-www-form-urlencoded. */
static tn_value decode_form_text(const char *from, size_t length) {
    struct tn_text_buffer text = {.limit = OAUTH_TEXT_MAX};
    for (size_t i = 0; i < length; i++) {
        char c = from[i] == '+' ? ' ' : from[i];
        if (c == '%') {
            int high = i + 2 < length ? percent_digit_value(from[i + 1]) : -1,
                low = high >= 0 ? percent_digit_value(from[i + 2]) : -1;
            if (low < 0) text.status = TN_INVALID;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0') text.status = TN_INVALID;
        tn_text_append_n(&text, &c, 1);
    }
    return tn_text_finish(&text); /* also NULL if it is not UTF-8 */
}

tn_value address_query(const char *query) {
    tn_value result = tn_build("{}");
    while (result != NULL && *query != '\0') {
        size_t pair_length = strcspn(query, "&"), name = strcspn(query, "=&");
        tn_value key = decode_form_text(query, name), value = NULL;
        if (pair_length > name) value = decode_form_text(query + name + 1, pair_length - name - 1);
        if (pair_length == name) value = tn_text("");
        const char *chars = tn_chars(key, NULL);
        bool good = chars != NULL && value != NULL && tn_get(result, chars) == NULL;
        if (good && *chars != '\0') {
            result = tn_set_take(result, chars, tn_retain(value));
        } else if (!good) {
            tn_release(result);
            result = NULL;
        }
        tn_release(key);
        tn_release(value);
        query += pair_length;
        if (*query == '&') query++;
    }
    return result;
}

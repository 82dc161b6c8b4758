/*
 * uri.c - reference resolution, RFC 3986 section 5.2.
 *
 * A URI is split into its five parts as pointers into the text; the result is composed of parts of both URIs. Nothing
 * is validated: a malformed reference resolves to a malformed URI, which then names no document.
 */
#include "adl/schema/uri.h"

#include <stdint.h>
#include <string.h>

#include "adl/value/buffer.h"
#include "adl/value/memory.h"

struct part {
    const char *at; /* NULL if undefined, which differs from empty */
    size_t length;
};

struct parts {
    struct part scheme, authority, path, query, fragment;
};

static bool uri_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool uri_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Returns the length of a scheme at the start without its colon; 0 without a scheme. */
static size_t scheme_length(const char *text) {
    if (!uri_is_letter(*text)) return 0;
    size_t n = 1;
    while (uri_is_letter(text[n]) || uri_is_digit(text[n]) || text[n] == '+' || text[n] == '-' || text[n] == '.') n++;
    return text[n] == ':' ? n : 0;
}

static struct parts uri_cut(const char *text) {
    struct parts parts = {0};
    size_t n = scheme_length(text);
    if (n) {
        parts.scheme = (struct part){text, n};
        text += n + 1;
    }
    if (text[0] == '/' && text[1] == '/') {
        n = strcspn(text + 2, "/?#");
        parts.authority = (struct part){text + 2, n};
        text += 2 + n;
    }
    n = strcspn(text, "?#");
    parts.path = (struct part){text, n};
    text += n;
    if (*text == '?') {
        n = strcspn(text + 1, "#");
        parts.query = (struct part){text + 1, n};
        text += 1 + n;
    }
    if (*text == '#') parts.fragment = (struct part){text + 1, strlen(text + 1)};
    return parts;
}

static void uri_put(struct buffer *out, struct part part) {
    if (part.at) buffer_append(out, part.at, part.length);
}

/* Section 5.2.4: appends `path` without its dot segments; never reaches back before `start`. */
static void put_path(struct buffer *out, const char *path, size_t length) {
    size_t start = out->length, i = 0;
    while (i < length) {
        size_t end = i + (path[i] == '/'); /* a segment with the preceding slash */
        while (end < length && path[end] != '/') end++;
        const char *name = path + i + (path[i] == '/');
        size_t name_length = (size_t)(path + end - name);
        bool last = end == length;
        if (name_length == 1 && name[0] == '.') {
            if (last) buffer_char(out, '/');
        } else if (name_length == 2 && name[0] == '.' && name[1] == '.') {
            while (out->length > start && out->data[out->length - 1] != '/') out->length--;
            if (out->length > start) out->length--;
            if (out->data) out->data[out->length] = 0;
            if (last) buffer_char(out, '/');
        } else {
            buffer_append(out, path + i, end - i);
        }
        i = end;
    }
}

static void put_merged_path(struct buffer *out, const struct parts *base, struct part path) {
    struct buffer merged;
    buffer_init(&merged, SIZE_MAX);
    size_t keep = base->path.length;
    while (keep && base->path.at[keep - 1] != '/') keep--;
    if (base->authority.at && base->path.length == 0)
        buffer_char(&merged, '/');
    else
        buffer_append(&merged, base->path.at, keep);
    uri_put(&merged, path);
    put_path(out, buffer_cstr(&merged), merged.length);
    buffer_finish(&merged);
}

char *uri_resolve(const char *base_text, const char *reference_text) {
    struct parts base = uri_cut(base_text), reference = uri_cut(reference_text);
    const struct parts *authority = reference.scheme.at || reference.authority.at ? &reference : &base;
    struct part scheme = reference.scheme.at ? reference.scheme : base.scheme;
    struct part query = reference.query;
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    if (scheme.at) {
        uri_put(&out, scheme);
        buffer_char(&out, ':');
    }
    if (authority->authority.at) {
        buffer_text(&out, "//");
        uri_put(&out, authority->authority);
    }
    if (authority == &reference || (reference.path.length && reference.path.at[0] == '/')) {
        /* Dots in an opaque path (urn:a:b) have no special meaning. */
        if (reference.path.length && reference.path.at[0] == '/')
            put_path(&out, reference.path.at, reference.path.length);
        else
            uri_put(&out, reference.path);
    } else if (reference.path.length == 0) {
        uri_put(&out, base.path);
        if (!query.at) query = base.query;
    } else {
        put_merged_path(&out, &base, reference.path);
    }
    if (query.at) {
        buffer_char(&out, '?');
        uri_put(&out, query);
    }
    if (reference.fragment.at) {
        buffer_char(&out, '#');
        uri_put(&out, reference.fragment);
    }
    return out.data ? buffer_detach(&out, NULL) : mem_text("");
}

char *uri_split(char *uri) {
    char *hash = strchr(uri, '#');
    if (!hash) return uri + strlen(uri);
    *hash = 0;
    return hash + 1;
}

static int uri_hex_value(char c) {
    if (uri_is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool uri_decode(char *text) {
    char *out = text;
    for (; *text; text++) {
        if (*text != '%') {
            *out++ = *text;
            continue;
        }
        int high = uri_hex_value(text[1]), low = high < 0 ? -1 : uri_hex_value(text[2]);
        if (low < 0 || high + low == 0) return false;
        *out++ = (char)(high * 16 + low);
        text += 2;
    }
    *out = 0;
    return true;
}

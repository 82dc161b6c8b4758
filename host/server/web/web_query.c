/*
 * web_query.c - reads queries.
 */
#include "host/server/web/web_query.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/server/web/web_internal.h"
#include <string.h>

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

/* A new text; NULL if an escape or the UTF-8 is malformed. */
static tn_value text_decode(const char *text, size_t length) {
    char *decoded = mem_alloc(length + 1);
    size_t written = 0;
    bool valid = true;
    for (size_t i = 0; i < length && valid; i++) {
        int high = text[i] == '%' && i + 2 < length ? hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
        if (text[i] == '%') {
            valid = low >= 0 && (high || low);
            if (valid) decoded[written++] = (char)(high << 4 | low);
            i += 2;
        } else {
            decoded[written++] = text[i] == '+' ? ' ' : text[i];
        }
    }
    tn_value value = valid ? value_string(decoded, written) : NULL;
    mem_free(decoded);
    return value;
}

/* A repeated name has an array. */
static tn_value member_add(tn_value all, tn_value name, tn_value text) {
    tn_value before = value_get_key(all, name);
    if (before && value_is(before, TN_ARRAY))
        text = value_push_take(value_ref(before), text);
    else if (before)
        text = value_push_take(value_push_take(value_array(), value_ref(before)), text);
    return value_set_key_take(all, name, text);
}

bool web_query_read(const char *query, tn_value *out) {
    tn_value all = value_object();
    size_t count = 0;
    for (const char *at = query; *at;) {
        size_t length = strcspn(at, "&"), name = strcspn(at, "=&");
        bool valued = name < length;
        tn_value key = text_decode(at, name);
        tn_value text = text_decode(at + name + valued, length - name - valued);
        if (!key || !text || (length && ++count > WEB_QUERY_MAX)) {
            value_unref(key);
            value_unref(text);
            value_unref(all);
            return false;
        }
        if (length) {
            all = member_add(all, key, text);
        } else {
            value_unref(key);
            value_unref(text);
        }
        at += length + (at[length] == '&');
    }
    *out = all;
    return true;
}

bool web_query_has_key(const char *query) {
    static const char *const names[] = {"key=", "api_key=", "access_token="};
    for (const char *at = query; *at;) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(at, names[i], strlen(names[i])) == 0) return true;
        at += strcspn(at, "&");
        at += *at == '&';
    }
    return false;
}

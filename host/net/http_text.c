/*
 * http_text.c - checks a TEXT, joins its parts, and redacts it.
 */
#include "host/net/http_text.h"
#include "host/base/secrets/secrets.h"
#include <string.h>

/* Returns the name in {secret: NAME, optional?: BOOL}, or NULL if `part` has another form. */
static const char *text_part_secret(tn_value part, bool *optional) {
    tn_value name = value_get(part, "secret"), may = value_get(part, "optional");
    size_t length;
    if (!value_is(name, TN_STRING) || value_count(part) != (may ? 2u : 1u) || (may && !value_is(may, TN_BOOL)))
        return NULL;
    const char *text = value_chars(name, &length);
    if (!length || length > HTTP_TEXT_NAME_MAX || strlen(text) != length) return NULL;
    *optional = may && value_to_bool(may);
    return text;
}

static const char *text_part_fault(tn_value part) {
    bool optional;
    if (value_is(part, TN_STRING)) return NULL;
    if (!value_is(part, TN_OBJECT)) return value_kind_name(value_kind(part));
    return text_part_secret(part, &optional) ? NULL : "an object that is not {secret: NAME, optional?: true}";
}

const char *http_text_fault(tn_value text) {
    const char *fault = NULL;
    if (!value_is(text, TN_ARRAY)) return text_part_fault(text);
    if (!value_count(text)) return "an empty array";
    if (value_count(text) > HTTP_TEXT_PARTS_MAX) return "an array of more than 100 parts";
    for (size_t i = 0; !fault && i < value_count(text); i++) fault = text_part_fault(value_at(text, i));
    return fault;
}

size_t http_text_count(tn_value text) { return value_is(text, TN_ARRAY) ? value_count(text) : 1; }

struct http_text_part http_text_part_at(tn_value text, size_t index) {
    tn_value part = value_is(text, TN_ARRAY) ? value_at(text, index) : text;
    struct http_text_part out = {.literal = part};
    if (value_is(part, TN_STRING)) return out;
    out.literal = NULL;
    out.secret = text_part_secret(part, &out.optional);
    return out;
}

bool http_text_has_secret(tn_value text) {
    for (size_t i = 0; i < http_text_count(text); i++)
        if (http_text_part_at(text, i).secret) return true;
    return false;
}

int32_t http_text_fill(tn_value text, struct secrets *secrets, int64_t now_ms, tn_value *out, struct error *error) {
    if (value_is(text, TN_STRING)) {
        *out = value_ref(text);
        return TN_OK;
    }
    struct buffer joined;
    int32_t status = TN_OK;
    bool absent = false;
    buffer_init(&joined, SIZE_MAX);
    for (size_t i = 0; status == TN_OK && !absent && i < http_text_count(text); i++) {
        struct http_text_part part = http_text_part_at(text, i);
        tn_value secret = NULL;
        size_t length;
        if (part.optional && secrets_absent(secrets, part.secret)) {
            absent = true;
            break;
        }
        if (part.secret) status = secrets_get(secrets, part.secret, now_ms, &secret, error);
        if (status != TN_OK) break;
        const char *chars = value_chars(part.secret ? secret : part.literal, &length);
        buffer_append(&joined, chars, length);
        value_unref(secret);
    }
    if (status == TN_OK) *out = absent ? NULL : value_text_n(buffer_cstr(&joined), joined.length);
    buffer_wipe(&joined);
    return status;
}

void http_text_redact(struct buffer *out, tn_value text, bool whole) {
    bool any = false;
    for (size_t i = 0; i < http_text_count(text); i++) {
        struct http_text_part part = http_text_part_at(text, i);
        size_t length;
        if (part.secret) {
            buffer_format(out, "{secret:%s}", part.secret);
        } else if (whole) {
            const char *chars = value_chars(part.literal, &length);
            buffer_append(out, chars, length);
        }
        any |= part.secret != NULL;
    }
    if (!any && !whole) buffer_text(out, "{redacted}");
}

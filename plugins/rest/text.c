/*
 * text.c - memory for a text: the host's, doubled as it grows.
 */
#include "text.h"
#include <tenon/base64.h>

void text_add(struct text *text, const char *bytes, uint64_t length) {
    if (text->limit != 0 && text->length + length > text->limit) text->failed = true;
    if (text->failed || length == 0) return;
    if (text->length + length + 1 > text->capacity) {
        uint64_t capacity = (text->length + length) * 2 + 64;
        char *grown = tn.core->resize(tn.host, text->data, capacity);
        text->failed = grown == NULL;
        if (grown == NULL) return;
        text->data = grown;
        text->capacity = capacity;
    }
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = 0;
}

void text_put(struct text *text, const char *chars) { text_add(text, chars, strlen(chars)); }

static bool stays(char c, const char *keep) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
    return c != 0 && (strchr("-._~", c) != NULL || strchr(keep, c) != NULL);
}

void text_percent(struct text *text, const char *bytes, uint64_t length, const char *keep) {
    static const char digits[] = "0123456789ABCDEF";
    for (uint64_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        const char coded[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        if (stays(bytes[i], keep))
            text_add(text, &bytes[i], 1);
        else
            text_add(text, coded, 3);
    }
}

#define USER_AND_PASSWORD_MAX 8192u /* bytes, together */

tn_value text_basic(const char *user, const char *password) {
    struct text plain = {.limit = USER_AND_PASSWORD_MAX}, coded = {.limit = 0};
    char encoded[TN_BASE64_SIZE(USER_AND_PASSWORD_MAX)];
    text_put(&plain, user);
    text_put(&plain, ":");
    text_put(&plain, password);
    text_put(&coded, "Basic ");
    text_add(&coded, encoded, (uint64_t)(tn_base64_put(encoded, text_chars(&plain), plain.length) - encoded));
    coded.failed |= plain.failed;
    if (plain.data != NULL) memset(plain.data, 0, plain.length);
    text_free(&plain);
    return text_finish(&coded);
}

void text_value(struct text *text, tn_value value, bool percent, const char *keep) {
    uint64_t length;
    tn_value json = tn.value->kind(value) == TN_STRING ? NULL : tn.value->to_json(value);
    const char *chars = tn_chars(json != NULL ? json : value, &length);
    if (chars == NULL)
        text->failed = true;
    else if (percent)
        text_percent(text, chars, length, keep);
    else
        text_add(text, chars, length);
    tn_release(json);
}

const char *text_chars(const struct text *text) { return text->data != NULL ? text->data : ""; }

tn_value text_finish(struct text *text) {
    tn_value made = text->failed ? NULL : tn_text_n(text_chars(text), text->length);
    text_free(text);
    return made;
}

void text_free(struct text *text) {
    if (text->data != NULL) tn.core->release(tn.host, text->data);
    text->data = NULL;
    text->length = text->capacity = 0;
}

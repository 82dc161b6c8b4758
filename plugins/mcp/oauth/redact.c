/*
 * redact.c - finds a token in JSON text. A token has no characters that JSON must escape, and one that it may escape
 * (/).
 */
#include "redact.h"

#define HIDDEN "{redacted}"

/* Returns the length of the token that starts at `at`, or 0. */
static uint64_t match_token(const char *at, const char *end, const char *token) {
    const char *from = at;
    for (; *token != '\0'; token++, at++) {
        if (*token == '/' && at < end && *at == '\\') at++;
        if (at >= end || *at != *token) return 0;
    }
    return (uint64_t)(at - from);
}

bool redact_token(tn_value header, const char *json, uint64_t length, struct tn_text_buffer *out) {
    const char *token = tn_chars(header, NULL), *space = token != NULL ? strchr(token, ' ') : NULL;
    const char *from = json, *end = json != NULL ? json + length : NULL, *at = json;
    bool found = false;
    if (space != NULL) token = space + 1;
    if (json == NULL || token == NULL || strlen(token) < REDACT_MIN) return false;
    while (at < end && (at = memchr(at, *token, (size_t)(end - at))) != NULL) {
        uint64_t size = match_token(at, end, token);
        if (size > 0) {
            (void)tn_text_append_n(out, from, (uint64_t)(at - from));
            (void)tn_text_append_n(out, HIDDEN, sizeof HIDDEN - 1);
            from = at + size;
            found = true;
        }
        at += size > 0 ? size : 1;
    }
    if (found) (void)tn_text_append_n(out, from, (uint64_t)(end - from));
    return found;
}

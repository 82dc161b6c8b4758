/*
 * hide.c - the search for a token in JSON's text: it has no letter that JSON must escape, and one that it may.
 */
#include "hide.h"

#define HIDDEN "{redacted}"

/* Bytes of the token that begins here; 0: it does not. */
static uint64_t match(const char *at, const char *end, const char *token) {
    const char *from = at;
    for (; *token != '\0'; token++, at++) {
        if (*token == '/' && at < end && *at == '\\') at++;
        if (at >= end || *at != *token) return 0;
    }
    return (uint64_t)(at - from);
}

bool hide_token(tn_value header, const char *json, uint64_t length, struct buffer *out) {
    const char *token = tn_chars(header, NULL), *space = token != NULL ? strchr(token, ' ') : NULL;
    const char *from = json, *end = json != NULL ? json + length : NULL, *at = json;
    bool found = false;
    if (space != NULL) token = space + 1;
    if (json == NULL || token == NULL || strlen(token) < HIDE_MIN) return false;
    while (at < end && (at = memchr(at, *token, (size_t)(end - at))) != NULL) {
        uint64_t size = match(at, end, token);
        if (size > 0) {
            (void)buffer_add(out, from, (uint64_t)(at - from));
            (void)buffer_add(out, HIDDEN, sizeof HIDDEN - 1);
            from = at + size;
            found = true;
        }
        at += size > 0 ? size : 1;
    }
    if (found) (void)buffer_add(out, from, (uint64_t)(end - from));
    return found;
}

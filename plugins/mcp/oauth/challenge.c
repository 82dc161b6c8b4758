/*
 * challenge.c - a list of challenges, whose commas stand between them and within them.
 *
 * What follows a name tells what it was: a parameter's name is followed by =, a scheme's is not. A scheme may be
 * followed by one text without a name (token68), which ends at a comma.
 */
#include "challenge.h"
#include "text.h" /* of plugins/rest */

static const char *skip(const char *at, const char *what) { return at + strspn(at, what); }

static size_t token_length(const char *at) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    return strspn(at, letters);
}

/* A text in quotes, or a token, behind the =. NULL: neither. */
static const char *read_value(const char *at, tn_value *out) {
    struct text text = {.limit = OAUTH_TEXT_MAX};
    if (*at != '"') {
        size_t length = strcspn(at, " \t,\"");
        *out = tn_text_n(at, length);
        return *out != NULL ? at + length : NULL;
    }
    for (at++; *at != '\0' && *at != '"'; at++) {
        if (*at == '\\' && at[1] != '\0') at++;
        text_add(&text, at, 1);
    }
    text.failed |= *at != '"';
    *out = text_finish(&text);
    return *out != NULL ? at + 1 : NULL;
}

static const char *skip_token68(const char *at) {
    const char *end = at + token_length(at);
    end = skip(end, "/");
    while (token_length(end) > 0 || *end == '/') end += token_length(end), end = skip(end, "/");
    end = skip(end, "=");
    const char *after = skip(end, " \t");
    return end > at && (*after == ',' || *after == '\0') ? after : at;
}

static tn_value with_parameter(tn_value object, const char *name, size_t length, tn_value value) { /* takes object */
    char lower[64];
    if (object == NULL || value == NULL || length >= sizeof lower) return object;
    for (size_t i = 0; i < length; i++) lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    lower[length] = '\0';
    if (tn.value->get(object, lower) != NULL) return object; /* the first one counts */
    return with_take(object, lower, tn_retain(value));
}

bool challenge_wants_nonce(tn_value challenge) { return value_is(tn.value->get(challenge, "error"), "use_dpop_nonce"); }

/* The first one, unless a later one says where the metadata is. Takes both. */
static tn_value better(tn_value best, tn_value next) {
    bool says = tn.value->get(next, "resource_metadata") != NULL || challenge_wants_nonce(next);
    if (best == NULL || (says && tn.value->get(best, "resource_metadata") == NULL)) {
        tn_release(best);
        return next;
    }
    tn_release(next);
    return best;
}

/* NULL for a scheme that is none of ours. */
static tn_value begin(const char *scheme, size_t length) {
    if (length == 6 && strncasecmp(scheme, "bearer", 6) == 0) return empty_object();
    if (length != 4 || strncasecmp(scheme, "dpop", 4) != 0) return NULL;
    return with_take(empty_object(), "scheme", tn_text("DPoP"));
}

tn_value challenge_read(const char *header) {
    tn_value best = NULL, current = NULL;
    const char *at = header != NULL ? skip(header, " \t,") : "";
    while (*at != '\0') {
        size_t length = token_length(at);
        const char *after = skip(at + length, " \t");
        if (length == 0) break;
        if (*after == '=') {
            tn_value value = NULL;
            after = read_value(skip(after + 1, " \t"), &value);
            current = with_parameter(current, at, length, value);
            tn_release(value);
            if (after == NULL) break;
        } else {
            if (current != NULL) best = better(best, current);
            current = begin(at, length);
            after = skip_token68(after);
        }
        at = skip(after, " \t,");
    }
    return current != NULL ? better(best, current) : best;
}

bool challenge_wants_scope(tn_value challenge) {
    return value_is(tn.value->get(challenge, "error"), "insufficient_scope");
}

/* ---- Scopes ---- */

static bool is_scope(const char *from, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (from[i] < '!' || from[i] > '~' || from[i] == '"' || from[i] == '\\') return false;
    return length > 0;
}

static bool has(const char *scopes, const char *wanted, size_t length) {
    for (const char *at = skip(scopes, " "); *at != '\0'; at = skip(at, " ")) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, wanted, size) == 0) return true;
        at += size;
    }
    return false;
}

static void join(struct text *text, const char *scopes, uint32_t *count) {
    for (const char *at = skip(scopes != NULL ? scopes : "", " "); *at != '\0'; at = skip(at, " ")) {
        size_t size = strcspn(at, " ");
        bool fits = *count < OAUTH_SCOPES_MAX && text->length + size < OAUTH_SCOPE_MAX;
        if (fits && is_scope(at, size) && !has(text_chars(text), at, size)) {
            if (text->length > 0) text_put(text, " ");
            text_add(text, at, size);
            ++*count;
        }
        at += size;
    }
}

tn_value scopes_join(const char *scopes, const char *more) {
    struct text text = {.limit = OAUTH_SCOPE_MAX};
    uint32_t count = 0;
    join(&text, scopes, &count);
    join(&text, more, &count);
    if (text.length > 0) return text_finish(&text);
    text_free(&text);
    return NULL;
}

bool scopes_have(const char *scopes, const char *wanted) {
    for (const char *at = skip(wanted != NULL ? wanted : "", " "); *at != '\0'; at = skip(at, " ")) {
        size_t size = strcspn(at, " ");
        if (!has(scopes != NULL ? scopes : "", at, size)) return false;
        at += size;
    }
    return true;
}

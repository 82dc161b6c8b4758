/*
 * challenge.c - a list of challenges. Commas separate challenges, and also the parameters of one challenge.
 *
 * What follows a name decides what it is: = follows a parameter's name, but not a scheme. One text without a name
 * (token68) may follow a scheme; it ends at a comma.
 */
#include "challenge.h"
#include "encode.h" /* in plugins/rest */

static const char *skip_characters(const char *at, const char *what) { return at + strspn(at, what); }

static size_t challenge_token_length(const char *at) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    return strspn(at, letters);
}

/* Reads a quoted text or a token after the =. Returns NULL if it is neither. */
static const char *read_challenge_value(const char *at, tn_value *out) {
    struct tn_text_buffer text = {.limit = OAUTH_TEXT_MAX};
    if (*at != '"') {
        size_t length = strcspn(at, " \t,\"");
        *out = tn_text_n(at, length);
        return *out != NULL ? at + length : NULL;
    }
    for (at++; *at != '\0' && *at != '"'; at++) {
        if (*at == '\\' && at[1] != '\0') at++;
        tn_text_append_n(&text, at, 1);
    }
    if (*at != '"') text.status = TN_INVALID;
    *out = tn_text_finish(&text);
    return *out != NULL ? at + 1 : NULL;
}

static const char *skip_token68(const char *at) {
    const char *end = at + challenge_token_length(at);
    end = skip_characters(end, "/");
    while (challenge_token_length(end) > 0 || *end == '/')
        end += challenge_token_length(end), end = skip_characters(end, "/");
    end = skip_characters(end, "=");
    const char *after = skip_characters(end, " \t");
    return end > at && (*after == ',' || *after == '\0') ? after : at;
}

static tn_value add_parameter_take(tn_value object, const char *name, size_t length,
                                   tn_value value) { /* takes object */
    char lower[64];
    if (object == NULL || value == NULL || length >= sizeof lower) return object;
    for (size_t i = 0; i < length; i++) lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    lower[length] = '\0';
    if (tn_get(object, lower) != NULL) return object; /* the first one counts */
    return tn_set_take(object, lower, tn_retain(value));
}

bool challenge_needs_nonce(tn_value challenge) { return value_is(tn_get(challenge, "error"), "use_dpop_nonce"); }

/* Prefers the first challenge, unless a later one names the metadata. Takes both. */
static tn_value choose_challenge(tn_value best, tn_value next) {
    bool says = tn_get(next, "resource_metadata") != NULL || challenge_needs_nonce(next);
    if (best == NULL || (says && tn_get(best, "resource_metadata") == NULL)) {
        tn_release(best);
        return next;
    }
    tn_release(next);
    return best;
}

/* Returns NULL for an unsupported scheme. */
static tn_value start_challenge(const char *scheme, size_t length) {
    if (length == 6 && strncasecmp(scheme, "bearer", 6) == 0) return tn_build("{}");
    if (length != 4 || strncasecmp(scheme, "dpop", 4) != 0) return NULL;
    return tn_set_take(tn_build("{}"), "scheme", tn_text("DPoP"));
}

tn_value challenge_read(const char *header) {
    tn_value best = NULL, current = NULL;
    const char *at = header != NULL ? skip_characters(header, " \t,") : "";
    while (*at != '\0') {
        size_t length = challenge_token_length(at);
        const char *after = skip_characters(at + length, " \t");
        if (length == 0) break;
        if (*after == '=') {
            tn_value value = NULL;
            after = read_challenge_value(skip_characters(after + 1, " \t"), &value);
            current = add_parameter_take(current, at, length, value);
            tn_release(value);
            if (after == NULL) break;
        } else {
            if (current != NULL) best = choose_challenge(best, current);
            current = start_challenge(at, length);
            after = skip_token68(after);
        }
        at = skip_characters(after, " \t,");
    }
    return current != NULL ? choose_challenge(best, current) : best;
}

bool challenge_needs_scope(tn_value challenge) { return value_is(tn_get(challenge, "error"), "insufficient_scope"); }

/* ---- Scopes ---- */

static bool is_valid_scope(const char *from, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (from[i] < '!' || from[i] > '~' || from[i] == '"' || from[i] == '\\') return false;
    return length > 0;
}

static bool scopes_contain(const char *scopes, const char *wanted, size_t length) {
    for (const char *at = skip_characters(scopes, " "); *at != '\0'; at = skip_characters(at, " ")) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, wanted, size) == 0) return true;
        at += size;
    }
    return false;
}

static void append_scopes(struct tn_text_buffer *text, const char *scopes, uint32_t *count) {
    for (const char *at = skip_characters(scopes != NULL ? scopes : "", " "); *at != '\0';
         at = skip_characters(at, " ")) {
        size_t size = strcspn(at, " ");
        bool fits = *count < OAUTH_SCOPES_MAX && text->length + size < OAUTH_SCOPE_MAX;
        if (fits && is_valid_scope(at, size) && !scopes_contain(tn_text_chars(text), at, size)) {
            if (text->length > 0) tn_text_append(text, " ");
            tn_text_append_n(text, at, size);
            ++*count;
        }
        at += size;
    }
}

tn_value scopes_join(const char *scopes, const char *more) {
    struct tn_text_buffer text = {.limit = OAUTH_SCOPE_MAX};
    uint32_t count = 0;
    append_scopes(&text, scopes, &count);
    append_scopes(&text, more, &count);
    if (text.length > 0) return tn_text_finish(&text);
    tn_text_free(&text);
    return NULL;
}

bool scopes_include(const char *scopes, const char *wanted) {
    for (const char *at = skip_characters(wanted != NULL ? wanted : "", " "); *at != '\0';
         at = skip_characters(at, " ")) {
        size_t size = strcspn(at, " ");
        if (!scopes_contain(scopes != NULL ? scopes : "", at, size)) return false;
        at += size;
    }
    return true;
}

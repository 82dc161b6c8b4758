/*
 * token.c - reads tokens strictly: what is not certain is refused.
 */
#include "token.h"

#include <tenon/base64.h>
#include <tenon/util/build.h>
#include <tenon/util/sha256.h>

static bool refuse(struct refusal *refusal, const char *code, const char *message) {
    *refusal = (struct refusal){code, message};
    return false;
}

static bool refuse_token(struct refusal *refusal, const char *message) { return refuse(refusal, "AUTH", message); }

/* ---- Reading ---- */

/* Base64url without padding, and with no bits that are not used. */
static bool is_base64url(const char *text, size_t length) {
    if (length == 0 || length % 4 == 1) return false;
    for (size_t i = 0; i < length; i++)
        if (tn_base64_sextet((unsigned char)text[i]) == 64 || text[i] == '+' || text[i] == '/') return false;
    uint32_t unused = length % 4 == 2 ? 15 : length % 4 == 3 ? 3 : 0;
    return (tn_base64_sextet((unsigned char)text[length - 1]) & unused) == 0;
}

/* An object, or NULL. */
static tn_value read_object(const char *text, size_t length) {
    char *json = tn.core->alloc(tn.host, length);
    tn_value object = NULL;
    if (json != NULL) object = tn_from_json(json, tn_base64_take(text, length, json, length));
    tn.core->release(tn.host, json);
    if (tn.value->kind(object) == TN_OBJECT) return object;
    tn_release(object);
    return NULL;
}

/* The text of a member without NUL bytes; NULL for anything else. */
static const char *plain_text(tn_value object, const char *member) {
    uint64_t length = 0;
    const char *text = tn_chars(tn_get(object, member), &length);
    return text != NULL && length > 0 && strlen(text) == length ? text : NULL;
}

static bool is_type(const char *type) {
    static const char *const types[] = {"JWT", "at+jwt", "application/at+jwt"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t at = 0;
        while (types[i][at] != '\0' && (types[i][at] | 32) == (type[at] | 32)) at++;
        if (types[i][at] == '\0' && type[at] == '\0') return true;
    }
    return false;
}

static bool read_header(struct token *token, struct refusal *refusal) {
    token->alg = plain_text(token->header, "alg");
    token->kid = plain_text(token->header, "kid");
    token->issuer = plain_text(token->claims, "iss");
    const char *type = plain_text(token->header, "typ");
    if (token->alg == NULL) return refuse_token(refusal, "the header has no `alg`");
    if (tn_get(token->header, "kid") != NULL && token->kid == NULL)
        return refuse_token(refusal, "the `kid` of the header is not a text");
    if (tn_get(token->header, "crit") != NULL || tn_get(token->header, "b64") != NULL)
        return refuse_token(refusal, "the header has `crit` or `b64`, which are not supported");
    if (tn_get(token->header, "typ") != NULL && (type == NULL || !is_type(type)))
        return refuse_token(refusal, "the `typ` of the header is not JWT or at+jwt");
    if (token->issuer == NULL) return refuse_token(refusal, "the token has no `iss`");
    return true;
}

bool token_read(struct token *token, const char *text, size_t length, struct refusal *refusal) {
    const char *first = memchr(text, '.', length);
    const char *second = first != NULL ? memchr(first + 1, '.', length - (size_t)(first + 1 - text)) : NULL;
    *token = (struct token){.text = text};
    if (second == NULL) return refuse(refusal, "NOT_FOUND", "it is not a JSON Web Token");
    size_t head = (size_t)(first - text), body = (size_t)(second - first - 1);
    size_t rest = length - (size_t)(second + 1 - text);
    if (!is_base64url(text, head) || !is_base64url(first + 1, body) || (rest > 0 && !is_base64url(second + 1, rest)))
        return refuse(refusal, "NOT_FOUND", "it is not a JSON Web Token");
    token->length = (size_t)(second - text);
    token->header = read_object(text, head);
    if (token->header == NULL) return refuse(refusal, "NOT_FOUND", "it is not a JSON Web Token");
    token->claims = read_object(first + 1, body);
    if (token->claims == NULL) return refuse_token(refusal, "the claims are not a JSON object");
    if (rest * 3 / 4 > TOKEN_SIGNATURE_MAX) return refuse_token(refusal, "the signature is too long");
    token->size = tn_base64_take(second + 1, rest, token->signature, sizeof token->signature);
    return read_header(token, refusal);
}

void token_finish(struct token *token) {
    tn_release(token->header);
    tn_release(token->claims);
    token->header = token->claims = NULL;
}

/* ---- Claims ---- */

/* Seconds; fractions are dropped. */
static bool read_time(tn_value claims, const char *name, int64_t *seconds) {
    tn_value given = tn_get(claims, name);
    double number = 0;
    if (tn.value->as_int(given, seconds) == TN_OK) return *seconds >= 0 && *seconds < (int64_t)1 << 40;
    if (tn.value->kind(given) != TN_DOUBLE || tn.value->as_double(given, &number) != TN_OK) return false;
    if (!(number >= 0 && number < (double)((int64_t)1 << 40))) return false;
    *seconds = (int64_t)number;
    return true;
}

static bool check_times(tn_value claims, int64_t now_s, struct refusal *refusal) {
    static const char *const begins[] = {"nbf", "iat"};
    int64_t time = 0;
    if (!read_time(claims, "exp", &time)) return refuse_token(refusal, "the token has no valid `exp`");
    if (time + TOKEN_LEEWAY_S <= now_s) return refuse_token(refusal, "the token has expired");
    for (size_t i = 0; i < 2; i++) {
        if (tn_get(claims, begins[i]) == NULL) continue;
        if (!read_time(claims, begins[i], &time)) return refuse_token(refusal, "`nbf` or `iat` is not a time");
        if (time - TOKEN_LEEWAY_S > now_s) return refuse_token(refusal, "`nbf` or `iat` of the token is in the future");
    }
    return true;
}

/* `value` is a text or a list of texts. */
static bool has_text(tn_value value, tn_value text) {
    if (tn.value->kind(value) == TN_STRING) return tn.value->equal(value, text);
    if (tn.value->kind(value) != TN_ARRAY) return false;
    for (uint64_t i = 0; i < tn.value->count(value); i++)
        if (tn.value->equal(tn.value->at(value, i), text)) return true;
    return false;
}

static bool check_audience(tn_value given, tn_value wanted) {
    if (tn.value->kind(wanted) == TN_STRING) return has_text(given, wanted);
    for (uint64_t i = 0; i < tn.value->count(wanted); i++)
        if (has_text(given, tn.value->at(wanted, i))) return true;
    return false;
}

bool token_check(const struct token *token, tn_value rules, int64_t now_s, struct refusal *refusal) {
    if (!check_audience(tn_get(token->claims, "aud"), tn_get(rules, "audience")))
        return refuse_token(refusal, "the token is for another audience");
    return check_times(token->claims, now_s, refusal);
}

/* ---- Who it is ---- */

static const char *const scopes[] = {"read", "run", "admin"};

/* What a word of the claim allows: 0 for nothing. */
static size_t scope_rank(tn_value map, const char *word, uint64_t length) {
    const char *scope = tn_chars(tn.value->get(map, word, length), NULL);
    for (size_t i = 0; scope != NULL && i < 3; i++)
        if (strcmp(scope, scopes[i]) == 0) return i + 1;
    return 0;
}

static size_t words_rank(tn_value map, const char *text, uint64_t length) {
    size_t best = 0;
    for (uint64_t at = 0; at < length;) {
        uint64_t end = at;
        while (end < length && text[end] != ' ') end++;
        size_t rank = end > at ? scope_rank(map, text + at, end - at) : 0;
        if (rank > best) best = rank;
        at = end + 1;
    }
    return best;
}

/* NULL: none. */
static const char *scope_of(const struct token *token, tn_value rules) {
    tn_value given = tn_get(rules, "scopes"), map = tn_get(given, "map");
    uint64_t length = 0;
    size_t best = 0;
    if (given == NULL) return tn_get_text(rules, "scope", "run");
    tn_value claim = tn_get(token->claims, tn_get_text(given, "claim", "scope"));
    const char *text = tn_chars(claim, &length);
    if (text != NULL) best = words_rank(map, text, length);
    for (uint64_t i = 0; tn.value->kind(claim) == TN_ARRAY && i < tn.value->count(claim); i++) {
        text = tn_chars(tn.value->at(claim, i), &length);
        size_t rank = text != NULL ? scope_rank(map, text, length) : 0;
        if (rank > best) best = rank;
    }
    return best > 0 ? scopes[best - 1] : NULL;
}

/* "jwt-" and 20 characters that depend on both texts: 100 bits of their hash. */
static void hash_owner(const char *issuer, const char *subject, char out[TOKEN_OWNER_TEXT]) {
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    struct tn_sha256 state;
    char text[TN_SHA256_TEXT];
    tn_sha256_init(&state);
    tn_sha256_update(&state, issuer, strlen(issuer) + 1); /* the NUL separates them */
    tn_sha256_update(&state, subject, strlen(subject));
    tn_sha256_finish_text(&state, text);
    char *at = out + snprintf(out, TOKEN_OWNER_TEXT, "jwt-");
    uint32_t bits = 0, held = 0;
    for (const char *digit = text; at < out + 24; digit++) {
        held = held << 4 | (uint32_t)(*digit <= '9' ? *digit - '0' : *digit - 'a' + 10);
        bits += 4;
        if (bits < 5) continue;
        bits -= 5;
        *at++ = digits[held >> bits & 31];
        held &= (1u << bits) - 1;
    }
    *at = '\0';
}

static bool is_owner(const char *text) {
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-");
    return length > 0 && length < TOKEN_OWNER_TEXT && text[length] == '\0' && strchr("._-", *text) == NULL;
}

static bool owner_of(const struct token *token, tn_value rules, char out[TOKEN_OWNER_TEXT], struct refusal *refusal) {
    const char *claim = tn_get_text(rules, "owner_claim", NULL);
    const char *text = plain_text(token->claims, claim != NULL ? claim : "sub");
    if (claim == NULL) {
        if (text == NULL || strlen(text) > TOKEN_SUBJECT_MAX)
            return refuse_token(refusal, "the token has no `sub`, or one that is too long");
        hash_owner(token->issuer, text, out);
        return true;
    }
    if (text == NULL || !is_owner(text))
        return refuse_token(refusal,
                            "the claim that `owner_claim` names is not 1 to 32 characters of a-z, 0-9, `.`, `_` "
                            "and `-`");
    (void)snprintf(out, TOKEN_OWNER_TEXT, "%s", text);
    return true;
}

tn_value token_identity(const struct token *token, tn_value rules, struct refusal *refusal) {
    char owner[TOKEN_OWNER_TEXT];
    int64_t expires_s = 0;
    const char *scope = scope_of(token, rules);
    if (!owner_of(token, rules, owner, refusal) || !read_time(token->claims, "exp", &expires_s)) return NULL;
    if (scope == NULL) {
        (void)refuse(refusal, "PERMISSION_DENIED", "the token has none of the values that `scopes` names");
        return NULL;
    }
    tn_value identity =
        tn_build("{s:s, s:s, s:I}", "owner", owner, "scope", scope, "expires_at", expires_s + TOKEN_LEEWAY_S);
    if (identity == NULL) (void)refuse(refusal, "UNAVAILABLE", "not enough memory");
    return identity;
}

/*
 * authorize.c - makes the URL of the page, and checks what returns: first the state, then the issuer, and only then the
 * rest.
 */
#include "authorize.h"
#include "address.h"
#include "challenge.h"
#include "client.h"
#include "sign.h" /* in plugins/sign */
#include "token.h"
#include <sys/random.h>
#include <tenon/base64.h>
#include <tenon/util/sha256.h>

#define CHANCE  32                   /* random bytes of a state, and of a verifier */
#define LETTERS (CHANCE * 4 / 3 + 3) /* of it in base64url, with the NUL */

static bool put_random_text(char out[LETTERS]) {
    unsigned char chance[CHANCE];
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return false;
    *tn_base64url_put(out, chance, sizeof chance) = '\0';
    explicit_bzero(chance, sizeof chance);
    return true;
}

tn_value authorize_begin(tn_value client, tn_value server, const char *resource, const char *scope,
                         const char *redirect_uri) {
    char state[LETTERS], verifier[LETTERS];
    if (!sign_is_available() || !put_random_text(state) || !put_random_text(verifier)) return NULL;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "state", state);
    tn_put_text(builder, "verifier", verifier);
    tn_put_text(builder, "redirect_uri", redirect_uri);
    tn_put_text(builder, "resource", resource);
    if (scope != NULL) tn_put_text(builder, "scope", scope);
    tn_put(builder, "client", client);
    tn_put(builder, "server", server);
    tn_put_int(builder, "made_at", tn.core->wall_ms(tn.host));
    tn.value->end(builder);
    explicit_bzero(verifier, sizeof verifier);
    return tn_finish(builder);
}

tn_value authorize_url(tn_value pending) {
    unsigned char hash[TN_SHA256_BYTES];
    char challenge[TN_SHA256_BYTES * 4 / 3 + 3];
    uint64_t length = 0;
    const char *verifier = tn_chars(tn_get(pending, "verifier"), &length);
    const char *page = tn_chars(value_get_nested(pending, "server", "authorization_endpoint"), NULL);
    const char *scope = tn_get_text(pending, "scope", NULL);
    if (verifier == NULL || page == NULL) return NULL;
    tn_sha256_hash(verifier, length, hash);
    *tn_base64url_put(challenge, hash, sizeof hash) = '\0';
    struct tn_text_buffer url = {.limit = 4u * OAUTH_TEXT_MAX}, form = {.limit = 4u * OAUTH_TEXT_MAX};
    form_put(&form, "response_type", "code");
    form_put(&form, "client_id", tn_get_text(tn_get(pending, "client"), "client_id", ""));
    form_put(&form, "redirect_uri", tn_get_text(pending, "redirect_uri", ""));
    form_put(&form, "state", tn_get_text(pending, "state", ""));
    form_put(&form, "code_challenge", challenge);
    form_put(&form, "code_challenge_method", "S256");
    form_put(&form, "resource", tn_get_text(pending, "resource", ""));
    if (scope != NULL) form_put(&form, "scope", scope);
    if (scopes_include(scope, "offline_access")) form_put(&form, "prompt", "consent"); /* OpenID Connect Core, 11 */
    tn_text_append(&url, page);
    tn_text_append(&url, strchr(page, '?') != NULL ? "&" : "?");
    tn_text_append(&url, tn_text_chars(&form));
    if (form.status != TN_OK) url.status = form.status;
    tn_text_free(&form);
    return tn_text_finish(&url);
}

bool authorize_is_recent(tn_value pending) {
    int64_t age = tn.core->wall_ms(tn.host) - tn_get_int(pending, "made_at", 0);
    return pending != NULL && age >= 0 && age < OAUTH_PENDING_MS;
}

bool authorize_matches(tn_value pending, tn_value client, tn_value server, const char *resource, const char *scope) {
    tn_value was = tn_get(pending, "scope");
    tn_value before = tn_get(pending, "client"), where = tn_get(pending, "server");
    if (!authorize_is_recent(pending) || before == NULL || where == NULL) return false;
    bool same = value_is(tn_get(before, "client_id"), tn_get_text(client, "client_id", "")) &&
                tn.value->equal(where, server) && value_is(tn_get(pending, "resource"), resource);
    return same && (scope != NULL ? value_is(was, scope) : was == NULL);
}

/* ---- The returned query ---- */

/* Takes the same time for all differences. */
static bool equals_secret(const char *found, const char *expected) {
    size_t length = strlen(expected), size = strlen(found);
    unsigned char differs = size == length ? 0 : 1;
    for (size_t i = 0; i < size && i < length; i++) differs |= (unsigned char)(found[i] ^ expected[i]);
    return differs == 0 && length > 0;
}

/* Compares the issuer exactly (RFC 9207, 2.4). */
static bool is_from_issuer(tn_value pending, tn_value parameters) {
    const char *issuer = tn_chars(value_get_nested(pending, "server", "issuer"), NULL);
    tn_value iss = tn_get(parameters, "iss");
    if (iss == NULL) return !value_is_true(value_get_nested(pending, "server", "iss"));
    return issuer != NULL && value_is(iss, issuer);
}

tn_value authorize_read_code(tn_value pending, const char *query, bool *ours, char *why, size_t size) {
    tn_value parameters = query != NULL ? address_query(query) : NULL, code = NULL;
    const char *issuer = tn_chars(value_get_nested(pending, "server", "issuer"), NULL);
    *ours = false;
    if (parameters == NULL || (tn_get(parameters, "code") == NULL && tn_get(parameters, "error") == NULL)) {
        (void)snprintf(why, size,
                       "found no `code` in the returned URL; expected the URL that the browser was redirected to: "
                       "http://...?code=...&state=...");
    } else if (!equals_secret(tn_get_text(parameters, "state", ""), tn_get_text(pending, "state", ""))) {
        (void)snprintf(why, size,
                       "the returned `state` is not the one that was sent: it belongs to another question or was "
                       "forged; start again");
    } else {
        *ours = true;
        if (!is_from_issuer(pending, parameters))
            (void)snprintf(why, size, "the returned `iss` is not %.200s; the answer is ignored",
                           issuer != NULL ? issuer : "?");
        else if (tn_get(parameters, "error") != NULL)
            (void)snprintf(why, size, "permission was not given (%s)",
                           token_error_name(tn_get_text(parameters, "error", "")));
        else
            code = tn_retain(tn_get(parameters, "code"));
    }
    tn_release(parameters);
    return code;
}

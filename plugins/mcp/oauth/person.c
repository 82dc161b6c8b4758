/*
 * person.c - the address of the page, and the checks of what comes back: first the state, then who sent it, and only
 * then what it says.
 */
#include "person.h"
#include "address.h"
#include "challenge.h"
#include "client.h"
#include "sign.h" /* of plugins/sign */
#include "token.h"
#include <sys/random.h>
#include <tenon/base64.h>

#define CHANCE  32                   /* bytes of a state, and of a verifier */
#define LETTERS (CHANCE * 4 / 3 + 3) /* of it in base64url, with the NUL */

static bool put_chance(char out[LETTERS]) {
    unsigned char chance[CHANCE];
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return false;
    *tn_base64url_put(out, chance, sizeof chance) = '\0';
    explicit_bzero(chance, sizeof chance);
    return true;
}

tn_value person_begin(tn_value client, tn_value server, const char *resource, const char *scope,
                      const char *redirect_uri) {
    char state[LETTERS], verifier[LETTERS];
    if (!sign_there() || !put_chance(state) || !put_chance(verifier)) return NULL;
    tn_builder *builder = tn.value->builder();
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
    return tn.value->finish(builder);
}

tn_value person_url(tn_value pending) {
    unsigned char hash[SIGN_SHA256];
    char challenge[SIGN_SHA256 * 4 / 3 + 3];
    uint64_t length = 0;
    const char *verifier = tn_chars(tn.value->get(pending, "verifier"), &length);
    const char *page = tn_chars(value_in(pending, "server", "authorization_endpoint"), NULL);
    const char *scope = tn_get_text(pending, "scope", NULL);
    if (verifier == NULL || page == NULL || !sign_sha256(verifier, length, hash)) return NULL;
    *tn_base64url_put(challenge, hash, sizeof hash) = '\0';
    struct text url = {.limit = 4u * OAUTH_TEXT_MAX}, form = {.limit = 4u * OAUTH_TEXT_MAX};
    form_put(&form, "response_type", "code");
    form_put(&form, "client_id", tn_get_text(tn.value->get(pending, "client"), "client_id", ""));
    form_put(&form, "redirect_uri", tn_get_text(pending, "redirect_uri", ""));
    form_put(&form, "state", tn_get_text(pending, "state", ""));
    form_put(&form, "code_challenge", challenge);
    form_put(&form, "code_challenge_method", "S256");
    form_put(&form, "resource", tn_get_text(pending, "resource", ""));
    if (scope != NULL) form_put(&form, "scope", scope);
    if (scopes_have(scope, "offline_access")) form_put(&form, "prompt", "consent"); /* OpenID Connect Core, 11 */
    text_put(&url, page);
    text_put(&url, strchr(page, '?') != NULL ? "&" : "?");
    text_put(&url, text_chars(&form));
    url.failed |= form.failed;
    text_free(&form);
    return text_finish(&url);
}

bool person_is_young(tn_value pending) {
    int64_t age = tn.core->wall_ms(tn.host) - tn_get_int(pending, "made_at", 0);
    return pending != NULL && age >= 0 && age < OAUTH_PENDING_MS;
}

bool person_is(tn_value pending, tn_value client, tn_value server, const char *resource, const char *scope) {
    tn_value was = tn.value->get(pending, "scope");
    tn_value before = tn.value->get(pending, "client"), where = tn.value->get(pending, "server");
    if (!person_is_young(pending) || before == NULL || where == NULL) return false;
    bool same = value_is(tn.value->get(before, "client_id"), tn_get_text(client, "client_id", "")) &&
                tn.value->equal(where, server) && value_is(tn.value->get(pending, "resource"), resource);
    return same && (scope != NULL ? value_is(was, scope) : was == NULL);
}

/* ---- What comes back ---- */

/* Takes as long whatever differs. */
static bool is_secret(const char *found, const char *expected) {
    size_t length = strlen(expected), size = strlen(found);
    unsigned char differs = size == length ? 0 : 1;
    for (size_t i = 0; i < size && i < length; i++) differs |= (unsigned char)(found[i] ^ expected[i]);
    return differs == 0 && length > 0;
}

/* RFC 9207, 2.4; letter by letter. */
static bool is_from_issuer(tn_value pending, tn_value said) {
    const char *issuer = tn_chars(value_in(pending, "server", "issuer"), NULL);
    tn_value iss = tn.value->get(said, "iss");
    if (iss == NULL) return !value_true(value_in(pending, "server", "iss"));
    return issuer != NULL && value_is(iss, issuer);
}

tn_value person_code(tn_value pending, const char *query, bool *ours, char *why, size_t size) {
    tn_value said = query != NULL ? address_query(query) : NULL, code = NULL;
    const char *issuer = tn_chars(value_in(pending, "server", "issuer"), NULL);
    *ours = false;
    if (said == NULL || (tn.value->get(said, "code") == NULL && tn.value->get(said, "error") == NULL)) {
        (void)snprintf(why, size,
                       "found no `code` in what came back, expected the address that the page sent the browser to: "
                       "http://...?code=...&state=...");
    } else if (!is_secret(tn_get_text(said, "state", ""), tn_get_text(pending, "state", ""))) {
        (void)snprintf(
            why, size,
            "the `state` of what came back is not the one that was sent: it answers another question, or was "
            "made up; begin again");
    } else {
        *ours = true;
        if (!is_from_issuer(pending, said))
            (void)snprintf(why, size, "what came back is not from %.200s, by its `iss`; nothing in it is believed",
                           issuer != NULL ? issuer : "?");
        else if (tn.value->get(said, "error") != NULL)
            (void)snprintf(why, size, "permission was not given (%s)",
                           token_error_name(tn_get_text(said, "error", "")));
        else
            code = tn_retain(tn.value->get(said, "code"));
    }
    tn_release(said);
    return code;
}

/*
 * token.c - requests to a token endpoint (RFC 6749, 4 to 6; RFC 7523; RFC 8707), and their answers.
 *
 * An error's description is not shown: a server may repeat in it what it was sent.
 */
#include "token.h"
#include "dpop.h"

#define ID_JAG   "urn:ietf:params:oauth:token-type:id-jag"
#define ID_TOKEN "urn:ietf:params:oauth:token-type:id_token"
#define REDACTED "{redacted}" /* every text of this answer, where a recording is replayed */

tn_value token_request(const struct token_ask *ask, char *why, size_t size) {
    const char *url = tn_get_text(ask->server, "token_endpoint", "");
    struct text form = {.limit = 16u * OAUTH_TEXT_MAX};
    tn_value authorization = NULL, body;
    *why = '\0';
    form_put(&form, "grant_type", ask->grant);
    if (ask->code != NULL) form_put(&form, "code", ask->code);
    if (ask->back != NULL) form_put(&form, "redirect_uri", ask->back);
    if (ask->verifier != NULL) form_put(&form, "code_verifier", ask->verifier);
    if (ask->refresh != NULL) form_put(&form, "refresh_token", ask->refresh);
    if (ask->assertion != NULL) form_put(&form, "assertion", ask->assertion);
    if (ask->subject != NULL) {
        form_put(&form, "requested_token_type", ID_JAG);
        form_put(&form, "subject_token_type", ID_TOKEN);
        form_put(&form, "subject_token", ask->subject);
        form_put(&form, "audience", ask->audience);
    }
    if (ask->scope != NULL) form_put(&form, "scope", ask->scope);
    form_put(&form, "resource", ask->resource);
    bool proven = client_prove(ask->client, ask->config, ask->server, &form, &authorization, why, size);
    if (!proven) text_free(&form);
    body = proven ? text_finish(&form) : NULL;
    tn_value proof = proven && ask->key != NULL ? dpop_proof(ask->key, "POST", url, NULL, ask->nonce) : NULL;
    if (ask->key != NULL && proof == NULL) proven = false;
    tn_value request = proven ? fetch_form(url, body, authorization, proof, "mcp-access-token") : NULL;
    if (ask->key != NULL && proof == NULL && *why == '\0') (void)snprintf(why, size, "no proof of a key can be made");
    tn_release(proof);
    if (proven && request == NULL) (void)snprintf(why, size, "there is no memory for the request of a token");
    tn_release(body);
    tn_release(authorization);
    return request;
}

/* ---- Answers ---- */

const char *token_error_name(const char *error) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    bool plain = error != NULL && *error != '\0' && strlen(error) <= 60 && strspn(error, letters) == strlen(error);
    return plain ? error : "an error without a name";
}

/* What may stand in a header behind "Bearer ". */
static bool is_token(const char *text, uint64_t length) {
    for (uint64_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~') return false;
    return length > 0 && length <= OAUTH_TEXT_MAX;
}

static tn_value refused(const struct fetched *answer, const struct token_ask *ask, struct token_fault *fault) {
    static const struct {
        const char *error, *advice;
    } advices[] = {
        {"invalid_client", "it does not know this client, or its secret: look at `client_id` and `client_secret`"},
        {"invalid_grant", "what it was given has ended, was used before, or is for another client"},
        {"unauthorized_client", "this client may not ask in this way: look at `grant`, and at its registration"},
        {"unsupported_grant_type", "it does not give tokens in this way: look at `grant`"},
        {"invalid_scope", "it does not know a scope, or does not grant it: look at `scope`"},
        {"invalid_target", "it gives no tokens for this resource"}};
    const char *error = tn_get_text(answer->json, "error", NULL), *advice = "look at its log";
    bool theirs = answer->status == 429 || answer->status >= 500;
    fault->final = !theirs;
    fault->stranger = error != NULL && strcmp(error, "invalid_client") == 0;
    fault->code = theirs ? "SERVER_ERROR" : "AUTH";
    for (size_t i = 0; error != NULL && i < sizeof advices / sizeof *advices; i++)
        if (strcmp(error, advices[i].error) == 0) advice = advices[i].advice;
    (void)snprintf(fault->why, sizeof fault->why,
                   "the authorization server %.200s gives no token (HTTP status %lld, %s): %s",
                   tn_get_text(ask->server, "issuer", "?"), (long long)answer->status, token_error_name(error),
                   theirs ? "try again later" : advice);
    return NULL;
}

static tn_value wrong(const struct token_ask *ask, struct token_fault *fault, const char *what) {
    fault->code = "AUTH";
    (void)snprintf(fault->why, sizeof fault->why, "the authorization server %.200s answered %s",
                   tn_get_text(ask->server, "issuer", "?"), what);
    return NULL;
}

/* One that gives no time, or none that can be, is good for an hour, or until it is refused. */
static void put_times(tn_builder *builder, tn_value answer) {
    int64_t life = tn_get_int(answer, "expires_in", 0), now = tn.core->wall_ms(tn.host);
    if (life <= 0 || life > OAUTH_LIFE_MAX_S) life = OAUTH_LIFE_S;
    life *= 1000;
    tn_put_int(builder, "expires_at", now + life);
    tn_put_int(builder, "renew_at", now + life - (life < 2 * OAUTH_EARLY_MS ? life / 2 : OAUTH_EARLY_MS));
}

static bool has_answer(const struct fetched *answer, const struct token_ask *ask, struct token_fault *fault) {
    *fault = (struct token_fault){0};
    if (answer->code != NULL) {
        fault->code = answer->code;
        (void)snprintf(fault->why, sizeof fault->why, "the authorization server %.200s gives no token: %.200s",
                       tn_get_text(ask->server, "issuer", "?"), answer->why);
        return false;
    }
    if (answer->status >= 200 && answer->status < 300) return true;
    (void)refused(answer, ask, fault);
    return false;
}

tn_value token_read(const struct fetched *answer, const struct token_ask *ask, struct token_fault *fault) {
    if (!has_answer(answer, ask, fault)) return NULL;
    uint64_t length = 0, refresh_length = 0;
    const char *token = tn_chars(tn.value->get(answer->json, "access_token"), &length);
    const char *refresh = tn_chars(tn.value->get(answer->json, "refresh_token"), &refresh_length);
    const char *scope = tn_get_text(answer->json, "scope", NULL);
    const char *type = tn_get_text(answer->json, "token_type", "Bearer");
    if (token == NULL || !is_token(token, length))
        return wrong(ask, fault, "without an `access_token` that a header could have");
    bool bound = ask->key != NULL && strcasecmp(type, "DPoP") == 0;
    if (!bound && strcasecmp(type, "Bearer") != 0 && strcmp(type, REDACTED) != 0)
        return wrong(ask, fault, "with a token of another type than was asked for, expected Bearer");
    if (refresh == NULL || refresh_length > OAUTH_TEXT_MAX) refresh = ask->refresh; /* the old one stays good */
    if (scope == NULL || strlen(scope) > OAUTH_SCOPE_MAX) scope = ask->scope;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "access_token", token);
    if (refresh != NULL) tn_put_text(builder, "refresh_token", refresh);
    if (scope != NULL) tn_put_text(builder, "scope", scope);
    if (bound) tn_put_bool(builder, "dpop", 1);
    put_times(builder, answer->json);
    tn_put_text(builder, "issuer", tn_get_text(ask->server, "issuer", ""));
    tn.value->end(builder);
    tn_value made = tn.value->finish(builder);
    return made != NULL ? made : wrong(ask, fault, "with a token that there is no memory for");
}

tn_value token_read_assertion(const struct fetched *answer, const struct token_ask *ask, struct token_fault *fault) {
    if (!has_answer(answer, ask, fault)) return NULL;
    uint64_t length = 0;
    tn_value assertion = tn.value->get(answer->json, "access_token"); /* which it is called, whatever it is */
    const char *text = tn_chars(assertion, &length), *type = tn_get_text(answer->json, "issued_token_type", "");
    if (text == NULL || !is_token(text, length)) return wrong(ask, fault, "without an `access_token`");
    if (strcmp(type, ID_JAG) != 0 && strcmp(type, REDACTED) != 0)
        return wrong(ask, fault, "with another `issued_token_type` than " ID_JAG);
    return tn_retain(assertion);
}

const char *token_nonce(const struct fetched *answer) {
    bool wants = answer->code == NULL && value_is(tn.value->get(answer->json, "error"), "use_dpop_nonce");
    return wants ? dpop_nonce(answer->headers) : NULL;
}

tn_value token_header(tn_value token, int64_t now_ms) {
    const char *prefix = value_true(tn.value->get(token, "dpop")) ? "DPoP " : "Bearer ";
    uint64_t length = 0;
    const char *text = tn_chars(tn.value->get(token, "access_token"), &length);
    if (text == NULL || !is_token(text, length) || now_ms >= tn_get_int(token, "expires_at", 0)) return NULL;
    struct text header = {.limit = OAUTH_TEXT_MAX + 8};
    text_put(&header, prefix);
    text_add(&header, text, length);
    return text_finish(&header);
}

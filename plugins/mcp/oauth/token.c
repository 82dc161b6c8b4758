/*
 * token.c - requests to a token endpoint (RFC 6749, 4 to 6; RFC 7523; RFC 8707), and their answers.
 *
 * An error's description is not shown, because a server may repeat in it what it received.
 */
#include "token.h"
#include "dpop.h"

#define ID_JAG   "urn:ietf:params:oauth:token-type:id-jag"
#define ID_TOKEN "urn:ietf:params:oauth:token-type:id_token"
#define REDACTED "{redacted}" /* in a replayed recording, every string of this answer */

tn_value token_make_request(const struct token_params *params, char *why, size_t size) {
    const char *url = tn_get_text(params->server, "token_endpoint", "");
    struct tn_text_buffer form = {.limit = 16u * OAUTH_TEXT_MAX};
    tn_value authorization = NULL, body;
    *why = '\0';
    form_put(&form, "grant_type", params->grant);
    if (params->code != NULL) form_put(&form, "code", params->code);
    if (params->redirect_uri != NULL) form_put(&form, "redirect_uri", params->redirect_uri);
    if (params->verifier != NULL) form_put(&form, "code_verifier", params->verifier);
    if (params->refresh != NULL) form_put(&form, "refresh_token", params->refresh);
    if (params->assertion != NULL) form_put(&form, "assertion", params->assertion);
    if (params->subject != NULL) {
        form_put(&form, "requested_token_type", ID_JAG);
        form_put(&form, "subject_token_type", ID_TOKEN);
        form_put(&form, "subject_token", params->subject);
        form_put(&form, "audience", params->audience);
    }
    if (params->scope != NULL) form_put(&form, "scope", params->scope);
    form_put(&form, "resource", params->resource);
    bool authenticated =
        client_authenticate(params->client, params->config, params->server, &form, &authorization, why, size);
    if (!authenticated) tn_text_free(&form);
    body = authenticated ? tn_text_finish(&form) : NULL;
    tn_value proof =
        authenticated && params->key != NULL ? dpop_make_proof(params->key, "POST", url, NULL, params->nonce) : NULL;
    if (params->key != NULL && proof == NULL) authenticated = false;
    tn_value request = authenticated ? fetch_form(url, body, authorization, proof, "mcp-access-token") : NULL;
    if (params->key != NULL && proof == NULL && *why == '\0')
        (void)snprintf(why, size, "cannot make the proof of a key");
    tn_release(proof);
    if (authenticated && request == NULL) (void)snprintf(why, size, "not enough memory for the token request");
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

/* Characters that may follow "Bearer " in a header. */
static bool is_header_safe_token(const char *text, uint64_t length) {
    for (uint64_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~') return false;
    return length > 0 && length <= OAUTH_TEXT_MAX;
}

static tn_value read_token_refusal(const struct fetched *answer, const struct token_params *params,
                                   struct token_fault *fault) {
    static const struct {
        const char *error, *advice;
    } advices[] = {
        {"invalid_client", "it does not know this client or its secret: check `client_id` and `client_secret`"},
        {"invalid_grant", "the code, token or assertion has expired, was used before, or is for another client"},
        {"unauthorized_client", "this client may not use this grant: check `grant` and the registration"},
        {"unsupported_grant_type", "it does not support this grant: check `grant`"},
        {"invalid_scope", "it does not know or grant a scope: check `scope`"},
        {"invalid_target", "it issues no tokens for this resource"}};
    const char *error = tn_get_text(answer->json, "error", NULL), *advice = "see its log";
    bool theirs = answer->status == 429 || answer->status >= 500;
    fault->final = !theirs;
    fault->client_unknown = error != NULL && strcmp(error, "invalid_client") == 0;
    fault->code = theirs ? "SERVER_ERROR" : "AUTH";
    for (size_t i = 0; error != NULL && i < sizeof advices / sizeof *advices; i++)
        if (strcmp(error, advices[i].error) == 0) advice = advices[i].advice;
    (void)snprintf(fault->why, sizeof fault->why,
                   "the authorization server %.200s issued no token (HTTP status %lld, %s): %s",
                   tn_get_text(params->server, "issuer", "?"), (long long)answer->status, token_error_name(error),
                   theirs ? "try again later" : advice);
    return NULL;
}

static tn_value fail_invalid_answer(const struct token_params *params, struct token_fault *fault, const char *what) {
    fault->code = "AUTH";
    (void)snprintf(fault->why, sizeof fault->why, "the authorization server %.200s answered %s",
                   tn_get_text(params->server, "issuer", "?"), what);
    return NULL;
}

/* A token without a valid life is used for an hour, or until it is refused. */
static void put_token_times(tn_builder *builder, tn_value answer) {
    int64_t lifetime = tn_get_int(answer, "expires_in", 0), now = tn.core->wall_ms(tn.host);
    if (lifetime <= 0 || lifetime > OAUTH_LIFETIME_MAX_S) lifetime = OAUTH_LIFETIME_S;
    lifetime *= 1000;
    tn_put_int(builder, "expires_at", now + lifetime);
    tn_put_int(builder, "renew_at", now + lifetime - (lifetime < 2 * OAUTH_EARLY_MS ? lifetime / 2 : OAUTH_EARLY_MS));
}

static bool check_token_answer(const struct fetched *answer, const struct token_params *params,
                               struct token_fault *fault) {
    *fault = (struct token_fault){0};
    if (answer->code != NULL) {
        fault->code = answer->code;
        (void)snprintf(fault->why, sizeof fault->why, "the authorization server %.200s issued no token: %.200s",
                       tn_get_text(params->server, "issuer", "?"), answer->why);
        return false;
    }
    if (answer->status >= 200 && answer->status < 300) return true;
    (void)read_token_refusal(answer, params, fault);
    return false;
}

tn_value token_read(const struct fetched *answer, const struct token_params *params, struct token_fault *fault) {
    if (!check_token_answer(answer, params, fault)) return NULL;
    uint64_t length = 0, refresh_length = 0;
    const char *token = tn_chars(tn_get(answer->json, "access_token"), &length);
    const char *refresh = tn_chars(tn_get(answer->json, "refresh_token"), &refresh_length);
    const char *scope = tn_get_text(answer->json, "scope", NULL);
    const char *type = tn_get_text(answer->json, "token_type", "Bearer");
    if (token == NULL || !is_header_safe_token(token, length))
        return fail_invalid_answer(params, fault, "without an `access_token` that is valid in a header");
    bool bound = params->key != NULL && strcasecmp(type, "DPoP") == 0;
    if (!bound && strcasecmp(type, "Bearer") != 0 && strcmp(type, REDACTED) != 0)
        return fail_invalid_answer(params, fault, "with a token of another type than requested; expected Bearer");
    if (refresh == NULL || refresh_length > OAUTH_TEXT_MAX) refresh = params->refresh; /* the old one stays valid */
    if (scope == NULL || strlen(scope) > OAUTH_SCOPE_MAX) scope = params->scope;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "access_token", token);
    if (refresh != NULL) tn_put_text(builder, "refresh_token", refresh);
    if (scope != NULL) tn_put_text(builder, "scope", scope);
    if (bound) tn_put_bool(builder, "dpop", 1);
    put_token_times(builder, answer->json);
    tn_put_text(builder, "issuer", tn_get_text(params->server, "issuer", ""));
    tn.value->end(builder);
    tn_value result = tn_finish(builder);
    return result != NULL ? result : fail_invalid_answer(params, fault, "with a token, but memory ran out");
}

tn_value token_read_assertion(const struct fetched *answer, const struct token_params *params,
                              struct token_fault *fault) {
    if (!check_token_answer(answer, params, fault)) return NULL;
    uint64_t length = 0;
    tn_value assertion = tn_get(answer->json, "access_token"); /* an assertion also has this name */
    const char *text = tn_chars(assertion, &length), *type = tn_get_text(answer->json, "issued_token_type", "");
    if (text == NULL || !is_header_safe_token(text, length))
        return fail_invalid_answer(params, fault, "without an `access_token`");
    if (strcmp(type, ID_JAG) != 0 && strcmp(type, REDACTED) != 0)
        return fail_invalid_answer(params, fault, "with another `issued_token_type` than " ID_JAG);
    return tn_retain(assertion);
}

const char *token_read_nonce(const struct fetched *answer) {
    bool wants = answer->code == NULL && value_is(tn_get(answer->json, "error"), "use_dpop_nonce");
    return wants ? dpop_read_nonce(answer->headers) : NULL;
}

tn_value token_make_header(tn_value token, int64_t now_ms) {
    const char *prefix = value_is_true(tn_get(token, "dpop")) ? "DPoP " : "Bearer ";
    uint64_t length = 0;
    const char *text = tn_chars(tn_get(token, "access_token"), &length);
    if (text == NULL || !is_header_safe_token(text, length) || now_ms >= tn_get_int(token, "expires_at", 0))
        return NULL;
    struct tn_text_buffer header = {.limit = OAUTH_TEXT_MAX + 8};
    tn_text_append(&header, prefix);
    tn_text_append_n(&header, text, length);
    return tn_text_finish(&header);
}

/*
 * token.c - requests to a token endpoint (RFC 6749, 4 to 6; RFC 7523; RFC 8707), and their answers.
 *
 * An error's description is not shown: a server may repeat in it what it was sent.
 */
#include "token.h"

tn_value token_request(const struct token_ask *ask, char *why, size_t size) {
    const char *url = tn_get_text(ask->server, "token_endpoint", "");
    struct text form = {.limit = 16u * OAUTH_TEXT_MAX};
    tn_value authorization = NULL, body;
    form_put(&form, "grant_type", ask->grant);
    if (ask->code != NULL) form_put(&form, "code", ask->code);
    if (ask->back != NULL) form_put(&form, "redirect_uri", ask->back);
    if (ask->verifier != NULL) form_put(&form, "code_verifier", ask->verifier);
    if (ask->refresh != NULL) form_put(&form, "refresh_token", ask->refresh);
    if (ask->assertion != NULL) form_put(&form, "assertion", ask->assertion);
    if (ask->scope != NULL) form_put(&form, "scope", ask->scope);
    form_put(&form, "resource", ask->resource);
    bool proven = client_prove(ask->client, ask->config, ask->server, &form, &authorization, why, size);
    if (!proven) text_free(&form);
    body = proven ? text_finish(&form) : NULL;
    tn_value request = proven ? fetch_form(url, body, authorization, "mcp-access-token") : NULL;
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

static tn_value refused(const struct fetched *answer, const struct token_ask *ask, const char **code, bool *gone,
                        char *why, size_t size) {
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
    *gone = error != NULL && strcmp(error, "invalid_grant") == 0;
    *code = theirs ? "SERVER_ERROR" : "AUTH";
    for (size_t i = 0; error != NULL && i < sizeof advices / sizeof *advices; i++)
        if (strcmp(error, advices[i].error) == 0) advice = advices[i].advice;
    (void)snprintf(why, size, "the authorization server %.200s gives no token (HTTP status %lld, %s): %s",
                   tn_get_text(ask->server, "issuer", "?"), (long long)answer->status, token_error_name(error),
                   theirs ? "try again later" : advice);
    return NULL;
}

static tn_value wrong(const struct token_ask *ask, const char **code, char *why, size_t size, const char *what) {
    *code = "AUTH";
    (void)snprintf(why, size, "the authorization server %.200s answered %s", tn_get_text(ask->server, "issuer", "?"),
                   what);
    return NULL;
}

tn_value token_read(const struct fetched *answer, const struct token_ask *ask, const char **code, bool *gone, char *why,
                    size_t size) {
    *gone = false;
    if (answer->code != NULL) {
        *code = answer->code;
        (void)snprintf(why, size, "the authorization server %.200s gives no token: %.200s",
                       tn_get_text(ask->server, "issuer", "?"), answer->why);
        return NULL;
    }
    if (answer->status < 200 || answer->status > 299) return refused(answer, ask, code, gone, why, size);
    uint64_t length = 0, refresh_length = 0;
    const char *token = tn_chars(tn.value->get(answer->json, "access_token"), &length);
    const char *refresh = tn_chars(tn.value->get(answer->json, "refresh_token"), &refresh_length);
    const char *type = tn_get_text(answer->json, "token_type", "Bearer");
    int64_t life = tn_get_int(answer->json, "expires_in", OAUTH_LIFE_S);
    if (token == NULL || !is_token(token, length)) return wrong(ask, code, why, size, "without an `access_token`");
    if (strcasecmp(type, "Bearer") != 0)
        return wrong(ask, code, why, size, "with a token that is no Bearer token, which is all that can be sent");
    if (life < 0 || life > OAUTH_LIFE_MAX_S) life = OAUTH_LIFE_S;
    if (refresh == NULL || refresh_length > OAUTH_TEXT_MAX) refresh = ask->refresh; /* the old one stays good */
    const char *scope = tn_get_text(answer->json, "scope", NULL);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "access_token", token);
    if (refresh != NULL) tn_put_text(builder, "refresh_token", refresh);
    if (scope == NULL || strlen(scope) > OAUTH_SCOPE_MAX) scope = ask->scope;
    if (scope != NULL) tn_put_text(builder, "scope", scope);
    tn_put_int(builder, "expires_at", tn.core->wall_ms(tn.host) + life * 1000);
    tn_put_text(builder, "issuer", tn_get_text(ask->server, "issuer", ""));
    tn.value->end(builder);
    tn_value made = tn.value->finish(builder);
    return made != NULL ? made : wrong(ask, code, why, size, "with a token that there is no memory for");
}

tn_value token_header(tn_value token, int64_t now_ms) {
    static const char prefix[] = "Bearer ";
    uint64_t length = 0;
    const char *text = tn_chars(tn.value->get(token, "access_token"), &length);
    if (text == NULL || !is_token(text, length) || now_ms >= tn_get_int(token, "expires_at", 0)) return NULL;
    struct text header = {.limit = OAUTH_TEXT_MAX + sizeof prefix};
    text_put(&header, prefix);
    text_add(&header, text, length);
    return text_finish(&header);
}

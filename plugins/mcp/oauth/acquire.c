/*
 * acquire.c - obtains a token when the authorization server is known: renews it, requests it or asks a person; and
 * obtains the client that this needs.
 */
#include "oauth_internal.h"

static struct token_params make_token_params(const struct oauth *oauth, const char *grant) {
    return (struct token_params){.grant = grant,
                                 .client = oauth->client,
                                 .server = oauth->server,
                                 .config = oauth->config,
                                 .resource = tn_get_text(oauth->resource, "resource", ""),
                                 .scope = tn_chars(oauth->scope, NULL),
                                 .key = oauth_key(oauth),
                                 .nonce = oauth->nonce};
}

static void save_search_result(struct oauth *oauth) {
    oauth_record_set_take(oauth, "server", tn_retain(oauth->server));
    oauth_record_set_take(oauth, "resource", tn_retain(tn_get(oauth->resource, "resource")));
    if (oauth->scope != NULL) oauth_record_set_take(oauth, "scope", tn_retain(oauth->scope));
}

static void send_renewal(struct oauth *oauth);

static void on_renewed(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    if (oauth_must_repeat(oauth, answer)) {
        send_renewal(oauth);
        return;
    }
    struct token_params params = make_token_params(oauth, "refresh_token");
    struct token_fault fault;
    params.refresh = oauth->renewing;
    params.scope = tn_get_text(oauth_token(oauth), "scope", NULL);
    tn_value token = token_read(answer, &params, &fault);
    if (token != NULL) {
        oauth_set_token_take(oauth, token);
        oauth_save_record(oauth);
        oauth_end(oauth, OAUTH_RETRY, "", "");
    } else if (!fault.final) {
        oauth_end(oauth, OAUTH_FAILED, fault.code, fault.why); /* the token may still be valid */
    } else if (oauth_reload_record(oauth) && oauth->header != NULL) {
        oauth_end(oauth, OAUTH_RETRY, "", ""); /* another process has renewed the token and stored the new one */
    } else {
        log_format(TN_LOG_INFO, "server `%s`: cannot renew the token: %s", oauth->name, fault.why);
        oauth_handle_fault(oauth, &fault);
        if (fault.client_unknown && oauth_setting(oauth, "client_id") == NULL) {
            tn_release(oauth->client);
            oauth->client = NULL;
        }
        oauth_set_token_take(oauth, NULL);
        oauth_save_record(oauth);
        oauth_acquire(oauth);
    }
}

static void send_renewal(struct oauth *oauth) {
    struct token_params params = make_token_params(oauth, "refresh_token");
    char why[OAUTH_WHY_MAX];
    params.refresh = oauth->renewing;
    params.scope = NULL; /* all that was granted */
    tn_value request = oauth->renewing != NULL ? token_make_request(&params, why, sizeof why) : NULL;
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_renewed, oauth);
    else
        oauth_fail(oauth, oauth->renewing != NULL ? why : "not enough memory");
}

void oauth_renew(struct oauth *oauth) {
    oauth->renewing = copy_text(tn_get_text(oauth_token(oauth), "refresh_token", ""));
    send_renewal(oauth);
}

static const char *grant_name(const struct oauth *oauth) {
    const char *grant = tn_get_text(oauth->config, "grant", "authorization_code");
    bool bearer = strcmp(grant, "jwt_bearer") == 0 || strcmp(grant, "enterprise") == 0;
    return bearer ? TOKEN_JWT_BEARER : grant;
}

static void on_oauth_token(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    if (oauth_must_repeat(oauth, answer)) {
        oauth_request_token(oauth);
        return;
    }
    struct token_params params = make_token_params(oauth, grant_name(oauth));
    struct token_fault fault;
    tn_value token = token_read(answer, &params, &fault);
    if (token == NULL) {
        oauth_end(oauth, OAUTH_FAILED, fault.code, fault.why);
        return;
    }
    oauth_set_token_take(oauth, token);
    save_search_result(oauth);
    oauth_end(oauth, OAUTH_RETRY, "", "");
}

static void request_token(struct oauth *oauth, const char *assertion) {
    struct token_params params = make_token_params(oauth, grant_name(oauth));
    char why[OAUTH_WHY_MAX];
    params.assertion = assertion;
    tn_value request = token_make_request(&params, why, sizeof why);
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_oauth_token, oauth);
    else
        oauth_fail(oauth, why);
}

/* ---- Assertions of an enterprise's identity provider (SEP-990) ---- */

/* Describes the identity provider like a known authorization server. This client has other credentials there. */
static tn_value make_provider(const struct oauth *oauth) {
    const char *url = tn_chars(value_get_nested(oauth->config, "idp", "token_url"), NULL);
    return tn_build("{s:s,s:s}", "issuer", url, "token_endpoint", url);
}

static struct token_params make_exchange_params(const struct oauth *oauth, tn_value provider) {
    struct token_params params = make_token_params(oauth, TOKEN_EXCHANGE);
    params.config = NULL; /* its key is for the MCP server's authorization server */
    params.key = NULL;
    params.server = provider;
    params.subject = tn_chars(value_get_nested(oauth->config, "idp", "id_token"), NULL);
    params.audience = tn_get_text(oauth->server, "issuer", "");
    return params;
}

static void on_exchanged(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    struct token_fault fault;
    tn_value provider = make_provider(oauth);
    const struct token_params params = make_exchange_params(oauth, provider);
    oauth->assertion = token_read_assertion(answer, &params, &fault);
    tn_release(provider);
    if (oauth->assertion != NULL)
        request_token(oauth, tn_chars(oauth->assertion, NULL));
    else
        oauth_end(oauth, OAUTH_FAILED, fault.code, fault.why);
}

static void request_exchange(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    tn_value provider = make_provider(oauth),
             client = client_from_config(tn_get(oauth->config, "idp"), provider, why, sizeof why);
    struct token_params params = make_exchange_params(oauth, provider);
    params.client = client;
    tn_value request = client != NULL ? token_make_request(&params, why, sizeof why) : NULL;
    tn_release(provider);
    tn_release(client);
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_exchanged, oauth);
    else
        oauth_fail(oauth, why);
}

/* No person is involved: the client requests a token for itself. */
void oauth_request_token(struct oauth *oauth) {
    const char *assertion = oauth_setting(oauth, "assertion");
    const char *grant = tn_get_text(oauth->config, "grant", "");
    if (strcmp(grant, "jwt_bearer") == 0 && assertion == NULL)
        oauth_fail(oauth, "`grant: jwt_bearer` needs `assertion`, as {secret: NAME}");
    else if (strcmp(grant, "enterprise") != 0)
        request_token(oauth, assertion);
    else if (tn_chars(value_get_nested(oauth->config, "idp", "token_url"), NULL) == NULL)
        oauth_fail(oauth, "`grant: enterprise` needs `idp`, with token_url, client_id and id_token");
    else
        request_exchange(oauth);
}

/* ---- The client ---- */

static void on_registered(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    const char *issuer = tn_get_text(oauth->server, "issuer", "?");
    char why[OAUTH_WHY_MAX];
    if (answer->code != NULL || answer->status < 200 || answer->status > 299) {
        (void)snprintf(why, sizeof why,
                       "the authorization server %.200s did not register this client (%.200s, HTTP status %lld): "
                       "register a client manually and set its `client_id` in `oauth` of the server in tenon.yaml",
                       issuer,
                       answer->code != NULL ? answer->why : token_error_name(tn_get_text(answer->json, "error", NULL)),
                       (long long)answer->status);
        oauth_fail(oauth, why);
        return;
    }
    tn_release(oauth->client);
    oauth->client = client_read_registration(answer->json, oauth->server, tn_chars(oauth->uri, NULL), why, sizeof why);
    if (oauth->client == NULL) {
        oauth_fail(oauth, why);
        return;
    }
    oauth_record_set_take(oauth, "client", tn_retain(oauth->client));
    oauth_save_record(oauth);
    oauth_ask_person(oauth);
}

static void register_client(struct oauth *oauth) {
    const char *uri = oauth_listen(oauth, tn_get_text(oauth->config, "redirect_uri", OAUTH_REDIRECT_URI));
    tn_value body = client_make_registration(oauth->config, oauth->server, uri, oauth_key(oauth) != NULL);
    tn_release(oauth->uri);
    oauth->uri = tn_text(uri);
    fetch_send(&oauth->fetch,
               fetch_json(tn_get_text(oauth->server, "registration_endpoint", ""), body, "mcp-registration"),
               on_registered, oauth);
    tn_release(body);
}

void oauth_acquire(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    if (oauth->client == NULL) oauth->client = client_from_config(oauth->config, oauth->server, why, sizeof why);
    if (oauth->client == NULL && *why != '\0')
        oauth_fail(oauth, why);
    else if (oauth->client == NULL && !oauth->person)
        oauth_fail(oauth, "the `grant` in tenon.yaml also needs a `client_id`");
    else if (oauth->client == NULL)
        register_client(oauth);
    else if (oauth->person)
        oauth_ask_person(oauth);
    else
        oauth_request_token(oauth);
}

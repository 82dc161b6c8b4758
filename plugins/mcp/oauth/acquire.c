/*
 * acquire.c - a token, once it is known who gives it: made new, asked for, or a person is; and the client for that.
 */
#include "oauth_internal.h"

static struct token_ask ask_of(const struct oauth *oauth, const char *grant) {
    return (struct token_ask){.grant = grant,
                              .client = oauth->client,
                              .server = oauth->server,
                              .config = oauth->config,
                              .resource = tn_get_text(oauth->resource, "resource", ""),
                              .scope = tn_chars(oauth->scope, NULL),
                              .key = oauth_key(oauth),
                              .nonce = oauth->nonce};
}

static void note_search(struct oauth *oauth) {
    oauth_note(oauth, "server", tn_retain(oauth->server));
    oauth_note(oauth, "resource", tn_retain(tn.value->get(oauth->resource, "resource")));
    if (oauth->scope != NULL) oauth_note(oauth, "scope", tn_retain(oauth->scope));
}

static void send_renewal(struct oauth *oauth);

static void on_renewed(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    if (oauth_again(oauth, answer)) {
        send_renewal(oauth);
        return;
    }
    struct token_ask ask = ask_of(oauth, "refresh_token");
    struct token_fault fault;
    ask.refresh = oauth->renewing;
    ask.scope = tn_get_text(oauth_token(oauth), "scope", NULL);
    tn_value token = token_read(answer, &ask, &fault);
    if (token != NULL) {
        oauth_take_token(oauth, token);
        oauth_keep(oauth);
        oauth_end(oauth, OAUTH_GO, "", "");
    } else if (!fault.final) {
        oauth_end(oauth, OAUTH_FAILED, fault.code, fault.why); /* it may be good yet */
    } else if (oauth_read_again(oauth) && oauth->header != NULL) {
        oauth_end(oauth, OAUTH_GO, "", ""); /* another process has used it up, and left the next one */
    } else {
        say(TN_LOG_INFO, "server `%s`: its token cannot be renewed: %s", oauth->name, fault.why);
        oauth_mind(oauth, &fault);
        if (fault.stranger && oauth_setting(oauth, "client_id") == NULL) {
            tn_release(oauth->client);
            oauth->client = NULL;
        }
        oauth_take_token(oauth, NULL);
        oauth_keep(oauth);
        oauth_acquire(oauth);
    }
}

static void send_renewal(struct oauth *oauth) {
    struct token_ask ask = ask_of(oauth, "refresh_token");
    char why[OAUTH_WHY_MAX];
    ask.refresh = oauth->renewing;
    ask.scope = NULL; /* all that was granted */
    tn_value request = oauth->renewing != NULL ? token_request(&ask, why, sizeof why) : NULL;
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_renewed, oauth);
    else
        oauth_fail(oauth, oauth->renewing != NULL ? why : "there is no memory left");
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

static void on_token(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    if (oauth_again(oauth, answer)) {
        oauth_acquire_alone(oauth);
        return;
    }
    struct token_ask ask = ask_of(oauth, grant_name(oauth));
    struct token_fault fault;
    tn_value token = token_read(answer, &ask, &fault);
    if (token == NULL) {
        oauth_end(oauth, OAUTH_FAILED, fault.code, fault.why);
        return;
    }
    oauth_take_token(oauth, token);
    note_search(oauth);
    oauth_end(oauth, OAUTH_GO, "", "");
}

static void ask_for_token(struct oauth *oauth, const char *assertion) {
    struct token_ask ask = ask_of(oauth, grant_name(oauth));
    char why[OAUTH_WHY_MAX];
    ask.assertion = assertion;
    tn_value request = token_request(&ask, why, sizeof why);
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_token, oauth);
    else
        oauth_fail(oauth, why);
}

/* ---- An enterprise's identity provider says who it is (SEP-990) ---- */

/* As an authorization server that is known beforehand; and who we are there, which is another one than here. */
static tn_value provider_of(const struct oauth *oauth) {
    const char *url = tn_chars(value_in(oauth->config, "idp", "token_url"), NULL);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "issuer", url);
    tn_put_text(builder, "token_endpoint", url);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static struct token_ask exchange_of(const struct oauth *oauth, tn_value provider) {
    struct token_ask ask = ask_of(oauth, TOKEN_EXCHANGE);
    ask.config = NULL; /* its key is for the other one */
    ask.key = NULL;
    ask.server = provider;
    ask.subject = tn_chars(value_in(oauth->config, "idp", "id_token"), NULL);
    ask.audience = tn_get_text(oauth->server, "issuer", "");
    return ask;
}

static void on_exchanged(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    struct token_fault fault;
    tn_value provider = provider_of(oauth);
    const struct token_ask ask = exchange_of(oauth, provider);
    oauth->assertion = token_read_assertion(answer, &ask, &fault);
    tn_release(provider);
    if (oauth->assertion != NULL)
        ask_for_token(oauth, tn_chars(oauth->assertion, NULL));
    else
        oauth_end(oauth, OAUTH_FAILED, fault.code, fault.why);
}

static void exchange(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    tn_value provider = provider_of(oauth),
             client = client_given(tn.value->get(oauth->config, "idp"), provider, why, sizeof why);
    struct token_ask ask = exchange_of(oauth, provider);
    ask.client = client;
    tn_value request = client != NULL ? token_request(&ask, why, sizeof why) : NULL;
    tn_release(provider);
    tn_release(client);
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_exchanged, oauth);
    else
        oauth_fail(oauth, why);
}

/* Nobody is asked: the client asks for itself. */
void oauth_acquire_alone(struct oauth *oauth) {
    const char *assertion = oauth_setting(oauth, "assertion");
    const char *grant = tn_get_text(oauth->config, "grant", "");
    if (strcmp(grant, "jwt_bearer") == 0 && assertion == NULL)
        oauth_fail(oauth, "`grant: jwt_bearer` needs `assertion`, as {secret: NAME}");
    else if (strcmp(grant, "enterprise") != 0)
        ask_for_token(oauth, assertion);
    else if (tn_chars(value_in(oauth->config, "idp", "token_url"), NULL) == NULL)
        oauth_fail(oauth, "`grant: enterprise` needs `idp`, with token_url, client_id and id_token");
    else
        exchange(oauth);
}

/* ---- Who we are ---- */

static void on_registered(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    const char *issuer = tn_get_text(oauth->server, "issuer", "?");
    char why[OAUTH_WHY_MAX];
    if (answer->code != NULL || answer->status < 200 || answer->status > 299) {
        (void)snprintf(why, sizeof why,
                       "the authorization server %.200s does not register this client (%.200s, HTTP status %lld): "
                       "register one there by hand, and say its `client_id` in `oauth` of the server in tenon.yaml",
                       issuer,
                       answer->code != NULL ? answer->why : token_error_name(tn_get_text(answer->json, "error", NULL)),
                       (long long)answer->status);
        oauth_fail(oauth, why);
        return;
    }
    tn_release(oauth->client);
    oauth->client = client_registered(answer->json, oauth->server, tn_chars(oauth->uri, NULL), why, sizeof why);
    if (oauth->client == NULL) {
        oauth_fail(oauth, why);
        return;
    }
    oauth_note(oauth, "client", tn_retain(oauth->client));
    oauth_keep(oauth);
    oauth_ask(oauth);
}

static void register_client(struct oauth *oauth) {
    const char *uri = oauth_listen(oauth, tn_get_text(oauth->config, "redirect_uri", OAUTH_REDIRECT_URI));
    tn_value body = client_registration(oauth->config, oauth->server, uri, oauth_key(oauth) != NULL);
    tn_release(oauth->uri);
    oauth->uri = tn_text(uri);
    fetch_send(&oauth->fetch,
               fetch_json(tn_get_text(oauth->server, "registration_endpoint", ""), body, "mcp-registration"),
               on_registered, oauth);
    tn_release(body);
}

void oauth_acquire(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    if (oauth->client == NULL) oauth->client = client_given(oauth->config, oauth->server, why, sizeof why);
    if (oauth->client == NULL && *why != '\0')
        oauth_fail(oauth, why);
    else if (oauth->client == NULL && !oauth->person)
        oauth_fail(oauth, "its `grant` in tenon.yaml needs a `client_id` there, too");
    else if (oauth->client == NULL)
        register_client(oauth);
    else if (oauth->person)
        oauth_ask(oauth);
    else
        oauth_acquire_alone(oauth);
}

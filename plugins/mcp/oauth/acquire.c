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
                              .scope = tn_chars(oauth->scope, NULL)};
}

static void note_search(struct oauth *oauth) {
    oauth_note(oauth, "server", tn_retain(oauth->server));
    oauth_note(oauth, "resource", tn_retain(tn.value->get(oauth->resource, "resource")));
    if (oauth->scope != NULL) oauth_note(oauth, "scope", tn_retain(oauth->scope));
}

static void on_renewed(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
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

void oauth_renew(struct oauth *oauth) {
    struct token_ask ask = ask_of(oauth, "refresh_token");
    char why[OAUTH_WHY_MAX];
    oauth->renewing = copy_text(tn_get_text(oauth_token(oauth), "refresh_token", ""));
    ask.refresh = oauth->renewing;
    ask.scope = NULL; /* all that was granted */
    tn_value request = oauth->renewing != NULL ? token_request(&ask, why, sizeof why) : NULL;
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_renewed, oauth);
    else
        oauth_fail(oauth, oauth->renewing != NULL ? why : "there is no memory left");
}

static const char *grant_name(const struct oauth *oauth) {
    const char *grant = tn_get_text(oauth->config, "grant", "authorization_code");
    return strcmp(grant, "jwt_bearer") == 0 ? TOKEN_JWT_BEARER : grant;
}

static void on_token(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
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

/* Nobody is asked: the client asks for itself. */
void oauth_acquire_alone(struct oauth *oauth) {
    struct token_ask ask = ask_of(oauth, grant_name(oauth));
    char why[OAUTH_WHY_MAX];
    ask.assertion = oauth_setting(oauth, "assertion");
    if (strcmp(ask.grant, TOKEN_JWT_BEARER) == 0 && ask.assertion == NULL) {
        oauth_fail(oauth, "`grant: jwt_bearer` needs `assertion`, as {secret: NAME}");
        return;
    }
    tn_value request = token_request(&ask, why, sizeof why);
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_token, oauth);
    else
        oauth_fail(oauth, why);
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
    tn_value body = client_registration(oauth->config, oauth->server, uri);
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

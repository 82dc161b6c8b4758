/*
 * oauth.c - the search for a token, and the requests that wait for its end.
 *
 *     refused --discovery--> [refresh] --> [registration] --> ask a person, or request a token
 *     redirect or answer of the person --> redeeming --> a token
 */
#include "challenge.h"
#include "dpop.h"
#include "oauth_internal.h"
#include "sign.h" /* in plugins/sign */
#include "token_file.h"

/* ---- Notification ---- */

static void clear_search(struct oauth *oauth) {
    tn_release(oauth->resource);
    tn_release(oauth->server);
    tn_release(oauth->challenge);
    tn_release(oauth->client);
    tn_release(oauth->scope);
    tn_release(oauth->uri);
    tn_release(oauth->assertion);
    oauth->resource = oauth->server = oauth->challenge = oauth->client = oauth->scope = oauth->uri = NULL;
    oauth->assertion = NULL;
    if (oauth->renewing != NULL) explicit_bzero(oauth->renewing, strlen(oauth->renewing));
    mcp_free(oauth->renewing);
    oauth->renewing = NULL;
    oauth->busy = oauth->stepping = false;
}

/* A notified waiter may wait again at once; it then waits for the next search. */
static void notify_waiters(void *argument) {
    struct oauth *oauth = argument;
    enum oauth_outcome outcome = oauth->outcome;
    char code[sizeof oauth->code], why[sizeof oauth->why];
    memcpy(code, oauth->code, sizeof code);
    memcpy(why, oauth->why, sizeof why);
    oauth->notify_post = 0;
    oauth->notifying = oauth->waits;
    oauth->waits = NULL;
    while (oauth->notifying != NULL) {
        struct oauth_wait *wait = oauth->notifying;
        oauth->notifying = wait->next;
        wait->waiting = false;
        wait->on_result(wait, outcome, code, why);
    }
}

/* Ends the current step. Waiters are notified unless another step is running. */
void oauth_settle(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why) {
    oauth->outcome = outcome;
    (void)snprintf(oauth->code, sizeof oauth->code, "%s", code);
    (void)snprintf(oauth->why, sizeof oauth->why, "%s", why);
    if (oauth->busy || oauth_is_redeeming(oauth)) return;
    if (oauth->notify_post == 0) oauth->notify_post = tn_post(0, notify_waiters, oauth);
}

void oauth_end(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why) {
    char copy[OAUTH_WHY_MAX];
    (void)snprintf(copy, sizeof copy, "%s", why);
    clear_search(oauth);
    oauth_settle(oauth, outcome, code, copy);
}

void oauth_fail(struct oauth *oauth, const char *why) { oauth_end(oauth, OAUTH_FAILED, "AUTH", why); }

/* ---- The search ---- */

/* Returns the scopes to request: the earlier ones and those of the challenge. The first request uses tenon.yaml, the
 * challenge, or the resource's metadata. */
static tn_value choose_scope(const struct oauth *oauth) {
    const char *wanted = tn_get_text(oauth->challenge, "scope", NULL);
    const char *before = tn_get_text(oauth->record, "scope", NULL);
    if (before == NULL) before = oauth_setting(oauth, "scope");
    if (wanted == NULL && before == NULL) wanted = tn_get_text(oauth->resource, "scope", NULL);
    if (oauth_setting(oauth, "scope") != NULL && !oauth->stepping) wanted = NULL;
    tn_value scope = scopes_join(before, wanted);
    bool offline = oauth->person && value_is_true(tn_get(oauth->server, "offline"));
    if (scope == NULL || !offline) return scope;
    tn_value longer = scopes_join(tn_chars(scope, NULL), "offline_access");
    tn_release(scope);
    return longer;
}

/* Tokens and clients of another authorization server are useless at this one and must not be shown to it. */
static bool bind_issuer(struct oauth *oauth) {
    const char *issuer = tn_get_text(oauth->server, "issuer", ""), *before = tn_get_text(oauth->record, "issuer", NULL);
    char why[OAUTH_WHY_MAX];
    if (before == NULL || strcmp(before, issuer) == 0) {
        if (before == NULL) oauth_record_set_take(oauth, "issuer", tn_text(issuer));
        return true;
    }
    if (oauth_setting(oauth, "client_id") != NULL && oauth_setting(oauth, "issuer") == NULL) {
        (void)snprintf(why, sizeof why,
                       "it requires tokens of %.200s, but its `client_id` was used with %.200s: it is not sent to an"
                       "other server; if the change is intended, set `issuer` to the new one",
                       issuer, before);
        oauth_fail(oauth, why);
        return false;
    }
    log_format(TN_LOG_WARN, "server `%s`: it now requires tokens of %s instead of %s", oauth->name, issuer, before);
    static const char *const members[] = {"client", "token", "pending", "scope", "key"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) oauth_record_set_take(oauth, members[i], NULL);
    oauth_record_set_take(oauth, "issuer", tn_text(issuer));
    oauth_set_header(oauth);
    return true;
}

/* Binds tokens to a key if the server, its metadata or tenon.yaml requires it. */
static bool bind_key(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    bool wants = value_is_true(tn_get(oauth->config, "dpop")) || value_is_true(tn_get(oauth->resource, "dpop")) ||
                 tn_get(oauth->challenge, "scheme") != NULL;
    if (!wants || oauth_key(oauth) != NULL) return true;
    if (!value_is_true(tn_get(oauth->server, "dpop"))) {
        (void)snprintf(
            why, sizeof why,
            "tokens must be bound to a key (DPoP), but the authorization server %.200s does not support keys of "
            "ES256: its `dpop_signing_alg_values_supported` does not contain it",
            tn_get_text(oauth->server, "issuer", "?"));
        oauth_fail(oauth, why);
        return false;
    }
    oauth_record_set_take(oauth, "key", sign_make_key());
    if (oauth_key(oauth) != NULL) return true;
    oauth_fail(oauth, "tokens must be bound to a key (DPoP), but none can be made: this build has no libcrypto");
    return false;
}

static void on_discovery_found(void *user, tn_value resource, tn_value server) {
    struct oauth *oauth = user;
    oauth->resource = tn_retain(resource);
    oauth->server = tn_retain(server);
    if (!bind_issuer(oauth) || !bind_key(oauth)) return;
    tn_value client = tn_get(oauth->record, "client"), token = oauth_token(oauth);
    if (oauth_setting(oauth, "client_id") == NULL && client_is_valid(client)) oauth->client = tn_retain(client);
    oauth->scope = choose_scope(oauth);
    bool renews = !oauth->stepping && oauth->person && tn_get_text(token, "refresh_token", NULL) != NULL;
    if (oauth->client == NULL && renews) {
        char why[OAUTH_WHY_MAX];
        oauth->client = client_from_config(oauth->config, server, why, sizeof why);
    }
    if (renews && oauth->client != NULL)
        oauth_renew(oauth);
    else
        oauth_acquire(oauth);
}

static void on_discovery_failed(void *user, const char *code, const char *why) {
    oauth_end(user, OAUTH_FAILED, code, why);
}

static void start_search(struct oauth *oauth) {
    struct address server;
    if (!address_read(oauth->url, &server) || !address_is_safe(&server, true)) {
        oauth_fail(oauth,
                   "it requires authentication (HTTP status 401), but its `url` is not https: tokens are not sent "
                   "over connections that others can read");
        return;
    }
    const struct discovery_options options = {.url = oauth->url,
                                              .metadata = tn_get_text(oauth->challenge, "resource_metadata", NULL),
                                              .issuer = oauth_setting(oauth, "issuer"),
                                              .person = oauth->person,
                                              .use_default_metadata = oauth->use_default_metadata};
    const struct discovery_events events = {oauth, on_discovery_found, on_discovery_failed};
    discovery_start(&oauth->discovery, &options, &events);
}

/* Restores the earlier search result, to renew a token. */
static bool restore_search(struct oauth *oauth) {
    tn_value server = tn_get(oauth->record, "server"), resource = tn_get(oauth->record, "resource");
    tn_value client = tn_get(oauth->record, "client"), scope = tn_get(oauth->record, "scope");
    char why[OAUTH_WHY_MAX];
    if (server == NULL || resource == NULL) return false;
    oauth->client = client_is_valid(client) && oauth_setting(oauth, "client_id") == NULL
                        ? tn_retain(client)
                        : client_from_config(oauth->config, server, why, sizeof why);
    if (oauth->client == NULL) return false;
    oauth->server = tn_retain(server);
    oauth->resource = tn_set_take(tn_build("{}"), "resource", tn_retain(resource));
    oauth->scope = scope != NULL ? tn_retain(scope) : NULL;
    return true;
}

static void add_waiter(struct oauth *oauth, struct oauth_wait *wait) {
    struct oauth_wait **last = &oauth->waits;
    while (*last != NULL) last = &(*last)->next;
    wait->next = NULL;
    wait->waiting = true;
    *last = wait;
}

static bool is_other_token(tn_value sent, tn_value header) {
    return header != NULL && (sent == NULL || !tn.value->equal(sent, header));
}

void oauth_refused(struct oauth *oauth, tn_value sent, int64_t status, const char *challenge, struct oauth_wait *wait) {
    tn_value parsed = challenge_read(challenge);
    const char *wanted = tn_get_text(parsed, "scope", NULL);
    char why[OAUTH_WHY_MAX];
    add_waiter(oauth, wait);
    if (oauth->busy || oauth_is_redeeming(oauth) || oauth->notify_post != 0) {
        tn_release(parsed);
        return;
    }
    (void)oauth_reload_record(oauth);
    const char *issuer = tn_get_text(oauth_token(oauth), "issuer", "?");
    bool current = sent != NULL && oauth->header != NULL && tn.value->equal(sent, oauth->header);
    oauth->busy = true;
    oauth->stepping = status == 403;
    oauth->challenge = parsed;
    bool nonce = current && challenge_needs_nonce(parsed) && oauth->server_nonce != NULL;
    if (nonce || is_other_token(sent, oauth->header)) {
        oauth_end(oauth, OAUTH_RETRY, "", "");
    } else if (status == 403 && wanted == NULL) {
        oauth_fail(oauth, "it requires more scopes than the token has (HTTP status 403), but does not state which");
    } else if (status == 403 && scopes_include(tn_get_text(oauth_token(oauth), "scope", NULL), wanted)) {
        (void)snprintf(
            why, sizeof why,
            "it requires the scope `%.200s` (HTTP status 403), but the token of %.200s has it: check the user's "
            "rights at the server",
            wanted, issuer);
        oauth_fail(oauth, why);
    } else if (status == 401 && current && !oauth->token_accepted) {
        (void)snprintf(why, sizeof why,
                       "it refused a new token of %.200s (HTTP status 401): check what that "
                       "server issues tokens for, and whether this server accepts them",
                       issuer);
        oauth_record_set_take(oauth, "token", NULL);
        oauth_set_header(oauth);
        oauth_save_record(oauth);
        oauth_fail(oauth, why);
    } else {
        start_search(oauth);
    }
}

/* ---- Before a request ---- */

static bool must_renew_soon(const struct oauth *oauth) {
    tn_value token = oauth_token(oauth);
    bool can = !oauth->person || tn_get_text(token, "refresh_token", NULL) != NULL;
    return token != NULL && can && tn.core->wall_ms(tn.host) >= tn_get_int(token, "renew_at", 0);
}

tn_value oauth_header(struct oauth *oauth) {
    if (oauth->header != NULL && tn_get_int(oauth_token(oauth), "expires_at", 0) <= tn.core->wall_ms(tn.host))
        oauth_set_header(oauth);
    return oauth->header;
}

tn_value oauth_proof(const struct oauth *oauth, const char *method) {
    tn_value token = oauth_token(oauth);
    if (oauth->header == NULL || !value_is_true(tn_get(token, "dpop"))) return NULL;
    return dpop_make_proof(oauth_key(oauth), method, oauth->url, tn_get_text(token, "access_token", ""),
                           oauth->server_nonce);
}

void oauth_store_nonce(struct oauth *oauth, tn_value headers) {
    const char *nonce = dpop_read_nonce(headers);
    if (nonce == NULL) return;
    mcp_free(oauth->server_nonce);
    oauth->server_nonce = copy_text(nonce);
}

bool oauth_is_ready(const struct oauth *oauth) {
    if (oauth->busy || oauth_is_redeeming(oauth)) return false;
    return !must_renew_soon(oauth);
}

void oauth_wait(struct oauth *oauth, struct oauth_wait *wait) {
    add_waiter(oauth, wait);
    if (oauth->busy || oauth_is_redeeming(oauth) || oauth->notify_post != 0) return;
    oauth->busy = true;
    if ((oauth_reload_record(oauth) && oauth->header != NULL && !must_renew_soon(oauth)) || !must_renew_soon(oauth))
        oauth_end(oauth, OAUTH_RETRY, "", "");
    else if (!restore_search(oauth))
        start_search(oauth);
    else if (oauth->person)
        oauth_renew(oauth);
    else
        oauth_request_token(oauth);
}

void oauth_accepted(struct oauth *oauth) {
    if (oauth->header != NULL) oauth->token_accepted = true;
}

void oauth_cancel(struct oauth *oauth, struct oauth_wait *wait) {
    if (!wait->waiting) return;
    struct oauth_wait **lists[] = {&oauth->waits, &oauth->notifying};
    for (size_t i = 0; i < 2; i++) {
        struct oauth_wait **at = lists[i];
        while (*at != NULL && *at != wait) at = &(*at)->next;
        if (*at != NULL) *at = wait->next;
    }
    wait->waiting = false;
}

/* ---- Life ---- */

struct oauth *oauth_new(const struct oauth_options *options) {
    struct oauth *oauth = mcp_alloc(sizeof *oauth);
    if (oauth == NULL) return NULL;
    const char *grant = tn_get_text(options->config, "grant", "authorization_code");
    oauth->name = copy_text(options->name);
    oauth->url = copy_text(options->url);
    oauth->config = options->config != NULL ? tn_retain(options->config) : NULL;
    oauth->person = strcmp(grant, "authorization_code") == 0;
    oauth->use_default_metadata = options->oldest;
    oauth->record = tn_build("{}");
    if (options->keeps && oauth->person)
        oauth->file = token_file_path(options->folder, options->url, oauth_setting(oauth, "client_id"));
    if (oauth->name != NULL && oauth->url != NULL && oauth->record != NULL) {
        (void)oauth_reload_record(oauth);
        return oauth;
    }
    oauth_free(oauth);
    return NULL;
}

void oauth_free(struct oauth *oauth) {
    if (oauth == NULL) return;
    discovery_cancel(&oauth->discovery);
    fetch_cancel(&oauth->fetch);
    fetch_cancel(&oauth->redeem);
    oauth_stop_listening(oauth);
    if (oauth->notify_post != 0) (void)tn.core->unpost(tn.host, oauth->notify_post);
    if (oauth->redirect_post != 0) (void)tn.core->unpost(tn.host, oauth->redirect_post);
    clear_search(oauth);
    tn_release(oauth->redeemed);
    tn_release(oauth->returned_code);
    tn_release(oauth->config);
    tn_release(oauth->record);
    tn_release(oauth->header);
    mcp_free(oauth->nonce);
    mcp_free(oauth->server_nonce);
    mcp_free(oauth->failure);
    mcp_free(oauth->file);
    mcp_free(oauth->url);
    mcp_free(oauth->name);
    mcp_free(oauth);
}

/*
 * oauth.c - the search for a token, and whoever waits for its end.
 *
 *     refused --discovery--> [refresh] --> [registration] --> a person is asked, or a token endpoint is
 *     a redirect, or an answer --> redeeming --> a token
 */
#include "challenge.h"
#include "dpop.h"
#include "keep.h"
#include "oauth_internal.h"
#include "sign.h" /* of plugins/sign */

/* ---- Telling ---- */

static void forget_search(struct oauth *oauth) {
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
    give(oauth->renewing);
    oauth->renewing = NULL;
    oauth->busy = oauth->stepping = false;
}

/* Whoever is told may come again at once: that is for the next time. */
static void tell(void *argument) {
    struct oauth *oauth = argument;
    enum oauth_outcome outcome = oauth->outcome;
    char code[sizeof oauth->code], why[sizeof oauth->why];
    memcpy(code, oauth->code, sizeof code);
    memcpy(why, oauth->why, sizeof why);
    oauth->telling = 0;
    oauth->told = oauth->waits;
    oauth->waits = NULL;
    while (oauth->told != NULL) {
        struct oauth_wait *wait = oauth->told;
        oauth->told = wait->next;
        wait->waiting = false;
        wait->told(wait, outcome, code, why);
    }
}

/* The end of whatever was under way; where something else still is, that will tell. */
void oauth_settle(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why) {
    oauth->outcome = outcome;
    (void)snprintf(oauth->code, sizeof oauth->code, "%s", code);
    (void)snprintf(oauth->why, sizeof oauth->why, "%s", why);
    if (oauth->busy || oauth_redeeming(oauth)) return;
    if (oauth->telling == 0) oauth->telling = tn.core->post(tn.host, 0, tell, oauth);
}

void oauth_end(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why) {
    char copy[OAUTH_WHY_MAX];
    (void)snprintf(copy, sizeof copy, "%s", why);
    forget_search(oauth);
    oauth_settle(oauth, outcome, code, copy);
}

void oauth_fail(struct oauth *oauth, const char *why) { oauth_end(oauth, OAUTH_FAILED, "AUTH", why); }

/* ---- The search ---- */

/* What is asked for: what was asked for before, and what the challenge wants; at first what tenon.yaml says, or the
 * challenge, or the resource's metadata. */
static tn_value scope_for(const struct oauth *oauth) {
    const char *wanted = tn_get_text(oauth->challenge, "scope", NULL);
    const char *before = tn_get_text(oauth->record, "scope", NULL);
    if (before == NULL) before = oauth_setting(oauth, "scope");
    if (wanted == NULL && before == NULL) wanted = tn_get_text(oauth->resource, "scope", NULL);
    if (oauth_setting(oauth, "scope") != NULL && !oauth->stepping) wanted = NULL;
    tn_value scope = scopes_join(before, wanted);
    bool offline = oauth->person && value_true(tn.value->get(oauth->server, "offline"));
    if (scope == NULL || !offline) return scope;
    tn_value longer = scopes_join(tn_chars(scope, NULL), "offline_access");
    tn_release(scope);
    return longer;
}

/* What was got from another authorization server is of no use at this one, and not shown to it. */
static bool bind_issuer(struct oauth *oauth) {
    const char *issuer = tn_get_text(oauth->server, "issuer", ""), *before = tn_get_text(oauth->record, "issuer", NULL);
    char why[OAUTH_WHY_MAX];
    if (before == NULL || strcmp(before, issuer) == 0) {
        if (before == NULL) oauth_note(oauth, "issuer", tn_text(issuer));
        return true;
    }
    if (oauth_setting(oauth, "client_id") != NULL && oauth_setting(oauth, "issuer") == NULL) {
        (void)snprintf(why, sizeof why,
                       "it wants tokens of %.200s, and its `client_id` was used with %.200s so far: it is sent to no "
                       "other; where that is right, say the new one as `issuer`",
                       issuer, before);
        oauth_fail(oauth, why);
        return false;
    }
    say(TN_LOG_WARN, "server `%s`: it wants tokens of %s now, and not of %s any more", oauth->name, issuer, before);
    static const char *const members[] = {"client", "token", "pending", "scope", "key"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) oauth_note(oauth, members[i], NULL);
    oauth_note(oauth, "issuer", tn_text(issuer));
    oauth_set_header(oauth);
    return true;
}

/* Tokens are bound to a key of ours where the server, its metadata or tenon.yaml wants that. */
static bool bind_key(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    bool wants = value_true(tn.value->get(oauth->config, "dpop")) ||
                 value_true(tn.value->get(oauth->resource, "dpop")) ||
                 tn.value->get(oauth->challenge, "scheme") != NULL;
    if (!wants || oauth_key(oauth) != NULL) return true;
    if (!value_true(tn.value->get(oauth->server, "dpop"))) {
        (void)snprintf(
            why, sizeof why,
            "tokens are to be bound to a key (DPoP), and the authorization server %.200s does not bind any to "
            "one of ES256: its `dpop_signing_alg_values_supported` does not have that",
            tn_get_text(oauth->server, "issuer", "?"));
        oauth_fail(oauth, why);
        return false;
    }
    oauth_note(oauth, "key", sign_new_key());
    if (oauth_key(oauth) != NULL) return true;
    oauth_fail(oauth, "tokens are to be bound to a key (DPoP), and none can be made: this build has no libcrypto");
    return false;
}

static void on_found(void *user, tn_value resource, tn_value server) {
    struct oauth *oauth = user;
    oauth->resource = tn_retain(resource);
    oauth->server = tn_retain(server);
    if (!bind_issuer(oauth) || !bind_key(oauth)) return;
    tn_value client = tn.value->get(oauth->record, "client"), token = oauth_token(oauth);
    if (oauth_setting(oauth, "client_id") == NULL && client_is_good(client)) oauth->client = tn_retain(client);
    oauth->scope = scope_for(oauth);
    bool renews = !oauth->stepping && oauth->person && tn_get_text(token, "refresh_token", NULL) != NULL;
    if (oauth->client == NULL && renews) {
        char why[OAUTH_WHY_MAX];
        oauth->client = client_given(oauth->config, server, why, sizeof why);
    }
    if (renews && oauth->client != NULL)
        oauth_renew(oauth);
    else
        oauth_acquire(oauth);
}

static void on_not_found(void *user, const char *code, const char *why) { oauth_end(user, OAUTH_FAILED, code, why); }

static void search(struct oauth *oauth) {
    struct address server;
    if (!address_read(oauth->url, &server) || !address_is_safe(&server, true)) {
        oauth_fail(oauth,
                   "it wants to know who asks (HTTP status 401), and its `url` is not https: a token is not sent "
                   "where others can read it");
        return;
    }
    const struct discovery_options options = {.url = oauth->url,
                                              .metadata = tn_get_text(oauth->challenge, "resource_metadata", NULL),
                                              .issuer = oauth_setting(oauth, "issuer"),
                                              .person = oauth->person,
                                              .guesses = oauth->guesses};
    const struct discovery_events events = {oauth, on_found, on_not_found};
    discovery_start(&oauth->discovery, &options, &events);
}

/* What was found before, for a token that is only to be made new. */
static bool recall(struct oauth *oauth) {
    tn_value server = tn.value->get(oauth->record, "server"), resource = tn.value->get(oauth->record, "resource");
    tn_value client = tn.value->get(oauth->record, "client"), scope = tn.value->get(oauth->record, "scope");
    char why[OAUTH_WHY_MAX];
    if (server == NULL || resource == NULL) return false;
    oauth->client = client_is_good(client) && oauth_setting(oauth, "client_id") == NULL
                        ? tn_retain(client)
                        : client_given(oauth->config, server, why, sizeof why);
    if (oauth->client == NULL) return false;
    oauth->server = tn_retain(server);
    oauth->resource = with_take(empty_object(), "resource", tn_retain(resource));
    oauth->scope = scope != NULL ? tn_retain(scope) : NULL;
    return true;
}

static void begin_waiting(struct oauth *oauth, struct oauth_wait *wait) {
    struct oauth_wait **last = &oauth->waits;
    while (*last != NULL) last = &(*last)->next;
    wait->next = NULL;
    wait->waiting = true;
    *last = wait;
}

static bool is_other(tn_value sent, tn_value header) {
    return header != NULL && (sent == NULL || !tn.value->equal(sent, header));
}

void oauth_refused(struct oauth *oauth, tn_value sent, int64_t status, const char *challenge, struct oauth_wait *wait) {
    tn_value said = challenge_read(challenge);
    const char *wanted = tn_get_text(said, "scope", NULL);
    char why[OAUTH_WHY_MAX];
    begin_waiting(oauth, wait);
    if (oauth->busy || oauth_redeeming(oauth) || oauth->telling != 0) {
        tn_release(said);
        return;
    }
    (void)oauth_read_again(oauth);
    const char *issuer = tn_get_text(oauth_token(oauth), "issuer", "?");
    bool current = sent != NULL && oauth->header != NULL && tn.value->equal(sent, oauth->header);
    oauth->busy = true;
    oauth->stepping = status == 403;
    oauth->challenge = said;
    bool nonce = current && challenge_wants_nonce(said) && oauth->server_nonce != NULL;
    if (nonce || is_other(sent, oauth->header)) {
        oauth_end(oauth, OAUTH_GO, "", "");
    } else if (status == 403 && wanted == NULL) {
        oauth_fail(oauth, "it wants more scopes than the token has (HTTP status 403), and does not say which");
    } else if (status == 403 && scopes_have(tn_get_text(oauth_token(oauth), "scope", NULL), wanted)) {
        (void)snprintf(why, sizeof why,
                       "it wants the scope `%.200s` (HTTP status 403), and the token of %.200s has it: look at who may "
                       "do that there",
                       wanted, issuer);
        oauth_fail(oauth, why);
    } else if (status == 401 && current && !oauth->proven) {
        (void)snprintf(why, sizeof why,
                       "it does not take the token that %.200s has just given (HTTP status 401): look at what that "
                       "server gives tokens for, and whether this one believes it",
                       issuer);
        oauth_note(oauth, "token", NULL);
        oauth_set_header(oauth);
        oauth_keep(oauth);
        oauth_fail(oauth, why);
    } else {
        search(oauth);
    }
}

/* ---- Before a request ---- */

static bool renews_soon(const struct oauth *oauth) {
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
    if (oauth->header == NULL || !value_true(tn.value->get(token, "dpop"))) return NULL;
    return dpop_proof(oauth_key(oauth), method, oauth->url, tn_get_text(token, "access_token", ""),
                      oauth->server_nonce);
}

void oauth_heard(struct oauth *oauth, tn_value headers) {
    const char *nonce = dpop_nonce(headers);
    if (nonce == NULL) return;
    give(oauth->server_nonce);
    oauth->server_nonce = copy_text(nonce);
}

bool oauth_ready(const struct oauth *oauth) {
    if (oauth->busy || oauth_redeeming(oauth)) return false;
    return !renews_soon(oauth);
}

void oauth_wait(struct oauth *oauth, struct oauth_wait *wait) {
    begin_waiting(oauth, wait);
    if (oauth->busy || oauth_redeeming(oauth) || oauth->telling != 0) return;
    oauth->busy = true;
    if ((oauth_read_again(oauth) && oauth->header != NULL && !renews_soon(oauth)) || !renews_soon(oauth))
        oauth_end(oauth, OAUTH_GO, "", "");
    else if (!recall(oauth))
        search(oauth);
    else if (oauth->person)
        oauth_renew(oauth);
    else
        oauth_acquire_alone(oauth);
}

void oauth_accepted(struct oauth *oauth) {
    if (oauth->header != NULL) oauth->proven = true;
}

void oauth_cancel(struct oauth *oauth, struct oauth_wait *wait) {
    if (!wait->waiting) return;
    struct oauth_wait **lists[] = {&oauth->waits, &oauth->told};
    for (size_t i = 0; i < 2; i++) {
        struct oauth_wait **at = lists[i];
        while (*at != NULL && *at != wait) at = &(*at)->next;
        if (*at != NULL) *at = wait->next;
    }
    wait->waiting = false;
}

/* ---- Life ---- */

struct oauth *oauth_new(const struct oauth_options *options) {
    struct oauth *oauth = take(sizeof *oauth);
    if (oauth == NULL) return NULL;
    const char *grant = tn_get_text(options->config, "grant", "authorization_code");
    oauth->name = copy_text(options->name);
    oauth->url = copy_text(options->url);
    oauth->config = options->config != NULL ? tn_retain(options->config) : NULL;
    oauth->person = strcmp(grant, "authorization_code") == 0;
    oauth->guesses = options->oldest;
    oauth->record = empty_object();
    if (options->keeps && oauth->person)
        oauth->file = keep_file(options->folder, options->url, oauth_setting(oauth, "client_id"));
    if (oauth->name != NULL && oauth->url != NULL && oauth->record != NULL) {
        (void)oauth_read_again(oauth);
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
    oauth_rest(oauth);
    if (oauth->telling != 0) (void)tn.core->unpost(tn.host, oauth->telling);
    if (oauth->back != 0) (void)tn.core->unpost(tn.host, oauth->back);
    forget_search(oauth);
    tn_release(oauth->redeemed);
    tn_release(oauth->brought);
    tn_release(oauth->config);
    tn_release(oauth->record);
    tn_release(oauth->header);
    give(oauth->nonce);
    give(oauth->server_nonce);
    give(oauth->failure);
    give(oauth->file);
    give(oauth->url);
    give(oauth->name);
    give(oauth);
}

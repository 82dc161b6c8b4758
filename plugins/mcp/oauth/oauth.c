/*
 * oauth.c - one search for a token: who gives them, who we are there, and by which grant; and what a person brings
 * back.
 *
 *     refused --discovery--> [refresh] --> [registration] --> a person is asked, or a token endpoint is
 *     a redirect, or an answer --> redeeming --> a token
 *
 * `record` is what is kept: {issuer, resource?, server?, scope?, client?, token?, pending?}. It is read again before
 * anything is done by it, since another process may have been luckier.
 */
#include "oauth.h"
#include "challenge.h"
#include "discovery.h"
#include "keep.h"
#include "listener.h"
#include "metadata.h"
#include "person.h"
#include "token.h"

#define REDIRECT_URI "http://127.0.0.1/callback"

struct oauth {
    char *name, *url, *file; /* file NULL: kept in memory alone */
    tn_value config, record, header;
    bool person, guesses;
    bool proven; /* the token has been taken by the server, or was when it was kept */
    /* The search. */
    bool busy, stepping;
    struct discovery discovery;
    struct fetch fetch;
    tn_value resource, server; /* as found */
    tn_value challenge;
    tn_value client; /* that asks */
    tn_value scope;  /* that is asked for; may be NULL */
    tn_value uri;    /* that is registered */
    char *renewing;  /* the refresh token that was sent */
    /* A person. */
    struct listener *listener;
    uint64_t closing; /* its end; a posted call */
    struct fetch redeem;
    tn_value redeemed; /* what was pending */
    uint64_t back;     /* the browser is waited for; a posted call */
    char *failure;     /* what became of the last one that came back; NULL: good, or nothing yet */
    /* The end of it, which is told by a posted call. */
    uint64_t telling;
    enum oauth_outcome outcome;
    char code[32];
    char why[OAUTH_WHY_MAX];
    struct oauth_wait *waits, *told;
};

/* ---- The record ---- */

static tn_value token_of(const struct oauth *oauth) { return tn.value->get(oauth->record, "token"); }
static tn_value pending_of(const struct oauth *oauth) { return tn.value->get(oauth->record, "pending"); }
static const char *in_config(const struct oauth *oauth, const char *name) {
    return tn_get_text(oauth->config, name, NULL);
}

static void set_header(struct oauth *oauth) {
    tn_release(oauth->header);
    oauth->header = token_header(token_of(oauth), tn.core->wall_ms(tn.host));
}

/* Another token is there than was. */
static bool adopt(struct oauth *oauth, tn_value record) { /* takes it */
    tn_value before = token_of(oauth), now = tn.value->get(record, "token");
    bool other = now != NULL && (before == NULL || !tn.value->equal(before, now));
    if (record == NULL) return false;
    tn_release(oauth->record);
    oauth->record = record;
    if (other) oauth->proven = true;
    set_header(oauth);
    return other;
}

static bool read_again(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    tn_value record = oauth->file != NULL ? keep_read(oauth->file, why, sizeof why) : NULL;
    if (record == NULL && oauth->file != NULL && *why != '\0') {
        say(TN_LOG_WARN, "server `%s`: %s", oauth->name, why);
        give(oauth->file);
        oauth->file = NULL;
    }
    return adopt(oauth, record);
}

static void keep(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    if (oauth->file == NULL || keep_write(oauth->file, oauth->record, why, sizeof why)) return;
    say(TN_LOG_WARN, "server `%s`: its tokens are kept in memory alone: %s", oauth->name, why);
    give(oauth->file);
    oauth->file = NULL;
}

/* A member of the record; NULL takes it out. Takes the value. */
static void note(struct oauth *oauth, const char *name, tn_value value) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(oauth->record); i < count; i++) {
        tn_value key, member;
        if (tn.value->entry(oauth->record, i, &key, &member) != TN_OK) break;
        if (!value_is(key, name)) tn_put(builder, tn_chars(key, NULL), member);
    }
    if (value != NULL) tn_put_take(builder, name, value);
    tn.value->end(builder);
    tn_value made = tn.value->finish(builder);
    if (made == NULL) return;
    tn_release(oauth->record);
    oauth->record = made;
}

/* ---- Telling ---- */

static void forget_search(struct oauth *oauth) {
    tn_release(oauth->resource);
    tn_release(oauth->server);
    tn_release(oauth->challenge);
    tn_release(oauth->client);
    tn_release(oauth->scope);
    tn_release(oauth->uri);
    oauth->resource = oauth->server = oauth->challenge = oauth->client = oauth->scope = oauth->uri = NULL;
    if (oauth->renewing != NULL) explicit_bzero(oauth->renewing, strlen(oauth->renewing));
    give(oauth->renewing);
    oauth->renewing = NULL;
    oauth->busy = oauth->stepping = false;
}

static bool redeeming(const struct oauth *oauth) { return oauth->redeemed != NULL || oauth->back != 0; }

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
static void end(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why) {
    oauth->outcome = outcome;
    (void)snprintf(oauth->code, sizeof oauth->code, "%s", code);
    (void)snprintf(oauth->why, sizeof oauth->why, "%s", why);
    if (oauth->busy || redeeming(oauth)) return;
    if (oauth->telling == 0) oauth->telling = tn.core->post(tn.host, 0, tell, oauth);
}

static void end_search(struct oauth *oauth, enum oauth_outcome outcome, const char *code, const char *why) {
    char copy[OAUTH_WHY_MAX];
    (void)snprintf(copy, sizeof copy, "%s", why);
    forget_search(oauth);
    end(oauth, outcome, code, copy);
}

static void fail(struct oauth *oauth, const char *why) { end_search(oauth, OAUTH_FAILED, "AUTH", why); }

/* ---- Tokens ---- */

static void take_token(struct oauth *oauth, tn_value token) { /* takes it */
    note(oauth, "token", token);
    oauth->proven = false;
    set_header(oauth);
}

static struct token_ask ask_of(const struct oauth *oauth, const char *grant) {
    return (struct token_ask){.grant = grant,
                              .client = oauth->client,
                              .server = oauth->server,
                              .config = oauth->config,
                              .resource = tn_get_text(oauth->resource, "resource", ""),
                              .scope = tn_chars(oauth->scope, NULL)};
}

static void acquire(struct oauth *oauth);

static void note_search(struct oauth *oauth) {
    note(oauth, "server", tn_retain(oauth->server));
    note(oauth, "resource", tn_retain(tn.value->get(oauth->resource, "resource")));
    if (oauth->scope != NULL) note(oauth, "scope", tn_retain(oauth->scope));
}

/* The client that was registered is not known there any more: the next time it is registered anew. */
static void mind(struct oauth *oauth, const struct token_fault *fault) {
    if (fault->stranger) note(oauth, "client", NULL);
}

static void on_renewed(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    struct token_ask ask = ask_of(oauth, "refresh_token");
    struct token_fault fault;
    ask.refresh = oauth->renewing;
    ask.scope = tn_get_text(token_of(oauth), "scope", NULL);
    tn_value token = token_read(answer, &ask, &fault);
    if (token != NULL) {
        take_token(oauth, token);
        keep(oauth);
        end_search(oauth, OAUTH_GO, "", "");
    } else if (!fault.final) {
        end_search(oauth, OAUTH_FAILED, fault.code, fault.why); /* it may be good yet */
    } else if (read_again(oauth) && oauth->header != NULL) {
        end_search(oauth, OAUTH_GO, "", ""); /* another process has used it up, and left the next one */
    } else {
        say(TN_LOG_INFO, "server `%s`: its token cannot be renewed: %s", oauth->name, fault.why);
        mind(oauth, &fault);
        if (fault.stranger && in_config(oauth, "client_id") == NULL) {
            tn_release(oauth->client);
            oauth->client = NULL;
        }
        take_token(oauth, NULL);
        keep(oauth);
        acquire(oauth);
    }
}

static void renew(struct oauth *oauth) {
    struct token_ask ask = ask_of(oauth, "refresh_token");
    char why[OAUTH_WHY_MAX];
    oauth->renewing = copy_text(tn_get_text(token_of(oauth), "refresh_token", ""));
    ask.refresh = oauth->renewing;
    ask.scope = NULL; /* all that was granted */
    tn_value request = oauth->renewing != NULL ? token_request(&ask, why, sizeof why) : NULL;
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_renewed, oauth);
    else
        fail(oauth, oauth->renewing != NULL ? why : "there is no memory left");
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
        end_search(oauth, OAUTH_FAILED, fault.code, fault.why);
        return;
    }
    take_token(oauth, token);
    note_search(oauth);
    end_search(oauth, OAUTH_GO, "", "");
}

/* Nobody is asked: the client asks for itself. */
static void acquire_alone(struct oauth *oauth) {
    struct token_ask ask = ask_of(oauth, grant_name(oauth));
    char why[OAUTH_WHY_MAX];
    ask.assertion = in_config(oauth, "assertion");
    if (strcmp(ask.grant, TOKEN_JWT_BEARER) == 0 && ask.assertion == NULL) {
        fail(oauth, "`grant: jwt_bearer` needs `assertion`, as {secret: NAME}");
        return;
    }
    tn_value request = token_request(&ask, why, sizeof why);
    if (request != NULL)
        fetch_send(&oauth->fetch, request, on_token, oauth);
    else
        fail(oauth, why);
}

/* ---- A person ---- */

static void no_listener(struct oauth *oauth) {
    if (oauth->closing != 0) (void)tn.core->unpost(tn.host, oauth->closing);
    oauth->closing = 0;
    listener_free(oauth->listener);
    oauth->listener = NULL;
}

static bool on_came(void *user, const char *query);

static void too_late(void *argument) {
    struct oauth *oauth = argument;
    oauth->closing = 0;
    no_listener(oauth);
}

/* Where the browser is to come back to: listened to where that can be. Borrowed. */
static const char *open_listener(struct oauth *oauth, const char *wanted) {
    const struct listener_events events = {oauth, on_came};
    const char *open = oauth->listener != NULL ? tn_chars(listener_uri(oauth->listener), NULL) : NULL;
    if (open != NULL && strcmp(open, wanted) == 0) return open;
    no_listener(oauth);
    oauth->listener = listener_new(wanted, &events);
    if (oauth->listener != NULL) oauth->closing = tn.core->post(tn.host, OAUTH_PENDING_MS, too_late, oauth);
    return oauth->listener != NULL ? tn_chars(listener_uri(oauth->listener), NULL) : wanted;
}

static void ask_person(struct oauth *oauth) {
    tn_value pending = pending_of(oauth);
    const char *resource = tn_get_text(oauth->resource, "resource", ""), *scope = tn_chars(oauth->scope, NULL);
    const char *bound = tn_get_text(oauth->client, "redirect_uri", NULL);
    char why[OAUTH_WHY_MAX];
    if (person_is(pending, oauth->client, oauth->server, resource, scope)) {
        (void)open_listener(oauth, tn_get_text(pending, "redirect_uri", ""));
    } else {
        if (bound == NULL) bound = tn_get_text(oauth->config, "redirect_uri", REDIRECT_URI);
        tn_value made = person_begin(oauth->client, oauth->server, resource, scope, open_listener(oauth, bound));
        if (made == NULL) {
            fail(oauth, "a person cannot be asked: this build has no libcrypto, or there is no memory left");
            return;
        }
        give(oauth->failure);
        oauth->failure = NULL;
        note(oauth, "pending", made);
        keep(oauth);
    }
    (void)snprintf(why, sizeof why,
                   "it wants the permission of a person, by %.200s; ask for it with the tool `mcp.servers` and "
                   "{connect: \"%.64s\"}",
                   tn_get_text(oauth->server, "issuer", "?"), oauth->name);
    end_search(oauth, OAUTH_ASK, OAUTH_NEEDED, why);
}

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
        fail(oauth, why);
        return;
    }
    tn_release(oauth->client);
    oauth->client = client_registered(answer->json, oauth->server, tn_chars(oauth->uri, NULL), why, sizeof why);
    if (oauth->client == NULL) {
        fail(oauth, why);
        return;
    }
    note(oauth, "client", tn_retain(oauth->client));
    keep(oauth);
    ask_person(oauth);
}

static void register_client(struct oauth *oauth) {
    const char *uri = open_listener(oauth, tn_get_text(oauth->config, "redirect_uri", REDIRECT_URI));
    tn_value body = client_registration(oauth->config, oauth->server, uri);
    tn_release(oauth->uri);
    oauth->uri = tn_text(uri);
    fetch_send(&oauth->fetch,
               fetch_json(tn_get_text(oauth->server, "registration_endpoint", ""), body, "mcp-registration"),
               on_registered, oauth);
    tn_release(body);
}

static void acquire(struct oauth *oauth) {
    char why[OAUTH_WHY_MAX];
    if (oauth->client == NULL) oauth->client = client_given(oauth->config, oauth->server, why, sizeof why);
    if (oauth->client == NULL && *why != '\0')
        fail(oauth, why);
    else if (oauth->client == NULL && !oauth->person)
        fail(oauth, "its `grant` in tenon.yaml needs a `client_id` there, too");
    else if (oauth->client == NULL)
        register_client(oauth);
    else if (oauth->person)
        ask_person(oauth);
    else
        acquire_alone(oauth);
}

/* ---- The search ---- */

/* What is asked for: what was asked for before, and what the challenge wants; at first what tenon.yaml says, or the
 * challenge, or the resource's metadata. */
static tn_value scope_for(const struct oauth *oauth) {
    const char *wanted = tn_get_text(oauth->challenge, "scope", NULL);
    const char *before = tn_get_text(oauth->record, "scope", NULL);
    if (before == NULL) before = in_config(oauth, "scope");
    if (wanted == NULL && before == NULL) wanted = tn_get_text(oauth->resource, "scope", NULL);
    if (in_config(oauth, "scope") != NULL && !oauth->stepping) wanted = NULL;
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
        if (before == NULL) note(oauth, "issuer", tn_text(issuer));
        return true;
    }
    if (in_config(oauth, "client_id") != NULL && in_config(oauth, "issuer") == NULL) {
        (void)snprintf(why, sizeof why,
                       "it wants tokens of %.200s, and its `client_id` was used with %.200s so far: it is sent to no "
                       "other; where that is right, say the new one as `issuer`",
                       issuer, before);
        fail(oauth, why);
        return false;
    }
    say(TN_LOG_WARN, "server `%s`: it wants tokens of %s now, and not of %s any more", oauth->name, issuer, before);
    static const char *const members[] = {"client", "token", "pending", "scope"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) note(oauth, members[i], NULL);
    note(oauth, "issuer", tn_text(issuer));
    set_header(oauth);
    return true;
}

static void on_found(void *user, tn_value resource, tn_value server) {
    struct oauth *oauth = user;
    oauth->resource = tn_retain(resource);
    oauth->server = tn_retain(server);
    if (!bind_issuer(oauth)) return;
    tn_value client = tn.value->get(oauth->record, "client"), token = token_of(oauth);
    if (in_config(oauth, "client_id") == NULL && client_is_good(client)) oauth->client = tn_retain(client);
    oauth->scope = scope_for(oauth);
    bool renews = !oauth->stepping && oauth->person && tn_get_text(token, "refresh_token", NULL) != NULL;
    if (oauth->client == NULL && renews) {
        char why[OAUTH_WHY_MAX];
        oauth->client = client_given(oauth->config, server, why, sizeof why);
    }
    if (renews && oauth->client != NULL)
        renew(oauth);
    else
        acquire(oauth);
}

static void on_not_found(void *user, const char *code, const char *why) { end_search(user, OAUTH_FAILED, code, why); }

static void search(struct oauth *oauth) {
    const struct discovery_options options = {.url = oauth->url,
                                              .metadata = tn_get_text(oauth->challenge, "resource_metadata", NULL),
                                              .issuer = in_config(oauth, "issuer"),
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
    oauth->client = client_is_good(client) && in_config(oauth, "client_id") == NULL
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
    if (oauth->busy || redeeming(oauth) || oauth->telling != 0) {
        tn_release(said);
        return;
    }
    (void)read_again(oauth);
    const char *issuer = tn_get_text(token_of(oauth), "issuer", "?");
    bool current = sent != NULL && oauth->header != NULL && tn.value->equal(sent, oauth->header);
    oauth->busy = true;
    oauth->stepping = status == 403;
    oauth->challenge = said;
    if (is_other(sent, oauth->header)) {
        end_search(oauth, OAUTH_GO, "", "");
    } else if (status == 403 && scopes_have(tn_get_text(token_of(oauth), "scope", NULL), wanted)) {
        (void)snprintf(why, sizeof why,
                       "it wants the scope `%.200s` (HTTP status 403), and the token of %.200s has it: look at who may "
                       "do that there",
                       wanted != NULL ? wanted : "", issuer);
        fail(oauth, why);
    } else if (status == 401 && current && !oauth->proven) {
        (void)snprintf(why, sizeof why,
                       "it does not take the token that %.200s has just given (HTTP status 401): look at what that "
                       "server gives tokens for, and whether this one believes it",
                       issuer);
        note(oauth, "token", NULL);
        set_header(oauth);
        keep(oauth);
        fail(oauth, why);
    } else {
        search(oauth);
    }
}

/* ---- Before a request ---- */

static bool renews_soon(const struct oauth *oauth) {
    tn_value token = token_of(oauth);
    bool can = !oauth->person || tn_get_text(token, "refresh_token", NULL) != NULL;
    return token != NULL && can && tn.core->wall_ms(tn.host) >= tn_get_int(token, "renew_at", 0);
}

tn_value oauth_header(struct oauth *oauth) {
    if (oauth->header != NULL && tn_get_int(token_of(oauth), "expires_at", 0) <= tn.core->wall_ms(tn.host))
        set_header(oauth);
    return oauth->header;
}

bool oauth_ready(const struct oauth *oauth) {
    if (oauth->busy || redeeming(oauth)) return false;
    return !renews_soon(oauth);
}

void oauth_wait(struct oauth *oauth, struct oauth_wait *wait) {
    begin_waiting(oauth, wait);
    if (oauth->busy || redeeming(oauth) || oauth->telling != 0) return;
    oauth->busy = true;
    if ((read_again(oauth) && oauth->header != NULL && !renews_soon(oauth)) || !renews_soon(oauth))
        end_search(oauth, OAUTH_GO, "", "");
    else if (!recall(oauth))
        search(oauth);
    else if (oauth->person)
        renew(oauth);
    else
        acquire_alone(oauth);
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

/* ---- What a person brings back ---- */

static void on_redeemed(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    tn_value pending = oauth->redeemed;
    const struct token_ask ask = {.server = tn.value->get(pending, "server"),
                                  .scope = tn_get_text(pending, "scope", NULL)};
    struct token_fault fault;
    tn_value token = token_read(answer, &ask, &fault);
    oauth->redeemed = NULL;
    no_listener(oauth);
    note(oauth, "pending", NULL);
    if (token != NULL) {
        take_token(oauth, token);
        note(oauth, "client", tn_retain(tn.value->get(pending, "client")));
        note(oauth, "server", tn_retain(tn.value->get(pending, "server")));
        note(oauth, "resource", tn_retain(tn.value->get(pending, "resource")));
        if (ask.scope != NULL) note(oauth, "scope", tn_text(ask.scope));
    } else {
        note(oauth, "scope", NULL); /* it may be that which was wrong */
        mind(oauth, &fault);
        oauth->failure = copy_text(fault.why);
    }
    keep(oauth);
    tn_release(pending);
    end(oauth, token != NULL ? OAUTH_GO : OAUTH_FAILED, token != NULL ? "" : fault.code, fault.why);
}

static bool came(struct oauth *oauth, const char *query, char *why, size_t size) {
    tn_value pending = pending_of(oauth);
    bool ours = false;
    if (pending == NULL || oauth->redeemed != NULL || !person_is_young(pending)) {
        (void)snprintf(why, size, "nobody is expected back any more; begin again");
        return false;
    }
    tn_value code = person_code(pending, query, &ours, why, size);
    const struct token_ask ask = {.grant = "authorization_code",
                                  .client = tn.value->get(pending, "client"),
                                  .server = tn.value->get(pending, "server"),
                                  .config = oauth->config,
                                  .resource = tn_get_text(pending, "resource", ""),
                                  .code = tn_chars(code, NULL),
                                  .verifier = tn_get_text(pending, "verifier", ""),
                                  .back = tn_get_text(pending, "redirect_uri", "")};
    tn_value request = code != NULL ? token_request(&ask, why, size) : NULL;
    tn_release(code);
    if (oauth->back != 0 && (ours || request != NULL)) (void)tn.core->unpost(tn.host, oauth->back), oauth->back = 0;
    if (request != NULL) {
        oauth->redeemed = tn_retain(pending);
        fetch_send(&oauth->redeem, request, on_redeemed, oauth);
    } else if (ours) { /* it is answered, by a no, or by somebody else */
        give(oauth->failure);
        oauth->failure = copy_text(why);
        note(oauth, "pending", NULL);
        keep(oauth);
        end(oauth, OAUTH_FAILED, "AUTH", why);
    }
    return request != NULL;
}

static bool on_came(void *user, const char *query) {
    char why[OAUTH_WHY_MAX];
    return came(user, query, why, sizeof why);
}

/* Nothing has come: the request is sent, and what is missing is asked for again. */
static void nobody_came(void *argument) {
    struct oauth *oauth = argument;
    oauth->back = 0;
    end(oauth, OAUTH_GO, "", "");
}

tn_value oauth_question(const struct oauth *oauth) {
    tn_value pending = pending_of(oauth), url = pending != NULL ? person_url(pending) : NULL;
    const char *scope = tn_get_text(pending, "scope", NULL), *back = tn_get_text(pending, "redirect_uri", "");
    if (url == NULL) return NULL;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "mode", "url");
    tn_put_take(
        builder, "message",
        format_value("The server `%s` (%.200s) wants your permission%s%.300s. Visit the page, then answer true; "
                     "where it ends at %.200s and that does not open, answer with its whole address instead; "
                     "null declines.",
                     oauth->name, oauth->url, scope != NULL ? " for: " : "", scope != NULL ? scope : "", back));
    tn_put_take(builder, "url", url);
    tn_put(builder, "authorization", tn.value->get(pending, "state"));
    tn.value->end(builder);
    return tn.value->finish(builder);
}

bool oauth_answer(struct oauth *oauth, tn_value question, tn_value answer, char *why, size_t size) {
    const char *address = tn_chars(answer, NULL), *query = address != NULL ? strchr(address, '?') : NULL;
    (void)read_again(oauth);
    bool asked = pending_of(oauth) != NULL &&
                 tn.value->equal(tn.value->get(pending_of(oauth), "state"), tn.value->get(question, "authorization"));
    if (address != NULL && asked) return came(oauth, query != NULL ? query + 1 : address, why, size);
    if (oauth->failure != NULL) { /* it came by itself, and came to nothing */
        (void)snprintf(why, size, "%s", oauth->failure);
        give(oauth->failure);
        oauth->failure = NULL;
        return false;
    }
    if (asked && oauth->listener != NULL && !redeeming(oauth))
        oauth->back = tn.core->post(tn.host, OAUTH_BACK_MS, nobody_came, oauth);
    return true;
}

void oauth_decline(struct oauth *oauth) {
    no_listener(oauth);
    note(oauth, "pending", NULL);
    if (token_of(oauth) == NULL) note(oauth, "client", NULL);
    keep(oauth);
}

void oauth_rest(struct oauth *oauth) { no_listener(oauth); }

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
        oauth->file = keep_file(options->folder, options->url, in_config(oauth, "client_id"));
    if (oauth->name != NULL && oauth->url != NULL && oauth->record != NULL) {
        (void)read_again(oauth);
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
    no_listener(oauth);
    if (oauth->telling != 0) (void)tn.core->unpost(tn.host, oauth->telling);
    if (oauth->back != 0) (void)tn.core->unpost(tn.host, oauth->back);
    forget_search(oauth);
    tn_release(oauth->redeemed);
    tn_release(oauth->config);
    tn_release(oauth->record);
    tn_release(oauth->header);
    give(oauth->failure);
    give(oauth->file);
    give(oauth->url);
    give(oauth->name);
    give(oauth);
}

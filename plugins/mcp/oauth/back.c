/*
 * back.c - a person is asked, and comes back: the browser to a listener, or they bring an address.
 */
#include "oauth_internal.h"
#include "person.h"

/* ---- Asking ---- */

void oauth_rest(struct oauth *oauth) {
    if (oauth->closing != 0) (void)tn.core->unpost(tn.host, oauth->closing);
    oauth->closing = 0;
    listener_free(oauth->listener);
    oauth->listener = NULL;
}

static bool on_came(void *user, const char *query);

static void too_late(void *argument) {
    struct oauth *oauth = argument;
    oauth->closing = 0;
    oauth_rest(oauth);
}

/* Where the browser is to come back to: listened to where that can be. Borrowed. */
const char *oauth_listen(struct oauth *oauth, const char *wanted) {
    const struct listener_events events = {oauth, on_came};
    const char *open = oauth->listener != NULL ? tn_chars(listener_uri(oauth->listener), NULL) : NULL;
    if (open != NULL && strcmp(open, wanted) == 0) return open;
    oauth_rest(oauth);
    oauth->listener = listener_new(wanted, &events);
    if (oauth->listener != NULL) oauth->closing = tn.core->post(tn.host, OAUTH_PENDING_MS, too_late, oauth);
    return oauth->listener != NULL ? tn_chars(listener_uri(oauth->listener), NULL) : wanted;
}

void oauth_ask(struct oauth *oauth) {
    tn_value pending = oauth_pending(oauth);
    const char *resource = tn_get_text(oauth->resource, "resource", ""), *scope = tn_chars(oauth->scope, NULL);
    const char *bound = tn_get_text(oauth->client, "redirect_uri", NULL);
    char why[OAUTH_WHY_MAX];
    if (person_is(pending, oauth->client, oauth->server, resource, scope)) {
        (void)oauth_listen(oauth, tn_get_text(pending, "redirect_uri", ""));
    } else {
        if (bound == NULL) bound = tn_get_text(oauth->config, "redirect_uri", OAUTH_REDIRECT_URI);
        tn_value made = person_begin(oauth->client, oauth->server, resource, scope, oauth_listen(oauth, bound));
        if (made == NULL) {
            oauth_fail(oauth, "a person cannot be asked: this build has no libcrypto, or there is no memory left");
            return;
        }
        give(oauth->failure);
        oauth->failure = NULL;
        oauth_note(oauth, "pending", made);
        oauth_keep(oauth);
    }
    (void)snprintf(why, sizeof why,
                   "it wants the permission of a person, by %.200s; ask for it with the tool `mcp.servers` and "
                   "{connect: \"%.64s\"}",
                   tn_get_text(oauth->server, "issuer", "?"), oauth->name);
    oauth_end(oauth, OAUTH_ASK, OAUTH_NEEDED, why);
}

/* ---- What is brought back ---- */

static bool redeem(struct oauth *oauth, char *why, size_t size);
static bool refuse(struct oauth *oauth, const char *why);
static void redeemed(struct oauth *oauth);

static void on_redeemed(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    tn_value pending = oauth->redeemed;
    const struct token_ask ask = {.server = tn.value->get(pending, "server"),
                                  .scope = tn_get_text(pending, "scope", NULL),
                                  .key = oauth_key(oauth)};
    struct token_fault fault;
    char why[OAUTH_WHY_MAX];
    if (oauth_again(oauth, answer)) {
        if (!redeem(oauth, why, sizeof why)) (void)refuse(oauth, why);
        return;
    }
    tn_value token = token_read(answer, &ask, &fault);
    oauth_rest(oauth);
    oauth_note(oauth, "pending", NULL);
    if (token != NULL) {
        oauth_take_token(oauth, token);
        oauth_note(oauth, "client", tn_retain(tn.value->get(pending, "client")));
        oauth_note(oauth, "server", tn_retain(tn.value->get(pending, "server")));
        oauth_note(oauth, "resource", tn_retain(tn.value->get(pending, "resource")));
        if (ask.scope != NULL) oauth_note(oauth, "scope", tn_text(ask.scope));
    } else {
        oauth_note(oauth, "scope", NULL); /* it may be that which was wrong */
        oauth_mind(oauth, &fault);
        oauth->failure = copy_text(fault.why);
    }
    oauth_keep(oauth);
    redeemed(oauth);
    oauth_settle(oauth, token != NULL ? OAUTH_GO : OAUTH_FAILED, token != NULL ? "" : fault.code, fault.why);
}

/* What was brought is given for a token. */
static bool redeem(struct oauth *oauth, char *why, size_t size) {
    tn_value pending = oauth->redeemed;
    const struct token_ask ask = {.grant = "authorization_code",
                                  .client = tn.value->get(pending, "client"),
                                  .server = tn.value->get(pending, "server"),
                                  .config = oauth->config,
                                  .resource = tn_get_text(pending, "resource", ""),
                                  .code = tn_chars(oauth->brought, NULL),
                                  .verifier = tn_get_text(pending, "verifier", ""),
                                  .back = tn_get_text(pending, "redirect_uri", ""),
                                  .key = oauth_key(oauth),
                                  .nonce = oauth->nonce};
    tn_value request = token_request(&ask, why, size);
    if (request == NULL) return false;
    fetch_send(&oauth->redeem, request, on_redeemed, oauth);
    return true;
}

static void redeemed(struct oauth *oauth) {
    tn_release(oauth->redeemed);
    tn_release(oauth->brought);
    oauth->redeemed = oauth->brought = NULL;
}

/* It is answered, by a no, by somebody else, or by what cannot be given for a token. */
static bool refuse(struct oauth *oauth, const char *why) {
    redeemed(oauth);
    give(oauth->failure);
    oauth->failure = copy_text(why);
    oauth_note(oauth, "pending", NULL);
    oauth_keep(oauth);
    oauth_settle(oauth, OAUTH_FAILED, "AUTH", why);
    return false;
}

static bool came(struct oauth *oauth, const char *query, char *why, size_t size) {
    tn_value pending = oauth_pending(oauth);
    bool ours = false;
    if (pending == NULL || oauth->redeemed != NULL || !person_is_young(pending)) {
        (void)snprintf(why, size, "nobody is expected back any more; begin again");
        return false;
    }
    tn_value code = person_code(pending, query, &ours, why, size);
    if (!ours) return false;
    if (oauth->back != 0) (void)tn.core->unpost(tn.host, oauth->back);
    oauth->back = 0;
    if (code == NULL) return refuse(oauth, why);
    oauth->redeemed = tn_retain(pending);
    oauth->brought = code;
    return redeem(oauth, why, size) || refuse(oauth, why);
}

static bool on_came(void *user, const char *query) {
    char why[OAUTH_WHY_MAX];
    return came(user, query, why, sizeof why);
}

/* Nothing has come: the request is sent, and what is missing is asked for again. */
static void nobody_came(void *argument) {
    struct oauth *oauth = argument;
    oauth->back = 0;
    oauth_settle(oauth, OAUTH_GO, "", "");
}

tn_value oauth_question(const struct oauth *oauth) {
    tn_value pending = oauth_pending(oauth), url = pending != NULL ? person_url(pending) : NULL;
    const char *scope = tn_get_text(pending, "scope", NULL), *back = tn_get_text(pending, "redirect_uri", "");
    if (url == NULL) return NULL;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "mode", "url");
    tn_put_take(
        builder, "message",
        format_value("The server `%s` (%.200s) wants your permission%s%.300s. Visit the page, then answer true, though "
                     "it may go on loading until the answer is given here; where it ends at %.200s and that does not "
                     "open, answer with its whole address instead; null declines.",
                     oauth->name, oauth->url, scope != NULL ? " for: " : "", scope != NULL ? scope : "", back));
    tn_put_take(builder, "url", url);
    tn_put(builder, "authorization", tn.value->get(pending, "state"));
    tn.value->end(builder);
    return tn.value->finish(builder);
}

bool oauth_answer(struct oauth *oauth, tn_value question, tn_value answer, char *why, size_t size) {
    const char *address = tn_chars(answer, NULL), *query = address != NULL ? strchr(address, '?') : NULL;
    (void)oauth_read_again(oauth);
    bool asked = oauth_pending(oauth) != NULL && tn.value->equal(tn.value->get(oauth_pending(oauth), "state"),
                                                                 tn.value->get(question, "authorization"));
    /* What has been brought already, by another call or the browser itself, need not be brought again. */
    if (address != NULL && asked && oauth->redeemed == NULL)
        return came(oauth, query != NULL ? query + 1 : address, why, size);
    if (oauth->failure != NULL) { /* it came by itself, and came to nothing */
        (void)snprintf(why, size, "%s", oauth->failure);
        give(oauth->failure);
        oauth->failure = NULL;
        return false;
    }
    if (asked && oauth->listener != NULL && !oauth_redeeming(oauth))
        oauth->back = tn.core->post(tn.host, OAUTH_BACK_MS, nobody_came, oauth);
    return true;
}

void oauth_decline(struct oauth *oauth) {
    oauth_rest(oauth);
    oauth_note(oauth, "pending", NULL);
    if (oauth_token(oauth) == NULL) oauth_note(oauth, "client", NULL);
    oauth_keep(oauth);
}

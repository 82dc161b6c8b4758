/*
 * redirect.c - asks a person, and handles the return: the browser's request to a listener, or a URL that the person
 * enters.
 */
#include "authorize.h"
#include "oauth_internal.h"

/* ---- Asking ---- */

void oauth_stop_listening(struct oauth *oauth) {
    if (oauth->closing != 0) (void)tn.core->unpost(tn.host, oauth->closing);
    oauth->closing = 0;
    listener_free(oauth->listener);
    oauth->listener = NULL;
}

static bool on_redirect_request(void *user, const char *query);

static void on_listener_timeout(void *argument) {
    struct oauth *oauth = argument;
    oauth->closing = 0;
    oauth_stop_listening(oauth);
}

/* Returns the redirect URI, and listens there if possible. Borrowed. */
const char *oauth_listen(struct oauth *oauth, const char *wanted) {
    const struct listener_events events = {oauth, on_redirect_request};
    const char *open = oauth->listener != NULL ? tn_chars(listener_uri(oauth->listener), NULL) : NULL;
    if (open != NULL && strcmp(open, wanted) == 0) return open;
    oauth_stop_listening(oauth);
    oauth->listener = listener_new(wanted, &events);
    if (oauth->listener != NULL) oauth->closing = tn_post(OAUTH_PENDING_MS, on_listener_timeout, oauth);
    return oauth->listener != NULL ? tn_chars(listener_uri(oauth->listener), NULL) : wanted;
}

void oauth_ask_person(struct oauth *oauth) {
    tn_value pending = oauth_pending(oauth);
    const char *resource = tn_get_text(oauth->resource, "resource", ""), *scope = tn_chars(oauth->scope, NULL);
    const char *bound = tn_get_text(oauth->client, "redirect_uri", NULL);
    char why[OAUTH_WHY_MAX];
    if (authorize_matches(pending, oauth->client, oauth->server, resource, scope)) {
        (void)oauth_listen(oauth, tn_get_text(pending, "redirect_uri", ""));
    } else {
        if (bound == NULL) bound = tn_get_text(oauth->config, "redirect_uri", OAUTH_REDIRECT_URI);
        tn_value result = authorize_begin(oauth->client, oauth->server, resource, scope, oauth_listen(oauth, bound));
        if (result == NULL) {
            oauth_fail(oauth, "cannot ask a person: this build has no libcrypto, or memory ran out");
            return;
        }
        mcp_free(oauth->failure);
        oauth->failure = NULL;
        oauth_record_set_take(oauth, "pending", result);
        oauth_save_record(oauth);
    }
    (void)snprintf(why, sizeof why,
                   "it requires the permission of a person from %.200s; request it with the tool `mcp.servers` and "
                   "{connect: \"%.64s\"}",
                   tn_get_text(oauth->server, "issuer", "?"), oauth->name);
    oauth_end(oauth, OAUTH_ASK_PERSON, OAUTH_NEEDED, why);
}

/* ---- The redirect ---- */

static bool oauth_redeem_code(struct oauth *oauth, char *why, size_t size);
static bool oauth_fail_redirect(struct oauth *oauth, const char *why);
static void oauth_clear_redeemed(struct oauth *oauth);

static void on_redeemed(void *user, const struct fetched *answer) {
    struct oauth *oauth = user;
    tn_value pending = oauth->redeemed;
    const struct token_params params = {
        .server = tn_get(pending, "server"), .scope = tn_get_text(pending, "scope", NULL), .key = oauth_key(oauth)};
    struct token_fault fault;
    char why[OAUTH_WHY_MAX];
    if (oauth_must_repeat(oauth, answer)) {
        if (!oauth_redeem_code(oauth, why, sizeof why)) (void)oauth_fail_redirect(oauth, why);
        return;
    }
    tn_value token = token_read(answer, &params, &fault);
    oauth_stop_listening(oauth);
    oauth_record_set_take(oauth, "pending", NULL);
    if (token != NULL) {
        oauth_set_token_take(oauth, token);
        oauth_record_set_take(oauth, "client", tn_retain(tn_get(pending, "client")));
        oauth_record_set_take(oauth, "server", tn_retain(tn_get(pending, "server")));
        oauth_record_set_take(oauth, "resource", tn_retain(tn_get(pending, "resource")));
        if (params.scope != NULL) oauth_record_set_take(oauth, "scope", tn_text(params.scope));
    } else {
        oauth_record_set_take(oauth, "scope", NULL); /* it may have been the reason */
        oauth_handle_fault(oauth, &fault);
        oauth->failure = copy_text(fault.why);
    }
    oauth_save_record(oauth);
    oauth_clear_redeemed(oauth);
    oauth_settle(oauth, token != NULL ? OAUTH_RETRY : OAUTH_FAILED, token != NULL ? "" : fault.code, fault.why);
}

/* Exchanges the returned code for a token. */
static bool oauth_redeem_code(struct oauth *oauth, char *why, size_t size) {
    tn_value pending = oauth->redeemed;
    const struct token_params params = {.grant = "authorization_code",
                                        .client = tn_get(pending, "client"),
                                        .server = tn_get(pending, "server"),
                                        .config = oauth->config,
                                        .resource = tn_get_text(pending, "resource", ""),
                                        .code = tn_chars(oauth->returned_code, NULL),
                                        .verifier = tn_get_text(pending, "verifier", ""),
                                        .redirect_uri = tn_get_text(pending, "redirect_uri", ""),
                                        .key = oauth_key(oauth),
                                        .nonce = oauth->nonce};
    tn_value request = token_make_request(&params, why, size);
    if (request == NULL) return false;
    fetch_send(&oauth->redeem, request, on_redeemed, oauth);
    return true;
}

static void oauth_clear_redeemed(struct oauth *oauth) {
    tn_release(oauth->redeemed);
    tn_release(oauth->returned_code);
    oauth->redeemed = oauth->returned_code = NULL;
}

/* Ends the question with a refusal, another person's answer, or a code that cannot be exchanged. */
static bool oauth_fail_redirect(struct oauth *oauth, const char *why) {
    oauth_clear_redeemed(oauth);
    mcp_free(oauth->failure);
    oauth->failure = copy_text(why);
    oauth_record_set_take(oauth, "pending", NULL);
    oauth_save_record(oauth);
    oauth_settle(oauth, OAUTH_FAILED, "AUTH", why);
    return false;
}

static bool oauth_handle_redirect(struct oauth *oauth, const char *query, char *why, size_t size) {
    tn_value pending = oauth_pending(oauth);
    bool ours = false;
    if (pending == NULL || oauth->redeemed != NULL || !authorize_is_recent(pending)) {
        (void)snprintf(why, size, "no permission is being requested now; start again");
        return false;
    }
    tn_value code = authorize_read_code(pending, query, &ours, why, size);
    if (!ours) return false;
    if (oauth->redirect_post != 0) (void)tn.core->unpost(tn.host, oauth->redirect_post);
    oauth->redirect_post = 0;
    if (code == NULL) return oauth_fail_redirect(oauth, why);
    oauth->redeemed = tn_retain(pending);
    oauth->returned_code = code;
    return oauth_redeem_code(oauth, why, size) || oauth_fail_redirect(oauth, why);
}

static bool on_redirect_request(void *user, const char *query) {
    char why[OAUTH_WHY_MAX];
    return oauth_handle_redirect(user, query, why, sizeof why);
}

/* Nothing has arrived: send the request, so that what is missing is requested again. */
static void on_redirect_wait_over(void *argument) {
    struct oauth *oauth = argument;
    oauth->redirect_post = 0;
    oauth_settle(oauth, OAUTH_RETRY, "", "");
}

tn_value oauth_question(const struct oauth *oauth) {
    tn_value pending = oauth_pending(oauth), url = pending != NULL ? authorize_url(pending) : NULL;
    const char *scope = tn_get_text(pending, "scope", NULL), *redirect_uri = tn_get_text(pending, "redirect_uri", "");
    if (url == NULL) return NULL;
    return tn_build(
        "{s:s,s:V,s:V,s:v}", "mode", "url", "message",
        format_value("The server `%s` (%.200s) requests your permission%s%.300s. Visit the page, then answer true. "
                     "The page may keep loading until you answer here. If it ends at %.200s and that does not "
                     "open, answer with its full URL instead. null declines.",
                     oauth->name, oauth->url, scope != NULL ? " for: " : "", scope != NULL ? scope : "", redirect_uri),
        "url", url, "authorization", tn_get(pending, "state"));
}

bool oauth_answer(struct oauth *oauth, tn_value question, tn_value answer, char *why, size_t size) {
    const char *address = tn_chars(answer, NULL), *query = address != NULL ? strchr(address, '?') : NULL;
    (void)oauth_reload_record(oauth);
    bool asked = oauth_pending(oauth) != NULL &&
                 tn.value->equal(tn_get(oauth_pending(oauth), "state"), tn_get(question, "authorization"));
    /* The browser or another call may have returned the code already. */
    if (address != NULL && asked && oauth->redeemed == NULL)
        return oauth_handle_redirect(oauth, query != NULL ? query + 1 : address, why, size);
    if (oauth->failure != NULL) { /* the browser returned, but without success */
        (void)snprintf(why, size, "%s", oauth->failure);
        mcp_free(oauth->failure);
        oauth->failure = NULL;
        return false;
    }
    if (asked && oauth->listener != NULL && !oauth_is_redeeming(oauth))
        oauth->redirect_post = tn_post(OAUTH_REDIRECT_MS, on_redirect_wait_over, oauth);
    return true;
}

void oauth_decline(struct oauth *oauth) {
    oauth_stop_listening(oauth);
    oauth_record_set_take(oauth, "pending", NULL);
    if (oauth_token(oauth) == NULL) oauth_record_set_take(oauth, "client", NULL);
    oauth_save_record(oauth);
}

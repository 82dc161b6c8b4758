/*
 * web_key.c - who a request comes from: a key of the store at once; a user whom a plugin knows perhaps later.
 */
#include "adl/value/memory.h"
#include "host/server/method.h"
#include "host/server/web/web_internal.h"
#include "host/server/web/web_query.h"
#include <string.h>
#include <strings.h>

/* ---- Texts of keys ---- */

/* The text after "Bearer ", or NULL. */
static const char *bearer(const struct web_request *request) {
    const char *text = web_header(request, "authorization");
    if (!text || strncasecmp(text, "bearer ", 7) != 0) return NULL;
    text += 7;
    return text + strspn(text, " ");
}

/* Where a key can be; those that are missing are NULL. */
#define PLACES 3
static void texts_of(const struct web_request *request, const char *texts[PLACES]) {
    texts[0] = bearer(request);
    texts[1] = web_header(request, "x-api-key");
    texts[2] = request->socket_key;
}

static const struct access_key *key_of(const struct web_request *request, bool *given) {
    const char *texts[PLACES];
    const struct access_key *key = NULL;
    texts_of(request, texts);
    for (size_t i = 0; i < PLACES && !key; i++) {
        if (!texts[i]) continue;
        *given = true;
        key = access_check(request->web->access, texts[i], strlen(texts[i]));
    }
    return key;
}

static void refuse_key(struct web_request *request, bool given) {
    struct web_refusal refusal = {.status = 401, .code = "UNAUTHORIZED"};
    bool query = web_query_has_key(web_head_text(request, "query"));
    refusal.headers[0][0] = "WWW-Authenticate";
    refusal.headers[0][1] = given ? "Bearer realm=\"tenon\", error=\"invalid_token\"" : "Bearer realm=\"tenon\"";
    refusal.message =
        given   ? "the key is not known, or it was revoked or has expired"
        : query ? "a key in a URL is not accepted, because URLs are logged; send it as `Authorization: Bearer KEY`"
                : "a key is needed: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`, or, with the WebSocket "
                  "of a "
                  "page, as the subprotocol `tenon.key.KEY`";
    web_refuse(request, &refusal);
}

static bool check_limits(struct web_request *request, const struct access_key *key) {
    int64_t retry_s = 1;
    const char *what = NULL;
    request->use = web_limits_use(request->web->limits, key->name);
    size_t share = request->web->open_max - request->web->open_max / 4; /* one key cannot use the whole server */
    request->counted = key_use_begin(request->use, key->limits, share, &retry_s, &what);
    if (!request->counted)
        web_refuse_format(request, 429, "RATE_LIMITED", "the limit of %s is reached; try again in %lld s", what,
                          (long long)retry_s);
    return request->counted;
}

/* Sets `caller` of the event. */
static bool admit_key(struct web_request *request, const struct access_key *key) {
    const struct web_route *route = request->route;
    bool open = route->scope == WEB_SCOPE_NONE;
    request->key = mem_text(key->name);
    if (!open && (int)key->scope < route->scope) {
        web_refuse_format(request, 403, "FORBIDDEN", "the path needs a key with the scope `%s`; this key has `%s`",
                          method_scope_name((enum method_scope)route->scope), method_scope_name(key->scope));
        return false;
    }
    if (!check_limits(request, key)) return false;
    uint64_t number = web_caller_number(request->web, route->plugin, key);
    if (!number) {
        web_refuse_format(request, 503, "LIMIT", "the server acts for %u keys, which is the limit", WEB_CALLERS_MAX);
        return false;
    }
    tn_value caller = value_set_take(value_object_reserve(4), "number", value_int((int64_t)number));
    caller = value_set_take(caller, "name", value_text(key->name));
    if (key->owner) caller = value_set_take(caller, "owner", value_text(key->owner));
    caller = value_set_take(caller, "scope", value_text(method_scope_name(key->scope)));
    request->event = value_set_take(request->event, "caller", caller);
    return true;
}

/* ---- Users whom plugins know ---- */

static void refuse_user(struct web_request *request, enum access_answer answer) {
    static const struct web_refusal denied = {
        .status = 403,
        .code = "FORBIDDEN",
        .message = "the token is valid, but its user may not use this server",
        .headers = {{"WWW-Authenticate", "Bearer realm=\"tenon\", error=\"insufficient_scope\""}}};
    if (answer == ACCESS_DENIED)
        web_refuse(request, &denied);
    else if (answer == ACCESS_AWAY)
        web_refuse_format(request, 503, "UNAVAILABLE", "the token cannot be checked now; try again later");
    else
        refuse_key(request, true);
}

static void on_user(void *user, enum access_answer answer, const struct access_key *key) {
    struct web_request *request = user;
    bool passed = key || request->route->scope == WEB_SCOPE_NONE;
    request->wait = NULL;
    if (!request->route->handler) /* its plugin has ended meanwhile */
        web_refuse_format(request, 503, "UNAVAILABLE", "the plugin that serves this path has ended");
    else if (!passed)
        refuse_user(request, answer);
    else if ((!key || admit_key(request, key)) && web_check_rest(request))
        web_request_admit(request);
}

/* True if an authenticator is asked. */
static bool ask_user(struct web_request *request) {
    const char *texts[PLACES];
    texts_of(request, texts);
    for (size_t i = 0; i < PLACES && !request->wait; i++)
        if (texts[i]) request->wait = access_ask(request->web->access, texts[i], strlen(texts[i]), on_user, request);
    return request->wait != NULL;
}

bool web_check_key(struct web_request *request) {
    const struct web_route *route = request->route;
    bool given = false, open = route->scope == WEB_SCOPE_NONE;
    const struct access_key *key = route->plugin ? key_of(request, &given) : NULL;
    if (key) return admit_key(request, key);
    if (given && ask_user(request)) return false;
    if (!open) refuse_key(request, given);
    return open;
}

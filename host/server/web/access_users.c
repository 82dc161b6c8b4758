/*
 * access_users.c - asks the authenticators one after the other about a token.
 *
 *   access_ask ─▶ check of the first ─▶ NOT_FOUND ─▶ check of the next ─▶ … ─▶ done, never inside of access_ask
 */
#include "host/server/web/access_users.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/providing.h"
#include "host/server/server.h"
#include "host/server/web/access_tokens.h"
#include <stdio.h>
#include <string.h>
#include <tenon/authenticator.h>

struct authenticator {
    struct plugin *plugin; /* referenced */
    const tn_authenticator_draft *vtable;
};

struct access_users {
    struct loop *loop;
    tn_value limits;
    struct authenticator authenticators[CONFIG_AUTHENTICATORS_MAX];
    size_t count, waiting;
    struct access_tokens *tokens;
    tn_value issuers; /* [text, …]; NULL: none */
};

struct access_wait {
    struct access_users *users;
    access_done *done;
    void *user;
    size_t at;       /* the authenticator that is asked */
    uint64_t number; /* of its check; 0: none is open */
    bool answered, next;
    enum access_answer answer;
    struct loop_work work; /* continues after an answer */
    struct loop_timer timer;
    unsigned char hash[ACCESS_HASH_BYTES];
    size_t length;
    char text[];
};

/* ---- Authenticators ---- */

static int32_t choose_plugin(struct registry *registry, const char *name, struct plugin **out, struct error *error) {
    struct providing found;
    int32_t status = TN_OK;
    providing_find(&found, registry, TN_AUTHENTICATOR_DRAFT, name);
    *out = found.plugin;
    if (!*out && found.other_version)
        status = providing_refuse_version(&found, "authenticator", error);
    else if (!*out)
        status =
            error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                      "`serve.authenticators` in tenon.yaml has `%s`, but no plugin with this name checks tokens%s%s%s",
                      name, found.count ? "; these do: " : "", buffer_cstr(&found.names), registry_altered(registry));
    else if (plugin_isolated(*out))
        status = error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                           "the plugin `%s` checks tokens, so it cannot run in a separate process; remove it from "
                           "`plugins.isolation`",
                           plugin_id(*out));
    providing_finish(&found);
    return status;
}

static void add_issuers(struct access_users *users, struct plugin *plugin, const tn_authenticator_draft *vtable) {
    void *before = interface_enter(plugin);
    tn_value issuers = vtable->issuers(plugin_self(plugin));
    interface_leave(plugin, before);
    for (size_t i = 0; value_is(issuers, TN_ARRAY) && i < value_count(issuers); i++) {
        tn_value issuer = value_at(issuers, i);
        size_t length = 0;
        if (!value_is(issuer, TN_STRING) || value_count(users->issuers) >= ACCESS_ISSUERS_MAX) continue;
        (void)value_chars(issuer, &length);
        if (length == 0 || length > ACCESS_ISSUER_MAX) continue;
        users->issuers = value_push_take(users->issuers ? users->issuers : value_array(), value_ref(issuer));
    }
    value_unref(issuers);
}

static int32_t add_authenticator(struct access_users *users, struct registry *registry, const char *name,
                                 struct error *error) {
    struct plugin *plugin;
    int32_t status = choose_plugin(registry, name, &plugin, error);
    if (status == TN_OK) status = plugin_load(plugin, error);
    if (status != TN_OK) return status;
    const tn_authenticator_draft *vtable = plugin_interface(plugin, TN_AUTHENTICATOR_DRAFT);
    if (!vtable || vtable->size != sizeof *vtable || !vtable->check || !vtable->cancel || !vtable->issuers)
        return error_set(error, TN_UNSUPPORTED, "PLUGIN_INVALID",
                         "%s: plugin `%s`: its interface of an authenticator does not match this host; rebuild the "
                         "plugin",
                         plugin_path(plugin), plugin_id(plugin));
    plugin_ref(plugin);
    users->authenticators[users->count++] = (struct authenticator){plugin, vtable};
    add_issuers(users, plugin, vtable);
    return TN_OK;
}

struct access_users *access_users_new(struct server *server, tn_value names, tn_value limits, struct error *error) {
    struct access_users *users = mem_zalloc(sizeof *users);
    struct host *host = server_host(server);
    users->loop = host_loop(host);
    users->limits = limits;
    users->tokens = access_tokens_new();
    for (size_t i = 0; i < value_count(names) && users->count < CONFIG_AUTHENTICATORS_MAX; i++)
        if (add_authenticator(users, host_registry(host), value_chars(value_at(names, i), NULL), error) != TN_OK) {
            access_users_free(users);
            return NULL;
        }
    return users;
}

void access_users_free(struct access_users *users) {
    if (!users) return;
    for (size_t i = 0; i < users->count; i++) plugin_unref(users->authenticators[i].plugin);
    access_tokens_free(users->tokens);
    value_unref(users->issuers);
    mem_free(users);
}

bool access_users_is_empty(const struct access_users *users) { return users->count == 0; }

tn_value access_users_issuers(const struct access_users *users) { return users->issuers; }

/* ---- Users ---- */

const struct access_key *access_users_check(struct access_users *users, const unsigned char *hash) {
    struct access_token *token = access_tokens_get(users->tokens, hash);
    if (token && token->expires_ms <= loop_wall_ms(users->loop)) {
        access_tokens_remove(users->tokens, token);
        return NULL;
    }
    bool fresh = token && loop_now_ms(users->loop) - token->checked_ms < TN_AUTHENTICATOR_FRESH_MS;
    return fresh ? &token->key : NULL;
}

const struct access_key *access_users_find(const struct access_users *users, const struct access_key *like) {
    const struct access_token *token = access_tokens_find(users->tokens, like, loop_wall_ms(users->loop));
    return token ? &token->key : NULL;
}

static bool read_scope(tn_value word, enum method_scope *scope) {
    for (int i = METHOD_READ; i <= METHOD_ADMIN; i++) {
        if (!value_text_is(word, method_scope_name((enum method_scope)i))) continue;
        *scope = (enum method_scope)i;
        return true;
    }
    return false;
}

/* False: an authenticator has returned an identity that is not valid. */
static bool remember(const struct access_wait *wait, tn_value identity) {
    struct access_users *users = wait->users;
    const struct plugin *plugin = users->authenticators[wait->at].plugin;
    const char *id = plugin_id(plugin), *dot = strrchr(id, '.');
    struct access_token token = {.checked_ms = loop_now_ms(users->loop)};
    tn_value owner = value_get(identity, "owner"), expires = value_get(identity, "expires_at");
    size_t length = 0;
    int64_t expires_s = 0;
    const char *text = value_is(owner, TN_STRING) ? value_chars(owner, &length) : "";
    if (!access_name_is_valid(text, length) || !read_scope(value_get(identity, "scope"), &token.key.scope) ||
        !value_is(expires, TN_INT) || !value_as_int(expires, &expires_s) || expires_s < 0 ||
        expires_s > INT64_MAX / 1000)
        return false;
    memcpy(token.owner, text, length + 1);
    int written = snprintf(token.name, sizeof token.name, "%s:%s", plugin_bundled(plugin) && dot ? dot + 1 : id, text);
    if (written < 0 || (size_t)written >= sizeof token.name) return false;
    memcpy(token.hash, wait->hash, sizeof token.hash);
    token.expires_ms = expires_s * 1000;
    token.key.limits = users->limits;
    access_tokens_put(users->tokens, &token);
    return true;
}

/* ---- Asking ---- */

static void wait_free(struct access_wait *wait) {
    loop_timer_stop(wait->users->loop, &wait->timer);
    loop_undefer(wait->users->loop, &wait->work);
    wait->users->waiting--;
    explicit_bzero(wait->text, wait->length);
    mem_free(wait);
}

static void wait_answer(struct access_wait *wait, enum access_answer answer) {
    wait->answered = true;
    wait->answer = answer;
    loop_defer(wait->users->loop, &wait->work);
}

static void wait_refuse(struct access_wait *wait, tn_value error) {
    tn_value code = value_get(error, "code"), message = value_get(error, "message");
    wait->next = value_text_is(code, "NOT_FOUND");
    if (!wait->next)
        log_write(LOG_INFO, "serve", "%s refuses a token: %s", plugin_id(wait->users->authenticators[wait->at].plugin),
                  value_is(message, TN_STRING) ? value_chars(message, NULL) : "no reason given");
    wait_answer(wait, value_text_is(code, "PERMISSION_DENIED") ? ACCESS_DENIED
                      : value_text_is(code, "UNAVAILABLE")     ? ACCESS_AWAY
                                                               : ACCESS_WRONG);
}

static void TN_ABI on_checked(void *user, uint64_t number, tn_value identity, tn_value error) {
    struct access_wait *wait = user;
    (void)number;
    if (wait->answered) return;
    if (!identity) {
        wait_refuse(wait, error);
    } else if (remember(wait, identity)) {
        wait_answer(wait, ACCESS_KNOWN);
    } else {
        log_write(
            LOG_WARN, "serve",
            "plugin `%s`: found an identity that is not {owner, scope, expires_at} as tenon/authenticator.h has it",
            plugin_id(wait->users->authenticators[wait->at].plugin));
        wait_answer(wait, ACCESS_AWAY);
    }
}

static void wait_ask(struct access_wait *wait) {
    const struct authenticator *to = &wait->users->authenticators[wait->at];
    wait->answered = wait->next = false;
    wait->number = 0;
    void *before = interface_enter(to->plugin);
    int32_t status =
        to->vtable->check(plugin_self(to->plugin), wait->text, wait->length, on_checked, wait, &wait->number);
    interface_leave(to->plugin, before);
    if (status != TN_OK && !wait->answered) wait_answer(wait, ACCESS_AWAY);
}

static void wait_cancel_check(struct access_wait *wait) {
    const struct authenticator *to = &wait->users->authenticators[wait->at];
    if (wait->answered) return;
    void *before = interface_enter(to->plugin);
    (void)to->vtable->cancel(plugin_self(to->plugin), wait->number);
    interface_leave(to->plugin, before);
}

static void wait_on_work(struct loop_work *work) {
    struct access_wait *wait = CONTAINER_OF(work, struct access_wait, work);
    struct access_users *users = wait->users;
    if (wait->next && wait->at + 1 < users->count) {
        wait->at++;
        wait_ask(wait);
        return;
    }
    struct access_token *token = access_tokens_get(users->tokens, wait->hash);
    enum access_answer answer = wait->answer;
    /* A token that was valid and is not any more: what the user has open ends, too. */
    if (answer == ACCESS_WRONG || answer == ACCESS_DENIED) access_tokens_remove(users->tokens, token);
    const struct access_key *key = answer == ACCESS_KNOWN ? access_users_check(users, wait->hash) : NULL;
    access_done *done = wait->done;
    void *user = wait->user;
    wait_free(wait);
    done(user, key || answer != ACCESS_KNOWN ? answer : ACCESS_WRONG, key);
}

static void wait_on_timer(struct loop_timer *timer) {
    struct access_wait *wait = CONTAINER_OF(timer, struct access_wait, timer);
    if (wait->answered) return;
    wait_cancel_check(wait);
    wait_answer(wait, ACCESS_AWAY);
}

struct access_wait *access_users_ask(struct access_users *users, const char *text, size_t length, access_done *done,
                                     void *user) {
    bool asks =
        users->count && length && length <= TN_AUTHENTICATOR_TOKEN_MAX && !access_secret_is_formed(text, length);
    if (!asks) return NULL;
    struct access_wait *wait = mem_zalloc(sizeof *wait + length);
    wait->users = users;
    wait->done = done;
    wait->user = user;
    wait->work.run = wait_on_work;
    wait->length = length;
    memcpy(wait->text, text, length);
    access_secret_hash(text, length, wait->hash);
    if (users->waiting++ >= TN_AUTHENTICATOR_CHECKS) {
        wait_answer(wait, ACCESS_AWAY);
        return wait;
    }
    loop_timer_start(users->loop, &wait->timer, TN_AUTHENTICATOR_MS, wait_on_timer);
    wait_ask(wait);
    return wait;
}

void access_wait_cancel(struct access_wait *wait) {
    if (!wait) return;
    wait_cancel_check(wait);
    wait_free(wait);
}

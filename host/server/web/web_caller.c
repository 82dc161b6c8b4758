/*
 * web_caller.c - callers: the keys for which a plugin acts.
 *
 * A caller belongs to one plugin and one key, as the key was then: if a key of the same name is made again with another
 * scope or owner, it is another caller. A plugin may use the number until it ends. When there are too many, those that
 * have nothing open are forgotten, the oldest first.
 */
#include "adl/value/memory.h"
#include "host/plugin/registry/plugin.h"
#include "host/server/plugin_client.h"
#include "host/server/server.h"
#include "host/server/web/web_internal.h"
#include <string.h>

struct web_caller {
    struct web_caller *next; /* the newest first */
    struct web *web;
    struct plugin *plugin;
    char *key, *owner;
    enum method_scope scope;
    uint64_t number;
    struct plugin_caller *inner;
};

static bool texts_equal(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool is_of_key(const struct web_caller *caller, const struct access_key *key) {
    return key && strcmp(caller->key, key->name) == 0 && caller->scope == key->scope &&
           texts_equal(caller->owner, key->owner);
}

static const struct access_key *key_of(const struct web_caller *caller) {
    const struct access_key like = {.name = caller->key, .scope = caller->scope, .owner = caller->owner};
    return access_find_same(caller->web->access, &like);
}

static int32_t caller_check(void *user, const struct method *method, struct error *error) {
    const struct web_caller *caller = user;
    const struct access_key *key = key_of(caller);
    /* What the user has started may be ended. */
    if (!key && strcmp(method->name, "run/cancel") == 0) return TN_OK;
    if (!key)
        return error_set(error, TN_FAILED, "PERMISSION_DENIED", "the key `%s` was revoked, or has expired",
                         caller->key);
    return key_use_check(web_limits_use(caller->web->limits, caller->key), key->limits, method, error);
}

static void caller_done(void *user, const struct method *method, tn_value params, tn_value result) {
    const struct web_caller *caller = user;
    key_use_done(web_limits_use(caller->web->limits, caller->key), caller->owner, method, params, result);
}

static void caller_free(struct web_caller **link) {
    struct web_caller *caller = *link;
    *link = caller->next;
    caller->web->caller_count--;
    plugin_caller_free(caller->inner);
    mem_free(caller->key);
    mem_free(caller->owner);
    mem_free(caller);
}

/* Frees the oldest caller that has nothing open. */
static void callers_make_room(struct web *web) {
    struct web_caller **oldest = NULL;
    for (struct web_caller **link = &web->callers; *link; link = &(*link)->next)
        if (!plugin_caller_is_used((*link)->inner)) oldest = link;
    if (oldest) caller_free(oldest);
}

static struct web_caller *caller_new(struct web *web, struct plugin *plugin, const struct access_key *key) {
    struct web_caller *caller = mem_zalloc(sizeof *caller);
    caller->inner = plugin_caller_new(server_plugin_clients(web->server), plugin,
                                      &(struct plugin_caller_options){.name = key->name,
                                                                      .scope = key->scope,
                                                                      .owner = key->owner,
                                                                      .check = caller_check,
                                                                      .done = caller_done,
                                                                      .user = caller});
    if (!caller->inner) {
        mem_free(caller);
        return NULL;
    }
    caller->web = web;
    caller->plugin = plugin;
    caller->key = mem_text(key->name);
    caller->owner = key->owner ? mem_text(key->owner) : NULL;
    caller->scope = key->scope;
    caller->number = ++web->last_caller;
    caller->next = web->callers;
    web->callers = caller;
    web->caller_count++;
    return caller;
}

uint64_t web_caller_number(struct web *web, struct plugin *plugin, const struct access_key *key) {
    struct web_caller *caller = web->callers;
    while (caller && (caller->plugin != plugin || !is_of_key(caller, key))) caller = caller->next;
    if (caller) return caller->number;
    if (web->caller_count >= WEB_CALLERS_MAX) callers_make_room(web);
    if (web->caller_count >= WEB_CALLERS_MAX) return 0;
    caller = caller_new(web, plugin, key);
    return caller ? caller->number : 0;
}

struct plugin_caller *web_caller_find(const struct web *web, const struct plugin *plugin, uint64_t number) {
    const struct web_caller *caller = web->callers;
    while (caller && (caller->number != number || caller->plugin != plugin)) caller = caller->next;
    return caller ? caller->inner : NULL;
}

void web_callers_end(struct web *web, const struct plugin *plugin) {
    for (struct web_caller **link = &web->callers; *link;)
        if (!plugin || (*link)->plugin == plugin)
            caller_free(link);
        else
            link = &(*link)->next;
}

void web_callers_check(struct web *web) {
    for (const struct web_caller *caller = web->callers; caller; caller = caller->next)
        if (plugin_caller_is_used(caller->inner) && !key_of(caller))
            plugin_caller_refuse(caller->inner, "the key was revoked, or has expired");
}

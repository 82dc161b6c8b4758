/*
 * method_call.c - checks the rights of a client and the parameters, calls the handler, and has what handlers share.
 */
#include "host/server/method_call.h"
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include "adl/value/wildcard.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/files.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/call/owner.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/server/client.h"
#include "host/server/method_internal.h"
#include "host/server/plugin_client.h"
#include "host/server/plugin_wait.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include "host/server/user_error.h"
#include <string.h>

#define EFFECT_PREFIX "host.method:"

struct method_callable {
    struct callable callable; /* first */
    const struct method *method;
    /* They may have ended when the call ends; of a component, NULL until the call starts. */
    struct server *server;
    struct client *client;
    const struct component_info *caller; /* of a plugin; else NULL */
    struct plugin *plugin;               /* of the component that calls; else NULL */
    struct authority *authority; /* of the caller alone, for a call outside of tasks; NULL if it is not a plugin */
    uint64_t token;
    tn_value params;            /* validated */
    struct client_call waiting; /* of the client, while `retry` runs */
    struct plugin_wait retry;
    bool validates;         /* server_validates, when the call started */
    char owner[OWNER_TEXT]; /* "": the operator */
};

/* ---- Rights ---- */

static bool declares_method(const struct component_info *info, const char *name) {
    for (size_t i = 0; value_is(info->effects, TN_ARRAY) && i < value_count(info->effects); i++) {
        tn_value effect = value_at(info->effects, i);
        const char *text = value_is(effect, TN_STRING) ? value_chars(effect, NULL) : "";
        if (strcmp(text, "host.method") == 0) return true;
        if (strncmp(text, EFFECT_PREFIX, strlen(EFFECT_PREFIX)) == 0 &&
            wildcard_matches(text + strlen(EFFECT_PREFIX), name))
            return true;
    }
    return false;
}

int32_t method_check_caller(struct server *server, const struct component_info *caller, const struct method *method,
                            struct error *error) {
    struct host *host = server_host(server);
    const struct plugin *plugin = registry_plugin(host_registry(host), caller->plugin_id);
    if (!declares_method(caller, method->name))
        return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                         "`%s` calls the method %s, but its manifest does not declare the effect; add \"" EFFECT_PREFIX
                         "%s\" to the `effects` of the %s",
                         caller->id, method->name, method->name,
                         strcmp(caller->kind, "plugin") == 0 ? "plugin" : "component");
    if (method->scope != METHOD_ADMIN || (plugin && plugin_bundled(plugin)) ||
        host_allows_admin(host, caller->plugin_id))
        return TN_OK;
    return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                     "`%s` calls the method %s, which changes the host; the operator can allow it with `plugins: "
                     "{admin: [%s]}` in tenon.yaml",
                     caller->id, method->name, caller->plugin_id);
}

static void method_retry(struct plugin_wait *retry);

/* Sets what a call by a component gets when it starts, on the loop. */
static int32_t find_client(struct method_callable *self, struct error *error) {
    if (self->plugin) {
        self->server = plugin_server(self->plugin);
        if (!self->server) return error_set(error, TN_UNSUPPORTED, "UNSUPPORTED", "the host has no methods any more");
        self->client = plugin_clients_client(server_plugin_clients(self->server), self->plugin);
    }
    self->validates = server_validates(self->server);
    plugin_wait_init(&self->retry, server_host(self->server), method_retry);
    return self->client ? client_check_owner(self->client, error) : TN_OK;
}

/* The owner of the client, or of the run whose task makes the call. */
static void find_owner(struct method_callable *self, struct call *call) {
    const char *owner = self->client ? client_owner(self->client) : NULL;
    if (owner) memcpy(self->owner, owner, strlen(owner) + 1);
    if (owner || !call_parent(call)) return;
    tn_value context = call_context(call);
    (void)owner_of_context(context, self->owner);
    value_unref(context);
}

static int32_t check_scope(const struct client *client, const struct method *method, struct error *error) {
    enum method_scope has = client_scope(client), needs = client_owner(client) ? method->owned_scope : method->scope;
    if (has >= needs) return TN_OK;
    return error_set(error, TN_FAILED, "PERMISSION_DENIED", "the method %s needs the scope `%s`; %s has `%s`",
                     method->name, method_scope_name(needs), client_name(client), method_scope_name(has));
}

static int32_t check_owned(const struct method_callable *self, struct error *error) {
    enum method_owned needs = self->caller ? METHOD_INSIDE : METHOD_OWNED;
    if (!*self->owner || self->method->owned >= needs) return TN_OK;
    return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                     "the method %s is for the operator only: it could reach what belongs to others than `%s`",
                     self->method->name, self->owner);
}

static int32_t check_client(const struct method_callable *self, struct error *error) {
    if (!self->client) return error_set(error, TN_STALE, "CANCELLED", "the plugin of `%s` has ended", self->caller->id);
    int32_t status = self->caller ? method_check_caller(self->server, self->caller, self->method, error)
                                  : check_scope(self->client, self->method, error);
    return status == TN_OK ? check_owned(self, error) : status;
}

/* A subscription of a plugin has a handler, which only tenon.host's `subscribe` has got. */
static bool is_of_events(const struct method *method) {
    return strncmp(method->name, "event/", strlen("event/")) == 0 || strcmp(method->name, "run/subscribe") == 0;
}

static int32_t check_subscribes(const struct method_callable *self, tn_value params, struct error *error) {
    const char *name = self->method->name;
    if (!self->caller || !(is_of_events(self->method) || value_get(params, "subscribe"))) return TN_OK;
    return error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                     "`%s` cannot receive events by the method %s; call `subscribe` of tenon.host, for a run with "
                     "{run_id, after: 0}",
                     self->caller->id, name);
}

/*
 * Handlers read names and ids as C strings, so a part after a NUL would be lost. The kernel checks its arguments
 * itself: a body may contain any character.
 */
static int32_t check_texts(const struct method *method, tn_value params, struct error *error) {
    if (method->start == method_kernel_start) return TN_OK;
    for (size_t i = 0; i < value_count(params); i++) {
        tn_value text = value_value_at(params, i);
        size_t length = 0;
        if (value_is(text, TN_STRING) && strlen(value_chars(text, &length)) != length)
            return error_set(error, TN_INVALID, "INVALID_INPUT",
                             "the parameters of the method `%s` do not match their schema: at /%s: the text contains "
                             "U+0000, expected none",
                             method->name, value_chars(value_key_at(params, i), NULL));
    }
    return TN_OK;
}

/* ---- Ids ---- */

/* How a parameter is completed: by the shared schema that it refers to. The kernel completes ids of its records. */
enum id_kind { ID_NONE, ID_LOOKUP, ID_NEW };

static enum id_kind id_kind_of(tn_value schema) {
    tn_value reference = value_get(schema, "$ref");
    if (value_text_is(reference, "#/components/schemas/ThreadId")) return ID_LOOKUP;
    return value_text_is(reference, "#/components/schemas/NewThreadId") ? ID_NEW : ID_NONE;
}

/* Completes the ids of threads for the owner. NOT_FOUND for a new id with the prefix of another one. */
static int32_t complete_ids(struct method_callable *self, struct error *error) {
    tn_value properties = value_get(value_get(self->method->row, "params"), "properties");
    for (size_t i = 0; *self->owner && i < value_count(properties); i++) {
        tn_value name = value_key_at(properties, i), id = value_get_key(self->params, name);
        enum id_kind kind = id_kind_of(value_value_at(properties, i));
        if (kind == ID_NONE || !value_is(id, TN_STRING)) continue;
        const char *text = value_chars(id, NULL);
        char *whole = kind == ID_NEW ? owner_complete(self->owner, text, error) : owner_confine(self->owner, text);
        if (!whole) return TN_NOT_FOUND;
        self->params = value_set_key_take(self->params, value_ref(name), value_text(whole));
        mem_free(whole);
    }
    return TN_OK;
}

/* ---- The callable ---- */

/* What limits the call: the frame of the task that makes it, or that of the caller alone; NULL: the operator. */
static struct authority *frame_of_call(const struct method_callable *self, struct call *made) {
    struct call *parent = call_parent(made);
    struct authority *around = parent ? instance_authority(call_callable(parent)) : NULL;
    return around ? around : self->authority;
}

/* The frame is kept, because the handler can end the call, and so free what made it. */
static void method_run(struct method_callable *self) {
    struct call *made = call_lookup_open(self->token);
    if (!made) return;
    struct authority *authority = authority_ref(frame_of_call(self, made));
    const struct method_call call = {.server = self->server,
                                     .client = self->client,
                                     .method = self->method,
                                     .token = self->token,
                                     .params = self->params,
                                     .authority = authority,
                                     .owner = *self->owner ? self->owner : NULL};
    struct error error = ERROR_INIT;
    int32_t status = self->method->start(&call, &error);
    if (status == METHOD_RETRY) {
        client_add_call(self->client, &self->waiting);
        plugin_wait_start(&self->retry);
    } else if (status != TN_OK) {
        (void)call_fail(call.token, &error);
    }
    authority_unref(authority);
    error_finish(&error);
}

static void method_client_ended(struct client_call *waiting) {
    struct method_callable *self = CONTAINER_OF(waiting, struct method_callable, waiting);
    struct error error = ERROR_INIT;
    plugin_wait_stop(&self->retry);
    error_set(&error, TN_CANCELLED, "CANCELLED", "the client has ended while the method %s waited for plugins",
              self->method->name);
    (void)call_fail(self->token, &error);
    error_finish(&error);
}

static void method_retry(struct plugin_wait *retry) {
    struct method_callable *self = CONTAINER_OF(retry, struct method_callable, retry);
    client_remove_call(&self->waiting);
    method_run(self);
}

static int32_t method_callable_start(struct callable *callable, struct call *call, tn_value input) {
    struct method_callable *self = (struct method_callable *)callable;
    struct error error = ERROR_INIT;
    self->token = call_token(call);
    int32_t status = find_client(self, &error);
    if (status == TN_OK) find_owner(self, call);
    if (status == TN_OK) status = check_client(self, &error);
    if (status == TN_OK) status = check_subscribes(self, input, &error);
    if (status == TN_OK) status = method_read_params(self->method, input, &self->params, &error);
    if (status == TN_OK) status = check_texts(self->method, self->params, &error);
    if (status == TN_OK) status = complete_ids(self, &error);
    if (status == TN_OK)
        method_run(self);
    else
        (void)call_fail(self->token, &error);
    error_finish(&error);
    return TN_OK;
}

/* Requests to the store that are on their way end without an effect on the call. */
static void method_callable_cancel(struct callable *callable, struct call *call) {
    struct method_callable *self = (struct method_callable *)callable;
    client_remove_call(&self->waiting);
    plugin_wait_stop(&self->retry);
    (void)call_fail(call_token(call), NULL);
}

/* The timer does not run: the call has ended, or was never started. */
static void method_callable_free(struct callable *callable) {
    struct method_callable *self = (struct method_callable *)callable;
    authority_unref(self->authority);
    value_unref(self->params);
    mem_free(self);
}

int32_t method_wait_for_plugins(const struct method_call *call, int32_t status) {
    const struct call *made = call_lookup_open(call->token);
    struct method_callable *self = made ? (struct method_callable *)call_callable(made) : NULL;
    if (!self) return status;
    return plugin_wait_helps(&self->retry) ? METHOD_RETRY : status;
}

void method_defer_loads(const struct method_call *call, bool on) {
    struct call *made = call_lookup_open(call->token);
    if (made)
        plugin_wait_defer_loads(&((struct method_callable *)call_callable(made))->retry, on);
    else
        registry_defer_loads(host_registry(server_host(call->server)), on);
}

/* A tool that a client with an owner calls belongs to this owner, as a run with such an id does. */
static tn_value method_callable_context(const struct callable *callable, const struct call *call) {
    const struct method_callable *self = (const struct method_callable *)callable;
    tn_value context = instance_plain_context(call), id = value_get(context, "task_id");
    if (!*self->owner || !value_is(id, TN_STRING)) return context;
    return value_set_take(context, "run_id", owner_confine_value(self->owner, id));
}

static const struct callable_ops method_callable_ops = {.start = method_callable_start,
                                                        .cancel = method_callable_cancel,
                                                        .context = method_callable_context,
                                                        .free = method_callable_free};

static struct method_callable *callable_new(const struct method *method, const struct component_info *caller) {
    struct method_callable *self = mem_zalloc(sizeof *self);
    self->callable = (struct callable){&method_callable_ops, 1};
    self->method = method;
    self->waiting.client_ended = method_client_ended;
    self->caller = caller;
    return self;
}

struct callable *method_call_new(struct client *client, const struct method *method,
                                 const struct component_info *caller) {
    struct method_callable *self = callable_new(method, caller);
    self->server = client_server(client);
    self->client = client;
    if (caller) self->authority = authority_of_component(NULL, caller, NULL, NULL);
    return &self->callable;
}

struct callable *method_call_of_component(const struct method *method, const struct component *component) {
    struct method_callable *self = callable_new(method, component->info);
    self->plugin = component->plugin;
    self->authority = authority_of_component(NULL, component->info, NULL, NULL);
    return &self->callable;
}

/* ---- For handlers ---- */

bool method_is_allowed(const struct method_call *call, const struct method *method) {
    const struct call *made = call_lookup_open(call->token);
    const struct component_info *caller = made ? ((struct method_callable *)call_callable(made))->caller : NULL;
    if (call->owner && method->owned < (caller ? METHOD_INSIDE : METHOD_OWNED)) return false;
    if (!caller) return check_scope(call->client, method, NULL) == TN_OK;
    return !is_of_events(method) && method_check_caller(call->server, caller, method, NULL) == TN_OK;
}

bool method_may_subscribe(const struct method_call *call) {
    const struct method *subscribe = method_find("event/subscribe");
    const struct component_info *rights = plugin_clients_rights(server_plugin_clients(call->server), call->client);
    if (!rights) return method_is_allowed(call, subscribe);
    return method_check_caller(call->server, rights, subscribe, NULL) == TN_OK;
}

struct authority *method_authority(const struct method_call *call) {
    return call->authority;
}

int32_t method_locate(const struct method_call *call, const char *parameter, const char *name, char **path,
                      struct error *error) {
    if (client_owner(call->client) && !files_is_graph_name(name))
        return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                         "`%s`: %s names documents only as `graph:NAME` (found `%.200s`)", parameter,
                         client_name(call->client), name);
    int32_t status = host_locate_file(server_host(call->server), name, path, error);
    if (status != TN_NOT_FOUND) return status;
    if (client_names_files(call->client)) {
        *path = mem_text(name);
        return TN_OK;
    }
    return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                     "`%s`: %s may not name files of the host by their path (found `%.200s`); expected a file of a "
                     "pack, as `pack:NAME/FILE`, or a text",
                     parameter, client_name(call->client), name);
}

int32_t method_refuse_child(int32_t status, struct error *error) {
    if (status == TN_OK) return TN_OK;
    return error_set(error, status, status == TN_LIMIT ? "LIMIT" : "CANCELLED",
                     status == TN_LIMIT ? "calls are nested too deep" : "the call was cancelled");
}

/* Ends the call of the token, if it is open, with a result. */
static void end_with(uint64_t token, tn_value result) {
    struct call *made = call_lookup_open(token);
    struct error error = ERROR_INIT;
    int32_t status = TN_OK;
    const struct method_callable *self = made ? (const struct method_callable *)call_callable(made) : NULL;
    if (self && self->validates) status = method_check_result(self->method, result, &error);
    if (status == TN_OK)
        (void)call_complete(token, result);
    else
        (void)call_fail(token, &error);
    error_finish(&error);
}

int32_t method_done_take(const struct method_call *call, tn_value result) {
    end_with(call->token, result);
    value_unref(result);
    return TN_OK;
}

void *method_user(const struct method_call *call) { return (void *)(uintptr_t)call->token; }

void method_on_stored(void *user, int32_t status, tn_value result, const struct error *error) {
    uint64_t token = (uint64_t)(uintptr_t)user;
    struct call *made = call_lookup_open(token);
    const struct method_callable *self = made ? (const struct method_callable *)call_callable(made) : NULL;
    struct error shown = ERROR_INIT;
    if (status == TN_OK)
        end_with(token, result ? result : value_null());
    else if (self && *self->owner && user_error_is_hidden(error->code))
        (void)(user_error_set(&shown, status, error->code), call_fail(token, &shown));
    else
        (void)call_fail(token, error);
    error_finish(&shown);
}

/* ---- Parameters ---- */

const char *method_text(const struct method_call *call, const char *name) {
    tn_value text = value_get(call->params, name);
    return text && value_is(text, TN_STRING) ? value_chars(text, NULL) : NULL;
}

int64_t method_params_int(tn_value params, const char *name, int64_t otherwise) {
    tn_value number = value_get(params, name);
    int64_t found;
    return number && value_as_int(number, &found) ? found : otherwise; /* 2.0 is an integer of a schema */
}

int64_t method_int(const struct method_call *call, const char *name, int64_t otherwise) {
    return method_params_int(call->params, name, otherwise);
}

bool method_flag(const struct method_call *call, const char *name) {
    tn_value flag = value_get(call->params, name);
    return flag && value_is(flag, TN_BOOL) && value_to_bool(flag);
}

/*
 * instance.c - creates instances of components, and calls async ones.
 *
 * Calling an async component is two jumps: its start receives the call's token, and everything else happens through
 * tokens. call_blocking.c calls blocking components.
 */
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/base/random.h"
#include "host/base/secrets/secrets.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call_internal.h"
#include "host/plugin/call/instance_internal.h"
#include "host/plugin/call/slot.h"
#include "host/plugin/registry/plugin.h"
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

static struct instance *instance_of(struct callable *callable) { return (struct instance *)callable; }

/* ---- Async calls ---- */

bool instance_accepts(const struct instance *instance, struct call *call, tn_value *input) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    struct error error = ERROR_INIT;
    if (call_resumed(call)) return true; /* the input is {continuation, answer}; the answer has been validated */
    if (!*input || value_is(*input, TN_NULL)) *input = value_object(); /* null means no arguments */
    if (schema_validate(instance->input, *input, &errors) == TN_OK) {
        schema_errors_finish(&errors);
        return true;
    }
    const struct schema_error *first = errors.count ? &errors.items[0] : NULL;
    error_set(&error, TN_INVALID, "INVALID_INPUT", "the arguments of the tool `%s`%s%s: %s%s",
              instance->component->info->id, first && *first->pointer ? " at " : "", first ? first->pointer : "",
              first ? first->message : "they do not match its schema", errors.count > 1 ? " (and more)" : "");
    call_fail(slot_token(call), &error);
    error_finish(&error);
    schema_errors_finish(&errors);
    return false;
}

static int32_t async_start(struct callable *callable, struct call *call, tn_value input) {
    struct instance *instance = instance_of(callable);
    plugin_task_begin(instance->component->plugin);
    if (instance->input && !instance_accepts(instance, call, &input)) return TN_OK;
    return instance->component->vtable->start(instance->self, slot_token(call), input);
}

static void async_cancel(struct callable *callable, struct call *call) {
    struct instance *instance = instance_of(callable);
    const tn_component_1 *vtable = instance->component->vtable;
    if (vtable->cancel) vtable->cancel(instance->self, slot_token(call));
}

static void async_ready(struct callable *callable, struct call *call) {
    struct instance *instance = instance_of(callable);
    const tn_component_1 *vtable = instance->component->vtable;
    if (vtable->ready) vtable->ready(instance->self, slot_token(call));
}

static void async_finished(struct callable *callable, struct call *call) {
    (void)call;
    plugin_task_end(instance_of(callable)->component->plugin);
}

static void instance_free(struct callable *callable) {
    struct instance *instance = instance_of(callable);
    const tn_component_1 *vtable = instance->component->vtable;
    struct plugin *plugin = instance->component->plugin;
    if (vtable->destroy) {
        if (instance->created) vtable->destroy(instance->self);
        for (uint32_t i = 0; i < instance->idle_count; i++) vtable->destroy(instance->idle[i]);
    }
    bindings_finish(&instance->bindings);
    authority_unref(instance->scope.authority);
    value_unref(instance->config);
    mem_free((void *)instance->idle);
    mem_free(instance->where);
    mem_free(instance);
    plugin_unref(plugin);
}

const struct callable_ops instance_async_ops = {.start = async_start,
                                                .cancel = async_cancel,
                                                .ready = async_ready,
                                                .free = instance_free,
                                                .external = true,
                                                .finished = async_finished};
const struct callable_ops instance_blocking_ops = {.start = blocking_start,
                                                   .cancel = blocking_cancel,
                                                   .free = instance_free,
                                                   .external = true,
                                                   .finished = blocking_finished,
                                                   .hung = blocking_hung};

/* ---- Creating ---- */

int32_t instance_create_inner(struct instance *instance, void **inner, struct error *error) {
    const struct component *component = instance->component;
    struct error own = ERROR_INIT;
    struct tn_binder binder = {&instance->bindings, &instance->scope, instance->config, &own, false};
    void *created = NULL;
    const char *id = component->info->id;
    struct error refusal = ERROR_INIT, *before = plugin_set_refusal_place(component->plugin, &refusal);
    int32_t status = component->vtable->create(component->self, id, strlen(id), instance->config, &binder, &created);
    (void)plugin_set_refusal_place(component->plugin, before);
    if (refusal.code) { /* the component's own message replaces that of a failed bind */
        error_move(&own, &refusal);
        binder.failed = true;
    }
    if (status == TN_OK) {
        /* create ignored a failed bind: it does not need that name. */
        error_finish(&own);
        *inner = created;
        return TN_OK;
    }
    if (call_take_rejected_text() && !binder.failed && (status == TN_NO_MEMORY || status == TN_INVALID))
        error_set(&own, status, "NOT_TEXT",
                  "cannot create the component `%s`: it passed a text to the host that is not UTF-8",
                  component->info->id);
    else if (!binder.failed)
        error_set(&own, status, status == TN_NO_MEMORY ? "NO_MEMORY" : "INVALID_CONFIG",
                  "cannot create the component `%s`: it returned status %d and no message", component->info->id,
                  (int)status);
    secrets_scrub_error(registry_secrets(plugin_registry(component->plugin)), &own);
    if (error)
        error_move(error, &own);
    else
        error_finish(&own);
    return status;
}

int32_t instance_new(struct component *component, tn_value config, const struct instance_scope *scope,
                     struct callable **out, struct error *error) {
    if (!component->vtable->create || !component->vtable->start)
        return error_set(error, TN_INVALID, "PLUGIN_REFUSED", "the component `%s` lacks `create` or `start`",
                         component->info->id);
    struct instance *instance = mem_zalloc(sizeof *instance);
    instance->callable.references = 1;
    instance->callable.ops = component->blocking ? &instance_blocking_ops : &instance_async_ops;
    instance->component = component;
    instance->config = config ? value_ref(config) : value_object();
    if (strcmp(component->info->kind, "tool") == 0) instance->input = component->info->input;
    instance->scope = *scope;
    instance->where = mem_text(scope->where ? scope->where : "a component");
    instance->scope.where = instance->where;
    instance->scope.authority =
        authority_of_component(scope->authority, component->info, scope->given ? scope->given : config, scope->node);
    instance->scope.node = NULL;
    instance->scope.given = NULL;
    instance->queue_last = &instance->queue;
    plugin_ref(component->plugin);
    void *self = NULL;
    int32_t status = instance_create_inner(instance, &self, error);
    if (status != TN_OK) {
        instance_free(&instance->callable);
        return status;
    }
    instance->bindings.sealed = true;
    instance->pooled = component->blocking && !component->reentrant;
    if (instance->pooled) {
        instance->idle = mem_array(NULL, 1, sizeof(void *));
        instance->idle[0] = self;
        instance->idle_count = instance->idle_capacity = instance->inner_count = 1;
    } else {
        instance->self = self;
        instance->created = true;
    }
    *out = &instance->callable;
    return TN_OK;
}

int32_t instance_new_called(struct component *component, tn_value config, const struct instance_scope *scope,
                            struct callable **out, struct error *error) {
    const struct component_info *info = component->info;
    tn_value whole = config ? value_ref(config) : value_object();
    if (info->config) {
        tn_value filled = schema_with_defaults(info->config, whole);
        value_unref(whole);
        whole = filled;
    }
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t status = TN_OK;
    if (info->config && schema_validate(info->config, whole, &errors) != TN_OK) {
        const char *pointer = errors.count ? errors.items[0].pointer : "";
        status = error_set(error, TN_INVALID, "INVALID_CONFIG", "the configuration of the %s `%s`: %s%s%s%s",
                           info->kind, info->id, pointer, *pointer ? ": " : "",
                           errors.count ? errors.items[0].message : "it does not match its schema",
                           errors.count > 1 ? " (and more)" : "");
    }
    schema_errors_finish(&errors);
    struct instance_scope inner = *scope;
    inner.given = config ? config : value_null();
    if (status == TN_OK) status = instance_new(component, whole, &inner, out, error);
    value_unref(whole);
    return status;
}

const uint32_t *instance_reads(const struct callable *callable, uint32_t *count) {
    *count = 0;
    if (!instance_is(callable)) return NULL;
    const struct instance *instance = (const struct instance *)callable;
    *count = instance->bindings.read_count;
    return instance->bindings.reads;
}

struct authority *instance_authority(const struct callable *callable) {
    return instance_is(callable) ? ((const struct instance *)callable)->scope.authority : NULL;
}

tn_value instance_config(const struct callable *callable) {
    return instance_is(callable) ? ((const struct instance *)callable)->config : NULL;
}

struct callable *instance_callee(const struct callable *callable, uint32_t index) {
    if (!instance_is(callable)) return NULL;
    const struct bindings *bindings = &((const struct instance *)callable)->bindings;
    return index < bindings->callee_count ? bindings->callees[index].callable : NULL;
}

struct component *instance_component(const struct callable *callable) {
    if (instance_is(callable)) return ((const struct instance *)callable)->component;
    return callable->ops->component ? callable->ops->component(callable) : NULL;
}

static uint64_t process_random[2];
static void choose_process_random(void) { random_fill(process_random, sizeof process_random); }

/* A token is unique in this process only, but a task_id must be unique everywhere: it serves as the idempotency key. */
static tn_value unique_call_id(const struct call *call) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, choose_process_random);
    return value_format("%016" PRIx64 "%016" PRIx64, process_random[0], process_random[1] + slot_token(call));
}

tn_value instance_plain_context(const struct call *call) {
    tn_value context = value_set_take(value_object_reserve(2), "task_id", unique_call_id(call));
    return value_set_take(context, "now", value_int(loop_wall_ms(call->loop)));
}

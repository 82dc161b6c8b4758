/*
 * serve_instance.c - instances in a child process, and the host's components that their tasks call.
 *
 * The scope of an instance accepts every name that the component binds; the host checks the names. A call of the host
 * gets a number here, and ends when the host sends `called` with that number.
 */
#include "adl/value/memory.h"
#include "host/plugin/call/instance_internal.h"
#include "host/plugin/isolate/serve_internal.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

struct served_instance *served_instance_lookup(int64_t number) {
    struct served_instance *instance = server.instances;
    while (instance && instance->number != number) instance = instance->next;
    return instance;
}

/* ---- Calls of the host ---- */

/* The options for the host, which keeps the time; NULL: none. */
static tn_value served_call_options(const struct call *call) {
    static const char *const words[] = {[CALL_CHUNKS_RECEIVE] = "receive", [CALL_CHUNKS_DROP] = "drop"};
    const struct call_options *options = call_options_of(call);
    tn_value value = NULL;
    if (options->chunks != CALL_CHUNKS_FORWARD)
        value = value_set_take(value_object_reserve(2), "chunks", value_text(words[options->chunks]));
    if (options->timeout_ms)
        value = value_set_take(value ? value : value_object_reserve(1), "timeout_ms", value_int(options->timeout_ms));
    return value;
}

int32_t serve_call_host_take(struct call *call, const char *key, tn_value target, tn_value input) {
    const struct served_task *task = call_owner(call_parent(call));
    tn_value params = value_set_take(served_task_params(task, 4), "call", value_int(++server.last_call));
    tn_value options = served_call_options(call);
    if (options) params = value_set_take(params, "options", options);
    params = value_set_take(params, key, target);
    if (input) params = value_set_take(params, "input", value_ref(input));
    enum frame_fit fit = serve_notify_take("call", params);
    if (fit != FRAME_FITS) {
        serve_fail_unsendable(call, "the input of a call", fit);
        return TN_OK;
    }
    struct served_call *pending = mem_zalloc(sizeof *pending);
    pending->number = server.last_call;
    pending->task = task->number;
    pending->token = call_token(call);
    pending->next = server.calls[(uint64_t)pending->number % TASK_BUCKETS];
    server.calls[(uint64_t)pending->number % TASK_BUCKETS] = pending;
    call_set_data(call, (void *)(uintptr_t)pending->number);
    return TN_OK;
}

static int32_t served_callee_start(struct callable *callable, struct call *call, tn_value input) {
    const struct served_callee *callee = (const struct served_callee *)callable;
    return callee->operation ? serve_call_host_take(call, "operation", value_text(callee->operation), input)
                             : serve_call_host_take(call, "callee", value_int(callee->index), input);
}

static void served_callee_free(struct callable *callable) {
    struct served_callee *callee = (struct served_callee *)callable;
    mem_free(callee->kind);
    mem_free(callee->name);
    mem_free(callee->operation);
    value_unref(callee->config);
    mem_free(callee);
}

/* ---- Calls that have not ended ---- */

/* The link that points to the call, or to NULL at the end of its list. */
static struct served_call **served_call_link(int64_t number) {
    struct served_call **at = &server.calls[(uint64_t)number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

/* NULL if the host has ended the call, or was not asked. */
static struct served_call *served_call_of(const struct call *call) {
    return *served_call_link((int64_t)(uintptr_t)call_data(call));
}

static tn_value served_call_params(const struct served_call *pending) {
    tn_value params = value_set_take(value_object_reserve(3), "task", value_int(pending->task));
    return value_set_take(params, "call", value_int(pending->number));
}

static void served_call_send_credit(struct served_call *pending, int64_t least) {
    if (pending->full || pending->uncredited < least) return;
    serve_notify_take("call_credit",
                      value_set_take(served_call_params(pending), "chunks", value_int(pending->uncredited)));
    pending->uncredited = 0;
}

void serve_call_cancel(struct callable *callable, struct call *call) {
    const struct served_call *pending = served_call_of(call);
    (void)callable;
    if (pending) serve_notify_take("cancel_call", served_call_params(pending));
}

void serve_call_ready(struct callable *callable, struct call *call) {
    struct served_call *pending = served_call_of(call);
    (void)callable;
    if (!pending) return;
    pending->full = false;
    served_call_send_credit(pending, 1);
}

void serve_on_call_chunk(tn_value params) {
    struct served_call *pending = *served_call_link(value_to_int(value_get(params, "call")));
    if (!pending) return; /* it was cancelled after the host sent the chunk */
    pending->uncredited++;
    if (call_emit(pending->token, value_get(params, "chunk")) == TN_AGAIN) pending->full = true;
    served_call_send_credit(pending, PROTOCOL_CREDIT);
}

static const struct callable_ops served_callee_ops = {
    .start = served_callee_start, .cancel = serve_call_cancel, .ready = serve_call_ready, .free = served_callee_free};

struct callable *serve_operation(const char *operation) {
    struct served_callee *callee = mem_zalloc(sizeof *callee);
    callee->callable = (struct callable){&served_callee_ops, 1};
    callee->operation = mem_text(operation);
    return &callee->callable;
}

void serve_on_called(tn_value params) {
    struct served_call **at = served_call_link(value_to_int(value_get(params, "call"))), *pending = *at;
    if (!pending) return;
    *at = pending->next;
    tn_value failure = value_get(params, "error");
    if (failure) {
        struct error error = ERROR_INIT;
        error_from_value(&error, failure);
        call_fail(pending->token, &error);
        error_finish(&error);
    } else {
        call_complete(pending->token, value_get(params, "output"));
    }
    mem_free(pending);
}

/* ---- Instances ---- */

static int32_t name_index(char *const *names, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return (int32_t)i;
    return -1;
}

/* Returns the index of `name`, which is appended if it is new. */
static uint32_t record_name(char ***names, uint32_t *count, const char *name) {
    int32_t known = name_index(*names, *count, name);
    if (known >= 0) return (uint32_t)known;
    MEM_EXTEND(*names, *count);
    (*names)[*count] = mem_text(name);
    return (*count)++;
}

static int32_t served_scope_field(void *self, const char *name) {
    struct served_instance *instance = self;
    if (instance->closed) return name_index(instance->reads, instance->read_count, name);
    return (int32_t)record_name(&instance->reads, &instance->read_count, name);
}

static void served_scope_each_field(void *self, void (*visit)(void *user, const char *name), void *user) {
    const struct served_instance *instance = self;
    for (uint32_t i = 0; instance->closed && i < instance->read_count; i++) visit(user, instance->reads[i]);
}

static bool served_scope_nullable(void *self, uint32_t field) {
    const struct served_instance *instance = self;
    for (size_t i = 0; instance->needed && i < value_count(instance->needed); i++)
        if (value_text_is(value_at(instance->needed, i), instance->reads[field])) return false;
    return true;
}

static const char *served_scope_field_name(void *self, uint32_t field) {
    const struct served_instance *instance = self;
    return field < instance->read_count ? instance->reads[field] : "";
}

static int32_t served_scope_channel(void *self, const char *name) {
    struct served_instance *instance = self;
    return (int32_t)record_name(&instance->writes, &instance->write_count, name);
}

static struct callable *served_scope_callee(void *self, struct authority *caller, const char *kind, const char *name,
                                            tn_value config, struct error *error) {
    struct served_instance *instance = self;
    (void)caller;
    struct served_callee *callee = mem_zalloc(sizeof *callee), **last = &instance->callees;
    (void)error;
    callee->callable = (struct callable){&served_callee_ops, 1};
    callee->kind = mem_text(kind);
    callee->name = mem_text(name);
    callee->config = value_ref(config);
    callee->index = instance->callee_count++;
    while (*last) last = &(*last)->next;
    *last = callee;
    return &callee->callable;
}

void served_instance_free(struct served_instance *instance) {
    struct served_instance **at = &server.instances;
    while (*at != instance) at = &(*at)->next;
    *at = instance->next;
    callable_unref(instance->callable);
    value_unref(instance->needed);
    for (uint32_t i = 0; i < instance->read_count; i++) {
        mem_free(instance->reads[i]);
        if (instance->last_reads) value_unref(instance->last_reads[i]);
    }
    for (uint32_t i = 0; i < instance->write_count; i++) mem_free(instance->writes[i]);
    mem_free((void *)instance->reads);
    mem_free((void *)instance->writes);
    mem_free((void *)instance->last_reads);
    mem_free(instance);
}

static tn_value name_array(char **names, uint32_t count) {
    tn_value list = value_array();
    for (uint32_t i = 0; i < count; i++) list = value_push_take(list, value_text(names[i]));
    return list;
}

/* Returns what the instance has bound: {reads, writes, calls, tools?, run}. */
static tn_value served_instance_bindings(const struct served_instance *instance) {
    const struct bindings *bindings = &((const struct instance *)instance->callable)->bindings;
    tn_value calls = value_array();
    for (const struct served_callee *callee = instance->callees; callee; callee = callee->next) {
        tn_value row = value_set_take(value_object_reserve(3), "kind", value_text(callee->kind));
        row = value_set_take(row, "name", value_text(callee->name));
        if (callee->config) row = value_set_take(row, "config", value_ref(callee->config));
        calls = value_push_take(calls, row);
    }
    tn_value result =
        value_set_take(value_object_reserve(4), "reads", name_array(bindings->read_names, bindings->read_count));
    result = value_set_take(result, "writes", name_array(instance->writes, instance->write_count));
    result = value_set_take(result, "calls", calls);
    if (instance->sets) result = value_set_take(result, "tools", served_sets_names(instance));
    return value_set_take(result, "run", value_bool(bindings->uses_run));
}

static void served_instance_set_channels(struct served_instance *instance, tn_value names) {
    instance->closed = names != NULL;
    instance->reads = mem_zalloc((value_count(names) + 1) * sizeof *instance->reads);
    for (size_t i = 0; i < value_count(names); i++)
        instance->reads[instance->read_count++] = mem_text(value_chars(value_at(names, i), NULL));
}

void serve_create(tn_value id, tn_value params) {
    struct error error = ERROR_INIT;
    struct component *component = NULL;
    struct served_instance *instance = mem_zalloc(sizeof *instance);
    const char *kind = value_chars(value_get(params, "kind"), NULL),
               *name = value_chars(value_get(params, "component"), NULL);
    instance->number = value_to_int(value_get(params, "instance"));
    instance->needed = value_ref(value_get(params, "needed"));
    served_instance_set_channels(instance, value_get(params, "channels"));
    instance->next = server.instances;
    server.instances = instance;
    const struct instance_scope scope = {.self = instance,
                                         .field = served_scope_field,
                                         .channel = served_scope_channel,
                                         .callee = served_scope_callee,
                                         .tools = serve_scope_tools,
                                         .each_field = served_scope_each_field,
                                         .field_name = served_scope_field_name,
                                         .nullable = served_scope_nullable,
                                         .where = name,
                                         .checked_before = true};
    int32_t status = registry_resolve(server.registry, kind, name, &component, &error);
    if (status == TN_OK)
        status = instance_new(component, value_get(params, "config"), &scope, &instance->callable, &error);
    if (status == TN_OK) {
        instance->last_reads = mem_zalloc((instance->read_count + 1) * sizeof *instance->last_reads);
        serve_respond_take(id, served_instance_bindings(instance));
    } else {
        serve_respond_error(id, &error);
        served_instance_free(instance);
    }
    error_finish(&error);
}

void serve_destroy(tn_value params) {
    struct served_instance *instance = served_instance_lookup(value_to_int(value_get(params, "instance")));
    if (instance) served_instance_free(instance);
}

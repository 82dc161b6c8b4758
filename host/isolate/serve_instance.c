/*
 * serve_instance.c - instances in a process of its own, and what their tasks call of the host's.
 *
 * Each name that a component binds is taken down; that it leads somewhere is the host's to know. A call is numbered
 * here, and waits for `called`.
 */
#include "adl/value/memory.h"
#include "host/call/instance_internal.h"
#include "host/isolate/serve_internal.h"
#include "host/plugin/registry.h"
#include <string.h>

struct served *serve_instance(int64_t number) {
    struct served *served = server.instances;
    while (served && served->number != number) served = served->next;
    return served;
}

/* ---- Components of the host's, called from here ---- */

int32_t serve_ask_take(struct call *call, const char *by, tn_value which, tn_value input) {
    const struct task *task = call_owner(call_parent(call));
    tn_value params = value_set_take(serve_of_task(task, 3), "call", value_int(++server.calls));
    params = value_set_take(params, by, which);
    if (input) params = value_set_take(params, "input", value_ref(input));
    if (!serve_notify_take("call", params)) {
        serve_fail_too_long(call, "what a component is called with");
        return TN_OK;
    }
    struct asked *asked = mem_zalloc(sizeof *asked);
    asked->number = server.calls;
    asked->token = call_token(call);
    asked->next = server.asked;
    server.asked = asked;
    return TN_OK;
}

static int32_t callee_start(struct callable *callable, struct call *call, tn_value input) {
    const struct callee *callee = (const struct callee *)callable;
    return callee->operation ? serve_ask_take(call, "operation", value_text(callee->operation), input)
                             : serve_ask_take(call, "callee", value_int(callee->index), input);
}

static void callee_free(struct callable *callable) {
    struct callee *callee = (struct callee *)callable;
    mem_free(callee->kind);
    mem_free(callee->name);
    mem_free(callee->operation);
    value_unref(callee->config);
    mem_free(callee);
}

static const struct callable_ops callee_ops = {.start = callee_start, .free = callee_free};

/* The store is the host's. */
struct callable *serve_operation(const char *operation) {
    struct callee *callee = mem_zalloc(sizeof *callee);
    callee->callable = (struct callable){&callee_ops, 1};
    callee->operation = mem_text(operation);
    return &callee->callable;
}

void serve_called(tn_value params) {
    int64_t number = value_to_int(value_get(params, "call"));
    struct asked **at = &server.asked;
    while (*at && (*at)->number != number) at = &(*at)->next;
    struct asked *asked = *at;
    if (!asked) return;
    *at = asked->next;
    tn_value failure = value_get(params, "error");
    if (failure) {
        struct error error = ERROR_INIT;
        error_from_value(&error, failure);
        call_fail(asked->token, &error);
        error_finish(&error);
    } else {
        call_complete(asked->token, value_get(params, "output"));
    }
    mem_free(asked);
}

/* ---- Instances ---- */

static uint32_t take_down(char ***names, uint32_t *count, const char *name) {
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp((*names)[i], name) == 0) return i;
    if ((*count & (*count - 1)) == 0) *names = mem_array((void *)*names, *count ? *count * 2 : 1, sizeof **names);
    (*names)[*count] = mem_text(name);
    return (*count)++;
}

static int32_t scope_field(void *self, const char *name) {
    struct served *served = self;
    return (int32_t)take_down(&served->reads, &served->read_count, name);
}

static const char *scope_field_name(void *self, uint32_t field) {
    const struct served *served = self;
    return field < served->read_count ? served->reads[field] : "";
}

static int32_t scope_channel(void *self, const char *name) {
    struct served *served = self;
    return (int32_t)take_down(&served->writes, &served->write_count, name);
}

static struct callable *scope_callee(void *self, const char *kind, const char *name, tn_value config,
                                     struct error *error) {
    struct served *served = self;
    struct callee *callee = mem_zalloc(sizeof *callee), **last = &served->callees;
    (void)error;
    callee->callable = (struct callable){&callee_ops, 1};
    callee->kind = mem_text(kind);
    callee->name = mem_text(name);
    callee->config = value_ref(config);
    callee->index = served->callee_count++;
    while (*last) last = &(*last)->next;
    *last = callee;
    return &callee->callable;
}

void serve_instance_free(struct served *served) {
    struct served **at = &server.instances;
    while (*at != served) at = &(*at)->next;
    *at = served->next;
    callable_unref(served->callable);
    for (uint32_t i = 0; i < served->read_count; i++) {
        mem_free(served->reads[i]);
        if (served->kept) value_unref(served->kept[i]);
    }
    for (uint32_t i = 0; i < served->write_count; i++) mem_free(served->writes[i]);
    mem_free((void *)served->reads);
    mem_free((void *)served->writes);
    mem_free((void *)served->kept);
    mem_free(served);
}

static tn_value names_value(char **names, uint32_t count) {
    tn_value list = value_array();
    for (uint32_t i = 0; i < count; i++) list = value_push_take(list, value_text(names[i]));
    return list;
}

/* {reads, writes, calls, tools?, run}: what it bound. */
static tn_value describe(const struct served *served) {
    const struct bindings *bindings = &((const struct instance *)served->callable)->bindings;
    tn_value calls = value_array();
    for (const struct callee *callee = served->callees; callee; callee = callee->next) {
        tn_value row = value_set_take(value_object_reserve(3), "kind", value_text(callee->kind));
        row = value_set_take(row, "name", value_text(callee->name));
        if (callee->config) row = value_set_take(row, "config", value_ref(callee->config));
        calls = value_push_take(calls, row);
    }
    tn_value result = value_set_take(value_object_reserve(4), "reads", names_value(served->reads, served->read_count));
    result = value_set_take(result, "writes", names_value(served->writes, served->write_count));
    result = value_set_take(result, "calls", calls);
    if (served->sets) result = value_set_take(result, "tools", serve_sets(served));
    return value_set_take(result, "run", value_bool(bindings->uses_run));
}

void serve_create(tn_value id, tn_value params) {
    struct error error = ERROR_INIT;
    struct component *component = NULL;
    struct served *served = mem_zalloc(sizeof *served);
    const char *kind = value_chars(value_get(params, "kind"), NULL),
               *name = value_chars(value_get(params, "component"), NULL);
    served->number = value_to_int(value_get(params, "instance"));
    served->next = server.instances;
    server.instances = served;
    const struct instance_scope scope = {.self = served,
                                         .field = scope_field,
                                         .channel = scope_channel,
                                         .callee = scope_callee,
                                         .tools = serve_scope_tools,
                                         .field_name = scope_field_name,
                                         .where = name};
    int32_t status = registry_resolve(server.host.registry, kind, name, &component, &error);
    if (status == TN_OK)
        status = instance_new(component, value_get(params, "config"), &scope, &served->callable, &error);
    if (status == TN_OK) {
        served->kept = mem_zalloc((served->read_count + 1) * sizeof *served->kept);
        serve_answer_take(id, describe(served));
    } else {
        serve_refuse(id, &error);
        serve_instance_free(served);
    }
    error_finish(&error);
}

void serve_destroy(tn_value params) {
    struct served *served = serve_instance(value_to_int(value_get(params, "instance")));
    if (served) serve_instance_free(served);
}

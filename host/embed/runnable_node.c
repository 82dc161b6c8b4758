/*
 * runnable_node.c - a node type made of a runnable: its input is the state as an object, its output {channel: value}.
 *
 * It is a component like any other, registered in process, and uses what plugins use; the builder gives it the
 * channels to read as its config. The registry keeps it until the host is closed.
 */
#include "host/embed/runnable_node.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/host.h"
#include "host/interface/interface.h"
#include "host/plugin/registry.h"
#include <stdio.h>
#include <string.h>

/* One registered type. */
struct node_type {
    tn_plugin plugin; /* first */
    struct callable *callable;
    struct loop *loop;
    struct node_type *next;
};

/* One node of a graph. */
struct node {
    struct node_type *type;
    uint32_t count;
    struct {
        tn_value name;
        uint32_t index;
    } channels[];
};

static const tn_task_1 *task_api(void) { return interface_find(TN_TASK_1); }

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    (void)id;
    tn_value names = value_get(config, "channels");
    size_t count = names ? value_count(names) : 0;
    struct node *node = mem_zalloc(sizeof *node + count * sizeof node->channels[0]);
    node->type = self;
    for (size_t i = 0; i < count; i++) {
        node->channels[i].name = value_ref(value_at(names, i));
        node->count++;
        int32_t status = task_api()->bind_read(binder, value_chars(value_at(names, i), NULL), &node->channels[i].index);
        if (status == TN_OK) continue;
        for (uint32_t k = 0; k < node->count; k++) value_unref(node->channels[k].name);
        mem_free(node);
        return status;
    }
    *instance = node;
    return TN_OK;
}

static void destroy(void *instance) {
    struct node *node = instance;
    for (uint32_t i = 0; i < node->count; i++) value_unref(node->channels[i].name);
    mem_free(node);
}

static uint64_t token_of(const struct call *call) { return (uint64_t)(uintptr_t)call_owner(call); }

static void hand_over(struct call *call) {
    uint64_t token = token_of(call);
    struct call *outer = call_of(token);
    if (outer) call_set_data(outer, NULL);
    if (call_outcome(call) == CALL_COMPLETED) {
        tn_value writes = call_output(call);
        tn_value output = writes && !value_is(writes, TN_NULL)
                              ? value_set_take(value_object_reserve(1), "writes", value_ref(writes))
                              : value_null();
        call_complete(token, output);
        value_unref(output);
    } else {
        call_fail(token, call_error(call));
    }
    call_free(call);
}

static bool forward(struct call *call, tn_value chunk) { return call_emit(token_of(call), chunk) != TN_AGAIN; }

static int32_t start(void *instance, tn_task task, tn_value input) {
    static const struct call_ops ops = {.ended = hand_over, .chunk = forward};
    struct node *node = instance;
    (void)input;
    tn_value state = value_object_reserve(node->count);
    for (uint32_t i = 0; i < node->count; i++) {
        tn_value value = task_api()->read(task, node->channels[i].index);
        if (value) state = value_set_key_take(state, value_ref(node->channels[i].name), value);
    }
    struct call *call = call_new(node->type->loop, node->type->callable, &ops, (void *)(uintptr_t)task);
    struct call *outer = call_of(task);
    if (outer) call_set_data(outer, call);
    if (call_start(call, state)) hand_over(call);
    value_unref(state);
    return TN_OK;
}

static void cancel(void *instance, tn_task task) {
    (void)instance;
    struct call *outer = call_of(task), *inner = outer ? call_data(outer) : NULL;
    if (inner) call_cancel(inner);
}

static void ready(void *instance, tn_task task) {
    (void)instance;
    struct call *outer = call_of(task), *inner = outer ? call_data(outer) : NULL;
    if (inner) call_resume(inner);
}

static const void *offer(void *self, const char *interface_id) {
    static const tn_component_1 component = {sizeof component, 0, create, start, cancel, ready, destroy};
    (void)self;
    return strcmp(interface_id, TN_COMPONENT_1) == 0 ? &component : NULL;
}

static tn_value manifest_of(const char *id) {
    static const char template[] =
        "{\"plugin\": {\"id\": \"%s\", \"version\": \"1.0.0\", \"title\": \"A runnable of the embedding program\"},"
        " \"components\": [{\"kind\": \"node\", \"id\": \"%s\", \"title\": \"A runnable of the embedding program\","
        " \"documentation\": \"Calls a runnable with the state, and writes what it gives.\", \"style\": \"async\","
        " \"effects\": [], \"config\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\":"
        " {\"channels\": {\"type\": \"array\", \"description\": \"What it reads.\","
        " \"items\": {\"type\": \"string\", \"x-tenon\": \"channel-read\"}}}}}]}";
    tn_value text = value_format(template, id, id), manifest = NULL;
    size_t length;
    const char *chars = value_chars(text, &length);
    json_read(chars, length, NULL, &manifest, NULL);
    value_unref(text);
    return manifest;
}

int32_t runnable_node_register(tenon *host, struct callable *callable, char *type, size_t size, struct error *error) {
    snprintf(type, size, RUNNABLE_NODE_PREFIX "%llu", (unsigned long long)++host->components);
    struct node_type *made = mem_zalloc(sizeof *made);
    made->plugin = (tn_plugin){sizeof made->plugin, 0, made, offer};
    made->callable = callable_ref(callable);
    made->loop = host->host->loop;
    tn_value manifest = manifest_of(type);
    int32_t status =
        registry_add_native(host->host->registry, manifest, &made->plugin, "tenon_add_node_runnable", error);
    value_unref(manifest);
    if (status != TN_OK) {
        callable_unref(made->callable);
        mem_free(made);
        return status;
    }
    made->next = host->node_types;
    host->node_types = made;
    return TN_OK;
}

void runnable_nodes_release(tenon *host) {
    for (struct node_type *type = host->node_types; type; type = type->next) {
        callable_unref(type->callable);
        type->callable = NULL;
    }
}

void runnable_nodes_free(tenon *host) {
    while (host->node_types) {
        struct node_type *type = host->node_types;
        host->node_types = type->next;
        mem_free(type);
    }
}

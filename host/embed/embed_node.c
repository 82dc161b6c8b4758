/*
 * embed_node.c - a node type that calls a runnable: its input is the state as an object, its output {channel: value}.
 *
 * It is a component that the host registers itself, and it uses the same interfaces as a plugin. The builder lists the
 * channels to read in its configuration. The registry keeps the type until the host is closed.
 */
#include "host/embed/embed_node.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/plugin/call/call.h"
#include "host/plugin/registry/registry.h"
#include <stdio.h>
#include <string.h>

/* One registered node type. */
struct embed_node_type {
    tn_plugin plugin; /* first */
    struct callable *callable;
    struct loop *loop;
    struct embed_node_type *next;
};

/* One node of a graph. */
struct embed_node {
    struct embed_node_type *type;
    uint32_t count;
    struct {
        tn_value name;
        uint32_t index;
    } channels[];
};

static const tn_task_1 *embed_task_api(void) { return interface_find(TN_TASK_1); }

static int32_t embed_node_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                                 void **instance) {
    (void)id, (void)length;
    tn_value names = value_get(config, "channels");
    size_t count = names ? value_count(names) : 0;
    struct embed_node *node = mem_zalloc(sizeof *node + count * sizeof node->channels[0]);
    node->type = self;
    for (size_t i = 0; i < count; i++) {
        node->channels[i].name = value_ref(value_at(names, i));
        node->count++;
        size_t size;
        const char *name = value_chars(value_at(names, i), &size);
        int32_t status = embed_task_api()->bind_read(binder, name, size, &node->channels[i].index);
        if (status == TN_OK) continue;
        for (uint32_t k = 0; k < node->count; k++) value_unref(node->channels[k].name);
        mem_free(node);
        return status;
    }
    *instance = node;
    return TN_OK;
}

static void embed_node_destroy(void *instance) {
    struct embed_node *node = instance;
    for (uint32_t i = 0; i < node->count; i++) value_unref(node->channels[i].name);
    mem_free(node);
}

static uint64_t embed_node_token(const struct call *call) { return (uint64_t)(uintptr_t)call_owner(call); }

static void embed_node_on_ended(struct call *call) {
    uint64_t token = embed_node_token(call);
    struct call *outer = call_lookup_open(token);
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

static bool embed_node_on_chunk(struct call *call, tn_value chunk) {
    return call_emit(embed_node_token(call), chunk) != TN_AGAIN;
}

static int32_t embed_node_start(void *instance, tn_task task, tn_value input) {
    static const struct call_ops ops = {.ended = embed_node_on_ended, .chunk = embed_node_on_chunk};
    struct embed_node *node = instance;
    (void)input;
    tn_value state = value_object_reserve(node->count);
    for (uint32_t i = 0; i < node->count; i++) {
        tn_value value = NULL;
        (void)embed_task_api()->read(task, node->channels[i].index, &value);
        if (value) state = value_set_key_take(state, value_ref(node->channels[i].name), value);
    }
    struct call *call = call_new(node->type->loop, node->type->callable, &ops, (void *)(uintptr_t)task);
    struct call *outer = call_lookup_open(task);
    if (outer) call_set_data(outer, call);
    if (call_start(call, state)) embed_node_on_ended(call);
    value_unref(state);
    return TN_OK;
}

static void embed_node_cancel(void *instance, tn_task task) {
    (void)instance;
    struct call *outer = call_lookup_open(task), *inner = outer ? call_data(outer) : NULL;
    if (inner) call_cancel(inner);
}

static void embed_node_ready(void *instance, tn_task task) {
    (void)instance;
    struct call *outer = call_lookup_open(task), *inner = outer ? call_data(outer) : NULL;
    if (inner) call_resume(inner);
}

static const void *embed_node_get(void *self, const char *interface_id) {
    static const tn_component_1 component = {sizeof component,  embed_node_create, embed_node_start,
                                             embed_node_cancel, embed_node_ready,  embed_node_destroy};
    (void)self;
    return strcmp(interface_id, TN_COMPONENT_1) == 0 ? &component : NULL;
}

static tn_value embed_node_manifest(const char *id) {
    static const char template[] =
        "{\"plugin\": {\"id\": \"%s\", \"version\": \"1.0.0\", \"title\": \"A runnable of the embedding program\"},"
        " \"components\": [{\"kind\": \"node\", \"id\": \"%s\", \"title\": \"A runnable of the embedding program\","
        " \"documentation\": \"Calls a runnable with the state and writes its result.\", \"style\": \"async\","
        " \"effects\": [], \"config\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\":"
        " {\"channels\": {\"type\": \"array\", \"description\": \"The channels to read.\","
        " \"items\": {\"type\": \"string\", \"x-tenon\": \"channel-read\"}}}}}]}";
    tn_value text = value_format(template, id, id), manifest = NULL;
    size_t length;
    const char *chars = value_chars(text, &length);
    json_read(chars, length, NULL, &manifest, NULL);
    value_unref(text);
    return manifest;
}

int32_t embed_node_register(tenon *host, struct callable *callable, char *type, size_t size, struct error *error) {
    snprintf(type, size, EMBED_NODE_PREFIX "%llu", (unsigned long long)++host->components);
    struct embed_node_type *node_type = mem_zalloc(sizeof *node_type);
    node_type->plugin = (tn_plugin){sizeof node_type->plugin, node_type, embed_node_get};
    node_type->callable = callable_ref(callable);
    node_type->loop = host_loop(host->host);
    tn_value manifest = embed_node_manifest(type);
    int32_t status =
        registry_add_native(host_registry(host->host), manifest, &node_type->plugin, "tenon_add_node_runnable", error);
    value_unref(manifest);
    if (status != TN_OK) {
        callable_unref(node_type->callable);
        mem_free(node_type);
        return status;
    }
    node_type->next = host->node_types;
    host->node_types = node_type;
    return TN_OK;
}

void embed_nodes_release(tenon *host) {
    for (struct embed_node_type *type = host->node_types; type; type = type->next) {
        callable_unref(type->callable);
        type->callable = NULL;
    }
}

void embed_nodes_free(tenon *host) {
    while (host->node_types) {
        struct embed_node_type *type = host->node_types;
        host->node_types = type->next;
        mem_free(type);
    }
}

/*
 * embed_node.c - a node type that calls a runnable: its input is the state as an object, its output {channel: value}.
 *
 * Chunks of the runnable are chunks of the node, and the call of the runnable ends with the task.
 */
#include "host/embed/embed_node.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/embed/embed_program.h"
#include "host/plugin/call/call.h"
#include <string.h>

/* One registered node type. */
struct embed_node_type {
    struct embed_entry entry; /* first */
    struct callable *callable;
    struct loop *loop;
};

/* One node of a graph. */
struct embed_node {
    struct embed_instance instance; /* first */
    struct embed_state state;
};

static int32_t embed_node_create(const struct embed_entry *entry, tn_value config, tn_binder *binder,
                                 struct embed_instance **out) {
    struct embed_node *node = mem_zalloc(sizeof *node);
    (void)entry, (void)config;
    int32_t status = embed_state_bind(&node->state, binder);
    if (status == TN_OK)
        *out = &node->instance;
    else
        mem_free(node);
    return status;
}

static void embed_node_destroy(struct embed_instance *instance) {
    struct embed_node *node = (struct embed_node *)instance;
    embed_state_finish(&node->state);
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

static int32_t embed_node_start(struct embed_instance *instance, tn_task task, tn_value input) {
    static const struct call_ops ops = {.ended = embed_node_on_ended, .chunk = embed_node_on_chunk};
    const struct embed_node *node = (const struct embed_node *)instance;
    const struct embed_node_type *type = (const struct embed_node_type *)instance->entry;
    (void)input;
    tn_value state = embed_state_read(&node->state, task);
    struct call *call = call_new(type->loop, type->callable, &ops, (void *)(uintptr_t)task);
    struct call *outer = call_lookup_open(task);
    if (outer) call_set_data(outer, call);
    if (call_start(call, state)) embed_node_on_ended(call);
    value_unref(state);
    return TN_OK;
}

static void embed_node_cancel(struct embed_instance *instance, tn_task task) {
    (void)instance;
    struct call *outer = call_lookup_open(task), *inner = outer ? call_data(outer) : NULL;
    if (inner) call_cancel(inner);
}

static void embed_node_ready(struct embed_instance *instance, tn_task task) {
    (void)instance;
    struct call *outer = call_lookup_open(task), *inner = outer ? call_data(outer) : NULL;
    if (inner) call_resume(inner);
}

static void embed_node_release(struct embed_entry *entry) {
    struct embed_node_type *type = (struct embed_node_type *)entry;
    callable_unref(type->callable);
    type->callable = NULL;
}

static void embed_node_free(struct embed_entry *entry) {
    mem_free(entry->id);
    mem_free(entry);
}

static tn_value embed_node_component(const char *id) {
    tn_value text = value_format("{\"kind\": \"node\", \"id\": \"%s\", \"title\": \"A runnable of the program\","
                                 " \"documentation\": \"Calls a runnable with the state and writes its result.\","
                                 " \"style\": \"async\", \"effects\": []}",
                                 id),
             component = NULL;
    size_t length;
    const char *chars = value_chars(text, &length);
    (void)json_read(chars, length, NULL, &component, NULL);
    value_unref(text);
    return component;
}

int32_t embed_node_register(tenon *handle, struct callable *callable, const char **type) {
    static const struct embed_entry_ops ops = {embed_node_create, embed_node_start,   embed_node_cancel,
                                               embed_node_ready,  embed_node_destroy, embed_node_release,
                                               embed_node_free};
    struct embed_node_type *node_type = mem_zalloc(sizeof *node_type);
    node_type->entry = (struct embed_entry){&ops, embed_program_name(handle, "embed.node."), NULL};
    node_type->callable = callable_ref(callable);
    node_type->loop = host_loop(handle->host);
    tn_value component = embed_node_component(node_type->entry.id);
    int32_t status = embed_program_add_take(handle, &node_type->entry, component);
    value_unref(component);
    if (status == TN_OK) *type = node_type->entry.id;
    return status;
}

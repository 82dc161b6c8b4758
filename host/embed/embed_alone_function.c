/*
 * embed_alone_function.c - calls a node of the embedding program without a graph.
 *
 * The node binds one field, EMBED_STATE_WHOLE, which is the input of the call.
 */
#include "host/embed/embed_alone_function.h"
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/embed/embed_program.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

struct alone {
    struct callable callable; /* first */
    struct loop *loop;
    struct callable *node;
};

/* One call of the node. */
struct alone_call {
    struct alone *alone; /* one reference */
    uint64_t token;      /* of the outer call */
    tn_value input;
};

bool embed_alone_is_function(const struct component *component) {
    return strcmp(plugin_id(component->plugin), EMBED_PROGRAM_ID) == 0;
}

/* {writes, goto} as an object: the writes, and `goto` if there is one. A new reference. */
static tn_value alone_output(tn_value output) {
    tn_value writes = value_get(output, "writes"), to = value_get(output, "goto");
    tn_value all = writes ? value_ref(writes) : value_object();
    return to ? value_set_take(all, "goto", value_ref(to)) : all;
}

static void alone_on_ended(struct call *call) {
    struct alone_call *of = call_owner(call);
    struct call *outer = call_lookup_open(of->token);
    if (outer) call_set_data(outer, NULL);
    if (call_outcome(call) == CALL_COMPLETED) {
        tn_value output = alone_output(call_output(call));
        call_complete(of->token, output);
        value_unref(output);
    } else {
        call_fail(of->token, call_error(call));
    }
    call_free(call);
    value_unref(of->input);
    callable_unref(&of->alone->callable);
    mem_free(of);
}

static bool alone_on_chunk(struct call *call, tn_value chunk) {
    const struct alone_call *of = call_owner(call);
    return call_emit(of->token, chunk) != TN_AGAIN;
}

static tn_value alone_read(struct call *call, uint32_t field) {
    const struct alone_call *of = call_owner(call);
    (void)field;
    return of->input;
}

static int32_t alone_start(struct callable *callable, struct call *outer, tn_value input) {
    static const struct call_ops ops = {.ended = alone_on_ended, .chunk = alone_on_chunk, .read = alone_read};
    struct alone *alone = (struct alone *)callable;
    struct alone_call *of = mem_alloc(sizeof *of);
    callable_ref(callable);
    *of = (struct alone_call){alone, call_token(outer),
                              input && !value_is(input, TN_NULL) ? value_ref(input) : value_object()};
    struct call *call = call_new(alone->loop, alone->node, &ops, of);
    call_set_data(outer, call);
    if (call_start(call, NULL)) alone_on_ended(call);
    return TN_OK;
}

static void alone_cancel(struct callable *callable, struct call *outer) {
    (void)callable;
    if (call_data(outer)) call_cancel(call_data(outer));
}

static void alone_ready(struct callable *callable, struct call *outer) {
    (void)callable;
    if (call_data(outer)) call_resume(call_data(outer));
}

static void alone_free(struct callable *callable) {
    struct alone *alone = (struct alone *)callable;
    callable_unref(alone->node);
    mem_free(alone);
}

/* The node's scope: the only field is the whole state. */
static int32_t whole_field(void *self, const char *name) {
    (void)self;
    return strcmp(name, EMBED_STATE_WHOLE) == 0 ? 0 : -1;
}

static void whole_each_field(void *self, void (*visit)(void *user, const char *name), void *user) {
    (void)self;
    visit(user, EMBED_STATE_WHOLE);
}

tenon_runnable *embed_alone_function(tenon *handle, struct component *component, tn_value config) {
    static const struct callable_ops ops = {
        .start = alone_start, .cancel = alone_cancel, .ready = alone_ready, .free = alone_free};
    const struct instance_scope scope = {
        .field = whole_field, .each_field = whole_each_field, .where = "a node by itself", .node = component->info->id};
    struct callable *node = NULL;
    if (instance_new_called(component, config, &scope, &node, &handle->error) != TN_OK) return NULL;
    struct alone *alone = mem_zalloc(sizeof *alone);
    *alone = (struct alone){{&ops, 1}, host_loop(handle->host), node};
    return embed_runnable_take(handle, &alone->callable);
}

/*
 * subgraph.c - `subgraph`: runs another document as a node.
 *
 * `input` maps channels of this graph to channels of the inner graph, `output` maps channels of the inner result back.
 * Channels that are not named are not shared. The host runs the inner graph: it cancels the inner run with the task,
 * reports its events with the node's path, and limits the nesting depth.
 */
#include "core.h"
#include <tenon/graph.h>

struct subgraph_port {
    tn_value inner; /* the channel's name, borrowed from the configuration */
    uint32_t channel;
};

struct subgraph {
    uint32_t callee;
    uint64_t inputs, outputs;
    struct subgraph_port ports[]; /* inputs, then outputs */
};

/* One inner run. */
struct subgraph_call {
    const struct subgraph *subgraph;
    tn_task task;
};

static int32_t subgraph_bind(struct subgraph *subgraph, tn_value inputs, tn_value outputs, tn_binder *binder) {
    int32_t status = TN_OK;
    for (uint64_t i = 0; i < subgraph->inputs && status == TN_OK; i++) {
        tn_value outer;
        status = tn.value->entry(inputs, i, &outer, &subgraph->ports[i].inner);
        if (status == TN_OK)
            status = tn.task->bind_read(binder, tn_chars(outer, NULL), TN_Z, &subgraph->ports[i].channel);
    }
    for (uint64_t i = 0; i < subgraph->outputs && status == TN_OK; i++) {
        struct subgraph_port *port = &subgraph->ports[subgraph->inputs + i];
        tn_value outer;
        status = tn.value->entry(outputs, i, &port->inner, &outer);
        if (status == TN_OK) status = tn.task->bind_write(binder, tn_chars(outer, NULL), TN_Z, &port->channel);
    }
    return status;
}

static int32_t subgraph_create(tn_value config, tn_binder *binder, void **self) {
    tn_value inputs = tn_get(config, "input"), outputs = tn_get(config, "output");
    uint64_t input_count = tn.value->count(inputs), output_count = tn.value->count(outputs);
    const tn_graph_draft *graph = tn_easy_interface(tn.host, TN_GRAPH_DRAFT, sizeof(*graph));
    if (graph == NULL)
        return tn_refuse("INTERFACE_MISSING",
                         "this node needs the interface " TN_GRAPH_DRAFT ", which this host does not provide");
    struct subgraph *subgraph =
        core_alloc_zeroed(sizeof(*subgraph) + (input_count + output_count) * sizeof(subgraph->ports[0]));
    if (subgraph == NULL) return TN_NO_MEMORY;
    subgraph->inputs = input_count;
    subgraph->outputs = output_count;
    int32_t status = subgraph_bind(subgraph, inputs, outputs, binder);
    if (status == TN_OK)
        status = graph->bind_document(binder, tn_get_text(config, "document", ""), TN_Z, &subgraph->callee);
    if (status == TN_OK)
        *self = subgraph;
    else
        core_release(subgraph);
    return status;
}

static int32_t subgraph_write(const struct subgraph *subgraph, tn_task task, tn_value result) {
    for (uint64_t i = 0; i < subgraph->outputs; i++) {
        const struct subgraph_port *port = &subgraph->ports[subgraph->inputs + i];
        tn_value value = tn_get_key(result, port->inner);
        if (value == NULL) {
            char message[192];
            (void)snprintf(
                message, sizeof(message),
                "the inner graph's result has no `%.80s`; use one of its channels, or add the channel to its `output`",
                tn_chars(port->inner, NULL));
            return tn_fail(task, "SUBGRAPH_OUTPUT", message);
        }
        int32_t status = tn.task->write(task, port->channel, value);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static int32_t subgraph_on_result(void *user, int32_t status, tn_value result) {
    struct subgraph_call *call = user;
    const struct subgraph *subgraph = call->subgraph;
    tn_task task = call->task;
    core_release(call);
    if (status == TN_CANCELLED) {
        (void)core_fail_cancelled(task);
    } else if (status != TN_OK) {
        (void)tn_fail_with(task, result);
    } else {
        status = subgraph_write(subgraph, task, result);
        if (status == TN_OK)
            (void)tn_done(task);
        else if (status != TN_FAILED)
            (void)tn_fail(task, "SUBGRAPH_OUTPUT", "a channel did not accept the result of the inner graph");
    }
    return TN_OK;
}

static int32_t subgraph_start(void *self, tn_task task, tn_value input) {
    const struct subgraph *subgraph = self;
    (void)input;
    struct subgraph_call *call = core_alloc_zeroed(sizeof(*call));
    if (call == NULL) return TN_NO_MEMORY;
    call->subgraph = subgraph;
    call->task = task;
    tn_builder *inner = tn_builder_new();
    tn.value->begin(inner, TN_OBJECT);
    for (uint64_t i = 0; i < subgraph->inputs; i++)
        tn_put_key_take(inner, subgraph->ports[i].inner, tn_read(task, subgraph->ports[i].channel));
    tn.value->end(inner);
    tn_value inner_input = tn_finish(inner);
    int32_t status = inner_input != NULL
                         ? tn.task->call(task, subgraph->callee, inner_input, NULL, subgraph_on_result, call, NULL)
                         : TN_NO_MEMORY;
    tn_release(inner_input);
    if (status != TN_OK) core_release(call);
    return status;
}

TN_COMPONENT(subgraph, "subgraph", subgraph_create, subgraph_start, NULL, NULL, core_release)

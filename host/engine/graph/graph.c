/*
 * graph.c - builds a checked document into a graph: creates the components and lays out the routes by source.
 *
 * Each component is created here with its complete config, so every mistake that a create function can find is found
 * before anything runs. The names that a component binds are resolved through the scope below. Whether a node may be
 * retried or cached is decided here once, from the effects of its component and of everything that it calls. A node
 * that uses more of `run` than `run.configurable` is not cached.
 */
#include "host/engine/graph/graph.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/config_places.h"
#include "adl/document/effects.h"
#include "adl/draw/draw.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/environment.h"
#include "host/engine/cache.h"
#include "host/engine/engine.h"
#include "host/engine/graph/binding.h"
#include "host/engine/graph/documents.h"
#include "host/engine/graph/graph_report.h"
#include "host/engine/graph/graphs_internal.h"
#include "host/engine/graph/nested.h"
#include "host/engine/graph/node_gate.h"
#include "host/engine/model/model.h"
#include "host/engine/tool/tool.h"
#include "host/engine/tool/tool_policy.h"
#include "host/engine/tool/tool_set.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

/* ---- Routes ---- */

static struct graph_source *graph_source_of(struct graph *graph, int32_t from) {
    return from == DOCUMENT_START ? &graph->start : &graph->nodes[from].source;
}

/* Calls place(graph, from, route) for each route, in document order. */
static void graph_each_route(struct graph *graph, const bool *has_conditional,
                             void (*place)(struct graph *, int32_t from, struct graph_route route)) {
    const struct document *document = graph->document;
    uint32_t member = 0, join = 0;
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        bool joins = edge->kind == EDGE_STATIC && edge->from_count > 1;
        for (uint32_t f = 0; f < edge->from_count; f++) {
            int32_t from = edge->from[f];
            if (joins) {
                place(graph, from, (struct graph_route){ROUTE_JOIN, i, DOCUMENT_NOWHERE, join, member++});
            } else if (edge->kind == EDGE_CONDITIONAL || edge->kind == EDGE_MAP) {
                uint32_t kind = edge->kind == EDGE_MAP ? ROUTE_MAP : ROUTE_CONDITIONAL;
                place(graph, from, (struct graph_route){kind, i, DOCUMENT_NOWHERE, 0, 0});
            } else if (!has_conditional[from + 1]) {
                for (uint32_t t = 0; t < edge->to_count; t++)
                    place(graph, from, (struct graph_route){ROUTE_STATIC, i, edge->to[t], 0, 0});
            }
        }
        join += joins;
    }
}

static void count_route(struct graph *graph, int32_t from, struct graph_route route) {
    (void)route;
    graph_source_of(graph, from)->count++;
}

static void fill_route(struct graph *graph, int32_t from, struct graph_route route) {
    struct graph_source *source = graph_source_of(graph, from);
    graph->routes[(uint32_t)(source->routes - graph->routes) + source->count++] = route;
}

static void source_set_single(struct graph_source *source) {
    source->single =
        source->count == 1 && source->routes[0].kind == ROUTE_STATIC ? source->routes[0].target : DOCUMENT_NOWHERE;
}

static void graph_lay_out_routes(struct graph *graph) {
    const struct document *document = graph->document;
    bool *has_conditional = mem_zalloc(document->node_count + 1u); /* [from + 1]: START is -1 */
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (edge->kind != EDGE_CONDITIONAL) continue;
        for (uint32_t f = 0; f < edge->from_count; f++) has_conditional[edge->from[f] + 1] = true;
    }
    graph_each_route(graph, has_conditional, count_route);
    size_t total = graph->start.count;
    for (uint32_t i = 0; i < document->node_count; i++) total += graph->nodes[i].source.count;
    graph->routes = mem_array(NULL, total + 1, sizeof *graph->routes);
    size_t at = 0;
    for (int64_t i = -1; i < (int64_t)document->node_count; i++) {
        struct graph_source *source = graph_source_of(graph, (int32_t)i);
        source->routes = graph->routes + at;
        at += source->count;
        source->count = 0;
    }
    graph_each_route(graph, has_conditional, fill_route);
    for (int64_t i = -1; i < (int64_t)document->node_count; i++) source_set_single(graph_source_of(graph, (int32_t)i));
    mem_free(has_conditional);
}

static void graph_lay_out_joins(struct graph *graph) {
    const struct document *document = graph->document;
    graph->joins = mem_array(NULL, document->edge_count + 1u, sizeof *graph->joins);
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (edge->kind != EDGE_STATIC || edge->from_count < 2) continue;
        graph->joins[graph->join_count++] = (struct graph_join){i, graph->member_count, edge->from_count};
        graph->member_count += edge->from_count;
    }
}

/* ---- Effects ---- */

/* A node has the effects of what it calls: a subgraph with a destructive node must not be repeated either. */
static void graph_add_callee_effects(struct graph *graph, struct callable *callee) {
    const struct graph *inner = graph_of_callable(callee);
    if (model_provider(callee, 0)) { /* fallbacks: any of them may be called */
        struct callable *provider;
        for (uint32_t i = 0; (provider = model_provider(callee, i)) != NULL; i++)
            graph_add_callee_effects(graph, provider);
        return;
    }
    const struct component *component = inner ? NULL : instance_component(callee);
    graph->callees_repeatable &= inner ? inner->repeatable : component && component_repeatable(component->info);
    graph->nested_repeatable &= !inner || inner->repeatable;
    graph->callees_cacheable &= inner ? inner->cacheable : component && component_cacheable(component->info);
}

/* ---- The scope in which components bind names ---- */

static int32_t scope_field(void *self, const char *name) {
    const struct graph *graph = self;
    if (graph->whole) return strcmp(name, GRAPH_WHOLE_STATE) == 0 ? GRAPH_WHOLE_CHANNEL_STATE : -1;
    return document_find_field(graph->document, name, strlen(name));
}

static int32_t scope_channel(void *self, const char *name) {
    const struct graph *graph = self;
    int32_t channel = document_find_channel(graph->document, name, strlen(name));
    return channel >= 0 && graph->document->channels[channel].implicit ? -1 : channel;
}

/* A channel without a default is null until something is written. Null in the item of a map edge is data. */
static bool scope_nullable(void *self, uint32_t field) {
    const struct document *document = ((const struct graph *)self)->document;
    return field >= document->channel_count || document->channels[field].has_initial;
}

static void scope_each_field(void *self, void (*offer)(void *user, const char *name), void *user) {
    const struct graph *graph = self;
    const struct document *document = graph->document;
    if (graph->whole) {
        offer(user, GRAPH_WHOLE_STATE);
        return;
    }
    for (uint32_t i = 0; i < document->channel_count; i++) offer(user, value_chars(document->channels[i].name, NULL));
    for (uint32_t i = 0; i < document->local_count; i++) offer(user, value_chars(document->locals[i], NULL));
}

static struct callable *scope_callee(void *self, struct authority *caller, const char *kind, const char *name,
                                     tn_value config, struct error *error) {
    struct callable *callee = binding_callee(self, caller, kind, name, config, error);
    if (callee) graph_add_callee_effects(self, callee);
    return callee;
}

/* A model chooses the tools, so the result depends on more than the input: the node is not cacheable. */
static int32_t scope_tools(void *self, struct authority *caller, tn_value names, struct callable **out,
                           struct error *error) {
    struct graph *graph = self;
    int32_t status = tool_set_new(graph->engine, caller, names, out, error);
    if (status == TN_OK) graph->callees_cacheable = false;
    return status;
}

/* The key of a cache has nothing of `run` except `configurable`. */
static void scope_run_used(void *self) { ((struct graph *)self)->callees_cacheable = false; }

static struct instance_scope graph_scope(struct graph *graph, const char *where) {
    return (struct instance_scope){.self = graph,
                                   .field = scope_field,
                                   .channel = scope_channel,
                                   .callee = scope_callee,
                                   .tools = scope_tools,
                                   .each_field = scope_each_field,
                                   .nullable = scope_nullable,
                                   .run_used = scope_run_used,
                                   .where = where,
                                   .authority = graph->authority};
}

/* ---- Building ---- */

/* Prefixes the message of the error with the node. */
static void error_prefix_node(struct error *error, struct graph *graph, uint32_t index) {
    const struct document_node *def = &graph->document->nodes[index];
    if (!error || !error->message) return;
    struct error inner = ERROR_INIT;
    error_move(&inner, error);
    error_set(error, TN_ERROR, inner.code, "node `%s` (%s): %s", value_chars(def->id, NULL),
              value_chars(def->type, NULL), inner.message);
    error->more = value_ref(inner.more);
    error->span = inner.span.end ? inner.span : graph_place_of_refusal(graph, index, &inner);
    error_finish(&inner);
}

static int32_t graph_build_node(struct graph *graph, uint32_t index, struct error *error) {
    const struct document_node *def = &graph->document->nodes[index];
    struct graph_node *node = &graph->nodes[index];
    struct component *component;
    int32_t status = registry_resolve(graph->engine->registry, "node", value_chars(def->type, NULL), &component, error);
    if (status != TN_OK) {
        error_prefix_node(error, graph, index);
        return status;
    }
    status = authority_check_node(graph->authority, component->info, error);
    tn_value config = NULL;
    if (status == TN_OK) config = document_node_config(graph->document, index, &graph->engine->catalog, error);
    if (!config) {
        error_prefix_node(error, graph, index);
        return TN_INVALID;
    }
    tn_value where = value_format("node `%s`", value_chars(def->id, NULL));
    struct instance_scope scope = graph_scope(graph, value_chars(where, NULL));
    scope.node = value_chars(def->id, NULL);
    scope.given = def->config ? def->config : value_null();
    graph->callees_repeatable = graph->callees_cacheable = graph->nested_repeatable = true;
    status = instance_new(component, config, &scope, &node->callable, error);
    value_unref(config);
    value_unref(where);
    if (status != TN_OK) {
        error_prefix_node(error, graph, index);
        return status;
    }
    status = node_gate_new(graph->engine, node->callable, component->info, &node->gate, error);
    if (status != TN_OK) {
        error_prefix_node(error, graph, index);
        return status;
    }
    node->reads = instance_reads(node->callable, &node->read_count);
    node->may_cache = component_cacheable(component->info) && graph->callees_cacheable;
    node->may_retry = component_repeatable(component->info) && graph->callees_repeatable;
    if (graph->diagnostics && !graph->nested_repeatable) graph_report_retry(graph, index);
    graph->cacheable &= node->may_cache;
    graph->repeatable &= node->may_retry;
    if (def->cache_ttl_ms >= 0 && node->may_cache) {
        node->cached_in_store = def->cache_in_store;
        if (!def->cache_in_store) node->cache = cache_new(def->cache_ttl_ms);
    }
    graph->has_deferred |= def->defer;
    graph->has_interrupts |= def->interrupt_before || def->interrupt_after;
    return TN_OK;
}

/* Stops at the first node that cannot be created, unless the graph is built to be checked. */
static int32_t graph_build_nodes(struct graph *graph, struct error *error) {
    int32_t status = TN_OK;
    for (uint32_t i = 0; (status == TN_OK || graph->checks) && i < graph->document->node_count; i++) {
        size_t errors = graph->checks ? diagnostics_errors(graph->diagnostics) : 0;
        struct error inner = ERROR_INIT;
        graph->building_node = i;
        int32_t built = graph_build_node(graph, i, &inner);
        if (built == TN_OK) continue;
        if (graph->checks && diagnostics_errors(graph->diagnostics) == errors) graph_report_node(graph, i, &inner);
        if (status == TN_OK && error) error_move(error, &inner);
        status = built;
        error_finish(&inner);
    }
    return status;
}

/* True if an edge uses more of `run` than `run.configurable`. */
static bool graph_edges_use_run(const struct document *document) {
    for (uint32_t i = 0; i < document->edge_count; i++) {
        const struct document_edge *edge = &document->edges[i];
        if (edge->over && document_uses_run(edge->over)) return true;
        for (uint32_t c = 0; c < edge->condition_count; c++) {
            const struct expr *expr = edge->conditions[c].expression;
            if (expr && document_uses_run(expr)) return true;
        }
    }
    return false;
}

static int32_t graph_build_reducers(struct graph *graph, struct error *error) {
    const struct document *document = graph->document;
    for (uint32_t i = 0; i < document->channel_count; i++) {
        const struct document_channel *channel = &document->channels[i];
        graph->has_ephemeral |= channel->type == CHANNEL_EPHEMERAL;
        if (channel->reducer != REDUCER_COMPONENT) continue;
        if (!graph->reducers) graph->reducers = mem_zalloc(document->channel_count * sizeof(struct callable *));
        struct component *component;
        int32_t status =
            registry_resolve(graph->engine->registry, "reducer", channel->reducer_component->id, &component, error);
        if (status == TN_OK) status = authority_check_node(graph->authority, component->info, error);
        if (status != TN_OK) return status;
        /* It completes inside its start, so it could not use the result of a call, but would have caused its effect. */
        struct instance_scope scope = graph_scope(graph, "a channel's reducer");
        scope.callee = NULL;
        scope.tools = NULL;
        status = instance_new(component, value_object(), &scope, &graph->reducers[i], error);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static void graph_free(struct callable *callable) {
    struct graph *graph = (struct graph *)callable;
    for (struct graph **at = &graph->engine->graphs->open; *at; at = &(*at)->next_open) {
        if (*at != graph) continue;
        *at = graph->next_open;
        break;
    }
    for (uint32_t i = 0; graph->nodes && i < graph->document->node_count; i++) {
        cache_free(graph->nodes[i].cache);
        mem_free(graph->nodes[i].identity);
        callable_unref(graph->nodes[i].gate);
        callable_unref(graph->nodes[i].callable);
    }
    for (uint32_t i = 0; graph->reducers && i < graph->document->channel_count; i++) callable_unref(graph->reducers[i]);
    mem_free(graph->reducers);
    mem_free(graph->nodes);
    mem_free(graph->routes);
    mem_free(graph->joins);
    mem_free(graph->spare_activations);
    graph_unref(graph->newer);
    mem_free(graph->path);
    document_unref(graph->document);
    authority_unref(graph->authority);
    value_unref(graph->value);
    value_unref(graph->unread);
    tools_sweep(graph->engine->tools, NULL, NULL);
    if (graph->engine->registry) registry_sweep(graph->engine->registry);
    mem_free(graph);
}

static const struct callable_ops graph_callable_ops = {
    .start = nested_start, .cancel = nested_cancel, .free = graph_free};

struct graphs *graphs_new(void) {
    struct graphs *graphs = mem_zalloc(sizeof *graphs);
    graphs->documents = documents_new();
    return graphs;
}

void graphs_free(struct graphs *graphs) {
    if (graphs) documents_free(graphs->documents);
    mem_free(graphs);
}

/*
 * Removes the secrets that the user's document names from the environment, before any of its nodes starts a program.
 * A text from elsewhere must not choose variables.
 */
static void take_secrets(const struct config *config, const struct document *document) {
    for (uint32_t i = 0; i < document->model_count; i++)
        config_each_reference(config, document->models[i].binding, environment_overwrite);
    for (uint32_t i = 0; i < document->node_count; i++)
        config_each_reference(config, document->nodes[i].config, environment_overwrite);
}

int32_t graph_build(struct engine *engine, struct document *document, const struct graph_origin *origin,
                    struct graph **out, struct error *error) {
    if (origin->depth > DOCUMENT_SUBGRAPH_DEPTH_MAX)
        return error_set(error, TN_LIMIT, "INVALID_GRAPH", "subgraphs are nested more than %u deep",
                         DOCUMENT_SUBGRAPH_DEPTH_MAX);
    struct graph *graph = mem_zalloc(sizeof *graph);
    tn_value entries = tool_entries(document);
    graph->callable = (struct callable){&graph_callable_ops, 1};
    graph->engine = engine;
    graph->depth = origin->depth;
    graph->upgrades = registry_upgrades(engine->registry);
    graph->document = document_ref(document);
    graph->authority = authority_of_document(
        origin->outer, document->source ? source_name(document->source) : "document", entries, origin->from_text);
    for (uint32_t i = 0; i < document->model_count; i++)
        graph->authority->models =
            value_set_key_take(graph->authority->models ? graph->authority->models : value_object(),
                               value_ref(document->models[i].role), value_ref(document->models[i].binding));
    graph->authority->budget = value_ref(document->budget);
    value_unref(entries);
    if (!origin->from_text && !authority_is_made(graph->authority)) take_secrets(engine->config, document);
    graph->value = value_ref(origin->value);
    graph->around = engine->graphs->building;
    graph->diagnostics = origin->diagnostics;
    graph->checks = origin->check && origin->diagnostics;
    graph->alone = origin->alone;
    graph->whole = origin->whole;
    engine->graphs->building = graph;
    graph->repeatable = true;
    graph->cacheable = !graph_edges_use_run(document);
    graph->nodes = mem_zalloc((document->node_count + 1u) * sizeof *graph->nodes);
    graph_lay_out_joins(graph);
    graph_lay_out_routes(graph);
    int32_t status = graph_build_reducers(graph, error);
    if (status == TN_OK) status = graph_build_nodes(graph, error);
    engine->graphs->building = graph->around;
    graph->around = NULL;
    graph->diagnostics = NULL;
    graph->checks = false;
    config_places_free(graph->places);
    graph->places = NULL;
    if (status != TN_OK) {
        graph_unref(graph);
        return status;
    }
    *out = graph;
    return TN_OK;
}

struct graph *graph_ref(struct graph *graph) {
    callable_ref(&graph->callable);
    return graph;
}

void graph_unref(struct graph *graph) {
    if (graph) callable_unref(&graph->callable);
}

struct graph *graph_of_callable(struct callable *callable) {
    return callable->ops == &graph_callable_ops ? (struct graph *)callable : NULL;
}

struct graph *graph_inside(const struct graph *graph, uint32_t node, uint32_t index) {
    struct callable *callee;
    for (uint32_t i = 0; (callee = instance_callee(graph->nodes[node].callable, i)) != NULL; i++) {
        struct graph *inside = graph_of_callable(callee);
        if (inside && index-- == 0) return inside;
    }
    return NULL;
}

static const struct document *draw_graph_inside(const struct draw_inside *self, uint32_t node, uint32_t index,
                                                struct draw_inside *inner) {
    const struct graph *inside = graph_inside(self->user, node, index);
    if (!inside) return NULL;
    graph_draw_inside(inside, inner);
    return inside->document;
}

void graph_draw_inside(const struct graph *graph, struct draw_inside *out) {
    *out = (struct draw_inside){draw_graph_inside, graph};
}

const char *graph_node_name(const struct graph *graph, int32_t node) {
    if (node == DOCUMENT_START) return "START";
    if (node == DOCUMENT_END) return "END";
    if (node < 0) return "?";
    return value_chars(graph->document->nodes[node].id, NULL);
}

int32_t graph_find_target(const struct graph *graph, const char *name, size_t length) {
    static const char *const ends[] = {"END", "__end__"};
    for (size_t i = 0; i < 2; i++)
        if (strlen(ends[i]) == length && memcmp(ends[i], name, length) == 0) return DOCUMENT_END;
    int32_t node = document_find_node(graph->document, name, length);
    return node >= 0 ? node : DOCUMENT_NOWHERE;
}

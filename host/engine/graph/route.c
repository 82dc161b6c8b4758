/*
 * route.c - plans the next step: the successors of START and of ended activations, on the state just committed.
 *
 * Rules: a conditional edge of a node excludes its static edges (graph.c leaves those out); each of several conditional
 * edges has one target; map and join edges always apply; `goto` replaces the routing of the node. A failure that
 * on_error handles is routed there instead, and does not count for joins. If a source has several successors, the
 * strategy decides.
 */
#include "adl/expr/expr.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/engine/graph/condition.h"
#include "host/engine/graph/run_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- The plan ---- */

/* `few` is the array in the run in which the plan starts, or NULL. */
static void plan_push(struct plan *plan, const struct plan_entry *few, struct plan_entry planned) {
    MEM_GROW_FROM(plan->items, few, plan->count, plan->capacity);
    plan->items[plan->count++] = planned;
}

static void plan_trigger(struct run *run, int32_t target) {
    if (target < 0) return;
    uint32_t node = (uint32_t)target;
    if (run->graph->has_deferred && run->graph->document->nodes[node].defer) {
        run->deferred_count += !run->deferred[node];
        run->deferred[node] = true;
        return;
    }
    if (run->triggered_in[node] == run->step + 1) return;
    run->triggered_in[node] = run->step + 1;
    if (run->triggered.count && run->triggered.items[run->triggered.count - 1].node > node)
        run->triggered_unsorted = true;
    plan_push(&run->triggered, run->inline_triggered, (struct plan_entry){node, NO_INDEX, 0, 0, NO_INDEX, NULL});
}

void plan_push_triggered(struct run *run, uint32_t node) {
    plan_push(&run->triggered, run->inline_triggered, (struct plan_entry){node, NO_INDEX, 0, 0, NO_INDEX, NULL});
}

void plan_push_mapped_take(struct run *run, struct plan_entry planned) { plan_push(&run->mapped, NULL, planned); }

static int plan_compare_nodes(const void *a, const void *b) {
    const struct plan_entry *left = a, *right = b;
    return left->node < right->node ? -1 : left->node > right->node;
}

void plan_finish(struct run *run) {
    if (run->deferred_count && !run->triggered.count && !run->mapped.count) {
        for (uint32_t i = 0; i < run->graph->document->node_count; i++) {
            if (!run->deferred[i]) continue;
            run->deferred[i] = false;
            plan_push(&run->triggered, run->inline_triggered, (struct plan_entry){i, NO_INDEX, 0, 0, NO_INDEX, NULL});
        }
        run->deferred_count = 0;
    }
    if (run->triggered_unsorted)
        qsort(run->triggered.items, run->triggered.count, sizeof *run->triggered.items, plan_compare_nodes);
    run->triggered_unsorted = false;
}

void plan_clear(struct run *run) {
    for (uint32_t i = 0; i < run->mapped.count; i++) value_unref(run->mapped.items[i].input);
    run->triggered.count = run->mapped.count = 0;
}

/* ---- Successors of one source ---- */

/* A successor: a target, or a map edge with its items. */
struct successor {
    int32_t target;
    uint32_t edge;  /* the map edge, or NO_INDEX */
    tn_value items; /* items of the map edge; owned */
};

struct successors {
    struct successor *items;
    uint32_t count, capacity;
    struct successor few[8];
};

static void successors_add(struct successors *list, struct successor due) {
    MEM_GROW_FROM(list->items, list->few, list->count, list->capacity);
    list->items[list->count++] = due;
}

static void successors_finish(struct successors *list) {
    for (uint32_t i = 0; i < list->count; i++) value_unref(list->items[i].items);
    if (list->items != list->few) mem_free(list->items);
}

static int32_t add_conditional_successor(struct run *run, const struct document_edge *edge, int32_t from,
                                         struct successors *list, struct error *error) {
    for (uint32_t i = 0; i < edge->condition_count; i++) {
        const struct document_condition *condition = &edge->conditions[i];
        bool holds = true;
        if (condition->expression) {
            int32_t status = condition_holds(run, condition, from, &holds, error);
            if (status != TN_OK) return status;
        }
        if (!holds) continue;
        successors_add(list, (struct successor){condition->to, NO_INDEX, NULL});
        return TN_OK;
    }
    emit_debug(run, "no_match", from, "no condition was true: END");
    return TN_OK;
}

static int32_t add_map_successor(struct run *run, uint32_t index, int32_t from, struct successors *list,
                                 struct error *error) {
    const struct document_edge *edge = &run->graph->document->edges[index];
    tn_value items = NULL;
    int32_t status = condition_items(run, edge, from, &items, error);
    if (status != TN_OK) return status;
    if (value_count(items) > 0) {
        successors_add(list, (struct successor){DOCUMENT_NOWHERE, index, items});
        return TN_OK;
    }
    value_unref(items);
    if (edge->empty == DOCUMENT_NOWHERE)
        emit_warning(run, "empty_map", from,
                     "the list of its map edge is empty, so no node follows; name one with `empty`");
    else
        successors_add(list, (struct successor){edge->empty, NO_INDEX, NULL});
    return TN_OK;
}

/* A source of a join has run. The join fires when all of its sources have run since it last fired. */
static void add_join_successors(struct run *run, const struct graph_route *route, struct successors *list) {
    const struct graph *graph = run->graph;
    const struct graph_join *join = &graph->joins[route->join];
    uint32_t *fired_in = &run->join_fired_in[route->join], *count = &run->join_count[route->join];
    if (*fired_in == run->step + 1) return;       /* another activation of the same source has arrived */
    if (run->join_arrived[route->member]) return; /* the source has run before, and others have not */
    run->join_arrived[route->member] = 1;
    if (++*count < join->count) return;
    *fired_in = run->step + 1;
    *count = 0;
    memset(run->join_arrived + join->first, 0, join->count);
    const struct document_edge *edge = &graph->document->edges[join->edge];
    for (uint32_t i = 0; i < edge->to_count; i++) successors_add(list, (struct successor){edge->to[i], NO_INDEX, NULL});
}

static int32_t plan_map(struct run *run, const struct successor *due, uint32_t source, struct error *error) {
    const struct document_edge *edge = &run->graph->document->edges[due->edge];
    size_t count = value_count(due->items);
    if (count * edge->to_count > RUN_TASKS_MAX - run->mapped.count)
        return error_set(error, TN_LIMIT, "LIMIT",
                         "a map edge over %zu items exceeds the limit of %u tasks in one step", count, RUN_TASKS_MAX);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t t = 0; t < edge->to_count; t++) {
            if (edge->to[t] < 0) continue;
            plan_push(&run->mapped, NULL,
                      (struct plan_entry){(uint32_t)edge->to[t], due->edge, (uint32_t)i, source, edge->as_field,
                                          value_ref(value_at(due->items, i))});
        }
    }
    return TN_OK;
}

/* END does not count as a successor. */
static bool is_onward(const struct successor *due) { return due->edge != NO_INDEX || due->target >= 0; }

static uint32_t count_onward_successors(const struct successors *list) {
    uint32_t onward = 0;
    for (uint32_t i = 0; i < list->count; i++) onward += is_onward(&list->items[i]);
    return onward;
}

static int32_t plan_successors(struct run *run, struct successors *list, int32_t from, uint32_t source,
                               struct error *error) {
    uint32_t first = 0, last = list->count;
    if (run->strategy != STRATEGY_PARALLEL && count_onward_successors(list) > 1) {
        if (run->strategy == STRATEGY_STOP_AT_NONLINEAR) {
            run_request_stop(run, RUN_STOP_DRAIN);
            emit_debug(run, "nonlinear", from, "the node has several successors: the run stops, and can be resumed");
        } else if (run->strategy == STRATEGY_PICK_FIRST) {
            while (!is_onward(&list->items[first])) first++;
            last = first + 1;
        } else {
            while (!is_onward(&list->items[last - 1])) last--;
            first = last - 1;
        }
    }
    int32_t status = TN_OK;
    for (uint32_t i = first; status == TN_OK && i < last; i++) {
        if (list->items[i].edge == NO_INDEX)
            plan_trigger(run, list->items[i].target);
        else
            status = plan_map(run, &list->items[i], source, error);
    }
    return status;
}

static int32_t route_source(struct run *run, const struct graph_source *from_source, int32_t from, uint32_t source,
                            struct error *error) {
    if (from_source->single != DOCUMENT_NOWHERE) {
        plan_trigger(run, from_source->single);
        return TN_OK;
    }
    struct successors list = {.capacity = 8};
    list.items = list.few;
    int32_t status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < from_source->count; i++) {
        const struct graph_route *route = &from_source->routes[i];
        switch (route->kind) {
        case ROUTE_STATIC: successors_add(&list, (struct successor){route->target, NO_INDEX, NULL}); break;
        case ROUTE_CONDITIONAL:
            status = add_conditional_successor(run, &run->graph->document->edges[route->edge], from, &list, error);
            break;
        case ROUTE_MAP: status = add_map_successor(run, route->edge, from, &list, error); break;
        default: add_join_successors(run, route, &list); break;
        }
    }
    if (status == TN_OK) status = plan_successors(run, &list, from, source, error);
    successors_finish(&list);
    return status;
}

/* ---- `goto` and `send` in the output of a node ---- */

static int32_t find_named_target(struct run *run, const struct activation *activation, const char *key, tn_value name,
                                 int32_t *out, struct error *error) {
    const struct graph *graph = run->graph;
    const char *node = graph_node_name(graph, (int32_t)activation->plan.node);
    if (!value_is(name, TN_STRING))
        return error_set(error, TN_TYPE, "INVALID_OUTPUT", "node `%s`: `%s` names %s, expected a node's id", node, key,
                         value_kind_name(value_kind(name)));
    size_t length;
    const char *text = value_chars(name, &length);
    *out = graph_find_target(graph, text, length);
    if (*out != DOCUMENT_NOWHERE) return TN_OK;
    return error_set(error, TN_NOT_FOUND, "INVALID_OUTPUT", "node `%s`: `%s` names `%s`, which is not a node%s", node,
                     key, text, document_node_hint(graph->document, text, length).text);
}

static int32_t route_goto(struct run *run, struct activation *activation, tn_value where, struct error *error) {
    size_t count = value_is(where, TN_ARRAY) ? value_count(where) : 1;
    for (size_t i = 0; i < count; i++) {
        int32_t target = -1;
        tn_value name = value_is(where, TN_ARRAY) ? value_at(where, i) : where;
        int32_t status = find_named_target(run, activation, "goto", name, &target, error);
        if (status != TN_OK) return status;
        plan_trigger(run, target);
    }
    return TN_OK;
}

static int32_t route_sends(struct run *run, struct activation *activation, tn_value sends, struct error *error) {
    if (!value_is(sends, TN_ARRAY))
        return error_set(error, TN_TYPE, "INVALID_OUTPUT", "node `%s`: `send` is %s, expected an array of {to, input}",
                         graph_node_name(run->graph, (int32_t)activation->plan.node),
                         value_kind_name(value_kind(sends)));
    size_t count = value_count(sends);
    if (count > RUN_TASKS_MAX - run->mapped.count)
        return error_set(error, TN_LIMIT, "LIMIT", "%zu sends exceed the limit of %u tasks in one step", count,
                         RUN_TASKS_MAX);
    for (size_t i = 0; i < count; i++) {
        tn_value send = value_at(sends, i), to = value_is(send, TN_OBJECT) ? value_get(send, "to") : NULL;
        int32_t target = -1;
        int32_t status = find_named_target(run, activation, "send", to ? to : value_null(), &target, error);
        if (status != TN_OK) return status;
        if (target < 0) continue;
        tn_value input = value_get(send, "input");
        plan_push(&run->mapped, NULL,
                  (struct plan_entry){(uint32_t)target, NO_INDEX, (uint32_t)i, activation->index, NO_INDEX,
                                      input ? value_ref(input) : value_null()});
    }
    return TN_OK;
}

int32_t route_start(struct run *run, struct error *error) {
    return route_source(run, &run->graph->start, DOCUMENT_START, 0, error);
}

int32_t route_activation(struct run *run, struct activation *activation, struct error *error) {
    int32_t from = (int32_t)activation->plan.node;
    if (activation->state == ACTIVATION_FAILED) {
        plan_trigger(run, run->graph->document->nodes[activation->plan.node].on_error);
        return TN_OK;
    }
    tn_value output = activation_output(activation);
    if (output && value_is(output, TN_OBJECT)) {
        tn_value sends = value_get(output, "send"), where = value_get(output, "goto");
        if (sends) {
            int32_t status = route_sends(run, activation, sends, error);
            if (status != TN_OK) return status;
        }
        if (where) return route_goto(run, activation, where, error);
    }
    return route_source(run, &run->graph->nodes[activation->plan.node].source, from, activation->index, error);
}

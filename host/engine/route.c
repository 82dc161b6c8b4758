/*
 * route.c - who is next: successors of START and of finished tasks, on the state that was just committed.
 *
 * Rules (engine.md, "Routing, decided"): a node's conditional edge excludes its static ones, which graph.c has left out
 * already; several conditional edges each give one target; map and join edges always apply; `goto` replaces a node's
 * routing; a failure that on_error handles goes there instead, and does not count as having run for joins. The
 * strategy decides per source where several successors are due.
 */
#include "adl/expr/expr.h"
#include "adl/text/source.h"
#include "adl/value/memory.h"
#include "host/engine/condition.h"
#include "host/engine/run_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- The plan ---- */

/* `few`: what the plan may begin in without an allocation, or NULL. */
static void plan_push(struct plan *plan, const struct planned *few, struct planned planned) {
    if (plan->count == plan->capacity) {
        bool in_few = few && plan->items == few;
        plan->capacity = plan->capacity ? plan->capacity * 2 : 4;
        plan->items = mem_array(in_few ? NULL : plan->items, plan->capacity, sizeof *plan->items);
        if (in_few) memcpy(plan->items, few, plan->count * sizeof *few);
    }
    plan->items[plan->count++] = planned;
}

static void trigger(struct run *run, int32_t target) {
    if (target < 0) return;
    uint32_t node = (uint32_t)target;
    if (run->graph->has_deferred && run->graph->document->nodes[node].defer) {
        run->deferred_count += !run->deferred[node];
        run->deferred[node] = true;
        return;
    }
    if (run->planned_in[node] == run->step + 1) return;
    run->planned_in[node] = run->step + 1;
    if (run->triggered.count && run->triggered.items[run->triggered.count - 1].node > node) run->sorted = false;
    plan_push(&run->triggered, run->few_triggered, (struct planned){node, NO_INDEX, 0, 0, NO_INDEX, NULL});
}

void plan_push_triggered(struct run *run, uint32_t node) {
    plan_push(&run->triggered, run->few_triggered, (struct planned){node, NO_INDEX, 0, 0, NO_INDEX, NULL});
}

void plan_push_mapped_take(struct run *run, struct planned planned) { plan_push(&run->mapped, NULL, planned); }

static int by_node(const void *a, const void *b) {
    const struct planned *left = a, *right = b;
    return left->node < right->node ? -1 : left->node > right->node;
}

void plan_finish(struct run *run) {
    if (run->deferred_count && !run->triggered.count && !run->mapped.count) {
        for (uint32_t i = 0; i < run->graph->document->node_count; i++) {
            if (!run->deferred[i]) continue;
            run->deferred[i] = false;
            plan_push(&run->triggered, run->few_triggered, (struct planned){i, NO_INDEX, 0, 0, NO_INDEX, NULL});
        }
        run->deferred_count = 0;
    }
    if (!run->sorted) qsort(run->triggered.items, run->triggered.count, sizeof *run->triggered.items, by_node);
    run->sorted = true;
}

void plan_clear(struct run *run) {
    for (uint32_t i = 0; i < run->mapped.count; i++) value_unref(run->mapped.items[i].input);
    run->triggered.count = run->mapped.count = 0;
}

/* ---- Successors of one source ---- */

/* What is due: a target, or a map edge with its items. */
struct due {
    int32_t target;
    uint32_t edge;  /* map: else NO_INDEX */
    tn_value items; /* map: owned */
};

struct due_list {
    struct due *items;
    uint32_t count, capacity;
    struct due few[8];
};

static void due_push(struct due_list *list, struct due due) {
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity * 2;
        struct due *grown = mem_array(list->items == list->few ? NULL : list->items, capacity, sizeof *grown);
        if (list->items == list->few) memcpy(grown, list->few, sizeof list->few);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = due;
}

static void due_finish(struct due_list *list) {
    for (uint32_t i = 0; i < list->count; i++) value_unref(list->items[i].items);
    if (list->items != list->few) mem_free(list->items);
}

static int32_t add_conditional(struct run *run, const struct document_edge *edge, int32_t from, struct due_list *list,
                               struct error *error) {
    for (uint32_t i = 0; i < edge->condition_count; i++) {
        const struct document_condition *condition = &edge->conditions[i];
        bool holds = true;
        if (condition->expression) {
            int32_t status = condition_holds(run, condition, from, &holds, error);
            if (status != TN_OK) return status;
        }
        if (!holds) continue;
        due_push(list, (struct due){condition->to, NO_INDEX, NULL});
        return TN_OK;
    }
    emit_debug(run, "no_match", from, "no condition held: END");
    return TN_OK;
}

static int32_t add_map(struct run *run, uint32_t index, int32_t from, struct due_list *list, struct error *error) {
    const struct document_edge *edge = &run->graph->document->edges[index];
    tn_value items = NULL;
    int32_t status = condition_items(run, edge, from, &items, error);
    if (status != TN_OK) return status;
    if (value_count(items) > 0) {
        due_push(list, (struct due){DOCUMENT_NOWHERE, index, items});
        return TN_OK;
    }
    value_unref(items);
    if (edge->empty == DOCUMENT_NOWHERE)
        emit_warning(run, "empty_map", from,
                     "the list of its map edge is empty, so nothing comes of it; say what does by `empty`");
    else
        due_push(list, (struct due){edge->empty, NO_INDEX, NULL});
    return TN_OK;
}

/* A source of a join has run: when all have, since it last fired, the join fires. */
static void add_join(struct run *run, const struct graph_route *route, struct due_list *list) {
    const struct graph *graph = run->graph;
    const struct graph_join *join = graph->joins;
    while (route->member >= join->first + join->count) join++;
    uint32_t *fired_in = &run->fired_in[join - graph->joins];
    if (*fired_in == run->step + 1) return; /* by another task of the same source */
    run->arrived[route->member] = 1;
    for (uint32_t i = 0; i < join->count; i++)
        if (!run->arrived[join->first + i]) return;
    *fired_in = run->step + 1;
    memset(run->arrived + join->first, 0, join->count);
    const struct document_edge *edge = &graph->document->edges[join->edge];
    for (uint32_t i = 0; i < edge->to_count; i++) due_push(list, (struct due){edge->to[i], NO_INDEX, NULL});
}

static int32_t take_map(struct run *run, const struct due *due, uint32_t source, struct error *error) {
    const struct document_edge *edge = &run->graph->document->edges[due->edge];
    size_t count = value_count(due->items);
    if (count * edge->to_count > RUN_TASKS_MAX - run->mapped.count)
        return error_set(error, TN_LIMIT, "LIMIT", "a map edge over %zu items passes %u tasks in one step", count,
                         RUN_TASKS_MAX);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t t = 0; t < edge->to_count; t++) {
            if (edge->to[t] < 0) continue;
            plan_push(&run->mapped, NULL,
                      (struct planned){(uint32_t)edge->to[t], due->edge, (uint32_t)i, source, edge->as_field,
                                       value_ref(value_at(due->items, i))});
        }
    }
    return TN_OK;
}

/* END is no successor. */
static bool leads_on(const struct due *due) { return due->edge != NO_INDEX || due->target >= 0; }

static uint32_t count_onward(const struct due_list *list) {
    uint32_t onward = 0;
    for (uint32_t i = 0; i < list->count; i++) onward += leads_on(&list->items[i]);
    return onward;
}

static int32_t take_due(struct run *run, struct due_list *list, int32_t from, uint32_t source, struct error *error) {
    uint32_t first = 0, last = list->count;
    if (run->strategy != STRATEGY_PARALLEL && count_onward(list) > 1) {
        if (run->strategy == STRATEGY_STOP_AT_NONLINEAR) {
            run->draining = true;
            emit_debug(run, "nonlinear", from, "several successors are due: the run stops, and can be resumed");
        } else if (run->strategy == STRATEGY_PICK_FIRST) {
            while (!leads_on(&list->items[first])) first++;
            last = first + 1;
        } else {
            while (!leads_on(&list->items[last - 1])) last--;
            first = last - 1;
        }
    }
    int32_t status = TN_OK;
    for (uint32_t i = first; status == TN_OK && i < last; i++) {
        if (list->items[i].edge == NO_INDEX)
            trigger(run, list->items[i].target);
        else
            status = take_map(run, &list->items[i], source, error);
    }
    return status;
}

static int32_t route_source(struct run *run, const struct graph_source *from_source, int32_t from, uint32_t source,
                            struct error *error) {
    if (from_source->single != DOCUMENT_NOWHERE) {
        trigger(run, from_source->single);
        return TN_OK;
    }
    struct due_list list = {.capacity = 8};
    list.items = list.few;
    int32_t status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < from_source->count; i++) {
        const struct graph_route *route = &from_source->routes[i];
        switch (route->kind) {
        case ROUTE_STATIC: due_push(&list, (struct due){route->target, NO_INDEX, NULL}); break;
        case ROUTE_CONDITIONAL:
            status = add_conditional(run, &run->graph->document->edges[route->edge], from, &list, error);
            break;
        case ROUTE_MAP: status = add_map(run, route->edge, from, &list, error); break;
        default: add_join(run, route, &list); break;
        }
    }
    if (status == TN_OK) status = take_due(run, &list, from, source, error);
    due_finish(&list);
    return status;
}

/* ---- What a node's output says itself ---- */

static int32_t named_target(struct run *run, const struct task *task, const char *key, tn_value name, int32_t *out,
                            struct error *error) {
    const struct graph *graph = run->graph;
    const char *node = graph_node_name(graph, (int32_t)task->plan.node);
    if (!value_is(name, TN_STRING))
        return error_set(error, TN_TYPE, "INVALID_OUTPUT", "node `%s`: `%s` names %s, expected a node's id", node, key,
                         value_kind_name(value_kind(name)));
    size_t length;
    const char *text = value_chars(name, &length);
    *out = graph_find_target(graph, text, length);
    if (*out != DOCUMENT_NOWHERE) return TN_OK;
    const char *near = document_near_node(graph->document, text, length);
    return error_set(error, TN_NOT_FOUND, "INVALID_OUTPUT", "node `%s`: `%s` names `%s`, which is no node%s%s%s", node,
                     key, text, near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
}

static int32_t route_goto(struct run *run, struct task *task, tn_value where, struct error *error) {
    size_t count = value_is(where, TN_ARRAY) ? value_count(where) : 1;
    for (size_t i = 0; i < count; i++) {
        int32_t target = -1;
        tn_value name = value_is(where, TN_ARRAY) ? value_at(where, i) : where;
        int32_t status = named_target(run, task, "goto", name, &target, error);
        if (status != TN_OK) return status;
        trigger(run, target);
    }
    return TN_OK;
}

static int32_t route_sends(struct run *run, struct task *task, tn_value sends, struct error *error) {
    if (!value_is(sends, TN_ARRAY))
        return error_set(error, TN_TYPE, "INVALID_OUTPUT", "node `%s`: `send` is %s, expected an array of {to, input}",
                         graph_node_name(run->graph, (int32_t)task->plan.node), value_kind_name(value_kind(sends)));
    size_t count = value_count(sends);
    if (count > RUN_TASKS_MAX - run->mapped.count)
        return error_set(error, TN_LIMIT, "LIMIT", "%zu sends pass %u tasks in one step", count, RUN_TASKS_MAX);
    for (size_t i = 0; i < count; i++) {
        tn_value send = value_at(sends, i), to = value_is(send, TN_OBJECT) ? value_get(send, "to") : NULL;
        int32_t target = -1;
        int32_t status = named_target(run, task, "send", to ? to : value_null(), &target, error);
        if (status != TN_OK) return status;
        if (target < 0) continue;
        tn_value input = value_get(send, "input");
        plan_push(&run->mapped, NULL,
                  (struct planned){(uint32_t)target, NO_INDEX, (uint32_t)i, task->index, NO_INDEX,
                                   input ? value_ref(input) : value_null()});
    }
    return TN_OK;
}

int32_t route_start(struct run *run, struct error *error) {
    return route_source(run, &run->graph->start, DOCUMENT_START, 0, error);
}

int32_t route_task(struct run *run, struct task *task, struct error *error) {
    int32_t from = (int32_t)task->plan.node;
    if (task->state == TASK_FAILED) {
        trigger(run, run->graph->document->nodes[task->plan.node].on_error);
        return TN_OK;
    }
    tn_value output = task_output(task);
    if (output && value_is(output, TN_OBJECT)) {
        tn_value sends = value_get(output, "send"), where = value_get(output, "goto");
        if (sends) {
            int32_t status = route_sends(run, task, sends, error);
            if (status != TN_OK) return status;
        }
        if (where) return route_goto(run, task, where, error);
    }
    return route_source(run, &run->graph->nodes[task->plan.node].source, from, task->index, error);
}

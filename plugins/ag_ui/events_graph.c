/*
 * events_graph.c - what a client sees of the graph: sub-agents, steps, and the state.
 *
 * A graph two levels below the served one, for example an agent inside of a sub-graph or of a team, is a sub-agent. The
 * nodes of the served graph are steps.
 */
#include "events_internal.h"

/* ---- Sub-agents ---- */

/* The last invocation with this path that has not begun again. */
static struct agent *agent_find(const struct ag_events *events, tn_value key) {
    struct agent *agent = events->agents;
    while (agent != NULL && (agent->path == NULL || tn.value->equal(agent->key, key) != 1)) agent = agent->next;
    return agent;
}

/* The first `depth` elements: new. */
static tn_value path_begin(tn_value path, uint64_t depth) {
    tn_value made = tn_build("[]");
    for (uint64_t i = 0; i < depth; i++) (void)tn_append_take(&made, tn_retain(tn.value->at(path, i)));
    return made;
}

static tn_value agent_name(tn_value path, uint64_t depth) {
    tn_value last = tn.value->at(path, depth - 1);
    return tn.value->kind(last) == TN_STRING ? tn_retain(last) : tn_to_json(last);
}

/* Takes `key`. NULL: there are too many, or memory has run out. */
static struct agent *agent_begin(struct ag_events *events, tn_value path, tn_value key, const char *parent) {
    struct agent *agent = events->agent_count < AG_UI_AGENTS_MAX ? serving_alloc(sizeof *agent) : NULL;
    if (agent == NULL) {
        tn_release(key);
        return NULL;
    }
    *agent = (struct agent){.next = events->agents, .key = key, .path = tn_retain(path)};
    ag_next_id(events, agent->id);
    events->agents = agent;
    events->agent_count++;
    ag_send(events,
            tn_build("{s:s, s:s, s:V, s:s*}", "type", "SUBAGENT_STARTED", "subagentRunId", agent->id, "name",
                     agent_name(path, tn.value->count(path)), "parentSubagentRunId", *parent != '\0' ? parent : NULL),
            NULL);
    return agent;
}

const char *ag_agent(struct ag_events *events, tn_value path) {
    const char *id = "";
    uint64_t count = tn.value->kind(path) == TN_ARRAY ? tn.value->count(path) : 0;
    for (uint64_t depth = 2; depth <= count; depth++) {
        tn_value begin = path_begin(path, depth), key = begin != NULL ? tn_to_json(begin) : NULL;
        struct agent *agent = key != NULL ? agent_find(events, key) : NULL;
        if (agent != NULL)
            tn_release(key);
        else if (key != NULL)
            agent = agent_begin(events, begin, key, id);
        tn_release(begin);
        if (agent == NULL) break;
        id = agent->id;
    }
    return id;
}

/* [ids] of the interrupts of this agent, or NULL. New. */
static tn_value interrupts_of(const struct ag_events *events, const struct agent *agent) {
    tn_value ids = NULL;
    for (uint64_t i = 0, count = tn.value->count(events->interrupts); i < count; i++) {
        tn_value interrupt = tn.value->at(events->interrupts, i);
        if (serving_is(tn_get(interrupt, "subagentRunId"), agent->id))
            (void)tn_append_take(&ids, tn_retain(tn_get(interrupt, "id")));
    }
    return ids;
}

static void agent_end(struct ag_events *events, struct agent *agent) {
    if (agent->ended) return;
    agent->ended = true;
    tn_value ids = events->interrupts != NULL ? interrupts_of(events, agent) : NULL;
    ag_send(events,
            tn_build("{s:s, s:{s:s, s:v*}}", "type", "SUBAGENT_FINISHED", "outcome", "type",
                     events->interrupts != NULL ? "suspended" : "success", "interruptIds", ids),
            agent->id);
    tn_release(ids);
}

void ag_agents_end(struct ag_events *events) {
    for (struct agent *agent = events->agents; agent != NULL; agent = agent->next) agent_end(events, agent);
}

void ag_agents_free(struct ag_events *events) {
    while (events->agents != NULL) {
        struct agent *agent = events->agents;
        events->agents = agent->next;
        tn_release(agent->key);
        tn_release(agent->path);
        serving_free(agent);
    }
}

/* The path of the graph inside of a node: new. */
static tn_value inner_path(tn_value event) {
    tn_value path = tn_get(event, "path") != NULL ? tn_retain(tn_get(event, "path")) : tn_build("[]");
    (void)tn_append_take(&path, tn_retain(tn_get(event, "node")));
    return path;
}

static bool is_inside(tn_value path, tn_value around) {
    uint64_t depth = tn.value->count(around);
    bool inside = tn.value->count(path) >= depth;
    for (uint64_t i = 0; inside && i < depth; i++)
        inside = tn.value->equal(tn.value->at(path, i), tn.value->at(around, i)) == 1;
    return inside;
}

/* An activation of a node ends, or begins: so do the agents inside of it. The last one that has begun is the innermost.
 */
static void agents_of_task(struct ag_events *events, tn_value event, bool begins) {
    tn_value around = inner_path(event);
    for (struct agent *agent = events->agents; around != NULL && agent != NULL; agent = agent->next) {
        if (agent->path == NULL || !is_inside(agent->path, around)) continue;
        if (!begins) {
            agent_end(events, agent);
        } else if (agent->ended) {
            tn_release(agent->path);
            agent->path = NULL;
        }
    }
    tn_release(around);
}

/* ---- Steps ---- */

static void step_send(struct ag_events *events, const char *type, tn_value node) {
    ag_send(events, tn_build("{s:s, s:v}", "type", type, "stepName", node), NULL);
}

static void step_count(struct ag_events *events, tn_value node, int64_t change) {
    uint64_t length = 0;
    const char *name = tn_chars(node, &length);
    if (name == NULL || events->steps == NULL) return;
    int64_t before = tn_get_int(events->steps, name, 0), after = before + change;
    tn_value number = after >= 0 ? tn_int(after) : NULL;
    if (number == NULL) return;
    (void)tn.value->set(&events->steps, name, length, number);
    tn_release(number);
    if (before == 0) step_send(events, "STEP_STARTED", node);
    if (after == 0) step_send(events, "STEP_FINISHED", node);
}

void ag_steps_end(struct ag_events *events) {
    tn_value key, number;
    int64_t open = 0;
    for (uint64_t i = 0, count = tn.value->count(events->steps); i < count; i++)
        if (tn.value->entry(events->steps, i, &key, &number) == TN_OK && tn.value->as_int(number, &open) == TN_OK &&
            open > 0)
            step_send(events, "STEP_FINISHED", key);
    tn_release(events->steps);
    events->steps = NULL;
}

void ag_events_before(struct ag_events *events, tn_value event) {
    if (!serving_is(tn_get(event, "type"), "tasks") || !serving_is(tn_get(event, "event"), "start")) return;
    if (tn_get(event, "path") == NULL) step_count(events, tn_get(event, "node"), 1);
    agents_of_task(events, event, true);
}

void ag_events_after(struct ag_events *events, tn_value event) {
    if (!serving_is(tn_get(event, "type"), "tasks") || !serving_is(tn_get(event, "event"), "end")) return;
    if (!serving_is(tn_get(event, "outcome"), "interrupted")) agents_of_task(events, event, false);
    if (tn_get(event, "path") == NULL) step_count(events, tn_get(event, "node"), -1);
}

/* ---- The state ---- */

tn_value ag_visible_state(const struct serving_graph *graph, tn_value state) {
    tn_builder *builder = tn_builder_new();
    tn_value key, value;
    tn.value->begin(builder, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->kind(state) == TN_OBJECT ? tn.value->count(state) : 0; i < count; i++) {
        if (tn.value->entry(state, i, &key, &value) != TN_OK || tn.value->kind(value) == TN_NULL) continue;
        if (graph->input == SERVING_MESSAGES && serving_is(key, graph->channel)) continue;
        if (!(graph->has_tools && serving_is(key, "tools"))) tn_put_key(builder, key, value);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

/* The channels of the graph, and what else the client has. Takes `visible`. New. */
static tn_value with_client_members(const struct ag_events *events, tn_value visible) {
    tn_value channels = tn_get(events->options.graph->item, "channels"), key, value;
    for (uint64_t i = 0, count = tn.value->count(events->state); visible != NULL && i < count; i++) {
        bool known = false;
        if (tn.value->entry(events->state, i, &key, &value) != TN_OK) break;
        for (uint64_t k = 0, all = tn.value->count(channels); k < all; k++)
            known = known || tn.value->equal(tn_get(tn.value->at(channels, k), "name"), key) == 1;
        if (!known) visible = tn_set_take(visible, tn_chars(key, NULL), tn_retain(value));
    }
    return visible;
}

void ag_state_take(struct ag_events *events, tn_value visible) {
    tn_value next = visible != NULL ? with_client_members(events, visible) : NULL;
    bool nothing = next == NULL || (events->state == NULL && tn.value->count(next) == 0);
    bool same = !nothing && events->state != NULL && tn.value->equal(events->state, next) == 1;
    events->has_sent_state = events->has_sent_state || same;
    if (nothing || same) {
        tn_release(next);
        return;
    }
    tn_value patch = events->state != NULL && events->has_sent_state ? ag_patch(events->state, next) : NULL;
    if (patch != NULL)
        ag_send(events, tn_build("{s:s, s:V}", "type", "STATE_DELTA", "delta", patch), NULL);
    else
        ag_send(events, tn_build("{s:s, s:v}", "type", "STATE_SNAPSHOT", "snapshot", next), NULL);
    events->has_sent_state = true;
    tn_release(events->state);
    events->state = next;
}

static bool is_last_value(const struct serving_graph *graph, tn_value name) {
    tn_value channels = tn_get(graph->item, "channels");
    for (uint64_t i = 0, count = tn.value->count(channels); i < count; i++) {
        tn_value channel = tn.value->at(channels, i);
        if (tn.value->equal(tn_get(channel, "name"), name) == 1)
            return serving_is(tn_get(channel, "type"), "last_value");
    }
    return false;
}

/* What a node has written is the new value only in channels that keep the last one; others are known at the end. */
void ag_writes(struct ag_events *events, const struct serving_item *item, const char *agent) {
    const struct serving_graph *graph = events->options.graph;
    tn_value visible = ag_visible_state(graph, item->value), key, value;
    tn_value next = events->state != NULL ? tn_retain(events->state) : tn_build("{}");
    (void)agent;
    for (uint64_t i = 0, count = tn.value->count(visible); next != NULL && i < count; i++)
        if (tn.value->entry(visible, i, &key, &value) == TN_OK && is_last_value(graph, key))
            next = tn_set_take(next, tn_chars(key, NULL), tn_retain(value));
    tn_release(visible);
    ag_state_take(events, next);
}

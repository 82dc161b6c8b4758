/*
 * thread_steps.c - the state that a new thread begins with: `supersteps`, each of which has updates. Each update is one
 * thread/update.
 */
#include "langgraph.h"

static tn_value updates_of(tn_value steps, uint64_t i) { return tn_get(tn.value->at(steps, i), "updates"); }

static bool is_update(tn_value update) {
    tn_value values = tn_get(update, "values"), as = tn_get(update, "as_node");
    return (!is_set(values) || tn.value->kind(values) == TN_OBJECT) && (!is_set(as) || tn_chars(as, NULL) != NULL) &&
           !is_set(tn_get(update, "command"));
}

bool check_steps(struct exchange *exchange) {
    tn_value steps = tn_get(exchange->body, "supersteps");
    uint64_t count = tn.value->kind(steps) == TN_ARRAY ? tn.value->count(steps) : 0, all = 0;
    bool fits = !is_set(steps) || count > 0;
    for (uint64_t i = 0; fits && i < count; i++) {
        tn_value updates = updates_of(steps, i);
        fits = tn.value->kind(updates) == TN_ARRAY;
        all += fits ? tn.value->count(updates) : 0;
        for (uint64_t k = 0; fits && k < tn.value->count(updates); k++) fits = is_update(tn.value->at(updates, k));
    }
    if (!fits)
        refuse(exchange, 422, "`supersteps` must be an array of {updates: [{values, as_node}]}, without `command`");
    else if (all > STEPS_MAX)
        refuse(exchange, 422, "`supersteps` have %llu updates, expected at most %u", (unsigned long long)all, STEPS_MAX);
    else if (count > 0 && tn_get_text(tn_get(exchange->body, "metadata"), "graph_id", NULL) == NULL)
        refuse(exchange, 422, "`supersteps` need the graph of the thread: `graph_id` in `metadata`");
    else
        return true;
    return false;
}

const char *node_in(const char *name) {
    return name != NULL && (strcmp(name, "__start__") == 0 || strcmp(name, "__input__") == 0) ? NULL : name;
}

static void write_next(struct exchange *exchange, bool ok, tn_value value) {
    tn_value update = tn.value->at(exchange->list, exchange->at++), values = tn_get(update, "values");
    if (!ok)
        refuse_error(exchange, value);
    else if (update == NULL)
        exchange->with_thread(exchange);
    else
        ask(exchange, "thread/update",
            tn_build("{s:s, s:s, s:V, s:s*, s:b}", "thread_id", exchange->thread, "document", exchange->graph.document,
                     "channels", tn.value->kind(values) == TN_OBJECT ? state_in(values) : tn_build("{}"), "as",
                     node_in(tn_get_text(update, "as_node", NULL)), "create", 1),
            write_next);
}

static void graph_then(struct exchange *exchange) { write_next(exchange, true, NULL); }

void write_steps(struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    tn_value steps = tn_get(exchange->body, "supersteps");
    exchange->list = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(steps); i < count; i++)
        (void)tn.value->concat(&exchange->list, updates_of(steps, i));
    exchange->at = 0;
    exchange->with_thread = then;
    exchange->made = tn_build("{s:v}", "assistant_id", tn_get(tn_get(exchange->body, "metadata"), "graph_id"));
    exchange->body = exchange->made;
    find_graph(exchange, graph_then);
}

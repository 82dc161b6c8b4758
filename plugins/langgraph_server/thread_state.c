/*
 * thread_state.c - the state of a thread, its history, and updates of it.
 */
#include "langgraph.h"

tn_value checkpoint_value(const char *thread, int64_t seq) {
    char id[UUID_TEXT];
    checkpoint_id(seq, id);
    return tn_build("{s:s, s:s, s:s, s:n}", "thread_id", thread, "checkpoint_ns", "", "checkpoint_id", id,
                    "checkpoint_map");
}

/* ---- A state ---- */

/* The interrupts of a node: new. */
static tn_value asked_of(tn_value asked, tn_value node) {
    tn_value own = tn_build("[]"), made;
    for (uint64_t i = 0, count = tn.value->count(asked); i < count; i++) {
        tn_value interrupt = tn.value->at(asked, i), path = tn_get(interrupt, "path");
        tn_value of = tn.value->count(path) > 0 ? tn.value->at(path, 0) : tn_get(interrupt, "node");
        if (of != NULL && tn.value->equal(of, node) == 1) (void)tn_append_take(&own, tn_retain(interrupt));
    }
    made = interrupts_out(own);
    tn_release(own);
    return made;
}

/* The tasks of the next super-step: new. */
static tn_value tasks_value(const char *thread, int64_t seq, tn_value next, tn_value asked) {
    tn_value made = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(next); i < count; i++) {
        char name[400], id[UUID_TEXT];
        tn_value node = tn.value->at(next, i);
        (void)snprintf(name, sizeof name, "%s/%lld/%llu/%s", thread, (long long)seq, (unsigned long long)i,
                       tn_chars(node, NULL));
        uuid_of_name(name, id);
        (void)tn_append_take(&made, tn_build("{s:s, s:v, s:n, s:V, s:n, s:n}", "id", id, "name", node, "error",
                                             "interrupts", asked_of(asked, node), "checkpoint", "state"));
    }
    return made;
}

/* `point`: a checkpoint of thread/history. `asked`: what the thread waits for, if this is the newest one. */
static tn_value state_value(const char *thread, tn_value point, tn_value state, tn_value asked) {
    int64_t seq = tn_get_int(point, "seq", 0);
    int64_t before = tn_get_int(point, "rewound", seq - 1);
    bool updated = serving_is(tn_get(point, "source"), "update"), rewound = tn_get(point, "rewound") != NULL;
    bool has_parent = before >= 0 || rewound || !updated;
    tn_value parent = has_parent ? checkpoint_value(thread, before >= 0 ? before : CHECKPOINT_START) : tn_null();
    const char *source = rewound ? "fork" : updated ? "update" : "loop";
    tn_value next = tn_get(point, "next");
    return tn_build("{s:V, s:V, s:V, s:V, s:{s:s, s:I}, s:V, s:V, s:V}", "values",
                    state != NULL ? values_out(state) : tn_build("{}"), "next",
                    next != NULL ? tn_retain(next) : tn_build("[]"), "tasks", tasks_value(thread, seq, next, asked),
                    "checkpoint", checkpoint_value(thread, seq), "metadata", "source", source, "step",
                    tn_get_int(point, "step", seq), "created_at", time_value(tn_get_int(point, "now", 0)),
                    "parent_checkpoint", parent, "interrupts", interrupts_out(asked));
}

static tn_value empty_state(const char *thread) {
    return tn_build("{s:{}, s:[], s:[], s:{s:s, s:s, s:n, s:n}, s:{}, s:n, s:n, s:[]}", "values", "next", "tasks",
                    "checkpoint", "thread_id", thread, "checkpoint_ns", "", "checkpoint_id", "checkpoint_map",
                    "metadata", "created_at", "parent_checkpoint", "interrupts");
}

/* The state before the first input: new. */
static tn_value start_state(const char *thread, tn_value first) {
    tn_value point = checkpoint_value(thread, CHECKPOINT_START);
    return tn_build("{s:{}, s:[s], s:[{s:s, s:s, s:n, s:[], s:n, s:n}], s:V, s:{s:s, s:i}, s:V, s:n, s:[]}", "values",
                    "next", "__start__", "tasks", "id", "00000000-0000-8000-b000-000000000001", "name", "__start__",
                    "error", "interrupts", "checkpoint", "state", "checkpoint", point, "metadata", "source", "input",
                    "step", -1, "created_at", time_value(tn_get_int(first, "now", 0)), "parent_checkpoint",
                    "interrupts");
}

static bool is_first_input(tn_value point) {
    return tn_get_int(point, "seq", -1) == 0 && serving_is(tn_get(point, "source"), "input");
}

/* ---- Reading states, one after the other ---- */

static void states_next(struct exchange *exchange);

static void on_state(struct exchange *exchange, bool ok, tn_value value) {
    tn_value point = tn.value->at(exchange->list, exchange->at);
    bool newest = tn_get_int(point, "seq", 0) == tn_get_int(exchange->record, "head", 0);
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    (void)tn_append_take(&exchange->made, state_value(exchange->thread, point, tn_get(value, "state"),
                                                      newest ? tn_get(exchange->record, "interrupts") : NULL));
    exchange->at++;
    if (exchange->how != 0 && is_first_input(point) && tn.value->count(exchange->made) < (uint64_t)exchange->how)
        (void)tn_append_take(&exchange->made, start_state(exchange->thread, point));
    states_next(exchange);
}

static void states_next(struct exchange *exchange) {
    tn_value point = tn.value->at(exchange->list, exchange->at);
    if (point != NULL)
        ask(exchange, "thread/state",
            tn_build("{s:s, s:I}", "thread_id", exchange->thread, "seq", tn_get_int(point, "seq", 0)), on_state);
    else if (exchange->how != 0)
        reply(exchange, 200, tn_retain(exchange->made));
    else
        reply(exchange, 200, tn_retain(tn.value->at(exchange->made, 0)));
}

/* The checkpoints that the client wants: `how` is the most of them, 0 for exactly one. */
static void on_history(struct exchange *exchange, bool ok, tn_value value) {
    tn_value points = tn_get(value, "checkpoints");
    int64_t wanted = exchange->how == 0 ? (int64_t)exchange->at : -1;
    int64_t before = exchange->how != 0 ? (int64_t)exchange->at : -1;
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    exchange->list = tn_build("[]");
    exchange->made = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(points); i < count; i++) {
        tn_value point = tn.value->at(points, i);
        int64_t seq = tn_get_int(point, "seq", 0);
        bool fits = exchange->how == 0 ? seq == wanted : seq < before;
        if (fits && tn.value->count(exchange->list) < (uint64_t)(exchange->how == 0 ? 1 : exchange->how))
            (void)tn_append_take(&exchange->list, tn_retain(point));
    }
    exchange->at = 0;
    if (exchange->how == 0 && tn.value->count(exchange->list) == 0)
        refuse(exchange, 404, "Checkpoint not found in thread %s", exchange->thread);
    else
        states_next(exchange);
}

static void read_history(struct exchange *exchange) {
    ask(exchange, "thread/history", tn_build("{s:s, s:i}", "thread_id", exchange->thread, "limit", 10000), on_history);
}

/* The id of the checkpoint that the request names; NULL: the newest one. */
static const char *named_checkpoint(const struct exchange *exchange) {
    tn_value checkpoint = tn_get(exchange->body, "checkpoint");
    const char *in_path = param(exchange, "checkpoint");
    const char *id = tn_get_text(checkpoint, "checkpoint_id", tn_get_text(exchange->body, "checkpoint_id", NULL));
    return *in_path != '\0' ? in_path : id;
}

static void state_then(struct exchange *exchange) {
    const char *id = named_checkpoint(exchange);
    int64_t seq = id != NULL ? checkpoint_seq(id) : tn_get_int(exchange->record, "head", 0);
    if (exchange->record == NULL && id == NULL) {
        reply(exchange, 200, empty_state(exchange->thread));
    } else if (exchange->record != NULL && seq == CHECKPOINT_START) {
        reply(exchange, 200, start_state(exchange->thread, NULL));
    } else if (exchange->record == NULL || seq < 0) {
        refuse(exchange, 404, "Checkpoint %.80s not found", id);
    } else {
        exchange->how = 0;
        exchange->at = (uint64_t)seq;
        read_history(exchange);
    }
}

static void with_path(struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    if (thread_of_path(exchange)) find_thread(exchange, false, then);
}

void thread_state_get(struct exchange *exchange) { with_path(exchange, state_then); }
void thread_state_at(struct exchange *exchange) { with_path(exchange, state_then); }

/* ---- History ---- */

static void history_then(struct exchange *exchange) {
    tn_value before = tn_get(exchange->body, "before");
    const char *id = tn_get_text(before, "checkpoint_id", tn_chars(before, NULL));
    if (id == NULL) id = tn_get_text(tn_get(before, "configurable"), "checkpoint_id", query(exchange, "before"));
    int64_t limit = body_number(exchange, "limit", 10, LIST_MAX), seq = id != NULL ? checkpoint_seq(id) : INT64_MAX;
    if (exchange->record == NULL || limit == 0) {
        reply(exchange, 200, tn_build("[]"));
        return;
    }
    exchange->how = (int)limit;
    exchange->at = seq < 0 ? 0 : (uint64_t)seq;
    read_history(exchange);
}

void thread_history_get(struct exchange *exchange) { with_path(exchange, history_then); }
void thread_history_post(struct exchange *exchange) { with_path(exchange, history_then); }

/* ---- Updates ---- */

static void on_updated_record(struct exchange *exchange, bool ok, tn_value value) {
    tn_value point = ok ? checkpoint_value(exchange->thread, tn_get_int(value, "head", 0)) : NULL;
    if (!ok)
        refuse_error(exchange, value);
    else
        reply(exchange, 200, tn_build("{s:V}", "checkpoint", point));
}

static void on_updated(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok)
        refuse_error(exchange, value);
    else
        ask(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->thread), on_updated_record);
}

static void update_with_graph(struct exchange *exchange) {
    tn_value values = tn_get(exchange->body, "values");
    const char *as = node_in(tn_get_text(exchange->body, "as_node", NULL)), *id = named_checkpoint(exchange);
    int64_t seq = id != NULL ? checkpoint_seq(id) : -1;
    tn_value params = tn_build(
        "{s:s, s:s, s:V, s:s*, s:b}", "thread_id", exchange->thread, "document", exchange->graph.document, "channels",
        tn.value->kind(values) == TN_OBJECT ? state_in(values) : tn_build("{}"), "as", as, "create", 1);
    if (id != NULL && seq != tn_get_int(exchange->record, "head", -1))
        params = tn_set_take(params, "seq", tn_int(seq == CHECKPOINT_START ? -1 : seq));
    ask(exchange, "thread/update", params, on_updated);
}

static void update_then(struct exchange *exchange) {
    tn_value values = tn_get(exchange->body, "values"),
             graph = tn_get(known_member(exchange->known, "metadata"), "graph_id");
    const char *id = named_checkpoint(exchange);
    int64_t seq = id != NULL ? checkpoint_seq(id) : 0;
    if (values != NULL && tn.value->kind(values) != TN_OBJECT && tn.value->kind(values) != TN_NULL) {
        refuse(exchange, 422, "`values` must be an object, the channels by their names");
    } else if (id != NULL && ((seq < 0 && seq != CHECKPOINT_START) || seq > tn_get_int(exchange->record, "head", -1))) {
        refuse(exchange, 404, "Checkpoint %.80s not found in thread %s", id, exchange->thread);
    } else if (tn_chars(graph, NULL) == NULL) {
        refuse(exchange, 409,
               "the graph of the thread is not known: it has had no run, and was created without `graph_id`");
    } else {
        exchange->body = exchange->made = tn_set_take(tn_retain(exchange->body), "assistant_id", tn_retain(graph));
        find_graph(exchange, update_with_graph);
    }
}

void thread_state_post(struct exchange *exchange) { with_path(exchange, update_then); }

/*
 * task_load.c - tasks of saved threads. One whose run was interrupted by the end of its host is continued: what its
 * steps have completed comes from the state, so that the client who comes back sees no gap, and nothing twice. Usually
 * the host has continued it already; then that run is followed, from the state with which it has begun.
 */
#include "push.h"
#include "task.h"

struct load {
    struct exchange *exchange;
    char *id, *run_id; /* run_id: the run that the host has continued; NULL: none */
    task_then *then;
    struct serving_lookup *lookup; /* open */
    uint64_t call;                 /* open */
    tn_value thread, graph;
    tn_value pushes; /* what push_saved has saved */
};

static void load_free(struct load *load) {
    serving_graphs_cancel(load->lookup);
    serving_cancel(&load->exchange->a2a->serving, load->call);
    tn_release(load->thread);
    tn_release(load->graph);
    tn_release(load->pushes);
    serving_free(load->id);
    serving_free(load->run_id);
    serving_free(load);
}

static void load_event(struct exchange *exchange, int32_t event) {
    if (event == TN_SERVER_CLOSED) load_free(exchange->object);
}

/* The exchange is free again. */
static void load_end(struct load *load, struct task *task, tn_value error) {
    struct exchange *exchange = load->exchange;
    task_then *then = load->then;
    exchange->object = NULL;
    exchange->on_event = NULL;
    load_free(load);
    then(exchange, task, error);
}

static void load_end_full(struct load *load) {
    tn_value error = tn_error("LIMIT", TASKS_FULL);
    load_end(load, NULL, error);
    tn_release(error);
}

/* True if another request has loaded it meanwhile: this one has it, too. */
static bool load_is_known(struct load *load) {
    struct task *known = task_find(load->exchange->a2a, load->exchange->owner, load->id);
    if (known != NULL) load_end(load, known, NULL);
    return known != NULL;
}

static struct task *task_of(const struct load *load) {
    tn_value saved = task_saved(load->thread), history = tn_get(saved, "history");
    struct task *task = task_new(load->exchange->a2a, load->exchange->caller, load->exchange->owner, load->id,
                                 tn_get_text(saved, "context", ""), tn_get_text(saved, "graph", ""));
    if (task == NULL || history == NULL) return task;
    tn_release(task->history);
    task->history = tn_retain(history);
    task_count(task, serving_json_size(history), 0);
    return task;
}

/* It is not to be notified of what was before. */
static void load_ended(struct load *load, struct task *task, const struct serving_graph *graph, tn_value state) {
    tn_value report =
        tn_build("{s:s, s:v, s:v, s:v*, s:v*}", "type", "result", "status", tn_get(load->thread, "status"), "state",
                 state, "error", tn_get(load->thread, "error"), "interrupts", tn_get(load->thread, "interrupts"));
    task_replay(task, graph, tn_get_text(task_saved(load->thread), "last_input", ""), state, report);
    tn_release(report);
    push_restore(task, load->pushes);
    load_end(load, task, NULL);
}

static void load_resume(struct load *load, struct task *task, const struct serving_graph *graph, tn_value state) {
    const char *last = task_replay_part(task, graph, tn_get_text(task_saved(load->thread), "last_input", ""), state);
    push_restore(task, load->pushes);
    bool runs = load->run_id != NULL
                    ? task_follow_run(task, graph, last, load->run_id)
                    : task_run(task, graph, last, "run/resume",
                               tn_build("{s:s, s:{s:s}, s:V}", "document", graph->document, "config", "thread_id",
                                        load->id, "modes", tn_from_json(SERVING_MODES, strlen(SERVING_MODES))));
    if (runs) {
        load_end(load, task, NULL);
        return;
    }
    task_free(task);
    load_end_full(load);
}

static bool is_open(const struct load *load) {
    const char *was = tn_get_text(load->thread, "status", "");
    return strcmp(was, "running") == 0 || strcmp(was, "stopped") == 0;
}

static void TN_ABI on_state(void *user, int32_t status, tn_value value) {
    struct load *load = user;
    struct serving_graph graph;
    load->call = 0;
    if (load_is_known(load)) return;
    if (status != TN_OK) {
        load_end(load, NULL, value);
        return;
    }
    serving_graph_read(load->graph, &graph);
    struct task *task = task_of(load);
    if (task == NULL)
        load_end_full(load);
    else if (is_open(load))
        load_resume(load, task, &graph, tn_get(value, "state"));
    else
        load_ended(load, task, &graph, tn_get(value, "state"));
}

/* `from`: the checkpoint; -1: the newest one. */
static void load_state(struct load *load, int64_t from) {
    tn_value params = tn_build("{s:s}", "thread_id", load->id);
    if (params != NULL && from >= 0) params = tn_set_take(params, "seq", tn_int(from));
    serving_call_take(&load->exchange->a2a->serving, load->exchange->caller, "thread/state", params, on_state, load,
                      &load->call);
}

static void TN_ABI on_runs(void *user, int32_t status, tn_value value) {
    struct load *load = user;
    tn_value run = status == TN_OK ? tn.value->at(tn_get(value, "runs"), 0) : NULL;
    int64_t from = tn_get_int(run, "continued_from", -1);
    load->call = 0;
    if (from >= 0) load->run_id = serving_text_copy(tn_get_text(run, "run_id", ""));
    load_state(load, load->run_id != NULL ? from : -1);
}

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct load *load = user;
    load->lookup = NULL;
    if (load_is_known(load)) return;
    load->graph = tn_retain(serving_graph_find(graphs, tn_get_text(task_saved(load->thread), "graph", "")));
    if (load->graph == NULL)
        load_end(load, NULL, error);
    else if (is_open(load))
        serving_call_take(&load->exchange->a2a->serving, load->exchange->caller, "run/list",
                          tn_build("{s:s, s:i}", "thread_id", load->id, "limit", 1), on_runs, load, &load->call);
    else
        load_state(load, -1);
}

static void load_graph(struct load *load) {
    load->lookup = serving_graph_named(&load->exchange->a2a->serving, load->exchange->caller,
                                       tn_get_text(task_saved(load->thread), "graph", ""), on_graphs, load);
    if (load->lookup == NULL) exchange_abort(load->exchange);
}

static void TN_ABI on_pushes(void *user, int32_t status, tn_value value) {
    struct load *load = user;
    load->call = 0;
    if (status == TN_OK) load->pushes = tn_retain(tn_get(value, "value"));
    load_graph(load);
}

static void TN_ABI on_thread(void *user, int32_t status, tn_value value) {
    struct load *load = user;
    bool absent = status != TN_OK && serving_is(tn_get(value, "code"), "NOT_FOUND");
    load->call = 0;
    if (status != TN_OK || task_saved(value) == NULL) {
        load_end(load, NULL, status == TN_OK || absent ? NULL : value);
        return;
    }
    load->thread = tn_retain(value);
    if (load->exchange->a2a->http == NULL)
        load_graph(load);
    else
        serving_call_take(&load->exchange->a2a->serving, load->exchange->caller, "memory/get",
                          push_memory_key(load->id), on_pushes, load, &load->call);
}

void task_load(struct exchange *exchange, const char *id, task_then *then) {
    struct task *known = task_find(exchange->a2a, exchange->owner, id);
    uint64_t length = strlen(id);
    struct load *load = NULL;
    if (known != NULL || length == 0 || length > ID_MAX || !tn_utf8_is_valid(id, length)) {
        then(exchange, known, NULL);
        return;
    }
    load = serving_alloc(sizeof *load);
    if (load == NULL) {
        exchange_abort(exchange);
        return;
    }
    *load = (struct load){.exchange = exchange, .id = serving_text_copy(id), .then = then};
    exchange->object = load;
    exchange->on_event = load_event;
    serving_call_take(&exchange->a2a->serving, exchange->caller, "thread/get",
                      tn_build("{s:s*}", "thread_id", load->id), on_thread, load, &load->call);
}

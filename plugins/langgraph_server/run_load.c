/*
 * run_load.c - runs that this process does not know: their process has ended, or they are not kept any more.
 *
 *     the memory of the run ─▶ its saved events ─▶ the thread ─▶ the graph ─▶ the state ─▶ a run that is known here
 *
 * If the thread has not ended, the run continues from its last super-step, with numbers behind those of the saved
 * events, or behind the one that the client has. Usually the host has continued it already; then it is followed.
 */
#include "stream.h"
#include <stdlib.h>

#define PAGES_MAX 20u /* pages of saved events, of 1,000 records each */

static void answer(struct exchange *exchange, struct run *run) { exchange->with_run(exchange, run); }

/* The run, unless another request has loaded it meanwhile. */
static bool is_known(struct exchange *exchange) {
    struct run *known = run_find(exchange, param(exchange, "run"));
    if (known != NULL) answer(exchange, known);
    return known != NULL;
}

/* Its events are those of `exchange->list`. NULL: there are too many runs, or memory ran out; answered. */
static struct run *make(struct exchange *exchange, tn_value params) {
    tn_value saved = exchange->made, kwargs = tn_get(saved, "kwargs"), log = exchange->list;
    struct run_options options = {.assistant = tn_get_text(saved, "assistant_id", ""),
                                  .graph = exchange->graph.name != NULL ? exchange->graph.name : "",
                                  .method = "run/resume",
                                  .strategy = tn_get_text(saved, "multitask_strategy", "enqueue"),
                                  .params = params,
                                  .metadata = tn_get(saved, "metadata"),
                                  .kwargs = kwargs,
                                  .modes = modes_read(tn_get(kwargs, "stream_mode")),
                                  .subgraphs = serving_true(tn_get(kwargs, "stream_subgraphs")),
                                  .resumable = serving_true(tn_get(kwargs, "stream_resumable"))};
    struct run *run = run_make(exchange, &options, param(exchange, "run"));
    if (run == NULL) {
        refuse(exchange, 503, "the server has too many runs; try again later");
        return NULL;
    }
    run->loaded = true;
    const char *created = tn_get_text(saved, "created_at", "");
    if (created[strspn(created, "0123456789-:.+TZ")] == '\0') /* nothing that could be cut within a character */
        (void)snprintf(run->created, sizeof run->created, "%s", created);
    uint64_t count = tn.value->count(log);
    tn_release(run->log);
    run->log = tn_retain(log);
    for (uint64_t i = 0; i < count; i++) run->log_size += run_event_size(tn.value->at(log, i));
    if (count > 0) run->log_first = (uint64_t)strtoull(tn_get_text(tn.value->at(log, 0), "id", "1"), NULL, 10);
    if (count == 0 && exchange->at > 0) run->log_first = exchange->at + 1;
    run->saved = (uint64_t)run_newest(run);
    run->events.made = run->saved;
    return run;
}

/* ---- A run whose thread has ended ---- */

static void end_as_thread(struct exchange *exchange, tn_value state) {
    tn_value record = exchange->record;
    struct run *run = make(exchange, NULL);
    if (run == NULL) return;
    tn_value report =
        tn_build("{s:s, s:v, s:v*, s:v*, s:v*}", "type", "result", "status", tn_get(record, "status"), "state", state,
                 "error", tn_get(record, "error"), "interrupts", tn_get(record, "interrupts"));
    run->started = true;
    if ((run->events.modes & MODE_VALUES) != 0 && serving_is(tn_get(record, "status"), "done")) {
        tn_value values = values_out(state);
        if (values != NULL) run_add_event(run, "values", values);
        tn_release(values);
    }
    run_take_report(run, report);
    tn_release(report);
    answer(exchange, run);
}

/* ---- A run that continues ---- */

static void continue_run(struct exchange *exchange, tn_value state) {
    tn_value kwargs = tn_get(exchange->made, "kwargs");
    tn_value params = tn_build(
        "{s:s, s:V, s:V}", "document", exchange->graph.document, "config",
        run_config(kwargs, exchange->assistant, exchange->thread, false), "modes",
        modes_of_run(modes_read(tn_get(kwargs, "stream_mode")), serving_true(tn_get(kwargs, "stream_subgraphs"))));
    struct run *run = make(exchange, params);
    tn_release(params);
    if (run == NULL) return;
    tn_release(run->state);
    run->state = tn_retain(state);
    run->status = "running";
    run_begin(run);
    answer(exchange, run);
}

/* `state` is that of the checkpoint after which the host has continued the run. */
static void follow_continued(struct exchange *exchange, tn_value state) {
    struct run *run = make(exchange, NULL);
    if (run == NULL) return;
    tn_release(run->state);
    run->state = tn_retain(state);
    run->status = "running";
    run_follow_host(run);
    answer(exchange, run);
}

static void on_state(struct exchange *exchange, bool ok, tn_value value) {
    const char *status = tn_get_text(exchange->record, "status", "");
    bool open = strcmp(status, "running") == 0 || strcmp(status, "stopped") == 0;
    if (!ok)
        refuse_error(exchange, value);
    else if (is_known(exchange))
        return;
    else if (exchange->how >= 0)
        follow_continued(exchange, tn_get(value, "state"));
    else if (open)
        continue_run(exchange, tn_get(value, "state"));
    else
        end_as_thread(exchange, tn_get(value, "state"));
}

static void graph_then(struct exchange *exchange) {
    tn_value params = tn_build("{s:s}", "thread_id", exchange->thread);
    if (exchange->how >= 0) params = tn_set_take(params, "seq", tn_int(exchange->how));
    ask(exchange, "thread/state", params, on_state);
}

/* `how` is the checkpoint after which the host has continued the run; -1: it has not. */
static void on_listed(struct exchange *exchange, bool ok, tn_value value) {
    tn_value run = tn.value->at(tn_get(value, "runs"), 0);
    bool same = ok && strcmp(bare_id(tn_get_text(run, "run_id", "")), param(exchange, "run")) == 0;
    exchange->how = same ? (int)tn_get_int(run, "continued_from", -1) : -1;
    exchange->body = exchange->made;
    if (!is_known(exchange)) find_graph(exchange, graph_then);
}

/* ---- Reading ---- */

static void on_thread(struct exchange *exchange, bool ok, tn_value value) {
    bool own = ok && strcmp(bare_id(tn_get_text(value, "run_id", "")), param(exchange, "run")) == 0;
    if (!ok && !serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        refuse_error(exchange, value);
    } else if (is_known(exchange)) {
        return;
    } else if (!own) { /* it had not begun, or others came after it */
        answer(exchange, NULL);
    } else {
        exchange->record = tn_retain(value);
        ask(exchange, "run/list", tn_build("{s:s, s:i}", "thread_id", exchange->thread, "limit", 1), on_listed);
    }
}

static void events_then(struct exchange *exchange) {
    const char *status = tn_get_text(exchange->made, "status", "");
    bool active = strcmp(status, "running") == 0;
    if (is_known(exchange)) return;
    if (active) {
        ask(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->thread), on_thread);
    } else if (tn.value->count(exchange->list) == 0) {
        answer(exchange, NULL);
    } else {
        struct run *run = make(exchange, NULL);
        if (run == NULL) return;
        run_set_ended(run, status);
        answer(exchange, run);
    }
}

static void read_events(struct exchange *exchange, tn_value after);

static void on_events(struct exchange *exchange, bool ok, tn_value value) {
    tn_value memories = tn_get(value, "memories"), last = NULL;
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    for (uint64_t i = 0, count = tn.value->count(memories); i < count; i++) {
        last = tn.value->at(memories, i);
        tn_value events = tn_get(tn_get(last, "value"), "events");
        if (tn.value->kind(events) == TN_ARRAY) (void)tn.value->concat(&exchange->list, events);
    }
    if (serving_true(tn_get(value, "more")) && last != NULL && ++exchange->how < (int)PAGES_MAX) {
        tn_value names = events_namespace(exchange->thread, param(exchange, "run"));
        tn_value from = tn_build("{s:V, s:v}", "namespace", names, "key", tn_get(last, "key"));
        read_events(exchange, from);
        tn_release(from);
    } else {
        events_then(exchange);
    }
}

static void read_events(struct exchange *exchange, tn_value after) {
    ask(exchange, "memory/search",
        tn_build("{s:V, s:i, s:v*}", "namespace", events_namespace(exchange->thread, param(exchange, "run")), "limit",
                 LIST_MAX, "after", after),
        on_events);
}

static void on_memory(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok) {
        refuse_error(exchange, value);
    } else if (tn.value->kind(value) != TN_OBJECT) {
        refuse(exchange, 404, "Run %s not found", param(exchange, "run"));
    } else {
        exchange->made = tn_retain(tn_get(value, "value"));
        exchange->list = tn_build("[]");
        exchange->how = 0;
        read_events(exchange, NULL);
    }
}

void run_load(struct exchange *exchange, int64_t after, void (*then)(struct exchange *exchange, struct run *run)) {
    exchange->with_run = then;
    exchange->at = after > 0 ? (uint64_t)after : 0;
    ask(exchange, "memory/get",
        tn_build("{s:V, s:s}", "namespace", runs_namespace(exchange->thread), "key", param(exchange, "run")),
        on_memory);
}

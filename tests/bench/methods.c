/*
 * methods.c - tenon-methods: what the method table costs, in process.
 *
 *     tenon-methods call 100000                      calls of run/get, one after the other
 *     tenon-methods events 10000 --subscribers=100   events of one run, each sent to all subscribers
 *
 * Every result is checked inside the timed section.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/server.h"
#include "tests/bench/harness.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server *server;
static struct client *client;
static int64_t events, ends;

static void on_event(void *user, uint64_t subscription, const char *event, tn_value params) {
    (void)user, (void)subscription, (void)params;
    if (strcmp(event, "run/event") == 0)
        events++;
    else
        ends++;
}

/* ---- Calls ---- */

static void on_ended(struct call *call) { *(bool *)call_owner(call) = true; }

/* Calls a method and waits; the result is a new reference. */
static tn_value call_method(const struct method *method, tn_value params) {
    static const struct call_ops ops = {.ended = on_ended};
    bool ended = false;
    struct callable *callable = method_call_new(client, method, NULL);
    struct call *call = call_new(server_loop(server), callable, &ops, &ended);
    callable_unref(callable);
    if (call_start(call, params)) ended = true;
    if (!ended) (void)loop_run(server_loop(server), flag_set, &ended);
    if (call_outcome(call) != CALL_COMPLETED) die(method->name, call_error(call)->message);
    tn_value result = value_ref(call_output(call));
    call_free(call);
    return result;
}

static tn_value call_with(const char *name, tn_value params_take) {
    tn_value result = call_method(method_find(name), params_take);
    value_unref(params_take);
    return result;
}

/* Starts a run of one node that emits `count` events. */
static void start_run(const char *id, int64_t count) {
    tn_value text = value_format("version: '1.0'\nagent: {name: stream}\nchannels: []\n"
                                 "nodes: [{id: emit, type: bench.emit, config: {number: %" PRId64 ", pace: burst}}]\n"
                                 "edges: [{from: START, to: emit}]\n",
                                 count);
    tn_value config = value_set_take(value_object(), "run_id", value_text(id));
    tn_value params = value_set_take(value_object(), "config", config);
    params = value_set_take(params, "modes", value_push_take(value_array(), value_text("custom")));
    value_unref(call_with("run/start", value_set_take(params, "text", text)));
}

static tn_value run_named(const char *id) { return value_set_take(value_object(), "run_id", value_text(id)); }

static void call_workload(int64_t n) {
    const struct method *method = method_find("run/get");
    struct measure measure;
    start_run("r", 1);
    value_unref(call_with("run/wait", run_named("r")));
    tn_value params = run_named("r");
    for (int64_t i = 0; i < 20; i++) value_unref(call_method(method, params));
    measure_begin(&measure);
    for (int64_t i = 0; i < n; i++) {
        tn_value run = call_method(method, params);
        if (!value_text_is(value_get(run, "status"), "done")) die("the run is not done", "");
        value_unref(run);
    }
    report(&measure, "call", n, (double)n, "");
    value_unref(params);
}

/* ---- Events ---- */

static bool all_have_ended(void *user) { return ends == *(const int64_t *)user; }

static void events_workload(int64_t n) {
    int64_t subscribers = strtoll(option("subscribers", "1"), NULL, 10);
    struct measure measure;
    char notes[64];
    start_run("r", n);
    for (int64_t i = 0; i < subscribers; i++) {
        tn_value params = value_set_take(run_named("r"), "credit", value_int(1000000));
        params = value_set_take(params, "modes", value_push_take(value_array(), value_text("custom")));
        value_unref(call_with("run/subscribe", params));
    }
    measure_begin(&measure);
    (void)loop_run(server_loop(server), all_have_ended, &subscribers);
    if (events != n * subscribers) die("events are missing", "");
    snprintf(notes, sizeof notes, "\"subscribers\":%" PRId64, subscribers);
    report(&measure, "events", n, (double)(n * subscribers), notes);
}

int main(int argc, char **argv) {
    static const char *const paths[] = {TENON_BENCH_NODES, TENON_CORE_PLUGIN, NULL};
    bool calls = argc > 2 && strcmp(argv[1], "call") == 0;
    int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
    struct error error = ERROR_INIT;
    if (n <= 0 || (!calls && strcmp(argv[1], "events") != 0)) {
        fputs("usage: tenon-methods call|events N [--subscribers=K]\n", stderr);
        return 2;
    }
    harness_options(argc, argv, 3);
    host = host_new(&(struct host_options){.plugin_paths = paths, .no_config = true}, &error);
    if (!host) die("cannot start", error.message);
    server = server_new(host);
    client = client_new(
        server, &(struct client_options){.name = "bench", .scope = METHOD_RUN, .files = true, .notify = on_event});
    if (calls)
        call_workload(n);
    else
        events_workload(n);
    host_free(host);
    return 0;
}

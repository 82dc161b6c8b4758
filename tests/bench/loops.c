/*
 * loops.c - tenon-loops batch|waiting [N] [--loops=2] [--steps=200] [--rounds=5] [--delay=2000]: a batch on several
 * loops beside the same batch on one, in one process and in turn, so that the ratio holds on a busy machine, too.
 *
 *     batch     N runs of `steps` super-steps, as `seq`; reports the speed-up in wall-clock time, and how much more
 *               processor time all loops together need than one: 1.0 without any overhead
 *     waiting   N runs that all wait at the same time, for `delay` milliseconds; reports the memory of one of them
 *
 * `speed_up_ideal` is the speed-up that N idle processors would have: loops ÷ overhead.
 */
#include "adl/value/memory.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_identity.h"
#include "host/loops/loops_batch.h"
#include "tests/bench/harness.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const paths[] = {TENON_BENCH_NODES, TENON_CORE_PLUGIN, TENON_MEMORY_PLUGIN, NULL};
static const struct host_options host_options = {
    .plugin_paths = paths, .no_installed = true, .no_config = true, .allow_drafts = true};

static struct loops *open_loops(uint32_t count) {
    struct error error = ERROR_INIT;
    struct loops *loops = loops_new(host, &(struct loops_options){.count = count, .host = host_options}, &error);
    if (!loops) die("cannot open the loops", error.message);
    return loops;
}

struct cost {
    double wall, cpu;
};

static struct cost run_batch(struct loops *loops, struct graph *graph, tn_value inputs, uint32_t concurrency,
                             int64_t expected) {
    struct error error = ERROR_INIT;
    struct measure measure;
    tn_value all = NULL;
    const struct batch_options options = {.concurrency = concurrency, .options = RUN_OPTIONS_INIT};
    measure_begin(&measure);
    if (loops_batch_run(loops, graph, inputs, &options, NULL, &all, &error) != TN_OK) die("batch", error.message);
    struct cost cost = {seconds(&measure.wall, CLOCK_MONOTONIC), seconds(&measure.cpu, CLOCK_PROCESS_CPUTIME_ID)};
    for (size_t i = 0; i < value_count(all); i++) {
        tn_value counter = value_get(value_get(value_at(all, i), "output"), "counter");
        if (!counter || value_to_int(counter) != expected) die("a wrong result", "");
    }
    value_unref(all);
    return cost;
}

static tn_value make_inputs(int64_t count) {
    tn_value inputs = value_array_reserve((size_t)count);
    for (int64_t i = 0; i < count; i++) inputs = value_push_take(inputs, value_object());
    return inputs;
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

#define ROUNDS_MAX 100

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

static void batch(int64_t n, uint32_t count) {
    int64_t steps = strtoll(option("steps", "200"), NULL, 10);
    int rounds = atoi(option("rounds", "5"));
    char text[800], notes[200];
    if (steps < 1 || steps > 1000000 || rounds < 1 || rounds > ROUNDS_MAX)
        die("--steps or --rounds is out of range", "");
    snprintf(text, sizeof text,
             "version: '1.0'\nagent: {name: loops, recursion_limit: 1000001}\n"
             "channels: [{name: counter, type: last_value, default: 0}]\n"
             "nodes: [{id: add, type: bench.add, config: {input_key: counter, output_key: counter}}]\n"
             "edges:\n  - {from: START, to: add}\n"
             "  - {from: add, type: conditional, conditions: [{expression: state.counter < %" PRId64 ", to: add},"
             " {expression: default, to: END}]}\n",
             steps);
    struct graph *graph = build(text);
    struct loops *one = open_loops(1), *many = open_loops(count);
    tn_value inputs = make_inputs(n);
    double speed[ROUNDS_MAX], overhead[ROUNDS_MAX];
    struct cost last = {0, 0};
    (void)run_batch(many, graph, inputs, 0, steps);
    for (int i = 0; i < rounds; i++) {
        struct cost alone = run_batch(one, graph, inputs, 0, steps);
        last = run_batch(many, graph, inputs, 0, steps);
        speed[i] = alone.wall / last.wall;
        overhead[i] = last.cpu / alone.cpu;
    }
    double more = median(overhead, rounds);
    snprintf(notes, sizeof notes, "\"loops\":%u,\"speed_up\":%.3f,\"cpu_overhead\":%.3f,\"speed_up_ideal\":%.3f", count,
             median(speed, rounds), more, (double)count / more);
    report_of(last.wall, last.cpu, "batch", n, (double)n * (double)steps, notes);
    value_unref(inputs);
    loops_free(many);
    loops_free(one);
    graph_unref(graph);
}

/* The peak is when all runs wait: the batch starts all of them before the first delay has passed. */
static void waiting(int64_t n, uint32_t count) {
    char text[800];
    int delay_ms = atoi(option("delay", "2000"));
    if (delay_ms < 1 || delay_ms > 600000) die("--delay is out of range", "");
    snprintf(
        text, sizeof text,
        "version: '1.0'\nagent: {name: waiting}\nchannels: [{name: counter, type: last_value, default: 0}]\nnodes:\n"
        "  - {id: a, type: bench.add, config: {input_key: counter, output_key: counter}}\n"
        "  - {id: wait, type: delay, config: {ms: %d}}\n"
        "  - {id: b, type: bench.add, config: {input_key: counter, output_key: counter}}\n"
        "edges: [{from: START, to: a}, {from: a, to: wait}, {from: wait, to: b}]\n",
        delay_ms);
    struct graph *graph = build(text);
    struct loops *loops = open_loops(count);
    tn_value few = make_inputs(50), inputs = make_inputs(n);
    char notes[120];
    (void)run_batch(loops, graph, few, 50, 2);
    double before = rss_mib();
    struct cost cost = run_batch(loops, graph, inputs, (uint32_t)n, 2);
    snprintf(notes, sizeof notes, "\"loops\":%u,\"rss_before_mib\":%.2f", count, before);
    report_of(cost.wall, cost.cpu, "waiting", n, (double)n, notes);
    value_unref(few);
    value_unref(inputs);
    loops_free(loops);
    graph_unref(graph);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    bool is_batch = strcmp(name, "batch") == 0;
    if (!is_batch && strcmp(name, "waiting") != 0) {
        fputs("usage: tenon-loops batch|waiting [N] [--loops=2] [--steps=200] [--rounds=5] [--delay=2000]\n", stderr);
        return 2;
    }
    bool counted = argc > 2 && argv[2][0] != '-';
    harness_options(argc, argv, counted ? 3 : 2);
    int64_t n = counted ? strtoll(argv[2], NULL, 10) : is_batch ? 2000 : 100000, count = atoi(option("loops", "2"));
    if (n <= 0 || n > 10000000 || count < 1 || count > 64) die("N or --loops is out of range", "");
    struct error error = ERROR_INIT;
    host = host_new(&host_options, &error);
    if (!host) die("cannot open the host", error.message);
    if (is_batch)
        batch(n, (uint32_t)count);
    else
        waiting(n, (uint32_t)count);
    host_free(host);
    return 0;
}

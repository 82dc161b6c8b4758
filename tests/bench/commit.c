/*
 * commit.c - tenon-commit: how many super-steps are durable in a second, and how long one takes.
 *
 *     tenon-commit 1000                       1,000 runs at once, each with a thread, 24 super-steps each
 *     tenon-commit 1 --steps=2000             one run at a time
 *     tenon-commit 1000 --sync=normal --folder=/dev/shm
 *
 * Options: --steps=S (super-steps of a run, an even number), --sync=full|normal|off (default: full, so each commit
 * waits for the disk),
 * --folder=F (where the store's file is; default: the working folder), --payload=B (bytes that each step writes),
 * --store=sqlite|memory, --path=FILE (keep the file).
 *
 * A latency is the time from one durable super-step of a run to the next one. The bytes are those of /proc/self/io:
 * `wchar` is what was written by calls, `write_bytes` what was passed to the disk. Every result is checked inside the
 * timed section.
 */
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution_thread.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"
#include "tests/bench/harness.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STORE_FILE "tenon-commit.db"

struct one {
    struct run *run;
    struct run_options options;
    struct timespec since; /* the end of its previous super-step */
};

static int64_t running, steps;
static double *latencies; /* in s */
static size_t latency_count, latency_capacity;

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static bool on_step(void *user, tn_value event) {
    struct one *one = user;
    (void)event;
    if (latency_count < latency_capacity) latencies[latency_count++] = seconds(&one->since, CLOCK_MONOTONIC);
    clock_gettime(CLOCK_MONOTONIC, &one->since);
    return true;
}

static void on_ended(struct run *run, void *user) {
    (void)run, (void)user;
    running--;
}

static bool all_ended(void *user) {
    (void)user;
    return running == 0;
}

/* ---- /proc/self/io ---- */

struct written {
    long long calls, disk; /* bytes */
};

static struct written written_so_far(void) {
    struct written written = {0, 0};
    char line[128];
    FILE *file = fopen("/proc/self/io", "r");
    while (file && fgets(line, sizeof line, file)) {
        (void)sscanf(line, "wchar: %lld", &written.calls);
        (void)sscanf(line, "write_bytes: %lld", &written.disk);
    }
    if (file) fclose(file);
    return written;
}

/* ---- The workload ---- */

/* Super-steps of one node, in turn: one counts, and one appends a text. */
static struct graph *counting_graph(void) {
    tn_value text =
        value_format("version: '1.0'\nagent: {name: commit, recursion_limit: %" PRId64 "}\n"
                     "channels: [{name: counter, type: last_value, default: 0}, {name: notes, type: append}]\n"
                     "nodes: [{id: add, type: bench.add, config: {input_key: counter, output_key: counter}},"
                     " {id: note, type: bench.append, config: {output_key: notes, value: '%0*d'}}]\n"
                     "edges:\n  - {from: START, to: add}\n  - {from: add, to: note}\n"
                     "  - {from: note, type: conditional, conditions: [{expression: state.counter < %" PRId64
                     ", to: add}, {expression: default, to: END}]}\n",
                     steps + 10, atoi(option("payload", "100")), 0, steps / 2);
    struct graph *graph = build(value_chars(text, NULL));
    value_unref(text);
    return graph;
}

static void prepare(struct one *one, struct graph *graph, const struct thread_request *request) {
    struct error error = ERROR_INIT;
    one->options = (struct run_options)RUN_OPTIONS_INIT;
    one->options.ended = on_ended;
    one->options.event = on_step;
    one->options.modes = RUN_MODE_UPDATES;
    one->options.user = one;
    if (thread_prepare_wait(host_engine(host), graph, request, &one->options, &error) != TN_OK)
        die("cannot prepare", error.message);
    one->run = run_new(graph, &one->options);
}

static void finish(struct one *one) {
    tn_value result = run_result(one->run);
    if (run_status(one->run) != RUN_DONE)
        die("a run failed", run_error(one->run)->message ? run_error(one->run)->message : "?");
    if (value_to_int(value_get(result, "counter")) != steps / 2) die("a wrong counter", "");
    value_unref(result);
    run_free(one->run);
    thread_log_free(one->options.log);
    value_unref(one->options.loaded);
}

static void open_store(const char *path) {
    struct error error = ERROR_INIT;
    tn_value options = value_set_take(value_object(), "use", value_text(option("store", "sqlite")));
    options = value_set_take(options, "path", value_text(path));
    if (strcmp(option("store", "sqlite"), "sqlite") == 0)
        options = value_set_take(options, "sync", value_text(option("sync", "full")));
    host_set_store_take(host,
                        store_open(&(const struct store_from){host_loop(host), host_registry(host), host_config(host)},
                                   options, &error));
    if (!host_store(host, NULL)) die("cannot open the store", error.message);
    value_unref(options);
}

static double thread_cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void commit_all(int64_t runs) {
    struct one *all = mem_zalloc((size_t)runs * sizeof *all);
    struct thread_request *requests = mem_zalloc((size_t)runs * sizeof *requests);
    char(*ids)[32] = mem_zalloc((size_t)runs * sizeof *ids);
    struct graph *graph = counting_graph();
    struct measure measure;
    for (int64_t i = 0; i < runs; i++) {
        snprintf(ids[i], sizeof ids[i], "run-%08x", (unsigned)i * 2654435761u);
        requests[i] = (struct thread_request){.id = ids[i]};
        prepare(&all[i], graph, &requests[i]);
    }
    double commits = (double)runs * (double)(steps + 1); /* one for the input */
    latency_capacity = (size_t)commits + (size_t)runs;
    latencies = mem_alloc(latency_capacity * sizeof *latencies);
    running = runs;
    struct written before = written_so_far();
    double loop_cpu = thread_cpu();
    measure_begin(&measure);
    for (int64_t i = 0; i < runs; i++) {
        struct error error = ERROR_INIT;
        bool ended = false;
        clock_gettime(CLOCK_MONOTONIC, &all[i].since);
        if (thread_begin(all[i].run, &requests[i], NULL, &ended, &error) != TN_OK) die("cannot start", error.message);
        running -= ended;
    }
    loop_run(host_loop(host), all_ended, NULL);
    double wall = seconds(&measure.wall, CLOCK_MONOTONIC), cpu = seconds(&measure.cpu, CLOCK_PROCESS_CPUTIME_ID);
    loop_cpu = thread_cpu() - loop_cpu;
    struct written after = written_so_far();
    for (int64_t i = 0; i < runs; i++) finish(&all[i]);
    qsort(latencies, latency_count, sizeof *latencies, by_size);
    char notes[400];
    snprintf(notes, sizeof notes,
             "\"unit\":\"super-step\",\"runs\":%" PRId64
             ",\"per_s\":%.0f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,"
             "\"wchar\":%.0f,\"write_bytes\":%.0f,\"loop_cpu_us\":%.2f,\"other_cpu_us\":%.2f",
             runs, commits / wall, latencies[latency_count / 2] * 1e3, latencies[latency_count * 99 / 100] * 1e3,
             latencies[latency_count - 1] * 1e3, (double)(after.calls - before.calls) / commits,
             (double)(after.disk - before.disk) / commits, loop_cpu * 1e6 / commits, (cpu - loop_cpu) * 1e6 / commits);
    report_of(wall, cpu, "commit", runs * steps, commits, notes);
    mem_free(latencies);
    mem_free(requests);
    mem_free(all);
    mem_free(ids);
    graph_unref(graph);
}

static void remove_store(const char *path) {
    static const char *const ends[] = {"", "-wal", "-shm", "-owners"};
    char file[4096];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(file, sizeof file, "%s%s", path, ends[i]);
        (void)unlink(file);
    }
}

int main(int argc, char **argv) {
    static const char *const paths[] = {TENON_BENCH_NODES, TENON_CORE_PLUGIN, TENON_MEMORY_PLUGIN, TENON_SQLITE_PLUGIN,
                                        NULL};
    int64_t runs = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000;
    char folder[3000], path[4000];
    struct error error = ERROR_INIT;
    harness_options(argc, argv, 2);
    steps = strtoll(option("steps", "24"), NULL, 10);
    if (runs <= 0 || runs > 1000000 || steps <= 0 || steps % 2 || steps > 1000000) {
        fputs("usage: tenon-commit [RUNS] [--steps=S] [--sync=full|normal|off] [--folder=F] [--payload=B]"
              " [--store=sqlite|memory]\n",
              stderr);
        return 2;
    }
    host = host_new(&(struct host_options){.plugin_paths = paths, .no_config = true}, &error);
    if (!host) die("cannot start", error.message);
    snprintf(folder, sizeof folder, "%s/tenon-commit-XXXXXX", option("folder", "."));
    if (!mkdtemp(folder)) die("cannot create", folder);
    snprintf(path, sizeof path, "%s/" STORE_FILE, folder);
    open_store(path);
    commit_all(runs);
    host_free(host);
    remove_store(path);
    if (rmdir(folder) != 0) die("cannot remove", folder);
    return 0;
}

/*
 * bench.c - tenon-bench WORKLOAD [N] [--option=value]: one measurement, printed as one JSON line in the format of the
 * peers.
 *
 * The workloads are those by which engines for agent graphs are compared: chain, loop, fanout, growth, conversation,
 * concurrent, startup, stream, seq, par, check, values; and turn, summary, edit, merge (saved.c). Graphs are ADL
 * documents, the nodes come from a plugin (plugin/bench_nodes.c), so users get the same performance. The result of
 * every run is checked inside the timed section.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"
#include "tests/bench/harness.h"
#include "tests/bench/saved.h"
#include "tests/bench/saver.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Runs ---- */

static bool kept;               /* runs are saved in threads of a store */
static struct run_options last; /* of the newest saved run */
static int64_t threads;
static const char *thread; /* the thread of all runs; NULL: each run has its own */

/* Runs to the end. The caller passes the run to end_run. */
static struct run *run_once(struct graph *graph, tn_value input, const struct run_options *given) {
    bool ended = false;
    struct run_options with = given ? *given : (struct run_options)RUN_OPTIONS_INIT;
    with.ended = set_flag;
    with.user = with.user ? with.user : &ended;
    if (kept) {
        char id[32];
        snprintf(id, sizeof id, "thread-%" PRId64, threads++);
        saver_prepare(graph, thread ? thread : id, &with);
        last = with;
    }
    struct run *run = run_new(graph, &with);
    if (!(kept ? saver_begin(run, input) : run_start(run, input))) loop_run(host_loop(host), flag_set, with.user);
    if (run_status(run) != RUN_DONE) die("the run failed", run_error(run)->message ? run_error(run)->message : "?");
    return run;
}

static void end_run(struct run *run) {
    run_free(run);
    if (kept) saver_release(&last);
}

static int64_t result_int(struct run *run, const char *channel) {
    tn_value result = run_result(run), value = value_get(result, channel);
    int64_t number = value ? value_to_int(value) : -1;
    value_unref(result);
    return number;
}

static tn_value object_with(const char *key, tn_value value) {
    return value_set_take(value_object_reserve(1), key, value);
}

/* N runs with `input`, one after the other. Each must leave `expected` in `channel`. */
static void run_many(struct graph *graph, tn_value input, int64_t count, const char *channel, int64_t expected) {
    for (int64_t i = 0; i < count; i++) {
        struct run *run = run_once(graph, input, NULL);
        if (result_int(run, channel) != expected) die("a wrong result in", channel);
        end_run(run);
    }
}

/* A chain of `count` nodes of a type, each counter + 1. */
static char *chain_document(uint32_t count, const char *type, const char *extra) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_format(&out,
                  "version: '1.0'\nagent: {name: chain, recursion_limit: %u%s}\n"
                  "channels: [{name: counter, type: last_value, default: 0}]\nnodes:\n",
                  count + 10, extra);
    for (uint32_t i = 1; i <= count; i++)
        buffer_format(&out, "  - {id: n%u, type: %s, config: {input_key: counter, output_key: counter}}\n", i, type);
    buffer_text(&out, "edges:\n  - {from: START, to: n1}\n");
    for (uint32_t i = 1; i < count; i++) buffer_format(&out, "  - {from: n%u, to: n%u}\n", i, i + 1);
    buffer_format(&out, "  - {from: n%u, to: END}\n", count);
    return buffer_detach(&out, NULL);
}

static int64_t warm_up(int64_t n, int64_t least, int64_t most) {
    int64_t tenth = n / 10;
    return tenth < least ? least : tenth > most ? most : tenth;
}

static void chain_of(uint32_t length, int64_t n, const char *name, const char *type, double units) {
    char *text = chain_document(length, type, "");
    struct graph *graph = build(text);
    tn_value input = object_with("counter", value_int(0));
    struct measure measure;
    run_many(graph, input, atoi(option("warmup", "-1")) >= 0 ? atoi(option("warmup", "0")) : warm_up(n, 20, 200),
             "counter", length);
    kept = saver_open(host, option("saver", "none"));
    measure_begin(&measure);
    run_many(graph, input, n, "counter", length);
    saver_report(&measure, name, n, units, "");
    value_unref(input);
    graph_unref(graph);
    mem_free(text);
}

static void chain(int64_t n) { chain_of(10, n, "chain", option("type", "bench.add"), (double)n * 10); }
static void seq(int64_t n) { chain_of(3, n, "seq", option("type", "bench.add"), (double)n); }

static void loop(int64_t n) {
    static const char text[] =
        "version: '1.0'\nagent: {name: loop, recursion_limit: 1100}\n"
        "channels: [{name: counter, type: last_value, default: 0}]\n"
        "nodes: [{id: add, type: bench.add, config: {input_key: counter, output_key: counter}}]\n"
        "edges:\n  - {from: START, to: add}\n"
        "  - {from: add, type: conditional, conditions: [{expression: state.counter < 1000, to: add},"
        " {expression: default, to: END}]}\n";
    struct graph *graph = build(text);
    struct measure measure;
    run_many(graph, NULL, 3, "counter", 1000);
    measure_begin(&measure);
    run_many(graph, NULL, n, "counter", 1000);
    report(&measure, "loop", n, (double)n * 1000, "");
    graph_unref(graph);
}

static void append_workers(struct buffer *out, uint32_t count, const char *channel) {
    for (uint32_t i = 0; i < count; i++)
        buffer_format(out, "  - {id: w%u, type: bench.append, config: {output_key: %s, value: %u}}\n", i, channel, i);
}

static void append_names(struct buffer *out, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) buffer_format(out, "%sw%u", i ? ", " : "", i);
}

static void fanout(int64_t n) {
    bool send = strcmp(option("mode", "static"), "send") == 0;
    uint32_t k = (uint32_t)strtoul(option("k", send ? "1000" : "100"), NULL, 10);
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_text(&out, "version: '1.0'\nagent: {name: fanout, concurrency: 10000}\nchannels:\n"
                      "  - {name: items, type: append}\n  - {name: total, type: last_value}\n"
                      "  - {name: list, type: last_value, default: []}\nnodes:\n"
                      "  - {id: entry, type: bench.noop}\n"
                      "  - {id: join, type: bench.length, config: {input_key: items, output_key: total}}\n");
    if (send)
        buffer_text(&out, "  - {id: worker, type: bench.append, config: {output_key: items}}\nedges:\n"
                          "  - {from: START, to: entry}\n"
                          "  - {from: entry, type: map, over: state.list, as: index, to: worker}\n"
                          "  - {from: worker, to: join}\n");
    else {
        append_workers(&out, k, "items");
        buffer_text(&out, "edges:\n  - {from: START, to: entry}\n  - {from: entry, to: [");
        append_names(&out, k);
        buffer_text(&out, "]}\n  - {from: [");
        append_names(&out, k);
        buffer_text(&out, "], to: join}\n");
    }
    struct graph *graph = build(buffer_cstr(&out));
    tn_value list = value_array();
    for (uint32_t i = 0; send && i < k; i++) list = value_push_take(list, value_int(i));
    tn_value input = object_with("list", list);
    struct measure measure;
    run_many(graph, input, 5, "total", k);
    measure_begin(&measure);
    run_many(graph, input, n, "total", k);
    report(&measure, "fanout", n, (double)n * k, send ? "\"mode\":\"send\"" : "\"mode\":\"static\"");
    value_unref(input);
    buffer_finish(&out);
    graph_unref(graph);
}

static void par(int64_t n) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_text(&out, "version: '1.0'\nagent: {name: par}\nchannels:\n  - {name: results, type: append}\n"
                      "  - {name: count, type: last_value}\nnodes:\n");
    append_workers(&out, 5, "results");
    buffer_text(&out, "  - {id: summarizer, type: bench.length, config: {input_key: results, output_key: count}}\n"
                      "edges:\n  - {from: START, to: [w0, w1, w2, w3, w4]}\n"
                      "  - {from: [w0, w1, w2, w3, w4], to: summarizer}\n  - {from: summarizer, to: END}\n");
    struct graph *graph = build(buffer_cstr(&out));
    struct measure measure;
    run_many(graph, NULL, atoi(option("warmup", "200")), "count", 5);
    measure_begin(&measure);
    run_many(graph, NULL, n, "count", 5);
    report(&measure, "par", n, (double)n, "");
    buffer_finish(&out);
    graph_unref(graph);
}

struct graph *growth_graph(int64_t calls, const char *output) {
    struct buffer out;
    bool typed = strcmp(option("channel", *output ? "messages" : "array"), "messages") == 0;
    buffer_init(&out, SIZE_MAX);
    buffer_format(&out,
                  "version: '1.0'\n%sagent: {name: growth, recursion_limit: %" PRId64 "}\n"
                  "channels: [{name: messages, type: %s}]\nnodes:\n"
                  "  - {id: agent, type: bench.agent, config: {input_key: messages, output_key: messages, number: "
                  "%" PRId64 "}}\n"
                  "  - {id: tools, type: bench.tools, config: {input_key: messages, output_key: messages}}\n"
                  "edges:\n  - {from: START, to: agent}\n  - {from: tools, to: agent}\n"
                  "  - {from: agent, type: conditional, conditions: [{expression: "
                  "'has(state.messages[size(state.messages) - 1].tool_calls)', to: tools}, "
                  "{expression: default, to: END}]}\n",
                  output, 2 * calls + 10, typed ? "reduce, reducer: messages" : "append", calls);
    struct graph *graph = build(buffer_cstr(&out));
    buffer_finish(&out);
    return graph;
}

tn_value user_message(int64_t number) {
    char content[201];
    memset(content, 'x', 200);
    content[200] = 0;
    tn_value user = object_with("id", value_format("u-%" PRId64, number));
    user = value_set_take(user, "role", value_text("user"));
    user = value_set_take(user, "content", value_text(content));
    return object_with("messages", value_push_take(value_array(), user));
}

static void expect_messages(struct run *run, int64_t count) {
    tn_value result = run_result(run);
    if ((int64_t)value_count(value_get(result, "messages")) != count) die("a wrong number of messages", "");
    value_unref(result);
}

static void growth_run(int64_t turns) {
    struct graph *graph = growth_graph(turns, "");
    tn_value input = user_message(0);
    struct run *run = run_once(graph, input, NULL);
    expect_messages(run, 2 * turns + 2);
    end_run(run);
    value_unref(input);
    graph_unref(graph);
}

static void growth(int64_t turns) {
    struct measure measure;
    for (int i = atoi(option("warmup", "10")); i > 0; i--) growth_run(50);
    kept = saver_open(host, option("saver", "none"));
    measure_begin(&measure);
    growth_run(turns);
    saver_report(&measure, "growth", turns, (double)turns, "");
}

/* One thread, run once for each turn: user, tool request, tool result, answer. */
static void conversation(int64_t turns) {
    struct measure measure;
    struct graph *graph = growth_graph(1, "");
    kept = saver_open(host, option("saver", "sqlite"));
    thread = "conversation";
    measure_begin(&measure);
    for (int64_t i = 0; i < turns; i++) {
        tn_value input = user_message(i);
        struct run *run = run_once(graph, input, NULL);
        expect_messages(run, 4 * (i + 1));
        end_run(run);
        value_unref(input);
    }
    saver_report(&measure, "conversation", turns, (double)turns, "");
    graph_unref(graph);
}

/* ---- concurrent ---- */

static int64_t still_open;

static void one_less(struct run *run, void *user) {
    (void)run, (void)user;
    still_open--;
}

static bool none_open(void *user) {
    (void)user;
    return still_open == 0;
}

static double concurrent_batch(struct graph *graph, int64_t count) {
    struct run **runs = mem_alloc((size_t)count * sizeof *runs);
    struct run_options with = RUN_OPTIONS_INIT;
    with.ended = one_less;
    still_open = count;
    for (int64_t i = 0; i < count; i++) {
        runs[i] = run_new(graph, &with);
        if (run_start(runs[i], NULL)) still_open--;
    }
    double peak = rss_mib(); /* all are waiting now */
    loop_run(host_loop(host), none_open, NULL);
    for (int64_t i = 0; i < count; i++) {
        if (result_int(runs[i], "counter") != 2) die("a wrong counter", "");
        run_free(runs[i]);
    }
    mem_free(runs);
    return peak;
}

static void concurrent(int64_t n) {
    struct graph *graph = build(
        "version: '1.0'\nagent: {name: concurrent}\nchannels: [{name: counter, type: last_value, default: 0}]\nnodes:\n"
        "  - {id: a, type: bench.add, config: {input_key: counter, output_key: counter}}\n"
        "  - {id: wait, type: delay, config: {ms: 100}}\n"
        "  - {id: b, type: bench.add, config: {input_key: counter, output_key: counter}}\n"
        "edges: [{from: START, to: a}, {from: a, to: wait}, {from: wait, to: b}]\n");
    for (int i = 0; i < 2; i++) concurrent_batch(graph, 50);
    double before = rss_mib();
    struct measure measure;
    measure_begin(&measure);
    double peak = concurrent_batch(graph, n);
    char notes[160];
    snprintf(notes, sizeof notes, "\"rss_before_mib\":%.2f,\"rss_per_run_kib\":%.3f", before,
             (peak - before) * 1024 / (double)n);
    report(&measure, "concurrent", n, (double)n, notes);
    graph_unref(graph);
}

/* ---- stream ---- */

static int64_t next_event;

static bool count_event(void *user, tn_value event) {
    (void)user;
    tn_value data = value_get(event, "data"), i = data ? value_get(data, "i") : NULL;
    if (!i || value_to_int(i) != next_event++) die("events out of order", "");
    return true;
}

static void stream_run(struct graph *graph, int64_t count) {
    struct run_options with = RUN_OPTIONS_INIT;
    with.modes = RUN_MODE_CUSTOM;
    with.event = count_event;
    next_event = 0;
    run_free(run_once(graph, NULL, &with));
    if (next_event != count) die("events are missing", "");
}

static struct graph *stream_graph(int64_t count) {
    tn_value text = value_format("version: '1.0'\nagent: {name: stream}\nchannels: []\n"
                                 "nodes: [{id: emit, type: bench.emit, config: {number: %" PRId64 ", pace: %s}}]\n"
                                 "edges: [{from: START, to: emit}]\n",
                                 count, option("pace", "burst"));
    struct graph *graph = build(value_chars(text, NULL));
    value_unref(text);
    return graph;
}

static void stream(int64_t n) {
    struct graph *warm = stream_graph(1000), *graph = stream_graph(n);
    struct measure measure;
    for (int i = 0; i < 5; i++) stream_run(warm, 1000);
    measure_begin(&measure);
    stream_run(graph, n);
    report(&measure, "stream", n, (double)n, "");
    graph_unref(warm);
    graph_unref(graph);
}

/* ---- values: a large value into a node and out of it ---- */

static tn_value large_value(const char *kind, size_t bytes) {
    char *text = mem_alloc(bytes + 1);
    tn_value value = value_array();
    for (size_t i = 0; i < bytes; i++) text[i] = (char)(i % 80 == 79 ? '\n' : 'a' + i % 26);
    if (strcmp(kind, "numbers") == 0) {
        for (size_t i = 0; i < bytes / 8; i++) value = value_push_take(value, value_int(1000000 + (int64_t)i));
    } else if (strcmp(kind, "texts") == 0) { /* as the parts of a retrieval */
        for (size_t at = 0; at < bytes; at += 65536)
            value = value_push_take(value, value_text_n(text + at, bytes - at < 65536 ? bytes - at : 65536));
    } else {
        value_unref(value);
        value = strcmp(kind, "bytes") == 0 ? value_bytes(text, bytes) : value_text_n(text, bytes);
    }
    mem_free(text);
    return value;
}

static void values_run(struct graph *graph, tn_value input) {
    struct run *run = run_once(graph, input, NULL);
    tn_value result = run_result(run);
    if (!value_equal(value_get(result, "copied"), value_get(input, "value"))) die("another value came back", "");
    value_unref(result);
    run_free(run);
}

static void values(int64_t n) {
    const char *kind = option("kind", "text");
    size_t bytes = strtoull(option("bytes", "4194304"), NULL, 10);
    struct graph *graph =
        build("version: '1.0'\nagent: {name: values}\nchannels: [{name: value, type: last_value}, {name: copied, type: "
              "last_value}]\nnodes: [{id: copy, type: bench.copy, config: {input_key: value, output_key: copied}}]\n"
              "edges: [{from: START, to: copy}]\n");
    tn_value input = object_with("value", large_value(kind, bytes));
    struct measure measure;
    for (int i = 0; i < 3; i++) values_run(graph, input);
    measure_begin(&measure);
    for (int64_t i = 0; i < n; i++) values_run(graph, input);
    char notes[128];
    double wall = seconds(&measure.wall, CLOCK_MONOTONIC);
    snprintf(notes, sizeof notes, "\"kind\":\"%s\",\"bytes\":%zu,\"mb_per_s\":%.1f", kind, bytes,
             2.0 * (double)bytes * (double)n / 1e6 / wall);
    report(&measure, "values", n, (double)n, notes);
    value_unref(input);
    graph_unref(graph);
}

/* ---- startup: a process that loads, builds, runs once, prints and exits ---- */

static void startup_child(void) {
    char *text = chain_document(3, "bench.add", "");
    struct graph *graph = build(text);
    struct run *run = run_once(graph, NULL, NULL);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%" PRId64 " %ld\n", result_int(run, "counter"), usage.ru_maxrss);
    run_free(run);
    graph_unref(graph);
    mem_free(text);
}

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double start_once(const char *program, long *peak_kib) {
    int ends[2];
    struct timespec from;
    if (pipe(ends) != 0) die("no pipe", "");
    clock_gettime(CLOCK_MONOTONIC, &from);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "startup-child", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    char line[64] = "";
    ssize_t got = read(ends[0], line, sizeof line - 1);
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    double took = seconds(&from, CLOCK_MONOTONIC);
    long counter;
    if (got <= 0 || sscanf(line, "%ld %ld", &counter, peak_kib) != 2 || counter != 3 || status != 0)
        die("the child failed", "");
    return took;
}

static void startup(int64_t n) {
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) die("who am I?", "");
    program[length] = 0;
    double *took = mem_alloc((size_t)n * sizeof *took);
    long peak = 0;
    struct measure measure;
    start_once(program, &peak);
    start_once(program, &peak);
    measure_begin(&measure);
    for (int64_t i = 0; i < n; i++) took[i] = start_once(program, &peak);
    qsort(took, (size_t)n, sizeof *took, by_size);
    char notes[160];
    snprintf(notes, sizeof notes, "\"median_ms\":%.3f,\"child_peak_mib\":%.2f", took[n / 2] * 1e3, (double)peak / 1024);
    report(&measure, "startup", n, (double)n, notes);
    mem_free(took);
}

/* ---- check: documents of n nodes ---- */

static char *check_document(int64_t nodes, bool mistakes) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_text(&out, "version: '1.0'\nagent: {name: check}\n"
                      "channels: [{name: counter, type: last_value, default: 0, schema: {type: integer}}]\nnodes:\n");
    for (int64_t i = 0; i < nodes; i++)
        buffer_format(&out, "  - {id: n%" PRId64 ", type: bench.add, config: {input_key: %s, output_key: counter}}\n",
                      i, mistakes && i % 10 == 9 ? "coutner" : "counter");
    buffer_text(&out, "edges:\n  - {from: START, to: n0}\n");
    for (int64_t i = 0; i < nodes; i++) {
        if (i + 1 == nodes)
            buffer_format(&out, "  - {from: n%" PRId64 ", to: END}\n", i);
        else if (i % 10 == 9)
            buffer_format(&out,
                          "  - {from: n%" PRId64
                          ", type: conditional, conditions: [{expression: 'state.counter > %" PRId64
                          "', to: END}, {expression: default, to: n%" PRId64 "}]}\n",
                          i, i * 2, i + 1);
        else
            buffer_format(&out, "  - {from: n%" PRId64 ", to: n%" PRId64 "}\n", i, i + 1);
    }
    return buffer_detach(&out, NULL);
}

static void check(int64_t nodes) {
    bool mistakes = strcmp(option("mistakes", "no"), "yes") == 0;
    char *text = check_document(nodes, mistakes);
    size_t errors = 0;
    struct measure measure;
    int rounds = atoi(option("rounds", nodes >= 10000 ? "5" : "50"));
    for (int round = -1; round < rounds; round++) {
        if (round == 0) measure_begin(&measure);
        if (!mistakes) {
            graph_unref(build(text));
            continue;
        }
        struct source *source = source_new("bench.yaml", text, strlen(text));
        struct diagnostics *found = diagnostics_new();
        document_unref(document_read(source, host_catalog(host), found));
        errors = diagnostics_errors(found);
        diagnostics_free(found);
        source_unref(source);
    }
    if (mistakes && errors < (size_t)nodes / 10) die("a mistake was not reported", "");
    char notes[64];
    snprintf(notes, sizeof notes, "\"nodes\":%" PRId64 ",\"errors\":%zu", nodes, errors);
    report(&measure, "check", nodes, rounds, notes);
    mem_free(text);
}

static const struct {
    const char *name;
    void (*run)(int64_t n);
    int64_t n; /* the default */
} workloads[] = {{"chain", chain, 2000},
                 {"loop", loop, 20},
                 {"fanout", fanout, 50},
                 {"growth", growth, 200},
                 {"conversation", conversation, 100},
                 {"turn", turn, 50},
                 {"summary", summary, 2000},
                 {"edit", edit, 4000},
                 {"merge", merge, 500},
                 {"concurrent", concurrent, 1000},
                 {"stream", stream, 10000},
                 {"seq", seq, 20000},
                 {"par", par, 10000},
                 {"check", check, 1000},
                 {"values", values, 20},
                 {"startup", startup, 20}};

int main(int argc, char **argv) {
    static const char *const paths[] = {TENON_BENCH_NODES, TENON_CORE_PLUGIN, TENON_MEMORY_PLUGIN, TENON_SQLITE_PLUGIN,
                                        NULL};
    const char *name = argc > 1 ? argv[1] : "";
    bool turn_of_child = strcmp(name, "turn-child") == 0, child = turn_of_child || strcmp(name, "startup-child") == 0;
    size_t row = 0;
    while (row < sizeof workloads / sizeof *workloads && strcmp(workloads[row].name, name) != 0) row++;
    if (row == sizeof workloads / sizeof *workloads && !child) {
        fputs("usage: tenon-bench WORKLOAD [N] [--option=value ...]\nworkloads:", stderr);
        for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) fprintf(stderr, " %s", workloads[i].name);
        fputc('\n', stderr);
        return 2;
    }
    bool counted = argc > 2 && argv[2][0] != '-';
    harness_options(argc, argv, counted ? 3 : 2);
    int64_t n = child ? 1 : counted ? strtoll(argv[2], NULL, 10) : workloads[row].n;
    if (n <= 0) {
        fputs("tenon-bench: N must be a whole number above 0\n", stderr);
        return 2;
    }
    struct error error = ERROR_INIT;
    static const char *const isolated[] = {"test.bench", NULL};
    bool isolate = strcmp(option("isolate", "no"), "yes") == 0;
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 0); /* this program cannot serve plugins */
    host = host_new(
        &(struct host_options){.plugin_paths = paths, .no_config = true, .isolate = isolate ? isolated : NULL}, &error);
    if (!host) die("cannot start", error.message);
    if (turn_of_child)
        turn_child();
    else if (child)
        startup_child();
    else
        workloads[row].run(n);
    host_free(host);
    return 0;
}

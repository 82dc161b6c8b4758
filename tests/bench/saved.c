/*
 * saved.c - what a saved thread costs when it is long, or when a step changes a small part of a large value.
 *
 * turn: the next turn of a conversation that has --turns=T turns: user, tool request, tool result, answer. The thread
 * is filled by one invocation that leaves the same messages (4 T, in 4 T - 1 super-steps), or with --fill=input by one
 * turn whose input has all messages before it. The result of a turn does not contain the conversation. With --fresh=yes
 * each turn is a process that opens the store and appends; it measures from there to the end of the run, and
 * `process_us` is its whole life. With --reads=no --channel=array the document only appends, and no node reads the
 * conversation.
 *
 * summary: a conversation whose first message is a summary that each of N steps replaces; each appends a message.
 *
 * edit: N steps, each of which replaces one of --items=1000 messages.
 *
 * merge: N steps, each of which changes one of 1,000 members of an object of 1 MB: by the reducer `merge`, or with
 * --channel=last_value by writing the whole object.
 *
 * All in a store (--saver=sqlite|memory|none). Every step writes 200 bytes of new text for each message or member.
 */
#include "tests/bench/saved.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"
#include "tests/bench/harness.h"
#include "tests/bench/saver.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREAD "bench"

static bool kept;
static char text_of_200[201];

/* ---- Runs ---- */

/* Runs to the end. Returns the run; the caller passes it to end_saved. */
static struct run *run_saved(struct graph *graph, tn_value input, struct run_options *options) {
    bool ended = false;
    *options = (struct run_options)RUN_OPTIONS_INIT;
    options->ended = set_flag;
    options->user = &ended;
    if (kept) saver_prepare(graph, THREAD, options);
    struct run *run = run_new(graph, options);
    if (!(kept ? saver_begin(run, input) : run_start(run, input))) loop_run(host_loop(host), flag_set, &ended);
    if (run_status(run) != RUN_DONE) die("the run failed", run_error(run)->message ? run_error(run)->message : "?");
    return run;
}

static void end_saved(struct run *run, struct run_options *options) {
    run_free(run);
    if (kept) saver_release(options);
}

/* ---- turn ---- */

#define NO_OUTPUT "output: {type: object, properties: {}}\n"

/* A document that only extends the conversation: three nodes append the messages of a turn, and nothing reads them. */
static struct graph *appending_graph(void) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_text(&out, "version: '1.0'\n" NO_OUTPUT "agent: {name: growth}\nchannels: [{name: messages, type: append}]\n"
                      "nodes:\n");
    for (int i = 0; i < 3; i++)
        buffer_format(&out,
                      "  - {id: n%d, type: bench.append, config: {output_key: messages, value: {role: assistant, "
                      "content: %s}}}\n",
                      i, text_of_200);
    buffer_text(&out, "edges: [{from: START, to: n0}, {from: n0, to: n1}, {from: n1, to: n2}]\n");
    struct graph *graph = build(buffer_cstr(&out));
    buffer_finish(&out);
    return graph;
}

static struct graph *turn_graph(void) {
    memset(text_of_200, 'x', sizeof text_of_200 - 1);
    return strcmp(option("reads", "yes"), "no") == 0 ? appending_graph() : growth_graph(1, NO_OUTPUT);
}

/* One turn. If `count` is not 0, the thread must have so many messages afterwards. */
static void turn_once(struct graph *graph, int64_t number, int64_t count) {
    struct run_options options;
    tn_value input = user_message(number);
    struct run *run = run_saved(graph, input, &options);
    tn_value result = run_result(run);
    if (value_count(result) != 0) die("the result contains the conversation", "");
    value_unref(result);
    if (count != 0) {
        tn_value state = run_state(run), messages = value_get(state, "messages");
        if ((int64_t)value_count(messages) != count ||
            !value_text_is(value_get(value_at(messages, (size_t)count - 1), "role"), "assistant"))
            die("a wrong conversation", "");
        value_unref(state);
    }
    end_saved(run, &options);
    value_unref(input);
}

static tn_value message(const char *prefix, int64_t number) {
    tn_value made = value_set_take(value_object_reserve(3), "id", value_format("%s%" PRId64, prefix, number));
    made = value_set_take(made, "role", value_text("user"));
    return value_set_take(made, "content", value_text(text_of_200));
}

/* A thread of `turns` turns, from one turn whose input contains the others. */
static void fill_by_input(struct graph *graph, int64_t turns) {
    struct run_options options;
    tn_value list = value_array();
    for (int64_t i = 0; i < 4 * turns - 3; i++) list = value_push_take(list, message("i-", i));
    tn_value input = value_set_take(value_object_reserve(1), "messages", list);
    end_saved(run_saved(graph, input, &options), &options);
    value_unref(input);
}

/* A thread of `turns` turns. The next one continues with another document. */
static void fill_by_run(int64_t turns) {
    struct run_options options;
    struct graph *graph = growth_graph(2 * turns - 1, NO_OUTPUT);
    tn_value input = user_message(0);
    end_saved(run_saved(graph, input, &options), &options);
    value_unref(input);
    graph_unref(graph);
}

/* The child's part: turn number --number. Prints what it took from opening the store to the end of the run. */
void turn_child(void) {
    struct graph *graph = turn_graph();
    struct measure measure;
    measure_begin(&measure);
    kept = saver_open(host, option("saver", "sqlite"));
    turn_once(graph, strtoll(option("number", "0"), NULL, 10), 0);
    struct measured measured = measure_end(&measure);
    printf("%.9f %.9f %" PRId64 " %" PRId64 "\n", measured.wall, measured.cpu, measured.written.wchar,
           measured.written.write_bytes);
    fflush(stdout);
    saver_close();
    graph_unref(graph);
}

/* Adds what the child measured. */
static void turn_in_child(const char *program, int64_t number, struct measured *sum) {
    char at[32], place[1100], channel[64], sync[32], reads[32], line[128] = "";
    int ends[2], status = 0;
    struct measured took;
    snprintf(at, sizeof at, "--number=%" PRId64, number);
    snprintf(place, sizeof place, "--folder=%s", saver_folder());
    snprintf(channel, sizeof channel, "--channel=%s", option("channel", "messages"));
    snprintf(sync, sizeof sync, "--sync=%s", option("sync", "normal"));
    snprintf(reads, sizeof reads, "--reads=%s", option("reads", "yes"));
    if (pipe(ends) != 0) die("no pipe", "");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "turn-child", at, place, channel, sync, reads, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    ssize_t got = child > 0 ? read(ends[0], line, sizeof line - 1) : -1;
    close(ends[0]);
    if (child > 0) waitpid(child, &status, 0);
    if (got <= 0 || status != 0 ||
        sscanf(line, "%lf %lf %" SCNd64 " %" SCNd64, &took.wall, &took.cpu, &took.written.wchar,
               &took.written.write_bytes) != 4)
        die("the child failed", line);
    sum->wall += took.wall;
    sum->cpu += took.cpu;
    sum->written.wchar += took.written.wchar;
    sum->written.write_bytes += took.written.write_bytes;
}

void turn(int64_t n) {
    bool fresh = strcmp(option("fresh", "no"), "yes") == 0;
    int64_t turns = strtoll(option("turns", "10"), NULL, 10), warm = 3;
    struct graph *graph = turn_graph();
    struct measure measure;
    char program[4096], notes[160];
    struct measured inside = {0};
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (strcmp(option("reads", "yes"), "no") == 0 && strcmp(option("channel", ""), "array") != 0)
        die("--reads=no needs --channel=array", "");
    if (turns < 1 || turns > 1000000) die("--turns must be 1 to 1000000", "");
    if (length < 0) die("/proc is not mounted", "");
    program[length] = 0;
    kept = saver_open(host, option("saver", "sqlite"));
    if (!kept || (fresh && strcmp(option("saver", "sqlite"), "sqlite") != 0)) die("turn needs a store", "");
    if (strcmp(option("fill", "run"), "input") == 0)
        fill_by_input(graph, turns);
    else
        fill_by_run(turns);
    saver_accept_changes(true);
    turn_once(graph, turns, 4 * (turns + 1));
    saver_accept_changes(false);
    for (int64_t i = 1; i < warm; i++) turn_once(graph, turns + i, 0);
    measure_begin(&measure);
    for (int64_t i = 0; i < n; i++)
        if (fresh)
            turn_in_child(program, turns + warm + i, &inside);
        else
            turn_once(graph, turns + warm + i, 0);
    struct measured measured = measure_end(&measure);
    turn_once(graph, turns + warm + n, 4 * (turns + warm + n + 1));
    snprintf(notes, sizeof notes, "\"turns\":%" PRId64 ",\"fresh\":%s,\"process_us\":%.1f", turns,
             fresh ? "true" : "false", fresh ? measured.wall * 1e6 / (double)n : 0);
    saver_close();
    report_measured(fresh ? &inside : &measured, "turn", n, (double)n, notes);
    graph_unref(graph);
}

/* ---- Changes of a large value ---- */

/* N steps of a node that changes the channel `data`, which has `expected` items at the end. Takes `data`. */
static void change_take(const char *workload, int64_t n, const char *channel, const char *node, tn_value data,
                        size_t expected, int64_t items) {
    struct buffer out;
    struct run_options options;
    struct measure measure;
    buffer_init(&out, SIZE_MAX);
    buffer_format(&out,
                  "version: '1.0'\nagent: {name: %s, recursion_limit: %" PRId64 "}\nchannels: [{name: count, type: "
                  "last_value, default: 0}, {name: data, %s}]\n"
                  "nodes: [{id: step, type: %s, config: {output_key: data, count_key: count%s",
                  workload, n + 10, channel, node,
                  strcmp(option("channel", ""), "last_value") == 0 ? ", input_key: data" : "");
    if (items != 0) buffer_format(&out, ", number: %" PRId64, items);
    buffer_format(&out,
                  "}}]\nedges: [{from: START, to: step}, {from: step, type: conditional, conditions: "
                  "[{expression: state.count < %" PRId64 ", to: step}, {expression: default, to: END}]}]\n",
                  n);
    struct graph *graph = build(buffer_cstr(&out));
    tn_value input = value_set_take(value_object_reserve(1), "data", data);
    kept = saver_open(host, option("saver", "sqlite"));
    measure_begin(&measure);
    struct run *run = run_saved(graph, input, &options);
    tn_value state = run_state(run);
    if (value_count(value_get(state, "data")) != expected) die("a wrong size in", workload);
    if (value_to_int(value_get(state, "count")) != n) die("a wrong number of steps in", workload);
    value_unref(state);
    end_saved(run, &options);
    saver_report(&measure, workload, n, (double)n, "");
    value_unref(input);
    buffer_finish(&out);
    graph_unref(graph);
}

static int64_t items_option(const char *otherwise) {
    int64_t items = strtoll(option("items", otherwise), NULL, 10);
    if (items < 1 || items > 1000000) die("--items must be 1 to 1000000", "");
    memset(text_of_200, 'x', sizeof text_of_200 - 1);
    return items;
}

/* Each step finds the first message by its id. */
void summary(int64_t n) {
    (void)items_option("1");
    tn_value first = value_set_take(message("", 0), "id", value_text("summary"));
    change_take("summary", n, "type: reduce, reducer: messages", "bench.summary", value_push_take(value_array(), first),
                (size_t)n + 1, 0);
}

void edit(int64_t n) {
    int64_t items = items_option("1000");
    tn_value list = value_array();
    for (int64_t i = 0; i < items; i++) list = value_push_take(list, message("m-", i));
    change_take("edit", n, "type: reduce, reducer: messages", "bench.edit", list, (size_t)items, items);
}

void merge(int64_t n) {
    bool whole = strcmp(option("channel", "merge"), "last_value") == 0;
    int64_t items = items_option("1000");
    struct buffer kilobyte;
    tn_value object = value_object();
    buffer_init(&kilobyte, SIZE_MAX);
    for (int i = 0; i < 5; i++) buffer_text(&kilobyte, text_of_200);
    for (int64_t i = 0; i < items; i++) {
        char name[32];
        snprintf(name, sizeof name, "k-%" PRId64, i);
        object = value_set_take(object, name, value_text(buffer_cstr(&kilobyte)));
    }
    buffer_finish(&kilobyte);
    change_take("merge", n, whole ? "type: last_value" : "type: reduce, reducer: merge", "bench.member", object,
                (size_t)items, items);
}

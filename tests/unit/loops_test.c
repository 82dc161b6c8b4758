/*
 * loops_test.c - several loops of one process: what they run, what moves between them, and what they share.
 *
 * A batch must have the same results, byte for byte, for every number of loops. Each test runs real hosts on real
 * threads; it also runs under the thread sanitizer.
 */
#include "host/base/log.h"
#include "host/data/store/store.h"
#include "host/engine/engine.h"
#include "host/engine/tool/tool.h"
#include "host/engine/tool/tool_gate.h"
#include "host/loops/loops_batch.h"
#include "host/plugin/call/worker.h"
#include "tests/unit/engine_fixture.h"
#include <pthread.h>
#include <stdatomic.h>

static const char *const plugin_paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, TENON_STORE_PLUGINS "/memory.so", NULL};
static const struct host_options host_options = {
    .plugin_paths = plugin_paths, .no_installed = true, .no_config = true, .allow_drafts = true};

static struct loops *loops_for_tests(struct host *host, uint32_t count) {
    struct error error = ERROR_INIT;
    struct loops *loops = loops_new(host, &(struct loops_options){.count = count, .host = host_options}, &error);
    if (!loops) fail_msg("%s", error.message);
    return loops;
}

static void finish(struct loops *loops, struct host *host) {
    loops_free(loops);
    host_free(host);
    workers_stop();
}

/* ---- Placement ---- */

static void placement_is_stable_and_even(void **state) {
    (void)state;
    uint32_t counts[7] = {0};
    for (int i = 0; i < 7000; i++) {
        char id[32];
        snprintf(id, sizeof id, "q/%d", i);
        uint32_t place = loops_place(7, id);
        assert_true(place < 7);
        assert_int_equal(place, loops_place(7, id));
        counts[place]++;
    }
    for (int i = 0; i < 7; i++) assert_in_range(counts[i], 800, 1200);
    assert_int_equal(loops_place(1, ""), 0);
}

/* ---- Batches ---- */

/* Loops of `n` steps, a fan-out, a join, a failure for each 7th, a limit that some runs reach, and messages. */
static const char document[] =
    "version: '1.0'\nagent: {name: loops, recursion_limit: 30}\n"
    "channels:\n  - {name: n, type: last_value, default: 0}\n  - {name: k, type: last_value, default: 1}\n"
    "  - {name: list, type: append}\n  - {name: sum, type: reduce, reducer: sum, default: 0}\n"
    "nodes:\n  - {id: step, type: set, config: {values: {n: state.n + 1, sum: state.k, list: state.n}}}\n"
    "  - {id: pause, type: delay, config: {ms: 1}}\n"
    "  - {id: forever, type: delay, config: {ms: 600000}}\n"
    "  - {id: left, type: set, config: {values: {list: '\"left\"'}}}\n"
    "  - {id: right, type: set, config: {values: {list: '\"right\"'}}}\n"
    "  - {id: both, type: set, config: {values: {sum: 1000}}}\n"
    "  - {id: bad, type: fail, config: {code: SEVENTH, message: unlucky}}\n"
    "edges:\n  - {from: START, type: conditional, conditions: [{expression: state.k == 100, to: forever},"
    " {expression: default, to: step}]}\n  - {from: step, to: pause}\n"
    "  - {from: pause, type: conditional, conditions: [{expression: state.n < state.k, to: step},"
    " {expression: state.k % 7 == 0, to: bad}, {expression: default, to: left}]}\n"
    "  - {from: left, to: right}\n  - {from: [left, right], to: both}\n  - {from: both, to: END}\n";

struct delivery {
    size_t next;
    struct buffer text;
    size_t ended;
    _Atomic bool *cancel; /* set after `cancel_after` results; or NULL */
    size_t cancel_after;
};

static void on_result(void *user, size_t index, tn_value result) {
    struct delivery *delivery = user;
    assert_int_equal(index, delivery->next++); /* in the order of the inputs */
    json_write(&delivery->text, result, JSON_COMPACT);
    buffer_char(&delivery->text, '\n');
    if (delivery->cancel && delivery->next == delivery->cancel_after) atomic_store(delivery->cancel, true);
}

static void on_progress(void *user, size_t ended, size_t total) {
    struct delivery *delivery = user;
    assert_true(ended >= delivery->ended && ended <= total);
    delivery->ended = ended;
}

static tn_value batch_inputs(int count) {
    tn_value inputs = value_array();
    for (int i = 0; i < count; i++) {
        tn_value input = i == 4 ? value_text("not an object")
                                : value_set_take(value_object(), "k", value_int(i % 5 == 0 ? 14 : i % 20));
        if (i == 3) input = value_set_take(input, "unknown", value_int(1));
        inputs = value_push_take(inputs, input);
    }
    return inputs;
}

/* The results of the batch with this number of loops, a line for each; mem_free them. */
static char *run_batch(uint32_t count, uint32_t concurrency, tn_value inputs) {
    struct host *host = host_new(&host_options, NULL);
    struct graph *graph = graph_for_tests(host, "loops.yaml", document, NULL);
    struct loops *loops = loops_for_tests(host, count);
    struct delivery delivery = {0};
    tn_value all = NULL;
    struct error error = ERROR_INIT;
    buffer_init(&delivery.text, SIZE_MAX);
    const struct batch_options options = {.concurrency = concurrency,
                                          .options = RUN_OPTIONS_INIT,
                                          .result = on_result,
                                          .progress = on_progress,
                                          .user = &delivery};
    if (loops_batch_run(loops, graph, inputs, &options, NULL, &all, &error) != TN_OK) fail_msg("%s", error.message);
    assert_int_equal(delivery.next, value_count(inputs));
    assert_int_equal(delivery.ended, value_count(inputs));
    assert_null(all);
    graph_unref(graph);
    finish(loops, host);
    return buffer_detach(&delivery.text, NULL);
}

static void results_are_equal_for_every_number_of_loops(void **state) {
    (void)state;
    static const struct { uint32_t loops, concurrency; } ways[] = {{2, 0}, {3, 100}, {4, 4}, {5, 2}, {2, 1}};
    tn_value inputs = batch_inputs(60);
    char *expected = run_batch(1, 0, inputs);
    int64_t before = value_live_count(); /* some are made once for the process */
    assert_non_null(strstr(expected, "SEVENTH"));
    assert_non_null(strstr(expected, "RECURSION_LIMIT"));
    assert_non_null(strstr(expected, "INVALID_INPUT"));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char *found = run_batch(ways[i].loops, ways[i].concurrency, inputs);
        assert_string_equal(found, expected);
        mem_free(found);
    }
    assert_int_equal(value_live_count(), before);
    mem_free(expected);
    value_unref(inputs);
}

/* Results of short runs arrive on the first loop faster than it delivers them. */
static void many_short_runs_end(void **state) {
    (void)state;
    static const char text[] = "version: '1.0'\nchannels: [{name: n, type: last_value, default: 0}]\n"
                               "nodes: [{id: a, type: set, config: {values: {n: state.n * 2}}}]\n"
                               "edges: [{from: START, to: a}, {from: a, to: END}]\n";
    struct host *host = host_new(&host_options, NULL);
    struct graph *graph = graph_for_tests(host, "short.yaml", text, NULL);
    struct loops *loops = loops_for_tests(host, 3);
    tn_value inputs = value_array();
    for (int i = 0; i < 2000; i++) inputs = value_push_take(inputs, value_set_take(value_object(), "n", value_int(i)));
    for (int round = 0; round < 5; round++) {
        struct delivery delivery = {0};
        tn_value all = NULL;
        buffer_init(&delivery.text, SIZE_MAX);
        const struct batch_options options = {
            .options = RUN_OPTIONS_INIT, .result = on_result, .progress = on_progress, .user = &delivery};
        assert_int_equal(loops_batch_run(loops, graph, inputs, &options, NULL, &all, NULL), TN_OK);
        assert_int_equal(delivery.next, 2000);
        assert_non_null(strstr(buffer_cstr(&delivery.text), "{\"output\":{\"n\":3998}}\n"));
        buffer_finish(&delivery.text);
    }
    value_unref(inputs);
    graph_unref(graph);
    finish(loops, host);
}

/* Without `result`, an array comes back; an empty batch, and one with fewer inputs than loops. */
static void results_are_returned(void **state) {
    (void)state;
    struct host *host = host_new(&host_options, NULL);
    struct graph *graph = graph_for_tests(host, "loops.yaml", document, NULL);
    struct loops *loops = loops_for_tests(host, 3);
    const struct batch_options options = {.options = RUN_OPTIONS_INIT};
    for (int count = 0; count < 3; count++) {
        tn_value inputs = batch_inputs(count), all = NULL;
        assert_int_equal(loops_batch_run(loops, graph, inputs, &options, NULL, &all, NULL), TN_OK);
        assert_int_equal(value_count(all), count);
        for (int i = 0; i < count; i++) assert_non_null(value_get(value_at(all, (size_t)i), i ? "output" : "error"));
        value_unref(all);
        value_unref(inputs);
    }
    graph_unref(graph);
    finish(loops, host);
}

static void cancelled_batch_ends_on_all_loops(void **state) {
    (void)state;
    for (size_t after = 1; after < 30; after += 7) {
        struct host *host = host_new(&host_options, NULL);
        struct graph *graph = graph_for_tests(host, "loops.yaml", document, NULL);
        struct loops *loops = loops_for_tests(host, 3);
        _Atomic bool cancel = false;
        struct delivery delivery = {.cancel = &cancel, .cancel_after = after};
        tn_value inputs = batch_inputs(59), all = NULL;
        inputs = value_push_take(inputs, value_set_take(value_object(), "k", value_int(100))); /* ends only by that */
        buffer_init(&delivery.text, SIZE_MAX);
        const struct batch_options options = {.options = RUN_OPTIONS_INIT, .result = on_result, .user = &delivery};
        assert_int_equal(loops_batch_run(loops, graph, inputs, &options, &cancel, &all, NULL), TN_OK);
        assert_int_equal(delivery.next, 60);
        assert_non_null(strstr(buffer_cstr(&delivery.text), "CANCELLED"));
        buffer_finish(&delivery.text);
        value_unref(inputs);
        graph_unref(graph);
        finish(loops, host);
    }
}

/* All long runs are on the first loop at first: the second one gets some of them, between two of their steps. */
static _Atomic uint32_t moved_lines;

static void count_moves(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level, (void)who;
    if (strstr(line, "moves from loop 1 to loop 2")) atomic_fetch_add(&moved_lines, 1);
}

static void idle_loop_takes_over_runs(void **state) {
    (void)state;
    struct host *host = host_new(&host_options, NULL);
    struct graph *graph = graph_for_tests(host, "loops.yaml", document, NULL);
    log_set_level(host_log(host), LOG_DEBUG); /* members copy it */
    log_set_sink(NULL, count_moves, NULL);
    struct loops *loops = loops_for_tests(host, 2);
    tn_value inputs = value_array(), all = NULL;
    for (int i = 0; i < 12; i++)
        inputs = value_push_take(inputs, value_set_take(value_object(), "k", value_int(i % 2 ? 1 : 13)));
    const struct batch_options options = {.options = RUN_OPTIONS_INIT};
    assert_int_equal(loops_batch_run(loops, graph, inputs, &options, NULL, &all, NULL), TN_OK);
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(value_to_int(value_get(value_get(value_at(all, i), "output"), "n")), i % 2 ? 1 : 13);
    assert_true(moved_lines > 0);
    log_set_sink(NULL, NULL, NULL);
    value_unref(all);
    value_unref(inputs);
    graph_unref(graph);
    finish(loops, host);
}

/* ---- The store ---- */

#define COMMITS 50

struct committer {
    struct store *store;
    uint32_t left, failed;
    char name;
};

static void commit_next(struct committer *committer);

static void on_committed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct committer *committer = user;
    (void)result, (void)error;
    committer->failed += status != TN_OK;
    if (--committer->left) commit_next(committer);
}

static void commit_next(struct committer *committer) {
    char key[16];
    snprintf(key, sizeof key, "%c%u", committer->name, committer->left);
    tn_value put = store_put("memories", key, value_int(committer->left));
    store_commit_take(committer->store, value_push_take(value_array(), put), on_committed, committer);
}

static bool has_committed(void *user) { return ((const struct committer *)user)->left == 0; }

static void job_commit(void *user, struct host *host) {
    struct committer *committer = user;
    committer->store = host_store(host, NULL);
    assert_non_null(committer->store);
    commit_next(committer);
    assert_true(loop_run(host_loop(host), has_committed, committer));
}

static void on_count(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)error;
    assert_int_equal(status, TN_OK);
    *(int64_t *)user = (int64_t)value_count(value_get(result, "records"));
}

static bool has_counted(void *user) { return *(const int64_t *)user >= 0; }

static void loops_share_one_store(void **state) {
    (void)state;
    struct host *host = host_new(&host_options, NULL);
    host_set_store_options_take(host, value_set_take(value_object(), "use", value_text("memory")));
    struct loops *loops = loops_for_tests(host, 3);
    struct committer committers[] = {
        {.left = COMMITS, .name = 'a'}, {.left = COMMITS, .name = 'b'}, {.left = COMMITS, .name = 'c'}};
    for (uint32_t i = 1; i < 3; i++) loops_start(loops, i, job_commit, &committers[i]);
    job_commit(&committers[0], host);
    loops_wait(loops);
    for (int i = 0; i < 3; i++) assert_int_equal(committers[i].failed, 0);
    int64_t count = -1;
    store_query_take(host_store(host, NULL), store_list("memories", "", "z", 1000), on_count, &count);
    assert_true(loop_run(host_loop(host), has_counted, &count));
    assert_int_equal(count, 3 * COMMITS);
    finish(loops, host);
}

/* ---- Limits of tools ---- */

#define USES 40

struct use {
    struct tool_ticket ticket;
    struct user *user;
    struct loop_timer timer;
};

struct user {
    struct host *host;
    struct use uses[USES];
    uint32_t left;
};

static _Atomic uint32_t inside, inside_max;

static void on_use_ended(struct loop_timer *timer) {
    struct use *use = (struct use *)(void *)((char *)timer - offsetof(struct use, timer));
    atomic_fetch_sub(&inside, 1);
    tools_leave(host_engine(use->user->host)->tools, &use->ticket);
    use->user->left--;
}

static void on_use(struct tool_ticket *ticket) {
    struct use *use = (struct use *)(void *)ticket;
    assert_true(loop_here(host_loop(use->user->host)));
    uint32_t now = atomic_fetch_add(&inside, 1) + 1, most = atomic_load(&inside_max);
    while (now > most && !atomic_compare_exchange_weak(&inside_max, &most, now)) continue;
    loop_timer_start(host_loop(use->user->host), &use->timer, 0, on_use_ended);
}

static bool no_use_is_left(void *user) { return ((const struct user *)user)->left == 0; }

static void job_use_tool(void *data, struct host *host) {
    struct user *user = data;
    user->host = host;
    user->left = USES;
    loop_hold(host_loop(host)); /* another loop can admit a use */
    for (size_t i = 0; i < USES; i++) {
        struct use *use = &user->uses[i];
        *use = (struct use){.ticket = {.limit = 2, .enter = on_use}, .user = user};
        tools_enter(host_engine(host)->tools, "shell.run", &use->ticket);
        if (i % 8 == 7 && !use->ticket.inside) { /* stops waiting, perhaps just when it is admitted */
            tools_leave(host_engine(host)->tools, &use->ticket);
            user->left--;
        }
    }
    assert_true(loop_run(host_loop(host), no_use_is_left, user));
    loop_release(host_loop(host));
}

static void limit_of_a_tool_is_that_of_all_loops(void **state) {
    (void)state;
    static struct user users[3];
    struct host *host = host_new(&host_options, NULL);
    struct loops *loops = loops_for_tests(host, 3);
    for (uint32_t i = 1; i < 3; i++) loops_start(loops, i, job_use_tool, &users[i]);
    job_use_tool(&users[0], host);
    loops_wait(loops);
    assert_in_range(inside_max, 1, 2);
    assert_int_equal(inside, 0);
    finish(loops, host);
}

/* ---- Errors ---- */

static void members_that_cannot_open_are_reported(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    struct host *host = host_new(&host_options, &error);
    const char *const missing[] = {"/does/not/exist.so", NULL};
    struct loops_options options = {.count = 3, .host = host_options};
#ifdef __SANITIZE_THREAD__
    options.count =
        2; /* libuv closes descriptors with a system call, so a number that is used again looks like a race */
#endif
    options.host.plugin_paths = missing;
    assert_null(loops_new(host, &options, &error));
    assert_non_null(strstr(error.message, "/does/not/exist.so"));
    error_finish(&error);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placement_is_stable_and_even),
        cmocka_unit_test(results_are_equal_for_every_number_of_loops),
        cmocka_unit_test(many_short_runs_end),
        cmocka_unit_test(results_are_returned),
        cmocka_unit_test(cancelled_batch_ends_on_all_loops),
        cmocka_unit_test(idle_loop_takes_over_runs),
        cmocka_unit_test(loops_share_one_store),
        cmocka_unit_test(limit_of_a_tool_is_that_of_all_loops),
        cmocka_unit_test(members_that_cannot_open_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

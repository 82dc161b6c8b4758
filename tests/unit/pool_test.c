/*
 * pool_test.c - the processes of an isolated plugin: how many there are, which task runs where, pauses after deaths,
 * and what happens to tasks that wait for a process.
 *
 * The clock is real unless a test says otherwise, because child processes have no fake one.
 */
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote.h"
#include "host/plugin/isolate/remote_deaths.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin_internal.h"
#include "tests/unit/engine_fixture.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define RUNS_MAX 66

static char folder[] = "/tmp/tenon-pool-XXXXXX";

struct runs {
    struct host *host;
    struct graph *graph;
    struct execution *executions[RUNS_MAX];
    uint32_t started, ended;
};

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

/* `processes`: the limit in tenon.yaml; 0 for the default. */
static struct runs *runs_open(const char *type, int processes, const char *limits) {
    static const char *const apart[] = {"test.pool", NULL}, *const paths[] = {TENON_TEST_POOL, TENON_CORE_PLUGIN, NULL};
    struct error error = ERROR_INIT;
    char text[1024];
    if (processes)
        snprintf(text, sizeof text, "plugins: {processes: {test.pool: %d}}\n", processes);
    else
        snprintf(text, sizeof text, "log: warn\n");
    write_file("tenon.yaml", text);
    struct runs *runs = mem_zalloc(sizeof *runs);
    runs->host = host_new(&(struct host_options){.plugin_paths = paths,
                                                 .no_installed = true,
                                                 .config_file = "tenon.yaml",
                                                 .allow_drafts = true,
                                                 .isolate = apart},
                          &error);
    if (!runs->host) fail_msg("%s", error.message);
    snprintf(text, sizeof text,
             "version: '1.0'\nagent: {name: pool}\n"
             "channels: [{name: what, type: last_value, default: work}, {name: out, type: last_value}]\n"
             "nodes: [{id: one, type: %s, %s config: {what: what, out: out}}]\n"
             "edges: [{from: START, to: one}, {from: one, to: END}]\n",
             type, limits);
    runs->graph = graph_for_tests(runs->host, "pool.yaml", text, NULL);
    return runs;
}

static void on_ended(struct execution *execution, void *user) {
    (void)execution;
    ((struct runs *)user)->ended++;
}

static struct execution *runs_start(struct runs *runs, const char *what) {
    struct run_options options = RUN_OPTIONS_INIT;
    tn_value input = value_set_take(value_object_reserve(1), "what", value_text(what));
    struct execution *execution =
        execution_new(host_engine(runs->host), &runs->graph->callable, &options, on_ended, runs);
    runs->executions[runs->started++] = execution;
    runs->ended += execution_start(execution, input);
    value_unref(input);
    return execution;
}

static bool all_ended(void *user) {
    const struct runs *runs = user;
    return runs->ended == runs->started;
}

static void runs_finish(struct runs *runs) { assert_true(loop_run(host_loop(runs->host), all_ended, runs)); }

static void runs_close(struct runs *runs) {
    for (uint32_t i = 0; i < runs->started; i++) execution_free(runs->executions[i]);
    graph_unref(runs->graph);
    host_free(runs->host);
    mem_free(runs);
}

static const tn_plugin *end_of(const struct runs *runs) {
    return registry_plugin(host_registry(runs->host), "test.pool")->plugin;
}

static struct remote *remote_of(const struct runs *runs) { return end_of(runs)->self; }

/* The process that ran the task, of a run that has succeeded. */
static int64_t pid_of(struct execution *execution) {
    tn_value output = execution_output(execution);
    if (!output) fail_msg("%s", execution_error(execution)->message);
    int64_t pid = value_to_int(value_get(output, "out"));
    value_unref(output);
    return pid;
}

static const char *code_of(struct execution *execution) {
    return execution_error(execution) ? execution_error(execution)->code : "";
}

/* ---- Which process runs a task ---- */

struct count {
    const struct runs *runs;
    uint32_t pool, busy;
};

static bool pool_has(void *user) {
    const struct count *count = user;
    const struct remote *remote = remote_of(count->runs);
    uint32_t busy = 0;
    for (const struct remote_child *child = remote->pool; child; child = child->next)
        busy += child->task && child->task->state == TASK_OPEN;
    return remote->pool_count == count->pool && busy == count->busy;
}

static void wait_for_pool(struct runs *runs, uint32_t pool, uint32_t busy) {
    struct count count = {runs, pool, busy};
    loop_hold(host_loop(runs->host));
    assert_true(loop_run(host_loop(runs->host), pool_has, &count));
    loop_release(host_loop(runs->host));
}

static void test_a_process_for_each_task(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 3, "");
    char what[128];
    snprintf(what, sizeof what, "wait %s/go1", folder);
    for (int i = 0; i < 5; i++) runs_start(runs, what);
    wait_for_pool(runs, 3, 3); /* the limit; two wait */
    assert_int_equal(remote_of(runs)->pool_queue.count, 2);
    write_file("go1", "");
    runs_finish(runs);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++) assert_int_not_equal(pid_of(runs->executions[i]), pid_of(runs->executions[j]));
    assert_int_equal(remote_of(runs)->pool_count, 3);
    runs_close(runs);
}

/* One task after the other runs in one process, which may keep what it has loaded. */
static void test_tasks_in_turn_share_a_process(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 3, "");
    for (int i = 0; i < 5; i++) {
        runs_start(runs, "work");
        runs_finish(runs);
        assert_int_equal(pid_of(runs->executions[i]), pid_of(runs->executions[0]));
    }
    assert_int_equal(remote_of(runs)->pool_count, 1);
    runs_close(runs);
}

static void test_async_tasks_share_a_process(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.shared", 3, "");
    for (int i = 0; i < 5; i++) runs_start(runs, "work");
    runs_finish(runs);
    for (int i = 0; i < 5; i++) assert_int_equal(pid_of(runs->executions[i]), remote_process(end_of(runs)));
    assert_int_equal(remote_process_count(end_of(runs)), 1);
    runs_close(runs);
}

static void test_idle_processes_end(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 4, "");
    char what[128];
    snprintf(what, sizeof what, "wait %s/go2", folder);
    for (int i = 0; i < 4; i++) runs_start(runs, what);
    wait_for_pool(runs, 4, 4);
    remote_end_idle(remote_of(runs), INT64_MAX);
    assert_int_equal(remote_of(runs)->pool_count, 4); /* none is idle */
    write_file("go2", "");
    runs_finish(runs);
    struct remote *remote = remote_of(runs);
    remote_end_idle(remote, remote->pool->used_ms + REMOTE_IDLE_MS - 5000);
    assert_int_equal(remote->pool_count, 4); /* not yet */
    const struct remote_child *kept = remote->pool;
    remote_end_idle(remote, INT64_MAX / 2);
    assert_int_equal(remote->pool_count, 1);
    assert_ptr_equal(remote->pool, kept);
    runs_start(runs, "work");
    runs_finish(runs);
    assert_int_equal(pid_of(runs->executions[4]), process_id(kept->process));
    wait_for_pool(runs, 1, 0);
    runs_close(runs);
}

/* The graph of `runs` becomes one whose task calls a tool, which calls another one: each needs a process. */
static void runs_nest(struct runs *runs) {
    static const char text[] =
        "version: '1.0'\nagent: {name: nest}\nchannels: [{name: what, type: last_value}, {name: out, type: "
        "last_value}]\n"
        "nodes: [{id: one, type: tool, config: {tool: test.outer, arguments: {what: \"'work'\"}, output_key: out}}]\n"
        "edges: [{from: START, to: one}, {from: one, to: END}]\n";
    graph_unref(runs->graph);
    runs->graph = graph_for_tests(runs->host, "nest.yaml", text, NULL);
}

/* A call that a task makes needs a process, too; the one that waits for it does not count. */
static void test_nested_calls_do_not_block(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 1, "");
    runs_nest(runs);
    for (int i = 0; i < 3; i++) runs_start(runs, "work");
    runs_finish(runs);
    for (int i = 0; i < 3; i++) assert_true(pid_of(runs->executions[i]) > 0);
    assert_int_equal(remote_of(runs)->pool_nested, 0);
    runs_close(runs);
}

/* With these, there is a limit: if all wait for a call that needs one more, that call fails. */
static void test_nested_calls_have_a_limit(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 1, "");
    runs_nest(runs);
    remote_of(runs)->processes_max = 2;
    runs_start(runs, "work");
    runs_finish(runs);
    const struct error *error = execution_error(runs->executions[0]);
    assert_non_null(error);
    assert_non_null(
        strstr(error->message, "all 2 processes of plugin `test.pool` wait for calls that their tasks made"));
    assert_int_equal(remote_of(runs)->pool_count, 2);
    remote_of(runs)->processes_max = 3;
    runs_start(runs, "work");
    runs_finish(runs);
    assert_true(pid_of(runs->executions[1]) > 0);
    runs_close(runs);
}

static void test_tasks_have_a_limit(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.shared", 0, "");
    remote_of(runs)->tasks_max = 64; /* the table grows by so many */
    for (int i = 0; i < 65; i++) runs_start(runs, "work");
    runs_finish(runs);
    for (int i = 0; i < 64; i++) assert_true(pid_of(runs->executions[i]) > 0);
    assert_string_equal(code_of(runs->executions[64]), "LIMIT");
    runs_start(runs, "work");
    runs_finish(runs);
    assert_true(pid_of(runs->executions[65]) > 0);
    runs_close(runs);
}

/*
 * A document is loaded while all processes are busy: its instance is created in one more, which runs no task while the
 * others reach the limit, and creates the next instance, too.
 */
static void test_a_busy_pool_creates_instances(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 1, "");
    struct graph *loaded[2];
    char what[128], *message = NULL;
    snprintf(what, sizeof what, "wait %s/go5", folder);
    runs_start(runs, what);
    wait_for_pool(runs, 1, 1);
    static const char text[] =
        "version: '1.0'\nagent: {name: more}\nchannels: [{name: what, type: last_value}, {name: out, type: "
        "last_value}]\nnodes: [{id: one, type: test.line, config: {what: what, out: out}}]\n"
        "edges: [{from: START, to: one}, {from: one, to: END}]\n";
    remote_of(runs)->processes_max = 1;
    assert_null(graph_for_tests(runs->host, "more.yaml", text, &message));
    assert_non_null(strstr(message, "plugin `test.pool` has 1 processes, and all of them are busy"));
    mem_free(message);
    remote_of(runs)->processes_max = 2;
    for (int i = 0; i < 2; i++) {
        loaded[i] = graph_for_tests(runs->host, "more.yaml", text, NULL);
        assert_int_equal(remote_of(runs)->pool_count, 2);
    }
    runs_start(runs, "work");
    assert_int_equal(remote_of(runs)->pool_queue.count, 1);
    write_file("go5", "");
    runs_finish(runs);
    assert_true(pid_of(runs->executions[1]) > 0);
    assert_int_equal(remote_of(runs)->pool_busy, 0);
    for (int i = 0; i < 2; i++) graph_unref(loaded[i]);
    runs_close(runs);
}

/* ---- Deaths ---- */

static bool six_deaths(void *user) { return remote_deaths(end_of(user)) == 6; }

/* With a fake clock: the pauses double. A task that waits for the end of the pause runs then. */
static void test_pauses_grow(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.shared", 0, "");
    struct loop *loop = host_loop(runs->host);
    loop_fake_clock(loop);
    int64_t sum = 0;
    for (int i = 0; i < 12; i++) {
        int64_t pause = i == 0 ? 0 : (int64_t)REMOTE_PAUSE_MS << (i - 1);
        runs_start(runs, "crash");
        runs_finish(runs);
        assert_string_equal(code_of(runs->executions[i]), "PLUGIN_CRASHED");
        sum += pause < REMOTE_PAUSE_MAX_MS ? pause : REMOTE_PAUSE_MAX_MS;
        assert_int_equal(loop_now_ms(loop), sum);
    }
    assert_int_equal(remote_deaths(end_of(runs)), 12);
    runs_start(runs, "work");
    runs_finish(runs);
    assert_true(pid_of(runs->executions[12]) > 0);
    assert_int_equal(remote_of(runs)->in_a_row, 0); /* the next pause is short again */
    runs_close(runs);
}

/* What ends processes that have run for some time does not make the pause of other tasks longer. */
static void test_deaths_at_once_are_one_in_a_row(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 4, "");
    char what[128];
    snprintf(what, sizeof what, "crash-when %s/go6", folder);
    for (int i = 0; i < 4; i++) runs_start(runs, what);
    wait_for_pool(runs, 4, 4);
    write_file("go6", "");
    runs_finish(runs);
    assert_int_equal(remote_deaths(end_of(runs)), 4);
    assert_int_equal(remote_of(runs)->in_a_row, 1);
    runs_start(runs, "crash"); /* in a process that was started since: the plugin still does not work */
    runs_finish(runs);
    assert_int_equal(remote_of(runs)->in_a_row, 2);
    runs_start(runs, "work");
    runs_finish(runs);
    assert_true(pid_of(runs->executions[5]) > 0);
    assert_int_equal(remote_of(runs)->in_a_row, 0);
    runs_close(runs);
}

/* A reset ends the pause at once: the fake clock does not advance. */
static void test_reset_in_this_host(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.shared", 0, "");
    struct loop *loop = host_loop(runs->host);
    loop_fake_clock(loop);
    for (int i = 0; i < 6; i++) {
        runs_start(runs, "crash");
        runs_finish(runs);
    }
    assert_true(six_deaths(runs));
    int64_t now = loop_now_ms(loop), cleared = 0;
    runs_start(runs, "work");
    assert_int_equal(remote_of(runs)->shared_queue.count, 1);
    struct error error = ERROR_INIT;
    assert_int_equal(registry_reset_plugin(host_registry(runs->host), "test.pool", &cleared, &error), TN_OK);
    assert_true(cleared >= 6);
    assert_int_equal(remote_deaths(end_of(runs)), 0);
    runs_finish(runs);
    assert_true(pid_of(runs->executions[6]) > 0);
    assert_int_equal(loop_now_ms(loop), now);
    assert_int_equal(registry_reset_plugin(host_registry(runs->host), "test.nothing", &cleared, &error), TN_NOT_FOUND);
    error_finish(&error);
    runs_close(runs);
}

/* Another host of the user resets it: the record of the deaths is gone. */
static void test_reset_in_another_host(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 1, "");
    char *records = deaths_folder();
    (void)deaths_clear(records, "test.pool");
    for (int i = 0; i < 3; i++) {
        runs_start(runs, "crash");
        runs_finish(runs);
    }
    tn_value record = deaths_read(records, "test.pool");
    assert_int_equal(value_to_int(value_get(record, "deaths")), 3);
    assert_int_equal(value_to_int(value_get(record, "in_a_row")), 3);
    value_unref(record);
    assert_int_equal(deaths_clear(records, "test.pool"), 3);
    runs_start(runs, "crash");
    runs_finish(runs);
    assert_int_equal(remote_deaths(end_of(runs)), 1);
    /* Also if a third host has recorded another death since. */
    assert_int_equal(deaths_clear(records, "test.pool"), 1);
    const struct death death = {"test.pool", "/pool.so", "it ended", 1, 1000, 100};
    assert_true(deaths_add(records, &death) > 0);
    runs_start(runs, "crash");
    runs_finish(runs);
    assert_int_equal(remote_deaths(end_of(runs)), 1);
    mem_free(records);
    runs_close(runs);
}

/* The processes that run are not affected by the pause. */
static void test_a_crash_ends_one_task(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 3, "");
    char what[128];
    snprintf(what, sizeof what, "wait %s/go3", folder);
    runs_start(runs, what);
    runs_start(runs, what);
    wait_for_pool(runs, 2, 2);
    struct execution *crash = runs_start(runs, "crash");
    for (int i = 0; i < 20; i++) runs_start(runs, "work");
    wait_for_pool(runs, 3, 2);
    write_file("go3", "");
    runs_finish(runs);
    for (uint32_t i = 0; i < runs->started; i++)
        if (runs->executions[i] != crash) assert_true(pid_of(runs->executions[i]) > 0);
    assert_string_equal(code_of(crash), "PLUGIN_CRASHED");
    assert_int_equal(remote_deaths(end_of(runs)), 1);
    runs_close(runs);
}

/* ---- Tasks that wait ---- */

/* A waiting task is cancelled at once, and leaves nothing behind. */
static void test_cancel_while_waiting(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 1, "");
    char what[128];
    snprintf(what, sizeof what, "wait %s/go4", folder);
    runs_start(runs, what);
    wait_for_pool(runs, 1, 1);
    struct execution *waiting = runs_start(runs, "work");
    assert_int_equal(remote_of(runs)->pool_queue.count, 1);
    execution_cancel(waiting);
    assert_int_equal(remote_of(runs)->pool_queue.count, 0);
    write_file("go4", "");
    runs_finish(runs);
    assert_true(pid_of(runs->executions[0]) > 0);
    assert_string_equal(code_of(waiting), "CANCELLED");
    runs_close(runs);
}

static bool shared_has_ended(void *user) { return remote_of(user)->shared == NULL; }

/* Its time limit applies while it waits for a pause. */
static void test_time_limit_while_waiting(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.shared", 0, "timeout: {total: 1s},");
    loop_fake_clock(host_loop(runs->host));
    struct error error = ERROR_INIT;
    error_set(&error, TN_FAILED, "PLUGIN_CRASHED", "as in a test");
    for (int i = 0; i < 6; i++) remote_count_death(remote_of(runs), NULL, &error);
    error_finish(&error);
    assert_int_equal(kill((pid_t)remote_process(end_of(runs)), SIGKILL), 0);
    loop_hold(host_loop(runs->host));
    assert_true(loop_run(host_loop(runs->host), shared_has_ended, runs));
    loop_release(host_loop(runs->host));
    runs_start(runs, "work");
    runs_finish(runs);
    assert_string_equal(code_of(runs->executions[0]), "TIMEOUT");
    assert_null(remote_of(runs)->shared);
    runs_close(runs);
}

/* The plugin cannot be unloaded while a task waits. */
static void test_unload_while_waiting(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 1, "");
    struct error error = ERROR_INIT;
    runs_start(runs, "work"); /* its process is being started */
    assert_int_equal(registry_unload(host_registry(runs->host), "test.pool", NULL, NULL, &error), TN_AGAIN);
    assert_string_equal(error.code, "PLUGIN_BUSY");
    error_finish(&error);
    runs_finish(runs);
    assert_true(pid_of(runs->executions[0]) > 0);
    runs_close(runs);
}

/* The host is freed while processes start, create instances and run abandoned tasks. */
static void test_free_while_starting(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        struct runs *runs = runs_open(round & 1 ? "test.shared" : "test.line", 4, "");
        for (int i = 0; i < 8; i++) runs_start(runs, "spin");
        if (round & 2 && !(round & 1)) wait_for_pool(runs, 4, 4);
        for (uint32_t i = 0; i < runs->started; i++) execution_cancel(runs->executions[i]);
        if (!(round & 1) || remote_of(runs)->shared_queue.first == NULL) runs_finish(runs);
        runs_close(runs);
    }
}

static bool has_two_deaths(void *user) { return remote_deaths(end_of(user)) == 2; }

static bool a_process_creates(void *user) {
    const struct remote_child *child = remote_of(user)->pool;
    while (child && !child->creating) child = child->next;
    return child != NULL;
}

/*
 * A process that does not answer `create` is killed, which costs the task that needs it. Another task is not sent to it
 * before, even if that task was cancelled.
 */
static void test_create_without_answer(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 1, "");
    runs_nest(runs);
    write_file("hang", "");
    runs_start(runs, "work");
    runs_finish(runs);
    assert_non_null(execution_error(runs->executions[0]));
    assert_non_null(strstr(execution_error(runs->executions[0])->message, "it did not answer `create` within 5000 ms"));
    assert_int_equal(remote_deaths(end_of(runs)), 1);
    struct execution *cancelled = runs_start(runs, "work");
    loop_hold(host_loop(runs->host));
    assert_true(loop_run(host_loop(runs->host), a_process_creates, runs));
    execution_cancel(cancelled);
    assert_true(loop_run(host_loop(runs->host), all_ended, runs));
    assert_true(a_process_creates(runs));
    assert_true(loop_run(host_loop(runs->host), has_two_deaths, runs));
    loop_release(host_loop(runs->host));
    assert_int_equal(unlink("hang"), 0);
    runs_start(runs, "work");
    runs_finish(runs);
    assert_true(pid_of(runs->executions[2]) > 0);
    runs_close(runs);
}

static bool three_deaths(void *user) { return remote_deaths(end_of(user)) == 3; }

/* Starts that crash: what waits for a process waits for the next attempts, too, but not for an endless number of them.
 */
static void test_starts_that_crash(void **state) {
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        struct runs *runs = runs_open(shared ? "test.shared" : "test.line", 1, "");
        loop_fake_clock(host_loop(runs->host));
        runs_start(runs, "crash");
        runs_finish(runs);
        setenv("TENON_PROGRAM", "/bin/false", 1);
        runs_start(runs, "work");
        assert_true(loop_run(host_loop(runs->host), three_deaths, runs));
        setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
        runs_finish(runs);
        assert_true(pid_of(runs->executions[1]) > 0);
        runs_start(runs, "crash");
        runs_finish(runs);
        setenv("TENON_PROGRAM", "/bin/false", 1);
        runs_start(runs, "work");
        runs_finish(runs);
        setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
        assert_string_equal(code_of(runs->executions[3]), "PLUGIN_CRASHED");
        assert_int_equal(remote_deaths(end_of(runs)), 4 + REMOTE_STARTS_MAX);
        runs_start(runs, "work");
        runs_finish(runs);
        assert_true(pid_of(runs->executions[4]) > 0);
        runs_close(runs);
    }
}

/* The file of the plugin is gone: what waits fails with the reason, and does not wait forever. */
static void test_a_start_that_fails(void **state) {
    (void)state;
    struct runs *runs = runs_open("test.line", 1, "");
    struct plugin *plugin = registry_plugin(host_registry(runs->host), "test.pool");
    runs_start(runs, "crash");
    runs_finish(runs);
    plugin->inode++; /* as if another file were there */
    runs_start(runs, "work");
    runs_finish(runs);
    assert_string_equal(code_of(runs->executions[1]), "PLUGIN_REFUSED");
    assert_non_null(strstr(execution_error(runs->executions[1])->message, "has changed since its manifest was read"));
    plugin->inode--;
    runs_start(runs, "work");
    runs_finish(runs);
    assert_true(pid_of(runs->executions[2]) > 0);
    runs_close(runs);
}

/* ---- The record of deaths ---- */

static void test_record(void **state) {
    (void)state;
    char path[256];
    const struct death death = {"acme.x", "/acme.so", "it ended", 2, 1000, 400};
    int64_t first = deaths_add("records/deep", &death);
    assert_true(first > 0);
    assert_int_equal(deaths_add("records/deep", &death), first);
    assert_false(deaths_were_reset("records/deep", "acme.x", first));
    tn_value record = deaths_read("records/deep", "acme.x");
    assert_int_equal(value_to_int(value_get(record, "deaths")), 2);
    assert_int_equal(value_to_int(value_get(record, "restart_ms")), 1400);
    value_unref(record);
    snprintf(path, sizeof path, "records/deep/acme.x.json");
    write_file(path, "{\"deaths\": 7, "); /* damaged: it counts as absent */
    assert_null(deaths_read("records/deep", "acme.x"));
    write_file(path, "{\"deaths\": 7, \"message\": \"\", \"last_ms\": \"now\"}");
    assert_null(deaths_read("records/deep", "acme.x"));
    int64_t second = deaths_add("records/deep", &death);
    assert_true(second > 0 && second != first);
    assert_true(deaths_were_reset("records/deep", "acme.x", first));
    int writer = open(path, O_RDWR | O_CLOEXEC); /* another host is writing it */
    assert_int_equal(flock(writer, LOCK_EX), 0);
    assert_false(deaths_were_reset("records/deep", "acme.x", first));
    assert_int_equal(deaths_add("records/deep", &death), 0);
    close(writer);
    assert_int_equal(deaths_clear("records/deep", "acme.x"), 1);
    assert_true(deaths_were_reset("records/deep", "acme.x", second));
    assert_int_equal(deaths_clear("records/deep", "acme.x"), 0);
    /* An operand of `plugin reset` is not a path. */
    write_file("records/other.json", "{\"deaths\": 1, \"in_a_row\": 1, \"last_ms\": 1, \"restart_ms\": 1, \"host\": 1, "
                                     "\"message\": \"\"}");
    assert_int_equal(deaths_clear("records/deep", "../other"), 0);
    assert_int_equal(access("records/other.json", F_OK), 0);
    assert_null(deaths_read(NULL, "acme.x"));
    write_file("records/file", "");
    assert_int_equal(deaths_add("records/file", &death), 0); /* not a folder */
}

static int enter_folder(void **state) {
    (void)state;
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_process_for_each_task),
                                       cmocka_unit_test(test_tasks_in_turn_share_a_process),
                                       cmocka_unit_test(test_async_tasks_share_a_process),
                                       cmocka_unit_test(test_idle_processes_end),
                                       cmocka_unit_test(test_nested_calls_do_not_block),
                                       cmocka_unit_test(test_nested_calls_have_a_limit),
                                       cmocka_unit_test(test_tasks_have_a_limit),
                                       cmocka_unit_test(test_a_busy_pool_creates_instances),
                                       cmocka_unit_test(test_pauses_grow),
                                       cmocka_unit_test(test_deaths_at_once_are_one_in_a_row),
                                       cmocka_unit_test(test_reset_in_this_host),
                                       cmocka_unit_test(test_reset_in_another_host),
                                       cmocka_unit_test(test_a_crash_ends_one_task),
                                       cmocka_unit_test(test_cancel_while_waiting),
                                       cmocka_unit_test(test_time_limit_while_waiting),
                                       cmocka_unit_test(test_unload_while_waiting),
                                       cmocka_unit_test(test_free_while_starting),
                                       cmocka_unit_test(test_create_without_answer),
                                       cmocka_unit_test(test_starts_that_crash),
                                       cmocka_unit_test(test_a_start_that_fails),
                                       cmocka_unit_test(test_record)};
    return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}

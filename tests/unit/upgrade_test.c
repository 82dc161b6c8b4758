/*
 * upgrade_test.c - a new build of a plugin swapped in while a thousand runs are under way.
 *
 * Every run is answered twice by the plugin, with a wait in between: which builds answered is counted.
 */
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include "tests/unit/engine_fixture.h"
#include <stdlib.h>
#include <unistd.h>

#define RUNS 1000

static const char document[] =
    "version: '1.0'\nagent: {name: twice}\nchannels: [{name: seen, type: append}]\n"
    "nodes:\n"
    "  - {id: first, type: test.version, config: {out: seen}}\n"
    "  - {id: wait, type: delay, config: {ms: 50}}\n"
    "  - {id: second, type: test.version, config: {out: seen}}\n"
    "edges: [{from: START, to: first}, {from: first, to: wait}, {from: wait, to: second}, {from: second, to: END}]\n";

static const char *build(char *path, size_t size, int version) {
    snprintf(path, size, "%s/test_versioned_%d.so", TENON_TEST_BUILDS, version);
    return path;
}

static struct host *open_host(bool isolated) {
    static const char *const apart[] = {"test.versioned", NULL};
    char path[1024];
    const char *const paths[] = {build(path, sizeof path, 1), TENON_CORE_PLUGIN, NULL};
    struct error error = ERROR_INIT;
    struct host *host = host_new(
        &(struct host_options){
            .plugin_paths = paths, .no_config = true, .allow_drafts = true, .isolate = isolated ? apart : NULL},
        &error);
    if (!host) fail_msg("%s", error.message);
    return host;
}

static int32_t upgrade(struct host *host, int version, struct error *error) {
    char path[1024];
    return registry_upgrade(host->registry, build(path, sizeof path, version), "test", error);
}

struct many {
    struct execution *executions[RUNS];
    uint32_t started, ended;
    struct host *host;
    bool upgraded;
};

static void on_ended(struct execution *execution, void *user) {
    (void)execution;
    ((struct many *)user)->ended++;
}

static void start(struct many *many, struct graph *graph, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct run_options options = RUN_OPTIONS_INIT;
        struct execution *execution = execution_new(many->host, &graph->callable, &options, on_ended, many);
        many->executions[many->started++] = execution;
        many->ended += execution_start(execution, NULL);
    }
}

static bool all_ended(void *user) {
    const struct many *many = user;
    return many->ended == many->started;
}

/* How many of the runs [from, to) saw just `version`, twice; every one must have ended well. */
static uint32_t count_seen(const struct many *many, uint32_t from, uint32_t to, int64_t version) {
    uint32_t count = 0;
    for (uint32_t i = from; i < to; i++) {
        tn_value output = execution_output(many->executions[i]);
        if (!output) fail_msg("run %u: %s", i, execution_error(many->executions[i])->message);
        tn_value seen = value_get(output, "seen");
        assert_int_equal(value_count(seen), 2);
        assert_int_equal(value_to_int(value_at(seen, 0)), value_to_int(value_at(seen, 1)));
        count += value_to_int(value_at(seen, 0)) == version;
        value_unref(output);
    }
    return count;
}

static void upgrade_under_way(bool isolated) {
    struct host *host = open_host(isolated);
    struct graph *graph = graph_for_tests(host, "twice.yaml", document, NULL);
    struct many *many = mem_zalloc(sizeof *many);
    struct error error = ERROR_INIT;
    many->host = host;
    start(many, graph, RUNS / 2);
    struct plugin *old = registry_plugin(host->registry, "test.versioned");
    if (upgrade(host, 2, &error) != TN_OK) fail_msg("%s", error.message);
    assert_int_equal(many->ended, 0);
    assert_string_equal(plugin_version(registry_plugin(host->registry, "test.versioned")), "2.0.0");
    assert_int_equal(plugin_state(old), PLUGIN_QUIESCED);
    start(many, graph, RUNS / 2);
    assert_true(loop_run(host->loop, all_ended, many));
    assert_int_equal(count_seen(many, 0, RUNS / 2, 1), RUNS / 2);
    assert_int_equal(count_seen(many, RUNS / 2, RUNS, 2), RUNS / 2);
    for (uint32_t i = 0; i < many->started; i++) execution_free(many->executions[i]);
    mem_free(many);
    graph_unref(graph);
    assert_int_equal(plugin_state(old), PLUGIN_UNLOADED); /* its last instance went with the graph */
    host_free(host);
}

static void test_in_process(void **state) {
    (void)state;
    upgrade_under_way(false);
}

static void test_isolated(void **state) {
    (void)state;
    upgrade_under_way(true);
}

static void test_refused_changes_nothing(void **state) {
    (void)state;
    struct host *host = open_host(false);
    struct graph *graph = graph_for_tests(host, "twice.yaml", document, NULL);
    struct many *many = mem_zalloc(sizeof *many);
    struct error error = ERROR_INIT;
    many->host = host;
    assert_int_not_equal(upgrade(host, 3, &error), TN_OK);
    assert_non_null(strstr(error.message, "could not initialise itself"));
    assert_int_not_equal(registry_upgrade(host->registry, "/nowhere.so", "test", &error), TN_OK);
    assert_int_not_equal(registry_upgrade(host->registry, TENON_TEST_NODES, "test", &error), TN_OK);
    assert_non_null(strstr(error.message, "there is no plugin `tenon.test` here"));
    assert_string_equal(plugin_version(registry_plugin(host->registry, "test.versioned")), "1.0.0");
    start(many, graph, 1);
    assert_true(loop_run(host->loop, all_ended, many));
    assert_int_equal(count_seen(many, 0, 1, 1), 1);
    /* And it can be upgraded still, back as well as forth. */
    for (int version = 2; version > 0; version--) {
        assert_int_equal(upgrade(host, version, &error), TN_OK);
        start(many, graph, 1);
        assert_true(loop_run(host->loop, all_ended, many));
        assert_int_equal(count_seen(many, many->started - 1, many->started, version), 1);
    }
    for (uint32_t i = 0; i < many->started; i++) execution_free(many->executions[i]);
    error_finish(&error);
    mem_free(many);
    graph_unref(graph);
    host_free(host);
}

/* Before its code was ever needed, the old build is simply not used. */
static void test_before_loading(void **state) {
    (void)state;
    struct host *host = open_host(false);
    struct error error = ERROR_INIT;
    if (upgrade(host, 2, &error) != TN_OK) fail_msg("%s", error.message);
    struct graph *graph = graph_for_tests(host, "twice.yaml", document, NULL);
    struct many *many = mem_zalloc(sizeof *many);
    many->host = host;
    start(many, graph, 1);
    assert_true(loop_run(host->loop, all_ended, many));
    assert_int_equal(count_seen(many, 0, 1, 2), 1);
    execution_free(many->executions[0]);
    mem_free(many);
    graph_unref(graph);
    host_free(host);
}

static int name_program(void **state) {
    (void)state;
    return setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_process), cmocka_unit_test(test_isolated),
                                       cmocka_unit_test(test_refused_changes_nothing),
                                       cmocka_unit_test(test_before_loading)};
    return cmocka_run_group_tests(tests, name_program, NULL);
}

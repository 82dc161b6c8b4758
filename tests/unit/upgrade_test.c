/*
 * upgrade_test.c - replaces a plugin by a new build while a thousand runs are active.
 *
 * The plugin answers every run twice, with a wait in between. The test counts which build answered.
 */
#include "host/plugin/isolate/remote.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include "tests/unit/engine_fixture.h"
#include <signal.h>
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
    return registry_upgrade(host_registry(host), build(path, sizeof path, version), "test", error);
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
        struct execution *execution =
            execution_new(host_engine(many->host), &graph->callable, &options, on_ended, many);
        many->executions[many->started++] = execution;
        many->ended += execution_start(execution, NULL);
    }
}

static bool all_ended(void *user) {
    const struct many *many = user;
    return many->ended == many->started;
}

/* Counts the runs [from, to) that were answered twice by `version`. Every run must have succeeded. */
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
    struct plugin *old = registry_plugin(host_registry(host), "test.versioned");
    if (upgrade(host, 2, &error) != TN_OK) fail_msg("%s", error.message);
    assert_int_equal(many->ended, 0);
    assert_string_equal(plugin_version(registry_plugin(host_registry(host), "test.versioned")), "2.0.0");
    assert_int_equal(plugin_state(old), PLUGIN_QUIESCED);
    start(many, graph, RUNS / 2);
    assert_true(loop_run(host_loop(host), all_ended, many));
    assert_int_equal(count_seen(many, 0, RUNS / 2, 1), RUNS / 2);
    assert_int_equal(count_seen(many, RUNS / 2, RUNS, 2), RUNS / 2);
    for (uint32_t i = 0; i < many->started; i++) execution_free(many->executions[i]);
    mem_free(many);
    graph_unref(graph);
    assert_int_equal(plugin_state(old), PLUGIN_UNLOADED); /* its last instance was freed with the graph */
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
    assert_int_not_equal(registry_upgrade(host_registry(host), "/nowhere.so", "test", &error), TN_OK);
    assert_int_not_equal(registry_upgrade(host_registry(host), TENON_TEST_NODES, "test", &error), TN_OK);
    assert_non_null(strstr(error.message, "cannot replace the plugin `test.nodes`: it does not exist"));
    assert_string_equal(plugin_version(registry_plugin(host_registry(host), "test.versioned")), "1.0.0");
    start(many, graph, 1);
    assert_true(loop_run(host_loop(host), all_ended, many));
    assert_int_equal(count_seen(many, 0, 1, 1), 1);
    /* It can still be upgraded, in both directions. */
    for (int version = 2; version > 0; version--) {
        assert_int_equal(upgrade(host, version, &error), TN_OK);
        start(many, graph, 1);
        assert_true(loop_run(host_loop(host), all_ended, many));
        assert_int_equal(count_seen(many, many->started - 1, many->started, version), 1);
    }
    for (uint32_t i = 0; i < many->started; i++) execution_free(many->executions[i]);
    error_finish(&error);
    mem_free(many);
    graph_unref(graph);
    host_free(host);
}

/* If the old build was never loaded, it is never used. */
static void test_before_loading(void **state) {
    (void)state;
    struct host *host = open_host(false);
    struct error error = ERROR_INIT;
    if (upgrade(host, 2, &error) != TN_OK) fail_msg("%s", error.message);
    struct graph *graph = graph_for_tests(host, "twice.yaml", document, NULL);
    struct many *many = mem_zalloc(sizeof *many);
    many->host = host;
    start(many, graph, 1);
    assert_true(loop_run(host_loop(host), all_ended, many));
    assert_int_equal(count_seen(many, 0, 1, 2), 1);
    execution_free(many->executions[0]);
    mem_free(many);
    graph_unref(graph);
    host_free(host);
}

/* Four upgrades in sequence, the last two with files used before, while runs of each build are active. */
static void upgrade_again_and_again(bool isolated) {
    static const int versions[] = {1, 2, 2, 1};
    struct host *host = open_host(isolated);
    struct graph *graph = graph_for_tests(host, "twice.yaml", document, NULL);
    struct many *many = mem_zalloc(sizeof *many);
    struct plugin *plugins[4];
    struct error error = ERROR_INIT;
    many->host = host;
    for (uint32_t i = 0; i < 4; i++) {
        if (i && upgrade(host, versions[i], &error) != TN_OK) fail_msg("%s", error.message);
        plugins[i] = registry_plugin(host_registry(host), "test.versioned");
        start(many, graph, RUNS / 10);
    }
    assert_int_equal(registry_upgrade(host_registry(host), TENON_SOURCE_DIR "/README.md", "test", &error), TN_INVALID);
    assert_true(loop_run(host_loop(host), all_ended, many));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(count_seen(many, i * RUNS / 10, (i + 1) * RUNS / 10, versions[i]), RUNS / 10);
    for (uint32_t i = 0; i < many->started; i++) execution_free(many->executions[i]);
    mem_free(many);
    graph_unref(graph);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(plugin_state(plugins[i]), PLUGIN_UNLOADED);
    error_finish(&error);
    host_free(host);
}

static void test_again_in_process(void **state) {
    (void)state;
    upgrade_again_and_again(false);
}

static void test_again_isolated(void **state) {
    (void)state;
    upgrade_again_and_again(true);
}

/* A replaced plugin cannot add components: new graphs would use the old code. */
static void test_adds_nothing(void **state) {
    (void)state;
    struct host *host = open_host(false);
    struct graph *graph = graph_for_tests(host, "twice.yaml", document, NULL);
    struct plugin *old = registry_plugin(host_registry(host), "test.versioned");
    struct error error = ERROR_INIT;
    tn_value component = value_ref(value_at(manifest_components(plugin_manifest(old)), 0));
    component = value_set_take(component, "id", value_text("test.other"));
    assert_int_equal(upgrade(host, 2, &error), TN_OK);
    assert_int_not_equal(registry_add_component(old, component, &error), TN_OK);
    assert_non_null(strstr(error.message, "is about to end"));
    assert_null(registry_known(host_registry(host), "node", "test.other"));
    value_unref(component);
    error_finish(&error);
    graph_unref(graph);
    host_free(host);
}

/* Its process has died with open tasks, and the new build arrives before the old one is restarted. */
static void test_crash_during_an_upgrade(void **state) {
    static const char retried[] =
        "version: '1.0'\nagent: {name: twice}\nchannels: [{name: seen, type: append}]\n"
        "nodes:\n"
        "  - {id: first, type: test.version, retry: {max_attempts: 9, initial: 150ms, max: 150ms}, config: {out: "
        "seen}}\n"
        "  - {id: second, type: test.version, config: {out: seen}}\n"
        "edges: [{from: START, to: first}, {from: first, to: second}, {from: second, to: END}]\n";
    (void)state;
    struct host *host = open_host(true);
    struct graph *graph = graph_for_tests(host, "twice.yaml", retried, NULL);
    struct many *many = mem_zalloc(sizeof *many);
    struct plugin *old = registry_plugin(host_registry(host), "test.versioned");
    struct error error = ERROR_INIT;
    many->host = host;
    start(many, graph, RUNS / 10);
    assert_int_equal(kill((pid_t)remote_process(old->plugin), SIGKILL), 0);
    if (upgrade(host, 2, &error) != TN_OK) fail_msg("%s", error.message);
    start(many, graph, RUNS / 10);
    assert_true(loop_run(host_loop(host), all_ended, many));
    assert_int_equal(count_seen(many, 0, RUNS / 10, 1), RUNS / 10);
    assert_int_equal(count_seen(many, RUNS / 10, RUNS / 5, 2), RUNS / 10);
    assert_int_equal(remote_deaths(old->plugin), 1);
    for (uint32_t i = 0; i < many->started; i++) execution_free(many->executions[i]);
    mem_free(many);
    graph_unref(graph);
    assert_int_equal(plugin_state(old), PLUGIN_UNLOADED);
    host_free(host);
}

static bool old_process_has_ended(void *user) { return remote_deaths(user) == 1; }

/* Its process dies after its file was replaced by another build: the other build must not run its tasks. */
static void test_other_build(void **state) {
    (void)state;
    static const char *const apart[] = {"test.versioned", NULL};
    static const char *const paths[] = {"versioned.so", TENON_CORE_PLUGIN, NULL};
    char command[2100];
    struct error error = ERROR_INIT;
    snprintf(command, sizeof command, "cp %s/test_versioned_1.so versioned.so", TENON_TEST_BUILDS);
    assert_int_equal(system(command), 0);
    struct host *host = host_new(
        &(struct host_options){.plugin_paths = paths, .no_config = true, .allow_drafts = true, .isolate = apart},
        &error);
    if (!host) fail_msg("%s", error.message);
    struct graph *graph = graph_for_tests(host, "twice.yaml", document, NULL);
    struct many *many = mem_zalloc(sizeof *many);
    many->host = host;
    start(many, graph, 1);
    assert_true(loop_run(host_loop(host), all_ended, many));
    assert_int_equal(count_seen(many, 0, 1, 1), 1);
    snprintf(command, sizeof command, "cp %s/test_versioned_2.so other.so && mv other.so versioned.so",
             TENON_TEST_BUILDS);
    assert_int_equal(system(command), 0);
    const tn_plugin *end = registry_plugin(host_registry(host), "test.versioned")->plugin;
    loop_hold(host_loop(host));
    assert_int_equal(kill((pid_t)remote_process(end), SIGKILL), 0);
    assert_true(loop_run(host_loop(host), old_process_has_ended, (void *)(uintptr_t)end));
    loop_release(host_loop(host));
    loop_fake_clock(host_loop(host));
    loop_fake_advance(host_loop(host), 1000000000);
    start(many, graph, 1);
    assert_true(loop_run(host_loop(host), all_ended, many));
    assert_non_null(strstr(execution_error(many->executions[1])->message, "has changed since its manifest was read"));
    for (uint32_t i = 0; i < many->started; i++) execution_free(many->executions[i]);
    mem_free(many);
    graph_unref(graph);
    host_free(host);
    error_finish(&error);
}

static char folder[] = "/tmp/tenon-upgrade-XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_process),
                                       cmocka_unit_test(test_isolated),
                                       cmocka_unit_test(test_refused_changes_nothing),
                                       cmocka_unit_test(test_before_loading),
                                       cmocka_unit_test(test_again_in_process),
                                       cmocka_unit_test(test_again_isolated),
                                       cmocka_unit_test(test_adds_nothing),
                                       cmocka_unit_test(test_crash_during_an_upgrade),
                                       cmocka_unit_test(test_other_build)};
    return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}

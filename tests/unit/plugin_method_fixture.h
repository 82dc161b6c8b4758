/*
 * plugin_method_fixture.h - a server with a plugin that uses tenon.host (tests/isolate/methods.c), and uses of its
 * tools.
 *
 *     static void calls(struct served *served) {
 *         expect_use(served, "methods.call", "{\"method\":\"run/list\"}", "{\"status\":0,…}");
 *     }
 *     in_each_mode(calls);                    // in this process, in check mode, and isolated
 *
 * The clock is real, because child processes have no fake one.
 */
#ifndef TENON_TESTS_PLUGIN_METHOD_FIXTURE_H
#define TENON_TESTS_PLUGIN_METHOD_FIXTURE_H

#include "tests/unit/sanitized.h"
#include "tests/unit/server_fixture.h"

#include "host/engine/engine.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/conformance/guard.h"
#include "host/plugin/isolate/remote.h"
#include "host/plugin/registry/plugin_internal.h"
#include <unistd.h>

#define HELLO                                                                                                          \
    "version: \"1.0\"\nagent: {name: hello}\nchannels: [{name: greeting, type: last_value}]\nnodes: [{id: greet, "     \
    "type: prompt, config: {template: \"Hello!\", output_key: greeting}}]\nedges: [{from: START, to: greet}, {from: "  \
    "greet, to: END}]\n"
/* Waits for an answer before its node. */
#define ASKS                                                                                                           \
    "version: \"1.0\"\nagent: {name: asks}\nchannels: [{name: greeting, type: last_value}]\nnodes: [{id: greet, "      \
    "type: prompt, interrupt: before, config: {template: \"Hello!\", output_key: greeting}}]\nedges: [{from: START, "  \
    "to: greet}, {from: greet, to: END}]\n"
#define SPAWNS                                                                                                         \
    "version: \"1.0\"\nagent: {name: spawns}\nchannels: [{name: out, type: last_value}]\nnodes: [{id: a, type: tool, " \
    "config: {tool: methods.spawns, output_key: out}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"
#define SLOW                                                                                                           \
    "version: \"1.0\"\nagent: {name: slow}\nnodes: [{id: a, type: delay, config: {ms: 600000}}]\nedges: [{from: "      \
    "START, to: a}, {from: a, to: END}]\n"

enum mode { IN_PROCESS, CHECKED, ISOLATED, MODES };
static const char *const mode_names[MODES] = {"in process", "in check mode", "isolated"};

static char folder[] = "/tmp/tenon-method-XXXXXX";
static enum mode mode;
static uint64_t findings; /* before the test */

/* ---- A server with the plugin ---- */

FIXTURE_UNUSED static void write_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

FIXTURE_UNUSED static void open_with(struct served *served, const char *yaml) {
    static const char *const apart[] = {"test.methods", NULL};
    static const char *const paths[] = {TENON_TEST_METHODS, TENON_CORE_PLUGIN, TENON_STORE_PLUGINS "/memory.so", NULL};
    struct error error = ERROR_INIT;
    write_file("tenon.yaml", yaml);
    findings = guard_findings();
    *served = (struct served){.events = value_array()};
    served->host = host_new(&(struct host_options){.plugin_paths = paths,
                                                   .no_installed = true,
                                                   .config_file = "tenon.yaml",
                                                   .check_plugins = mode == CHECKED,
                                                   .isolate = mode == ISOLATED ? apart : NULL},
                            &error);
    if (!served->host) fail_msg("%s", error.message);
    served->server = server_new(served->host);
    server_validate_results(served->server, true);
    served->client = served_client(served, "test", METHOD_ADMIN);
}

FIXTURE_UNUSED static void open_plain(struct served *served) { open_with(served, "store: {use: memory}\n"); }

FIXTURE_UNUSED static bool is_unused(void *user) {
    const struct plugin *plugin = user;
    return plugin_refs(plugin) == 0 && plugin_tasks(plugin) == 0;
}

/* Waits until the plugin can be unloaded: a worker that has ended a task needs a moment to return. */
FIXTURE_UNUSED static void wait_for_plugin(struct served *served) {
    (void)loop_run(host_loop(served->host), is_unused, registry_plugin(host_registry(served->host), "test.methods"));
}

FIXTURE_UNUSED static void close_quiet(struct served *served) {
    wait_for_plugin(served);
    value_unref(served->events);
    host_free(served->host);
    /* A sanitizer makes the plugin slower than check mode allows. */
    if (mode == CHECKED && !SANITIZED) assert_int_equal(guard_findings(), findings);
}

/* ---- Uses of its tools ---- */

struct use {
    struct callable *instance;
    struct served_call call;
};

FIXTURE_UNUSED static void use_start(struct served *served, const char *tool, tn_value input_take, struct use *use) {
    static const struct call_ops ops = {.ended = served_on_ended};
    struct engine *engine = host_engine(served->host);
    struct instance_scope scope = engine->scope(engine, "a test");
    struct component *component;
    struct error error = ERROR_INIT;
    use->instance = NULL;
    int32_t status = registry_resolve(host_registry(served->host), "tool", tool, &component, &error);
    if (status == TN_OK) status = instance_new(component, value_object(), &scope, &use->instance, &error);
    if (status != TN_OK) fail_msg("%s: %s", tool, error.message);
    use->call = (struct served_call){call_new(host_loop(served->host), use->instance, &ops, &use->call), false};
    if (call_start(use->call.call, input_take)) use->call.ended = true;
    value_unref(input_take);
}

/* {result} or {error}; a new reference. */
FIXTURE_UNUSED static tn_value use_finish(struct served *served, struct use *use) {
    loop_hold(host_loop(served->host));
    tn_value outcome = served_finish(served, &use->call);
    loop_release(host_loop(served->host));
    callable_unref(use->instance);
    return outcome;
}

/* The result of a tool; a new reference. */
FIXTURE_UNUSED static tn_value use_take(struct served *served, const char *tool, tn_value input_take) {
    struct use use;
    use_start(served, tool, input_take, &use);
    tn_value outcome = use_finish(served, &use), result = value_ref(value_get(outcome, "result"));
    if (!result) {
        char *text = json_text(outcome, JSON_COMPACT);
        fail_msg("%s %s: %s", tool, mode_names[mode], text);
    }
    value_unref(outcome);
    return result;
}

FIXTURE_UNUSED static tn_value use_json(struct served *served, const char *tool, const char *input) {
    return use_take(served, tool, served_json(input));
}

FIXTURE_UNUSED static void expect_json_take(tn_value found_take, const char *expected) {
    char *text = json_text(found_take, JSON_COMPACT);
    if (strcmp(text, expected) != 0) fail_msg("%s: %s\nexpected: %s", mode_names[mode], text, expected);
    mem_free(text);
    value_unref(found_take);
}

FIXTURE_UNUSED static void expect_use(struct served *served, const char *tool, const char *input,
                                      const char *expected) {
    expect_json_take(use_json(served, tool, input), expected);
}

/* The use ends with {status: TN_FAILED, value: error}, of this code and a message that contains `part`. */
FIXTURE_UNUSED static void expect_failure(struct served *served, const char *tool, tn_value input_take,
                                          const char *code, const char *part) {
    tn_value result = use_take(served, tool, input_take), error = value_get(result, "value");
    char *text = json_text(result, JSON_COMPACT);
    if (value_to_int(value_get(result, "status")) != TN_FAILED || !value_text_is(value_get(error, "code"), code) ||
        !strstr(value_chars(value_get(error, "message"), NULL), part))
        fail_msg("%s %s: %s\nexpected: %s, %s", tool, mode_names[mode], text, code, part);
    mem_free(text);
    value_unref(result);
}

FIXTURE_UNUSED static tn_value method_input(const char *method, tn_value params_take) {
    tn_value input = value_set_take(value_object(), "method", value_text(method));
    return value_set_take(input, "params", params_take);
}

struct moment {
    struct loop_timer timer; /* must be first */
    bool over;
};

FIXTURE_UNUSED static void moment_is_over(struct loop_timer *timer) { ((struct moment *)(void *)timer)->over = true; }
FIXTURE_UNUSED static bool is_over(void *user) { return ((const struct moment *)user)->over; }

/* Runs the loop for a moment, although there is more to do. */
FIXTURE_UNUSED static void turn(struct served *served) {
    struct moment moment = {.over = false};
    loop_timer_start(host_loop(served->host), &moment.timer, 1, moment_is_over);
    (void)loop_run(host_loop(served->host), is_over, &moment);
}

/* Waits until handlers outside of tasks have received so much; a new reference. */
FIXTURE_UNUSED static tn_value reported(struct served *served, size_t count) {
    tn_value all = value_array();
    for (int i = 0; i < 10000 && value_count(all) < count; i++) {
        tn_value more = use_take(served, "methods.reported", value_set_take(value_object(), "number", value_int(i)));
        for (size_t k = 0; k < value_count(more); k++) all = value_push_take(all, value_ref(value_at(more, k)));
        value_unref(more);
        turn(served);
    }
    if (value_count(all) != count) {
        char *text = json_text(all, JSON_COMPACT);
        fail_msg("%s: expected %zu reports, found %s", mode_names[mode], count, text);
    }
    return all;
}

/* What init and the call that it has posted request. */
FIXTURE_UNUSED static void skip_init(struct served *served) { value_unref(reported(served, 2)); }

/* Runs the test once in each mode. */
FIXTURE_UNUSED static void in_each_mode(void (*test)(struct served *served)) {
    for (mode = IN_PROCESS; mode < MODES; mode++) {
        struct served served;
        open_plain(&served);
        test(&served);
        close_quiet(&served);
    }
}

/* ---- For several tests ---- */

#define RUN_ENDED "{\"events\":[\"run/ended\"]}"

FIXTURE_UNUSED static tn_value text_params(const char *text) {
    return value_set_take(value_object(), "text", value_text(text));
}

FIXTURE_UNUSED static int64_t subscribe(struct served *served, const char *params, bool first) {
    tn_value input = value_set_take(value_object(), "params", served_json(params));
    tn_value result = use_take(served, "methods.subscribe", value_set_take(input, "first", value_bool(first)));
    int64_t number = value_to_int(value_get(result, "value"));
    assert_int_equal(value_to_int(value_get(result, "status")), TN_OK);
    assert_true(number > 0);
    value_unref(result);
    return number;
}

FIXTURE_UNUSED static int64_t control(struct served *served, const char *function, int64_t number) {
    tn_value input = value_set_take(value_object(), "function", value_text(function));
    tn_value result = use_take(served, "methods.control", value_set_take(input, "number", value_int(number)));
    int64_t status = value_to_int(result);
    value_unref(result);
    return status;
}

FIXTURE_UNUSED static void publish(struct served *served, const char *id) {
    tn_value params = value_set_take(value_object(), "run_id", value_text(id));
    server_publish_take(served->server, "run/ended", value_set_take(params, "status", value_text("done")));
}

/* Runs the tests in a folder of their own. */
#define METHOD_TESTS_RUN(tests)                                                                                        \
    do {                                                                                                               \
        setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);                                                                \
        if (!mkdtemp(folder) || chdir(folder) != 0) return 1;                                                          \
        int failed = cmocka_run_group_tests(tests, NULL, NULL);                                                        \
        char command[64];                                                                                              \
        snprintf(command, sizeof command, "rm -r %s", folder);                                                         \
        return chdir("/") == 0 && system(command) == 0 ? failed : 1;                                                   \
    } while (0)

#endif

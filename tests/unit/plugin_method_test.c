/*
 * plugin_method_test.c - plugins use tenon.host (tests/isolate/methods.c): in this process, in check mode, and
 * isolated, with the same results.
 *
 * The clock is real, because child processes have no fake one.
 */
#include "tests/unit/sanitized.h"
#include "tests/unit/server_fixture.h"

#include "host/engine/engine.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/conformance/guard.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin_internal.h"
#include <signal.h>
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

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void open_with(struct served *served, const char *yaml) {
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

static void open_plain(struct served *served) { open_with(served, "store: {use: memory}\n"); }

static bool is_unused(void *user) {
    const struct plugin *plugin = user;
    return plugin_refs(plugin) == 0 && plugin_tasks(plugin) == 0;
}

/* Waits until the plugin can be unloaded: a worker that has ended a task needs a moment to return. */
static void wait_for_plugin(struct served *served) {
    (void)loop_run(host_loop(served->host), is_unused, registry_plugin(host_registry(served->host), "test.methods"));
}

static void close_quiet(struct served *served) {
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

static void use_start(struct served *served, const char *tool, tn_value input_take, struct use *use) {
    static const struct call_ops ops = {.ended = served_on_ended};
    struct engine *engine = host_engine(served->host);
    struct instance_scope scope = engine->scope(engine, "a test");
    struct component *component;
    struct error error = ERROR_INIT;
    int32_t status = registry_resolve(host_registry(served->host), "tool", tool, &component, &error);
    if (status == TN_OK) status = instance_new(component, value_object(), &scope, &use->instance, &error);
    if (status != TN_OK) fail_msg("%s: %s", tool, error.message);
    use->call = (struct served_call){call_new(host_loop(served->host), use->instance, &ops, &use->call), false};
    if (call_start(use->call.call, input_take)) use->call.ended = true;
    value_unref(input_take);
}

/* {result} or {error}; a new reference. */
static tn_value use_finish(struct served *served, struct use *use) {
    loop_hold(host_loop(served->host));
    tn_value outcome = served_finish(served, &use->call);
    loop_release(host_loop(served->host));
    callable_unref(use->instance);
    return outcome;
}

/* The result of a tool; a new reference. */
static tn_value use_take(struct served *served, const char *tool, tn_value input_take) {
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

static tn_value use_json(struct served *served, const char *tool, const char *input) {
    return use_take(served, tool, served_json(input));
}

static void expect_json_take(tn_value found_take, const char *expected) {
    char *text = json_text(found_take, JSON_COMPACT);
    if (strcmp(text, expected) != 0) fail_msg("%s: %s\nexpected: %s", mode_names[mode], text, expected);
    mem_free(text);
    value_unref(found_take);
}

static void expect_use(struct served *served, const char *tool, const char *input, const char *expected) {
    expect_json_take(use_json(served, tool, input), expected);
}

/* The use ends with {status: TN_FAILED, value: error}, of this code and a message that contains `part`. */
static void expect_failure(struct served *served, const char *tool, tn_value input_take, const char *code,
                           const char *part) {
    tn_value result = use_take(served, tool, input_take), error = value_get(result, "value");
    char *text = json_text(result, JSON_COMPACT);
    if (value_to_int(value_get(result, "status")) != TN_FAILED || !value_text_is(value_get(error, "code"), code) ||
        !strstr(value_chars(value_get(error, "message"), NULL), part))
        fail_msg("%s %s: %s\nexpected: %s, %s", tool, mode_names[mode], text, code, part);
    mem_free(text);
    value_unref(result);
}

static tn_value method_input(const char *method, tn_value params_take) {
    tn_value input = value_set_take(value_object(), "method", value_text(method));
    return value_set_take(input, "params", params_take);
}

struct moment {
    struct loop_timer timer; /* must be first */
    bool over;
};

static void moment_is_over(struct loop_timer *timer) { ((struct moment *)(void *)timer)->over = true; }
static bool is_over(void *user) { return ((const struct moment *)user)->over; }

/* Runs the loop for a moment, although there is more to do. */
static void turn(struct served *served) {
    struct moment moment = {.over = false};
    loop_timer_start(host_loop(served->host), &moment.timer, 1, moment_is_over);
    (void)loop_run(host_loop(served->host), is_over, &moment);
}

/* Waits until handlers outside of tasks have received so much; a new reference. */
static tn_value reported(struct served *served, size_t count) {
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
static void skip_init(struct served *served) { value_unref(reported(served, 2)); }

/* Runs the test once in each mode. */
static void in_each_mode(void (*test)(struct served *served)) {
    for (mode = IN_PROCESS; mode < MODES; mode++) {
        struct served served;
        open_plain(&served);
        test(&served);
        close_quiet(&served);
    }
}

/* ---- Calls ---- */

static void calls(struct served *served) {
    static const char *const tools[] = {"methods.call", "methods.call_wait", "methods.request"};
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        expect_use(served, tools[i], "{\"method\":\"run/list\"}",
                   "{\"status\":0,\"value\":{\"runs\":[],\"more\":false}}");
        expect_use(served, tools[i],
                   "{\"method\":\"component/list\",\"params\":{\"kind\":\"reducer\",\"plugin\":\"x\"}}",
                   "{\"status\":0,\"value\":{\"components\":[]}}");
        expect_failure(served, tools[i], method_input("run/get", served_json("{\"run_id\":7}")), "INVALID_INPUT",
                       "at /run_id");
        expect_failure(served, tools[i], method_input("run/get", served_json("[1]")), "INVALID_INPUT", "run/get");
        expect_failure(served, tools[i], method_input("run/get", served_json("{\"run_id\":\"none\"}")), "NOT_FOUND",
                       "no run `none`");
        expect_use(served, tools[i], "{\"method\":\"no/such\"}", "{\"status\":-4}");
    }
}

static void calls_have_results(void **state) {
    (void)state;
    in_each_mode(calls);
}

static void runs(struct served *served) {
    tn_value result = use_take(served, "methods.run", value_set_take(value_object(), "text", value_text(HELLO)));
    tn_value run = value_get(result, "value");
    assert_true(value_text_is(value_get(run, "status"), "done"));
    assert_true(value_text_is(value_get(run, "client"), "plugin test.methods"));
    assert_true(value_text_is(value_get(value_get(value_get(run, "report"), "state"), "greeting"), "Hello!"));
    value_unref(result);
}

static void a_task_runs_a_document(void **state) {
    (void)state;
    in_each_mode(runs);
}

/* Work outside of tasks: in init, and in a posted call. */
static void begins(struct served *served) {
    tn_value all = reported(served, 2);
    for (size_t i = 0; i < 2; i++) {
        tn_value one = value_at(all, i);
        assert_true(value_text_is(value_get(one, "name"), i == 0 ? "init" : "posted"));
        assert_int_equal(value_to_int(value_get(one, "status")), TN_OK);
        assert_int_equal(value_count(value_get(value_get(one, "value"), "components")), 0);
    }
    value_unref(all);
}

static void init_makes_requests(void **state) {
    (void)state;
    in_each_mode(begins);
}

/* ---- Rights ---- */

static tn_value text_params(const char *text) { return value_set_take(value_object(), "text", value_text(text)); }

static void rights(struct served *served) {
    static const char *const tools[] = {"methods.call", "methods.call_wait", "methods.request"};
    expect_failure(served, "methods.weak", method_input("run/list", value_object()), "PERMISSION_DENIED",
                   "add \"host.method:run/list\" to the `effects` of the component");
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        expect_failure(served, tools[i], method_input("host/info", value_object()), "PERMISSION_DENIED",
                       "add \"host.method:host/info\" to the `effects` of the ");
        expect_failure(served, tools[i], method_input("plugin/unload", served_json("{\"plugin\":\"x\"}")),
                       "PERMISSION_DENIED", "`plugins: {admin: [test.methods]}`");
        expect_failure(served, tools[i], method_input("run/start", served_json("{\"document\":\"hello.yaml\"}")),
                       "PERMISSION_DENIED", "may not name files of the host");
        expect_failure(served, tools[i], method_input("run/start", text_params(SPAWNS)), "PERMISSION_DENIED",
                       "methods.spawns");
        tn_value params = value_set_take(text_params(HELLO), "subscribe", value_object());
        expect_failure(served, tools[i], method_input("run/start", params), "UNSUPPORTED", "`subscribe` of tenon.host");
    }
    expect_failure(served, "methods.call", method_input("event/subscribe", served_json("{\"events\":[\"run/ended\"]}")),
                   "UNSUPPORTED", "`subscribe` of tenon.host");
}

static void effects_limit_calls(void **state) {
    (void)state;
    in_each_mode(rights);
}

static void operators_allow_admin_methods(void **state) {
    (void)state;
    for (mode = IN_PROCESS; mode < MODES; mode++) {
        struct served served;
        open_with(&served, "store: {use: memory}\nplugins: {admin: [test.methods]}\n");
        expect_failure(&served, "methods.call", method_input("plugin/unload", served_json("{\"plugin\":\"x\"}")),
                       "NOT_FOUND", "plugin `x`");
        close_quiet(&served);
    }
}

/* A component that may call a tool, but has none of its effects, cannot use them through it. */
static void callers_narrow(void **state) {
    struct served served;
    (void)state;
    mode = IN_PROCESS;
    open_plain(&served);
    tn_value outcome = served_call_as(
        &served, served.client, "run/start",
        text_params("version: \"1.0\"\nagent: {name: chain}\nchannels: [{name: a, type: last_value}]\nnodes: [{id: r, "
                    "type: methods.reaches, config: {}}]\nedges: [{from: START, to: r}, {from: r, to: END}]\n"));
    const char *message = value_chars(value_get(value_get(outcome, "error"), "message"), NULL);
    if (!message || !strstr(message, "which has the effect `host.method:"))
        fail_msg("%s", message ? message : "it was not refused");
    value_unref(outcome);
    close_quiet(&served);
}

/* A tool that calls methods is limited by the document around it, whose `tools` do not have what the run would use. */
static void documents_narrow(void **state) {
    struct served served;
    (void)state;
    mode = IN_PROCESS;
    open_plain(&served);
    static const char document[] =
        "version: \"1.0\"\nagent: {name: outer}\ntools: [{name: methods.run}]\nchannels: [{name: text, type: "
        "last_value}, {name: out, type: last_value}]\nnodes: [{id: t, type: tool, config: {tool: methods.run, "
        "arguments: {text: state.text}, output_key: out}}]\nedges: [{from: START, to: t}, {from: t, to: END}]\n";
    static const char inner[] =
        "version: \"1.0\"\nagent: {name: inner}\nchannels: [{name: out, type: last_value}]\nnodes: [{id: t, type: "
        "tool, config: {tool: methods.call, arguments: {method: \"'run/list'\"}, output_key: out}}]\nedges: [{from: "
        "START, to: "
        "t}, {from: t, to: END}]\n";
    tn_value input = value_set_take(value_object(), "text", value_text(inner));
    tn_value started = served_result_take(&served, "run/start", value_set_take(text_params(document), "input", input));
    tn_value id = value_ref(value_get(started, "run_id"));
    tn_value run = served_result_take(&served, "run/wait", value_set_take(value_object(), "run_id", id));
    char *text = json_text(run, JSON_COMPACT);
    if (!strstr(text, "TOOL_NOT_FOUND") || strstr(text, "\"more\":false")) fail_msg("%s", text);
    mem_free(text);
    value_unref(run);
    value_unref(started);
    close_quiet(&served);
}

/* ---- Subscriptions ---- */

static int64_t subscribe(struct served *served, const char *params, bool first) {
    tn_value input = value_set_take(value_object(), "params", served_json(params));
    tn_value result = use_take(served, "methods.subscribe", value_set_take(input, "first", value_bool(first)));
    int64_t number = value_to_int(value_get(result, "value"));
    assert_int_equal(value_to_int(value_get(result, "status")), TN_OK);
    assert_true(number > 0);
    value_unref(result);
    return number;
}

static int64_t control(struct served *served, const char *function, int64_t number) {
    tn_value input = value_set_take(value_object(), "function", value_text(function));
    tn_value result = use_take(served, "methods.control", value_set_take(input, "number", value_int(number)));
    int64_t status = value_to_int(result);
    value_unref(result);
    return status;
}

static void publish(struct served *served, const char *id) {
    tn_value params = value_set_take(value_object(), "run_id", value_text(id));
    server_publish_take(served->server, "run/ended", value_set_take(params, "status", value_text("done")));
}

/* The run of the event `at`, which must be one of this subscription. */
static const char *event_run(tn_value all, size_t at, int64_t number) {
    tn_value event = value_get(value_at(all, at), "value"), params = value_get(event, "params");
    assert_int_equal(value_to_int(value_get(value_at(all, at), "status")), TN_CHUNK);
    assert_true(value_text_is(value_get(event, "event"), "run/ended"));
    assert_int_equal(value_to_int(value_get(params, "subscription")), number);
    return value_chars(value_get(params, "run_id"), NULL);
}

#define RUN_ENDED "{\"events\":[\"run/ended\"]}"

static void subscriptions(struct served *served) {
    skip_init(served);
    int64_t number = subscribe(served, RUN_ENDED, false);
    value_unref(use_json(served, "methods.reported", "{}")); /* the host knows it now, also of a child */
    publish(served, "a");
    tn_value all = reported(served, 1);
    assert_string_equal(event_run(all, 0, number), "a");
    value_unref(all);
    /* Paused: nothing is lost. */
    assert_int_equal(control(served, "pause", number), TN_OK);
    for (int i = 0; i < 500; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%d", i);
        publish(served, id);
    }
    for (int i = 0; i < 10; i++)
        expect_json_take(use_take(served, "methods.reported", value_set_take(value_object(), "number", value_int(i))),
                         "[]");
    assert_int_equal(control(served, "resume", number), TN_OK);
    all = reported(served, 500);
    for (size_t i = 0; i < 500; i++) {
        char id[16];
        snprintf(id, sizeof id, "r%zu", i);
        assert_string_equal(event_run(all, i, number), id);
    }
    value_unref(all);
    assert_int_equal(control(served, "unsubscribe", number), TN_OK);
    assert_int_equal(control(served, "unsubscribe", number), TN_STALE);
    assert_int_equal(control(served, "pause", number), TN_STALE);
    assert_int_equal(control(served, "resume", number), TN_STALE);
    publish(served, "b");
    /* It ends itself in the handler. */
    int64_t first = subscribe(served, RUN_ENDED, true);
    assert_int_not_equal(first, number);
    value_unref(use_json(served, "methods.reported", "{}"));
    publish(served, "c");
    publish(served, "d");
    all = reported(served, 3);
    assert_string_equal(event_run(all, 0, first), "c");
    assert_int_equal(value_to_int(value_get(value_at(all, 1), "status")), TN_OK);
    assert_int_equal(value_to_int(value_get(value_at(all, 2), "status")), TN_STALE);
    value_unref(all);
    expect_use(served, "methods.reported", "{\"number\":1}", "[]");
}

static void events_are_delivered(void **state) {
    (void)state;
    in_each_mode(subscriptions);
}

/* A subscription that the host refuses reports the reason, and nothing more. */
static void refused(struct served *served) {
    static const struct {
        const char *params, *code, *part;
    } wrong[] = {{"{\"run_id\":\"none\"}", "NOT_FOUND", "no run `none`"},
                 {"{\"events\":[\"run/event\"]}", "INVALID_INPUT", "events"},
                 {"{}", "INVALID_INPUT", "events"},
                 {"7", "INVALID_INPUT", "event/subscribe"},
                 {"{\"events\":[\"run/ended\"],\"credit\":1}", "INVALID_INPUT", "`credit`"}};
    skip_init(served);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t number = subscribe(served, wrong[i].params, false);
        tn_value all = reported(served, 1), error = value_get(value_at(all, 0), "value");
        assert_int_equal(value_to_int(value_get(value_at(all, 0), "status")), TN_FAILED);
        if (!value_text_is(value_get(error, "code"), wrong[i].code) ||
            !strstr(value_chars(value_get(error, "message"), NULL), wrong[i].part))
            fail_msg("%s: %s", wrong[i].params, value_chars(value_get(error, "message"), NULL));
        value_unref(all);
        assert_int_equal(control(served, "unsubscribe", number), TN_STALE);
    }
}

static void refused_subscriptions_report_why(void **state) {
    (void)state;
    in_each_mode(refused);
}

/* The events of a run, and its end: also of one that was over before. */
static void run_events(struct served *served) {
    skip_init(served);
    for (int late = 0; late < 2; late++) {
        tn_value input = method_input("run/start", text_params(late ? HELLO : ASKS));
        tn_value started = use_take(served, "methods.call", input);
        tn_value id = value_ref(value_get(value_get(started, "value"), "run_id"));
        tn_value name = value_set_take(value_object(), "run_id", value_ref(id));
        value_unref(served_result_take(served, "run/wait", value_ref(name)));
        char *params = json_text(name, JSON_COMPACT), with_after[128];
        snprintf(with_after, sizeof with_after, "{\"after\":0,\"modes\":[],%s", params + 1);
        int64_t number = subscribe(served, with_after, false);
        /* run/ended, done; or first run/ended, interrupted */
        tn_value all = reported(served, late ? 2 : 1);
        assert_string_equal(event_run(all, 0, number), value_chars(id, NULL));
        value_unref(all);
        if (!late) {
            value_unref(served_result_take(served, "run/answer", value_ref(name)));
            all = reported(served, 2);
            assert_string_equal(event_run(all, 0, number), value_chars(id, NULL));
            assert_int_equal(value_to_int(value_get(value_at(all, 1), "status")), TN_OK);
            assert_null(value_get(value_at(all, 1), "value"));
            value_unref(all);
        }
        assert_int_equal(control(served, "unsubscribe", number), TN_STALE);
        mem_free(params);
        value_unref(name);
        value_unref(id);
        value_unref(started);
    }
}

static void runs_report_their_end(void **state) {
    (void)state;
    in_each_mode(run_events);
}

static void fills(struct served *served) {
    for (int i = 0; i < 2; i++) expect_use(served, "methods.fill", "{}", "{\"status\":-5,\"value\":1024}");
}

static void subscriptions_are_limited(void **state) {
    (void)state;
    for (mode = IN_PROCESS; mode < MODES; mode++) {
        struct served served;
        if (mode == CHECKED) continue; /* the loop is blocked longer than check mode allows */
        open_plain(&served);
        fills(&served);
        close_quiet(&served);
    }
}

/* ---- Mistakes ---- */

static void mistakes_have_statuses(void **state) {
    static const char on_loop[] =
        "{\"unknown\":-4,\"part\":-2,\"no method\":-2,\"no number\":-2,\"no handler\":-2,\"no host\":-2,\"pause\":-9,"
        "\"resume\":-9,\"cancel\":-9,\"unsubscribe\":-9,\"call\":-4,\"call without handler\":-2,\"call_wait\":-10,"
        "\"untouched\":1}";
    static const char on_worker[] =
        "{\"unknown\":-10,\"part\":-10,\"no method\":-10,\"no number\":-10,\"no handler\":-10,\"no host\":-2,\"pause\":"
        "-10,\"resume\":-10,\"cancel\":-10,\"unsubscribe\":-10,\"call\":-10,\"call without handler\":-2,\"call_wait\":"
        "-4,\"untouched\":1}";
    (void)state;
    for (mode = IN_PROCESS; mode < MODES; mode++) {
        struct served served;
        open_plain(&served);
        expect_use(&served, "methods.wrong", "{}", on_loop);
        if (mode == CHECKED) assert_true(guard_findings() > findings);
        findings = guard_findings();
        expect_use(&served, "methods.wrong_thread", "{}", on_worker);
        if (mode == CHECKED) assert_true(guard_findings() > findings);
        findings = guard_findings();
        close_quiet(&served);
    }
}

/* ---- Ends ---- */

/* Starts a run that takes long; a new value, its id. */
static tn_value start_slow(struct served *served) {
    tn_value started = served_result_take(served, "run/start", text_params(SLOW));
    tn_value id = value_ref(value_get(started, "run_id"));
    value_unref(started);
    return id;
}

/* Starts a request that waits for the end of the run; returns its number, or the status that is not TN_OK. */
static int64_t wait_for(struct served *served, tn_value id) {
    tn_value name = value_set_take(value_object(), "run_id", value_ref(id));
    tn_value result = use_take(served, "methods.begin", method_input("run/wait", name));
    int64_t status = value_to_int(value_get(result, "status")), number = value_to_int(value_get(result, "value"));
    value_unref(result);
    return status == TN_OK ? number : status;
}

static void end_run_take(struct served *served, tn_value id) {
    tn_value name = value_set_take(value_object(), "run_id", id);
    value_unref(served_result_take(served, "run/cancel", value_ref(name)));
    value_unref(served_result_take(served, "run/wait", name));
}

static void cancelled(struct served *served) {
    tn_value id = start_slow(served);
    skip_init(served);
    int64_t first = wait_for(served, id), second = wait_for(served, id);
    assert_true(first > 0 && second > first);
    assert_int_equal(control(served, "cancel", first), TN_OK);
    assert_int_equal(control(served, "cancel", first), TN_STALE);
    assert_int_equal(control(served, "unsubscribe", second), TN_STALE);
    end_run_take(served, id);
    tn_value all = reported(served, 1);
    assert_int_equal(value_to_int(value_get(value_at(all, 0), "status")), TN_OK);
    assert_true(value_text_is(value_get(value_get(value_at(all, 0), "value"), "status"), "cancelled"));
    value_unref(all);
    assert_int_equal(control(served, "cancel", second), TN_STALE);
}

static void requests_are_cancelled(void **state) {
    (void)state;
    in_each_mode(cancelled);
}

/* The limit counts open requests only. */
static void limited(struct served *served) {
    tn_value id = start_slow(served);
    skip_init(served);
    for (int i = 0; i < TN_HOST_REQUESTS_MAX; i++) assert_true(wait_for(served, id) > 0);
    assert_int_equal(wait_for(served, id), TN_LIMIT);
    end_run_take(served, id);
    value_unref(reported(served, TN_HOST_REQUESTS_MAX));
    expect_use(served, "methods.request", "{\"method\":\"run/list\",\"params\":{\"status\":\"running\"}}",
               "{\"status\":0,\"value\":{\"runs\":[],\"more\":false}}");
}

static void requests_are_limited(void **state) {
    (void)state;
    in_each_mode(limited);
}

/* A plugin with an open request and a subscription is unloaded, and loaded again. */
static void unloaded(struct served *served) {
    tn_value id = start_slow(served);
    skip_init(served);
    assert_true(wait_for(served, id) > 0);
    (void)subscribe(served, RUN_ENDED, false);
    wait_for_plugin(served);
    served_expect(served, "plugin/unload", "{\"plugin\":\"test.methods\"}", "{}");
    publish(served, "a");
    end_run_take(served, id);
    turn(served);
    served_expect(served, "plugin/load", "{\"file\":\"" TENON_TEST_METHODS "\"}",
                  "{\"plugin\":\"test.methods\",\"version\":\"1.0.0\"}");
    skip_init(served);
    expect_use(served, "methods.call", "{\"method\":\"component/list\",\"params\":{\"kind\":\"runner\"}}",
               "{\"status\":0,\"value\":{\"components\":[]}}");
}

static void plugins_are_unloaded(void **state) {
    (void)state;
    in_each_mode(unloaded);
}

/* A run that a plugin has started continues when the plugin has gone, with its rights. */
static void survives(struct served *served) {
    tn_value started = use_take(served, "methods.call", method_input("run/start", text_params(SLOW)));
    tn_value id = value_ref(value_get(value_get(started, "value"), "run_id"));
    value_unref(started);
    wait_for_plugin(served);
    served_expect(served, "plugin/unload", "{\"plugin\":\"test.methods\"}", "{}");
    tn_value name = value_set_take(value_object(), "run_id", value_ref(id));
    tn_value run = served_result_take(served, "run/get", name);
    assert_true(value_text_is(value_get(run, "status"), "running"));
    assert_null(value_get(run, "client"));
    value_unref(run);
    end_run_take(served, id);
}

static void runs_survive_their_plugin(void **state) {
    (void)state;
    in_each_mode(survives);
}

/* The process of the child is killed: its requests and subscriptions end, and those of the next one work. */
static void children_die(void **state) {
    struct served served;
    (void)state;
    mode = ISOLATED;
    open_plain(&served);
    tn_value id = start_slow(&served);
    for (int round = 0; round < 2; round++) {
        skip_init(&served);
        for (int i = 0; i < 700; i++) assert_true(wait_for(&served, id) > 0); /* two rounds are above the limit */
        (void)subscribe(&served, RUN_ENDED, false);
        const tn_plugin *remote = registry_plugin(host_registry(served.host), "test.methods")->plugin;
        struct use use;
        use_start(&served, "methods.crash", value_object(), &use);
        tn_value outcome = use_finish(&served, &use);
        assert_true(value_text_is(value_get(value_get(outcome, "error"), "code"), "PLUGIN_CRASHED"));
        value_unref(outcome);
        assert_int_equal(remote_deaths(remote), round + 1);
        publish(&served, "a");
    }
    expect_use(&served, "methods.fill", "{}", "{\"status\":-5,\"value\":1024}");
    end_run_take(&served, id);
    close_quiet(&served);
}

/* The host ends while requests and subscriptions are open. */
static void ends(struct served *served) {
    tn_value id = start_slow(served);
    assert_true(wait_for(served, id) > 0);
    (void)subscribe(served, RUN_ENDED, false);
    value_unref(id);
}

static void hosts_end_with_open_requests(void **state) {
    (void)state;
    in_each_mode(ends);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_results),
        cmocka_unit_test(a_task_runs_a_document),
        cmocka_unit_test(init_makes_requests),
        cmocka_unit_test(effects_limit_calls),
        cmocka_unit_test(operators_allow_admin_methods),
        cmocka_unit_test(callers_narrow),
        cmocka_unit_test(documents_narrow),
        cmocka_unit_test(events_are_delivered),
        cmocka_unit_test(refused_subscriptions_report_why),
        cmocka_unit_test(runs_report_their_end),
        cmocka_unit_test(subscriptions_are_limited),
        cmocka_unit_test(mistakes_have_statuses),
        cmocka_unit_test(requests_are_cancelled),
        cmocka_unit_test(requests_are_limited),
        cmocka_unit_test(plugins_are_unloaded),
        cmocka_unit_test(runs_survive_their_plugin),
        cmocka_unit_test(children_die),
        cmocka_unit_test(hosts_end_with_open_requests),
    };
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
    if (!mkdtemp(folder) || chdir(folder) != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") == 0 && system(command) == 0 ? failed : 1;
}

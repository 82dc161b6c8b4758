/*
 * plugin_method_test.c - plugins use tenon.host: results, rights, limits, subscriptions, and mistakes; in this process,
 * in check mode, and isolated, with the same results. plugin_method_end_test.c has what ends.
 */
#include "tests/unit/plugin_method_fixture.h"

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
        tn_value params = value_set_take(text_params(HELLO), "session", value_object());
        expect_failure(served, tools[i], method_input("run/start", params), "PERMISSION_DENIED",
                       "may not choose models and tools");
        params = value_set_take(text_params(HELLO), "subscribe", value_object());
        expect_failure(served, tools[i], method_input("run/start", params), "UNSUPPORTED", "`subscribe` of tenon.host");
    }
    expect_failure(served, "methods.call", method_input("event/subscribe", served_json("{\"events\":[\"run/ended\"]}")),
                   "UNSUPPORTED", "`subscribe` of tenon.host");
}

static void effects_limit_calls(void **state) {
    (void)state;
    in_each_mode(rights);
}

/* The plugin's own effects have `event/subscribe`, which `subscribe` of tenon.host checks. */
static void expect_info(struct served *served, const char *scope, const char *methods) {
    tn_value result = use_json(served, "methods.info", "{}"), info = value_get(result, "value");
    if (!value_text_is(value_get(info, "scope"), scope)) fail_msg("%s: expected %s", mode_names[mode], scope);
    expect_json_take(value_ref(value_get(info, "methods")), methods);
    expect_json_take(value_ref(value_get(info, "events")),
                     "[\"component/changed\",\"run/started\",\"run/ended\",\"task/claimed\",\"task/event\",\"task/"
                     "ended\",\"schedule/started\",\"span/ended\"]");
    value_unref(result);
}

static void info_lists_what_the_caller_may_call(void **state) {
    (void)state;
    for (mode = IN_PROCESS; mode < MODES; mode++) {
        struct served served;
        open_plain(&served);
        expect_info(&served, "run", "[\"host/info\",\"run/start\",\"run/state\"]");
        close_quiet(&served);
        open_with(&served, "store: {use: memory}\nplugins: {admin: [test.methods]}\n");
        expect_info(&served, "admin", "[\"host/info\",\"plugin/unload\",\"run/start\",\"run/state\"]");
        close_quiet(&served);
    }
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

/* ---- Runs that start runs ---- */

/* `%s` is more of the document, and the parameters of a method that starts a run. */
#define STARTS                                                                                                         \
    "{\"version\":\"1.0\",\"agent\":{\"name\":\"starts\"}%s,\"channels\":[{\"name\":\"text\",\"type\":\"last_value\"}" \
    ","                                                                                                                \
    "{\"name\":\"out\",\"type\":\"last_value\"}],\"nodes\":[{\"id\":\"t\",\"type\":\"tool\",\"config\":{\"tool\":"     \
    "\"methods.call\",\"arguments\":{\"method\":\"'%s'\",\"params\":\"{'text': "                                       \
    "state.text%s}\"},\"output_key\":\"out\"}}],"                                                                      \
    "\"edges\":[{\"from\":\"START\",\"to\":\"t\"},{\"from\":\"t\",\"to\":\"END\"}]}"

/* What the run has in `out`, the outcome of its call, when it has ended; a new reference. */
static tn_value run_out(struct served *served, tn_value id) {
    tn_value run = served_result_take(served, "run/wait", value_set_take(value_object(), "run_id", value_ref(id)));
    tn_value out = value_ref(value_get(value_get(value_get(run, "report"), "state"), "out"));
    if (!out) {
        char *text = json_text(run, JSON_COMPACT);
        fail_msg("%s: %s", mode_names[mode], text);
    }
    value_unref(run);
    return out;
}

/* Runs the document, whose input `text` is `inner`; a new reference to its `out`. */
static tn_value run_starter(struct served *served, const char *document, const char *inner) {
    tn_value input = value_set_take(value_object(), "text", value_text(inner));
    tn_value started = served_result_take(served, "run/start", value_set_take(text_params(document), "input", input));
    tn_value out = run_out(served, value_get(started, "run_id"));
    value_unref(started);
    return out;
}

/* A separate run would not count for the limits of the documents around the component that starts it. */
static void counts(struct served *served) {
    static const struct {
        const char *more, *method, *config, *limit; /* NULL: it is allowed */
    } cases[] = {
        {",\"budget\":{\"steps\":9}", "run/start", "",
         "inside of the document `document.yaml`, which limits its run (`budget`)"},
        {",\"budget\":{\"steps\":9}", "run/resume", ", 'config': {'thread_id': 'a'}", "the method run/resume inside"},
        {",\"tools\":[{\"name\":\"methods.*\",\"max_calls\":5}]", "run/start", "",
         "which limits its run (`max_calls` of the tool `methods.*`): a separate run would not be counted; run the "
         "document with "
         "`document.run`"},
        {",\"tools\":[\"methods.*\"]", "run/start", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char document[1024];
        snprintf(document, sizeof document, STARTS, cases[i].more, cases[i].method, cases[i].config);
        tn_value out = run_starter(served, document, HELLO), value = value_get(out, "value");
        char *text = json_text(out, JSON_COMPACT);
        if (cases[i].limit ? !value_text_is(value_get(value, "code"), "PERMISSION_DENIED") ||
                                 !strstr(value_chars(value_get(value, "message"), NULL), cases[i].limit)
                           : !value_get(value, "run_id"))
            fail_msg("%s: case %zu: %s", mode_names[mode], i, text);
        mem_free(text);
        value_unref(out);
    }
}

static void separate_runs_do_not_escape_limits(void **state) {
    (void)state;
    in_each_mode(counts);
}

/* A run that starts itself again and again: 25 runs, the last of which may not start another one. */
static void repeats(struct served *served) {
    char document[1024];
    int runs = 1;
    snprintf(document, sizeof document, STARTS, "", "run/start", ", 'input': {'text': state.text}");
    tn_value out = run_starter(served, document, document);
    for (; value_get(value_get(out, "value"), "run_id"); runs++) {
        if (runs > 30) fail_msg("%s: the runs start each other without a limit", mode_names[mode]);
        tn_value next = run_out(served, value_get(value_get(out, "value"), "run_id"));
        value_unref(out);
        out = next;
    }
    char *text = json_text(out, JSON_COMPACT);
    if (runs != 25 || !strstr(text, "\"code\":\"LIMIT\"") || !strstr(text, "runs start each other more than 24 deep"))
        fail_msg("%s: %d runs: %s", mode_names[mode], runs, text);
    mem_free(text);
    value_unref(out);
}

static void runs_start_each_other_to_a_limit(void **state) {
    (void)state;
    in_each_mode(repeats);
}

/* ---- Tools ---- */

/* Each node calls `methods.erase`, which needs approval, with the method tool/call. */
#define USES                                                                                                           \
    "version: \"1.0\"\nagent: {name: uses}\ntools: [methods.use, {name: methods.erase, max_calls: 2}]\nchannels: "     \
    "[{name: a, type: last_value}, {name: b, type: last_value}, {name: c, type: last_value}]\nnodes:\n"                \
    "  - {id: a, type: tool, config: {tool: methods.use, output_key: a}}\n"                                            \
    "  - {id: b, type: tool, config: {tool: methods.use, output_key: b}}\n"                                            \
    "  - {id: c, type: tool, config: {tool: methods.use, output_key: c}}\n"                                            \
    "edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: c}, {from: c, to: END}]\n"

/* The answer to the only question of the run, which waits for an approval: {ID: {approved}}. */
static tn_value approval(struct served *served, tn_value id, bool approved) {
    tn_value run = served_result_take(served, "run/wait", value_set_take(value_object(), "run_id", value_ref(id)));
    tn_value report = value_get(run, "report"), interrupts = value_get(report, "interrupts");
    tn_value one = value_count(interrupts) == 1 ? value_at(interrupts, 0) : NULL;
    if (!value_text_is(value_get(value_get(one, "payload"), "tool"), "methods.erase")) {
        char *text = json_text(run, JSON_COMPACT);
        fail_msg("%s: expected a question: %s", mode_names[mode], text);
    }
    tn_value answer = value_set_take(value_object(), "approved", value_bool(approved));
    tn_value answers = value_set_key_take(value_object(), value_ref(value_get(one, "id")), answer);
    value_unref(run);
    return answers;
}

static void approve(struct served *served, tn_value id, bool approved) {
    tn_value params = value_set_take(value_object(), "run_id", value_ref(id));
    params = value_set_take(params, "answers", approval(served, id, approved));
    value_unref(served_result_take(served, "run/answer", params));
}

/* What the nodes have received: {a, b, c}; a new reference. */
static tn_value used(struct served *served, tn_value id) {
    tn_value run = served_result_take(served, "run/wait", value_set_take(value_object(), "run_id", value_ref(id)));
    tn_value state = value_ref(value_get(value_get(run, "report"), "state"));
    assert_true(value_text_is(value_get(run, "status"), "done"));
    value_unref(run);
    return state;
}

static void expect_output(tn_value state, const char *node, int64_t number) {
    tn_value value = value_get(value_get(state, node), "value");
    if (value_get(value, "output") && value_to_int(value_get(value, "output")) == number) return;
    fail_msg("%s: %s: %s", mode_names[mode], node, json_text(state, JSON_COMPACT));
}

static void expect_code(tn_value state, const char *node, const char *code) {
    if (value_text_is(value_get(value_get(value_get(state, node), "value"), "code"), code)) return;
    fail_msg("%s: %s: %s, expected %s", mode_names[mode], node, json_text(state, JSON_COMPACT), code);
}

/* Each use is asked for once, runs once, and counts. The use beyond the limit is not asked for. */
static void approved(struct served *served) {
    tn_value started = served_result_take(served, "run/start", text_params(USES)), id = value_get(started, "run_id");
    approve(served, id, true);
    approve(served, id, true);
    tn_value state = used(served, id);
    expect_output(state, "a", 1);
    expect_output(state, "b", 2);
    expect_code(state, "c", "LIMIT");
    value_unref(state);
    value_unref(started);
}

static void approved_tools_are_called_once_and_counted(void **state) {
    (void)state;
    in_each_mode(approved);
}

/* A use that a person refuses counts, too. */
static void refuses(struct served *served) {
    tn_value started = served_result_take(served, "run/start", text_params(USES)), id = value_get(started, "run_id");
    approve(served, id, false);
    approve(served, id, true);
    tn_value state = used(served, id);
    expect_code(state, "a", "TOOL_DENIED");
    expect_output(state, "b", 1);
    expect_code(state, "c", "LIMIT");
    value_unref(state);
    value_unref(started);
}

static void refused_tools_are_not_called(void **state) {
    (void)state;
    in_each_mode(refuses);
}

/* Another run continues the thread: the answer reaches the call, and the uses of the first run count. */
static void resumes(struct served *served) {
    static const char config[] = "{\"thread_id\":\"uses\"}";
    tn_value params = value_set_take(text_params(USES), "config", served_json(config));
    tn_value started = served_result_take(served, "run/start", params), id = value_ref(value_get(started, "run_id"));
    value_unref(started);
    for (int i = 0; i < 2; i++) {
        params = value_set_take(text_params(USES), "config", served_json(config));
        params = value_set_take(params, "answers", approval(served, id, true));
        started = served_result_take(served, "run/resume", params);
        value_unref(id);
        id = value_ref(value_get(started, "run_id"));
        value_unref(started);
    }
    tn_value state = used(served, id);
    expect_output(state, "a", 1);
    expect_output(state, "b", 2);
    expect_code(state, "c", "LIMIT");
    value_unref(state);
    value_unref(id);
}

static void resumed_threads_keep_approvals_and_counts(void **state) {
    (void)state;
    in_each_mode(resumes);
}

/* ---- Subscriptions ---- */

/* The run of the event `at`, which must be one of this subscription. */
static const char *event_run(tn_value all, size_t at, int64_t number) {
    tn_value event = value_get(value_at(all, at), "value"), params = value_get(event, "params");
    assert_int_equal(value_to_int(value_get(value_at(all, at), "status")), TN_CHUNK);
    assert_true(value_text_is(value_get(event, "event"), "run/ended"));
    assert_int_equal(value_to_int(value_get(params, "subscription")), number);
    return value_chars(value_get(params, "run_id"), NULL);
}

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_have_results),
        cmocka_unit_test(a_task_runs_a_document),
        cmocka_unit_test(init_makes_requests),
        cmocka_unit_test(effects_limit_calls),
        cmocka_unit_test(info_lists_what_the_caller_may_call),
        cmocka_unit_test(operators_allow_admin_methods),
        cmocka_unit_test(callers_narrow),
        cmocka_unit_test(documents_narrow),
        cmocka_unit_test(separate_runs_do_not_escape_limits),
        cmocka_unit_test(runs_start_each_other_to_a_limit),
        cmocka_unit_test(approved_tools_are_called_once_and_counted),
        cmocka_unit_test(refused_tools_are_not_called),
        cmocka_unit_test(resumed_threads_keep_approvals_and_counts),
        cmocka_unit_test(events_are_delivered),
        cmocka_unit_test(refused_subscriptions_report_why),
        cmocka_unit_test(runs_report_their_end),
        cmocka_unit_test(subscriptions_are_limited),
        cmocka_unit_test(mistakes_have_statuses),
    };
    METHOD_TESTS_RUN(tests);
}

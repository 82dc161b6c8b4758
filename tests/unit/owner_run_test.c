/*
 * owner_run_test.c - runs of one user look for data of another one: by tools of the state kernel, in sub-graphs, by
 * methods that a plugin calls, after an answer, in a run that the operator or a worker continues, and by a tool that
 * the user calls without a run.
 *
 * Each attack is also done by the user who owns the data, and must find it then, so none of them can fail to look.
 */
#include "tests/unit/owner_fixture.h"

static char task[256], artifact[256];

/* What user a has. */
static void prepare(struct users *users) {
    text_as(users, users->a, "task/create", "{\"task_type\":\"t\",\"payload\":{\"text\":\"" SECRET "\"}}", "task_id",
            task);
    text_as(users, users->a, "artifact/write", "{\"media_type\":\"text/plain\",\"body\":\"the " SECRET "\"}",
            "artifact_id", artifact);
    value_unref(call_as(users, users->a, "memory/put",
                        "{\"namespace\":[\"notes\"],\"key\":\"k\",\"value\":\"" SECRET "\",\"vector\":[1,0]}"));
}

static bool shows(tn_value value, const char *text) {
    char *json = shown(value);
    bool found = strstr(json, text) != NULL;
    mem_free(json);
    return found;
}

/* The run must not show data of a; it may fail. */
static void is_confined(tn_value run, const char *what) {
    char *json = shown(run);
    if (strstr(json, SECRET)) fail_msg("%s: %s", what, json);
    bool failed = value_text_is(value_get(run, "status"), "failed");
    tn_value code = value_get(value_get(value_get(run, "report"), "error"), "code");
    if (failed && !(code && value_text_is(code, "NOT_FOUND"))) fail_msg("%s: %s", what, json);
    mem_free(json);
}

/* ---- Tools ---- */

static const struct {
    const char *tool, *arguments; /* $task and $artifact are those of a */
    bool finds;                   /* a finds the secret with it */
} uses[] = {
    {"task.list", "{}", true},
    {"task.list", "{filter: \"{'task_type': 't'}\"}", true},
    {"task.get", "{task_id: \"'$task'\"}", true},
    {"task.update", "{task_id: \"'$task'\", patch: \"{'payload': {'n': 1}}\"}", true},
    {"task.wake", "{task_id: \"'$task'\"}", true},
    {"artifact.read", "{artifact_id: \"'$artifact'\"}", true},
    {"artifact.search", "{query: \"'" SECRET "'\"}", false}, /* without bodies */
    {"artifact.search", "{}", false},
    {"memory.get", "{namespace: \"['notes']\", key: \"'k'\"}", true},
    {"memory.get", "{namespace: \"['@a', 'notes']\", key: \"'k'\"}", false},
    {"memory.search", "{}", true},
    {"memory.search", "{namespace: \"['@a']\"}", false},
    {"memory.search", "{query: \"'" SECRET "'\"}", true},
    {"memory.search", "{vector: \"[1, 0]\"}", true},
    {"task.claim", "{claimer_id: \"'w'\", ttl_seconds: 60}", true},
};

static void write_use(size_t i) {
    char text[1200], arguments[600], *at;
    snprintf(arguments, sizeof arguments, "%s", uses[i].arguments);
    if ((at = strstr(arguments, "$task")) != NULL)
        snprintf(at, sizeof arguments - (size_t)(at - arguments), "%s'\"%s", task,
                 uses[i].arguments + (at - arguments) + 7);
    if ((at = strstr(arguments, "$artifact")) != NULL)
        snprintf(at, sizeof arguments - (size_t)(at - arguments), "%s'\"}", artifact);
    snprintf(text, sizeof text, USES("%s", "%s"), uses[i].tool, arguments);
    users_write("use", text);
}

static void tools_find_nothing(const char *store) {
    struct users users;
    char config[64];
    users_open(&users, store);
    prepare(&users);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        write_use(i);
        snprintf(config, sizeof config, "{\"config\":{\"thread_id\":\"t%zu\"}}", i);
        tn_value run = run_as(&users, users.b, "use", config);
        is_confined(run, uses[i].tool);
        value_unref(run);
        run = run_as(&users, users.b, "use", "{}"); /* without a thread, its id decides */
        is_confined(run, uses[i].tool);
        value_unref(run);
        snprintf(config, sizeof config, "{\"config\":{\"thread_id\":\"@b:u%zu\"}}", i);
        run = run_as(&users, users.served.client, "use", config);
        is_confined(run, uses[i].tool);
        value_unref(run);
        run = run_as(&users, users.a, "use", "{}");
        if (uses[i].finds && !shows(run, SECRET)) fail_msg("%s finds nothing", uses[i].tool);
        value_unref(run);
    }
    users_close(&users);
}

static void tools_of_runs_are_confined(void **state) {
    (void)state;
    tools_find_nothing("memory");
#ifdef TENON_HAS_SQLITE
    tools_find_nothing("sqlite");
#endif
}

/* ---- What runs create ---- */

/* The ids of `members` must belong to b. */
static void what_runs_create_is_the_users(void **state) {
    static const char *const creates[] = {
        USES("task.create", "{task_type: \"'t'\", idempotency_key: \"'k'\"}"),
        USES("artifact.write", "{media_type: \"'text/plain'\", body: \"'x'\", idempotency_key: \"'k'\"}"),
        USES("memory.put", "{namespace: \"['n']\", key: \"'k'\", value: 1}"),
    };
    struct users users;
    (void)state;
    users_open(&users, "memory");
    for (size_t i = 0; i < sizeof creates / sizeof *creates; i++) {
        users_write("use", creates[i]);
        for (int user = 0; user < 2; user++) {
            tn_value run = run_as(&users, user ? users.b : users.a, "use", "{}");
            is_text(run, "status", "done");
            assert_true(i == 2 || shows(value_get(run, "report"), user ? "_id\":\"@b:" : "_id\":\"@a:"));
            value_unref(run);
        }
    }
    tn_value tasks = call_as(&users, users.b, "task/list", "{}");
    assert_int_equal(value_count(value_get(tasks, "tasks")), 1);
    value_unref(tasks);
    expect_as(&users, users.b, "memory/namespaces", "{}", "{\"namespaces\":[[\"n\"]],\"more\":false}");
    expect_as(&users, users.served.client, "memory/namespaces", "{}",
              "{\"namespaces\":[[\"@a\",\"n\"],[\"@b\",\"n\"]],\"more\":false}");
    users_close(&users);
}

/* Links of a thread name only Artifacts of its user, and only to this user. */
static void links_are_the_users(void **state) {
    struct users users;
    char id[256], expected[400];
    (void)state;
    users_open(&users, "memory");
    prepare(&users);
    users_write("use", USES("artifact.write", "{media_type: \"'text/plain'\", body: \"'x'\"}"));
    value_unref(run_as(&users, users.b, "use", "{\"config\":{\"thread_id\":\"t\"}}"));
    tn_value found = call_as(&users, users.b, "artifact/search", "{}");
    snprintf(id, sizeof id, "%s",
             value_chars(value_get(value_at(value_get(found, "artifacts"), 0), "artifact_id"), NULL));
    value_unref(found);
    snprintf(expected, sizeof expected, "{\"artifact_ids\":[\"%s\"]}", id);
    expect_as(&users, users.b, "artifact/linked", "{\"thread_id\":\"t\"}", expected);
    expect_as(&users, users.a, "artifact/linked", "{\"thread_id\":\"t\"}", "{\"artifact_ids\":[]}");
    expect_as(&users, users.a, "artifact/linked", "{\"thread_id\":\"@b:t\"}", "{\"artifact_ids\":[]}");
    users_close(&users);
}

/* ---- Sub-graphs, answers ---- */

#define PART                                                                                                           \
    "version: \"1.0\"\nagent: {name: part}\n" TOOLS "channels: [{name: out, type: last_value}]\nnodes: [{id: n, "      \
    "type: tool, interrupt: before, config: {tool: memory.search, arguments: {}, output_key: out}}]\n" PATH
#define WHOLE                                                                                                          \
    "version: \"1.0\"\nagent: {name: whole}\nchannels: [{name: out, type: last_value}]\nnodes: [{id: n, type: "        \
    "subgraph, config: {document: part.yaml, output: {out: out}}}]\n" PATH

/* Answers the only interrupt of the run as `client`, and waits for the end. */
static tn_value answered(struct users *users, struct client *client, tn_value run) {
    tn_value interrupt = value_at(value_get(value_get(run, "report"), "interrupts"), 0), id = value_get(run, "run_id");
    assert_non_null(interrupt);
    tn_value answers = value_set_key_take(value_object(), value_ref(value_get(interrupt, "id")), value_bool(true));
    tn_value params = value_set_take(value_set_take(value_object(), "run_id", value_ref(id)), "answers", answers);
    tn_value outcome = served_call_as(&users->served, client, "run/answer", params);
    assert_non_null(value_get(outcome, "result"));
    value_unref(outcome);
    outcome =
        served_call_as(&users->served, client, "run/wait", value_set_take(value_object(), "run_id", value_ref(id)));
    tn_value ended = value_ref(value_get(outcome, "result"));
    value_unref(outcome);
    is_text(ended, "status", "done");
    return ended;
}

static void parts_are_confined(void **state) {
    struct users users;
    (void)state;
    users_open(&users, "memory");
    prepare(&users);
    users_write("part", PART);
    users_write("use", WHOLE);
    for (int i = 0; i < 3; i++) {
        struct client *starts = i == 2 ? users.a : users.b, *answers = i == 1 ? users.served.client : starts;
        for (int thread = 0; thread < 2; thread++) {
            tn_value run = run_as(&users, starts, "use", thread ? "{\"config\":{\"thread_id\":\"t\"}}" : "{}");
            is_text(run, "status", "interrupted");
            tn_value ended = answered(&users, answers, run);
            assert_int_equal(shows(ended, SECRET), i == 2);
            value_unref(ended);
            value_unref(run);
        }
    }
    /* The operator resumes a thread of b. */
    value_unref(run_as(&users, users.b, "use", "{\"config\":{\"thread_id\":\"u\"}}"));
    tn_value thread = call_as(&users, users.b, "thread/get", "{\"thread_id\":\"u\"}");
    tn_value answer = value_set_key_take(
        value_object(), value_ref(value_get(value_at(value_get(thread, "interrupts"), 0), "id")), value_bool(true));
    tn_value params = served_json("{\"document\":\"graph:use\",\"config\":{\"thread_id\":\"@b:u\"}}");
    tn_value outcome =
        served_call_as(&users.served, users.served.client, "run/resume", value_set_take(params, "answers", answer));
    value_unref(thread);
    tn_value resumed = value_get(value_get(outcome, "result"), "run_id");
    assert_non_null(resumed);
    params = value_set_take(value_object(), "run_id", value_ref(resumed));
    value_unref(served_call_as(&users.served, users.served.client, "run/wait", params));
    thread = call_as(&users, users.b, "thread/state", "{\"thread_id\":\"u\"}");
    assert_true(shows(thread, "memories") && !shows(thread, SECRET));
    value_unref(thread);
    value_unref(outcome);
    users_close(&users);
}

/* ---- Methods that components call ---- */

/* The tool `via` calls a method in a run, and returns {status, value}. `expected` must be in the result of the run. */
static void call_in_run(struct users *users, struct client *client, const char *via, const char *method,
                        const char *params, const char *expected) {
    char document[800];
    snprintf(document, sizeof document, USES("%s", "{method: \"'%s'\", params: \"%s\"}"), via, method, params);
    users_write("use", document);
    tn_value run = run_as(users, client, "use", "{}");
    char *text = shown(run);
    if (!strstr(text, expected)) fail_msg("%s: expected %s in %s", document, expected, text);
    if (client == users->b && shows(value_get(run, "report"), "_id\":\"@a:")) fail_msg("%s: %s", document, text);
    mem_free(text);
    value_unref(run);
}

static void call_methods(struct users *users, const char *via) {
    value_unref(run_as(users, users->a, "hello", "{\"config\":{\"thread_id\":\"t\",\"run_id\":\"r\"}}"));
    call_in_run(users, users->a, via, "run/get", "{'run_id': 'r'}", "\"run_id\":\"@a:r\"");
    call_in_run(users, users->b, via, "run/get", "{'run_id': 'r'}", "NOT_FOUND");
    call_in_run(users, users->b, via, "run/get", "{'run_id': '@a:r'}", "NOT_FOUND");
    call_in_run(users, users->b, via, "run/list", "{'thread_id': '@a:t'}", "\"runs\":[]");
    call_in_run(users, users->b, via, "run/list", "{}", "\"run_id\":\"@b:");
    call_in_run(users, users->b, via, "run/cancel", "{'run_id': '@a:r'}", "NOT_FOUND");
    call_in_run(users, users->b, via, "plugin/unload", "{'plugin': 'tenon.core'}", "PERMISSION_DENIED");
    call_in_run(users, users->b, via, "component/list", "{}", "\"components\":["); /* shows nothing of users */
    /* A run that a component starts belongs to the user. */
    call_in_run(users, users->b, via, "run/start",
                "{'document': 'graph:hello', 'config': {'thread_id': 'of_run', 'run_id': 'of_run'}}",
                "\"run_id\":\"@b:of_run\"");
    call_in_run(users, users->b, via, "run/start", "{'document': 'graph:hello', 'config': {'thread_id': '@a:t'}}",
                "NOT_FOUND");
    served_settle(&users->served);
    value_unref(call_as(users, users->b, "thread/get", "{\"thread_id\":\"of_run\"}"));
}

static void methods_of_components_are_confined(void **state) {
    static const char *const tools[] = {"methods.call", "methods.call_wait"};
    static const char *const modes[] = {"none", "process"};
    struct users users;
    char more[200];
    (void)state;
    served_skip_with_loops(); /* the plugin is for one process */
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
    for (size_t mode = 0; mode < 2; mode++) {
        snprintf(more, sizeof more, "plugins: {admin: [test.methods], isolation: {test.methods: %s}}\n", modes[mode]);
        for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
            users_open_with(&users, "memory", "[]", more);
            users_write("hello", HELLO);
            call_methods(&users, tools[i]);
            users_close(&users);
        }
    }
}

/* The plugin with the tools of the kernel can be in another process. */
static void tools_of_isolated_plugins_are_confined(void **state) {
    struct users users;
    (void)state;
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
    users_open_with(&users, "memory", "[]", "plugins: {isolation: {tenon.state: process}}\n");
    prepare(&users);
    users_write("use", USES("memory.search", "{}"));
    for (int user = 0; user < 2; user++) {
        tn_value run = run_as(&users, user ? users.b : users.a, "use", "{}");
        is_text(run, "status", "done");
        assert_int_equal(shows(run, SECRET), !user);
        value_unref(run);
    }
    users_close(&users);
}

/* ---- Workers ---- */

/* A strategy that looks for memories, keeps one, and asks. */
#define STRATEGY                                                                                                       \
    "version: \"1.0\"\nagent: {name: strategy}\n" TOOLS                                                                \
    "output: {type: object, properties: {user_output: {type: [string, 'null']}, task_state: {enum: [done, failed, "    \
    "running]}}}\n"                                                                                                    \
    "channels: [{name: task, type: last_value}, {name: user_output, type: last_value}, {name: task_state, type: "      \
    "last_value, default: done}, {name: out, type: "                                                                   \
    "last_value}]\nnodes:\n  - {id: n, type: tool, config: {tool: memory.search, arguments: {}, output_key: out}}\n"   \
    "  - {id: keep, type: tool, config: {tool: memory.put, arguments: {namespace: \"['worked']\", key: \"'k'\", "      \
    "value: state.task.task_id}, output_key: out}}\n"                                                                  \
    "  - {id: ask, type: set, interrupt: before, config: {values: {user_output: \"'ok'\"}}}\n"                         \
    "edges: [{from: START, to: n}, {from: n, to: keep}, {from: keep, to: ask}, {from: ask, to: END}]\n"

static bool task_has_ended(void *user) { return served_count(user, "task/ended") > 0; }

static void tasks_belong_to_their_users(void **state) {
    struct users users;
    char id[256], params[400];
    (void)state;
    users_open_with(&users, "memory", "[]", "work: {job: {strategy: ./strategy.yaml}}\n");
    users_file("strategy.yaml", STRATEGY);
    prepare(&users);
    value_unref(
        call_as(&users, users.b, "event/subscribe", "{\"events\":[\"task/claimed\",\"task/event\",\"task/ended\"]}"));
    value_unref(call_as(&users, users.served.client, "event/subscribe", "{\"events\":[\"task/ended\"]}"));
    text_as(&users, users.b, "task/create", "{\"task_type\":\"job\"}", "task_id", id);
    value_unref(call_as(&users, users.served.client, "work/start", "{\"types\":[\"job\"],\"mode\":\"once\"}"));
    assert_true(loop_run(host_loop(users.served.host), task_has_ended, &users.served));
    snprintf(params, sizeof params, "{\"thread_id\":\"%s\"}", id);
    tn_value thread = call_as(&users, users.b, "thread/get", params);
    is_text(thread, "status", "interrupted");
    value_unref(thread);
    thread = call_as(&users, users.b, "thread/state", params);
    assert_false(shows(thread, SECRET));
    value_unref(thread);
    fails_as(&users, users.a, "thread/get", params, "NOT_FOUND");
    tn_value memory = call_as(&users, users.b, "memory/get", "{\"namespace\":[\"worked\"],\"key\":\"k\"}");
    assert_true(value_text_is(value_get(memory, "value"), id));
    value_unref(memory);
    /* The notification about the question is b's, and so are the events. */
    tn_value tasks = call_as(&users, users.b, "task/list", "{\"filter\":{\"task_type\":\"notification\"}}");
    assert_int_equal(value_count(value_get(tasks, "tasks")), 1);
    value_unref(tasks);
    tasks = call_as(&users, users.a, "task/list", "{\"filter\":{\"task_type\":\"notification\"}}");
    assert_int_equal(value_count(value_get(tasks, "tasks")), 0);
    value_unref(tasks);
    assert_true(shows(users.events_of_b, "task/claimed") && shows(users.events_of_b, "task/ended"));
    users_close(&users);
}

/* ---- Tools without a run ---- */

#define LOOKS USES("memory.search", "{}")

static void tools_of_users_are_confined(void **state) {
    struct users users;
    (void)state;
    users_open_with(&users, "memory", "[\"memory.*\", \"task.get\", \"document.run\"]", "");
    prepare(&users);
    tn_value found = call_as(&users, users.a, "tool/call", "{\"tool\":\"memory.search\"}");
    assert_true(shows(found, SECRET));
    value_unref(found);
    found = call_as(&users, users.b, "tool/call", "{\"tool\":\"memory.search\"}");
    assert_true(shows(found, "memories") && !shows(found, SECRET));
    value_unref(found);
    found = call_as(&users, users.b, "tool/list", "{}");
    assert_true(shows(found, "memory.put") && shows(found, "task.get") && !shows(found, "\"task.list\""));
    value_unref(found);
    found = call_as(&users, users.b, "tool/search", "{\"query\":\"task\",\"limit\":1}");
    assert_int_equal(value_count(value_get(found, "tools")), 1);
    assert_true(shows(found, "task.get"));
    value_unref(found);
    for (int user = 0; user < 2; user++) { /* a tool that runs a document */
        tn_value arguments = value_set_take(value_object(), "text", value_text(LOOKS));
        tn_value params = value_set_take(value_object(), "tool", value_text("document.run"));
        params = value_set_take(value_set_take(params, "arguments", arguments), "approved", value_bool(true));
        found = served_call_as(&users.served, user ? users.b : users.a, "tool/call", params);
        if (!shows(found, "memories") || shows(found, SECRET) == user) {
            char *text = shown(found);
            fail_msg("%s", text);
        }
        value_unref(found);
    }
    fails_as(&users, users.b, "tool/call", "{\"tool\":\"task.list\"}", "PERMISSION_DENIED");
    fails_as(&users, users.b, "tool/show", "{\"tool\":\"nothing\"}", "PERMISSION_DENIED");
    users_close(&users);
}

/* ---- Caches ---- */

/* The result of a node depends on what its user can reach. */
static void caches_are_separate(void **state) {
    static const char *const caches[] = {"{ttl: 1h}", "{ttl: 1h, store: true}"};
    struct users users;
    char text[800];
    (void)state;
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        users_open(&users, "memory");
        prepare(&users);
        snprintf(text, sizeof text,
                 "version: \"1.0\"\nagent: {name: cached}\n" TOOLS "channels: [{name: out, type: last_value}, {name: "
                 "again, type: last_value, default: 0}]\nnodes: [{id: n, type: tool, cache: %s, config: {tool: "
                 "memory.search, arguments: {}, output_key: out}}]\n" PATH,
                 caches[i]);
        users_write("use", text);
        for (int round = 0; round < 2; round++) {
            tn_value of_a = run_as(&users, users.a, "use", "{}"), of_b = run_as(&users, users.b, "use", "{}");
            is_text(of_a, "status", "done");
            is_text(of_b, "status", "done");
            assert_true(shows(of_a, SECRET));
            assert_false(shows(of_b, SECRET));
            value_unref(of_b);
            value_unref(of_a);
        }
        users_close(&users);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_of_runs_are_confined),
        cmocka_unit_test(what_runs_create_is_the_users),
        cmocka_unit_test(links_are_the_users),
        cmocka_unit_test(parts_are_confined),
        cmocka_unit_test(methods_of_components_are_confined),
        cmocka_unit_test(tools_of_isolated_plugins_are_confined),
        cmocka_unit_test(tasks_belong_to_their_users),
        cmocka_unit_test(tools_of_users_are_confined),
        cmocka_unit_test(caches_are_separate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * server_tool_test.c - the methods of tools and models: descriptions, calls, approval, the rights of plugins, cancel.
 */
#include "tests/unit/server_run_fixture.h"

#include "host/base/config/config.h"

/* ---- Descriptions ---- */

static void tools_are_described(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    tn_value tool = served_result(&served, "tool/show", "{\"tool\":\"t.delete\"}");
    is_text(tool, "tool_name", "t.delete");
    is_text(tool, "approval", "ask");
    value_unref(tool);
    tn_value all = served_result(&served, "tool/list", "{}");
    assert_true(value_count(value_get(all, "tools")) > 8);
    value_unref(all);
    tn_value found = served_result(&served, "tool/search", "{\"query\":\"deletes file\"}");
    assert_int_equal(value_count(value_get(found, "tools")), 1);
    is_text(value_at(value_get(found, "tools"), 0), "tool_name", "t.delete");
    value_unref(found);
    served_expect(&served, "tool/search", "{\"query\":\"no tool has these words\"}", "{\"tools\":[]}");
    found = served_result(&served, "tool/search", "{\"query\":\"\",\"limit\":2}");
    assert_int_equal(value_count(value_get(found, "tools")), 2);
    value_unref(found);
    served_expect_error(&served, "tool/show", "{\"tool\":\"t.delet\"}", "TOOL_NOT_FOUND", "t.delete");
    served_close(&served);
}

/* ---- Calls ---- */

static void a_tool_is_called(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "tool/call", "{\"tool\":\"t.add\",\"arguments\":{\"a\":40,\"b\":2}}",
                  "{\"output\":{\"sum\":42}}");
    served_expect(&served, "tool/call", "{\"tool\":\"t.block\",\"arguments\":{\"n\":1}}", "{\"output\":2}");
    served_expect_error(&served, "tool/call", "{\"tool\":\"t.add\",\"arguments\":{\"a\":1}}", "INVALID_INPUT", "`b`");
    served_expect_error(&served, "tool/call", "{\"tool\":\"t.add\"}", "INVALID_INPUT", "t.add");
    served_expect_error(&served, "tool/call", "{\"tool\":\"t.wrong\"}", "INVALID_OUTPUT", "t.wrong");
    served_expect_error(&served, "tool/call", "{\"tool\":\"t.fail\"}", "BROKEN", "it broke");
    served_expect_error(&served, "tool/call", "{\"tool\":\"t.none\"}", "TOOL_NOT_FOUND", "t.none");
    served_expect_error(&served, "tool/call", "{\"tool\":\"t.*\"}", "TOOL_NOT_FOUND", "t.*");
    struct client *reader = served_client(&served, "reader", METHOD_READ);
    served_expect_error_as(&served, reader, "tool/call", "{\"tool\":\"t.add\"}", "PERMISSION_DENIED", "`run`");
    served_close(&served);
}

static void approval_is_requested(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    const char *ask = "{\"tool\":\"t.delete\",\"arguments\":{\"path\":\"a\"}}";
    tn_value outcome = served_call_as(&served, served.client, "tool/call", served_json(ask));
    tn_value error = value_get(outcome, "error"), payload = value_get(value_get(error, "detail"), "payload");
    is_text(error, "code", "APPROVAL_NEEDED");
    is_text(payload, "kind", "approval");
    is_text(payload, "tool", "t.delete");
    is_text(value_get(payload, "arguments"), "path", "a");
    assert_non_null(value_get(value_get(error, "detail"), "schema"));
    value_unref(outcome);
    /* Wrong arguments are reported before a person is asked. */
    served_expect_error(&served, "tool/call", "{\"tool\":\"t.delete\",\"arguments\":{}}", "INVALID_INPUT", "path");
    served_expect(&served, "tool/call", "{\"tool\":\"t.delete\",\"arguments\":{\"path\":\"a\"},\"approved\":true}",
                  "{\"output\":\"deleted a\"}");
    /* A tool that asks a question itself needs a run. */
    served_expect_error(&served, "tool/call", "{\"tool\":\"t.ask\",\"approved\":true}", "UNSUPPORTED", "run");
    served_close(&served);
}

/* A rule of the operator that denies a tool counts also with `approved`. */
static void denied_tools_stay_denied(void **state) {
    struct served served;
    (void)state;
    served_open_with(&served, METHOD_RUN, "tools: {approval: {t.add: deny}}\n");
    served_expect_error(&served, "tool/call", "{\"tool\":\"t.add\",\"arguments\":{\"a\":1,\"b\":2},\"approved\":true}",
                        "TOOL_DENIED", "t.add");
    served_close(&served);
}

static void a_call_is_cancelled(void **state) {
    struct served served;
    struct served_call call;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_start(&served, served.client, "tool/call", served_json("{\"tool\":\"t.slow\"}"), &call);
    assert_false(call.ended);
    call_cancel(call.call);
    tn_value outcome = served_finish(&served, &call);
    is_text(value_get(outcome, "error"), "code", "CANCELLED");
    value_unref(outcome);
    /* The tool has ended, too: the next call is the only one. */
    served_expect(&served, "tool/call", "{\"tool\":\"t.slow\",\"arguments\":{\"ms\":1}}", "{\"output\":1}");
    served_close(&served);
}

/* ---- Plugins ---- */

static struct component_info component_with(tn_value effects) {
    return (struct component_info){.id = "x.caller",
                                   .kind = "tool",
                                   .title = "Calls methods.",
                                   .documentation = "",
                                   .plugin_id = "x.plugin",
                                   .plugin_version = "1.0.0",
                                   .effects = effects};
}

/* The outcome of a call by a component of a plugin with these effects, outside of tasks. */
static tn_value outcome_for(struct served *served, const char *effects, const char *name, const char *params) {
    static const struct call_ops ops = {.ended = served_on_ended};
    struct client *client = client_new(
        served->server, &(struct client_options){.name = "plugin x.plugin", .scope = METHOD_ADMIN, .plugin = true});
    tn_value declared = served_json(effects), input = served_json(params);
    const struct component_info info = component_with(declared);
    struct callable *callable = method_call_new(client, method_find(name), &info);
    struct served_call call = {.ended = false};
    call.call = call_new(host_loop(served->host), callable, &ops, &call);
    callable_unref(callable);
    call.ended = call_start(call.call, input);
    tn_value outcome = served_finish(served, &call);
    value_unref(input);
    value_unref(declared);
    client_free(client);
    return outcome;
}

static void plugin_fails(struct served *served, const char *effects, const char *name, const char *params,
                         const char *code, const char *part) {
    tn_value outcome = outcome_for(served, effects, name, params), error = value_get(outcome, "error");
    char *text = json_text(outcome, JSON_COMPACT);
    if (!error || !value_text_is(value_get(error, "code"), code) ||
        !strstr(value_chars(value_get(error, "message"), NULL), part))
        fail_msg("%s: %s\nexpected: %s, %s", name, text, code, part);
    mem_free(text);
    value_unref(outcome);
}

/* A plugin without `event/subscribe` cannot subscribe either. */
static void plugins_see_what_they_may_call(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value outcome = outcome_for(&served, "[\"host.method:host/i*\"]", "host/info", "{}");
    tn_value info = value_get(outcome, "result");
    is_text(info, "scope", "read");
    is_text(info, "client", "plugin x.plugin");
    assert_int_equal(value_count(value_get(info, "methods")), 1);
    assert_int_equal(value_count(value_get(info, "events")), 0);
    value_unref(outcome);
    outcome = outcome_for(&served, "[\"host.method\"]", "host/info", "{}");
    info = value_get(outcome, "result");
    is_text(info, "scope", "run");
    tn_value methods = value_get(info, "methods");
    for (size_t i = 0; i < value_count(methods); i++) {
        const char *name = value_chars(value_at(methods, i), NULL);
        assert_true(method_find(name)->scope < METHOD_ADMIN);
        assert_true(strncmp(name, "event/", 6) != 0 && strcmp(name, "run/subscribe") != 0);
    }
    assert_true(value_count(methods) > 20);
    value_unref(outcome);
    served_close(&served);
}

static void plugins_are_limited_by_their_authority(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    const char *add = "{\"tool\":\"t.add\",\"arguments\":{\"a\":1,\"b\":2}}";
    const char *erase = "{\"tool\":\"t.delete\",\"arguments\":{\"path\":\"a\"},\"approved\":true}";
    plugin_fails(&served, "[\"host.method\"]", "tool/call", add, "PERMISSION_DENIED", "calls.tool:t.add");
    tn_value outcome = outcome_for(&served, "[\"host.method\",\"calls.tool:t.add\"]", "tool/call", add);
    assert_int_equal(value_to_int(value_get(value_get(value_get(outcome, "result"), "output"), "sum")), 3);
    value_unref(outcome);
    /* It may cause only effects that it declares, and grant only what it may approve. */
    plugin_fails(&served, "[\"host.method\",\"calls.tool\"]", "tool/call", erase, "PERMISSION_DENIED", "destructive");
    plugin_fails(&served, "[\"host.method\",\"calls.tool\",\"destructive\",\"fs.write:/data\"]", "tool/call", erase,
                 "APPROVAL_NEEDED", "plugin x.plugin may not approve it");
    /* It is not asked to repeat the call with an approval that does not count. */
    const char *unapproved = "{\"tool\":\"t.delete\",\"arguments\":{\"path\":\"a\"}}";
    plugin_fails(&served, "[\"host.method\",\"calls.tool\",\"destructive\",\"fs.write:/data\"]", "tool/call",
                 unapproved, "APPROVAL_NEEDED",
                 "plugin x.plugin may not approve it; call it from a run, which can ask a person, or add "
                 "\"calls.approved\" to the effects of the caller");
    plugin_fails(&served, "[\"host.method\",\"calls.tool\",\"destructive\",\"fs.write:/data\",\"calls.approved\"]",
                 "tool/call", unapproved, "APPROVAL_NEEDED", "call it again with `approved: true`");
    outcome =
        outcome_for(&served, "[\"host.method\",\"calls.tool\",\"destructive\",\"fs.write:/data\",\"calls.approved\"]",
                    "tool/call", erase);
    is_text(value_get(outcome, "result"), "output", "deleted a");
    value_unref(outcome);
    plugin_fails(&served, "[\"host.method\"]", "model/test", "{\"model\":\"scripted\"}", "PERMISSION_DENIED",
                 "calls.model:scripted");
    outcome = outcome_for(&served, "[\"host.method\",\"calls.model\"]", "model/test", "{\"model\":\"scripted\"}");
    assert_non_null(value_get(outcome, "result"));
    value_unref(outcome);
    served_close(&served);
}

/* A plugin cannot approve what a rule of the operator asks for, so no effect would help. */
static void plugins_do_not_answer_operators(void **state) {
    static const char advice[] = "plugin x.plugin may not approve it; call it from a run, which can ask a person";
    struct served served;
    (void)state;
    served_open_with(&served, METHOD_RUN, "tools: {approval: {t.add: ask}}\n");
    tn_value outcome = outcome_for(&served, "[\"host.method\",\"calls.tool\",\"calls.approved\"]", "tool/call",
                                   "{\"tool\":\"t.add\",\"arguments\":{\"a\":1,\"b\":2},\"approved\":true}");
    const char *message = value_chars(value_get(value_get(outcome, "error"), "message"), NULL);
    const char *found = message ? strstr(message, advice) : NULL;
    if (!found || strlen(found) != strlen(advice)) fail_msg("%s", message ? message : "it was not refused");
    value_unref(outcome);
    served_close(&served);
}

/* ---- In a run ---- */

/* A task that calls tool/call, in place of a component of a run. */
struct task {
    struct callable callable; /* first */
    struct callable *method;
    tn_value input, asked; /* asked: what the run would ask a person */
    bool ended;
};

static int32_t task_start(struct callable *callable, struct call *call, tn_value input) {
    struct task *task = (struct task *)callable;
    (void)input;
    return call_child(call_token(call), task->method, false, task->input, call_end_alike,
                      (void *)(uintptr_t)call_token(call));
}

static void task_free(struct callable *callable) { (void)callable; }

static bool task_record(struct call *call, const char *path, struct call *ended) {
    struct task *task = call_owner(call);
    (void)path;
    if (call_outcome(ended) != CALL_INTERRUPTED) return false;
    task->asked = value_ref(value_get(call_interrupt_value(ended), "payload"));
    return true;
}

static void task_on_ended(struct call *call) { ((struct task *)call_owner(call))->ended = true; }
static bool task_has_ended(void *user) { return ((const struct task *)user)->ended; }

static void a_run_asks_for_approval(void **state) {
    static const struct callable_ops callable_ops = {.start = task_start, .free = task_free};
    static const struct call_ops ops = {.ended = task_on_ended, .record = task_record};
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    struct task task = {.callable = {&callable_ops, 1},
                        .method = method_call_new(served.client, method_find("tool/call"), NULL),
                        .input = served_json("{\"tool\":\"t.delete\",\"arguments\":{\"path\":\"a\"}}")};
    struct call *call = call_new(host_loop(served.host), &task.callable, &ops, &task);
    task.ended = call_start(call, NULL);
    (void)loop_run(host_loop(served.host), task_has_ended, &task);
    assert_int_equal(call_outcome(call), CALL_FAILED);
    assert_string_equal(call_error(call)->code, "INTERRUPTED");
    is_text(task.asked, "tool", "t.delete");
    call_free(call);
    callable_unref(task.method);
    value_unref(task.input);
    value_unref(task.asked);
    served_close(&served);
}

/* ---- Models ---- */

static void models_are_listed_without_secrets(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    config_bind_model_take(host_config(served.host), "planner",
                           served_json("{\"provider\":\"scripted\",\"extra\":{\"api_key\":\"12345\",\"n\":1}}"));
    config_bind_model_take(host_config(served.host), "default", value_text("scripted:tiny"));
    tn_value models = served_result(&served, "model/list", "{}");
    bool found = false;
    for (size_t i = 0; i < value_count(value_get(models, "providers")); i++)
        found |= value_text_is(value_get(value_at(value_get(models, "providers"), i), "provider"), "scripted");
    assert_true(found);
    is_text(value_get(models, "roles"), "default", "scripted:tiny");
    tn_value extra = value_get(value_get(value_get(models, "roles"), "planner"), "extra");
    is_text(extra, "api_key", "(hidden)");
    assert_int_equal(value_to_int(value_get(extra, "n")), 1);
    value_unref(models);
    served_close(&served);
}

static void a_model_is_tested(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect_error(&served, "model/test", "{}", "NOT_FOUND", "default");
    config_bind_model_take(host_config(served.host), "default",
                           served_json("{\"provider\":\"scripted\",\"replies\":[\"I heard: {input}\"]}"));
    tn_value report = served_result(&served, "model/test", "{\"prompt\":\"Hi\"}");
    is_text(value_get(report, "message"), "content", "I heard: Hi");
    assert_non_null(value_get(report, "first_ms"));
    assert_non_null(value_get(report, "usage"));
    value_unref(report);
    report = served_result(&served, "model/test", "{\"model\":\"scripted:tiny\"}");
    is_text(value_get(report, "message"), "content", "Answer with the one word OK.");
    value_unref(report);
    served_expect_error(&served, "model/test", "{\"model\":\"defualt\"}", "NOT_FOUND", "did you mean `default`?");
    served_expect_error(&served, "model/test", "{\"model\":\"{\\\"provider\\\":\\\"scripted\\\"}\"}", "NOT_FOUND", "");
    config_bind_model_take(host_config(served.host), "broken",
                           served_json("{\"provider\":\"scripted\",\"replies\":[{\"error\":{\"code\":\"AUTH\"}}]}"));
    served_expect_error(&served, "model/test", "{\"model\":\"broken\"}", "AUTH", "");
    served_close(&served);
}

static void a_test_of_a_model_is_cancelled(void **state) {
    struct served served;
    struct served_call call;
    (void)state;
    served_open(&served, METHOD_RUN);
    config_bind_model_take(host_config(served.host), "default",
                           served_json("{\"provider\":\"scripted\",\"delay_ms\":600000}"));
    served_start(&served, served.client, "model/test", value_object(), &call);
    assert_false(call.ended);
    call_cancel(call.call);
    tn_value outcome = served_finish(&served, &call);
    is_text(value_get(outcome, "error"), "code", "CANCELLED");
    value_unref(outcome);
    served_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_are_described),
        cmocka_unit_test(a_tool_is_called),
        cmocka_unit_test(approval_is_requested),
        cmocka_unit_test(denied_tools_stay_denied),
        cmocka_unit_test(a_call_is_cancelled),
        cmocka_unit_test(plugins_see_what_they_may_call),
        cmocka_unit_test(plugins_are_limited_by_their_authority),
        cmocka_unit_test(plugins_do_not_answer_operators),
        cmocka_unit_test(a_run_asks_for_approval),
        cmocka_unit_test(models_are_listed_without_secrets),
        cmocka_unit_test(a_model_is_tested),
        cmocka_unit_test(a_test_of_a_model_is_cancelled),
    };
    fixture_agents = true; /* with the model `scripted` */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

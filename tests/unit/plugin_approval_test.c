/*
 * plugin_approval_test.c - answers that a plugin gives to runs and threads: questions yes, approvals only if its
 * authority grants them.
 */
#include "tests/unit/server_fixture.h"

#include <unistd.h>

#define DELETES(tools)                                                                                                 \
    "version: \"1.0\"\nagent: {name: deletes}\ntools: [" tools "]\nchannels: [{name: out, type: last_value}]\nnodes: " \
    "[{id: a, type: tool, config: {tool: t.delete, arguments: {path: \"'a'\"}, output_key: out}}]\nedges: [{from: "    \
    "START, to: a}, {from: a, to: END}]\n"
#define GREETS(more)                                                                                                   \
    "version: \"1.0\"\nagent: {name: greets}\nchannels: [{name: out, type: last_value}]\nnodes: [{id: a, type: "       \
    "prompt, " more                                                                                                    \
    "config: {template: Hello, output_key: out}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"
#define ASKS                                                                                                           \
    "version: \"1.0\"\nagent: {name: asks}\nchannels: [{name: out, type: last_value}]\nnodes: [{id: a, type: "         \
    "test.ask, config: {out: out}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"

#define OPERATOR_ASKS "store: {use: memory}\ntools: {approval: {t.delete: ask, \"node:prompt\": ask}}\n"
#define NO_RULES      "store: {use: memory}\n"

/* ---- A server, and a plugin whose component calls its methods ---- */

struct asked {
    struct served served;
    struct client *plugin;
    struct component_info component;
    char file[40];
};

static void asked_open(struct asked *asked, const char *yaml, bool approves) {
    static const char *const paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, TENON_STORE_PLUGINS "/memory.so", NULL};
    struct served *served = &asked->served;
    *asked = (struct asked){.served = {.events = value_array()}, .file = "/tmp/tenon-approval-XXXXXX"};
    int descriptor = mkstemp(asked->file);
    assert_int_equal(write(descriptor, yaml, strlen(yaml)), (ssize_t)strlen(yaml));
    close(descriptor);
    served->host = host_new(&(struct host_options){.plugin_paths = paths,
                                                   .no_installed = true,
                                                   .config_file = asked->file,
                                                   .quiet = true,
                                                   .allow_drafts = true},
                            NULL);
    assert_non_null(served->host);
    served->server = server_new(served->host);
    server_validate_results(served->server, true);
    served->client = served_client(served, "test", METHOD_RUN);
    asked->plugin = client_new(
        served->server, &(struct client_options){.name = "plugin x.plugin", .scope = METHOD_ADMIN, .plugin = true});
    tn_value effects = served_json("[\"host.method\",\"calls.tool\",\"destructive\",\"fs.write:/data\"]");
    if (approves) effects = value_push_take(effects, value_text("calls.approved"));
    asked->component = (struct component_info){.id = "x.caller",
                                               .kind = "tool",
                                               .title = "x",
                                               .documentation = "",
                                               .plugin_id = "x.plugin",
                                               .plugin_version = "1.0.0",
                                               .effects = effects};
}

static void asked_close(struct asked *asked) {
    unlink(asked->file);
    served_close(&asked->served);
    value_unref(asked->component.effects);
}

/* The plugin calls the method: {result} or {error}, a new reference. */
static tn_value plugin_call(struct asked *asked, const char *name, tn_value params_take) {
    static const struct call_ops ops = {.ended = served_on_ended};
    struct callable *callable = method_call_new(asked->plugin, method_find(name), &asked->component);
    struct served_call call = {.ended = false};
    call.call = call_new(host_loop(asked->served.host), callable, &ops, &call);
    callable_unref(callable);
    call.ended = call_start(call.call, params_take);
    value_unref(params_take);
    return served_finish(&asked->served, &call);
}

static void plugin_may(struct asked *asked, const char *name, tn_value params_take) {
    tn_value outcome = plugin_call(asked, name, params_take);
    char *text = json_text(outcome, JSON_COMPACT);
    if (!value_get(outcome, "result")) fail_msg("%s: %s", name, text);
    mem_free(text);
    value_unref(outcome);
}

static void plugin_may_not(struct asked *asked, const char *name, tn_value params_take, const char *part) {
    tn_value outcome = plugin_call(asked, name, params_take), error = value_get(outcome, "error");
    char *text = json_text(outcome, JSON_COMPACT);
    if (!value_text_is(value_get(error, "code"), "PERMISSION_DENIED") ||
        !strstr(value_chars(value_get(error, "message"), NULL), part))
        fail_msg("%s: %s\nexpected: PERMISSION_DENIED, %s", name, text, part);
    mem_free(text);
    value_unref(outcome);
}

/* ---- Runs ---- */

/* The plugin starts a run; a new value, {run_id}. */
static tn_value start_take(struct asked *asked, const char *method, tn_value params) {
    tn_value outcome = plugin_call(asked, method, params), id = value_get(value_get(outcome, "result"), "run_id");
    char *text = json_text(outcome, JSON_COMPACT);
    if (!id) fail_msg("%s: %s", method, text);
    tn_value run = value_set_take(value_object(), "run_id", value_ref(id));
    mem_free(text);
    value_unref(outcome);
    return run;
}

static tn_value text_params(const char *text, const char *more) {
    return value_set_take(served_json(more), "text", value_text(text));
}

/* Waits until the run has this status. Returns its description, a new reference. */
static tn_value waits_for(struct asked *asked, tn_value run, const char *status) {
    tn_value found = served_result_take(&asked->served, "run/wait", value_ref(run));
    char *text = json_text(found, JSON_COMPACT);
    if (!value_text_is(value_get(found, "status"), status)) fail_msg("%s\nexpected: %s", text, status);
    mem_free(text);
    return found;
}

static void ends_as(struct asked *asked, tn_value run, const char *status) {
    value_unref(waits_for(asked, run, status));
}

/* Waits until the run asks. Returns {id: true} for what it asks, a new value. */
static tn_value answers_to(struct asked *asked, tn_value run) {
    tn_value found = waits_for(asked, run, "interrupted");
    tn_value id = value_get(value_at(value_get(value_get(found, "report"), "interrupts"), 0), "id");
    tn_value answers = value_set_key_take(value_object(), value_ref(id), value_bool(true));
    value_unref(found);
    return answers;
}

static tn_value with_answers(tn_value params, tn_value answers) {
    return value_set_take(value_ref(params), "answers", value_ref(answers));
}

/* The plugin cannot answer the run that it has started; the operator can. */
static void only_a_person_answers(const char *yaml, bool approves, const char *text, const char *part) {
    struct asked asked;
    asked_open(&asked, yaml, approves);
    tn_value run = start_take(&asked, "run/start", text_params(text, "{}")), answers = answers_to(&asked, run);
    plugin_may_not(&asked, "run/answer", with_answers(run, answers), part);
    ends_as(&asked, run, "interrupted");
    value_unref(served_result_take(&asked.served, "run/answer", with_answers(run, answers)));
    ends_as(&asked, run, "done");
    value_unref(answers);
    value_unref(run);
    asked_close(&asked);
}

static void plugins_do_not_approve_tools(void **state) {
    (void)state;
    only_a_person_answers(OPERATOR_ASKS, false, DELETES("t.delete"), "approval of the tool `t.delete`");
    only_a_person_answers(OPERATOR_ASKS, true, DELETES("t.delete"), "approval of the tool `t.delete`");
    only_a_person_answers(NO_RULES, false, DELETES("{name: t.delete, approval: ask}"), "`x.caller`");
}

static void plugins_do_not_approve_nodes(void **state) {
    (void)state;
    only_a_person_answers(OPERATOR_ASKS, true, GREETS(""), "approval of the node `prompt`");
}

static void plugins_answer_what_they_may(const char *yaml, bool approves, const char *text) {
    struct asked asked;
    asked_open(&asked, yaml, approves);
    tn_value run = start_take(&asked, "run/start", text_params(text, "{}")), answers = answers_to(&asked, run);
    plugin_may(&asked, "run/answer", with_answers(run, answers));
    ends_as(&asked, run, "done");
    value_unref(answers);
    value_unref(run);
    asked_close(&asked);
}

/* calls.approved counts if only the document asks. A question that is not for approval needs no right. */
static void plugins_answer_questions(void **state) {
    (void)state;
    plugins_answer_what_they_may(NO_RULES, true, DELETES("{name: t.delete, approval: ask}"));
    plugins_answer_what_they_may(NO_RULES, false, GREETS("interrupt: before, "));
}

/* ---- Threads ---- */

static void fails_without_permission(struct asked *asked, tn_value run) {
    tn_value found = waits_for(asked, run, "failed"), error = value_get(value_get(found, "report"), "error");
    char *text = json_text(found, JSON_COMPACT);
    if (!value_text_is(value_get(error, "code"), "PERMISSION_DENIED")) fail_msg("%s", text);
    mem_free(text);
    value_unref(found);
}

static void threads_do_not_help(void **state) {
    static const char config[] = "{\"config\":{\"thread_id\":\"t\"}}";
    struct asked asked;
    (void)state;
    asked_open(&asked, OPERATOR_ASKS, true);
    tn_value params = text_params(DELETES("t.delete"), config), thread = served_json("{\"thread_id\":\"t\"}");
    tn_value run = start_take(&asked, "run/start", value_ref(params)), answers = answers_to(&asked, run);
    plugin_may_not(&asked, "run/answer", with_answers(run, answers), "t.delete");
    plugin_may_not(&asked, "thread/answer", with_answers(thread, answers), "run/resume");
    value_unref(run);
    /* The interrupts are not known before the thread is read. */
    run = start_take(&asked, "run/resume", with_answers(params, answers));
    fails_without_permission(&asked, run);
    value_unref(run);
    /* It can resume the thread when a person has answered. */
    value_unref(served_result_take(&asked.served, "thread/answer", with_answers(thread, answers)));
    run = start_take(&asked, "run/resume", value_ref(params));
    ends_as(&asked, run, "done");
    value_unref(run);
    value_unref(answers);
    value_unref(thread);
    value_unref(params);
    asked_close(&asked);
}

/* A run knows a question, and its thread was replaced by one that asks for approval with the same id. */
static void threads_are_read_again(void **state) {
    static const char config[] = "{\"config\":{\"thread_id\":\"t\"}}";
    struct asked asked;
    (void)state;
    asked_open(&asked, "store: {use: memory}\ntools: {approval: {\"node:test.ask\": ask}}\n", true);
    tn_value params = text_params(ASKS, config);
    tn_value first = start_take(&asked, "run/start", value_ref(params)), approval = answers_to(&asked, first);
    value_unref(served_result_take(&asked.served, "run/answer", with_answers(first, approval)));
    tn_value question = answers_to(&asked, first);
    assert_true(value_equal(question, approval));
    struct client *admin = served_client(&asked.served, "admin", METHOD_ADMIN);
    tn_value named = served_json("{\"thread_id\":\"t\"}");
    value_unref(served_call_as(&asked.served, admin, "thread/delete", named));
    tn_value second = start_take(&asked, "run/start", value_ref(params));
    ends_as(&asked, second, "interrupted");
    plugin_may(&asked, "run/answer", with_answers(first, question));
    fails_without_permission(&asked, first);
    value_unref(second);
    value_unref(question);
    value_unref(approval);
    value_unref(first);
    value_unref(params);
    asked_close(&asked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plugins_do_not_approve_tools), cmocka_unit_test(plugins_do_not_approve_nodes),
        cmocka_unit_test(plugins_answer_questions),     cmocka_unit_test(threads_do_not_help),
        cmocka_unit_test(threads_are_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * embed_component_test.c - components of a program that embeds the host: C functions as node types, tools, models and
 * reducers, and a plugin that is linked into the program (this one).
 *
 * Each test checks that no value leaked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/easy.h>
#include <tenon/embed.h>

#include "embed_helper.h"

#include "host/plugin/conformance/payload.h"

#define TEXT_OF(text) ((void *)(uintptr_t)(text))
#define WRONG_BY                                                                                                       \
    "version: \"1.0\"\nnodes: [{id: a, type: program.count, config: {by: x}}]\nedges: [{from: START, to: a}]\n"

TN_PLUGIN("program.words", "1.2.0", "Words, linked into a program")

TN_TOOL(shout, "words.shout", "Makes a text loud.", TN_PURE, (TEXT, text, "the text"), (TEXT_OR, end, "!", "its end")) {
    char loud[200];
    (void)snprintf(loud, sizeof(loud), "%s%s", args->text, args->end);
    return tn_done_text(task, loud);
}

TN_NODE(length, "words.length", "The length of an expression's text", TN_PURE, (EXPR, text, "the text"),
        (WRITE, to, "its length")) {
    tn_value text = tn_evaluate(task, config->text);
    uint64_t bytes = 0;
    if (text == NULL) return TN_FAILED;
    (void)tn_chars(text, &bytes);
    tn_release(text);
    return tn_done_written(task, tn_write_int(task, config->to, (int64_t)bytes));
}

/* A mistake: it never ends. */
TN_TOOL(forever, "words.forever", "Does not end.", TN_PURE, (TEXT_OR, text, "", "a text")) {
    (void)task, (void)args;
    return TN_OK;
}

/* ---- Functions ---- */

static int destroyed;
static void on_destroy(void *user) {
    (void)user;
    destroyed++;
}

static tn_value add(void *user, tenon_task *task, tn_value input, tn_value *error) {
    int64_t a = 0, b = 0;
    (void)user, (void)task, (void)error;
    (void)value_as_int(value_get(input, "a"), &a);
    (void)value_as_int(value_get(input, "b"), &b);
    return value_int(a + b);
}

/* Counts up by the number of its configuration, or of the item that it was sent. */
static tn_value count_up(void *user, tenon_task *task, tn_value state, tn_value *error) {
    int64_t count = 0, by = 1;
    (void)user, (void)error;
    (void)value_as_int(value_get(state, "count"), &count);
    (void)value_as_int(value_get(tenon_task_config(task), "by"), &by);
    if (tenon_task_item(task)) (void)value_as_int(tenon_task_item(task), &by);
    return value_set_take(value_object_reserve(1), "count", value_int(count + by));
}

static tn_value longest(void *user, tenon_task *task, tn_value input, tn_value *error) {
    size_t a = 0, b = 0;
    tn_value current = value_get(input, "current"), update = value_get(input, "update");
    (void)user, (void)task;
    if (!value_is(update, TN_STRING)) {
        *error = json("{\"code\": \"NO_TEXT\", \"message\": \"a text is expected\"}");
        return NULL;
    }
    if (value_is(current, TN_STRING)) (void)value_chars(current, &a);
    (void)value_chars(update, &b);
    return value_ref(b > a ? update : current);
}

/* Answers with the number of messages, in two pieces. */
static tn_value answer(void *user, tenon_task *task, tn_value input, tn_value *error) {
    (void)user, (void)error;
    tn_value pieces[] = {value_text("messages: "), value_format("%zu", value_count(value_get(input, "messages")))};
    tn_value whole = value_format("%s%s", value_chars(pieces[0], NULL), value_chars(pieces[1], NULL));
    for (int i = 0; i < 2; i++) {
        if (tenon_task_emit(task, pieces[i]) != TN_OK) whole = NULL;
        value_unref(pieces[i]);
    }
    return whole;
}

static tn_value nothing(void *user, tenon_task *task, tn_value input, tn_value *error) {
    (void)user, (void)task, (void)input, (void)error;
    return NULL;
}

static tn_value constant(void *user, tenon_task *task, tn_value input, tn_value *error) {
    (void)task, (void)input, (void)error;
    return json(user);
}

static void register_component(tenon *host, const char *kind, const char *id, const char *description,
                               tenon_component_function function, void *user) {
    tn_value value = description ? json(description) : NULL;
    if (tenon_register(host, kind, id, value, function, user, on_destroy) != TN_OK) fail_msg("%s", tenon_error(host));
    value_unref(value);
}

/* ---- Functions as components ---- */

static void a_tool_is_used_by_itself_and_in_documents(void **state) {
    (void)state;
    tenon *host = open_host();
    register_component(host, "tool", "calc.add",
                       "{\"title\": \"Adds\", \"effects\": [], \"input\": {\"type\": \"object\", \"properties\": "
                       "{\"a\": {\"type\": \"integer\"}, \"b\": {\"type\": \"integer\", \"default\": 2}},"
                       " \"required\": [\"a\"], \"additionalProperties\": false}}",
                       add, NULL);
    tenon_runnable *tool = tenon_component(host, "tool", "calc.add", NULL);
    expect_json(host, tool, "{\"a\": 1, \"b\": 4}", "5");
    assert_null(tenon_invoke_json(tool, "{\"a\": \"x\"}"));
    expect_error(host, "INVALID_INPUT", "calc.add");
    tenon_release(tool);
    tenon_runnable *graph = graph_of(
        host,
        "version: \"1.0\"\n"
        "channels: [{name: sum, type: last_value}]\n"
        "nodes: [{id: add, type: tool, config: {tool: calc.add, arguments: {a: \"40\", b: \"2\"}, output_key: sum}}]\n"
        "edges: [{from: START, to: add}, {from: add, to: END}]\n");
    expect_json(host, graph, "{}", "{\"sum\":42}");
    tenon_release(graph);
    tenon_close(host);
}

static void a_node_reads_the_state_and_writes(void **state) {
    (void)state;
    tenon *host = open_host();
    register_component(host, "node", "program.count",
                       "{\"effects\": [], \"config\": {\"type\": \"object\", \"properties\": {\"by\": {\"type\": "
                       "\"integer\", \"default\": 1}}, \"additionalProperties\": false}}",
                       count_up, NULL);
    tenon_runnable *graph =
        graph_of(host, "version: \"1.0\"\n"
                       "channels: [{name: count, type: last_value, default: 5}]\n"
                       "nodes: [{id: one, type: program.count}, {id: ten, type: program.count, config: {by: 10}}]\n"
                       "edges: [{from: START, to: one}, {from: one, to: ten}, {from: ten, to: END}]\n");
    expect_json(host, graph, "{}", "{\"count\":16}");
    tenon_release(graph);
    assert_null(tenon_graph_text(host, "wrong.yaml", WRONG_BY, strlen(WRONG_BY)));
    expect_error(host, "INVALID_GRAPH", "config.by");
    graph = graph_of(host, "version: \"1.0\"\n"
                           "channels: [{name: count, type: reduce, reducer: sum}]\n"
                           "nodes: [{id: all, type: program.count}]\n"
                           "edges: [{from: START, to: all, type: map, over: \"[1, 2, 3]\"}, {from: all, to: END}]\n");
    expect_json(host, graph, "{}", "{\"count\":6}");
    tenon_release(graph);
    tenon_close(host);
}

static void a_node_that_returns_no_object_fails(void **state) {
    (void)state;
    tenon *host = open_host();
    register_component(host, "node", "program.seven", NULL, constant, TEXT_OF("7"));
    register_component(host, "node", "program.null", NULL, constant, TEXT_OF("null"));
    register_component(host, "node", "program.nothing", NULL, nothing, NULL);
    static const char document[] = "version: \"1.0\"\nnodes: [{id: a, type: %s}]\nedges: [{from: START, to: a}]\n";
    static const struct {
        const char *type, *code, *part;
    } cases[] = {{"program.seven", "TYPE", "must return an object"},
                 {"program.nothing", "NODE_EXECUTION", "neither an output nor an error"},
                 {"program.null", NULL, NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[200];
        (void)snprintf(text, sizeof(text), document, cases[i].type);
        tenon_runnable *graph = graph_of(host, text);
        char *result = tenon_invoke_json(graph, "{}");
        if (cases[i].code)
            expect_error(host, cases[i].code, cases[i].part);
        else
            assert_string_equal(result, "{}");
        tenon_free(result);
        tenon_release(graph);
    }
    tenon_close(host);
}

static void a_reducer_merges_each_write(void **state) {
    (void)state;
    tenon *host = open_host();
    register_component(host, "reducer", "program.longest", "{\"effects\": []}", longest, NULL);
    tenon_runnable *graph = graph_of(host, "version: \"1.0\"\n"
                                           "channels: [{name: word, type: reduce, reducer: program.longest, default: "
                                           "\"it\"}, {name: other, type: last_value}]\n"
                                           "nodes: [{id: a, type: set, config: {values: {word: \"'longer'\"}}},"
                                           " {id: b, type: set, config: {values: {word: \"'the'\"}}}]\n"
                                           "edges: [{from: START, to: [a, b]}]\n");
    expect_json(host, graph, "{}", "{\"word\":\"longer\",\"other\":null}");
    assert_null(tenon_invoke_json(graph, "{\"word\": 1}"));
    expect_error(host, "CHANNEL", "its reducer failed: a text is expected");
    tenon_release(graph);
    tenon_close(host);
}

/* Emits chunks that are not deltas. */
static tn_value answer_with_noise(void *user, tenon_task *task, tn_value input, tn_value *error) {
    tn_value noise = json("{\"content\": 5}");
    (void)user, (void)input, (void)error;
    assert_int_equal(tenon_task_emit(task, noise), TN_INVALID);
    value_unref(noise);
    return value_text("answer");
}

/* Joins the deltas of the stream. */
static int32_t on_model_event(void *user, tn_value event) {
    struct buffer *text = user;
    tn_value content = value_get(value_get(event, "delta"), "content");
    if (content) buffer_text(text, value_chars(content, NULL));
    if (value_get(value_get(event, "delta"), "done")) buffer_text(text, ".");
    return 1;
}

static void a_model_answers_and_streams(void **state) {
    (void)state;
    tenon *host = open_host();
    struct buffer deltas;
    register_component(host, "model", "program.counter", NULL, answer, NULL);
    register_component(host, "model", "program.fixed", NULL, constant,
                       TEXT_OF("{\"message\": {\"type\": \"ai\", \"content\": \"fixed\"}}"));
    register_component(host, "model", "program.wrong", NULL, constant, TEXT_OF("[1]"));
    register_component(host, "model", "program.human", NULL, constant,
                       TEXT_OF("{\"type\": \"human\", \"content\": \"x\"}"));
    register_component(host, "model", "program.noise", NULL, answer_with_noise, NULL);
    static const char document[] =
        "version: \"1.0\"\nmodels: {default: \"%s\"}\nchannels: [{name: text, type: last_value}]\n"
        "nodes: [{id: ask, type: llm, config: {prompt: Hello, system_prompt: Be short., output_key: text}}]\n"
        "edges: [{from: START, to: ask}]\n";
    static const struct {
        const char *model, *output, *deltas, *part;
    } cases[] = {{"program.counter:small", "{\"text\":\"messages: 2\"}", "messages: 2.", NULL},
                 {"program.fixed", "{\"text\":\"fixed\"}", "fixed.", NULL},
                 {"program.wrong", NULL, "", "must return a text"},
                 {"program.human", NULL, "", "an answer that is not valid: at `/message"},
                 {"program.noise", NULL, "", "emitted a chunk that is not a delta: at `/content`"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[500];
        buffer_init(&deltas, 1000);
        (void)snprintf(text, sizeof(text), document, cases[i].model);
        tenon_runnable *graph = graph_of(host, text);
        tn_value result = tenon_stream(graph, NULL, NULL, "messages", on_model_event, &deltas);
        if (cases[i].output) {
            if (!result) fail_msg("%s", tenon_error(host));
            expect(result, cases[i].output);
        } else {
            expect_error(host, "INVALID_RESPONSE", cases[i].part);
        }
        assert_string_equal(buffer_cstr(&deltas), cases[i].deltas);
        buffer_finish(&deltas);
        tenon_release(graph);
    }
    tenon_close(host);
}

static tn_value emit_many(void *user, tenon_task *task, tn_value input, tn_value *error) {
    (void)user, (void)input, (void)error;
    for (int i = 0; i < 500; i++) {
        tn_value number = value_int(i);
        if (tenon_task_emit(task, number) != TN_OK) return NULL;
        value_unref(number);
    }
    tn_value context = tenon_task_context(task);
    bool known = value_is(value_get(context, "task_id"), TN_STRING) && tenon_task_cancelled(task) == 0;
    value_unref(context);
    return value_bool(known);
}

static int32_t on_number(void *user, tn_value event) {
    int64_t *next = user, number = -1;
    (void)value_as_int(value_get(event, "data"), &number);
    assert_int_equal(number, (*next)++);
    return 1;
}

static void a_function_streams_more_than_the_queue_has_room_for(void **state) {
    (void)state;
    tenon *host = open_host();
    register_component(host, "tool", "program.here", NULL, emit_many, NULL);
    register_component(host, "tool", "program.there", "{\"style\": \"blocking\"}", emit_many, NULL);
    for (int i = 0; i < 2; i++) {
        int64_t next = 0;
        tenon_runnable *tool = tenon_component(host, "tool", i ? "program.there" : "program.here", NULL);
        expect(tenon_stream(tool, NULL, NULL, "custom", on_number, &next), "true");
        assert_int_equal(next, 500);
        tenon_release(tool);
    }
    tenon_close(host);
}

static tn_value use_task_later(void *user, tenon_task *task, tn_value input, tn_value *error) {
    (void)user, (void)input, (void)error;
    assert_null(tenon_task_item(task));
    assert_int_equal(tenon_task_emit(task, NULL), TN_INVALID);
    assert_int_equal(tenon_task_emit(NULL, value_null()), TN_INVALID);
    assert_int_equal(tenon_task_cancelled(NULL), TN_INVALID);
    assert_null(tenon_task_config(NULL));
    assert_null(tenon_task_item(NULL));
    assert_null(tenon_task_context(NULL));
    return value_ref(tenon_task_config(task));
}

static void a_task_refuses_arguments_that_are_null(void **state) {
    (void)state;
    tenon *host = open_host();
    register_component(host, "tool", "program.task", NULL, use_task_later, NULL);
    tenon_runnable *tool = tenon_component(host, "tool", "program.task", NULL);
    expect_json(host, tool, "{}", "{}");
    tenon_release(tool);
    tenon_close(host);
}

/* Returns its input, and an error beside it. */
static tn_value both(void *user, tenon_task *task, tn_value input, tn_value *error) {
    (void)user, (void)task;
    *error = value_set_take(value_object_reserve(2), "code", value_format("CODE_%d", 1));
    return value_ref(input);
}

static void a_tool_without_input_receives_an_empty_object(void **state) {
    (void)state;
    tenon *host = open_host();
    register_component(host, "tool", "program.both", NULL, both, NULL);
    register_component(host, "tool", "program.waits", "{\"style\": \"blocking\"}", both, NULL);
    for (int i = 0; i < 2; i++) {
        tenon_runnable *tool = tenon_component(host, "tool", i ? "program.waits" : "program.both", NULL);
        expect_json(host, tool, NULL, "{}");
        expect_json(host, tool, "null", "{}");
        tenon_release(tool);
    }
    tenon_close(host);
}

/* ---- Refused registrations ---- */

static void a_mistake_in_a_registration_is_reported(void **state) {
    (void)state;
    char endless[5000] = "program.";
    memset(endless + 8, 'a', sizeof(endless) - 9);
    endless[sizeof(endless) - 1] = '\0';
    const struct {
        const char *kind, *id, *description, *code, *part;
    } cases[] = {
        {"nod", "program.a", NULL, "INVALID_INPUT", "did you mean `node`"},
        {NULL, "program.a", NULL, "INVALID_INPUT", "found the kind `NULL`"},
        {"store", "program.a", NULL, "INVALID_INPUT", "expected node, tool, model or reducer"},
        {"tool", NULL, NULL, "INVALID_INPUT", "the id is NULL"},
        {"tool", "\xff.a", NULL, "INVALID_INPUT", "not UTF-8"},
        {"tool", "add", NULL, "NAME_RESERVED", "without a dot"},
        {"tool", "tenon.add", NULL, "NAME_RESERVED", "`acme.add`"},
        {"tool", "program..a", NULL, "MANIFEST_INVALID", "program..a"},
        {"tool", "program.a", "[]", "INVALID_INPUT", "is array, expected an object"},
        {"tool", "program.a", "{\"inptu\": {}}", "MANIFEST_INVALID", "inptu"},
        {"tool", "program.a", "{\"input\": {\"type\": \"obect\"}}", "MANIFEST_INVALID", "input"},
        {"tool", "program.a", "{\"id\": \"program.b\"}", "INVALID_INPUT", "has `id`"},
        {"tool", "program.a", "{\"effects\": \"none\"}", "MANIFEST_INVALID", "effects"},
        {"tool", "program.a", "{\"style\": \"slow\"}", "MANIFEST_INVALID", "style"},
        {"tool", endless, NULL, "MANIFEST_INVALID", "component `program.aaaa"},
        {"reducer", "program.a", "{\"style\": \"blocking\"}", "INVALID_INPUT", "a reducer cannot be `blocking`"},
        {"tool", "program.taken", NULL, "PLUGIN_DUPLICATE", "`program.taken` exists already"},
        {"node", "program.taken", NULL, "PLUGIN_DUPLICATE", "as another kind"},
        {"tool", "words.shout", NULL, "PLUGIN_DUPLICATE", "in the plugin `program.words`"},
    };
    tenon *host = open_host();
    register_component(host, "tool", "program.taken", NULL, add, NULL);
    assert_int_equal(tenon_add_plugin(host, tn_plugin_entry_1, NULL), TN_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tn_value description = cases[i].description ? json(cases[i].description) : NULL;
        destroyed = 0;
        assert_int_not_equal(tenon_register(host, cases[i].kind, cases[i].id, description, add, NULL, on_destroy),
                             TN_OK);
        assert_int_equal(destroyed, 1);
        expect_error(host, cases[i].code, cases[i].part);
        value_unref(description);
    }
    assert_int_not_equal(tenon_register(host, "tool", "program.a", NULL, NULL, NULL, on_destroy), TN_OK);
    expect_error(host, "INVALID_INPUT", "the function of `program.a` is NULL");
    assert_int_not_equal(tenon_register(NULL, "tool", "program.a", NULL, add, NULL, on_destroy), TN_OK);
    assert_int_equal(destroyed, 3);
    tenon_close(host);
    assert_int_equal(destroyed, 4); /* program.taken */
}

/* ---- A linked plugin ---- */

static void expect_linked_plugin_works(tenon *host) {
    tenon_runnable *tool = tenon_component(host, "tool", "words.shout", NULL);
    if (!tool) fail_msg("%s", tenon_error(host));
    expect_json(host, tool, "{\"text\": \"hello\"}", "\"hello!\"");
    tenon_release(tool);
    tenon_runnable *graph =
        graph_of(host, "version: \"1.0\"\n"
                       "channels: [{name: word, type: last_value}, {name: size, type: last_value}]\n"
                       "nodes: [{id: a, type: words.length, config: {text: state.word, to: size}}]\n"
                       "edges: [{from: START, to: a}]\n");
    expect_json(host, graph, "{\"word\": \"seven\"}", "{\"word\":\"seven\",\"size\":5}");
    tenon_release(graph);
}

static void a_linked_plugin_belongs_to_one_host_at_a_time(void **state) {
    (void)state;
    tenon *host = open_host(), *other = open_host();
    assert_int_equal(tenon_add_plugin(host, tn_plugin_entry_1, NULL), TN_OK);
    expect_linked_plugin_works(host);
    assert_int_not_equal(tenon_add_plugin(host, tn_plugin_entry_1, NULL), TN_OK);
    expect_error(host, "PLUGIN_DUPLICATE", "the plugin `program.words` exists already");
    assert_int_equal(tenon_add_plugin(other, tn_plugin_entry_1, NULL), TN_OK);
    assert_null(tenon_component(other, "tool", "words.shout", NULL));
    expect_error(other, "PLUGIN_REFUSED", "another host of the program uses it");
    tenon_close(host);
    tenon_close(other);
    other = open_host();
    assert_int_equal(tenon_add_plugin(other, tn_plugin_entry_1, NULL), TN_OK);
    expect_linked_plugin_works(other);
    tenon_close(other);
}

static const tn_plugin *TN_ABI declining_entry(const tn_host *host) {
    (void)host;
    return NULL;
}

static void a_mistake_in_a_linked_plugin_is_reported(void **state) {
    (void)state;
    static const struct {
        const char *manifest, *code, *part;
    } cases[] = {
        {"[]", "INVALID_INPUT", "expected an object"},
        {"{}", "MANIFEST_INVALID", "`plugin` is missing"},
        {"{\"plugin\": {\"id\": \"tenon.mine\", \"version\": \"1.0.0\", \"title\": \"T\"}}", "NAME_RESERVED",
         "tenon.mine"},
        {"{\"plugin\": {\"id\": \"my.plugin\", \"version\": \"1.0.0\", \"title\": \"T\"}, \"components\": [{\"kind\": "
         "\"tool\", \"id\": \"mine\", \"title\": \"T\", \"style\": \"async\", \"input\": {\"type\": \"object\"}}]}",
         "NAME_RESERVED", "without a dot"},
    };
    tenon *host = open_host();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tn_value manifest = json(cases[i].manifest);
        assert_int_not_equal(tenon_add_plugin(host, declining_entry, manifest), TN_OK);
        expect_error(host, cases[i].code, cases[i].part);
        value_unref(manifest);
    }
    assert_int_not_equal(tenon_add_plugin(host, NULL, NULL), TN_OK);
    expect_error(host, "INVALID_INPUT", "entry is NULL");
    tn_value manifest = json(
        "{\"plugin\": {\"id\": \"my.plugin\", \"version\": \"1.0.0\", \"title\": \"T\"}, \"components\": [{\"kind\": "
        "\"tool\", \"id\": \"my.tool\", \"title\": \"T\", \"style\": \"async\", \"input\": {\"type\": \"object\"}}]}");
    assert_int_equal(tenon_add_plugin(host, declining_entry, manifest), TN_OK);
    value_unref(manifest);
    assert_null(tenon_component(host, "tool", "my.tool", NULL));
    expect_error(host, "PLUGIN_REFUSED", "declined");
    tenon_close(host);
}

/* The last test: afterwards this process cannot use the plugin. */
static void a_task_that_does_not_end_keeps_its_linked_plugin(void **state) {
    (void)state;
    tenon *host = open_host();
    assert_int_equal(tenon_add_plugin(host, tn_plugin_entry_1, NULL), TN_OK);
    tenon_runnable *tool = tenon_component(host, "tool", "words.forever", NULL);
    if (!tool) fail_msg("%s", tenon_error(host));
    tenon_run *run = tenon_start(tool, NULL, NULL);
    assert_int_equal(tenon_run_wait(run, 10), TN_AGAIN);
    tenon_run_release(run);
    tenon_release(tool);
    assert_int_equal(tenon_close(host), TN_OK);
    host = open_host();
    assert_int_equal(tenon_add_plugin(host, tn_plugin_entry_1, NULL), TN_OK);
    assert_null(tenon_component(host, "tool", "words.forever", NULL));
    expect_error(host, "PLUGIN_REFUSED", "a task of it had not ended when the host that used it was closed");
    tenon_close(host);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, count_values_before, expect_no_value_leaked)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(a_tool_is_used_by_itself_and_in_documents),
                                       TEST(a_node_reads_the_state_and_writes),
                                       TEST(a_node_that_returns_no_object_fails),
                                       TEST(a_reducer_merges_each_write),
                                       TEST(a_model_answers_and_streams),
                                       TEST(a_function_streams_more_than_the_queue_has_room_for),
                                       TEST(a_task_refuses_arguments_that_are_null),
                                       TEST(a_tool_without_input_receives_an_empty_object),
                                       TEST(a_mistake_in_a_registration_is_reported),
                                       TEST(a_linked_plugin_belongs_to_one_host_at_a_time),
                                       TEST(a_mistake_in_a_linked_plugin_is_reported),
                                       TEST(a_task_that_does_not_end_keeps_its_linked_plugin)};
    mem_free(payload_check("model#output", NULL)); /* compiles the shapes, which stay in memory */
    mem_free(payload_check("model#chunk", NULL));
    return cmocka_run_group_tests(tests, NULL, NULL);
}

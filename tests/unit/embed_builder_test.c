/*
 * embed_builder_test.c - graphs that a program builds by calls: joins, map edges, routes, settings of nodes, sections
 * of the document, and the document that comes of it.
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

#include "embed_helper.h"

static void add_node(tenon *host, tenon_builder *builder, const char *id, const char *type, const char *config) {
    tn_value value = config ? json(config) : NULL;
    if (tenon_add_node(builder, id, type, value) != TN_OK) fail_msg("%s", tenon_error(host));
    value_unref(value);
}

static void set_node(tenon *host, tenon_builder *builder, const char *id, const char *members) {
    tn_value value = json(members);
    if (tenon_set_node(builder, id, value) != TN_OK) fail_msg("%s", tenon_error(host));
    value_unref(value);
}

static tenon_runnable *compile(tenon *host, tenon_builder *builder) {
    tenon_runnable *graph = tenon_compile(builder);
    if (!graph) fail_msg("%s", tenon_error(host));
    tenon_builder_free(builder);
    return graph;
}

/* ---- Edges ---- */

static void a_join_waits_for_all_of_its_sources(void **state) {
    (void)state;
    static const char *const both[] = {"slow", "quick"};
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "join");
    tn_value zero = value_int(0);
    assert_int_equal(tenon_add_channel(builder, "seen", "append", NULL), TN_OK);
    assert_int_equal(tenon_add_channel(builder, "joined", "reduce:sum", zero), TN_OK);
    add_node(host, builder, "first", "passthrough", NULL);
    add_node(host, builder, "slow", "set", "{\"values\": {\"seen\": \"'slow'\"}}");
    add_node(host, builder, "quick", "set", "{\"values\": {\"seen\": \"'quick'\"}}");
    add_node(host, builder, "last", "set", "{\"values\": {\"joined\": \"1\"}}");
    assert_int_equal(tenon_set_entry_point(builder, "first"), TN_OK);
    assert_int_equal(tenon_set_entry_point(builder, "quick"), TN_OK);
    assert_int_equal(tenon_add_edge(builder, "first", "slow"), TN_OK);
    assert_int_equal(tenon_add_join(builder, both, 2, "last"), TN_OK);
    assert_int_equal(tenon_set_finish_point(builder, "last"), TN_OK);
    tenon_runnable *graph = compile(host, builder);
    expect_json(host, graph, "{}", "{\"seen\":[\"quick\",\"slow\"],\"joined\":1}");
    tenon_release(graph);
    tenon_close(host);
}

static void a_map_edge_starts_a_task_for_each_item(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "map");
    assert_int_equal(tenon_add_channel(builder, "words", "last_value", NULL), TN_OK);
    assert_int_equal(tenon_add_channel(builder, "sizes", "append", NULL), TN_OK);
    add_node(host, builder, "size", "set", "{\"values\": {\"sizes\": \"size(state.word) + size(item)\"}}");
    add_node(host, builder, "none", "set", "{\"values\": {\"sizes\": \"-1\"}}");
    assert_int_equal(tenon_add_map_edge(builder, TENON_START, "state.words", "word", "size", "none"), TN_OK);
    assert_int_equal(tenon_set_finish_point(builder, "size"), TN_OK);
    assert_int_equal(tenon_set_finish_point(builder, "none"), TN_OK);
    tenon_runnable *graph = compile(host, builder);
    expect_json(host, graph, "{\"words\": [\"a\", \"bcd\"]}", "{\"words\":[\"a\",\"bcd\"],\"sizes\":[2,6]}");
    expect_json(host, graph, "{\"words\": []}", "{\"words\":[],\"sizes\":[-1]}");
    tenon_release(graph);
    tenon_close(host);
}

/* Names the node of `choice`, or what else it has. */
static tn_value choose(void *user, tn_value state, tn_value *error) {
    (void)user, (void)error;
    return value_ref(value_get(state, "choice"));
}

static void a_route_function_names_what_follows(void **state) {
    (void)state;
    static const char *const targets[] = {"left", "right", TENON_END};
    static const struct {
        const char *choice, *output, *part;
    } cases[] = {{"\"left\"", "{\"choice\":\"left\",\"went\":[\"left\"]}", NULL},
                 {"[\"right\", \"left\"]", "{\"choice\":[\"right\",\"left\"],\"went\":[\"left\",\"right\"]}", NULL},
                 {"\"END\"", "{\"choice\":\"END\",\"went\":[]}", NULL},
                 {"\"up\"", NULL, "returned `up`, expected one of its targets: `left`, `right`, `__end__`"},
                 {"\"ask\"", NULL, "returned `ask`, expected one of its targets"},
                 {"[\"left\", \"ask\"]", NULL, "returned `ask`, expected one of its targets"},
                 {"[\"left\", 1]", NULL, "returned a list with int, expected one of its targets"},
                 {"7", NULL, "must return the name of a node"}};
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "route");
    assert_int_equal(tenon_add_channel(builder, "choice", "last_value", NULL), TN_OK);
    assert_int_equal(tenon_add_channel(builder, "went", "append", NULL), TN_OK);
    add_node(host, builder, "ask", "passthrough", NULL);
    add_node(host, builder, "left", "set", "{\"values\": {\"went\": \"'left'\"}}");
    add_node(host, builder, "right", "set", "{\"values\": {\"went\": \"'right'\"}}");
    assert_int_equal(tenon_set_entry_point(builder, "ask"), TN_OK);
    assert_int_equal(tenon_add_route(builder, "ask", choose, NULL, targets, 3), TN_OK);
    tenon_runnable *graph = compile(host, builder);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char input[100];
        (void)snprintf(input, sizeof(input), "{\"choice\": %s}", cases[i].choice);
        if (cases[i].output) {
            expect_json(host, graph, input, cases[i].output);
            continue;
        }
        assert_null(tenon_invoke_json(graph, input));
        if (!strstr(tenon_error(host), cases[i].part)) fail_msg("%s", tenon_error(host));
    }
    tenon_release(graph);
    tenon_close(host);
}

static void a_route_can_start_a_graph(void **state) {
    (void)state;
    static const char *const targets[] = {"left"};
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "route");
    assert_int_equal(tenon_add_channel(builder, "choice", "last_value", NULL), TN_OK);
    add_node(host, builder, "left", "set", "{\"values\": {\"choice\": \"'done'\"}}");
    assert_int_equal(tenon_add_route(builder, TENON_START, choose, NULL, targets, 1), TN_OK);
    tenon_runnable *graph = compile(host, builder);
    expect_json(host, graph, "{\"choice\": \"left\"}", "{\"choice\":\"done\"}");
    tenon_release(graph);
    tenon_close(host);
}

/* ---- Settings of nodes ---- */

/* Fails until the third call. */
static tn_value fail_twice(void *user, tn_value input, tn_value *error) {
    int *calls = user;
    (void)input;
    if (++*calls >= 3) return value_set_take(value_object(), "calls", value_int(*calls));
    *error = json("{\"code\": \"BUSY\", \"message\": \"not yet\", \"retryable\": true}");
    return NULL;
}

static void a_node_is_retried(void **state) {
    (void)state;
    int calls = 0;
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "retry");
    tenon_runnable *function = tenon_lambda(host, fail_twice, &calls);
    assert_int_equal(tenon_add_channel(builder, "calls", "last_value", NULL), TN_OK);
    assert_int_equal(tenon_add_node_runnable(builder, "work", function), TN_OK);
    set_node(host, builder, "work", "{\"retry\": {\"max_attempts\": 3, \"initial\": \"1ms\"}}");
    assert_int_equal(tenon_set_entry_point(builder, "work"), TN_OK);
    tenon_runnable *graph = compile(host, builder);
    tenon_release(function);
    expect_json(host, graph, "{}", "{\"calls\":3}");
    tenon_release(graph);
    tenon_close(host);
}

static tn_value count_calls(void *user, tn_value input, tn_value *error) {
    int *calls = user;
    (void)input, (void)error;
    return value_set_take(value_object(), "calls", value_int(++*calls));
}

static void a_node_is_cached(void **state) {
    (void)state;
    int calls = 0;
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "cache");
    tenon_runnable *function = tenon_lambda(host, count_calls, &calls);
    assert_int_equal(tenon_add_channel(builder, "key", "last_value", NULL), TN_OK);
    assert_int_equal(tenon_add_channel(builder, "calls", "last_value", NULL), TN_OK);
    assert_int_equal(tenon_add_node_runnable(builder, "work", function), TN_OK);
    set_node(host, builder, "work", "{\"cache\": {\"ttl\": \"1h\"}}");
    assert_int_equal(tenon_set_entry_point(builder, "work"), TN_OK);
    tenon_runnable *graph = compile(host, builder);
    tenon_release(function);
    expect_json(host, graph, "{\"key\": 1}", "{\"key\":1,\"calls\":1}");
    expect_json(host, graph, "{\"key\": 1}", "{\"key\":1,\"calls\":1}");
    expect_json(host, graph, "{\"key\": 2}", "{\"key\":2,\"calls\":2}");
    tenon_release(graph);
    tenon_close(host);
}

static void a_node_times_out_and_another_one_follows(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "timeout");
    assert_int_equal(tenon_add_channel(builder, "code", "last_value", NULL), TN_OK);
    add_node(host, builder, "wait", "delay", "{\"ms\": 600000}");
    add_node(host, builder, "after", "set", "{\"values\": {\"code\": \"state.error[0].code\"}}");
    set_node(host, builder, "wait", "{\"timeout\": \"10ms\", \"on_error\": {\"to\": \"after\"}}");
    assert_int_equal(tenon_set_entry_point(builder, "wait"), TN_OK);
    tenon_runnable *graph = compile(host, builder);
    tn_value result = tenon_invoke(graph, NULL, NULL);
    if (!result) fail_msg("%s", tenon_error(host));
    assert_true(value_text_is(value_get(result, "code"), "TIMEOUT"));
    value_unref(result);
    tenon_release(graph);
    tenon_close(host);
}

static void a_node_is_interrupted(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "interrupt");
    add_node(host, builder, "work", "passthrough", NULL);
    set_node(host, builder, "work", "{\"interrupt\": \"before\"}");
    assert_int_equal(tenon_set_entry_point(builder, "work"), TN_OK);
    tenon_runnable *graph = compile(host, builder);
    assert_null(tenon_invoke_json(graph, "{}"));
    expect_error(host, "INTERRUPTED", "");
    tenon_release(graph);
    tenon_close(host);
}

/* ---- Sections ---- */

static void roles_and_tools_are_those_of_a_document(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "models");
    tn_value binding = json("{\"provider\": \"scripted\", \"replies\": [\"well\"]}"),
             ask = json("{\"approval\": \"ask\"}");
    assert_int_equal(tenon_add_model(builder, "writer", binding), TN_OK);
    assert_int_equal(tenon_add_tool(builder, "calc.*", ask), TN_OK);
    assert_int_equal(tenon_add_tool(builder, "text.*", NULL), TN_OK);
    assert_int_equal(tenon_add_channel(builder, "answer", "last_value", NULL), TN_OK);
    add_node(host, builder, "ask", "llm", "{\"model\": \"writer\", \"prompt\": \"How?\", \"output_key\": \"answer\"}");
    assert_int_equal(tenon_set_entry_point(builder, "ask"), TN_OK);
    tn_value output = json("{\"type\": \"object\", \"properties\": {\"answer\": {}}}"),
             agent = json("{\"recursion_limit\": 3}");
    assert_int_equal(tenon_builder_set(builder, "output", output), TN_OK);
    assert_int_equal(tenon_builder_set(builder, "agent", agent), TN_OK);
    expect(tenon_builder_document(builder),
           "{\"version\":\"1.0\",\"agent\":{\"recursion_limit\":3,\"name\":\"models\"},"
           "\"models\":{\"writer\":{\"provider\":\"scripted\",\"replies\":[\"well\"]}},"
           "\"tools\":[{\"approval\":\"ask\",\"name\":\"calc.*\"},{\"name\":\"text.*\"}],"
           "\"output\":{\"type\":\"object\",\"properties\":{\"answer\":{}}},"
           "\"channels\":[{\"name\":\"answer\",\"type\":\"last_value\"}],"
           "\"nodes\":[{\"id\":\"ask\",\"type\":\"llm\",\"config\":{\"model\":\"writer\",\"prompt\":\"How?\","
           "\"output_key\":\"answer\"}}],\"edges\":[{\"from\":\"__start__\",\"to\":\"ask\"}]}");
    tn_value parts[] = {binding, ask, output, agent};
    for (int i = 0; i < 4; i++) value_unref(parts[i]);
    tenon_runnable *graph = compile(host, builder);
    expect_json(host, graph, "{}", "{\"answer\":\"well\"}");
    tenon_release(graph);
    tenon_close(host);
}

static void a_built_document_can_be_saved_and_read(void **state) {
    (void)state;
    static const char *const items[][2] = {
        {"channels",
         "{\"name\": \"n\", \"type\": \"last_value\", \"default\": 1, \"schema\": {\"type\": \"integer\"}}"},
        {"nodes", "{\"id\": \"twice\", \"type\": \"set\", \"config\": {\"values\": {\"n\": \"state.n * 2\"}}}"},
        {"edges", "{\"from\": \"START\", \"to\": \"twice\"}"}};
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "saved");
    for (size_t i = 0; i < 3; i++) {
        tn_value item = json(items[i][1]);
        assert_int_equal(tenon_builder_add(builder, items[i][0], item), TN_OK);
        value_unref(item);
    }
    tn_value document = tenon_builder_document(builder);
    char *text = json_text(document, JSON_INDENTED);
    value_unref(document);
    tenon_runnable *graph = compile(host, builder), *read = graph_of(host, text);
    mem_free(text);
    expect_json(host, graph, "{}", "{\"n\":2}");
    expect_json(host, read, "{\"n\": 4}", "{\"n\":8}");
    tenon_release(graph);
    tenon_release(read);
    tenon_close(host);
}

/* ---- Mistakes ---- */

static void mistakes_of_calls_name_their_subject(void **state) {
    (void)state;
    static const char *const names[] = {"a", NULL};
    static const char *const wrong[] = {"a", "\xff"};
    tenon *host = open_host();
    tenon_builder *builder = tenon_builder_new(host, "mistakes");
    tn_value list = value_array(), number = value_int(1), object = json("{\"id\": \"b\"}");
#define REFUSED(call, part)                                                                                            \
    do {                                                                                                               \
        assert_int_not_equal(call, TN_OK);                                                                             \
        expect_error(host, "INVALID_INPUT", part);                                                                     \
    } while (0)
    assert_int_equal(tenon_add_channel(builder, "c", "last_value", NULL), TN_OK);
    add_node(host, builder, "a", "passthrough", NULL);
    REFUSED(tenon_add_channel(builder, "c", "append", NULL), "the channel `c` already");
    REFUSED(tenon_add_node(builder, "a", "set", NULL), "the node `a` already");
    REFUSED(tenon_add_node(builder, "b", NULL, NULL), "type is NULL");
    REFUSED(tenon_set_node(builder, "b", object), "no node `b`");
    REFUSED(tenon_set_node(builder, NULL, object), "no node `NULL`");
    REFUSED(tenon_set_node(builder, "a", NULL), "the members of the node `a` are NULL");
    REFUSED(tenon_set_node(builder, "a", list), "the members of the node `a` are array");
    REFUSED(tenon_set_node(builder, "a", object), "the id of the node `a`");
    REFUSED(tenon_add_join(builder, NULL, 2, "a"), "the join to `a`: the list of its sources is NULL");
    REFUSED(tenon_add_join(builder, names, 0, "a"), "is empty");
    REFUSED(tenon_add_join(builder, names, 2, "a"), "the join to `a`: sources 1 is NULL");
    REFUSED(tenon_add_join(builder, wrong, 2, "a"), "sources 1 is not UTF-8");
    REFUSED(tenon_add_join(builder, names, 1, NULL), "target is NULL");
    REFUSED(tenon_add_map_edge(builder, "a", NULL, NULL, "a", NULL), "`over` is NULL");
    REFUSED(tenon_add_map_edge(builder, "a", "[]", "\xff", "a", NULL), "items is not UTF-8");
    REFUSED(tenon_add_map_edge(builder, NULL, "[]", NULL, "a", NULL), "source is NULL");
    REFUSED(tenon_add_route(builder, "a", NULL, NULL, names, 1), "the route after `a`: its function is NULL");
    REFUSED(tenon_add_route(builder, "a", choose, NULL, NULL, 1),
            "the route after `a`: the list of its targets is NULL");
    REFUSED(tenon_add_route(builder, NULL, choose, NULL, names, 1), "source is NULL");
    REFUSED(tenon_add_model(builder, NULL, number), "role is NULL");
    REFUSED(tenon_add_model(builder, "r", NULL), "the model of the role `r` is NULL");
    REFUSED(tenon_add_tool(builder, "t", number), "the options of the tool `t`");
    REFUSED(tenon_add_tool(builder, NULL, NULL), "name is NULL");
    REFUSED(tenon_builder_set(builder, "modles", list), "did you mean `models`");
    REFUSED(tenon_builder_set(builder, NULL, list), "name is NULL");
    REFUSED(tenon_builder_set(builder, "models", NULL), "value is NULL");
    REFUSED(tenon_builder_add(builder, "tools", object), "expected channels, nodes or edges");
    REFUSED(tenon_builder_add(builder, NULL, object), "name is NULL");
    REFUSED(tenon_builder_add(builder, "edges", NULL), "an item of `edges` is NULL");
    REFUSED(tenon_builder_add(builder, "nodes", list), "an item of `nodes` is array");
    assert_int_equal(tenon_builder_add(builder, "nodes", object), TN_OK);
    REFUSED(tenon_builder_add(builder, "nodes", object), "the node `b` already");
    assert_int_equal(tenon_builder_set(builder, "models", number), TN_OK);
    REFUSED(tenon_add_model(builder, "r", number), "is not an object");
    assert_null(tenon_builder_document(NULL));
    assert_null(tenon_compile(NULL));
    assert_null(tenon_compile(builder)); /* `models` is a number, and the node `b` has no type */
    expect_error(host, "INVALID_GRAPH", "mistakes.json");
    expect_error(host, "INVALID_GRAPH", "in the section `models`");
    tenon_builder_free(builder);
    value_unref(object);
    (void)tenon_identity(NULL); /* replaces the error of this thread, which may have a value */
    tenon_close(host);
}

/* What only the whole graph shows is reported for the node that the call has named. */
static void mistakes_of_the_graph_name_the_node(void **state) {
    (void)state;
    tenon *host = open_host();
    for (int mistake = 0; mistake < 6; mistake++) {
        static const char *const targets[] = {"nowhere"}, *const sources[] = {"a", "absent"};
        static const char *const parts[] = {"`nowhere` [ADL-E035]; in the node `b.route`",
                                            "in the edge from `a`, `absent` to `b`",
                                            "in the node `b`",
                                            "in the edge from `a` to `b`",
                                            "in the node `a`",
                                            "in the tool `no.tool`"};
        tenon_builder *builder = tenon_builder_new(host, "mistake");
        add_node(host, builder, "a", mistake == 4 ? "set" : "passthrough",
                 mistake == 4 ? "{\"values\": {\"nochannel\": \"1\"}}" : NULL);
        add_node(host, builder, "b", "passthrough", NULL);
        (void)tenon_set_entry_point(builder, "a");
        (void)tenon_add_edge(builder, "a", "b");
        if (mistake == 0) assert_int_equal(tenon_add_route(builder, "b", choose, NULL, targets, 1), TN_OK);
        if (mistake == 1) assert_int_equal(tenon_add_join(builder, sources, 2, "b"), TN_OK);
        if (mistake == 5) assert_int_equal(tenon_add_tool(builder, "no.tool", NULL), TN_OK);
        if (mistake == 2) set_node(host, builder, "b", "{\"retry\": 3}");
        if (mistake == 3) assert_int_equal(tenon_add_map_edge(builder, "a", "state.nolist", NULL, "b", NULL), TN_OK);
        assert_null(tenon_compile(builder));
        if (!strstr(tenon_error(host), parts[mistake])) fail_msg("%d: %s", mistake, tenon_error(host));
        tenon_builder_free(builder);
    }
    tenon_close(host);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, count_values_before, expect_no_value_leaked)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(a_join_waits_for_all_of_its_sources),
                                       TEST(a_map_edge_starts_a_task_for_each_item),
                                       TEST(a_route_function_names_what_follows),
                                       TEST(a_route_can_start_a_graph),
                                       TEST(a_node_is_retried),
                                       TEST(a_node_is_cached),
                                       TEST(a_node_times_out_and_another_one_follows),
                                       TEST(a_node_is_interrupted),
                                       TEST(roles_and_tools_are_those_of_a_document),
                                       TEST(a_built_document_can_be_saved_and_read),
                                       TEST(mistakes_of_calls_name_their_subject),
                                       TEST(mistakes_of_the_graph_name_the_node)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * embed_compose_test.c - components by themselves, every bundled node type among them, and pipes whose stages must fit.
 *
 * Each test checks that no value leaked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "embed_helper.h"

#include "adl/document/catalog.h"
#include "host/assembly/host.h"
#include "host/embed/embed_internal.h"

static tenon_runnable *component(tenon *host, const char *kind, const char *id, const char *config) {
    tn_value value = config ? json(config) : NULL;
    tenon_runnable *made = tenon_component(host, kind, id, value);
    value_unref(value);
    if (!made) fail_msg("%s `%s`: %s", kind, id, tenon_error(host));
    return made;
}

/* ---- Nodes by themselves ---- */

#define CALLS                                                                                                          \
    "[{\"type\": \"ai\", \"content\": \"\", \"tool_calls\": [{\"id\": \"1\", \"name\": \"program.add\", "              \
    "\"arguments\": {\"a\": 1, "                                                                                       \
    "\"b\": 2}}]}]"

/* Every bundled node type, with a config, an input, and the output or a part of the error. */
static const struct {
    const char *type, *config, *input, *output, *error;
} nodes[] = {
    {"agent", "{\"model\": \"scripted\", \"prompt\": \"Say {word}\", \"output_key\": \"answer\"}", "{\"word\": \"so\"}",
     "{\"answer\":\"Say so\"}", NULL},
    {"ask", "{\"question\": \"Who?\", \"output_key\": \"who\"}", "{}", NULL, "interrupt"},
    {"delegate", "{\"select\": \"'a'\", \"documents\": \"{}\", \"output_key\": \"r\"}", "{}", NULL, "`a`"},
    {"deep_research", "{\"input_key\": \"question\", \"output_key\": \"report\"}", "{\"question\": \"Why?\"}", NULL,
     "has no key"},
    {"delay", "{\"ms\": 0}", "{\"kept\": [1]}", "{\"kept\":[1]}", NULL},
    {"embed", "{\"model\": \"scripted\", \"dimensions\": 1, \"input_key\": \"a\", \"output_key\": \"b\"}",
     "{\"a\": \"x\"}", "{\"b\":[-1.0]}", NULL},
    {"emit", "{\"value\": \"state.a\"}", "{\"a\": 1, \"b\": 2}", "{\"a\":1,\"b\":2}", NULL},
    {"fail", "{\"message\": \"It is {what}.\", \"code\": \"BAD\"}", "{\"what\": \"bad\"}", NULL, "It is bad."},
    {"llm", "{\"model\": \"scripted\", \"prompt\": \"Hello {name}\", \"output_key\": \"text\"}", "{\"name\": \"Ada\"}",
     "{\"text\":\"Hello Ada\"}", NULL},
    {"map_reduce",
     "{\"over_key\": \"list\", \"map_prompt\": \"<{item}{mark}>\", \"reduce_prompt\": \"{results}\", \"model\": "
     "\"scripted\", \"output_key\": \"all\"}",
     "{\"list\": [\"a\", \"b\"], \"mark\": \"!\"}", "{\"all\":\"1. <a!>\\n2. <b!>\"}", NULL},
    {"map_reduce.batch",
     "{\"from_key\": \"made\", \"taken_key\": \"taken\", \"prompt_key\": \"prompt\", \"batches_key\": \"batches\", "
     "\"output_key\": \"answer\"}",
     "{\"made\": [\"x\"], \"taken\": 0, \"prompt\": \"p\"}", "{\"taken\":1,\"batches\":[\"p\"],\"answer\":null}", NULL},
    {"mcp.connect", "{\"disconnect\": [\"none\"], \"output_key\": \"servers\"}", NULL, NULL,
     "denied: it starts programs"}, /* when it is made */
    {"parse", "{\"input_key\": \"text\", \"output_key\": \"value\"}", "{\"text\": \"[1, 2]\"}", "{\"value\":[1,2]}",
     NULL},
    {"passthrough", NULL, "{\"kept\": true}", "{\"kept\":true}", NULL},
    {"prompt", "{\"template\": \"About {topic}.\", \"output_key\": \"question\"}",
     "{\"topic\": \"ants\", \"other\": 1}", "{\"question\":\"About ants.\"}", NULL},
    {"router",
     "{\"model\": \"scripted\", \"prompt\": \"{word}\", \"targets\": {\"left\": \"L\", \"right\": \"R\"}, "
     "\"output_key\": "
     "\"way\"}",
     "{\"word\": \"{\\\"route\\\": \\\"right\\\"}\"}", "{\"way\":\"right\",\"goto\":\"right\"}", NULL},
    {"set", "{\"values\": {\"sum\": \"state.a + state.b\"}}", "{\"a\": 1, \"b\": 2}", "{\"sum\":3}", NULL},
    {"subgraph",
     "{\"document\": \"tenon:hello\", \"input\": {\"who\": \"name\"}, \"output\": {\"greeting\": \"text\"}}",
     "{\"who\": \"Ada\"}", "{\"text\":\"Hello, Ada!\"}", NULL},
    {"tool", "{\"tool\": \"program.add\", \"arguments\": {\"a\": \"state.n\", \"b\": 2}, \"output_key\": \"sum\"}",
     "{\"n\": 40}", "{\"sum\":42}", NULL},
    {"tools", "{\"tools\": [\"program.*\"]}", "{\"messages\": " CALLS "}",
     "{\"messages\":[{\"type\":\"tool\",\"content\":\"3\",\"tool_call_id\":\"1\",\"name\":\"program.add\"}]}", NULL},
    {"transform", "{\"mapping\": {\"new\": \"old\"}}", "{\"old\": 7}", "{\"new\":7}", NULL},
    {"trim", "{\"messages_key\": \"talk\", \"last\": 1, \"output_key\": \"short\"}",
     "{\"talk\": [{\"type\": \"user\", \"content\": \"a\"}, {\"type\": \"user\", \"content\": \"b\"}]}",
     "{\"short\":[{\"type\":\"user\",\"content\":\"b\"}]}", NULL},
};

static tn_value add(void *user, tenon_task *task, tn_value input, tn_value *error) {
    int64_t a = 0, b = 0;
    (void)user, (void)task, (void)error;
    (void)value_as_int(value_get(input, "a"), &a);
    (void)value_as_int(value_get(input, "b"), &b);
    return value_int(a + b);
}

static tenon *open_host_with_tool(void) {
    tenon *host = open_host();
    tn_value description = json("{\"effects\": []}");
    assert_int_equal(tenon_register(host, "tool", "program.add", description, add, NULL, NULL), TN_OK);
    value_unref(description);
    return host;
}

static void a_node_of_each_type_runs_by_itself(void **state) {
    (void)state;
    tenon *host = open_host_with_tool();
    for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
        if (!nodes[i].input) {
            tn_value config = json(nodes[i].config);
            assert_null(tenon_component(host, "node", nodes[i].type, config));
            assert_non_null(strstr(tenon_error(host), nodes[i].error));
            value_unref(config);
            continue;
        }
        tenon_runnable *node = component(host, "node", nodes[i].type, nodes[i].config);
        char *found = tenon_invoke_json(node, nodes[i].input);
        if (nodes[i].output) {
            if (!found) fail_msg("%s: %s", nodes[i].type, tenon_error(host));
            assert_string_equal(found, nodes[i].output);
        } else if (found || !strstr(tenon_error(host), nodes[i].error)) {
            fail_msg("%s: %s", nodes[i].type, found ? found : tenon_error(host));
        }
        tenon_free(found);
        tenon_release(node);
    }
    tenon_close(host);
}

static bool on_component(void *user, const struct component_info *info) {
    (void)user;
    if (strncmp(info->plugin_id, "tenon.", 6) != 0) return true;
    for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
        if (strcmp(nodes[i].type, info->id) == 0) return true;
    fail_msg("the node type `%s` is not in the table", info->id);
    return false;
}

static void every_bundled_node_type_is_tested(void **state) {
    (void)state;
    tenon *host = open_host();
    const struct catalog *catalog = host_catalog(host->host);
    catalog->each(catalog->self, "node", on_component, NULL);
    tenon_close(host);
}

/* Counts the events of each kind. */
static int32_t on_event(void *user, tn_value event) {
    int *tokens = user;
    *tokens += value_get(value_get(event, "delta"), "content") != NULL;
    return 1;
}

static void a_node_by_itself_is_a_graph(void **state) {
    (void)state;
    tenon *host = open_host();
    int tokens = 0;
    tenon_runnable *node = component(host, "node", "llm", "{\"model\": \"scripted\"}");
    tn_value input = json("{\"messages\": \"Hello\", \"unused\": 1}");
    tn_value output = tenon_stream(node, input, NULL, "messages", on_event, &tokens);
    if (!output) fail_msg("%s", tenon_error(host));
    tn_value message = value_at(value_get(output, "messages"), value_count(value_get(output, "messages")) - 1);
    assert_true(value_text_is(value_get(message, "content"), "Hello"));
    assert_int_equal(tokens, 1);
    value_unref(output);
    value_unref(input);
    tenon_release(node);
    node = component(host, "node", "prompt", "{\"template\": \"{a}\", \"output_key\": \"b\"}");
    assert_null(tenon_invoke_json(node, "{}"));
    expect_error(host, "MISSING_VARIABLE", "a");
    assert_null(tenon_invoke_json(node, "[1]"));
    expect_error(host, "INVALID_INPUT", "expected an object");
    tenon_release(node);
    node = component(host, "node", "delay", "{\"ms\": 0}");
    expect_json(host, node, "[1]", "[1]");
    expect_json(host, node, "null", "{}");
    tenon_release(node);
    tenon_close(host);
}

/* The effects of the tool are not declared, so a model's call of it needs an approval. */
static void a_node_by_itself_asks_and_continues(void **state) {
    (void)state;
    tenon *host = open_host();
    assert_int_equal(tenon_register(host, "tool", "program.add", NULL, add, NULL, NULL), TN_OK);
    tenon_runnable *node = component(host, "node", "tools", "{\"tools\": [\"program.*\"]}");
    tn_value input = json("{\"messages\": " CALLS "}"), yes = value_bool(true);
    tenon_run *run = tenon_start(node, input, NULL);
    assert_int_equal(tenon_run_wait(run, -1), TN_OK);
    assert_int_equal(tenon_run_status(run), TENON_RUN_INTERRUPTED);
    assert_int_equal(tenon_run_answer(run, yes), TN_OK);
    assert_int_equal(tenon_run_wait(run, -1), TN_OK);
    tn_value output = tenon_run_output(run);
    if (!output) fail_msg("%s", tenon_error(host));
    assert_true(value_text_is(value_get(value_at(value_get(output, "messages"), 0), "content"), "3"));
    value_unref(output);
    value_unref(input);
    tenon_run_release(run);
    tenon_release(node);
    tenon_close(host);
}

/* A template in a file is read as for a document from a text: below the roots of files. */
static void a_node_by_itself_reads_a_file_of_its_config(void **state) {
    (void)state;
    tn_value options = json("{\"no_config\": true}"), config = json("{\"output_key\": \"text\"}");
    char folder[] = "/tmp/embed-compose-XXXXXX", name[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(name, sizeof(name), "%s/prompt.md", folder);
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    (void)fputs("About {topic}.", file);
    (void)fclose(file);
    config = value_set_take(config, "template", value_set_take(value_object(), "file", value_text(name)));
    tenon *host = open_host();
    assert_null(tenon_component(host, "node", "prompt", config));
    expect_error(host, "INVALID_GRAPH", "prompt.md");
    tenon_close(host);
    options = value_set_take(options, "file_roots", value_push_take(value_array(), value_text(folder)));
    host = tenon_open(options, NULL);
    tenon_runnable *node = tenon_component(host, "node", "prompt", config);
    expect_json(host, node, "{\"topic\": \"ants\"}", "{\"text\":\"About ants.\"}");
    tenon_release(node);
    tenon_close(host);
    value_unref(config);
    value_unref(options);
    (void)remove(name);
    (void)remove(folder);
}

/* Returns the state under a name of the configuration, and emits it. */
static tn_value wrap(void *user, tenon_task *task, tn_value state, tn_value *error) {
    tn_value name = value_get(tenon_task_config(task), "name");
    (void)user;
    if (value_get(state, "fail")) {
        *error = json("{\"code\": \"TOLD\", \"message\": \"told to fail\"}");
        return NULL;
    }
    (void)tenon_task_emit(task, state);
    return value_set_key_take(value_object_reserve(1), value_ref(name), value_ref(state));
}

static void a_node_of_the_program_runs_by_itself(void **state) {
    (void)state;
    tenon *host = open_host();
    static const char *const styles[] = {"async", "blocking"};
    for (int i = 0; i < 2; i++) {
        char id[40];
        tn_value description =
            json("{\"config\": {\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\", "
                 "\"default\": \"all\"}}}}");
        description = value_set_take(description, "style", value_text(styles[i]));
        (void)snprintf(id, sizeof(id), "program.%s", styles[i]);
        assert_int_equal(tenon_register(host, "node", id, description, wrap, NULL, NULL), TN_OK);
        value_unref(description);
        tenon_runnable *node = component(host, "node", id, NULL);
        expect_json(host, node, "{\"a\": 1}", "{\"all\":{\"a\":1}}");
        expect_json(host, node, "null", "{\"all\":{}}");
        assert_null(tenon_invoke_json(node, "{\"fail\": true}"));
        expect_error(host, "TOLD", "told to fail");
        tenon_release(node);
    }
    tn_value wrong = json("{\"name\": 1}");
    assert_null(tenon_component(host, "node", "program.async", wrong));
    expect_error(host, "INVALID_GRAPH", "name");
    value_unref(wrong);
    tenon_close(host);
}

static void mistakes_of_components_are_reported(void **state) {
    (void)state;
    static const struct {
        const char *kind, *id, *config, *code, *part;
    } cases[] = {{"nod", "set", NULL, "INVALID_INPUT", "did you mean `node`"},
                 {NULL, "set", NULL, "INVALID_INPUT", "kind is NULL"},
                 {"node", NULL, NULL, "INVALID_INPUT", "id is NULL"},
                 {"node", "\xff", NULL, "INVALID_INPUT", "not UTF-8"},
                 {"node", "ste", NULL, "NOT_FOUND", "did you mean `set`"},
                 {"node", "set", "[]", "INVALID_INPUT", "is array, expected an object"},
                 {"node", "set", "{\"value\": {}}", "INVALID_GRAPH", "unknown property `value`"},
                 {"node", "set", "{\"values\": {\"a\": \"1 +\"}}", "INVALID_GRAPH", "expression"},
                 {"node", "llm", "{\"model\": \"absent:x\"}", "INVALID_GRAPH", "absent"},
                 {"node", "subgraph", "{\"document\": \"absent.yaml\"}", "INVALID_GRAPH", "absent.yaml"},
                 {"model", "absent:x", NULL, "NOT_FOUND", "absent"},
                 {"model", "scripted", "{\"nothing\": 1}", "INVALID_CONFIG", "nothing"},
                 {"tool", "no.tool", NULL, "TOOL_NOT_FOUND", "no.tool"},
                 {"reducer", "sum", NULL, "NOT_FOUND", "is a part of the engine"},
                 {"reducer", "no.reducer", NULL, "NOT_FOUND", "no.reducer"}};
    tenon *host = open_host();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tn_value config = cases[i].config ? json(cases[i].config) : NULL;
        assert_null(tenon_component(host, cases[i].kind, cases[i].id, config));
        expect_error(host, cases[i].code, cases[i].part);
        value_unref(config);
    }
    tenon_close(host);
}

static void a_model_runs_by_itself(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *model = component(host, "model", "scripted:echo", "{\"replies\": [\"You: {input}\"]}");
    static const char *const inputs[] = {"{\"messages\": [{\"type\": \"user\", \"content\": \"hi\"}]}", "\"hi\"",
                                         "[\"hi\"]", "{\"type\": \"user\", \"content\": \"hi\"}",
                                         "{\"role\": \"user\", \"content\": \"hi\"}"};
    for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++) {
        tn_value input = json(inputs[i]), output = tenon_invoke(model, input, NULL);
        if (!output) fail_msg("%s: %s", inputs[i], tenon_error(host));
        assert_true(value_text_is(value_get(value_get(output, "message"), "content"), "You: hi"));
        assert_true(value_text_is(value_get(value_get(output, "message"), "model"), "echo"));
        value_unref(output);
        value_unref(input);
    }
    static const char *const wrong[] = {"3", "null", "true"}, *const kinds[] = {"int", "null", "bool"};
    for (size_t i = 0; i < 3; i++) {
        char part[60];
        (void)snprintf(part, sizeof(part), "the input of a model is %s, expected {messages", kinds[i]);
        assert_null(tenon_invoke_json(model, wrong[i]));
        expect_error(host, "INVALID_INPUT", part);
    }
    tenon_release(model);
    tenon_close(host);
}

/* ---- Pipes ---- */

/* The pipe of the stages, which are released; NULL with the error. */
static tenon_runnable *pipe_of(tenon *host, tenon_runnable **stages, uint32_t count) {
    tenon_runnable *pipe = tenon_pipe(host, stages, count);
    for (uint32_t i = 0; i < count; i++) tenon_release(stages[i]);
    return pipe;
}

/* Joins the deltas; "|" is their end. */
static int32_t on_delta(void *user, tn_value event) {
    tn_value delta = value_get(event, "delta"), content = value_get(delta, "content");
    assert_true(value_text_is(value_get(event, "type"), "messages"));
    assert_true(value_text_is(value_get(event, "node"), "model"));
    if (content) buffer_text(user, value_chars(content, NULL));
    if (value_get(delta, "done")) buffer_text(user, "|");
    return 1;
}

static void a_prompt_a_model_and_a_parser_are_a_pipe(void **state) {
    (void)state;
    tenon *host = open_host();
    tenon_runnable *stages[] = {
        component(host, "node", "prompt",
                  "{\"messages\": [{\"type\": \"user\", \"content\": \"Tell {who} about {topic}.\"}], \"output_key\": "
                  "\"messages\"}"),
        component(host, "model", "scripted", "{\"replies\": [\"Well: {input}\"]}"),
        component(host, "node", "parse", "{\"input_key\": \"message\", \"as\": \"text\", \"output_key\": \"answer\"}")};
    tenon_runnable *pipe = pipe_of(host, stages, 3);
    if (!pipe) fail_msg("%s", tenon_error(host));
    expect_json(host, pipe, "{\"who\": \"me\", \"topic\": \"ants\"}", "{\"answer\":\"Well: Tell me about ants.\"}");
    tn_value input = json("{\"who\": \"me\", \"topic\": \"ants\"}");
    struct buffer said;
    buffer_init(&said, 1000);
    value_unref(tenon_stream(pipe, input, NULL, "messages", on_delta, &said));
    assert_string_equal(buffer_cstr(&said), "Well: Tell me about ants.|");
    buffer_clear(&said);
    value_unref(tenon_stream(pipe, input, NULL, "custom", on_delta, &said));
    assert_string_equal(buffer_cstr(&said), "");
    /* As a node, it streams in the events of its graph. */
    tenon_builder *builder = tenon_builder_new(host, "tokens");
    static const char *const channels[] = {"who", "topic", "answer"};
    for (int i = 0; i < 3; i++) assert_int_equal(tenon_add_channel(builder, channels[i], "last_value", NULL), TN_OK);
    assert_int_equal(tenon_add_node_runnable(builder, "model", pipe), TN_OK);
    assert_int_equal(tenon_set_entry_point(builder, "model"), TN_OK);
    tenon_runnable *graph = tenon_compile(builder);
    if (!graph) fail_msg("%s", tenon_error(host));
    tenon_builder_free(builder);
    value_unref(tenon_stream(graph, input, NULL, "messages", on_delta, &said));
    assert_string_equal(buffer_cstr(&said), "Well: Tell me about ants.|");
    buffer_finish(&said);
    value_unref(input);
    tenon_release(graph);
    expect(tenon_output_schema(pipe),
           "{\"type\":\"object\",\"properties\":{\"answer\":{}},\"additionalProperties\":false}");
    tenon_release(pipe);
    tenon_close(host);
}

static tn_value identity(void *user, tn_value input, tn_value *error) {
    (void)user, (void)error;
    return value_ref(input);
}

static tenon_runnable *typed(tenon *host, const char *input, const char *output) {
    tenon_runnable *function = tenon_lambda(host, identity, NULL);
    tn_value from = input ? json(input) : NULL, to = output ? json(output) : NULL;
    assert_int_equal(tenon_with_types(function, from, to), TN_OK);
    value_unref(from);
    value_unref(to);
    return function;
}

static void a_pipe_whose_stages_cannot_fit_is_refused(void **state) {
    (void)state;
    tenon *host = open_host_with_tool();
    tn_value number = json("{\"input\": {\"type\": \"object\", \"required\": [\"q\"]}, \"output\": {\"type\": "
                           "\"object\", \"required\": [\"messages\"], \"properties\": {\"messages\": {\"type\": "
                           "\"integer\"}}}}");
    assert_int_equal(tenon_register(host, "node", "program.number", number, wrap, NULL, NULL), TN_OK);
    value_unref(number);
    static const char graph[] = "version: \"1.0\"\nchannels: [{name: a, type: last_value}]\n"
                                "nodes: [{id: n, type: passthrough}]\nedges: [{from: START, to: n}]\n";
    for (int i = 0; i < 18; i++) {
        tenon_runnable *stages[3] = {NULL}, *inner;
        const char *part = NULL;
        uint32_t count = 2;
        switch (i) {
        case 0: /* the prompt is not in `messages` */
            stages[0] = component(host, "node", "prompt", "{\"template\": \"Hello\", \"output_key\": \"text\"}");
            stages[1] = component(host, "model", "scripted", NULL);
            part =
                "stage 2 of the pipe, the model `scripted`, does not accept what stage 1, the node `prompt`, returns: "
                "`messages` is required and never there";
            break;
        case 1:
            stages[0] = typed(host, NULL, "{\"type\": \"integer\"}");
            stages[1] = component(host, "node", "set", "{\"values\": {\"a\": \"state.b\"}}");
            part = "found an integer, expected null or an object";
            break;
        case 2: /* a node that writes nothing passes its input on */
            stages[0] = typed(host, NULL, "{\"type\": \"string\"}");
            stages[1] = component(host, "node", "delay", "{\"ms\": 0}");
            stages[2] = component(host, "tool", "program.add", NULL);
            count = 3;
            part = "stage 3 of the pipe, the tool `program.add`, does not accept what stage 1, a function, returns: "
                   "found a "
                   "string, expected an object";
            break;
        case 3:
            stages[0] = component(host, "node", "set", "{\"values\": {\"b\": \"1\"}}");
            stages[1] = graph_of(host, graph);
            part = NULL; /* `b` may be absent as far as the schema says */
            break;
        case 4:
            stages[0] = typed(host, NULL, "{\"type\": \"object\", \"required\": [\"b\"]}");
            stages[1] = graph_of(host, graph);
            part = "`b` is always there and not accepted";
            break;
        case 5: /* a pipe has the types of its ends */
            inner = typed(host, "{\"type\": \"string\"}", NULL);
            stages[0] = typed(host, NULL, "{\"type\": \"boolean\"}");
            stages[1] = tenon_pipe(host, &inner, 1);
            tenon_release(inner);
            part = "a pipe, does not accept";
            break;
        case 6: /* a parallel returns a list of what its branches return */
            inner = typed(host, NULL, "{\"type\": \"string\"}");
            stages[0] = tenon_parallel(host, &inner, NULL, 1);
            tenon_release(inner);
            stages[1] = typed(host, "{\"type\": \"array\", \"items\": {\"type\": \"integer\"}}", NULL);
            part = "item 0: found a string, expected an integer";
            break;
        case 9: /* a node needs the channels that its configuration names */
            stages[0] = component(host, "node", "prompt", "{\"template\": \"Hello\", \"output_key\": \"text\"}");
            stages[1] = component(host, "node", "parse", "{\"input_key\": \"message\", \"output_key\": \"value\"}");
            part = "`message` is required and never there";
            break;
        case 17:
            stages[0] = component(host, "model", "scripted", NULL);
            stages[1] = component(host, "node", "parse", "{\"input_key\": \"text\", \"output_key\": \"value\"}");
            part = "stage 1, the model `scripted`, returns: `text` is required and never there";
            break;
        case 10: /* and those of its templates */
            stages[0] = component(host, "node", "set", "{\"values\": {\"b\": \"1\"}}");
            stages[1] = component(host, "node", "prompt", "{\"template\": \"{topic}\", \"output_key\": \"text\"}");
            part = "`topic` is required and never there";
            break;
        case 11: /* but not those of its expressions, which may be null */
            stages[0] = component(host, "node", "set", "{\"values\": {\"b\": \"1\"}}");
            stages[1] = component(host, "node", "set", "{\"values\": {\"a\": \"state.topic\"}}");
            break;
        case 12: /* nor names that a template defines itself */
            stages[0] = component(host, "node", "set", "{\"values\": {\"list\": \"[1]\"}}");
            stages[1] = component(host, "node", "map_reduce",
                                  "{\"over_key\": \"list\", \"map_prompt\": \"{item}\", \"reduce_prompt\": "
                                  "\"{results}\", \"model\": \"scripted\", \"output_key\": \"all\"}");
            break;
        case 13: /* nor a channel that it reads and writes */
            stages[0] = component(host, "node", "prompt", "{\"template\": \"Hello\", \"output_key\": \"text\"}");
            stages[1] = component(host, "node", "llm",
                                  "{\"model\": \"scripted\", \"prompt\": \"{text}\", \"messages_key\": \"talk\"}");
            break;
        case 14: /* a node of the program publishes its schemas */
            stages[0] = component(host, "node", "program.number", NULL);
            stages[1] = component(host, "model", "scripted", NULL);
            part = "`messages`: found an integer, expected null or a string or a list";
            break;
        case 15:
            stages[0] = component(host, "node", "prompt", "{\"template\": \"Hello\", \"output_key\": \"text\"}");
            stages[1] = component(host, "node", "program.number", NULL);
            part = "`q` is required and never there";
            break;
        case 16: /* a node that writes nothing may need something */
            stages[0] = component(host, "node", "prompt", "{\"template\": \"Hello\", \"output_key\": \"text\"}");
            stages[1] = component(host, "node", "fail", "{\"message\": \"It is {what}.\"}");
            part = "`what` is required and never there";
            break;
        case 7: /* a function without types accepts and returns anything */
            stages[0] = tenon_lambda(host, identity, NULL);
            stages[1] = component(host, "tool", "program.add", NULL);
            break;
        default:
            stages[0] = tenon_identity(host);
            stages[1] = component(host, "tool", "program.add", NULL);
            break;
        }
        tenon_runnable *pipe = pipe_of(host, stages, count);
        if (part && pipe) fail_msg("case %d was accepted", i);
        if (part) expect_error(host, "TYPE", part);
        if (!part && !pipe) fail_msg("case %d: %s", i, tenon_error(host));
        tenon_release(pipe);
    }
    tenon_close(host);
}

static void types_are_published_and_checked(void **state) {
    (void)state;
    tenon *host = open_host_with_tool();
    tenon_runnable *tool = component(host, "tool", "program.add", NULL), *function = tenon_lambda(host, identity, NULL);
    expect(tenon_input_schema(tool), "{\"type\":\"object\"}");
    assert_null(tenon_output_schema(tool));
    assert_null(tenon_input_schema(function));
    tn_value wrong = json("{\"type\": 7}");
    assert_int_not_equal(tenon_with_types(function, NULL, wrong), TN_OK);
    expect_error(host, "SCHEMA", "the schema of the output");
    assert_int_not_equal(tenon_with_types(function, wrong, NULL), TN_OK);
    value_unref(wrong);
    assert_null(tenon_input_schema(NULL));
    assert_null(tenon_output_schema(NULL));
    assert_int_not_equal(tenon_with_types(NULL, NULL, NULL), TN_OK);
    tenon_runnable *branches[] = {tool, function};
    static const char *const names[] = {"sum", "same"}, *const twice[] = {"sum", "sum"};
    assert_null(tenon_parallel(host, branches, twice, 2));
    expect_error(host, "INVALID_INPUT", "the name `sum` of branch 1 is that of an earlier branch");
    tenon_runnable *parallel = tenon_parallel(host, branches, names, 2);
    expect(tenon_output_schema(parallel),
           "{\"type\":\"object\",\"properties\":{\"sum\":true,\"same\":true},\"required\":["
           "\"sum\",\"same\"],\"additionalProperties\":false}");
    expect(tenon_input_schema(parallel), "{\"allOf\":[{\"type\":\"object\",\"$id\":\"tenon:runnable/0\"}]}");
    tenon_release(parallel);
    parallel = component(host, "node", "prompt", "{\"template\": \"{a} {b}\", \"output_key\": \"c\"}");
    expect(tenon_input_schema(parallel),
           "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\",\"b\"]}");
    tenon_release(parallel);
    parallel = component(host, "node", "set", "{\"values\": {\"a\": \"state.b\"}}");
    expect(tenon_input_schema(parallel), "{\"type\":[\"object\",\"null\"],\"properties\":{\"b\":{}}}");
    tenon_release(parallel);
    tenon_release(tool);
    tenon_release(function);
    (void)tenon_identity(NULL); /* replaces the error of this thread, which may have a value */
    tenon_close(host);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, count_values_before, expect_no_value_leaked)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(a_node_of_each_type_runs_by_itself),
                                       TEST(every_bundled_node_type_is_tested),
                                       TEST(a_node_by_itself_is_a_graph),
                                       TEST(a_node_by_itself_asks_and_continues),
                                       TEST(a_node_by_itself_reads_a_file_of_its_config),
                                       TEST(a_node_of_the_program_runs_by_itself),
                                       TEST(mistakes_of_components_are_reported),
                                       TEST(a_model_runs_by_itself),
                                       TEST(a_prompt_a_model_and_a_parser_are_a_pipe),
                                       TEST(a_pipe_whose_stages_cannot_fit_is_refused),
                                       TEST(types_are_published_and_checked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * mcp_server_graph_test.c - the plugin tenon.mcp_server: graphs as tools, prompts and resources; events of runs as
 * notifications; interrupts as requests for input; and results.
 */
#include "tests/unit/util_fixture.h"

#include "plugins/mcp_server/catalogue.h"
#include "plugins/mcp_server/events.h"
#include "plugins/mcp_server/question.h"
#include "plugins/mcp_server/result.h"

/* ---- The catalogue ---- */

static tn_value catalogue_of(const char *graphs, const char *tools) {
    tn_value items = json_value(graphs), listed = tools != NULL ? json_value(tools) : NULL;
    tn_value catalogue = catalogue_new(items, listed);
    tn_release(items);
    tn_release(listed);
    assert_non_null(catalogue);
    return catalogue;
}

static void expect_page(tn_value catalogue, const char *list, const char *json) {
    struct problem problem = {0};
    expect_json_take(catalogue_page(catalogue, list, list, NULL, &problem), json);
}

static void test_graph_is_a_tool(void **state) {
    (void)state;
    tn_value catalogue = catalogue_of(
        "[{\"name\":\"talk\",\"document\":\"graph:talk\",\"channels\":[{\"name\":\"messages\",\"type\":\"append\"}]},"
        "{\"name\":\"add "
        "it\",\"title\":\"Add\",\"document\":\"graph:add\",\"channels\":[],\"input\":{\"type\":\"object\","
        "\"properties\":{\"a\":{\"type\":\"integer\"}},\"x-mcp\":{\"annotations\":{\"readOnlyHint\":true}}},"
        "\"output\":{\"type\":\"object\"}},"
        "{\"name\":\"any\",\"document\":\"graph:any\",\"channels\":[]}]",
        NULL);
    expect_page(
        catalogue, "tools",
        "{\"tools\":[{\"name\":\"add_it\",\"title\":\"Add\",\"description\":\"Runs the graph `add "
        "it`.\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
        "{\"a\":{\"type\":\"integer\"}}},\"outputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":"
        "true}},{\"name\":\"any\",\"description\":\"Runs the graph "
        "`any`.\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"talk\",\"description\":\"Runs the graph "
        "`talk`.\",\"inputSchema\":{"
        "\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\",\"description\":\"What to say to it."
        "\"}},\"required\":[\"message\"]}}]}");
    tn_value params = json_value("{\"arguments\":{\"message\":\"hi\"}}");
    expect_json_take(catalogue_input(catalogue_find(catalogue, "tools", "name", "talk"), "tools/call", params, NULL),
                     "{\"messages\":[{\"type\":\"user\",\"content\":\"hi\"}]}");
    expect_json_take(catalogue_input(catalogue_find(catalogue, "tools", "name", "any"), "tools/call", params, NULL),
                     "{\"message\":\"hi\"}");
    assert_null(catalogue_find(catalogue, "tools", "name", "nope"));
    tn_release(params);
    tn_release(catalogue);
    assert_int_equal(blocks, 0);
}

static const char declared[] =
    "[{\"name\":\"one\",\"document\":\"graph:one\",\"channels\":[],\"input\":{\"type\":\"object\",\"x-mcp\":{"
    "\"tools\":[{\"name\":\"t\",\"requires\":[\"sampling\"]},{\"name\":\"bad "
    "name\"},{\"name\":\"t\",\"title\":\"again\"}],"
    "\"prompts\":[{\"name\":\"p\",\"arguments\":[{\"name\":\"a\"}],\"complete\":{\"a\":[\"paris\",\"park\",\"rome\"]}}]"
    ","
    "\"resources\":[{\"uri\":\"x://a\",\"name\":\"a\"}],"
    "\"resourceTemplates\":[{\"uriTemplate\":\"x://{id}/d\",\"name\":\"d\"}]}}}]";

static void test_declarations(void **state) {
    (void)state;
    tn_value catalogue = catalogue_of(declared, NULL), variables = NULL;
    expect_page(catalogue, "tools", "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]}");
    assert_non_null(strstr(logged, "`name` must have 1 to 64 characters"));
    expect_page(catalogue, "prompts", "{\"prompts\":[{\"name\":\"p\",\"arguments\":[{\"name\":\"a\"}]}]}");
    expect_page(catalogue, "resources", "{\"resources\":[{\"uri\":\"x://a\",\"name\":\"a\"}]}");
    tn_value prompt = catalogue_find(catalogue, "prompts", "name", "p");
    expect_json_take(catalogue_complete(prompt, "a", "par"),
                     "{\"values\":[\"paris\",\"park\"],\"total\":2,\"hasMore\":false}");
    expect_json_take(catalogue_complete(prompt, "b", ""), "{\"values\":[],\"total\":0,\"hasMore\":false}");
    tn_value found = catalogue_find_resource(catalogue, "x://4%2F5/d", &variables);
    tn_value params = json_value("{\"uri\":\"x://4%2F5/d\"}");
    expect_json_take(catalogue_input(found, "resources/read", params, variables),
                     "{\"mcp\":{\"method\":\"resources/read\",\"uri\":\"x://4%2F5/d\",\"arguments\":{},\"variables\":{"
                     "\"id\":\"4/5\"}}}");
    tn_release(variables);
    variables = NULL;
    assert_null(catalogue_find_resource(catalogue, "x://b", &variables));
    assert_null(variables);
    tn_release(params);
    tn_release(catalogue);
    assert_int_equal(blocks, 0);
}

static void test_tools_of_the_host(void **state) {
    (void)state;
    tn_value catalogue = catalogue_of(
        "[]", "[{\"tool_name\":\"b.c\",\"title\":\"B\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
              "\"effects\":[\"destructive\"],\"approval\":\"auto\"},"
              "{\"tool_name\":\"a\",\"input_schema\":{\"type\":\"object\"},\"effects\":[],\"approval\":\"ask\"},"
              "{\"tool_name\":\"no\",\"input_schema\":{\"type\":\"object\"},\"effects\":[],\"approval\":\"deny\"}]");
    expect_page(
        catalogue, "tools",
        "{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true}},"
        "{\"name\":\"b.c\",\"title\":\"B\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
        "\"annotations\":{\"readOnlyHint\":false}}]}");
    tn_release(catalogue);
}

static void test_pages(void **state) {
    static const char *const wrong[] = {"\"x\"", "\"-1\"", "\"0\"", "\"99999999999\"", "\"300\"", "7"};
    tn_value tools = NULL, graphs = json_value("[]"), cursor = json_value("\"200\"");
    char name[16];
    struct problem problem = {0};
    (void)state;
    for (int i = 0; i < MCPS_PAGE + 5; i++) {
        (void)snprintf(name, sizeof name, "t%03d", i);
        (void)tn_append_take(
            &tools, tn_build("{s:s, s:{s:s}, s:[]}", "tool_name", name, "input_schema", "type", "object", "effects"));
    }
    tn_value catalogue = catalogue_new(graphs, tools);
    tn_value page = catalogue_page(catalogue, "tools", "tools", NULL, &problem);
    assert_int_equal(tn.value->count(tn_get(page, "tools")), MCPS_PAGE);
    assert_string_equal(tn_get_text(page, "nextCursor", ""), "200");
    tn_release(page);
    page = catalogue_page(catalogue, "tools", "tools", cursor, &problem);
    assert_int_equal(tn.value->count(tn_get(page, "tools")), 5);
    assert_null(tn_get(page, "nextCursor"));
    tn_release(page);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_value bad = json_value(wrong[i]);
        problem.code = 0;
        assert_null(catalogue_page(catalogue, "tools", "tools", bad, &problem));
        assert_int_equal(problem.code, MCPS_INVALID_PARAMS);
        tn_release(bad);
    }
    tn_release(catalogue), tn_release(tools), tn_release(graphs), tn_release(cursor);
    assert_int_equal(blocks, 0);
}

static void test_templates(void **state) {
    static const struct {
        const char *uri_template, *uri, *variables; /* NULL: no match */
    } rows[] = {
        {"x://{a}", "x://1", "{\"a\":\"1\"}"},
        {"x://{a}/{b}", "x://1/2", "{\"a\":\"1\",\"b\":\"2\"}"},
        {"x://{a}/{b}", "x://1/", NULL},
        {"x://{a}", "x://1/2", NULL},
        {"x://{+a}", "x://1/2", "{\"a\":\"1/2\"}"},
        {"x://{a*}/end", "x://1/2/end", "{\"a\":\"1/2\"}"},
        {"x://{a}.txt", "x://b.c.txt", "{\"a\":\"b.c\"}"},
        {"x://{a}", "x://%20%zz", "{\"a\":\" %zz\"}"},
        {"x://{a}{b}", "x://12", NULL},
        {"x://{?a}", "x://?a=1", NULL},
        {"x://{a", "x://1", NULL},
        {"x://{}", "x://1", NULL},
        {"x://a", "x://a", "{}"},
        {"x://a", "x://ab", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value variables = template_match(rows[i].uri_template, rows[i].uri);
        if ((variables == NULL) != (rows[i].variables == NULL)) fail_msg("%s %s", rows[i].uri_template, rows[i].uri);
        if (variables != NULL) expect_json_take(variables, rows[i].variables);
    }
    assert_int_equal(blocks, 0);
}

/* ---- Events ---- */

static char seen[4000];

static void note(const char *text) { (void)snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s\n", text); }
static void on_notify(void *user, tn_value notification) {
    (void)user;
    tn_value text = tn_to_json(notification);
    note(tn_chars(text, NULL) + strlen("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"));
    tn_release(text);
}
static void on_changed(void *user, const char *list) { (void)user, note(list); }
static void on_updated(void *user, const char *uri) { (void)user, note(uri); }
static void on_disconnect(void *user) { (void)user, note("disconnect"); }

static void map_all(struct events *events, const char *const *lines, size_t count) {
    static const struct events_handler handler = {on_notify, on_changed, on_updated, on_disconnect};
    seen[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        tn_value event = json_value(lines[i]);
        events_map(events, event, &handler, NULL);
        tn_release(event);
    }
}

/* A recorded run of tests/mcp/conformance_server.yaml, and events that are nothing for a client. */
static const char *const recorded[] = {
    "{\"type\":\"tasks\",\"step\":1,\"node\":\"begin\",\"event\":\"start\",\"task_id\":\"a\",\"attempt\":1}",
    "{\"type\":\"tasks\",\"step\":1,\"node\":\"begin\",\"event\":\"end\",\"task_id\":\"a\",\"attempt\":1,\"outcome\":"
    "\"done\"}",
    "{\"type\":\"tasks\",\"step\":1,\"path\":[\"sub\"],\"node\":\"in\",\"event\":\"end\",\"task_id\":\"b\",\"attempt\":"
    "1,"
    "\"outcome\":\"done\"}",
    "{\"type\":\"custom\",\"step\":2,\"node\":\"log\",\"data\":{\"mcp\":{\"log\":{\"level\":\"info\",\"data\":"
    "\"started\"}}}}",
    "{\"type\":\"custom\",\"step\":2,\"node\":\"log\",\"data\":{\"mcp\":{\"log\":{\"level\":\"error\",\"logger\":\"l\","
    "\"data\":"
    "[1]}}}}",
    "{\"type\":\"custom\",\"step\":2,\"node\":\"log\",\"data\":{\"mcp\":{\"log\":{\"level\":\"loud\",\"data\":1}}}}",
    "{\"type\":\"custom\",\"step\":2,\"node\":\"p\",\"data\":{\"mcp\":{\"progress\":{\"progress\":5,\"total\":10,"
    "\"message\":"
    "\"half\"}}}}",
    "{\"type\":\"custom\",\"step\":2,\"node\":\"p\",\"data\":{\"mcp\":{\"progress\":{\"progress\":4}}}}",
    "{\"type\":\"custom\",\"step\":2,\"node\":\"p\",\"data\":{\"mcp\":{\"progress\":{}}}}",
    "{\"type\":\"custom\",\"step\":2,\"node\":\"p\",\"data\":{\"progress\":{\"progress\":9}}}",
    "{\"type\":\"custom\",\"step\":2,\"node\":\"p\",\"data\":7}",
    "{\"type\":\"tasks\",\"step\":2,\"node\":\"p\",\"event\":\"end\",\"task_id\":\"c\",\"attempt\":1,\"outcome\":"
    "\"done\"}",
    "{\"type\":\"custom\",\"step\":3,\"node\":\"c\",\"data\":{\"mcp\":{\"changed\":\"tools\",\"updated\":\"x://a\"}}}",
    "{\"type\":\"custom\",\"step\":3,\"node\":\"c\",\"data\":{\"mcp\":{\"changed\":\"../x\",\"disconnect\":true}}}",
    "{\"type\":\"messages\",\"step\":3,\"node\":\"m\",\"delta\":{\"content\":\"Hel\"}}",
    "{\"type\":\"updates\",\"step\":3,\"node\":\"m\",\"writes\":{\"a\":1}}",
};

static void test_events(void **state) {
    tn_value token = json_value("\"t\"");
    struct events events = {.token = token, .log_level = events_log_level("info"), .counts = true};
    (void)state;
    map_all(&events, recorded, sizeof recorded / sizeof *recorded);
    assert_string_equal(
        seen, "progress\",\"params\":{\"progressToken\":\"t\",\"progress\":1.0,\"message\":\"begin\"}}\n"
              "message\",\"params\":{\"level\":\"info\",\"data\":\"started\"}}\n"
              "message\",\"params\":{\"level\":\"error\",\"logger\":\"l\",\"data\":[1]}}\n"
              "progress\",\"params\":{\"progressToken\":\"t\",\"progress\":5,\"total\":10,\"message\":\"half\"}}\n"
              "tools\nx://a\ndisconnect\n");
    events = (struct events){.log_level = EVENTS_NO_LOG}; /* a request with neither a token nor a level */
    map_all(&events, recorded, sizeof recorded / sizeof *recorded);
    assert_string_equal(seen, "tools\nx://a\ndisconnect\n");
    tn_release(token);
    assert_int_equal(blocks, 0);
}

/* ---- Questions ---- */

struct question_case {
    const char *interrupts, *capabilities, *requests; /* NULL: none can be asked, and `responses` is what is missing */
    const char *responses;
    enum questions_state state;
    const char *answers;
};

#define ASK(schema) "[{\"id\":\"i\",\"node\":\"ask\",\"payload\":{\"question\":\"Q\"}" schema "}]"
#define FORM(schema)                                                                                                   \
    "{\"ask\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"Q\",\"requestedSchema\":" \
    "{\"type\":\"object\",\"properties\":{" schema "}}}}"
#define STATED                                                                                                         \
    "[{\"id\":\"i\",\"payload\":{\"question\":\"x\",\"detail\":{\"mcp\":{\"requests\":{\"a\":{\"method\":"             \
    "\"elicitation/create\",\"params\":{\"message\":\"M\"}},\"r\":{\"method\":\"roots/list\"}}}}}}]"
#define ACCEPT(content) "{\"ask\":{\"action\":\"accept\",\"content\":" content "}}"

static const struct question_case question_cases[] = {
    /* A text, with and without a schema. */
    {ASK(""), "{\"elicitation\":{}}", FORM("\"value\":{\"type\":\"string\"}},\"required\":[\"value\"]"),
     ACCEPT("{\"value\":\"v\"}"), QUESTIONS_COMPLETE, "{\"i\":\"v\"}"},
    {ASK(",\"schema\":{\"enum\":[\"a\",\"b\"]}"), "{\"elicitation\":{}}",
     FORM("\"value\":{\"enum\":[\"a\",\"b\"],\"type\":\"string\"}},\"required\":[\"value\"]"), ACCEPT("{}"),
     QUESTIONS_INCOMPLETE, NULL},
    {ASK(",\"schema\":{\"type\":\"string\"}"), "{\"elicitation\":{}}",
     FORM("\"value\":{\"type\":\"string\"}},\"required\":[\"value\"]"), "{\"ask\":{\"action\":\"decline\"}}",
     QUESTIONS_DECLINED, NULL},
    {ASK(",\"schema\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}"), "{\"elicitation\":{}}",
     FORM("\"value\":{\"type\":\"string\"}},\"required\":[\"value\"]"), "{\"ask\":{\"action\":\"cancel\"}}",
     QUESTIONS_COMPLETE, "{\"i\":null}"},
    /* A form. */
    {ASK(",\"schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"),
     "{\"elicitation\":{\"form\":{}}}", FORM("\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]"),
     "{\"ask\":{\"action\":\"accept\",\"content\":{\"n\":1}},\"other\":{}}", QUESTIONS_COMPLETE, "{\"i\":{\"n\":1}}"},
    /* Answers of the wrong form are no answers. */
    {ASK(""), "{\"elicitation\":{}}", FORM("\"value\":{\"type\":\"string\"}},\"required\":[\"value\"]"),
     "{\"ask\":12345}", QUESTIONS_INCOMPLETE, NULL},
    {ASK(""), "{\"elicitation\":{}}", FORM("\"value\":{\"type\":\"string\"}},\"required\":[\"value\"]"),
     "{\"ask\":{\"action\":\"maybe\"}}", QUESTIONS_INCOMPLETE, NULL},
    {ASK(""), "{\"elicitation\":{}}", FORM("\"value\":{\"type\":\"string\"}},\"required\":[\"value\"]"),
     "{\"wrong\":{\"action\":\"accept\"}}", QUESTIONS_INCOMPLETE, NULL},
    /* Without the capability nothing is asked. */
    {ASK(""), "{\"sampling\":{}}", NULL, "{\"elicitation\":{}}", QUESTIONS_DECLINED, NULL},
    /* Requests that the payload states: those that the client can answer. */
    {STATED, "{\"roots\":{}}", "{\"r\":{\"method\":\"roots/list\",\"params\":{}}}", "{\"r\":{\"roots\":[]}}",
     QUESTIONS_COMPLETE, "{\"i\":{\"r\":{\"roots\":[]}}}"},
    {STATED, "{\"roots\":{},\"elicitation\":{}}",
     "{\"a\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"M\"}},\"r\":{\"method\":\"roots/"
     "list\",\"params\":"
     "{}}}",
     "{\"a\":{\"action\":\"decline\"},\"r\":{\"roots\":7}}", QUESTIONS_INCOMPLETE, NULL},
    {STATED, "{}", NULL, "{\"elicitation\":{},\"roots\":{}}", QUESTIONS_COMPLETE, "{}"},
    /* An approval, and a page. */
    {"[{\"id\":\"i\",\"node\":\"run\",\"payload\":{\"kind\":\"approval\",\"question\":\"May it?\"}}]",
     "{\"elicitation\":{}}",
     "{\"run\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"May "
     "it?\",\"requestedSchema\":"
     "{\"type\":\"object\",\"properties\":{\"approved\":{\"type\":\"boolean\",\"title\":\"Approve\"}},\"required\":["
     "\"approved\"]}}}}",
     "{\"run\":{\"action\":\"cancel\"}}", QUESTIONS_COMPLETE, "{\"i\":{\"approved\":false}}"},
    {"[{\"id\":\"i\",\"node\":\"n\",\"payload\":{\"question\":\"Q\",\"url\":\"https://x\"}}]", "{\"elicitation\":{}}",
     NULL, "{\"elicitation\":{}}", QUESTIONS_DECLINED, NULL},
    {"[{\"id\":\"i\",\"node\":\"n\",\"payload\":{\"question\":\"Q\",\"url\":\"https://x\"}}]",
     "{\"elicitation\":{\"url\":{}}}",
     "{\"n\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\",\"message\":\"Q\\nhttps://x\",\"url\":"
     "\"https://x\",\"elicitationId\":\"i\"}}}",
     "{\"n\":{\"action\":\"accept\"}}", QUESTIONS_COMPLETE, "{\"i\":true}"},
};

static void check_question(const struct question_case *one) {
    tn_value interrupts = json_value(one->interrupts), capabilities = json_value(one->capabilities), missing = NULL;
    tn_value questions = questions_new(interrupts), responses = json_value(one->responses), answers = NULL;
    tn_value requests = questions_requests(questions, capabilities, &missing);
    if (one->requests != NULL)
        expect_json_take(requests, one->requests);
    else
        expect_json_take(missing, one->responses);
    assert_int_equal(questions_answer(questions, capabilities, responses, &answers), one->state);
    if (one->answers != NULL) expect_json_take(answers, one->answers);
    expect_json_take(questions_ids(questions), "[\"i\"]");
    tn_release(interrupts), tn_release(capabilities), tn_release(questions), tn_release(responses);
}

static void test_questions(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof question_cases / sizeof *question_cases; i++) check_question(&question_cases[i]);
    assert_int_equal(blocks, 0);
}

static void test_question_keys(void **state) {
    (void)state;
    tn_value interrupts = json_value("[{\"id\":\"1\",\"node\":\"a\",\"payload\":\"x\"},{\"id\":\"2\",\"node\":\"a\","
                                     "\"payload\":\"y\"},{\"id\":\"3\",\"payload\":null}]");
    tn_value questions = questions_new(interrupts);
    assert_string_equal(tn_get_text(tn.value->at(questions, 0), "key", ""), "a");
    assert_string_equal(tn_get_text(tn.value->at(questions, 1), "key", ""), "a_2");
    assert_string_equal(tn_get_text(tn.value->at(questions, 2), "key", ""), "question");
    tn_release(questions);
    tn_release(interrupts);
}

/* ---- Results ---- */

static void expect_tool(const char *entry_json, const char *report_json, const char *wanted) {
    struct problem problem = {0};
    tn_value entry = json_value(entry_json), report = json_value(report_json);
    tn_value result = result_of_tool(entry, report, &problem);
    if (wanted != NULL)
        expect_json_take(result, wanted);
    else
        assert_int_equal(problem.code, MCPS_INTERNAL);
    tn_release(entry);
    tn_release(report);
}

static void test_tool_results(void **state) {
    static const char talk[] = "{\"graph\":{\"channels\":[{\"name\":\"messages\",\"type\":\"append\"}]},\"shown\":{}}";
    static const char plain[] = "{\"graph\":{\"channels\":[]},\"shown\":{\"outputSchema\":{}}}";
    (void)state;
    expect_tool(
        talk,
        "{\"status\":\"done\",\"state\":{\"messages\":[{\"type\":\"ai\",\"content\":\"old\"},{\"type\":\"ai\","
        "\"content\":["
        "{\"type\":\"text\",\"text\":\"new\"},{\"type\":\"reasoning\",\"text\":\"r\"},{\"type\":\"image\",\"data\":"
        "\"QQ==\"},{\"type\":\"file\",\"url\":\"https://x/f\",\"name\":\"f\"}]}]}}",
        "{\"content\":[{\"type\":\"text\",\"text\":\"new\"},{\"type\":\"image\",\"data\":\"QQ==\",\"mimeType\":"
        "\"image/png\"},{\"type\":\"resource_link\",\"uri\":\"https://x/f\",\"name\":\"f\"}]}");
    expect_tool(plain, "{\"status\":\"done\",\"state\":{\"answer\":\"a\",\"n\":1}}",
                "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"structuredContent\":{\"answer\":\"a\",\"n\":1}}");
    expect_tool(plain, "{\"status\":\"failed\",\"error\":{\"code\":\"X\",\"message\":\"m\"}}",
                "{\"content\":[{\"type\":\"text\",\"text\":\"X: m\"}],\"isError\":true}");
    expect_tool("{\"declared\":true}",
                "{\"status\":\"done\",\"state\":{\"mcp_result\":{\"content\":[],\"isError\":true}}}",
                "{\"content\":[],\"isError\":true}");
    expect_tool("{\"declared\":true}", "{\"status\":\"done\",\"state\":{\"mcp_result\":{\"contents\":[]}}}", NULL);
}

static void test_other_results(void **state) {
    struct problem problem = {0};
    (void)state;
    tn_value prompt = json_value("{\"status\":\"done\",\"state\":{\"mcp_result\":{\"messages\":[]}}}");
    expect_json_take(result_of_prompt(prompt, &problem), "{\"messages\":[]}");
    assert_null(result_of_resource(prompt, "x://a", true, &problem));
    tn_value absent = json_value("{\"status\":\"failed\",\"error\":{\"code\":\"NOT_FOUND\"}}");
    assert_null(result_of_resource(absent, "x://a", true, &problem));
    assert_int_equal(problem.code, MCPS_INVALID_PARAMS);
    expect_json_take(problem.data, "{\"uri\":\"x://a\"}");
    assert_null(result_of_resource(absent, "x://a", false, &problem));
    assert_int_equal(problem.code, MCPS_RESOURCE_NOT_FOUND);
    tn_release(problem.data);
    tn_value empty = json_value("{\"status\":\"done\",\"state\":{\"mcp_result\":{\"contents\":[]}}}");
    assert_null(result_of_resource(empty, "x://a", true, &problem)); /* never an empty result */
    tn_release(problem.data);
    tn_value artifact = json_value("{\"media_type\":\"image/png\",\"body\":{\"$bytes\":\"QQ==\"}}");
    expect_json_take(result_of_artifact(artifact, "artifact:1"),
                     "{\"contents\":[{\"uri\":\"artifact:1\",\"mimeType\":\"image/png\",\"blob\":\"QQ==\"}]}");
    tn_release(prompt), tn_release(absent), tn_release(empty), tn_release(artifact);
    assert_int_equal(blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_is_a_tool),   cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_tools_of_the_host), cmocka_unit_test(test_pages),
        cmocka_unit_test(test_templates),         cmocka_unit_test(test_events),
        cmocka_unit_test(test_questions),         cmocka_unit_test(test_question_keys),
        cmocka_unit_test(test_tool_results),      cmocka_unit_test(test_other_results),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}

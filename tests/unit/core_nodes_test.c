/* core_nodes_test.c - the nodes of plugins/core, one by one, on a fake host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* the contract has a function of this name */

#include "plugins/core/copy.c"
#include "plugins/core/core.c"
#include "plugins/core/delay.c"
#include "plugins/core/emit.c"
#include "plugins/core/fail.c"
#include "plugins/core/parse.c"
#include "plugins/core/prompt.c"
#include "plugins/core/set.c"
#include "plugins/core/subgraph.c"

#include "tests/unit/fake_host.h"

static void passthrough_writes_nothing(void **state) {
    (void)state;
    tn_test_set_channel("a", "1");
    struct tn_test_task *task = tn_test_run("passthrough", "{}", "null");
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    assert_null(task->output);
    assert_null(tn_test.channels[0].written);
    tn_test_finish();
}

static void transform_copies(void **state) {
    (void)state;
    tn_test_set_channel("a", "[1,2]");
    tn_test_set_channel("b", "null");
    tn_test_set_channel("c", "null");
    struct tn_test_task *task = tn_test_run("transform", "{\"mapping\": {\"b\": \"a\", \"c\": \"b\"}}", "null");
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    assert_true(tn_test_wrote("b", "[1,2]"));
    assert_true(tn_test_wrote("c", "null")); /* as of the step's start */
    tn_test_finish();
    tn_test_set_channel("a", "1");
    assert_int_equal(tn_test_create("transform", "{\"mapping\": {\"a\": \"nowhere\"}}"), TN_NOT_FOUND);
    tn_test_finish();
    tn_test_set_channel("a", "1");
    assert_int_equal(tn_test_run("transform", "{}", "null")->state, TN_TEST_COMPLETED); /* `mapping` is optional */
    assert_null(tn_test.channels[0].written);
    tn_test_finish();
}

static void set_evaluates(void **state) {
    (void)state;
    tn_test_set_channel("a", "\"x\"");
    tn_test_set_channel("b", "null");
    tn_test_set_channel("c", "null");
    struct tn_test_task *task =
        tn_test_run("set", "{\"values\": {\"b\": \"state.a\", \"c\": {\"literal\": true}}}", "null");
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    assert_true(tn_test_wrote("b", "\"x\""));
    assert_true(tn_test_wrote("c", "{\"literal\":true}"));
    tn_test_finish();
    tn_test_set_channel("b", "null");
    assert_true(tn_test_failed(tn_test_run("set", "{\"values\": {\"b\": \"fail\"}}", "null"), "EXPRESSION_ERROR"));
    tn_test_finish();
    tn_test_set_channel("b", "null");
    assert_int_equal(tn_test_create("set", "{\"values\": {\"b\": \"invalid(\"}}"), TN_INVALID);
    tn_test_finish();
}

static void drafts_may_be_missing(void **state) {
    (void)state;
    snprintf(tn_test.missing, sizeof tn_test.missing, "%s", TN_GRAPH_DRAFT);
    assert_int_equal(tn_test_create("subgraph", "{\"document\": \"x\"}"), TN_FAILED);
    assert_non_null(strstr(tn_test.refusal, TN_GRAPH_DRAFT));
    tn_test_finish();
}

static void prompt_makes_a_text(void **state) {
    (void)state;
    tn_test_set_channel("topic", "\"joints\"");
    tn_test_set_channel("out", "null");
    (void)tn_test_run("prompt", "{\"template\": \"About {topic}.\", \"output_key\": \"out\"}", "null");
    assert_true(tn_test_wrote("out", "\"About joints.\""));
    tn_test_finish();
    tn_test_set_channel("out", "null");
    assert_true(
        tn_test_failed(tn_test_run("prompt", "{\"template\": \"About {topic}.\", \"output_key\": \"out\"}", "null"),
                       "MISSING_VARIABLE"));
    assert_null(tn_test.channels[0].written);
    tn_test_finish();
}

static void prompt_makes_messages(void **state) {
    (void)state;
    tn_test_set_channel("topic", "\"joints\"");
    tn_test_set_channel("history", "[{\"type\": \"user\", \"content\": \"hi\"}]");
    tn_test_set_channel("out", "null");
    (void)tn_test_run("prompt",
                      "{\"messages\": [{\"type\": \"system\", \"content\": \"Be brief.\"}, {\"from\": \"history\"},"
                      " {\"type\": \"user\", \"content\": \"About {topic}.\"}], \"output_key\": \"out\"}",
                      "null");
    assert_true(tn_test_wrote("out",
                              "[{\"type\":\"system\",\"content\":\"Be brief.\"},{\"type\":\"user\",\"content\":\"hi\"},"
                              "{\"type\":\"user\",\"content\":\"About joints.\"}]"));
    tn_test_finish();
}

static void parse_reads_answers(void **state) {
    (void)state;
    static const struct {
        const char *channel, *options, *result, *code; /* result NULL: fails with code */
    } cases[] = {
        {"\"{\\\"a\\\": 1}\"", "", "{\"a\":1}", NULL},
        {"\"  [1]\\n\"", "", "[1]", NULL},
        {"\"```json\\n{\\\"a\\\": 1}\\n```\"", "", "{\"a\":1}", NULL},
        {"\"```\\n[2]\\n```\"", "", "[2]", NULL},
        {"\"Here you are:\\n```json\\n{\\\"a\\\": 1}\\n```\\nGood luck!\"", "", "{\"a\":1}", NULL},
        {"\"{\\\"code\\\": \\\"```json\\\\n[]\\\\n```\\\"}\"", "", "{\"code\":\"```json\\n[]\\n```\"}", NULL},
        {"\"sorry\"", "", NULL, "PARSE"},
        {"\"\"", "", NULL, "PARSE"},
        {"\"```json\"", "", NULL, "PARSE"},
        {"7", "", NULL, "PARSE"},
        {"[]", "", NULL, "PARSE"},
        {"[{\"type\": \"user\", \"content\": \"1\"}]", "", NULL, "PARSE"},
        {"[{\"type\": \"ai\", \"content\": \"1\"}, {\"type\": \"ai\", \"content\": \"2\"}, {\"type\": \"user\", "
         "\"content\": \"3\"}]",
         "", "2", NULL},
        {"{\"type\": \"ai\", \"content\": \"hello\"}", ", \"as\": \"text\"", "\"hello\"", NULL},
        {"{\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": \"he\"}, {\"type\": \"image\"}, "
         "{\"type\": \"text\", \"text\": \"llo\"}]}",
         ", \"as\": \"text\"", "\"hello\"", NULL},
        {"\"{}\"", ", \"schema\": {\"type\": \"object\"}", "{}", NULL},
        {"\"[]\"", ", \"schema\": {\"type\": \"object\"}", NULL, "SCHEMA"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[256];
        tn_test_set_channel("in", cases[i].channel);
        tn_test_set_channel("out", "null");
        snprintf(config, sizeof config, "{\"input_key\": \"in\", \"output_key\": \"out\"%s}", cases[i].options);
        struct tn_test_task *task = tn_test_run("parse", config, "null");
        if (cases[i].result)
            assert_true(tn_test_wrote("out", cases[i].result));
        else
            assert_true(tn_test_failed(task, cases[i].code));
        tn_test_finish();
    }
}

#define SUBGRAPH "{\"document\": \"inner.yaml\", \"input\": {\"topic\": \"query\"}, \"output\": {\"found\": \"notes\"}}"

static struct tn_test_task *start_subgraph(void) {
    tn_test_set_channel("topic", "\"joints\"");
    tn_test_set_channel("notes", "null");
    struct tn_test_task *task = tn_test_run("subgraph", SUBGRAPH, "null");
    assert_int_equal(task->state, TN_TEST_OPEN);
    assert_string_equal(tn_test_last_call()->callee->name, "inner.yaml");
    assert_true(tn_test_is(tn_test_last_call()->input, "{\"query\":\"joints\"}"));
    return task;
}

static void subgraph_maps_in_and_out(void **state) {
    (void)state;
    struct tn_test_task *task = start_subgraph();
    tn_test_call_end(tn_test_last_call(), TN_OK, "{\"query\": \"joints\", \"found\": [1]}");
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    assert_true(tn_test_wrote("notes", "[1]"));
    tn_test_finish();

    task = start_subgraph();
    tn_test_call_end(tn_test_last_call(), TN_OK, "{\"other\": 1}");
    assert_true(tn_test_failed(task, "SUBGRAPH_OUTPUT"));
    tn_test_finish();

    task = start_subgraph();
    tn_test_call_end(tn_test_last_call(), TN_FAILED, "{\"code\": \"INNER\", \"message\": \"no\", \"retryable\": true}");
    assert_true(tn_test_failed(task, "INNER"));
    tn_test_finish();

    task = start_subgraph();
    tn_test_call_end(tn_test_last_call(), TN_CANCELLED, NULL);
    assert_true(tn_test_failed(task, "CANCELLED"));
    tn_test_finish();
}

static void delay_waits(void **state) {
    (void)state;
    assert_int_equal(tn_test_create("delay", "{\"ms\": 100}"), TN_OK);
    struct tn_test_task *first = tn_test_start("null"), *second = tn_test_start("null"), *third = tn_test_start("null");
    tn_test_advance(99);
    assert_int_equal(first->state, TN_TEST_OPEN);
    tn_test_cancel(second); /* from the middle of the list */
    assert_true(tn_test_failed(second, "CANCELLED"));
    tn_test_advance(1);
    assert_int_equal(first->state, TN_TEST_COMPLETED);
    assert_int_equal(third->state, TN_TEST_COMPLETED);
    tn_test_cancel(third); /* too late: nothing happens */
    struct tn_test_task *last = tn_test_start("null");
    tn_test_cancel(last);
    assert_true(tn_test_failed(last, "CANCELLED"));
    tn_test_finish();
}

/* The list is searched from both ends. */
static void delay_cancels_in_any_order(void **state) {
    (void)state;
    static const int orders[][5] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 1, 3, 0, 4}, {1, 4, 2, 0, 3}};
    for (size_t order = 0; order < sizeof orders / sizeof *orders; order++) {
        assert_int_equal(tn_test_create("delay", "{\"ms\": 100}"), TN_OK);
        struct tn_test_task *tasks[5];
        for (int i = 0; i < 5; i++) tasks[i] = tn_test_start("null");
        for (int i = 0; i < 5; i++) {
            tn_test_cancel(tasks[orders[order][i]]);
            assert_true(tn_test_failed(tasks[orders[order][i]], "CANCELLED"));
            for (int later = i + 1; later < 5; later++)
                assert_int_equal(tasks[orders[order][later]]->state, TN_TEST_OPEN);
        }
        tn_test_finish();
    }
}

static void emit_waits_for_room(void **state) {
    (void)state;
    assert_int_equal(tn_test_create("emit", "{\"each\": \"[1,2,3,4]\"}"), TN_OK);
    tn_test.room = 2;
    struct tn_test_task *task = tn_test_start("null");
    assert_int_equal(task->state, TN_TEST_OPEN);
    tn_test_ready(task, 0);
    assert_int_equal(task->state, TN_TEST_OPEN);
    tn_test_ready(task, 5);
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    assert_true(tn_test_is(tn_test.emitted, "[1,2,3,4]"));
    tn_test_ready(task, 5); /* late: nothing happens */
    tn_test.room = 1;
    struct tn_test_task *cancelled = tn_test_start("null");
    tn_test_cancel(cancelled);
    assert_true(tn_test_failed(cancelled, "CANCELLED"));
    tn_test_finish();
}

static void emit_sends_one(void **state) {
    (void)state;
    tn_test.room = 0;
    struct tn_test_task *task = tn_test_run("emit", "{\"value\": \"{\\\"a\\\": 1}\"}", "null");
    assert_int_equal(task->state, TN_TEST_OPEN);
    tn_test_ready(task, 1);
    assert_int_equal(task->state, TN_TEST_COMPLETED);
    assert_true(tn_test_is(tn_test.emitted, "[{\"a\":1}]"));
    tn_test_finish();
    assert_true(tn_test_failed(tn_test_run("emit", "{\"each\": \"7\"}", "null"), "TYPE"));
    tn_test_finish();
    assert_int_equal(tn_test_create("emit", "{}"), TN_FAILED);
    tn_test_finish();
}

static void fail_fails(void **state) {
    (void)state;
    tn_test_set_channel("who", "\"Ada\"");
    struct tn_test_task *task = tn_test_run(
        "fail", "{\"code\": \"NOPE\", \"message\": \"not for {who}\", \"retryable\": true, \"retry_after_ms\": 5}",
        "null");
    assert_int_equal(task->state, TN_TEST_FAILED);
    assert_true(tn_test_is(task->error,
                           "{\"code\":\"NOPE\",\"message\":\"not for Ada\",\"retryable\":true,\"retry_after_ms\":5}"));
    tn_test_finish();
}

static void fail_passes_on_an_error(void **state) {
    (void)state;
    static const struct {
        const char *channel, *code; /* the error; the code with which the node fails */
    } cases[] = {
        {"{\"code\":\"OVERLOADED\",\"message\":\"later\",\"retryable\":true,\"detail\":{\"a\":1}}", "OVERLOADED"},
        {"null", "TYPE"},
        {"[]", "TYPE"},
        {"{\"code\":\"A\"}", "TYPE"},
        {"{\"code\":\"\",\"message\":\"m\"}", "TYPE"},
        {"{\"code\":1, \"message\":\"m\"}", "TYPE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_test_set_channel("error", cases[i].channel);
        struct tn_test_task *task = tn_test_run("fail", "{\"error\":\"state.error\"}", "null");
        assert_true(tn_test_failed(task, cases[i].code));
        if (i == 0) assert_true(tn_test_is(task->error, cases[i].channel));
        tn_test_finish();
    }
    tn_test_set_channel("error", "null");
    assert_true(tn_test_failed(tn_test_run("fail", "{\"error\":\"state.error.code\"}", "null"), "EXPRESSION_ERROR"));
    tn_test_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passthrough_writes_nothing),
        cmocka_unit_test(transform_copies),
        cmocka_unit_test(set_evaluates),
        cmocka_unit_test(drafts_may_be_missing),
        cmocka_unit_test(prompt_makes_a_text),
        cmocka_unit_test(prompt_makes_messages),
        cmocka_unit_test(parse_reads_answers),
        cmocka_unit_test(subgraph_maps_in_and_out),
        cmocka_unit_test(delay_waits),
        cmocka_unit_test(delay_cancels_in_any_order),
        cmocka_unit_test(emit_waits_for_room),
        cmocka_unit_test(emit_sends_one),
        cmocka_unit_test(fail_fails),
        cmocka_unit_test(fail_passes_on_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core_nodes_test.c - the nodes of plugins/core, one by one, on a host that does only what it is told. */
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
    fake_set_channel("a", "1");
    struct fake_task *task = fake_run("passthrough", "{}", "null");
    assert_int_equal(task->end, FAKE_COMPLETED);
    assert_null(task->output);
    assert_null(fake.channels[0].written);
    fake_finish();
}

static void transform_copies(void **state) {
    (void)state;
    fake_set_channel("a", "[1,2]");
    fake_set_channel("b", "null");
    fake_set_channel("c", "null");
    struct fake_task *task = fake_run("transform", "{\"mapping\": {\"a\": \"b\", \"b\": \"c\"}}", "null");
    assert_int_equal(task->end, FAKE_COMPLETED);
    assert_true(fake_wrote("b", "[1,2]"));
    assert_true(fake_wrote("c", "null")); /* as of the step's start */
    fake_finish();
    fake_set_channel("a", "1");
    assert_int_equal(fake_create("transform", "{\"mapping\": {\"a\": \"nowhere\"}}"), TN_NOT_FOUND);
    fake_finish();
}

static void set_evaluates(void **state) {
    (void)state;
    fake_set_channel("a", "\"x\"");
    fake_set_channel("b", "null");
    fake_set_channel("c", "null");
    struct fake_task *task = fake_run("set", "{\"values\": {\"b\": \"state.a\", \"c\": {\"literal\": true}}}", "null");
    assert_int_equal(task->end, FAKE_COMPLETED);
    assert_true(fake_wrote("b", "\"x\""));
    assert_true(fake_wrote("c", "{\"literal\":true}"));
    fake_finish();
    fake_set_channel("b", "null");
    assert_true(fake_failed(fake_run("set", "{\"values\": {\"b\": \"fail\"}}", "null"), "EXPRESSION_ERROR"));
    fake_finish();
    fake_set_channel("b", "null");
    assert_int_equal(fake_create("set", "{\"values\": {\"b\": \"invalid(\"}}"), TN_INVALID);
    fake_finish();
}

static void drafts_may_be_missing(void **state) {
    (void)state;
    static const struct {
        const char *missing, *id, *config;
    } cases[] = {
        {TN_EVAL_DRAFT, "set", "{\"values\": {\"b\": \"1\"}}"},
        {TN_EVAL_DRAFT, "prompt", "{\"template\": \"x\", \"output_key\": \"b\"}"},
        {TN_EVAL_DRAFT, "emit", "{\"value\": \"1\"}"},
        {TN_EVAL_DRAFT, "fail", "{\"message\": \"x\"}"},
        {TN_EVAL_DRAFT, "parse", "{\"input_key\": \"b\", \"output_key\": \"b\", \"schema\": {}}"},
        {TN_GRAPH_DRAFT, "subgraph", "{\"document\": \"x\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_set_channel("b", "null");
        snprintf(fake.missing, sizeof fake.missing, "%s", cases[i].missing);
        assert_int_equal(fake_create(cases[i].id, cases[i].config), TN_INVALID);
        assert_non_null(strstr(fake.refusal, cases[i].missing));
        fake_finish();
    }
}

static void prompt_makes_a_text(void **state) {
    (void)state;
    fake_set_channel("topic", "\"joints\"");
    fake_set_channel("out", "null");
    (void)fake_run("prompt", "{\"template\": \"About {topic}.\", \"output_key\": \"out\"}", "null");
    assert_true(fake_wrote("out", "\"About joints.\""));
    fake_finish();
    fake_set_channel("out", "null");
    assert_true(fake_failed(fake_run("prompt", "{\"template\": \"About {topic}.\", \"output_key\": \"out\"}", "null"),
                            "MISSING_VARIABLE"));
    assert_null(fake.channels[0].written);
    fake_finish();
}

static void prompt_makes_messages(void **state) {
    (void)state;
    fake_set_channel("topic", "\"joints\"");
    fake_set_channel("history", "[{\"type\": \"user\", \"content\": \"hi\"}]");
    fake_set_channel("out", "null");
    (void)fake_run("prompt",
                   "{\"messages\": [{\"type\": \"system\", \"content\": \"Be brief.\"}, {\"from\": \"history\"},"
                   " {\"type\": \"user\", \"content\": \"About {topic}.\"}], \"output_key\": \"out\"}",
                   "null");
    assert_true(fake_wrote("out",
                           "[{\"type\":\"system\",\"content\":\"Be brief.\"},{\"type\":\"user\",\"content\":\"hi\"},"
                           "{\"type\":\"user\",\"content\":\"About joints.\"}]"));
    fake_finish();
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
        fake_set_channel("in", cases[i].channel);
        fake_set_channel("out", "null");
        snprintf(config, sizeof config, "{\"input_key\": \"in\", \"output_key\": \"out\"%s}", cases[i].options);
        struct fake_task *task = fake_run("parse", config, "null");
        if (cases[i].result)
            assert_true(fake_wrote("out", cases[i].result));
        else
            assert_true(fake_failed(task, cases[i].code));
        fake_finish();
    }
}

#define SUBGRAPH "{\"document\": \"inner.yaml\", \"input\": {\"topic\": \"query\"}, \"output\": {\"found\": \"notes\"}}"

static struct fake_task *start_subgraph(void) {
    fake_set_channel("topic", "\"joints\"");
    fake_set_channel("notes", "null");
    struct fake_task *task = fake_run("subgraph", SUBGRAPH, "null");
    assert_int_equal(task->end, FAKE_OPEN);
    assert_string_equal(fake.call.name, "inner.yaml");
    assert_true(fake_is(fake.call.input, "{\"query\":\"joints\"}"));
    return task;
}

static void subgraph_maps_in_and_out(void **state) {
    (void)state;
    struct fake_task *task = start_subgraph();
    fake_call_end(TN_OK, "{\"query\": \"joints\", \"found\": [1]}");
    assert_int_equal(task->end, FAKE_COMPLETED);
    assert_true(fake_wrote("notes", "[1]"));
    fake_finish();

    task = start_subgraph();
    fake_call_end(TN_OK, "{\"other\": 1}");
    assert_true(fake_failed(task, "SUBGRAPH_OUTPUT"));
    fake_finish();

    task = start_subgraph();
    fake_call_end(TN_FAILED, "{\"code\": \"INNER\", \"message\": \"no\", \"retryable\": true}");
    assert_true(fake_failed(task, "INNER"));
    fake_finish();

    task = start_subgraph();
    fake_call_end(TN_CANCELLED, NULL);
    assert_true(fake_failed(task, "CANCELLED"));
    fake_finish();
}

static void delay_waits(void **state) {
    (void)state;
    assert_int_equal(fake_create("delay", "{\"ms\": 100}"), TN_OK);
    struct fake_task *first = fake_start("null"), *second = fake_start("null"), *third = fake_start("null");
    fake_advance(99);
    assert_int_equal(first->end, FAKE_OPEN);
    fake_cancel(second); /* from the middle of the list */
    assert_true(fake_failed(second, "CANCELLED"));
    fake_advance(1);
    assert_int_equal(first->end, FAKE_COMPLETED);
    assert_int_equal(third->end, FAKE_COMPLETED);
    fake_cancel(third); /* too late: nothing happens */
    struct fake_task *last = fake_start("null");
    fake_cancel(last);
    assert_true(fake_failed(last, "CANCELLED"));
    fake_finish();
}

static void emit_waits_for_room(void **state) {
    (void)state;
    assert_int_equal(fake_create("emit", "{\"each\": \"[1,2,3,4]\"}"), TN_OK);
    fake.room = 2;
    struct fake_task *task = fake_start("null");
    assert_int_equal(task->end, FAKE_OPEN);
    fake_ready(task, 0);
    assert_int_equal(task->end, FAKE_OPEN);
    fake_ready(task, 5);
    assert_int_equal(task->end, FAKE_COMPLETED);
    assert_true(fake_is(fake.emitted, "[1,2,3,4]"));
    fake_ready(task, 5); /* late: nothing happens */
    fake.room = 1;
    struct fake_task *cancelled = fake_start("null");
    fake_cancel(cancelled);
    assert_true(fake_failed(cancelled, "CANCELLED"));
    fake_finish();
}

static void emit_sends_one(void **state) {
    (void)state;
    fake.room = 0;
    struct fake_task *task = fake_run("emit", "{\"value\": \"{\\\"a\\\": 1}\"}", "null");
    assert_int_equal(task->end, FAKE_OPEN);
    fake_ready(task, 1);
    assert_int_equal(task->end, FAKE_COMPLETED);
    assert_true(fake_is(fake.emitted, "[{\"a\":1}]"));
    fake_finish();
    assert_true(fake_failed(fake_run("emit", "{\"each\": \"7\"}", "null"), "TYPE"));
    fake_finish();
    assert_int_equal(fake_create("emit", "{}"), TN_INVALID);
    fake_finish();
}

static void fail_fails(void **state) {
    (void)state;
    fake_set_channel("who", "\"Ada\"");
    struct fake_task *task = fake_run(
        "fail", "{\"code\": \"NOPE\", \"message\": \"not for {who}\", \"retryable\": true, \"retry_after_ms\": 5}",
        "null");
    assert_int_equal(task->end, FAKE_FAILED);
    assert_true(fake_is(task->error,
                        "{\"code\":\"NOPE\",\"message\":\"not for Ada\",\"retryable\":true,\"retry_after_ms\":5}"));
    fake_finish();
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
        cmocka_unit_test(emit_waits_for_room),
        cmocka_unit_test(emit_sends_one),
        cmocka_unit_test(fail_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

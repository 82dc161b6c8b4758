/*
 * model_embed_test.c - batches of embeddings: how they are split, how many are open, in which order they may end, and
 * what happens when one fails or the call is cancelled. The provider is a callable whose calls the test ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* cmocka.h needs the ones above. */
#include <cmocka.h>

#include "adl/value/error.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/engine/model/model_embed.h"
#include "host/plugin/call/call.h"

#define REQUESTS_MAX 64

/* ---- The provider ---- */

static struct {
    uint64_t tokens[REQUESTS_MAX];
    tn_value inputs[REQUESTS_MAX];
    bool ended[REQUESTS_MAX];
    int count, open, most, cancelled;
    bool at_once; /* ends calls inside start */
} provider;

/* {embeddings: [[length of the text, 1]], usage: {input_tokens: number of texts}} */
static tn_value answer_to(tn_value input) {
    tn_value texts = value_get(input, "embed"), vectors = value_array();
    for (size_t i = 0; i < value_count(texts); i++) {
        size_t length;
        (void)value_chars(value_at(texts, i), &length);
        vectors = value_push_take(
            vectors, value_push_take(value_push_take(value_array(), value_int((int64_t)length)), value_int(1)));
    }
    tn_value usage = value_set_take(value_object(), "input_tokens", value_int((int64_t)value_count(texts)));
    return value_set_take(value_set_take(value_object(), "embeddings", vectors), "usage", usage);
}

static void complete(int index, tn_value output_take) {
    provider.ended[index] = true;
    provider.open--;
    assert_int_equal(call_complete(provider.tokens[index], output_take), TN_OK);
    value_unref(output_take);
}

static int32_t provider_start(struct callable *callable, struct call *call, tn_value input) {
    (void)callable;
    assert_true(provider.count < REQUESTS_MAX);
    int index = provider.count++;
    provider.tokens[index] = call_token(call);
    provider.inputs[index] = value_ref(input);
    if (++provider.open > provider.most) provider.most = provider.open;
    if (provider.at_once) complete(index, answer_to(input));
    return TN_OK;
}

static void provider_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    struct error error = ERROR_INIT;
    provider.cancelled++;
    for (int i = 0; i < provider.count; i++)
        if (provider.tokens[i] == call_token(call)) provider.ended[i] = true;
    error_set(&error, TN_CANCELLED, "CANCELLED", "cancelled");
    (void)call_fail(call_token(call), &error);
    error_finish(&error);
}

static void provider_free(struct callable *callable) { mem_free(callable); }

static const struct callable_ops provider_ops = {
    .start = provider_start, .cancel = provider_cancel, .free = provider_free};

/* ---- One call ---- */

static struct loop *test_loop;
static bool has_ended;
static struct model_gate_side side;
static char key_name[] = "KEY";
static struct model_key key = {NULL, key_name, {0, 0, 0, 0}};
static int64_t now_ms = 1000000;

static int64_t fake_now(void) { return now_ms; }

/* The calls of the next test have a key with these limits. */
static void limit(int64_t requests, int64_t tokens, int64_t concurrent, int64_t queue) {
    struct model_gates *gates = model_gates_new();
    model_gates_set_clock(gates, fake_now);
    model_gate_side_init_take(&side, gates, test_loop);
    key.name = key_name;
    key.limits = (struct model_limits){requests, tokens, concurrent, queue};
}

static void unlimit(void) {
    model_gate_side_finish(&side);
    key.name = NULL;
}

static void on_ended(struct call *call) {
    (void)call;
    has_ended = true;
}

static const struct call_ops test_ops = {.ended = on_ended};

static struct call *embed(const char *input_text) {
    struct callable *fake = mem_zalloc(sizeof *fake);
    *fake = (struct callable){&provider_ops, 1};
    struct callable *embedder = model_embedder_new(fake, NULL, &side, &key);
    callable_unref(fake);
    tn_value input = NULL;
    bool at_once = provider.at_once;
    memset(&provider, 0, sizeof provider);
    provider.at_once = at_once;
    has_ended = false;
    assert_int_equal(json_read(input_text, strlen(input_text), NULL, &input, NULL), TN_OK);
    struct call *call = call_new(test_loop, embedder, &test_ops, NULL);
    if (call_start(call, input)) has_ended = true;
    value_unref(input);
    callable_unref(embedder);
    return call;
}

static bool test_has_ended(void *user) {
    (void)user;
    return has_ended;
}

static void turn(void) { (void)loop_run(test_loop, NULL, NULL); /* until nothing is left to do */ }

static void finish(struct call *call) {
    if (!has_ended) (void)loop_run(test_loop, test_has_ended, NULL);
    assert_true(has_ended);
    call_free(call);
    for (int i = 0; i < provider.count; i++) value_unref(provider.inputs[i]);
    provider.count = 0;
}

static void expect_json(tn_value value, const char *text) {
    char *found = json_text(value, JSON_COMPACT);
    assert_string_equal(found, text);
    mem_free(found);
}

static void expect_failure(struct call *call, const char *code, const char *message) {
    if (!has_ended) (void)loop_run(test_loop, test_has_ended, NULL);
    assert_int_equal(call_outcome(call), CALL_FAILED);
    assert_string_equal(call_error(call)->code, code);
    if (!strstr(call_error(call)->message, message)) fail_msg("%s", call_error(call)->message);
    finish(call);
}

/* ---- Tests ---- */

static void test_splits_by_number_and_bytes(void **state) {
    (void)state;
    struct call *call = embed("{\"embed\": [\"a\", \"bb\", \"ccc\"], \"options\": {\"dimensions\": 2}}");
    assert_int_equal(provider.count, 1);
    expect_json(provider.inputs[0], "{\"embed\":[\"a\",\"bb\",\"ccc\"],\"options\":{\"dimensions\":2}}");
    complete(0, answer_to(provider.inputs[0]));
    (void)loop_run(test_loop, test_has_ended, NULL);
    expect_json(call_output(call), "{\"embeddings\":[[1,1],[2,1],[3,1]],\"usage\":{\"input_tokens\":3}}");
    finish(call);
    /* A text that is too long is sent alone. */
    call = embed(
        "{\"embed\": [\"a\", \"b\", \"1234567890\", \"c\", \"d\", \"e\"], \"batch\": {\"bytes\": 4, \"texts\": 2, "
        "\"parallel\": 16}}");
    assert_int_equal(provider.count, 4);
    expect_json(provider.inputs[0], "{\"embed\":[\"a\",\"b\"]}");
    expect_json(provider.inputs[1], "{\"embed\":[\"1234567890\"]}");
    expect_json(provider.inputs[2], "{\"embed\":[\"c\",\"d\"]}");
    expect_json(provider.inputs[3], "{\"embed\":[\"e\"]}");
    for (int i = 3; i >= 0; i--)
        complete(i, answer_to(provider.inputs[i])); /* in the order of the texts nevertheless */
    (void)loop_run(test_loop, test_has_ended, NULL);
    expect_json(call_output(call),
                "{\"embeddings\":[[1,1],[1,1],[10,1],[1,1],[1,1],[1,1]],\"usage\":{\"input_tokens\":6}}");
    finish(call);
}

static void test_few_are_open(void **state) {
    (void)state;
    struct call *call =
        embed("{\"embed\": [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"], \"batch\": {\"texts\": 1}}");
    assert_int_equal(provider.count, 4);
    for (int i = 0; i < 7; i++) {
        complete(i, answer_to(provider.inputs[i]));
        turn();
    }
    assert_int_equal(provider.most, 4);
    assert_true(has_ended);
    assert_int_equal(call_outcome(call), CALL_COMPLETED);
    finish(call);
    provider.at_once = true;
    call = embed("{\"embed\": [\"a\", \"b\", \"c\"], \"batch\": {\"texts\": 1, \"parallel\": 1}}");
    assert_true(has_ended);
    assert_int_equal(provider.most, 1);
    expect_json(call_output(call), "{\"embeddings\":[[1,1],[1,1],[1,1]],\"usage\":{\"input_tokens\":3}}");
    finish(call);
    provider.at_once = false;
}

static void test_first_failure_ends_the_call(void **state) {
    (void)state;
    struct call *call = embed("{\"embed\": [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"], \"batch\": {\"texts\": 1, "
                              "\"parallel\": 3}}");
    struct error error = ERROR_INIT;
    complete(0, answer_to(provider.inputs[0]));
    turn();
    error_set(&error, TN_FAILED, "OVERLOADED", "busy");
    error_set_detail_take(&error, value_set_take(value_object(), "status", value_int(529)));
    assert_int_equal(call_fail(provider.tokens[2], &error), TN_OK);
    error_finish(&error);
    turn();
    assert_int_equal(provider.count, 4); /* no other was started */
    assert_int_equal(provider.cancelled, 2);
    assert_true(error_retryable(call_error(call))); /* so that a fallback is tried */
    assert_int_equal(value_to_int(value_get(value_get(call_error(call)->more, "detail"), "status")), 529);
    expect_failure(call, "OVERLOADED", "texts 2 to 2 of 6: busy");
}

static void test_refuses_answers_that_do_not_fit(void **state) {
    (void)state;
    static const struct {
        const char *answer, *code, *message;
    } cases[] = {
        {"{}", "INVALID_RESPONSE", "0 embeddings for 1 texts"},
        {"{\"embeddings\": [[1], [2]]}", "INVALID_RESPONSE", "2 embeddings for 1 texts"},
        {"{\"embeddings\": [[]]}", "INVALID_RESPONSE", "text 0 is not a list of numbers"},
        {"{\"embeddings\": [3]}", "INVALID_RESPONSE", "text 0 is not a list of numbers"},
        {"{\"embeddings\": [[1, \"2\"]]}", "INVALID_RESPONSE", "item 1: found string, expected a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call *call = embed("{\"embed\": [\"a\"]}");
        tn_value answer = NULL;
        assert_int_equal(json_read(cases[i].answer, strlen(cases[i].answer), NULL, &answer, NULL), TN_OK);
        complete(0, answer);
        expect_failure(call, cases[i].code, cases[i].message);
    }
    /* Vectors of two lengths cannot be compared. */
    struct call *call = embed("{\"embed\": [\"a\", \"b\"], \"batch\": {\"texts\": 1}}");
    tn_value longer = NULL;
    complete(0, answer_to(provider.inputs[0]));
    static const char other[] = "{\"embeddings\": [[1, 2, 3]]}";
    assert_int_equal(json_read(other, strlen(other), NULL, &longer, NULL), TN_OK);
    complete(1, longer);
    expect_failure(call, "INVALID_RESPONSE", "has 3 numbers, those before have 2");
}

static void test_refuses_requests(void **state) {
    (void)state;
    static const struct {
        const char *input, *code, *message;
    } cases[] = {
        {"{\"embed\": []}", "INVALID_REQUEST", "found 0 texts, expected 1 to 10000"},
        {"{\"embed\": [\"a\", 1]}", "INVALID_REQUEST", "item 1: found int, expected a text"},
        {"{\"embed\": [\"a\"], \"batch\": 3}", "INVALID_REQUEST", "expected an object"},
        {"{\"embed\": [\"a\"], \"batch\": {\"text\": 3}}", "INVALID_REQUEST", "has no member `text`"},
        {"{\"embed\": [\"a\"], \"batch\": {\"texts\": 0}}", "INVALID_REQUEST", "`batch.texts`: expected an integer"},
        {"{\"embed\": [\"a\"], \"batch\": {\"parallel\": 17}}", "INVALID_REQUEST", "from 1 to 16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct call *call = embed(cases[i].input);
        assert_int_equal(provider.count, 0);
        expect_failure(call, cases[i].code, cases[i].message);
    }
    struct call *call = embed("{\"embed\": [\"a\"], \"batch\": {\"texts\": 2.0}}"); /* an integer of a JSON Schema */
    complete(0, answer_to(provider.inputs[0]));
    finish(call);
}

static void test_cancelled_in_between(void **state) {
    (void)state;
    struct call *call = embed("{\"embed\": [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"], \"batch\": {\"texts\": 1}}");
    complete(1, answer_to(provider.inputs[1]));
    turn();
    call_cancel(call);
    (void)loop_run(test_loop, test_has_ended, NULL);
    assert_int_equal(call_outcome(call), CALL_CANCELLED);
    assert_int_equal(provider.count, 5);
    assert_int_equal(provider.cancelled, 4);
    finish(call);
}

/* ---- Limits of the key ---- */

/* A request for another purpose, which is inside of the gate or waits. */
static void enter_other(struct model_ticket *ticket) { (void)ticket; }

static void test_each_batch_passes_the_gate(void **state) {
    (void)state;
    limit(0, 0, 2, 10);
    struct call *call = embed("{\"embed\": [\"a\", \"b\", \"c\", \"d\", \"e\"], \"batch\": {\"texts\": 1}}");
    assert_int_equal(provider.count, 2);
    for (int i = 0; i < 5; i++) {
        complete(i, answer_to(provider.inputs[i]));
        turn();
    }
    assert_int_equal(provider.most, 2);
    assert_int_equal(call_outcome(call), CALL_COMPLETED);
    finish(call);
    unlimit();
    /* The same if each request ends at once: leaving the gate admits the next batch. */
    limit(0, 0, 1, 10);
    provider.at_once = true;
    call = embed("{\"embed\": [\"a\", \"b\", \"c\"], \"batch\": {\"texts\": 1}}");
    assert_true(has_ended);
    assert_int_equal(provider.most, 1);
    expect_json(call_output(call), "{\"embeddings\":[[1,1],[1,1],[1,1]],\"usage\":{\"input_tokens\":3}}");
    finish(call);
    provider.at_once = false;
    unlimit();
}

static void test_each_batch_counts(void **state) {
    (void)state;
    struct model_ticket other = {.enter = enter_other};
    uint32_t ahead;
    limit(3, 0, 0, 10);
    struct call *call = embed("{\"embed\": [\"a\", \"b\", \"c\"], \"batch\": {\"texts\": 1}}");
    assert_int_equal(provider.count, 3);
    assert_true(model_gate_enter(&side, &key, 0, &other, &ahead));
    assert_false(other.inside); /* three requests in this minute */
    model_gate_leave(&side, &other, -1);
    for (int i = 0; i < 3; i++) complete(i, answer_to(provider.inputs[i]));
    finish(call);
    unlimit();
    /* The tokens that the service reports count, one for each text. */
    limit(0, 4, 0, 10);
    call = embed("{\"embed\": [\"a\", \"b\", \"c\"], \"batch\": {\"texts\": 1}}");
    for (int i = 0; i < 3; i++) complete(i, answer_to(provider.inputs[i]));
    finish(call);
    assert_true(model_gate_enter(&side, &key, 2, &other, &ahead));
    assert_false(other.inside);
    model_gate_leave(&side, &other, -1);
    assert_true(model_gate_enter(&side, &key, 1, &other, &ahead));
    assert_true(other.inside);
    model_gate_leave(&side, &other, -1);
    unlimit();
}

static void test_batches_that_wait_can_fail(void **state) {
    (void)state;
    limit(0, 0, 1, 1);
    struct call *call = embed("{\"embed\": [\"a\", \"b\", \"c\", \"d\"], \"batch\": {\"texts\": 1}}");
    assert_int_equal(provider.count, 1);
    expect_failure(call, "RATE_LIMITED", "texts 2 to 2 of 4: the limits of the key KEY are used up");
    assert_int_equal(provider.cancelled, 1);
    unlimit();
    limit(0, 0, 1, 10);
    call = embed("{\"embed\": [\"a\", \"b\", \"c\"], \"batch\": {\"texts\": 1}}");
    call_cancel(call);
    (void)loop_run(test_loop, test_has_ended, NULL);
    assert_int_equal(call_outcome(call), CALL_CANCELLED);
    assert_int_equal(provider.count, 1);
    finish(call);
    /* All of them wait, and are cancelled. */
    struct model_ticket other = {.enter = enter_other};
    uint32_t ahead;
    assert_true(model_gate_enter(&side, &key, 0, &other, &ahead));
    call = embed("{\"embed\": [\"a\", \"b\"], \"batch\": {\"texts\": 1}}");
    assert_int_equal(provider.count, 0);
    call_cancel(call);
    (void)loop_run(test_loop, test_has_ended, NULL);
    assert_int_equal(call_outcome(call), CALL_CANCELLED);
    finish(call);
    model_gate_leave(&side, &other, -1);
    unlimit();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_splits_by_number_and_bytes),
        cmocka_unit_test(test_few_are_open),
        cmocka_unit_test(test_first_failure_ends_the_call),
        cmocka_unit_test(test_refuses_answers_that_do_not_fit),
        cmocka_unit_test(test_refuses_requests),
        cmocka_unit_test(test_cancelled_in_between),
        cmocka_unit_test(test_each_batch_passes_the_gate),
        cmocka_unit_test(test_each_batch_counts),
        cmocka_unit_test(test_batches_that_wait_can_fail),
    };
    struct error error = ERROR_INIT;
    test_loop = loop_new(&error);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    loop_free(test_loop);
    return failed;
}

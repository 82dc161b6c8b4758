/*
 * model_gate_test.c - limits of a key: concurrent calls in order, requests and tokens in any minute, a full queue, and
 * two sides.
 */
#include "host/engine/model/model_deployment.h"
#include "host/engine/model/model_gate.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* cmocka.h needs the ones above. */
#include <cmocka.h>

static int64_t now_ms;
static int64_t fake_now(void) { return now_ms; }

static char entered[256]; /* the letters of the tickets in the order in which they were admitted */

struct named {
    struct model_ticket ticket; /* first */
    char name;
};

static void on_enter(struct model_ticket *ticket) {
    size_t length = strlen(entered);
    assert_true(length + 1 < sizeof entered);
    entered[length] = ((struct named *)ticket)->name;
    entered[length + 1] = 0;
}

struct fixture {
    struct loop *loop;
    struct model_gate_side side;
    struct named tickets[26];
};

static int setup(void **state) {
    static struct fixture fixture;
    memset(&fixture, 0, sizeof fixture);
    struct model_gates *gates = model_gates_new();
    now_ms = 1000000;
    entered[0] = 0;
    fixture.loop = loop_new(NULL);
    loop_enter(fixture.loop);
    model_gates_set_clock(gates, fake_now);
    model_gate_side_init_take(&fixture.side, gates, fixture.loop);
    for (int i = 0; i < 26; i++) {
        fixture.tickets[i].name = (char)('a' + i);
        fixture.tickets[i].ticket.enter = on_enter;
    }
    *state = &fixture;
    return 0;
}

static int teardown(void **state) {
    struct fixture *fixture = *state;
    model_gate_side_finish(&fixture->side);
    loop_free(fixture->loop);
    return 0;
}

static struct model_ticket *ticket(struct fixture *fixture, int name) { return &fixture->tickets[name - 'a'].ticket; }

static char name_of_key[] = "KEY", other_gate[] = "KEY of another address";

static bool enter(struct fixture *fixture, const struct model_limits *limits, int name, int64_t tokens) {
    uint32_t ahead;
    const struct model_key key = {name_of_key, name_of_key, *limits};
    return model_gate_enter(&fixture->side, &key, tokens, ticket(fixture, name), &ahead);
}

static void leave(struct fixture *fixture, int name, int64_t tokens) {
    model_gate_leave(&fixture->side, ticket(fixture, name), tokens);
}

static void test_concurrent(void **state) {
    struct fixture *fixture = *state;
    const struct model_limits limits = {0, 0, 2, 2};
    for (int name = 'a'; name <= 'd'; name++) assert_true(enter(fixture, &limits, name, 0));
    assert_string_equal(entered, "ab");
    assert_false(enter(fixture, &limits, 'e', 0)); /* the queue is full */
    leave(fixture, 'e', -1);                       /* it was not kept */
    leave(fixture, 'c', -1);                       /* it stops waiting */
    assert_true(enter(fixture, &limits, 'f', 0));
    leave(fixture, 'b', -1);
    assert_string_equal(entered, "abd");
    leave(fixture, 'a', -1);
    assert_string_equal(entered, "abdf");
    leave(fixture, 'd', -1);
    leave(fixture, 'f', -1);
}

static void test_requests(void **state) {
    struct fixture *fixture = *state;
    const struct model_limits limits = {3, 0, 0, 100};
    for (int name = 'a'; name <= 'e'; name++) {
        assert_true(enter(fixture, &limits, name, 0));
        now_ms += 10000;
    }
    assert_string_equal(entered, "abc"); /* at 0, 10 and 20 s */
    for (int name = 'a'; name <= 'c'; name++) leave(fixture, name, -1);
    assert_string_equal(entered, "abc"); /* a call that has ended counts */
    now_ms = 1000000 + 59999;
    leave(fixture, 'z', -1);
    assert_true(enter(fixture, &limits, 'f', 0));
    assert_string_equal(entered, "abc");
    now_ms = 1000000 + 60000; /* a is forgotten */
    assert_true(enter(fixture, &limits, 'g', 0));
    assert_string_equal(entered, "abcd");
    assert_true(loop_timer_is_running(&fixture->side.timer));
    now_ms = 1000000 + 200000; /* all are */
    leave(fixture, 'g', -1);
    assert_string_equal(entered, "abcdef");
    for (int name = 'd'; name <= 'f'; name++) leave(fixture, name, -1);
    assert_false(loop_timer_is_running(&fixture->side.timer));
}

static void test_tokens(void **state) {
    struct fixture *fixture = *state;
    const struct model_limits limits = {0, 100, 0, 100};
    assert_true(enter(fixture, &limits, 'a', 500)); /* more than the limit, alone */
    assert_true(enter(fixture, &limits, 'b', 10));
    assert_string_equal(entered, "a");
    leave(fixture, 'a', 60); /* it was less */
    assert_string_equal(entered, "ab");
    assert_true(enter(fixture, &limits, 'c', 30));
    assert_string_equal(entered, "abc");
    assert_true(enter(fixture, &limits, 'd', 1));
    leave(fixture, 'b', 10);
    leave(fixture, 'c', -1);
    assert_string_equal(entered, "abc");
    now_ms += 60000;
    leave(fixture, 'c', -1);
    assert_true(enter(fixture, &limits, 'e', 1));
    assert_string_equal(entered, "abcde");
    leave(fixture, 'd', INT64_C(1) << 40);
    leave(fixture, 'e', 0);
    assert_true(enter(fixture, &limits, 'f', 1));
    assert_string_equal(entered, "abcde");
    leave(fixture, 'f', -1);
}

/* Keys do not share limits, and two sides do. */
static void test_sides(void **state) {
    struct fixture *fixture = *state;
    const struct model_limits limits = {0, 0, 1, 10};
    const struct model_key key = {name_of_key, name_of_key, limits}, other_key = {name_of_key, other_gate, limits};
    struct model_gate_side other;
    struct loop *loop = loop_new(NULL);
    uint32_t ahead;
    model_gate_side_init_take(&other, model_gates_ref(fixture->side.gates), loop);
    assert_true(enter(fixture, &limits, 'a', 0));
    assert_true(model_gate_enter(&other, &key, 0, ticket(fixture, 'b'), &ahead));
    assert_int_equal(ahead, 0);
    assert_true(enter(fixture, &limits, 'c', 0));
    assert_true(model_gate_enter(&fixture->side, &other_key, 0, ticket(fixture, 'd'), &ahead));
    assert_string_equal(entered, "ad");
    leave(fixture, 'a', -1);
    assert_string_equal(entered, "ad"); /* b is admitted; its loop has not run */
    loop_run_posted(loop);
    assert_string_equal(entered, "adb");
    model_gate_leave(&other, ticket(fixture, 'b'), -1);
    loop_run_posted(fixture->loop);
    assert_string_equal(entered, "adbc");
    leave(fixture, 'c', -1);
    leave(fixture, 'd', -1);
    model_gate_side_finish(&other);
    loop_free(loop);
}

/* All sides have the same deployments, so that one loop avoids what has failed on another. */
static void test_deployments_are_shared(void **state) {
    struct fixture *fixture = *state;
    struct model_gate_side other;
    struct loop *loop = loop_new(NULL);
    model_gate_side_init_take(&other, model_gates_ref(fixture->side.gates), loop);
    struct model_deployments *here = model_gates_deployments(fixture->side.gates);
    struct model_deployments *there = model_gates_deployments(other.gates);
    tn_value binding = value_text("openai:a"), equal = value_text("openai:a");
    struct model_deployment *first = model_deployments_find(here, binding);
    assert_ptr_equal(first, model_deployments_find(there, equal));
    first->cool_until_ms = 5000;
    for (int64_t i = 1; i < MODEL_DEPLOYMENTS_MAX; i++) {
        tn_value next = value_int(i);
        struct model_deployment *found = model_deployments_find(there, next);
        assert_non_null(found);
        assert_true(found != first && found->cool_until_ms == 0);
        value_unref(next);
    }
    tn_value more = value_int(-1);
    assert_null(model_deployments_find(here, more));
    assert_int_equal(model_deployments_find(there, binding)->cool_until_ms, 5000);
    model_deployment_use(here, first);
    model_deployment_use(there, first);
    assert_int_equal(first->used, 2);
    value_unref(more);
    value_unref(binding);
    value_unref(equal);
    model_gate_side_finish(&other);
    loop_free(loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_concurrent, setup, teardown),
        cmocka_unit_test_setup_teardown(test_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tokens, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sides, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deployments_are_shared, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * runnable_test.c - batch_run with callables that end in a later turn of the loop: never more at once than allowed,
 * results in the order of inputs whatever order they ended in.
 */
#include "tests/unit/engine_fixture.h"

#define ITEMS 9

/* Ends its calls last first, once as many as are allowed are open or all have been started. */
struct later {
    struct callable callable; /* first */
    struct loop *loop;
    struct loop_work work;
    uint64_t tokens[ITEMS];
    tn_value inputs[ITEMS];
    size_t open, open_max, started;
};

static struct later later;

static void end_all(struct loop_work *work) {
    (void)work;
    while (later.open) {
        later.open--;
        call_complete(later.tokens[later.open], later.inputs[later.open]);
    }
}

static int32_t later_start(struct callable *callable, struct call *call, tn_value input) {
    (void)callable;
    later.tokens[later.open] = call_token(call);
    later.inputs[later.open++] = input;
    later.started++;
    if (later.open > later.open_max) later.open_max = later.open;
    loop_defer(later.loop, &later.work);
    return TN_OK;
}

static void later_free(struct callable *callable) { (void)callable; }

static size_t told;

static void note_result(void *user, size_t index, tn_value result) {
    (void)user;
    assert_int_equal(index, told++);
    assert_int_equal(value_to_int(value_get(result, "output")), (int64_t)index);
}

static void batch_is_bounded_and_ordered(void **state) {
    static const struct callable_ops ops = {.start = later_start, .free = later_free};
    (void)state;
    struct host *host = host_for_tests();
    tn_value inputs = value_array();
    for (int i = 0; i < ITEMS; i++) inputs = value_push_take(inputs, value_int(i));
    for (uint32_t concurrency = 1; concurrency <= ITEMS + 1; concurrency++) {
        later = (struct later){.callable = {&ops, 1}, .loop = host->loop, .work = {.run = end_all}};
        told = 0;
        struct batch_options options = {.concurrency = concurrency, .options = RUN_OPTIONS_INIT, .result = note_result};
        assert_null(batch_run(host, &later.callable, inputs, &options, NULL));
        assert_int_equal(told, ITEMS);
        assert_int_equal(later.started, ITEMS);
        assert_int_equal(later.open_max, concurrency < ITEMS ? concurrency : ITEMS);
    }
    value_unref(inputs);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(batch_is_bounded_and_ordered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * runnable_test.c - batch_run with callables that end in a later turn of the loop: the limit of concurrency holds, and
 * the results come in the order of the inputs.
 */
#include "tests/unit/engine_fixture.h"

#define ITEMS 9

/* Ends its calls in reverse order, in the next turn of the loop. */
struct deferred {
    struct callable callable; /* first */
    struct loop *loop;
    struct loop_work work;
    uint64_t tokens[ITEMS];
    tn_value inputs[ITEMS];
    size_t open, open_max, started;
};

static struct deferred deferred;

static void end_all_calls(struct loop_work *work) {
    (void)work;
    while (deferred.open) {
        deferred.open--;
        call_complete(deferred.tokens[deferred.open], deferred.inputs[deferred.open]);
    }
}

static int32_t deferred_start(struct callable *callable, struct call *call, tn_value input) {
    (void)callable;
    deferred.tokens[deferred.open] = call_token(call);
    deferred.inputs[deferred.open++] = input;
    deferred.started++;
    if (deferred.open > deferred.open_max) deferred.open_max = deferred.open;
    loop_defer(deferred.loop, &deferred.work);
    return TN_OK;
}

static void deferred_free(struct callable *callable) { (void)callable; }

static size_t reported;

static void note_result(void *user, size_t index, tn_value result) {
    (void)user;
    assert_int_equal(index, reported++);
    assert_int_equal(value_to_int(value_get(result, "output")), (int64_t)index);
}

static void batch_is_bounded_and_ordered(void **state) {
    static const struct callable_ops ops = {.start = deferred_start, .free = deferred_free};
    (void)state;
    struct host *host = host_for_tests();
    tn_value inputs = value_array();
    for (int i = 0; i < ITEMS; i++) inputs = value_push_take(inputs, value_int(i));
    for (uint32_t concurrency = 1; concurrency <= ITEMS + 1; concurrency++) {
        deferred = (struct deferred){.callable = {&ops, 1}, .loop = host_loop(host), .work = {.run = end_all_calls}};
        reported = 0;
        struct batch_options options = {.concurrency = concurrency, .options = RUN_OPTIONS_INIT, .result = note_result};
        assert_null(batch_run(host_engine(host), &deferred.callable, inputs, &options, NULL));
        assert_int_equal(reported, ITEMS);
        assert_int_equal(deferred.started, ITEMS);
        assert_int_equal(deferred.open_max, concurrency < ITEMS ? concurrency : ITEMS);
    }
    value_unref(inputs);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(batch_is_bounded_and_ordered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

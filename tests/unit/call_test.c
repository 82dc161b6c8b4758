/* Calls of async components: ends inside start and later, ends from other threads, chunks, slots. */
#include "call_components.h"

#include <pthread.h>

#include "host/plugin/call/slot.h"

/* ---- Ends ---- */

static void test_an_end_inside_start_costs_no_turn(void **state) {
    (void)state;
    struct callable *node = fixture_instance("inline");
    struct record record;
    for (int i = 0; i < 3; i++) {
        struct call *call = fixture_call(node, &record);
        assert_int_equal(call_outcome(call), CALL_OPEN);
        assert_true(call_start(call, NULL));
        assert_int_equal(call_outcome(call), CALL_COMPLETED);
        uint32_t count;
        const struct call_write *writes = call_writes(call, &count);
        assert_int_equal(count, 1);
        assert_int_equal(writes[0].channel, 3);
        assert_int_equal(value_to_int(writes[0].value), 21);
        assert_null(call_output(call));
        assert_null(call_error(call));
        assert_null(call_interrupt_value(call));
        assert_int_equal(plugin_tasks(fixture_plugin), 0);
        call_free(call);
    }
    assert_false(loop_run(fixture_host.loop, NULL, NULL));
    assert_int_equal(record.ended, 0);
    callable_unref(node);
}

static void test_accessors(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    assert_ptr_equal(call_owner(call), &record);
    assert_ptr_equal(call_loop(call), fixture_host.loop);
    assert_ptr_equal(call_callable(call), node);
    assert_ptr_equal(call_ops_of(call), &record_ops);
    assert_null(call_parent(call));
    assert_null(call_data(call));
    call_set_data(call, &record);
    assert_ptr_equal(call_data(call), &record);
    assert_int_equal(call_depth(call), 0);
    assert_null(call_lookup_open(call_token(call))); /* not yet started */
    tn_value input = value_text("x");
    assert_false(call_start(call, input));
    assert_ptr_equal(call_lookup_open(call_token(call)), call);
    assert_int_equal(call_token(call), last_task);
    assert_ptr_equal(call_input(call), input);
    assert_int_equal(call_open_count(), 1);
    assert_int_equal(plugin_tasks(fixture_plugin), 1);
    uint32_t count;
    assert_int_equal(instance_reads(node, &count)[0], 7);
    assert_int_equal(count, 1);
    assert_non_null(instance_component(node));
    value_unref(input);
    call_complete(last_task, NULL);
    fixture_wait(&record);
    call_free(call);
    call_free(NULL);
    call_free(fixture_call(node, &record)); /* never started */
    callable_unref(node);
    callable_unref(NULL);
    assert_null(callable_ref(NULL));
}

static void test_late_end_is_reported_once_by_the_loop(void **state) {
    (void)state;
    struct callable *node = fixture_instance("timer");
    struct record record;
    struct call *call = fixture_call(node, &record);
    assert_false(call_start(call, value_int(1000)));
    fixture_wait(&record);
    assert_int_equal(record.at_ms, 1000);
    assert_int_equal(record.ended, 1);
    assert_int_equal(record.outcome, CALL_COMPLETED);
    assert_int_equal(value_to_int(call_output(call)), 1);
    call_free(call);
    callable_unref(node);
}

static void test_a_second_end_is_stale(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    tn_task task = last_task;
    assert_int_equal(task_1->complete(task, value_int(1)), TN_OK);
    tn_value text = value_text("not kept");
    assert_int_equal(task_1->complete(task, text), TN_STALE);
    assert_int_equal(fixture_fail(task, "X", "y"), TN_STALE);
    assert_int_equal(task_1->interrupt(task, NULL, NULL, NULL), TN_STALE);
    assert_int_equal(task_1->write(task, 0, value_int(1)), TN_STALE);
    assert_int_equal(task_1->emit(task, value_int(1)), TN_STALE);
    assert_int_equal(task_1->cancelled(task), TN_STALE);
    tn_value none = NULL;
    assert_int_equal(task_1->read(task, 0, &none), TN_STALE);
    assert_int_equal(task_1->context(task, &none), TN_STALE);
    value_unref(text);
    assert_int_equal(record.ended, 0);
    fixture_wait(&record);
    assert_int_equal(value_to_int(call_output(call)), 1);
    call_free(call);
    assert_int_equal(task_1->complete(task, NULL), TN_STALE);
    call = fixture_call(node, &record); /* the slot is reused: the old token stays stale */
    call_start(call, NULL);
    assert_int_equal((uint32_t)last_task, (uint32_t)task);
    assert_int_not_equal(last_task, task);
    assert_int_equal(task_1->complete(task, NULL), TN_STALE);
    assert_int_equal(call_outcome(call), CALL_OPEN);
    task_1->complete(last_task, NULL);
    fixture_wait(&record);
    call_free(call);
    callable_unref(node);
    static const tn_task never[] = {0, 1, UINT32_MAX, (uint64_t)5 << 32, UINT64_MAX, (uint64_t)1 << 32 | 0x7fffffff};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        assert_int_equal(task_1->complete(never[i], NULL), TN_STALE);
        assert_int_equal(task_1->cancelled(never[i]), TN_STALE);
    }
}

static void test_failing(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    tn_value error = value_set_take(value_object(), "code", value_text("RATE_LIMITED"));
    error = value_set_take(error, "message", value_text("slow down"));
    error = value_set_take(error, "retry_after_ms", value_int(5));
    assert_int_equal(task_1->fail(last_task, error), TN_OK);
    value_unref(error);
    fixture_wait(&record);
    assert_int_equal(record.outcome, CALL_FAILED);
    assert_string_equal(code_of(call), "RATE_LIMITED");
    assert_string_equal(call_error(call)->message, "slow down");
    assert_true(error_retryable(call_error(call))); /* as the table of error codes defines */
    assert_int_equal(value_to_int(value_get(call_error(call)->more, "retry_after_ms")), 5);
    uint32_t count;
    call_writes(call, &count);
    assert_int_equal(count, 0);
    call_free(call);
    callable_unref(node);
}

static void test_a_start_that_fails_by_status(void **state) {
    (void)state;
    static const struct {
        int32_t status;
        const char *code;
    } rows[] = {{TN_ERROR, "FAILED"},
                {TN_INVALID, "INVALID_INPUT"},
                {TN_NO_MEMORY, "NO_MEMORY"},
                {TN_LIMIT, "LIMIT"},
                {TN_TYPE, "TYPE"},
                {TN_NOT_FOUND, "NOT_FOUND"},
                {TN_CANCELLED, "CANCELLED"},
                {TN_UNSUPPORTED, "UNSUPPORTED"},
                {-999, "FAILED"},
                {17, "FAILED"}};
    struct callable *node = fixture_instance("status");
    struct record record;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct call *call = fixture_call(node, &record);
        assert_true(call_start(call, value_int(rows[i].status)));
        assert_int_equal(call_outcome(call), CALL_FAILED);
        assert_string_equal(code_of(call), rows[i].code);
        call_free(call);
    }
    callable_unref(node);
}

static void test_interrupting(void **state) {
    (void)state;
    struct callable *node = fixture_instance("interrupt");
    struct record record;
    struct call *call = fixture_call(node, &record);
    assert_true(call_start(call, NULL));
    assert_int_equal(call_outcome(call), CALL_INTERRUPTED);
    assert_null(call_output(call));
    assert_int_equal(value_to_int(value_get(call_interrupt_value(call), "payload")), 1);
    assert_non_null(value_get(call_interrupt_value(call), "schema"));
    assert_int_equal(value_to_int(value_get(call_interrupt_value(call), "continuation")), 2);
    call_free(call);
    callable_unref(node);
}

static void test_writes_beyond_the_inline_ones_and_the_limit(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    for (uint32_t i = 0; i < CALL_WRITES_MAX; i++) assert_int_equal(task_1->write(last_task, 0, value_int(i)), TN_OK);
    assert_int_equal(task_1->write(last_task, 0, value_int(1)), TN_LIMIT);
    assert_int_equal(task_1->write(last_task, 1, value_int(1)), TN_NOT_FOUND);
    assert_int_equal(task_1->write(last_task, 0, NULL), TN_INVALID);
    task_1->complete(last_task, NULL);
    fixture_wait(&record);
    uint32_t count;
    const struct call_write *writes = call_writes(call, &count);
    assert_int_equal(count, CALL_WRITES_MAX);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(value_to_int(writes[i].value), i);
    call_free(call);
    callable_unref(node);
}

static int32_t record_task_start(struct callable *callable, struct call *call, tn_value input) {
    (void)callable, (void)input;
    last_task = call_token(call);
    return TN_OK;
}
static const struct callable_ops host_callable_ops = {.start = record_task_start, .free = nothing_free};

static void test_tasks_of_the_host_have_no_plugin(void **state) {
    (void)state;
    struct callable callable = {&host_callable_ops, 1};
    struct record record;
    struct call *call = fixture_call(&callable, &record);
    call_start(call, NULL);
    assert_int_equal(task_1->complete(last_task, NULL), TN_STALE);
    assert_int_equal(fixture_fail(last_task, "X", "y"), TN_STALE);
    assert_int_equal(task_1->emit(last_task, value_null()), TN_STALE);
    assert_int_equal(task_1->write(last_task, 0, value_null()), TN_STALE);
    tn_value none = NULL;
    assert_int_equal(task_1->context(last_task, &none), TN_STALE);
    uint32_t count;
    assert_null(instance_reads(&callable, &count));
    assert_int_equal(count, 0);
    assert_null(instance_component(&callable));
    assert_int_equal(call_complete(last_task, NULL), TN_OK);
    fixture_wait(&record);
    call_free(call);
}

/* ---- From other threads ---- */

static _Atomic int winners, starters;

static void *complete_task(void *argument) {
    tn_task task = *(tn_task *)argument;
    starters++;
    while (starters < 3) {
    }
    if (task_1->complete(task, value_int(3)) == TN_OK) winners++;
    assert_int_equal(task_1->complete(task, value_int(4)), TN_STALE);
    return NULL;
}

static void test_one_of_three_threads_ends_the_task(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    for (int round = 0; round < 50; round++) {
        struct record record;
        struct call *call = fixture_call(node, &record);
        pthread_t threads[3];
        winners = starters = 0;
        call_start(call, NULL);
        tn_task task = last_task;
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, complete_task, &task);
        fixture_wait(&record);
        call_free(call);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        assert_int_equal(winners, 1);
        assert_int_equal(record.ended, 1);
    }
    callable_unref(node);
}

static void *use_task_on_another_thread(void *argument) {
    tn_task task = *(tn_task *)argument;
    tn_value result = NULL, error = NULL;
    assert_int_equal(task_1->read(task, 0, &result), TN_WRONG_THREAD); /* [loop, worker] only */
    assert_int_equal(task_1->context(task, &result), TN_WRONG_THREAD);
    assert_int_equal(task_1->call(task, 0, NULL, NULL, child_done, NULL, NULL), TN_WRONG_THREAD);
    assert_int_equal(task_1->call_wait(task, 0, NULL, NULL, &result, &error), TN_WRONG_THREAD);
    assert_int_equal(task_1->cancelled(task), 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(task_1->emit(task, value_int(i)), TN_OK);
        assert_int_equal(task_1->write(task, 0, value_int(i)), TN_OK);
    }
    tn_value text = value_text("from elsewhere");
    assert_int_equal(task_1->complete(task, text), TN_OK);
    value_unref(text);
    return NULL;
}

static void test_functions_that_any_thread_may_call(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    pthread_t thread;
    call_start(call, NULL);
    pthread_create(&thread, NULL, use_task_on_another_thread, &last_task);
    fixture_wait(&record);
    pthread_join(thread, NULL);
    assert_int_equal(record.chunks, 10);
    assert_true(record.ordered);
    assert_true(value_text_is(call_output(call), "from elsewhere"));
    uint32_t count;
    call_writes(call, &count);
    assert_int_equal(count, 10);
    call_free(call);
    callable_unref(node);
}

/* ---- Chunks ---- */

static void test_chunks_come_in_order_before_the_end(void **state) {
    (void)state;
    struct callable *node = fixture_instance("stream");
    struct record record;
    static const int counts[] = {0, 1, 63, 64, 65, 200, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct call *call = fixture_call(node, &record);
        if (!call_start(call, value_int(counts[i]))) {
            fixture_wait(&record);
            assert_int_equal(record.ended, 1);
        }
        assert_int_equal(call_outcome(call), CALL_COMPLETED);
        assert_int_equal(record.chunks, counts[i]);
        assert_true(record.ordered || !counts[i]);
        call_free(call);
    }
    callable_unref(node);
}

static void test_slow_reader_slows_the_component(void **state) {
    (void)state;
    struct callable *node = fixture_instance("stream");
    struct record record;
    struct call *call = fixture_call(node, &record);
    record.refuse = true; /* one at a time */
    assert_false(call_start(call, value_int(300)));
    int64_t most = 0;
    while (!record.ended) {
        int64_t waiting = emitted - record.chunks;
        if (waiting > most) most = waiting;
        call_resume(call);
        fixture_run_turns();
    }
    assert_int_equal(most, CALL_CHUNKS_HIGH);
    assert_int_equal(record.chunks, 300);
    assert_true(record.ordered);
    /* ready was called when few chunks were left, not for each chunk */
    assert_in_range(readies, 300 / CALL_CHUNKS_HIGH, 300 / (CALL_CHUNKS_HIGH - CALL_CHUNKS_LOW) + 1);
    call_free(call);
    callable_unref(node);
}

static void test_chunks_without_a_reader_are_dropped(void **state) {
    (void)state;
    static const struct call_ops ops = {.ended = record_ended};
    struct callable *node = fixture_instance("stream");
    struct record record = {0};
    struct call *call = call_new(fixture_host.loop, node, &ops, &record);
    if (!call_start(call, value_int(500))) fixture_wait(&record);
    assert_int_equal(emitted, 500);
    call_free(call);
    callable_unref(node);
}

static void test_emit_keeps_the_chunk_if_it_returns_again(void **state) {
    (void)state;
    struct callable callable = {&host_callable_ops, 1};
    struct record record;
    struct call *call = fixture_call(&callable, &record);
    call_start(call, NULL);
    record.refuse = true;
    for (int i = 0; i < 100; i++)
        assert_int_equal(call_emit(last_task, value_int(i)), i + 1 < (int)CALL_CHUNKS_HIGH ? TN_OK : TN_AGAIN);
    call_complete(last_task, NULL);
    assert_int_equal(call_emit(last_task, value_int(1)), TN_STALE);
    while (!record.ended) {
        call_resume(call);
        fixture_run_turns();
    }
    assert_int_equal(record.chunks, 100);
    call_resume(call); /* does nothing after the end */
    call_free(call);
}

/* ---- Slots ---- */

static void test_a_slot_whose_generation_is_used_up_is_retired(void **state) {
    (void)state;
    struct callable *node = fixture_instance("inline");
    struct record record;
    struct call *call = fixture_call(node, &record);
    uint64_t index = (uint32_t)call_token(call);
    call_free(call);
    slot_set_generation(call, UINT32_MAX);
    call = fixture_call(node, &record);
    assert_int_equal(call_token(call), UINT64_C(0xffffffff00000000) | index);
    call_free(call);
    for (int i = 0; i < 100; i++) {
        call = fixture_call(node, &record);
        assert_int_not_equal((uint32_t)call_token(call), index);
        call_free(call);
    }
    assert_int_equal(call_cancelled(index), TN_STALE);
    callable_unref(node);
}

static void test_many_at_once_and_the_oldest_slot_first(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    struct callable *node = fixture_instance("open");
    struct record *records = calloc(COUNT, sizeof *records);
    struct call **calls = calloc(COUNT, sizeof(struct call *));
    tn_task *tasks = calloc(COUNT, sizeof *tasks);
    for (int i = 0; i < COUNT; i++) {
        calls[i] = fixture_call(node, &records[i]);
        call_start(calls[i], NULL);
        tasks[i] = last_task;
    }
    assert_int_equal(call_open_count(), COUNT);
    for (int i = 0; i < COUNT; i++) task_1->complete(tasks[(i * 7) % COUNT], NULL);
    fixture_run_turns();
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(records[i].ended, 1);
        call_free(calls[i]);
    }
    struct call *again = fixture_call(node, &records[0]);
    uint64_t first = (uint32_t)call_token(again);
    call_free(again);
    for (int i = 0; i < 10; i++) {
        again = fixture_call(node, &records[0]);
        assert_int_not_equal((uint32_t)call_token(again), first);
        call_free(again);
    }
    free(records);
    free((void *)calls);
    free(tasks);
    callable_unref(node);
}

static void *complete_after_the_loop(void *argument) {
    assert_int_equal(task_1->complete(*(tn_task *)argument, value_int(1)), TN_STALE);
    return NULL;
}

static void test_a_token_outlives_its_loop(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record = {0};
    struct loop *loop = loop_new(NULL);
    loop_fake_clock(loop);
    struct call *call = call_new(loop, node, &record_ops, &record);
    call_start(call, NULL);
    call_cancel(call);
    assert_true(loop_run(loop, record_has_ended, &record));
    call_free(call);
    tn_task task = last_task;
    loop_free(loop);
    pthread_t thread;
    pthread_create(&thread, NULL, complete_after_the_loop, &task);
    pthread_join(thread, NULL);
    assert_int_equal(call_open_count(), 0);
    /* What an abandoned task might use is never freed: the instance is leaked deliberately. */
    assert_int_equal(fixture_instances, 1);
    call_free(fixture_call(node, &record));
    plugin_task_end(fixture_plugin);
    callable_unref(node);
    callable_unref(node); /* release the leaked reference, for the leak checker */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_an_end_inside_start_costs_no_turn),
        TEST(test_accessors),
        TEST(test_late_end_is_reported_once_by_the_loop),
        TEST(test_a_second_end_is_stale),
        TEST(test_failing),
        TEST(test_a_start_that_fails_by_status),
        TEST(test_interrupting),
        TEST(test_writes_beyond_the_inline_ones_and_the_limit),
        TEST(test_tasks_of_the_host_have_no_plugin),
        TEST(test_one_of_three_threads_ends_the_task),
        TEST(test_functions_that_any_thread_may_call),
        TEST(test_chunks_come_in_order_before_the_end),
        TEST(test_slow_reader_slows_the_component),
        TEST(test_chunks_without_a_reader_are_dropped),
        TEST(test_emit_keeps_the_chunk_if_it_returns_again),
        TEST(test_a_slot_whose_generation_is_used_up_is_retired),
        TEST(test_many_at_once_and_the_oldest_slot_first),
        TEST(test_a_token_outlives_its_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

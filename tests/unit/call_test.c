/* Calls of async components: inline and late ends, ends from anywhere, chunks, cancelling, time, calls inside calls. */
#include "call_fixture.h"

#include <pthread.h>

#include "host/call/slot.h"

static tn_task last_task;
static _Atomic int cancels, readies;
static void *last_instance;

/* ---- Components ---- */

/* Reads one field, writes one integer, completes. */
static int32_t inline_start(void *instance, tn_task task, tn_value input) {
    const struct fake_instance *node = instance;
    (void)input;
    tn_value in = task_1->read(task, node->in);
    tn_value out = value_int(value_to_int(in) + 1);
    value_unref(in);
    task_1->write(task, node->out, out);
    value_unref(out);
    return task_1->complete(task, NULL);
}

static int32_t open_start(void *instance, tn_task task, tn_value input) {
    (void)input;
    last_task = task;
    last_instance = instance;
    return TN_OK;
}

static void count_cancel(void *instance, tn_task task) {
    (void)instance, (void)task;
    cancels++;
}

static void polite_cancel(void *instance, tn_task task) {
    (void)instance;
    cancels++;
    assert_int_equal(task_1->cancelled(task), 1);
    task_1->fail(task, "CANCELLED", "as you say", NULL);
}

static void count_ready(void *instance, tn_task task) {
    (void)instance, (void)task;
    readies++;
}

static int32_t status_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)task;
    return (int32_t)value_to_int(input);
}

static void finish_later(void *argument) {
    tn_task *task = argument;
    task_1->complete(*task, value_int(1));
    free(task);
}

/* Completes after as many ms as its input says. */
static int32_t timer_start(void *instance, tn_task task, tn_value input) {
    (void)instance;
    last_task = task;
    tn_task *kept = malloc(sizeof *kept);
    *kept = task;
    core_1->post(fixture_plugin_host, (uint64_t)value_to_int(input), finish_later, kept);
    return TN_OK;
}

static int64_t emitted;

/* Emits as many chunks as it may, up to its input. */
static int32_t stream_on(tn_task task, int64_t most) {
    while (emitted < most) {
        int32_t status = task_1->emit(task, value_int(emitted));
        if (status == TN_AGAIN) return TN_OK;
        if (status != TN_OK) return status;
        emitted++;
    }
    return task_1->complete(task, NULL);
}

static int64_t stream_most;

static int32_t stream_start(void *instance, tn_task task, tn_value input) {
    (void)instance;
    last_task = task;
    emitted = 0;
    stream_most = value_to_int(input);
    return stream_on(task, stream_most);
}

static void stream_ready(void *instance, tn_task task) {
    (void)instance;
    readies++;
    stream_on(task, stream_most);
}

static int done_count;
static int32_t done_status;
static bool inside_call, complete_early;
static char done_code[64];

static void child_done(void *user, int32_t status, tn_value result) {
    tn_task *task = user;
    assert_false(inside_call);
    done_count++;
    done_status = status;
    done_code[0] = '\0';
    if (status == TN_FAILED) snprintf(done_code, sizeof done_code, "%s", value_chars(value_get(result, "code"), NULL));
    task_1->complete(*task, status == TN_OK ? result : NULL);
    free(task);
}

/* Calls what it has bound, and completes with what that gave. */
static int32_t parent_start(void *instance, tn_task task, tn_value input) {
    const struct fake_instance *node = instance;
    tn_task *kept = malloc(sizeof *kept);
    *kept = task;
    inside_call = true;
    int32_t status = task_1->call(task, node->callee, input, child_done, kept);
    inside_call = false;
    if (status != TN_OK) free(kept);
    if (complete_early) task_1->complete(task, value_int(7));
    return status;
}

static int32_t interrupt_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)input;
    return task_1->interrupt(task, value_int(1), value_object(), value_int(2));
}

const struct fake_component fake_components[] = {
    {.id = "inline", .style = "async", .start = inline_start},
    {.id = "open", .style = "async", .start = open_start, .cancel = count_cancel, .ready = count_ready},
    {.id = "polite", .style = "async", .start = open_start, .cancel = polite_cancel},
    {.id = "status", .style = "async", .start = status_start},
    {.id = "timer", .style = "async", .start = timer_start},
    {.id = "stream", .style = "async", .start = stream_start, .ready = stream_ready},
    {.id = "interrupt", .style = "async", .start = interrupt_start},
    {.id = "calls_inline", .style = "async", .start = parent_start, .callee_kind = "tool", .callee = "timer"},
    {.id = "calls_open", .style = "async", .start = parent_start, .callee_kind = "tool", .callee = "open"},
    {.id = "calls_status", .style = "async", .start = parent_start, .callee_kind = "tool", .callee = "status"},
    {.id = "calls_stream", .style = "async", .start = parent_start, .callee_kind = "model", .callee = "stream"},
    {.id = "calls_calls", .style = "async", .start = parent_start, .callee_kind = "node", .callee = "calls_open"},
    {.id = NULL},
};

static int setup(void **state) {
    (void)state;
    cancels = readies = done_count = 0;
    complete_early = false;
    fixture_begin();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fixture_end();
    assert_int_equal(call_open_count(), 0);
    return 0;
}

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
    assert_null(call_of(call_token(call))); /* not yet started */
    tn_value input = value_text("x");
    assert_false(call_start(call, input));
    assert_ptr_equal(call_of(call_token(call)), call);
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

static void test_a_late_end_comes_from_the_loop_once(void **state) {
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
    assert_int_equal(task_1->fail(task, "X", "y", NULL), TN_STALE);
    assert_int_equal(task_1->interrupt(task, NULL, NULL, NULL), TN_STALE);
    assert_int_equal(task_1->write(task, 0, value_int(1)), TN_STALE);
    assert_int_equal(task_1->emit(task, value_int(1)), TN_STALE);
    assert_int_equal(task_1->cancelled(task), TN_STALE);
    assert_null(task_1->read(task, 0));
    assert_null(task_1->context(task));
    value_unref(text);
    assert_int_equal(record.ended, 0);
    fixture_wait(&record);
    assert_int_equal(value_to_int(call_output(call)), 1);
    call_free(call);
    assert_int_equal(task_1->complete(task, NULL), TN_STALE);
    call = fixture_call(node, &record); /* the slot is used again: the old token still leads nowhere */
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
    tn_value more = value_set_take(value_object(), "retry_after_ms", value_int(5));
    assert_int_equal(task_1->fail(last_task, "RATE_LIMITED", "slow down", more), TN_OK);
    value_unref(more);
    fixture_wait(&record);
    assert_int_equal(record.outcome, CALL_FAILED);
    assert_string_equal(code_of(call), "RATE_LIMITED");
    assert_string_equal(call_error(call)->message, "slow down");
    assert_true(error_retryable(call_error(call))); /* the table says so */
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

static int32_t keep_start(struct callable *callable, struct call *call, tn_value input) {
    (void)callable, (void)input;
    last_task = call_token(call);
    return TN_OK;
}
static void nothing_free(struct callable *callable) { (void)callable; }
static const struct callable_ops host_callable_ops = {.start = keep_start, .free = nothing_free};

static void test_tasks_of_the_host_are_no_plugins(void **state) {
    (void)state;
    struct callable callable = {&host_callable_ops, 1};
    struct record record;
    struct call *call = fixture_call(&callable, &record);
    call_start(call, NULL);
    assert_int_equal(task_1->complete(last_task, NULL), TN_STALE);
    assert_int_equal(task_1->fail(last_task, "X", "y", NULL), TN_STALE);
    assert_int_equal(task_1->emit(last_task, value_null()), TN_STALE);
    assert_int_equal(task_1->write(last_task, 0, value_null()), TN_STALE);
    assert_null(task_1->context(last_task));
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

static void *complete_it(void *argument) {
    tn_task task = *(tn_task *)argument;
    starters++;
    while (starters < 3) {
    }
    if (task_1->complete(task, value_int(3)) == TN_OK) winners++;
    assert_int_equal(task_1->complete(task, value_int(4)), TN_STALE);
    return NULL;
}

static void test_of_three_threads_one_ends_it(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    for (int round = 0; round < 50; round++) {
        struct record record;
        struct call *call = fixture_call(node, &record);
        pthread_t threads[3];
        winners = starters = 0;
        call_start(call, NULL);
        tn_task task = last_task;
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, complete_it, &task);
        fixture_wait(&record);
        call_free(call);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        assert_int_equal(winners, 1);
        assert_int_equal(record.ended, 1);
    }
    callable_unref(node);
}

static void *use_from_elsewhere(void *argument) {
    tn_task task = *(tn_task *)argument;
    assert_null(task_1->read(task, 0)); /* [loop, worker] only */
    assert_null(task_1->context(task));
    assert_int_equal(task_1->call(task, 0, NULL, child_done, NULL), TN_WRONG_THREAD);
    tn_value result = NULL;
    assert_int_equal(task_1->call_wait(task, 0, NULL, &result), TN_WRONG_THREAD);
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

static void test_all_that_any_thread_may_do(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    pthread_t thread;
    call_start(call, NULL);
    pthread_create(&thread, NULL, use_from_elsewhere, &last_task);
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

static void test_a_slow_reader_slows_the_component(void **state) {
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
        fixture_turn();
    }
    assert_int_equal(most, CALL_CHUNKS_HIGH);
    assert_int_equal(record.chunks, 300);
    assert_true(record.ordered);
    /* ready came when few were left, not for each chunk */
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

static void test_call_emit_takes_the_chunk_it_says_again_to(void **state) {
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
        fixture_turn();
    }
    assert_int_equal(record.chunks, 100);
    call_resume(call); /* nothing, after the end */
    call_free(call);
}

/* ---- Cancelling and time ---- */

static void test_a_polite_component_ends_when_asked(void **state) {
    (void)state;
    struct callable *node = fixture_instance("polite");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    call_cancel(call);
    call_cancel(call);
    assert_int_equal(record.ended, 0); /* never from inside */
    fixture_wait(&record);
    assert_int_equal(cancels, 1);
    assert_int_equal(record.at_ms, 0);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    assert_string_equal(code_of(call), "CANCELLED");
    call_cancel(call); /* nothing, after the end */
    call_free(call);
    callable_unref(node);
}

static void test_however_it_ends_it_was_cancelled(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    task_1->write(last_task, 0, value_int(1));
    task_1->emit(last_task, value_int(0));
    call_cancel(call);
    assert_int_equal(task_1->cancelled(last_task), 1);
    assert_int_equal(task_1->emit(last_task, value_int(1)), TN_CANCELLED);
    tn_value text = value_text("too late");
    assert_int_equal(task_1->complete(last_task, text), TN_OK);
    value_unref(text);
    fixture_wait(&record);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    assert_int_equal(record.chunks, 0);
    assert_null(call_output(call));
    uint32_t count;
    call_writes(call, &count);
    assert_int_equal(count, 0);
    call_free(call);
    callable_unref(node);
}

static void test_what_ended_before_cannot_be_cancelled(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    task_1->complete(last_task, value_int(1));
    call_cancel(call);
    fixture_wait(&record);
    assert_int_equal(record.outcome, CALL_COMPLETED);
    assert_int_equal(cancels, 0);
    call_free(call);
    callable_unref(node);
}

static void test_a_deaf_component_is_abandoned_and_kept(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    tn_task task = last_task;
    call_cancel(call);
    fixture_wait(&record);
    assert_int_equal(record.at_ms, CALL_GRACE_MS);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    assert_int_equal(task_1->cancelled(task), TN_STALE);
    call_free(call);
    callable_unref(node);
    /* Its code may still run: the instance stays until it says that it has ended. */
    assert_int_equal(fixture_instances, 1);
    assert_int_equal(call_open_count(), 1);
    assert_int_equal(plugin_tasks(fixture_plugin), 1);
    assert_int_equal(task_1->complete(task, value_int(1)), TN_STALE);
    assert_int_equal(task_1->complete(task, value_int(1)), TN_STALE);
    fixture_turn();
    assert_int_equal(fixture_instances, 0);
    assert_int_equal(call_open_count(), 0);
}

static void test_an_abandoned_call_that_ends_before_it_is_freed(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    for (int turn = 0; turn < 2; turn++) {
        struct record record;
        struct call *call = fixture_call(node, &record);
        call_start(call, NULL);
        call_cancel(call);
        fixture_wait(&record);
        assert_int_equal(task_1->fail(last_task, NULL, NULL, NULL), TN_STALE);
        if (turn) fixture_turn(); /* the loop hears of it before, or after, the owner lets go */
        assert_int_equal(call_outcome(call), CALL_CANCELLED);
        call_free(call);
        fixture_turn();
        assert_int_equal(call_open_count(), 0);
    }
    callable_unref(node);
}

static void test_total_time(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_timeout(call, 300, 0);
    call_start(call, NULL);
    fixture_wait(&record);
    assert_int_equal(record.at_ms, 300); /* at once: a retry need not wait for the deaf */
    assert_int_equal(record.outcome, CALL_FAILED);
    assert_string_equal(code_of(call), "TIMEOUT");
    assert_true(error_retryable(call_error(call)));
    assert_int_equal(cancels, 1);
    call_free(call);
    task_1->complete(last_task, NULL);
    fixture_turn();
    callable_unref(node);
}

static void test_a_polite_component_in_time_out(void **state) {
    (void)state;
    struct callable *node = fixture_instance("polite");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_timeout(call, 300, 0);
    call_start(call, NULL);
    fixture_wait(&record);
    assert_string_equal(code_of(call), "TIMEOUT");
    call_free(call);
    assert_int_equal(call_open_count(), 0); /* it has ended, and nothing lingers */
    callable_unref(node);
}

static void emit_later(void *argument) { task_1->emit(*(tn_task *)argument, value_int(0)); }

static void test_chunks_restart_the_idle_time(void **state) {
    (void)state;
    struct callable *node = fixture_instance("polite");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_timeout(call, 10000, 100);
    call_start(call, NULL);
    for (uint64_t at = 90; at <= 360; at += 90) core_1->post(fixture_plugin_host, at, emit_later, &last_task);
    fixture_wait(&record);
    assert_int_equal(record.at_ms, 460);
    assert_int_equal(record.chunks, 4);
    assert_string_equal(code_of(call), "TIMEOUT");
    call_free(call);
    callable_unref(node);
}

static void test_a_slow_reader_is_not_the_components_idleness(void **state) {
    (void)state;
    struct callable *node = fixture_instance("polite");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_timeout(call, 0, 100);
    call_start(call, NULL);
    record.refuse = true;
    task_1->emit(last_task, value_int(0));
    task_1->emit(last_task, value_int(1));
    fixture_turn();
    assert_int_equal(record.chunks, 1);
    for (int i = 0; i < 5; i++) fixture_advance(100);
    assert_int_equal(record.ended, 0);
    call_resume(call);
    fixture_turn();
    for (int i = 0; i < 2; i++) fixture_advance(100);
    assert_int_equal(record.ended, 1);
    call_free(call);
    callable_unref(node);
}

static void test_cancelling_ends_a_paused_call(void **state) {
    (void)state;
    struct callable *node = fixture_instance("stream");
    struct record record;
    struct call *call = fixture_call(node, &record);
    record.refuse = true;
    call_start(call, value_int(10));
    fixture_turn();
    assert_int_equal(record.ended, 0);
    call_cancel(call); /* it had completed: only the chunks are dropped */
    fixture_wait(&record);
    assert_int_equal(record.outcome, CALL_COMPLETED);
    assert_int_equal(record.chunks, 1);
    call_free(call);
    callable_unref(node);
}

static struct call *to_cancel;
static int32_t cancel_inside(struct callable *callable, struct call *call, tn_value input) {
    (void)callable, (void)input;
    to_cancel = call;
    call_cancel(call);
    last_task = call_token(call);
    return TN_OK;
}
static void host_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    cancels++;
    call_fail(call_token(call), NULL);
}

static void test_cancelling_inside_start(void **state) {
    (void)state;
    static const struct callable_ops ops = {.start = cancel_inside, .cancel = host_cancel, .free = nothing_free};
    struct callable callable = {&ops, 1};
    struct record record;
    struct call *call = fixture_call(&callable, &record);
    assert_false(call_start(call, NULL));
    assert_int_equal(cancels, 1);
    fixture_wait(&record);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    call_free(call);
}

/* ---- Calls inside calls ---- */

static void test_done_comes_from_the_loop(void **state) {
    (void)state;
    struct callable *node = fixture_instance("calls_inline");
    struct record record;
    struct call *call = fixture_call(node, &record);
    assert_false(call_start(call, value_int(0)));
    assert_int_equal(done_count, 0);
    fixture_wait(&record);
    assert_int_equal(done_count, 1);
    assert_int_equal(done_status, TN_OK);
    assert_int_equal(value_to_int(call_output(call)), 1);
    call_free(call);
    callable_unref(node);
    node = fixture_instance("calls_status");
    call = fixture_call(node, &record);
    assert_false(call_start(call, value_int(TN_TYPE))); /* the callee ends inside its start */
    assert_int_equal(done_count, 1);
    fixture_wait(&record);
    assert_int_equal(done_status, TN_FAILED);
    assert_string_equal(done_code, "TYPE");
    call_free(call);
    callable_unref(node);
}

static void test_children_are_cancelled_and_end_first(void **state) {
    (void)state;
    struct callable *node = fixture_instance("calls_calls");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    struct call *leaf = call_of(last_task);
    assert_int_equal(call_depth(leaf), 2);
    assert_ptr_equal(call_parent(call_parent(leaf)), call);
    call_cancel(call);
    fixture_wait(&record);
    assert_int_equal(done_count, 2);
    assert_int_equal(done_status, TN_CANCELLED);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    assert_in_range(record.at_ms, CALL_GRACE_MS, CALL_GRACE_MS);
    call_free(call);
    callable_unref(node);
    task_1->complete(last_task, NULL); /* the deaf leaf */
    fixture_turn();
}

static void test_a_parent_that_ends_first_waits_for_its_children(void **state) {
    (void)state;
    struct callable *node = fixture_instance("calls_open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    complete_early = true;
    assert_false(call_start(call, NULL));
    assert_int_equal(call_outcome(call), CALL_OPEN);
    fixture_wait(&record);
    assert_int_equal(done_count, 1);
    assert_int_equal(done_status, TN_CANCELLED);
    assert_int_equal(record.outcome, CALL_COMPLETED);
    assert_int_equal(value_to_int(call_output(call)), 7);
    call_free(call);
    callable_unref(node);
    task_1->complete(last_task, NULL);
    fixture_turn();
}

static int messages;
static bool message_chunk(struct call *call, tn_value chunk) {
    (void)call;
    assert_int_equal(value_to_int(value_get(chunk, "messages")), messages);
    messages++;
    return messages % 10 != 0;
}

static void test_a_models_deltas_go_to_the_tasks_owner(void **state) {
    (void)state;
    static const struct call_ops ops = {.ended = record_ended, .chunk = message_chunk};
    struct callable *node = fixture_instance("calls_stream");
    struct record record = {0};
    struct call *call = call_new(fixture_host.loop, node, &ops, &record);
    messages = 0;
    call_start(call, value_int(500));
    while (!record.ended) {
        call_resume(call);
        fixture_turn();
    }
    assert_int_equal(messages, 500);
    call_free(call);
    callable_unref(node);
}

static int depth_reached;
static void depth_done(void *user, int32_t status, tn_value result) {
    (void)status, (void)result;
    uint64_t *token = user;
    call_complete(*token, NULL);
    free(token);
}
static int32_t recurse_start(struct callable *callable, struct call *call, tn_value input) {
    (void)input;
    uint64_t *token = malloc(sizeof *token);
    *token = call_token(call);
    depth_reached++;
    int32_t status = call_child(*token, callable, false, NULL, depth_done, token);
    if (status != TN_OK) free(token);
    return status;
}

static void test_depth_is_bounded(void **state) {
    (void)state;
    static const struct callable_ops ops = {.start = recurse_start, .free = nothing_free};
    struct callable callable = {&ops, 1};
    struct record record;
    struct call *call = fixture_call(&callable, &record);
    depth_reached = 0;
    call_start(call, NULL);
    fixture_wait(&record);
    assert_int_equal(depth_reached, CALL_DEPTH_MAX);
    assert_int_equal(call_child(call_token(call), &callable, false, NULL, depth_done, NULL), TN_STALE);
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
    fixture_turn();
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
    assert_true(loop_run(loop, record_is_over, &record));
    call_free(call);
    tn_task task = last_task;
    loop_free(loop);
    pthread_t thread;
    pthread_create(&thread, NULL, complete_after_the_loop, &task);
    pthread_join(thread, NULL);
    assert_int_equal(call_open_count(), 0);
    /* What an abandoned task might use is never freed: the instance is lost, on purpose. */
    assert_int_equal(fixture_instances, 1);
    call_free(fixture_call(node, &record));
    plugin_task_end(fixture_plugin);
    callable_unref(node);
    callable_unref(node); /* the lost reference, for the sake of the leak checker */
}

/* ---- At random ---- */

static void test_random_ends_and_cancels(void **state) {
    (void)state;
    enum { COUNT = 200, ROUNDS = 20 };
    unsigned seed = (unsigned)(getenv("TENON_SEED") ? atoi(getenv("TENON_SEED")) : 20260101);
    print_message("seed %u\n", seed);
    static const char *const ids[] = {"timer", "open", "polite", "stream", "calls_inline", "calls_open"};
    struct callable *nodes[6];
    for (int i = 0; i < 6; i++) nodes[i] = fixture_instance(ids[i]);
    for (int round = 0; round < ROUNDS; round++) {
        struct record *records = calloc(COUNT, sizeof *records);
        struct call **calls = calloc(COUNT, sizeof(struct call *));
        tn_task *tasks = calloc(COUNT, sizeof *tasks);
        for (int i = 0; i < COUNT; i++) {
            calls[i] = fixture_call(nodes[rand_r(&seed) % 6], &records[i]);
            if (rand_r(&seed) % 3 == 0) call_timeout(calls[i], rand_r(&seed) % 500, rand_r(&seed) % 300);
            records[i].refuse = rand_r(&seed) % 4 == 0;
            last_task = 0;
            records[i].ended = call_start(calls[i], value_int(rand_r(&seed) % 400));
            tasks[i] = last_task;
            int other = rand_r(&seed) % (i + 1);
            if (rand_r(&seed) % 3 == 0 && !records[other].ended) call_cancel(calls[other]);
            if (rand_r(&seed) % 5 == 0) task_1->complete(tasks[other], NULL);
        }
        for (int i = 0; i < 30; i++) {
            int at = rand_r(&seed) % COUNT;
            if (!records[at].ended) call_resume(calls[at]);
            task_1->complete(tasks[rand_r(&seed) % COUNT], NULL);
            fixture_advance(rand_r(&seed) % 50);
        }
        for (int i = 0; i < COUNT; i++)
            if (!records[i].ended) call_cancel(calls[i]);
        fixture_advance(CALL_GRACE_MS);
        for (int i = 0; i < COUNT; i++) {
            if (!records[i].ended) fixture_wait(&records[i]);
            assert_int_equal(records[i].ended, 1);
            assert_int_not_equal(call_outcome(calls[i]), CALL_OPEN);
            call_free(calls[i]);
        }
        for (int i = 0; i < COUNT; i++) task_1->complete(tasks[i], NULL); /* those that were abandoned */
        while (loop_run(fixture_host.loop, NULL, NULL)) {
        }
        free(records);
        free((void *)calls);
        free(tasks);
    }
    for (int i = 0; i < 6; i++) callable_unref(nodes[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_an_end_inside_start_costs_no_turn),
        TEST(test_accessors),
        TEST(test_a_late_end_comes_from_the_loop_once),
        TEST(test_a_second_end_is_stale),
        TEST(test_failing),
        TEST(test_a_start_that_fails_by_status),
        TEST(test_interrupting),
        TEST(test_writes_beyond_the_inline_ones_and_the_limit),
        TEST(test_tasks_of_the_host_are_no_plugins),
        TEST(test_of_three_threads_one_ends_it),
        TEST(test_all_that_any_thread_may_do),
        TEST(test_chunks_come_in_order_before_the_end),
        TEST(test_a_slow_reader_slows_the_component),
        TEST(test_chunks_without_a_reader_are_dropped),
        TEST(test_call_emit_takes_the_chunk_it_says_again_to),
        TEST(test_a_polite_component_ends_when_asked),
        TEST(test_however_it_ends_it_was_cancelled),
        TEST(test_what_ended_before_cannot_be_cancelled),
        TEST(test_a_deaf_component_is_abandoned_and_kept),
        TEST(test_an_abandoned_call_that_ends_before_it_is_freed),
        TEST(test_total_time),
        TEST(test_a_polite_component_in_time_out),
        TEST(test_chunks_restart_the_idle_time),
        TEST(test_a_slow_reader_is_not_the_components_idleness),
        TEST(test_cancelling_ends_a_paused_call),
        TEST(test_cancelling_inside_start),
        TEST(test_done_comes_from_the_loop),
        TEST(test_children_are_cancelled_and_end_first),
        TEST(test_a_parent_that_ends_first_waits_for_its_children),
        TEST(test_a_models_deltas_go_to_the_tasks_owner),
        TEST(test_depth_is_bounded),
        TEST(test_a_slot_whose_generation_is_used_up_is_retired),
        TEST(test_many_at_once_and_the_oldest_slot_first),
        TEST(test_a_token_outlives_its_loop),
        TEST(test_random_ends_and_cancels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

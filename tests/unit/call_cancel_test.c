/* Calls that are cancelled or time out, alone and nested, and random sequences of operations. */
#include "call_components.h"

/* ---- Cancellation and time limits ---- */

static void test_component_ends_on_cancel(void **state) {
    (void)state;
    struct callable *node = fixture_instance("polite");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_start(call, NULL);
    call_cancel(call);
    call_cancel(call);
    assert_int_equal(record.ended, 0); /* ended() is never called from inside */
    fixture_wait(&record);
    assert_int_equal(cancels, 1);
    assert_int_equal(record.at_ms, 0);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    assert_string_equal(code_of(call), "CANCELLED");
    call_cancel(call); /* does nothing after the end */
    call_free(call);
    callable_unref(node);
}

static void test_cancelled_call_ends_as_cancelled(void **state) {
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

static void test_cancel_after_the_end_has_no_effect(void **state) {
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

static void test_component_that_ignores_cancel_is_abandoned_and_kept(void **state) {
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
    /* Its code may still run: the instance stays until the task ends. */
    assert_int_equal(fixture_instances, 1);
    assert_int_equal(call_open_count(), 1);
    assert_int_equal(plugin_tasks(fixture_plugin), 1);
    assert_int_equal(task_1->complete(task, value_int(1)), TN_STALE);
    assert_int_equal(task_1->complete(task, value_int(1)), TN_STALE);
    fixture_run_turns();
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
        assert_int_equal(task_1->fail(last_task, NULL), TN_STALE);
        if (turn) fixture_run_turns(); /* the loop handles the end before or after the owner frees the call */
        assert_int_equal(call_outcome(call), CALL_CANCELLED);
        call_free(call);
        fixture_run_turns();
        assert_int_equal(call_open_count(), 0);
    }
    callable_unref(node);
}

static void test_total_time(void **state) {
    (void)state;
    struct callable *node = fixture_instance("open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_set_time_limits(call, 300, 0);
    call_start(call, NULL);
    fixture_wait(&record);
    assert_int_equal(record.at_ms, 300); /* at once: a retry does not wait for a callable that ignores cancel */
    assert_int_equal(record.outcome, CALL_FAILED);
    assert_string_equal(code_of(call), "TIMEOUT");
    assert_true(error_retryable(call_error(call)));
    assert_int_equal(cancels, 1);
    call_free(call);
    task_1->complete(last_task, NULL);
    fixture_run_turns();
    callable_unref(node);
}

static void test_component_ends_on_timeout(void **state) {
    (void)state;
    struct callable *node = fixture_instance("polite");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_set_time_limits(call, 300, 0);
    call_start(call, NULL);
    fixture_wait(&record);
    assert_string_equal(code_of(call), "TIMEOUT");
    call_free(call);
    assert_int_equal(call_open_count(), 0); /* it has ended, so nothing lingers */
    callable_unref(node);
}

static void emit_later(void *argument) { task_1->emit(*(tn_task *)argument, value_int(0)); }

static void test_chunks_restart_the_idle_time(void **state) {
    (void)state;
    struct callable *node = fixture_instance("polite");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_set_time_limits(call, 10000, 100);
    call_start(call, NULL);
    for (uint64_t at = 90; at <= 360; at += 90)
        core_1->post(fixture_plugin_host, at, emit_later, NULL, &last_task, NULL);
    fixture_wait(&record);
    assert_int_equal(record.at_ms, 460);
    assert_int_equal(record.chunks, 4);
    assert_string_equal(code_of(call), "TIMEOUT");
    call_free(call);
    callable_unref(node);
}

static void test_slow_reader_does_not_cause_an_idle_timeout(void **state) {
    (void)state;
    struct callable *node = fixture_instance("polite");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_set_time_limits(call, 0, 100);
    call_start(call, NULL);
    record.refuse = true;
    task_1->emit(last_task, value_int(0));
    task_1->emit(last_task, value_int(1));
    fixture_run_turns();
    assert_int_equal(record.chunks, 1);
    for (int i = 0; i < 5; i++) fixture_advance(100);
    assert_int_equal(record.ended, 0);
    call_resume(call);
    fixture_run_turns();
    for (int i = 0; i < 2; i++) fixture_advance(100);
    assert_int_equal(record.ended, 1);
    call_free(call);
    callable_unref(node);
}

static void test_time_limits_do_not_apply_after_the_task_has_ended(void **state) {
    (void)state;
    static const struct { int64_t total_ms, idle_ms; } rows[] = {{1000, 0}, {0, 1000}, {1000, 1000}};
    struct callable *node = fixture_instance("open");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct record record;
        struct call *call = fixture_call(node, &record);
        call_set_time_limits(call, rows[i].total_ms, rows[i].idle_ms);
        record.refuse = true;
        call_start(call, NULL);
        for (int n = 0; n < 10; n++) task_1->emit(last_task, value_int(n));
        task_1->complete(last_task, NULL);
        for (int n = 0; n < 3; n++) fixture_advance(1000);
        assert_int_equal(record.ended, 0);
        while (!record.ended) {
            call_resume(call);
            fixture_run_turns();
        }
        assert_int_equal(record.outcome, CALL_COMPLETED);
        assert_int_equal(record.chunks, 10);
        assert_true(record.ordered);
        call_free(call);
    }
    assert_int_equal(cancels, 0);
    callable_unref(node);
}

static void test_cancelling_ends_a_paused_call(void **state) {
    (void)state;
    struct callable *node = fixture_instance("stream");
    struct record record;
    struct call *call = fixture_call(node, &record);
    record.refuse = true;
    call_start(call, value_int(10));
    fixture_run_turns();
    assert_int_equal(record.ended, 0);
    call_cancel(call); /* it has completed: only the chunks are dropped */
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
    struct call *leaf = call_lookup_open(last_task);
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
    task_1->complete(last_task, NULL); /* the innermost task, which ignored the cancellation */
    fixture_run_turns();
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
    fixture_run_turns();
}

static int messages;
static bool count_messages(struct call *call, tn_value chunk) {
    (void)call;
    assert_int_equal(value_to_int(value_get(chunk, "messages")), messages);
    messages++;
    return messages % 10 != 0;
}

static void test_deltas_of_a_model_are_delivered_to_the_owner_of_the_task(void **state) {
    (void)state;
    static const struct call_ops ops = {.ended = record_ended, .chunk = count_messages};
    struct callable *node = fixture_instance("calls_stream");
    struct record record = {0};
    struct call *call = call_new(fixture_host.loop, node, &ops, &record);
    messages = 0;
    call_start(call, value_int(500));
    while (!record.ended) {
        call_resume(call);
        fixture_run_turns();
    }
    assert_int_equal(messages, 500);
    call_free(call);
    callable_unref(node);
}

static bool subscribed;
static bool message_has_subscriber(const struct call *call) {
    (void)call;
    return subscribed;
}

static void test_deltas_without_a_subscriber_are_dropped(void **state) {
    (void)state;
    static const struct call_ops ops = {
        .ended = record_ended, .chunk = count_messages, .wants_chunks = message_has_subscriber};
    static const struct {
        bool heard;
        int64_t idle_ms; /* chunks restart it, also without a subscriber */
        int messages;
    } rows[] = {{false, 0, 0}, {false, 100, 5}, {true, 0, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct callable *node = fixture_instance("calls_stream");
        struct record record = {0};
        struct call *call = call_new(fixture_host.loop, node, &ops, &record);
        call_set_time_limits(call, 0, rows[i].idle_ms);
        messages = 0;
        subscribed = rows[i].heard;
        assert_int_equal(call_wants_chunks(call), rows[i].messages != 0);
        call_start(call, value_int(5));
        fixture_wait(&record);
        assert_int_equal(record.outcome, CALL_COMPLETED);
        assert_int_equal(messages, rows[i].messages);
        call_free(call);
        callable_unref(node);
    }
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

/* ---- Random operations ---- */

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
            if (rand_r(&seed) % 3 == 0) call_set_time_limits(calls[i], rand_r(&seed) % 500, rand_r(&seed) % 300);
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
        for (int i = 0; i < COUNT; i++) task_1->complete(tasks[i], NULL); /* end the abandoned ones */
        while (loop_run(fixture_host.loop, NULL, NULL)) {
        }
        free(records);
        free((void *)calls);
        free(tasks);
    }
    for (int i = 0; i < 6; i++) callable_unref(nodes[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_component_ends_on_cancel),
        TEST(test_cancelled_call_ends_as_cancelled),
        TEST(test_cancel_after_the_end_has_no_effect),
        TEST(test_component_that_ignores_cancel_is_abandoned_and_kept),
        TEST(test_an_abandoned_call_that_ends_before_it_is_freed),
        TEST(test_total_time),
        TEST(test_component_ends_on_timeout),
        TEST(test_chunks_restart_the_idle_time),
        TEST(test_slow_reader_does_not_cause_an_idle_timeout),
        TEST(test_time_limits_do_not_apply_after_the_task_has_ended),
        TEST(test_cancelling_ends_a_paused_call),
        TEST(test_cancelling_inside_start),
        TEST(test_done_comes_from_the_loop),
        TEST(test_children_are_cancelled_and_end_first),
        TEST(test_a_parent_that_ends_first_waits_for_its_children),
        TEST(test_deltas_of_a_model_are_delivered_to_the_owner_of_the_task),
        TEST(test_deltas_without_a_subscriber_are_dropped),
        TEST(test_depth_is_bounded),
        TEST(test_random_ends_and_cancels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

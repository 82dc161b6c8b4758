/*
 * call_components.h - components for tests of calls, and what they record.
 *
 * Each is a row of `fake_components`: one ends inside its start, one stays open, one reacts to a cancellation, one
 * streams, and some call another. `last_task` is the task of the last one that stayed open; `cancels`, `readies` and
 * `done_count` count calls of the callbacks. TEST(name) resets all of it before and after each test.
 */
#ifndef TENON_TESTS_CALL_COMPONENTS_H
#define TENON_TESTS_CALL_COMPONENTS_H

#include "call_fixture.h"

static tn_task last_task;
static _Atomic int cancels, readies;
static FIXTURE_UNUSED void *last_instance;

/* ---- Components ---- */

/* Reads one field, writes one integer, completes. */
static int32_t inline_start(void *instance, tn_task task, tn_value input) {
    const struct fake_instance *node = instance;
    (void)input;
    tn_value in = NULL;
    task_1->read(task, node->in, &in);
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
    fixture_fail(task, "CANCELLED", "as you say");
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
    core_1->post(fixture_plugin_host, (uint64_t)value_to_int(input), finish_later, free, kept, NULL);
    return TN_OK;
}

static int64_t emitted;

/* Emits chunks until emit returns AGAIN, at most as many as its input says. */
static int32_t stream_emit_chunks(tn_task task, int64_t most) {
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
    return stream_emit_chunks(task, stream_most);
}

static void stream_ready(void *instance, tn_task task) {
    (void)instance;
    readies++;
    stream_emit_chunks(task, stream_most);
}

static int done_count;
static int32_t done_status;
static bool inside_call, complete_early;
static char done_code[64];

static int32_t child_done(void *user, int32_t status, tn_value result) {
    tn_task *task = user;
    assert_false(inside_call);
    done_count++;
    done_status = status;
    done_code[0] = '\0';
    if (status == TN_FAILED) snprintf(done_code, sizeof done_code, "%s", value_chars(value_get(result, "code"), NULL));
    task_1->complete(*task, status == TN_OK ? result : NULL);
    free(task);
    return TN_OK;
}

/* Calls its bound component and completes with the result. */
static int32_t parent_start(void *instance, tn_task task, tn_value input) {
    const struct fake_instance *node = instance;
    tn_task *kept = malloc(sizeof *kept);
    *kept = task;
    inside_call = true;
    int32_t status = task_1->call(task, node->callee, input, NULL, child_done, kept, NULL);
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

/* A call of a callable that the test owns. */
static void nothing_free(struct callable *callable) { (void)callable; }

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif

/* Blocking components: workers, backpressure, call_wait, and code that never returns. */
#include "call_fixture.h"

#include "host/plugin/call/slot.h"
#include <pthread.h>
#include <unistd.h>

/* A gate that a component waits for: holds a worker without using a clock. */
static struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
    int inside;
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void gate_enter(void) {
    pthread_mutex_lock(&gate.mutex);
    gate.inside++;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.open) pthread_cond_wait(&gate.changed, &gate.mutex);
    gate.inside--;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

static void gate_set(bool open) {
    pthread_mutex_lock(&gate.mutex);
    gate.open = open;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

/* Waits until this many components wait at the gate, or, if it is open, have passed it. */
static void gate_await(int inside) {
    pthread_mutex_lock(&gate.mutex);
    while (gate.inside != inside) pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
}

/* ---- Components ---- */

static _Atomic tn_task last_task, outer_task;
static bool note_lost;
static _Atomic int finished;
static _Atomic int starts, most_together, together, waits;
static _Atomic int32_t last_status;
static _Atomic pthread_t outer_thread;
static _Atomic int same_thread;

static int32_t add_start(void *instance, tn_task task, tn_value input) {
    const struct fake_instance *node = instance;
    int now = ++together;
    if (now > most_together) most_together = now;
    starts++;
    (void)input;
    tn_value in = NULL, context = NULL;
    task_1->read(task, node->in, &in);
    task_1->context(task, &context);
    assert_true(value_is(context, TN_OBJECT));
    value_unref(context);
    tn_value result = value_int(value_to_int(in) + 1);
    value_unref(in);
    task_1->write(task, node->out, result);
    together--;
    return task_1->complete(task, result);
}

static void *lost[16]; /* inner instances that hung; they are never destroyed */
static _Atomic uint32_t lost_count;

static int32_t gate_start(void *instance, tn_task task, tn_value input) {
    (void)input;
    last_task = task;
    starts++;
    gate_enter();
    if (note_lost) lost[lost_count++] = instance;
    last_status = task_1->complete(task, value_int(5));
    finished++;
    return TN_OK;
}

static int32_t emit_start(void *instance, tn_task task, tn_value input) {
    (void)instance;
    int32_t status = TN_OK;
    for (int64_t i = 0; status == TN_OK && i < value_to_int(input); i++) status = task_1->emit(task, value_int(i));
    last_status = status;
    return status == TN_OK ? task_1->complete(task, NULL) : TN_OK; /* cancelled: return without ending the task */
}

/* Emits chunks of its own task, waits at the gate, and emits two of the task that waits for it on the same worker. */
static int32_t emit_for_two_start(void *instance, tn_task task, tn_value input) {
    (void)instance;
    for (int64_t i = 0; i < value_to_int(input); i++) task_1->emit(task, value_int(i));
    starts++;
    gate_enter();
    for (int i = 0; i < 2; i++) task_1->emit(outer_task, value_int(-1));
    return task_1->complete(task, NULL);
}

static int32_t poll_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)input;
    last_task = task;
    starts++;
    while (task_1->cancelled(task) == 0) usleep(100);
    return TN_CANCELLED;
}

static int32_t keep_task_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)input;
    last_task = task;
    return TN_OK; /* another thread completes it */
}

static int32_t status_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)task, (void)input;
    return TN_TYPE;
}

/* Calls its bound component and waits. */
static int32_t wait_start(void *instance, tn_task task, tn_value input) {
    const struct fake_instance *node = instance;
    tn_value result = NULL, error = NULL;
    waits++;
    outer_thread = pthread_self();
    int32_t status = task_1->call_wait(task, node->callee, input, NULL, &result, &error);
    last_status = status;
    if (status == TN_OK) task_1->complete(task, result);
    if (status == TN_FAILED) task_1->fail(task, error);
    value_unref(result);
    value_unref(error);
    return status == TN_FAILED ? TN_OK : status;
}

static int32_t thread_start(void *instance, tn_task task, tn_value input) {
    (void)instance;
    same_thread = pthread_equal(outer_thread, pthread_self());
    return task_1->complete(task, input);
}

static void end_later(void *argument) {
    tn_task *task = argument;
    task_1->complete(*task, value_int(77));
    free(task);
}

static int32_t timer_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)input;
    tn_task *kept = malloc(sizeof *kept);
    *kept = task;
    core_1->post(fixture_plugin_host, 500, end_later, free, kept, NULL);
    return TN_OK;
}

static int32_t open_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)input;
    last_task = task;
    return TN_OK;
}

static void polite_cancel(void *instance, tn_task task) {
    (void)instance;
    fixture_fail(task, "CANCELLED", "as you say");
}

struct relay {
    tn_task task;
};
static int32_t relay_done(void *user, int32_t status, tn_value result) {
    struct relay *relay = user;
    (void)status;
    task_1->complete(relay->task, result);
    free(relay);
    return TN_OK;
}
/* Async, and calls a blocking component; a worker waits for it. */
static int32_t relay_start(void *instance, tn_task task, tn_value input) {
    const struct fake_instance *node = instance;
    struct relay *relay = malloc(sizeof *relay);
    relay->task = task;
    return task_1->call(task, node->callee, input, NULL, relay_done, relay, NULL);
}

const struct fake_component fake_components[] = {
    {.id = "add", .style = "blocking", .start = add_start},
    {.id = "add_reentrant", .style = "blocking", .reentrant = true, .start = add_start},
    {.id = "gate", .style = "blocking", .start = gate_start},
    {.id = "gate_reentrant", .style = "blocking", .reentrant = true, .start = gate_start},
    {.id = "shout", .style = "blocking", .start = emit_start},
    {.id = "shout_for_two", .style = "blocking", .start = emit_for_two_start},
    {.id = "poll", .style = "blocking", .start = poll_start},
    {.id = "nothing", .style = "blocking", .start = keep_task_start},
    {.id = "status", .style = "blocking", .start = status_start},
    {.id = "thread", .style = "blocking", .start = thread_start},
    {.id = "timer", .style = "async", .start = timer_start},
    {.id = "open", .style = "async", .start = open_start, .cancel = polite_cancel},
    {.id = "relay", .style = "async", .start = relay_start, .callee_kind = "tool", .callee = "thread"},
    {.id = "waits_timer", .style = "blocking", .start = wait_start, .callee_kind = "tool", .callee = "timer"},
    {.id = "waits_thread", .style = "blocking", .start = wait_start, .callee_kind = "tool", .callee = "thread"},
    {.id = "waits_status", .style = "blocking", .start = wait_start, .callee_kind = "tool", .callee = "status"},
    {.id = "waits_open", .style = "blocking", .start = wait_start, .callee_kind = "tool", .callee = "open"},
    {.id = "waits_waits", .style = "blocking", .start = wait_start, .callee_kind = "tool", .callee = "waits_thread"},
    {.id = "waits_shout", .style = "blocking", .start = wait_start, .callee_kind = "tool", .callee = "shout_for_two"},
    {.id = "waits_relay", .style = "blocking", .start = wait_start, .callee_kind = "tool", .callee = "relay"},
    {.id = NULL},
};

static int setup(void **state) {
    (void)state;
    starts = most_together = together = waits = 0;
    note_lost = false;
    finished = 0;
    gate_set(false);
    workers_limit(4);
    fixture_begin();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fixture_end();
    assert_int_equal(call_open_count(), 0);
    return 0;
}

static bool starts_reached(void *user) { return starts >= *(int *)user; }
static void await_starts(int count) {
    while (!starts_reached(&count)) {
        fixture_run_turns();
        usleep(50);
    }
}

/* A worker may be quick enough for the call to end inside its start. */
static void begin(struct call *call, tn_value input) {
    if (call_start(call, input)) record_ended(call);
}

/* ---- Plain work ---- */

static void test_a_call_on_a_worker(void **state) {
    (void)state;
    static const char *const ids[] = {"add", "add_reentrant"};
    for (int i = 0; i < 2; i++) {
        struct callable *node = fixture_instance(ids[i]);
        struct record record;
        struct call *call = fixture_call(node, &record);
        begin(call, NULL);
        fixture_wait(&record);
        assert_int_equal(record.outcome, CALL_COMPLETED);
        assert_int_equal(value_to_int(call_output(call)), 21);
        uint32_t count;
        assert_int_equal(call_writes(call, &count)[0].channel, 3);
        assert_int_equal(count, 1);
        call_free(call);
        callable_unref(node);
    }
}

static void test_many_calls_of_few_workers(void **state) {
    (void)state;
    enum { COUNT = 300 };
    struct callable *node = fixture_instance("add");
    struct record records[COUNT];
    struct call *calls[COUNT];
    for (int i = 0; i < COUNT; i++) {
        calls[i] = fixture_call(node, &records[i]);
        begin(calls[i], NULL);
    }
    for (int i = 0; i < COUNT; i++) {
        fixture_wait(&records[i]);
        assert_int_equal(records[i].outcome, CALL_COMPLETED);
        call_free(calls[i]);
    }
    assert_in_range(most_together, 1, 4);
    assert_in_range(fixture_instances, 1, 4); /* one inner instance for each busy worker */
    callable_unref(node);
    assert_int_equal(workers_count(), 4);
}

static void test_a_start_that_fails_by_status(void **state) {
    (void)state;
    struct callable *node = fixture_instance("status");
    struct record record;
    struct call *call = fixture_call(node, &record);
    begin(call, NULL);
    fixture_wait(&record);
    assert_string_equal(code_of(call), "TYPE");
    call_free(call);
    callable_unref(node);
}

static void test_task_may_be_completed_after_start_returned(void **state) {
    (void)state;
    struct callable *node = fixture_instance("nothing");
    struct record record;
    struct call *call = fixture_call(node, &record);
    last_task = 0;
    begin(call, NULL);
    while (!last_task) usleep(50);
    for (int i = 0; i < 3; i++) fixture_run_turns();
    assert_int_equal(call_outcome(call), CALL_OPEN);
    task_1->complete(last_task, value_int(4));
    fixture_wait(&record);
    assert_int_equal(value_to_int(call_output(call)), 4);
    call_free(call);
    /* If the task is cancelled, returning from start ends it. */
    call = fixture_call(node, &record);
    last_task = 0;
    begin(call, NULL);
    while (!last_task) usleep(50);
    call_cancel(call);
    for (int i = 0; i < 3; i++) fixture_run_turns();
    fixture_wait(&record);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    call_free(call);
    task_1->complete(last_task, NULL);
    fixture_run_turns();
    callable_unref(node);
}

/* ---- Streaming ---- */

static void test_emit_waits_for_a_slow_reader(void **state) {
    (void)state;
    struct callable *node = fixture_instance("shout");
    struct record record;
    struct call *call = fixture_call(node, &record);
    record.refuse = true;
    begin(call, value_int(500));
    while (!record.ended) {
        call_resume(call);
        fixture_run_turns();
    }
    assert_int_equal(record.chunks, 500);
    assert_true(record.ordered);
    assert_int_equal(last_status, TN_OK);
    call_free(call);
    callable_unref(node);
}

static void test_a_waiting_emit_is_woken_by_cancel(void **state) {
    (void)state;
    struct callable *node = fixture_instance("shout");
    struct record record;
    struct call *call = fixture_call(node, &record);
    record.refuse = true;
    begin(call, value_int(1000));
    while (!record.chunks) fixture_run_turns();
    call_cancel(call);
    fixture_wait(&record);
    assert_int_equal(last_status, TN_CANCELLED);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    assert_int_equal(record.chunks, 1);
    call_free(call);
    callable_unref(node);
}

static bool worker_sleeps_in_emit(struct call *call) {
    slot_lock(call);
    bool sleeps = call->waiting_worker != NULL;
    slot_unlock(call);
    return sleeps;
}

static bool ready_is_owed(struct call *call) {
    slot_lock(call);
    bool owed = slot_owes_ready(call);
    slot_unlock(call);
    return owed;
}

/*
 * Starts `shout` with a slow reader: its worker sleeps in emit. Then another OS thread emits for the same task until
 * the queue is full. Adds the number of its chunks to *emitted.
 */
static struct call *emit_beside_a_sleeping_worker(struct callable *node, struct record *record, int *emitted) {
    struct call *call = fixture_call(node, record);
    record->refuse = true;
    begin(call, value_int(1000));
    while (!worker_sleeps_in_emit(call)) fixture_run_turns();
    int32_t status;
    while ((status = task_1->emit(call_token(call), value_int(-1))) == TN_OK) ++*emitted;
    assert_int_equal(status, TN_AGAIN);
    assert_true(worker_sleeps_in_emit(call));
    return call;
}

static void test_an_emit_of_another_thread_keeps_the_sleeping_worker(void **state) {
    (void)state;
    struct callable *node = fixture_instance("shout");
    struct record record;
    int emitted = 0;
    struct call *call = emit_beside_a_sleeping_worker(node, &record, &emitted);
    while (!record.ended) {
        call_resume(call);
        fixture_run_turns();
    }
    assert_int_equal(record.chunks, 1000 + emitted);
    assert_int_equal(last_status, TN_OK);
    call_free(call);
    call = emit_beside_a_sleeping_worker(node, &record, &emitted);
    call_cancel(call);
    fixture_wait(&record);
    assert_int_equal(last_status, TN_CANCELLED);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    call_free(call);
    callable_unref(node);
}

static void test_a_sleeping_worker_keeps_the_ready_of_another_emitter(void **state) {
    (void)state;
    struct callable *node = fixture_instance("waits_shout");
    struct record record;
    struct call *call = fixture_call(node, &record);
    record.refuse = true;
    outer_task = call_token(call);
    /* More than the queue of the outer call holds. With CALL_CHUNKS_LOW more at most, the child call waits for no
     * reader: what it has queued when the outer queue is full is never above CALL_CHUNKS_LOW. */
    int64_t chunks = CALL_CHUNKS_HIGH + CALL_CHUNKS_LOW / 2;
    begin(call, value_int(chunks));
    await_starts(1);
    while (!ready_is_owed(call)) fixture_run_turns(); /* the chunks of the child call have filled the queue */
    gate_set(true);
    while (!worker_sleeps_in_emit(call)) usleep(50);
    assert_true(ready_is_owed(call));
    while (!record.ended) {
        call_resume(call);
        fixture_run_turns();
    }
    assert_int_equal(record.outcome, CALL_COMPLETED);
    assert_int_equal(record.chunks, chunks + 2);
    assert_int_equal(last_status, TN_OK);
    call_free(call);
    callable_unref(node);
}

/* ---- Cancelling ---- */

static void test_cancelled_is_polled(void **state) {
    (void)state;
    struct callable *node = fixture_instance("poll");
    struct record record;
    struct call *call = fixture_call(node, &record);
    begin(call, NULL);
    await_starts(1);
    call_cancel(call);
    fixture_wait(&record);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    call_free(call);
    callable_unref(node);
}

static void test_cancel_before_a_worker_starts_ends_at_once(void **state) {
    (void)state;
    workers_limit(1);
    struct callable *first = fixture_instance("gate"), *second = fixture_instance("gate");
    struct record records[3];
    struct call *calls[3] = {fixture_call(first, &records[0]), fixture_call(first, &records[1]),
                             fixture_call(second, &records[2])};
    for (int i = 0; i < 3; i++) begin(calls[i], NULL);
    gate_await(1);
    call_cancel(calls[1]); /* waits for an inner instance */
    call_cancel(calls[2]); /* waits for a worker */
    fixture_wait(&records[1]);
    fixture_wait(&records[2]);
    assert_int_equal(starts, 1);
    assert_int_equal(records[0].ended, 0);
    gate_set(true);
    fixture_wait(&records[0]);
    for (int i = 0; i < 3; i++) call_free(calls[i]);
    callable_unref(first);
    callable_unref(second);
}

/* ---- call_wait ---- */

static void wait_for_result(const char *id, tn_value input, enum call_outcome outcome, int64_t result) {
    struct callable *node = fixture_instance(id);
    struct record record;
    struct call *call = fixture_call(node, &record);
    begin(call, input);
    fixture_wait(&record);
    assert_int_equal(record.outcome, outcome);
    if (outcome == CALL_COMPLETED) assert_int_equal(value_to_int(call_output(call)), result);
    call_free(call);
    callable_unref(node);
}

static void test_waiting_for_an_async_component(void **state) {
    (void)state;
    wait_for_result("waits_timer", NULL, CALL_COMPLETED, 77);
    assert_int_equal(last_status, TN_OK);
}

static void test_a_blocking_callee_runs_on_the_calling_worker(void **state) {
    (void)state;
    workers_limit(1);
    same_thread = -1;
    wait_for_result("waits_thread", value_int(9), CALL_COMPLETED, 9);
    assert_int_equal(same_thread, 1);
    same_thread = -1;
    wait_for_result("waits_waits", value_int(8), CALL_COMPLETED, 8);
    assert_int_equal(same_thread, 1);
}

static void test_failure_of_the_callee_is_returned(void **state) {
    (void)state;
    wait_for_result("waits_status", NULL, CALL_FAILED, 0);
    assert_int_equal(last_status, TN_FAILED);
}

static void test_workers_that_wait_leave_room_for_work(void **state) {
    (void)state;
    enum { COUNT = 12 };
    workers_limit(2);
    struct callable *node = fixture_instance("waits_relay");
    struct record records[COUNT];
    struct call *calls[COUNT];
    for (int i = 0; i < COUNT; i++) {
        calls[i] = fixture_call(node, &records[i]);
        begin(calls[i], NULL);
    }
    for (int i = 0; i < COUNT; i++) {
        fixture_wait(&records[i]);
        assert_int_equal(records[i].outcome, CALL_COMPLETED);
        call_free(calls[i]);
    }
    callable_unref(node);
}

static void test_cancelling_a_worker_that_waits(void **state) {
    (void)state;
    struct callable *node = fixture_instance("waits_open");
    struct record record;
    struct call *call = fixture_call(node, &record);
    last_task = 0;
    begin(call, NULL);
    while (!last_task) {
        fixture_run_turns();
        usleep(50);
    }
    call_cancel(call);
    fixture_wait(&record);
    assert_int_equal(last_status, TN_CANCELLED);
    assert_int_equal(record.outcome, CALL_CANCELLED);
    call_free(call);
    callable_unref(node);
}

static int32_t misuse_status[4];
static void *call_wait_wrongly(void *argument) {
    tn_task task = *(tn_task *)argument;
    tn_value result = NULL;
    misuse_status[0] = task_1->call_wait(task, 0, NULL, NULL, &result, NULL);
    misuse_status[1] = task_1->call_wait(task, 0, NULL, NULL, NULL, NULL);
    misuse_status[2] = task_1->call_wait(0, 0, NULL, NULL, &result, NULL);
    return NULL;
}

static void test_call_wait_elsewhere(void **state) {
    (void)state;
    struct callable *node = fixture_instance("gate");
    struct record record;
    struct call *call = fixture_call(node, &record);
    begin(call, NULL);
    gate_await(1);
    tn_task task = last_task;
    tn_value result = NULL;
    assert_int_equal(task_1->call_wait(task, 0, NULL, NULL, &result, NULL), TN_WRONG_THREAD);
    pthread_t thread;
    pthread_create(&thread, NULL, call_wait_wrongly, &task);
    pthread_join(thread, NULL);
    assert_int_equal(misuse_status[0], TN_WRONG_THREAD);
    assert_int_equal(misuse_status[1], TN_INVALID);
    assert_int_equal(misuse_status[2], TN_STALE);
    gate_set(true);
    fixture_wait(&record);
    call_free(call);
    callable_unref(node);
}

/* ---- Code that hangs ---- */

/* Runs the loop until a returned worker is handled and nothing refers to the plugin's instances. */
static void await_release(void) {
    while (plugin_refs(fixture_plugin) || call_open_count()) {
        fixture_run_turns();
        usleep(50);
    }
}

static void test_timeout_is_reported_before_the_worker_returns(void **state) {
    (void)state;
    struct callable *node = fixture_instance("gate");
    struct record record;
    struct call *call = fixture_call(node, &record);
    call_set_time_limits(call, 50, 0);
    begin(call, NULL);
    gate_await(1);
    fixture_advance(50);
    fixture_wait(&record);
    assert_string_equal(code_of(call), "TIMEOUT");
    call_free(call);
    gate_set(true); /* it returns within the grace period, so nothing hangs */
    gate_await(0);
    callable_unref(node);
    await_release();
    assert_int_equal(last_status, TN_STALE);
}

static struct call *hang_at_gate(struct callable *node, struct record *record, int inside) {
    struct call *call = fixture_call(node, record);
    begin(call, NULL);
    gate_await(inside);
    call_cancel(call);
    fixture_advance(CALL_GRACE_MS);
    fixture_wait(record);
    assert_int_equal(record->outcome, CALL_CANCELLED);
    return call;
}

static void test_a_hung_worker_is_replaced_until_the_plugin_is_refused(void **state) {
    (void)state;
    workers_limit(1);
    struct callable *node = fixture_instance("gate"), *other = fixture_instance("add");
    struct record record;
    note_lost = true;
    for (uint32_t i = 1; i <= WORKERS_HUNG_MAX + 1; i++) {
        assert_false(workers_refuse(fixture_plugin));
        call_free(hang_at_gate(node, &record, (int)i));
        if (i > WORKERS_HUNG_MAX) break;
        struct call *call = fixture_call(other, &record); /* another worker has replaced it */
        begin(call, NULL);
        fixture_wait(&record);
        assert_int_equal(record.outcome, CALL_COMPLETED);
        call_free(call);
    }
    assert_true(workers_refuse(fixture_plugin));
    struct call *call = fixture_call(other, &record);
    assert_true(call_start(call, NULL));
    assert_int_equal(call_outcome(call), CALL_FAILED);
    assert_string_equal(code_of(call), "PLUGIN_HUNG");
    call_free(call);
    /* They return after all: their tokens are stale; their inner instances are neither used nor destroyed. */
    gate_set(true);
    gate_await(0);
    callable_unref(node);
    callable_unref(other);
    await_release();
    assert_true(workers_refuse(fixture_plugin)); /* permanently */
    for (uint32_t i = 0; i < lost_count; i++) free(lost[i]);
    assert_int_equal(fixture_instances, (int)WORKERS_HUNG_MAX + 1);
    fixture_instances = 0;
}

static void test_hung_call_keeps_its_shared_instance(void **state) {
    (void)state;
    struct callable *node = fixture_instance("gate_reentrant");
    struct record record;
    call_free(hang_at_gate(node, &record, 1));
    callable_unref(node);
    assert_int_equal(fixture_instances, 1);
    gate_set(true);
    gate_await(0);
    await_release();
}

static void test_loop_is_freed_while_a_worker_hangs(void **state) {
    (void)state;
    struct callable *node = fixture_instance("gate_reentrant");
    struct record record = {0};
    int64_t before = value_live_count();
    struct loop *loop = loop_new(NULL);
    loop_fake_clock(loop);
    struct call *call = call_new(loop, node, &record_ops, &record);
    begin(call, NULL);
    gate_await(1);
    call_cancel(call);
    loop_fake_advance(loop, CALL_GRACE_MS);
    assert_true(loop_run(loop, record_has_ended, &record));
    call_free(call);
    loop_free(loop);
    gate_set(true);
    while (!finished) usleep(50);
    assert_int_equal(last_status, TN_STALE);
    callable_unref(node);
    assert_int_equal(fixture_instances, 1); /* leaked deliberately: its code may still run */
    fixture_instances = 0;
    plugin_task_end(fixture_plugin);
    plugin_unref(fixture_plugin);
    fixture_values += value_live_count() - before;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_call_on_a_worker),
        TEST(test_many_calls_of_few_workers),
        TEST(test_a_start_that_fails_by_status),
        TEST(test_task_may_be_completed_after_start_returned),
        TEST(test_emit_waits_for_a_slow_reader),
        TEST(test_a_waiting_emit_is_woken_by_cancel),
        TEST(test_an_emit_of_another_thread_keeps_the_sleeping_worker),
        TEST(test_a_sleeping_worker_keeps_the_ready_of_another_emitter),
        TEST(test_cancelled_is_polled),
        TEST(test_cancel_before_a_worker_starts_ends_at_once),
        TEST(test_waiting_for_an_async_component),
        TEST(test_a_blocking_callee_runs_on_the_calling_worker),
        TEST(test_failure_of_the_callee_is_returned),
        TEST(test_workers_that_wait_leave_room_for_work),
        TEST(test_cancelling_a_worker_that_waits),
        TEST(test_call_wait_elsewhere),
        TEST(test_timeout_is_reported_before_the_worker_returns),
        TEST(test_hung_call_keeps_its_shared_instance),
        TEST(test_loop_is_freed_while_a_worker_hangs),
        TEST(test_a_hung_worker_is_replaced_until_the_plugin_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * call.c - the life of a call: start, chunks, end, cancellation and time limits. Read slot.h first: it has the states
 * and the fields.
 *
 *     call_start          calls ops->start; if the task has ended inside it, reports the end by its return value
 *     call_emit           [any] queues a chunk                              (section From any OS thread)
 *     call_end_task       [any] the callable ends the task: state ENDING
 *     call_request_end    call_cancel or a time limit: state CANCELLING     (section Requesting the end)
 *     on_call_work        delivers chunks, then the end; calls ops->ended   (section Delivering, on the loop)
 *
 * Other OS threads can end a task, emit chunks and write. They change the slot under its lock and queue call->work,
 * which runs on_call_work on the loop. Only the loop changes everything else and notifies the owner. The owner is
 * notified of the end after it has received all chunks, and after the child calls have ended (call_child.c).
 *
 * While call_start is inside ops->start (DELIVERY_BY_START), nothing is queued, and a cancellation is only noted in the
 * state. After ops->start has returned, call_start delivers and cancels.
 *
 * Most calls end inside call_start and have written few fields (EXTENT_RESULT), so slot_free clears only these. Before
 * a write to any other field, slot_clear_all_later sets EXTENT_ALL; slot_free then clears all fields.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/secrets/secrets_stream.h"
#include "host/plugin/call/call_internal.h"
#include "host/plugin/call/call_scrub.h"
#include "host/plugin/call/instance_internal.h"
#include "host/plugin/call/worker.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define DELIVERY_CHUNKS 64u /* chunks delivered to the owner before other work of the loop runs */

/* ---- Callables ---- */

struct callable *callable_ref(struct callable *callable) {
    if (callable) __atomic_fetch_add(&callable->references, 1, __ATOMIC_RELAXED);
    return callable;
}

void callable_unref(struct callable *callable) {
    if (callable && __atomic_fetch_sub(&callable->references, 1, __ATOMIC_ACQ_REL) == 1) callable->ops->free(callable);
}

/* ---- Creating, reading, freeing ---- */

static void on_call_work(struct loop_work *work);

struct call *call_new(struct loop *loop, struct callable *callable, const struct call_ops *ops, void *owner) {
    struct call *call = slot_alloc(loop);
    slot_set_state(call, SLOT_NEW);
    call->callable = callable_ref(callable);
    call->ops = ops;
    call->owner = owner;
    call->work.run = on_call_work;
    return call;
}

void call_set_time_limits(struct call *call, int64_t total_ms, int64_t idle_ms) {
    slot_clear_all_later(call);
    call->total_ms = total_ms;
    call->idle_ms = idle_ms;
}

void *call_owner(const struct call *call) { return call->owner; }
struct loop *call_loop(const struct call *call) {
    return call->loop;
}
struct callable *call_callable(const struct call *call) {
    return call->callable;
}
uint64_t call_token(const struct call *call) { return slot_token(call); }
uint32_t call_depth(const struct call *call) { return call->depth; }
tn_value call_input(const struct call *call) { return call->input; }
struct call *call_parent(const struct call *call) {
    return call->parent;
}
struct call *call_root(const struct call *call) {
    while (call->parent) call = call->parent;
    return (struct call *)(uintptr_t)call;
}
bool call_resumed(const struct call *call) { return call->resumed; }
void call_set_resumed(struct call *call) {
    slot_clear_all_later(call);
    call->resumed = true;
}
const struct call_ops *call_ops_of(const struct call *call) { return call->ops; }
bool call_wants_chunks(const struct call *call) {
    if (call->idle_ms) return true;
    return call->ops->wants_chunks ? call->ops->wants_chunks(call) : call->ops->chunk != NULL;
}
tn_value call_context(struct call *call) {
    const struct callable_ops *ops = call->callable->ops;
    if (call->ops->context) return call->ops->context(call);
    return ops->context ? ops->context(call->callable, call) : instance_plain_context(call);
}
void call_set_child_time_limit(struct call *call, int64_t total_ms) {
    slot_clear_all_later(call);
    call->children_ms = total_ms;
}
void call_set_data(struct call *call, void *data) {
    slot_clear_all_later(call);
    call->data = data;
}
void *call_data(const struct call *call) { return call->data; }
struct call *call_lookup_open(uint64_t token) {
    return slot_lookup_open(token);
}

enum call_outcome call_outcome(const struct call *of) {
    struct call *call = (struct call *)(uintptr_t)of; /* only to take the lock */
    slot_lock(call);
    enum call_outcome outcome = slot_is_reported(call) ? (enum call_outcome)call->outcome : CALL_OPEN;
    slot_unlock(call);
    return outcome;
}

tn_value call_output(const struct call *call) { return call->outcome == CALL_COMPLETED ? call->output : NULL; }

const struct error *call_error(const struct call *call) { return call->error.code ? &call->error : NULL; }

const struct call_write *call_writes(const struct call *call, uint32_t *count) {
    *count = call->outcome == CALL_COMPLETED ? call->write_count : 0;
    return call->writes ? call->writes : call->inline_writes;
}

tn_value call_interrupt_value(const struct call *call) {
    return call->outcome == CALL_INTERRUPTED ? call->output : NULL;
}

/* Requires the lock, unless the call is being freed. */
static void call_discard_chunks(struct call *call) {
    for (; call->chunk_count; call->chunk_count--) {
        value_unref(call->chunks[call->chunk_first]);
        call->chunk_first = (call->chunk_first + 1) % call->chunk_capacity;
    }
}

static void call_destroy(struct call *call) {
    const struct call_write *writes = call->writes ? call->writes : call->inline_writes;
    for (uint32_t i = 0; i < call->write_count; i++) value_unref(writes[i].value);
    value_unref(call->output);
    value_unref(call->input);
    if (slot_extent(call) == EXTENT_ALL) { /* otherwise none of these was set */
        mem_free(call->writes);
        call_discard_chunks(call);
        mem_free((void *)call->chunks);
        error_finish(&call->error);
    }
    struct callable *callable = call->callable;
    slot_free(call);
    callable_unref(callable);
}

void call_free(struct call *call) {
    if (!call) return;
    enum slot_state state = slot_state(call);
    if (state == SLOT_LINGERING || state == SLOT_LATE_ENDING) {
        /*
         * Abandoned: the callable can still use the token, the instance and the input, so keep them until it ends the
         * task. It may do so now, on another OS thread, so the state is read again under the lock.
         */
        slot_lock(call);
        slot_set_state(call, slot_state(call) == SLOT_LINGERING ? SLOT_ORPHANED : SLOT_ORPHAN_ENDING);
        slot_unlock(call);
        return;
    }
    call_destroy(call);
}

/* ---- From any OS thread ---- */

void call_queue_delivery(struct call *call) {
    slot_set_delivery(call, DELIVERY_QUEUED);
    if (atomic_load_explicit(&call->loop_thread, memory_order_relaxed) == loop_this_thread())
        loop_defer(call->loop, &call->work);
    else
        loop_post(call->loop, &call->work);
}

static __attribute__((noinline)) int32_t log_stale_token(uint64_t token, const char *verb) {
    log_write(TN_LOG_DEBUG, "call",
              "cannot %s the task %016" PRIx64 ": it has ended, or the caller has no task with this token", verb,
              token);
    return TN_STALE;
}

/*
 * Requires the lock. Sets the outcome of a call whose end was requested: CANCELLED, or FAILED with TIMEOUT. What the
 * callable reports is ignored.
 */
static void call_set_requested_outcome(struct call *call) {
    struct error *error = &call->error;
    if (call->cause == CAUSE_CANCEL) {
        call->outcome = CALL_CANCELLED;
        error_set(error, TN_CANCELLED, "CANCELLED", "the task was cancelled");
        return;
    }
    call->outcome = CALL_FAILED;
    if (call->cause == CAUSE_IDLE_TIMEOUT)
        error_set(error, TN_FAILED, "TIMEOUT", "the task sent no chunk for %" PRId64 " ms", call->idle_ms);
    else
        error_set(error, TN_FAILED, "TIMEOUT", "the task did not end within %" PRId64 " ms", call->total_ms);
    error->more = value_set_take(value_object_reserve(1), "retryable", value_bool(true));
}

/*
 * The slow path of call_end_task: there is an error, the end of the call was requested, the call was abandoned or has
 * ended, or a plugin must not end it. Requires the lock, and releases it. If it returns TN_STALE, the caller keeps
 * `output` and `error`.
 */
static int32_t call_end_task_slow(struct call *call, uint64_t token, enum call_outcome outcome, tn_value output,
                                  struct error *error, const char *verb, bool by_plugin) {
    /* A plugin must not end a task of a callable of the host. A free slot has no callable. */
    bool plugin_is_wrong = by_plugin && slot_state(call) != SLOT_FREE && !call->callable->ops->external;
    if (plugin_is_wrong) {
        slot_unlock(call);
        return log_stale_token(token, verb);
    }
    if (slot_is_abandoned(call)) {
        /* The owner knows the outcome already. The loop only learns that the task is over. */
        slot_set_state(call, slot_state(call) == SLOT_LINGERING ? SLOT_LATE_ENDING : SLOT_ORPHAN_ENDING);
        call_unlock_and_deliver_soon(call);
        return log_stale_token(token, verb);
    }
    if (!slot_is_open(call)) {
        slot_unlock(call);
        return log_stale_token(token, verb);
    }
    tn_value unused = NULL;
    struct error dropped = ERROR_INIT;
    slot_clear_all_later(call);
    if (slot_end_requested(call)) {
        unused = output;
        if (error) error_move(&dropped, error);
        call_set_requested_outcome(call);
    } else {
        call->outcome = (uint8_t)outcome;
        call->output = output;
        if (error) error_move(&call->error, error);
    }
    slot_set_state(call, SLOT_ENDING);
    call_unlock_and_deliver_soon(call);
    value_unref(unused); /* after unlocking, because freeing them can take long */
    error_finish(&dropped);
    return TN_OK;
}

int32_t call_end_task(uint64_t token, enum call_outcome outcome, tn_value output, struct error *error, const char *verb,
                      bool by_plugin) {
    struct call *call = slot_lookup_lock_any(token);
    if (!call) return log_stale_token(token, verb);
    bool usual = slot_state(call) == SLOT_RUNNING && !error;
    if (!usual || (by_plugin && !call->callable->ops->external))
        return call_end_task_slow(call, token, outcome, output, error, verb, by_plugin);
    slot_set_state(call, SLOT_ENDING);
    call->outcome = (uint8_t)outcome;
    call->output = output;
    call_unlock_and_deliver_soon(call);
    return TN_OK;
}

int32_t call_complete(uint64_t token, tn_value output) {
    value_ref(output);
    int32_t status = call_end_task(token, CALL_COMPLETED, output, NULL, "complete", false);
    if (status != TN_OK) value_unref(output);
    return status;
}

int32_t call_fail(uint64_t token, const struct error *error) {
    struct error copy = ERROR_INIT;
    if (error && error->code)
        error_copy(&copy, error);
    else
        error_set(&copy, TN_ERROR, "NODE_EXECUTION", "the task failed and reported no reason");
    int32_t status = call_end_task(token, CALL_FAILED, NULL, &copy, "fail", false);
    error_finish(&copy);
    return status;
}

void call_end_alike(void *user, int32_t status, tn_value result) {
    uint64_t token = (uint64_t)(uintptr_t)user;
    struct error error = ERROR_INIT;
    if (status == TN_OK) {
        (void)call_complete(token, result);
        return;
    }
    if (status == TN_FAILED)
        error_from_value(&error, result);
    else
        error_set(&error, TN_CANCELLED, "CANCELLED", "the call was cancelled");
    (void)call_fail(token, &error);
    error_finish(&error);
}

tn_value call_make_interrupt(tn_value payload, tn_value schema, tn_value continuation) {
    tn_value value = value_set_take(value_object_reserve(3), "payload", payload ? value_ref(payload) : value_null());
    if (schema) value = value_set_take(value, "schema", value_ref(schema));
    if (continuation) value = value_set_take(value, "continuation", value_ref(continuation));
    return value;
}

int32_t call_interrupt(uint64_t token, tn_value payload, tn_value schema, tn_value continuation) {
    tn_value value = call_make_interrupt(payload, schema, continuation);
    int32_t status = call_end_task(token, CALL_INTERRUPTED, value, NULL, "interrupt", false);
    if (status != TN_OK) value_unref(value);
    return status;
}

int32_t call_interrupt_take(uint64_t token, tn_value value) {
    int32_t status = call_end_task(token, CALL_INTERRUPTED, value, NULL, "interrupt", false);
    if (status != TN_OK) value_unref(value);
    return status;
}

int32_t call_cancelled(uint64_t token) {
    struct call *call = slot_lookup_lock(token);
    if (!call) return TN_STALE;
    int32_t end_requested = slot_end_requested(call);
    slot_unlock(call);
    return end_requested;
}

/* Requires the lock. Keeps a reference to the chunk. */
static void call_push_chunk(struct call *call, tn_value chunk) {
    slot_clear_all_later(call);
    if (call->chunk_count == call->chunk_capacity) {
        uint32_t capacity = call->chunk_capacity;
        MEM_DOUBLE(capacity);
        tn_value *ring = mem_array(NULL, capacity, sizeof *ring);
        for (uint32_t i = 0; i < call->chunk_count; i++)
            ring[i] = call->chunks[(call->chunk_first + i) % call->chunk_capacity];
        mem_free((void *)call->chunks);
        call->chunks = ring;
        call->chunk_first = 0;
        call->chunk_capacity = capacity;
    }
    call->chunks[(call->chunk_first + call->chunk_count++) % call->chunk_capacity] = value_ref(chunk);
}

/*
 * Two policies for a full queue. call_try_emit (plugins) refuses the chunk, and the plugin emits it again later.
 * call_emit (callables of the host) takes the chunk and asks the callable to stop.
 */
int32_t call_try_emit(uint64_t token, tn_value chunk, struct worker *waiting_worker) {
    struct call *call = slot_lookup_lock(token);
    if (!call) return log_stale_token(token, "emit for");
    if (slot_end_requested(call)) {
        slot_unlock(call);
        return TN_CANCELLED;
    }
    if (call->chunk_count >= CALL_CHUNKS_HIGH) {
        /*
         * A worker sleeps and is woken. Others are notified by `ready`. Both can be owed, because other OS threads may
         * emit beside the worker. Only the worker that runs the task sleeps, so there is never a second one.
         */
        assert(!waiting_worker || !call->waiting_worker || call->waiting_worker == waiting_worker);
        if (waiting_worker)
            call->waiting_worker = waiting_worker;
        else
            slot_set_flow(call, call->flow | FLOW_READY_OWED);
        slot_unlock(call);
        return TN_AGAIN;
    }
    call_push_chunk(call, chunk);
    call_unlock_and_deliver_soon(call);
    return TN_OK;
}

int32_t call_emit(uint64_t token, tn_value chunk) {
    struct call *call = slot_lookup_lock(token);
    if (!call) return TN_STALE;
    if (slot_end_requested(call)) {
        slot_unlock(call);
        return TN_CANCELLED;
    }
    call_push_chunk(call, chunk);
    bool full = call->chunk_count >= CALL_CHUNKS_HIGH;
    if (full) slot_set_flow(call, call->flow | FLOW_READY_OWED);
    call_unlock_and_deliver_soon(call);
    return full ? TN_AGAIN : TN_OK;
}

int32_t call_reserve_write(struct call *call) {
    if (call->write_count == CALL_WRITES_MAX) return TN_LIMIT;
    uint32_t capacity = call->writes ? call->write_capacity : CALL_WRITES_INLINE;
    if (call->write_count < capacity) return TN_OK;
    struct call_write *writes = mem_array(call->writes, (size_t)capacity * 4, sizeof *writes);
    if (!call->writes) memcpy(writes, call->inline_writes, sizeof call->inline_writes);
    slot_clear_all_later(call);
    call->writes = writes;
    call->write_capacity = capacity * 4;
    return TN_OK;
}

/* ---- Delivering, on the loop ---- */

static void on_call_idle(struct loop_timer *timer);

/* Returns the next chunk, which the caller unrefs, or NULL if the queue is empty or the owner has paused. */
static tn_value call_pop_chunk(struct call *call) {
    tn_value chunk = NULL;
    slot_lock(call);
    if (call->chunk_count && !slot_is_paused(call)) {
        chunk = call->chunks[call->chunk_first];
        call->chunk_first = (call->chunk_first + 1) % call->chunk_capacity;
        call->chunk_count--;
    }
    slot_unlock(call);
    return chunk;
}

static void call_deliver_chunks(struct call *call) {
    uint32_t delivered = 0;
    for (tn_value chunk; delivered < DELIVERY_CHUNKS && (chunk = call_pop_chunk(call)); delivered++) {
        bool more = !call->ops->chunk ||
                    (call_is_scrubbed(call) ? call_scrub_chunk(call, chunk) : call->ops->chunk(call, chunk));
        value_unref(chunk);
        if (more) continue;
        slot_lock(call);
        slot_set_flow(call, call->flow | FLOW_PAUSED);
        slot_unlock(call);
    }
    if (delivered && loop_timer_is_running(&call->idle_timer))
        loop_timer_start(call->loop, &call->idle_timer, call->idle_ms, on_call_idle);
}

/*
 * Requires the lock. If the owner can be notified of the end now, changes the state to ENDED or LINGERING and returns
 * true.
 */
static bool call_try_end(struct call *call) {
    /* A child call uses its parent until it ends, and the owner may free the call when it is notified. */
    if (call->children) return false;
    /* The slot must not be freed while `work` is queued. */
    if (call->delivery == DELIVERY_QUEUED) return false;
    if (slot_state(call) == SLOT_ENDING && !call->chunk_count) {
        slot_set_state(call, SLOT_ENDED);
        return true;
    }
    /* ABANDONING needs no check of the queue: the request has dropped its chunks, and emit has taken none since. */
    if (slot_state(call) != SLOT_ABANDONING) return false;
    slot_set_state(call, SLOT_LINGERING);
    call_set_requested_outcome(call);
    return true;
}

/* The queue has room again: for the chunks of child calls, which go through it and may be paused, and of the callable.
 */
static void call_notify_ready(struct call *call) {
    child_calls_resume(call);
    if (call->callable->ops->ready) call->callable->ops->ready(call->callable, call);
}

/* Delivers chunks. Returns true if the state is now ENDED or LINGERING: the caller must notify the owner of the end. */
static bool call_deliver(struct call *call) {
    call_deliver_chunks(call);
    slot_lock(call);
    /* First decide everything under the lock; then unlock and call out. */
    bool open = slot_is_open(call), room = call->chunk_count <= CALL_CHUNKS_LOW;
    bool ready = slot_state(call) == SLOT_RUNNING && room && slot_owes_ready(call);
    struct worker *waiting_worker = room || !open ? call->waiting_worker : NULL;
    if (ready) slot_set_flow(call, call->flow & ~FLOW_READY_OWED);
    if (waiting_worker) call->waiting_worker = NULL;
    bool report_end = call_try_end(call);
    /* The task has ended while its child calls are open: nothing waits for their results. */
    bool cancel_children = slot_state(call) == SLOT_ENDING && call->children;
    if (call->chunk_count && !slot_is_paused(call))
        call_unlock_and_deliver_soon(call);
    else
        slot_unlock(call);
    if (waiting_worker) worker_wake(waiting_worker);
    if (cancel_children) child_calls_cancel(call);
    if (ready) call_notify_ready(call);
    return report_end;
}

/*
 * Undoes what keeps the loop waiting for the call, before the owner is notified. In an abandoned call, the timer times
 * the grace period, which continues; call_end_late handles the real end of its task.
 */
static void call_before_report(struct call *call) {
    const struct callable_ops *ops = call->callable->ops;
    bool really_ended = slot_state(call) == SLOT_ENDED; /* otherwise it is abandoned */
    if (loop_timer_is_running(&call->idle_timer)) loop_timer_stop(call->loop, &call->idle_timer);
    if (loop_timer_is_running(&call->limit_or_grace_timer) && really_ended)
        loop_timer_stop(call->loop, &call->limit_or_grace_timer);
    if (ops->external) loop_unexpect(call->loop);
    if (really_ended && ops->finished) ops->finished(call->callable, call);
    if (call_is_scrubbed(call)) {
        if (really_ended)
            call_scrub_end(call);
        else
            secrets_stream_remove(loop_secrets(call->loop), call);
    }
}

/* Handles the real end of an abandoned call: the callable has ended the task. */
static void call_end_late(struct call *call) {
    if (loop_timer_is_running(&call->limit_or_grace_timer)) loop_timer_stop(call->loop, &call->limit_or_grace_timer);
    if (call->callable->ops->finished) call->callable->ops->finished(call->callable, call);
    if (slot_state(call) == SLOT_ORPHAN_ENDING) {
        call_destroy(call);
        return;
    }
    slot_lock(call);
    slot_set_state(call, SLOT_ENDED);
    slot_unlock(call);
}

static void on_call_work(struct loop_work *work) {
    struct call *call = CONTAINER_OF(work, struct call, work);
    slot_lock(call);
    slot_set_delivery(call, DELIVERY_IDLE);
    enum slot_state state = slot_state(call);
    slot_unlock(call);
    if (state == SLOT_LATE_ENDING || state == SLOT_ORPHAN_ENDING) {
        call_end_late(call);
    } else if (call_deliver(call)) {
        call_before_report(call);
        call->ops->ended(call);
    }
}

void call_resume(struct call *call) {
    slot_lock(call);
    bool paused = slot_is_paused(call);
    if (paused) slot_set_flow(call, call->flow & ~FLOW_PAUSED);
    if (paused && (slot_is_open(call) || slot_state(call) == SLOT_ENDING))
        call_unlock_and_deliver_soon(call);
    else
        slot_unlock(call);
}

/* ---- Requesting the end ---- */

/* The grace period is over. */
static void on_call_grace(struct loop_timer *timer) {
    struct call *call = CONTAINER_OF(timer, struct call, limit_or_grace_timer);
    slot_lock(call);
    bool open = slot_is_open(call), task_still_runs = open || slot_is_abandoned(call);
    if (slot_state(call) == SLOT_CANCELLING) slot_set_state(call, SLOT_ABANDONING);
    if (open)
        call_unlock_and_deliver_soon(call);
    else
        slot_unlock(call);
    if (task_still_runs && call->callable->ops->hung) call->callable->ops->hung(call->callable, call);
}

/*
 * Passes the request on to the callable. After a timeout, the task of an external callable is not waited for: the call
 * is abandoned as soon as its child calls have ended. After a cancellation, the task has CALL_GRACE_MS to end. `hung`
 * is called after CALL_GRACE_MS in both cases. Callables of the host have no grace period: they end their tasks.
 */
static void call_cancel_callable(struct call *call) {
    const struct callable_ops *ops = call->callable->ops;
    child_calls_cancel(call);
    if (ops->external) loop_timer_start(call->loop, &call->limit_or_grace_timer, CALL_GRACE_MS, on_call_grace);
    if (ops->cancel) ops->cancel(call->callable, call);
    if (!ops->external || call->cause == CAUSE_CANCEL) return;
    slot_lock(call);
    if (slot_state(call) == SLOT_CANCELLING) slot_set_state(call, SLOT_ABANDONING);
    call_unlock_and_deliver_soon(call);
}

/*
 * Requires the lock. Drops the chunks that the owner has not received, and ends its pause. Returns the worker that
 * sleeps until there is room, or NULL: the caller must wake it after unlocking.
 */
static struct worker *call_drop_undelivered(struct call *call) {
    struct worker *waiting_worker = call->waiting_worker;
    call->waiting_worker = NULL;
    call_discard_chunks(call);
    slot_set_flow(call, call->flow & ~FLOW_PAUSED);
    return waiting_worker;
}

/*
 * Requests the end of an open call: drops its chunks, stops its time limits and passes the request to the callable. A
 * repeated request only drops chunks. If the task has ended but has undelivered chunks, call_cancel drops them, so that
 * the owner is notified soon; the outcome stays. A time limit does nothing then: the task has ended in time, and the
 * owner could not know that chunks are missing. In all other states the function does nothing.
 */
static void call_request_end(struct call *call, enum slot_cause cause) {
    slot_lock(call);
    bool task_has_ended = slot_state(call) == SLOT_ENDING, not_yet_requested = slot_state(call) == SLOT_RUNNING;
    if (task_has_ended ? cause != CAUSE_CANCEL : !slot_is_open(call)) {
        slot_unlock(call);
        return;
    }
    slot_clear_all_later(call);
    if (not_yet_requested) {
        slot_set_state(call, SLOT_CANCELLING);
        call->cause = (uint8_t)cause;
    }
    struct worker *waiting_worker = call_drop_undelivered(call);
    bool by_start = call->delivery == DELIVERY_BY_START;
    if (task_has_ended)
        call_unlock_and_deliver_soon(call);
    else
        slot_unlock(call);
    if (waiting_worker) worker_wake(waiting_worker);
    if (!not_yet_requested) return;
    if (loop_timer_is_running(&call->limit_or_grace_timer)) loop_timer_stop(call->loop, &call->limit_or_grace_timer);
    if (loop_timer_is_running(&call->idle_timer)) loop_timer_stop(call->loop, &call->idle_timer);
    if (!by_start)
        call_cancel_callable(call); /* otherwise call_start_slow does it, after the callable's start has returned */
}

void call_cancel(struct call *call) { call_request_end(call, CAUSE_CANCEL); }

static void on_call_timeout(struct loop_timer *timer) {
    call_request_end(CONTAINER_OF(timer, struct call, limit_or_grace_timer), CAUSE_TOTAL_TIMEOUT);
}

static void on_call_idle(struct loop_timer *timer) {
    struct call *call = CONTAINER_OF(timer, struct call, idle_timer);
    slot_lock(call);
    /* The owner has chunks to read, so the callable is not idle. */
    bool owner_is_slow = slot_is_open(call) && call->chunk_count;
    slot_unlock(call);
    if (owner_is_slow)
        loop_timer_start(call->loop, &call->idle_timer, call->idle_ms, on_call_idle);
    else
        call_request_end(call, CAUSE_IDLE_TIMEOUT);
}

void call_worker_returned(uint64_t token) {
    struct call *call = slot_lookup_lock_any(token);
    if (!call) return;
    bool must_end = slot_is_abandoned(call) || slot_end_requested(call);
    slot_unlock(call);
    if (must_end) call_fail(token, NULL);
}

/* ---- Starting ---- */

static _Thread_local bool text_was_rejected; /* by a call of this OS thread's component into the host */

void call_note_rejected_text(void) { text_was_rejected = true; }

bool call_take_rejected_text(void) {
    bool rejected = text_was_rejected;
    text_was_rejected = false;
    return rejected;
}

void call_fail_status(uint64_t token, int32_t status) {
    static const struct {
        int32_t status;
        const char *code, *meaning;
    } rows[] = {{TN_INVALID, "INVALID_INPUT", "an argument is malformed or out of range"},
                {TN_TYPE, "TYPE", "a value has the wrong type"},
                {TN_NOT_FOUND, "NOT_FOUND", "a name or index does not exist"},
                {TN_LIMIT, "LIMIT", "a limit was reached"},
                {TN_NO_MEMORY, "NO_MEMORY", "out of memory"},
                {TN_CANCELLED, "CANCELLED", "it was cancelled"},
                {TN_UNSUPPORTED, "UNSUPPORTED", "the operation is not supported"}};
    struct error error = ERROR_INIT;
    size_t row = 0, count = sizeof rows / sizeof *rows;
    while (row < count && rows[row].status != status) row++;
    if (call_take_rejected_text() && (status == TN_NO_MEMORY || status == TN_INVALID))
        error_set(
            &error, TN_INVALID, "NOT_TEXT",
            "the component passed a text to the host that is not UTF-8; bytes that are not text must be passed as "
            "bytes");
    else
        error_set(&error, status, row < count ? rows[row].code : "FAILED",
                  "the component failed to start with status %d (%s) and reported no message", (int)status,
                  row < count ? rows[row].meaning : "not a status that tenon.h defines");
    call_end_task(token, CALL_FAILED, NULL, &error, "fail", false);
    error_finish(&error);
}

/*
 * The slow path of call_start: the call is still open, has queued chunks, or waits for calls that its task made. It is
 * not inlined, so that the fast path stays short.
 */
static __attribute__((noinline)) bool call_start_slow(struct call *call, bool task_ended) {
    /*
     * An external task may be ended by another OS thread. The loop ends if no event is pending, so announce that one
     * will come. call_before_report undoes this.
     */
    if (call->callable->ops->external) loop_expect(call->loop);
    /* If up to DELIVERY_CHUNKS chunks were queued, they are delivered here, and the end can still be returned. */
    bool report_end = task_ended && call_deliver(call);
    slot_lock(call);
    slot_set_delivery(call, DELIVERY_IDLE); /* from now on, each change of the slot queues `work` */
    bool end_requested = slot_end_requested(call);
    if (report_end) {
        slot_unlock(call);
        call_before_report(call);
        return true;
    }
    if (call->chunk_count || slot_state(call) == SLOT_ENDING)
        call_unlock_and_deliver_soon(call);
    else
        slot_unlock(call);
    if (end_requested) {
        call_cancel_callable(call);
    } else if (!task_ended) {
        if (call->total_ms) loop_timer_start(call->loop, &call->limit_or_grace_timer, call->total_ms, on_call_timeout);
        if (call->idle_ms) loop_timer_start(call->loop, &call->idle_timer, call->idle_ms, on_call_idle);
    }
    return false;
}

bool call_start(struct call *call, tn_value input) {
    const struct callable_ops *ops = call->callable->ops;
    call->input = input ? value_ref(input) : value_null();
    /* Without the lock: no other OS thread has the token yet. */
    slot_set_delivery(call, DELIVERY_BY_START);
    slot_set_state(call, SLOT_RUNNING);
    int32_t status = ops->start(call->callable, call, call->input);
    if (status != TN_OK) call_fail_status(slot_token(call), status);
    slot_lock(call);
    bool task_ended = slot_state(call) == SLOT_ENDING;
    if (task_ended && !call->chunk_count && !call->children) {
        slot_set_state(call, SLOT_ENDED);
        slot_set_delivery(call, DELIVERY_IDLE);
        slot_unlock(call);
        if (ops->finished) ops->finished(call->callable, call);
        if (call_is_scrubbed(call)) call_scrub_end(call);
        return true;
    }
    slot_clear_all_later(call);
    slot_unlock(call);
    return call_start_slow(call, task_ended);
}

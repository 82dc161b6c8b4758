/*
 * call.c - the life of a call: start, chunks, end, cancelling and time.
 *
 * What other threads may do (end it, emit, write) changes the slot under its lock and has `pump` run on the loop. Only
 * the loop changes anything else, and only the loop tells the owner. The states go one way: NEW, OPEN, ENDING, ENDED;
 * or from OPEN to LINGERING, where the owner has been told that the call is abandoned while its callable still works.
 * An end is told only after all chunks, and after the calls that the task has made have ended (child.c).
 */
#include "adl/value/memory.h"
#include "host/call/child.h"
#include "host/call/slot.h"
#include "host/call/worker.h"
#include "host/log.h"
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define PUMP_CHUNKS 64u /* delivered before others have their turn */

/* ---- Callables ---- */

struct callable *callable_ref(struct callable *callable) {
    if (callable) __atomic_fetch_add(&callable->references, 1, __ATOMIC_RELAXED);
    return callable;
}

void callable_unref(struct callable *callable) {
    if (callable && __atomic_fetch_sub(&callable->references, 1, __ATOMIC_ACQ_REL) == 1) callable->ops->free(callable);
}

/* ---- Making, asking, freeing ---- */

static void pump(struct loop_work *work);

struct call *call_new(struct loop *loop, struct callable *callable, const struct call_ops *ops, void *owner) {
    struct call *call = slot_take(loop);
    slot_set_state(call, SLOT_NEW);
    call->callable = callable_ref(callable);
    call->ops = ops;
    call->owner = owner;
    call->work.run = pump;
    return call;
}

void call_timeout(struct call *call, int64_t total_ms, int64_t idle_ms) {
    call->touched = true;
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
void call_set_resumed(struct call *call) { call->resumed = true; }
const struct call_ops *call_ops_of(const struct call *call) { return call->ops; }
bool call_hears(const struct call *call) {
    if (call->idle_ms) return true;
    return call->ops->hears ? call->ops->hears(call) : call->ops->chunk != NULL;
}
void call_set_data(struct call *call, void *data) {
    call->touched = true;
    call->data = data;
}
void *call_data(const struct call *call) { return call->data; }
struct call *call_of(uint64_t token) {
    return slot_here(token);
}

/* What an owner may see: nothing of an end that it has not been told of. */
static bool told(const struct call *call) {
    return slot_state(call) == SLOT_ENDED || slot_state(call) == SLOT_LINGERING;
}

enum call_outcome call_outcome(const struct call *locked) {
    struct call *call = (struct call *)(uintptr_t)locked;
    slot_acquire(call);
    enum call_outcome outcome = told(call) ? (enum call_outcome)call->outcome : CALL_OPEN;
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

static void discard_chunks(struct call *call) {
    for (; call->chunk_count; call->chunk_count--) {
        value_unref(call->chunks[call->chunk_first]);
        call->chunk_first = (call->chunk_first + 1) % call->chunk_capacity;
    }
}

static void release(struct call *call) {
    const struct call_write *writes = call->writes ? call->writes : call->inline_writes;
    for (uint32_t i = 0; i < call->write_count; i++) value_unref(writes[i].value);
    value_unref(call->output);
    value_unref(call->input);
    if (call->touched) {
        mem_free(call->writes);
        discard_chunks(call);
        mem_free((void *)call->chunks);
        error_finish(&call->error);
    }
    struct callable *callable = call->callable;
    slot_give(call);
    callable_unref(callable);
}

void call_free(struct call *call) {
    if (!call) return;
    if (slot_state(call) == SLOT_LINGERING) {
        /* Its callable may still use the token, the instance and the input: kept until it says that it has ended. */
        slot_acquire(call);
        bool gone = call->retrieved && !call->pumping;
        call->freed = !gone;
        slot_unlock(call);
        if (!gone) return;
    }
    release(call);
}

/* ---- What happens outside the loop ---- */

void slot_pump_later(struct call *call) {
    call->pumping = true;
    if (atomic_load_explicit(&call->thread, memory_order_relaxed) == loop_this_thread())
        loop_defer(call->loop, &call->work);
    else
        loop_post(call->loop, &call->work);
}

static __attribute__((noinline)) int32_t stale(uint64_t token, const char *what) {
    log_write(TN_LOG_DEBUG, "call", "a task that has ended, or never was, was to %s (token %016" PRIx64 ")", what,
              token);
    return TN_STALE;
}

/* The error of a call that was asked to end, whatever it says itself. */
static void set_asked_error(struct call *call, struct error *error) {
    if (!call->timed_out) {
        error_set(error, TN_CANCELLED, "CANCELLED", "the task was cancelled");
        return;
    }
    if (call->timed_out == SLOT_TIME_IDLE)
        error_set(error, TN_FAILED, "TIMEOUT", "nothing came from the task for %" PRId64 " ms", call->idle_ms);
    else
        error_set(error, TN_FAILED, "TIMEOUT", "the task did not end within %" PRId64 " ms", call->total_ms);
    error->more = value_set_take(value_object_reserve(1), "retryable", value_bool(true));
}

/* All but the usual: an error, a call that was asked to end, was abandoned, or has ended. Unlocks. */
static int32_t end_otherwise(struct call *call, uint64_t token, enum call_outcome outcome, tn_value output,
                             struct error *error, const char *what, bool plugins) {
    bool foreign = plugins && slot_state(call) != SLOT_FREE && !call->callable->ops->outside;
    if (slot_state(call) == SLOT_LINGERING && !foreign && !call->retrieved) {
        call->retrieved = true; /* the slot can be had again */
        slot_pump_unlock(call);
        return stale(token, what);
    }
    if (foreign || slot_state(call) != SLOT_OPEN) {
        slot_unlock(call);
        return stale(token, what);
    }
    tn_value unused = NULL;
    struct error dropped = ERROR_INIT;
    slot_set_state(call, SLOT_ENDING);
    call->touched = true;
    if (call->asked) {
        call->outcome = call->timed_out ? CALL_FAILED : CALL_CANCELLED;
        unused = output;
        if (error) dropped = *error;
        set_asked_error(call, &call->error);
    } else {
        call->outcome = (uint8_t)outcome;
        call->output = output;
        if (error) call->error = *error;
    }
    if (error) *error = (struct error)ERROR_INIT;
    slot_pump_unlock(call);
    value_unref(unused);
    error_finish(&dropped);
    return TN_OK;
}

int32_t slot_end_take(uint64_t token, enum call_outcome outcome, tn_value output, struct error *error, const char *what,
                      bool plugins) {
    struct call *call = slot_lock_any(token);
    if (!call) return stale(token, what);
    bool usual = slot_state(call) == SLOT_OPEN && !call->asked && !error;
    if (!usual || (plugins && !call->callable->ops->outside))
        return end_otherwise(call, token, outcome, output, error, what, plugins);
    slot_set_state(call, SLOT_ENDING);
    call->outcome = (uint8_t)outcome;
    call->output = output;
    slot_pump_unlock(call);
    return TN_OK;
}

int32_t call_complete(uint64_t token, tn_value output) {
    value_ref(output);
    int32_t status = slot_end_take(token, CALL_COMPLETED, output, NULL, "complete", false);
    if (status != TN_OK) value_unref(output);
    return status;
}

int32_t call_fail(uint64_t token, const struct error *error) {
    struct error copy = ERROR_INIT;
    if (error && error->code)
        error_copy(&copy, error);
    else
        error_set(&copy, TN_ERROR, "NODE_EXECUTION", "the task failed without saying why");
    int32_t status = slot_end_take(token, CALL_FAILED, NULL, &copy, "fail", false);
    error_finish(&copy);
    return status;
}

tn_value slot_interrupt_value(tn_value payload, tn_value schema, tn_value continuation) {
    tn_value value = value_set_take(value_object_reserve(3), "payload", payload ? value_ref(payload) : value_null());
    if (schema) value = value_set_take(value, "schema", value_ref(schema));
    if (continuation) value = value_set_take(value, "continuation", value_ref(continuation));
    return value;
}

int32_t call_interrupt(uint64_t token, tn_value payload, tn_value schema, tn_value continuation) {
    tn_value value = slot_interrupt_value(payload, schema, continuation);
    int32_t status = slot_end_take(token, CALL_INTERRUPTED, value, NULL, "interrupt", false);
    if (status != TN_OK) value_unref(value);
    return status;
}

int32_t call_interrupt_take(uint64_t token, tn_value value) {
    int32_t status = slot_end_take(token, CALL_INTERRUPTED, value, NULL, "interrupt", false);
    if (status != TN_OK) value_unref(value);
    return status;
}

int32_t call_cancelled(uint64_t token) {
    struct call *call = slot_lock(token);
    if (!call) return TN_STALE;
    int32_t asked = call->asked;
    slot_unlock(call);
    return asked;
}

static void push_chunk(struct call *call, tn_value chunk) {
    call->touched = true;
    if (call->chunk_count == call->chunk_capacity) {
        uint32_t capacity = call->chunk_capacity ? call->chunk_capacity * 2 : 8;
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

int32_t slot_emit(uint64_t token, tn_value chunk, struct worker *emitter) {
    struct call *call = slot_lock(token);
    if (!call) return stale(token, "emit");
    int32_t status = call->asked ? TN_CANCELLED : call->chunk_count >= CALL_CHUNKS_HIGH ? TN_AGAIN : TN_OK;
    if (status == TN_OK) {
        push_chunk(call, chunk);
        slot_pump_unlock(call);
        return TN_OK;
    }
    if (status == TN_AGAIN) {
        call->again = !emitter;
        call->emitter = emitter;
    }
    slot_unlock(call);
    return status;
}

int32_t call_emit(uint64_t token, tn_value chunk) {
    struct call *call = slot_lock(token);
    if (!call) return TN_STALE;
    if (call->asked) {
        slot_unlock(call);
        return TN_CANCELLED;
    }
    push_chunk(call, chunk);
    bool full = call->chunk_count >= CALL_CHUNKS_HIGH;
    call->again |= full;
    slot_pump_unlock(call);
    return full ? TN_AGAIN : TN_OK;
}

int32_t slot_write_more(struct call *call) {
    if (call->write_count == CALL_WRITES_MAX) return TN_LIMIT;
    uint32_t capacity = call->writes ? call->write_capacity : CALL_WRITES_INLINE;
    if (call->write_count < capacity) return TN_OK;
    struct call_write *writes = mem_array(call->writes, (size_t)capacity * 4, sizeof *writes);
    if (!call->writes) memcpy(writes, call->inline_writes, sizeof call->inline_writes);
    call->touched = true;
    call->writes = writes;
    call->write_capacity = capacity * 4;
    return TN_OK;
}

/* ---- Delivering, on the loop ---- */

static void on_idle(struct loop_timer *timer);

static void stop_timers(struct call *call) {
    if (call->idle.index) loop_timer_stop(call->loop, &call->idle);
    if (call->limit.index && slot_state(call) != SLOT_LINGERING) loop_timer_stop(call->loop, &call->limit);
}

/* The next chunk, or NULL where there is none, or the owner wants none. */
static tn_value take_chunk(struct call *call) {
    tn_value chunk = NULL;
    slot_acquire(call);
    if (call->chunk_count && !call->paused) {
        chunk = call->chunks[call->chunk_first];
        call->chunk_first = (call->chunk_first + 1) % call->chunk_capacity;
        call->chunk_count--;
    }
    slot_unlock(call);
    return chunk;
}

static void tell_ready(struct call *call) {
    child_resume_all(call);
    if (call->callable->ops->ready) call->callable->ops->ready(call->callable, call);
}

/* Delivers what there is. True: the owner may be told of the end now; the call is ENDED, or LINGERING. */
static bool deliver(struct call *call) {
    uint32_t given = 0;
    for (tn_value chunk; given < PUMP_CHUNKS && (chunk = take_chunk(call)); given++) {
        if (call->ops->chunk && !call->ops->chunk(call, chunk)) call->paused = true;
        value_unref(chunk);
    }
    if (given && call->idle.index) loop_timer_start(call->loop, &call->idle, call->idle_ms, on_idle);
    slot_acquire(call);
    bool open = slot_state(call) == SLOT_OPEN, room = call->chunk_count <= CALL_CHUNKS_LOW;
    bool ready = open && room && call->again && !call->asked;
    struct worker *emitter = room || !open ? call->emitter : NULL;
    if (ready) call->again = false;
    if (emitter) call->emitter = NULL;
    bool over = !call->children && !call->pumping; /* `work` must not be queued when the slot is given back */
    if (slot_state(call) == SLOT_ENDING) {
        over = over && !call->chunk_count;
        if (over) slot_set_state(call, SLOT_ENDED);
    } else if (open && call->give_up) {
        if (over) {
            slot_set_state(call, SLOT_LINGERING);
            call->outcome = call->timed_out ? CALL_FAILED : CALL_CANCELLED;
            set_asked_error(call, &call->error);
        }
    } else {
        over = false;
    }
    bool stop_children = slot_state(call) == SLOT_ENDING && call->children;
    bool more = call->chunk_count && !call->paused;
    if (more)
        slot_pump_unlock(call);
    else
        slot_unlock(call);
    if (emitter) worker_wake(emitter);
    if (stop_children) child_cancel_all(call);
    if (ready) tell_ready(call);
    return over;
}

/* The loop need not wait for it any more. A call that lingers keeps its timer, and comes here again when retrieved. */
static void settle(struct call *call) {
    stop_timers(call);
    if (call->expected) {
        call->expected = false;
        loop_unexpect(call->loop);
    }
    if (slot_state(call) == SLOT_ENDED && call->callable->ops->over) call->callable->ops->over(call->callable, call);
}

/* A call that was abandoned has ended after all. */
static void retrieve(struct call *call) {
    if (call->limit.index) loop_timer_stop(call->loop, &call->limit);
    if (call->callable->ops->over) call->callable->ops->over(call->callable, call);
    if (call->freed) release(call);
}

static void pump(struct loop_work *work) {
    struct call *call = (struct call *)(void *)((char *)work - offsetof(struct call, work));
    slot_acquire(call);
    call->pumping = false;
    bool retrieved = slot_state(call) == SLOT_LINGERING && call->retrieved;
    slot_unlock(call);
    if (retrieved) {
        retrieve(call);
    } else if (deliver(call)) {
        settle(call);
        call->ops->ended(call);
    }
}

void call_resume(struct call *call) {
    if (!call->paused) return;
    call->paused = false;
    slot_acquire(call);
    if (slot_state(call) == SLOT_OPEN || slot_state(call) == SLOT_ENDING)
        slot_pump_unlock(call);
    else
        slot_unlock(call);
}

/* ---- Asking for the end ---- */

static void on_grace(struct loop_timer *timer) {
    struct call *call = (struct call *)(void *)((char *)timer - offsetof(struct call, limit));
    call->hung = true;
    call->give_up = true;
    slot_acquire(call);
    bool unheard = slot_state(call) == SLOT_OPEN || (slot_state(call) == SLOT_LINGERING && !call->retrieved);
    if (slot_state(call) == SLOT_OPEN)
        slot_pump_unlock(call);
    else
        slot_unlock(call);
    if (unheard && call->callable->ops->hung) call->callable->ops->hung(call->callable, call);
}

static void ask_callable(struct call *call) {
    const struct callable_ops *ops = call->callable->ops;
    child_cancel_all(call);
    if (ops->outside) loop_timer_start(call->loop, &call->limit, CALL_GRACE_MS, on_grace);
    if (ops->cancel) ops->cancel(call->callable, call);
    if (!ops->outside || !call->timed_out) return;
    call->give_up = true;
    slot_acquire(call);
    slot_pump_unlock(call);
}

static void ask(struct call *call, uint8_t timed_out) {
    slot_acquire(call);
    bool open = slot_state(call) == SLOT_OPEN, ask_now = open && !call->asked;
    if (!open && slot_state(call) != SLOT_ENDING) {
        slot_unlock(call);
        return;
    }
    call->touched = true;
    if (ask_now) {
        call->asked = true;
        call->timed_out = timed_out;
    }
    discard_chunks(call);
    struct worker *emitter = call->emitter;
    call->emitter = NULL;
    call->paused = false;
    if (open)
        slot_unlock(call);
    else
        slot_pump_unlock(call);
    if (emitter) worker_wake(emitter);
    if (!ask_now) return;
    if (call->limit.index) loop_timer_stop(call->loop, &call->limit);
    if (call->idle.index) loop_timer_stop(call->loop, &call->idle);
    if (call->starting)
        call->cancel_owed = true;
    else
        ask_callable(call);
}

void call_cancel(struct call *call) { ask(call, SLOT_TIME_LEFT); }

static void on_total(struct loop_timer *timer) {
    ask((struct call *)(void *)((char *)timer - offsetof(struct call, limit)), SLOT_TIME_TOTAL);
}

static void on_idle(struct loop_timer *timer) {
    struct call *call = (struct call *)(void *)((char *)timer - offsetof(struct call, idle));
    slot_acquire(call);
    bool owners_fault = call->chunk_count != 0; /* the reader is slow, not the callable */
    slot_unlock(call);
    if (owners_fault)
        loop_timer_start(call->loop, &call->idle, call->idle_ms, on_idle);
    else
        ask(call, SLOT_TIME_IDLE);
}

void call_returned(uint64_t token) {
    struct call *call = slot_lock_any(token);
    if (!call) return;
    bool ends = slot_state(call) == SLOT_LINGERING || (slot_state(call) == SLOT_OPEN && call->asked);
    slot_unlock(call);
    if (ends) call_fail(token, NULL);
}

/* ---- Starting ---- */

static void fail_with_status(struct call *call, int32_t status) {
    static const struct {
        int32_t status;
        const char *code, *meaning;
    } rows[] = {{TN_INVALID, "INVALID_INPUT", "an argument is malformed or out of range"},
                {TN_TYPE, "TYPE", "a value is of another kind than it needs"},
                {TN_NOT_FOUND, "NOT_FOUND", "something of that name or index does not exist"},
                {TN_LIMIT, "LIMIT", "a bound was reached"},
                {TN_NO_MEMORY, "NO_MEMORY", "there is no memory"},
                {TN_CANCELLED, "CANCELLED", "it was cancelled"},
                {TN_UNSUPPORTED, "UNSUPPORTED", "it cannot do that"}};
    struct error error = ERROR_INIT;
    size_t row = 0, count = sizeof rows / sizeof *rows;
    while (row < count && rows[row].status != status) row++;
    error_set(&error, status, row < count ? rows[row].code : "FAILED",
              "the component failed when it was started, with status %d (%s), and gave no message", (int)status,
              row < count ? rows[row].meaning : "no status of the contract says why");
    slot_end_take(slot_token(call), CALL_FAILED, NULL, &error, "fail by the status of its start", false);
    error_finish(&error);
}

void call_fail_status(uint64_t token, int32_t status) {
    struct call *call = slot_lock_any(token);
    if (!call) return;
    slot_unlock(call);
    fail_with_status(call, status);
}

bool call_start(struct call *call, tn_value input) {
    const struct callable_ops *ops = call->callable->ops;
    call->input = input ? value_ref(input) : value_null();
    call->starting = true;
    slot_set_state(call, SLOT_OPEN);
    int32_t status = ops->start(call->callable, call, call->input);
    if (status != TN_OK) fail_with_status(call, status);
    slot_acquire(call);
    bool ended = slot_state(call) == SLOT_ENDING, plain = !call->chunk_count && !call->children;
    if (ended && plain) {
        slot_set_state(call, SLOT_ENDED);
        call->starting = false;
    } else {
        call->touched = true;
    }
    slot_unlock(call);
    if (ended && plain) {
        if (ops->over) ops->over(call->callable, call);
        return true;
    }
    if (ops->outside) {
        call->expected = true;
        loop_expect(call->loop);
    }
    bool over = ended && deliver(call);
    slot_acquire(call);
    call->starting = false; /* from now on whoever changes the slot pumps */
    if (over) {
        slot_unlock(call);
        settle(call);
        return true;
    }
    if (call->chunk_count || slot_state(call) == SLOT_ENDING)
        slot_pump_unlock(call);
    else
        slot_unlock(call);
    if (call->cancel_owed) {
        ask_callable(call);
    } else if (!ended) {
        if (call->total_ms) loop_timer_start(call->loop, &call->limit, call->total_ms, on_total);
        if (call->idle_ms) loop_timer_start(call->loop, &call->idle, call->idle_ms, on_idle);
    }
    return false;
}

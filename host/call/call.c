/*
 * call.c - the life of a call: start, chunks, cancel, timeouts, end.
 *
 * An end is settled once, by whoever is first (completion from any thread, cancellation's deadline, a timeout), and told
 * on the loop, after all chunks. What happens while call_start is running is looked after when start has returned:
 * that is what makes an inline completion free of queues.
 */
#include "host/call/call.h"
#include "adl/value/memory.h"
#include "host/call/slot.h"
#include "host/call/worker.h"
#include "host/log.h"
#include <stddef.h>
#include <string.h>

struct callable *callable_ref(struct callable *callable) {
    if (callable) __atomic_fetch_add(&callable->references, 1, __ATOMIC_RELAXED);
    return callable;
}

void callable_unref(struct callable *callable) {
    if (callable && __atomic_fetch_sub(&callable->references, 1, __ATOMIC_ACQ_REL) == 1)
        callable->ops->free(callable);
}

static void call_work(struct loop_work *work);

struct call *call_new(struct loop *loop, struct callable *callable, const struct call_ops *ops, void *owner) {
    struct call *call = slot_take();
    call->loop = loop;
    call->callable = callable_ref(callable);
    call->ops = ops;
    call->owner = owner;
    call->writes = call->few_writes;
    call->write_capacity = CALL_INLINE_WRITES;
    call->work.run = call_work;
    return call;
}

void call_timeout(struct call *call, int64_t total_ms, int64_t idle_ms) {
    call->total_ms = total_ms;
    call->idle_ms = idle_ms;
}

void call_free(struct call *call) {
    if (!call) return;
    for (uint32_t i = 0; i < call->write_count; i++) value_unref(call->writes[i].value);
    if (call->writes != call->few_writes) mem_free(call->writes);
    value_unref(call->output);
    value_unref(call->interrupt);
    value_unref(call->input);
    if (call->error.code) error_finish(&call->error);
    if (call->chunks) {
        for (uint32_t i = 0; i < call->chunk_count; i++)
            value_unref(call->chunks[(call->chunk_first + i) % CALL_CHUNKS_HIGH]);
        mem_free(call->chunks);
    }
    callable_unref(call->callable);
    slot_lock(call); /* a late token may be looking */
    size_t from = offsetof(struct call, open);
    memset((char *)call + from, 0, sizeof *call - from);
    slot_unlock(call);
    slot_give(call);
}

/* ---- Ending ---- */

void call_schedule(struct call *call) {
    if (call->in_start || call->scheduled) return;
    call->scheduled = true;
    if (loop_here(call->loop))
        loop_defer(call->loop, &call->work);
    else
        loop_post(call->loop, &call->work);
}

void call_settle_locked(struct call *call, enum call_outcome outcome, tn_value output) {
    call->open = false;
    call->settled = true;
    call->outcome = (uint8_t)outcome;
    call->output = output;
    call_schedule(call);
}

static void stop_timers(struct call *call) {
    if (call->total.index) loop_timer_stop(call->loop, &call->total);
    if (call->idle.index) loop_timer_stop(call->loop, &call->idle);
    if (call->grace.index) loop_timer_stop(call->loop, &call->grace);
}

/* What a cancelled or timed-out call ends as, however it ended. */
static void judge(struct call *call) {
    if (call->timed_out) {
        call->outcome = CALL_FAILED;
        bool total = call->total_ms && !call->total.index;
        error_set(&call->error, TN_FAILED, "TIMEOUT", "it took longer than its %s of %lld ms",
                  total ? "timeout" : "idle timeout", (long long)(total ? call->total_ms : call->idle_ms));
        call->error.more = value_set_take(value_object(), "retryable", value_bool(true));
    } else if (call->cancel_asked) {
        call->outcome = CALL_CANCELLED;
        error_set(&call->error, TN_CANCELLED, "CANCELLED", "it was cancelled");
    }
}

static void finish(struct call *call) {
    call->ended = true;
    if (call->timed_out || call->cancel_asked) judge(call);
    stop_timers(call);
    if (call->children) children_cancel(call);
    loop_unexpect(call->loop);
}

/* Hands over chunks; true when none are left. */
static bool drain(struct call *call) {
    while (!call->paused) {
        slot_lock(call);
        if (!call->chunk_count) {
            slot_unlock(call);
            return true;
        }
        tn_value chunk = call->chunks[call->chunk_first];
        call->chunk_first = (call->chunk_first + 1) % CALL_CHUNKS_HIGH;
        call->chunk_count--;
        slot_unlock(call);
        if (call->idle.index) loop_timer_start(call->loop, &call->idle, call->idle_ms, call->idle.fire);
        bool more = !call->ops->chunk || call->ops->chunk(call, chunk);
        value_unref(chunk);
        if (!more) call->paused = true;
    }
    return false;
}

/* There is room again: tells whoever was told AGAIN. */
static void tell_ready(struct call *call) {
    slot_lock(call);
    bool ready = call->wants_ready && call->open && call->chunk_count <= CALL_CHUNKS_LOW;
    if (ready) call->wants_ready = false;
    struct job *job = call->job;
    if (ready && job) worker_wake_job(job);
    slot_unlock(call);
    if (ready && !job && call->callable->ops->ready) call->callable->ops->ready(call->callable, call);
}

static void call_work(struct loop_work *work) {
    struct call *call = (struct call *)(void *)((char *)work - offsetof(struct call, work));
    slot_lock(call);
    call->scheduled = false;
    slot_unlock(call);
    bool drained = drain(call);
    tell_ready(call);
    slot_lock(call);
    bool over = call->settled && drained && !call->ended && !call->chunk_count;
    slot_unlock(call);
    if (!over) return;
    finish(call);
    call->ops->ended(call);
}

/* ---- Timeouts and cancelling ---- */

static void abandon(struct call *call) {
    slot_lock(call);
    if (!call->open) {
        slot_unlock(call);
        return;
    }
    struct job *job = call->job;
    if (job) worker_abandon_job(job);
    call_settle_locked(call, CALL_CANCELLED, NULL);
    slot_unlock(call);
}

static void grace_over(struct loop_timer *timer) {
    struct call *call = (struct call *)(void *)((char *)timer - offsetof(struct call, grace));
    log_write(LOG_WARN, NULL, "a task did not end within %d ms of being cancelled, and is abandoned", CALL_GRACE_MS);
    abandon(call);
}

static void ask_to_end(struct call *call) {
    slot_lock(call);
    bool asked = !call->open || call->cancel_asked;
    call->cancel_asked = true;
    if (!asked && call->job) worker_wake_job(call->job);
    bool worker = call->job != NULL;
    slot_unlock(call);
    if (asked) return;
    if (call->children) children_cancel(call);
    loop_timer_start(call->loop, &call->grace, CALL_GRACE_MS, grace_over);
    if (!worker && call->callable->ops->cancel) call->callable->ops->cancel(call->callable, call);
    if (worker) worker_drop_queued(call);
}

static void time_out(struct call *call) {
    if (call->ended || call->cancel_asked) return;
    slot_lock(call);
    call->timed_out = call->open;
    slot_unlock(call);
    ask_to_end(call);
}

static void total_over(struct loop_timer *timer) {
    time_out((struct call *)(void *)((char *)timer - offsetof(struct call, total)));
}
static void idle_over(struct loop_timer *timer) {
    time_out((struct call *)(void *)((char *)timer - offsetof(struct call, idle)));
}

void call_cancel(struct call *call) {
    if (!call->ended) ask_to_end(call);
}

/* ---- Starting ---- */

static const char *status_code(int32_t status) {
    switch (status) {
    case TN_NO_MEMORY: return "NO_MEMORY";
    case TN_LIMIT: return "LIMIT";
    case TN_CANCELLED: return "CANCELLED";
    case TN_INVALID:
    case TN_TYPE: return "INVALID_INPUT";
    case TN_UNSUPPORTED: return "UNSUPPORTED";
    default: return "NODE_EXECUTION";
    }
}

bool call_start(struct call *call, tn_value input) {
    call->input = input ? value_ref(input) : value_null();
    slot_lock(call);
    call->open = call->in_start = true;
    slot_unlock(call);
    loop_expect(call->loop);
    if (call->total_ms) loop_timer_start(call->loop, &call->total, call->total_ms, total_over);
    if (call->idle_ms) loop_timer_start(call->loop, &call->idle, call->idle_ms, idle_over);
    int32_t status = call->callable->ops->start(call->callable, call, call->input);
    slot_lock(call);
    if (status != TN_OK && call->open) {
        error_set(&call->error, status, status_code(status), "it could not be started (status %d)", status);
        call_settle_locked(call, CALL_FAILED, NULL);
    }
    call->in_start = false;
    bool settled = call->settled, chunks = call->chunk_count > 0;
    if (!settled && chunks) call_schedule(call);
    slot_unlock(call);
    if (!settled) return false;
    if (chunks && !drain(call)) return false; /* the reader is full: ended() comes after call_resume */
    finish(call);
    return true;
}

void call_resume(struct call *call) {
    if (!call->paused) return;
    call->paused = false;
    slot_lock(call);
    call_schedule(call);
    slot_unlock(call);
}

/* ---- By token ---- */

static int32_t stale(const char *what) {
    log_write(LOG_DEBUG, NULL, "%s of a task that has ended already: ignored", what);
    return TN_STALE;
}

int32_t call_complete(uint64_t token, tn_value output) {
    struct call *call = slot_open(token);
    if (!call) return stale("completion");
    call_settle_locked(call, CALL_COMPLETED, output ? value_ref(output) : NULL);
    slot_unlock(call);
    return TN_OK;
}

int32_t call_fail(uint64_t token, const struct error *error) {
    struct call *call = slot_open(token);
    if (!call) return stale("failure");
    if (error && error->code)
        error_copy(&call->error, error);
    else
        error_set(&call->error, TN_FAILED, "NODE_EXECUTION", "the component failed without saying why");
    call_settle_locked(call, CALL_FAILED, NULL);
    slot_unlock(call);
    return TN_OK;
}

int32_t call_interrupt(uint64_t token, tn_value payload, tn_value schema, tn_value continuation) {
    tn_value asked = value_object_reserve(3);
    asked = value_set_take(asked, "payload", payload ? value_ref(payload) : value_null());
    if (schema) asked = value_set_take(asked, "schema", value_ref(schema));
    if (continuation) asked = value_set_take(asked, "continuation", value_ref(continuation));
    struct call *call = slot_open(token);
    if (!call) {
        value_unref(asked);
        return stale("interrupt");
    }
    call->interrupt = asked;
    call_settle_locked(call, CALL_INTERRUPTED, NULL);
    slot_unlock(call);
    return TN_OK;
}

int32_t call_emit(uint64_t token, tn_value chunk) {
    for (;;) {
        struct call *call = slot_open(token);
        if (!call) return TN_STALE;
        if (call->cancel_asked) {
            slot_unlock(call);
            return TN_CANCELLED;
        }
        if (call->chunk_count == CALL_CHUNKS_HIGH) {
            call->wants_ready = true;
            struct job *job = call->job && worker_is_here(call->job) ? call->job : NULL;
            if (job) worker_prepare_wait(job);
            slot_unlock(call);
            if (!job) return TN_AGAIN;
            worker_wait(job);
            continue;
        }
        if (!call->chunks) call->chunks = mem_array(NULL, CALL_CHUNKS_HIGH, sizeof *call->chunks);
        call->chunks[(call->chunk_first + call->chunk_count++) % CALL_CHUNKS_HIGH] = value_ref(chunk);
        call_schedule(call);
        slot_unlock(call);
        return TN_OK;
    }
}

int32_t call_cancelled(uint64_t token) {
    struct call *call = slot_open(token);
    if (!call) return TN_STALE;
    bool asked = call->cancel_asked;
    slot_unlock(call);
    return asked;
}

int32_t call_write(uint64_t token, uint32_t channel, tn_value value) {
    struct call *call = slot_open(token);
    if (!call) return TN_STALE;
    if (call->write_count == call->write_capacity) {
        uint32_t capacity = call->write_capacity * 2;
        bool few = call->writes == call->few_writes;
        struct call_write *writes = mem_array(few ? NULL : call->writes, capacity, sizeof *writes);
        if (few) memcpy(writes, call->few_writes, sizeof call->few_writes);
        call->writes = writes;
        call->write_capacity = capacity;
    }
    call->writes[call->write_count++] = (struct call_write){channel, value_ref(value)};
    slot_unlock(call);
    return TN_OK;
}

struct call *call_of(uint64_t token) {
    struct call *call = slot_open(token);
    if (call) slot_unlock(call);
    return call;
}

/* ---- Reading ---- */

void *call_owner(const struct call *call) { return call->owner; }
struct loop *call_loop(const struct call *call) { return call->loop; }
struct callable *call_callable(const struct call *call) { return call->callable; }
uint64_t call_token(const struct call *call) { return (uint64_t)call->generation << 32 | (call->number + 1); }
uint32_t call_depth(const struct call *call) { return call->depth; }
tn_value call_input(const struct call *call) { return call->input; }
struct call *call_parent(const struct call *call) { return call->parent ? call_of(call->parent) : NULL; }
const struct call_ops *call_ops_of(const struct call *call) { return call->ops; }
void call_set_data(struct call *call, void *data) { call->data = data; }
void *call_data(const struct call *call) { return call->data; }
enum call_outcome call_outcome(const struct call *call) {
    return call->ended ? (enum call_outcome)call->outcome : CALL_OPEN;
}
tn_value call_output(const struct call *call) { return call->output; }
const struct error *call_error(const struct call *call) { return &call->error; }
const struct call_write *call_writes(const struct call *call, uint32_t *count) {
    *count = call->write_count;
    return call->writes;
}
tn_value call_interrupt_value(const struct call *call) { return call->interrupt; }

/*
 * child.c - a call made by a task: one record, from call_child until `done` has been called.
 *
 * The record keeps the parent's callable, so that an instance lives until the last `done` has returned. `done` always
 * comes from the loop by itself, even where the callee ended inside its start.
 */
#include "host/call/child.h"
#include "adl/value/memory.h"
#include "host/call/slot.h"
#include <stddef.h>

struct child {
    struct call *call;
    struct callable *user_callable; /* the parent's */
    tn_call_done done;
    void *user;
    bool model;
    struct loop_work work;
};

static void unlink_child(struct call *call) {
    struct call *parent = call->parent;
    *(call->previous ? &call->previous->next : &parent->children) = call->next;
    if (call->next) call->next->previous = call->previous;
    if (parent->children) return;
    /* The last one: the parent's end may wait for that. */
    slot_acquire(parent);
    if (slot_state(parent) == SLOT_ENDING || parent->give_up)
        slot_pump_unlock(parent);
    else
        slot_unlock(parent);
}

static void tell(struct child *child) {
    struct call *call = child->call;
    struct error unsupported = ERROR_INIT;
    tn_value error = NULL;
    unlink_child(call);
    switch (call_outcome(call)) {
    case CALL_COMPLETED: child->done(child->user, TN_OK, call_output(call) ? call_output(call) : value_null()); break;
    case CALL_CANCELLED: child->done(child->user, TN_CANCELLED, NULL); break;
    case CALL_INTERRUPTED:
        error_set(&unsupported, TN_UNSUPPORTED, "UNSUPPORTED",
                  "the component that was called asked for an answer from outside, which only a node may do");
        error = error_to_value(&unsupported);
        child->done(child->user, TN_FAILED, error);
        break;
    default:
        error = error_to_value(call_error(call));
        child->done(child->user, TN_FAILED, error);
        break;
    }
    value_unref(error);
    error_finish(&unsupported);
    call_free(call);
    callable_unref(child->user_callable);
    mem_free(child);
}

static void ended(struct call *call) { tell(call_owner(call)); }

static void tell_later(struct loop_work *work) {
    tell((struct child *)(void *)((char *)work - offsetof(struct child, work)));
}

/* A model's deltas are marked as such, as the run's stream tells them from a node's own chunks. */
static bool forward(struct call *call, tn_value chunk) {
    const struct child *child = call_owner(call);
    bool marked = value_is(chunk, TN_OBJECT) && value_count(chunk) == 1 && value_get(chunk, "messages");
    uint64_t token = slot_token(call->parent);
    if (!child->model || marked) return call_emit(token, chunk) != TN_AGAIN;
    tn_value delta = value_set_take(value_object_reserve(1), "messages", value_ref(chunk));
    int32_t status = call_emit(token, delta);
    value_unref(delta);
    return status != TN_AGAIN;
}

int32_t call_child(uint64_t token, struct callable *callee, bool model, tn_value input, tn_call_done done, void *user) {
    return call_child_on(token, callee, model, input, done, user, NULL);
}

int32_t call_child_on(uint64_t token, struct callable *callee, bool model, tn_value input, tn_call_done done,
                      void *user, struct worker *on) {
    static const struct call_ops ops = {.ended = ended, .chunk = forward};
    struct call *parent = slot_here(token);
    if (!parent) {
        struct call *elsewhere = slot_lock(token);
        if (!elsewhere) return TN_STALE;
        slot_unlock(elsewhere);
        return TN_WRONG_THREAD;
    }
    if (parent->asked) return TN_CANCELLED;
    if (parent->depth + 1 >= CALL_DEPTH_MAX) return TN_LIMIT;
    struct child *child = mem_zalloc(sizeof *child);
    child->user_callable = callable_ref(parent->callable);
    child->done = done;
    child->user = user;
    child->model = model;
    child->work.run = tell_later;
    struct call *call = child->call = call_new(parent->loop, callee, &ops, child);
    call->touched = true;
    call->depth = parent->depth + 1;
    call->on_worker = on;
    call->parent = parent;
    call->next = parent->children;
    if (call->next) call->next->previous = call;
    parent->children = call;
    if (call_start(call, input)) loop_defer(parent->loop, &child->work);
    return TN_OK;
}

void child_cancel_all(struct call *parent) {
    for (struct call *call = parent->children; call; call = call->next) call_cancel(call);
}

void child_resume_all(struct call *parent) {
    for (struct call *call = parent->children; call; call = call->next) call_resume(call);
}

/*
 * child.c - a call made by a task: one record, from call_child until `done` has been called.
 *
 * The record keeps the parent's callable, so that an instance lives until the last `done` has returned. `done` always
 * comes from the loop by itself, even where the callee ended inside its start. What came of a call that was made before
 * (by an earlier start of the same task) is asked of the root's owner: then it is not made again, but ends as it did.
 */
#include "host/call/child.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/call/instance_internal.h"
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

static void write_path(struct buffer *out, const struct call *call) {
    if (call->parent->parent) {
        write_path(out, call->parent);
        buffer_char(out, '.');
    }
    buffer_format(out, "%u", call->ordinal);
}

char *call_path(const struct call *call) {
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    if (call->parent) write_path(&path, call);
    return buffer_detach(&path, NULL);
}

/* ---- What is known already ---- */

/* Ends as it did: a callable for one call. */
struct recalled {
    struct callable callable;
    tn_value known;
};

static int32_t recalled_start(struct callable *callable, struct call *call, tn_value input) {
    tn_value known = ((struct recalled *)callable)->known, output = value_get(known, "output");
    tn_value asked = value_get(known, "asked"), failure = value_get(known, "error");
    (void)input;
    if (output) return call_complete(slot_token(call), output);
    if (asked) return call_interrupt_take(slot_token(call), value_ref(asked));
    struct error error = ERROR_INIT;
    error_from_value(&error, failure);
    int32_t status = call_fail(slot_token(call), &error);
    error_finish(&error);
    return status;
}

static void recalled_free(struct callable *callable) {
    value_unref(((struct recalled *)callable)->known);
    mem_free(callable);
}

static struct callable *recalled_new(tn_value known) {
    static const struct callable_ops ops = {.start = recalled_start, .free = recalled_free};
    struct recalled *recalled = mem_zalloc(sizeof *recalled);
    recalled->callable = (struct callable){&ops, 1};
    recalled->known = value_ref(known);
    return &recalled->callable;
}

/* Of the next call that `parent` makes. */
static tn_value recall(const struct call *parent, struct callable *callee) {
    struct call *root = call_root(parent);
    if (!root->ops->recall) return NULL;
    struct call next = {.parent = (struct call *)(uintptr_t)parent, .ordinal = parent->made};
    char *path = call_path(&next);
    tn_value known = root->ops->recall(root, path, callee);
    mem_free(path);
    return known;
}

static bool record(struct call *call) {
    struct call *root = call_root(call);
    if (!root->ops->record) return false;
    char *path = call_path(call);
    bool taken = root->ops->record(root, path, call);
    mem_free(path);
    return taken;
}

/* The context of the task that all is done for, under an id of this call's own: the idempotency key. */
static tn_value child_context(struct call *call) {
    struct call *root = call_root(call);
    tn_value context = root->ops->context ? root->ops->context(root) : instance_plain_context(root);
    struct buffer id;
    buffer_init(&id, SIZE_MAX);
    buffer_format(&id, "%s.", value_chars(value_get(context, "task_id"), NULL));
    write_path(&id, call);
    context = value_set_take(context, "task_id", value_text(buffer_cstr(&id)));
    buffer_finish(&id);
    return context;
}

static tn_value child_run_value(struct call *call) {
    struct call *root = call_root(call);
    return root->ops->run_value ? root->ops->run_value(root) : NULL;
}

/* ---- The end ---- */

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
    bool waits = record(call);
    struct call *root = call_root(call);
    if (child->model && call_outcome(call) == CALL_COMPLETED && root->ops->spent)
        root->ops->spent(root, call_output(call));
    unlink_child(call);
    switch (call_outcome(call)) {
    case CALL_COMPLETED: child->done(child->user, TN_OK, call_output(call) ? call_output(call) : value_null()); break;
    case CALL_CANCELLED: child->done(child->user, TN_CANCELLED, NULL); break;
    case CALL_INTERRUPTED:
        if (waits)
            error_set(&unsupported, TN_CANCELLED, "INTERRUPTED",
                      "what was called waits for an answer from outside; the task is started again when it has come");
        else
            error_set(&unsupported, TN_UNSUPPORTED, "UNSUPPORTED",
                      "the component that was called asked for an answer from outside, and nobody is there to give it: "
                      "only tasks of a run can wait");
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
    if (!call_hears(call->parent)) return true;
    bool marked = value_is(chunk, TN_OBJECT) && value_count(chunk) == 1 && value_get(chunk, "messages");
    uint64_t token = slot_token(call->parent);
    if (!child->model || marked) return call_emit(token, chunk) != TN_AGAIN;
    tn_value delta = value_set_take(value_object_reserve(1), "messages", value_ref(chunk));
    int32_t status = call_emit(token, delta);
    value_unref(delta);
    return status != TN_AGAIN;
}

static bool hears(const struct call *call) { return call_hears(call->parent); }

int32_t call_child(uint64_t token, struct callable *callee, bool model, tn_value input, tn_call_done done, void *user) {
    return call_child_on(token, callee, model, input, done, user, NULL);
}

int32_t call_child_on(uint64_t token, struct callable *callee, bool model, tn_value input, tn_call_done done,
                      void *user, struct worker *on) {
    static const struct call_ops ops = {
        .ended = ended, .chunk = forward, .hears = hears, .context = child_context, .run_value = child_run_value};
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
    struct call *root = call_root(parent);
    if (callee->ops->use && root->ops->uses) root->ops->uses(root, callee, input);
    tn_value known = recall(parent, callee), again = value_get(known, "input");
    struct callable *instead = known && !again ? recalled_new(known) : NULL;
    struct call *call = child->call = call_new(parent->loop, instead ? instead : callee, &ops, child);
    callable_unref(instead);
    parent->touched = true;
    call->ordinal = parent->made++;
    call->resumed = again != NULL;
    call->touched = true;
    call->depth = parent->depth + 1;
    call->on_worker = on;
    if (parent->children_ms) call_timeout(call, parent->children_ms, 0);
    call->parent = parent;
    call->next = parent->children;
    if (call->next) call->next->previous = call;
    parent->children = call;
    if (call_start(call, again ? again : input)) loop_defer(parent->loop, &child->work);
    value_unref(known);
    return TN_OK;
}

void child_cancel_all(struct call *parent) {
    for (struct call *call = parent->children; call; call = call->next) call_cancel(call);
}

void child_resume_all(struct call *parent) {
    for (struct call *call = parent->children; call; call = call->next) call_resume(call);
}

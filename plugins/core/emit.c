/*
 * emit.c - `emit`: sends events of the document to the run's stream.
 *
 * It emits one chunk, or one for each item of a list. When the stream is full, the task waits for `ready` and then
 * continues with the next item. So a slow reader slows the node down, and chunks do not accumulate.
 */
#include "core.h"

struct emission {
    struct emission *next;
    tn_task task;
    tn_value items; /* an array */
    uint64_t sent;
};

struct emit {
    uint32_t expression;
    int32_t each;          /* the expression returns a list; emit one chunk for each item */
    struct emission *open; /* emissions that wait for `ready` */
};

static int32_t emit_create(tn_value config, tn_binder *binder, void **self) {
    const char *each = tn_get_text(config, "each", NULL), *value = tn_get_text(config, "value", NULL);
    if ((each == NULL) == (value == NULL))
        return core_refuse("set either `value` (one event) or `each` (a list of events)");
    struct emit *emit = core_alloc_zeroed(sizeof(*emit));
    if (emit == NULL) return TN_NO_MEMORY;
    emit->each = each != NULL;
    int32_t status = tn.eval->bind_expression(binder, each != NULL ? each : value, TN_Z, &emit->expression);
    if (status == TN_OK)
        *self = emit;
    else
        core_release(emit);
    return status;
}

/* TN_OK: everything was sent. TN_AGAIN: wait for `ready`. Any other status: end the task. */
static int32_t emission_send(tn_task task, tn_value items, uint64_t *sent) {
    for (uint64_t count = tn.value->count(items); *sent < count; ++*sent) {
        int32_t status = tn.task->emit(task, tn.value->at(items, *sent));
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static void emission_end(tn_task task, int32_t status) {
    if (status == TN_OK)
        (void)tn_done(task);
    else if (status == TN_CANCELLED)
        (void)core_fail_cancelled(task);
    else
        (void)tn_fail(task, "EMIT_FAILED", "the host did not accept the event");
}

static struct emission *emission_take(struct emit *emit, tn_task task) {
    struct emission **link = &emit->open, *found;
    while (*link != NULL && (*link)->task != task) link = &(*link)->next;
    found = *link;
    if (found != NULL) *link = found->next;
    return found;
}

static void emission_free(struct emission *emission) {
    tn_release(emission->items);
    core_release(emission);
}

static int32_t emit_start(void *self, tn_task task, tn_value input) {
    struct emit *emit = self;
    uint64_t sent = 0;
    (void)input;
    tn_value items = tn_evaluate(task, emit->expression);
    if (items == NULL) return TN_FAILED; /* the task has already failed */
    if (!emit->each) {
        int32_t status = tn.task->emit(task, items);
        if (status != TN_AGAIN) {
            tn_release(items);
            emission_end(task, status);
            return TN_OK;
        }
        tn_value item = items; /* a waiting emission is always a list */
        items = tn_build("[V]", item);
        if (items == NULL) return TN_NO_MEMORY;
    } else if (tn.value->kind(items) != TN_ARRAY) {
        char message[96];
        (void)snprintf(message, sizeof(message), "`each` must evaluate to a list; found %s", tn_kind_name(items));
        tn_release(items);
        return tn_fail(task, "TYPE", message);
    }
    int32_t status = emission_send(task, items, &sent);
    struct emission *emission = status == TN_AGAIN ? core_alloc_zeroed(sizeof(*emission)) : NULL;
    if (emission == NULL) {
        tn_release(items);
        if (status == TN_AGAIN) return TN_NO_MEMORY;
        emission_end(task, status);
        return TN_OK;
    }
    emission->task = task;
    emission->items = items;
    emission->sent = sent;
    emission->next = emit->open;
    emit->open = emission;
    return TN_OK;
}

static void emit_ready(void *self, tn_task task) {
    struct emit *emit = self;
    struct emission *emission = emission_take(emit, task);
    if (emission == NULL) return;
    int32_t status = emission_send(task, emission->items, &emission->sent);
    if (status == TN_AGAIN) {
        emission->next = emit->open;
        emit->open = emission;
        return;
    }
    emission_free(emission);
    emission_end(task, status);
}

static void emit_cancel(void *self, tn_task task) {
    struct emission *emission = emission_take(self, task);
    if (emission == NULL) return;
    emission_free(emission);
    (void)core_fail_cancelled(task);
}

TN_COMPONENT(emit, "emit", emit_create, emit_start, emit_cancel, emit_ready, core_release)

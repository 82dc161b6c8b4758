/*
 * instance_internal.h - struct instance, for host/plugin/.
 *
 * An async component, and a blocking one that is reentrant, has one pointer, `self`. A blocking component that is not
 * reentrant has inner instances; each is used by one job at a time. `idle` holds the unused ones. Jobs that exceed the
 * number of workers wait in `queue`. `config` and `bindings` never change; everything else belongs to the loop.
 *
 *     const struct instance *instance = (const struct instance *)callable;   // only if instance_is(callable)
 *     const struct bindings *bindings = &instance->bindings;                 // [any]
 */
#ifndef TENON_HOST_PLUGIN_CALL_INSTANCE_INTERNAL_H
#define TENON_HOST_PLUGIN_CALL_INSTANCE_INTERNAL_H

#include "host/plugin/call/binder.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/registry/registry.h"

struct instance {
    struct callable callable; /* first */
    struct component *component;
    void *self;   /* NULL if pooled */
    bool created; /* `self` must be destroyed */
    bool pooled;  /* has inner instances instead of `self` */
    tn_value config;
    const struct schema *input; /* the schema of a tool's arguments; NULL means any value */
    struct bindings bindings;
    struct instance_scope scope; /* for inner instances that are created later */
    char *where;

    void **idle;
    uint32_t idle_count, idle_capacity;
    uint32_t inner_count; /* idle or in use */
    struct task_job *queue, **queue_last;
};

/*
 * Validates the arguments of a tool. *input is borrowed; null, or no input, becomes an empty object. Returns false
 * after it has failed the call with INVALID_INPUT.
 */
bool instance_accepts(const struct instance *instance, struct call *call, tn_value *input);

/* A call of a blocking component. What it may read was copied when the call was started. */
struct task_job {
    struct job job;            /* first */
    struct instance *instance; /* one reference */
    void *inner;
    tn_value input, context, run;
    struct task_job *next; /* next in the instance's queue */
    bool returned;         /* the component's start has returned, or will not be called */
    bool call_ended;
    bool queued;      /* in the instance's queue */
    bool has_inner;   /* `inner` is set */
    tn_value reads[]; /* one for each of bindings.reads */
};

extern const struct callable_ops instance_async_ops, instance_blocking_ops;

static inline bool instance_is(const struct callable *callable) {
    return callable->ops == &instance_async_ops || callable->ops == &instance_blocking_ops;
}

/* Creates one inner instance (or `self`). Returns TN_OK, or a status with the error set. */
int32_t instance_create_inner(struct instance *instance, void **inner, struct error *error);

int32_t blocking_start(struct callable *callable, struct call *call, tn_value input);
void blocking_cancel(struct callable *callable, struct call *call);
void blocking_finished(struct callable *callable, struct call *call);
void blocking_hung(struct callable *callable, struct call *call);

#endif

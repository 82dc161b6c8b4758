/*
 * instance_internal.h - an instance, for instance.c, blocking.c and host/interface/.
 *
 * `self` is the component's own pointer where one is enough (async, or blocking and reentrant). Otherwise inner
 * instances are lent to one job at a time: `idle` ones wait for the next, and jobs beyond what may run at once wait in
 * line. Everything but config and bindings, which never change, is the loop's.
 */
#ifndef TENON_HOST_CALL_INSTANCE_INTERNAL_H
#define TENON_HOST_CALL_INSTANCE_INTERNAL_H

#include "host/call/binder.h"
#include "host/call/call.h"
#include "host/call/worker.h"
#include "host/plugin/registry.h"

struct instance {
    struct callable callable; /* first */
    struct component *component;
    void *self;   /* async and reentrant ones */
    bool created; /* … made */
    bool pooled;  /* has inner instances */
    tn_value config;
    const struct schema *input; /* of a tool: what its arguments must fit; NULL: anything */
    struct bindings bindings;
    struct instance_scope scope; /* for later creates */
    char *where;

    void **idle;
    uint32_t idle_count, idle_capacity;
    uint32_t inner_count; /* idle or lent */
    struct task_job *line, **line_last;
};

/* A tool is given its arguments validated, whoever calls it. False: the call has failed with INVALID_INPUT. */
bool instance_accepts(const struct instance *instance, struct call *call, tn_value input);

/* A blocking call on its way: what it reads was taken when it was started. */
struct task_job {
    struct job job;            /* first */
    struct instance *instance; /* one reference */
    void *inner;
    tn_value input, context, run;
    struct task_job *next; /* in line */
    bool returned;         /* start has returned */
    bool over;             /* the call has ended */
    bool lined;            /* waits in line */
    bool lent;             /* has `inner` */
    tn_value reads[];      /* of bindings.reads */
};

extern const struct callable_ops instance_async_ops, instance_blocking_ops;

static inline bool instance_is(const struct callable *callable) {
    return callable->ops == &instance_async_ops || callable->ops == &instance_blocking_ops;
}

/* Creates one inner instance (or the only one); TN_OK, or the error set. */
int32_t instance_create_inner(struct instance *instance, void **inner, struct error *error);
/* What tn_task_1.context gives, of a call without an owner that knows more. */
tn_value instance_plain_context(const struct call *call);

int32_t blocking_start(struct callable *callable, struct call *call, tn_value input);
void blocking_cancel(struct callable *callable, struct call *call);
void blocking_over(struct callable *callable, struct call *call);
void blocking_hung(struct callable *callable, struct call *call);

#endif

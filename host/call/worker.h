/*
 * worker.h - the threads that blocking components run on: ours, shared by all loops, made when they are needed.
 *
 * A *job* is one piece of work for a worker, made by a loop, which gets it back when it has been run. A loop is held
 * for as long as a job of it is queued or runs, unless the job is abandoned: then its worker counts no longer, another
 * takes its place, and the thread ends if it ever comes back.
 *
 *     job->run = run_it;                         // [worker]
 *     job->work.run = it_was_run;                // [loop] afterwards, abandoned or not
 *     workers_submit(job, loop, NULL);
 *
 * A worker that waits in call_wait leaves its place to another for so long, so that workers that wait for work cannot
 * keep it from being done; and it holds no loop, which does the work.
 */
#ifndef TENON_HOST_CALL_WORKER_H
#define TENON_HOST_CALL_WORKER_H

#include "adl/value/value.h"
#include "host/loop/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct callable;
struct worker;

#define WORKERS_DEFAULT_MIN 4u   /* the default is the number of processors, or this */
#define WORKERS_MAX         256u /* what workers_limit is cut to; threads that wait count apart, up to as many again */
#define WORKERS_HUNG_MAX    4u   /* abandoned at once, per plugin; one more and the plugin is refused for good */

struct job {
    struct job *next;
    void (*run)(struct job *job);
    struct loop_work work;
    uint64_t token; /* of the task it runs */
    /* The pool's. */
    struct loop *loop; /* NULL once that has been freed */
    struct worker *worker;
    struct job *outer; /* runs inside of: the job that waits on this worker for it */
    const void *hung;  /* whose account an abandoned job is on */
    bool queued, abandoned;
    bool held; /* the loop waits for it */
};

/* [any] How many may run at once; 0: the default. */
void workers_limit(uint32_t count);
uint32_t workers_count(void); /* [any] that limit */
/* [loop] `on`: a worker that waits for it, or NULL. */
void workers_submit(struct job *job, struct loop *loop, struct worker *on);
/* [loop] Takes back a job that no worker has begun; false: too late. */
bool workers_withdraw(struct job *job);
/* [loop] First thing in job->work.run. */
void workers_returned(struct job *job);
/* [loop] A job that has begun will not come back soon; on `plugin`'s account until it does. */
void workers_abandon(struct job *job, const void *plugin);
/* [any] Has it had more than WORKERS_HUNG_MAX jobs abandoned at one time? */
bool workers_refuse(const void *plugin);
/* [loop] The loop is being freed: jobs that still run are nobody's. */
void workers_detach(struct loop *loop);
/*
 * [any] Ends the workers and waits for them, for what they do now as well: for tests. Not from a worker. A host that
 * goes leaves its workers to the next one; they hold nothing of it.
 */
void workers_stop(void);

/* [any] What the calling thread runs, innermost; NULL where it is no worker. */
struct job *job_current(void);
/* [any] The job of a task that the calling thread runs; NULL otherwise. */
struct job *job_of(uint64_t token);

/* [worker] Sleeps until worker_wake; one wakes the other once. */
void worker_sleep(struct worker *worker);
void worker_wake(struct worker *worker); /* [any] */
/* [worker] call_child, waiting; *result is owned. */
int32_t worker_call(struct job *job, struct callable *callee, bool model, tn_value input, tn_value *result);

#endif

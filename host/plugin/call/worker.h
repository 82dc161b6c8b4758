/*
 * worker.h - the pool of OS threads that run blocking components. All loops share it; threads start on demand.
 *
 * A *job* is one piece of work for a worker. A loop submits it and gets it back after it has run. The loop is held
 * while its job is queued or runs. An abandoned job no longer holds the loop: its worker leaves the pool, another one
 * replaces it, and the thread ends if the job ever returns.
 *
 *     job->run = run_it;                         // [worker]
 *     job->work.run = it_was_run;                // [loop] afterwards, also if the job was abandoned
 *     workers_submit(job, loop, NULL);
 *
 * A worker that waits in call_wait does not count against the limit of threads, so waiting workers cannot block the
 * work that they wait for. It does not hold the loop either, because the loop does that work.
 */
#ifndef TENON_HOST_PLUGIN_CALL_WORKER_H
#define TENON_HOST_PLUGIN_CALL_WORKER_H

#include "adl/value/value.h"
#include "host/base/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct call_options;
struct callable;
struct worker;

#define WORKERS_DEFAULT_MIN 4u   /* the default limit is the number of processors, but at least this */
#define WORKERS_MAX         256u /* the largest limit; as many threads again may wait in call_wait */
#define WORKERS_HUNG_MAX    4u /* abandoned jobs at one time, per plugin; with one more the plugin is refused forever */

struct job {
    struct job *next;
    void (*run)(struct job *job);
    struct loop_work work;
    uint64_t token; /* the task that it runs */
    /* Private to the pool. */
    struct loop *loop; /* NULL if the loop has been freed */
    struct worker *worker;
    struct job *outer; /* the job on the same worker that waits for this one */
    const void *hung;  /* the plugin whose account counts an abandoned job */
    bool queued, abandoned;
    bool held; /* the job holds the loop */
};

/* [any] Sets how many jobs may run at once; 0 means the default. */
void workers_limit(uint32_t count);
uint32_t workers_count(void); /* [any] the current limit */
/* [loop] Queues a job. If `on` is not NULL, it runs on that worker, which waits for it. */
void workers_submit(struct job *job, struct loop *loop, struct worker *on);
/* [loop] Takes a job back. Returns false if a worker has already started it. */
bool workers_withdraw(struct job *job);
/* [loop] Call this first in job->work.run. */
void workers_returned(struct job *job);
/* [loop] Stops waiting for a running job. It counts against `plugin` until it returns. */
void workers_abandon(struct job *job, const void *plugin);
/* [any] True if the plugin has ever had more than WORKERS_HUNG_MAX abandoned jobs at one time. */
bool workers_refuse(const void *plugin);
#define WORKERS_SETTLE_MS 1000 /* longest wait of workers_settle */
/*
 * [loop] Before the owner of a loop is freed: its calls have ended, but workers may still be returning from their
 * components. Waits for them, and frees what they have posted.
 */
void workers_settle(struct loop *loop);
/* [loop] The loop is being freed: jobs that still run are not posted back. */
void workers_detach(struct loop *loop);
/*
 * [any] For tests: ends all workers and waits for them and for their current jobs. Not from a worker. Freeing a host
 * does not stop the workers; the next host uses them, and they hold no reference to the old one.
 */
void workers_stop(void);

/* [any] The job of a task if the calling thread runs it; else NULL. */
struct job *job_of(uint64_t token);

/* [worker] Sleeps until worker_wake. One wake ends one sleep, also if it came first. */
void worker_sleep(struct worker *worker);
void worker_wake(struct worker *worker); /* [any] */
/* [worker] call_child, but waits for the result. *result is owned by the caller. */
int32_t worker_call(struct job *job, struct callable *callee, bool model, const struct call_options *options,
                    tn_value input, tn_value *result);

#endif

/*
 * method_job.h - work of a method that blocks, such as reading a whole pack: it runs on another thread than the loop.
 *
 *     struct my_job { struct method_job job; … };        // `job` is the first member
 *     mine->job = (struct method_job){.run = verify, .done = describe, .free = my_job_free};
 *     return method_job_start(&mine->job, call, error);  // takes the job, also if it fails
 *
 * A server runs one job at a time, because its threads are those of libuv, which also check documents of editors and
 * look up the names of hosts. Others wait in order. A job whose call is cancelled does not start; one that runs already
 * continues, and its result is dropped. server_free waits for the job that runs.
 *
 * Thread: [loop], except `run`.
 */
#ifndef TENON_HOST_SERVER_METHOD_JOB_H
#define TENON_HOST_SERVER_METHOD_JOB_H

#include "host/server/method.h"

struct method_jobs;

#define METHOD_JOBS_MAX 64u /* that wait in one server; another one fails with LIMIT */

struct method_job {
    /* [other thread] Sets `status`, and `result` (a new reference) or `error`. */
    void (*run)(struct method_job *job);
    void (*done)(struct method_job *job); /* [loop] after `run`, if it succeeded: may change the result; may be NULL */
    void (*free)(struct method_job *job);
    int32_t status;
    tn_value result;
    struct error error;
    /* Private. */
    struct method_job *next;
    void *request;
    uint64_t token; /* of the call */
};

int32_t method_job_start(struct method_job *job, const struct method_call *call, struct error *error);

/* Of one server. */
struct method_jobs *method_jobs_new(struct server *server);
void method_jobs_free(struct method_jobs *jobs); /* no job is left */

#endif

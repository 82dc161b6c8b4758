/*
 * method_job.c - the queue of jobs of a server, and the thread that runs the first one.
 */
#include "host/server/method_job.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/server/method_request.h"
#include "host/server/server_internal.h"
#include <uv.h>

struct method_jobs {
    struct server *server;
    struct method_job *running;
    struct method_job *first, **last; /* those that wait; `last` is the link for the next one */
    size_t waiting;
    uv_work_t work; /* of `running` */
};

struct method_jobs *method_jobs_new(struct server *server) {
    struct method_jobs *jobs = mem_zalloc(sizeof *jobs);
    jobs->server = server;
    jobs->last = &jobs->first;
    jobs->work.data = jobs;
    return jobs;
}

void method_jobs_free(struct method_jobs *jobs) { mem_free(jobs); }

static void job_finish(struct method_job *job) {
    if (job->status == TN_OK && job->done && call_lookup_open(job->token)) job->done(job);
    method_request_done(job->request, job->status, job->result, &job->error);
    value_unref(job->result);
    error_finish(&job->error);
    job->free(job);
}

static void job_run(uv_work_t *work) {
    const struct method_jobs *jobs = work->data;
    log_enter(loop_log(server_loop(jobs->server)));
    jobs->running->run(jobs->running);
    log_enter(NULL);
}

static void jobs_next(struct method_jobs *jobs);

static void job_was_run(uv_work_t *work, int status) {
    struct method_jobs *jobs = work->data;
    struct method_job *job = jobs->running;
    (void)status; /* it is never cancelled */
    jobs->running = NULL;
    loop_release(server_loop(jobs->server));
    job_finish(job);
    jobs_next(jobs);
}

/* Starts the next job, if none runs. Those whose call was cancelled end. */
static void jobs_next(struct method_jobs *jobs) {
    while (!jobs->running && jobs->first) {
        struct method_job *job = jobs->first;
        jobs->first = job->next;
        if (!jobs->first) jobs->last = &jobs->first;
        jobs->waiting--;
        if (!call_lookup_open(job->token)) {
            job->status = TN_CANCELLED;
            job_finish(job);
            continue;
        }
        jobs->running = job;
        loop_hold(server_loop(jobs->server));
        (void)uv_queue_work(loop_uv(server_loop(jobs->server)), &jobs->work, job_run, job_was_run);
    }
}

int32_t method_job_start(struct method_job *job, const struct method_call *call, struct error *error) {
    struct method_jobs *jobs = server_jobs(call->server);
    if (jobs->waiting == METHOD_JOBS_MAX) {
        job->free(job);
        return error_set(error, TN_LIMIT, "LIMIT",
                         "%u calls of this host that read packs wait, which is the limit; try again later",
                         METHOD_JOBS_MAX);
    }
    job->request = method_request_new(call);
    job->token = call->token;
    *jobs->last = job;
    jobs->last = &job->next;
    jobs->waiting++;
    jobs_next(jobs);
    return TN_OK;
}

/*
 * thread_job.h - the arguments of one operation on saved threads, and its start. Only this room uses it.
 *
 *     void thread_show(struct store *store, const char *id, store_done *done, void *user) {
 *         thread_job_start(store, thread_run_show, &(const struct thread_job){.id = id}, done, user);
 *     }
 *     static int32_t thread_run_show(struct session *session, void *user, tn_value *result, struct error *error) {
 *         const struct thread_job *job = user; ...
 *     }
 *
 * A function named thread_run_… runs on the store's thread and only reads the job. The job owns copies of its strings
 * and a reference to its value, and is freed on the loop when the operation has ended, before `done` is called.
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_JOB_H
#define TENON_HOST_DATA_THREAD_THREAD_JOB_H

#include "host/data/store/store.h"

struct thread_job {
    const struct store *store; /* thread_job_start sets it */
    const char *id;            /* of the thread; the id to start after; or NULL */
    const char *fork;          /* id of a second thread, or NULL */
    tn_value value;            /* a query, or an exported thread; or NULL */
    int64_t seq, limit, now_ms;
    bool force, replace;
};
/* Copies `job` and calls `perform` with the copy on the store's thread. `done` is called later; it may be NULL. */
void thread_job_start(struct store *store, store_perform_fn *perform, const struct thread_job *job, store_done *done,
                      void *user);

#endif

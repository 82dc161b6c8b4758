/*
 * thread_job.c - copies the arguments of an operation, and submits it to the store.
 */
#include "host/data/thread/thread_job.h"
#include "adl/value/memory.h"

static void thread_job_free(void *user) {
    struct thread_job *job = user;
    mem_free((void *)(uintptr_t)job->id);
    mem_free((void *)(uintptr_t)job->fork);
    value_unref(job->value);
    mem_free(job);
}

void thread_job_start(struct store *store, store_perform_fn *perform, const struct thread_job *job, store_done *done,
                      void *user) {
    struct thread_job *copy = mem_alloc(sizeof *copy);
    *copy = *job;
    copy->store = store;
    copy->id = job->id ? mem_text(job->id) : NULL;
    copy->fork = job->fork ? mem_text(job->fork) : NULL;
    copy->value = job->value ? value_ref(job->value) : NULL;
    store_perform_take(store, perform, copy, thread_job_free, done, user);
}

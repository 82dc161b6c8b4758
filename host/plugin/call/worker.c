/*
 * worker.c - the pool of workers: one queue, one mutex, and one thread for each job up to the limit.
 *
 * The mutex guards everything and is never held while calling out. Workers are detached threads. Their structs are
 * reused and never freed, so that a worker can be woken without checking that it still exists. The pool is not freed at
 * exit, because a thread that returns from hung code still uses it.
 *
 * The life of a job:
 *
 *     workers_submit ----> QUEUED in the pool, or MAIL of one worker ---- workers_withdraw ----> with its owner again
 *                                        | a worker takes it                                        ^
 *                                        v                                                          |
 *                                     RUNNING ---- run() returns ----> posted to its loop ---- workers_returned
 *
 * workers_abandon leaves a job RUNNING, but its loop does not wait for it, and its worker leaves the pool. If the loop
 * is freed (workers_detach), `loop` becomes NULL: a job that has not started is dropped, and one that runs is kept in
 * `lost` when it returns.
 */
#include "host/plugin/call/worker.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/plugin/call/call_internal.h"
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct worker {
    pthread_cond_t wake;      /* one of the fields below, `done` of its worker_wait or `loop` of its job has changed */
    struct worker *next_free; /* the next in pool.free; only after the thread has ended */
    struct job *job;  /* the innermost job that it runs; written only by its own thread, which reads it unlocked */
    struct job *mail; /* a job that it must run while it waits for that job's result */
    bool woken;       /* worker_wake was called; worker_sleep resets it */
    bool abandoned;   /* it runs an abandoned job: it is not in pool.threads, and ends when the job returns */
};

/* Counts the abandoned jobs of one plugin. */
struct worker_account {
    struct worker_account *next;
    const void *plugin;
    uint32_t hung; /* abandoned jobs that have not returned */
    bool refused;  /* `hung` was above WORKERS_HUNG_MAX; never reset */
};

/* Process-wide: all hosts and loops of a process share the worker threads. The mutex guards every field. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t work;       /* a job was queued, or `stopping` was set */
    pthread_cond_t stopped;    /* the last thread ended */
    struct job *first, **last; /* queued jobs, oldest first */
    struct job **running;      /* started, or in a worker's mail, and not returned */
    size_t running_count, running_capacity;
    uint32_t limit;   /* 0 means the default */
    uint32_t threads; /* neither abandoned nor ending */
    uint32_t idle;    /* threads without a job */
    uint32_t waiting; /* threads in call_wait */
    bool stopping;    /* workers_stop waits until `threads` is 0 */
    struct worker *free;
    struct job *lost; /* jobs that returned after their loop was freed: kept here, never freed */
    struct worker_account *accounts;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .stopped = PTHREAD_COND_INITIALIZER};

static _Thread_local struct worker *this_worker;

/* [any] The innermost job of the calling thread; NULL if it is not a worker. */
static struct job *job_current(void) { return this_worker ? this_worker->job : NULL; }

struct job *job_of(uint64_t token) {
    struct job *job = job_current();
    while (job && job->token != token) job = job->outer;
    return job;
}

static void pool_lock(void) { pthread_mutex_lock(&pool.mutex); }
static void pool_unlock(void) { pthread_mutex_unlock(&pool.mutex); }

/* ---- The limit of threads ---- */

void workers_limit(uint32_t count) {
    pool_lock();
    pool.limit = count > WORKERS_MAX ? WORKERS_MAX : count;
    pool_unlock();
}

/* Requires the mutex. */
static uint32_t pool_limit(void) {
    if (pool.limit) return pool.limit;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < (long)WORKERS_DEFAULT_MIN) return WORKERS_DEFAULT_MIN;
    return processors > (long)WORKERS_MAX ? WORKERS_MAX : (uint32_t)processors;
}

uint32_t workers_count(void) {
    pool_lock();
    uint32_t limit = pool_limit();
    pool_unlock();
    return limit;
}

/* ---- Accounts of plugins ---- */

/* Requires the mutex. Creates the account of a plugin that has none. */
static struct worker_account *worker_account_of(const void *plugin) {
    struct worker_account *account = pool.accounts;
    while (account && account->plugin != plugin) account = account->next;
    if (account) return account;
    account = mem_zalloc(sizeof *account);
    account->plugin = plugin;
    account->next = pool.accounts;
    return pool.accounts = account;
}

bool workers_refuse(const void *plugin) {
    bool refused = false;
    pool_lock();
    for (const struct worker_account *account = pool.accounts; account; account = account->next)
        if (account->plugin == plugin) refused = account->refused;
    pool_unlock();
    return refused;
}

/* ---- Running ---- */

/* Requires the mutex. */
static void pool_add_running(struct job *job) {
    MEM_GROW(pool.running, pool.running_count, pool.running_capacity);
    pool.running[pool.running_count++] = job;
}

/* Requires the mutex. */
static void pool_remove_running(struct job *job) {
    for (size_t i = 0; i < pool.running_count; i++)
        if (pool.running[i] == job) pool.running[i] = pool.running[--pool.running_count];
}

/* [worker] Requires the mutex; releases it while the job runs. */
static void worker_run_job(struct worker *worker, struct job *job) {
    assert(worker == this_worker && !job->queued);
    job->worker = worker;
    job->outer = worker->job;
    worker->job = job;
    if (job->loop) log_enter(loop_log(job->loop)); /* under the mutex, as below: the loop exists */
    pool_unlock();
    job->run(job);
    pool_lock();
    if (!job->outer) log_enter(NULL);
    worker->job = job->outer;
    pool_remove_running(job);
    if (job->abandoned) {
        assert(worker->abandoned && worker_account_of(job->hung)->hung > 0);
        worker_account_of(job->hung)->hung--;
    }
    /* workers_detach clears job->loop under the mutex, so a loop that is set still exists. */
    if (job->loop) {
        loop_post(job->loop, &job->work);
    } else {
        job->next = pool.lost;
        pool.lost = job;
    }
}

/* [worker] Requires the mutex. Waits for a queued job and takes it. Returns NULL if workers_stop was called instead. */
static struct job *pool_take_job(void) {
    while (!pool.first && !pool.stopping) {
        pool.idle++;
        pthread_cond_wait(&pool.work, &pool.mutex);
        pool.idle--;
    }
    struct job *job = pool.first;
    if (!job) return NULL;
    pool.first = job->next;
    if (!pool.first) pool.last = &pool.first;
    job->queued = false;
    pool_add_running(job);
    return job;
}

/* Requires the mutex. The worker has no thread. */
static void worker_release(struct worker *worker) {
    worker->next_free = pool.free;
    pool.free = worker;
}

static void *worker_main(void *argument) {
    struct worker *worker = this_worker = argument;
    pool_lock();
    while (!worker->abandoned) {
        struct job *job = pool_take_job();
        if (!job) break;
        worker_run_job(worker, job);
    }
    assert(!worker->job);
    if (!worker->abandoned) pool.threads--; /* otherwise workers_abandon has subtracted it */
    worker_release(worker);
    if (!pool.threads) pthread_cond_broadcast(&pool.stopped);
    pool_unlock();
    return NULL;
}

/* Requires the mutex. */
static struct worker *worker_new(void) {
    struct worker *worker = pool.free;
    if (worker) {
        pool.free = worker->next_free;
    } else {
        worker = mem_zalloc(sizeof *worker);
        pthread_cond_init(&worker->wake, NULL);
    }
    worker->job = worker->mail = NULL;
    worker->woken = worker->abandoned = false;
    return worker;
}

/* Requires the mutex. Blocks all signals in the new thread: the loop's thread handles them. */
static bool worker_start_thread(void) {
    struct worker *worker = worker_new();
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, &attributes, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!failed) {
        pool.threads++;
        return true;
    }
    worker_release(worker);
    return false;
}

/*
 * Requires the mutex. A job was queued, a worker left the pool or a worker waits: wakes an idle worker. If there are
 * more queued jobs than idle workers and the limit allows it, starts a worker.
 */
static void pool_dispatch(void) {
    if (!pool.first) return;
    pthread_cond_signal(&pool.work);
    uint32_t waiting = pool.waiting < WORKERS_MAX ? pool.waiting : WORKERS_MAX;
    size_t queued = 0; /* counted no further than necessary */
    for (const struct job *job = pool.first; job && queued <= pool.idle; job = job->next) queued++;
    if (queued <= pool.idle || pool.threads >= pool_limit() + waiting) return;
    if (!worker_start_thread() && !pool.threads)
        log_write(TN_LOG_ERROR, "worker", "cannot create a thread for blocking components; their tasks wait");
}

/* [loop] Requires the mutex. No effect if the job holds the loop already, or does not hold it. */
static void job_hold_loop(struct job *job, bool hold) {
    if (job->held == hold) return;
    job->held = hold;
    if (hold)
        loop_hold(job->loop);
    else
        loop_release(job->loop);
}

void workers_submit(struct job *job, struct loop *loop, struct worker *on) {
    pool_lock();
    assert(job->run && job->work.run && !job->queued && !(on && on->mail));
    job->loop = loop;
    job_hold_loop(job, true);
    job->next = NULL;
    job->worker = on;
    job->outer = NULL;
    job->abandoned = false;
    if (on) {
        on->mail = job;
        pool_add_running(job);
        pthread_cond_signal(&on->wake);
    } else {
        job->queued = true;
        if (!pool.first) pool.last = &pool.first;
        *pool.last = job;
        pool.last = &job->next;
        pool_dispatch();
    }
    pool_unlock();
}

bool workers_withdraw(struct job *job) {
    bool found = false;
    pool_lock();
    for (struct job **at = &pool.first; job->queued && *at; at = &(*at)->next) {
        if (*at != job) continue;
        *at = job->next;
        if (pool.last == &job->next) pool.last = at;
        job->queued = false;
        found = true;
        break;
    }
    if (job->worker && job->worker->mail == job) {
        job->worker->mail = NULL;
        pool_remove_running(job);
        found = true;
    }
    if (found) job_hold_loop(job, false);
    pool_unlock();
    return found;
}

void workers_returned(struct job *job) {
    pool_lock();
    job_hold_loop(job, false);
    pool_unlock();
}

void workers_abandon(struct job *job, const void *plugin) {
    pool_lock();
    if (job->abandoned || !job->worker) {
        pool_unlock();
        return;
    }
    job->abandoned = true;
    job->hung = plugin;
    struct worker_account *account = worker_account_of(plugin);
    if (++account->hung > WORKERS_HUNG_MAX) account->refused = true;
    if (!job->worker->abandoned) { /* an inner or outer job on the same worker may have been abandoned before */
        assert(pool.threads > 0);
        job->worker->abandoned = true;
        pool.threads--;
        pool_dispatch();
    }
    job_hold_loop(job, false);
    pool_unlock();
}

void workers_detach(struct loop *loop) {
    pool_lock();
    for (struct job **at = &pool.first; *at;) {
        if ((*at)->loop == loop) {
            (*at)->loop = NULL;
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
    pool.last = &pool.first;
    while (*pool.last) pool.last = &(*pool.last)->next;
    for (size_t i = 0; i < pool.running_count; i++) {
        if (pool.running[i]->loop != loop) continue;
        pool.running[i]->loop = NULL;
        pthread_cond_signal(&pool.running[i]->worker->wake);
    }
    pool_unlock();
}

/* True if a worker runs a job of the loop that it is expected to return from. */
static bool loop_has_jobs(const struct loop *loop) {
    bool found = false;
    pool_lock();
    for (size_t i = 0; i < pool.running_count; i++)
        found |= pool.running[i]->loop == loop && !pool.running[i]->abandoned;
    pool_unlock();
    return found;
}

void workers_settle(struct loop *loop) {
    for (int ms = 0; ms < WORKERS_SETTLE_MS && loop_has_jobs(loop); ms++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    loop_run_posted(loop);
}

void workers_stop(void) {
    assert(!this_worker); /* a worker would wait for itself */
    pool_lock();
    pool.stopping = true;
    pthread_cond_broadcast(&pool.work);
    while (pool.threads) pthread_cond_wait(&pool.stopped, &pool.mutex);
    pool.stopping = false;
    pool_unlock();
}

/* ---- Waiting on a worker ---- */

void worker_sleep(struct worker *worker) {
    assert(worker == this_worker);
    pool_lock();
    while (!worker->woken) pthread_cond_wait(&worker->wake, &pool.mutex);
    worker->woken = false;
    pool_unlock();
}

void worker_wake(struct worker *worker) {
    pool_lock();
    worker->woken = true;
    pthread_cond_signal(&worker->wake);
    pool_unlock();
}

/* One call_wait. It is on the worker's stack, and valid until `done` is set or the loop is freed. */
struct worker_wait {
    struct loop_work work; /* posted by the worker: on_wait_start */
    /* Set before it is posted, then constant. */
    struct job *job;
    struct worker *worker;
    struct callable *callee;
    tn_value input; /* borrowed from the waiting task */
    bool model;
    const struct call_options *options; /* may be NULL */
    /* Set by the loop under the mutex. */
    bool done;
    int32_t status;  /* TN_STALE until done */
    tn_value result; /* owned; NULL without a result */
};

/* [loop] The callee has ended, or was not started: wakes the worker. */
static void on_wait_done(void *user, int32_t status, tn_value result) {
    struct worker_wait *wait = user;
    pool_lock();
    if (!wait->job->abandoned) job_hold_loop(wait->job, true);
    wait->status = status;
    wait->result = value_ref(result);
    wait->done = true;
    pthread_cond_signal(&wait->worker->wake);
    pool_unlock();
}

/* [loop] Calls the callee for the worker. */
static void on_wait_start(struct loop_work *work) {
    struct worker_wait *wait = CONTAINER_OF(work, struct worker_wait, work);
    int32_t status = call_child_on(wait->job->token, wait->callee, wait->model, wait->options, wait->input,
                                   on_wait_done, wait, wait->worker);
    if (status != TN_OK) {
        on_wait_done(wait, status, NULL);
        return;
    }
    /* While the worker waits, the loop does its work. on_wait_done, which call_child_on never calls, holds it again. */
    pool_lock();
    job_hold_loop(wait->job, false);
    pool_unlock();
}

int32_t worker_call(struct job *job, struct callable *callee, bool model, const struct call_options *options,
                    tn_value input, tn_value *result) {
    struct worker *worker = job->worker;
    struct worker_wait wait = {.work = {.run = on_wait_start},
                               .job = job,
                               .worker = worker,
                               .callee = callee,
                               .input = input,
                               .model = model,
                               .options = options,
                               .status = TN_STALE};
    assert(worker == this_worker);
    pool_lock();
    if (job->loop) loop_post(job->loop, &wait.work);
    pool.waiting++;
    pool_dispatch();
    /* Jobs that the callee sends to this worker run here, inside the waiting job. */
    while ((!wait.done || worker->mail) && job->loop) {
        struct job *mail = worker->mail;
        if (!mail) {
            pthread_cond_wait(&worker->wake, &pool.mutex);
            continue;
        }
        worker->mail = NULL;
        pool.waiting--;
        worker_run_job(worker, mail);
        pool.waiting++;
    }
    pool.waiting--;
    pool_unlock();
    if (wait.done && (wait.status == TN_OK || wait.status == TN_FAILED)) *result = wait.result;
    return wait.status;
}

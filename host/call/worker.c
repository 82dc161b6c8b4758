/*
 * worker.c - the pool: one queue, one mutex, a thread for each job until there are as many as are allowed.
 *
 * Everything is guarded by the mutex, which is never held while calling out. Workers are detached threads whose structs
 * are reused and never freed: whoever wakes one needs not know whether it is still there. Nothing here is torn down at
 * exit, so that a thread which comes back from hung code then finds what it needs.
 */
#include "host/call/worker.h"
#include "adl/value/memory.h"
#include "host/call/slot.h"
#include "host/log.h"
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

struct worker {
    pthread_cond_t wake;
    struct worker *next_free;
    struct job *job;  /* innermost */
    struct job *mail; /* to run while it waits */
    bool woken, abandoned;
};

/* Abandoned jobs, by plugin. */
struct account {
    struct account *next;
    const void *plugin;
    uint32_t hung;
    bool refused;
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t work, gone;
    struct job *first, **last;
    struct job **running; /* begun, or in a worker's mail, and not returned */
    size_t running_count, running_capacity;
    uint32_t limit;   /* 0: the default */
    uint32_t threads; /* neither abandoned nor ending */
    uint32_t idle, waiting;
    bool stopping;
    struct worker *free;
    struct job *lost; /* of loops that have gone */
    struct account *accounts;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .gone = PTHREAD_COND_INITIALIZER};

static _Thread_local struct worker *here;

struct job *job_current(void) {
    return here ? here->job : NULL;
}

struct job *job_of(uint64_t token) {
    struct job *job = job_current();
    while (job && job->token != token) job = job->outer;
    return job;
}

static void lock(void) { pthread_mutex_lock(&pool.mutex); }
static void unlock(void) { pthread_mutex_unlock(&pool.mutex); }

/* ---- How many ---- */

void workers_limit(uint32_t count) {
    lock();
    pool.limit = count > WORKERS_MAX ? WORKERS_MAX : count;
    unlock();
}

static uint32_t limit_of_pool(void) {
    if (pool.limit) return pool.limit;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < (long)WORKERS_DEFAULT_MIN) return WORKERS_DEFAULT_MIN;
    return processors > (long)WORKERS_MAX ? WORKERS_MAX : (uint32_t)processors;
}

uint32_t workers_count(void) {
    lock();
    uint32_t limit = limit_of_pool();
    unlock();
    return limit;
}

/* ---- Accounts of plugins ---- */

static struct account *account_of(const void *plugin) {
    struct account *account = pool.accounts;
    while (account && account->plugin != plugin) account = account->next;
    if (account) return account;
    account = mem_zalloc(sizeof *account);
    account->plugin = plugin;
    account->next = pool.accounts;
    return pool.accounts = account;
}

bool workers_refuse(const void *plugin) {
    bool refused = false;
    lock();
    for (const struct account *account = pool.accounts; account; account = account->next)
        if (account->plugin == plugin) refused = account->refused;
    unlock();
    return refused;
}

/* ---- Running ---- */

static void note_running(struct job *job) {
    if (pool.running_count == pool.running_capacity) {
        pool.running_capacity = pool.running_capacity ? pool.running_capacity * 2 : 16;
        pool.running = mem_array(pool.running, pool.running_capacity, sizeof(struct job *));
    }
    pool.running[pool.running_count++] = job;
}

static void forget_running(struct job *job) {
    for (size_t i = 0; i < pool.running_count; i++)
        if (pool.running[i] == job) pool.running[i] = pool.running[--pool.running_count];
}

/* With the mutex, before and after. */
static void run_job(struct worker *worker, struct job *job) {
    job->worker = worker;
    job->outer = worker->job;
    worker->job = job;
    unlock();
    job->run(job);
    lock();
    worker->job = job->outer;
    forget_running(job);
    if (job->abandoned) account_of(job->hung)->hung--;
    /* Under the mutex, which workers_detach takes: a loop that is set is there. What has no loop is lost on purpose. */
    if (job->loop) {
        loop_post(job->loop, &job->work);
    } else {
        job->next = pool.lost;
        pool.lost = job;
    }
}

static void *work(void *argument) {
    struct worker *worker = here = argument;
    lock();
    while (!worker->abandoned) {
        while (!pool.first && !pool.stopping) {
            pool.idle++;
            pthread_cond_wait(&pool.work, &pool.mutex);
            pool.idle--;
        }
        struct job *job = pool.first;
        if (!job) break;
        pool.first = job->next;
        if (!pool.first) pool.last = &pool.first;
        job->queued = false;
        note_running(job);
        run_job(worker, job);
    }
    if (!worker->abandoned) pool.threads--;
    worker->next_free = pool.free;
    pool.free = worker;
    if (!pool.threads) pthread_cond_broadcast(&pool.gone);
    unlock();
    return NULL;
}

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

/* Signals of the process are the loop's affair. */
static bool thread_start(void) {
    struct worker *worker = worker_new();
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, &attributes, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!failed) {
        pool.threads++;
        return true;
    }
    worker->next_free = pool.free;
    pool.free = worker;
    return false;
}

/* There is a job in the queue, or one worker fewer: wakes one, or makes one. */
static void see_to_work(void) {
    if (!pool.first) return;
    pthread_cond_signal(&pool.work);
    uint32_t waiting = pool.waiting < WORKERS_MAX ? pool.waiting : WORKERS_MAX;
    size_t queued = 0;
    for (const struct job *job = pool.first; job && queued <= pool.idle; job = job->next) queued++;
    if (queued <= pool.idle || pool.threads >= limit_of_pool() + waiting) return;
    if (!thread_start() && !pool.threads)
        log_write(TN_LOG_ERROR, "worker", "no thread can be made for blocking components; they wait");
}

/* [loop] */
static void hold(struct job *job, bool wanted) {
    if (job->held == wanted) return;
    job->held = wanted;
    if (wanted)
        loop_hold(job->loop);
    else
        loop_release(job->loop);
}

void workers_submit(struct job *job, struct loop *loop, struct worker *on) {
    lock();
    job->loop = loop;
    hold(job, true);
    job->next = NULL;
    job->worker = on;
    job->outer = NULL;
    job->abandoned = false;
    if (on) {
        on->mail = job;
        note_running(job);
        pthread_cond_signal(&on->wake);
    } else {
        job->queued = true;
        if (!pool.first) pool.last = &pool.first;
        *pool.last = job;
        pool.last = &job->next;
        see_to_work();
    }
    unlock();
}

bool workers_withdraw(struct job *job) {
    bool found = false;
    lock();
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
        forget_running(job);
        found = true;
    }
    if (found) hold(job, false);
    unlock();
    return found;
}

void workers_returned(struct job *job) {
    lock();
    hold(job, false);
    unlock();
}

void workers_abandon(struct job *job, const void *plugin) {
    lock();
    if (job->abandoned || !job->worker) {
        unlock();
        return;
    }
    job->abandoned = true;
    job->hung = plugin;
    struct account *account = account_of(plugin);
    if (++account->hung > WORKERS_HUNG_MAX) account->refused = true;
    if (!job->worker->abandoned) {
        job->worker->abandoned = true;
        pool.threads--;
        see_to_work();
    }
    hold(job, false);
    unlock();
}

void workers_detach(struct loop *loop) {
    lock();
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
    unlock();
}

void workers_stop(void) {
    lock();
    pool.stopping = true;
    pthread_cond_broadcast(&pool.work);
    while (pool.threads) pthread_cond_wait(&pool.gone, &pool.mutex);
    pool.stopping = false;
    unlock();
}

/* ---- Waiting on a worker ---- */

void worker_sleep(struct worker *worker) {
    lock();
    while (!worker->woken) pthread_cond_wait(&worker->wake, &pool.mutex);
    worker->woken = false;
    unlock();
}

void worker_wake(struct worker *worker) {
    lock();
    worker->woken = true;
    pthread_cond_signal(&worker->wake);
    unlock();
}

/* One call_wait: on the worker's stack, which stays until `done`, or until the loop is gone. */
struct waiting {
    struct loop_work work;
    struct job *job;
    struct worker *worker;
    struct callable *callee;
    tn_value input, result;
    int32_t status;
    bool model, done;
};

static void waited(void *user, int32_t status, tn_value result) {
    struct waiting *waiting = user;
    lock();
    if (!waiting->job->abandoned) hold(waiting->job, true);
    waiting->status = status;
    waiting->result = value_ref(result);
    waiting->done = true;
    pthread_cond_signal(&waiting->worker->wake);
    unlock();
}

static void begin_waiting(struct loop_work *work_item) {
    struct waiting *waiting = (struct waiting *)(void *)((char *)work_item - offsetof(struct waiting, work));
    int32_t status = call_child_on(waiting->job->token, waiting->callee, waiting->model, waiting->input, waited,
                                   waiting, waiting->worker);
    if (status != TN_OK) {
        waited(waiting, status, NULL);
        return;
    }
    lock();
    hold(waiting->job, false); /* `done` never comes from inside: it takes it again */
    unlock();
}

int32_t worker_call(struct job *job, struct callable *callee, bool model, tn_value input, tn_value *result) {
    struct worker *worker = job->worker;
    struct waiting waiting = {.work = {.run = begin_waiting},
                              .job = job,
                              .worker = worker,
                              .callee = callee,
                              .input = input,
                              .model = model,
                              .status = TN_STALE};
    lock();
    if (job->loop) loop_post(job->loop, &waiting.work);
    pool.waiting++;
    see_to_work();
    while ((!waiting.done || worker->mail) && job->loop) {
        struct job *mail = worker->mail;
        if (!mail) {
            pthread_cond_wait(&worker->wake, &pool.mutex);
            continue;
        }
        worker->mail = NULL;
        pool.waiting--;
        run_job(worker, mail);
        pool.waiting++;
    }
    pool.waiting--;
    unlock();
    if (waiting.done && (waiting.status == TN_OK || waiting.status == TN_FAILED)) *result = waiting.result;
    return waiting.status;
}

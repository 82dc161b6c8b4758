/*
 * loops.c - the members of a group of loops: their threads, the life of their hosts, and their jobs.
 *
 *     thread starts --> host_new --+--> error: reported, the thread ends
 *                                  v
 *                               OPENED --> runs its loop until it has a job --> the job --> `returned` is posted to
 *                                              ^   |                                        the first loop
 *                                              |   | `closing`                                   |
 *                                              |   +--> host_free, the thread ends               |
 *                                              +-------------------------------------------------+
 *
 * The lock guards `state`, `job` and `closing`. A member holds its loop, so it waits while it has nothing to do.
 * Members block all signals: the first thread handles them.
 */
#include "host/loops/loops.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

enum member_state { MEMBER_STARTING, MEMBER_OPENED, MEMBER_FAILED };

struct member {
    struct loops *loops;
    pthread_t thread;
    bool has_thread;
    struct host *host; /* set before MEMBER_OPENED; freed by its thread */
    struct loop *loop; /* of the host */
    struct error error;
    struct loop_work returned; /* posted to the first loop */
    /* Under the lock: */
    enum member_state state;
    loops_job *job; /* NULL: none */
    void *job_user;
    bool closing;
};

struct loops {
    struct host *first;
    struct loop *first_loop;
    struct loops_options options; /* `host` is only valid during loops_new */
    uint32_t count, busy;         /* busy: jobs that have not returned, as the first loop knows */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a member has opened, or failed */
    struct member *members; /* [count - 1] */
};

/* ---- On the thread of a member ---- */

static bool member_has_news(void *user) {
    struct member *member = user;
    pthread_mutex_lock(&member->loops->lock);
    bool news = member->job || member->closing;
    pthread_mutex_unlock(&member->loops->lock);
    return news;
}

/* Returns false if the member closes. */
static bool member_run_job(struct member *member) {
    struct loops *loops = member->loops;
    (void)loop_run(member->loop, member_has_news, member);
    pthread_mutex_lock(&loops->lock);
    loops_job *job = member->job;
    void *user = member->job_user;
    bool closing = member->closing;
    member->job = NULL;
    pthread_mutex_unlock(&loops->lock);
    if (job) {
        job(user, member->host);
        loop_post(loops->first_loop, &member->returned);
    }
    return job || !closing;
}

static void *member_main(void *user) {
    struct member *member = user;
    struct loops *loops = member->loops;
    member->host = host_new(&loops->options.host, &member->error);
    if (member->host && loops->options.opened) loops->options.opened(loops->options.user, member->host);
    if (member->host) member->loop = host_loop(member->host);
    if (member->loop) loop_hold(member->loop);
    pthread_mutex_lock(&loops->lock);
    member->state = member->host ? MEMBER_OPENED : MEMBER_FAILED;
    pthread_cond_signal(&loops->changed);
    pthread_mutex_unlock(&loops->lock);
    if (!member->host) return NULL;
    while (member_run_job(member)) continue;
    loop_release(member->loop);
    host_free(member->host);
    return NULL;
}

/* ---- Limits ---- */

uint32_t loops_resolve(int32_t configured) {
    cpu_set_t set;
    int count = 1;
    if (configured != CONFIG_LOOPS_AUTO) return (uint32_t)configured;
    if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > CONFIG_LOOPS_MAX ? CONFIG_LOOPS_MAX : (uint32_t)count;
}

struct process_check {
    const struct host *host;
    uint32_t count;
    struct error *error;
    int32_t status;
};

static void check_processes_of(void *user, struct plugin *plugin) {
    struct process_check *check = user;
    uint32_t allowed = config_plugin_processes(host_config(check->host), plugin_id(plugin));
    if (check->status != TN_OK || !plugin_isolated(plugin) || !allowed || allowed >= check->count) return;
    check->status =
        error_set(check->error, TN_INVALID, "INVALID_CONFIG",
                  "plugins.processes allows `%s` %u process%s, and each of %u loops needs one: raise it, or "
                  "use at most %u loop%s",
                  plugin_id(plugin), allowed, allowed == 1 ? "" : "es", check->count, allowed, allowed == 1 ? "" : "s");
}

int32_t loops_check(struct host *first, uint32_t count, struct error *error) {
    if (count == 1) return TN_OK;
    if (host_records(first))
        return error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                         "HTTP exchanges are recorded and replayed by one loop, found %u loops: use --loops 1", count);
    struct process_check check = {first, count, error, TN_OK};
    registry_each_plugin(host_registry(first), check_processes_of, &check);
    return check.status;
}

/* ---- The group ---- */

/* On the first loop. */
static void on_job_returned(struct loop_work *work) {
    struct loops *loops = CONTAINER_OF(work, struct member, returned)->loops;
    loops->busy--;
    loop_release(loops->first_loop);
}

static void member_start(struct member *member, struct loops *loops) {
    member->loops = loops;
    member->returned.run = on_job_returned;
    int failed = pthread_create(&member->thread, NULL, member_main, member);
    member->has_thread = !failed;
    if (!failed) return;
    error_set(&member->error, TN_LIMIT, "LIMIT", "cannot start the thread of a loop: %s", strerror(failed));
    member->state = MEMBER_FAILED;
}

static int32_t loops_open_members(struct loops *loops, struct error *error) {
    sigset_t all, before;
    int32_t status = TN_OK;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (uint32_t i = 0; i < loops->count - 1; i++) member_start(&loops->members[i], loops);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_lock(&loops->lock);
    for (uint32_t i = 0; i < loops->count - 1; i++) {
        struct member *member = &loops->members[i];
        while (member->state == MEMBER_STARTING) pthread_cond_wait(&loops->changed, &loops->lock);
        if (member->state != MEMBER_FAILED || status != TN_OK) continue;
        status = TN_FAILED;
        error_copy(error, &member->error);
    }
    pthread_mutex_unlock(&loops->lock);
    return status;
}

struct loops *loops_new(struct host *first, const struct loops_options *options, struct error *error) {
    struct error why = ERROR_INIT;
    assert(options->count >= 1 && options->count <= CONFIG_LOOPS_MAX);
    if (loops_check(first, options->count, error) != TN_OK) return NULL;
    host_set_loops(first, options->count);
    /* Members share it. If it cannot be opened, each of them reports that when a run needs it, as the first host does.
     */
    if (options->count > 1) (void)host_store(first, &why);
    error_finish(&why);
    struct loops *loops = mem_zalloc(sizeof *loops);
    loops->first = first;
    loops->first_loop = host_loop(first);
    loops->options = *options;
    loops->options.host.beside = first;
    loops->count = options->count;
    loops->members = mem_zalloc(options->count * sizeof *loops->members);
    pthread_mutex_init(&loops->lock, NULL);
    pthread_cond_init(&loops->changed, NULL);
    if (loops_open_members(loops, error) == TN_OK) return loops;
    loops_free(loops);
    return NULL;
}

void loops_free(struct loops *loops) {
    if (!loops) return;
    for (uint32_t i = 0; i < loops->count - 1; i++) {
        struct member *member = &loops->members[i];
        pthread_mutex_lock(&loops->lock);
        member->closing = true;
        if (member->state == MEMBER_OPENED) loop_wake(member->loop); /* under the lock: it frees the loop after that */
        pthread_mutex_unlock(&loops->lock);
    }
    loops_wait(loops);
    for (uint32_t i = 0; i < loops->count - 1; i++) {
        if (loops->members[i].has_thread) pthread_join(loops->members[i].thread, NULL);
        error_finish(&loops->members[i].error);
    }
    loop_run_posted(loops->first_loop);
    host_set_loops(loops->first, 1);
    pthread_cond_destroy(&loops->changed);
    pthread_mutex_destroy(&loops->lock);
    mem_free(loops->members);
    mem_free(loops);
}

uint32_t loops_count(const struct loops *loops) { return loops->count; }

struct loop *loops_at(const struct loops *loops, uint32_t index) {
    return index ? loops->members[index - 1].loop : loops->first_loop;
}

/* ---- Jobs ---- */

void loops_start(struct loops *loops, uint32_t index, loops_job *job, void *user) {
    struct member *member = &loops->members[index - 1];
    loops->busy++;
    loop_hold(loops->first_loop);
    pthread_mutex_lock(&loops->lock);
    assert(!member->job && !member->closing);
    member->job = job;
    member->job_user = user;
    pthread_mutex_unlock(&loops->lock);
    loop_wake(member->loop);
}

bool loops_idle(const struct loops *loops) { return loops->busy == 0; }

static bool no_job_runs(void *user) { return loops_idle(user); }

void loops_wait(struct loops *loops) {
    while (!loops_idle(loops)) (void)loop_run(loops->first_loop, no_job_runs, loops);
}

struct posted_job {
    struct loop_work work;
    loops_job *job;
    void *user;
    struct host *host;
};

static void on_posted_job(struct loop_work *work) {
    struct posted_job posted = *CONTAINER_OF(work, struct posted_job, work);
    mem_free(CONTAINER_OF(work, struct posted_job, work));
    posted.job(posted.user, posted.host);
}

void loops_post(struct loops *loops, uint32_t index, loops_job *job, void *user) {
    struct posted_job *posted = mem_alloc(sizeof *posted);
    struct host *host = index ? loops->members[index - 1].host : loops->first;
    *posted = (struct posted_job){{.run = on_posted_job}, job, user, host};
    loop_post(loops_at(loops, index), &posted->work);
}

/* ---- Placement ---- */

uint32_t loops_place(uint32_t count, const char *thread_id) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *at = thread_id; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    hash ^= hash >> 32; /* the low bits of short texts are not mixed well */
    return (uint32_t)(hash % count);
}

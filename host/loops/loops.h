/*
 * loops.h - several loops in one process that share the runs of one host: one OS thread and one host for each.
 *
 * The first loop is that of the host that the caller has opened; it stays on the caller's thread. Each other loop has a
 * *member*: a host beside the first one (assembly/host.h), on its own thread. README.md says what they share.
 *
 *     struct loops *loops = loops_new(host, &(struct loops_options){.count = 4}, &error);
 *     loops_start(loops, 1, my_job, me);       // my_job(me, host of loop 1) is called on its thread
 *     loops_wait(loops);                       // runs the first loop until every job has returned
 *     loops_free(loops);
 *
 * Thread: the functions belong to the thread of the first host, except those marked [any].
 */
#ifndef TENON_HOST_LOOPS_LOOPS_H
#define TENON_HOST_LOOPS_LOOPS_H

#include "adl/value/error.h"
#include "host/assembly/host.h"

struct loops;

struct loops_options {
    uint32_t count;           /* with the first loop; 1 to CONFIG_LOOPS_MAX */
    struct host_options host; /* with which the first host was opened; borrowed by loops_new */
    /* Called on the thread of each member after its host was opened, and before it is freed. May be NULL. */
    void (*opened)(void *user, struct host *host);
    void *user;
};

/*
 * The number of loops for `configured`, a result of config_loops: as many as processors that the process may use, if it
 * is CONFIG_LOOPS_AUTO. [any]
 */
uint32_t loops_resolve(int32_t configured);
/*
 * What prevents `first` from having `count` loops: it records or replays HTTP, whose order must be kept, or
 * plugins.processes allows a plugin fewer processes than there are loops. UNSUPPORTED or INVALID_CONFIG.
 */
int32_t loops_check(struct host *first, uint32_t count, struct error *error);
/*
 * Opens the members and waits for that. Call it before the first host has loaded plugins that run in separate
 * processes, or host_set_loops before. NULL with the error of loops_check, or that of a member.
 */
struct loops *loops_new(struct host *first, const struct loops_options *options, struct error *error);
/* Waits for jobs that have not returned, and frees the members. NULL is allowed. */
void loops_free(struct loops *loops);

uint32_t loops_count(const struct loops *loops);                  /* [any] with the first one */
struct loop *loops_at(const struct loops *loops, uint32_t index); /* [any] 0: the first one */

/* A job of a member, from 1. It is called outside of the member's loop, and may run it. One at a time for each. */
typedef void loops_job(void *user, struct host *host);
void loops_start(struct loops *loops, uint32_t index, loops_job *job, void *user);
/* Runs the first loop until every job has returned. */
void loops_wait(struct loops *loops);
bool loops_idle(const struct loops *loops); /* every job has returned */

/*
 * [any] Calls job(user, host) on loop `index`, soon, inside its loop; 0 is the first one. Calls from one thread keep
 * their order. The loops must not be freed meanwhile; loops_free and loops_wait do not wait for it.
 */
void loops_post(struct loops *loops, uint32_t index, loops_job *job, void *user);

/*
 * [any] The loop for a run with this thread id: always the same one for the same id and count, so that what is cached
 * for a thread is on its loop.
 */
uint32_t loops_place(uint32_t count, const char *thread_id);

#endif

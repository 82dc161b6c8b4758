/*
 * scheduler.h - creates the Tasks of schedules at their due times, on a host's loop.
 *
 * Any number of hosts may run the same schedules over one store: each due time has one Task (schedule_store.h).
 *
 *     struct scheduler *scheduler = scheduler_new(
 *         &(struct scheduler_options){.store = store, .schedules = config_schedules(config)}, &error);
 *     if (!scheduler) return report(&error);              // a wrong expression, or an unknown time zone
 *     scheduler_start(scheduler);
 *     ...
 *     scheduler_close(scheduler, on_closed, me);          // Tasks that are being created are still created
 *
 * Life: new --start--> running --close--> closing --the request to the store has ended--> closed, freed.
 *
 * A running scheduler handles one schedule at a time: `wakes -> the schedules that are due -> sleeps until the next due
 * time`, but at most `look_ms`, because the wall clock can be set, and can run while the machine sleeps. If the clock
 * is set forward, due times that it jumped over were missed (schedule.h). If it is set back, due times that are handled
 * are not handled again; after more than SCHEDULE_AHEAD_MAX_MS, schedules start afresh.
 *
 * If the store fails, a warning is logged and the scheduler tries again after SCHEDULER_RETRY_MS.
 *
 * Thread: the loop of the store, for all functions.
 */
#ifndef TENON_HOST_WORK_SCHEDULER_H
#define TENON_HOST_WORK_SCHEDULER_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdint.h>

#define SCHEDULER_LOOK_MS  30000
#define SCHEDULER_RETRY_MS 10000

struct scheduler;
struct store;

struct scheduler_options {
    struct store *store; /* borrowed; must stay open until the scheduler is closed */
    tn_value schedules;  /* {name: schedule}: config_schedules; borrowed; NULL for none */
    int64_t look_ms;     /* the longest sleep; 0 means SCHEDULER_LOOK_MS */
};

/* NULL with INVALID_CONFIG if one of the schedules has a mistake. The caller owns the result, and closes it. */
struct scheduler *scheduler_new(const struct scheduler_options *options, struct error *error);
/*
 * Begins: handles due times that were missed since the last host stopped, and then each due time. A schedule without a
 * record, or with another definition, starts afresh from now. While it runs, its timer keeps the loop running, unless
 * no schedule is enabled.
 */
void scheduler_start(struct scheduler *scheduler);
/*
 * Stops, and frees the scheduler from the loop, just before `closed` is called (once; may be NULL). Repeatable: only
 * the first call counts. NULL is allowed, then `closed` is not called.
 */
void scheduler_close(struct scheduler *scheduler, void (*closed)(void *user), void *user);

size_t scheduler_count(const struct scheduler *scheduler);     /* enabled schedules */
uint64_t scheduler_created(const struct scheduler *scheduler); /* Tasks that this scheduler has created */

#endif

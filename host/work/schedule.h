/*
 * schedule.h - a schedule: when Tasks are due, which Task is created, and what happens to due times that were missed.
 *
 * A schedule is a value of `schedules` in tenon.yaml that never changes. It knows no store and no clock; scheduler.h
 * runs it.
 *
 *     struct schedule *nightly = schedule_new("nightly", value, &error);   // {cron: "0 3 * * *", task: {type: work}}
 *     schedule_next(nightly, now_ms, &next_ms);
 *     count = schedule_due(nightly, last_ms, now_ms, &due);                // the Tasks to create now
 *     schedule_free(nightly);
 *
 * A due time is missed if it has passed and no host has handled it. The policy decides what to create for all due times
 * after `last_ms` and until `now_ms`:
 *
 *     skip  the newest, if it is at most SCHEDULE_LATE_MS old; otherwise nothing
 *     once  the newest, however old it is
 *     all   each, but only the newest SCHEDULE_DUE_MAX
 *
 * Intervals are counted from 1970-01-01T00:00:00Z, so that all hosts compute the same due times. All times are in
 * milliseconds since 1970 UTC. Thread: any.
 */
#ifndef TENON_HOST_WORK_SCHEDULE_H
#define TENON_HOST_WORK_SCHEDULE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULE_DUE_MAX   1000  /* Tasks that are created for missed due times of one schedule */
#define SCHEDULE_LATE_MS   60000 /* `skip`: a due time that is older than this was missed */
#define SCHEDULE_HASH_TEXT 17    /* bytes of a definition's hash as text, with the NUL */

struct schedule;

/*
 * Reads a schedule from the value that config_schedules returns for its name; both are borrowed. NULL with
 * INVALID_CONFIG if it has a mistake: the message begins with the path of the key, "schedules.nightly.cron: …".
 */
struct schedule *schedule_new(const char *name, tn_value value, struct error *error);
void schedule_free(struct schedule *schedule); /* NULL is allowed */
/*
 * Returns NULL if schedule_new would succeed; otherwise sets the same error, and returns the key with the mistake:
 * "cron", or "" for the schedule itself. The result is static.
 */
const char *schedule_check(const char *name, tn_value value, struct error *error);

/* All results are borrowed from the schedule. */
const char *schedule_name(const struct schedule *schedule);
tn_value schedule_task_type(const struct schedule *schedule);
tn_value schedule_payload(const struct schedule *schedule); /* an object */
bool schedule_enabled(const struct schedule *schedule);
/*
 * A hash of what decides the due times: the expression and the time zone. If it changes, the schedule starts afresh:
 * due times in the past are not missed.
 */
const char *schedule_definition(const struct schedule *schedule);
/* {name, expression, timezone, misfire, enabled, task_type}: a new reference. The expression is "every 15m", for
 * example. */
tn_value schedule_describe(const struct schedule *schedule);

/* Sets *due_ms to the first due time after `after_ms`. False if there is none. */
bool schedule_next(const struct schedule *schedule, int64_t after_ms, int64_t *due_ms);

/* What to create. `times` has the due times, in order. */
struct schedule_due {
    size_t count;
    int64_t times[SCHEDULE_DUE_MAX];
    int64_t handled_ms; /* afterwards, all due times until then are handled; at least `last_ms` */
    bool dropped;       /* `all`: there were more than SCHEDULE_DUE_MAX, and the oldest are not in `times` */
};
/* Fills *out for the due times after `last_ms` and until `now_ms`. */
void schedule_due(const struct schedule *schedule, int64_t last_ms, int64_t now_ms, struct schedule_due *out);

#endif

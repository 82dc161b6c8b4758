/*
 * server_timetable.h - starts the runs of run schedules (work/run_schedule.h) at their due times, while a host serves
 * graphs.
 *
 *     sleeps until the next due time, at most TIMETABLE_LOOK_MS
 *        │ a due time has come, or a client of this host has changed a schedule
 *        ▼
 *     claims due times of the graphs that this host serves ──▶ for each: the key, the limits, the thread
 *        ▲ more                                                    │ may run              │ may not
 *        └───────────────────────────────────────────────── run, schedule/started   `error` of the schedule
 *
 * A run belongs to the owner of the schedule, and has the rights of the served graph, as a run that the owner starts. A
 * due time is skipped if the key that has made the schedule may start no run (it was revoked, or has reached a limit),
 * if the thread is busy, or if too many runs of the owner's schedules are active here.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_SERVER_TIMETABLE_H
#define TENON_HOST_SERVER_SERVER_TIMETABLE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

#define TIMETABLE_LOOK_MS    30000 /* the longest sleep: other hosts make schedules, too */
#define TIMETABLE_RETRY_MS   10000 /* after the store has failed */
#define TIMETABLE_ACTIVE_MAX 1000u /* runs of schedules that are active here; then no more are claimed */
#define TIMETABLE_OWNER_MAX  16u   /* of them of one owner; a due time beyond is skipped */

struct server;
struct server_timetable;

/* Who decides whether a key may start a run now, and counts the run: host/server/web. */
struct server_starter {
    /* TN_OK: it may; then `started` is called once. */
    int32_t (*check)(void *user, const char *key, const char *owner, struct error *error);
    void (*started)(void *user, const char *key, const char *owner, tn_value result); /* NULL: it did not start */
    void *user;
};

/*
 * For how many days a schedule may start runs after the client of this name has changed it: `token_schedule_days` for a
 * user without a key, whom a plugin knows (`PLUGIN:USER`); -1: such users make none. 0: it has a key, and no limit.
 */
int64_t server_timetable_days(const struct server *server, const char *key);

struct server_timetable *server_timetable_new(struct server *server);
/* No effect if it has started or was stopped, or if the host serves no graph. */
void server_timetable_start(struct server_timetable *timetable);
/* NULL: no keys are checked. Copied. */
void server_timetable_set_starter(struct server_timetable *timetable, const struct server_starter *starter);
/* A schedule was changed: looks soon. */
void server_timetable_changed(struct server_timetable *timetable);
/* From now on no run is started. Repeatable. */
void server_timetable_stop(struct server_timetable *timetable);
/* Stops, and runs the loop until the request to the store has ended. */
void server_timetable_end(struct server_timetable *timetable);
void server_timetable_free(struct server_timetable *timetable); /* after server_timetable_end; NULL is allowed */

#endif

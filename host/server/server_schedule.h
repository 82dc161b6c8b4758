/*
 * server_schedule.h - the scheduler of a server: it creates the Tasks of `schedules` in tenon.yaml while the server has
 * a worker that waits for Tasks, or its program asks for it.
 *
 * A host that only runs one command does not create Tasks: who looks at the schedules should not be the one who runs
 * them. `tenon serve` and `tenon work` do.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_SERVER_SCHEDULE_H
#define TENON_HOST_SERVER_SERVER_SCHEDULE_H

#include "adl/value/error.h"

struct server;
struct server_schedule;

struct server_schedule *server_schedule_new(struct server *server);
/*
 * Starts the scheduler. No effect if it runs, if tenon.yaml has no schedules, and after server_schedule_stop. The error
 * of a schedule with a mistake, or of the store.
 */
int32_t server_schedule_start(struct server_schedule *schedule, struct error *error);
/* From now on no Task is created, except for a request to the store that was made before. Repeatable. */
void server_schedule_stop(struct server_schedule *schedule);
/* Stops the scheduler, and runs the loop until it has ended. */
void server_schedule_end(struct server_schedule *schedule);
void server_schedule_free(struct server_schedule *schedule); /* after server_schedule_end; NULL is allowed */

#endif

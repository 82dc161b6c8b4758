/*
 * schedule_store.h - schedules and a store: the Tasks that they create, and the record of what they have handled.
 *
 * The record of a schedule (collection `schedules`, key NAME) is {handled_ms, definition, due_ms?}: all due times until
 * `handled_ms` are handled, `due_ms` is the last one for which a Task was created. A Task and the change of the record
 * are one commit, on condition that the record is unchanged. So hosts that share a store create one Task for a due time
 * together, however long it is ago. The idempotency key `schedule:NAME:DUE_MS` (of the operation schedule.create, so
 * that no task.create can use it up) protects due times against a record that was deleted or has moved back.
 *
 * Thread: the loop of the store. `done` is called once, later. The schedule must live until then.
 */
#ifndef TENON_HOST_WORK_SCHEDULE_STORE_H
#define TENON_HOST_WORK_SCHEDULE_STORE_H

#include "host/data/store/store.h"
#include "host/work/schedule.h"

#define SCHEDULE_BATCH        16                             /* Tasks that one request to the store creates */
#define SCHEDULE_AHEAD_MAX_MS (INT64_C(24) * 60 * 60 * 1000) /* see schedule_create_due */
#define SCHEDULE_LIST_TIMES   100                            /* due times of each schedule in a list, at most */

/*
 * Creates the Tasks that are due now, SCHEDULE_BATCH at most, and writes the record. Due times until `base_ms` are not
 * missed if the record does not exist or is of another definition. If the record is more than SCHEDULE_AHEAD_MAX_MS
 * ahead of the clock, a wrong clock has written it: then the schedule starts afresh.
 *
 * The result is {created, handled_ms, more, dropped, changed, refused?}: `more` if Tasks remain to be created,
 * `dropped` as in schedule_due, `changed` if the record was of another definition, `refused` the message of the error
 * if the kernel does not accept the Task (its due times count as handled).
 */
void schedule_create_due(struct store *store, const struct schedule *schedule, int64_t base_ms, store_done *done,
                         void *user);
/* Deletes the record: when the schedule is enabled again, it starts afresh. The result is ignored. */
void schedule_forget(struct store *store, const struct schedule *schedule);

/*
 * Describes all schedules of `configured` (config_schedules; NULL without any): {schedules: [{name, expression,
 * timezone, misfire, enabled, task_type, next: [time], last: time | null, error: null}]}, `count` next times each. A
 * schedule with a mistake has only its name and `error`, the message.
 */
void schedules_list(struct store *store, tn_value configured, int64_t count, store_done *done, void *user);
/* The schedule `name` of `configured`; the caller frees it. NULL with NOT_FOUND and the nearest name, or
 * INVALID_CONFIG. */
struct schedule *schedules_find(tn_value configured, const char *name, struct error *error);
/*
 * Creates a Task of the schedule now, also if it is disabled; the record does not change. The result is the Task. `key`
 * is an idempotency key for such Tasks of this schedule, or NULL. Only this function does not need the schedule until
 * `done`.
 */
void schedule_run(struct store *store, const struct schedule *schedule, const char *key, store_done *done, void *user);

#endif

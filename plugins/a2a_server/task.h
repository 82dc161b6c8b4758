/*
 * task.h - what the files of tasks share: task.c, the table and the clients; task_run.c, what a run makes of a task;
 * operations.c and push*.c, the methods.
 */
#ifndef TASK_H
#define TASK_H

#include "a2a_server.h"

extern const char TASK_SUBMITTED[], TASK_WORKING[], TASK_COMPLETED[], TASK_FAILED[], TASK_CANCELED[],
    TASK_INPUT_REQUIRED[], TASK_REJECTED[];

void task_item(void *user, const struct serving_item *item); /* a serving_item_handler */
tn_value task_status(const struct task *task);               /* new */
void task_send_take(struct task *task, tn_value event);
void task_notify(struct task *task, tn_value event);       /* push.c: to the addresses of push notifications */
void task_set_state(struct task *task, const char *state); /* one of the above; the clients get it */
void task_refuse_all(struct task *task, tn_value error);   /* frees the task */
void task_stop_all(struct task *task);                     /* frees the task */

void task_count(struct task *task, uint64_t added, uint64_t removed); /* bytes */
/* After a task has changed: those that are at their end are kept for a while, if there is room. */
void tasks_trim(struct a2a *a2a, const struct task *kept);

/* True if the task may be seen in this request: each agent has its own tasks. Otherwise the request is answered. */
bool exchange_has_task(struct exchange *exchange, const struct task *task, tn_value error);

#endif

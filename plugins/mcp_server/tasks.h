/*
 * tasks.h - calls of tools as tasks: the client polls, and the call survives its connection and the host.
 *
 * A task is a run of a graph in a thread of its user, so the host continues it. What the protocol knows of it, and the
 * thread does not, is a memory of the user in the namespace [mcp, tasks]:
 *
 *     {tool, created_at, created_ms, ttl_ms, capabilities, round, responses?, cancelled?}
 *
 * `round` counts the questions that were answered, because a key of a request for input is used once in a task.
 * 2026-07-28 (io.modelcontextprotocol/tasks): the server decides; get, update, cancel. 2025-11-25: the client asks for
 * a task; get, list, cancel, result.
 */
#ifndef MCPS_TASKS_H
#define MCPS_TASKS_H

#include "methods.h"

#define MCPS_TASKS_EXTENSION "io.modelcontextprotocol/tasks"
#define MCPS_RELATED_TASK    "io.modelcontextprotocol/related-task"

enum task_status { TASK_WORKING, TASK_INPUT_REQUIRED, TASK_COMPLETED, TASK_FAILED, TASK_CANCELLED };

/* False and *problem if the call must be a task, or must not. *begins: it becomes one. */
bool task_is_wanted(const struct exchange *exchange, bool *begins, struct problem *problem);
/* Begins the task of the exchange's entry, and answers. */
void task_create(struct exchange *exchange);

/* ---- A task that exists ---- */

/* Reads `exchange->task` and its thread; the exchange fails if the user has no such task. */
void task_read(struct exchange *exchange, void (*then)(struct exchange *exchange));
/* The same, when no other request changes this task. */
void task_hold(struct exchange *exchange, void (*then)(struct exchange *exchange));
/* What the thread says; a task that is done can still have failed (task_read_result). */
enum task_status task_status(const struct exchange *exchange);
/* Reads the result of a thread that has ended: `then` gets it (owned), or *problem is set. */
void task_read_result(struct exchange *exchange,
                      void (*then)(struct exchange *exchange, tn_value result, struct problem *problem));
/* The task as the client sees it: new. */
tn_value task_value(const struct exchange *exchange, enum task_status status);
/* Changes the memory, and continues. Takes the new value. */
void task_write_take(struct exchange *exchange, tn_value task,
                     void (*step)(struct exchange *, bool ok, tn_value value));
/* Calls a method of the host, and continues with `step`. Takes the parameters. */
void task_ask_take(struct exchange *exchange, const char *method, tn_value params,
                   void (*step)(struct exchange *exchange, bool ok, tn_value value));
tn_value tasks_namespace(void);
void task_set_id(struct exchange *exchange, const char *id);
/* The client has declared io.modelcontextprotocol/tasks; otherwise false and *problem. */
bool task_check_extension(const struct exchange *exchange, struct problem *problem);
bool task_has_expired(tn_value task);
/* A member of the memory, which is not negative, and small enough to be added to a time. */
int64_t task_number(tn_value task, const char *name);
/* Whether two requests reach the same tasks: those of their owner, whose keys can be several. */
bool task_same_user(const struct exchange *a, const struct exchange *b);
/* Removes what is left of a task whose time is over, or that has not begun. */
void task_remove(const struct exchange *exchange, const char *id);
/* The run has started: it cannot be closed inside of its handler. */
void task_answer_later(struct exchange *exchange, void (*answer)(void *exchange));
/* The questions of the thread, with keys of this round: new. */
tn_value task_questions(const struct exchange *exchange);
/* The parameters of run/resume: new. */
tn_value task_resume_params(const struct exchange *exchange, tn_value answers);

/* ---- 2025-11-25 ---- */

/* The result of a task, which names it. Takes it. */
tn_value task_result_take(const struct exchange *exchange, tn_value result);
/* tasks/result cannot continue: a question was declined, which ends the task, or could not be asked. */
void task_give_up(struct exchange *exchange, bool declined, const char *text);

#endif

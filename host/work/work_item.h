/*
 * work_item.h - one claimed Task while this process handles it: from the claim until the claim has ended.
 *
 *     CLAIMED --> LOOKING (its thread) --> RUNNING --> ENDING (result, notifications) --> ended()
 *        |                                    |            |
 *                    |                        |            +--> LOST: another worker has the Task; nothing is written
 *                    +-- no attempt is left; the thread has a result --> ENDING
 *
 * The id of the Task is the id of its thread. A Task whose thread has begun is resumed with the next fence, so commits
 * of a worker that had the claim before fail. While the run lasts, the claim is renewed at a third of its time; when
 * that fails, the run is cancelled. No state of the item is needed to continue after a crash.
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_WORK_WORK_ITEM_H
#define TENON_HOST_WORK_WORK_ITEM_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct kernel;
struct work_item;
struct work_type;

enum work_outcome {
    WORK_DONE,
    WORK_FAILED,
    WORK_RETRIED,  /* an attempt has failed; the Task is claimable again after a delay */
    WORK_WAITING,  /* for a person's answer */
    WORK_RELEASED, /* returned to the queue because the worker ends, or the strategy has not finished */
    WORK_LOST      /* the claim is lost, or its end could not be written; another worker continues */
};
const char *work_outcome_name(enum work_outcome outcome); /* "done", "failed", … */

struct work_item_options {
    struct engine *engine;                             /* borrowed */
    const struct kernel *kernel;                       /* borrowed */
    const struct work_type *type;                      /* borrowed */
    const char *worker;                                /* the name of the worker; borrowed */
    bool no_notification;                              /* the caller asks the person itself */
    unsigned modes;                                    /* of the events that `event` receives */
    bool (*event)(void *user, tn_value event);         /* as in struct run_options; may be NULL if `modes` is 0 */
    void (*ended)(struct work_item *item, void *user); /* called once, later; it frees the item */
    void *user;
};

/* `task` is the result of task.claim, with the claim_token. The item keeps a reference. */
struct work_item *work_item_new(const struct work_item_options *options, tn_value task);
void work_item_start(struct work_item *item);
/* The run ends after its super-step, and the Task returns to the queue. */
void work_item_drain(struct work_item *item);
/* The same, but at once: unfinished activations run again when the Task is claimed again. */
void work_item_cancel(struct work_item *item);
/* The subscriber of the events has room again. */
void work_item_continue(struct work_item *item);
void work_item_free(struct work_item *item); /* only after `ended`, or before work_item_start; NULL is allowed */

tn_value work_item_task(const struct work_item *item); /* as claimed; borrowed */
const char *work_item_id(const struct work_item *item);
const struct work_type *work_item_type(const struct work_item *item);
/* After the end: */
enum work_outcome work_item_outcome(const struct work_item *item);
const struct error *work_item_error(const struct work_item *item); /* FAILED, RETRIED, LOST; `code` is NULL otherwise */
tn_value work_item_output(const struct work_item *item);           /* a string; NULL if there is nothing for the user */
/* WAITING: what is asked, as run_interrupts; borrowed. */
tn_value work_item_interrupts(const struct work_item *item);

#endif

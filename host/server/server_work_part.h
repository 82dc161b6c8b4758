/*
 * server_work_part.h - the part of a worker that runs on another loop of the process: a task worker in a member of the
 * server's loops (host/loops), with the Task types of the same tenon.yaml.
 *
 *     part = work_part_start(loops, 1, &options, &ops, me);
 *     work_part_stop(part, false);
 *     ... ops.ended(me) ...
 *     work_part_free(part);
 *
 * All functions and callbacks belong to the first loop.
 */
#ifndef TENON_HOST_SERVER_SERVER_WORK_PART_H
#define TENON_HOST_SERVER_SERVER_WORK_PART_H

#include "host/work/task_worker.h"

struct loops;
struct work_part;

struct work_part_ops {
    /* "task/claimed" or "task/ended" with its parameters, borrowed; work_part_counts includes it. */
    void (*event)(void *user, const char *event, tn_value params);
    void (*ended)(void *user); /* once; it may free the part */
};

struct work_part_options {
    const char *worker_id, *name; /* copied */
    tn_value names;               /* of the Task types; NULL: all */
    uint32_t concurrency;         /* of this part; not 0 */
    uint32_t part, parts;         /* as task_worker_options; loop number `part` */
    enum task_worker_mode mode;
};

struct work_part *work_part_start(struct loops *loops, const struct work_part_options *options,
                                  const struct work_part_ops *ops, void *user);
void work_part_stop(struct work_part *part, bool cancel); /* no effect if it has ended */
bool work_part_has_ended(const struct work_part *part);
/* What its Tasks of this type have come to. */
struct task_worker_counts work_part_counts(const struct work_part *part, const char *type);
/* Why it could not start, or why its last claim failed when it ended; borrowed, or NULL. */
const char *work_part_fault(const struct work_part *part);
void work_part_free(struct work_part *part); /* after it has ended; NULL is allowed */

/* The parameters of the events, from the loop of the item: a new reference. */
tn_value work_claimed_params(const char *worker_id, const struct work_item *item);
tn_value work_ended_params(const char *worker_id, const struct work_item *item);

#endif

/*
 * kernel_history.h - the attempts of a Task: how many claims counted, and what the newest claims came to.
 *
 * The record of a Task has `attempts`, an integer, and `history`, an array of {attempt, claimed_by, started_at,
 * ended_at?, outcome?, error?}, the newest one last. An entry without `ended_at` belongs to the claim that holds the
 * Task, or held it until it expired. Records that older versions wrote have neither member; that means 0 and [].
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_HISTORY_H
#define TENON_HOST_DATA_KERNEL_KERNEL_HISTORY_H

#include "adl/value/value.h"

#define TASK_HISTORY_MAX       20   /* entries; older ones are dropped */
#define TASK_HISTORY_ERROR_MAX 1024 /* bytes of each text of an error in an entry; the Task has the whole error */

int64_t task_attempts(tn_value record);
/*
 * The members that change when a claim begins: {attempts, history}, a new reference. An entry of an earlier claim that
 * has not ended becomes `expired`. `record` is that of the claimed Task.
 */
tn_value task_attempt_begin(tn_value record, int64_t now_ms);
/* The same for a Task that was never claimed. */
tn_value task_attempt_begin_new(const char *claimer, int64_t now_ms);

struct task_attempt_end {
    const char *outcome; /* "done", "failed", "retried", "released" or "waiting" */
    tn_value error;      /* borrowed; NULL if it did not fail */
    bool uncounted;      /* the claim does not count as an attempt */
};
/* Adds these two members to `patch`, which it takes and returns: the claim ends. */
tn_value task_attempt_end_take(tn_value patch, tn_value record, const struct task_attempt_end *end, int64_t now_ms);

/* The history as task.get shows it, the newest one last; a new reference. */
tn_value task_public_history(tn_value record);

#endif

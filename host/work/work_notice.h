/*
 * work_notice.h - the notification about a question of a Task that waits for a person.
 *
 * Thread: any.
 */
#ifndef TENON_HOST_WORK_WORK_NOTICE_H
#define TENON_HOST_WORK_WORK_NOTICE_H

#include "adl/value/value.h"

#define WORK_NOTICE_QUESTION_MAX 4096 /* bytes that are shown of a question */

/*
 * The arguments of task.create for a notification about one interrupt (an item of run_interrupts) of the Task; a new
 * reference. Its idempotency key derives from the Task and the interrupt, so that a person is notified once.
 */
tn_value work_notice_arguments(tn_value task, tn_value interrupt);
/* What the interrupt asks, for people; a new reference. */
tn_value work_notice_question(tn_value interrupt);

#endif

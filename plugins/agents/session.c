/*
 * session.c - the tools `rethink` and `finish` of the fourth seed, with which a model thinks on, or ends.
 *
 * They do nothing by themselves: the conversation goes back to the model with the result of `rethink` in it, and a
 * `tools` node whose `ends` names `finish` goes to END when that was called. Their argument is the seed's `理由`, a
 * reason; `reason` is the same.
 */
#include "agents.h"

/* The reason, borrowed; NULL: the task has been failed. */
static const char *reason_of(tn_task task, tn_value input) {
    const char *reason = tn_get_text(input, "理由", NULL);
    if (reason == NULL) reason = tn_get_text(input, "reason", NULL);
    if (reason == NULL)
        (void)tn_fail(task, "INVALID_INPUT", "found no reason; expected a text as `理由`, or as `reason`");
    return reason;
}

static int32_t rethink_start(void *self, tn_task task, tn_value input) {
    const char *reason = reason_of(task, input);
    struct text out = {0};
    (void)self;
    if (reason == NULL) return TN_FAILED;
    text_add(&out, "Think again about the conversation so far, and consider what else may be possible. Reason: ");
    text_add(&out, reason);
    return tn_done_take(task, text_take(&out));
}

static int32_t finish_start(void *self, tn_task task, tn_value input) {
    const char *reason = reason_of(task, input);
    (void)self;
    return reason != NULL ? tn_done_text(task, reason) : TN_FAILED;
}

TN_COMPONENT(rethink, "rethink", NULL, rethink_start, NULL, NULL, NULL)
TN_COMPONENT(finish, "finish", NULL, finish_start, NULL, NULL, NULL)

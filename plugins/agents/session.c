/*
 * session.c - the tools `rethink` and `finish`: a model calls them to think again, or to end the conversation.
 *
 * They have no effects. `rethink` returns a text, so the model is called again with this text in the conversation.
 * After a call of `finish`, a `tools` node whose `ends` names it goes to END. The argument is `理由` (reason); `reason`
 * is accepted too.
 */
#include "agents.h"

/* Returns the reason, borrowed. NULL if the task has failed. */
static const char *session_reason(tn_task task, tn_value input) {
    const char *reason = tn_get_text(input, "理由", NULL);
    if (reason == NULL) reason = tn_get_text(input, "reason", NULL);
    if (reason == NULL)
        (void)tn_fail(task, "INVALID_INPUT", "found no reason; expected a text as `理由` or as `reason`");
    return reason;
}

static int32_t rethink_start(void *self, tn_task task, tn_value input) {
    const char *reason = session_reason(task, input);
    struct tn_text_buffer out = {0};
    (void)self;
    if (reason == NULL) return TN_FAILED;
    tn_text_append(&out, "Think again about the conversation so far, and consider what else may be possible. Reason: ");
    tn_text_append(&out, reason);
    return tn_done_take(task, tn_text_finish(&out));
}

static int32_t finish_start(void *self, tn_task task, tn_value input) {
    const char *reason = session_reason(task, input);
    (void)self;
    return reason != NULL ? tn_done_text(task, reason) : TN_FAILED;
}

TN_COMPONENT(rethink, "rethink", NULL, rethink_start, NULL, NULL, NULL)
TN_COMPONENT(finish, "finish", NULL, finish_start, NULL, NULL, NULL)

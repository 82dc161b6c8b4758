/*
 * embed_run.h - the handle of a run, for the files of this folder that start runs or read from them.
 */
#ifndef TENON_HOST_EMBED_EMBED_RUN_H
#define TENON_HOST_EMBED_EMBED_RUN_H

#include "host/base/loop.h"
#include "host/embed/embed_internal.h"
#include "host/engine/execution/invocation.h"
#include <stdatomic.h>

struct tenon_run {
    tenon *host;
    tenon_run *next, *previous;    /* in host->runs */
    uint64_t number;               /* counts the runs of the host */
    uint32_t references;           /* of the program; one while it is active; one of each wait */
    struct invocation *invocation; /* owned; tenon_close clears it */
    struct loop_work cancel;
    _Atomic bool cancel_posted; /* `cancel` is posted and has not run; set by any thread */
    tenon_event event;
    tenon_ended ended;
    void *event_user, *ended_user;
    tn_value error_value; /* created by tenon_run_error */
};

/* True from the request to start or to continue it until its end is reported. */
static inline bool embed_run_is_active(const tenon_run *run) {
    return invocation_phase(run->invocation) != INVOCATION_IDLE;
}
/* The last reference frees it; a request to cancel it that is posted also keeps it. */
void embed_run_unref(tenon_run *run);
/* Sets what receives its events, from the next start on. `event` may be NULL. */
void embed_run_set_event(tenon_run *run, unsigned modes, tenon_event event, void *user);
/* invocation_cancel, but only if it has not begun: calls no function of a component. */
void embed_run_cancel_start(tenon_run *run);
/* tenon_close: frees everything except the handle. The run must not be active. */
void embed_run_empty(tenon_run *run);
const char *embed_run_status_name(const tenon_run *run); /* "running", "done", … */

#endif

/*
 * child.h - starts a program and reports its end, with a pidfd on the loop instead of SIGCHLD.
 *
 * Invariant: a started child is reaped exactly once, here. child_end takes the child and ends it; the child
 * then stays in an internal list until it is gone.
 */
#ifndef MCP_CHILD_H
#define MCP_CHILD_H

#include "base.h"
#include <sys/types.h>

struct child;
struct child_options {
    tn_value command, env, inherit_env; /* as in stdio.h */
    const char *cwd;
};

/* The child has ended; `how` describes it for people: "it ended with status 1". The owner must still call child_end.
 * Thread: loop. */
typedef void (*child_ended)(void *user, const char *how);

/* `ends` are our ends of the child's input, output and error: non-blocking, closed by the caller. Returns NULL with the
 * reason in `why` on failure. */
struct child *child_new(const struct child_options *options, child_ended ended, void *user, int ends[3], char *why,
                        size_t size);
/*
 * Ends a child whose input the caller has closed: waits, sends SIGTERM, then SIGKILL. NULL is allowed. If the child
 * never sent anything (`has_output` is false), SIGTERM is sent at once.
 */
void child_end(struct child *child, bool has_output);
/* The plugin is about to end: start no more timers. child_end_all ends the remaining children. */
void child_stop_timers(void);
void child_end_all(void); /* ends all children now; blocks for a few seconds at most */

#endif

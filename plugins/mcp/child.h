/*
 * child.h - starting a program, and seeing it end: by a pidfd on the loop, without a SIGCHLD of anybody's.
 *
 * Invariant: a child that was started is waited for exactly once, here. child_end tells it to end and gives it up:
 * from then on it lives on a list of its own, until it is gone.
 */
#ifndef MCP_CHILD_H
#define MCP_CHILD_H

#include "base.h"
#include <sys/types.h>

struct child;
struct child_options {
    tn_value command, env; /* as in stdio.h */
    const char *cwd;
};

/* [loop] It has ended; how, for people: "it ended with status 1". `child` must be given to child_end still. */
typedef void (*child_ended)(void *user, const char *how);

/* `ends` are ours of its input, output and error: non-blocking, the caller's to close. NULL: `why` says why. */
struct child *child_new(const struct child_options *options, child_ended ended, void *user, int ends[3], char *why,
                        size_t size);
/*
 * Its input has been closed by the caller: waits, sends SIGTERM, then SIGKILL. NULL is allowed. `heard`: it has said
 * something; one that has not is sent SIGTERM at once.
 */
void child_end(struct child *child, bool heard);
/* From now on nothing is begun for later: what a child does not heed is child_end_all's. The plugin is about to end. */
void child_last(void);
void child_end_all(void); /* the same, now, for all: it blocks for a few seconds at most */

#endif

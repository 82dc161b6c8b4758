/*
 * line_wait.h - waits on the loop until a descriptor can be read, so that plugins continue to work while a user types.
 *
 *     line_wait(host_loop(host), STDIN_FILENO, got_signal); // returns when a read would not block, or got_signal()
 */
#ifndef TENON_HOST_PROGRAM_LINE_WAIT_H
#define TENON_HOST_PROGRAM_LINE_WAIT_H

#include <stdbool.h>

struct loop;

/*
 * [loop] Not inside loop_run. `stopped` is checked in each turn: a signal handler calls loop_wake. Also returns if the
 * descriptor cannot be watched, such as a file, which can always be read.
 */
void line_wait(struct loop *loop, int descriptor, bool (*stopped)(void));

#endif

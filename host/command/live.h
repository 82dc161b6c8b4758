/*
 * live.h - the live view of a run on a terminal: nodes as they run, steps, timing.
 *
 * One line for each task that has ended stays; below them one line that changes says what runs now. Everything goes to
 * standard error, so that the result can be piped.
 */
#ifndef TENON_HOST_LIVE_H
#define TENON_HOST_LIVE_H

#include "adl/value/value.h"
#include "host/engine/run.h"

#define LIVE_MODES ((unsigned)(RUN_MODE_TASKS | RUN_MODE_CUSTOM | RUN_MODE_MESSAGES))

struct graph;
struct live;

struct live *live_new(const struct graph *graph, bool colour);
void live_event(struct live *live, tn_value event);
/* Takes the line at the bottom away, for something else to be said; the next event draws it again. NULL is allowed. */
void live_clear(struct live *live);
/* The last line: how it ended, steps, time. Frees; NULL is allowed. */
void live_end(struct live *live, struct run *run);

#endif

/*
 * live.h - the live view of a run on a terminal: running nodes, steps, timing.
 *
 * Each activation that has ended keeps one line. The bottom line shows what runs now. Everything is written to standard
 * error, so that the result can be piped.
 *
 *     struct live *live = live_new(graph, loop, colour);
 *     live_event(live, run, event);   // from run_options.event, with LIVE_MODES
 *     live_tick(live);                // before each turn of the loop
 *     live_end(live, run);
 */
#ifndef TENON_HOST_PROGRAM_LIVE_H
#define TENON_HOST_PROGRAM_LIVE_H

#include "adl/value/value.h"
#include "host/engine/graph/run.h"

#define LIVE_MODES ((unsigned)(RUN_MODE_TASKS | RUN_MODE_CUSTOM | RUN_MODE_MESSAGES))

struct graph;
struct live;
struct loop;

/* Until live_end, the loop is woken each second. */
struct live *live_new(const struct graph *graph, struct loop *loop, bool colour);
void live_event(struct live *live, const struct run *run, tn_value event);
/* Updates the times on the bottom line, if a second has passed. NULL is allowed. */
void live_tick(struct live *live);
/* Removes the bottom line, so that something else can be printed. The next event draws it again. NULL is allowed. */
void live_clear(struct live *live);
/* Prints the last line (status, steps, time) and frees the view. NULL is allowed. */
void live_end(struct live *live, struct run *run);

#endif

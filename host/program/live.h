/*
 * live.h - the live view of a run on a terminal: running nodes, steps, timing.
 *
 * Each activation that has ended keeps one line. The bottom line shows what runs now. Everything is written to standard
 * error, so that the result can be piped.
 *
 *     struct live *live = live_new(graph, loop, colour);
 *     live_event(live, invocation, event);   // from run_options.event, with LIVE_MODES
 *     live_tick(live);                       // before each turn of the loop
 *     live_end(live, report);
 */
#ifndef TENON_HOST_PROGRAM_LIVE_H
#define TENON_HOST_PROGRAM_LIVE_H

#include "adl/value/value.h"
#include "host/engine/graph/run.h"

#define LIVE_MODES ((unsigned)(RUN_MODE_TASKS | RUN_MODE_CUSTOM | RUN_MODE_MESSAGES))

struct graph;
struct invocation;
struct live;
struct loop;

/* Until live_end, the loop is woken each second. */
struct live *live_new(const struct graph *graph, struct loop *loop, bool colour);
void live_event(struct live *live, const struct invocation *invocation, tn_value event);
/* Updates the times on the bottom line, if a second has passed. NULL is allowed. */
void live_tick(struct live *live);
/* Removes the bottom line, so that something else can be printed. The next event draws it again. NULL is allowed. */
void live_clear(struct live *live);
/*
 * Prints the last line (status, steps, time) and frees the view. `report` is invocation_report; NULL if the run has not
 * begun: then no line is printed. `live` may be NULL.
 */
void live_end(struct live *live, tn_value report);

#endif

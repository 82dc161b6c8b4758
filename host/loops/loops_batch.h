/*
 * loops_batch.h - one execution for each input, as batch_run, by all loops of a group.
 *
 *     struct loops *loops = loops_new(host, &options, &error);
 *     tn_value results = loops_batch_run(loops, graph, inputs, &batch_options, &cancel, &error);
 *
 * The results, and the order in which they are reported, do not depend on the number of loops. Thread: that of the
 * first loop.
 */
#ifndef TENON_HOST_LOOPS_LOOPS_BATCH_H
#define TENON_HOST_LOOPS_LOOPS_BATCH_H

#include "host/engine/execution/execution.h"
#include "host/loops/loops.h"

struct graph;

/*
 * As batch_run, with the graph of the first host; each other loop builds the same document. `options->concurrency` is
 * that of all loops together, and `options->share` is not used. `result` and `progress` are called on the first loop.
 * With `options->result`, *all is NULL. Fails, before a run has started, if the document cannot be built on another
 * loop: for example because it has changed, or uses a component of the program.
 */
int32_t loops_batch_run(struct loops *loops, struct graph *graph, tn_value inputs, const struct batch_options *options,
                        const _Atomic bool *cancel, tn_value *all, struct error *error);

#endif

/*
 * saver.h - saved runs: what `--saver=sqlite|memory` adds to a workload.
 *
 *     saver_open(host, option("saver", "none"));          // "none": the functions below do nothing
 *     saver_prepare(graph, "thread-1", &options);         // loads the thread; the run writes to it
 *     struct run *run = run_new(graph, &options);
 *     saver_begin(run, input, &ended);
 *     ...
 *     run_free(run);
 *     saver_release(&options);
 *     struct saved saved = saver_close();
 */
#ifndef TENON_BENCH_SAVER_H
#define TENON_BENCH_SAVER_H

#include "host/assembly/host.h"
#include "host/engine/graph/run.h"

struct saved {
    long long bytes;  /* of the file, after a checkpoint of its log */
    double resume_ms; /* to read the newest thread back, once */
};

bool saver_open(struct host *host, const char *kind); /* false: `kind` is "none" */
void saver_prepare(struct graph *graph, const char *thread, struct run_options *options);
bool saver_begin(struct run *run, tn_value input); /* as run_start */
void saver_release(struct run_options *options);
struct saved saver_close(void);

#endif

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
 *     saver_report(&measure, "chain", n, (double)n);      // ends the measurement, and closes the store
 *
 * The store is in a new folder below TMPDIR (default /tmp) and is deleted at the end, or in that of `--folder` and
 * stays.
 * `--sync=full|normal|off` is an option of the store.
 */
#ifndef TENON_BENCH_SAVER_H
#define TENON_BENCH_SAVER_H

#include "host/assembly/host.h"
#include "host/engine/graph/run.h"
#include "tests/bench/harness.h"

bool saver_open(struct host *host, const char *kind); /* false: `kind` is "none" */
const char *saver_folder(void);
void saver_prepare(struct graph *graph, const char *thread, struct run_options *options);
/* From now on saver_prepare accepts threads of another version of the document, or refuses them. */
void saver_accept_changes(bool accept);
bool saver_begin(struct run *run, tn_value input); /* as run_start */
void saver_release(struct run_options *options);
void saver_close(void);
/*
 * Notes: `db_bytes`, the size of the file after a checkpoint of its log; `resume_ms`, to read the newest thread back,
 * once; `closed_wchar` and `closed_write_bytes`, what was written from the start of the measurement until the store was
 * closed, which includes that checkpoint. Further `notes` as for report.
 */
void saver_report(const struct measure *measure, const char *workload, int64_t n, double units, const char *notes);

#endif

/*
 * harness.h - shared by the benchmarks: options, measuring, one JSON line in the format of the peers, graphs from
 * texts.
 *
 *     harness_options(argc, argv, 2);
 *     struct measure measure;
 *     measure_begin(&measure);
 *     ...
 *     report(&measure, "chain", n, (double)n, "\"unit\":\"run\"");
 */
#ifndef TENON_TESTS_BENCH_HARNESS_H
#define TENON_TESTS_BENCH_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct graph;
struct host;
struct run;

extern struct host *host;

_Noreturn void die(const char *what, const char *detail);

/* Reads --name=value from the arguments after the first `from`. */
void harness_options(int argc, char **argv, int from);
const char *option(const char *name, const char *otherwise);

/*
 * Bytes that this process has written, as the kernel counts them (/proc/self/io): `wchar` by calls that write, to any
 * file or pipe; `write_bytes` in pages of files that became dirty, which a disk has to store sooner or later. A page
 * that is written again before it reaches the disk counts once there, and files on tmpfs do not count. -1 if the
 * kernel does not report them.
 */
struct written_bytes {
    int64_t wchar, write_bytes;
};
struct written_bytes written_now(void);
struct written_bytes written_since(const struct written_bytes *before);

struct measure {
    struct timespec wall, cpu;
    struct written_bytes written;
};
/* What a timed section took. */
struct measured {
    double wall, cpu; /* seconds */
    struct written_bytes written;
};
double seconds(const struct timespec *from, clockid_t clock);
void measure_begin(struct measure *measure);
struct measured measure_end(const struct measure *measure);
/* `notes`: further members of the JSON object, or "". The first ends the measurement. */
void report(const struct measure *measure, const char *workload, int64_t n, double units, const char *notes);
void report_measured(const struct measured *measured, const char *workload, int64_t n, double units, const char *notes);
void report_of(double wall, double cpu, const char *workload, int64_t n, double units, const char *notes);
double rss_mib(void); /* the present resident set */

struct graph *build(const char *text);
bool flag_set(void *user); /* for loop_run: *(bool *)user */
void set_flag(struct run *run, void *user);

#endif

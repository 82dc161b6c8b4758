/*
 * harness.c - see harness.h.
 */
#include "tests/bench/harness.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "host/assembly/host.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct host *host;

_Noreturn void die(const char *what, const char *detail) {
    fprintf(stderr, "tenon-bench: %s%s%s\n", what, *detail ? ": " : "", detail);
    exit(1);
}

/* ---- Options: --name=value ---- */

static int option_count;
static char **options;

void harness_options(int argc, char **argv, int from) {
    option_count = argc > from ? argc - from : 0;
    options = argv + from;
}

const char *option(const char *name, const char *otherwise) {
    size_t length = strlen(name);
    for (int i = 0; i < option_count; i++)
        if (strncmp(options[i], "--", 2) == 0 && strncmp(options[i] + 2, name, length) == 0 &&
            options[i][2 + length] == '=')
            return options[i] + 3 + length;
    return otherwise;
}

/* ---- Measuring ---- */

double seconds(const struct timespec *from, clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

struct written_bytes written_now(void) {
    struct written_bytes written = {-1, -1};
    char line[64];
    FILE *file = fopen("/proc/self/io", "r");
    while (file && fgets(line, sizeof line, file)) {
        (void)sscanf(line, "wchar: %" SCNd64, &written.wchar);
        (void)sscanf(line, "write_bytes: %" SCNd64, &written.write_bytes);
    }
    if (file) fclose(file);
    return written;
}

struct written_bytes written_since(const struct written_bytes *before) {
    struct written_bytes now = written_now();
    now.wchar = before->wchar < 0 ? -1 : now.wchar - before->wchar;
    now.write_bytes = before->write_bytes < 0 ? -1 : now.write_bytes - before->write_bytes;
    return now;
}

void measure_begin(struct measure *measure) {
    measure->written = written_now();
    clock_gettime(CLOCK_MONOTONIC, &measure->wall);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &measure->cpu);
}

struct measured measure_end(const struct measure *measure) {
    double wall = seconds(&measure->wall, CLOCK_MONOTONIC), cpu = seconds(&measure->cpu, CLOCK_PROCESS_CPUTIME_ID);
    return (struct measured){wall, cpu, written_since(&measure->written)};
}

void report_measured(const struct measured *measured, const char *workload, int64_t n, double units,
                     const char *notes) {
    struct rusage usage;
    char written[96] = "";
    getrusage(RUSAGE_SELF, &usage);
    if (measured->written.wchar >= 0)
        snprintf(written, sizeof written, ",\"wchar\":%" PRId64 ",\"write_bytes\":%" PRId64, measured->written.wchar,
                 measured->written.write_bytes);
    printf("{\"workload\":\"%s\",\"n\":%" PRId64 ",\"wall_s\":%.6f,\"per_unit_us\":%.4f,\"rss_peak_mib\":%.2f,"
           "\"notes\":{\"cpu_s\":%.6f%s%s%s}}\n",
           workload, n, measured->wall, measured->wall * 1e6 / units, (double)usage.ru_maxrss / 1024, measured->cpu,
           written, *notes ? "," : "", notes);
}

void report_of(double wall, double cpu, const char *workload, int64_t n, double units, const char *notes) {
    report_measured(&(struct measured){wall, cpu, {-1, -1}}, workload, n, units, notes);
}

void report(const struct measure *measure, const char *workload, int64_t n, double units, const char *notes) {
    struct measured measured = measure_end(measure);
    report_measured(&measured, workload, n, units, notes);
}

/* ---- Graphs and runs ---- */

struct graph *build(const char *text) {
    struct source *source = source_new("bench.yaml", text, strlen(text));
    struct diagnostics *found = diagnostics_new();
    struct document *document = document_read(source, host_catalog(host), found);
    struct graph *graph = NULL;
    struct error error = ERROR_INIT;
    if (diagnostics_errors(found))
        graph_refuse(&error, "bench.yaml", found);
    else
        graph_build(host_engine(host), document, &(struct graph_origin){0}, &graph, &error);
    if (!graph) die("cannot start", error.message);
    document_unref(document);
    diagnostics_free(found);
    source_unref(source);
    return graph;
}

bool flag_set(void *user) { return *(const bool *)user; }

void set_flag(struct run *run, void *user) {
    (void)run;
    *(bool *)user = true;
}

/* ---- Memory ---- */

double rss_mib(void) {
    long pages = 0, ignored = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
        fclose(file);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

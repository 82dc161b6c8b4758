/*
 * methods_metrics.c - host/metrics: what the host can count without having been asked before. To add a metric, add a
 * row; plugins/metrics needs no change.
 */
#include "host/base/loop.h"
#include "host/loops/loops.h"
#include "host/plugin/call/call.h"
#include "host/server/method_internal.h"
#include "host/server/server.h"
#include "host/server/server_internal.h"
#include "host/server/server_run.h"
#include "host/server/server_work.h"
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double runs_active(struct server *server) { return (double)server_runs_active(server_runs_of(server)); }
static double workers_active(struct server *server) { return (double)server_workers_active(server_workers_of(server)); }

static double tasks_active(struct server *server) { return (double)server_workers_tasks(server_workers_of(server)); }

static double clients(struct server *server) {
    double count = 0;
    for (const struct client *client = *server_clients(server); client; client = client_next(client)) count++;
    return count;
}

static double loops(struct server *server) {
    return server_loops(server) ? (double)loops_count(server_loops(server)) : 1;
}

static double calls_open(struct server *server) {
    (void)server;
    return (double)call_open_count();
}

static double seconds_of(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

static double cpu_seconds(struct server *server) {
    struct rusage usage;
    (void)server;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime) : 0;
}

/* 0 on systems without /proc. */
static double memory_bytes(struct server *server) {
    long long pages = 0;
    (void)server;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%*s %lld", &pages) != 1) pages = 0;
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double uptime_seconds(struct server *server) {
    int64_t ms = loop_wall_ms(server_loop(server)) - server_started_ms(server);
    return ms > 0 ? (double)ms / 1000 : 0;
}

static const struct {
    const char *name;
    bool counter;
    const char *help;
    double (*read)(struct server *server);
} rows[] = {
    {"uptime_seconds", false, "Seconds since the start of the host.", uptime_seconds},
    {"process_cpu_seconds_total", true, "Processor time of the host's process.", cpu_seconds},
    {"process_memory_bytes", false, "Resident memory of the host's process.", memory_bytes},
    {"loops", false, "Event loops, each a thread.", loops},
    {"clients", false, "Connections, plugins and keys that use the method table.", clients},
    {"runs_active", false, "Runs of clients that are active.", runs_active},
    {"workers_active", false, "Workers that claim Tasks.", workers_active},
    {"tasks_active", false, "Tasks that workers of this host handle now.", tasks_active},
    {"calls_open", false, "Calls of components that have not ended, in the host's process.", calls_open},
};

int32_t method_metrics_start(const struct method_call *call, struct error *error) {
    (void)error;
    size_t count = sizeof rows / sizeof *rows;
    tn_value list = value_array_reserve(count);
    for (size_t i = 0; i < count; i++) {
        tn_value row = value_set_take(value_object_reserve(4), "name", value_text(rows[i].name));
        row = value_set_take(row, "type", value_text(rows[i].counter ? "counter" : "gauge"));
        row = value_set_take(row, "help", value_text(rows[i].help));
        list = value_push_take(list, value_set_take(row, "value", value_double(rows[i].read(call->server))));
    }
    return method_done_take(call, value_set_take(value_object_reserve(1), "metrics", list));
}

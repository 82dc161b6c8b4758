/*
 * streams.c - tenon-streams [N] [--events=N]: N event streams at once, in one process, through tenon.http.
 *
 * All streams are opened, then all receive events at once, then they end. Prints one line of JSON: the time to open,
 * the memory of an open stream (the resident set with and without the streams), events per second, and how much
 * processor time that took in this process. The server (streams_server.c) is another process.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "streams_server.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <tenon/http_client.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS_BESIDE 64 /* of this process, without the streams */

static struct {
    struct loop *loop;
    struct registry *registry;
    struct config *config;
    struct http *http;
} host;
static const tn_http_client_draft *http;
static uint32_t streams = 10000;
static uint64_t heads, events, ends, failed, wanted;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double resident_kib(void) {
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static void fail(const char *why) {
    fprintf(stderr, "tenon-streams: %s\n", why);
    exit(1);
}

static void on_event(void *user, int32_t event, tn_value value) {
    (void)user;
    if (event == TN_HTTP_HEAD) heads++;
    if (event == TN_HTTP_END) ends++;
    if (event == TN_HTTP_DATA) events += value_chars(value_get(value, "data"), NULL)[0] == '{';
    if (event != TN_HTTP_FAILED) return;
    if (!failed++) fprintf(stderr, "%s\n", value_chars(value_get(value, "message"), NULL));
}

static bool have_events(void *user) {
    (void)user;
    return failed || events >= wanted;
}

static bool have_ended(void *user) {
    (void)user;
    return failed || ends >= streams;
}

static void run(bool (*done)(void *user)) {
    loop_expect(host.loop);
    if (!loop_run(host.loop, done, NULL)) fail("the loop has ended");
    loop_unexpect(host.loop);
    if (failed) fail("streams have failed");
}

static int32_t section(void *user, const char *plugin_id, tn_value *out, struct error *error) {
    (void)user, (void)plugin_id, (void)error;
    tn_value config = value_set_take(value_object(), "per_origin", value_int(streams));
    *out = value_set_take(config, "connections", value_int(streams));
    return TN_OK;
}

static struct plugin *open_host(void) {
    struct error error = ERROR_INIT;
    host.loop = loop_new(&error);
    if (!host.loop) fail(error.message);
    loop_enter(host.loop);
    host.registry = registry_new(&(struct registry_options){
        .interfaces = interface_table, .allow_drafts = true, .config = section, .loop = host.loop});
    if (registry_add_file(host.registry, TENON_HTTP_PLUGIN, "the benchmark", &error) != TN_OK) fail(error.message);
    struct plugin *plugin = registry_plugin(host.registry, "tenon.http");
    if (plugin_load(plugin, &error) != TN_OK) fail(error.message);
    http = plugin_interface(plugin, TN_HTTP_CLIENT_DRAFT);
    return plugin;
}

static void send_all(struct plugin *plugin, uint16_t port, uint64_t *exchanges) {
    tn_value headers = value_set_take(value_object(), "authorization", value_text("Bearer 0123456789abcdef"));
    tn_value request = value_set_take(value_object(), "headers", headers);
    request = value_set_take(request, "url", value_format("http://127.0.0.1:%u/v1/chat", (unsigned)port));
    request = value_set_take(request, "receive", value_text("events"));
    request = value_set_take(request, "body", value_text("{\"model\":\"bench\",\"stream\":true,\"messages\":[]}"));
    for (uint32_t i = 0; i < streams; i++)
        if (http->send(plugin_self(plugin), request, on_event, NULL, &exchanges[i]) != TN_OK) fail("send refuses");
    value_unref(request);
}

static void raise_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < streams + DESCRIPTORS_BESIDE) {
        streams = (uint32_t)limit.rlim_cur - DESCRIPTORS_BESIDE;
        fprintf(stderr, "tenon-streams: this process may open %lu descriptors: %u streams\n",
                (unsigned long)limit.rlim_cur, streams);
    }
}

int main(int count, char **arguments) {
    uint32_t rounds = 100;
    for (int i = 1; i < count; i++)
        if (strncmp(arguments[i], "--events=", 9) == 0)
            rounds = (uint32_t)strtoul(arguments[i] + 9, NULL, 10);
        else
            streams = (uint32_t)strtoul(arguments[i], NULL, 10);
    if (!streams || !rounds) fail("tenon-streams [N] [--events=N]");
    raise_limit();
    struct streams_server server;
    if (!streams_server_start(&server, streams)) fail("the server cannot be started");
    struct plugin *plugin = open_host();
    uint64_t *exchanges = mem_zalloc(streams * sizeof *exchanges);

    double before_kib = resident_kib(), began = seconds(), worked = processor_seconds();
    wanted = streams;
    send_all(plugin, server.port, exchanges);
    run(have_events);
    double opened = seconds() - began, opening = processor_seconds() - worked;
    double open_kib = resident_kib() - before_kib;

    wanted += (uint64_t)streams * rounds;
    began = seconds(), worked = processor_seconds();
    if (!streams_server_send(&server, rounds)) fail("the server has gone");
    run(have_events);
    double passed = seconds() - began, took = processor_seconds() - worked;
    double busy_kib = resident_kib() - before_kib, total = (double)streams * rounds;

    if (!streams_server_send(&server, 0)) fail("the server has gone");
    run(have_ended);
    if (heads != streams || events != wanted) fail("events are missing");
    streams_server_stop(&server);
    registry_free(host.registry);
    loop_free(host.loop);
    mem_free(exchanges);
    malloc_trim(0);
    printf("{\"workload\":\"streams\",\"streams\":%u,\"open_s\":%.3f,\"open_cpu_us\":%.1f,\"kib_each\":%.2f,"
           "\"kib_each_busy\":%.2f,\"events\":%.0f,\"seconds\":%.3f,\"events_per_s\":%.0f,\"cpu_us_per_event\":%.3f,"
           "\"left_kib\":%.0f}\n",
           streams, opened, opening * 1e6 / streams, open_kib / streams, busy_kib / streams, total, passed,
           total / passed, took * 1e6 / total, resident_kib() - before_kib);
    return 0;
}

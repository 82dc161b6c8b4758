/*
 * saver.c - a store in a temporary folder, opened as a host opens it.
 */
#include "tests/bench/saver.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution_thread.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct host *host;
static char folder[] = "/tmp/tenon-bench-XXXXXX";
static char newest[64];
static struct thread_request request;

static void die(const struct error *error) {
    fprintf(stderr, "tenon-bench: %s\n", error->message ? error->message : "the store failed");
    exit(1);
}

bool saver_open(struct host *of, const char *kind) {
    struct error error = ERROR_INIT;
    if (strcmp(kind, "none") == 0) return false;
    host = of;
    if (!mkdtemp(folder)) die(&error);
    tn_value options = value_set_take(value_object(), "use", value_text(kind));
    options = value_set_take(options, "path", value_format("%s/bench.db", folder));
    host_set_store_take(host,
                        store_open(&(const struct store_from){host_loop(host), host_registry(host), host_config(host)},
                                   options, &error));
    if (!host_store(host, NULL)) die(&error);
    value_unref(options);
    return true;
}

void saver_prepare(struct graph *graph, const char *thread, struct run_options *options) {
    struct error error = ERROR_INIT;
    snprintf(newest, sizeof newest, "%s", thread);
    request = (struct thread_request){.id = newest};
    if (thread_prepare_wait(host_engine(host), graph, &request, options, &error) != TN_OK) die(&error);
}

bool saver_begin(struct run *run, tn_value input) {
    struct error error = ERROR_INIT;
    bool ended = false;
    if (thread_begin(run, &request, input, &ended, &error) != TN_OK) die(&error);
    return ended;
}

void saver_release(struct run_options *options) {
    thread_log_free(options->log);
    value_unref(options->loaded);
}

static int32_t read_back(struct session *session, void *user, tn_value *result, struct error *error) {
    return thread_read(session, user, THREAD_HEAD, result, error);
}

struct saved saver_close(void) {
    struct saved saved = {0, 0};
    struct timespec from, to;
    struct error error = ERROR_INIT;
    char path[sizeof folder + 16];
    struct stat file;
    tn_value loaded = NULL;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (store_perform_wait(host_store(host, NULL), read_back, newest, &loaded, &error) != TN_OK) die(&error);
    clock_gettime(CLOCK_MONOTONIC, &to);
    value_unref(loaded);
    saved.resume_ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
    store_close(host_store(host, NULL));
    host_set_store_take(host, NULL);
    snprintf(path, sizeof path, "%s/bench.db", folder);
    if (stat(path, &file) == 0) saved.bytes = file.st_size;
    unlink(path);
    rmdir(folder);
    snprintf(folder, sizeof folder, "/tmp/tenon-bench-XXXXXX");
    return saved;
}

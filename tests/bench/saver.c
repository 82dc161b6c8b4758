/*
 * saver.c - a store in a temporary folder, opened as a host opens it.
 */
#include "tests/bench/saver.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution_thread.h"
#include "tests/bench/harness.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct host *saver_host; /* NULL: no store is open */
static char folder[1024];
static bool folder_is_ours;
static char newest[64];
static struct thread_request request;
static bool accept_changes;

static void check_saver(bool ok, const struct error *error) {
    if (!ok) die("the store failed", error->message ? error->message : "");
}

/* Also at exit, if the benchmark fails. */
static void delete_folder(void) {
    static const char *const files[] = {"bench.db", "bench.db-wal", "bench.db-shm", "bench.db-owners"};
    char path[sizeof folder + 32];
    if (!folder_is_ours) return;
    folder_is_ours = false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    if (rmdir(folder) != 0) fprintf(stderr, "tenon-bench: %s was not deleted\n", folder);
}

bool saver_open(struct host *of, const char *kind) {
    struct error error = ERROR_INIT;
    const char *given = option("folder", ""), *below = getenv("TMPDIR");
    if (!below || !*below) below = "/tmp";
    if (strcmp(kind, "none") == 0) return false;
    saver_host = of;
    folder_is_ours = !*given;
    snprintf(folder, sizeof folder, "%s%s", *given ? given : below, *given ? "" : "/tenon-bench-XXXXXX");
    if (folder_is_ours && !mkdtemp(folder)) {
        folder_is_ours = false;
        die("cannot create a folder like", folder);
    }
    if (folder_is_ours && atexit(delete_folder) != 0) die("no memory", "");
    tn_value options = value_set_take(value_object(), "use", value_text(kind));
    options = value_set_take(options, "path", value_format("%s/bench.db", folder));
    if (*option("sync", "")) options = value_set_take(options, "sync", value_text(option("sync", "")));
    struct store_from from = {host_loop(of), host_registry(of), host_config(of)};
    struct store *store = store_open(&from, options, &error);
    check_saver(store != NULL, &error);
    host_set_store_take(of, store);
    value_unref(options);
    return true;
}

const char *saver_folder(void) { return folder; }

void saver_accept_changes(bool accept) { accept_changes = accept; }

void saver_prepare(struct graph *graph, const char *thread, struct run_options *options) {
    struct error error = ERROR_INIT;
    snprintf(newest, sizeof newest, "%s", thread);
    request = (struct thread_request){.id = newest, .accept_changes = accept_changes};
    check_saver(thread_prepare_wait(host_engine(saver_host), graph, &request, options, &error) == TN_OK, &error);
}

bool saver_begin(struct run *run, tn_value input) {
    struct error error = ERROR_INIT;
    bool ended = false;
    check_saver(thread_begin(run, &request, input, &ended, &error) == TN_OK, &error);
    return ended;
}

void saver_release(struct run_options *options) {
    thread_log_free(options->log);
    value_unref(options->loaded);
}

static int32_t read_back(struct session *session, void *user, tn_value *result, struct error *error) {
    return thread_read(session, user, THREAD_HEAD, result, error);
}

/* Milliseconds that it takes to read the newest thread. */
static double read_newest_ms(void) {
    struct timespec from;
    struct error error = ERROR_INIT;
    tn_value loaded = NULL;
    clock_gettime(CLOCK_MONOTONIC, &from);
    check_saver(store_perform_wait(host_store(saver_host, NULL), read_back, newest, &loaded, &error) == TN_OK, &error);
    double took = seconds(&from, CLOCK_MONOTONIC) * 1e3;
    value_unref(loaded);
    return took;
}

/* Returns the size of the file. */
static int64_t close_store(void) {
    char path[sizeof folder + 32];
    struct stat file;
    store_close(host_store(saver_host, NULL));
    host_set_store_take(saver_host, NULL);
    saver_host = NULL;
    snprintf(path, sizeof path, "%s/bench.db", folder);
    int64_t bytes = stat(path, &file) == 0 ? (int64_t)file.st_size : 0; /* the store `memory` has no file */
    delete_folder();
    return bytes;
}

void saver_close(void) { (void)close_store(); }

void saver_report(const struct measure *measure, const char *workload, int64_t n, double units, const char *notes) {
    struct measured measured = measure_end(measure);
    char all[512] = "\"saver\":\"none\"";
    if (saver_host) {
        double resume_ms = read_newest_ms();
        int64_t bytes = close_store();
        struct written_bytes closed = written_since(&measure->written);
        snprintf(all, sizeof all,
                 "\"saver\":\"%s\",\"db_bytes\":%" PRId64 ",\"resume_ms\":%.3f,\"closed_wchar\":%" PRId64
                 ",\"closed_write_bytes\":%" PRId64 "%s%s",
                 option("saver", "sqlite"), bytes, resume_ms, closed.wchar, closed.write_bytes, *notes ? "," : "",
                 notes);
    }
    report_measured(&measured, workload, n, units, all);
}

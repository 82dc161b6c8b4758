/*
 * tasks.c - tenon-tasks: how many Tasks a process claims, ends and creates in a second.
 *
 *     tenon-tasks claim 2000 --batch=20      claims N Tasks; without --batch one at a time
 *     tenon-tasks complete 2000              completes N claimed Tasks
 *     tenon-tasks create 2000                creates N Tasks
 *
 * The store is SQLite (--store=memory: that in memory), in a new file in the working folder, and each commit is on disk
 * when it returns. --store=postgres --url=URL uses a database, which should be empty. Every result is checked inside
 * the timed section.
 */
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/data/kernel/kernel.h"
#include "tests/bench/harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TENON_POSTGRES_PLUGIN
#define TENON_POSTGRES_PLUGIN NULL
#endif

static struct kernel kernel;

static tn_value ask_take(const char *operation, tn_value arguments) {
    tn_value result = NULL;
    struct error error = ERROR_INIT;
    if (kernel_call_wait(&kernel, operation, arguments, &result, &error) != TN_OK) die(operation, error.message);
    return result;
}

static tn_value with_text(tn_value object, const char *name, const char *text) {
    return value_set_take(object, name, value_text(text));
}

static void create_tasks(int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        tn_value payload = i % 2 ? with_text(value_object(), "goal", "Summarise the report of the last quarter")
                                 : with_text(value_object(), "message", "The report is ready.");
        tn_value arguments = with_text(value_object(), "task_type", i % 2 ? "work" : "notification");
        value_unref(ask_take("task.create", value_set_take(arguments, "payload", payload)));
    }
}

/* Claims `n` Tasks, `batch` at a time. Returns the Tasks. */
static tn_value claim_tasks(int64_t n, int64_t batch) {
    tn_value all = value_array();
    for (int64_t claimed = 0; claimed < n;) {
        int64_t limit = batch < n - claimed ? batch : n - claimed;
        tn_value arguments = with_text(value_object(), "claimer_id", "bench");
        arguments = value_set_take(arguments, "ttl_seconds", value_int(600));
        if (batch > 1) arguments = value_set_take(arguments, "limit", value_int(limit));
        tn_value result = ask_take("task.claim", arguments), tasks = value_get(result, "tasks");
        if (batch > 1 ? (int64_t)value_count(tasks) != limit : !value_is(result, TN_OBJECT))
            die("a claim found no Task", "");
        all = batch > 1 ? value_concat_take(all, value_ref(tasks)) : value_push_take(all, value_ref(result));
        claimed += limit;
        value_unref(result);
    }
    return all;
}

static void complete_tasks(tn_value tasks) {
    for (size_t i = 0; i < value_count(tasks); i++) {
        tn_value task = value_at(tasks, i);
        tn_value arguments = value_set_take(value_object(), "task_id", value_ref(value_get(task, "task_id")));
        arguments = value_set_take(arguments, "claim_token", value_ref(value_get(task, "claim_token")));
        value_unref(ask_take("task.complete", arguments));
    }
}

static void run_workload(const char *name, int64_t n) {
    int64_t batch = strtoll(option("batch", "1"), NULL, 10);
    struct measure measure;
    char notes[96];
    tn_value tasks = NULL;
    if (batch < 1 || batch > 100) die("--batch must be 1 to 100", "");
    if (strcmp(name, "create") != 0) create_tasks(n);
    if (strcmp(name, "complete") == 0) tasks = claim_tasks(n, 100);
    measure_begin(&measure);
    if (strcmp(name, "create") == 0) create_tasks(n);
    if (strcmp(name, "claim") == 0) tasks = claim_tasks(n, batch);
    if (strcmp(name, "complete") == 0) complete_tasks(tasks);
    snprintf(notes, sizeof notes, "\"unit\":\"Task\",\"batch\":%lld,\"per_s\":%.0f", (long long)batch,
             (double)n / seconds(&measure.wall, CLOCK_MONOTONIC));
    report(&measure, name, n, (double)n, notes);
    value_unref(tasks);
}

static void open_store(const char *folder) {
    struct error error = ERROR_INIT;
    tn_value options = with_text(value_object(), "use", option("store", "sqlite"));
    options = value_set_take(options, "path", value_format("%s/tasks.db", folder));
    if (*option("url", "")) options = with_text(options, "url", option("url", ""));
    host_set_store_take(host,
                        store_open(&(const struct store_from){host_loop(host), host_registry(host), host_config(host)},
                                   options, &error));
    if (!host_store(host, NULL) || kernel_open(host_state(host), &kernel, &error) != TN_OK)
        die("cannot open the store", error.message);
    value_unref(options);
}

static void remove_store(const char *folder) {
    static const char *const names[] = {"tasks.db", "tasks.db-wal", "tasks.db-shm"};
    char path[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    if (rmdir(folder) != 0) die("cannot remove", folder);
}

int main(int argc, char **argv) {
    static const char *const paths[] = {TENON_MEMORY_PLUGIN, TENON_SQLITE_PLUGIN, TENON_POSTGRES_PLUGIN, NULL};
    const char *name = argc > 1 ? argv[1] : "";
    int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : 2000;
    char folder[] = "tenon-tasks-XXXXXX";
    struct error error = ERROR_INIT;
    if ((strcmp(name, "claim") != 0 && strcmp(name, "complete") != 0 && strcmp(name, "create") != 0) || n <= 0) {
        fputs("usage: tenon-tasks claim|complete|create [N] [--batch=1..100] [--store=sqlite|memory|postgres "
              "[--url=URL]]\n",
              stderr);
        return 2;
    }
    harness_options(argc, argv, 3);
    host = host_new(&(struct host_options){.plugin_paths = paths, .no_config = true, .allow_drafts = true}, &error);
    if (!host) die("cannot start", error.message);
    if (!mkdtemp(folder)) die("cannot create", folder);
    open_store(folder);
    run_workload(name, n);
    host_free(host);
    remove_store(folder);
    return 0;
}

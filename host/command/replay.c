/*
 * replay.c - `tenon replay`: a thread run once more from its journal, without the world, and what is different.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/command/command.h"
#include "host/command/run.h"
#include "host/engine/graph.h"
#include "host/host.h"
#include "host/runnable/replay_run.h"
#include "host/store/store.h"
#include "host/thread/log.h"
#include <stdio.h>
#include <string.h>

static int32_t read_history(struct session *session, void *user, tn_value *result, struct error *error) {
    return thread_read_history(session, user, result, error);
}

static void print_value(const char *what, tn_value value) {
    char *text = json_text(value, JSON_COMPACT);
    printf("  %s %.2000s\n", what, text);
    mem_free(text);
}

static int print_report(const char *name, tn_value report, bool json) {
    tn_value difference = value_get(report, "diverged");
    bool diverged = value_is(difference, TN_OBJECT);
    long long replayed = value_to_int(value_get(report, "replayed"));
    long long count = value_to_int(value_get(report, "checkpoints"));
    if (json) {
        tn_value line = value_set_take(value_ref(report), "name", value_string_lossy(name, strlen(name)));
        run_print_line(line);
        value_unref(line);
    } else if (diverged) {
        printf("%s: %s is different at checkpoint %lld of %lld\n", name,
               value_chars(value_get(difference, "what"), NULL), (long long)value_to_int(value_get(difference, "seq")),
               count);
        print_value("recorded:", value_get(difference, "recorded"));
        print_value("replayed:", value_get(difference, "replayed"));
    } else {
        printf("%s: %lld of %lld checkpoints, all the same\n", name, replayed, count);
    }
    return diverged ? COMMAND_RUN_FAILED : COMMAND_OK;
}

static int replay_history(struct host *host, const char *name, const char *path, tn_value history, bool json) {
    struct error error = ERROR_INIT;
    struct graph *graph = NULL;
    tn_value report = NULL;
    int code;
    int32_t status = graph_open(host, NULL, path, 0, &graph, &error);
    if (status != TN_OK) {
        code = command_fail_error(COMMAND_INVALID, &error);
    } else if (replay_run_wait(graph, history, &report, &error) != TN_OK) {
        code = command_fail_error(COMMAND_RUN_FAILED, &error);
    } else {
        code = print_report(name, report, json);
    }
    value_unref(report);
    graph_unref(graph);
    error_finish(&error);
    return code;
}

int command_replay(const struct arguments *arguments) {
    const char *id = operand_at(arguments, 0), *path = argument_text(arguments, "document");
    struct error error = ERROR_INIT;
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    tn_value history = NULL;
    struct store *store = host_store(host, &error);
    int code = COMMAND_RUN_FAILED;
    if (!store || store_perform_wait(store, read_history, (void *)(uintptr_t)id, &history, &error) != TN_OK) {
        code = command_fail_error(COMMAND_RUN_FAILED, &error);
    } else {
        tn_value document = value_get(value_get(history, "record"), "document");
        if (!path && document && value_is(document, TN_STRING)) path = value_chars(document, NULL);
        code = path ? replay_history(host, id, path, history, argument_given(arguments, "json"))
                    : command_fail(COMMAND_USAGE, "the thread does not say where its document is; say --document FILE");
    }
    value_unref(history);
    error_finish(&error);
    host_free(host);
    return code;
}

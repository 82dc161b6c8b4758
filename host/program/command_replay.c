/*
 * command_replay.c - `tenon replay` and `tenon test`: runs a thread again from its journal and reports differences; or
 * runs it live from one of its checkpoints.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/files.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution_replay.h"
#include "host/engine/execution/invocation.h"
#include "host/engine/graph/graph.h"
#include "host/program/command.h"
#include "host/program/command_run.h"
#include "host/program/questions.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int32_t read_history(struct session *session, void *user, tn_value *result, struct error *error) {
    return thread_read_history(session, user, result, error);
}

static void print_value(const char *what, tn_value value) {
    char *text = json_text(value, JSON_COMPACT);
    command_printf(stdout, "  %s %.2000s\n", what, text);
    mem_free(text);
}

static int replay_print_report(const char *name, tn_value report, bool json) {
    tn_value difference = value_get(report, "diverged");
    bool diverged = value_is(difference, TN_OBJECT);
    long long replayed = value_to_int(value_get(report, "replayed"));
    long long count = value_to_int(value_get(report, "checkpoints"));
    if (json) {
        tn_value line = value_set_take(value_ref(report), "name", value_string_lossy(name, strlen(name)));
        run_print_line(line);
        value_unref(line);
    } else if (diverged) {
        command_printf(stdout, "%s: %s differs at checkpoint %lld of %lld\n", name,
                       value_chars(value_get(difference, "what"), NULL),
                       (long long)value_to_int(value_get(difference, "seq")), count);
        print_value("recorded:", value_get(difference, "recorded"));
        print_value("replayed:", value_get(difference, "replayed"));
    } else {
        command_printf(stdout, "%s: %lld of %lld checkpoint%s are identical\n", name, replayed, count,
                       count == 1 ? "" : "s");
    }
    return diverged ? COMMAND_RUN_FAILED : COMMAND_OK;
}

static int replay_history(struct host *host, const char *name, const char *path, tn_value history, bool json) {
    struct error error = ERROR_INIT;
    struct graph *graph = NULL;
    tn_value report = NULL;
    int code;
    int32_t status = graph_open(host_engine(host), NULL, path, &(struct graph_origin){0}, &graph, &error);
    if (status != TN_OK) {
        code = command_report_error(COMMAND_INVALID, &error);
    } else if (replay_run_wait(graph, history, &report, &error) != TN_OK) {
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    } else {
        code = replay_print_report(name, report, json);
    }
    value_unref(report);
    graph_unref(graph);
    error_finish(&error);
    return code;
}

/* ---- Live, from a checkpoint ---- */

static void fork_on_ended(void *user) { (void)user; } /* fork_poll notices it */

static bool fork_has_ended(void *user) { return invocation_phase(user) == INVOCATION_IDLE; }

/* Called before each turn of the loop: Ctrl-C cancels the run, and SIGTERM ends it after its super-step. */
static bool fork_poll(void *user) {
    if (command_got_sigint())
        invocation_cancel(user);
    else if (command_got_sigterm())
        invocation_drain(user);
    return fork_has_ended(user);
}

/* Prints the state, or why there is no result. Returns the exit code. */
static int fork_report(struct invocation *invocation) {
    enum run_status status = invocation_status(invocation);
    if (status == RUN_FAILED || status == RUN_CANCELLED)
        return command_report_error(status == RUN_FAILED ? COMMAND_RUN_FAILED : COMMAND_CANCELLED,
                                    invocation_error(invocation));
    tn_value state = invocation_state(invocation);
    command_print(state);
    value_unref(state);
    if (status != RUN_INTERRUPTED) return COMMAND_OK;
    tn_value interrupts = invocation_interrupts(invocation);
    questions_warn(interrupts);
    value_unref(interrupts);
    return COMMAND_WAITING;
}

static int run_fork(struct host *host, struct graph *graph, const char *fork, const char *path) {
    struct invocation_options options = {
        .run = RUN_OPTIONS_INIT,
        .request = {.id = fork, .mode = THREAD_RESUME, .accept_changes = true, .document = path},
        .ended = fork_on_ended};
    struct error error = ERROR_INIT;
    int code = COMMAND_RUN_FAILED;
    command_watch_signals(host);
    struct invocation *invocation = invocation_new(host_engine(host), &graph->callable, &options, &error);
    if (!invocation || invocation_resume(invocation, NULL, &error) != TN_OK) {
        code = command_report_error(code, &error);
    } else if (loop_run(host_loop(host), fork_poll, invocation)) {
        code = fork_report(invocation);
    } else { /* the loop stopped before the end, which is a defect of the host */
        invocation_cancel(invocation);
        (void)loop_run(host_loop(host), fork_has_ended, invocation);
    }
    invocation_free(invocation);
    error_finish(&error);
    return code;
}

static int replay_from(struct host *host, const char *id, int64_t seq, const char *fork, const char *path) {
    struct error error = ERROR_INIT;
    struct graph *graph = NULL;
    int code;
    if (graph_open(host_engine(host), NULL, path, &(struct graph_origin){0}, &graph, &error) != TN_OK)
        code = command_report_error(COMMAND_INVALID, &error);
    else if (thread_fork_wait(host_store(host, NULL), id, seq, fork, &error) != TN_OK)
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    else
        code = run_fork(host, graph, fork, path);
    graph_unref(graph);
    error_finish(&error);
    return code;
}

static const char *document_of(tn_value history) {
    tn_value document = value_get(value_get(history, "record"), "document");
    return document && value_is(document, TN_STRING) ? value_chars(document, NULL) : NULL;
}

int command_replay(const struct arguments *arguments) {
    const char *id = operand_at(arguments, 0), *path = argument_text(arguments, "document");
    const char *fork = argument_text(arguments, "fork");
    struct error error = ERROR_INIT;
    int64_t seq;
    if (!argument_number(arguments, "from", 0, UINT32_MAX, THREAD_HEAD, &seq)) return COMMAND_USAGE;
    if ((seq == THREAD_HEAD) != !fork)
        return command_report(
            COMMAND_USAGE, "--from N and --fork NEW must be used together: the run from a checkpoint is a new thread");
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    tn_value history = NULL;
    struct store *store = host_store(host, &error);
    int code;
    if (!store || store_perform_wait(store, read_history, (void *)(uintptr_t)id, &history, &error) != TN_OK) {
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    } else {
        if (!path) path = document_of(history);
        if (!path)
            code = command_report(COMMAND_USAGE, "the thread does not name its document; name it with --document FILE");
        else if (fork)
            code = replay_from(host, id, seq, fork, path);
        else
            code = replay_history(host, id, path, history, argument_given(arguments, "json"));
    }
    value_unref(history);
    error_finish(&error);
    host_free(host);
    return command_close(code);
}

/* ---- Exported threads as tests ---- */

/*
 * Finds the document of an exported thread, in the current folder or beside the file. Returns false if it is in
 * neither. `pack:NAME/FILE` and `tenon:NAME` are left to graph_open.
 */
static bool test_find_document(const char *file, const char *document, char out[PATH_MAX]) {
    const char *slash = strrchr(file, '/'), *name = strrchr(document, '/');
    snprintf(out, PATH_MAX, "%s", document);
    if (files_is_special_name(document)) return true;
    if (access(out, R_OK) == 0) return true;
    snprintf(out, PATH_MAX, "%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, name ? name + 1 : document);
    return access(out, R_OK) == 0;
}

static int test_file(const struct arguments *arguments, struct host *host, const char *file) {
    struct error error = ERROR_INIT;
    char path[PATH_MAX];
    tn_value exported = NULL;
    const char *given = argument_text(arguments, "document");
    if (command_read_exported(arguments, file, &exported, &error) != TN_OK) {
        int code = command_report(COMMAND_USAGE, "%s: %s", file, error.message);
        error_finish(&error);
        return code;
    }
    const char *document = given ? given : document_of(exported);
    int code;
    if (!value_text_is(value_get(exported, "format"), THREAD_FORMAT) ||
        !value_is(value_get(exported, "journal"), TN_OBJECT))
        code = command_report(COMMAND_USAGE,
                              "%s is not an exported thread; expected the output of `tenon thread export`", file);
    else if (!document || !test_find_document(file, document, path))
        code = command_report(COMMAND_USAGE, "%s: cannot find its document `%s`; name it with --document FILE", file,
                              document ? document : "?");
    else
        code = replay_history(host, file, path, exported, argument_given(arguments, "json"));
    value_unref(exported);
    return code;
}

int command_test(const struct arguments *arguments) {
    struct host *host = command_host(arguments);
    size_t failed = 0, count = operand_count(arguments);
    int code = COMMAND_OK;
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    for (size_t i = 0; i < count; i++) {
        int one = test_file(arguments, host, operand_at(arguments, i));
        failed += one != COMMAND_OK;
        if (one > code) code = one;
    }
    command_printf(stderr, "%zu of %zu passed\n", count - failed, count);
    host_free(host);
    return command_close(code);
}

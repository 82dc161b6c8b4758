/*
 * run.c - `tenon run`: one run, or a batch of them.
 *
 * Standard output gets the result (or, with --json, the events and the result, a line each); the live view, progress
 * and errors go to standard error (live.c draws).
 */
#include "host/command/run.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/text/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/command/command.h"
#include "host/engine/graph.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/runnable/execution.h"
#include "host/unknown.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_of_plugin(const struct error *error) {
    static const char *const beginnings[] = {"PLUGIN_", "MANIFEST_", "INTERFACE_"};
    for (size_t i = 0; error->code && i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(error->code, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

/* Is the document itself right, and only plugins that it needs cannot be used? */
static bool all_of_plugins(const struct diagnostics *found) {
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *it = diagnostics_at(found, i);
        if (it->severity == DIAGNOSTIC_ERROR && it->code != ADL_E068) return false;
    }
    return true;
}

struct graph *command_open_graph(const struct arguments *arguments, struct host *host, int *code) {
    struct error error = ERROR_INIT;
    struct source *source = command_source(operand_at(arguments, 0), &error);
    if (!source) {
        *code = command_fail_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return NULL;
    }
    struct graph *graph = NULL;
    struct diagnostics *found = diagnostics_new();
    bool json = argument_given(arguments, "json");
    host->found = found;
    struct document *document = document_read(source, &host->catalog, found);
    if (diagnostics_errors(found)) {
        command_print_diagnostics(arguments, found, json);
        *code = all_of_plugins(found) ? COMMAND_PLUGIN_PROBLEM : COMMAND_INVALID;
    } else if (unknown_role(host, document, &error) != TN_OK) {
        *code = command_fail_error(COMMAND_USAGE, &error);
    } else if (graph_build(host, document, 0, &graph, &error) != TN_OK) {
        *code = command_fail_error(is_of_plugin(&error) ? COMMAND_PLUGIN_PROBLEM : COMMAND_INVALID, &error);
    } else if (diagnostics_warnings(found) && !argument_given(arguments, "quiet") && !json) {
        command_print_diagnostics(arguments, found, false);
    }
    host->found = NULL;
    document_unref(document);
    source_unref(source);
    diagnostics_free(found);
    error_finish(&error);
    return graph;
}

/* ---- A batch ---- */

/* A line that is no JSON has a result as every other: `before` inputs come first. */
struct bad_line {
    size_t before, line;
    tn_value result;
};

struct many {
    tn_value inputs;
    size_t *lines; /* of the file, from 1: where each input stands */
    bool json;     /* results say that */
    struct bad_line *bad;
    size_t bad_count, bad_given, failed;
    bool progress;
};

static void give(struct many *many, size_t line, tn_value result) {
    many->failed += value_get(result, "error") != NULL;
    if (!many->json) {
        run_print_line(result);
        return;
    }
    tn_value event = value_set_take(value_object_reserve(3), "type", value_text("result"));
    event = value_set_take(event, "line", value_int((int64_t)line));
    for (size_t i = 0, n = value_count(result); i < n; i++)
        event = value_set_key_take(event, value_ref(value_key_at(result, i)), value_ref(value_value_at(result, i)));
    run_print_line(event);
    value_unref(event);
}

static void give_bad(struct many *many, size_t before) {
    for (; many->bad_given < many->bad_count && many->bad[many->bad_given].before <= before; many->bad_given++)
        give(many, many->bad[many->bad_given].line, many->bad[many->bad_given].result);
}

static _Atomic bool batch_cancel;

static void on_result(void *user, size_t index, tn_value result) {
    struct many *many = user;
    give_bad(many, index);
    give(many, many->lines[index], result);
    if (!command_flush()) batch_cancel = true; /* nobody gets what the others give */
}

static void on_progress(void *user, size_t ended, size_t total) {
    const struct many *many = user;
    if (many->progress) fprintf(stderr, "\r%zu of %zu%s", ended, total, ended == total ? "\n" : "");
}

static void refuse_line(struct many *many, const char *path, size_t line, const char *message) {
    struct error error = ERROR_INIT;
    command_line_error(path, line, message, &error);
    many->bad = mem_array(many->bad, many->bad_count + 1, sizeof *many->bad);
    many->bad[many->bad_count++] = (struct bad_line){
        value_count(many->inputs), line, value_set_take(value_object_reserve(1), "error", error_to_value(&error))};
    error_finish(&error);
}

static void add_input(struct many *many, size_t line, tn_value value) {
    size_t count = value_count(many->inputs);
    if (!many->lines || (count & (count - 1)) == 0)
        many->lines = mem_array(many->lines, count ? count * 2 : 1, sizeof *many->lines);
    many->lines[count] = line;
    many->inputs = value_push_take(many->inputs, value);
}

/* One input a line; blank ones are passed over. */
static bool read_lines(struct many *many, const char *path, struct error *error) {
    char *text;
    size_t length;
    if (!command_read_file(path, &text, &length, error)) return false;
    if (strcmp(path, "-") == 0) path = "<stdin>";
    many->inputs = value_array();
    size_t line = 1;
    for (const char *at = text, *end = text + length; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (strspn(at, " \t\r") < size) {
            tn_value value;
            struct error inner = ERROR_INIT;
            if (json_read(at, size, NULL, &value, &inner) == TN_OK)
                add_input(many, line, value);
            else
                refuse_line(many, path, line, inner.message);
            error_finish(&inner);
        }
        at += size + 1;
    }
    mem_free(text);
    return true;
}

static int run_batch(const struct arguments *arguments, struct host *host, struct graph *graph,
                     const struct run_options *options) {
    struct error error = ERROR_INIT;
    int64_t concurrency;
    if (!argument_number(arguments, "concurrency", 1, 100000, BATCH_CONCURRENCY, &concurrency)) return COMMAND_USAGE;
    struct many many = {.json = argument_given(arguments, "json"),
                        .progress = isatty(STDERR_FILENO) && !argument_given(arguments, "quiet")};
    if (!read_lines(&many, argument_text(arguments, "batch"), &error)) {
        int code = command_fail_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    struct batch_options batch = {.concurrency = (uint32_t)concurrency,
                                  .options = *options,
                                  .result = on_result,
                                  .progress = on_progress,
                                  .user = &many};
    command_watch_signals_flag(host, &batch_cancel);
    batch_run(host, &graph->callable, many.inputs, &batch, &batch_cancel);
    give_bad(&many, SIZE_MAX);
    size_t total = value_count(many.inputs) + many.bad_count;
    value_unref(many.inputs);
    for (size_t i = 0; i < many.bad_count; i++) value_unref(many.bad[i].result);
    mem_free(many.bad);
    mem_free(many.lines);
    if (!command_flush()) return COMMAND_RUN_FAILED;
    if (command_interrupted())
        return command_fail(COMMAND_CANCELLED, "the batch was cancelled: %zu of %zu run%s failed or did not end",
                            many.failed, total, total == 1 ? "" : "s");
    if (!many.failed) return COMMAND_OK;
    return command_fail(COMMAND_RUN_FAILED, "%zu of %zu run%s failed", many.failed, total, total == 1 ? "" : "s");
}

/* Options that would be ignored together are refused. */
static bool fit_together(const struct arguments *arguments) {
    static const char *const not_with_batch[] = {"input", "set", "stream"};
    bool batch = argument_given(arguments, "batch");
    for (size_t i = 0; i < sizeof not_with_batch / sizeof *not_with_batch; i++) {
        if (!batch || !argument_given(arguments, not_with_batch[i])) continue;
        command_fail(0, "--%s does not go with --batch, whose every line is the whole input of a run",
                     not_with_batch[i]);
        return false;
    }
    if (!batch && argument_given(arguments, "concurrency")) {
        command_fail(0, "--concurrency is how many runs of a --batch go on at once; for the tasks of one run say "
                        "--run-config '{\"concurrency\": N}'");
        return false;
    }
    static const char *const readers[] = {"input", "batch", "run-config"};
    const char *first = strcmp(operand_at(arguments, 0), "-") == 0 ? "the document" : NULL;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        const char *text = argument_text(arguments, readers[i]);
        if (!text || strcmp(text, "-") != 0) continue;
        if (first) {
            command_fail(0, "standard input is %s already; give --%s a file", first, readers[i]);
            return false;
        }
        first = readers[i];
    }
    return true;
}

int command_run(const struct arguments *arguments) {
    if (!fit_together(arguments)) return COMMAND_USAGE;
    struct run_options options = RUN_OPTIONS_INIT;
    struct error error = ERROR_INIT;
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    int code = COMMAND_OK;
    const char *config = argument_text(arguments, "run-config");
    tn_value given = config ? command_json(config, "--run-config", &error) : value_object();
    if (!given || run_options_read(&options, given, &error) != TN_OK) code = command_fail_error(COMMAND_USAGE, &error);
    struct graph *graph = code ? NULL : command_open_graph(arguments, host, &code);
    if (graph) {
        code = argument_given(arguments, "batch") ? run_batch(arguments, host, graph, &options)
                                                  : run_single(arguments, host, graph, &options);
    }
    graph_unref(graph);
    value_unref(given);
    error_finish(&error);
    host_free(host);
    return code;
}

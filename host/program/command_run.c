/*
 * command_run.c - `tenon run`: checks the options and opens the document. The run is in command_run_single.c, a batch
 * in command_run_batch.c, and a run in a host that is running in command_run_sent.c.
 *
 * Standard output receives the result or, with --json, the events and the result, one per line. The live view (live.c),
 * the progress and errors are written to standard error.
 */
#include "host/program/command_run.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/call.h"
#include "host/program/command.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool command_is_plugin_error(const struct error *error) {
    static const char *const beginnings[] = {"PLUGIN_", "MANIFEST_", "INTERFACE_"};
    for (size_t i = 0; error->code && i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(error->code, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

int command_code_of_diagnostics(const struct diagnostics *found) {
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *it = diagnostics_at(found, i);
        if (it->severity == DIAGNOSTIC_ERROR && it->code != ADL_E068) return COMMAND_INVALID;
    }
    return COMMAND_PLUGIN_PROBLEM;
}

struct graph *command_open_graph(const struct arguments *arguments, struct host *host, int *code) {
    const struct command_graph_options options = {
        .path = operand_at(arguments, 0), .binder = "--model", .quiet = argument_given(arguments, "quiet")};
    return command_open_graph_file(arguments, host, &options, code);
}

struct graph *command_open_graph_file(const struct arguments *arguments, struct host *host,
                                      const struct command_graph_options *options, int *code) {
    struct error error = ERROR_INIT;
    struct source *source = command_document(arguments, host, options->path, &error);
    if (!source) {
        *code = command_report_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return NULL;
    }
    struct graph *graph = NULL;
    struct diagnostics *found = diagnostics_new();
    bool json = argument_given(arguments, "json");
    struct document *document = document_read(source, host_catalog(host), found);
    if (diagnostics_errors(found)) {
        command_print_diagnostics(arguments, found, json);
        *code = command_code_of_diagnostics(found);
    } else if (config_lint_role(host, document, options->binder, &error) != TN_OK) {
        *code = command_report_error(COMMAND_USAGE, &error);
    } else if (graph_build(host_engine(host), document, &(struct graph_origin){.diagnostics = found}, &graph, &error) !=
               TN_OK) {
        *code =
            command_report_error(command_is_plugin_error(&error) ? COMMAND_PLUGIN_PROBLEM : COMMAND_INVALID, &error);
    } else if (diagnostics_warnings(found) && !options->quiet && !json) {
        command_print_diagnostics(arguments, found, false);
    }
    document_unref(document);
    source_unref(source);
    diagnostics_free(found);
    error_finish(&error);
    return graph;
}

/* Reports options that cannot be used together. */
static bool check_run_options(const struct arguments *arguments) {
    static const char *const not_with_batch[] = {"input", "set", "stream"};
    bool batch = argument_given(arguments, "batch");
    for (size_t i = 0; i < sizeof not_with_batch / sizeof *not_with_batch; i++) {
        if (!batch || !argument_given(arguments, not_with_batch[i])) continue;
        command_warn("--%s cannot be used with --batch, because each line of a batch is the whole input of a run",
                     not_with_batch[i]);
        return false;
    }
    if (!batch && argument_given(arguments, "concurrency")) {
        command_warn("--concurrency needs --batch: it limits the runs of a batch. To limit the tasks of one run, use "
                     "--run-config '{\"concurrency\": N}'");
        return false;
    }
    if (!batch && argument_given(arguments, "loops")) {
        command_warn("--loops needs --batch: one run is always in one loop");
        return false;
    }
    static const char *const readers[] = {"input", "batch", "run-config"};
    const char *first = strcmp(operand_at(arguments, 0), "-") == 0 ? "the document" : NULL;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        const char *text = argument_text(arguments, readers[i]);
        if (!text || strcmp(text, "-") != 0) continue;
        if (first) {
            command_warn("standard input is already used for %s; give --%s a file", first, readers[i]);
            return false;
        }
        first = readers[i];
    }
    return true;
}

int command_run(const struct arguments *arguments) {
    if (!check_run_options(arguments)) return COMMAND_USAGE;
    if (argument_given(arguments, "connect")) return command_run_sent(arguments);
    struct run_options options = RUN_OPTIONS_INIT;
    struct error error = ERROR_INIT;
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    int code = COMMAND_OK;
    const char *config = argument_text(arguments, "run-config");
    tn_value given = config ? command_json(arguments, config, "--run-config", &error) : value_object();
    if (!given || run_options_read(&options, given, &error) != TN_OK)
        code = command_report_error(COMMAND_USAGE, &error);
    uint32_t loops;
    if (!code && argument_given(arguments, "batch") && !command_loops_count(arguments, host, &loops))
        code = COMMAND_USAGE;
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

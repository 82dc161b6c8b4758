/*
 * command_run.c - `tenon run`: opens the document, and runs a batch; a single run is in command_run_single.c,
 * and one in a host that is running in command_run_sent.c.
 *
 * Standard output receives the result or, with --json, the events and the result, one per line. The live view (live.c),
 * the progress and errors are written to standard error.
 */
#include "host/program/command_run.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/graph.h"
#include "host/loops/loops_batch.h"
#include "host/plugin/call/call.h"
#include "host/program/command.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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
    struct error error = ERROR_INIT;
    struct source *source = command_document(arguments, host, operand_at(arguments, 0), &error);
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
    } else if (config_lint_role(host, document, &error) != TN_OK) {
        *code = command_report_error(COMMAND_USAGE, &error);
    } else if (graph_build(host_engine(host), document, &(struct graph_origin){.diagnostics = found}, &graph, &error) !=
               TN_OK) {
        *code =
            command_report_error(command_is_plugin_error(&error) ? COMMAND_PLUGIN_PROBLEM : COMMAND_INVALID, &error);
    } else if (diagnostics_warnings(found) && !argument_given(arguments, "quiet") && !json) {
        command_print_diagnostics(arguments, found, false);
    }
    document_unref(document);
    source_unref(source);
    diagnostics_free(found);
    error_finish(&error);
    return graph;
}

/* ---- Batches ---- */

/* A line that is not valid JSON. Its result, an error, is printed after those of `before` valid inputs. */
struct bad_line {
    size_t before, line;
    tn_value result;
};

struct run_batch {
    tn_value inputs;
    size_t *lines; /* the line number of each input in the file, from 1 */
    size_t line_capacity;
    bool json; /* print results as events with the line number */
    struct bad_line *bad;
    size_t bad_count, bad_printed, failed;
    bool progress;       /* show the progress, which is one line on standard error; see batch_shows_progress */
    size_t ended, total; /* what the progress line shows; total is 0 before the first progress */
};

/*
 * The reader of a pipe can write the results to the same terminal at any time, where they would share a line with the
 * progress. Therefore it is not shown if standard output is a pipe.
 */
static bool batch_shows_progress(const struct arguments *arguments) {
    struct stat output;
    bool piped = fstat(STDOUT_FILENO, &output) == 0 && (S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode));
    return isatty(STDERR_FILENO) && !piped && !argument_given(arguments, "quiet");
}

/*
 * A result is a whole line of the same terminal, so the progress line is removed before it and drawn again after it.
 */
static void batch_clear_progress(const struct run_batch *batch) {
    if (batch->progress && batch->total) fputs("\r\033[K", stderr);
}

static void batch_draw_progress(const struct run_batch *batch) {
    if (batch->progress && batch->total) fprintf(stderr, "\r%zu of %zu", batch->ended, batch->total);
}

static void batch_print(struct run_batch *batch, size_t line, tn_value result) {
    batch->failed += value_get(result, "error") != NULL;
    if (!batch->json) {
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

static void batch_print_bad_lines(struct run_batch *batch, size_t before) {
    for (; batch->bad_printed < batch->bad_count && batch->bad[batch->bad_printed].before <= before;
         batch->bad_printed++)
        batch_print(batch, batch->bad[batch->bad_printed].line, batch->bad[batch->bad_printed].result);
}

static _Atomic bool batch_cancel;

static void batch_on_result(void *user, size_t index, tn_value result) {
    struct run_batch *batch = user;
    batch_clear_progress(batch);
    batch_print_bad_lines(batch, index);
    batch_print(batch, batch->lines[index], result);
    if (!command_flush()) batch_cancel = true; /* output is lost: cancel the other runs */
    batch_draw_progress(batch);
}

static void batch_on_progress(void *user, size_t ended, size_t total) {
    struct run_batch *batch = user;
    batch->ended = ended;
    batch->total = total;
    batch_draw_progress(batch);
}

static void batch_add_bad_line(struct run_batch *batch, const char *path, size_t line, const char *message) {
    struct error error = ERROR_INIT;
    command_line_error(path, line, message, &error);
    MEM_EXTEND(batch->bad, batch->bad_count);
    batch->bad[batch->bad_count++] = (struct bad_line){
        value_count(batch->inputs), line, value_set_take(value_object_reserve(1), "error", error_to_value(&error))};
    error_finish(&error);
}

static void batch_add_input(struct run_batch *batch, size_t line, tn_value value) {
    size_t count = value_count(batch->inputs);
    MEM_GROW(batch->lines, count, batch->line_capacity);
    batch->lines[count] = line;
    batch->inputs = value_push_take(batch->inputs, value);
}

/* Reads one input per line; blank lines are skipped. */
static bool batch_read_lines(const struct arguments *arguments, struct run_batch *batch, const char *path,
                             struct error *error) {
    char *text;
    size_t length;
    if (!command_read_named(arguments, path, &text, &length, error)) return false;
    if (strcmp(path, "-") == 0) path = "<stdin>";
    batch->inputs = value_array();
    size_t line = 1;
    for (const char *at = text, *end = text + length; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (strspn(at, " \t\r") < size) {
            tn_value value;
            struct error inner = ERROR_INIT;
            if (json_read(at, size, NULL, &value, &inner) == TN_OK)
                batch_add_input(batch, line, value);
            else
                batch_add_bad_line(batch, path, line, inner.message);
            error_finish(&inner);
        }
        at += size + 1;
    }
    mem_free(text);
    return true;
}

/* Returns false if the other loops cannot be opened, or cannot run the document: nothing has run then. */
static bool run_batch_in_loops(const struct arguments *arguments, struct host *host, struct graph *graph,
                               tn_value inputs, const struct batch_options *options, struct error *error) {
    if (host_loops(host) == 1) {
        batch_run(host_engine(host), &graph->callable, inputs, options, &batch_cancel);
        return true;
    }
    tn_value all = NULL;
    struct loops *loops = command_loops(arguments, host, host_loops(host), error);
    bool ran = loops && loops_batch_run(loops, graph, inputs, options, &batch_cancel, &all, error) == TN_OK;
    loops_free(loops);
    return ran;
}

static int run_batch(const struct arguments *arguments, struct host *host, struct graph *graph,
                     const struct run_options *options) {
    struct error error = ERROR_INIT;
    int64_t concurrency;
    if (!argument_number(arguments, "concurrency", 1, 100000, BATCH_CONCURRENCY, &concurrency)) return COMMAND_USAGE;
    struct run_batch inputs = {.json = argument_given(arguments, "json"), .progress = batch_shows_progress(arguments)};
    if (!batch_read_lines(arguments, &inputs, argument_text(arguments, "batch"), &error)) {
        int code = command_report_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    struct batch_options batch = {.concurrency = (uint32_t)concurrency,
                                  .options = *options,
                                  .result = batch_on_result,
                                  .progress = batch_on_progress,
                                  .user = &inputs};
    command_watch_signals_flag(host, &batch_cancel);
    bool ran = run_batch_in_loops(arguments, host, graph, inputs.inputs, &batch, &error);
    batch_clear_progress(&inputs);
    int failure = ran ? COMMAND_OK : command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    error_finish(&error);
    if (!ran) inputs.bad_printed = inputs.bad_count;
    batch_print_bad_lines(&inputs, SIZE_MAX);
    (void)command_flush();
    batch_draw_progress(&inputs);
    if (inputs.progress && inputs.total) fputc('\n', stderr);
    size_t total = value_count(inputs.inputs) + inputs.bad_count;
    value_unref(inputs.inputs);
    for (size_t i = 0; i < inputs.bad_count; i++) value_unref(inputs.bad[i].result);
    mem_free(inputs.bad);
    mem_free(inputs.lines);
    if (failure) return failure;
    if (!command_flush()) return COMMAND_RUN_FAILED;
    if (command_got_sigint())
        return command_report(COMMAND_CANCELLED, "the batch was cancelled: %zu of %zu run%s failed or did not end",
                              inputs.failed, total, total == 1 ? "" : "s");
    if (!inputs.failed) return COMMAND_OK;
    return command_report(COMMAND_RUN_FAILED, "%zu of %zu run%s failed", inputs.failed, total, total == 1 ? "" : "s");
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
    static const char *const of_threads[] = {"thread",         "resume",     "answer", "replace",
                                             "accept-changes", "durability", "force"};
    for (size_t i = 0; i < sizeof of_threads / sizeof *of_threads; i++) {
        if (!batch || !argument_given(arguments, of_threads[i])) continue;
        command_warn("--%s cannot be used with --batch: the runs of a batch are not saved in threads. To save a run, "
                     "start it alone, with --thread",
                     of_threads[i]);
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

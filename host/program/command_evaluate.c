/*
 * command_evaluate.c - `tenon evaluate`: runs a suite, and prints how its documents and models compare.
 *
 *     evaluate_open        reads the suite, and the results of --resume and --against
 *     evaluate_pair        for each document and set of models: opens a host, binds the models, runs the cases
 *     evaluate_report      prints the table, and returns the exit code
 *
 * All pairs are opened before the first run, so that a mistake in one of them is found before the others have cost
 * money. Each result is written to the file of --out as soon as its run has ended, so that --resume continues after a
 * kill.
 */
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/files.h"
#include "host/engine/graph/graph.h"
#include "host/engine/model/model.h"
#include "host/evaluation/evaluation.h"
#include "host/evaluation/results.h"
#include "host/evaluation/suite.h"
#include "host/evaluation/summary.h"
#include "host/program/command_run.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_CASES 50u /* failed cases and differences that are printed; --json has all */

struct evaluate {
    const struct arguments *arguments;
    struct suite *suite;
    char *folder;        /* of the suite */
    tn_value results;    /* short results of all pairs, also those of earlier processes that --resume has used */
    tn_value before;     /* the short results of --against; NULL without it */
    const char *path;    /* --out; NULL without it */
    struct results *out; /* NULL without --out */
    size_t done, total;
    bool progress;
    bool checked; /* all pairs were opened, and their warnings printed */
    bool lost;    /* a result could not be written */
};

static _Atomic bool evaluate_cancel;

/* ---- Results ---- */

static void draw_progress(const struct evaluate *evaluate) {
    if (evaluate->progress) fprintf(stderr, "\r%zu of %zu", evaluate->done, evaluate->total);
}

static bool evaluate_knows(void *user, tn_value key) {
    struct evaluate *evaluate = user;
    tn_value result = evaluate->out ? results_lookup(evaluate->out, key) : NULL;
    if (!result) return false;
    evaluate->done++;
    evaluate->results = value_push_take(evaluate->results, value_ref(result));
    return true;
}

static void evaluate_on_result(void *user, tn_value result) {
    struct evaluate *evaluate = user;
    evaluate->done++;
    evaluate->results = value_push_take(evaluate->results, result_shorten(result));
    if (evaluate->out && !results_append(evaluate->out, result)) {
        if (!evaluate->lost)
            command_warn("cannot write %s: %s; the evaluation is cancelled", evaluate->path, strerror(errno));
        evaluate->lost = true;
        evaluate_cancel = true; /* the other runs can cost money */
    }
    draw_progress(evaluate);
}

/* ---- One document with one set of models ---- */

/* The name of a file of the suite; free it with mem_free. */
static char *suite_file(const struct evaluate *evaluate, const char *name) {
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    bool relative = *name != '/' && strncmp(name, "pack:", 5) != 0 && strncmp(name, "tenon:", 6) != 0;
    if (relative && strcmp(evaluate->folder, ".") != 0) buffer_format(&path, "%s/", evaluate->folder);
    buffer_text(&path, name);
    return buffer_detach(&path, NULL);
}

static int evaluate_graph(struct evaluate *evaluate, struct host *host, struct graph *graph, size_t document,
                          size_t model) {
    const struct suite *suite = evaluate->suite;
    struct error error = ERROR_INIT;
    struct evaluation_options options = {.suite = suite,
                                         .document = value_chars(value_key_at(suite->documents, document), NULL),
                                         .model = value_chars(value_key_at(suite->models, model), NULL),
                                         .bindings = value_value_at(suite->models, model),
                                         .only = argument_text(evaluate->arguments, "case"),
                                         .known = evaluate_knows,
                                         .result = evaluate_on_result,
                                         .user = evaluate};
    int code = COMMAND_OK;
    command_watch_signals_flag(host, &evaluate_cancel);
    if (evaluation_run(host_engine(host), graph, &options, &evaluate_cancel, &error) != TN_OK)
        code = command_report_error(COMMAND_USAGE, &error);
    error_finish(&error);
    return code;
}

/* Opens a host with the models of the pair, and the document's graph. NULL, with an exit code, after an error. */
static struct graph *open_pair(struct evaluate *evaluate, size_t document, size_t model, bool quiet, struct host **host,
                               int *code) {
    const struct suite *suite = evaluate->suite;
    struct error error = ERROR_INIT;
    struct graph *graph = NULL;
    *host = quiet ? command_open_quiet(evaluate->arguments, &error) : command_open(evaluate->arguments, &error);
    if (!*host) {
        *code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    } else if (host_bind_roles(*host, value_value_at(suite->models, model), &error) != TN_OK) {
        *code = command_report(COMMAND_INVALID, "`%s` in `models` of the suite: %s",
                               value_chars(value_key_at(suite->models, model), NULL), error.message);
    } else {
        char *path = suite_file(evaluate, value_chars(value_value_at(suite->documents, document), NULL));
        const struct command_graph_options options = {
            .path = path,
            .binder = value_count(value_value_at(suite->models, model)) ? "`models` of the suite:" : "--model",
            .quiet = quiet};
        graph = command_open_graph_file(evaluate->arguments, *host, &options, code);
        mem_free(path);
    }
    error_finish(&error);
    return graph;
}

/* Runs the cases with a pair, or only checks that it can be opened. Returns an exit code. */
static int evaluate_pair(struct evaluate *evaluate, size_t document, size_t model, bool checks) {
    struct host *host = NULL;
    int code = COMMAND_OK;
    bool quiet = argument_given(evaluate->arguments, "quiet") || (!checks && evaluate->checked);
    struct graph *graph = open_pair(evaluate, document, model, quiet, &host, &code);
    if (graph && !checks) code = evaluate_graph(evaluate, host, graph, document, model);
    graph_unref(graph);
    host_free(host);
    return code;
}

/* ---- The report ---- */

static double row_number(tn_value row, const char *key) {
    tn_value value = value_get(row, key);
    return value ? value_to_double(value) : 0;
}

/* A cost of which only a part is known has a plus behind it. */
static void format_cost(char out[24], tn_value row) {
    tn_value cost = value_get(row, "cost");
    if (value_is(cost, TN_NULL))
        snprintf(out, 24, "-");
    else
        snprintf(out, 24, "%.4g%s", value_to_double(cost), row_number(row, "unpriced") > 0 ? "+" : "");
}

static void print_pairs(const struct suite *suite, tn_value pairs) {
    double unpriced = 0;
    char cost[24];
    command_print_line(stdout, "%-24s %-16s %6s %6s %6s %6s %10s %8s %8s", "document", "model", "passed", "failed",
                       "errors", "rate", "cost", "p50 ms", "p95 ms");
    for (size_t i = 0; i < value_count(pairs); i++) {
        tn_value row = value_at(pairs, i), meets = value_get(row, "meets");
        const char *model = command_text(row, "model", "");
        format_cost(cost, row);
        unpriced += row_number(row, "unpriced");
        command_print_line(stdout, "%-24s %-16s %6.0f %6.0f %6.0f %5.1f%% %10s %8.0f %8.0f%s",
                           command_text(row, "document", ""), *model ? model : "-", row_number(row, "passed"),
                           row_number(row, "failed"), row_number(row, "errors"), 100 * row_number(row, "pass_rate"),
                           cost, row_number(row, "p50_ms"), row_number(row, "p95_ms"),
                           value_to_bool(meets) ? "" : "  below the thresholds");
    }
    if (unpriced > 0 && suite->cost >= 0)
        command_printf(stdout,
                       "%.0f runs used a model without a price, so the threshold of the cost is not met: add the price "
                       "to `prices` in tenon.yaml\n",
                       unpriced);
}

static void print_failures(tn_value failures) {
    size_t count = value_count(failures);
    if (count) fputs("\n", stdout);
    for (size_t i = 0; i < count && i < SHOWN_CASES; i++) {
        tn_value one = value_at(failures, i);
        const char *model = command_text(one, "model", "");
        command_print_line(stdout, "%s %s/%s%s%s: %s",
                           strcmp(command_text(one, "status", ""), "error") == 0 ? "!" : "✗",
                           command_text(one, "document", ""), command_text(one, "case", ""), *model ? " with " : "",
                           model, command_text(one, "why", ""));
    }
    if (count > SHOWN_CASES) command_printf(stdout, "… and %zu more, which --json has\n", count - SHOWN_CASES);
}

static void print_rate(struct buffer *out, tn_value rate) {
    if (value_is(rate, TN_NULL))
        buffer_text(out, "  -");
    else
        buffer_format(out, "  %.0f%%", 100 * value_to_double(rate));
}

static void print_differences(tn_value differences) {
    struct buffer line;
    size_t count = value_count(differences);
    if (count) fputs("\ncases in which they differ, in the order of the table:\n", stdout);
    for (size_t i = 0; i < count && i < SHOWN_CASES; i++) {
        tn_value rates = value_get(value_at(differences, i), "rates");
        buffer_init(&line, SIZE_MAX);
        for (size_t k = 0; k < value_count(rates); k++) print_rate(&line, value_at(rates, k));
        command_print_line(stdout, "  %-30s%s", command_text(value_at(differences, i), "case", ""), buffer_cstr(&line));
        buffer_finish(&line);
    }
    if (count > SHOWN_CASES) command_printf(stdout, "  … and %zu more, which --json has\n", count - SHOWN_CASES);
}

static void print_changes(tn_value changes, double compared, const char *against) {
    size_t count = value_count(changes);
    if (compared > 0)
        command_printf(stdout, "\n%s %s\n", count ? "changes since" : "no case has changed since", against);
    else
        command_printf(stdout, "\n%s has no result of these cases, documents and models\n", against);
    for (size_t i = 0; i < count && i < SHOWN_CASES; i++) {
        tn_value one = value_at(changes, i);
        const char *model = command_text(one, "model", "");
        command_print_line(stdout, "  %s %s/%s%s%s: %.0f%% → %.0f%%",
                           row_number(one, "after") > row_number(one, "before") ? "+" : "-",
                           command_text(one, "document", ""), command_text(one, "case", ""), *model ? " with " : "",
                           model, 100 * row_number(one, "before"), 100 * row_number(one, "after"));
    }
    if (count > SHOWN_CASES) command_printf(stdout, "  … and %zu more, which --json has\n", count - SHOWN_CASES);
}

static int evaluate_report(const struct evaluate *evaluate) {
    tn_value summary = evaluation_summary(evaluate->suite, evaluate->results, evaluate->before);
    bool meets = evaluation_meets(summary);
    if (argument_given(evaluate->arguments, "json")) {
        command_print(summary);
    } else {
        print_pairs(evaluate->suite, value_get(summary, "pairs"));
        print_failures(value_get(summary, "failures"));
        print_differences(value_get(summary, "differences"));
        if (evaluate->before)
            print_changes(value_get(summary, "changes"), row_number(summary, "compared"),
                          argument_text(evaluate->arguments, "against"));
    }
    value_unref(summary);
    return meets ? COMMAND_OK : COMMAND_RUN_FAILED;
}

/* ---- The command ---- */

static tn_value evaluate_read(void *user, const char *name, struct error *error) {
    char *path = suite_file(user, name), *text = NULL;
    size_t length;
    tn_value value = NULL;
    if (command_read_file(path, &text, &length, error) && !(value = value_string(text, length)))
        error_set(error, TN_INVALID, "INVALID_SUITE", "%s is not valid UTF-8", path);
    mem_free(text);
    mem_free(path);
    return value;
}

static bool suite_has_case(const struct suite *suite, const char *id) {
    for (size_t i = 0; i < suite->case_count; i++)
        if (value_text_is(suite->cases[i].id, id)) return true;
    return false;
}

/* Returns an exit code. */
static int evaluate_open(struct evaluate *evaluate, struct error *error) {
    const char *path = operand_at(evaluate->arguments, 0), *against = argument_text(evaluate->arguments, "against");
    const char *only = argument_text(evaluate->arguments, "case");
    struct source *source = command_source(path, error);
    if (!source) return COMMAND_USAGE;
    evaluate->folder = files_folder_of(path);
    evaluate->suite = suite_read(source, evaluate_read, evaluate, error);
    source_unref(source);
    if (!evaluate->suite) return COMMAND_INVALID;
    if (only && !suite_has_case(evaluate->suite, only)) {
        error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the suite has no case `%s`", only);
        return COMMAND_USAGE;
    }
    if (against && !(evaluate->before = results_read(against, error))) return COMMAND_USAGE;
    if (!evaluate->path) return COMMAND_OK;
    bool resume = argument_given(evaluate->arguments, "resume");
    return results_open(evaluate->path, resume, &evaluate->out, error) == TN_OK ? COMMAND_OK : COMMAND_USAGE;
}

static int evaluate_pairs(struct evaluate *evaluate) {
    const struct suite *suite = evaluate->suite;
    size_t models = value_count(suite->models), pairs = value_count(suite->documents) * models;
    size_t cases = argument_given(evaluate->arguments, "case") ? 1 : suite->case_count;
    int code = COMMAND_OK;
    evaluate->total = pairs * cases * suite->repeat;
    evaluate->progress = isatty(STDERR_FILENO) && !argument_given(evaluate->arguments, "quiet");
    for (size_t i = 0; pairs > 1 && i < pairs && code == COMMAND_OK; i++)
        code = evaluate_pair(evaluate, i / models, i % models, true);
    evaluate->checked = pairs > 1;
    for (size_t i = 0; i < pairs && code == COMMAND_OK && !evaluate_cancel; i++)
        code = evaluate_pair(evaluate, i / models, i % models, false);
    if (evaluate->progress) fputs("\r\033[K", stderr);
    return code;
}

static void evaluate_finish(struct evaluate *evaluate) {
    results_close(evaluate->out);
    suite_free(evaluate->suite);
    mem_free(evaluate->folder);
    value_unref(evaluate->results);
    value_unref(evaluate->before);
}

int command_evaluate(const struct arguments *arguments) {
    struct evaluate evaluate = {
        .arguments = arguments, .results = value_array(), .path = argument_text(arguments, "out")};
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    evaluate_cancel = false;
    if (argument_given(arguments, "resume") && !evaluate.path)
        code = command_report(COMMAND_USAGE, "--resume needs --out FILE, which has the results so far");
    else if ((code = evaluate_open(&evaluate, &error)) != COMMAND_OK)
        code = command_report_error(code, &error);
    else
        code = evaluate_pairs(&evaluate);
    bool stopped = evaluate_cancel || (code != COMMAND_OK && evaluate.done);
    if (code == COMMAND_OK && evaluate_cancel) code = evaluate.lost ? COMMAND_RUN_FAILED : COMMAND_CANCELLED;
    if (stopped)
        command_warn("%zu of %zu runs have a result%s", evaluate.done, evaluate.total,
                     evaluate.path ? "; continue with --resume" : "; with --out FILE, --resume could continue");
    /* What has cost money is shown, also if it is not all. */
    if (code == COMMAND_OK || (stopped && evaluate.done)) {
        int met = evaluate_report(&evaluate);
        if (code == COMMAND_OK) code = met;
    }
    error_finish(&error);
    evaluate_finish(&evaluate);
    return code;
}

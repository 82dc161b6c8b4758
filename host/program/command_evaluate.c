/*
 * command_evaluate.c - `tenon evaluate`: runs a suite, and prints how its documents and models compare.
 *
 *     evaluate_open        reads the suite, and the results of --resume and --against
 *     evaluate_pair        for each document and set of models: opens a host, binds the models, runs the cases
 *     evaluate_report      prints the table, and returns the exit code
 *
 * Each result is written to the file of --out when it is there, so that --resume continues after a kill.
 */
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/files.h"
#include "host/engine/graph/graph.h"
#include "host/engine/model/model.h"
#include "host/evaluation/evaluation.h"
#include "host/evaluation/suite.h"
#include "host/evaluation/summary.h"
#include "host/program/command_run.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN_CASES 50u /* failed cases and differences that are printed; --json has all */

struct evaluate {
    const struct arguments *arguments;
    struct suite *suite;
    char *folder;     /* of the suite */
    tn_value results; /* of all pairs, also those of earlier processes that --resume has used */
    tn_value earlier; /* {key: result} of the file, with --resume */
    tn_value before;  /* the results of --against; NULL without it */
    const char *path; /* --out; NULL without it */
    FILE *out;        /* NULL without --out */
    size_t done, total;
    bool progress, lost; /* lost: a result could not be written */
};

static _Atomic bool evaluate_cancel;

/* ---- Files of results ---- */

/*
 * Reads results, a JSON object on each line. *whole is the length of the complete lines: a process that was killed
 * can have left a part of one. NULL with an error if another line is not a result.
 */
static tn_value read_results(const char *path, size_t *whole, struct error *error) {
    char *text = NULL;
    size_t length = 0, number = 0;
    tn_value list = value_array();
    if (!command_read_file(path, &text, &length, error)) return value_unref(list), NULL;
    *whole = 0;
    for (char *at = text, *stop; (stop = memchr(at, '\n', (size_t)(text + length - at))) != NULL; at = stop + 1) {
        struct error inner = ERROR_INIT;
        tn_value one = NULL;
        number++;
        *whole = (size_t)(stop + 1 - text);
        bool good = json_read(at, (size_t)(stop - at), NULL, &one, &inner) == TN_OK && command_text(one, "key", NULL) &&
                    command_text(one, "case", NULL);
        if (good)
            list = value_push_take(list, one);
        else {
            command_line_error(path, number, inner.message ? inner.message : "this is not a result of `tenon evaluate`",
                               error);
            value_unref(one);
            value_unref(list);
            list = NULL;
        }
        error_finish(&inner);
        if (!list) break;
    }
    mem_free(text);
    return list;
}

/* Keeps the results that need not be computed again: an error may be gone now. */
static void keep_results(struct evaluate *evaluate, tn_value earlier) {
    for (size_t i = 0; i < value_count(earlier); i++) {
        tn_value one = value_at(earlier, i);
        if (value_text_is(value_get(one, "status"), "error")) continue;
        evaluate->earlier = value_set_key_take(evaluate->earlier, value_ref(value_get(one, "key")), value_ref(one));
    }
}

static int32_t open_results(struct evaluate *evaluate, struct error *error) {
    bool resumes = argument_given(evaluate->arguments, "resume");
    tn_value earlier = NULL;
    size_t whole = 0;
    if (!evaluate->path) return TN_OK;
    struct stat status;
    bool there = stat(evaluate->path, &status) == 0 && S_ISREG(status.st_mode);
    if (there && !resumes)
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "%s exists already: continue it with --resume, or name another file", evaluate->path);
    if (there && !(earlier = read_results(evaluate->path, &whole, error))) return TN_INVALID;
    if (there && truncate(evaluate->path, (off_t)whole) != 0)
        error_set(error, TN_ERROR, "ERROR", "cannot write %s: %s", evaluate->path, strerror(errno));
    if (earlier) keep_results(evaluate, earlier);
    value_unref(earlier);
    if (error->code) return TN_ERROR;
    evaluate->out = fopen(evaluate->path, "ae");
    if (evaluate->out) return TN_OK;
    return error_set(error, TN_ERROR, "ERROR", "cannot write %s: %s", evaluate->path, strerror(errno));
}

/* ---- Results ---- */

static void draw_progress(const struct evaluate *evaluate) {
    if (evaluate->progress) fprintf(stderr, "\r%zu of %zu", evaluate->done, evaluate->total);
}

static bool evaluate_knows(void *user, tn_value key) {
    struct evaluate *evaluate = user;
    tn_value result = value_get_key(evaluate->earlier, key);
    if (!result) return false;
    evaluate->done++;
    evaluate->results = value_push_take(evaluate->results, value_ref(result));
    return true;
}

static void evaluate_on_result(void *user, tn_value result) {
    struct evaluate *evaluate = user;
    evaluate->done++;
    evaluate->results = value_push_take(evaluate->results, value_ref(result));
    if (evaluate->out) {
        char *line = json_text(result, JSON_COMPACT);
        bool written = fputs(line, evaluate->out) >= 0 && fputc('\n', evaluate->out) >= 0 && fflush(evaluate->out) == 0;
        mem_free(line);
        if (!written && !evaluate->lost)
            command_warn("cannot write %s: %s; the evaluation is cancelled", evaluate->path, strerror(errno));
        if (!written) {
            evaluate->lost = true;
            evaluate_cancel = true; /* the other runs can cost money */
        }
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

static int32_t bind_models(struct host *host, tn_value bindings, struct error *error) {
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(bindings); i++)
        status = model_bind_value(host_config(host), value_chars(value_key_at(bindings, i), NULL),
                                  value_value_at(bindings, i), error);
    return status;
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

static int evaluate_pair(struct evaluate *evaluate, size_t document, size_t model) {
    const struct suite *suite = evaluate->suite;
    struct host *host = command_host(evaluate->arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    struct error error = ERROR_INIT;
    char *path = suite_file(evaluate, value_chars(value_value_at(suite->documents, document), NULL));
    struct graph *graph = NULL;
    int code = COMMAND_OK;
    if (bind_models(host, value_value_at(suite->models, model), &error) != TN_OK)
        code = command_report_error(COMMAND_USAGE, &error);
    else
        graph = command_open_graph_file(evaluate->arguments, host, path, &code);
    if (graph) code = evaluate_graph(evaluate, host, graph, document, model);
    graph_unref(graph);
    mem_free(path);
    error_finish(&error);
    host_free(host);
    return code;
}

/* ---- The report ---- */

static double row_number(tn_value row, const char *key) {
    tn_value value = value_get(row, key);
    return value ? value_to_double(value) : 0;
}

static void print_pairs(tn_value pairs) {
    command_print_line(stdout, "%-24s %-16s %6s %6s %6s %6s %10s %8s %8s", "document", "model", "passed", "failed",
                       "errors", "rate", "cost", "p50 ms", "p95 ms");
    for (size_t i = 0; i < value_count(pairs); i++) {
        tn_value row = value_at(pairs, i), meets = value_get(row, "meets");
        const char *model = command_text(row, "model", "");
        command_print_line(stdout, "%-24s %-16s %6.0f %6.0f %6.0f %5.1f%% %10.4g %8.0f %8.0f%s",
                           command_text(row, "document", ""), *model ? model : "-", row_number(row, "passed"),
                           row_number(row, "failed"), row_number(row, "errors"), 100 * row_number(row, "pass_rate"),
                           row_number(row, "cost"), row_number(row, "p50_ms"), row_number(row, "p95_ms"),
                           value_to_bool(meets) ? "" : "  below the thresholds");
    }
}

/* The first reason why a run did not pass. */
static const char *result_why(tn_value result) {
    tn_value checks = value_get(result, "checks"), error = value_get(result, "error");
    if (error) return command_text(error, "message", "");
    for (size_t i = 0; i < value_count(checks); i++) {
        tn_value check = value_at(checks, i), passed = value_get(check, "passed");
        if (!value_to_bool(passed)) return command_text(check, "why", command_text(check, "kind", ""));
    }
    return "";
}

static void print_failures(tn_value results) {
    size_t shown = 0, more = 0;
    for (size_t i = 0; i < value_count(results); i++) {
        tn_value one = value_at(results, i);
        const char *status = command_text(one, "status", "");
        if (strcmp(status, "passed") == 0) continue;
        if (shown == SHOWN_CASES) {
            more++;
            continue;
        }
        if (!shown++) fputs("\n", stdout);
        const char *model = command_text(one, "model", "");
        command_print_line(stdout, "%s %s/%s%s%s: %s", strcmp(status, "error") == 0 ? "!" : "✗",
                           command_text(one, "document", ""), command_text(one, "case", ""), *model ? " with " : "",
                           model, result_why(one));
    }
    if (more) command_printf(stdout, "… and %zu more, which --json and --out have\n", more);
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

static void print_changes(tn_value changes, const char *against) {
    size_t count = value_count(changes);
    if (!against) return;
    command_printf(stdout, "\n%s %s\n", count ? "changes since" : "no case has changed since", against);
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
        print_pairs(value_get(summary, "pairs"));
        print_failures(evaluate->results);
        print_differences(value_get(summary, "differences"));
        print_changes(value_get(summary, "changes"), argument_text(evaluate->arguments, "against"));
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
    size_t whole;
    if (!source) return COMMAND_USAGE;
    evaluate->folder = files_folder_of(path);
    evaluate->suite = suite_read(source, evaluate_read, evaluate, error);
    source_unref(source);
    if (!evaluate->suite) return COMMAND_INVALID;
    if (only && !suite_has_case(evaluate->suite, only)) {
        error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the suite has no case `%s`", only);
        return COMMAND_USAGE;
    }
    if (against && !(evaluate->before = read_results(against, &whole, error))) return COMMAND_USAGE;
    return open_results(evaluate, error) == TN_OK ? COMMAND_OK : COMMAND_USAGE;
}

static int evaluate_pairs(struct evaluate *evaluate) {
    const struct suite *suite = evaluate->suite;
    size_t documents = value_count(suite->documents), models = value_count(suite->models);
    size_t cases = argument_given(evaluate->arguments, "case") ? 1 : suite->case_count;
    int code = COMMAND_OK;
    evaluate->total = documents * models * cases * suite->repeat;
    evaluate->progress = isatty(STDERR_FILENO) && !argument_given(evaluate->arguments, "quiet");
    for (size_t i = 0; i < documents * models && code == COMMAND_OK && !evaluate_cancel; i++)
        code = evaluate_pair(evaluate, i / models, i % models);
    if (evaluate->progress) fputs("\r\033[K", stderr);
    return code;
}

static void evaluate_finish(struct evaluate *evaluate) {
    if (evaluate->out) fclose(evaluate->out);
    suite_free(evaluate->suite);
    mem_free(evaluate->folder);
    value_unref(evaluate->results);
    value_unref(evaluate->earlier);
    value_unref(evaluate->before);
}

int command_evaluate(const struct arguments *arguments) {
    struct evaluate evaluate = {.arguments = arguments,
                                .results = value_array(),
                                .earlier = value_object(),
                                .path = argument_text(arguments, "out")};
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    evaluate_cancel = false;
    if (argument_given(arguments, "resume") && !evaluate.path)
        code = command_report(COMMAND_USAGE, "--resume needs --out FILE, which has the results so far");
    else if ((code = evaluate_open(&evaluate, &error)) != COMMAND_OK)
        code = command_report_error(code, &error);
    else
        code = evaluate_pairs(&evaluate);
    if (code == COMMAND_OK && evaluate_cancel) {
        code = evaluate.lost ? COMMAND_RUN_FAILED : COMMAND_CANCELLED;
        command_warn("%zu of %zu runs have a result%s", evaluate.done, evaluate.total,
                     evaluate.path ? "; continue with --resume" : "");
    } else if (code == COMMAND_OK) {
        code = evaluate_report(&evaluate);
    }
    error_finish(&error);
    evaluate_finish(&evaluate);
    return code;
}

/*
 * run.c - `tenon run`: one run, or a batch of them.
 *
 * Standard output gets the result (or, with --json, the events and the result, a line each); the live view, progress
 * and errors go to standard error (live.c draws).
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/text/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/command/command.h"
#include "host/command/live.h"
#include "host/engine/graph.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/runnable/execution.h"
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

/* Opens FILE as a graph; *code says why not. */
/* Is the document itself right, and only plugins that it needs cannot be used? */
static bool all_of_plugins(const struct diagnostics *found) {
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *it = diagnostics_at(found, i);
        if (it->severity == DIAGNOSTIC_ERROR && it->code != ADL_E068) return false;
    }
    return true;
}

static struct graph *open_graph(const struct arguments *arguments, struct host *host, int *code) {
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

#define PATH_NAMES_MAX 64 /* of one --set */

static bool refuse_path(const char *setting, const char *equals, struct error *error) {
    error_set(error, TN_INVALID, "INVALID_INPUT",
              "--set: found the path `%.*s`, expected at most %d names with dots between them, as in user.name",
              (int)(equals - setting), setting, PATH_NAMES_MAX);
    return false;
}

/* --set a.b=value: the value is JSON where it reads as JSON, else a string. */
static bool set_path(tn_value *input, const char *setting, struct error *error) {
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "--set: found `%s`, expected PATH=VALUE, as in user.name=Ada",
                  setting);
        return false;
    }
    tn_value value = NULL;
    if (json_read(equals + 1, strlen(equals + 1), NULL, &value, NULL) != TN_OK) {
        value = value_string(equals + 1, strlen(equals + 1));
        if (!value) {
            error_set(error, TN_INVALID, "INVALID_INPUT", "--set: the value of `%.*s` is not UTF-8",
                      (int)(equals - setting), setting);
            return false;
        }
    }
    /* Inside out: the last part first, around it the objects that are there already. */
    tn_value at[PATH_NAMES_MAX];
    size_t depth = 0;
    const char *part = setting;
    at[0] = *input;
    for (const char *dot; (dot = memchr(part, '.', (size_t)(equals - part))); part = dot + 1) {
        tn_value inner = value_get_n(at[depth], part, (size_t)(dot - part));
        if (depth + 1 == PATH_NAMES_MAX || dot == part) {
            value_unref(value);
            return refuse_path(setting, equals, error);
        }
        if (inner && !value_is(inner, TN_OBJECT) && !value_is(inner, TN_NULL)) {
            error_set(error, TN_INVALID, "INVALID_INPUT", "--set %s: found %s at `%.*s`, expected an object", setting,
                      value_kind_name(value_kind(inner)), (int)(dot - setting), setting);
            value_unref(value);
            return false;
        }
        at[++depth] = inner && value_is(inner, TN_OBJECT) ? inner : value_object();
    }
    if (part == equals) {
        value_unref(value);
        return refuse_path(setting, equals, error);
    }
    const char *end = equals;
    for (;;) {
        const char *begin = end;
        while (begin > setting && begin[-1] != '.') begin--;
        tn_value key = value_string(begin, (size_t)(end - begin));
        if (!key) key = value_text("?");
        value = value_set_key_take(value_ref(at[depth]), key, value);
        if (depth-- == 0) break;
        end = begin - 1;
    }
    value_unref(*input);
    *input = value;
    return true;
}

static tn_value read_input(const struct arguments *arguments, struct error *error) {
    const char *text = argument_text(arguments, "input");
    tn_value input = text ? command_json(text, "--input", error) : value_object();
    if (!input) return NULL;
    if (argument_given(arguments, "set") && !value_is(input, TN_OBJECT)) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "--input: found %s, expected an object for --set to change",
                  value_kind_name(value_kind(input)));
        value_unref(input);
        return NULL;
    }
    for (size_t i = 0; i < argument_count(arguments, "set"); i++) {
        if (set_path(&input, argument_at(arguments, "set", i), error)) continue;
        value_unref(input);
        return NULL;
    }
    return input;
}

/* ---- One run ---- */

struct single {
    struct host *host;
    struct execution *execution;
    struct live *live; /* NULL where there is no terminal */
    bool json, warns, ended, cancelled;
    unsigned shown;      /* modes asked for by --stream */
    uint32_t quiet_step; /* in which on_quiet has said something already */
};

static void print_line(tn_value value) {
    char *text = json_text(value, JSON_COMPACT);
    puts(text);
    mem_free(text);
}

/* What whoever wrote the document has probably not meant. */
static void warn_of(struct single *single, tn_value event) {
    tn_value node = value_get(event, "node");
    live_clear(single->live);
    command_fail(0, "warning: %s%s%s", node ? value_chars(node, NULL) : "", node ? ": " : "",
                 value_chars(value_get(event, "message"), NULL));
}

static bool on_event(void *user, tn_value event) {
    struct single *single = user;
    const char *type = value_chars(value_get(event, "type"), NULL);
    unsigned mode = run_modes_parse(type, NULL);
    if (single->live && mode & LIVE_MODES) live_event(single->live, event);
    if (!(mode & single->shown)) {
        if (single->warns && value_text_is(value_get(event, "level"), "warning")) warn_of(single, event);
        return true;
    }
    if (single->json) {
        print_line(event);
        (void)command_flush();
    } else if (!single->live) {
        char *text = json_text(event, JSON_COMPACT);
        fprintf(stderr, "%s\n", text);
        mem_free(text);
    }
    return true;
}

#define QUIET_MS    5000 /* without anything that could bring the run on, before that is said */
#define QUIET_NODES 3u   /* nodes named then */

/* A thread of a plugin's own may still end the task: so it is said what is waited for, and no more. */
static void on_quiet(void *user) {
    struct single *single = user;
    const struct run *run = execution_run(single->execution);
    if (single->quiet_step == run_steps(run)) return;
    single->quiet_step = run_steps(run);
    tn_value open = run_open(run);
    live_clear(single->live);
    for (size_t i = 0; i < value_count(open) && i < QUIET_NODES; i++) {
        tn_value entry = value_at(open, i), component = value_get(entry, "component");
        command_fail(
            0,
            "warning: node `%s`%s%s%s%s%s has been started and has not ended, and nothing that the host knows "
            "of could end it: unless a thread of the plugin's does, the run waits for ever; a `timeout` of the "
            "node bounds that",
            value_chars(value_get(entry, "node"), NULL), component ? " (" : "",
            component ? value_chars(component, NULL) : "", component ? ", of the plugin " : "",
            component ? value_chars(value_get(entry, "plugin"), NULL) : "", component ? ")" : "");
    }
    if (value_count(open) > QUIET_NODES)
        command_fail(0, "warning: so have %zu nodes more", value_count(open) - QUIET_NODES);
    value_unref(open);
}

static void on_ended(struct execution *execution, void *user) {
    (void)execution;
    ((struct single *)user)->ended = true;
}

static bool is_over(void *user) {
    struct single *single = user;
    if (command_interrupted() && !single->cancelled) {
        single->cancelled = true;
        if (isatty(STDERR_FILENO)) fputs("\ncancelling; Ctrl-C again ends at once\n", stderr);
        execution_cancel(single->execution);
    }
    if (single->json && !single->cancelled && !command_flush()) { /* whoever read the events has gone */
        single->cancelled = true;
        execution_cancel(single->execution);
    }
    return single->ended;
}

static int code_of(enum run_status status) {
    switch (status) {
    case RUN_DONE:
    case RUN_STOPPED: return COMMAND_OK;
    case RUN_INTERRUPTED: return COMMAND_WAITING;
    case RUN_CANCELLED: return COMMAND_CANCELLED;
    default: return COMMAND_RUN_FAILED;
    }
}

/* {"type":"result","status":…,"state":…}: the last line of --json. */
static void print_result_event(struct run *run) {
    enum run_status status = run_status(run);
    tn_value event = value_set_take(value_object_reserve(6), "type", value_text("result"));
    event = value_set_take(event, "status", value_text(run_status_name(status)));
    event = value_set_take(event, "run_id", value_text(run_id(run)));
    event = value_set_take(event, "steps", value_int(run_steps(run)));
    event = value_set_take(event, "state", status == RUN_DONE ? run_result(run) : run_state(run));
    if (status == RUN_FAILED || status == RUN_CANCELLED)
        event = value_set_take(event, "error", error_to_value(run_error(run)));
    if (status == RUN_INTERRUPTED) event = value_set_take(event, "interrupts", run_interrupts(run));
    print_line(event);
    value_unref(event);
}

static void print_outcome(const struct single *single) {
    struct run *run = execution_run(single->execution);
    enum run_status status = run_status(run);
    if (single->json) {
        print_result_event(run);
    } else if (status == RUN_DONE || status == RUN_STOPPED || status == RUN_INTERRUPTED) {
        tn_value result = status == RUN_DONE ? run_result(run) : run_state(run);
        command_print(result);
        value_unref(result);
    }
    if (single->json && !command_flush()) return;
    if (status == RUN_FAILED || status == RUN_CANCELLED) command_fail_error(0, run_error(run));
    if (status == RUN_STOPPED) command_fail(0, "the run stopped where several successors were due");
    if (status == RUN_INTERRUPTED) {
        tn_value waits = run_interrupts(run);
        char *text = json_text(waits, JSON_COMPACT);
        command_fail(0, "the run waits for answers: %s", text);
        mem_free(text);
        value_unref(waits);
    }
}

static int run_single(const struct arguments *arguments, struct host *host, struct graph *graph,
                      struct run_options *options) {
    struct error error = ERROR_INIT;
    struct single single = {.host = host, .json = argument_given(arguments, "json")};
    const char *modes = argument_text(arguments, "stream");
    if (modes && !(single.shown = run_modes_parse(modes, &error))) {
        int code = command_fail_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    if (single.json && !modes) single.shown = RUN_MODE_UPDATES | RUN_MODE_CUSTOM | RUN_MODE_MESSAGES | RUN_MODE_TASKS;
    tn_value input = read_input(arguments, &error);
    if (!input) {
        int code = command_fail_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    bool terminal = isatty(STDERR_FILENO) && !single.json && !argument_given(arguments, "quiet");
    if (terminal) single.live = live_new(graph, command_colour(arguments, STDERR_FILENO));
    single.warns = !argument_given(arguments, "quiet");
    options->modes = single.shown | (single.live ? LIVE_MODES : 0u) | (single.warns ? (unsigned)RUN_MODE_DEBUG : 0u);
    options->event = options->modes ? on_event : NULL;
    options->user = &single;
    command_watch_signals(host);
    single.execution = execution_new(host, &graph->callable, options, on_ended, &single);
    single.ended = execution_start(single.execution, input);
    value_unref(input);
    if (single.warns) loop_on_quiet(host->loop, QUIET_MS, on_quiet, &single);
    bool over = loop_run(host->loop, is_over, &single);
    loop_on_quiet(host->loop, 0, NULL, NULL);
    live_end(single.live, execution_run(single.execution));
    int code;
    if (over) {
        print_outcome(&single);
        code = code_of(run_status(execution_run(single.execution)));
        if (code == COMMAND_CANCELLED && !command_interrupted()) code = COMMAND_RUN_FAILED;
    } else {
        code = command_fail(COMMAND_RUN_FAILED, "nothing is left that could bring the run on");
    }
    if (over) execution_free(single.execution);
    return code;
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
        print_line(result);
        return;
    }
    tn_value event = value_set_take(value_object_reserve(3), "type", value_text("result"));
    event = value_set_take(event, "line", value_int((int64_t)line));
    for (size_t i = 0, n = value_count(result); i < n; i++)
        event = value_set_key_take(event, value_ref(value_key_at(result, i)), value_ref(value_value_at(result, i)));
    print_line(event);
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
    if ((count & (count - 1)) == 0) many->lines = mem_array(many->lines, count ? count * 2 : 1, sizeof *many->lines);
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
        return command_fail(COMMAND_CANCELLED, "the batch was cancelled: %zu of %zu runs failed or did not end",
                            many.failed, total);
    if (!many.failed) return COMMAND_OK;
    return command_fail(COMMAND_RUN_FAILED, "%zu of %zu runs failed", many.failed, total);
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
    struct graph *graph = code ? NULL : open_graph(arguments, host, &code);
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

/*
 * run_single.c - `tenon run` without --batch: one run, its input, its events, and the thread that it may be for.
 *
 * SIGTERM lets the step under way of a thread's run end and stops there, to be resumed; after DRAIN_MS, a second one,
 * or Ctrl-C, it cancels, as it does at once where there is no thread. What a thread has committed stays in any case.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/command/approve.h"
#include "host/command/live.h"
#include "host/command/run.h"
#include "host/command/waits.h"
#include "host/engine/graph.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/runnable/execution.h"
#include "host/runnable/thread_run.h"
#include "host/thread/log.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

tn_value command_input(const struct arguments *arguments, struct error *error) {
    const char *text = argument_text(arguments, "input");
    tn_value input = text ? command_json(text, "--input", error) : value_object();
    tn_value whole = input ? command_input_on(arguments, input, "--input", error) : NULL;
    value_unref(input);
    return whole;
}

tn_value command_input_on(const struct arguments *arguments, tn_value given, const char *what, struct error *error) {
    tn_value input = value_ref(given);
    if (argument_given(arguments, "set") && !value_is(input, TN_OBJECT)) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "%s: found %s, expected an object for --set to change", what,
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

#define DRAIN_MS 10000 /* from SIGTERM until what is still under way is cancelled */

struct single {
    struct host *host;
    struct execution *execution;
    struct live *live; /* NULL where there is no terminal */
    bool json, warns, ended, draining, cancelled;
    unsigned shown;             /* modes asked for by --stream */
    uint32_t quiet_step;        /* in which on_quiet has said something already */
    struct loop_timer deadline; /* of draining */
    const char *thread;         /* its id, or NULL */
    struct approver approver;   /* whoever sits at the terminal */
    tn_value answers;           /* that the thread is to be gone on with; NULL */
    const char *document;
};

void run_print_line(tn_value value) {
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
        run_print_line(event);
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
        command_fail(0, "warning: the same holds of %zu more", value_count(open) - QUIET_NODES);
    value_unref(open);
}

static void on_ended(struct execution *execution, void *user) {
    (void)execution;
    ((struct single *)user)->ended = true;
}

static void on_deadline(struct loop_timer *timer) {
    struct single *single = (struct single *)(void *)((char *)timer - offsetof(struct single, deadline));
    execution_cancel(single->execution);
}

static bool is_over(void *user) {
    struct single *single = user;
    bool drains = single->thread != NULL; /* what is not kept cannot be gone on with */
    if (command_terminated() && drains && !single->draining) {
        single->draining = true;
        run_drain(execution_run(single->execution));
        loop_timer_start(single->host->loop, &single->deadline, DRAIN_MS, on_deadline);
    }
    if ((command_interrupted() || (command_terminated() && !drains)) && !single->cancelled) {
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
    tn_value used = run_used(run);
    if (used) event = value_set_take(event, "usage", used);
    event = value_set_take(event, "state", status == RUN_DONE ? run_result(run) : run_state(run));
    if (status == RUN_FAILED || status == RUN_CANCELLED)
        event = value_set_take(event, "error", error_to_value(run_error(run)));
    if (status == RUN_INTERRUPTED) event = value_set_take(event, "interrupts", run_interrupts(run));
    run_print_line(event);
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
    if (status == RUN_STOPPED && single->draining)
        command_fail(0, "the run stopped at the end of step %u, as it was told to; --resume goes on", run_steps(run));
    else if (status == RUN_STOPPED)
        command_fail(0, "the run stopped where several successors were due");
    if (status == RUN_INTERRUPTED) {
        tn_value waits = run_interrupts(run);
        command_fail(0, "the run waits for answers:");
        if (!single->json) waits_print(stderr, waits, NULL, single->thread ? "--answer " : NULL);
        if (single->thread)
            command_fail(0, "give them with: tenon run %s --thread %s --resume --answer ID=VALUE", single->document,
                         single->thread);
        else
            command_fail(0,
                         "they cannot be given, as nothing of a run without a thread is kept; run it with `tenon run "
                         "%s --thread THREAD`, then answer with `tenon thread answer THREAD ID=VALUE` and go on with "
                         "`tenon run %s --thread THREAD --resume`",
                         single->document, single->document);
        value_unref(waits);
    }
}

/* ---- For a thread ---- */

/* ID=VALUE into `answers`, which is taken; a value that is no JSON is a text. NULL where it is none. */
static tn_value add_answer_take(tn_value answers, const char *text, struct error *error) {
    const char *equals = strchr(text, '=');
    tn_value id = equals && equals > text ? value_string(text, (size_t)(equals - text)) : NULL, value = NULL;
    if (id && json_read(equals + 1, strlen(equals + 1), NULL, &value, NULL) != TN_OK)
        value = value_string(equals + 1, strlen(equals + 1));
    if (id && value) return value_set_key_take(answers, id, value);
    error_set(error, TN_INVALID, "INVALID_INPUT",
              "found the answer `%s`, expected ID=VALUE, the id being one of those that the thread waits for", text);
    value_unref(id);
    value_unref(answers);
    return NULL;
}

static tn_value read_answers(const struct arguments *arguments, struct error *error) {
    tn_value answers = value_object();
    for (size_t i = 0; answers && i < argument_count(arguments, "answer"); i++)
        answers = add_answer_take(answers, argument_at(arguments, "answer", i), error);
    return answers;
}

tn_value command_answers(const struct arguments *arguments, size_t first, struct error *error) {
    tn_value answers = value_object();
    for (size_t i = first; answers && i < operand_count(arguments); i++)
        answers = add_answer_take(answers, operand_at(arguments, i), error);
    return answers;
}

/* Options that say something about a thread, and there is none. */
static bool needs_thread(const struct arguments *arguments) {
    static const char *const names[] = {"resume", "replace", "answer", "accept-changes", "durability"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!argument_given(arguments, names[i])) continue;
        command_fail(0, "--%s is about a thread; say which with --thread ID", names[i]);
        return true;
    }
    return false;
}

/* *code is what to end with where it is refused. */
static bool read_request(const struct arguments *arguments, struct thread_request *request, int *code) {
    const char *durability = argument_text(arguments, "durability");
    struct error error = ERROR_INIT;
    bool resume = argument_given(arguments, "resume"), replace = argument_given(arguments, "replace");
    *code = COMMAND_USAGE;
    if (resume && (replace || argument_given(arguments, "input") || argument_given(arguments, "set"))) {
        command_fail(0, "--resume goes on with what the thread was at: it takes no input, and replaces nothing");
        return false;
    }
    if (!resume && argument_given(arguments, "answer")) {
        command_fail(0, "--answer goes with --resume");
        return false;
    }
    request->mode = resume ? THREAD_RESUME : replace ? THREAD_REPLACE : THREAD_INPUT;
    request->accept_changes = argument_given(arguments, "accept-changes");
    request->durability = durability && strcmp(durability, "exit") == 0 ? RUN_DURABLE_EXIT : RUN_DURABLE_SYNC;
    request->document = operand_at(arguments, 0);
    request->answers = read_answers(arguments, &error);
    if (!request->answers) command_fail_error(0, &error);
    error_finish(&error);
    return request->answers != NULL;
}

/*
 * Nothing goes on without an answer, and none has been given: the run stands where it stood, to be asked about and told
 * of as one that has just come there.
 */
static bool still_waits(const struct run *run, const struct thread_request *request) {
    if (request->mode != THREAD_RESUME || run_status(run) != RUN_INTERRUPTED) return false;
    tn_value given = value_get(value_get(run_loaded(run), "record"), "answers");
    return value_count(request->answers) == 0 && value_count(given) == 0;
}

/* True: begun, or ended at once. */
static bool begin(struct single *single, const struct thread_request *request, tn_value input, struct error *error) {
    if (!request->id) {
        single->ended = execution_start(single->execution, input);
        return true;
    }
    struct run *run = execution_run(single->execution);
    if (thread_begin(run, request, input, &single->ended, error) == TN_OK) return true;
    single->ended = still_waits(run, request);
    if (single->ended) error_finish(error);
    return single->ended;
}

/* Whether tools may be used that the run waits to use. NULL: it does not, nobody is there, or they left. */
static tn_value ask(struct single *single) {
    struct run *run = execution_run(single->execution);
    if (single->json || run_status(run) != RUN_INTERRUPTED) return NULL;
    tn_value waits = run_interrupts(run), approvals = approvals_of(waits), answers = NULL;
    if (value_count(approvals)) {
        live_clear(single->live);
        answers = approver_ask(&single->approver, approvals);
    }
    value_unref(approvals);
    value_unref(waits);
    return answers;
}

/* Until it has come to an end, or waits for what nobody here answers. A thread is gone on with from its store. */
static bool run_on(struct single *single, struct error *error) {
    bool over = true;
    while (over) {
        over = single->ended || loop_run(single->host->loop, is_over, single);
        tn_value answers = over ? ask(single) : NULL;
        if (!answers) break;
        if (single->thread) {
            single->answers = answers;
            break;
        }
        int32_t status = run_resume(execution_run(single->execution), answers, &single->ended, error);
        value_unref(answers);
        if (status != TN_OK) break;
    }
    return over;
}

static int wait_for_end(struct single *single) {
    struct host *host = single->host;
    struct error error = ERROR_INIT;
    if (single->warns) loop_on_quiet(host->loop, QUIET_MS, on_quiet, single);
    bool over = run_on(single, &error);
    loop_on_quiet(host->loop, 0, NULL, NULL);
    live_end(single->live, execution_run(single->execution));
    if (!over) return command_fail(COMMAND_RUN_FAILED, "nothing is left that could bring the run on");
    loop_timer_stop(host->loop, &single->deadline);
    if (error.code) command_fail_error(0, &error);
    error_finish(&error);
    if (!single->answers) print_outcome(single);
    int code = code_of(run_status(execution_run(single->execution)));
    if (code == COMMAND_CANCELLED && !command_interrupted() && !command_terminated()) code = COMMAND_RUN_FAILED;
    execution_free(single->execution);
    return code;
}

static int refuse(int code, struct error *error) {
    command_fail_error(0, error);
    error_finish(error);
    return code;
}

static int run_prepared(const struct arguments *arguments, struct single *single, struct graph *graph,
                        const struct run_options *given, const struct thread_request *request, tn_value input) {
    struct error error = ERROR_INIT;
    struct run_options options = *given; /* what is added from the thread's record lives as long as that */
    struct host *host = single->host;
    if (request->id && thread_prepare_wait(host, graph, request, &options, &error) != TN_OK)
        return refuse(COMMAND_RUN_FAILED, &error);
    bool terminal = isatty(STDERR_FILENO) && !single->json && !argument_given(arguments, "quiet");
    if (terminal) single->live = live_new(graph, command_colour(arguments, STDERR_FILENO));
    single->warns = !argument_given(arguments, "quiet");
    options.modes = single->shown | (single->live ? LIVE_MODES : 0u) | (single->warns ? (unsigned)RUN_MODE_DEBUG : 0u);
    options.event = options.modes ? on_event : NULL;
    options.user = single;
    command_watch_signals(host);
    single->execution = execution_new(host, &graph->callable, &options, on_ended, single);
    int code;
    if (begin(single, request, input, &error)) {
        code = wait_for_end(single);
    } else {
        code = refuse(COMMAND_RUN_FAILED, &error);
        live_end(single->live, execution_run(single->execution));
        execution_free(single->execution);
    }
    thread_log_free(options.log);
    value_unref(options.loaded);
    return code;
}

int run_single(const struct arguments *arguments, struct host *host, struct graph *graph, struct run_options *options) {
    struct error error = ERROR_INIT;
    struct single single = {.host = host, .json = argument_given(arguments, "json")};
    struct thread_request request = {.id = argument_text(arguments, "thread")};
    const char *modes = argument_text(arguments, "stream");
    int code = COMMAND_USAGE;
    if (modes && !(single.shown = run_modes_parse(modes, &error))) return refuse(COMMAND_USAGE, &error);
    if (single.json && !modes) single.shown = RUN_MODE_UPDATES | RUN_MODE_CUSTOM | RUN_MODE_MESSAGES | RUN_MODE_TASKS;
    if (!request.id && needs_thread(arguments)) return COMMAND_USAGE;
    if (request.id && !read_request(arguments, &request, &code)) return code;
    tn_value input = command_input(arguments, &error);
    single.thread = request.id;
    single.document = operand_at(arguments, 0);
    approver_init(&single.approver);
    code = input ? run_prepared(arguments, &single, graph, options, &request, input) : refuse(COMMAND_USAGE, &error);
    while (single.answers) {
        value_unref(request.answers);
        request.answers = single.answers;
        request.mode = THREAD_RESUME;
        single.answers = NULL;
        single.ended = false;
        code = run_prepared(arguments, &single, graph, options, &request, NULL);
    }
    approver_finish(&single.approver);
    value_unref(request.answers);
    value_unref(input);
    return code;
}

/*
 * run_outcome.c - the options of one run, its events, and its outcome, for people and as JSON.
 */
#include "host/program/run_outcome.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "host/engine/graph/run.h"
#include "host/program/command.h"
#include "host/program/command_input.h"
#include "host/program/command_run.h"
#include "host/program/live.h"
#include "host/program/paste.h"
#include "host/program/questions.h"
#include <string.h>
#include <unistd.h>

/* ---- Options ---- */

bool run_read_modes(const struct arguments *arguments, unsigned *modes) {
    const char *given = argument_text(arguments, "stream");
    struct error error = ERROR_INIT;
    *modes = 0;
    if (given)
        *modes = run_modes_parse(given, &error);
    else if (argument_given(arguments, "json"))
        *modes = RUN_MODE_UPDATES | RUN_MODE_CUSTOM | RUN_MODE_MESSAGES | RUN_MODE_TASKS;
    if (error.code) command_warn_error(&error);
    bool good = !error.code;
    error_finish(&error);
    return good;
}

bool run_lacks_thread(const struct arguments *arguments) {
    static const char *const names[] = {"resume", "replace", "answer", "accept-changes", "durability", "force"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!argument_given(arguments, names[i])) continue;
        command_warn("--%s needs --thread ID", names[i]);
        return true;
    }
    return false;
}

bool run_read_thread_request(const struct arguments *arguments, struct thread_request *request) {
    const char *durability = argument_text(arguments, "durability");
    struct error error = ERROR_INIT;
    bool resume = argument_given(arguments, "resume"), replace = argument_given(arguments, "replace");
    if (resume && (replace || argument_given(arguments, "input") || argument_given(arguments, "set"))) {
        command_warn("--resume continues the thread's run: it cannot be used with --input, --set or --replace");
        return false;
    }
    if (!resume && !replace && argument_given(arguments, "force")) {
        command_warn("--force needs --resume or --replace");
        return false;
    }
    if (!resume && argument_given(arguments, "answer")) {
        command_warn("--answer needs --resume");
        return false;
    }
    request->mode = resume ? THREAD_RESUME : replace ? THREAD_REPLACE : THREAD_INPUT;
    request->force = argument_given(arguments, "force");
    request->accept_changes = argument_given(arguments, "accept-changes");
    request->durability = durability && strcmp(durability, "exit") == 0 ? RUN_DURABLE_EXIT : RUN_DURABLE_SYNC;
    request->document = operand_at(arguments, 0);
    request->answers = command_read_answer_options(arguments, &error);
    if (!request->answers) command_warn_error(&error);
    error_finish(&error);
    return request->answers != NULL;
}

/* ---- Events ---- */

void run_print_line(tn_value value) { command_put_json(stdout, value, JSON_COMPACT); }

/* Prints a debug event of level "warning", which reports a probable mistake in the document. */
static void print_warning_event(tn_value event) {
    tn_value node = value_get(event, "node");
    command_warn("warning: %s%s%s", node ? value_chars(node, NULL) : "", node ? ": " : "",
                 value_chars(value_get(event, "message"), NULL));
}

void run_print_event(tn_value event, unsigned modes, bool json, bool quiet, struct live *live) {
    const char *type = value_chars(value_get(event, "type"), NULL);
    bool shown = run_modes_parse(type, NULL) & modes; /* the type of an event is the name of its mode */
    if (shown && json) {
        run_print_line(event);
        (void)command_flush();
    } else if (shown) {
        command_put_json(stderr, event, JSON_COMPACT);
    } else if (!quiet && value_text_is(value_get(event, "level"), "warning")) {
        live_clear(live);
        print_warning_event(event);
    }
}

/* ---- The outcome ---- */

static bool outcome_is(const struct run_outcome *outcome, enum run_status status) {
    return value_text_is(value_get(outcome->report, "status"), run_status_name(status));
}

/*
 * True if a signal ended the program at a question. If the run has no thread, SIGTERM loses the question, as Ctrl-C
 * does; otherwise the thread waits for the answer.
 */
static bool outcome_was_at_question(const struct run_outcome *outcome) {
    return outcome_is(outcome, RUN_INTERRUPTED) &&
           (command_got_sigint() || (command_got_sigterm() && !outcome->request->id));
}

static int outcome_code(const struct run_outcome *outcome) {
    if (outcome_was_at_question(outcome)) return COMMAND_CANCELLED;
    /* Stopped: drained, or by the document's strategy; --resume continues it. */
    if (outcome_is(outcome, RUN_DONE) || outcome_is(outcome, RUN_STOPPED)) return COMMAND_OK;
    if (outcome_is(outcome, RUN_INTERRUPTED)) return COMMAND_WAITING;
    /* Without a signal, the run was cancelled because output was lost: the reader of the events closed the pipe. */
    bool signalled = command_got_signal();
    return outcome_is(outcome, RUN_CANCELLED) && signalled ? COMMAND_CANCELLED : COMMAND_RUN_FAILED;
}

/* Prints `what`, and the command that continues the run, with answers to the interrupts (may be NULL) and `option`. */
static void outcome_print_resume(const struct run_outcome *outcome, const char *what, tn_value interrupts,
                                 const char *option) {
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    paste_run(&line, outcome->arguments, outcome->request->id, false);
    size_t asked = paste_resume(&line, interrupts);
    command_warn("%s: %s%s", asked ? "answer with" : what, buffer_cstr(&line), option);
    buffer_finish(&line);
}

/* A name for a thread: that of the document's file, without its folder and extension. */
static tn_value name_for_thread(const char *document) {
    const char *slash = strrchr(document, '/'), *name = slash ? slash + 1 : document, *dot = strrchr(name, '.');
    size_t length = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    tn_value made = length && *name != '-' ? value_string(name, length) : NULL;
    return made ? made : value_text("run");
}

static void outcome_print_needs_thread(const struct run_outcome *outcome) {
    tn_value name = name_for_thread(operand_at(outcome->arguments, 0));
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    paste_run(&line, outcome->arguments, value_chars(name, NULL), true);
    command_warn("a run without a thread is not saved and cannot be continued later. Run it again with a thread: %s",
                 buffer_cstr(&line));
    buffer_finish(&line);
    value_unref(name);
}

/* Prints what the run waits for, and how to continue it. */
static void outcome_print_questions(const struct run_outcome *outcome) {
    tn_value questions = value_get(outcome->report, "interrupts");
    bool asks = false;
    for (size_t i = 0; i < value_count(questions); i++) asks |= value_get(value_at(questions, i), "payload") != NULL;
    if (isatty(STDERR_FILENO)) {
        command_warn(asks ? "the run waits for answers:" : "the run is paused:");
        questions_print(stderr, questions, NULL, outcome->request->id ? "--answer " : NULL);
    } else {
        questions_warn(questions);
    }
    if (outcome->request->id)
        outcome_print_resume(outcome, "continue with", questions, "");
    else
        outcome_print_needs_thread(outcome);
}

static void outcome_print_accept(const struct run_outcome *outcome, bool replace) {
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    paste_run(&line, outcome->arguments, outcome->request->id, true);
    command_warn("continue with the changed document: %s%s --accept-changes", buffer_cstr(&line),
                 replace ? " --replace" : "");
    buffer_finish(&line);
}

/* Prints how to continue a thread that could not be used. */
static void outcome_print_remedy(const struct run_outcome *outcome, const struct error *error) {
    enum thread_mode mode = outcome->request->mode;
    bool changed = strcmp(error->code, "GRAPH_CHANGED") == 0;
    if (changed && mode == THREAD_RESUME)
        outcome_print_resume(outcome, "continue with the changed document", NULL, " --accept-changes");
    else if (changed)
        outcome_print_accept(outcome, mode == THREAD_REPLACE);
    else if (strcmp(error->code, "UNFINISHED") == 0)
        outcome_print_resume(outcome, "continue it with", NULL, "");
}

bool run_outcome_is_refusal(const struct run_outcome *outcome) {
    return outcome_is(outcome, RUN_FAILED) && !value_get(outcome->report, "state");
}

static int outcome_print_refusal(const struct run_outcome *outcome) {
    struct error error = ERROR_INIT;
    error_from_value(&error, value_get(outcome->report, "error"));
    int code = command_report_error(COMMAND_RUN_FAILED, &error);
    outcome_print_remedy(outcome, &error);
    error_finish(&error);
    return code;
}

/* The strategy stop_at_nonlinear has stopped the run. */
static void outcome_print_next(const struct run_outcome *outcome) {
    tn_value next = value_get(outcome->report, "next");
    struct buffer names;
    buffer_init(&names, SIZE_MAX);
    for (size_t i = 0; i < value_count(next); i++)
        buffer_format(&names, "%s`%s`", i ? ", " : "", value_chars(value_at(next, i), NULL));
    command_warn(
        "the run stopped because a node has several successors and the strategy is stop_at_nonlinear; next: %s",
        buffer_cstr(&names));
    buffer_finish(&names);
}

static void outcome_print_error(const struct run_outcome *outcome) {
    tn_value why = value_get(outcome->report, "error");
    struct error error = ERROR_INIT;
    if (!why) return;
    error_from_value(&error, why);
    command_warn_error(&error);
    error_finish(&error);
}

int run_outcome_print(const struct run_outcome *outcome) {
    if (run_outcome_is_refusal(outcome)) return outcome_print_refusal(outcome);
    bool stopped = outcome_is(outcome, RUN_STOPPED), interrupted = outcome_is(outcome, RUN_INTERRUPTED);
    bool lost = outcome_was_at_question(outcome) && !outcome->request->id;
    tn_value steps = value_get(outcome->report, "steps");
    if (outcome->json)
        run_print_line(outcome->report);
    else if (!lost && (stopped || interrupted || outcome_is(outcome, RUN_DONE)))
        command_print(value_get(outcome->report, "state"));
    if (outcome->json && !command_flush())
        return outcome_code(outcome); /* command_close reports that output was lost */
    outcome_print_error(outcome);
    if (stopped && outcome->draining)
        command_warn("the run stopped after step %lld, as requested", steps ? (long long)value_to_int(steps) : 0);
    else if (stopped)
        outcome_print_next(outcome);
    if (stopped && outcome->request->id) outcome_print_resume(outcome, "continue it with", NULL, "");
    if (lost)
        command_warn("the run was cancelled: it waited for an answer, and without a thread it cannot be resumed");
    else if (interrupted)
        outcome_print_questions(outcome);
    return outcome_code(outcome);
}

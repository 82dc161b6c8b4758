/*
 * command_run_single.c - `tenon run` without --batch: one run, its events, its approvals, and its thread.
 *
 *     run_single                      reads the options
 *         single_run_with_approvals   resumes the thread as long as a person approves tool calls at the terminal
 *             single_execute          one execution: prepares the thread, if there is one, and frees all of it
 *                 single_start        starts the run, or resumes the thread
 *                 single_await        until the end, for the exit code
 *                     single_drive    runs the loop until the run ends or waits
 *                     single_report   prints the outcome
 *
 * If the run has a thread, SIGTERM drains the run: it stops after the current super-step, so that it can be resumed.
 * The run is cancelled instead if the super-step takes longer than RUN_DRAIN_MS, or at SIGINT or a second SIGTERM. A
 * run without a thread cannot be resumed, so SIGTERM cancels it at once. Super-steps that a thread has committed are
 * never lost.
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution.h"
#include "host/engine/execution/execution_thread.h"
#include "host/engine/graph/graph.h"
#include "host/program/approve.h"
#include "host/program/command_input.h"
#include "host/program/command_run.h"
#include "host/program/live.h"
#include "host/program/run_outcome.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STALL_MS    5000 /* time after which a warning is printed if no event is pending */
#define STALL_NODES 3u   /* nodes named in the warning */

struct single_run {
    struct host *host;
    struct execution *execution;
    struct live *live;                 /* the live view, or NULL; see single_shows_live */
    bool json;                         /* --json */
    bool quiet;                        /* --quiet: no warnings and no live view */
    bool ended;                        /* the execution has ended; run_resume sets it to false again */
    bool draining;                     /* SIGTERM has arrived: the run stops after this super-step and is not resumed */
    bool cancelled;                    /* single_cancel was called: a signal, or the pipe was closed */
    unsigned shown_modes;              /* the events to print: the modes of --stream, or the default of --json */
    uint32_t stall_step;               /* the last step for which single_on_stall printed a warning */
    struct loop_timer deadline;        /* cancels the run if draining takes longer than RUN_DRAIN_MS */
    const char *thread;                /* the id of the thread, or NULL */
    struct approver approver;          /* asks approval questions at the terminal */
    tn_value approvals;                /* {interrupt id: answer} with which the thread must be resumed, or NULL */
    const struct arguments *arguments; /* of the command */
};

/* ---- Events ---- */

/* The live view is for a terminal on which no events are printed. */
static bool single_shows_live(const struct single_run *single) {
    return !single->quiet && !single->shown_modes && isatty(STDERR_FILENO);
}

/* run_options.event; always returns true, because it is never full. */
static bool single_on_event(void *user, tn_value event) {
    struct single_run *single = user;
    const char *type = value_chars(value_get(event, "type"), NULL);
    unsigned mode = run_modes_parse(type, NULL); /* the type of an event is the name of its mode */
    if (single->live && mode & LIVE_MODES) live_event(single->live, execution_run(single->execution), event);
    run_print_event(event, single->shown_modes, single->json, single->quiet, single->live);
    return true; /* single_poll notices a closed pipe */
}

/* The run seems to be stalled. This only warns, because an OS thread of a plugin can still end the task. */
static void single_on_stall(void *user) {
    struct single_run *single = user;
    const struct run *run = execution_run(single->execution);
    if (single->stall_step == run_steps(run)) return;
    single->stall_step = run_steps(run);
    tn_value open = run_open_nodes(run);
    live_clear(single->live);
    for (size_t i = 0; i < value_count(open) && i < STALL_NODES; i++) {
        tn_value entry = value_at(open, i), component = value_get(entry, "component");
        command_warn(
            "warning: node `%s`%s%s%s%s%s has not ended, and no event is pending in the host that could end it. "
            "The run waits until an OS thread of the plugin ends it. Set a `timeout` on the node to limit the wait",
            value_chars(value_get(entry, "node"), NULL), component ? " (" : "",
            component ? value_chars(component, NULL) : "", component ? ", of plugin " : "",
            component ? value_chars(value_get(entry, "plugin"), NULL) : "", component ? ")" : "");
    }
    if (value_count(open) > STALL_NODES)
        command_warn("warning: %zu more nodes wait in the same way", value_count(open) - STALL_NODES);
    value_unref(open);
}

static void single_on_ended(struct execution *execution, void *user) {
    (void)execution;
    ((struct single_run *)user)->ended = true;
}

static void single_on_deadline(struct loop_timer *timer) {
    struct single_run *single = CONTAINER_OF(timer, struct single_run, deadline);
    execution_cancel(single->execution);
}

static void single_cancel(struct single_run *single) {
    single->cancelled = true;
    execution_cancel(single->execution);
}

/*
 * Called before each turn of the loop: reacts to signals and to a closed pipe. Returns true if the execution has ended.
 */
static bool single_poll(void *user) {
    struct single_run *single = user;
    live_tick(single->live);
    bool can_drain = single->thread != NULL; /* a run without a thread cannot be resumed */
    if (command_got_sigterm() && can_drain && !single->draining) {
        single->draining = true;
        run_drain(execution_run(single->execution));
        loop_timer_start(host_loop(single->host), &single->deadline, RUN_DRAIN_MS, single_on_deadline);
    }
    bool stop = command_got_sigint() || (command_got_sigterm() && !can_drain);
    if (stop && !single->cancelled) {
        if (isatty(STDERR_FILENO)) fputs("\ncancelling the run; press Ctrl-C again to exit at once\n", stderr);
        single_cancel(single);
    }
    if (single->json && !single->cancelled && !command_flush())
        single_cancel(single); /* the reader of the events closed the pipe */
    return single->ended;
}

/* ---- Start ---- */

/* Starts the run, or resumes the thread. Returns false and sets `error` on failure. */
static bool single_start(struct single_run *single, const struct thread_request *request, tn_value input,
                         struct error *error) {
    if (!request->id) {
        single->ended = execution_start(single->execution, input);
        return true;
    }
    struct run *run = execution_run(single->execution);
    if (thread_begin(run, request, input, &single->ended, error) == TN_OK) return true;
    if (strcmp(error->code, "INVALID_INPUT") != 0 || !thread_lacks_answers(run, request)) return false;
    error_finish(error);
    single->ended = true; /* as if it had just been interrupted */
    return true;
}

/* ---- The loop ---- */

/*
 * Asks the approval questions of the run at the terminal. Returns {interrupt id: answer}, or NULL if there are none or
 * they cannot be answered: with --json, without a terminal, after a signal.
 */
static tn_value single_request_approvals(struct single_run *single) {
    struct run *run = execution_run(single->execution);
    if (single->json || run_status(run) != RUN_INTERRUPTED) return NULL;
    tn_value interrupts = run_interrupts(run), questions = approval_questions(interrupts), approvals = NULL;
    if (value_count(questions)) {
        live_clear(single->live);
        approvals = approver_prompt(&single->approver, questions);
    }
    value_unref(questions);
    value_unref(interrupts);
    return approvals;
}

/*
 * Runs the loop until the run has ended, or waits for answers that only another command can give. Approvals are
 * requested here. A run without a thread is resumed with them at once. If there is a thread, they are stored in
 * single->approvals, and the caller resumes the thread in another execution. Sets `error` if the run does not accept
 * the approvals. Returns false only if the loop stopped before the run has ended.
 */
static bool single_drive(struct single_run *single, struct error *error) {
    for (;;) {
        bool loop_stopped = !single->ended && !loop_run(host_loop(single->host), single_poll, single);
        if (loop_stopped) return false;
        tn_value approvals = single_request_approvals(single);
        if (!approvals) return true;
        if (single->thread) {
            single->approvals = approvals;
            return true;
        }
        int32_t status = run_resume(execution_run(single->execution), approvals, &single->ended, error);
        value_unref(approvals);
        if (status != TN_OK) return true;
    }
}

/*
 * The loop stopped although the run has not ended, which is a defect of the host. The run cannot be freed before it
 * ends, and it borrows its log and `single`. So it is cancelled.
 */
static int single_fail_stalled(const struct single_run *single) {
    run_cancel_wait(execution_run(single->execution));
    return command_report(COMMAND_RUN_FAILED, "the run has not ended, and no event is pending that could end it");
}

/* Prints the outcome, unless another execution follows, and returns the exit code. */
static int single_report(const struct single_run *single, const struct error *error) {
    struct run_outcome outcome = {.arguments = single->arguments,
                                  .report = execution_report(single->execution),
                                  .thread = single->thread,
                                  .json = single->json,
                                  .draining = single->draining};
    if (error->code) command_warn_error(error);
    if (!single->approvals) run_outcome_print(&outcome);
    int code = run_outcome_code(&outcome);
    value_unref(outcome.report);
    return code;
}

/* Prints and finishes the error; returns the exit code, as command_report_error. */
static int report_and_finish_error(int code, struct error *error) {
    code = command_report_error(code, error);
    error_finish(error);
    return code;
}

/* Drives an execution that was started. Returns the exit code. */
static int single_await(struct single_run *single) {
    struct loop *loop = host_loop(single->host);
    struct error error = ERROR_INIT;
    if (!single->quiet) loop_on_stall(loop, STALL_MS, single_on_stall, single);
    bool ended = single_drive(single, &error);
    loop_on_stall(loop, 0, NULL, NULL);
    loop_timer_stop(loop, &single->deadline);
    live_end(single->live, execution_run(single->execution));
    single->live = NULL;
    int code = ended ? single_report(single, &error) : single_fail_stalled(single);
    error_finish(&error);
    return code;
}

/* ---- One execution, and those that resume its thread ---- */

/* Runs the graph, or resumes the thread, until the run ends or waits. Returns the exit code. */
static int single_execute(const struct arguments *arguments, struct single_run *single, struct graph *graph,
                          const struct run_options *base, const struct thread_request *request, tn_value input) {
    struct error error = ERROR_INIT;
    /* thread_prepare_wait sets options.log and .loaded. The run borrows them, so they are freed after it. */
    struct run_options options = *base;
    struct host *host = single->host;
    if (request->id && thread_prepare_wait(host_engine(host), graph, request, &options, &error) != TN_OK) {
        int code = command_report_error(COMMAND_RUN_FAILED, &error);
        run_outcome_print_remedy(&(struct run_outcome){.arguments = arguments, .thread = single->thread}, request->mode,
                                 &error);
        error_finish(&error);
        return code;
    }
    if (single_shows_live(single))
        single->live = live_new(graph, host_loop(host), command_colour(arguments, STDERR_FILENO));
    options.modes = single->shown_modes;
    if (single->live) options.modes |= LIVE_MODES;
    if (!single->quiet) options.modes |= RUN_MODE_DEBUG; /* warnings are debug events */
    options.event = options.modes ? single_on_event : NULL;
    options.user = single;
    command_watch_signals(host);
    single->ended = false;
    single->execution = execution_new(host_engine(host), &graph->callable, &options, single_on_ended, single);
    int code;
    if (single_start(single, request, input, &error)) {
        code = single_await(single);
    } else {
        code = report_and_finish_error(COMMAND_RUN_FAILED, &error);
        live_end(single->live, execution_run(single->execution));
    }
    execution_free(single->execution); /* before the log, which the run borrows */
    thread_log_free(options.log);
    value_unref(options.loaded);
    return code;
}

/*
 * Runs the graph, then resumes the thread as long as a person approves tool calls at the terminal. Returns the exit
 * code of the last execution.
 */
static int single_run_with_approvals(const struct arguments *arguments, struct single_run *single, struct graph *graph,
                                     const struct run_options *options, struct thread_request *request,
                                     tn_value input) {
    int code = single_execute(arguments, single, graph, options, request, input);
    while (single->approvals) {
        value_unref(request->answers);
        request->answers = single->approvals;
        request->mode = THREAD_RESUME;
        single->approvals = NULL;
        code = single_execute(arguments, single, graph, options, request, NULL);
    }
    return code;
}

int run_single(const struct arguments *arguments, struct host *host, struct graph *graph,
               const struct run_options *options) {
    struct error error = ERROR_INIT;
    struct single_run single = {.host = host,
                                .json = argument_given(arguments, "json"),
                                .quiet = argument_given(arguments, "quiet"),
                                .thread = argument_text(arguments, "thread"),
                                .arguments = arguments};
    struct thread_request request = {.id = single.thread};
    if (!run_read_modes(arguments, &single.shown_modes)) return COMMAND_USAGE;
    if (!request.id && run_lacks_thread(arguments)) return COMMAND_USAGE;
    if (request.id && !run_read_thread_request(arguments, &request)) return COMMAND_USAGE;
    tn_value input = command_read_input(arguments, &error);
    int code;
    if (input) {
        approver_init(&single.approver);
        code = single_run_with_approvals(arguments, &single, graph, options, &request, input);
        approver_finish(&single.approver);
    } else {
        code = report_and_finish_error(COMMAND_USAGE, &error);
    }
    value_unref(request.answers);
    value_unref(input);
    return code;
}

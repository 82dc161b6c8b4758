/*
 * command_run_single.c - `tenon run` without --batch: one run, its events, its approvals, and its thread.
 *
 *     run_single               reads the options
 *         single_execute       starts the run, or resumes the thread
 *             single_drive     until the run ends, or waits for answers that only another command can give
 *             single_report    prints the outcome
 *
 * If the run has a thread, SIGTERM drains the run: it stops after the current super-step, so that it can be resumed.
 * The run is cancelled instead if the super-step takes longer than RUN_DRAIN_MS, or at SIGINT or a second SIGTERM. A
 * run without a thread cannot be resumed, so SIGTERM cancels it at once. Super-steps that a thread has committed are
 * never lost.
 */
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/engine/execution/invocation.h"
#include "host/engine/graph/graph.h"
#include "host/program/approve.h"
#include "host/program/command_input.h"
#include "host/program/command_run.h"
#include "host/program/live.h"
#include "host/program/run_outcome.h"
#include <stdio.h>
#include <unistd.h>

#define STALL_MS    5000 /* time after which a warning is printed if no event is pending */
#define STALL_NODES 3u   /* nodes named in the warning */

struct single_run {
    const struct arguments *arguments; /* of the command */
    struct host *host;
    struct invocation *invocation;
    struct thread_request request; /* `id` is NULL if the run has no thread */
    struct live *live;             /* NULL without a live view; see single_shows_live */
    bool json;                     /* --json */
    bool quiet;                    /* --quiet: no warnings and no live view */
    bool draining;                 /* SIGTERM has arrived: the run stops after this super-step and is not resumed */
    bool cancelled;                /* single_cancel was called: a signal, or the pipe was closed */
    unsigned shown_modes;          /* the events to print: the modes of --stream, or the default of --json */
    uint32_t stall_step;           /* the last step for which single_on_stall printed a warning */
    struct loop_timer deadline;    /* cancels the run if draining takes longer than RUN_DRAIN_MS */
    struct approver approver;      /* asks approval questions at the terminal */
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
    if (single->live && mode & LIVE_MODES) live_event(single->live, single->invocation, event);
    run_print_event(event, single->shown_modes, single->json, single->quiet, single->live);
    return true; /* single_poll notices a closed pipe */
}

/* The run seems to be stalled. This only warns, because an OS thread of a plugin can still end the task. */
static void single_on_stall(void *user) {
    struct single_run *single = user;
    uint32_t step = invocation_steps(single->invocation);
    if (single->stall_step == step) return;
    single->stall_step = step;
    tn_value open = invocation_open_nodes(single->invocation);
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

static void single_on_ended(void *user) { (void)user; } /* single_poll notices it */

static bool single_has_ended(const struct single_run *single) {
    return invocation_phase(single->invocation) == INVOCATION_IDLE;
}

static void single_on_deadline(struct loop_timer *timer) {
    invocation_cancel(CONTAINER_OF(timer, struct single_run, deadline)->invocation);
}

static void single_cancel(struct single_run *single) {
    single->cancelled = true;
    invocation_cancel(single->invocation);
}

/*
 * Called before each turn of the loop: reacts to signals and to a closed pipe. Returns true if the run has ended.
 */
static bool single_poll(void *user) {
    struct single_run *single = user;
    live_tick(single->live);
    bool can_drain = single->request.id != NULL; /* a run without a thread cannot be resumed */
    if (command_got_sigterm() && can_drain && !single->draining) {
        single->draining = true;
        invocation_drain(single->invocation);
        loop_timer_start(host_loop(single->host), &single->deadline, RUN_DRAIN_MS, single_on_deadline);
    }
    bool stop = command_got_sigint() || (command_got_sigterm() && !can_drain);
    if (stop && !single->cancelled) {
        if (isatty(STDERR_FILENO)) fputs("\ncancelling the run; press Ctrl-C again to exit at once\n", stderr);
        single_cancel(single);
    }
    if (single->json && !single->cancelled && !command_flush())
        single_cancel(single); /* the reader of the events closed the pipe */
    return single_has_ended(single);
}

/* ---- From the start to the end ---- */

/*
 * Asks the approval questions of the run at the terminal. Returns {interrupt id: answer}. NULL if nothing is asked, or
 * it cannot be answered here: with --json, without a terminal, after a signal.
 */
static tn_value single_request_approvals(struct single_run *single) {
    if (single->json || invocation_status(single->invocation) != RUN_INTERRUPTED) return NULL;
    tn_value interrupts = invocation_interrupts(single->invocation), questions = approval_questions(interrupts);
    tn_value approvals = NULL;
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
 * requested here. Prints the error if the run does not accept them. Returns false only if the loop stopped before the
 * run has ended.
 */
static bool single_drive(struct single_run *single) {
    for (;;) {
        if (!loop_run(host_loop(single->host), single_poll, single)) return false;
        tn_value approvals = single_request_approvals(single);
        if (!approvals) return true;
        struct error error = ERROR_INIT;
        int32_t status = invocation_resume(single->invocation, approvals, &error);
        if (status != TN_OK) command_warn_error(&error);
        error_finish(&error);
        value_unref(approvals);
        if (status != TN_OK) return true;
    }
}

static bool single_is_idle(void *user) { return single_has_ended(user); }

/*
 * The loop stopped although the run has not ended, which is a defect of the host. The run cannot be freed before it
 * ends, so it is cancelled.
 */
static int single_fail_stalled(struct single_run *single) {
    invocation_cancel(single->invocation);
    (void)loop_run(host_loop(single->host), single_is_idle, single);
    return command_report(COMMAND_RUN_FAILED, "the run has not ended, and no event is pending that could end it");
}

/* Ends the live view, prints the outcome, and returns the exit code. */
static int single_report(struct single_run *single, bool ended) {
    struct run_outcome outcome = {.arguments = single->arguments,
                                  .report = invocation_report(single->invocation),
                                  .request = &single->request,
                                  .json = single->json,
                                  .draining = single->draining};
    live_end(single->live, run_outcome_is_refusal(&outcome) ? NULL : outcome.report);
    int code = ended ? run_outcome_print(&outcome) : single_fail_stalled(single);
    value_unref(outcome.report);
    return code;
}

/* Starts the run, or resumes the thread, and drives it to its end. Returns the exit code. */
static int single_execute(struct single_run *single, struct graph *graph) {
    struct loop *loop = host_loop(single->host);
    struct error error = ERROR_INIT;
    command_watch_signals(single->host);
    if (single->request.mode != THREAD_RESUME) {
        invocation_start(single->invocation);
    } else if (invocation_resume(single->invocation, single->request.answers, &error) != TN_OK) {
        int code = command_report_error(COMMAND_RUN_FAILED, &error);
        error_finish(&error);
        return code;
    }
    if (single_shows_live(single))
        single->live = live_new(graph, loop, command_colour(single->arguments, STDERR_FILENO));
    if (!single->quiet) loop_on_stall(loop, STALL_MS, single_on_stall, single);
    bool ended = single_drive(single);
    loop_on_stall(loop, 0, NULL, NULL);
    loop_timer_stop(loop, &single->deadline);
    return single_report(single, ended);
}

/* The invocation of the run with these options; NULL with the error. */
static struct invocation *single_invocation(struct single_run *single, struct graph *graph,
                                            const struct run_options *options, tn_value input, struct error *error) {
    struct invocation_options inner = {
        .run = *options, .request = single->request, .input = input, .ended = single_on_ended};
    inner.run.modes = single->shown_modes;
    if (single_shows_live(single)) inner.run.modes |= LIVE_MODES;
    if (!single->quiet) inner.run.modes |= RUN_MODE_DEBUG; /* warnings are debug events */
    inner.run.event = inner.run.modes ? single_on_event : NULL;
    inner.run.user = single;
    return invocation_new(host_engine(single->host), &graph->callable, &inner, error);
}

int run_single(const struct arguments *arguments, struct host *host, struct graph *graph,
               const struct run_options *options) {
    struct error error = ERROR_INIT;
    struct single_run single = {.arguments = arguments,
                                .host = host,
                                .request = {.id = argument_text(arguments, "thread")},
                                .json = argument_given(arguments, "json"),
                                .quiet = argument_given(arguments, "quiet")};
    if (!run_read_modes(arguments, &single.shown_modes)) return COMMAND_USAGE;
    if (!single.request.id && run_lacks_thread(arguments)) return COMMAND_USAGE;
    if (single.request.id && !run_read_thread_request(arguments, &single.request)) return COMMAND_USAGE;
    tn_value input = command_read_input(arguments, &error);
    int code = COMMAND_USAGE;
    if (input) single.invocation = single_invocation(&single, graph, options, input, &error);
    if (single.invocation) {
        approver_init(&single.approver);
        code = single_execute(&single, graph);
        approver_finish(&single.approver);
    } else {
        code = command_report_error(code, &error);
    }
    error_finish(&error);
    invocation_free(single.invocation);
    value_unref(single.request.answers);
    value_unref(input);
    return code;
}

/*
 * command_work.c - `tenon work`: a worker that claims Tasks and handles them, in a host of the command or, with
 * --connect, in a host that runs.
 *
 *     command_work                reads the options
 *         work_begin              subscribes to the events, then work/start
 *         work_drive              until work/wait reports the end; draws the view
 *             work_stop           after a signal: drains, and cancels after a second one
 *         work_exit_code
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/program/command.h"
#include "host/program/method_caller.h"
#include "host/program/work_view.h"
#include "host/server/server.h"
#include <limits.h>
#include <string.h>

#define WORK_CONCURRENCY_MAX 10000 /* methods/work.yaml: work/start */

struct work_command {
    const struct arguments *arguments;
    struct method_caller *caller;
    struct work_view *view;
    tn_value worker_id;       /* NULL before work/start has returned */
    struct loop_timer redraw; /* of the live view */
    bool due;                 /* the view must be drawn again */
    bool drained, cancelled;  /* the worker was asked to end */
    bool for_sigterm;         /* the first signal was SIGTERM, so a second one is reported as SIGINT */
    bool output_lost;         /* the reader of the JSON lines closed the pipe */
};

/* ---- Events ---- */

/* Other workers of the host have events, too. Those of this one come after the result of work/start. */
static void work_on_event(void *user, const char *event, tn_value params) {
    struct work_command *command = user;
    tn_value id = value_get(params, "worker_id");
    if (!command->worker_id || !id || !value_equal(id, command->worker_id)) return;
    if (!work_view_event(command->view, event, params)) command->output_lost = true;
}

/* ---- Start ---- */

/* "work,report"; a new reference. */
static tn_value work_read_types(const char *text) {
    tn_value types = value_array();
    for (;;) {
        size_t length = strcspn(text, ",");
        types = value_push_take(types, value_string_lossy(text, length));
        if (!text[length]) return types;
        text += length + 1;
    }
}

/* The parameters of work/start; NULL after a message if an option is wrong. */
static tn_value work_read_options(const struct arguments *arguments) {
    const char *types = argument_text(arguments, "types"), *name = argument_text(arguments, "name");
    bool once = argument_given(arguments, "once"), drain = argument_given(arguments, "drain");
    int64_t concurrency;
    if (once && drain) {
        command_warn("--once and --drain cannot be used together: --once ends after one Task, --drain when there is "
                     "none left");
        return NULL;
    }
    if (argument_given(arguments, "loops") && argument_given(arguments, "connect")) {
        command_warn("--loops cannot be used with --connect: the host that runs has its own loops");
        return NULL;
    }
    if (!argument_number(arguments, "concurrency", 1, WORK_CONCURRENCY_MAX, 0, &concurrency)) return NULL;
    tn_value params = value_set_take(value_object_reserve(4), "mode",
                                     value_text(once    ? "once"
                                                : drain ? "empty"
                                                        : "forever"));
    if (types) params = value_set_take(params, "types", work_read_types(types));
    if (name) params = value_set_take(params, "name", value_string_lossy(name, strlen(name)));
    return concurrency ? value_set_take(params, "concurrency", value_int(concurrency)) : params;
}

static int work_begin_take(struct work_command *command, tn_value params) {
    static const char *const names[] = {"task/claimed", "task/ended"};
    tn_value events = value_array(), subscribed = NULL, worker = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) events = value_push_take(events, value_text(names[i]));
    int code = method_caller_call_take(command->caller, "event/subscribe",
                                       value_set_take(value_object_reserve(1), "events", events), &subscribed);
    if (code)
        value_unref(params);
    else
        code = method_caller_call_take(command->caller, "work/start", params, &worker);
    if (!code) {
        command->worker_id = value_ref(value_get(worker, "worker_id"));
        work_view_begin(command->view, worker);
    }
    value_unref(subscribed);
    value_unref(worker);
    return code;
}

/* ---- Until the end ---- */

static tn_value work_named(const struct work_command *command) {
    return value_set_take(value_object_reserve(2), "worker_id", value_ref(command->worker_id));
}

static bool work_must_cancel(const struct work_command *command) {
    bool again = command_got_sigint() || (command_got_sigterm() && !command->for_sigterm);
    return command->drained && !command->cancelled && (again || command->output_lost);
}

static bool work_must_drain(const struct work_command *command) {
    return !command->drained && (command_got_signal() || command->output_lost);
}

struct work_wait {
    struct work_command *command;
    struct called *called;
};

static bool work_has_news(void *user) {
    const struct work_wait *wait = user;
    const struct work_command *command = wait->command;
    return called_has_ended(wait->called) || command->due || work_must_drain(command) || work_must_cancel(command);
}

/* The worker can have ended meanwhile, so the answer does not matter. */
static void work_stop(struct work_command *command, bool cancel) {
    tn_value params = value_set_take(work_named(command), "cancel", value_bool(cancel));
    struct called *called = method_caller_begin_take(command->caller, "work/stop", params);
    (void)method_caller_wait_for(command->caller, called_has_ended, called);
    called_free(called);
}

static void work_drain(struct work_command *command) {
    command->drained = true;
    command->for_sigterm = command_got_sigterm();
    if (!command->for_sigterm) command_reset_sigint(); /* the next signal cancels the runs, not the process */
    work_view_note(command->view, "ending: the runs end after their super-step, and their Tasks return to the queue; a "
                                  "second signal cancels the runs");
    work_stop(command, false);
}

static void work_cancel(struct work_command *command) {
    command->cancelled = true;
    work_view_note(command->view, "cancelling the runs; the next signal ends the process");
    work_stop(command, true);
}

static void work_on_redraw(struct loop_timer *timer) {
    struct work_command *command = CONTAINER_OF(timer, struct work_command, redraw);
    command->due = true;
    loop_wake(method_caller_loop(command->caller));
}

static void work_schedule_redraw(struct work_command *command) {
    struct loop *loop = method_caller_loop(command->caller);
    if (work_view_is_live(command->view)) loop_timer_start(loop, &command->redraw, WORK_VIEW_MS, work_on_redraw);
}

static void work_redraw(struct work_command *command) {
    struct called *called = method_caller_begin_take(command->caller, "work/get", work_named(command));
    command->due = false;
    (void)method_caller_wait_for(command->caller, called_has_ended, called);
    tn_value worker = called_has_ended(called) ? called_result(called) : NULL;
    if (worker) work_view_counts(command->view, worker, loop_now_ms(method_caller_loop(command->caller)));
    called_free(called);
    work_schedule_redraw(command);
}

/* Returns false if nothing can happen any more. If the connection ends before the worker, the call has failed. */
static bool work_drive(struct work_command *command, struct called *called) {
    struct work_wait wait = {command, called};
    command->due = work_view_is_live(command->view);
    while (!called_has_ended(called)) {
        if (!method_caller_wait_for(command->caller, work_has_news, &wait)) return called_has_ended(called);
        if (work_must_drain(command)) work_drain(command);
        if (work_must_cancel(command)) work_cancel(command);
        if (command->due) work_redraw(command);
    }
    return true;
}

/* ---- The outcome ---- */

static int work_exit_code(const struct work_command *command, tn_value worker) {
    bool ends_by_itself = argument_given(command->arguments, "once") || argument_given(command->arguments, "drain");
    bool failed = work_view_total(worker, "failed") > 0 || value_get(worker, "fault");
    return ends_by_itself && failed ? COMMAND_RUN_FAILED : COMMAND_OK;
}

static int work_run(struct work_command *command) {
    struct called *called = method_caller_begin_take(command->caller, "work/wait", work_named(command));
    bool ended = work_drive(command, called);
    tn_value worker = ended ? called_result(called) : NULL;
    loop_timer_stop(method_caller_loop(command->caller), &command->redraw);
    int code = worker ? work_exit_code(command, worker) : COMMAND_RUN_FAILED;
    work_view_end(command->view, worker);
    if (!ended)
        command_warn("the connection to the host has ended before the worker");
    else if (!worker)
        code = command_report_error(COMMAND_RUN_FAILED, called_error(called));
    called_free(called);
    return code;
}

int command_work(const struct arguments *arguments) {
    tn_value params = work_read_options(arguments);
    if (!params) return COMMAND_USAGE;
    struct work_command command = {.arguments = arguments, .view = work_view_new(arguments)};
    int code = method_caller_open(&command.caller, arguments, work_on_event, &command);
    if (!code) {
        method_caller_watch_signals(command.caller);
        /* NULL is a host that runs: it has its own loops. */
        struct host *host = method_caller_host(command.caller);
        if (host) code = command_server_loops(arguments, host);
    }
    if (!code)
        code = work_begin_take(&command, params);
    else
        value_unref(params);
    if (code)
        work_view_end(command.view, NULL);
    else
        code = work_run(&command);
    method_caller_free(command.caller);
    value_unref(command.worker_id);
    return code;
}

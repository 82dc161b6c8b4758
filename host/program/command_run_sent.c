/*
 * command_run_sent.c - `tenon run --connect`: one run in a host that is running.
 *
 *     command_run_sent            reads the options and the document
 *         sent_run_begin          run/start or run/resume, with a subscription
 *         sent_run_drive          until the run ends, or waits for answers that only another command can give
 *         sent_run_report         prints the outcome
 *
 * The output and the exit codes are those of a run in a host of the command, but there is no live view. A signal
 * cancels or drains the run in the same way. A run that waits when the command ends is given up; if it has a thread,
 * the thread still waits for the answer.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/run.h"
#include "host/program/approve.h"
#include "host/program/command_input.h"
#include "host/program/command_run.h"
#include "host/program/method_caller.h"
#include "host/program/run_outcome.h"
#include "host/program/sent_document.h"
#include <string.h>
#include <unistd.h>

#define EVENTS_MAX 64 /* events that have not been printed */

struct sent_run {
    const struct arguments *arguments; /* of the command */
    struct method_caller *caller;
    struct sent_document document;
    struct thread_request request; /* `id` is NULL if the run has no thread */
    tn_value config, input;        /* of run/start */
    unsigned modes;                /* the events to print */
    bool json, quiet;              /* the options */
    struct approver approver;
    tn_value run_id;            /* in the host */
    tn_value report;            /* of the last run/ended; NULL while the run is active */
    bool draining, cancelled;   /* the host was asked to end the run */
    bool late;                  /* draining takes too long */
    bool output_lost;           /* the reader of the events closed the pipe */
    struct loop_timer deadline; /* of draining */
};

static void sent_run_on_event(void *user, const char *event, tn_value params) {
    struct sent_run *sent = user;
    if (strcmp(event, "run/ended") == 0) {
        value_unref(sent->report);
        sent->report = value_ref(value_get(params, "report"));
        return;
    }
    run_print_event(value_get(params, "event"), sent->modes, sent->json, sent->quiet, NULL);
    if (sent->json && !command_flush()) sent->output_lost = true;
    method_caller_grant(sent->caller, value_to_int(value_get(params, "subscription")));
}

/* ---- Start ---- */

static tn_value set_flag_take(tn_value object, const char *member, bool value) {
    return value ? value_set_take(object, member, value_bool(true)) : object;
}

/* The options of the thread are members of the configuration; a new reference. */
static tn_value sent_run_config(const struct sent_run *sent) {
    const struct thread_request *request = &sent->request;
    tn_value config = value_ref(sent->config);
    if (!request->id) return config;
    config = value_set_take(config, "thread_id", value_string_lossy(request->id, strlen(request->id)));
    config = set_flag_take(config, "replace", request->mode == THREAD_REPLACE);
    config = set_flag_take(config, "force", request->force);
    config = set_flag_take(config, "accept_changes", request->accept_changes);
    return value_set_take(config, "durability", value_text(request->durability == RUN_DURABLE_EXIT ? "exit" : "sync"));
}

static tn_value sent_run_params(const struct sent_run *sent) {
    tn_value params = value_set_take(sent_document_params(&sent->document), "config", sent_run_config(sent));
    tn_value modes = run_modes_names(sent->modes | (sent->quiet ? 0 : RUN_MODE_DEBUG)); /* warnings are debug events */
    tn_value subscribe = value_set_take(value_object_reserve(2), "credit", value_int(EVENTS_MAX));
    subscribe = value_set_take(subscribe, "modes", value_ref(modes));
    params = value_set_take(params, "modes", modes);
    params = value_set_take(params, "subscribe", subscribe);
    if (sent->request.mode != THREAD_RESUME) return value_set_take(params, "input", value_ref(sent->input));
    return value_set_take(params, "answers", value_ref(sent->request.answers));
}

/* Returns COMMAND_OK if the run has started; otherwise prints an error, and returns the exit code. */
static int sent_run_begin(struct sent_run *sent) {
    const char *method = sent->request.mode == THREAD_RESUME ? "run/resume" : "run/start";
    struct error error = ERROR_INIT;
    tn_value started = NULL;
    int code = COMMAND_OK;
    sent_document_print_warnings(sent->arguments, &sent->document, sent->caller);
    if (method_caller_try_take(sent->caller, method, sent_run_params(sent), &started, &error) == TN_OK)
        sent->run_id = value_ref(value_get(started, "run_id"));
    else
        code = sent_document_report(sent->arguments, &sent->document, &error);
    value_unref(started);
    error_finish(&error);
    return code;
}

/* ---- Until the end ---- */

static tn_value sent_run_named(const struct sent_run *sent) {
    return value_set_take(value_object_reserve(2), "run_id", value_ref(sent->run_id));
}

static void sent_run_on_deadline(struct loop_timer *timer) {
    struct sent_run *sent = CONTAINER_OF(timer, struct sent_run, deadline);
    sent->late = true;
    loop_wake(method_caller_loop(sent->caller));
}

static bool sent_run_can_drain(const struct sent_run *sent) { return sent->request.id != NULL; }

static bool sent_run_must_drain(const struct sent_run *sent) {
    return command_got_sigterm() && sent_run_can_drain(sent) && !sent->draining;
}

static bool sent_run_must_cancel(const struct sent_run *sent) {
    bool stop = command_got_sigint() || (command_got_sigterm() && !sent_run_can_drain(sent));
    return (stop || sent->late || sent->output_lost) && !sent->cancelled;
}

static bool sent_run_has_news(void *user) {
    const struct sent_run *sent = user;
    return sent->report || sent_run_must_drain(sent) || sent_run_must_cancel(sent);
}

/* The run can have ended meanwhile, so the answer does not matter. */
static void sent_run_end(const struct sent_run *sent, bool drain) {
    tn_value params = value_set_take(sent_run_named(sent), "drain", value_bool(drain));
    struct called *called = method_caller_begin_take(sent->caller, "run/cancel", params);
    (void)method_caller_wait_for(sent->caller, called_has_ended, called);
    called_free(called);
}

static void sent_run_drain(struct sent_run *sent) {
    sent->draining = true;
    loop_timer_start(method_caller_loop(sent->caller), &sent->deadline, RUN_DRAIN_MS, sent_run_on_deadline);
    sent_run_end(sent, true);
}

static void sent_run_cancel(struct sent_run *sent) {
    sent->cancelled = true;
    if (isatty(STDERR_FILENO) && !sent->late && !sent->output_lost)
        fputs("\ncancelling the run; press Ctrl-C again to exit at once\n", stderr);
    sent_run_end(sent, false);
}

/* Returns false if the connection has ended before the run. */
static bool sent_run_await(struct sent_run *sent) {
    while (!sent->report) {
        if (!method_caller_wait_for(sent->caller, sent_run_has_news, sent)) return false;
        if (sent_run_must_drain(sent)) sent_run_drain(sent);
        if (sent_run_must_cancel(sent)) sent_run_cancel(sent);
    }
    return true;
}

/* {interrupt id: answer}, a new reference; NULL if nothing is asked, or it cannot be answered here. */
static tn_value sent_run_request_approvals(struct sent_run *sent) {
    if (sent->json) return NULL;
    tn_value questions = approval_questions(value_get(sent->report, "interrupts"));
    tn_value answers = value_count(questions) ? approver_prompt(&sent->approver, questions) : NULL;
    value_unref(questions);
    return answers;
}

/* Sends the answers, after which the run is active. Returns false if it does not accept them, and prints the error. */
static bool sent_run_answer_take(struct sent_run *sent, tn_value answers) {
    tn_value before = sent->report, result = NULL;
    sent->report = NULL; /* the end of the run can come before the answer of the method */
    int code = method_caller_call_take(sent->caller, "run/answer",
                                       value_set_take(sent_run_named(sent), "answers", answers), &result);
    if (code && !sent->report)
        sent->report = before;
    else
        value_unref(before);
    value_unref(result);
    return code == COMMAND_OK;
}

/* Returns false if the connection has ended before the run. */
static bool sent_run_drive(struct sent_run *sent) {
    for (;;) {
        if (!sent_run_await(sent)) return false;
        tn_value answers = sent_run_request_approvals(sent);
        if (!answers || !sent_run_answer_take(sent, answers)) return true;
    }
}

/* ---- The outcome ---- */

/* Prints why the host cannot be asked any more. Returns the exit code. */
static int sent_run_report_lost(const struct sent_run *sent) {
    tn_value ignored = NULL;
    int code = method_caller_call_take(sent->caller, "run/get", sent_run_named(sent), &ignored);
    value_unref(ignored);
    return code ? code : COMMAND_RUN_FAILED;
}

static int sent_run_report(const struct sent_run *sent) {
    const struct run_outcome outcome = {.arguments = sent->arguments,
                                        .report = sent->report,
                                        .request = &sent->request,
                                        .json = sent->json,
                                        .draining = sent->draining};
    int code = run_outcome_print(&outcome);
    bool over = value_text_is(value_get(sent->report, "status"), "done") || run_outcome_is_refusal(&outcome);
    if (!over) sent_run_end(sent, false); /* the host keeps runs that can be continued */
    return code;
}

static int sent_run_execute(struct sent_run *sent) {
    approver_init(&sent->approver);
    method_caller_watch_signals(sent->caller);
    int code = sent_run_begin(sent);
    if (!code) code = sent_run_drive(sent) ? sent_run_report(sent) : sent_run_report_lost(sent);
    loop_timer_stop(method_caller_loop(sent->caller), &sent->deadline);
    approver_finish(&sent->approver);
    return code;
}

/* ---- The command ---- */

/* Reads what the command line has. Returns COMMAND_OK; otherwise prints an error, and returns the exit code. */
static int sent_run_read(struct sent_run *sent) {
    const struct arguments *arguments = sent->arguments;
    const char *config = argument_text(arguments, "run-config");
    struct run_options options = RUN_OPTIONS_INIT; /* only to check --run-config */
    struct error error = ERROR_INIT;
    sent->config = config ? command_json(arguments, config, "--run-config", &error) : value_object();
    if (!sent->config || run_options_read(&options, sent->config, &error) != TN_OK) {
        int code = command_report_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    int code = COMMAND_OK;
    bool refused = !sent_document_open(&sent->document, operand_at(arguments, 0), &error);
    if (refused)
        code = sent_document_report(arguments, &sent->document, &error);
    else if (!run_read_modes(arguments, &sent->modes) ||
             (sent->request.id ? !run_read_thread_request(arguments, &sent->request) : run_lacks_thread(arguments)))
        code = COMMAND_USAGE;
    else if (!(sent->input = command_read_input(arguments, &error)))
        code = command_report_error(COMMAND_USAGE, &error);
    error_finish(&error);
    return code;
}

int command_run_sent(const struct arguments *arguments) {
    struct sent_run sent = {.arguments = arguments,
                            .request = {.id = argument_text(arguments, "thread")},
                            .json = argument_given(arguments, "json"),
                            .quiet = argument_given(arguments, "quiet")};
    if (argument_given(arguments, "batch"))
        return command_report(COMMAND_USAGE, "--batch cannot be used with --connect: start each run alone, or a batch "
                                             "without --connect");
    int code = method_caller_open(&sent.caller, arguments, sent_run_on_event, &sent);
    if (!code) code = sent_run_read(&sent);
    if (!code) code = sent_run_execute(&sent);
    method_caller_free(sent.caller);
    sent_document_finish(&sent.document);
    value_unref(sent.request.answers);
    value_unref(sent.config);
    value_unref(sent.input);
    value_unref(sent.run_id);
    value_unref(sent.report);
    return code;
}

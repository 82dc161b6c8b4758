/*
 * command_call.c - `tenon call`: calls a method of the table, and prints its result and the events that it subscribes
 * to.
 *
 * In a host of the command, a run that the method has started ends with the program, so the command waits for it
 * (run/wait), and its status decides the exit code; with --connect it does the same. Credit is granted for each event
 * that is printed. The first signal cancels the run, whose end is then printed; the second one ends the program.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include "host/program/command_run.h"
#include "host/program/method_caller.h"
#include "host/server/method.h"
#include <string.h>

struct call_command {
    struct method_caller *caller;
    int64_t subscription; /* of the result; 0 when the method did not subscribe */
    bool counted;         /* it was made with `credit` */
    bool of_run;          /* its last event is the end of a run */
    bool over;            /* the end of the run was printed */
    bool lost;            /* standard output takes no more */
};

/* ---- Events ---- */

static void call_on_event(void *user, const char *event, tn_value params) {
    struct call_command *command = user;
    tn_value line = value_set_take(value_object_reserve(2), "event", value_text(event));
    line = value_set_take(line, "params", value_ref(params));
    run_print_line(line);
    value_unref(line);
    if (!command_flush()) command->lost = true;
    if (command->of_run && strcmp(event, "run/ended") == 0) command->over = true;
    if (command->counted) method_caller_grant(command->caller, value_to_int(value_get(params, "subscription")));
}

static bool call_events_are_done(void *user) {
    const struct call_command *command = user;
    return command->over || command->lost || !method_caller_has_subscription(command->caller, command->subscription);
}

/* ---- The run that was started ---- */

static tn_value only_run_id(tn_value result) {
    return value_set_take(value_object_reserve(1), "run_id", value_ref(value_get(result, "run_id")));
}

static void call_cancel_run(struct method_caller *caller, tn_value result) {
    struct called *cancel = method_caller_begin_take(caller, "run/cancel", only_run_id(result));
    (void)method_caller_wait_for(caller, called_has_ended, cancel);
    called_free(cancel);
}

static int exit_code_of_run(tn_value run) {
    tn_value status = value_get(run, "status");
    if (command_got_signal()) return COMMAND_CANCELLED;
    if (value_text_is(status, "interrupted")) return COMMAND_WAITING;
    return value_text_is(status, "done") || value_text_is(status, "stopped") ? COMMAND_OK : COMMAND_RUN_FAILED;
}

/* The error of the run, if its end is not among the printed events. */
static void report_run(tn_value run, bool printed) {
    tn_value why = value_get(value_get(run, "report"), "error");
    struct error error = ERROR_INIT;
    if (printed || !why) return;
    error_from_value(&error, why);
    command_warn_error(&error);
    error_finish(&error);
}

struct run_wait {
    const struct call_command *command;
    struct called *called;
};

static bool run_wait_is_over(void *user) {
    const struct run_wait *wait = user;
    return wait->command->lost || called_has_ended(wait->called);
}

static int await_run(struct call_command *command, tn_value result) {
    struct method_caller *caller = command->caller;
    struct run_wait wait = {command, method_caller_begin_take(caller, "run/wait", only_run_id(result))};
    (void)method_caller_wait(caller, run_wait_is_over, &wait);
    if (!called_has_ended(wait.called)) {
        call_cancel_run(caller, result);
        (void)method_caller_wait_for(caller, called_has_ended, wait.called);
    }
    tn_value run = called_result(wait.called);
    int code = run ? exit_code_of_run(run) : command_report_error(COMMAND_RUN_FAILED, called_error(wait.called));
    report_run(run, command->subscription != 0);
    called_free(wait.called);
    return code;
}

/* ---- The command ---- */

/* True if one of the parameters is a path. */
static bool call_names_file(const struct method *method, tn_value params) {
    tn_value properties = value_get(value_get(method->row, "params"), "properties");
    for (size_t i = 0; i < value_count(params); i++) {
        tn_value schema = value_get_key(properties, value_key_at(params, i));
        if (value_text_is(value_get(schema, "$ref"), "#/components/schemas/Path")) return true;
    }
    return false;
}

/* Prints the detail of the error as JSON: the question of an approval, for example. */
static int call_report_error(const struct method *method, tn_value params, const struct error *error) {
    bool unreadable = strcmp(error->code, "IO") == 0 && call_names_file(method, params);
    int code = command_report_error(unreadable ? COMMAND_USAGE : method_caller_exit_code(error), error);
    tn_value detail = value_get(error->more, "detail");
    char *text = detail ? json_text(detail, JSON_COMPACT) : NULL;
    if (text) command_warn("detail: %s", text);
    mem_free(text);
    return code;
}

/* Prints the result. Waits for the run that it names, and prints events until there are no more. */
static int call_report(struct call_command *command, const char *method, tn_value result) {
    tn_value subscription = value_get(result, "subscription");
    bool started = value_get(result, "run_id") && !value_get(result, "status");
    int code = COMMAND_OK;
    if (subscription) command->subscription = value_to_int(subscription);
    command->of_run = started || strcmp(method, "run/subscribe") == 0;
    if (started || subscription)
        run_print_line(result); /* the first one of several lines */
    else
        command_print(result);
    (void)command_flush();
    if (started) code = await_run(command, result);
    /* After a run, its end comes soon, also if a signal has cancelled it. */
    if (subscription && started)
        (void)method_caller_wait_for(command->caller, call_events_are_done, command);
    else if (subscription)
        (void)method_caller_wait(command->caller, call_events_are_done, command);
    return code;
}

static int call_run(struct call_command *command, const char *method, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value result = NULL, subscribe = value_get(params, "subscribe");
    command->counted = value_get(subscribe ? subscribe : params, "credit") != NULL;
    method_caller_watch_signals(command->caller);
    int32_t status = method_caller_try_take(command->caller, method, value_ref(params), &result, &error);
    int code =
        status == TN_OK ? call_report(command, method, result) : call_report_error(method_find(method), params, &error);
    value_unref(result);
    error_finish(&error);
    return code;
}

/* Returns false, and prints the error, if there is no such method. */
static bool method_exists(const char *name) {
    struct error error = ERROR_INIT;
    if (method_find(name)) return true;
    (void)method_refuse_unknown(name, &error);
    command_warn_error(&error);
    error_finish(&error);
    return false;
}

int command_call(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    const char *method = operand_at(arguments, 0), *given = operand_at(arguments, 1);
    if (!method_exists(method)) return COMMAND_USAGE;
    tn_value params = given ? command_json(arguments, given, "PARAMS", &error) : value_object();
    if (!params) {
        int code = command_report_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    struct call_command command = {0};
    int code = method_caller_open(&command.caller, arguments, call_on_event, &command);
    if (!code) code = call_run(&command, method, params);
    value_unref(params);
    method_caller_free(command.caller);
    return code;
}

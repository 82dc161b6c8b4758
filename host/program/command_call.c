/*
 * command_call.c - `tenon call`: calls a method of the table, and prints its result and the events that it subscribes
 * to.
 *
 * The command is a client of the server that every host of the program has. A run that the method has started ends with
 * the program, so the command waits for it (run/wait), and its status decides the exit code. Credit is granted for each
 * event that is printed. The first signal cancels the run, whose end is then printed; the second one ends the program.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/program/command.h"
#include "host/program/command_run.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/server.h"
#include <string.h>

struct method_caller {
    struct host *host;
    struct client *client;
    long subscriptions; /* open ones; one can end before the call has been reported */
    bool started;       /* the method has started a run */
    bool over;          /* its end was printed */
    bool lost;          /* standard output takes no more */
};

/* One call of the command. */
struct started_call {
    struct method_caller *caller;
    struct call *call;
    bool ended;
};

/* ---- Events ---- */

static void caller_on_event(void *user, uint64_t number, const char *event, tn_value params) {
    struct method_caller *caller = user;
    struct subscription *subscription = subscription_find(caller->client, number);
    tn_value line = value_set_take(value_object_reserve(2), "event", value_text(event));
    line = value_set_take(line, "params", value_ref(params));
    run_print_line(line);
    value_unref(line);
    if (!command_flush()) caller->lost = true;
    if (caller->started && strcmp(event, "run/ended") == 0) caller->over = true;
    if (subscription) (void)subscription_grant(subscription, 1, NULL); /* fails if the credit is not counted */
}

static void caller_on_unsubscribed(void *user, uint64_t subscription) {
    (void)subscription;
    ((struct method_caller *)user)->subscriptions--;
}

/* ---- Calls ---- */

static void call_on_ended(struct call *call) { ((struct started_call *)call_owner(call))->ended = true; }

static void call_begin(struct method_caller *caller, const char *name, tn_value params, struct started_call *started) {
    static const struct call_ops ops = {.ended = call_on_ended};
    struct callable *callable = method_call_new(caller->client, method_find(name), NULL);
    *started = (struct started_call){.caller = caller};
    started->call = call_new(host_loop(caller->host), callable, &ops, started);
    callable_unref(callable);
    if (call_start(started->call, params)) started->ended = true;
}

static bool caller_is_stopped(const struct method_caller *caller) {
    return command_got_sigint() || command_got_sigterm() || caller->lost;
}

static bool call_has_ended(void *user) { return ((const struct started_call *)user)->ended; }

static bool call_is_done(void *user) {
    const struct started_call *started = user;
    return started->ended || caller_is_stopped(started->caller);
}

static bool events_are_done(void *user) {
    const struct method_caller *caller = user;
    if (caller->subscriptions <= 0 || caller->lost) return true;
    return caller->started ? caller->over : caller_is_stopped(caller);
}

/* ---- The run that was started ---- */

static tn_value only_run_id(tn_value result) {
    return value_set_take(value_object_reserve(1), "run_id", value_ref(value_get(result, "run_id")));
}

static void cancel_run(struct method_caller *caller, tn_value which) {
    struct started_call started;
    call_begin(caller, "run/cancel", which, &started);
    if (!started.ended) (void)loop_run(host_loop(caller->host), call_has_ended, &started);
    call_free(started.call);
}

static int exit_code_of_run(tn_value run) {
    tn_value status = value_get(run, "status");
    if (command_got_sigint() || command_got_sigterm()) return COMMAND_CANCELLED;
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

static int await_run(struct method_caller *caller, tn_value result) {
    struct loop *loop = host_loop(caller->host);
    struct started_call waiting;
    tn_value which = only_run_id(result);
    call_begin(caller, "run/wait", which, &waiting);
    if (!waiting.ended) (void)loop_run(loop, call_is_done, &waiting);
    if (!waiting.ended) {
        cancel_run(caller, which);
        (void)loop_run(loop, call_has_ended, &waiting);
    }
    tn_value run = call_output(waiting.call);
    int code = exit_code_of_run(run);
    report_run(run, value_get(result, "subscription") != NULL);
    call_free(waiting.call);
    value_unref(which);
    return code;
}

/* ---- The command ---- */

static int exit_code_of(const struct error *error) {
    if (command_got_sigint() || command_got_sigterm()) return COMMAND_CANCELLED;
    if (strcmp(error->code, "INVALID_INPUT") == 0) return COMMAND_USAGE;
    if (strcmp(error->code, "INVALID_GRAPH") == 0) return COMMAND_INVALID;
    return COMMAND_RUN_FAILED;
}

/* Prints the detail of the error as JSON: the question of an approval, for example. */
static int caller_report_error(const struct error *error) {
    int code = command_report_error(exit_code_of(error), error);
    tn_value detail = value_get(error->more, "detail");
    char *text = detail ? json_text(detail, JSON_COMPACT) : NULL;
    if (text) command_warn("detail: %s", text);
    mem_free(text);
    return code;
}

/* Prints the result. Waits for the run that it names, and prints events until there are no more. */
static int caller_report(struct method_caller *caller, tn_value result) {
    bool listens = value_get(result, "subscription") != NULL;
    int code = COMMAND_OK;
    caller->started = value_get(result, "run_id") && !value_get(result, "status");
    if (listens) caller->subscriptions++;
    if (caller->started || listens)
        run_print_line(result); /* the first one of several lines */
    else
        command_print(result);
    (void)command_flush();
    if (caller->started) code = await_run(caller, result);
    if (listens) (void)loop_run(host_loop(caller->host), events_are_done, caller);
    return code;
}

static int caller_run(struct method_caller *caller, const struct method *method, tn_value params) {
    struct loop *loop = host_loop(caller->host);
    struct started_call started;
    command_watch_signals(caller->host);
    call_begin(caller, method->name, params, &started);
    if (!started.ended) (void)loop_run(loop, call_is_done, &started);
    if (!started.ended) { /* after a signal, or if nothing can end it any more */
        call_cancel(started.call);
        (void)loop_run(loop, call_has_ended, &started);
    }
    bool done = call_outcome(started.call) == CALL_COMPLETED;
    int code = done ? caller_report(caller, call_output(started.call)) : caller_report_error(call_error(started.call));
    call_free(started.call);
    return code;
}

/* Returns NULL, and prints the error, if there is no such method. */
static const struct method *find_method(const char *name) {
    const struct method *method = method_find(name);
    struct error error = ERROR_INIT;
    if (method) return method;
    (void)method_refuse_unknown(name, &error);
    command_warn_error(&error);
    error_finish(&error);
    return NULL;
}

int command_call(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    const struct method *method = find_method(operand_at(arguments, 0));
    if (!method) return COMMAND_USAGE;
    const char *given = operand_at(arguments, 1);
    tn_value params = given ? command_json(arguments, given, "PARAMS", &error) : value_object();
    if (!params) {
        int code = command_report_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    struct method_caller caller = {.host = command_host(arguments)};
    int code = COMMAND_PLUGIN_PROBLEM;
    if (caller.host) {
        caller.client =
            client_new(server_of(caller.host), &(struct client_options){.name = "tenon call",
                                                                        .scope = METHOD_ADMIN,
                                                                        .files = true,
                                                                        .notify = caller_on_event,
                                                                        .unsubscribed = caller_on_unsubscribed,
                                                                        .user = &caller});
        code = caller_run(&caller, method, params);
        client_free(caller.client);
    }
    value_unref(params);
    host_free(caller.host);
    return code;
}

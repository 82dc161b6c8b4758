/*
 * command_call.c - `tenon call`: calls a method of the table, and prints its result and the events that it subscribes
 * to.
 *
 * The command is a client of the server that every host of the program has. A method that waits ends with the command's
 * first signal, which cancels it. With subscriptions the command prints events until they have ended.
 */
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
    bool ended, lost;   /* lost: standard output takes no more */
};

static void caller_on_event(void *user, uint64_t subscription, const char *event, tn_value params) {
    struct method_caller *caller = user;
    (void)subscription;
    tn_value line = value_set_take(value_object_reserve(2), "event", value_text(event));
    line = value_set_take(line, "params", value_ref(params));
    run_print_line(line);
    value_unref(line);
    if (!command_flush()) caller->lost = true;
}

static void caller_on_unsubscribed(void *user, uint64_t subscription) {
    struct method_caller *caller = user;
    (void)subscription;
    caller->subscriptions--;
}

static void caller_on_ended(struct call *call) { ((struct method_caller *)call_owner(call))->ended = true; }

static bool caller_is_stopped(const struct method_caller *caller) {
    return command_got_sigint() || command_got_sigterm() || caller->lost;
}

static bool call_is_done(void *user) {
    const struct method_caller *caller = user;
    return caller->ended || caller_is_stopped(caller);
}

static bool call_has_ended(void *user) { return ((const struct method_caller *)user)->ended; }

static bool events_are_done(void *user) {
    const struct method_caller *caller = user;
    return caller->subscriptions <= 0 || caller_is_stopped(caller);
}

static int exit_code_of(const struct error *error) {
    if (command_got_sigint() || command_got_sigterm()) return COMMAND_CANCELLED;
    if (strcmp(error->code, "INVALID_INPUT") == 0) return COMMAND_USAGE;
    if (strcmp(error->code, "INVALID_GRAPH") == 0) return COMMAND_INVALID;
    return COMMAND_RUN_FAILED;
}

/* Prints the result, and events until no subscription is left. */
static int caller_report(struct method_caller *caller, const struct call *call) {
    if (call_outcome(call) != CALL_COMPLETED)
        return command_report_error(exit_code_of(call_error(call)), call_error(call));
    tn_value subscription = value_get(call_output(call), "subscription");
    if (subscription) caller->subscriptions++;
    if (!subscription) {
        command_print(call_output(call));
        return COMMAND_OK;
    }
    run_print_line(call_output(call)); /* the first one of several lines */
    (void)command_flush();
    (void)loop_run(host_loop(caller->host), events_are_done, caller);
    return command_got_sigint() || command_got_sigterm() ? COMMAND_CANCELLED : COMMAND_OK;
}

static int caller_run(struct method_caller *caller, const struct method *method, tn_value params) {
    static const struct call_ops ops = {.ended = caller_on_ended};
    struct loop *loop = host_loop(caller->host);
    struct callable *callable = method_call_new(caller->client, method, NULL);
    struct call *call = call_new(loop, callable, &ops, caller);
    callable_unref(callable);
    command_watch_signals(caller->host);
    caller->ended = call_start(call, params);
    if (!caller->ended) (void)loop_run(loop, call_is_done, caller);
    if (!caller->ended) { /* after a signal, or if nothing can end it any more */
        call_cancel(call);
        (void)loop_run(loop, call_has_ended, caller);
    }
    int code = caller_report(caller, call);
    call_free(call);
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

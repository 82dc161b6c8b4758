/*
 * method_caller.c - two ways to call a method: as a client of a server in this process, or as the peer of a connection.
 */
#include "host/program/method_caller.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/files.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/rpc/rpc_listener.h"
#include "host/server/rpc/rpc_peer.h"
#include "host/server/server.h"
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* An event or an answer of the connection, which is handled in its turn: one turn of the loop may receive several. */
struct received {
    struct received *next;
    struct called *called; /* of an answer; otherwise NULL */
    tn_value name, params; /* of an event */
};

struct method_caller {
    struct loop *loop;
    struct host *host; /* NULL: it is connected */
    struct client *client;
    struct peer *peer; /* NULL: it is not connected, or was closed */
    const char *address;
    bool lost; /* the connection has ended */
    method_event_fn *event;
    void *user;
    struct received *first, **last; /* what method_caller_wait has not handled yet */
};

/* One call: in process it has `call`, over a connection `number`. */
struct called {
    struct method_caller *caller;
    struct call *call;
    uint64_t number;
    bool ended;
    tn_value result;    /* of a connection; NULL if it has failed */
    struct error error; /* of a connection */
};

/* ---- Over a connection ---- */

static void caller_on_request(void *user, struct peer_request *request) {
    (void)user;
    peer_refuse(request, RPC_METHOD_NOT_FOUND, "this client has no methods");
}

static struct received *caller_receive(struct method_caller *caller) {
    struct received *received = mem_zalloc(sizeof *received);
    *caller->last = received;
    caller->last = &received->next;
    return received;
}

static void caller_on_notification(void *user, const char *method, tn_value params) {
    struct method_caller *caller = user;
    if (!caller->event || !value_get(params, "subscription")) return;
    struct received *event = caller_receive(caller);
    event->name = value_text(method);
    event->params = value_ref(params);
}

static void received_free_first(struct method_caller *caller) {
    struct received *received = caller->first;
    caller->first = received->next;
    if (!caller->first) caller->last = &caller->first;
    value_unref(received->name);
    value_unref(received->params);
    mem_free(received);
}

static void handle_first(struct method_caller *caller) {
    struct received *received = caller->first;
    if (received->called)
        received->called->ended = true;
    else
        caller->event(caller->user, value_chars(received->name, NULL), received->params);
    received_free_first(caller);
}

static void caller_on_ended(void *user, const struct error *why) {
    struct method_caller *caller = user;
    (void)why;
    caller->lost = true;
    loop_wake(caller->loop);
}

static void caller_on_closed(void *user) { ((struct method_caller *)user)->peer = NULL; }

static const struct peer_ops caller_peer_ops = {.request = caller_on_request,
                                                .notification = caller_on_notification,
                                                .ended = caller_on_ended,
                                                .closed = caller_on_closed};

static bool caller_is_closed(void *user) { return !((struct method_caller *)user)->peer; }

static void called_on_answer(void *user, tn_value result, const struct error *error) {
    struct called *called = user;
    caller_receive(called->caller)->called = called;
    if (result)
        called->result = value_ref(result);
    else if (called->caller->lost)
        error_set(&called->error, TN_FAILED, "IO", "the host at %s has closed the connection", called->caller->address);
    else
        error_copy(&called->error, error);
}

static int caller_connect(struct method_caller *caller, const char *address) {
    struct error error = ERROR_INIT;
    caller->address = address;
    caller->loop = loop_new(&error);
    struct rpc_stream *stream = caller->loop ? rpc_connect(caller->loop, address, &error) : NULL;
    if (stream) {
        (void)signal(SIGPIPE, SIG_IGN);
        caller->peer = peer_new(caller->loop, stream, RPC_FRAMING_LINES, &caller_peer_ops, caller);
        return COMMAND_OK;
    }
    int code = command_report_error(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    return code;
}

/* ---- In a host of the command ---- */

static void caller_on_event(void *user, uint64_t subscription, const char *event, tn_value params) {
    struct method_caller *caller = user;
    (void)subscription;
    caller->event(caller->user, event, params);
}

static int caller_open_host(struct method_caller *caller, const struct arguments *arguments) {
    caller->host = command_host(arguments);
    if (!caller->host) return COMMAND_PLUGIN_PROBLEM;
    caller->loop = host_loop(caller->host);
    tn_value name = value_format("tenon %s", argument_command_name(arguments));
    caller->client =
        client_new(server_of(caller->host), &(struct client_options){.name = value_chars(name, NULL),
                                                                     .scope = METHOD_ADMIN,
                                                                     .files = true,
                                                                     .notify = caller->event ? caller_on_event : NULL,
                                                                     .user = caller});
    value_unref(name);
    return COMMAND_OK;
}

static void called_on_ended(struct call *call) { ((struct called *)call_owner(call))->ended = true; }

/* ---- Both ---- */

int method_caller_refuse_host_options(const struct arguments *arguments) {
    static const char *const names[] = {"plugins", "config", "no-config",     "allow-drafts", "isolate", "model",
                                        "record",  "replay", "check-plugins", "tools",        NULL};
    for (size_t i = 0; names[i]; i++)
        if (argument_given(arguments, names[i]))
            return command_report(
                COMMAND_USAGE,
                "--%s cannot be used with --connect: it is an option of a host, and the host at %s runs "
                "already",
                names[i], argument_text(arguments, "connect"));
    return COMMAND_OK;
}

int method_caller_open(struct method_caller **out, const struct arguments *arguments, method_event_fn *event,
                       void *user) {
    const char *address = argument_text(arguments, "connect");
    struct method_caller *caller = *out = mem_zalloc(sizeof *caller);
    caller->event = event;
    caller->user = user;
    caller->last = &caller->first;
    if (!address) return caller_open_host(caller, arguments);
    int code = method_caller_refuse_host_options(arguments);
    return code ? code : caller_connect(caller, address);
}

void method_caller_free(struct method_caller *caller) {
    if (!caller) return;
    client_free(caller->client);
    if (caller->peer) {
        peer_close(caller->peer);
        (void)loop_run(caller->loop, caller_is_closed, caller);
    }
    while (caller->first) received_free_first(caller);
    if (caller->host)
        host_free(caller->host);
    else
        loop_free(caller->loop);
    mem_free(caller);
}

struct host *method_caller_host(const struct method_caller *caller) {
    return caller->host;
}

struct loop *method_caller_loop(const struct method_caller *caller) {
    return caller->loop;
}

tn_value method_caller_path(const struct method_caller *caller, const char *name) {
    char path[PATH_MAX];
    if (!caller->host && !files_is_special_name(name) && realpath(name, path)) name = path;
    return value_string_lossy(name, strlen(name));
}

void method_caller_watch_signals(struct method_caller *caller) { command_watch_signals_in(caller->loop); }

struct called *method_caller_begin_take(struct method_caller *caller, const char *method, tn_value params) {
    static const struct call_ops ops = {.ended = called_on_ended};
    struct called *called = mem_zalloc(sizeof *called);
    called->caller = caller;
    if (!caller->host) {
        called->number = peer_call_take(caller->peer, method, params, called_on_answer, called);
        return called;
    }
    struct callable *callable = method_call_new(caller->client, method_find(method), NULL);
    called->call = call_new(caller->loop, callable, &ops, called);
    callable_unref(callable);
    if (call_start(called->call, params)) called->ended = true;
    value_unref(params);
    return called;
}

bool called_has_ended(void *called) { return ((const struct called *)called)->ended; }

void called_cancel(struct called *called) {
    if (called->ended) return;
    if (called->call)
        call_cancel(called->call);
    else
        peer_cancel(called->caller->peer, called->number);
}

tn_value called_result(const struct called *called) {
    if (!called->call) return called->result;
    return call_outcome(called->call) == CALL_COMPLETED ? call_output(called->call) : NULL;
}

const struct error *called_error(const struct called *called) {
    return called->call ? call_error(called->call) : &called->error;
}

void called_free(struct called *called) {
    call_free(called->call);
    value_unref(called->result);
    error_finish(&called->error);
    mem_free(called);
}

struct caller_wait {
    struct method_caller *caller;
    bool (*done)(void *user);
    void *user;
    bool signals; /* end it */
};

/* What follows the answer that ends this wait is handled in the next one. */
static bool caller_wait_is_over(void *user) {
    const struct caller_wait *wait = user;
    struct method_caller *caller = wait->caller;
    while (caller->first && !wait->done(wait->user)) handle_first(caller);
    return wait->done(wait->user) || caller->lost || (wait->signals && command_got_signal());
}

static bool caller_wait(struct method_caller *caller, bool (*done)(void *user), void *user, bool signals) {
    struct caller_wait wait = {caller, done, user, signals};
    (void)loop_run(caller->loop, caller_wait_is_over, &wait);
    return done(user);
}

bool method_caller_wait(struct method_caller *caller, bool (*done)(void *user), void *user) {
    return caller_wait(caller, done, user, true);
}

bool method_caller_wait_for(struct method_caller *caller, bool (*done)(void *user), void *user) {
    return caller_wait(caller, done, user, false);
}

int32_t method_caller_try_take(struct method_caller *caller, const char *method, tn_value params, tn_value *result,
                               struct error *error) {
    bool before = command_got_signal(); /* then this call cleans up */
    struct called *called = method_caller_begin_take(caller, method, params);
    if (!caller_wait(caller, called_has_ended, called,
                     !before)) { /* after a signal, or if nothing can end it any more */
        called_cancel(called);
        (void)method_caller_wait_for(caller, called_has_ended, called);
    }
    tn_value found = called_result(called);
    if (found)
        *result = value_ref(found);
    else
        error_copy(error, called_error(called));
    called_free(called);
    return found ? TN_OK : TN_FAILED;
}

int method_caller_exit_code(const struct error *error) {
    if (command_got_signal()) return COMMAND_CANCELLED;
    if (strcmp(error->code, "INVALID_INPUT") == 0) return COMMAND_USAGE;
    if (strcmp(error->code, "INVALID_GRAPH") == 0) return COMMAND_INVALID;
    return COMMAND_RUN_FAILED;
}

/* Parameters that do not match their schema: of a command, only what is wrong with which of them. */
int method_caller_report(int code, const struct error *error) {
    tn_value violations = value_get(value_get(error->more, "detail"), "violations");
    for (size_t i = 0; i < value_count(violations); i++) {
        tn_value one = value_at(violations, i);
        const char *at = command_text(one, "pointer", "");
        command_warn("%s%s%s%s [%s]", *at ? "`" : "", *at ? at + 1 : "", *at ? "`: " : "",
                     command_text(one, "message", ""), error->code);
    }
    return value_count(violations) ? code : command_report_error(code, error);
}

int method_caller_call_take(struct method_caller *caller, const char *method, tn_value params, tn_value *result) {
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    if (method_caller_try_take(caller, method, params, result, &error) != TN_OK)
        code = method_caller_report(method_caller_exit_code(&error), &error);
    error_finish(&error);
    return code;
}

int method_caller_report_lost(const struct method_caller *caller) {
    return command_report(COMMAND_RUN_FAILED, "the host at %s has closed the connection [IO]",
                          caller->address ? caller->address : "");
}

/* ---- Subscriptions ---- */

static void ignore_answer(void *user, tn_value result, const struct error *error) {
    (void)user, (void)result, (void)error;
}

void method_caller_grant(struct method_caller *caller, int64_t number) {
    if (caller->host) {
        struct subscription *subscription = subscription_find(caller->client, (uint64_t)number);
        if (subscription) (void)subscription_grant(subscription, 1, NULL);
        return;
    }
    tn_value params = value_set_take(value_object_reserve(2), "subscription", value_int(number));
    (void)peer_call_take(caller->peer, "event/grant", value_set_take(params, "credit", value_int(1)), ignore_answer,
                         NULL);
}

bool method_caller_has_subscription(const struct method_caller *caller, int64_t number) {
    return !caller->host || subscription_find(caller->client, (uint64_t)number) != NULL;
}

/*
 * connection.c - the life of a connection, calls of methods for its requests, and events for its subscriptions.
 *
 * Each request for a method is one call (plugin/call/call.h); cancelling the request cancels the call. When the client
 * does not read, the peer is full: the client's subscriptions are paused, and the runs behind them wait.
 */
#include "host/server/connection.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/rpc/rpc_peer.h"
#include "host/server/rpc/rpc_stream.h"
#include "host/server/server.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

#define PREFIX "tenon/"

enum connection_state { STATE_OPEN, STATE_INITIALIZED, STATE_SHUT_DOWN, STATE_CLOSING };
enum trace_level { TRACE_OFF, TRACE_MESSAGES, TRACE_VERBOSE };

struct connection {
    struct connection_options options;
    char *name;
    struct peer *peer; /* NULL: closed */
    struct client *client;
    void *service; /* state of the service, or NULL */
    enum connection_state state;
    enum trace_level trace;
    bool input_ended, was_shut_down;
    size_t calls; /* open ones: they can end after the peer was closed */
    tn_value client_info;
    int64_t parent;           /* processId, or 0 */
    struct loop_timer watch;  /* looks for the parent */
    struct loop_timer linger; /* after the end of the input */
    struct loop_work finish;  /* closes when nothing is open */
};

/* A method that runs for a request. */
struct connected_call {
    struct connection *connection;
    struct peer_request *request;
    struct call *call;
    tn_value progress; /* workDoneToken, or NULL */
    int64_t started_us;
};

struct peer *connection_peer(const struct connection *connection) {
    return connection->peer;
}
struct server *connection_server(const struct connection *connection) {
    return connection->options.server;
}
bool connection_names_files(const struct connection *connection) { return connection->options.files; }
tn_value connection_client_info(const struct connection *connection) { return connection->client_info; }

static struct loop *connection_loop(const struct connection *connection) {
    return server_loop(connection->options.server);
}

/* ---- Trace ---- */

/* `detail` is text for TRACE_VERBOSE, or NULL. */
static void trace(struct connection *connection, tn_value message, tn_value detail) {
    tn_value params = value_set_take(value_object_reserve(2), "message", message);
    if (connection->trace == TRACE_VERBOSE && detail) {
        char *text = json_text(detail, JSON_COMPACT);
        size_t length = strlen(text);
        params =
            value_set_take(params, "verbose",
                           value_format("%.*s%s", (int)(length > CONNECTION_TRACE_MAX ? CONNECTION_TRACE_MAX : length),
                                        text, length > CONNECTION_TRACE_MAX ? "…" : ""));
        mem_free(text);
    }
    peer_notify_take(connection->peer, "$/logTrace", params);
}

static enum trace_level trace_level(tn_value value, enum trace_level otherwise) {
    if (!value || !value_is(value, TN_STRING)) return otherwise;
    if (value_text_is(value, "verbose")) return TRACE_VERBOSE;
    return value_text_is(value, "messages") ? TRACE_MESSAGES : TRACE_OFF;
}

/* ---- Progress ---- */

static void report_progress(const struct connected_call *call, const char *kind) {
    if (!call->connection->peer) return;
    tn_value value = value_set_take(value_object_reserve(2), "kind", value_text(kind));
    if (strcmp(kind, "begin") == 0)
        value = value_set_take(value, "title", value_text(peer_request_method(call->request)));
    tn_value params = value_set_take(value_object_reserve(2), "token", value_ref(call->progress));
    peer_notify_take(call->connection->peer, "$/progress", value_set_take(params, "value", value));
}

/* ---- Ending ---- */

/* After the end of the input: when all requests are answered. */
static void connection_look_finished(struct loop_work *work) {
    struct connection *connection = CONTAINER_OF(work, struct connection, finish);
    if (connection->input_ended && peer_open_requests(connection->peer) == 0) connection_close(connection);
}

static void connection_on_idle(void *user) {
    struct connection *connection = user;
    bool over = connection->input_ended && connection->state != STATE_CLOSING;
    if (over) loop_defer(connection_loop(connection), &connection->finish);
}

static void connection_on_linger(struct loop_timer *timer) {
    connection_close(CONTAINER_OF(timer, struct connection, linger));
}

static void connection_on_ended(void *user, const struct error *why) {
    struct connection *connection = user;
    connection->input_ended = true;
    if (why) {
        log_write(LOG_INFO, NULL, "%s: %s", connection->name, why->message);
        connection_close(connection);
        return;
    }
    loop_timer_start(connection_loop(connection), &connection->linger, CONNECTION_LINGER_MS, connection_on_linger);
    loop_defer(connection_loop(connection), &connection->finish);
}

static void connection_free(struct connection *connection) {
    client_free(connection->client);
    if (connection->options.closed)
        connection->options.closed(connection->options.user, connection, connection->was_shut_down ? 0 : 1);
    value_unref(connection->client_info);
    mem_free(connection->name);
    mem_free(connection);
}

/* Calls that were cancelled can end later; the service ends now, because it has the peer. */
static void connection_on_closed(void *user) {
    struct connection *connection = user;
    if (connection->service) connection->options.service->close(connection->service);
    connection->service = NULL;
    connection->peer = NULL;
    if (connection->calls == 0) connection_free(connection);
}

void connection_close(struct connection *connection) {
    struct loop *loop = connection_loop(connection);
    if (connection->state == STATE_CLOSING) return;
    connection->state = STATE_CLOSING;
    loop_timer_stop(loop, &connection->watch);
    loop_timer_stop(loop, &connection->linger);
    loop_undefer(loop, &connection->finish);
    client_pause(connection->client, true);
    peer_close(connection->peer);
}

/* ---- The parent process ---- */

static void connection_watch_parent(struct loop_timer *timer) {
    struct connection *connection = CONTAINER_OF(timer, struct connection, watch);
    if (kill((pid_t)connection->parent, 0) != 0 && errno == ESRCH)
        connection_close(connection);
    else
        loop_timer_start(connection_loop(connection), &connection->watch, CONNECTION_PARENT_MS,
                         connection_watch_parent);
}

/* ---- The life of a connection ---- */

static tn_value server_info(void) {
    tn_value info = value_set_take(value_object_reserve(2), "name", value_text("tenon"));
    return value_set_take(info, "version", value_text(TENON_VERSION));
}

/* {capabilities: {…, experimental: {tenon: {scope}}}, serverInfo} */
static tn_value describe_server(struct connection *connection, tn_value params) {
    tn_value capabilities =
        connection->service ? connection->options.service->initialize(connection->service, params) : value_object();
    tn_value scope = value_text(method_scope_name(connection->options.scope));
    tn_value own = value_set_take(value_object_reserve(1), "scope", scope);
    capabilities = value_set_take(capabilities, "experimental", value_set_take(value_object_reserve(1), "tenon", own));
    tn_value result = value_set_take(value_object_reserve(2), "capabilities", capabilities);
    return value_set_take(result, "serverInfo", server_info());
}

static void connection_initialize(struct connection *connection, struct peer_request *request) {
    tn_value params = peer_request_params(request);
    tn_value info = value_get(params, "clientInfo"), process = value_get(params, "processId");
    if (connection->state != STATE_OPEN) {
        peer_refuse(request, RPC_INVALID_REQUEST, "`initialize` was sent twice");
        return;
    }
    connection->state = STATE_INITIALIZED;
    connection->trace = trace_level(value_get(params, "trace"), TRACE_OFF);
    if (info && value_is(info, TN_OBJECT)) connection->client_info = value_ref(info);
    if (connection->options.watch_parent && process && value_as_int(process, &connection->parent) &&
        connection->parent > 0 && connection->parent <= INT32_MAX)
        loop_timer_start(connection_loop(connection), &connection->watch, CONNECTION_PARENT_MS,
                         connection_watch_parent);
    peer_reply_take(request, describe_server(connection, params));
}

static void connection_shut_down(struct connection *connection, struct peer_request *request) {
    if (connection->state != STATE_INITIALIZED) {
        peer_refuse(request, RPC_NOT_INITIALIZED, "`shutdown` needs `initialize` before it");
        return;
    }
    connection->state = STATE_SHUT_DOWN;
    connection->was_shut_down = true;
    peer_reply_take(request, value_null());
}

/* ---- Calls of methods ---- */

static void connected_call_free(struct connected_call *open) {
    struct connection *connection = open->connection;
    call_free(open->call);
    value_unref(open->progress);
    mem_free(open);
    if (--connection->calls == 0 && !connection->peer) connection_free(connection);
}

static void answer_call(struct connected_call *open) {
    struct connection *connection = open->connection;
    bool done = call_outcome(open->call) == CALL_COMPLETED;
    if (open->progress) report_progress(open, "end");
    if (connection->trace && connection->peer)
        trace(connection,
              value_format("%s: %s after %.1f ms", peer_request_method(open->request), done ? "answered" : "failed",
                           (double)(loop_clock_us(connection_loop(connection)) - open->started_us) / 1000),
              done ? call_output(open->call) : NULL);
    if (done)
        peer_reply_take(open->request, value_ref(call_output(open->call)));
    else
        peer_fail(open->request, call_error(open->call));
    connected_call_free(open);
}

static void connected_call_on_ended(struct call *call) { answer_call(call_owner(call)); }

static void connected_call_on_cancel(struct peer_request *request) {
    call_cancel(((struct connected_call *)peer_request_data(request))->call);
}

/* As an id of a request: an integer or a short text. */
static bool is_progress_token(tn_value token) {
    size_t length = 0;
    if (value_is(token, TN_STRING)) (void)value_chars(token, &length);
    return value_is(token, TN_INT) || (value_is(token, TN_STRING) && length <= PEER_ID_MAX);
}

/* The parameters without the members that LSP adds to requests; NULL if they are not an object. A new reference. */
static tn_value own_params(tn_value params, tn_value *progress) {
    if (value_is(params, TN_NULL)) return value_object();
    if (!value_is(params, TN_OBJECT)) return NULL;
    tn_value token = value_get(params, "workDoneToken");
    if (token && is_progress_token(token)) *progress = value_ref(token);
    static const char *const of_lsp[] = {"workDoneToken", "partialResultToken"};
    params = value_ref(params);
    for (size_t i = 0; i < sizeof of_lsp / sizeof *of_lsp; i++)
        if (value_get(params, of_lsp[i])) params = value_remove_take(params, value_text(of_lsp[i]));
    return params;
}

static void call_method(struct connection *connection, const struct method *method, struct peer_request *request) {
    static const struct call_ops ops = {.ended = connected_call_on_ended};
    tn_value progress = NULL, params = own_params(peer_request_params(request), &progress);
    if (!params) {
        peer_refuse(request, RPC_INVALID_PARAMS, "`params` of %s must be an object; found a list", method->name);
        return;
    }
    struct connected_call *open = mem_zalloc(sizeof *open);
    struct callable *callable = method_call_new(connection->client, method, NULL);
    connection->calls++;
    *open = (struct connected_call){.connection = connection, .request = request, .progress = progress};
    open->started_us = loop_clock_us(connection_loop(connection));
    open->call = call_new(connection_loop(connection), callable, &ops, open);
    callable_unref(callable);
    peer_request_hold(request, open, connected_call_on_cancel);
    peer_request_drop_params(request);
    if (progress) report_progress(open, "begin");
    bool ended = call_start(open->call, params);
    value_unref(params);
    if (ended) answer_call(open);
}

/* ---- Messages ---- */

static const char *own_name(const char *name) {
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? name + strlen(PREFIX) : name;
}

static void refuse_method(struct connection *connection, struct peer_request *request) {
    const char *name = peer_request_method(request);
    if (connection->service && connection->state == STATE_OPEN && strncmp(name, "$/", 2) != 0) {
        peer_refuse(request, RPC_NOT_INITIALIZED, "`%.100s` needs `initialize` before it", name);
        return;
    }
    struct error error = ERROR_INIT;
    (void)method_refuse_unknown(own_name(name), &error);
    peer_refuse(request, RPC_METHOD_NOT_FOUND, "%s", error.message);
    error_finish(&error);
}

static void connection_on_request(void *user, struct peer_request *request) {
    struct connection *connection = user;
    const char *name = peer_request_method(request);
    const struct method *method;
    if (connection->trace) trace(connection, value_format("%.100s: received", name), peer_request_params(request));
    if (connection->state == STATE_SHUT_DOWN) {
        peer_refuse(request, RPC_INVALID_REQUEST, "`%.100s` came after `shutdown`; only `exit` is expected", name);
    } else if (strcmp(name, "initialize") == 0) {
        connection_initialize(connection, request);
    } else if (strcmp(name, "shutdown") == 0) {
        connection_shut_down(connection, request);
    } else if ((method = method_find(own_name(name))) != NULL) {
        call_method(connection, method, request);
    } else if (connection->service && connection->state == STATE_INITIALIZED &&
               connection->options.service->request(connection->service, request)) {
        return;
    } else {
        refuse_method(connection, request);
    }
}

static void connection_on_notification(void *user, const char *method, tn_value params) {
    struct connection *connection = user;
    if (strcmp(method, "exit") == 0) {
        connection_close(connection);
    } else if (strcmp(method, "$/setTrace") == 0) {
        connection->trace = trace_level(value_get(params, "value"), connection->trace);
    } else if (connection->service && connection->state == STATE_INITIALIZED) {
        (void)connection->options.service->notification(connection->service, method, params);
    }
}

static void connection_on_drained(void *user) {
    struct connection *connection = user;
    client_pause(connection->client, false);
    if (connection->service && connection->options.service->drained)
        connection->options.service->drained(connection->service);
}

static void connection_on_event(void *user, uint64_t subscription, const char *event, tn_value params) {
    struct connection *connection = user;
    (void)subscription;
    if (connection->state == STATE_OPEN) {
        peer_notify_take(connection->peer, event, value_ref(params));
    } else {
        tn_value name = value_format(PREFIX "%s", event);
        peer_notify_take(connection->peer, value_chars(name, NULL), value_ref(params));
        value_unref(name);
    }
    if (peer_is_full(connection->peer)) client_pause(connection->client, true);
}

static const struct peer_ops connection_peer_ops = {.request = connection_on_request,
                                                    .notification = connection_on_notification,
                                                    .drained = connection_on_drained,
                                                    .idle = connection_on_idle,
                                                    .ended = connection_on_ended,
                                                    .closed = connection_on_closed};

struct connection *connection_new(struct rpc_stream *stream, const struct connection_options *options) {
    struct connection *connection = mem_zalloc(sizeof *connection);
    struct server *server = options->server;
    connection->options = *options;
    connection->name = mem_text(options->name);
    connection->finish.run = connection_look_finished;
    connection->client = client_new(server, &(struct client_options){.name = connection->name,
                                                                     .scope = options->scope,
                                                                     .files = options->files,
                                                                     .notify = connection_on_event,
                                                                     .user = connection});
    connection->peer = peer_new(server_loop(server), stream, options->framing, &connection_peer_ops, connection);
    peer_join(connection->peer, server_budget(server));
    if (options->service) connection->service = options->service->open(options->service_user, connection);
    return connection;
}

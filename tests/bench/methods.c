/*
 * methods.c - tenon-methods: what the method table costs, in process and over connections.
 *
 *     tenon-methods call 100000                      calls of run/get, one after the other
 *     tenon-methods events 10000 --subscribers=100   events of one run, each sent to all subscribers
 *
 * The workloads call-socket, call-stdio, events-socket and events-stdio do the same over a connection for each
 * subscriber: a Unix socket, or two pipes. Both ends are in this process and on one OS thread, so the figures contain
 * the work of the client, too: it writes, reads and checks each message. Every result is checked inside the timed
 * section.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/connection.h"
#include "host/server/method_call.h"
#include "host/server/rpc/rpc_peer.h"
#include "host/server/rpc/rpc_stream.h"
#include "host/server/server.h"
#include "tests/bench/harness.h"
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAR_MAX 1000 /* connections */

static struct server *server;
static struct client *client;
static int64_t events, ends;

static void on_event(void *user, uint64_t subscription, const char *event, tn_value params) {
    (void)user, (void)subscription, (void)params;
    if (strcmp(event, "run/event") == 0)
        events++;
    else
        ends++;
}

/* ---- The far ends of connections ---- */

enum over { IN_PROCESS, OVER_SOCKET, OVER_STDIO };

struct far {
    struct peer *peer;
    bool near_closed, closed;
    bool answered;
    tn_value result;
};

static enum over over;
static struct far fars[FAR_MAX];
static int64_t far_count;

static void far_on_request(void *user, struct peer_request *request) {
    (void)user;
    peer_refuse(request, RPC_METHOD_NOT_FOUND, "none");
}
static void far_on_notification(void *user, const char *method, tn_value params) { on_event(user, 0, method, params); }
static void far_on_ended(void *user, const struct error *why) { (void)user, (void)why; }
static void far_on_closed(void *user) { ((struct far *)user)->closed = true; }
static void near_on_closed(void *user, struct connection *connection, int code) {
    (void)connection, (void)code;
    ((struct far *)user)->near_closed = true;
}

static const struct peer_ops far_ops = {
    .request = far_on_request, .notification = far_on_notification, .ended = far_on_ended, .closed = far_on_closed};

static struct rpc_stream *open_stream(int input, int output) {
    struct error error = ERROR_INIT;
    struct rpc_stream *stream = rpc_stream_open(server_loop(server), input, output, &error);
    if (!stream) die("cannot connect", error.message);
    return stream;
}

static void open_far(struct far *far) {
    int there[2], back[2];
    bool made = over == OVER_SOCKET ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, there) == 0
                                    : pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0;
    if (!made) die("cannot connect", "");
    bool socket = over == OVER_SOCKET;
    (void)connection_new(socket ? open_stream(there[0], there[0]) : open_stream(there[0], back[1]),
                         &(struct connection_options){.server = server,
                                                      .name = "bench",
                                                      .scope = METHOD_RUN,
                                                      .files = true,
                                                      .framing = RPC_FRAMING_HEADERS,
                                                      .closed = near_on_closed,
                                                      .user = far});
    struct rpc_stream *stream = socket ? open_stream(there[1], there[1]) : open_stream(back[0], there[1]);
    far->peer = peer_new(server_loop(server), stream, RPC_FRAMING_HEADERS, &far_ops, far);
}

static void far_on_answer(void *user, tn_value result, const struct error *error) {
    struct far *far = user;
    if (!result) die("a call over a connection", error->message);
    far->result = value_ref(result);
    far->answered = true;
}

static bool far_has_answer(void *user) { return ((const struct far *)user)->answered; }

/* Calls a method over a connection and waits; the result is a new reference. */
static tn_value far_call(struct far *far, const char *method, tn_value params) {
    far->answered = false;
    (void)peer_call_take(far->peer, method, value_ref(params), far_on_answer, far);
    if (!far->answered) (void)loop_run(server_loop(server), far_has_answer, far);
    return far->result;
}

static bool fars_are_closed(void *user) {
    (void)user;
    for (int64_t i = 0; i < far_count; i++)
        if (!fars[i].closed || !fars[i].near_closed) return false;
    return true;
}

static void close_fars(void) {
    for (int64_t i = 0; i < far_count; i++) peer_close(fars[i].peer);
    (void)loop_run(server_loop(server), fars_are_closed, NULL);
}

/* ---- Calls ---- */

static void on_ended(struct call *call) { *(bool *)call_owner(call) = true; }

/* Calls a method and waits; the result is a new reference. */
static tn_value call_method(const struct method *method, tn_value params) {
    static const struct call_ops ops = {.ended = on_ended};
    bool ended = false;
    struct callable *callable = method_call_new(client, method, NULL);
    struct call *call = call_new(server_loop(server), callable, &ops, &ended);
    callable_unref(callable);
    if (call_start(call, params)) ended = true;
    if (!ended) (void)loop_run(server_loop(server), flag_set, &ended);
    if (call_outcome(call) != CALL_COMPLETED) die(method->name, call_error(call)->message);
    tn_value result = value_ref(call_output(call));
    call_free(call);
    return result;
}

static tn_value call_with(const char *name, tn_value params_take) {
    tn_value result = call_method(method_find(name), params_take);
    value_unref(params_take);
    return result;
}

/* Starts a run of one node that emits `count` events. If it is held, it waits for a subscription without credit. */
static tn_value start_run(const char *id, int64_t count, bool held) {
    tn_value text = value_format("version: '1.0'\nagent: {name: stream}\nchannels: []\n"
                                 "nodes: [{id: emit, type: bench.emit, config: {number: %" PRId64 ", pace: burst}}]\n"
                                 "edges: [{from: START, to: emit}]\n",
                                 count);
    tn_value config = value_set_take(value_object(), "run_id", value_text(id));
    tn_value params = value_set_take(value_object(), "config", config);
    params = value_set_take(params, "modes", value_push_take(value_array(), value_text("custom")));
    if (held) params = value_set_take(params, "subscribe", value_set_take(value_object(), "credit", value_int(0)));
    return call_with("run/start", value_set_take(params, "text", text));
}

static tn_value run_named(const char *id) { return value_set_take(value_object(), "run_id", value_text(id)); }

static tn_value call_anywhere(const struct method *method, tn_value params) {
    return over == IN_PROCESS ? call_method(method, params) : far_call(&fars[0], method->name, params);
}

static void call_workload(const char *name, int64_t n) {
    const struct method *method = method_find("run/get");
    struct measure measure;
    value_unref(start_run("r", 1, false));
    value_unref(call_with("run/wait", run_named("r")));
    tn_value params = run_named("r");
    for (int64_t i = 0; i < 20; i++) value_unref(call_anywhere(method, params));
    measure_begin(&measure);
    for (int64_t i = 0; i < n; i++) {
        tn_value run = call_anywhere(method, params);
        if (!value_text_is(value_get(run, "status"), "done")) die("the run is not done", "");
        value_unref(run);
    }
    report(&measure, name, n, (double)n, "");
    value_unref(params);
}

/* ---- Events ---- */

static bool all_have_ended(void *user) { return ends == *(const int64_t *)user; }

static void events_workload(const char *name, int64_t n, int64_t subscribers) {
    struct measure measure;
    char notes[64];
    tn_value started = start_run("r", n, true);
    for (int64_t i = 0; i < subscribers; i++) {
        tn_value params = value_set_take(run_named("r"), "credit", value_int(1000000));
        params = value_set_take(params, "after", value_int(0));
        params = value_set_take(params, "modes", value_push_take(value_array(), value_text("custom")));
        if (over == IN_PROCESS)
            value_unref(call_method(method_find("run/subscribe"), params));
        else
            value_unref(far_call(&fars[i], "run/subscribe", params));
        value_unref(params);
    }
    tn_value hold = value_set_take(value_object(), "subscription", value_ref(value_get(started, "subscription")));
    measure_begin(&measure);
    value_unref(call_with("event/unsubscribe", hold));
    (void)loop_run(server_loop(server), all_have_ended, &subscribers);
    if (events != n * subscribers) die("events are missing", "");
    value_unref(started);
    snprintf(notes, sizeof notes, "\"subscribers\":%" PRId64, subscribers);
    report(&measure, name, n, (double)(n * subscribers), notes);
}

static bool ends_with(const char *text, const char *end) {
    return strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

int main(int argc, char **argv) {
    static const char *const paths[] = {TENON_BENCH_NODES, TENON_CORE_PLUGIN, NULL};
    const char *workload = argc > 2 ? argv[1] : "";
    bool calls = strncmp(workload, "call", 4) == 0;
    int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
    struct error error = ERROR_INIT;
    if (n <= 0 || (!calls && strncmp(workload, "events", 6) != 0)) {
        fputs("usage: tenon-methods call|events[-socket|-stdio] N [--subscribers=K]\n", stderr);
        return 2;
    }
    harness_options(argc, argv, 3);
    over = ends_with(workload, "-socket") ? OVER_SOCKET : ends_with(workload, "-stdio") ? OVER_STDIO : IN_PROCESS;
    int64_t subscribers = strtoll(option("subscribers", "1"), NULL, 10);
    if (subscribers < 1 || subscribers > FAR_MAX) die("--subscribers", "expected 1 to 1000");
    (void)signal(SIGPIPE, SIG_IGN);
    host = host_new(&(struct host_options){.plugin_paths = paths, .no_config = true}, &error);
    if (!host) die("cannot start", error.message);
    server = server_new(host);
    client = client_new(
        server, &(struct client_options){.name = "bench", .scope = METHOD_RUN, .files = true, .notify = on_event});
    for (; over != IN_PROCESS && far_count < subscribers; far_count++) open_far(&fars[far_count]);
    if (calls)
        call_workload(workload, n);
    else
        events_workload(workload, n, subscribers);
    close_fars();
    host_free(host);
    return 0;
}

/*
 * connection_test.c - clients over a stream: their life, requests as calls, events, trace, progress, and all ways to
 * end. The clock is a fake one.
 */
#include "tests/unit/rpc_wire.h"

#include "host/server/connection.h"
#include "host/server/rpc/rpc_budget.h"
#include "host/server/rpc/rpc_peer.h"
#include "tests/unit/server_run_fixture.h"
#include <sys/wait.h>

/* Works for `ms`, an input. */
#define DELAYS(ms)                                                                                                     \
    "version: \\\"1.0\\\"\\nagent: {name: delays}\\nchannels: []\\nnodes: [{id: wait, type: delay, config: {ms: " ms   \
    "}}]\\n"                                                                                                           \
    "edges: [{from: START, to: wait}, {from: wait, to: END}]\\n"
#define REQUEST(id, method, params)                                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}\n"
#define NOTE(method, params) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}\n"

/* One connection; and, in the first one, the host of all. */
struct connected {
    struct served served;
    struct wire wire;
    struct connection *connection;
    bool closed, service_closed;
    int code;
    struct peer_request *asked; /* a request that the service holds */
    size_t notes;
};

static void connected_on_closed(void *user, struct connection *connection, int code) {
    struct connected *connected = user;
    (void)connection;
    connected->closed = true;
    connected->code = code;
}

static void connect_with(struct connected *connected, const struct served *served, enum method_scope scope,
                         const struct connection_service *service, bool watch_parent) {
    struct rpc_stream *stream = wire_open(&connected->wire, host_loop(served->host));
    connected->connection = connection_new(stream, &(struct connection_options){.server = served->server,
                                                                                .name = "far",
                                                                                .scope = scope,
                                                                                .files = true,
                                                                                .framing = RPC_FRAMING_LINES,
                                                                                .watch_parent = watch_parent,
                                                                                .service = service,
                                                                                .service_user = connected,
                                                                                .closed = connected_on_closed,
                                                                                .user = connected});
}

static void host_open(struct connected *connected) {
    *connected = (struct connected){0};
    served_open(&connected->served, METHOD_ADMIN);
    loop_fake_clock(host_loop(connected->served.host));
}

static void connected_open(struct connected *connected) {
    host_open(connected);
    connect_with(connected, &connected->served, METHOD_ADMIN, NULL, false);
}

static void advance(struct connected *connected, int64_t ms) {
    loop_fake_advance(connected->wire.loop, ms);
    wire_turn(&connected->wire);
}

static void connected_end(struct connected *connected) {
    wire_close(&connected->wire);
    if (!connected->closed) connection_close(connected->connection);
    for (int i = 0; i < WIRE_TURNS; i++) loop_run_turn(connected->wire.loop);
    assert_true(connected->closed);
}

static void connected_close(struct connected *connected) {
    connected_end(connected);
    served_close(&connected->served);
}

static void say(struct connected *connected, const char *text) { wire_send(&connected->wire, text); }

/* Starts a run of `text` and returns its id, to be freed with mem_free. */
static char *start_run_of(struct connected *connected, const char *params) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"run/start\",\"params\":{%s}}\n", params);
    say(connected, text.data);
    tn_value message = wire_message(&connected->wire), id = value_get(value_get(message, "result"), "run_id");
    if (!id) fail_msg("%s", value_chars(value_get(value_get(message, "error"), "message"), NULL));
    char *name = mem_text(value_chars(id, NULL));
    value_unref(message);
    buffer_finish(&text);
    return name;
}

static void ask_about(struct connected *connected, int id, const char *method, const char *run) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"run_id\":\"%s\"}}\n", id,
                  method, run);
    say(connected, text.data);
    buffer_finish(&text);
}

/* ---- The life of a connection ---- */

static void methods_need_no_handshake(void **state) {
    struct connected far;
    (void)state;
    connected_open(&far);
    say(&far, REQUEST("1", "run/list", "{}") REQUEST("2", "tenon/run/list", "{}"));
    wire_expect(&far.wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"runs\":[],\"more\":false}}");
    wire_expect(&far.wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"runs\":[],\"more\":false}}");
    say(&far, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"run/list\"}\n" REQUEST("4", "run/list", "null"));
    wire_expect_parts(&far.wire, "\"id\":3,\"result\":", "[]");
    wire_expect_parts(&far.wire, "\"id\":4,\"result\":", "[]");
    say(&far, REQUEST("5", "run/list", "[]") REQUEST("6", "run/list", "{\"limit\":0}") REQUEST("7", "run/strat", "{}"));
    wire_expect_parts(&far.wire, "\"id\":5,\"error\":{\"code\":-32602", "must be an object");
    wire_expect_parts(&far.wire, "\"id\":6,\"error\":{\"code\":-32000", "\"code\":\"INVALID_INPUT\"");
    wire_expect_parts(&far.wire, "\"id\":7,\"error\":{\"code\":-32601", "did you mean `run/start`?");
    say(&far, REQUEST("8", "$/anything", "{}") NOTE("$/anything", "{}") NOTE("run/cancel", "{}"));
    wire_expect_parts(&far.wire, "\"id\":8,\"error\":{\"code\":-32601", "");
    wire_expect_nothing(&far.wire);
    connected_close(&far);
}

static void the_handshake_has_an_order(void **state) {
    struct connected far;
    (void)state;
    connected_open(&far);
    say(&far, REQUEST("1", "shutdown", "null"));
    wire_expect_parts(&far.wire, "\"id\":1,\"error\":{\"code\":-32002", "needs `initialize`");
    say(&far, REQUEST("2", "initialize", "{\"processId\":null,\"clientInfo\":{\"name\":\"vi\"},\"capabilities\":{}}"));
    wire_expect_parts(&far.wire,
                      "\"id\":2,\"result\":{\"capabilities\":{\"experimental\":{\"tenon\":{\"scope\":\"admin\"}}}",
                      "\"serverInfo\":{\"name\":\"tenon\"");
    assert_true(value_text_is(value_get(connection_client_info(far.connection), "name"), "vi"));
    say(&far, NOTE("initialized", "{}") REQUEST("3", "initialize", "{}"));
    wire_expect_parts(&far.wire, "\"id\":3,\"error\":{\"code\":-32600", "sent twice");
    say(&far, REQUEST("4", "shutdown", "null") REQUEST("5", "run/list", "{}") REQUEST("6", "shutdown", "null")
                  REQUEST("7", "initialize", "{}"));
    wire_expect(&far.wire, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":null}");
    for (int id = 5; id <= 7; id++) wire_expect_parts(&far.wire, "\"error\":{\"code\":-32600", "came after `shutdown`");
    say(&far, NOTE("exit", "null"));
    assert_true(far.closed && far.wire.ended);
    assert_int_equal(far.code, 0);
    connected_close(&far);
}

static void an_exit_without_shutdown_is_a_failure(void **state) {
    struct connected far;
    (void)state;
    connected_open(&far);
    say(&far, NOTE("exit", "null") REQUEST("1", "run/list", "{}"));
    assert_true(far.closed);
    assert_int_equal(far.code, 1);
    wire_expect_nothing(&far.wire);
    connected_close(&far);
    connected_open(&far);
    say(&far, REQUEST("1", "initialize", "{\"clientInfo\":7,\"processId\":\"x\",\"trace\":[]}"));
    wire_end_input(&far.wire);
    assert_true(far.closed);
    assert_int_equal(far.code, 1);
    connected_close(&far);
}

static void wrong_parameters_of_initialize(void **state) {
    static const char *const params[] = {
        "null", "[]", "[1,2]", "{\"processId\":-1}", "{\"processId\":1e300}", "{\"processId\":9223372036854775807}"};
    (void)state;
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        struct connected far;
        char text[200];
        host_open(&far);
        connect_with(&far, &far.served, METHOD_ADMIN, NULL, true);
        (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":%s}\n",
                       params[i]);
        say(&far, text);
        wire_expect_parts(&far.wire, "\"id\":1,\"result\":", "capabilities");
        advance(&far, 2 * CONNECTION_PARENT_MS);
        assert_false(far.closed);
        connected_close(&far);
    }
}

static void a_scope_limits_the_connection(void **state) {
    struct connected far;
    (void)state;
    host_open(&far);
    connect_with(&far, &far.served, METHOD_READ, NULL, false);
    say(&far, REQUEST("1", "run/start", "{\"text\":\"\"}") REQUEST("2", "initialize", "{}"));
    wire_expect_parts(&far.wire, "\"id\":1,\"error\":{\"code\":-32000", "\"code\":\"PERMISSION_DENIED\"");
    wire_expect_parts(&far.wire, "\"id\":2,\"result\":", "\"scope\":\"read\"");
    connected_close(&far);
}

/* ---- The parent process ---- */

static pid_t ended_process(void) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return child;
}

static void say_parent(struct connected *far, pid_t parent) {
    char text[200];
    (void)snprintf(text, sizeof text, REQUEST("1", "initialize", "{\"processId\":%ld}"), (long)parent);
    say(far, text);
    wire_expect_parts(&far->wire, "\"id\":1,\"result\":", "capabilities");
}

static void the_connection_ends_with_its_parent(void **state) {
    struct connected far;
    (void)state;
    host_open(&far);
    connect_with(&far, &far.served, METHOD_ADMIN, NULL, true);
    say_parent(&far, ended_process());
    advance(&far, CONNECTION_PARENT_MS - 1);
    assert_false(far.closed);
    advance(&far, 1);
    assert_true(far.closed);
    assert_int_equal(far.code, 1);
    connected_close(&far);

    host_open(&far);
    connect_with(&far, &far.served, METHOD_ADMIN, NULL, true);
    say_parent(&far, getpid());
    for (int i = 0; i < 5; i++) advance(&far, CONNECTION_PARENT_MS);
    assert_false(far.closed);
    connected_close(&far);

    connected_open(&far); /* a socket: the process can be in another namespace, or on its own */
    say_parent(&far, ended_process());
    advance(&far, CONNECTION_PARENT_MS);
    assert_false(far.closed);
    connected_close(&far);
}

/* ---- The end of the input ---- */

static void open_requests_are_answered_after_the_input(void **state) {
    struct connected far;
    (void)state;
    connected_open(&far);
    char *run = start_run_of(&far, "\"text\":\"" DELAYS("5000") "\"");
    ask_about(&far, 1, "run/wait", run);
    wire_end_input(&far.wire);
    advance(&far, 4999);
    wire_expect_nothing(&far.wire);
    advance(&far, 1);
    wire_expect_parts(&far.wire, "\"id\":1,\"result\":", "\"status\":\"done\"");
    assert_true(far.closed);
    mem_free(run);
    connected_close(&far);
}

static void lingering_has_a_limit(void **state) {
    struct connected far, other = {0};
    (void)state;
    connected_open(&far);
    connect_with(&other, &far.served, METHOD_ADMIN, NULL, false);
    char *run = start_run_of(&far, "\"text\":\"" DELAYS("60000") "\"");
    ask_about(&far, 1, "run/wait", run);
    wire_end_input(&far.wire);
    advance(&far, CONNECTION_LINGER_MS - 1);
    assert_false(far.closed);
    advance(&far, 1);
    assert_true(far.closed);
    wire_expect_nothing(&far.wire);
    ask_about(&other, 1, "run/get", run); /* the run continues without the client */
    wire_expect_parts(&other.wire, "\"id\":1,\"result\":", "\"status\":\"running\"");
    advance(&other, 60000);
    ask_about(&other, 2, "run/get", run);
    wire_expect_parts(&other.wire, "\"id\":2,\"result\":", "\"status\":\"done\"");
    mem_free(run);
    connected_end(&other);
    connected_close(&far);
}

/* ---- Cancellation, progress, trace ---- */

static void an_open_call_is_cancelled(void **state) {
    struct connected far;
    (void)state;
    connected_open(&far);
    char *run = start_run_of(&far, "\"text\":\"" DELAYS("60000") "\"");
    ask_about(&far, 1, "run/wait", run);
    ask_about(&far, 2, "run/wait", run);
    say(&far, NOTE("$/cancelRequest", "{\"id\":7}") NOTE("$/cancel_request", "{\"requestId\":2}"));
    wire_expect_parts(&far.wire, "\"id\":2,\"error\":{\"code\":-32800", "\"code\":\"CANCELLED\"");
    wire_expect_nothing(&far.wire);
    say(&far, NOTE("$/cancelRequest", "{\"id\":1}"));
    wire_expect_parts(&far.wire, "\"id\":1,\"error\":{\"code\":-32800", "\"code\":\"CANCELLED\"");
    say(&far, NOTE("$/cancelRequest", "{\"id\":1}")); /* it has ended */
    wire_expect_nothing(&far.wire);
    mem_free(run);
    connected_close(&far);
}

static void progress_has_a_begin_and_an_end(void **state) {
    struct connected far;
    (void)state;
    connected_open(&far);
    say(&far, REQUEST("1", "run/list", "{\"workDoneToken\":\"t\",\"partialResultToken\":5}"));
    wire_expect(
        &far.wire,
        "{\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{\"token\":\"t\",\"value\":{\"kind\":\"begin\","
        "\"title\":\"run/list\"}}}");
    wire_expect(
        &far.wire,
        "{\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{\"token\":\"t\",\"value\":{\"kind\":\"end\"}}}");
    wire_expect(&far.wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"runs\":[],\"more\":false}}");
    say(&far, REQUEST("2", "run/list", "{\"workDoneToken\":[]}")); /* no token: LSP has texts and integers */
    wire_expect(&far.wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"runs\":[],\"more\":false}}");
    char text[PEER_ID_MAX + 100]; /* a long one would be kept until the answer */
    for (int more = 0; more <= 1; more++) {
        (void)snprintf(text, sizeof text, REQUEST("3", "run/list", "{\"workDoneToken\":\"%0*d\"}"),
                       (int)PEER_ID_MAX + more, 7);
        say(&far, text);
        if (!more) wire_expect_parts(&far.wire, "$/progress", "begin");
        if (!more) wire_expect_parts(&far.wire, "$/progress", "end");
        wire_expect_parts(&far.wire, "\"id\":3,\"result\":", "[]");
    }
    connected_close(&far);
}

static void a_trace_shows_messages(void **state) {
    struct connected far;
    (void)state;
    connected_open(&far);
    say(&far, REQUEST("1", "initialize", "{\"trace\":\"messages\"}") REQUEST("2", "run/list", "{}"));
    wire_expect_parts(&far.wire, "\"id\":1", "");
    wire_expect(&far.wire,
                "{\"jsonrpc\":\"2.0\",\"method\":\"$/logTrace\",\"params\":{\"message\":\"run/list: received\"}}");
    wire_expect_parts(&far.wire, "$/logTrace", "run/list: answered after ");
    wire_expect_parts(&far.wire, "\"id\":2", "");
    say(&far, NOTE("$/setTrace", "{\"value\":\"verbose\"}") REQUEST("3", "run/list", "{\"limit\":5}"));
    wire_expect_parts(&far.wire, "\"message\":\"run/list: received\"", "\"verbose\":\"{\\\"limit\\\":5}\"");
    wire_expect_parts(&far.wire, "answered", "\"verbose\":\"{\\\"runs\\\":[]");
    wire_expect_parts(&far.wire, "\"id\":3", "");
    say(&far, NOTE("$/setTrace", "{\"value\":\"nonsense\"}") NOTE("$/setTrace", "{}")
                  NOTE("$/setTrace", "{\"value\":\"off\"}") REQUEST("4", "run/list", "{}"));
    wire_expect_parts(&far.wire, "\"id\":4", "");
    wire_expect_nothing(&far.wire);
    connected_close(&far);
}

/* A long text is cut, also inside a character, and the message stays one. */
static void a_trace_is_short(void **state) {
    struct connected far;
    struct buffer text;
    (void)state;
    connected_open(&far);
    say(&far, REQUEST("1", "initialize", "{\"trace\":\"verbose\"}"));
    wire_expect_parts(&far.wire, "\"id\":1", "");
    for (size_t shift = 0; shift < 2; shift++) {
        buffer_init(&text, SIZE_MAX);
        buffer_format(&text, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"run/get\",\"params\":{\"run_id\":\"%s",
                      shift ? "x" : "");
        for (size_t i = 0; i < CONNECTION_TRACE_MAX; i++) buffer_text(&text, "ä");
        buffer_text(&text, "\"}}\n");
        say(&far, text.data);
        buffer_finish(&text);
        tn_value traced = wire_message(&far.wire), verbose = value_get(value_get(traced, "params"), "verbose");
        size_t length;
        (void)value_chars(verbose, &length);
        assert_in_range(length, CONNECTION_TRACE_MAX, CONNECTION_TRACE_MAX + 10);
        value_unref(traced);
        wire_expect_parts(&far.wire, "run/get: failed after ", "");
        wire_expect_parts(&far.wire, "\"id\":2,\"error\":", "INVALID_INPUT");
    }
    connected_close(&far);
}

/* ---- Events ---- */

static void events_have_the_name_that_the_client_expects(void **state) {
    struct connected far, editor = {0};
    (void)state;
    connected_open(&far);
    connect_with(&editor, &far.served, METHOD_ADMIN, NULL, false);
    say(&editor, REQUEST("1", "initialize", "{}"));
    wire_expect_parts(&editor.wire, "\"id\":1", "");
    say(&editor, REQUEST("2", "tenon/event/subscribe", "{\"events\":[\"run/ended\"]}"));
    wire_expect_parts(&editor.wire, "\"id\":2,\"result\":{\"subscription\":1}", "");
    say(&far, REQUEST("1", "event/subscribe", "{\"events\":[\"run/ended\"]}"));
    wire_expect_parts(&far.wire, "\"id\":1,\"result\":{\"subscription\":1}", "");
    char *run = start_run_of(&far, "\"text\":\"" DELAYS("1") "\"");
    advance(&far, 1);
    wire_turn(&editor.wire);
    wire_expect_parts(&far.wire, "{\"jsonrpc\":\"2.0\",\"method\":\"run/ended\",\"params\":{\"run_id\":", run);
    wire_expect_parts(&editor.wire, "{\"jsonrpc\":\"2.0\",\"method\":\"tenon/run/ended\",\"params\":{\"run_id\":", run);
    mem_free(run);
    connected_end(&editor);
    connected_close(&far);
}

static int64_t steps_of(struct connected *asker, const char *run) {
    ask_about(asker, 77, "run/get", run);
    tn_value message = wire_message(&asker->wire);
    int64_t steps = value_to_int(value_get(value_get(message, "result"), "steps"));
    value_unref(message);
    return steps;
}

/* The graph counts to 4,000 in as many steps. */
#define LONG_RUN                                                                                                       \
    "\"input\":{\"n\":4000},\"text\":\"version: \\\"1.0\\\"\\nagent: {name: c, recursion_limit: 5000}\\nchannels: "    \
    "[{name: i, "                                                                                                      \
    "type: last_value, default: 0}, {name: n, type: last_value}, {name: more, type: last_value, default: '"            \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'}]"  \
    "\\n"                                                                                                              \
    "nodes: [{id: add, type: set, config: {values: {i: state.i + 1, more: \\\"state.more + 'x'\\\"}}}]\\nedges:\\n  "  \
    "- {from: "                                                                                                        \
    "START, to: add}\\n  - {from: add, type: conditional, conditions: [{expression: state.i < state.n, to: add}, "     \
    "{expression: default, to: END}]}\\n\""

/* A client that does not read stops its own run. Another client is served, and its run ends. */
static void a_deaf_client_stops_only_its_run(void **state) {
    struct connected far, other = {0};
    (void)state;
    connected_open(&far);
    connect_with(&other, &far.served, METHOD_ADMIN, NULL, false);
    char *run = start_run_of(&far, LONG_RUN ",\"subscribe\":{}");
    far.wire.deaf = true;
    int64_t before, steps = -1;
    do {
        before = steps;
        for (int i = 0; i < 20; i++) wire_turn(&far.wire);
        steps = steps_of(&other, run);
    } while (steps > before);
    assert_in_range(steps, 100, 3900);
    assert_true(peer_is_full(connection_peer(far.connection)));

    char *quick = start_run_of(&other, LONG_RUN);
    while (steps_of(&other, quick) < 4000) wire_turn(&other.wire);
    assert_int_equal(steps_of(&other, run), steps);

    far.wire.deaf = false; /* it reads: all events arrive, in order */
    while (steps_of(&other, run) < 4000) wire_turn(&far.wire);
    for (int i = 0; i < 20; i++) wire_turn(&far.wire);
    for (int64_t seq = 1; seq <= 4001; seq++) {
        tn_value event = wire_message(&far.wire);
        assert_int_equal(value_to_int(value_get(value_get(event, "params"), "seq")), seq);
        assert_true(value_text_is(value_get(event, "method"), seq == 4001 ? "run/ended" : "run/event"));
        value_unref(event);
    }
    mem_free(run);
    mem_free(quick);
    connected_end(&other);
    connected_close(&far);
}

/* A run does not wait for a client that was lost while it did not read. */
static void a_lost_client_frees_its_run(void **state) {
    struct connected far, other = {0};
    (void)state;
    connected_open(&far);
    connect_with(&other, &far.served, METHOD_ADMIN, NULL, false);
    char *run = start_run_of(&far, LONG_RUN ",\"subscribe\":{}");
    far.wire.deaf = true;
    for (int i = 0; i < 300; i++) wire_turn(&far.wire);
    assert_true(steps_of(&other, run) < 4000);
    (void)close(far.wire.far);
    far.wire.far = -1;
    for (int i = 0; i < 2000 && steps_of(&other, run) < 4000; i++) wire_turn(&other.wire);
    assert_int_equal(steps_of(&other, run), 4000);
    assert_true(far.closed);
    mem_free(run);
    connected_end(&other);
    connected_close(&far);
}

/* Draining ends a run that waits for a client that does not read, and sends the other clients what they have credit
 * for. */
static void draining_does_not_wait_for_a_deaf_client(void **state) {
    struct connected far, other = {0};
    (void)state;
    connected_open(&far);
    connect_with(&other, &far.served, METHOD_ADMIN, NULL, false);
    char *run = start_run_of(&far, LONG_RUN ",\"subscribe\":{}");
    far.wire.deaf = true;
    for (int i = 0; i < 400; i++) wire_turn(&far.wire);
    int64_t steps = steps_of(&other, run);
    assert_true(steps < 4000);
    ask_about(&other, 1, "run/wait", run);
    server_drain(far.served.server);
    for (int i = 0; i < 10 && !server_is_drained(far.served.server); i++) wire_turn(&other.wire);
    assert_true(server_is_drained(far.served.server));
    wire_expect_parts(&other.wire, "\"id\":1,\"result\":", "\"status\":\"stopped\"");
    assert_true(steps_of(&other, run) <= steps + 1);
    say(&other, REQUEST("2", "run/start", "{\"text\":\"" DELAYS("1") "\"}"));
    wire_expect_parts(&other.wire, "\"id\":2,\"error\":", "\"code\":\"CANCELLED\"");
    mem_free(run);
    connected_end(&other);
    connected_close(&far);
}

/* The connections of a host share a budget; the one that holds most is closed. */
static void connections_share_a_budget(void **state) {
    struct connected far, other = {0};
    struct buffer part;
    (void)state;
    connected_open(&far);
    connect_with(&other, &far.served, METHOD_ADMIN, NULL, false);
    server_budget(far.served.server)->max = 3 * RPC_BUDGET_STEP;
    buffer_init(&part, SIZE_MAX);
    buffer_text(&part, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run/get\",\"params\":{\"run_id\":\"");
    while (part.length <= RPC_BUDGET_STEP) buffer_char(&part, 'x');
    say(&far, part.data);
    say(&other, part.data);
    assert_false(far.closed);
    (void)wire_send_n(&far.wire, part.data, part.length);
    wire_turn(&far.wire);
    assert_true(far.closed);
    say(&other, "\"}}\n");
    wire_expect_parts(&other.wire, "\"id\":1,\"error\":", "INVALID_INPUT");
    buffer_finish(&part);
    connected_end(&other);
    connected_close(&far);
}

/* ---- A service ---- */

static void *service_open(void *user, struct connection *connection) {
    (void)connection;
    return user;
}
static void service_close(void *state) { ((struct connected *)state)->service_closed = true; }
static tn_value service_initialize(void *state, tn_value params) {
    (void)state, (void)params;
    return value_set_take(value_object(), "hoverProvider", value_bool(true));
}
static bool service_request(void *state, struct peer_request *request) {
    if (strcmp(peer_request_method(request), "textDocument/hover") != 0) return false;
    ((struct connected *)state)->asked = request;
    return true;
}
static bool service_notification(void *state, const char *method, tn_value params) {
    (void)method, (void)params;
    ((struct connected *)state)->notes++;
    return true;
}
static const struct connection_service test_service = {.open = service_open,
                                                       .close = service_close,
                                                       .initialize = service_initialize,
                                                       .request = service_request,
                                                       .notification = service_notification};

static void a_service_is_reached_after_initialize(void **state) {
    struct connected far;
    (void)state;
    host_open(&far);
    connect_with(&far, &far.served, METHOD_ADMIN, &test_service, false);
    say(&far,
        REQUEST("1", "textDocument/hover", "{}") NOTE("textDocument/didOpen", "{}") REQUEST("2", "run/list", "{}"));
    wire_expect_parts(&far.wire, "\"id\":1,\"error\":{\"code\":-32002", "`textDocument/hover` needs `initialize`");
    wire_expect_parts(&far.wire, "\"id\":2,\"result\":", "[]");
    assert_int_equal(far.notes, 0);
    say(&far, REQUEST("3", "initialize", "{}") NOTE("initialized", "{}") REQUEST("4", "textDocument/strange", "{}"));
    wire_expect_parts(&far.wire, "\"hoverProvider\":true", "\"scope\":\"admin\"");
    wire_expect_parts(&far.wire, "\"id\":4,\"error\":{\"code\":-32601", "textDocument/strange");
    assert_int_equal(far.notes, 1);
    say(&far, REQUEST("5", "shutdown", "null") NOTE("textDocument/didOpen", "{}"));
    wire_expect_parts(&far.wire, "\"id\":5,\"result\":null", "");
    assert_int_equal(far.notes, 1);
    connected_close(&far);
    assert_true(far.service_closed);
}

/* The connection ends when the service has answered, not after the limit of lingering. */
static void a_service_answers_after_the_input(void **state) {
    struct connected far;
    (void)state;
    host_open(&far);
    connect_with(&far, &far.served, METHOD_ADMIN, &test_service, false);
    say(&far, REQUEST("1", "initialize", "{}") REQUEST("2", "textDocument/hover", "{}"));
    wire_end_input(&far.wire);
    assert_false(far.closed);
    peer_reply_take(far.asked, value_text("hover"));
    wire_turn(&far.wire);
    wire_expect_parts(&far.wire, "\"id\":1", "");
    wire_expect(&far.wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"hover\"}");
    assert_true(far.closed);
    connected_close(&far);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_need_no_handshake),
        cmocka_unit_test(the_handshake_has_an_order),
        cmocka_unit_test(an_exit_without_shutdown_is_a_failure),
        cmocka_unit_test(wrong_parameters_of_initialize),
        cmocka_unit_test(a_scope_limits_the_connection),
        cmocka_unit_test(the_connection_ends_with_its_parent),
        cmocka_unit_test(open_requests_are_answered_after_the_input),
        cmocka_unit_test(lingering_has_a_limit),
        cmocka_unit_test(an_open_call_is_cancelled),
        cmocka_unit_test(progress_has_a_begin_and_an_end),
        cmocka_unit_test(a_trace_shows_messages),
        cmocka_unit_test(a_trace_is_short),
        cmocka_unit_test(events_have_the_name_that_the_client_expects),
        cmocka_unit_test(a_deaf_client_stops_only_its_run),
        cmocka_unit_test(a_lost_client_frees_its_run),
        cmocka_unit_test(draining_does_not_wait_for_a_deaf_client),
        cmocka_unit_test(connections_share_a_budget),
        cmocka_unit_test(a_service_is_reached_after_initialize),
        cmocka_unit_test(a_service_answers_after_the_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * rpc_peer_test.c - one side of JSON-RPC over a socket pair: wrong messages, answers, cancellation, limits, ends.
 */
#include "tests/unit/rpc_wire.h"

#include "host/server/rpc/rpc_budget.h"
#include "host/server/rpc/rpc_peer.h"

#define HELD_MAX (PEER_REQUESTS_MAX + 1)

struct near {
    struct wire wire;
    struct loop *loop;
    struct peer *peer;
    struct peer_request *held[HELD_MAX];
    size_t held_count, cancelled, requests, notifications, idles, drains;
    bool ended, closed, stays; /* stays: the end of the input does not close it */
    char *why;
    tn_value answer; /* of a request to the far end */
    char *code;      /* its error */
};

/* ---- The near end ---- */

static void near_on_cancel(struct peer_request *request) { ((struct near *)peer_request_data(request))->cancelled++; }

static void near_on_request(void *user, struct peer_request *request) {
    struct near *near = user;
    const char *method = peer_request_method(request);
    near->requests++;
    if (strcmp(method, "echo") == 0) {
        peer_reply_take(request, value_ref(peer_request_params(request)));
    } else if (strcmp(method, "hold") == 0 && near->held_count < HELD_MAX) {
        peer_request_hold(request, near, near_on_cancel);
        near->held[near->held_count++] = request;
    } else {
        peer_refuse(request, RPC_METHOD_NOT_FOUND, "no `%.5s`", method);
    }
}

static void near_on_notification(void *user, const char *method, tn_value params) {
    struct near *near = user;
    (void)params;
    near->notifications++;
    if (strcmp(method, "close") == 0) peer_close(near->peer);
}

static void near_on_drained(void *user) { ((struct near *)user)->drains++; }
static void near_on_idle(void *user) { ((struct near *)user)->idles++; }

static void near_on_ended(void *user, const struct error *why) {
    struct near *near = user;
    assert_true(!near->ended || (!near->why && why)); /* a limit can end it after the end of the input */
    near->ended = true;
    near->why = why ? mem_text(why->message) : NULL;
    if (!near->stays) peer_close(near->peer);
}

static void near_on_closed(void *user) { ((struct near *)user)->closed = true; }

static const struct peer_ops near_ops = {.request = near_on_request,
                                         .notification = near_on_notification,
                                         .drained = near_on_drained,
                                         .idle = near_on_idle,
                                         .ended = near_on_ended,
                                         .closed = near_on_closed};

static struct near *near_new(struct loop *loop) {
    struct near *near = mem_zalloc(sizeof *near);
    near->loop = loop;
    struct rpc_stream *stream = wire_open(&near->wire, near->loop);
    near->peer = peer_new(near->loop, stream, RPC_FRAMING_LINES, &near_ops, near);
    return near;
}

static int near_setup(void **state) {
    struct loop *loop = loop_new(NULL);
    loop_fake_clock(loop);
    *state = near_new(loop);
    return 0;
}

static void near_free(struct near *near) {
    for (size_t i = 0; i < near->held_count; i++) peer_reply_take(near->held[i], value_null());
    wire_close(&near->wire);
    if (!near->closed) peer_close(near->peer);
    loop_fake_advance(near->loop, RPC_FLUSH_MS);
    for (int i = 0; i < WIRE_TURNS; i++) loop_run_turn(near->loop);
    assert_true(near->closed);
    mem_free(near->why);
    mem_free(near->code);
    value_unref(near->answer);
    mem_free(near);
}

static int near_teardown(void **state) {
    struct near *near = *state;
    struct loop *loop = near->loop;
    near_free(near);
    loop_free(loop);
    return 0;
}

static void answer_held(struct near *near) {
    assert_true(near->held_count > 0);
    peer_reply_take(near->held[--near->held_count], value_text("late"));
    wire_turn(&near->wire);
}

/* ---- Messages ---- */

static void requests_are_answered(void **state) {
    struct near *near = *state;
    wire_send(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{\"a\":[1,\"ä\"]}}\n"
                           "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"echo\",\"params\":[2]}\n"
                           "{\"jsonrpc\":\"2.0\",\"id\":-3,\"method\":\"echo\"}\n"
                           "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"nothing\"}\n"
                           "{\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n");
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":[1,\"ä\"]}}");
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":[2]}");
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":-3,\"result\":null}");
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32601,\"message\":\"no `nothi`\"}}");
    wire_expect_nothing(&near->wire);
    assert_int_equal(near->notifications, 1);
    assert_int_equal(near->idles, 4);
}

static void wrong_messages_are_refused(void **state) {
    static const struct {
        const char *text, *answer;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"", "\"id\":null,\"error\":{\"code\":-32700"},
        {"nonsense", "\"id\":null,\"error\":{\"code\":-32700"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"echo\"}", "\"id\":null,\"error\":{\"code\":-32700"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "\"id\":null,\"error\":{\"code\":-32700"},
        {"[]", "batches are not supported"},
        {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}]", "batches are not supported"},
        {"7", "a message must be an object"},
        {"null", "a message must be an object"},
        {"{}", "\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\"}", "neither `method` nor `id`"},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"echo\"}", "\"id\":1,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"echo\"}", "\"id\":1,\"error\":{\"code\":-32600"},
        {"{\"id\":1,\"method\":\"echo\"}", "\"id\":1,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "\"id\":1,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":7}", "\"id\":1,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"echo\"}", "\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"echo\"}", "\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1e300,\"method\":\"echo\"}", "\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"echo\"}", "\"id\":null,\"error\":{\"code\":-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":7}", "\"id\":null,\"error\":{\"code\":-32600"},
    };
    struct near *near = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_send(&near->wire, cases[i].text);
        wire_send(&near->wire, "\n");
        wire_expect_parts(&near->wire, cases[i].answer, "\"error\":{");
        wire_expect_nothing(&near->wire);
    }
    assert_int_equal(near->requests, 0);
    assert_false(near->ended); /* all of them cost only themselves */
}

/* An answer to nothing, or a late one, is no reason for another message. */
static void answers_to_nothing_are_ignored(void **state) {
    struct near *near = *state;
    wire_send(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
                           "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"?\"}}\n"
                           "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":1}\n"
                           "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":77}}\n"
                           "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":[77]}\n"
                           "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\"}\n"
                           "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{}}\n");
    wire_expect_nothing(&near->wire);
    assert_false(near->ended);
}

static char *nested(size_t depth) {
    char *text = mem_alloc(2 * depth + 1);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    text[2 * depth] = '\0';
    return text;
}

static void send_nested(struct near *near, size_t depth) {
    char *text = nested(depth);
    wire_send(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":");
    wire_send(&near->wire, text);
    wire_send(&near->wire, "}\n");
    mem_free(text);
}

static void nesting_is_limited(void **state) {
    struct near *near = *state;
    send_nested(near, PEER_DEPTH_MAX - 1);
    wire_expect_parts(&near->wire, "\"id\":1,\"result\":[[", "]]");
    send_nested(near, PEER_DEPTH_MAX);
    wire_expect_parts(&near->wire, "\"id\":null,\"error\":{\"code\":-32700", "272");
    send_nested(near, 200000);
    wire_expect_parts(&near->wire, "\"id\":null,\"error\":{\"code\":-32700", "272");
}

static void texts_are_cut_between_bytes(void **state) {
    struct near *near = *state;
    wire_send(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ääää\"}\n");
    wire_expect(&near->wire,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no `ää\xef\xbf\xbd`\"}}");
}

static void ids_have_a_length(void **state) {
    struct near *near = *state;
    char id[PEER_ID_MAX + 2], text[PEER_ID_MAX + 100];
    memset(id, 'x', sizeof id);
    for (size_t length = PEER_ID_MAX; length <= PEER_ID_MAX + 1; length++) {
        (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"method\":\"echo\"}\n", (int)length,
                       id);
        wire_send(&near->wire, text);
        wire_expect_parts(&near->wire, length == PEER_ID_MAX ? "\"id\":\"xxx" : "\"id\":null", ":");
    }
}

/* ---- Open requests ---- */

#define HOLD(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"hold\"}\n"

static void an_open_id_is_refused(void **state) {
    struct near *near = *state;
    wire_send(&near->wire, HOLD("1") HOLD("\"1\"") HOLD("1"));
    wire_expect_parts(&near->wire, "\"id\":1,\"error\":{\"code\":-32600", "still open");
    assert_int_equal(near->held_count, 2);
    answer_held(near);
    answer_held(near);
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":\"late\"}");
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"late\"}");
    wire_send(&near->wire, HOLD("1")); /* it is free again */
    assert_int_equal(near->held_count, 1);
    assert_int_equal(near->idles, 1);
}

static void cancellations_reach_their_request(void **state) {
    struct near *near = *state;
    wire_send(&near->wire, HOLD("1") HOLD("\"1\""));
    wire_send(&near->wire, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n");
    assert_int_equal(near->cancelled, 1);
    wire_send(&near->wire, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n"); /* once */
    assert_int_equal(near->cancelled, 1);
    wire_send(&near->wire, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel_request\",\"params\":{\"requestId\":\"1\"}}\n");
    assert_int_equal(near->cancelled, 2);
    assert_int_equal(near->notifications, 0);
    answer_held(near); /* a request that was cancelled may still have a result */
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":\"late\"}");
    wire_send(&near->wire,
              "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":\"1\"}}\n"); /* too late */
    assert_int_equal(near->cancelled, 2);
}

static void errors_have_their_code(void **state) {
    struct near *near = *state;
    struct error error = ERROR_INIT;
    wire_send(&near->wire, HOLD("1") HOLD("2"));
    error_set(&error, TN_CANCELLED, "CANCELLED", "stopped");
    peer_fail(near->held[--near->held_count], &error);
    error_set(&error, TN_NOT_FOUND, "NOT_FOUND", "nowhere");
    peer_fail(near->held[--near->held_count], &error);
    error_finish(&error);
    wire_turn(&near->wire);
    wire_expect_parts(&near->wire, "\"id\":2,\"error\":{\"code\":-32800,\"message\":\"stopped\"",
                      "\"code\":\"CANCELLED\"");
    wire_expect_parts(&near->wire, "\"id\":1,\"error\":{\"code\":-32000,\"message\":\"nowhere\"",
                      "\"code\":\"NOT_FOUND\"");
}

static void open_requests_are_limited(void **state) {
    struct near *near = *state;
    char text[100];
    for (unsigned i = 0; i <= PEER_REQUESTS_MAX; i++) {
        (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"hold\"}\n", i);
        wire_send(&near->wire, text);
    }
    assert_int_equal(near->held_count, PEER_REQUESTS_MAX);
    wire_expect_parts(&near->wire, "\"id\":1024,\"error\":{\"code\":-32000,\"message\":\"1024 requests",
                      "\"code\":\"LIMIT\"");
    answer_held(near);
    wire_send(&near->wire, HOLD("5000"));
    assert_int_equal(near->held_count, PEER_REQUESTS_MAX);
}

/* ---- Floods ---- */

/* 100,000 requests in one piece: all are answered in their order, as fast as the answers are read. */
static void a_flood_is_answered_in_order(void **state) {
    struct near *near = *state;
    enum { COUNT = 100000 };
    struct buffer all;
    buffer_init(&all, SIZE_MAX);
    for (int i = 0; i < COUNT; i++) buffer_format(&all, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"echo\"}\n", i);
    assert_int_equal(wire_send_n(&near->wire, all.data, all.length), all.length);
    buffer_clear(&all);
    for (int i = 0; i < COUNT; i++) buffer_format(&all, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":null}\n", i);
    wire_turn(&near->wire);
    assert_int_equal(near->wire.got.length, all.length);
    assert_memory_equal(near->wire.got.data, all.data, all.length);
    buffer_finish(&all);
}

/* The far end never reads: it can send no more when RPC_STREAM_FULL bytes wait, and continues when it has read. */
static void a_deaf_client_stops_itself(void **state) {
    struct near *near = *state;
    struct buffer request;
    buffer_init(&request, SIZE_MAX);
    buffer_text(&request, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":[\"");
    while (request.length < 1000) buffer_char(&request, 'x');
    buffer_text(&request, "\"]}\n");
    size_t sent = 0, taken;
    near->wire.deaf = true;
    do sent += taken = wire_send_n(&near->wire, request.data, request.length);
    while (taken == request.length && sent < (64u << 20));
    assert_true(peer_is_full(near->peer));
    assert_true(sent < 4 * RPC_STREAM_FULL); /* what waits, and what the kernel holds */
    size_t before = near->requests;
    near->wire.deaf = false;
    for (int i = 0; i < 20; i++) wire_turn(&near->wire);
    assert_true(near->requests > before);
    assert_true(near->drains >= 1);
    assert_false(peer_is_full(near->peer));
    near->wire.at = near->wire.got.length;
    wire_send_n(&near->wire, request.data + taken, request.length - taken); /* the rest of the last one */
    wire_expect_parts(&near->wire, "\"id\":1,\"result\":[\"xxx", "xxx\"]}");
    buffer_finish(&request);
}

/* Answers to requests that are open already have a limit, too: then the connection ends. */
static void a_deaf_client_is_disconnected(void **state) {
    struct near *near = *state;
    size_t size = PEER_WAITING_MAX / 4;
    char *text = mem_alloc(size);
    memset(text, 'x', size);
    tn_value body = value_text_n(text, size);
    mem_free(text);
    near->wire.deaf = true;
    wire_send(&near->wire, HOLD("1") HOLD("2") HOLD("3") HOLD("4") HOLD("5"));
    while (near->held_count > 1) {
        assert_false(near->ended);
        peer_reply_take(near->held[--near->held_count], value_ref(body));
    }
    wire_turn(&near->wire);
    assert_false(near->ended);
    peer_reply_take(near->held[--near->held_count], value_ref(body)); /* one more than the limit */
    wire_turn(&near->wire);
    assert_true(near->ended);
    assert_non_null(strstr(near->why, "has not read"));
    value_unref(body);
}

/* ---- The budget of several peers ---- */

#define BUDGET ((size_t)4 << 20)

/* `size` bytes wait for the far end, which does not read. */
static void hold_answer(struct near *near, size_t size) {
    char *text = mem_alloc(size);
    memset(text, 'x', size);
    near->wire.deaf = true;
    wire_send(&near->wire, HOLD("1"));
    peer_reply_take(near->held[--near->held_count], value_text_n(text, size));
    mem_free(text);
    wire_turn(&near->wire);
}

/* The beginning of a message of more than `size` bytes, without its end. */
static void send_part(struct near *near, int id, size_t size) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"hold\",\"params\":[\"", id);
    for (size_t i = 0; i < size; i++) buffer_char(&text, 'x');
    (void)wire_send_n(&near->wire, text.data, text.length);
    buffer_finish(&text);
}

static void is_lost(const struct near *near) {
    assert_true(near->ended && near->closed);
    assert_non_null(strstr(near->why, "and this one most"));
}

static void the_peer_that_holds_most_is_disconnected(void **state) {
    struct near *near = *state, *small = near_new(near->loop), *idle = near_new(near->loop);
    struct rpc_budget budget;
    (void)state;
    rpc_budget_init(&budget, BUDGET);
    peer_join(small->peer, &budget);
    peer_join(near->peer, &budget);
    peer_join(idle->peer, &budget);
    hold_answer(near, BUDGET / 2 + RPC_BUDGET_STEP);
    assert_false(near->ended);
    hold_answer(small, BUDGET / 2); /* it adds what is too much, but holds less */
    wire_turn(&near->wire);
    is_lost(near);
    assert_false(small->ended);
    small->wire.deaf = false; /* it reads everything */
    for (int i = 0; i < 20; i++) wire_turn(&small->wire);
    assert_true(small->wire.got.length > BUDGET / 2);
    hold_answer(idle, BUDGET / 2 + RPC_BUDGET_STEP); /* there is room again */
    assert_false(idle->ended || small->ended);
    near_free(idle);
    near_free(small);
}

static void incomplete_messages_count(void **state) {
    struct near *near = *state;
    struct rpc_budget budget;
    rpc_budget_init(&budget, BUDGET);
    peer_join(near->peer, &budget);
    send_part(near, 1, BUDGET - RPC_BUDGET_STEP);
    assert_false(near->ended);
    send_part(near, 1, 2 * RPC_BUDGET_STEP);
    is_lost(near);
}

/* The message of an open request is kept, for its parameters. */
static void open_requests_count(void **state) {
    struct near *near = *state;
    struct rpc_budget budget;
    rpc_budget_init(&budget, BUDGET);
    peer_join(near->peer, &budget);
    for (int i = 0; i < 3; i++) {
        send_part(near, i, RPC_BUDGET_STEP);
        wire_send(&near->wire, "\"]}\n");
        assert_int_equal(near->held_count, i + 1);
    }
    answer_held(near);
    send_part(near, 3, RPC_BUDGET_STEP);
    assert_false(near->ended);
    send_part(near, 3, RPC_BUDGET_STEP);
    is_lost(near);
    assert_int_equal(near->cancelled, 2);
}

static void peers_whose_input_has_ended_count(void **state) {
    struct near *near = *state, *other = near_new(near->loop);
    struct rpc_budget budget;
    rpc_budget_init(&budget, BUDGET);
    peer_join(near->peer, &budget);
    peer_join(other->peer, &budget);
    hold_answer(near, BUDGET / 2 + RPC_BUDGET_STEP);
    near->stays = true;
    wire_end_input(&near->wire);
    assert_true(near->ended && !near->closed);
    near->stays = false;
    hold_answer(other, BUDGET / 2);
    wire_turn(&near->wire);
    is_lost(near);
    assert_false(other->ended);
    near_free(other);
}

/* It does not wait for RPC_FLUSH_MS. */
static void peers_that_close_count(void **state) {
    struct near *near = *state, *other = near_new(near->loop);
    struct rpc_budget budget;
    rpc_budget_init(&budget, BUDGET);
    peer_join(near->peer, &budget);
    peer_join(other->peer, &budget);
    hold_answer(near, BUDGET / 2 + RPC_BUDGET_STEP);
    peer_close(near->peer);
    wire_turn(&near->wire);
    assert_false(near->closed);
    hold_answer(other, BUDGET / 2);
    wire_turn(&near->wire);
    assert_true(near->closed);
    assert_false(other->ended);
    near_free(other);
}

/* ---- Ends ---- */

static void the_input_ends_inside_a_message(void **state) {
    struct near *near = *state;
    near->stays = true;
    wire_send(&near->wire, HOLD("1") "{\"jsonrpc\":\"2.0\",");
    wire_end_input(&near->wire);
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"the input ends "
                             "inside a message\"}}");
    assert_true(near->ended);
    assert_null(near->why);
    answer_held(near); /* what is open is still answered */
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"late\"}");
}

static void lost_frames_end_the_connection(void **state) {
    struct near *near = *state;
    size_t length = RPC_MESSAGE_MAX + 65536;
    char *text = mem_alloc(length);
    memset(text, ' ', length);
    text[0] = '{';
    (void)wire_send_n(&near->wire, text, length);
    mem_free(text);
    wire_expect_parts(&near->wire, "\"id\":null,\"error\":{\"code\":-32700", "a line of more than 67108864 bytes");
    assert_true(near->ended);
    assert_non_null(strstr(near->why, "a line of more than"));
    assert_true(near->closed && near->wire.ended);
}

static void closing_cancels_and_discards(void **state) {
    struct near *near = *state;
    wire_send(&near->wire, HOLD("1") "{\"jsonrpc\":\"2.0\",\"method\":\"close\"}\n" HOLD("2"));
    assert_int_equal(near->cancelled, 1);
    assert_int_equal(near->held_count, 1); /* the message after it was not read */
    assert_true(near->wire.ended);
    assert_true(near->closed);
    answer_held(near); /* has no effect */
    wire_expect_nothing(&near->wire);
    assert_int_equal(near->idles, 0);
}

/* What waits is sent before the stream is closed, for at most RPC_FLUSH_MS. */
static void closing_sends_what_waits(void **state) {
    struct near *near = *state;
    char *text = mem_alloc(4u << 20);
    memset(text, 'x', 4u << 20);
    near->wire.deaf = true;
    peer_notify_take(near->peer, "long", value_text_n(text, 4u << 20));
    mem_free(text);
    wire_turn(&near->wire);
    peer_close(near->peer);
    wire_turn(&near->wire);
    assert_false(near->closed);
    near->wire.deaf = false;
    for (int i = 0; i < 100 && !near->closed; i++) wire_turn(&near->wire);
    assert_true(near->closed);
    wire_receive(&near->wire);
    wire_expect_parts(&near->wire, "\"method\":\"long\"", "xxx\"}");
}

static void closing_gives_up(void **state) {
    struct near *near = *state;
    char *text = mem_alloc(4u << 20);
    memset(text, 'x', 4u << 20);
    near->wire.deaf = true;
    peer_notify_take(near->peer, "long", value_text_n(text, 4u << 20));
    mem_free(text);
    wire_turn(&near->wire);
    peer_close(near->peer);
    loop_fake_advance(near->loop, RPC_FLUSH_MS - 1);
    wire_turn(&near->wire);
    assert_false(near->closed);
    loop_fake_advance(near->loop, 1);
    wire_turn(&near->wire);
    assert_true(near->closed);
}

/* The far end goes away in the middle of a write. */
static void a_lost_reader_ends_the_connection(void **state) {
    struct near *near = *state;
    char *text = mem_alloc(4u << 20);
    memset(text, 'x', 4u << 20);
    near->wire.deaf = true;
    peer_notify_take(near->peer, "long", value_text_n(text, 4u << 20));
    mem_free(text);
    wire_turn(&near->wire);
    (void)close(near->wire.far);
    near->wire.far = -1;
    wire_turn(&near->wire);
    assert_true(near->ended);
    assert_true(near->closed);
}

/* ---- Requests to the far end ---- */

static void near_on_answer(void *user, tn_value result, const struct error *error) {
    struct near *near = user;
    near->answer = result ? value_ref(result) : NULL;
    mem_free(near->code);
    near->code = error ? mem_text(error->code) : NULL;
}

static void requests_to_the_far_end(void **state) {
    struct near *near = *state;
    near->stays = true;
    assert_int_equal(peer_call_take(near->peer, "ask", value_object(), near_on_answer, near), 1);
    wire_turn(&near->wire);
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ask\",\"params\":{}}");
    peer_cancel(near->peer, 1);
    peer_cancel(near->peer, 9);
    wire_send(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}\n");
    wire_expect(&near->wire, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}");
    assert_int_equal(value_to_int(near->answer), 5);

    assert_int_equal(peer_call_take(near->peer, "ask", value_object(), near_on_answer, near), 2);
    wire_send(&near->wire,
              "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"m\",\"data\":{\"code\":\"NOT_FOUND\","
              "\"message\":\"m\"}}}\n");
    assert_string_equal(near->code, "NOT_FOUND");
    (void)peer_call_take(near->peer, "ask", value_object(), near_on_answer, near);
    wire_send(&near->wire, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-1}}\n");
    assert_string_equal(near->code, "FAILED");
    (void)peer_call_take(near->peer, "ask", value_object(), near_on_answer, near);
    wire_end_input(&near->wire);
    assert_string_equal(near->code, "CANCELLED");
    assert_int_equal(peer_call_take(near->peer, "ask", value_object(), near_on_answer, near), 0);
    assert_string_equal(near->code, "CANCELLED");
}

#define WITH_NEAR(test) cmocka_unit_test_setup_teardown(test, near_setup, near_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_NEAR(requests_are_answered),
        WITH_NEAR(wrong_messages_are_refused),
        WITH_NEAR(answers_to_nothing_are_ignored),
        WITH_NEAR(nesting_is_limited),
        WITH_NEAR(texts_are_cut_between_bytes),
        WITH_NEAR(ids_have_a_length),
        WITH_NEAR(an_open_id_is_refused),
        WITH_NEAR(cancellations_reach_their_request),
        WITH_NEAR(errors_have_their_code),
        WITH_NEAR(open_requests_are_limited),
        WITH_NEAR(a_flood_is_answered_in_order),
        WITH_NEAR(a_deaf_client_stops_itself),
        WITH_NEAR(a_deaf_client_is_disconnected),
        WITH_NEAR(the_peer_that_holds_most_is_disconnected),
        WITH_NEAR(incomplete_messages_count),
        WITH_NEAR(open_requests_count),
        WITH_NEAR(peers_whose_input_has_ended_count),
        WITH_NEAR(peers_that_close_count),
        WITH_NEAR(the_input_ends_inside_a_message),
        WITH_NEAR(lost_frames_end_the_connection),
        WITH_NEAR(closing_cancels_and_discards),
        WITH_NEAR(closing_sends_what_waits),
        WITH_NEAR(closing_gives_up),
        WITH_NEAR(a_lost_reader_ends_the_connection),
        WITH_NEAR(requests_to_the_far_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

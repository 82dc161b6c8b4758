/*
 * serving_test.c - plugins/serving without a host: which request gets which event, and what is left when it has ended.
 */
#include "tests/unit/util_fixture.h"

#include "plugins/serving/serving.h"

/* ---- A server that records ---- */

static tn_server_handler handlers[3];
static void *users[3];
static size_t route_count;
static uint64_t aborted;
static char responded[100];

static int32_t TN_ABI fake_route(const tn_host *host, tn_value route, tn_server_handler handler, void *user,
                                 uint64_t *number, tn_value *error) {
    (void)host, (void)error;
    if (serving_is(tn_get(route, "path"), "/none")) return TN_UNSUPPORTED;
    handlers[route_count] = handler;
    users[route_count++] = user;
    *number = route_count;
    return TN_OK;
}

static int32_t TN_ABI fake_respond(const tn_host *host, uint64_t request, tn_value response) {
    tn_value text = tn_to_json(response);
    (void)host;
    (void)snprintf(responded, sizeof responded, "%d %s", (int)request, tn_chars(text, NULL));
    tn_release(text);
    return TN_OK;
}

static int32_t TN_ABI fake_abort(const tn_host *host, uint64_t request) {
    (void)host;
    aborted = request;
    return TN_OK;
}

static int room; /* events that the client has room for */
static bool finished;
static char sent[200];

static int32_t TN_ABI fake_event(const tn_host *host, uint64_t request, tn_value event) {
    size_t length = strlen(sent);
    (void)host, (void)request;
    (void)snprintf(sent + length, sizeof sent - length, "%s,", tn_get_text(event, "data", "?"));
    return --room > 0 ? TN_OK : TN_SERVER_FULL;
}

static int32_t TN_ABI fake_finish(const tn_host *host, uint64_t request) {
    (void)host, (void)request;
    assert_false(finished);
    finished = true;
    return TN_OK;
}

static const tn_server_draft server = {.size = sizeof(tn_server_draft),
                                       .route = fake_route,
                                       .respond = fake_respond,
                                       .event = fake_event,
                                       .finish = fake_finish,
                                       .abort = fake_abort};
static const struct serving serving = {.server = &server};

/* ---- A protocol ---- */

struct exchange {
    SERVING_EXCHANGE;
    tn_value mine;
};

static char seen[400];

static void note(const struct exchange *exchange, const char *what) {
    size_t length = strlen(seen);
    (void)snprintf(seen + length, sizeof seen - length, "%d %s, ", (int)exchange->number, what);
}

static void begin_one(struct exchange *exchange) { note(exchange, "one"); }

static void begin_two(struct exchange *exchange) { note(exchange, exchange->owner); }

static const struct serving_row rows[] = {{"GET", "/one", "read", "{}", begin_one},
                                          {"POST", "/two", "run", "{\"refusals\": true}", begin_two},
                                          {"GET", "/none", "read", "{}", begin_one},
                                          {"GET", "/never", "read", "{}", begin_one}};

static void begin(void *plugin, struct exchange *exchange, const struct serving_row *row) {
    assert_string_equal(plugin, "plugin");
    exchange->mine = tn_text("mine");
    row->begin(exchange);
}

static void on_event(struct exchange *exchange, int32_t event, tn_value value) {
    note(exchange, event == TN_SERVER_CLOSED ? tn_get_text(value, "reason", "end") : "event");
    if (event == TN_SERVER_CLOSED) tn_release(exchange->mine);
}

static tn_value refusal(const struct serving_row *row, tn_value refused) {
    return tn_build("{s:s, s:v}", "path", row->path, "status", tn_get(refused, "status"));
}

static const struct serving_protocol protocol = {.size = sizeof(struct exchange),
                                                 .rows = rows,
                                                 .count = sizeof rows / sizeof *rows,
                                                 .begin = begin,
                                                 .event = on_event,
                                                 .refusal = refusal};

static void send_event(size_t route, uint64_t number, int32_t event, const char *json) {
    tn_value value = json_value(json);
    handlers[route](users[route], number, event, value);
    tn_release(value);
}

static void expect_seen(const char *wanted) {
    assert_string_equal(seen, wanted);
    seen[0] = '\0';
}

static int open_server(void **state) {
    static char plugin[] = "plugin";
    static struct serving_exchanges exchanges;
    route_count = 0;
    *state = &exchanges;
    assert_int_equal(serving_exchanges_open(&exchanges, &serving, &protocol, plugin), TN_OK);
    assert_int_equal(route_count, 2); /* those before the one that the host does not serve */
    return 0;
}

static int close_server(void **state) {
    serving_exchanges_close(*state);
    seen[0] = '\0';
    return blocks == 0 ? 0 : -1;
}

/* Numbers of the same slot, in each order. */
static void test_events_reach_their_request(void **state) {
    (void)state;
    send_event(0, 1, TN_SERVER_REQUEST, "{}");
    send_event(1, 1 + SERVING_SLOTS, TN_SERVER_REQUEST, "{\"caller\": {\"number\": 7, \"owner\": \"ada\"}}");
    send_event(0, 1 + 2 * SERVING_SLOTS, TN_SERVER_REQUEST, "{}");
    expect_seen("1 one, 257 ada, 513 one, ");
    send_event(1, 257, TN_SERVER_ROOM, "null");
    send_event(0, 513, TN_SERVER_DRAIN, "null");
    send_event(1, 257, TN_SERVER_CLOSED, "{\"reason\": \"client\"}");
    send_event(1, 257, TN_SERVER_ROOM, "null"); /* it does not exist any more */
    send_event(1, 257, TN_SERVER_CLOSED, "{\"reason\": \"client\"}");
    send_event(0, 1, TN_SERVER_CLOSED, "{\"reason\": \"done\"}");
    expect_seen("257 event, 513 event, 257 client, 1 done, ");
    send_event(0, 513, TN_SERVER_ROOM, "null");
    expect_seen("513 event, ");
    serving_exchanges_close(*state);
    expect_seen("513 end, ");
    assert_int_equal(blocks, 0);
}

static void test_refusals_have_no_exchange(void **state) {
    (void)state;
    send_event(1, 9, TN_SERVER_REFUSED, "{\"status\": 401}");
    assert_string_equal(responded, "9 {\"path\":\"/two\",\"status\":401}");
    send_event(1, 9, TN_SERVER_CLOSED, "{\"reason\": \"done\"}");
    expect_seen("");
}

static void test_without_memory_the_request_is_aborted(void **state) {
    (void)state;
    fails_at = 1;
    handlers[0](users[0], 5, TN_SERVER_REQUEST, NULL);
    assert_int_equal(aborted, 5);
    expect_seen("");
    serving_respond_take(&serving, 6, NULL);
    assert_int_equal(aborted, 6);
    fails_at = 1;
    struct serving_exchanges exchanges;
    assert_int_equal(serving_exchanges_open(&exchanges, &serving, &protocol, NULL), TN_NO_MEMORY);
    serving_exchanges_close(&exchanges);
}

static void stream_text(struct serving_stream *stream, const char *text) {
    tn_value data = tn_text(text);
    serving_stream_send(stream, data, NULL);
    tn_release(data);
}

/* Events wait for room, in their order, and the response is finished after the last one. */
static void test_stream_waits_for_room(void **state) {
    struct serving_stream stream = {.serving = &serving, .number = 4};
    (void)state;
    assert_true(serving_stream_begin(&stream));
    assert_string_equal(responded, "4 {\"status\":200,\"stream\":\"events\"}");
    room = 2;
    for (const char *text = "abcde"; *text != '\0'; text++) stream_text(&stream, (char[]){*text, '\0'});
    assert_string_equal(sent, "a,b,");
    room = 2;
    serving_stream_room(&stream, NULL);
    serving_stream_end(&stream);
    assert_string_equal(sent, "a,b,c,d,");
    assert_false(finished);
    room = 2;
    serving_stream_room(&stream, NULL);
    assert_string_equal(sent, "a,b,c,d,e,");
    assert_true(finished);
    serving_stream_close(&stream);
    assert_int_equal(blocks, 0);
}

static void test_texts_are_compared_as_a_whole(void **state) {
    tn_value texts = json_value("[\"run\", \"run\\u0000x\", \"ru\", 7]");
    (void)state;
    assert_true(serving_is(tn.value->at(texts, 0), "run"));
    for (uint64_t i = 1; i < 4; i++) assert_false(serving_is(tn.value->at(texts, i), "run"));
    assert_false(serving_is(NULL, "run"));
    tn_release(texts);
}

/* ---- Threads ---- */

static tn_host_handler asked; /* the call that is open */
static void *asked_user;
static char calls[100];

static int32_t TN_ABI fake_request_as(const tn_host *host, uint64_t caller, const char *method, uint64_t length,
                                      tn_value params, tn_host_handler handler, void *user, uint64_t *number) {
    (void)host, (void)length;
    size_t used = strlen(calls);
    (void)snprintf(calls + used, sizeof calls - used, "%d %s %s,", (int)caller, method,
                   tn_get_text(params, "thread_id", ""));
    asked = handler;
    asked_user = user;
    *number = 1;
    return TN_OK;
}

static const struct serving methods = {
    .server = &(const tn_server_draft){.size = sizeof(tn_server_draft), .request_as = fake_request_as}};

static char found[100];

static void on_thread(void *user, tn_value thread, tn_value state, tn_value error) {
    assert_null(user);
    (void)snprintf(found, sizeof found, "%s %s %s", tn_get_text(thread, "thread_id", "-"), tn_get_text(state, "a", "-"),
                   tn_get_text(error, "code", "-"));
}

static void answer(int32_t status, const char *json) {
    tn_value value = json_value(json);
    asked(asked_user, status, value);
    tn_release(value);
}

static void test_threads(void **state) {
    static const struct {
        const char *thread, *state, *found;
    } cases[] = {{"{\"thread_id\": \"t\"}", "{\"state\": {\"a\": \"b\"}}", "t b -"},
                 {"{\"thread_id\": \"t\"}", "{\"code\": \"NOT_FOUND\"}", "t - -"},
                 {"{\"thread_id\": \"t\"}", "{\"code\": \"STORE_AWAY\"}", "- - STORE_AWAY"},
                 {"{\"code\": \"NOT_FOUND\"}", NULL, "- - -"},
                 {"{\"code\": \"LIMIT\"}", NULL, "- - LIMIT"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        calls[0] = found[0] = '\0';
        assert_non_null(serving_thread_read(&methods, 7, "t", on_thread, NULL));
        answer(strstr(cases[i].thread, "code") == NULL ? TN_OK : TN_FAILED, cases[i].thread);
        if (cases[i].state != NULL) {
            assert_string_equal(calls, "7 thread/get t,7 thread/state t,");
            answer(strstr(cases[i].state, "code") == NULL ? TN_OK : TN_FAILED, cases[i].state);
        }
        assert_string_equal(found, cases[i].found);
        assert_int_equal(blocks, 0);
    }
}

static unsigned texts_made;
static const tn_value_1 *values;

static int32_t TN_ABI count_to_json(tn_value value, tn_value options, tn_value *out) {
    texts_made++;
    return values->to_json(value, options, out);
}

/* A value that is far too large is not made into JSON to find that out. */
static void test_json_fits(void **state) {
    static const char *const cases[] = {"\"ab\"", "[1,2,3]", "{\"a\":{\"b\":[null,\"c\"]}}", "[]", "\"\\n\\n\""};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_value value = json_value(cases[i]);
        uint64_t size = strlen(cases[i]);
        assert_int_equal(serving_json_size(value), size);
        for (uint64_t most = 0; most < 2 * size; most++) assert_int_equal(serving_json_fits(value, most), size <= most);
        tn_release(value);
    }
    assert_false(serving_json_fits(NULL, 100));
    tn_value_1 counting = *tn.value;
    values = tn.value;
    counting.to_json = count_to_json;
    tn_value large = json_value("{\"a\": [\"0123456789\", \"0123456789\"], \"0123456789\": {\"0123456789\": 1}}");
    tn.value = &counting;
    assert_false(serving_json_fits(large, 39));
    assert_int_equal(texts_made, 0);
    assert_false(serving_json_fits(large, 45));
    assert_int_equal(texts_made, 1);
    tn.value = values;
    tn_release(large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_events_reach_their_request, open_server, close_server),
        cmocka_unit_test_setup_teardown(test_refusals_have_no_exchange, open_server, close_server),
        cmocka_unit_test_setup_teardown(test_without_memory_the_request_is_aborted, open_server, close_server),
        cmocka_unit_test(test_stream_waits_for_room),
        cmocka_unit_test(test_texts_are_compared_as_a_whole),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_json_fits),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}

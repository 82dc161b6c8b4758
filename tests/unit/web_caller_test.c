/* Callers of server/web: methods for the users of keys, their limits, and revoked keys. */
#include "tests/unit/web_fixture.h"

static char event_prefix[] = "event ";
static char *reader, *runner, *operator_key;

/* Uses 10 tokens. */
#define SPENDS                                                                                                         \
    "version: \"1.0\"\nagent: {name: spends}\nchannels: [{name: answer, type: last_value}]\nnodes: [{id: a, type: "    \
    "llm, config: {prompt: hi, output_key: answer}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"
#define MODEL                                                                                                          \
    "{\"default\":{\"provider\":\"scripted\",\"model\":\"m\",\"cycle\":true,\"replies\":[{\"message\":\"hi\","         \
    "\"usage\":{\"input_tokens\":7,\"output_tokens\":3,\"total_tokens\":10}}]}}"

static int open_each(void **state) {
    (void)state;
    web_open_host("[\"server.route:/v1*\",\"host.method:run*\",\"host.method:thread*\",\"host.method:event*\"]");
    reader = key_headers("{\"name\":\"ada\",\"scope\":\"read\"}");
    runner = key_headers("{\"name\":\"bob\",\"scope\":\"run\",\"owner\":\"team\"}");
    operator_key = key_headers("{\"name\":\"root\",\"scope\":\"admin\"}");
    web_open_web(NULL);
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"read\"}");
    return 0;
}

static int close_each(void **state) {
    (void)state;
    mem_free(reader);
    mem_free(runner);
    mem_free(operator_key);
    web_shut();
    return 0;
}

/* The caller of a request with this key. */
static uint64_t caller_of(const char *key) {
    get("/v1/a", key);
    expect_text(&events, "REQUEST\n");
    return caller_number();
}

/* The parameters of run/start for a document that is a text, and a `config`. */
static char *start_params(const char *document, const char *more) {
    tn_value params = text_params(document, more);
    char *text = json_text(params, JSON_COMPACT);
    value_unref(params);
    return text;
}

static void have_one_number_for_each_key(void **state) {
    (void)state;
    uint64_t ada = caller_of(reader), bob = caller_of(runner), unused;
    assert_int_not_equal(ada, 0);
    assert_int_not_equal(ada, bob);
    assert_int_equal(caller_of(reader), ada);
    assert_int_equal(request_as(0, "run/list", "{}", NULL), TN_STALE);
    assert_int_equal(interface_server.request_as(other_protocol, ada, "run/list", TN_Z, NULL, on_result, NULL, &unused),
                     TN_STALE);
    assert_int_equal(request_as(ada, "run/none", "{}", NULL), TN_NOT_FOUND);
    assert_int_equal(interface_server.request_as(protocol, ada, NULL, TN_Z, NULL, on_result, NULL, &unused),
                     TN_INVALID);
    interface_server_ended(plugin_of(protocol));
    assert_int_equal(request_as(ada, "run/list", "{}", NULL), TN_STALE);
}

#define SOCKET "{\"upgrade\":\"websocket\",\"connection\":\"Upgrade\"}"

static char *socket_headers(const char *before, const char *secret, const char *after) {
    char protocols[256], *text;
    (void)snprintf(protocols, sizeof protocols, "%stenon.key.%s%s", before, secret, after);
    tn_value headers = served_json(SOCKET);
    headers = value_set_take(headers, "sec-websocket-protocol", value_text(protocols));
    text = json_text(headers, JSON_COMPACT);
    value_unref(headers);
    return text;
}

/* A page can send a key only as a subprotocol. No plugin, and no response, has it. */
static void can_be_known_by_a_subprotocol(void **state) {
    static const struct {
        const char *before, *after, *rest, *selected;
    } cases[] = {{"tenon, ", "", "tenon", "tenon"},
                 {"", ",chat", "chat", NULL},
                 {"", "", "", NULL},
                 {"chat,\t", ", tenon.key.other, tenon", "chat, tenon", "tenon"}};
    tn_value headers = served_json(reader);
    const char *secret = value_chars(value_get(headers, "x-api-key"), NULL);
    (void)state;
    route("{\"method\":\"GET\",\"path\":\"/v1/ws\",\"scope\":\"read\",\"websocket\":true}");
    route("{\"method\":\"GET\",\"path\":\"/v1/plain\",\"scope\":\"read\"}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *asked = socket_headers(cases[i].before, secret, cases[i].after);
        uint64_t number = get("/v1/ws", asked);
        expect_text(&events, "REQUEST\n");
        char *shown = json_text(last_request, JSON_COMPACT);
        assert_null(strstr(shown, secret));
        assert_null(strstr(shown, "tenon.key"));
        assert_string_equal(value_chars(value_get(value_get(last_request, "headers"), "sec-websocket-protocol"), NULL),
                            cases[i].rest);
        assert_string_equal(value_chars(value_get(value_get(last_request, "caller"), "name"), NULL), "ada");
        assert_int_equal(interface_server.accept(protocol, number, "tenon.key.other"), TN_INVALID);
        assert_int_equal(interface_server.accept(protocol, number, NULL), TN_OK);
        expect_header(number, "sec-websocket-protocol", cases[i].selected);
        expect_refused(get("/v1/plain", asked), 401, "as the subprotocol `tenon.key.KEY`"); /* not a WebSocket */
        mem_free(asked);
        mem_free(shown);
    }
    char *wrong = socket_headers("tenon, ", "x", "");
    expect_refused(get("/v1/ws", wrong), 401, "the key is not known");
    mem_free(wrong);
    tn_value foreign = value_set_take(served_json(SOCKET), "origin", value_text("https://evil.example"));
    foreign = value_set_take(foreign, "sec-websocket-protocol", value_format("tenon, tenon.key.%s", secret));
    char *page = json_text(foreign, JSON_COMPACT);
    expect_refused(get("/v1/ws", page), 403, "ORIGIN"); /* a key does not open the server to every page */
    mem_free(page);
    value_unref(foreign);
    value_unref(headers);
}

static void have_the_scope_of_their_key(void **state) {
    (void)state;
    uint64_t ada = caller_of(reader), root = caller_of(operator_key);
    assert_int_equal(request_as(root, "run/list", "{}", NULL), TN_OK);
    assert_int_equal(results.length, 0); /* never inside */
    expect_in(next_result(), "0 {\"runs\":[]");
    char *params = start_params(HELLO, "{}");
    assert_int_equal(request_as(ada, "run/start", params, NULL), TN_OK);
    expect_in(next_result(), "needs the scope `run`; ada has `read`");
    assert_int_equal(request_as(root, "run/start", params, NULL), TN_OK);
    expect_in(next_result(), "0 {\"run_id\"");
    assert_int_equal(request_as(root, "host/info", "{}", NULL), TN_OK); /* not an effect of the plugin */
    expect_in(next_result(), "\"host.method:host/info\\\"");
    mem_free(params);
}

static void are_cancelled_by_the_plugin(void **state) {
    uint64_t number = 0;
    (void)state;
    assert_int_equal(request_as(caller_of(operator_key), "run/list", "{}", &number), TN_OK);
    assert_int_equal(interface_host.cancel(protocol, number), TN_OK);
    assert_int_equal(interface_host.cancel(protocol, number), TN_STALE);
    pass(10);
    assert_int_equal(results.length, 0);
}

static int32_t subscribe_as(uint64_t caller, const char *params, uint64_t *number) {
    tn_value value = served_json(params);
    int32_t status = interface_server.subscribe_as(protocol, caller, value, on_result, event_prefix, number);
    value_unref(value);
    return status;
}

static void get_events_of_runs(void **state) {
    uint64_t first = 0, second = 0, root;
    (void)state;
    root = caller_of(operator_key);
    char *params = start_params(ASKS, "{\"config\":{\"run_id\":\"r1\"}}");
    assert_int_equal(request_as(root, "run/start", params, NULL), TN_OK);
    expect_in(next_result(), "\"r1\"");
    assert_int_equal(subscribe_as(root, "{\"run_id\":\"r1\",\"after\":0}", &first), TN_OK);
    assert_int_equal(subscribe_as(root, "{\"run_id\":\"r1\",\"after\":0}", &second), TN_OK);
    assert_int_not_equal(first, second);
    assert_int_equal(interface_host.pause(protocol, second), TN_OK);
    const char *found = next_result();
    expect_in(found, "event 1 {\"event\":\"run/e");
    pass(10);
    buffer_clear(&results);
    assert_int_equal(interface_host.unsubscribe(protocol, first), TN_OK);
    assert_int_equal(interface_host.unsubscribe(protocol, first), TN_STALE);
    assert_int_equal(interface_host.resume(protocol, second), TN_OK);
    expect_in(next_result(), "event 1 {\"event\":\"run/e");
    mem_free(params);
}

static void are_refused_when_the_key_is_revoked(void **state) {
    uint64_t events_of = 0, root = caller_of(operator_key);
    (void)state;
    assert_int_equal(subscribe_as(root, "{\"events\":[\"run/started\"]}", &events_of), TN_OK);
    pass(10);
    expect_text(&results, "");
    key_revoke("root");
    pass(3000);
    expect_in(next_result(), "event -12 {\"code\":\"PERMISSION_DENIED\"");
    assert_int_equal(request_as(root, "run/list", "{}", NULL), TN_OK);
    expect_in(next_result(), "\"PERMISSION_DENIED\"");
    assert_int_equal(interface_host.unsubscribe(protocol, events_of), TN_STALE);
    assert_int_equal(request_as(root, "run/cancel", "{\"run_id\":\"none\"}", NULL),
                     TN_OK); /* what it has started ends */
    expect_in(next_result(), "NOT_FOUND");
}

static void have_a_limit_of_open_requests(void **state) {
    tn_value limits = served_json("{\"open_requests\":1}");
    struct key_use *use = web_limits_use(web->limits, "k");
    const char *what = NULL;
    int64_t retry_s = 0;
    (void)state;
    assert_true(key_use_begin(use, limits, 9, &retry_s, &what));
    assert_false(key_use_begin(use, limits, 9, &retry_s, &what));
    assert_string_equal(what, "open requests of this key");
    key_use_end(use);
    assert_true(key_use_begin(use, limits, 9, &retry_s, &what));
    key_use_end(use);
    value_unref(limits);
}

static void share_the_room_for_bodies(void **state) {
    const int64_t most = WEB_BODIES_MAX / 4 * 3;
    struct key_use *use = web_limits_use(web->limits, "ada");
    (void)state;
    route("{\"method\":\"POST\",\"path\":\"/v1/b\",\"scope\":\"read\",\"body\":{}}");
    assert_true(key_use_add_body(use, most - 2, most)); /* other requests of the key */
    uint64_t number = post("/v1/b", reader, "abc");
    expect_refused(number, 429, "too many large bodies");
    expect_header(number, "retry-after", "1");
    (void)post("/v1/b", runner, "abc");
    expect_text(&events, "REQUEST\n"); /* another key */
    for (int i = 0; i < 2; i++) {      /* the room of the first is free again */
        (void)post("/v1/b", reader, "ab");
        expect_text(&events, "REQUEST\n");
    }
    key_use_remove_body(use, most - 2);
}

/* The limits of a key, without a store: key_use. */
static void count_runs_and_tokens(void **state) {
    struct error error = ERROR_INIT;
    const struct method *start = method_find("run/start"), *list = method_find("run/list");
    struct key_use *use = web_limits_use(web->limits, "k");
    tn_value limits = served_json("{\"runs\":2,\"tokens_per_day\":5,\"cost_per_day\":0.5}");
    tn_value answers = served_json("{\"run_id\":\"none\"}");
    (void)state;
    assert_ptr_equal(use, web_limits_use(web->limits, "k"));
    assert_int_equal(key_use_check(use, limits, list, &error), TN_OK);
    key_use_done(use, NULL, list, NULL, NULL);
    assert_int_equal(key_use_check(use, limits, start, &error), TN_OK);
    assert_int_equal(key_use_check(use, limits, start, &error), TN_OK);
    assert_int_equal(key_use_check(use, limits, start, &error), TN_FAILED);
    assert_string_equal(error.code, "RATE_LIMITED");
    assert_int_equal(value_to_int(value_get(error.more, "retry_after_ms")), 1000);
    key_use_done(use, NULL, start, NULL, NULL);    /* it has failed */
    key_use_done(use, NULL, start, NULL, answers); /* its run has been forgotten */
    pass(10);
    assert_int_equal(key_use_check(use, limits, start, &error), TN_OK);
    key_use_done(use, NULL, start, NULL, NULL);
    tn_value shown = key_use_describe(use);
    assert_int_equal(value_to_int(value_get(shown, "runs")), 0);
    value_unref(shown);
    value_unref(limits);
    value_unref(answers);
    error_finish(&error);
}

static int64_t used(const char *key, const char *what) {
    tn_value shown = key_use_describe(web_limits_use(web->limits, key));
    int64_t number = value_to_int(value_get(shown, what));
    value_unref(shown);
    return number;
}

static bool no_run_is_open(void *user) {
    (void)user;
    return used("root", "runs") == 0;
}

static void count_the_runs_of_a_key(void **state) {
    struct error error = ERROR_INIT;
    tn_value bindings = served_json(MODEL);
    char *spends = start_params(SPENDS, "{\"config\":{\"thread_id\":\"t\"}}");
    uint64_t root = caller_of(operator_key);
    (void)state;
    if (host_bind_roles(served.host, bindings, &error) != TN_OK) fail_msg("%s", error.message);
    for (int64_t i = 1; i <= 3; i++) { /* the report of a run has the tokens of its thread: only the new ones count */
        assert_int_equal(request_as(root, "run/start", spends, NULL), TN_OK);
        expect_in(next_result(), "0 {\"run_id\"");
        assert_int_equal(used("root", "runs"), 1);
        assert_true(loop_run(host_loop(served.host), no_run_is_open, NULL));
        assert_int_equal(used("root", "tokens"), 10 * i);
    }
    const struct method *start = method_find("run/start");
    tn_value limits = served_json("{\"tokens_per_day\":30}");
    assert_int_equal(key_use_check(web_limits_use(web->limits, "root"), limits, start, &error), TN_FAILED);
    assert_string_equal(error.code, "BUDGET_EXCEEDED");
    assert_int_equal(value_to_int(value_get(error.more, "retry_after_ms")) / 3600000, 24);
    loop_fake_move_wall(host_loop(served.host), 86400000);
    assert_int_equal(key_use_check(web_limits_use(web->limits, "root"), limits, start, &error), TN_OK);
    key_use_done(web_limits_use(web->limits, "root"), NULL, start, NULL, NULL);
    error_finish(&error);
    value_unref(limits);
    value_unref(bindings);
    mem_free(spends);
}

/* The id in the parameters of run/answer can be without the owner's prefix. */
static void count_a_run_that_is_answered(void **state) {
    struct error error = ERROR_INIT;
    const struct method *answer = method_find("run/answer");
    tn_value bindings = served_json(MODEL), params = served_json("{\"run_id\":\"r\"}"), empty = served_json("{}");
    char *spends = start_params(SPENDS, "{\"config\":{\"run_id\":\"@team:r\"}}");
    struct web_limits *limits = web_limits_new(served.server); /* those of the web have counted the run already */
    struct key_use *use = web_limits_use(limits, "bob");
    uint64_t root = caller_of(operator_key);
    (void)state;
    if (host_bind_roles(served.host, bindings, &error) != TN_OK) fail_msg("%s", error.message);
    assert_int_equal(request_as(root, "run/start", spends, NULL), TN_OK);
    expect_in(next_result(), "0 {\"run_id\":\"@team:r\"");
    assert_true(loop_run(host_loop(served.host), no_run_is_open, NULL));
    assert_int_equal(key_use_check(use, empty, answer, &error), TN_OK);
    key_use_done(use, "other", answer, params, empty); /* has no such run */
    pass(10);
    tn_value none = key_use_describe(use);
    assert_int_equal(value_to_int(value_get(none, "runs")), 0);
    assert_int_equal(value_to_int(value_get(none, "tokens")), 0);
    assert_int_equal(key_use_check(use, empty, answer, &error), TN_OK);
    key_use_done(use, "team", answer, params, empty);
    pass(10);
    tn_value some = key_use_describe(use);
    assert_int_equal(value_to_int(value_get(some, "runs")), 0);
    assert_int_equal(value_to_int(value_get(some, "tokens")), 10);
    web_limits_free(limits);
    value_unref(none);
    value_unref(some);
    error_finish(&error);
    value_unref(empty);
    value_unref(params);
    value_unref(bindings);
    mem_free(spends);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_each, close_each)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(have_one_number_for_each_key),
        EACH(can_be_known_by_a_subprotocol),
        EACH(have_the_scope_of_their_key),
        EACH(are_cancelled_by_the_plugin),
        EACH(get_events_of_runs),
        EACH(are_refused_when_the_key_is_revoked),
        EACH(have_a_limit_of_open_requests),
        EACH(share_the_room_for_bodies),
        EACH(count_runs_and_tokens),
        EACH(count_the_runs_of_a_key),
        EACH(count_a_run_that_is_answered),
    };
    fixture_agents = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Users of server/web whom plugins know: which plugins are asked about a token, what is kept, and when it ends. */
#include "tests/unit/web_fixture.h"

#include "host/data/access/access_secret.h"
#include "host/server/web/access_users.h"
#include <tenon/authenticator.h>

static char event_prefix[] = "event ";

/* ---- Two authenticators. The answer to a token is its text up to a blank. ---- */

#define START_S 1767225600 /* of the fake clock */

static int64_t expires_s;
static size_t asked[2], cancelled;
static struct pending {
    tn_authenticator_handler handler;
    void *user;
    uint64_t number;
} pending;

static void answer_identity(const struct pending *to, const char *owner, const char *scope) {
    tn_value identity = value_set_take(value_object(), "owner", value_text(owner));
    identity = value_set_take(identity, "scope", value_text(scope));
    identity = value_set_take(identity, "expires_at", value_int(expires_s));
    to->handler(to->user, to->number, identity, NULL);
    value_unref(identity);
}

static void answer_error(const struct pending *to, const char *code) {
    tn_value error = value_set_take(value_object(), "code", value_text(code));
    to->handler(to->user, to->number, NULL, value_set_take(error, "message", value_text("because")));
    value_unref(error);
}

static int32_t users_check(void *self, const char *token, uint64_t length, tn_authenticator_handler handler, void *user,
                           uint64_t *number) {
    size_t which = self ? 1 : 0;
    char word[64];
    *number = ++asked[which];
    const struct pending now = {handler, user, *number};
    (void)snprintf(word, sizeof word, "%.*s", (int)length, token);
    word[strcspn(word, " ")] = '\0';
    if (strcmp(word, "FAILS") == 0) return TN_NO_MEMORY;
    if (strcmp(word, "later") == 0)
        pending = now;
    else if (strcmp(word, "admin") == 0 || strcmp(word, "Wrong") == 0)
        answer_identity(&now, word, "admin");
    else if (strcmp(word, "root") == 0)
        answer_identity(&now, word, "everything");
    else if (word[0] >= 'a' && (word[0] != 'z' || (which == 1 && word[1])))
        answer_identity(&now, word, "run");
    else
        answer_error(&now, word[0] == 'z' ? "NOT_FOUND" : word);
    return TN_OK;
}

static int32_t users_cancel(void *self, uint64_t number) {
    (void)self, (void)number;
    cancelled++;
    return TN_OK;
}

static tn_value users_issuers(void *self) {
    return served_json(self ? "[\"https://b.example\",1,\"\"]" : "[\"https://a.example\"]");
}

static const tn_authenticator_draft users = {sizeof users, users_check, users_cancel, users_issuers};
static const void *users_interface(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_AUTHENTICATOR_DRAFT) == 0 ? &users : NULL;
}
static int second_self;
static const tn_plugin first_plugin = {sizeof first_plugin, NULL, users_interface};
static const tn_plugin second_plugin = {sizeof second_plugin, &second_self, users_interface};

#define MANIFEST(name)                                                                                                 \
    "{\"plugin\":{\"id\":\"test." name                                                                                 \
    "\",\"version\":\"1.0.0\",\"title\":\"Users\",\"provides\":[\"" TN_AUTHENTICATOR_DRAFT "\"]}}"

static int open_each(void **state) {
    (void)state;
    web_yaml = "store: memory\nplugins: {path: \"" TENON_STORE_PLUGINS "/memory.so\"}\n"
               "serve: {authenticators: [test.first, test.second]}\n";
    expires_s = START_S + 3600;
    asked[0] = asked[1] = cancelled = 0;
    web_open_host("[\"server.route:/v1*\",\"host.method:run*\",\"host.method:thread*\",\"host.method:event*\"]");
    add_plugin(MANIFEST("first"), &first_plugin);
    add_plugin(MANIFEST("second"), &second_plugin);
    web_open_web(NULL);
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"run\"}");
    route("{\"method\":\"GET\",\"path\":\"/v1/open\",\"scope\":\"none\"}");
    return 0;
}

static int close_each(void **state) {
    (void)state;
    web_shut();
    return 0;
}

/* ---- Requests ---- */

static uint64_t ask_path(const char *path, const char *token) {
    tn_value headers = value_set_take(value_object(), "authorization", value_format("Bearer %s", token));
    char *text = json_text(headers, JSON_COMPACT);
    uint64_t number = get(path, text);
    mem_free(text);
    value_unref(headers);
    return number;
}

static uint64_t ask(const char *token) {
    uint64_t number = ask_path("/v1/a", token);
    pass(10);
    return number;
}

/* The plugin has got it; the caller's number. */
static uint64_t expect_user(const char *token, const char *name) {
    (void)ask(token);
    expect_text(&events, "REQUEST\n");
    assert_string_equal(value_chars(value_get(value_get(last_request, "caller"), "name"), NULL), name);
    assert_null(value_get(value_get(last_request, "headers"), "authorization"));
    return caller_number();
}

static void are_asked_about_one_after_the_other(void **state) {
    (void)state;
    uint64_t ada = expect_user("ada", "first:ada");
    assert_string_equal(value_chars(value_get(value_get(last_request, "caller"), "owner"), NULL), "ada");
    assert_string_equal(value_chars(value_get(value_get(last_request, "caller"), "scope"), NULL), "run");
    assert_int_equal(asked[1], 0);
    (void)expect_user("zoe", "second:zoe"); /* the first does not know it */
    assert_int_equal(asked[0], 2);
    assert_int_equal(asked[1], 1);
    assert_int_equal(expect_user("ada other", "first:ada"), ada); /* the same caller by another token */
    assert_int_not_equal(expect_user("bob", "first:bob"), ada);
}

static void are_known_by_a_subprotocol(void **state) {
    (void)state;
    route("{\"method\":\"GET\",\"path\":\"/v1/ws\",\"scope\":\"run\",\"websocket\":true}");
    uint64_t number = get("/v1/ws", "{\"upgrade\":\"websocket\",\"connection\":\"Upgrade\","
                                    "\"sec-websocket-protocol\":\"tenon, tenon.key.later\"}");
    http_close(number, "client"); /* before there is an answer */
    assert_int_equal(cancelled, 1);
    number = get("/v1/ws", "{\"upgrade\":\"websocket\",\"connection\":\"Upgrade\","
                           "\"sec-websocket-protocol\":\"tenon, tenon.key.ada\"}");
    pass(10);
    expect_text(&events, "REQUEST\n");
    assert_int_equal(interface_server.accept(protocol, number, NULL), TN_OK);
    expect_header(number, "sec-websocket-protocol", "tenon");
}

static void are_refused(void **state) {
    (void)state;
    expect_refused(ask("AUTH"), 401, "UNAUTHORIZED");
    expect_header(sent_count, "www-authenticate", "Bearer realm=\"tenon\", error=\"invalid_token\"");
    expect_refused(ask("PERMISSION_DENIED"), 403, "may not use this server");
    expect_header(sent_count, "www-authenticate", "Bearer realm=\"tenon\", error=\"insufficient_scope\"");
    expect_refused(ask("UNAVAILABLE"), 503, "cannot be checked now");
    expect_refused(ask("FAILS"), 503, "cannot be checked now");
    expect_refused(ask("Wrong"), 503, "cannot be checked now"); /* owners have no capital letters */
    expect_refused(ask("root"), 503, "cannot be checked now");  /* `everything` is not a scope */
    assert_int_equal(asked[1], 0);
    expect_refused(ask("z"), 401, "UNAUTHORIZED"); /* the last one does not know it either */
    assert_int_equal(asked[1], 1);
}

/* Not passed to plugins: what has the form of a key, so that they do not learn it, and what is too long. */
static void are_not_asked_about_keys(void **state) {
    char secret[ACCESS_SECRET_TEXT], *large = mem_alloc(TN_AUTHENTICATOR_TOKEN_MAX + 2);
    (void)state;
    access_secret_make(secret);
    expect_refused(ask(secret), 401, "UNAUTHORIZED");
    memset(large, 'a', TN_AUTHENTICATOR_TOKEN_MAX + 1);
    large[TN_AUTHENTICATOR_TOKEN_MAX + 1] = '\0';
    expect_refused(ask(large), 401, "UNAUTHORIZED");
    assert_int_equal(asked[0], 0);
    large[TN_AUTHENTICATOR_TOKEN_MAX] = '\0';
    (void)ask(large);
    assert_int_equal(asked[0], 1);
    mem_free(large);
}

static void are_asked_about_again(void **state) {
    (void)state;
    (void)expect_user("ada", "first:ada");
    pass(TN_AUTHENTICATOR_FRESH_MS / 2);
    (void)expect_user("ada", "first:ada");
    assert_int_equal(asked[0], 1);
    pass(TN_AUTHENTICATOR_FRESH_MS / 2);
    (void)expect_user("ada", "first:ada");
    assert_int_equal(asked[0], 2);
}

static void open_routes_do_not_need_them(void **state) {
    (void)state;
    (void)ask_path("/v1/open", "AUTH");
    pass(10);
    expect_text(&events, "REQUEST\n");
    assert_null(value_get(last_request, "caller"));
    char *text = json_text(value_get(last_request, "issuers"), JSON_COMPACT);
    assert_string_equal(text, "[\"https://a.example\",\"https://b.example\"]");
    mem_free(text);
    (void)expect_user("ada", "first:ada");
    assert_null(value_get(last_request, "issuers"));
}

/* ---- Checks that take time ---- */

static void wait_for_an_answer(void **state) {
    uint64_t number = ask("later");
    (void)state;
    assert_int_equal(sent[number].status, 0);
    expect_text(&events, "");
    answer_identity(&pending, "ada", "run");
    expect_text(&events, ""); /* never inside of the handler */
    pass(10);
    expect_text(&events, "REQUEST\n");
}

static void are_cancelled(void **state) {
    uint64_t number = ask("later");
    (void)state;
    http_close(number, "client");
    assert_int_equal(cancelled, 1);
    number = ask("later again");
    pass(TN_AUTHENTICATOR_MS - 2000); /* the clock jumps to the next timer, at most a second later */
    assert_int_equal(sent[number].status, 0);
    pass(3000);
    expect_refused(number, 503, "cannot be checked now");
    assert_int_equal(cancelled, 2);
    number = ask("later and the host drains meanwhile");
    web_drain(web);
    pass(10);
    expect_refused(number, 503, "DRAINING");
    assert_int_equal(cancelled, 3);
}

static void end_with_the_plugin_of_the_path(void **state) {
    uint64_t number = ask("later and the plugin of the path has ended meanwhile");
    (void)state;
    interface_server_ended(plugin_of(protocol));
    answer_identity(&pending, "ada", "run");
    pass(10);
    expect_refused(number, 503, "UNAVAILABLE");
}

static size_t away;
static void count_away(void *user, enum access_answer answer, const struct access_key *key) {
    (void)user;
    assert_null(key);
    away += answer == ACCESS_AWAY;
}

static void have_a_limit(void **state) {
    static struct access_wait *waits[TN_AUTHENTICATOR_CHECKS + 1];
    (void)state;
    away = 0;
    for (size_t i = 0; i <= TN_AUTHENTICATOR_CHECKS; i++)
        waits[i] = access_ask(access_keys, "later", 5, count_away, NULL);
    pass(10);
    assert_int_equal(away, 1); /* the last one, which has ended */
    assert_int_equal(asked[0], TN_AUTHENTICATOR_CHECKS);
    access_wait_cancel(waits[0]);
    waits[0] = access_ask(access_keys, "later", 5, count_away, NULL);
    assert_int_equal(asked[0], TN_AUTHENTICATOR_CHECKS + 1);
    for (size_t i = 0; i < TN_AUTHENTICATOR_CHECKS; i++) access_wait_cancel(waits[i]);
    assert_int_equal(away, 1);
}

/* ---- What users have open ---- */

static uint64_t subscribe_as(uint64_t caller) {
    uint64_t number = 0;
    tn_value value = served_json("{\"events\":[\"run/started\"]}");
    assert_int_equal(interface_server.subscribe_as(protocol, caller, value, on_result, event_prefix, &number), TN_OK);
    value_unref(value);
    pass(10);
    expect_text(&results, "");
    return number;
}

static void lose_what_is_open_when_their_token_expires(void **state) {
    (void)state;
    expires_s = START_S + 60;
    uint64_t ada = expect_user("ada", "first:ada");
    (void)subscribe_as(ada);
    pass(55000);
    expect_text(&results, "");
    pass(7000);
    expect_in(next_result(), "event -12 {\"code\":\"PERMISSION_DENIED\"");
    assert_int_equal(request_as(ada, "run/list", "{}", NULL), TN_OK);
    expect_in(next_result(), "\"PERMISSION_DENIED\"");
    expect_refused(ask("ada"), 401, "UNAUTHORIZED"); /* whatever the plugin says: its time is over */
    expires_s = START_S + 3600;
    assert_int_equal(expect_user("ada new", "first:ada"), ada);
    assert_int_equal(request_as(ada, "run/list", "{}", NULL), TN_OK);
    expect_in(next_result(), "0 {\"runs\":[]");
}

static void keep_it_by_another_token(void **state) {
    (void)state;
    expires_s = START_S + 60;
    uint64_t ada = expect_user("ada", "first:ada");
    uint64_t number = subscribe_as(ada);
    expires_s = START_S + 3600;
    (void)expect_user("ada new", "first:ada");
    pass(70000);
    expect_text(&results, "");
    assert_int_equal(interface_host.unsubscribe(protocol, number), TN_OK);
}

static void lose_it_when_their_token_is_refused(void **state) {
    (void)state;
    (void)expect_user("ada", "first:ada");
    (void)ask("later"); /* a token that is valid now, and not in five minutes */
    answer_identity(&pending, "bob", "run");
    pass(10);
    expect_text(&events, "REQUEST\n");
    (void)subscribe_as(caller_number());
    pass(TN_AUTHENTICATOR_FRESH_MS);
    (void)ask("later");
    answer_error(&pending, "AUTH");
    pass(3000);
    expect_in(next_result(), "event -12 {\"code\":\"PERMISSION_DENIED\"");
}

static void never_see_each_other(void **state) {
    uint64_t ada = expect_user("ada", "first:ada"), bob = expect_user("bob", "first:bob");
    tn_value params = text_params(HELLO, "{\"config\":{\"thread_id\":\"@ada:t\"}}");
    (void)state;
    tn_value result = served_result_take(&served, "run/start", params); /* by the operator, for ada */
    value_unref(result);
    pass(10);
    assert_int_equal(request_as(ada, "thread/get", "{\"thread_id\":\"t\"}", NULL), TN_OK);
    expect_in(next_result(), "0 {");
    static const char *const tried[] = {"t", "@ada:t", "@bob:t"};
    for (size_t i = 0; i < 3; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "{\"thread_id\":\"%s\"}", tried[i]);
        assert_int_equal(request_as(bob, "thread/get", text, NULL), TN_OK);
        expect_in(next_result(), "NOT_FOUND");
    }
}

/* ---- The settings ---- */

static void refuse_what_they_cannot_be(void **state) {
    struct error error = ERROR_INIT;
    tn_value names = served_json("[\"test.none\"]");
    (void)state;
    assert_null(access_users_new(served.server, names, NULL, &error));
    expect_in(error.message, "no plugin with this name checks tokens; these do: ");
    expect_in(error.message, "test.first");
    error_finish(&error);
    value_unref(names);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_each, close_each)
    const struct CMUnitTest tests[] = {
        CASE(are_asked_about_one_after_the_other),
        CASE(are_known_by_a_subprotocol),
        CASE(are_refused),
        CASE(are_not_asked_about_keys),
        CASE(are_asked_about_again),
        CASE(open_routes_do_not_need_them),
        CASE(wait_for_an_answer),
        CASE(are_cancelled),
        CASE(end_with_the_plugin_of_the_path),
        CASE(have_a_limit),
        CASE(lose_what_is_open_when_their_token_expires),
        CASE(keep_it_by_another_token),
        CASE(lose_it_when_their_token_is_refused),
        CASE(never_see_each_other),
        CASE(refuse_what_they_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

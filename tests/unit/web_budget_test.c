/* What keys use of their limits per day, in the store: web_budget and access_use. */
#include "tests/unit/web_fixture.h"

#include "host/data/access/access_use.h"
#include "host/data/store/store_collections.h"
#include "host/server/web/web_budget.h"

/* Uses 10 tokens. */
#define SPENDS                                                                                                         \
    "version: \"1.0\"\nagent: {name: spends}\nchannels: [{name: answer, type: last_value}]\nnodes: [{id: a, type: "    \
    "llm, config: {prompt: hi, output_key: answer}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"
#define MODEL                                                                                                          \
    "{\"default\":{\"provider\":\"scripted\",\"model\":\"m\",\"cycle\":true,\"replies\":[{\"message\":\"hi\","         \
    "\"usage\":{\"input_tokens\":7,\"output_tokens\":3,\"total_tokens\":10}}]}}"
#define TODAY INT64_C(20454) /* of the fake clock: 2026-01-01 */

static char *limited, *unlimited;

static int open_each(void **state) {
    struct error error = ERROR_INIT;
    tn_value bindings = served_json(MODEL);
    (void)state;
    web_yaml = "store: memory\nplugins: {path: [\"" TENON_STORE_PLUGINS "/memory.so\", \"" TENON_STORE_PLUGINS
               "/agents.so\", \"" TENON_STORE_PLUGINS "/scripted.so\"]}\n";
    web_open_host("[\"server.route:/v1*\",\"host.method:run*\"]");
    limited = key_headers("{\"name\":\"ada\",\"scope\":\"admin\",\"limits\":{\"tokens_per_day\":35}}");
    unlimited = key_headers("{\"name\":\"root\",\"scope\":\"admin\"}");
    if (host_bind_roles(served.host, bindings, &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(bindings);
    return 0;
}

static int close_each(void **state) {
    (void)state;
    mem_free(limited);
    mem_free(unlimited);
    web_shut();
    return 0;
}

static void open_web(void) {
    web_open_web(NULL);
    route("{\"method\":\"GET\",\"path\":\"/v1/a\",\"scope\":\"read\"}");
}

/* The host ends, and is started again with the same store. */
static void restart(void) {
    web_free(web);
    access_free(access_keys);
    buffer_clear(&events); /* of requests that were open */
    open_web();
}

static int64_t used(const char *key) {
    tn_value shown = key_use_describe(web_limits_use(web->limits, key));
    int64_t number = value_to_int(value_get(shown, "tokens"));
    value_unref(shown);
    return number;
}

static bool no_run_is_open(void *user) {
    bool ended = true;
    for (int i = 0; i < 2; i++) {
        tn_value shown = key_use_describe(web_limits_use(web->limits, i ? "ada" : "root"));
        ended &= value_to_int(value_get(shown, "runs")) == 0;
        value_unref(shown);
    }
    (void)user;
    return ended;
}

/* Starts a run with a key, and waits until it has ended; returns what run/start has said. */
static const char *spend_with(const char *key, const char *more) {
    tn_value params = text_params(SPENDS, more);
    char *text = json_text(params, JSON_COMPACT);
    get("/v1/a", key);
    expect_text(&events, "REQUEST\n");
    assert_int_equal(request_as(caller_number(), "run/start", text, NULL), TN_OK);
    const char *found = next_result();
    assert_true(loop_run(host_loop(served.host), no_run_is_open, NULL));
    mem_free(text);
    value_unref(params);
    return found;
}

static const char *spend(const char *key) { return spend_with(key, "{}"); }

/* The numbers of a day in the store, as JSON. */
static void expect_saved(int64_t day, const char *expected) {
    struct store_wait wait = {.done = false};
    struct store *store = host_store(served.host, NULL);
    struct error error = ERROR_INIT;
    tn_value found = NULL;
    access_use_load(store, day, store_wait_done, &wait);
    if (store_wait_end(&wait, store_loop(store), &found, &error) != TN_OK) fail_msg("%s", error.message);
    char *text = json_text(value_get(found, "keys"), JSON_COMPACT);
    assert_string_equal(text, expected);
    mem_free(text);
    value_unref(found);
}

static void add_elsewhere(int64_t day, const char *added) {
    struct store_wait wait = {.done = false};
    struct store *store = host_store(served.host, NULL);
    struct error error = ERROR_INIT;
    tn_value value = value_set_take(value_object(), "keys", served_json(added));
    access_use_add(store, day, value, store_wait_done, &wait);
    if (store_wait_end(&wait, store_loop(store), NULL, &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(value);
}

static void survive_a_restart(void **state) {
    (void)state;
    open_web();
    expect_in(spend(limited), "run_id");
    expect_in(spend(unlimited), "run_id");
    expect_saved(TODAY, "{}");
    pass(WEB_BUDGET_MS + 1000);
    expect_saved(TODAY, "{\"ada\":{\"tokens\":10,\"cost\":0.0}}"); /* keys without a limit are not written */
    expect_in(spend(limited), "run_id");
    restart(); /* writes what is new */
    expect_saved(TODAY, "{\"ada\":{\"tokens\":20,\"cost\":0.0}}");
    assert_int_equal(used("ada"), 20);
    assert_int_equal(used("root"), 0);
    expect_in(spend(limited), "run_id");
    expect_in(spend(limited), "run_id");
    expect_in(spend(limited), "BUDGET_EXCEEDED");
    restart();
    expect_in(spend(limited), "BUDGET_EXCEEDED");
    restart(); /* nothing is added twice */
    assert_int_equal(used("ada"), 40);
}

/* The report of a run has the usage of its whole thread: only what is new is counted, also after a restart. */
static void count_a_thread_once(void **state) {
    const char *thread = "{\"config\":{\"thread_id\":\"t\"}}";
    (void)state;
    open_web();
    expect_in(spend_with(limited, thread), "run_id");
    expect_in(spend_with(limited, thread), "run_id");
    assert_int_equal(used("ada"), 20);
    restart();
    expect_in(spend_with(limited, thread), "run_id");
    assert_int_equal(used("ada"), 30);
}

static void are_shared_by_hosts(void **state) {
    (void)state;
    add_elsewhere(TODAY, "{\"ada\":{\"tokens\":5,\"cost\":0.5}}");
    add_elsewhere(TODAY - 1, "{\"ada\":{\"tokens\":1000,\"cost\":1}}");
    open_web();
    assert_int_equal(used("ada"), 5);
    expect_in(spend(limited), "run_id");
    add_elsewhere(TODAY, "{\"ada\":{\"tokens\":7,\"cost\":0.25},\"jwt:bob\":{\"tokens\":1,\"cost\":0.0}}");
    assert_int_equal(used("ada"), 15); /* it does not know of the 7 yet */
    pass(WEB_BUDGET_MS + 1000);
    assert_int_equal(used("ada"), 22);
    expect_saved(TODAY, "{\"ada\":{\"tokens\":22,\"cost\":0.75},\"jwt:bob\":{\"tokens\":1,\"cost\":0.0}}");
}

static void begin_again_each_day(void **state) {
    (void)state;
    open_web();
    expect_in(spend(limited), "run_id");
    loop_fake_move_wall(host_loop(served.host), ACCESS_DAY_MS);
    expect_in(spend(limited), "run_id");
    assert_int_equal(used("ada"), 10);
    pass(WEB_BUDGET_MS + 1000);
    expect_saved(TODAY, "{}"); /* what was not written in time counts for a day that is over */
    expect_saved(TODAY + 1, "{\"ada\":{\"tokens\":10,\"cost\":0.0}}");
    loop_fake_move_wall(host_loop(served.host), 2 * ACCESS_DAY_MS);
    expect_saved(TODAY + 1, "{}"); /* forgotten */
}

/* A part that the store did not take is written with the next one. */
static void are_written_later(void **state) {
    static const char *const written[] = {"{\"keys\":{\"root\":{\"tokens\":1}},\"threads\":{}}", NULL,
                                          "{\"keys\":{\"ada\":{\"tokens\":15,\"cost\":0}},\"threads\":{}}"};
    static const char *const unsaved[] = {
        "{\"keys\":{\"ada\":{\"tokens\":10,\"cost\":0.0}},\"threads\":{\"t\":{\"tokens\":10,\"cost\":0.0}}}",
        "{\"keys\":{\"ada\":{\"tokens\":10,\"cost\":0.0}},\"threads\":{\"t\":{\"tokens\":10,\"cost\":0.0}}}",
        "{\"keys\":{\"ada\":{\"tokens\":10,\"cost\":0.0}},\"threads\":{\"t\":{\"tokens\":10,\"cost\":0.0}}}",
        "{\"keys\":{},\"threads\":{\"t\":{\"tokens\":10,\"cost\":0.0}}}"};
    (void)state;
    open_web();
    expect_in(spend_with(limited, "{\"config\":{\"thread_id\":\"t\"}}"), "run_id");
    for (size_t i = 0; i < 4; i++) {
        int64_t day = 0;
        tn_value found = web_limits_unsaved(web->limits, &day);
        tn_value saved = i < 3 && written[i] ? served_json(written[i]) : NULL;
        char *text = json_text(found, JSON_COMPACT);
        assert_string_equal(text, unsaved[i]);
        assert_int_equal(day, TODAY);
        web_limits_saved(web->limits, day, saved);
        mem_free(text);
        value_unref(found);
        value_unref(saved);
    }
    assert_int_equal(used("ada"), 15); /* with those of another host */
}

/* More names than one commit has. */
static void are_written_in_parts(void **state) {
    tn_value added = value_object(), more = served_json("{\"tokens\":1,\"cost\":0.5}");
    struct buffer text;
    (void)state;
    buffer_init(&text, SIZE_MAX);
    for (int i = 0; i < 250; i++) {
        buffer_clear(&text);
        buffer_format(&text, "u%03d", i);
        added = value_set_take(added, buffer_cstr(&text), value_ref(more));
    }
    char *json = json_text(added, JSON_COMPACT);
    add_elsewhere(TODAY, json);
    expect_saved(TODAY, json);
    open_web();
    assert_int_equal(used("u249"), 1);
    mem_free(json);
    buffer_finish(&text);
    value_unref(added);
    value_unref(more);
}

int main(void) {
#define EACH(name) cmocka_unit_test_setup_teardown(name, open_each, close_each)
    const struct CMUnitTest tests[] = {
        EACH(survive_a_restart),    EACH(count_a_thread_once), EACH(are_shared_by_hosts),
        EACH(begin_again_each_day), EACH(are_written_later),   EACH(are_written_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * run_schedule_test.c - schedules that clients make: what is valid, what they start and when, whose it is; keys that
 * may start nothing; limits; two hosts with one store. The clock is a fake one.
 */
#include "tests/unit/owner_fixture.h"

#include "host/base/time_text.h"
#include "host/data/store/store_collections.h"
#include "host/server/server_internal.h"
#include "host/server/server_timetable.h"
#include "host/work/run_schedule.h"

#define DAY_MS  (INT64_C(24) * 60 * 60 * 1000)
#define HOUR_MS (INT64_C(60) * 60 * 1000)

static struct users users;

static struct loop *the_loop(void) { return host_loop(users.served.host); }
static struct server_timetable *timetable(void) { return server_timetable_of(users.served.server); }

static void begin(const char *store) {
    users_open(&users, store);
    loop_fake_clock(the_loop());
    users_write("hello", HELLO);
    users_write("asks", ASKS);
}

static void end(void) { users_close(&users); }

static void start(void) { server_start_timetable(users.served.server); }

struct alarm {
    struct loop_timer timer;
    bool rang;
};
static void alarm_rings(struct loop_timer *timer) { ((struct alarm *)(void *)timer)->rang = true; }
static bool alarm_rang(void *user) { return ((struct alarm *)user)->rang; }

static bool nothing_runs(void *user) {
    (void)user;
    return server_runs_active(server_runs_of(users.served.server)) == 0;
}

/* Lets the fake clock run; then what was started has ended. */
static void run_for(int64_t ms) {
    struct alarm alarm = {.rang = false};
    loop_timer_start(the_loop(), &alarm.timer, ms, alarm_rings);
    loop_run(the_loop(), alarm_rang, &alarm);
    tn_value got = NULL; /* the store keeps the order of its requests */
    assert_int_equal(store_query_wait(host_store(users.served.host, NULL), store_get("schedules", "none"), &got, NULL),
                     TN_OK);
    value_unref(got);
    loop_run(the_loop(), nothing_runs, NULL);
}

/* The time that is so far from now. */
static tn_value time_in(int64_t ms) { return time_value(loop_wall_ms(the_loop()) + ms); }

/* schedule/create; the id is copied. */
static void make_at(struct client *client, const char *more, int64_t in_ms, char id[256]) {
    tn_value params = served_json(more);
    params = value_set_take(params, "at", time_in(in_ms));
    char *text = shown(params);
    text_as(&users, client, "schedule/create", text, "schedule_id", id);
    mem_free(text);
    value_unref(params);
}

static void make(struct client *client, const char *params, char id[256]) {
    text_as(&users, client, "schedule/create", params, "schedule_id", id);
}

static tn_value get(struct client *client, const char *id) {
    char params[300];
    snprintf(params, sizeof params, "{\"schedule_id\":\"%s\"}", id);
    return call_as(&users, client, "schedule/get", params);
}

static tn_value change(struct client *client, const char *id, const char *more) {
    char params[700];
    snprintf(params, sizeof params, "{\"schedule_id\":\"%s\",%s}", id, more);
    return call_as(&users, client, "schedule/update", params);
}

static size_t count_in(struct client *client, const char *method, const char *params, const char *member) {
    tn_value page = call_as(&users, client, method, params);
    size_t count = value_count(value_get(page, member));
    value_unref(page);
    return count;
}

static size_t runs_of(struct client *client) { return count_in(client, "run/list", "{\"limit\":1000}", "runs"); }

static size_t events_named(tn_value events, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < value_count(events); i++)
        count += value_text_is(value_get(value_at(events, i), "event"), name);
    return count;
}

static void is_member(const char *id, const char *member, const char *expected) {
    tn_value schedule = get(users.a, id), found = value_get(schedule, member);
    bool same = expected ? value_text_is(found, expected) : value_is(found, TN_NULL);
    if (!same) {
        char *text = shown(schedule);
        fail_msg("expected %s: %s in %s", member, expected ? expected : "null", text);
    }
    value_unref(schedule);
}

/* ---- What is valid ---- */

static void test_what_is_refused(void **state) {
    static const struct {
        const char *params, *code, *message;
    } rows[] = {
        {"{\"document\":\"graph:hello\"}", "INVALID_INPUT", "expected one of `cron`, `every` and `at`"},
        {"{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"every\":\"1h\"}", "INVALID_INPUT", "expected one of"},
        {"{\"document\":\"graph:hello\",\"cron\":\"0 25 * * *\"}", "INVALID_INPUT",
         "`cron`: hour, column 3: found `25`, expected 0 to 23"},
        {"{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"timezone\":\"Europe/Berlim\"}", "INVALID_INPUT",
         "`timezone`: found `Europe/Berlim`"},
        {"{\"document\":\"graph:hello\",\"every\":59}", "INVALID_INPUT", "expected at least 60 seconds"},
        {"{\"document\":\"graph:hello\",\"every\":\"often\"}", "INVALID_INPUT", "`every`: expected a duration"},
        {"{\"document\":\"graph:hello\",\"at\":\"2001-01-01T00:00:00Z\"}", "INVALID_INPUT", "is never due"},
        {"{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"ends_at\":\"soon\"}", "INVALID_INPUT",
         "`ends_at`: found"},
        {"{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"ends_at\":\"2001-01-01\"}", "INVALID_INPUT",
         "is never due"},
        {"{\"document\":\"graph:other\",\"cron\":\"@daily\"}", "NOT_FOUND", "the host does not serve `graph:other`"},
        {"{\"document\":\"hello.yaml\",\"cron\":\"@daily\"}", "INVALID_INPUT", "as `graph:NAME`"},
        {"{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"config\":{\"run_id\":\"r\"}}", "INVALID_INPUT",
         "`config.run_id`"},
        {"{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"new_thread\":true,\"config\":{\"thread_id\":\"t\"}}",
         "INVALID_INPUT", "expected one of them at most"},
        {"{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"config\":{\"thread_id\":\"@b:t\"}}", "NOT_FOUND", ""},
    };
    (void)state;
    begin("memory");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value outcome = outcome_as(&users, users.a, "schedule/create", rows[i].params);
        tn_value error = value_get(outcome, "error"), message = value_get(error, "message");
        if (!value_text_is(value_get(error, "code"), rows[i].code) ||
            !strstr(value_chars(message, NULL), rows[i].message)) {
            char *text = shown(outcome);
            fail_msg("%s: found %s, expected %s: %s", rows[i].params, text, rows[i].code, rows[i].message);
        }
        value_unref(outcome);
    }
    assert_int_equal(count_in(users.a, "schedule/search", "{}", "schedules"), 0);
    end();
}

static struct client *user_of_a_token(void) {
    return client_new(users.served.server, &(struct client_options){.name = "jwt:carl",
                                                                    .scope = METHOD_RUN,
                                                                    .owner = "carl",
                                                                    .notify = served_on_event,
                                                                    .user = &users.served});
}

/* A schedule of a user without a key ends after as many days as the operator allows. */
static void test_users_without_a_key(void **state) {
    static const char daily[] = "{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"ends_at\":\"2999-01-01\"}";
    char id[256];
    int64_t ends = 0;
    (void)state;
    begin("memory");
    struct client *carl = user_of_a_token();
    tn_value outcome = outcome_as(&users, carl, "schedule/create", daily), error = value_get(outcome, "error");
    assert_true(value_text_is(value_get(error, "code"), "PERMISSION_DENIED"));
    assert_non_null(strstr(value_chars(value_get(error, "message"), NULL), "token_schedule_days"));
    value_unref(outcome);
    client_free(carl);
    end();

    users_open_with(&users, "memory", "[], limits: {token_schedule_days: 2}", "");
    loop_fake_clock(the_loop());
    users_write("hello", HELLO);
    carl = user_of_a_token();
    make(carl, daily, id);
    tn_value schedule = get(carl, id);
    assert_true(time_text_read_ms(value_chars(value_get(schedule, "ends_at"), NULL), &ends));
    assert_in_range(ends - loop_wall_ms(the_loop()), DAY_MS, 2 * DAY_MS);
    value_unref(schedule);
    start();
    run_for(5 * DAY_MS);
    assert_int_equal(runs_of(carl), 2);
    client_free(carl);
    end();
}

static void test_changes(void **state) {
    char id[256], params[300];
    (void)state;
    begin("memory");
    make(users.a,
         "{\"document\":\"graph:hello\",\"cron\":\"0 3 * * "
         "*\",\"timezone\":\"Europe/Berlin\",\"input\":{\"name\":\"A\"},"
         "\"config\":{\"thread_id\":\"t\"},\"ends_at\":\"2030-01-01\",\"metadata\":{\"k\":1}}",
         id);
    assert_true(owner_has("a", id));
    is_member(id, "next_at", "2026-01-01T02:00:00.000Z");
    is_member(id, "ends_at", "2030-01-01T00:00:00.000Z");
    is_member(id, "timezone", "Europe/Berlin");
    value_unref(change(users.a, id + strlen("@a:"), "\"ends_at\":null,\"every\":\"2h\""));
    is_member(id, "next_at", "2026-01-01T02:00:00.000Z");
    tn_value schedule = get(users.a, id);
    assert_null(value_get(schedule, "cron"));
    assert_null(value_get(schedule, "timezone")); /* it was that of the cron expression */
    assert_true(value_is(value_get(schedule, "ends_at"), TN_NULL));
    assert_true(value_text_is(value_get(value_get(schedule, "config"), "thread_id"), "@a:t"));
    value_unref(schedule);
    value_unref(change(users.a, id, "\"enabled\":false"));
    is_member(id, "next_at", NULL);
    assert_int_equal(count_in(users.a, "schedule/search", "{\"enabled\":true}", "schedules"), 0);
    assert_int_equal(count_in(users.a, "schedule/search", "{\"enabled\":false,\"thread_id\":\"t\"}", "schedules"), 1);
    assert_int_equal(count_in(users.a, "schedule/search", "{\"thread_id\":\"u\"}", "schedules"), 0);
    assert_int_equal(count_in(users.a, "schedule/search", "{\"document\":\"graph:asks\"}", "schedules"), 0);
    assert_int_equal(count_in(users.b, "schedule/search", "{}", "schedules"), 0);
    assert_int_equal(count_in(users.served.client, "schedule/search", "{}", "schedules"), 1);
    snprintf(params, sizeof params, "{\"schedule_id\":\"%s\",\"cron\":\"x\"}", id);
    fails_as(&users, users.a, "schedule/update", params, "INVALID_INPUT");
    snprintf(params, sizeof params, "{\"schedule_id\":\"%s\"}", id);
    value_unref(call_as(&users, users.a, "schedule/delete", params));
    fails_as(&users, users.a, "schedule/get", params, "NOT_FOUND");
    fails_as(&users, users.a, "schedule/delete", params, "NOT_FOUND");
    end();
}

static void test_limits(void **state) {
    char id[256], after[300], *text = mem_alloc(RUN_SCHEDULE_SIZE_MAX + 100), *params;
    (void)state;
    begin("memory");
    memset(text, 'x', RUN_SCHEDULE_SIZE_MAX);
    text[RUN_SCHEDULE_SIZE_MAX] = '\0';
    tn_value given = served_json("{\"document\":\"graph:hello\",\"cron\":\"@daily\"}");
    given = value_set_take(given, "input", value_set_take(value_object(), "name", value_text(text)));
    params = shown(given);
    fails_as(&users, users.a, "schedule/create", params, "LIMIT");
    mem_free(params);
    value_unref(given);
    for (int i = 0; i < RUN_SCHEDULES_MAX; i++) make(users.a, "{\"document\":\"graph:hello\",\"every\":60}", id);
    fails_as(&users, users.a, "schedule/create", "{\"document\":\"graph:hello\",\"cron\":\"@daily\"}", "LIMIT");
    make(users.b, "{\"document\":\"graph:hello\",\"every\":60}", id);
    make(users.served.client, "{\"document\":\"graph:hello\",\"every\":60}", id);
    /* Pages. */
    tn_value page = call_as(&users, users.a, "schedule/search", "{\"limit\":60}");
    assert_true(value_to_bool(value_get(page, "more")));
    tn_value last = value_get(value_at(value_get(page, "schedules"), 59), "schedule_id");
    snprintf(after, sizeof after, "{\"limit\":60,\"after\":\"%s\"}", value_chars(last, NULL));
    value_unref(page);
    assert_int_equal(count_in(users.a, "schedule/search", after, "schedules"), RUN_SCHEDULES_MAX - 60);
    mem_free(text);
    end();
}

/* ---- What is started ---- */

static void test_due_times_start_runs(void **state) {
    char once[256], hourly[256], kept[256];
    (void)state;
    begin("memory");
    value_unref(call_as(&users, users.a, "event/subscribe", "{\"events\":[\"schedule/started\"]}"));
    value_unref(call_as(&users, users.b, "event/subscribe", "{\"events\":[\"schedule/started\"]}"));
    start();
    make_at(users.a, "{\"document\":\"graph:hello\",\"input\":{\"name\":\"Ada\"},\"metadata\":{\"from\":\"x\"}}", 1000,
            once);
    make(users.a, "{\"document\":\"graph:hello\",\"every\":\"1h\",\"new_thread\":true}", hourly);
    make(users.a, "{\"document\":\"graph:hello\",\"cron\":\"30 0 * * *\",\"config\":{\"thread_id\":\"mine\"}}", kept);
    assert_int_equal(runs_of(users.a), 0);
    run_for(2000);
    assert_int_equal(runs_of(users.a), 1);
    assert_int_equal(runs_of(users.b), 0);
    tn_value schedule = get(users.a, once), run_id = value_get(schedule, "run_id");
    char params[400];
    assert_true(value_is(value_get(schedule, "next_at"), TN_NULL));
    assert_true(owner_has("a", value_chars(run_id, NULL)));
    snprintf(params, sizeof params, "{\"run_id\":\"%s\"}", value_chars(run_id, NULL));
    tn_value run = call_as(&users, users.a, "run/get", params);
    is_text(value_get(value_get(run, "report"), "state"), "greeting", "Hello, Ada!");
    assert_null(value_get(run, "thread_id"));
    value_unref(run);
    fails_as(&users, users.b, "run/get", params, "NOT_FOUND");
    value_unref(schedule);
    tn_value event = value_get(value_at(users.served.events, value_count(users.served.events) - 1), "params");
    is_text(event, "schedule_id", once);
    is_text(value_get(event, "metadata"), "from", "x");
    run_for(3 * HOUR_MS);
    assert_int_equal(events_named(users.served.events, "schedule/started"), 5); /* once, three hours, half past 0 */
    assert_int_equal(events_named(users.events_of_b, "schedule/started"), 0);
    assert_int_equal(runs_of(users.a), 5);
    assert_int_equal(count_in(users.a, "thread/list", "{}", "threads"), 4);
    value_unref(call_as(&users, users.a, "thread/get", "{\"thread_id\":\"mine\"}"));
    is_member(hourly, "last_at", "2026-01-01T03:00:00.000Z");
    is_member(hourly, "next_at", "2026-01-01T04:00:00.000Z");
    is_member(hourly, "error", NULL);
    server_drain(users.served.server);
    run_for(3 * HOUR_MS);
    is_member(hourly, "last_at", "2026-01-01T03:00:00.000Z");
    end();
}

static void test_due_times_that_were_missed(void **state) {
    char hourly[256], ended[256], off[256];
    (void)state;
    begin("memory");
    make(users.a, "{\"document\":\"graph:hello\",\"every\":\"1h\"}", hourly);
    make(users.a, "{\"document\":\"graph:hello\",\"every\":\"1h\",\"ends_at\":\"2026-01-01T02:30:00Z\"}", ended);
    make(users.a, "{\"document\":\"graph:hello\",\"every\":\"1h\"}", off);
    value_unref(change(users.a, off, "\"enabled\":false"));
    run_for(10 * HOUR_MS + HOUR_MS / 2); /* no host runs schedules */
    assert_int_equal(runs_of(users.a), 0);
    start();
    run_for(1000);
    assert_int_equal(runs_of(users.a), 1); /* one for all that were missed */
    is_member(hourly, "next_at", "2026-01-01T11:00:00.000Z");
    is_member(ended, "next_at", NULL);
    is_member(ended, "last_at", NULL);
    is_member(ended, "error", "no host served the graph at the last due time, and the schedule has ended");
    value_unref(change(users.a, off, "\"enabled\":true"));
    run_for(1000);
    assert_int_equal(runs_of(users.a), 1); /* it starts afresh */
    run_for(HOUR_MS);
    assert_int_equal(runs_of(users.a), 3);
    end();
}

static void test_the_operator_in_the_thread_of_a_user(void **state) {
    char id[256], params[400];
    (void)state;
    begin("memory");
    start();
    make_at(users.served.client, "{\"document\":\"graph:hello\",\"config\":{\"thread_id\":\"@a:mine\"}}", 1000, id);
    run_for(2000);
    tn_value schedule = get(users.served.client, id);
    snprintf(params, sizeof params, "{\"run_id\":\"%s\"}", value_chars(value_get(schedule, "run_id"), NULL));
    tn_value run = call_as(&users, users.served.client, "run/get", params);
    is_text(run, "thread_id", "@a:mine");
    value_unref(run);
    value_unref(schedule);
    end();
}

/* ---- What starts nothing ---- */

static uint32_t checked, counted;

static int32_t starter_check(void *user, const char *key, const char *owner, struct error *error) {
    (void)user;
    checked++;
    assert_string_equal(key, "a");
    assert_string_equal(owner, "a");
    return checked == 1 ? error_set(error, TN_FAILED, "PERMISSION_DENIED", "the key was revoked") : TN_OK;
}

static void starter_started(void *user, const char *key, const char *owner, tn_value result) {
    (void)user, (void)key, (void)owner;
    counted += result != NULL;
}

static void test_a_key_that_may_not(void **state) {
    const struct server_starter starter = {starter_check, starter_started, NULL};
    char id[256], of_operator[256];
    (void)state;
    begin("memory");
    checked = counted = 0;
    server_timetable_set_starter(timetable(), &starter);
    make(users.a, "{\"document\":\"graph:hello\",\"every\":\"1h\"}", id);
    make(users.served.client, "{\"document\":\"graph:hello\",\"every\":\"1h\"}", of_operator); /* is not asked */
    start();
    run_for(HOUR_MS);
    assert_int_equal(checked, 1);
    assert_int_equal(runs_of(users.a), 0);
    assert_int_equal(runs_of(users.served.client), 1);
    is_member(id, "error", "the key was revoked [PERMISSION_DENIED]");
    run_for(HOUR_MS);
    assert_int_equal(checked, 2);
    assert_int_equal(counted, 1);
    assert_int_equal(runs_of(users.a), 1);
    is_member(id, "error", NULL);
    server_timetable_set_starter(timetable(), NULL);
    end();
}

static void test_mistakes_of_documents_are_the_operators(void **state) {
    char id[256];
    (void)state;
    begin("memory");
    users_write("hello", "version: '1.0'\nagent: {name: hello}\nnodes: [{id: n, type: nothing}]\n");
    start();
    make_at(users.a, "{\"document\":\"graph:hello\"}", 1000, id);
    run_for(2000);
    is_member(id, "error", "the document has a mistake, which the log of the host shows [INVALID_GRAPH]");
    end();
}

/* Runs that start in the same turn are all active when the next one is looked at. */
static void test_many_at_once(void **state) {
    char id[256];
    (void)state;
    begin("memory");
    for (uint32_t i = 0; i < TIMETABLE_OWNER_MAX + 4; i++) make_at(users.a, "{\"document\":\"graph:hello\"}", 1000, id);
    for (uint32_t i = 0; i < 3; i++)
        make_at(users.b, "{\"document\":\"graph:hello\",\"config\":{\"thread_id\":\"t\"}}", 900 + i, id);
    start();
    run_for(5000);
    size_t of_a = runs_of(users.a), of_b = runs_of(users.b);
    assert_in_range(of_a, TIMETABLE_OWNER_MAX, TIMETABLE_OWNER_MAX + 4);
    assert_in_range(of_b, 1, 3);
    tn_value page = call_as(&users, users.served.client, "schedule/search", "{}");
    size_t refused = 0;
    for (size_t i = 0; i < value_count(value_get(page, "schedules")); i++)
        refused += !value_is(value_get(value_at(value_get(page, "schedules"), i), "error"), TN_NULL);
    value_unref(page);
    assert_int_equal(of_a + of_b + refused, TIMETABLE_OWNER_MAX + 7); /* each has started a run, or says why not */
    end();
}

/* ---- Two hosts with one store ---- */

struct claims {
    size_t ended, claimed;
};

static void on_claims(void *user, int32_t status, tn_value result, const struct error *error) {
    struct claims *claims = user;
    (void)error;
    assert_int_equal(status, TN_OK);
    claims->ended++;
    claims->claimed += value_count(value_get(result, "claimed"));
}

static bool four_have_ended(void *user) { return ((struct claims *)user)->ended == 4; }

static void test_two_hosts_claim_a_due_time_once(void **state) {
#ifdef TENON_HAS_SQLITE
    char id[256], path[128];
    struct error error = ERROR_INIT;
    struct claims claims = {0, 0};
    (void)state;
    begin("sqlite");
    for (int i = 0; i < 10; i++) make(users.a, "{\"document\":\"graph:hello\",\"every\":\"1h\"}", id);
    run_for(HOUR_MS);
    struct store *stores[2] = {host_store(users.served.host, &error), NULL};
    snprintf(path, sizeof path, "%s/store", users.folder);
    tn_value options = value_set_take(value_object(), "use", value_text("sqlite"));
    options = value_set_take(options, "path", value_text(path));
    stores[1] = store_open(
        &(const struct store_from){the_loop(), host_registry(users.served.host), host_config(users.served.host)},
        options, &error);
    value_unref(options);
    if (!stores[0] || !stores[1]) fail_msg("%s", error.message);
    for (int i = 0; i < 4; i++)
        run_schedules_claim(stores[i % 2], value_push_take(value_array(), value_text("graph:hello")), on_claims,
                            &claims);
    loop_run(the_loop(), four_have_ended, &claims);
    assert_int_equal(claims.claimed, 10);
    store_close(stores[1]);
    end();
#else
    (void)state;
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_users_without_a_key),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_due_times_start_runs),
        cmocka_unit_test(test_due_times_that_were_missed),
        cmocka_unit_test(test_a_key_that_may_not),
        cmocka_unit_test(test_the_operator_in_the_thread_of_a_user),
        cmocka_unit_test(test_mistakes_of_documents_are_the_operators),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_two_hosts_claim_a_due_time_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * scheduler_test.c - schedulers over a store, with a fake clock: each due time has one Task, over two years with both
 * changes of the clock, restarts and two schedulers; missed due times; a clock that jumps; changed and wrong schedules;
 * a store that fails.
 */
#include "tests/unit/state_fixture.h"

#include "adl/expr/time.h"
#include "host/base/log.h"
#include "host/work/cron.h"
#include "host/work/schedule_store.h"
#include "host/work/scheduler.h"

#define DAY_MS  (INT64_C(24) * 60 * 60 * 1000)
#define HOUR_MS (INT64_C(60) * 60 * 1000)

/* ---- Fixture ---- */

static struct kernel_fixture fixture;
static char last_line[512]; /* of the log */
static unsigned log_lines;

static void on_line(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level, (void)who;
    snprintf(last_line, sizeof last_line, "%s", line);
    log_lines++;
}

static void begin(const char *store) {
    kernel_fixture_open(&fixture, store);
    log_set_sink(host_log(fixture.host), on_line, NULL);
    log_set_level(host_log(fixture.host), LOG_INFO);
    loop_enter(host_loop(fixture.host));
    log_lines = 0;
    last_line[0] = '\0';
}

static void end(void) { kernel_fixture_close(&fixture); }
static struct loop *the_loop(void) { return host_loop(fixture.host); }
static int64_t wall(void) { return loop_wall_ms(the_loop()); }

static tn_value value_of(const char *json) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(json, strlen(json), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", json, error.message);
    return value;
}

static struct scheduler *start_on(struct store *store, const char *json) {
    struct error error = ERROR_INIT;
    tn_value schedules = value_of(json);
    struct scheduler *scheduler = scheduler_new(
        &(struct scheduler_options){.store = store, .schedules = schedules, .look_ms = 6 * HOUR_MS}, &error);
    if (!scheduler) fail_msg("%s", error.message);
    value_unref(schedules);
    scheduler_start(scheduler);
    return scheduler;
}

static struct scheduler *start(const char *json) { return start_on(fixture.kernel.store, json); }

static void set_flag(void *user) { *(bool *)user = true; }

static void stop(struct scheduler *scheduler) {
    bool closed = false;
    scheduler_close(scheduler, set_flag, &closed);
    scheduler_close(scheduler, set_flag, NULL); /* no effect */
    loop_run(the_loop(), kernel_flag_is_set, &closed);
    assert_true(closed);
}

struct alarm {
    struct loop_timer timer;
    bool rang;
};
static void alarm_rings(struct loop_timer *timer) { ((struct alarm *)(void *)timer)->rang = true; }
static bool alarm_rang(void *user) { return ((struct alarm *)user)->rang; }

/* Lets the fake clock run. Requests to the store that are pending at the end have ended, too. */
static void run_for(int64_t ms) {
    struct alarm alarm = {.rang = false};
    loop_timer_start(the_loop(), &alarm.timer, ms, alarm_rings);
    loop_run(the_loop(), alarm_rang, &alarm);
    tn_value got = NULL; /* the store keeps the order of its requests */
    assert_int_equal(store_query_wait(fixture.kernel.store, store_get("schedules", "none"), &got, NULL), TN_OK);
    value_unref(got);
}

/* ---- What was created ---- */

/* The Tasks of a type, oldest first. */
static tn_value tasks_of(const char *type) {
    tn_value all = value_array();
    char after[64] = "";
    for (bool more = true; more;) {
        tn_value arguments = value_set_take(value_object(), "limit", value_int(1000));
        arguments = value_set_take(arguments, "filter", value_set_take(value_object(), "task_type", value_text(type)));
        if (*after) arguments = value_set_take(arguments, "after", value_text(after));
        tn_value page = kernel_call_take(&fixture, "task.list", arguments);
        if (!page) fail_msg("%s", fixture.error.message);
        tn_value tasks = value_get(page, "tasks");
        all = value_concat_take(all, value_ref(tasks));
        more = value_to_bool(value_get(page, "more"));
        if (value_count(tasks))
            snprintf(after, sizeof after, "%s",
                     value_chars(value_get(value_at(tasks, value_count(tasks) - 1), "task_id"), NULL));
        value_unref(page);
    }
    return all;
}

static size_t count_of(const char *type) {
    tn_value tasks = tasks_of(type);
    size_t count = value_count(tasks);
    value_unref(tasks);
    return count;
}

/* Milliseconds since 1970 at which the Task was created. */
static int64_t created_at(tn_value task) {
    int64_t seconds;
    uint32_t nanoseconds;
    size_t length;
    const char *text = value_chars(value_get(task, "created_at"), &length);
    assert_true(timestamp_parse(text, length, &seconds, &nanoseconds));
    return seconds * 1000 + nanoseconds / 1000000;
}

static tn_value record_of(const char *name) {
    tn_value got = NULL;
    assert_int_equal(store_query_wait(fixture.kernel.store, store_get("schedules", name), &got, NULL), TN_OK);
    tn_value value = value_get(got, "value");
    value = value ? value_ref(value) : NULL;
    value_unref(got);
    return value;
}

static int64_t handled_of(const char *name) {
    tn_value record = record_of(name), handled = value_get(record, "handled_ms");
    int64_t ms = handled ? value_to_int(handled) : -1;
    value_unref(record);
    return ms;
}

/* ---- Two years ---- */

static const struct {
    const char *type, *cron, *zone;
} yearly[] = {
    {"berlin", "30 2 * * *", "Europe/Berlin"},   {"york", "30 1 * * mon-fri", "America/New_York"},
    {"tokyo", "0 9 1,15 * *", "Asia/Tokyo"},     {"howe", "45 1 * * *", "Australia/Lord_Howe"},
    {"hourly", "0 * * 3,10 *", "Europe/Berlin"}, {"leap", "0 0 29 2 *", "UTC"},
    {"paulo", "0 0 * * 0", "America/Sao_Paulo"},
};
#define YEARLY_COUNT (sizeof yearly / sizeof *yearly)

static tn_value yearly_text(void) {
    tn_value text = value_text("{");
    for (size_t i = 0; i < YEARLY_COUNT; i++) {
        tn_value longer = value_format(
            "%s%s\"%s\": {\"cron\": \"%s\", \"timezone\": \"%s\", \"task\": {\"type\": \"%s\"}}",
            value_chars(text, NULL), i ? ", " : "", yearly[i].type, yearly[i].cron, yearly[i].zone, yearly[i].type);
        value_unref(text);
        text = longer;
    }
    tn_value closed = value_format("%s}", value_chars(text, NULL));
    value_unref(text);
    return closed;
}

/* Each due time has one Task, created at that time. */
static void expect_each_due_time(size_t index, int64_t from_ms, int64_t to_ms) {
    struct cron cron;
    tn_value tasks = tasks_of(yearly[index].type);
    size_t count = 0;
    assert_int_equal(cron_parse(yearly[index].cron, strlen(yearly[index].cron), &cron, NULL), TN_OK);
    for (int64_t at = from_ms / 1000; cron_next(&cron, yearly[index].zone, at, &at) && at * 1000 <= to_ms; count++) {
        if (count >= value_count(tasks)) fail_msg("%s: %zu Tasks are too few", yearly[index].type, count);
        if (created_at(value_at(tasks, count)) != at * 1000)
            fail_msg("%s: Task %zu is not of %lld", yearly[index].type, count, (long long)at);
    }
    if (value_count(tasks) != count)
        fail_msg("%s: found %zu Tasks, expected %zu", yearly[index].type, value_count(tasks), count);
    value_unref(tasks);
}

/* With the thread sanitizer, which is slow, two months. */
#ifdef __SANITIZE_THREAD__
#define RESTARTS 2
#else
#define RESTARTS 25
#endif

static void two_years(bool two_schedulers) {
    begin("memory");
    tn_value text = yearly_text();
    const char *schedules = value_chars(text, NULL);
    int64_t from = wall();
    struct scheduler *one = start(schedules), *two = two_schedulers ? start(schedules) : NULL;
    for (int part = 0; part < RESTARTS; part++) { /* a restart every 29 days and some hours */
        run_for(29 * DAY_MS + part * HOUR_MS);
        stop(one);
        one = start(schedules);
        if (part % 5 == 0 && two) {
            stop(two);
            two = start(schedules);
        }
    }
    run_for(HOUR_MS);
    int64_t to = wall();
    assert_true(to - from > RESTARTS * 29 * DAY_MS);
    stop(one);
    if (two) stop(two);
    value_unref(text);
    for (size_t i = 0; i < YEARLY_COUNT; i++) expect_each_due_time(i, from, to);
    assert_int_equal(count_of("leap"), 0); /* 2026 and 2027 */
    assert_true(count_of("berlin") >= RESTARTS * 29);
    assert_int_equal(log_lines, 0);
    end();
}

static void test_two_years_with_restarts(void **state) {
    (void)state;
    two_years(false);
}

static void test_two_years_with_two_schedulers(void **state) {
    (void)state;
    two_years(true);
}

/* ---- Two hosts ---- */

/* A second store of the same file, as another process would have it. */
static struct store *second_store(const char *name) {
    struct error error = ERROR_INIT;
    char place[128];
    snprintf(place, sizeof place, "%s/store", fixture.folder);
    tn_value options = value_set_take(value_object(), "use", value_text(name));
    options = value_set_take(options, "path", value_text(place));
    struct store *store =
        store_open(&(const struct store_from){the_loop(), host_registry(fixture.host), host_config(fixture.host)},
                   options, &error);
    if (!store) fail_msg("%s", error.message);
    value_unref(options);
    return store;
}

static void test_two_hosts_create_one_task_for_each_due_time(void **state) {
    static const char schedules[] =
        "{\"a\": {\"every\": \"1m\", \"task\": {\"type\": \"a\", \"payload\": {\"x\": [1, 2]}}, \"misfire\": \"all\"},"
        " \"b\": {\"every\": \"90s\", \"task\": {\"type\": \"b\"}, \"misfire\": \"all\"}}";
    (void)state;
    if (!kernel_has("sqlite")) skip();
    begin("sqlite");
    struct store *other = second_store("sqlite");
    struct scheduler *one = start(schedules), *two = start_on(other, schedules);
    run_for(HOUR_MS + 1000); /* no request is pending then: the clock does not move while one is */
    uint64_t created = scheduler_created(one) + scheduler_created(two);
    stop(one);
    stop(two);
    run_for(2 * HOUR_MS);
    one = start(schedules); /* both catch up at the same time */
    two = start_on(other, schedules);
    run_for(30000);
    created += scheduler_created(one) + scheduler_created(two);
    stop(one);
    stop(two);
    store_close(other);
    assert_int_equal(count_of("a"), 180);
    assert_int_equal(count_of("b"), 120);
    assert_int_equal(created, 300);
    tn_value tasks = tasks_of("a"), payload = value_of("{\"x\": [1, 2]}");
    assert_true(value_equal(value_get(value_at(tasks, 0), "payload"), payload));
    value_unref(payload);
    value_unref(tasks);
    assert_int_equal(log_lines, 0);
    end();
}

/* ---- Missed due times ---- */

static void test_due_times_while_no_host_ran(void **state) {
    static const char schedules[] =
        "{\"skip\": {\"every\": \"1h\", \"task\": {\"type\": \"skip\"}, \"misfire\": \"skip\"},"
        " \"once\": {\"every\": \"1h\", \"task\": {\"type\": \"once\"}},"
        " \"all\": {\"every\": \"1h\", \"task\": {\"type\": \"all\"}, \"misfire\": \"all\"},"
        " \"at\": {\"at\": \"2026-01-01T02:30:00Z\", \"task\": {\"type\": \"at\"}}}";
    (void)state;
    begin("memory");
    struct scheduler *scheduler = start(schedules);
    assert_int_equal(scheduler_count(scheduler), 4);
    run_for(HOUR_MS + 1000);
    stop(scheduler);
    assert_int_equal(count_of("skip") + count_of("once") + count_of("all") + count_of("at"), 3);
    run_for(10 * HOUR_MS); /* ten due times pass, the newest an hour ago but for a second */
    scheduler = start(schedules);
    run_for(1000);
    assert_int_equal(count_of("skip"), 2); /* it is only two seconds late */
    assert_int_equal(count_of("once"), 2);
    assert_int_equal(count_of("all"), 11);
    assert_int_equal(count_of("at"), 1);
    stop(scheduler);
    run_for(5 * HOUR_MS + HOUR_MS / 2);
    scheduler = start(schedules);
    run_for(1000);
    assert_int_equal(count_of("skip"), 2);
    assert_int_equal(count_of("once"), 3);
    assert_int_equal(count_of("all"), 16);
    assert_int_equal(handled_of("all") % HOUR_MS, 0);
    assert_true(handled_of("all") > wall() - HOUR_MS);
    assert_int_equal(count_of("at"), 1);
    run_for(HOUR_MS);
    assert_int_equal(count_of("skip"), 3);
    assert_int_equal(count_of("once"), 4);
    assert_int_equal(count_of("all"), 17);
    stop(scheduler);
    assert_int_equal(log_lines, 0);
    end();
}

static void test_all_is_bounded(void **state) {
    static const char schedules[] =
        "{\"all\": {\"every\": \"1m\", \"task\": {\"type\": \"all\"}, \"misfire\": \"all\"}}";
    (void)state;
    begin("memory");
    struct scheduler *scheduler = start(schedules);
    run_for(1000);
    stop(scheduler);
    run_for(40 * DAY_MS); /* longer than idempotency keys are remembered */
    scheduler = start(schedules);
    struct scheduler *other = start(schedules);
    run_for(30000);
    stop(scheduler);
    stop(other);
    assert_int_equal(count_of("all"), SCHEDULE_DUE_MAX);
    assert_true(handled_of("all") > wall() - 60000);
    assert_non_null(strstr(last_line, "schedule all: more than 1000 due times were missed"));
    end();
}

/* ---- A clock that jumps ---- */

static void test_the_clock_is_set_forward(void **state) {
    static const char schedules[] =
        "{\"once\": {\"cron\": \"0 3 * * *\", \"task\": {\"type\": \"once\"}},"
        " \"all\": {\"cron\": \"0 3 * * *\", \"task\": {\"type\": \"all\"}, \"misfire\": \"all\"},"
        " \"skip\": {\"cron\": \"0 3 * * *\", \"task\": {\"type\": \"skip\"}, \"misfire\": \"skip\"}}";
    (void)state;
    begin("memory");
    struct scheduler *scheduler = start(schedules);
    run_for(HOUR_MS);
    loop_fake_move_wall(the_loop(), 3 * DAY_MS + 5 * HOUR_MS); /* now 06:00: four nights */
    run_for(6 * HOUR_MS);                                      /* seen after look_ms at the latest */
    assert_int_equal(count_of("once"), 1);
    assert_int_equal(count_of("all"), 4);
    assert_int_equal(count_of("skip"), 0);
    run_for(DAY_MS);
    assert_int_equal(count_of("once"), 2);
    assert_int_equal(count_of("all"), 5);
    assert_int_equal(count_of("skip"), 1);
    stop(scheduler);
    end();
}

static void test_the_clock_is_set_back(void **state) {
    static const char schedules[] =
        "{\"hourly\": {\"every\": \"1h\", \"task\": {\"type\": \"hourly\"}, \"misfire\": \"all\"}}";
    (void)state;
    begin("memory");
    struct scheduler *scheduler = start(schedules);
    run_for(10 * HOUR_MS + 1000);
    assert_int_equal(count_of("hourly"), 10);
    loop_fake_move_wall(the_loop(), -5 * HOUR_MS);
    run_for(5 * HOUR_MS); /* the same five due times: they have their Tasks */
    assert_int_equal(count_of("hourly"), 10);
    run_for(2 * HOUR_MS);
    assert_int_equal(count_of("hourly"), 12);
    stop(scheduler);
    end();
}

static void test_a_clock_that_was_years_ahead(void **state) {
    static const char schedules[] = "{\"daily\": {\"cron\": \"@daily\", \"task\": {\"type\": \"daily\"}}}";
    (void)state;
    begin("memory");
    struct scheduler *scheduler = start(schedules);
    run_for(DAY_MS + 1000);
    assert_int_equal(count_of("daily"), 1);
    loop_fake_move_wall(the_loop(), 3650 * DAY_MS);
    run_for(DAY_MS);
    assert_int_equal(count_of("daily"), 3); /* one for the years, one for the next midnight */
    loop_fake_move_wall(the_loop(), -3650 * DAY_MS);
    run_for(6 * HOUR_MS);
    assert_int_equal(count_of("daily"), 3);
    assert_true(handled_of("daily") <= wall());
    run_for(3 * DAY_MS);
    assert_int_equal(count_of("daily"), 6);
    stop(scheduler);
    /* The same, if the host was restarted meanwhile. */
    loop_fake_move_wall(the_loop(), 3650 * DAY_MS);
    scheduler = start(schedules);
    run_for(1000);
    stop(scheduler);
    loop_fake_move_wall(the_loop(), -3650 * DAY_MS);
    scheduler = start(schedules);
    run_for(1000);
    assert_true(handled_of("daily") <= wall());
    stop(scheduler);
    end();
}

/* ---- Changes of the configuration ---- */

static void test_a_changed_schedule_starts_afresh(void **state) {
    (void)state;
    begin("memory");
    struct scheduler *scheduler =
        start("{\"s\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}, \"misfire\": \"all\"}}");
    run_for(HOUR_MS);
    stop(scheduler);
    assert_int_equal(count_of("s"), 1);
    run_for(10 * HOUR_MS);
    scheduler = start("{\"s\": {\"every\": \"2h\", \"task\": {\"type\": \"s\"}, \"misfire\": \"all\"}}");
    run_for(1000);
    assert_int_equal(count_of("s"), 1);
    assert_string_equal(last_line, "schedule s: its times have changed; it starts afresh");
    run_for(2 * HOUR_MS);
    assert_int_equal(count_of("s"), 2);
    stop(scheduler);
    /* Another payload is the same schedule. */
    run_for(10 * HOUR_MS);
    scheduler = start(
        "{\"s\": {\"every\": \"2h\", \"task\": {\"type\": \"s\", \"payload\": {\"x\": 1}}, \"misfire\": \"all\"}}");
    run_for(1000);
    assert_int_equal(count_of("s"), 7);
    stop(scheduler);
    end();
}

static void test_a_disabled_schedule_starts_afresh(void **state) {
    static const char enabled[] = "{\"s\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}}}",
                      disabled[] = "{\"s\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}, \"enabled\": false}}";
    (void)state;
    begin("memory");
    struct scheduler *scheduler = start(enabled);
    run_for(HOUR_MS);
    stop(scheduler);
    scheduler = start(disabled);
    assert_int_equal(scheduler_count(scheduler), 0);
    run_for(10 * HOUR_MS + HOUR_MS / 2);
    stop(scheduler);
    assert_int_equal(handled_of("s"), -1);
    scheduler = start(enabled);
    run_for(1000);
    assert_int_equal(count_of("s"), 1);
    run_for(HOUR_MS);
    assert_int_equal(count_of("s"), 2);
    stop(scheduler);
    end();
}

/* Hosts with different files: each creates the Tasks of its due times, a common due time has one Task. */
static void test_hosts_with_different_definitions(void **state) {
    (void)state;
    begin("memory");
    struct scheduler *one = start("{\"s\": {\"every\": \"2h\", \"task\": {\"type\": \"s\"}}}"),
                     *two = start("{\"s\": {\"every\": \"3h\", \"task\": {\"type\": \"s\"}}}");
    run_for(12 * HOUR_MS + 1000);
    stop(one);
    stop(two);
    assert_int_equal(count_of("s"), 8); /* 2, 3, 4, 6, 8, 9, 10 and 12 o'clock */
    assert_string_equal(last_line, "schedule s: another host of this store has other times for it");
    end();
}

static void test_mistakes_are_reported_at_the_start(void **state) {
    (void)state;
    begin("memory");
    struct error error = ERROR_INIT;
    tn_value schedules = value_of("{\"good\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}},"
                                  " \"bad\": {\"cron\": \"0 0 30 2 *\", \"task\": {\"type\": \"s\"}}}");
    assert_null(
        scheduler_new(&(struct scheduler_options){.store = fixture.kernel.store, .schedules = schedules}, &error));
    assert_string_equal(error.code, "INVALID_CONFIG");
    assert_string_equal(error.message, "schedules.bad.cron: found `0 0 30 2 *`, which is never due: none of the months "
                                       "has such a day");
    error_finish(&error);
    value_unref(schedules);
    struct scheduler *none =
        scheduler_new(&(struct scheduler_options){.store = fixture.kernel.store, .schedules = NULL}, &error);
    scheduler_start(none);
    stop(none);
    none = scheduler_new(&(struct scheduler_options){.store = fixture.kernel.store, .schedules = NULL}, &error);
    stop(none); /* it was never started */
    scheduler_close(NULL, NULL, NULL);
    end();
}

/* The kernel does not accept this payload: the due times count as handled, and others are not affected. */
static void test_a_task_that_the_kernel_refuses(void **state) {
    (void)state;
    begin("memory");
    struct scheduler *scheduler =
        start("{\"bad\": {\"every\": \"1h\", \"task\": {\"type\": \"notification\", \"payload\": {\"text\": \"x\"}}},"
              " \"good\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}}}");
    run_for(3 * HOUR_MS);
    stop(scheduler);
    assert_int_equal(count_of("s"), 3);
    assert_int_equal(count_of("notification"), 0);
    assert_int_equal(log_lines, 3);
    assert_non_null(strstr(last_line, "schedule bad: cannot create its Task: schedule.create: `payload`"));
    assert_true(handled_of("bad") > wall() - HOUR_MS);
    end();
}

/* ---- A store that fails ---- */

static void test_a_store_that_cannot_be_opened(void **state) {
    (void)state;
    if (!kernel_has("sqlite")) skip();
    begin("sqlite");
    tn_value options = value_set_take(value_object(), "use", value_text("sqlite"));
    options = value_set_take(options, "path", value_text("/proc/version/tenon.db")); /* no folder */
    struct error error = ERROR_INIT;
    struct store *broken =
        store_open(&(const struct store_from){the_loop(), host_registry(fixture.host), host_config(fixture.host)},
                   options, &error);
    value_unref(options);
    if (!broken) fail_msg("%s", error.message);
    struct scheduler *scheduler = start_on(broken, "{\"s\": {\"every\": \"1s\", \"task\": {\"type\": \"s\"}}}");
    run_for(60000);
    assert_non_null(strstr(last_line, "schedule s: cannot create its Task, trying again: "));
    assert_in_range(log_lines, 6, 7); /* every SCHEDULER_RETRY_MS */
    assert_int_equal(scheduler_created(scheduler), 0);
    stop(scheduler);
    store_close(broken);
    end();
}

/* A scheduler that is closed while the store works: the request ends first. */
static void test_closing_at_any_time(void **state) {
    (void)state;
    begin("memory");
    for (int turns = 0; turns < 12; turns++) {
        struct scheduler *scheduler =
            start("{\"s\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}, \"misfire\": \"all\"}}");
        for (int i = 0; i < turns; i++) loop_run_turn(the_loop());
        stop(scheduler);
        loop_fake_advance(the_loop(), HOUR_MS);
    }
    struct scheduler *scheduler =
        start("{\"s\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}, \"misfire\": \"all\"}}");
    run_for(1000);
    stop(scheduler);
    assert_int_equal(count_of("s"), 12);
    end();
}

/* ---- List and run ---- */

struct answer {
    bool done;
    int32_t status;
    tn_value result;
};

static void on_answer(void *user, int32_t status, tn_value result, const struct error *error) {
    struct answer *answer = user;
    (void)error;
    answer->done = true;
    answer->status = status;
    answer->result = result ? value_ref(result) : NULL;
}

static bool is_answered(void *user) { return ((struct answer *)user)->done; }

static tn_value answer_take(struct answer *answer) {
    loop_run(the_loop(), is_answered, answer);
    assert_int_equal(answer->status, TN_OK);
    return answer->result;
}

static void test_list(void **state) {
    static const char schedules[] =
        "{\"b\": {\"cron\": \"0 3 * * *\", \"timezone\": \"Europe/Berlin\", \"task\": {\"type\": \"w\"}},"
        " \"a\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}, \"misfire\": \"skip\"},"
        " \"off\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}, \"enabled\": false},"
        " \"over\": {\"at\": \"2025-01-01T00:00:00Z\", \"task\": {\"type\": \"s\"}},"
        " \"bad\": {\"cron\": \"x\", \"task\": {\"type\": \"s\"}}}";
    static const char expected[] =
        "{\"schedules\":["
        "{\"name\":\"b\",\"expression\":\"0 3 * * "
        "*\",\"timezone\":\"Europe/Berlin\",\"misfire\":\"once\",\"enabled\":true,"
        "\"task_type\":\"w\",\"next\":[\"2026-01-01T02:00:00.000Z\",\"2026-01-02T02:00:00.000Z\"],\"last\":null,"
        "\"error\":null},"
        "{\"name\":\"a\",\"expression\":\"every 1h\",\"timezone\":\"UTC\",\"misfire\":\"skip\",\"enabled\":true,"
        "\"task_type\":\"s\",\"next\":[\"2026-01-01T02:00:00.000Z\",\"2026-01-01T03:00:00.000Z\"],"
        "\"last\":\"2026-01-01T01:00:00.000Z\",\"error\":null},"
        "{\"name\":\"off\",\"expression\":\"every 1h\",\"timezone\":\"UTC\",\"misfire\":\"once\",\"enabled\":false,"
        "\"task_type\":\"s\",\"next\":[],\"last\":null,\"error\":null},"
        "{\"name\":\"over\",\"expression\":\"at 2025-01-01T00:00:00Z\",\"timezone\":\"UTC\",\"misfire\":\"once\","
        "\"enabled\":true,\"task_type\":\"s\",\"next\":[],\"last\":null,\"error\":null},"
        "{\"name\":\"bad\",\"error\":\"schedules.bad.cron: minute, column 1: found `x`, expected 0 to 59\"}]}";
    (void)state;
    begin("memory");
    struct scheduler *scheduler = start("{\"a\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}}}");
    run_for(HOUR_MS);
    stop(scheduler);
    tn_value configured = value_of(schedules);
    struct answer answer = {false, 0, NULL};
    schedules_list(fixture.kernel.store, configured, 2, on_answer, &answer);
    tn_value list = answer_take(&answer);
    char *text = json_text(list, JSON_COMPACT);
    assert_string_equal(text, expected);
    mem_free(text);
    value_unref(list);
    value_unref(configured);
    answer = (struct answer){false, 0, NULL};
    schedules_list(fixture.kernel.store, NULL, 2, on_answer, &answer);
    list = answer_take(&answer);
    assert_int_equal(value_count(value_get(list, "schedules")), 0);
    value_unref(list);
    end();
}

static tn_value run_now(tn_value configured, const char *name, const char *key) {
    struct answer answer = {false, 0, NULL};
    struct error error = ERROR_INIT;
    struct schedule *schedule = schedules_find(configured, name, &error);
    if (!schedule) fail_msg("%s", error.message);
    schedule_run(fixture.kernel.store, schedule, key, on_answer, &answer);
    schedule_free(schedule);
    tn_value task = answer_take(&answer), id = value_ref(value_get(task, "task_id"));
    value_unref(task);
    return id;
}

static void test_run(void **state) {
    (void)state;
    begin("memory");
    tn_value configured = value_of("{\"a\": {\"every\": \"1h\", \"task\": {\"type\": \"s\", \"payload\": {\"x\": 1}}},"
                                   " \"nightly\": {\"cron\": \"x\", \"task\": {\"type\": \"s\"}}}");
    tn_value one = run_now(configured, "a", NULL), two = run_now(configured, "a", NULL),
             three = run_now(configured, "a", "k"), again = run_now(configured, "a", "k");
    assert_false(value_equal(one, two));
    assert_false(value_equal(two, three));
    assert_true(value_equal(three, again));
    value_unref(one);
    value_unref(two);
    value_unref(three);
    value_unref(again);
    assert_int_equal(count_of("s"), 3);
    struct error error = ERROR_INIT;
    assert_null(schedules_find(configured, "nihgtly", &error));
    assert_string_equal(error.message, "tenon.yaml has no schedule `nihgtly`; did you mean `nightly`?");
    error_finish(&error);
    assert_null(schedules_find(configured, "nightly", &error));
    assert_string_equal(error.code, "INVALID_CONFIG");
    error_finish(&error);
    assert_null(schedules_find(NULL, "x", &error));
    assert_string_equal(error.message, "tenon.yaml has no schedule `x`; it has no schedules");
    error_finish(&error);
    value_unref(configured);
    /* A Task that a caller creates with the key of a due time does not replace the Task of the schedule. */
    tn_value forged = kernel_ask(&fixture, "task.create",
                                 "{\"task_type\": \"f\", \"idempotency_key\": \"schedule:a:1767229200000\"}");
    value_unref(forged);
    struct scheduler *scheduler = start("{\"a\": {\"every\": \"1h\", \"task\": {\"type\": \"s\"}}}");
    run_for(HOUR_MS);
    stop(scheduler);
    assert_int_equal(count_of("s"), 4);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_years_with_restarts),
        cmocka_unit_test(test_two_years_with_two_schedulers),
        cmocka_unit_test(test_two_hosts_create_one_task_for_each_due_time),
        cmocka_unit_test(test_due_times_while_no_host_ran),
        cmocka_unit_test(test_all_is_bounded),
        cmocka_unit_test(test_the_clock_is_set_forward),
        cmocka_unit_test(test_the_clock_is_set_back),
        cmocka_unit_test(test_a_clock_that_was_years_ahead),
        cmocka_unit_test(test_a_changed_schedule_starts_afresh),
        cmocka_unit_test(test_a_disabled_schedule_starts_afresh),
        cmocka_unit_test(test_hosts_with_different_definitions),
        cmocka_unit_test(test_mistakes_are_reported_at_the_start),
        cmocka_unit_test(test_a_task_that_the_kernel_refuses),
        cmocka_unit_test(test_a_store_that_cannot_be_opened),
        cmocka_unit_test(test_closing_at_any_time),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

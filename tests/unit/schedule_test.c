/*
 * schedule_test.c - schedules as values: mistakes, due times, and the policies for due times that were missed.
 */
#include "tests/unit/corpus.h"

#include "adl/diagnostic/diagnostic.h"
#include "adl/expr/time.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/work/schedule.h"
#include "host/work/schedule_source.h"

static tn_value value_of(const char *json) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(json, strlen(json), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", json, error.message);
    return value;
}

static struct schedule *schedule_of(const char *json) {
    struct error error = ERROR_INIT;
    tn_value value = value_of(json);
    struct schedule *schedule = schedule_new("s", value, &error);
    if (!schedule) fail_msg("%s: %s", json, error.message);
    value_unref(value);
    return schedule;
}

static int64_t ms_of(const char *text) {
    int64_t seconds;
    uint32_t nanoseconds;
    if (!timestamp_parse(text, strlen(text), &seconds, &nanoseconds)) fail_msg("`%s` is not a time", text);
    return seconds * 1000 + nanoseconds / 1000000;
}

/* ---- Mistakes ---- */

static void test_mistakes(void **state) {
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"{\"task\": {\"type\": \"w\"}}", "schedules.s: expected one of `cron`, `every` and `at`"},
        {"{\"cron\": \"0 25 * * *\", \"task\": {\"type\": \"w\"}}",
         "schedules.s.cron: hour, column 3: found `25`, expected 0 to 23"},
        {"{\"cron\": 5, \"task\": {\"type\": \"w\"}}",
         "schedules.s.cron: found 0 fields, expected 5: minute, hour, day of month, month, day of week"},
        {"{\"cron\": \"@daily\", \"timezone\": \"Europe/Berlim\", \"task\": {\"type\": \"w\"}}",
         "schedules.s.timezone: found `Europe/Berlim`, expected a time zone that this machine knows (package tzdata), "
         "for example Europe/Berlin"},
        {"{\"cron\": \"@daily\", \"timezone\": \"../localtime\", \"task\": {\"type\": \"w\"}}",
         "schedules.s.timezone: found `../localtime`, expected a time zone that this machine knows (package tzdata), "
         "for example Europe/Berlin"},
        {"{\"cron\": \"@daily\", \"timezone\": 5, \"task\": {\"type\": \"w\"}}",
         "schedules.s.timezone: expected the name of a time zone"},
        {"{\"every\": \"1m\", \"timezone\": \"UTC\", \"task\": {\"type\": \"w\"}}",
         "schedules.s.timezone: expected a time zone only beside `cron`"},
        {"{\"every\": \"999ms\", \"task\": {\"type\": \"w\"}}",
         "schedules.s.every: expected a duration from 1s to 366d, for example 15m"},
        {"{\"every\": [], \"task\": {\"type\": \"w\"}}",
         "schedules.s.every: expected a duration from 1s to 366d, for example 15m"},
        {"{\"at\": \"tomorrow\", \"task\": {\"type\": \"w\"}}",
         "schedules.s.at: expected a time with its offset as in RFC 3339, for example 2026-12-01T09:00:00Z"},
        {"{\"every\": \"1m\"}", "schedules.s.task.type: expected the type of a Task"},
        {"{\"every\": \"1m\", \"task\": {\"type\": \"w\", \"payload\": 5}}",
         "schedules.s.task.payload: expected a mapping"},
        {"{\"every\": \"1m\", \"task\": {\"type\": \"w\"}, \"misfire\": \"never\"}",
         "schedules.s.misfire: expected `skip`, `once` or `all`"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = ERROR_INIT;
        tn_value value = value_of(cases[i].json);
        if (schedule_new("s", value, &error)) fail_msg("%s is accepted", cases[i].json);
        assert_string_equal(error.code, "INVALID_CONFIG");
        assert_string_equal(error.message, cases[i].message);
        error_finish(&error);
        value_unref(value);
    }
}

/* The same mistakes at their places in a tenon.yaml. */
static void test_places_of_mistakes(void **state) {
    static const char text[] = "# Schedules\n"
                               "schedules:\n"
                               "  a.b: {task: {type: w}, cron: 0 25 * * *}\n"
                               "  good: {every: 1m, task: {type: w}}\n"
                               "  c:\n"
                               "    timezone: Nowhere/City\n"
                               "    cron: '@daily'\n"
                               "    task: {type: w}\n";
    (void)state;
    struct source *source = source_new("tenon.yaml", text, strlen(text));
    struct diagnostics *found = diagnostics_new();
    struct config *config = config_read("tenon.yaml", text, strlen(text), found);
    assert_int_equal(diagnostics_count(found), 0);
    schedules_check_source(source, config_schedules(config), found);
    diagnostics_sort(found);
    assert_int_equal(diagnostics_count(found), 2);
    const struct diagnostic *first = diagnostics_at(found, 0), *second = diagnostics_at(found, 1);
    assert_string_equal(first->message, "schedules.a.b.cron: hour, column 3: found `25`, expected 0 to 23");
    assert_int_equal(source_locate(source, first->span.start).line, 2);
    assert_int_equal(source_locate(source, first->span.start).point, 31);
    assert_non_null(strstr(second->message, "schedules.c.timezone: found `Nowhere/City`"));
    assert_int_equal(source_locate(source, second->span.start).line, 5);
    config_free(config);
    diagnostics_free(found);
    source_unref(source);
}

/* ---- Descriptions ---- */

static void test_descriptions(void **state) {
    static const struct {
        const char *json, *shown;
    } cases[] = {
        {"{\"cron\": \"0 3 * * *\", \"task\": {\"type\": \"w\"}}",
         "{\"name\":\"s\",\"expression\":\"0 3 * * *\",\"timezone\":\"UTC\",\"misfire\":\"once\",\"enabled\":true,"
         "\"task_type\":\"w\"}"},
        {"{\"every\": 90, \"task\": {\"type\": \"w\"}, \"misfire\": \"all\", \"enabled\": false}",
         "{\"name\":\"s\",\"expression\":\"every 90s\",\"timezone\":\"UTC\",\"misfire\":\"all\",\"enabled\":false,"
         "\"task_type\":\"w\"}"},
        {"{\"at\": \"2026-12-01T09:00:00+01:00\", \"task\": {\"type\": \"w\"}, \"misfire\": \"skip\"}",
         "{\"name\":\"s\",\"expression\":\"at 2026-12-01T09:00:00+01:00\",\"timezone\":\"UTC\",\"misfire\":\"skip\","
         "\"enabled\":true,\"task_type\":\"w\"}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct schedule *schedule = schedule_of(cases[i].json);
        tn_value shown = schedule_describe(schedule);
        char *text = json_text(shown, JSON_COMPACT);
        assert_string_equal(text, cases[i].shown);
        mem_free(text);
        value_unref(shown);
        schedule_free(schedule);
    }
    schedule_free(NULL);
}

/* The hash is stored, so it must be the same in later versions. */
static void test_the_definition_is_what_decides_due_times(void **state) {
    static const struct {
        const char *json;
        int group; /* the same definition in one group */
    } cases[] = {
        {"{\"every\": \"1m\", \"task\": {\"type\": \"w\"}}", 0},
        {"{\"every\": 60, \"task\": {\"type\": \"v\", \"payload\": {\"x\": 1}}, \"misfire\": \"all\"}", 0},
        {"{\"every\": \"2m\", \"task\": {\"type\": \"w\"}}", 1},
        {"{\"cron\": \"0 3 * * *\", \"task\": {\"type\": \"w\"}}", 2},
        {"{\"cron\": \"0 3 * * *\", \"timezone\": \"UTC\", \"task\": {\"type\": \"w\"}, \"enabled\": false}", 2},
        {"{\"cron\": \"0 4 * * *\", \"task\": {\"type\": \"w\"}}", 3},
        {"{\"at\": \"2026-12-01T09:00:00Z\", \"task\": {\"type\": \"w\"}}", 4},
        {"{\"at\": \"2026-12-01T10:00:00+01:00\", \"task\": {\"type\": \"w\"}}", 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
            struct schedule *one = schedule_of(cases[i].json), *two = schedule_of(cases[j].json);
            bool same = strcmp(schedule_definition(one), schedule_definition(two)) == 0;
            if (same != (cases[i].group == cases[j].group)) fail_msg("%s and %s", cases[i].json, cases[j].json);
            schedule_free(one);
            schedule_free(two);
        }
    struct schedule *schedule = schedule_of(cases[0].json);
    assert_string_equal(schedule_definition(schedule), "6c29f703af8f8686");
    schedule_free(schedule);
}

/* ---- Due times ---- */

/* `every` and `at` have due times of one millisecond, `cron` of one minute. */
static void test_next_due_times(void **state) {
    static const struct {
        const char *json, *after, *next; /* `next` NULL: none */
    } cases[] = {
        {"{\"every\": \"15m\", \"task\": {\"type\": \"w\"}}", "2026-01-01T00:07:00Z", "2026-01-01T00:15:00Z"},
        {"{\"every\": \"15m\", \"task\": {\"type\": \"w\"}}", "2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"},
        {"{\"every\": \"15m\", \"task\": {\"type\": \"w\"}}", "2026-01-01T00:14:59.999Z", "2026-01-01T00:15:00Z"},
        {"{\"every\": 1.5, \"task\": {\"type\": \"w\"}}", "1970-01-01T00:00:01Z", "1970-01-01T00:00:01.500Z"},
        {"{\"every\": 1.5, \"task\": {\"type\": \"w\"}}", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"},
        {"{\"every\": \"7d\", \"task\": {\"type\": \"w\"}}", "2026-01-01T00:00:00Z", "2026-01-08T00:00:00Z"},
        {"{\"at\": \"2026-12-01T09:00:00Z\", \"task\": {\"type\": \"w\"}}", "2026-01-01T00:00:00Z",
         "2026-12-01T09:00:00Z"},
        {"{\"at\": \"2026-12-01T09:00:00Z\", \"task\": {\"type\": \"w\"}}", "2026-12-01T09:00:00Z", NULL},
        {"{\"cron\": \"0 3 * * *\", \"task\": {\"type\": \"w\"}}", "2026-01-01T02:59:59.999Z", "2026-01-01T03:00:00Z"},
        {"{\"cron\": \"0 3 * * *\", \"task\": {\"type\": \"w\"}}", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"},
        {"{\"cron\": \"0 3 * * *\", \"task\": {\"type\": \"w\"}}", "1969-12-31T00:00:00Z", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct schedule *schedule = schedule_of(cases[i].json);
        int64_t due;
        bool is_due = schedule_next(schedule, ms_of(cases[i].after), &due);
        if (is_due != (cases[i].next != NULL) || (is_due && due != ms_of(cases[i].next)))
            fail_msg("%s after %s: found %lld", cases[i].json, cases[i].after, is_due ? (long long)due : -1);
        schedule_free(schedule);
    }
}

#define NIGHTLY(policy)  "{\"cron\": \"0 3 * * *\", \"task\": {\"type\": \"w\"}, \"misfire\": \"" policy "\"}"
#define MINUTELY(policy) "{\"every\": \"1m\", \"task\": {\"type\": \"w\"}, \"misfire\": \"" policy "\"}"
#define LAUNCH(policy)   "{\"at\": \"2026-01-02T00:00:00Z\", \"task\": {\"type\": \"w\"}, \"misfire\": \"" policy "\"}"

static void test_misfire_policies(void **state) {
    static const struct {
        const char *json, *last, *now;
        size_t count;
        const char *first, *newest, *handled;
        bool dropped;
    } cases[] = {
        /* Nothing is due */
        {NIGHTLY("skip"), "2026-01-01T03:00:00Z", "2026-01-02T02:59:59Z", 0, NULL, NULL, "2026-01-01T03:00:00Z", false},
        {NIGHTLY("all"), "2026-01-01T03:00:00Z", "2026-01-01T03:00:00Z", 0, NULL, NULL, "2026-01-01T03:00:00Z", false},
        {NIGHTLY("once"), "2026-01-03T03:00:00Z", "2026-01-01T03:00:00Z", 0, NULL, NULL, "2026-01-03T03:00:00Z", false},
        /* In time */
        {NIGHTLY("skip"), "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z", 1, "2026-01-02T03:00:00Z",
         "2026-01-02T03:00:00Z", "2026-01-02T03:00:00Z", false},
        {NIGHTLY("once"), "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z", 1, "2026-01-02T03:00:00Z",
         "2026-01-02T03:00:00Z", "2026-01-02T03:00:00Z", false},
        {NIGHTLY("all"), "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z", 1, "2026-01-02T03:00:00Z",
         "2026-01-02T03:00:00Z", "2026-01-02T03:00:00Z", false},
        /* A minute late, and more */
        {NIGHTLY("skip"), "2026-01-01T03:00:00Z", "2026-01-02T03:01:00Z", 1, "2026-01-02T03:00:00Z",
         "2026-01-02T03:00:00Z", "2026-01-02T03:00:00Z", false},
        {NIGHTLY("skip"), "2026-01-01T03:00:00Z", "2026-01-02T03:01:00.001Z", 0, NULL, NULL, "2026-01-02T03:00:00Z",
         false},
        /* Three nights */
        {NIGHTLY("skip"), "2026-01-01T03:00:00Z", "2026-01-04T12:00:00Z", 0, NULL, NULL, "2026-01-04T03:00:00Z", false},
        {NIGHTLY("skip"), "2026-01-01T03:00:00Z", "2026-01-04T03:00:30Z", 1, "2026-01-04T03:00:00Z",
         "2026-01-04T03:00:00Z", "2026-01-04T03:00:00Z", false},
        {NIGHTLY("once"), "2026-01-01T03:00:00Z", "2026-01-04T12:00:00Z", 1, "2026-01-04T03:00:00Z",
         "2026-01-04T03:00:00Z", "2026-01-04T03:00:00Z", false},
        {NIGHTLY("all"), "2026-01-01T03:00:00Z", "2026-01-04T12:00:00Z", 3, "2026-01-02T03:00:00Z",
         "2026-01-04T03:00:00Z", "2026-01-04T03:00:00Z", false},
        /* As many as `all` creates, and one more */
        {MINUTELY("all"), "2026-01-01T00:00:00Z", "2026-01-01T16:40:00Z", 1000, "2026-01-01T00:01:00Z",
         "2026-01-01T16:40:00Z", "2026-01-01T16:40:00Z", false},
        {MINUTELY("all"), "2026-01-01T00:00:00Z", "2026-01-01T16:41:30Z", 1000, "2026-01-01T00:02:00Z",
         "2026-01-01T16:41:00Z", "2026-01-01T16:41:00Z", true},
        {MINUTELY("all"), "2020-01-01T00:00:00Z", "2026-01-01T16:40:30Z", 1000, "2026-01-01T00:01:00Z",
         "2026-01-01T16:40:00Z", "2026-01-01T16:40:00Z", true},
        {NIGHTLY("all"), "2000-01-01T00:00:00Z", "2026-09-27T12:00:00Z", 1000, "2024-01-02T03:00:00Z",
         "2026-09-27T03:00:00Z", "2026-09-27T03:00:00Z", true},
        {MINUTELY("once"), "2020-01-01T00:00:00Z", "2026-01-01T16:40:30Z", 1, "2026-01-01T16:40:00Z",
         "2026-01-01T16:40:00Z", "2026-01-01T16:40:00Z", false},
        /* One time */
        {LAUNCH("skip"), "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z", 0, NULL, NULL, "2026-01-02T00:00:00Z", false},
        {LAUNCH("once"), "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z", 1, "2026-01-02T00:00:00Z",
         "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", false},
        {LAUNCH("all"), "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", 0, NULL, NULL, "2026-01-02T00:00:00Z", false},
    };
    (void)state;
    struct schedule_due *due = mem_zalloc(sizeof *due);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct schedule *schedule = schedule_of(cases[i].json);
        schedule_due(schedule, ms_of(cases[i].last), ms_of(cases[i].now), due);
        bool good = due->count == cases[i].count && due->handled_ms == ms_of(cases[i].handled) &&
                    due->dropped == cases[i].dropped;
        if (good && due->count)
            good = due->times[0] == ms_of(cases[i].first) && due->times[due->count - 1] == ms_of(cases[i].newest);
        for (size_t j = 1; j < due->count; j++) assert_true(due->times[j] > due->times[j - 1]);
        if (!good)
            fail_msg("%zu: %s from %s to %s: %zu Tasks, first %lld, handled %lld, dropped %d", i, cases[i].json,
                     cases[i].last, cases[i].now, due->count, (long long)due->times[0], (long long)due->handled_ms,
                     due->dropped);
        schedule_free(schedule);
    }
    mem_free(due);
}

/* Whatever was handled before, `once` creates the newest due time that a walk finds. */
static void test_the_newest_due_time_is_that_of_a_walk(void **state) {
    static const char *const expressions[] = {"*/7 * * * *", "0 3 * * *", "* * * 1 *", "0 0 29 2 *", "59 23 31 12 5"};
    unsigned seed = 7;
    (void)state;
    struct schedule_due *due = mem_zalloc(sizeof *due);
    for (size_t i = 0; i < 5; i++) {
        tn_value json = value_format("{\"cron\": \"%s\", \"task\": {\"type\": \"w\"}}", expressions[i]);
        struct schedule *schedule = schedule_of(value_chars(json, NULL));
        for (int round = 0; round < 40; round++) {
            int64_t last = ms_of("2026-01-01T00:00:00Z") + rand_r(&seed) % 1000000 * INT64_C(1000),
                    now = last + (rand_r(&seed) % 30) * (round % 2 ? INT64_C(86400000) * 40 : INT64_C(300000)),
                    newest = -1, at = last, steps = 0;
            while (steps++ < 5000 && schedule_next(schedule, at, &at) && at <= now) newest = at;
            if (steps > 5000) continue; /* too long for this test */
            schedule_due(schedule, last, now, due);
            assert_int_equal(due->count, newest >= 0);
            if (newest >= 0) assert_int_equal(due->times[0], newest);
            assert_int_equal(due->handled_ms, newest >= 0 ? newest : last);
        }
        schedule_free(schedule);
        value_unref(json);
    }
    mem_free(due);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_places_of_mistakes),
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_the_definition_is_what_decides_due_times),
        cmocka_unit_test(test_next_due_times),
        cmocka_unit_test(test_misfire_policies),
        cmocka_unit_test(test_the_newest_due_time_is_that_of_a_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * cron_test.c - cron expressions: a table of due times in several zones, wrong expressions, and random expressions
 * compared with a slow reference that walks minute by minute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adl/expr/time.h"
#include "host/base/zone.h"
#include "host/work/cron.h"

static int64_t seconds_of(const char *text) {
    int64_t seconds;
    uint32_t nanoseconds;
    if (!timestamp_parse(text, strlen(text), &seconds, &nanoseconds)) fail_msg("`%s` is not a time", text);
    return seconds;
}

static struct cron cron_of(const char *text) {
    struct cron cron;
    struct error error = ERROR_INIT;
    if (cron_parse(text, strlen(text), &cron, &error) != TN_OK) fail_msg("`%s`: %s", text, error.message);
    error_finish(&error);
    return cron;
}

/* ---- The table ---- */

static const struct due_case {
    const char *text, *zone, *after;
    const char *due[8]; /* the next due times, in order; NULL ends them */
} due_cases[] = {
#include "tests/corpus/cron/due.table"
};

static void test_due_times(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof due_cases / sizeof *due_cases; i++) {
        const struct due_case *row = &due_cases[i];
        struct cron cron = cron_of(row->text);
        int64_t at = seconds_of(row->after);
        for (size_t j = 0; j < 8 && row->due[j]; j++) {
            int64_t due;
            char found[48] = "nothing";
            if (cron_next(&cron, row->zone, at, &due)) found[timestamp_text(due, 0, found)] = 0;
            if (strcmp(found, row->due[j]) != 0)
                fail_msg("`%s` in %s after %s, due time %zu: found %s, expected %s", row->text, row->zone, row->after,
                         j, found, row->due[j]);
            at = due;
        }
    }
}

/* ---- Mistakes ---- */

static const struct {
    const char *text, *message;
} wrong_cases[] = {
#include "tests/corpus/cron/wrong.table"
};

static void test_mistakes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong_cases / sizeof *wrong_cases; i++) {
        struct cron cron = {.minutes = 42};
        struct error error = ERROR_INIT;
        if (cron_parse(wrong_cases[i].text, strlen(wrong_cases[i].text), &cron, &error) == TN_OK)
            fail_msg("`%s` is accepted", wrong_cases[i].text);
        if (strcmp(error.message, wrong_cases[i].message) != 0)
            fail_msg("`%s`:\nfound    %s\nexpected %s", wrong_cases[i].text, error.message, wrong_cases[i].message);
        assert_string_equal(error.code, "INVALID_CONFIG");
        assert_int_equal(cron.minutes, 42);
        error_finish(&error);
    }
}

static void test_limits(void **state) {
    (void)state;
    char text[CRON_TEXT_MAX + 2];
    struct cron cron = cron_of("* * * * *");
    int64_t due;
    snprintf(text, sizeof text, "* * * * *%248s", "");
    assert_int_equal(cron_parse(text, CRON_TEXT_MAX, &cron, NULL), TN_OK);
    assert_int_equal(cron_parse(text, CRON_TEXT_MAX + 1, &cron, NULL), TN_INVALID);
    assert_int_equal(cron_parse("0 0 * * *\0", 10, &cron, NULL), TN_INVALID);
    assert_false(cron_next(&cron, "UTC", -1, &due));
    assert_true(cron_next(&cron, "UTC", 0, &due));
    assert_int_equal(due, 60);
    assert_true(cron_next(&cron, "UTC", CRON_TIME_LAST, &due));
    assert_false(cron_next(&cron, "UTC", CRON_TIME_LAST + 1, &due));
    assert_false(cron_next(&cron, "Nowhere/City", 0, &due));
    cron = cron_of("0 0 1 * *");
    assert_false(cron_next(&cron, "Nowhere/City", 0, &due));
    assert_false(cron_next(&cron, "../etc/passwd", 0, &due));
}

/* ---- Random expressions and the reference ---- */

static unsigned seed = 20261127;
static unsigned below(unsigned count) { return (unsigned)rand_r(&seed) % count; }

/* One field as text, and the values that it allows. */
struct random_field {
    char text[64];
    bool values[64], star;
};

static void add_random_item(struct random_field *field, unsigned low, unsigned high) {
    unsigned from = low + below(high - low + 1), to = from, step = 1;
    if (below(3) == 0) to = from + below(high - from + 1);
    if (to > from && below(2)) step = 1 + below(5);
    char *end = field->text + strlen(field->text);
    size_t room = sizeof field->text - (size_t)(end - field->text);
    const char *comma = *field->text ? "," : "";
    if (to == from)
        snprintf(end, room, "%s%u", comma, from);
    else if (step == 1)
        snprintf(end, room, "%s%u-%u", comma, from, to);
    else
        snprintf(end, room, "%s%u-%u/%u", comma, from, to, step);
    for (unsigned value = from; value <= to; value += step) field->values[value] = true;
}

static struct random_field random_field(unsigned low, unsigned high, unsigned stars) {
    struct random_field field = {.star = below(stars) > 0};
    if (field.star) {
        unsigned step = below(4) ? 1 : 2 + below(5);
        snprintf(field.text, sizeof field.text, step > 1 ? "*/%u" : "*", step);
        for (unsigned value = low; value <= high; value += step) field.values[value] = true;
        return field;
    }
    for (unsigned items = 1 + below(3); items; items--) add_random_item(&field, low, high);
    return field;
}

struct random_cron {
    struct random_field fields[5];
    char text[400];
    bool every_hour;
};

static struct random_cron random_cron(void) {
    struct random_cron made = {.fields = {random_field(0, 59, 3), random_field(0, 23, 3), random_field(1, 31, 4),
                                          random_field(1, 12, 8), random_field(0, 7, 4)},
                               .every_hour = true};
    if (made.fields[4].values[7]) made.fields[4].values[0] = true;
    for (int hour = 0; hour < 24; hour++) made.every_hour &= made.fields[1].values[hour];
    snprintf(made.text, sizeof made.text, "%s %s %s %s %s", made.fields[0].text, made.fields[1].text,
             made.fields[2].text, made.fields[3].text, made.fields[4].text);
    return made;
}

static bool reference_matches(const struct random_cron *cron, int64_t local) {
    struct calendar date;
    calendar_of(local, &date);
    bool day = cron->fields[2].values[date.day], weekday = cron->fields[4].values[date.weekday];
    bool either = !cron->fields[2].star && !cron->fields[4].star;
    return date.second == 0 && cron->fields[0].values[date.minute] && cron->fields[1].values[date.hour] &&
           cron->fields[3].values[date.month] && (either ? day || weekday : day && weekday);
}

/* Walks from `from` to `to`, and compares each due time with cron_next. Returns their number. */
static int compare_with_reference(const struct random_cron *made, const char *zone, int64_t from, int64_t to) {
    struct cron cron = cron_of(made->text);
    int64_t shown = INT64_MIN, next, last = from - 1;
    int count = 0;
    for (int64_t at = from - 3 * 86400; at < to; at += 60) {
        int32_t offset;
        assert_true(zone_find(NULL, zone, strlen(zone), at, &offset));
        int64_t local = at + offset;
        bool due = made->every_hour && reference_matches(made, local);
        if (!made->every_hour && shown != INT64_MIN)
            for (int64_t time = shown + 60; time <= local; time += 60) due |= reference_matches(made, time);
        if (local > shown) shown = local;
        if (!due || at < from) continue;
        if (!cron_next(&cron, zone, last, &next)) fail_msg("`%s` in %s: no due time", made->text, zone);
        if (next != at)
            fail_msg("`%s` in %s after %lld: found %lld, expected %lld", made->text, zone, (long long)last,
                     (long long)next, (long long)at);
        last = at;
        count++;
    }
    if (cron_next(&cron, zone, last, &next) && next < to)
        fail_msg("`%s` in %s: %lld is not due", made->text, zone, (long long)next);
    return count;
}

/* Spans that contain a change of the clock, and one ordinary span. */
static const struct {
    const char *zone, *middle;
} spans[] = {
    {"Europe/Berlin", "2026-03-29T01:00:00Z"},       {"Europe/Berlin", "2026-10-25T01:00:00Z"},
    {"America/New_York", "2027-03-14T07:00:00Z"},    {"America/New_York", "2027-11-07T06:00:00Z"},
    {"Australia/Lord_Howe", "2026-04-04T15:00:00Z"}, {"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
    {"America/Sao_Paulo", "2018-11-04T03:00:00Z"},   {"America/Sao_Paulo", "2026-11-01T03:00:00Z"},
    {"Pacific/Apia", "2011-12-30T10:00:00Z"},        {"Asia/Tokyo", "2028-02-29T00:00:00Z"},
};

static bool has_zones(void) {
    int32_t offset;
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        if (!zone_find(NULL, spans[i].zone, strlen(spans[i].zone), 0, &offset)) return false;
    return true;
}

static void test_random_expressions_match_the_reference(void **state) {
    (void)state;
    int count = 0, compared = 0;
    if (!has_zones()) skip();
    for (int i = 0; i < 200; i++) {
        struct random_cron made = random_cron();
        struct cron cron;
        if (cron_parse(made.text, strlen(made.text), &cron, NULL) != TN_OK) continue; /* 31 February */
        int64_t middle = seconds_of(spans[i % 10].middle);
        count += compare_with_reference(&made, spans[i % 10].zone, middle - 2 * 86400, middle + 2 * 86400);
        compared++;
    }
    assert_true(compared > 170);
    assert_true(count > 2500);
}

/* A search from any second finds the same due time as a search from the due time before. */
static void test_a_search_may_begin_at_any_time(void **state) {
    (void)state;
    if (!has_zones()) skip();
    for (int i = 0; i < 300; i++) {
        struct random_cron made = random_cron();
        struct cron cron;
        if (cron_parse(made.text, strlen(made.text), &cron, NULL) != TN_OK) continue;
        const char *zone = spans[i % 10].zone;
        int64_t middle = seconds_of(spans[i % 10].middle), from = middle - 86400 + below(86400), first, second, again;
        assert_true(cron_next(&cron, zone, from, &first));
        assert_true(first > from);
        assert_true(cron_next(&cron, zone, first, &second));
        assert_true(second > first);
        for (int j = 0; j < 20; j++) {
            int64_t at = first + (int64_t)(below(1u << 30) % (unsigned long)(second - first));
            assert_true(cron_next(&cron, zone, at, &again));
            assert_int_equal(again, second);
        }
        assert_true(cron_next(&cron, zone, first - 1, &again));
        assert_int_equal(again, first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_due_times),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_random_expressions_match_the_reference),
        cmocka_unit_test(test_a_search_may_begin_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

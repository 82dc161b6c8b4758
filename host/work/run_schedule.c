/*
 * run_schedule.c - the records of run schedules: reads, checks and changes them, and computes their due times.
 */
#include "host/work/run_schedule.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/time_text.h"
#include "host/plugin/call/owner.h"
#include "host/work/schedule.h"
#include <string.h>

#define NAME "s" /* schedule.h puts it into its messages, which are rewritten here */

static const char *const time_members[] = {"cron", "every", "at"};

/* ---- Reading ---- */

static tn_value copy_member(tn_value to, tn_value from, const char *name) {
    tn_value member = value_get(from, name);
    return member ? value_set_take(to, name, value_ref(member)) : to;
}

/* INVALID_CONFIG with "schedules.s.cron: …" becomes INVALID_INPUT with "`cron`: …". */
static void rewrite_error(const char *key, const struct error *why, struct error *error) {
    const char *problem = strstr(why->message, ": ");
    problem = problem ? problem + 2 : why->message;
    if (*key)
        error_set(error, TN_INVALID, "INVALID_INPUT", "`%s`: %s", key, problem);
    else
        error_set(error, TN_INVALID, "INVALID_INPUT", "%s", problem);
}

/* Its times; NULL with INVALID_INPUT. */
static struct schedule *times_of(tn_value record, struct error *error) {
    struct error why = ERROR_INIT;
    tn_value value = value_set_take(value_object(), "type", value_text("run"));
    value = value_set_take(value_object(), "task", value);
    for (size_t i = 0; i < sizeof time_members / sizeof *time_members; i++)
        value = copy_member(value, record, time_members[i]);
    value = copy_member(value, record, "timezone");
    const char *wrong = schedule_check(NAME, value, &why);
    struct schedule *times = wrong ? NULL : schedule_new(NAME, value, error);
    if (wrong) rewrite_error(wrong, &why, error);
    value_unref(value);
    error_finish(&why);
    return times;
}

static int64_t number_of(tn_value record, const char *name, int64_t otherwise) {
    tn_value member = value_get(record, name);
    return value_is(member, TN_INT) ? value_to_int(member) : otherwise;
}

static bool ends_ms(tn_value record, int64_t *ms) {
    tn_value ends = value_get(record, "ends_at");
    return value_is(ends, TN_STRING) && time_text_read_ms(value_chars(ends, NULL), ms);
}

/* The due time after `after_ms`; false: there is none. */
static bool due_after(tn_value record, const struct schedule *times, int64_t after_ms, int64_t *due_ms) {
    int64_t ends;
    if (!value_to_bool(value_get(record, "enabled")) || !schedule_next(times, after_ms, due_ms)) return false;
    return !ends_ms(record, &ends) || *due_ms <= ends;
}

/* ---- Checking ---- */

static int32_t check_interval(const struct schedule *times, int64_t now_ms, struct error *error) {
    int64_t first, second;
    if (!schedule_next(times, now_ms, &first) || !schedule_next(times, first, &second)) return TN_OK;
    if (second - first >= RUN_SCHEDULE_EVERY_MIN_MS) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "`every`: found %lld ms, expected at least %d seconds",
                     (long long)(second - first), RUN_SCHEDULE_EVERY_MIN_MS / 1000);
}

static int32_t check_end(tn_value *record, struct error *error) {
    char text[TIME_TEXT];
    tn_value ends = value_get(*record, "ends_at");
    if (!ends) return TN_OK;
    if (!time_text_read(value_chars(ends, NULL), text))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "`ends_at`: found `%.80s`, expected a date or a time in ISO 8601: 2026-12-01T09:00:00Z",
                         value_chars(ends, NULL));
    *record = value_set_take(*record, "ends_at", value_text(text));
    return TN_OK;
}

/* The id of the thread becomes complete. */
static int32_t check_thread(tn_value *all, const char *owner, struct error *error) {
    tn_value record = *all, config = value_get(record, "config"), thread = value_get(config, "thread_id");
    if (value_get(config, "run_id"))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "`config.run_id`: found an id, expected none: each run of a schedule has its own");
    if (!thread) return TN_OK;
    if (value_to_bool(value_get(record, "new_thread")))
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "found `config.thread_id` and `new_thread`, expected one of them at most");
    char *whole = owner_complete(owner, value_chars(thread, NULL), error);
    if (!whole) return TN_NOT_FOUND;
    *all = value_set_take(record, "config", value_set_take(value_ref(config), "thread_id", value_text(whole)));
    mem_free(whole);
    return TN_OK;
}

static int32_t check_size(tn_value record, struct error *error) {
    char *text = json_text(record, JSON_COMPACT);
    size_t length = strlen(text);
    mem_free(text);
    if (length <= RUN_SCHEDULE_SIZE_MAX) return TN_OK;
    return error_set(error, TN_LIMIT, "LIMIT",
                     "the schedule has %zu bytes as JSON, expected at most %d: make `input`, `config` or `metadata` "
                     "smaller",
                     length, RUN_SCHEDULE_SIZE_MAX);
}

/* ---- Making ---- */

static bool is_time_member(const char *name) {
    for (size_t i = 0; i < sizeof time_members / sizeof *time_members; i++)
        if (strcmp(name, time_members[i]) == 0) return true;
    return strcmp(name, "timezone") == 0;
}

static tn_value without_member(tn_value record, const char *name) {
    return value_get(record, name) ? value_remove_take(record, value_text(name)) : record;
}

/* Another expression replaces the one before, and with it the time zone of a cron expression. */
static tn_value without_time(tn_value record, tn_value given) {
    bool changes = false;
    for (size_t i = 0; i < sizeof time_members / sizeof *time_members; i++)
        changes |= value_get(given, time_members[i]) != NULL;
    for (size_t i = 0; changes && i < sizeof time_members / sizeof *time_members; i++)
        record = without_member(record, time_members[i]);
    return changes && !value_get(given, "cron") ? without_member(record, "timezone") : record;
}

/* *retimes: what decides the due times has changed. */
static tn_value overlay(tn_value before, tn_value given, bool *retimes) {
    tn_value record = before ? without_time(value_ref(before), given) : value_object();
    *retimes = !before;
    for (size_t i = 0; i < value_count(given); i++) {
        const char *name = value_chars(value_key_at(given, i), NULL);
        tn_value member = value_value_at(given, i);
        *retimes |= is_time_member(name) || strcmp(name, "enabled") == 0 || strcmp(name, "ends_at") == 0;
        record =
            value_is(member, TN_NULL) ? without_member(record, name) : value_set_take(record, name, value_ref(member));
    }
    return record;
}

static tn_value note_caller(tn_value record, const struct run_schedule_caller *caller, bool is_new, int64_t now_ms) {
    if (is_new) {
        record = value_set_take(record, "owner", caller->owner ? value_text(caller->owner) : value_null());
        record = value_set_take(record, "created_at", time_value(now_ms));
    }
    record = value_set_take(record, "key", caller->owner && caller->key ? value_text(caller->key) : value_null());
    record = value_set_take(record, "updated_at", time_value(now_ms));
    return without_member(record, "error");
}

/* What the caller may do ends at some time, and so do the runs that its schedule starts. */
static bool limit_end(tn_value *record, const struct run_schedule_caller *caller, int64_t now_ms) {
    int64_t ends, last = now_ms + caller->days * INT64_C(86400000);
    if (caller->days == 0 || (ends_ms(*record, &ends) && ends <= last)) return false;
    *record = value_set_take(*record, "ends_at", time_value(last));
    return true;
}

static tn_value note_next(tn_value record, const struct schedule *times, int64_t after_ms) {
    int64_t due;
    if (due_after(record, times, after_ms, &due)) return value_set_take(record, "next_ms", value_int(due));
    return without_member(record, "next_ms");
}

tn_value run_schedule_make(tn_value before, tn_value given, const struct run_schedule_caller *caller, int64_t now_ms,
                           struct error *error) {
    bool retimes;
    tn_value record = overlay(before, given, &retimes), owner = value_get(before, "owner");
    /* The operator can change the schedule of an owner, whose it stays. */
    const char *whose = value_is(owner, TN_STRING) ? value_chars(owner, NULL) : caller->owner;
    struct schedule *times = times_of(record, error);
    int32_t status = times ? check_interval(times, now_ms, error) : TN_INVALID;
    if (status == TN_OK) status = check_end(&record, error);
    if (status == TN_OK) retimes |= limit_end(&record, caller, now_ms);
    if (status == TN_OK) status = check_thread(&record, whose, error);
    if (status == TN_OK && (caller->owner || !before || !value_is(owner, TN_STRING)))
        record = note_caller(record, caller, !before, now_ms);
    if (status == TN_OK && retimes) record = note_next(record, times, now_ms);
    if (status == TN_OK && !before && value_to_bool(value_get(record, "enabled")) && !value_get(record, "next_ms"))
        status = error_set(error, TN_INVALID, "INVALID_INPUT", "the schedule is never due: its times are in the past");
    if (status == TN_OK) status = check_size(record, error);
    schedule_free(times);
    if (status == TN_OK) return record;
    value_unref(record);
    return NULL;
}

tn_value run_schedule_advance(tn_value record, const char *run_id, int64_t now_ms) {
    struct error error = ERROR_INIT;
    struct schedule *times = times_of(record, &error); /* NULL: the time zone does not exist any more */
    tn_value next = value_set_take(value_ref(record), "last_ms", value_ref(value_get(record, "next_ms")));
    next = without_member(value_set_take(next, "run_id", value_text(run_id)), "error");
    next = times ? note_next(next, times, now_ms) : without_member(next, "next_ms");
    if (!times) next = value_set_take(next, "error", value_text(error.message));
    schedule_free(times);
    error_finish(&error);
    return next;
}

tn_value run_schedule_too_late(tn_value record, int64_t now_ms) {
    int64_t ends;
    bool late = now_ms - number_of(record, "next_ms", now_ms) > SCHEDULE_LATE_MS;
    if (!late || !ends_ms(record, &ends) || now_ms <= ends) return NULL;
    return value_set_take(without_member(value_ref(record), "next_ms"), "error",
                          value_text("no host served the graph at the last due time, and the schedule has ended"));
}

/* ---- Describing ---- */

static tn_value show_time(tn_value shown, const char *name, tn_value record, const char *member) {
    int64_t ms = number_of(record, member, -1);
    return value_set_take(shown, name, ms >= 0 ? time_value(ms) : value_null());
}

tn_value run_schedule_describe(const char *id, tn_value record) {
    static const char *const given[] = {"document", "input",      "config",    "modes",    "new_thread",
                                        "cron",     "every",      "at",        "timezone", "enabled",
                                        "metadata", "created_at", "updated_at"};
    static const char *const nullable[] = {"ends_at", "run_id", "error"};
    tn_value shown = value_set_take(value_object_reserve(20), "schedule_id", value_text(id));
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) shown = copy_member(shown, record, given[i]);
    shown = show_time(shown, "next_at", record, "next_ms");
    shown = show_time(shown, "last_at", record, "last_ms");
    for (size_t i = 0; i < sizeof nullable / sizeof *nullable; i++) {
        tn_value member = value_get(record, nullable[i]);
        shown = value_set_take(shown, nullable[i], member ? value_ref(member) : value_null());
    }
    return shown;
}

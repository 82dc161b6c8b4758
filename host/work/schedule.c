/*
 * schedule.c - reads schedules, and computes their due times.
 *
 * base/config/config_schedules.c has checked the form. Everything that it could not check is checked here, and so is
 * the form, because a value could come from elsewhere: a mistake is an error, not a wrong due time.
 */
#include "host/work/schedule.h"
#include "adl/document/duration.h"
#include "adl/expr/time.h"
#include "adl/value/memory.h"
#include "host/base/zone.h"
#include "host/work/cron.h"
#include <stdio.h>
#include <string.h>

#define EVERY_MIN_MS 1000

enum schedule_kind { SCHEDULE_CRON, SCHEDULE_EVERY, SCHEDULE_AT };
enum schedule_misfire { MISFIRE_SKIP, MISFIRE_ONCE, MISFIRE_ALL };
static const char *const misfire_names[] = {"skip", "once", "all"};

struct schedule {
    char *name;
    enum schedule_kind kind;
    enum schedule_misfire misfire;
    bool enabled;
    struct cron cron;
    char zone[ZONE_NAME_MAX + 1]; /* "UTC" unless `kind` is SCHEDULE_CRON */
    int64_t every_ms, at_ms;
    tn_value expression, task_type, payload;
    char definition[SCHEDULE_HASH_TEXT];
    const char *wrong; /* the key with a mistake; NULL without one */
};

/* ---- Reading ---- */

/* Sets INVALID_CONFIG with "schedules.NAME.KEY: …". Returns false. `key` is static; "" is the schedule itself. */
static bool schedule_refuse(struct schedule *schedule, struct error *error, const char *key, const char *problem) {
    schedule->wrong = key;
    error_set(error, TN_INVALID, "INVALID_CONFIG", "schedules.%.100s%s%s: %s", schedule->name, *key ? "." : "", key,
              problem);
    return false;
}

static bool schedule_read_zone(struct schedule *schedule, tn_value zone, struct error *error) {
    size_t length;
    int32_t offset;
    if (!zone) return true;
    if (!value_is(zone, TN_STRING))
        return schedule_refuse(schedule, error, "timezone", "expected the name of a time zone");
    const char *name = value_chars(zone, &length);
    if (value_text_is(zone, "UTC") || zone_find(NULL, name, length, 0, &offset)) {
        memcpy(schedule->zone, name, length + 1); /* zone_find accepts at most ZONE_NAME_MAX bytes, and no NUL */
        return true;
    }
    tn_value problem = value_format(
        "found `%.80s`, expected a time zone that this machine knows (package tzdata), for example Europe/Berlin",
        name);
    schedule_refuse(schedule, error, "timezone", value_chars(problem, NULL));
    value_unref(problem);
    return false;
}

static bool schedule_read_cron(struct schedule *schedule, tn_value cron, tn_value zone, struct error *error) {
    struct error why = ERROR_INIT;
    size_t length = 0;
    const char *text = value_is(cron, TN_STRING) ? value_chars(cron, &length) : "";
    schedule->kind = SCHEDULE_CRON;
    if (cron_parse(text, length, &schedule->cron, &why) != TN_OK) {
        schedule_refuse(schedule, error, "cron", why.message);
        error_finish(&why);
        return false;
    }
    schedule->expression = value_ref(cron);
    return schedule_read_zone(schedule, zone, error);
}

static bool schedule_read_every(struct schedule *schedule, tn_value every, struct error *error) {
    enum duration_problem problem = DURATION_MALFORMED;
    size_t length;
    schedule->kind = SCHEDULE_EVERY;
    if (value_is(every, TN_STRING)) {
        const char *text = value_chars(every, &length);
        problem = duration_read(text, length, &schedule->every_ms);
        schedule->expression = value_format("every %s", text);
    } else if (value_is(every, TN_INT) || value_is(every, TN_DOUBLE)) {
        problem = duration_from_seconds(value_to_double(every), &schedule->every_ms);
        schedule->expression = value_format("every %.10gs", value_to_double(every));
    }
    if (problem == DURATION_OK && schedule->every_ms >= EVERY_MIN_MS) return true;
    return schedule_refuse(schedule, error, "every", "expected a duration from 1s to 366d, for example 15m");
}

static bool schedule_read_at(struct schedule *schedule, tn_value at, struct error *error) {
    int64_t seconds;
    uint32_t nanoseconds;
    size_t length;
    schedule->kind = SCHEDULE_AT;
    if (value_is(at, TN_STRING)) {
        const char *text = value_chars(at, &length);
        if (timestamp_parse(text, length, &seconds, &nanoseconds)) {
            schedule->at_ms = seconds * 1000 + nanoseconds / 1000000;
            schedule->expression = value_format("at %s", text);
            return true;
        }
    }
    return schedule_refuse(schedule, error, "at",
                           "expected a time with its offset as in RFC 3339, for example 2026-12-01T09:00:00Z");
}

static bool schedule_read_time(struct schedule *schedule, tn_value value, struct error *error) {
    tn_value cron = value_get(value, "cron"), every = value_get(value, "every"), at = value_get(value, "at"),
             zone = value_get(value, "timezone");
    if ((cron != NULL) + (every != NULL) + (at != NULL) != 1)
        return schedule_refuse(schedule, error, "", "expected one of `cron`, `every` and `at`");
    if (zone && !cron) return schedule_refuse(schedule, error, "timezone", "expected a time zone only beside `cron`");
    return cron    ? schedule_read_cron(schedule, cron, zone, error)
           : every ? schedule_read_every(schedule, every, error)
                   : schedule_read_at(schedule, at, error);
}

static bool schedule_read_task(struct schedule *schedule, tn_value task, struct error *error) {
    tn_value type = value_get(task, "type"), payload = value_get(task, "payload");
    if (!value_is(type, TN_STRING)) return schedule_refuse(schedule, error, "task.type", "expected the type of a Task");
    if (payload && !value_is(payload, TN_OBJECT))
        return schedule_refuse(schedule, error, "task.payload", "expected a mapping");
    schedule->task_type = value_ref(type);
    schedule->payload = payload ? value_ref(payload) : value_object();
    return true;
}

static bool schedule_read_policy(struct schedule *schedule, tn_value misfire, struct error *error) {
    schedule->misfire = MISFIRE_ONCE;
    if (!misfire) return true;
    for (size_t i = 0; i < sizeof misfire_names / sizeof *misfire_names; i++)
        if (value_text_is(misfire, misfire_names[i])) {
            schedule->misfire = (enum schedule_misfire)i;
            return true;
        }
    return schedule_refuse(schedule, error, "misfire", "expected `skip`, `once` or `all`");
}

/* The same in every process and after an upgrade: it is stored. */
static void schedule_make_definition(struct schedule *schedule) {
    tn_value value = value_object();
    if (schedule->kind == SCHEDULE_CRON) {
        value = value_set_take(value, "cron", value_ref(schedule->expression));
        value = value_set_take(value, "timezone", value_text(schedule->zone));
    } else if (schedule->kind == SCHEDULE_EVERY) {
        value = value_set_take(value, "every_ms", value_int(schedule->every_ms));
    } else {
        value = value_set_take(value, "at_ms", value_int(schedule->at_ms));
    }
    snprintf(schedule->definition, sizeof schedule->definition, "%016llx", (unsigned long long)value_hash(value));
    value_unref(value);
}

/* Returns a schedule, also if it has a mistake: then `wrong` is set. */
static struct schedule *schedule_read(const char *name, tn_value value, struct error *error) {
    struct schedule *schedule = mem_zalloc(sizeof *schedule);
    tn_value enabled = value_get(value, "enabled");
    schedule->name = mem_text(name);
    schedule->enabled = enabled != value_bool(false); /* a boolean is an immediate value */
    strcpy(schedule->zone, "UTC");
    if (schedule_read_time(schedule, value, error) && schedule_read_task(schedule, value_get(value, "task"), error) &&
        schedule_read_policy(schedule, value_get(value, "misfire"), error))
        schedule_make_definition(schedule);
    return schedule;
}

struct schedule *schedule_new(const char *name, tn_value value, struct error *error) {
    struct schedule *schedule = schedule_read(name, value, error);
    if (!schedule->wrong) return schedule;
    schedule_free(schedule);
    return NULL;
}

const char *schedule_check(const char *name, tn_value value, struct error *error) {
    struct schedule *schedule = schedule_read(name, value, error);
    const char *wrong = schedule->wrong;
    schedule_free(schedule);
    return wrong;
}

void schedule_free(struct schedule *schedule) {
    if (!schedule) return;
    value_unref(schedule->expression);
    value_unref(schedule->task_type);
    value_unref(schedule->payload);
    mem_free(schedule->name);
    mem_free(schedule);
}

/* ---- Members ---- */

const char *schedule_name(const struct schedule *schedule) { return schedule->name; }
tn_value schedule_task_type(const struct schedule *schedule) { return schedule->task_type; }
tn_value schedule_payload(const struct schedule *schedule) { return schedule->payload; }
bool schedule_enabled(const struct schedule *schedule) { return schedule->enabled; }
const char *schedule_definition(const struct schedule *schedule) { return schedule->definition; }

tn_value schedule_describe(const struct schedule *schedule) {
    tn_value shown = value_set_take(value_object_reserve(9), "name", value_text(schedule->name));
    shown = value_set_take(shown, "expression", value_ref(schedule->expression));
    shown = value_set_take(shown, "timezone", value_text(schedule->zone));
    shown = value_set_take(shown, "misfire", value_text(misfire_names[schedule->misfire]));
    shown = value_set_take(shown, "enabled", value_bool(schedule->enabled));
    return value_set_take(shown, "task_type", value_ref(schedule->task_type));
}

/* ---- Due times ---- */

static int64_t floor_of(int64_t number, int64_t by) { return number / by - (number % by < 0); }

static bool cron_next_ms(const struct schedule *schedule, int64_t after_ms, int64_t *due_ms) {
    int64_t due;
    if (!cron_next(&schedule->cron, schedule->zone, floor_of(after_ms, 1000), &due)) return false;
    *due_ms = due * 1000;
    return true;
}

bool schedule_next(const struct schedule *schedule, int64_t after_ms, int64_t *due_ms) {
    switch (schedule->kind) {
    case SCHEDULE_CRON: return cron_next_ms(schedule, after_ms, due_ms);
    case SCHEDULE_EVERY: *due_ms = (floor_of(after_ms, schedule->every_ms) + 1) * schedule->every_ms; return true;
    case SCHEDULE_AT: *due_ms = schedule->at_ms; return schedule->at_ms > after_ms;
    }
    return false;
}

/* True if there is a due time after `after_ms` that is not after `until_ms`. */
static bool is_due_within(const struct schedule *schedule, int64_t after_ms, int64_t until_ms, int64_t *due_ms) {
    return schedule_next(schedule, after_ms, due_ms) && *due_ms <= until_ms;
}

/*
 * Sets *due_ms to the newest due time after `after_ms` that is not after `until_ms`. The first due time after `t` grows
 * with `t`, so the newest one is found by halving: a due time is within (t, until] as long as `t` is before it.
 */
static bool schedule_newest(const struct schedule *schedule, int64_t after_ms, int64_t until_ms, int64_t *due_ms) {
    int64_t found, low, high = until_ms;
    if (!is_due_within(schedule, after_ms, until_ms, &found)) return false;
    /* Search near the end first: a schedule that is often due has a due time there. */
    for (int64_t span = 60000;; span *= 4) {
        low = until_ms - after_ms > span ? until_ms - span : after_ms;
        if (is_due_within(schedule, low, until_ms, &found)) break;
        high = low;
    }
    /* A due time is within (low, until], and none within (high, until]. */
    low = found;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (is_due_within(schedule, middle, until_ms, &found))
            low = found;
        else
            high = middle;
    }
    *due_ms = low;
    return true;
}

/* `all`: fills `times` from its end with the newest due times. */
static void schedule_take_newest(const struct schedule *schedule, int64_t last_ms, int64_t now_ms,
                                 struct schedule_due *out) {
    int64_t until = now_ms;
    for (size_t i = SCHEDULE_DUE_MAX; i > 0 && schedule_newest(schedule, last_ms, until, &out->times[i - 1]); i--)
        until = out->times[i - 1] - 1;
    out->count = SCHEDULE_DUE_MAX;
    out->dropped = true;
}

void schedule_due(const struct schedule *schedule, int64_t last_ms, int64_t now_ms, struct schedule_due *out) {
    int64_t due = 0;
    out->count = 0;
    out->handled_ms = last_ms;
    out->dropped = false;
    if (schedule->misfire != MISFIRE_ALL) {
        if (!schedule_newest(schedule, last_ms, now_ms, &due)) return;
        out->handled_ms = out->times[0] = due;
        out->count = schedule->misfire == MISFIRE_ONCE || now_ms - due <= SCHEDULE_LATE_MS;
        return;
    }
    for (int64_t at = last_ms; is_due_within(schedule, at, now_ms, &due); at = due) {
        if (out->count == SCHEDULE_DUE_MAX) { /* those found so far are too old */
            schedule_take_newest(schedule, last_ms, now_ms, out);
            break;
        }
        out->times[out->count++] = due;
    }
    if (out->count) out->handled_ms = out->times[out->count - 1];
}

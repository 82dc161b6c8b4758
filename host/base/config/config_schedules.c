/*
 * config_schedules.c - reads the key `schedules` of tenon.yaml, and checks its form.
 *
 * Cron expressions and time zones are checked by work/schedule.h, which this room must not include: `tenon doctor` and
 * `tenon check` report them. A schedule with a mistake is left out.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/expr/time.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/base/config/config_internal.h"
#include "host/base/config/config_reader.h"
#include <stdio.h>
#include <string.h>

#define TYPE_MAX 128 /* bytes; TASK_TYPE_MAX of the kernel */

static const char *const schedule_members[] = {"cron", "every", "at", "timezone", "task", "misfire", "enabled"};
static const char *const schedule_task_members[] = {"type", "payload"};

struct schedule_path {
    char text[192];
};

static struct schedule_path schedule_path(const char *where, const char *member) {
    struct schedule_path path;
    snprintf(path.text, sizeof path.text, "%.170s.%.16s", where, member);
    return path;
}

static bool schedule_name_is_valid(const char *name, size_t length) {
    if (!length || length > CONFIG_SCHEDULE_NAME_MAX) return false;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || !strchr("._-", c))) return false;
    }
    return true;
}

static bool check_schedule_name(struct config_reader *reader, const struct tree_item *item) {
    size_t length;
    const char *name = value_chars(item->key, &length);
    if (schedule_name_is_valid(name, length)) return true;
    diagnostics_add(reader->diagnostics, ADL_E020, reader->source, item->key_span,
                    "`schedules`: found the name `%.*s`, expected 1 to %u letters, digits, `.`, `_` and `-`",
                    config_shown_length(name, length), name, CONFIG_SCHEDULE_NAME_MAX);
    return false;
}

static bool check_schedule_every(struct config_reader *reader, const struct tree_node *node, const char *where) {
    int64_t ms;
    if (config_as_duration(node, &ms) && ms >= CONFIG_EVERY_MIN_MS) return true;
    config_report_value(reader, node, schedule_path(where, "every").text,
                        "a duration from 1s to 366d, for example 15m");
    return false;
}

static bool check_schedule_at(struct config_reader *reader, const struct tree_node *node, const char *where) {
    int64_t seconds;
    uint32_t nanoseconds;
    size_t length;
    if (node->kind == TN_STRING) {
        const char *text = value_chars(node->value, &length);
        if (timestamp_parse(text, length, &seconds, &nanoseconds)) return true;
    }
    config_report_value(reader, node, schedule_path(where, "at").text,
                        "a time with its offset as in RFC 3339, for example \"2026-12-01T09:00:00Z\"");
    return false;
}

/* Checks the task {type, payload?}. The messages show no part of the payload. */
static bool check_schedule_task(struct config_reader *reader, const struct tree_node *node, const char *where) {
    const struct schedule_path path = schedule_path(where, "task");
    size_t length = 0;
    if (node->kind != TN_OBJECT) {
        config_report_kind(reader, node, path.text, "a mapping with `type` and perhaps `payload`");
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < node->count; i++)
        good &= config_expect_key(reader, &node->items[i], "the task of a schedule", schedule_task_members, 2) !=
                KEY_UNKNOWN;
    const struct tree_node *type = tree_get(node, "type"), *payload = tree_get(node, "payload");
    if (!good) return false;
    if (type && type->kind == TN_STRING) value_chars(type->value, &length);
    if (!length || length > TYPE_MAX) {
        config_report_kind(reader, type ? type : node, type ? schedule_path(path.text, "type").text : path.text,
                           type ? "the type of a Task: 1 to 128 bytes of text" : "a mapping with `type`");
        return false;
    }
    if (!payload || payload->kind == TN_OBJECT) return true;
    config_report_kind(reader, payload, schedule_path(path.text, "payload").text, "a mapping");
    return false;
}

static bool check_schedule_word(struct config_reader *reader, const struct tree_node *node, const char *where) {
    tn_value word = node->kind == TN_STRING ? node->value : NULL;
    if (value_text_is(word, "skip") || value_text_is(word, "once") || value_text_is(word, "all")) return true;
    config_report_value(reader, node, schedule_path(where, "misfire").text, "`skip`, `once` or `all`");
    return false;
}

/* Checks that the schedule has exactly one of `cron`, `every` and `at`, and that it has `timezone` only with `cron`. */
static bool check_schedule_time(struct config_reader *reader, const struct tree_node *node, const char *where) {
    const struct tree_node *cron = tree_get(node, "cron"), *every = tree_get(node, "every"), *at = tree_get(node, "at"),
                           *zone = tree_get(node, "timezone");
    int times = (cron != NULL) + (every != NULL) + (at != NULL);
    if (times != 1) {
        diagnostics_add(reader->diagnostics, ADL_E022, reader->source, node->span,
                        "`%s`: found %s, expected one of `cron`, `every` and `at`", where,
                        times ? "more than one time" : "no time");
        return false;
    }
    if (cron && cron->kind != TN_STRING) {
        config_report_kind(reader, cron, schedule_path(where, "cron").text,
                           "a cron expression, for example \"0 3 * * *\"");
        return false;
    }
    if (every && !check_schedule_every(reader, every, where)) return false;
    if (at && !check_schedule_at(reader, at, where)) return false;
    if (!zone) return true;
    if (zone->kind != TN_STRING) {
        config_report_kind(reader, zone, schedule_path(where, "timezone").text,
                           "the name of a time zone, for example Europe/Berlin");
        return false;
    }
    if (cron) return true;
    diagnostics_add(reader->diagnostics, ADL_E020, reader->source, zone->span,
                    "`%s.timezone`: found a time zone beside `%s`, expected it only beside `cron`", where,
                    every ? "every" : "at");
    return false;
}

static bool check_schedule(struct config_reader *reader, const struct tree_node *node, const char *where) {
    bool good = node->kind == TN_OBJECT;
    if (!good) {
        config_report_kind(reader, node, where, "a mapping with `cron`, `every` or `at`, and `task`");
        return false;
    }
    for (uint32_t i = 0; i < node->count; i++)
        good &= config_expect_key(reader, &node->items[i], "a schedule", schedule_members,
                                  sizeof schedule_members / sizeof *schedule_members) != KEY_UNKNOWN;
    const struct tree_node *task = tree_get(node, "task"), *misfire = tree_get(node, "misfire"),
                           *enabled = tree_get(node, "enabled");
    if (!good || !check_schedule_time(reader, node, where)) return false;
    if (!task) {
        diagnostics_add(reader->diagnostics, ADL_E022, reader->source, node->span,
                        "`%s`: found no `task`, expected `task: {type: …}`, the Task to create", where);
        return false;
    }
    if (!check_schedule_task(reader, task, where)) return false;
    if (misfire && !check_schedule_word(reader, misfire, where)) return false;
    if (!enabled || enabled->kind == TN_BOOL) return true;
    config_report_value(reader, enabled, schedule_path(where, "enabled").text, "true or false");
    return false;
}

void config_read_schedules(struct config_reader *reader, const struct tree_node *node) {
    if (!config_expect_mapping(reader, node, "schedules", "a mapping of names to schedules")) return;
    uint32_t count = config_usable_count(reader, node, "schedules", CONFIG_SCHEDULES_MAX, "schedules");
    for (uint32_t i = 0; i < count; i++) {
        const struct tree_item *item = &node->items[i];
        const struct config_where where = config_where("schedules", item->key);
        if (check_schedule_name(reader, item) && check_schedule(reader, item->node, where.text))
            reader->config->schedules =
                value_set_key_take(reader->config->schedules, value_ref(item->key), tree_to_value(item->node));
    }
}

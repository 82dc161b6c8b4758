/*
 * command_schedule.c - `tenon schedule`: lists the schedules of tenon.yaml, and creates the Task of one now.
 */
#include "host/program/command_kernel.h"
#include <stdlib.h>
#include <string.h>

/* ---- list ---- */

/* "2026-11-27T02:00:00.000Z" without its milliseconds. `-` if the value is not a string. */
struct shown_time {
    char text[32];
};
static struct shown_time shown_time(tn_value time) {
    struct shown_time shown = {"-"};
    size_t length;
    const char *text = value_is(time, TN_STRING) ? value_chars(time, &length) : NULL;
    if (text) snprintf(shown.text, sizeof shown.text, "%.19sZ", text);
    return shown;
}

static void print_schedule(tn_value schedule) {
    const char *name = command_kernel_text(schedule, "name"), *error = command_kernel_text(schedule, "error");
    tn_value next = value_get(schedule, "next");
    if (*error) {
        command_printf(stdout, "%s\n  error: %s\n", name, error);
        return;
    }
    bool enabled = value_get(schedule, "enabled") != value_bool(false);
    command_printf(stdout, "%s  %s  %s%s\n  creates %s, misfire %s, last %s\n", name,
                   command_kernel_text(schedule, "expression"), command_kernel_text(schedule, "timezone"),
                   enabled ? "" : "  (disabled)", command_kernel_text(schedule, "task_type"),
                   command_kernel_text(schedule, "misfire"), shown_time(value_get(schedule, "last")).text);
    for (size_t i = 0; i < value_count(next); i++)
        command_printf(stdout, "  next %s\n", shown_time(value_at(next, i)).text);
}

static int print_schedules_take(const struct command_kernel *kernel, tn_value result) {
    tn_value schedules = value_get(result, "schedules");
    int code = COMMAND_OK;
    for (size_t i = 0; i < value_count(schedules); i++)
        if (value_is(value_get(value_at(schedules, i), "error"), TN_STRING)) code = COMMAND_RUN_FAILED;
    if (command_kernel_json(kernel)) {
        (void)command_kernel_print_take(kernel, result);
        return code;
    }
    for (size_t i = 0; i < value_count(schedules); i++) print_schedule(value_at(schedules, i));
    if (value_count(schedules) == 0) fprintf(stderr, "tenon.yaml has no schedules\n");
    value_unref(result);
    return code;
}

int command_schedule_list(const struct arguments *arguments) {
    struct command_kernel kernel;
    tn_value given = value_object(), result = NULL;
    int code = command_kernel_open(&kernel, arguments);
    if (!code && !command_kernel_set_number(&kernel, &given, "next", "next")) code = COMMAND_USAGE;
    if (code)
        value_unref(given);
    else
        code = command_kernel_call_take(&kernel, "schedule/list", given, &result);
    return command_kernel_close(&kernel, code ? code : print_schedules_take(&kernel, result));
}

/* ---- run ---- */

int command_schedule_run(const struct arguments *arguments) {
    struct command_kernel kernel;
    tn_value given = value_object(), task = NULL;
    command_kernel_set_text(&given, "name", operand_at(arguments, 0));
    command_kernel_set_text(&given, "idempotency_key", argument_text(arguments, "key"));
    int code = command_kernel_open(&kernel, arguments);
    if (code)
        value_unref(given);
    else
        code = command_kernel_call_take(&kernel, "schedule/run", given, &task);
    if (!code && command_kernel_json(&kernel)) {
        code = command_kernel_print_take(&kernel, task);
    } else if (!code) {
        command_printf(stdout, "%s\n", command_kernel_text(task, "task_id"));
        value_unref(task);
    }
    return command_kernel_close(&kernel, code);
}

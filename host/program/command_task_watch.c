/*
 * command_task_watch.c - `tenon task watch`: prints what happens to Tasks, whichever process of the store does it.
 *
 * It asks the store for the Tasks that have changed since the newest change that it has seen (task/list in the order of
 * `updated_at`), a page at a time, and remembers what it has printed of Tasks that have not ended. A Task that changes
 * twice between two looks is printed once, with its last state.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/program/command_kernel.h"
#include <string.h>

#define WATCH_MS   250 /* between two looks */
#define WATCH_PAGE 100 /* Tasks of one task/list */
#define WATCH_KEPT_MAX                                                                                                 \
    10000u /* Tasks whose last line is remembered; then all are forgotten, and a line can be repeated */
/* Hosts write Tasks at the same time and have their own clocks, so an earlier change can become visible later. */
#define WATCH_OVERLAP_MS 1000

struct watch {
    struct command_kernel kernel;
    int64_t newest_ms; /* the newest `updated_at` so far; 0: from the beginning */
    tn_value printed;  /* {task_id: the last line}; owned */
    bool json, until_done;
    bool failed; /* one of the Tasks that were printed has failed */
    struct loop_timer timer;
    bool due;
};

/* ---- Lines ---- */

/* What the last change was. */
static const char *watch_change(tn_value task) {
    const char *state = command_kernel_text(task, "state");
    if (strcmp(state, "running") == 0) return "claimed";
    if (strcmp(state, "queued") != 0) return state;
    if (value_to_bool(value_get(task, "waiting"))) return "waiting";
    if (value_is(value_get(task, "error"), TN_OBJECT)) return "retried";
    return value_equal(value_get(task, "created_at"), value_get(task, "updated_at")) ? "created" : "queued";
}

static void watch_print_line(tn_value task, const char *change) {
    const char *by = command_kernel_text(task, "claimed_by"), *output = command_kernel_text(task, "user_output");
    tn_value error = value_get(task, "error");
    bool claimed = strcmp(change, "claimed") == 0;
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    buffer_format(&line, "%s  %-7s  %s  %s", command_kernel_text(task, "updated_at"), change,
                  command_kernel_text(task, "task_id"), command_kernel_text(task, "task_type"));
    if (claimed)
        buffer_format(&line, "  by %s, attempt %lld", by, (long long)value_to_int(value_get(task, "attempts")));
    if (!claimed && value_is(error, TN_OBJECT))
        buffer_format(&line, "  %s [%s]", command_kernel_text(error, "message"), command_kernel_text(error, "code"));
    if (*output) buffer_format(&line, "  %s", output);
    command_print_line(stdout, "%s", buffer_cstr(&line));
    buffer_finish(&line);
}

/* What distinguishes one change from the renewal of a claim. */
static tn_value watch_signature(tn_value task, const char *change) {
    bool claimed = strcmp(change, "claimed") == 0;
    return value_format("%s %lld %s", change, (long long)value_to_int(value_get(task, "attempts")),
                        command_kernel_text(task, claimed ? "claimed_by" : "updated_at"));
}

static void watch_print(struct watch *watch, tn_value task, bool silent) {
    const char *change = watch_change(task);
    tn_value id = value_get(task, "task_id"), now = watch_signature(task, change);
    tn_value before = value_get_key(watch->printed, id);
    bool news = !before || !value_equal(before, now);
    if (value_count(watch->printed) >= WATCH_KEPT_MAX) {
        value_unref(watch->printed);
        watch->printed = value_object();
    }
    watch->printed = value_set_key_take(watch->printed, value_ref(id), now);
    if (!news || silent) return;
    if (strcmp(change, "failed") == 0) watch->failed = true;
    if (!watch->json) {
        watch_print_line(task, change);
        return;
    }
    tn_value line = value_set_take(value_object_reserve(2), "change", value_text(change));
    line = value_set_take(line, "task", value_ref(task));
    command_put_json(stdout, line, JSON_COMPACT);
    value_unref(line);
}

/* ---- Looking ---- */

/* The conditions of the options; a new reference. */
static tn_value watch_filter(const struct watch *watch, bool with_state) {
    const struct arguments *arguments = watch->kernel.arguments;
    tn_value filter = value_object(), ids = value_array();
    command_kernel_set_texts(&watch->kernel, &filter, "task_type", "type");
    if (with_state) command_kernel_set_texts(&watch->kernel, &filter, "state", "state");
    for (size_t i = 0; i < operand_count(arguments); i++)
        ids = value_push_take(ids, value_text(operand_at(arguments, i)));
    if (value_count(ids)) return value_set_take(filter, "task_id", ids);
    value_unref(ids);
    return filter;
}

static tn_value watch_list_params(tn_value filter_take, bool reverse, int64_t limit) {
    tn_value params = value_set_take(value_object_reserve(5), "filter", filter_take);
    params = value_set_take(params, "order", value_push_take(value_array(), value_text("updated_at")));
    params = value_set_take(params, "limit", value_int(limit));
    return value_set_take(params, "reverse", value_bool(reverse));
}

/* The Tasks that have changed at `since_ms` or later: one page, after the Task `after` if it is not NULL. */
static int watch_list(struct watch *watch, int64_t since_ms, tn_value after, tn_value *page) {
    tn_value filter = watch_filter(watch, true);
    tn_value since = value_set_take(value_object_reserve(1), "ge", time_value(since_ms));
    tn_value params = watch_list_params(value_set_take(filter, "updated_at", since), false, WATCH_PAGE);
    if (after) params = value_set_take(params, "after", value_ref(after));
    return command_kernel_call_take(&watch->kernel, "task/list", params, page);
}

static int64_t watch_time(tn_value task) {
    int64_t ms = 0;
    (void)time_text_read_ms(command_kernel_text(task, "updated_at"), &ms);
    return ms;
}

/*
 * Prints what has changed, page after page. The next page begins at the time where this one ends: a Task can move to
 * the end of the list meanwhile, so `after` is only used if all of a page have one time.
 */
static int watch_look(struct watch *watch, bool silent) {
    int64_t since_ms = watch->newest_ms - WATCH_OVERLAP_MS;
    tn_value after = NULL;
    bool more = true;
    int code = COMMAND_OK;
    while (!code && more) {
        tn_value page = NULL;
        code = watch_list(watch, since_ms > 0 ? since_ms : 0, after, &page);
        tn_value tasks = code ? NULL : value_get(page, "tasks");
        size_t count = value_count(tasks);
        more = !code && value_to_bool(value_get(page, "more"));
        for (size_t i = 0; i < count; i++) watch_print(watch, value_at(tasks, i), silent);
        value_unref(after);
        after = NULL;
        if (count) {
            int64_t last_ms = watch_time(value_at(tasks, count - 1));
            if (last_ms <= since_ms) after = value_ref(value_get(value_at(tasks, count - 1), "task_id"));
            since_ms = last_ms;
            if (last_ms > watch->newest_ms) watch->newest_ms = last_ms;
        }
        value_unref(page);
    }
    value_unref(after);
    return code;
}

/* Without operands, only what happens from now on is printed. */
static int watch_begin(struct watch *watch) {
    tn_value page = NULL;
    if (operand_count(watch->kernel.arguments)) return COMMAND_OK;
    int code = command_kernel_call_take(&watch->kernel, "task/list", watch_list_params(value_object(), true, 1), &page);
    tn_value tasks = code ? NULL : value_get(page, "tasks");
    if (value_count(tasks)) watch->newest_ms = watch_time(value_at(tasks, 0));
    value_unref(page);
    return code ? code : watch_look(watch, true);
}

/* ---- The end ---- */

/* *count: of the Tasks of the options that are in one of these states, at most one page. */
static int watch_count(struct watch *watch, const char *const *states, size_t *count) {
    tn_value filter = watch_filter(watch, false), list = value_array(), page = NULL;
    for (; *states; states++) list = value_push_take(list, value_text(*states));
    tn_value params = watch_list_params(value_set_take(filter, "state", list), false, WATCH_PAGE);
    int code = command_kernel_call_take(&watch->kernel, "task/list", params, &page);
    *count = code ? 0 : value_count(value_get(page, "tasks"));
    value_unref(page);
    return code;
}

/* An unknown id is an error at once. */
static int watch_check_ids(struct watch *watch) {
    const struct arguments *arguments = watch->kernel.arguments;
    int code = COMMAND_OK;
    for (size_t i = 0; !code && i < operand_count(arguments); i++) {
        tn_value given = value_object(), task = NULL;
        command_kernel_set_text(&given, "task_id", operand_at(arguments, i));
        code = command_kernel_call_take(&watch->kernel, "task/get", given, &task);
        value_unref(task);
    }
    return code;
}

static void watch_on_due(struct loop_timer *timer) {
    struct watch *watch = CONTAINER_OF(timer, struct watch, timer);
    watch->due = true;
    loop_wake(method_caller_loop(watch->kernel.caller));
}

static bool watch_is_due(void *user) { return ((const struct watch *)user)->due; }

/* Returns false after a signal, or if the connection has ended. */
static bool watch_pause(struct watch *watch) {
    struct loop *loop = method_caller_loop(watch->kernel.caller);
    watch->due = false;
    loop_timer_start(loop, &watch->timer, WATCH_MS, watch_on_due);
    bool due = method_caller_wait(watch->kernel.caller, watch_is_due, watch);
    loop_timer_stop(loop, &watch->timer);
    return due;
}

/* Of the Tasks that the operands name, or of those that were printed. */
static int watch_exit_code(struct watch *watch) {
    static const char *const failed_states[] = {"failed", NULL};
    size_t failed = watch->failed;
    int code = COMMAND_OK;
    if (operand_count(watch->kernel.arguments)) code = watch_count(watch, failed_states, &failed);
    return code ? code : failed ? COMMAND_RUN_FAILED : COMMAND_OK;
}

static int watch_run(struct watch *watch) {
    static const char *const open_states[] = {"queued", "running", NULL};
    bool ends = watch->until_done || operand_count(watch->kernel.arguments) > 0;
    int code = watch_check_ids(watch);
    if (!code) code = watch_begin(watch);
    while (!code) {
        size_t open = 1;
        if (ends) code = watch_count(watch, open_states, &open); /* before the look, which then sees the last change */
        if (!code) code = watch_look(watch, false);
        if (!command_flush()) return COMMAND_RUN_FAILED;
        if (code) break;
        if (!open) return watch_exit_code(watch);
        if (!watch_pause(watch))
            return command_got_signal() ? COMMAND_CANCELLED : method_caller_report_lost(watch->kernel.caller);
    }
    return code;
}

int command_task_watch(const struct arguments *arguments) {
    struct watch watch = {.printed = value_object(),
                          .json = argument_given(arguments, "json"),
                          .until_done = argument_given(arguments, "until-done")};
    int code = command_kernel_open(&watch.kernel, arguments);
    if (!code) {
        method_caller_watch_signals(watch.kernel.caller);
        code = watch_run(&watch);
    }
    value_unref(watch.printed);
    return command_kernel_close(&watch.kernel, code);
}

/*
 * command_task.c - `tenon task`: creates, lists, shows, updates, claims, releases, wakes and ends Tasks.
 */
#include "adl/value/memory.h"
#include "host/program/command_kernel.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads options into the operation's arguments. On failure, prints an error and returns false. */
typedef bool read_fn(const struct command_kernel *kernel, tn_value *given);
/* Prints the result, which it takes, and returns the exit code. */
typedef int print_fn(const struct command_kernel *kernel, tn_value result);

static int task_command_run(const struct arguments *arguments, const char *operation, read_fn *read, print_fn *print) {
    struct command_kernel kernel;
    tn_value given = value_object(), result = NULL;
    int code = command_kernel_open(&kernel, arguments);
    if (!code && !read(&kernel, &given)) code = COMMAND_USAGE;
    if (code)
        value_unref(given);
    else
        code = command_kernel_call_take(&kernel, operation, given, &result);
    return command_kernel_close(&kernel, code ? code : print(&kernel, result));
}

/* ---- create ---- */

static bool task_read_create(const struct command_kernel *kernel, tn_value *given) {
    command_kernel_set_text(given, "task_type", operand_at(kernel->arguments, 0));
    command_kernel_set_text(given, "idempotency_key", argument_text(kernel->arguments, "key"));
    command_kernel_set_text(given, "not_before", argument_text(kernel->arguments, "not-before"));
    command_kernel_set_texts(kernel, given, "artifact_refs", "artifact");
    return command_kernel_set_json(kernel, given, "payload", "payload");
}

static int task_print_id(const struct command_kernel *kernel, tn_value task) {
    if (command_kernel_json(kernel)) return command_kernel_print_take(kernel, task);
    command_printf(stdout, "%s\n", command_kernel_text(task, "task_id"));
    value_unref(task);
    return COMMAND_OK;
}

int command_task_create(const struct arguments *arguments) {
    return task_command_run(arguments, "task/create", task_read_create, task_print_id);
}

/* ---- list, show ---- */

static bool task_read_filter(const struct command_kernel *kernel, tn_value *given) {
    tn_value filter;
    if (!command_kernel_set_json(kernel, given, "filter", "filter")) return false;
    tn_value written = value_get(*given, "filter");
    if (written && !value_is(written, TN_OBJECT)) return true; /* the kernel reports the error */
    filter = written ? value_ref(written) : value_object();
    command_kernel_set_texts(kernel, &filter, "task_type", "type");
    command_kernel_set_texts(kernel, &filter, "state", "state");
    if (value_count(filter))
        *given = value_set_take(*given, "filter", filter);
    else
        value_unref(filter);
    return true;
}

static bool task_read_list(const struct command_kernel *kernel, tn_value *given) {
    command_kernel_set_texts(kernel, given, "order", "order");
    if (argument_given(kernel->arguments, "reverse")) *given = value_set_take(*given, "reverse", value_bool(true));
    return task_read_filter(kernel, given) && command_kernel_set_page(kernel, given);
}

/* Prints what a queued Task waits for: "  waits", "  waits until TIME" or "  not before TIME". */
static void task_print_waiting(tn_value task) {
    const char *until = command_kernel_text(task, "not_before");
    bool waits = value_to_bool(value_get(task, "waiting"));
    if (strcmp(command_kernel_text(task, "state"), "queued") != 0 || (!waits && !*until)) return;
    command_printf(stdout, "  %s%s", waits ? *until ? "waits until " : "waits" : "not before ", until);
}

static void task_print_line(tn_value task) {
    const char *by = command_kernel_text(task, "claimed_by"),
               *why = command_kernel_text(value_get(task, "error"), "message");
    int64_t attempts = 0;
    tn_value count = value_get(task, "attempts"); /* a server of an older version does not send it */
    if (value_is(count, TN_INT)) attempts = value_to_int(count);
    command_printf(stdout, "%s  %-7s  %s  %s%s%s", command_kernel_text(task, "task_id"),
                   command_kernel_text(task, "state"), command_kernel_text(task, "created_at"),
                   command_kernel_text(task, "task_type"), *by ? "  by " : "", by);
    if (attempts > 1) command_printf(stdout, "  attempt %lld", (long long)attempts);
    task_print_waiting(task);
    command_printf(stdout, "%s%s\n", *why ? ": " : "", why);
}

static int task_print_list(const struct command_kernel *kernel, tn_value result) {
    tn_value tasks = value_get(result, "tasks");
    if (command_kernel_json(kernel)) return command_kernel_print_take(kernel, result);
    for (size_t i = 0; i < value_count(tasks); i++) task_print_line(value_at(tasks, i));
    if (value_count(tasks) == 0) fprintf(stderr, "no Tasks\n");
    command_kernel_more(result);
    value_unref(result);
    return COMMAND_OK;
}

int command_task_list(const struct arguments *arguments) {
    return task_command_run(arguments, "task/list", task_read_list, task_print_list);
}

static bool task_read_id(const struct command_kernel *kernel, tn_value *given) {
    command_kernel_set_text(given, "task_id", operand_at(kernel->arguments, 0));
    return true;
}

int command_task_show(const struct arguments *arguments) {
    return task_command_run(arguments, "task/get", task_read_id, command_kernel_print_take);
}

/* ---- update ---- */

static bool task_read_update(const struct command_kernel *kernel, tn_value *given) {
    struct error error = ERROR_INIT;
    task_read_id(kernel, given);
    command_kernel_set_text(given, "claim_token", argument_text(kernel->arguments, "token"));
    tn_value patch = command_json(kernel->arguments, operand_at(kernel->arguments, 1), "PATCH", &error);
    if (patch)
        *given = value_set_take(*given, "patch", patch);
    else
        command_warn_error(&error);
    error_finish(&error);
    return patch != NULL;
}

int command_task_update(const struct arguments *arguments) {
    return task_command_run(arguments, "task/update", task_read_update, command_kernel_print_take);
}

/* ---- claim, renew, complete, fail, release, wake ---- */

static bool task_read_ttl(const struct command_kernel *kernel, tn_value *given) {
    *given = value_set_take(*given, "ttl_seconds", value_int(COMMAND_CLAIM_SECONDS));
    return command_kernel_set_number(kernel, given, "ttl_seconds", "ttl");
}

static bool task_read_claim(const struct command_kernel *kernel, tn_value *given) {
    char host[64] = "host", name[96];
    (void)gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s/%ld", host, (long)getppid());
    const char *as = argument_text(kernel->arguments, "as");
    command_kernel_set_text(given, "claimer_id", as ? as : name);
    return task_read_ttl(kernel, given) && task_read_filter(kernel, given);
}

static int task_print_claim(const struct command_kernel *kernel, tn_value task) {
    if (!value_is(task, TN_NULL)) return command_kernel_print_take(kernel, task);
    if (command_kernel_json(kernel)) command_print(task);
    return command_report(COMMAND_RUN_FAILED, "there is no Task to claim");
}

int command_task_claim(const struct arguments *arguments) {
    return task_command_run(arguments, "task/claim", task_read_claim, task_print_claim);
}

static bool task_read_token(const struct command_kernel *kernel, tn_value *given) {
    command_kernel_set_text(given, "claim_token", operand_at(kernel->arguments, 1));
    command_kernel_set_texts(kernel, given, "artifact_refs", "artifact");
    return task_read_id(kernel, given);
}

static bool task_read_renew(const struct command_kernel *kernel, tn_value *given) {
    return task_read_token(kernel, given) && task_read_ttl(kernel, given);
}

int command_task_renew(const struct arguments *arguments) {
    return task_command_run(arguments, "task/renew", task_read_renew, command_kernel_print_take);
}

static bool task_read_complete(const struct command_kernel *kernel, tn_value *given) {
    command_kernel_set_text(given, "user_output", argument_text(kernel->arguments, "output"));
    return task_read_token(kernel, given);
}

int command_task_complete(const struct arguments *arguments) {
    return task_command_run(arguments, "task/complete", task_read_complete, command_kernel_print_take);
}

static tn_value task_error(const struct command_kernel *kernel, const char *message) {
    tn_value error = value_set_take(value_object(), "code", value_text("FAILED"));
    command_kernel_set_text(&error, "code", argument_text(kernel->arguments, "code"));
    command_kernel_set_text(&error, "message", message);
    return error;
}

static bool task_read_fail(const struct command_kernel *kernel, tn_value *given) {
    *given = value_set_take(*given, "error", task_error(kernel, operand_at(kernel->arguments, 2)));
    return task_read_token(kernel, given);
}

int command_task_fail(const struct arguments *arguments) {
    return task_command_run(arguments, "task/fail", task_read_fail, command_kernel_print_take);
}

static bool task_read_release(const struct command_kernel *kernel, tn_value *given) {
    const char *reason = argument_text(kernel->arguments, "reason"), *why = argument_text(kernel->arguments, "error");
    command_kernel_set_text(given, "claim_token", operand_at(kernel->arguments, 1));
    command_kernel_set_text(given, "reason", reason ? reason : "drain");
    command_kernel_set_text(given, "not_before", argument_text(kernel->arguments, "not-before"));
    if (why) *given = value_set_take(*given, "error", task_error(kernel, why));
    return task_read_id(kernel, given);
}

int command_task_release(const struct arguments *arguments) {
    return task_command_run(arguments, "task/release", task_read_release, command_kernel_print_take);
}

int command_task_wake(const struct arguments *arguments) {
    return task_command_run(arguments, "task/wake", task_read_id, command_kernel_print_take);
}

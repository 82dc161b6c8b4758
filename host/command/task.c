/*
 * task.c - `tenon task`: Tasks made, shown, claimed and ended from a shell.
 */
#include "adl/value/memory.h"
#include "host/command/kernel.h"
#include "host/host.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The options as arguments; false: said on standard error. */
typedef bool read_fn(const struct kernel *kernel, tn_value *given);
/* What is printed of the result, which is taken; the exit code. */
typedef int print_fn(const struct kernel *kernel, tn_value result);

static int run(const struct arguments *arguments, const char *operation, read_fn *read, print_fn *print) {
    struct kernel kernel;
    tn_value given = value_object(), result = NULL;
    int code = kernel_open(&kernel, arguments);
    if (!code && !read(&kernel, &given)) code = COMMAND_USAGE;
    if (code)
        value_unref(given);
    else
        code = kernel_ask_take(&kernel, operation, given, &result);
    return kernel_close(&kernel, code ? code : print(&kernel, result));
}

/* ---- create ---- */

static bool read_create(const struct kernel *kernel, tn_value *given) {
    kernel_set_text(given, "task_type", operand_at(kernel->arguments, 0));
    kernel_set_text(given, "idempotency_key", argument_text(kernel->arguments, "key"));
    kernel_set_texts(kernel, given, "artifact_refs", "artifact");
    return kernel_set_json(kernel, given, "payload", "payload");
}

static int print_id(const struct kernel *kernel, tn_value task) {
    if (kernel_json(kernel)) return kernel_print_take(kernel, task);
    command_say(stdout, "%s\n", kernel_text(task, "task_id"));
    value_unref(task);
    return COMMAND_OK;
}

int command_task_create(const struct arguments *arguments) {
    return run(arguments, "task.create", read_create, print_id);
}

/* ---- list, show ---- */

static bool read_filter(const struct kernel *kernel, tn_value *given) {
    tn_value filter;
    if (!kernel_set_json(kernel, given, "filter", "filter")) return false;
    tn_value written = value_get(*given, "filter");
    if (written && !value_is(written, TN_OBJECT)) return true; /* the kernel says what is wrong */
    filter = written ? value_ref(written) : value_object();
    kernel_set_texts(kernel, &filter, "task_type", "type");
    kernel_set_texts(kernel, &filter, "state", "state");
    if (value_count(filter))
        *given = value_set_take(*given, "filter", filter);
    else
        value_unref(filter);
    return true;
}

static bool read_list(const struct kernel *kernel, tn_value *given) {
    kernel_set_texts(kernel, given, "order", "order");
    if (argument_given(kernel->arguments, "reverse")) *given = value_set_take(*given, "reverse", value_bool(true));
    return read_filter(kernel, given) && kernel_set_page(kernel, given);
}

static int print_list(const struct kernel *kernel, tn_value result) {
    tn_value tasks = value_get(result, "tasks");
    if (kernel_json(kernel)) return kernel_print_take(kernel, result);
    for (size_t i = 0; i < value_count(tasks); i++) {
        tn_value task = value_at(tasks, i);
        const char *by = kernel_text(task, "claimed_by"), *why = kernel_text(value_get(task, "error"), "message");
        command_say(stdout, "%s  %-7s  %s  %s%s%s%s%s\n", kernel_text(task, "task_id"), kernel_text(task, "state"),
                    kernel_text(task, "created_at"), kernel_text(task, "task_type"), *by ? "  by " : "", by,
                    *why ? ": " : "", why);
    }
    if (value_count(tasks) == 0) fprintf(stderr, "no Tasks\n");
    kernel_more(result);
    value_unref(result);
    return COMMAND_OK;
}

int command_task_list(const struct arguments *arguments) { return run(arguments, "task.list", read_list, print_list); }

static bool read_id(const struct kernel *kernel, tn_value *given) {
    kernel_set_text(given, "task_id", operand_at(kernel->arguments, 0));
    return true;
}

int command_task_show(const struct arguments *arguments) {
    return run(arguments, "task.get", read_id, kernel_print_take);
}

/* ---- update ---- */

static bool read_update(const struct kernel *kernel, tn_value *given) {
    struct error error = ERROR_INIT;
    read_id(kernel, given);
    kernel_set_text(given, "claim_token", argument_text(kernel->arguments, "token"));
    tn_value patch = command_json(operand_at(kernel->arguments, 1), "PATCH", &error);
    if (patch)
        *given = value_set_take(*given, "patch", patch);
    else
        command_fail_error(0, &error);
    error_finish(&error);
    return patch != NULL;
}

int command_task_update(const struct arguments *arguments) {
    return run(arguments, "task.update", read_update, kernel_print_take);
}

/* ---- claim, renew, complete, fail ---- */

#define DEFAULT_TTL_SECONDS 300

static bool read_ttl(const struct kernel *kernel, tn_value *given) {
    *given = value_set_take(*given, "ttl_seconds", value_int(DEFAULT_TTL_SECONDS));
    return kernel_set_number(kernel, given, "ttl_seconds", "ttl");
}

static bool read_claim(const struct kernel *kernel, tn_value *given) {
    char host[64] = "host", name[96];
    (void)gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s/%ld", host, (long)getppid());
    const char *as = argument_text(kernel->arguments, "as");
    kernel_set_text(given, "claimer_id", as ? as : name);
    return read_ttl(kernel, given) && read_filter(kernel, given);
}

static int print_claim(const struct kernel *kernel, tn_value task) {
    if (!value_is(task, TN_NULL)) return kernel_print_take(kernel, task);
    if (kernel_json(kernel)) command_print(task);
    return command_fail(COMMAND_RUN_FAILED, "there is no Task that could be claimed");
}

int command_task_claim(const struct arguments *arguments) {
    return run(arguments, "task.claim", read_claim, print_claim);
}

static bool read_token(const struct kernel *kernel, tn_value *given) {
    kernel_set_text(given, "claim_token", operand_at(kernel->arguments, 1));
    kernel_set_texts(kernel, given, "artifact_refs", "artifact");
    return read_id(kernel, given);
}

static bool read_renew(const struct kernel *kernel, tn_value *given) {
    return read_token(kernel, given) && read_ttl(kernel, given);
}

int command_task_renew(const struct arguments *arguments) {
    return run(arguments, "task.renew", read_renew, kernel_print_take);
}

int command_task_complete(const struct arguments *arguments) {
    return run(arguments, "task.complete", read_token, kernel_print_take);
}

static bool read_fail(const struct kernel *kernel, tn_value *given) {
    const char *message = operand_at(kernel->arguments, 2), *code = argument_text(kernel->arguments, "code");
    tn_value error = value_set_take(value_object(), "code", value_text("FAILED"));
    kernel_set_text(&error, "code", code);
    kernel_set_text(&error, "message", message);
    *given = value_set_take(*given, "error", error);
    return read_token(kernel, given);
}

int command_task_fail(const struct arguments *arguments) {
    return run(arguments, "task.fail", read_fail, kernel_print_take);
}

/*
 * command_thread_store.c - `tenon thread export`, `import` and `gc`: whole threads of the store of this machine.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/data/kernel/kernel.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_admin.h"
#include "host/engine/execution/execution_thread.h"
#include "host/program/command.h"

/* What all commands here use. */
struct thread_store {
    struct host *host;
    struct store *store;
    struct error error; /* of the operation */
};

/* Opens a host and its store. Returns COMMAND_OK; on failure prints an error and returns the exit code. */
static int thread_store_open(struct thread_store *command, const struct arguments *arguments) {
    *command = (struct thread_store){.host = command_host(arguments), .error = ERROR_INIT};
    if (!command->host) return COMMAND_PLUGIN_PROBLEM;
    command->store = host_store(command->host, &command->error);
    if (command->store) return COMMAND_OK;
    int code = command_report_error(COMMAND_RUN_FAILED, &command->error);
    error_finish(&command->error);
    host_free(command->host);
    return code;
}

static int thread_store_finish(struct thread_store *command, int code) {
    error_finish(&command->error);
    host_free(command->host);
    return command_close(code);
}

/* Prints the error of the operation if it failed. Returns the exit code. */
static int thread_store_end(struct thread_store *command, int32_t status) {
    return thread_store_finish(command, status == TN_OK ? COMMAND_OK
                                                        : command_report_error(COMMAND_RUN_FAILED, &command->error));
}

/*
 * Reads an option in days before now and formats it in `text` as records contain times. *out is `text`, or NULL if
 * neither the option nor `otherwise` (>= 0) is given. Returns false if the option is invalid.
 */
static bool read_days(const struct arguments *arguments, const struct host *host, const char *option, int64_t otherwise,
                      char text[TIME_TEXT], const char **out) {
    int64_t days;
    *out = NULL;
    if (!argument_number(arguments, option, 0, 36500, otherwise, &days)) return false;
    if (days < 0) return true;
    time_text_days_before(loop_wall_ms(host_loop(host)), days, text);
    *out = text;
    return true;
}

int command_thread_export(const struct arguments *arguments) {
    struct thread_store command;
    int code = thread_store_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    tn_value exported = NULL;
    int32_t status = thread_export_wait(command.store, operand_at(arguments, 0), &exported, &command.error);
    if (status == TN_OK) command_print(exported);
    value_unref(exported);
    return thread_store_end(&command, status);
}

int command_thread_import(const struct arguments *arguments) {
    struct thread_store command;
    struct error error = ERROR_INIT;
    char *text = NULL;
    size_t length = 0;
    tn_value exported = NULL;
    if (!command_read_named(arguments, operand_at(arguments, 0), &text, &length, &error) ||
        json_read(text, length, NULL, &exported, &error) != TN_OK) {
        mem_free(text);
        int code = command_report_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    mem_free(text);
    const char *id = operand_count(arguments) > 1 ? operand_at(arguments, 1)
                                                  : command_text(value_get(exported, "record"), "thread_id", "");
    int code = thread_store_open(&command, arguments);
    if (code != COMMAND_OK) {
        value_unref(exported);
        return code;
    }
    int32_t status =
        thread_import_wait(command.store, id, exported, argument_given(arguments, "replace"), &command.error);
    value_unref(exported);
    return thread_store_end(&command, status);
}

int command_thread_gc(const struct arguments *arguments) {
    struct thread_store command;
    char before[TIME_TEXT], expired[TIME_TEXT];
    const char *status_given = argument_text(arguments, "status");
    struct threads_policy policy = {.status = status_given ? status_given : "done",
                                    .dry_run = argument_given(arguments, "dry-run")};
    if (!argument_number(arguments, "keep", 0, INT32_MAX, -1, &policy.keep)) return COMMAND_USAGE;
    int code = thread_store_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    int64_t days = policy.keep < 0 ? config_limit(host_config(command.host), "thread_days", -1) : -1;
    if (!read_days(arguments, command.host, "older-than", days, before, &policy.before))
        return thread_store_finish(&command, COMMAND_USAGE);
    policy.expired_before = thread_expiry_limit(host_engine(command.host), expired);
    if (!policy.before && policy.keep < 0 && !policy.expired_before) {
        command_warn("expected --older-than DAYS, --keep N, or limits.thread_days in tenon.yaml: they say which "
                     "threads are old");
        return thread_store_finish(&command, COMMAND_USAGE);
    }
    tn_value removed = NULL;
    int32_t status = threads_collect_wait(command.store, &policy, &removed, &command.error);
    long long threads = removed ? value_to_int(value_get(removed, "threads")) : 0;
    long long graphs = removed ? value_to_int(value_get(removed, "graphs")) : 0;
    value_unref(removed);
    if (status == TN_OK && !policy.dry_run)
        kernel_maintain(&(struct kernel){host_loop(command.host), command.store}, NULL, NULL);
    if (status == TN_OK)
        command_printf(stdout, "%s %lld thread%s and %lld saved graph description%s\n",
                       policy.dry_run ? "would remove" : "removed", threads, threads == 1 ? "" : "s", graphs,
                       graphs == 1 ? "" : "s");
    return thread_store_end(&command, status);
}

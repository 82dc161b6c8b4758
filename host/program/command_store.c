/*
 * command_store.c - `tenon store copy` and `tenon store migrate`: whole stores, without a host that uses them.
 */
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/store/store_copy.h"
#include "host/program/command.h"
#include "host/program/store_location.h"
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_MS          1000 /* between two lines of progress in a log; a terminal is updated more often */
#define PROGRESS_TERMINAL_MS 100

/* ---- Copy ---- */

struct copy_command {
    struct loop *loop;
    bool quiet, terminal;
    bool drawn; /* a terminal shows progress */
    int64_t due_ms;
};

static bool copy_on_progress(void *user, const struct store_copy *copy) {
    struct copy_command *command = user;
    int64_t now_ms = loop_clock_us(command->loop) / 1000;
    if (!command->quiet && now_ms >= command->due_ms) {
        command->due_ms = now_ms + (command->terminal ? PROGRESS_TERMINAL_MS : PROGRESS_MS);
        command->drawn = command->terminal;
        command_printf(stderr, "%s%s %" PRId64 " of %" PRId64 " records%s",
                       command->terminal ? "" : "tenon: ", copy->comparing ? "compared" : "copied", copy->records,
                       copy->total, command->terminal ? "" : "\n");
        if (command->terminal) fputs("\033[K\r", stderr);
    }
    return !command_got_signal();
}

static void copy_clear_progress(const struct copy_command *command) {
    if (command->drawn) fputs("\r\033[K", stderr);
}

static int copy_stores(struct copy_command *command, struct store_copy *copy) {
    struct error error = ERROR_INIT;
    int32_t status = store_copy_run(copy, &error);
    copy_clear_progress(command);
    int code = COMMAND_OK;
    if (status == TN_OK)
        command_printf(stdout,
                       "copied %" PRId64 " records of %" PRId64 " collections to %s; both have the SHA-256 %s\n",
                       copy->records, copy->collections, copy->to_name, copy->hash);
    else
        code = command_report_error(status == TN_CANCELLED ? COMMAND_CANCELLED : COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    return code;
}

static int copy_open(const struct arguments *arguments, struct host *host, const struct store_location *from,
                     const struct store_location *to) {
    struct error error = ERROR_INIT;
    struct copy_command command = {
        .loop = host_loop(host), .quiet = argument_given(arguments, "quiet"), .terminal = isatty(STDERR_FILENO) == 1};
    command.due_ms = loop_clock_us(command.loop) / 1000 + PROGRESS_MS; /* a short copy prints none */
    struct store_copy copy = {.from_name = from->name,
                              .to_name = to->name,
                              .progress = copy_on_progress,
                              .user = &command,
                              .replace = argument_given(arguments, "replace"),
                              .while_used = argument_given(arguments, "while-used")};
    int code = COMMAND_OK;
    copy.from = store_location_open(from, host, &error);
    copy.to = copy.from ? store_location_open(to, host, &error) : NULL;
    if (copy.to) {
        command_watch_signals(host);
        code = copy_stores(&command, &copy);
    } else {
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    }
    store_close(copy.to);
    store_close(copy.from);
    error_finish(&error);
    return code;
}

int command_store_copy(const struct arguments *arguments) {
    struct store_location from, to;
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    if (store_location_read(&from, operand_at(arguments, 0), true, &error) != TN_OK)
        code = command_report_error(COMMAND_USAGE, &error);
    else if (store_location_read(&to, operand_at(arguments, 1), false, &error) != TN_OK)
        code = command_report_error(COMMAND_USAGE, &error), store_location_finish(&from);
    error_finish(&error);
    if (code) return code;
    struct host *host = command_host(arguments);
    code = host ? copy_open(arguments, host, &from, &to) : COMMAND_PLUGIN_PROBLEM;
    host_free(host);
    store_location_finish(&from);
    store_location_finish(&to);
    return command_close(code);
}

/* ---- Migrate ---- */

/* Opening a store has moved its format forward. */
static int migrate_report(struct store *store) {
    struct error error = ERROR_INIT;
    tn_value format = NULL;
    tn_value query = value_set_take(value_object_reserve(1), "format", value_object());
    int code = COMMAND_OK;
    if (store_query_wait(store, query, &format, &error) != TN_OK) {
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    } else {
        int64_t version = 0, before = 0;
        (void)value_as_int(value_get(format, "version"), &version);
        (void)value_as_int(value_get(format, "before"), &before);
        if (before == 0)
            command_printf(stdout, "created, with the format %" PRId64 "\n", version);
        else if (before == version)
            command_printf(stdout, "current: the format is %" PRId64 "\n", version);
        else
            command_printf(stdout, "migrated from the format %" PRId64 " to %" PRId64 "\n", before, version);
    }
    value_unref(format);
    error_finish(&error);
    return code;
}

static int migrate_open(struct host *host, const struct store_location *location) {
    struct error error = ERROR_INIT;
    struct store *store = store_location_open(location, host, &error);
    int code = store ? migrate_report(store) : command_report_error(COMMAND_RUN_FAILED, &error);
    store_close(store);
    error_finish(&error);
    return code;
}

int command_store_migrate(const struct arguments *arguments) {
    struct store_location location = {.name = NULL};
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    const char *operand = operand_count(arguments) ? operand_at(arguments, 0) : NULL;
    if (operand && store_location_read(&location, operand, true, &error) != TN_OK)
        code = command_report_error(COMMAND_USAGE, &error);
    error_finish(&error);
    if (code) return code;
    struct host *host = command_host(arguments);
    if (host && !operand && config_store(host_config(host)))
        location.options = value_ref(config_store(host_config(host)));
    code = host ? migrate_open(host, &location) : COMMAND_PLUGIN_PROBLEM;
    host_free(host);
    store_location_finish(&location);
    return command_close(code);
}

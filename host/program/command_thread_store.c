/*
 * command_thread_store.c - `tenon thread export`, `import` and `gc`: whole threads of the store, by methods.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/data/thread/thread_admin.h"
#include "host/program/command.h"
#include "host/program/method_caller.h"
#include <string.h>

/* Calls one method, in a host that is opened for it. Takes `params`. *result is a new reference; NULL on failure. */
static int thread_store_call_take(const struct arguments *arguments, const char *method, tn_value params,
                                  tn_value *result) {
    struct method_caller *caller;
    struct error error = ERROR_INIT;
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    *result = NULL;
    if (code)
        value_unref(params);
    else if (method_caller_try_take(caller, method, params, result, &error) != TN_OK)
        code = method_caller_report(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    method_caller_free(caller);
    return code;
}

int command_thread_export(const struct arguments *arguments) {
    const char *id = operand_at(arguments, 0);
    tn_value params = value_set_take(value_object_reserve(1), "thread_id", value_string_lossy(id, strlen(id)));
    tn_value exported;
    int code = thread_store_call_take(arguments, "thread/export", params, &exported);
    if (exported) command_print(exported);
    value_unref(exported);
    return command_close(code);
}

/* Reads the file of an exported thread. Returns NULL, and prints an error, if that fails. */
static tn_value read_exported(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    tn_value exported = NULL;
    if (command_read_exported(arguments, operand_at(arguments, 0), &exported, &error) != TN_OK)
        command_warn_error(&error);
    error_finish(&error);
    return exported;
}

/* The method checks the schema before the thread; here, a thread that is malformed has one message. */
static int import_own(const struct arguments *arguments, const char *id, tn_value exported) {
    struct host *host = command_host(arguments);
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    struct store *store = host_store(host, &error);
    if (!id) id = command_text(value_get(exported, "record"), "thread_id", "");
    if (!store || thread_import_wait(store, id, exported, argument_given(arguments, "replace"), &error) != TN_OK)
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    host_free(host);
    return code;
}

static int import_sent(const struct arguments *arguments, const char *id, tn_value exported) {
    tn_value params = value_set_take(value_object_reserve(3), "thread", value_ref(exported)), result;
    if (id) params = value_set_take(params, "thread_id", value_string_lossy(id, strlen(id)));
    params = value_set_take(params, "replace", value_bool(argument_given(arguments, "replace")));
    int code = thread_store_call_take(arguments, "thread/import", params, &result);
    value_unref(result);
    return code;
}

int command_thread_import(const struct arguments *arguments) {
    const char *id = operand_at(arguments, 1);
    tn_value exported = read_exported(arguments);
    if (!exported) return COMMAND_USAGE;
    int code = argument_given(arguments, "connect") ? import_sent(arguments, id, exported)
                                                    : import_own(arguments, id, exported);
    value_unref(exported);
    return command_close(code);
}

static long long count_of(tn_value removed, const char *key) {
    tn_value count = value_get(removed, key);
    return count && value_is(count, TN_INT) ? (long long)value_to_int(count) : 0;
}

int command_thread_gc(const struct arguments *arguments) {
    const char *status = argument_text(arguments, "status");
    bool dry_run = argument_given(arguments, "dry-run");
    int64_t keep, days;
    if (!argument_number(arguments, "keep", 0, INT32_MAX, -1, &keep)) return COMMAND_USAGE;
    if (!argument_number(arguments, "older-than", 0, 36500, -1, &days)) return COMMAND_USAGE;
    struct method_caller *caller;
    struct error error = ERROR_INIT;
    tn_value params = value_set_take(value_object_reserve(4), "dry_run", value_bool(dry_run)), removed = NULL;
    if (status) params = value_set_take(params, "status", value_text(status));
    if (keep >= 0) params = value_set_take(params, "keep", value_int(keep));
    if (days >= 0) params = value_set_take(params, "before", value_int(days));
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    if (code) {
        value_unref(params);
    } else if (method_caller_try_take(caller, "thread/collect", params, &removed, &error) == TN_OK) {
        long long threads = count_of(removed, "threads"), graphs = count_of(removed, "graphs");
        command_printf(stdout, "%s %lld thread%s and %lld saved graph description%s\n",
                       dry_run ? "would remove" : "removed", threads, threads == 1 ? "" : "s", graphs,
                       graphs == 1 ? "" : "s");
    } else if (strcmp(error.code, "INVALID_INPUT") == 0) { /* neither an option nor the configuration has a limit */
        code = command_report(COMMAND_USAGE, "expected --older-than DAYS, --keep N, or limits.thread_days in "
                                             "tenon.yaml: they say which threads are old");
    } else {
        code = method_caller_report(COMMAND_RUN_FAILED, &error);
    }
    value_unref(removed);
    error_finish(&error);
    method_caller_free(caller);
    return command_close(code);
}

/*
 * command_plugin_live.c - `tenon plugin load`, `unload` and `upgrade --connect`: plugins of a host that runs.
 */
#include "host/program/command_plugin_live.h"
#include "host/program/command.h"
#include "host/program/method_caller.h"
#include <string.h>

/* Calls the method with the operand, and `quiesce` if it is given. The result is a new reference; NULL with *code. */
static tn_value plugin_change(const struct arguments *arguments, const char *method, const char *member, bool file,
                              int *code) {
    struct method_caller *caller;
    const char *given = operand_at(arguments, 0);
    tn_value result = NULL;
    *code = method_caller_open(&caller, arguments, NULL, NULL);
    if (!*code) {
        tn_value value = file ? method_caller_path(caller, given) : value_string_lossy(given, strlen(given));
        tn_value params = value_set_take(value_object_reserve(2), member, value);
        if (argument_given(arguments, "quiesce")) params = value_set_take(params, "quiesce", value_bool(true));
        *code = method_caller_call_take(caller, method, params, &result);
        if (*code == COMMAND_RUN_FAILED) *code = COMMAND_PLUGIN_PROBLEM;
    }
    method_caller_free(caller);
    return result;
}

static bool has_host(const struct arguments *arguments) {
    if (argument_given(arguments, "connect")) return true;
    command_warn("expected --connect PATH: the socket of the host that runs (`tenon serve`). For all hosts that start "
                 "later, use `tenon plugin install` and `tenon plugin remove`");
    return false;
}

int command_plugin_load(const struct arguments *arguments) {
    int code;
    if (!has_host(arguments)) return COMMAND_USAGE;
    tn_value change = plugin_change(arguments, "plugin/load", "file", true, &code);
    if (change)
        command_printf(stderr, "%s: %s, loaded\n", command_text(change, "plugin", "?"),
                       command_text(change, "version", "?"));
    value_unref(change);
    return code;
}

int command_plugin_unload(const struct arguments *arguments) {
    int code;
    if (!has_host(arguments)) return COMMAND_USAGE;
    tn_value change = plugin_change(arguments, "plugin/unload", "plugin", false, &code);
    if (change) command_printf(stderr, "%s: %s\n", operand_at(arguments, 0), command_text(change, "state", "?"));
    value_unref(change);
    return code;
}

int plugin_upgrade_live(const struct arguments *arguments) {
    int code;
    tn_value change = plugin_change(arguments, "plugin/upgrade", "file", true, &code);
    if (change)
        command_printf(stderr, "%s: %s, was %s, in this host until it ends; no file was changed\n",
                       command_text(change, "plugin", "?"), command_text(change, "version", "?"),
                       command_text(change, "was", "?"));
    value_unref(change);
    return code;
}

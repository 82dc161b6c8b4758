/*
 * command_plugin_list.c - `tenon plugin list`: what plugin/list returns, for people. It reads manifests, and runs no
 * plugin code.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include "host/program/command_plugin_reset.h"
#include "host/program/method_caller.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static void plugin_print_components(tn_value plugin) {
    tn_value components = value_get(plugin, "components");
    bool shadowed = value_get(plugin, "shadowed_by") != NULL, refused = value_get(plugin, "error") != NULL;
    for (size_t i = 0; i < value_count(components); i++) {
        tn_value component = value_at(components, i);
        const char *other = shadowed || refused ? "" : command_text(component, "shadowed_by", "");
        tn_value note = shadowed  ? value_text("  (shadowed)")
                        : refused ? value_text("  (refused)")
                        : *other  ? value_format("  (shadowed by `%s`)", other)
                                  : value_text("");
        command_printf(stdout, "    %-8s %-28s %s%s\n", command_text(component, "kind", ""),
                       command_text(component, "id", ""), command_text(component, "title", ""),
                       value_chars(note, NULL));
        value_unref(note);
    }
}

/* The plugin of the list that has this file, or null. */
static tn_value plugin_with_file(tn_value plugins, const char *file) {
    for (size_t i = 0; i < value_count(plugins); i++)
        if (value_text_is(value_get(value_at(plugins, i), "file"), file)) return value_at(plugins, i);
    return value_null();
}

static void plugin_print_deaths(tn_value plugin) {
    struct buffer deaths;
    buffer_init(&deaths, SIZE_MAX);
    if (plugin_deaths_describe(value_get(plugin, "deaths"), command_text(plugin, "id", ""), (int64_t)time(NULL) * 1000,
                               &deaths))
        command_printf(stdout, "    %s\n", buffer_cstr(&deaths));
    buffer_finish(&deaths);
}

static void plugin_print_row(tn_value plugins, tn_value plugin) {
    const char *shadow_file = command_text(plugin, "shadowed_by", NULL);
    tn_value error = value_get(plugin, "error");
    command_printf(stdout, "%s %s  %s\n", command_text(plugin, "id", ""), command_text(plugin, "version", ""),
                   command_text(plugin, "title", ""));
    command_printf(stdout, "    %s (%s)\n", command_text(plugin, "file", ""), command_text(plugin, "source", ""));
    if (value_get(plugin, "isolated"))
        command_printf(stdout, "    in a separate process: %s\n", command_text(plugin, "isolated", ""));
    plugin_print_deaths(plugin);
    if (shadow_file) {
        tn_value shadow = plugin_with_file(plugins, shadow_file);
        command_printf(stdout, "    shadowed by %s %s: %s (%s)\n", command_text(shadow, "id", "?"),
                       command_text(shadow, "version", ""), shadow_file, command_text(shadow, "source", "?"));
    }
    if (error)
        command_printf(stdout, "    refused: %s [%s]\n", command_text(error, "message", ""),
                       command_text(error, "code", ""));
    plugin_print_components(plugin);
}

/* The reason why a plugin of the list was refused is in the list. */
static bool problem_is_listed(tn_value plugins, tn_value problem) {
    for (size_t i = 0; i < value_count(plugins); i++) {
        tn_value message = value_get(value_get(value_at(plugins, i), "error"), "message");
        if (message && value_equal(message, value_get(problem, "message"))) return true;
    }
    return false;
}

static void plugin_print_list(tn_value all) {
    tn_value plugins = value_get(all, "plugins"), problems = value_get(all, "problems");
    for (size_t i = 0; i < value_count(plugins); i++) {
        if (i) putchar('\n');
        plugin_print_row(plugins, value_at(plugins, i));
    }
    for (size_t i = 0; i < value_count(problems); i++) {
        tn_value problem = value_at(problems, i);
        if (!problem_is_listed(plugins, problem))
            command_warn("%s [%s]", command_text(problem, "message", ""), command_text(problem, "code", ""));
    }
    if (!value_count(plugins)) command_warn("no plugins found; `tenon doctor` shows the search path");
}

int command_plugin_list(const struct arguments *arguments) {
    struct method_caller *caller;
    tn_value all = NULL;
    int code = method_caller_open(&caller, arguments, NULL, NULL);
    if (!code) code = method_caller_call_take(caller, "plugin/list", value_object(), &all);
    if (!code && argument_given(arguments, "json"))
        command_print(all);
    else if (!code)
        plugin_print_list(all);
    value_unref(all);
    method_caller_free(caller);
    return code;
}

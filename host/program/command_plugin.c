/*
 * command_plugin.c - `tenon plugin show` and `serve`.
 *
 * `show` reads manifests and runs no plugin code. `serve` is the process of an isolated plugin.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/data/kernel/kernel.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/serve.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/registry.h"
#include "host/plugin/sandbox/sandbox.h"
#include "host/program/command.h"
#include "host/program/command_schema.h"
#include "host/program/method_caller.h"
#include "host/server/method.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- show ---- */

static bool is_file_name(const char *text) {
    size_t length = strlen(text);
    return strchr(text, '/') || (length > 3 && strcmp(text + length - 3, ".so") == 0);
}

static int refuse_unknown_plugin(const struct method_caller *caller, const char *name, const struct error *error) {
    const struct host *host = method_caller_host(caller);
    if (strcmp(error->code, "NOT_FOUND") != 0) return method_caller_report(COMMAND_PLUGIN_PROBLEM, error);
    return command_report(COMMAND_PLUGIN_PROBLEM,
                          "there is no plugin `%s`; `tenon plugin list` lists the installed ones. To name a file, "
                          "write it with its folder, as in ./acme.so%s",
                          name, host ? registry_altered(host_registry(host)) : "");
}

/*
 * The manifest of a file, or of the plugin with that id; a new reference. On failure, prints an error, sets *code to
 * the exit code and returns NULL.
 */
static tn_value plugin_find_manifest(const struct arguments *arguments, const char *name, int *code) {
    struct error error = ERROR_INIT;
    struct manifest manifest;
    tn_value found = NULL;
    if (is_file_name(name)) {
        if (manifest_read(name, &manifest, &error) == TN_OK) {
            found = value_ref(manifest.value);
            manifest_finish(&manifest);
        } else {
            *code =
                command_report_error(strcmp(error.code, "IO") == 0 ? COMMAND_USAGE : COMMAND_PLUGIN_PROBLEM, &error);
        }
        error_finish(&error);
        return found;
    }
    struct method_caller *caller;
    tn_value params = value_set_take(value_object_reserve(1), "plugin", value_string_lossy(name, strlen(name)));
    *code = method_caller_open(&caller, arguments, NULL, NULL);
    if (*code != COMMAND_OK)
        value_unref(params);
    else if (method_caller_try_take(caller, "plugin/show", params, &found, &error) != TN_OK)
        *code = refuse_unknown_plugin(caller, name, &error);
    error_finish(&error);
    method_caller_free(caller);
    return found;
}

static void manifest_show_set(const char *label, tn_value set) {
    size_t count = set && value_is(set, TN_ARRAY) ? value_count(set) : 0;
    if (!count) return;
    command_printf(stdout, "  %-10s", label);
    for (size_t i = 0; i < count; i++) {
        tn_value item = value_at(set, i);
        char *text = value_is(item, TN_STRING) ? mem_text(value_chars(item, NULL)) : json_text(item, JSON_COMPACT);
        command_printf(stdout, "%s %s", i ? "," : "", text);
        mem_free(text);
    }
    putchar('\n');
}

static void manifest_show_text(const char *label, const char *text) {
    if (*text) command_printf(stdout, "  %-10s %s\n", label, text);
}

static void manifest_show_errors(tn_value errors) {
    for (size_t i = 0; errors && value_is(errors, TN_OBJECT) && i < value_count(errors); i++) {
        const char *code = value_chars(value_key_at(errors, i), NULL);
        command_printf(stdout, "      %-8s %-18s %s\n", i ? "" : "errors", code, command_text(errors, code, ""));
    }
}

static void manifest_show_component(tn_value component) {
    tn_value effects = value_get(component, "effects");
    command_printf(stdout, "\n  %s %s  %s\n", manifest_text(component, "kind"), manifest_text(component, "id"),
                   manifest_text(component, "title"));
    if (*manifest_text(component, "documentation"))
        command_printf(stdout, "      %-8s %s\n", "about", manifest_text(component, "documentation"));
    command_printf(stdout, "      %-8s %s\n", "style", manifest_text(component, "style"));
    if (!effects) {
        command_printf(stdout, "      %-8s not declared: the most restricted policy applies\n", "effects");
    } else {
        char *text = json_text(effects, JSON_COMPACT);
        command_printf(stdout, "      %-8s %s\n", "effects", value_count(effects) ? text : "none");
        mem_free(text);
    }
    manifest_show_errors(value_get(component, "errors"));
    command_schema_members("config", value_get(component, "config"));
    command_schema_members("input", value_get(component, "input"));
    command_schema_members("output", value_get(component, "output"));
}

/* A request of any of its components has these rights, so an operator must see them before it is loaded. */
static void manifest_show_own_effects(tn_value effects) {
    if (!value_count(effects)) return;
    char *text = json_text(effects, JSON_COMPACT);
    command_printf(stdout, "  %-10s %s\n", "effects", text);
    command_printf(stdout,
                   "  %-10s of the plugin, in addition to those of its components: for requests and "
                   "subscriptions\n  %-10s outside of tasks, and for components that it adds\n",
                   "", "");
    mem_free(text);
}

static void manifest_show(tn_value manifest) {
    tn_value plugin = manifest_plugin(manifest), components = manifest_components(manifest);
    command_printf(stdout, "%s %s  %s\n", manifest_text(plugin, "id"), manifest_text(plugin, "version"),
                   manifest_text(plugin, "title"));
    manifest_show_text("about", manifest_text(plugin, "description"));
    manifest_show_text("licence", manifest_text(plugin, "licence"));
    manifest_show_text("homepage", manifest_text(plugin, "homepage"));
    manifest_show_set("authors", value_get(plugin, "authors"));
    manifest_show_text("tenon", manifest_text(plugin, "tenon"));
    manifest_show_set("requires", value_get(plugin, "requires"));
    manifest_show_set("optional", value_get(plugin, "optional"));
    manifest_show_set("provides", value_get(plugin, "provides"));
    manifest_show_set("dynamic", value_get(plugin, "dynamic"));
    manifest_show_own_effects(value_get(plugin, "effects"));
    manifest_show_text("isolation", manifest_text(plugin, "isolation"));
    if (value_is(value_get(plugin, "one_process"), TN_BOOL) && value_to_bool(value_get(plugin, "one_process")))
        manifest_show_text("processes", "one, if it is isolated");
    command_schema_members("config", value_get(plugin, "config"));
    for (size_t i = 0; components && i < value_count(components); i++) manifest_show_component(value_at(components, i));
}

static void print_manifest_mistake(void *user, const char *message) {
    (void)user;
    command_warn("%s", message);
}

int command_plugin_show(const struct arguments *arguments) {
    const char *name = operand_at(arguments, 0);
    int code = COMMAND_PLUGIN_PROBLEM;
    tn_value manifest = plugin_find_manifest(arguments, name, &code);
    if (!manifest) return code;
    code = COMMAND_OK;
    if (argument_given(arguments, "validate")) {
        if (manifest_validate(name, manifest, print_manifest_mistake, NULL)) code = COMMAND_PLUGIN_PROBLEM;
    } else if (argument_given(arguments, "json")) {
        command_print(manifest);
    } else {
        manifest_show(manifest);
    }
    value_unref(manifest);
    return code;
}

/* ---- serve ---- */

struct serve_sandbox {
    tn_value grants; /* effects that the operator grants in addition to those of the manifest */
    bool require_filter;
};

/* serve_confine: enters the sandbox. The additional effects are added to the manifest as one more component. */
static int32_t serve_enter_sandbox(void *user, tn_value manifest, const char *path, bool program, struct error *error) {
    const struct serve_sandbox *sandbox = user;
    struct sandbox_plan plan;
    tn_value granted = value_set_take(value_object_reserve(1), "effects", value_ref(sandbox->grants));
    tn_value components = manifest_components(manifest);
    tn_value all = value_push_take(components ? value_ref(components) : value_array(), granted);
    tn_value whole = value_set_take(value_ref(manifest), "components", all);
    sandbox_plan_init(&plan, whole, path, program);
    int32_t status = sandbox_enter(&plan, sandbox->require_filter, error);
    sandbox_plan_finish(&plan);
    value_unref(whole);
    return status;
}

static bool is_operation(const char *name) { return kernel_find_operation(name) != NULL; }
static bool is_method(const char *name) { return method_find(name) != NULL; }

int command_plugin_serve(const struct arguments *arguments) {
    struct serve_sandbox sandbox = {.grants = value_array(),
                                    .require_filter = argument_given(arguments, "require-filter")};
    for (size_t i = 1; i < operand_count(arguments); i++)
        sandbox.grants = value_push_take(sandbox.grants, value_text(operand_at(arguments, i)));
    return serve(&(struct serve_options){.socket = PROCESS_SOCKET,
                                         .path = operand_at(arguments, 0),
                                         .confine = serve_enter_sandbox,
                                         .confine_user = &sandbox,
                                         .interfaces = interface_table,
                                         .is_operation = is_operation,
                                         .is_method = is_method});
}

/*
 * plugin.c - `tenon plugin list`, `show` and `check`: what there is, what one says of itself, what is wrong with it.
 *
 * The first two read manifests and run nothing of a plugin; the third runs it, in a child process.
 */
#include "host/plugin/plugin.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/check/exercise.h"
#include "host/command/command.h"
#include "host/command/schema.h"
#include "host/host.h"
#include "host/isolate/process.h"
#include "host/isolate/serve.h"
#include "host/plugin/check.h"
#include "host/plugin/manifest.h"
#include "host/plugin/registry.h"
#include "host/sandbox/sandbox.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- list ---- */

static void print_component(tn_value component, const char *note) {
    command_say(stdout, "    %-8s %-28s %s%s\n", manifest_text(component, "kind"), manifest_text(component, "id"),
                manifest_text(component, "title"), note);
}

struct listing {
    const struct host *host;
    size_t count;
    tn_value told; /* [message]: what plugins are refused for */
};

static bool is_told(tn_value told, const char *message) {
    for (size_t i = 0; i < value_count(told); i++)
        if (value_text_is(value_at(told, i), message)) return true;
    return false;
}

static void print_plugin(void *user, struct plugin *plugin) {
    struct listing *listing = user;
    const struct error *refusal = plugin_refusal(plugin);
    tn_value components = manifest_components(plugin_manifest(plugin));
    if (listing->count++) putchar('\n');
    command_say(stdout, "%s %s  %s\n", plugin_id(plugin), plugin_version(plugin), plugin_title(plugin));
    command_say(stdout, "    %s (%s)\n", plugin_path(plugin), plugin_source(plugin));
    if (plugin_isolated(plugin))
        command_say(stdout, "    in a process of its own: %s\n", host_isolation_reason(listing->host, plugin));
    if (refusal) {
        command_say(stdout, "    refused: %s [%s]\n", refusal->message, refusal->code);
        listing->told = value_push_take(listing->told, value_text(refusal->message));
    }
    for (size_t i = 0; components && i < value_count(components); i++)
        print_component(value_at(components, i), refusal ? "  (refused)" : "");
}

struct json_listing {
    const struct host *host;
    tn_value list;
};

/* {id, version, title, file, source, state, isolated?, components: [{kind, id, title}], error?}, appended. */
static void list_plugin(void *user, struct plugin *plugin) {
    struct json_listing *listing = user;
    tn_value components = manifest_components(plugin_manifest(plugin)), rows = value_array();
    for (size_t i = 0; components && i < value_count(components); i++) {
        tn_value component = value_at(components, i), row = value_object_reserve(3);
        row = value_set_take(row, "kind", value_text(manifest_text(component, "kind")));
        row = value_set_take(row, "id", value_text(manifest_text(component, "id")));
        row = value_set_take(row, "title", value_text(manifest_text(component, "title")));
        rows = value_push_take(rows, row);
    }
    tn_value row = value_set_take(value_object_reserve(8), "id", value_text(plugin_id(plugin)));
    row = value_set_take(row, "version", value_text(plugin_version(plugin)));
    row = value_set_take(row, "title", value_text(plugin_title(plugin)));
    row = value_set_take(row, "file", value_text(plugin_path(plugin)));
    row = value_set_take(row, "source", value_text(plugin_source(plugin)));
    row = value_set_take(row, "state", value_text(plugin_state_name(plugin_state(plugin))));
    if (plugin_isolated(plugin))
        row = value_set_take(row, "isolated", value_text(host_isolation_reason(listing->host, plugin)));
    row = value_set_take(row, "components", rows);
    if (plugin_refusal(plugin)) row = value_set_take(row, "error", error_to_value(plugin_refusal(plugin)));
    listing->list = value_push_take(listing->list, row);
}

static tn_value problems_value(const struct registry *registry) {
    tn_value problems = value_array();
    for (size_t i = 0; i < registry_problems(registry); i++) {
        const struct problem *problem = registry_problem_at(registry, i);
        tn_value row = value_set_take(value_object_reserve(3), "file", value_text(problem->path));
        row = value_set_take(row, "code", value_text(problem->code));
        row = value_set_take(row, "message", value_text(problem->message));
        problems = value_push_take(problems, row);
    }
    return problems;
}

int command_plugin_list(const struct arguments *arguments) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    if (argument_given(arguments, "json")) {
        struct json_listing listing = {host, value_array()};
        registry_each_plugin(host->registry, list_plugin, &listing);
        tn_value all = value_set_take(value_object_reserve(2), "plugins", listing.list);
        all = value_set_take(all, "problems", problems_value(host->registry));
        command_print(all);
        value_unref(all);
    } else {
        struct listing listing = {host, 0, value_array()};
        registry_each_plugin(host->registry, print_plugin, &listing);
        for (size_t i = 0; i < registry_problems(host->registry); i++) {
            const struct problem *problem = registry_problem_at(host->registry, i);
            if (!is_told(listing.told, problem->message)) command_fail(0, "%s [%s]", problem->message, problem->code);
        }
        value_unref(listing.told);
        if (!listing.count) command_fail(0, "no plugins found; `tenon doctor` says where they are looked for");
    }
    host_free(host);
    return COMMAND_OK;
}

/* ---- show ---- */

static bool names_file(const char *text) {
    size_t length = strlen(text);
    return strchr(text, '/') || (length > 3 && strcmp(text + length - 3, ".so") == 0);
}

/* The manifest of a file, or of the plugin with that id; a new reference; NULL, with *code: said on standard error. */
static tn_value find_manifest(const struct arguments *arguments, const char *name, int *code) {
    struct error error = ERROR_INIT;
    struct manifest manifest;
    tn_value found = NULL;
    if (names_file(name)) {
        if (manifest_read(name, &manifest, &error) == TN_OK) {
            found = value_ref(manifest.value);
            manifest_finish(&manifest);
        } else {
            *code = command_fail_error(strcmp(error.code, "IO") == 0 ? COMMAND_USAGE : COMMAND_PLUGIN_PROBLEM, &error);
        }
        error_finish(&error);
        return found;
    }
    struct host *host = command_host(arguments);
    if (!host) return NULL;
    struct plugin *plugin = registry_plugin(host->registry, name);
    if (plugin)
        found = value_ref(plugin_manifest(plugin));
    else
        *code = command_fail(COMMAND_PLUGIN_PROBLEM,
                             "there is no plugin `%s`; `tenon plugin list` has those there are, and a file is named "
                             "with its folder, as in ./acme.so",
                             name);
    host_free(host);
    return found;
}

static void show_set(const char *label, tn_value set) {
    size_t count = set && value_is(set, TN_ARRAY) ? value_count(set) : 0;
    if (!count) return;
    command_say(stdout, "  %-10s", label);
    for (size_t i = 0; i < count; i++) {
        tn_value item = value_at(set, i);
        char *text = value_is(item, TN_STRING) ? mem_text(value_chars(item, NULL)) : json_text(item, JSON_COMPACT);
        command_say(stdout, "%s %s", i ? "," : "", text);
        mem_free(text);
    }
    putchar('\n');
}

static void show_text(const char *label, const char *text) {
    if (*text) command_say(stdout, "  %-10s %s\n", label, text);
}

static void show_component(tn_value component) {
    tn_value effects = value_get(component, "effects");
    command_say(stdout, "\n  %s %s  %s\n", manifest_text(component, "kind"), manifest_text(component, "id"),
                manifest_text(component, "title"));
    if (*manifest_text(component, "documentation"))
        command_say(stdout, "      %-8s %s\n", "about", manifest_text(component, "documentation"));
    command_say(stdout, "      %-8s %s\n", "style", manifest_text(component, "style"));
    if (!effects) {
        command_say(stdout, "      %-8s not declared: the worst is assumed\n", "effects");
    } else {
        char *text = json_text(effects, JSON_COMPACT);
        command_say(stdout, "      %-8s %s\n", "effects", value_count(effects) ? text : "none");
        mem_free(text);
    }
    command_schema_members("config", value_get(component, "config"));
    command_schema_members("input", value_get(component, "input"));
    command_schema_members("output", value_get(component, "output"));
}

static void show_manifest(tn_value manifest) {
    tn_value plugin = manifest_plugin(manifest), components = manifest_components(manifest);
    command_say(stdout, "%s %s  %s\n", manifest_text(plugin, "id"), manifest_text(plugin, "version"),
                manifest_text(plugin, "title"));
    show_text("about", manifest_text(plugin, "description"));
    show_text("licence", manifest_text(plugin, "licence"));
    show_text("homepage", manifest_text(plugin, "homepage"));
    show_set("authors", value_get(plugin, "authors"));
    show_text("tenon", manifest_text(plugin, "tenon"));
    show_set("requires", value_get(plugin, "requires"));
    show_set("optional", value_get(plugin, "optional"));
    show_set("provides", value_get(plugin, "provides"));
    show_set("dynamic", value_get(plugin, "dynamic"));
    show_text("isolation", manifest_text(plugin, "isolation"));
    command_schema_members("config", value_get(plugin, "config"));
    for (size_t i = 0; components && i < value_count(components); i++) show_component(value_at(components, i));
}

static void report_mistake(void *user, const char *message) {
    (void)user;
    command_fail(0, "%s", message);
}

int command_plugin_show(const struct arguments *arguments) {
    const char *name = operand_at(arguments, 0);
    int code = COMMAND_PLUGIN_PROBLEM;
    tn_value manifest = find_manifest(arguments, name, &code);
    if (!manifest) return code;
    code = COMMAND_OK;
    if (argument_given(arguments, "validate")) {
        if (manifest_validate(name, manifest, report_mistake, NULL)) code = COMMAND_PLUGIN_PROBLEM;
    } else if (argument_given(arguments, "json")) {
        command_print(manifest);
    } else {
        show_manifest(manifest);
    }
    value_unref(manifest);
    return code;
}

/* ---- check ---- */

/* A line each, behind the name that was given instead of the one path of the file that messages begin with. */
static void print_findings(const char *name, const char *path, const struct check *check) {
    size_t length = strlen(path), counts[CHECK_ERROR + 1] = {0};
    for (size_t i = 0; i < check->count; i++) {
        const struct check_finding *finding = &check->items[i];
        const char *message = finding->message;
        if (strncmp(message, path, length) == 0 && strncmp(message + length, ": ", 2) == 0) message += length + 2;
        command_say(stderr, "%s: %s[%s]: %s\n", name, check_severity_name(finding->severity), finding->code, message);
        counts[finding->severity]++;
    }
    if (check->dropped) fprintf(stderr, "and %zu more\n", check->dropped);
    if (counts[CHECK_ERROR] || counts[CHECK_WARNING])
        fprintf(stderr, "%zu error%s, %zu warning%s\n", counts[CHECK_ERROR], counts[CHECK_ERROR] == 1 ? "" : "s",
                counts[CHECK_WARNING], counts[CHECK_WARNING] == 1 ? "" : "s");
    else
        fprintf(stderr, "no problems found\n");
}

struct looked_for {
    const char *path;
    bool bundled;
};

static void look_for(void *user, struct plugin *plugin) {
    struct looked_for *looked_for = user;
    if (plugin_bundled(plugin) && strcmp(plugin_path(plugin), looked_for->path) == 0) looked_for->bundled = true;
}

int command_plugin_check(const struct arguments *arguments) {
    const char *name = operand_at(arguments, 0);
    char path[PATH_MAX];
    if (!realpath(name, path)) return command_fail(COMMAND_USAGE, "cannot open %s: %s", name, strerror(errno));
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    struct registry_options options;
    struct looked_for looked_for = {.path = path};
    registry_each_plugin(host->registry, look_for, &looked_for);
    host->allow_drafts |= looked_for.bundled;
    host_registry_options(host, &options);
    struct check check = CHECK_INIT;
    int64_t seed, timeout;
    if (!argument_number(arguments, "seed", 0, INT64_MAX, (int64_t)time(NULL), &seed) ||
        !argument_number(arguments, "timeout", 2, 3600, EXERCISE_TIMEOUT_MS / 1000, &timeout)) {
        host_free(host);
        return COMMAND_USAGE;
    }
    plugin_check(path, &options, 0, &check);
    if (check_worst(&check) != CHECK_ERROR) {
        struct exercise_options exercised = {
            .seed = (uint64_t)seed, .allow_drafts = host->allow_drafts, .timeout_ms = (int)timeout * 1000};
        exercise(path, &exercised, &check);
    }
    if (argument_given(arguments, "json")) {
        tn_value all = value_set_take(value_object_reserve(2), "file", value_text(path));
        all = value_set_take(all, "findings", check_to_value(&check));
        all = value_set_take(all, "seed", value_int(seed));
        command_print(all);
        value_unref(all);
    } else {
        print_findings(name, path, &check);
    }
    int code = check_worst(&check) == CHECK_ERROR ? COMMAND_PLUGIN_PROBLEM : COMMAND_OK;
    check_finish(&check);
    host_free(host);
    return code;
}

/* ---- serve ---- */

/* Effects that the operator grants it, beside those of its manifest: as if one component more had them. */
static tn_value serve_grants;

static int32_t confine(tn_value manifest, const char *path, bool program, struct error *error) {
    struct sandbox_plan plan;
    tn_value granted = value_set_take(value_object_reserve(1), "effects", value_ref(serve_grants));
    tn_value components = manifest_components(manifest);
    tn_value all = value_push_take(components ? value_ref(components) : value_array(), granted);
    tn_value whole = value_set_take(value_ref(manifest), "components", all);
    sandbox_plan_init(&plan, whole, path, program);
    int32_t status = sandbox_enter(&plan, error);
    sandbox_plan_finish(&plan);
    value_unref(whole);
    return status;
}

int command_plugin_serve(const struct arguments *arguments) {
    serve_grants = value_array();
    for (size_t i = 1; i < operand_count(arguments); i++)
        serve_grants = value_push_take(serve_grants, value_text(operand_at(arguments, i)));
    return serve(PROCESS_SOCKET, operand_at(arguments, 0), confine);
}

/*
 * conformance_run.c - runs a plugin's code in a forked child, where it cannot harm the check.
 *
 * The child makes a registry with only this plugin, resolves every component, requests an interface that does not
 * exist, and unloads the plugin. It writes one line for each finding: a severity, a code of the table as a letter, a
 * message; and one line for each interface that the plugin requests: "I" and its id. The exit status of the child shows
 * whether it crashed.
 */
#include "adl/value/memory.h"
#include "host/plugin/conformance/conformance_internal.h"
#include "host/plugin/registry/plugin.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- In the child ---- */

/* The state of the child process. Process-wide because registry_options.requested has no pointer to it. */
static int run_pipe_end;

static void conformance_child_report(enum conformance_severity severity, enum finding finding, const char *message) {
    conformance_child_print(run_pipe_end, "%c%c%s", '0' + (int)severity, 'A' + (int)finding, message);
}

/* [any] A line for each request; the parent knows which interfaces are drafts. */
static void conformance_child_requested(const struct plugin *plugin, const char *interface_id, bool offered) {
    (void)plugin, (void)offered;
    conformance_child_print(run_pipe_end, "I%.200s", interface_id);
}

static bool plugin_is_unused(void *plugin) { return plugin_refs(plugin) == 0 && plugin_tasks(plugin) == 0; }

static void conformance_child_check(struct registry *registry, const char *path, tn_value manifest,
                                    const struct registry_options *options, enum conformance_severity severity) {
    tn_value components = manifest_components(manifest);
    struct plugin *plugin = registry_plugin(registry, manifest_text(manifest_plugin(manifest), "id"));
    struct error error = ERROR_INIT;
    if (plugin_load(plugin, &error) != TN_OK) {
        conformance_child_report(severity, FINDING_LOAD_REFUSED, error.message);
        error_finish(&error);
        return;
    }
    for (size_t i = 0; i < value_count(components); i++) {
        struct component *component;
        tn_value row = value_at(components, i);
        if (registry_resolve(registry, manifest_text(row, "kind"), manifest_text(row, "id"), &component, &error) !=
            TN_OK)
            conformance_child_report(severity, FINDING_LOAD_REFUSED, error.message);
        error_finish(&error);
    }
    if (plugin_interface(plugin, "tenon.no-such-interface/1")) {
        char message[512];
        snprintf(message, sizeof message, "%.300s: `get` returns an interface for an unknown id; it must return NULL",
                 path);
        conformance_child_report(CONFORMANCE_ERROR, FINDING_OFFERS_ANYTHING, message);
    }
    /* Work that it started when it was loaded may need a moment to end. */
    plugin_quiesce(plugin);
    if (!plugin_is_unused(plugin) && options->settle) options->settle(options->user, plugin_is_unused, plugin);
    if (registry_unload(registry, plugin_id(plugin), NULL, NULL, &error) != TN_OK)
        conformance_child_report(CONFORMANCE_ERROR, FINDING_UNLOAD_REFUSED, error.message);
    error_finish(&error);
}

/* `hidden`: an interface that is removed from the table, or NULL. */
static _Noreturn void conformance_run_child(const char *path, tn_value manifest, const struct registry_options *options,
                                            const char *hidden) {
    size_t count = 0, kept = 0;
    conformance_child_reset_signals();
    while (options->interfaces && options->interfaces[count].id) count++;
    struct registry_interface *interfaces = mem_zalloc((count + 1) * sizeof *interfaces);
    for (size_t i = 0; i < count; i++)
        if (!hidden || strcmp(options->interfaces[i].id, hidden) != 0) interfaces[kept++] = options->interfaces[i];
    struct registry_options child_options = *options;
    if (child_options.forked) child_options.forked(child_options.user);
    child_options.interfaces = interfaces;
    if (!hidden) child_options.requested = conformance_child_requested;
    struct registry *registry = registry_new(&child_options);
    struct error error = ERROR_INIT;
    /* Without an optional interface the plugin may decline to load, but not crash. */
    enum conformance_severity severity = hidden ? CONFORMANCE_NOTE : CONFORMANCE_ERROR;
    if (registry_add_file(registry, path, "check", &error) == TN_OK)
        conformance_child_check(registry, path, manifest, options, severity);
    else
        conformance_child_report(CONFORMANCE_ERROR, FINDING_LOAD_REFUSED, error.message);
    error_finish(&error);
    registry_free(registry);
    mem_free(interfaces);
    conformance_child_exit(run_pipe_end);
}

/* ---- In the parent ---- */

/* What the parent reads of one child. */
struct run_results {
    struct conformance *conformance;
    const struct registry_options *options;
    const char *path, *with; /* with: " (with `x` hidden)", or "" */
    tn_value manifest;
    tn_value undeclared; /* interfaces that it has requested and does not list */
};

/* A fault of the manifest was already found when it was read. */
static bool conformance_has(const struct conformance *conformance, const char *message) {
    for (size_t i = 0; i < conformance->count; i++)
        if (strcmp(conformance->items[i].message, message) == 0) return true;
    return false;
}

static void run_read_line(void *user, char *line) {
    struct run_results *results = user;
    if (line[0] == 'I') {
        if (conformance_add_request(results->conformance, results->path, results->manifest, results->options, line + 1))
            results->undeclared = value_push_take(results->undeclared, value_text(line + 1));
        return;
    }
    unsigned severity = (unsigned)(line[0] - '0'), finding = line[0] ? (unsigned)(line[1] - 'A') : FINDING_COUNT;
    if (severity <= CONFORMANCE_ERROR && finding < FINDING_COUNT && !conformance_has(results->conformance, line + 2))
        conformance_add_as(results->conformance, (enum conformance_severity)severity, (enum finding)finding, "%s%s",
                           line + 2, results->with);
}

/* Returns the interfaces that it requests and does not list; a new reference. */
static tn_value conformance_run_once(const char *path, tn_value manifest, const struct registry_options *options,
                                     const char *hidden, int timeout_ms, struct conformance *conformance) {
    char with[256] = "";
    if (hidden) snprintf(with, sizeof with, " (with `%.200s` hidden)", hidden);
    struct run_results results = {conformance, options, path, with, manifest, value_array()};
    struct conformance_child child = {.path = path, .line = run_read_line, .user = &results, .limit_ms = timeout_ms};
    snprintf(child.step, sizeof child.step, "be loaded, initialised and unloaded%s", with);
    pid_t pid = conformance_fork(conformance, path, &child.pipe_end, &child.output);
    if (pid < 0) return results.undeclared;
    if (pid == 0) {
        run_pipe_end = child.pipe_end;
        conformance_run_child(path, manifest, options, hidden);
    }
    conformance_child_wait(conformance, &child, pid);
    if (child.hung)
        conformance_add(conformance, FINDING_HUNG,
                        "%s: was not loaded, initialised and unloaded within %d ms%s; init and deinit must not wait",
                        path, timeout_ms, with);
    else if (WIFSIGNALED(child.status))
        conformance_add(conformance, FINDING_CRASHED, "%s: crashed while it was loaded, initialised or unloaded%s: %s",
                        path, with, strsignal(WTERMSIG(child.status)));
    else if (!child.ended)
        conformance_add(conformance, FINDING_CRASHED,
                        "%s: ended the process while it was loaded%s, with exit status %d; a plugin returns an error "
                        "instead",
                        path, with, WEXITSTATUS(child.status));
    if (!hidden && child.printed > 0)
        conformance_add(conformance, FINDING_STDOUT,
                        "%s: wrote %lld bytes to standard output when it was loaded, which is for results; use "
                        "tn_core_1.log",
                        path, child.printed);
    return results.undeclared;
}

static void conformance_run_hidden(const char *path, tn_value manifest, const struct registry_options *options,
                                   tn_value interfaces, int timeout_ms, struct conformance *conformance) {
    for (size_t i = 0; i < value_count(interfaces); i++) {
        const char *id = value_chars(value_at(interfaces, i), NULL);
        for (const struct registry_interface *row = options->interfaces; row && row->id; row++)
            if (strcmp(row->id, id) == 0)
                value_unref(conformance_run_once(path, manifest, options, id, timeout_ms, conformance));
    }
}

void conformance_run(const char *path, tn_value manifest, const struct registry_options *options, int timeout_ms,
                     struct conformance *conformance) {
    tn_value optional = value_get(manifest_plugin(manifest), "optional");
    size_t before = conformance->count;
    tn_value undeclared = conformance_run_once(path, manifest, options, NULL, timeout_ms, conformance);
    bool failed = false; /* then the next check would fail for the same reason */
    for (size_t i = before; i < conformance->count; i++) failed |= conformance->items[i].severity == CONFORMANCE_ERROR;
    if (!failed) {
        conformance_run_hidden(path, manifest, options, optional, timeout_ms, conformance);
        conformance_run_hidden(path, manifest, options, undeclared, timeout_ms, conformance);
    }
    value_unref(undeclared);
}

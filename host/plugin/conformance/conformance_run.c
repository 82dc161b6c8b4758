/*
 * conformance_run.c - runs a plugin's code in a forked child, where it cannot harm the check.
 *
 * The child makes a registry with only this plugin, resolves every component, requests an interface that does not
 * exist, and unloads the plugin. It writes one line for each finding to a pipe: a severity, an index into the table of
 * codes below, a message. The exit status of the child shows whether it crashed. Its standard output is a separate
 * file: a plugin must not write to standard output, which is for results.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/plugin/conformance/conformance_internal.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Codes of the findings of a child; the pipe carries their index as one digit. */
static const char *const run_codes[] = {"LOAD_REFUSED", "OFFERS_ANYTHING", "UNLOAD_REFUSED"};
enum { LOAD_REFUSED, OFFERS_ANYTHING, UNLOAD_REFUSED };

/* ---- In the child ---- */

static void conformance_child_report(int pipe_end, enum conformance_severity severity, int code, const char *message) {
    struct buffer line;
    buffer_init(&line, 8192);
    buffer_format(&line, "%c%c", '0' + (int)severity, '0' + code);
    for (; *message; message++) buffer_char(&line, *message == '\n' ? ' ' : *message);
    buffer_char(&line, '\n');
    for (size_t done = 0; done < line.length;) {
        ssize_t wrote = write(pipe_end, line.data + done, line.length - done);
        if (wrote < 0 && errno != EINTR) _exit(1);
        if (wrote > 0) done += (size_t)wrote;
    }
    buffer_finish(&line);
}

static bool plugin_is_unused(void *plugin) { return plugin_refs(plugin) == 0 && plugin_tasks(plugin) == 0; }

static void conformance_child_check(int pipe_end, struct registry *registry, const char *path, tn_value manifest,
                                    const struct registry_options *options, enum conformance_severity severity) {
    tn_value components = manifest_components(manifest);
    struct plugin *plugin = registry_plugin(registry, manifest_text(manifest_plugin(manifest), "id"));
    struct error error = ERROR_INIT;
    if (plugin_load(plugin, &error) != TN_OK) {
        conformance_child_report(pipe_end, severity, LOAD_REFUSED, error.message);
        error_finish(&error);
        return;
    }
    for (size_t i = 0; i < value_count(components); i++) {
        struct component *component;
        tn_value row = value_at(components, i);
        if (registry_resolve(registry, manifest_text(row, "kind"), manifest_text(row, "id"), &component, &error) !=
            TN_OK)
            conformance_child_report(pipe_end, severity, LOAD_REFUSED, error.message);
        error_finish(&error);
    }
    if (plugin_interface(plugin, "tenon.no-such-interface/1")) {
        char message[512];
        snprintf(message, sizeof message, "%.300s: `get` returns an interface for an unknown id; it must return NULL",
                 path);
        conformance_child_report(pipe_end, CONFORMANCE_ERROR, OFFERS_ANYTHING, message);
    }
    /* Work that it started when it was loaded may need a moment to end. */
    plugin_quiesce(plugin);
    if (!plugin_is_unused(plugin) && options->settle) options->settle(options->user, plugin_is_unused, plugin);
    if (registry_unload(registry, plugin_id(plugin), NULL, NULL, &error) != TN_OK)
        conformance_child_report(pipe_end, CONFORMANCE_ERROR, UNLOAD_REFUSED, error.message);
    error_finish(&error);
}

/* `hidden`: an interface that is removed from the table, or NULL. */
static _Noreturn void conformance_run_child(int pipe_end, const char *path, tn_value manifest,
                                            const struct registry_options *options, const char *hidden) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    size_t count = 0, kept = 0;
    /* Reset the handlers: those of the parent must not run in the child. */
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], SIG_DFL);
    while (options->interfaces && options->interfaces[count].id) count++;
    struct registry_interface *interfaces = mem_zalloc((count + 1) * sizeof *interfaces);
    for (size_t i = 0; i < count; i++)
        if (!hidden || strcmp(options->interfaces[i].id, hidden) != 0) interfaces[kept++] = options->interfaces[i];
    struct registry_options child_options = *options;
    if (child_options.forked) child_options.forked(child_options.user);
    child_options.interfaces = interfaces;
    struct registry *registry = registry_new(&child_options);
    struct error error = ERROR_INIT;
    /* Without an optional interface the plugin may decline to load, but not crash. */
    enum conformance_severity severity = hidden ? CONFORMANCE_NOTE : CONFORMANCE_ERROR;
    if (registry_add_file(registry, path, "check", &error) == TN_OK)
        conformance_child_check(pipe_end, registry, path, manifest, options, severity);
    else
        conformance_child_report(pipe_end, CONFORMANCE_ERROR, LOAD_REFUSED, error.message);
    error_finish(&error);
    registry_free(registry);
    mem_free(interfaces);
    fflush(stdout); /* the output of the plugin is a finding; that of a sanitizer's exit hooks is not */
    _exit(0);
}

/* ---- In the parent ---- */

pid_t conformance_fork(struct conformance *conformance, const char *path, int *pipe_end, int *output) {
    int ends[2];
    pid_t pid = -1;
    *output = memfd_create("tenon-check", MFD_CLOEXEC);
    bool piped = *output >= 0 && pipe2(ends, O_CLOEXEC) == 0;
    if (piped) {
        fflush(NULL); /* otherwise the child would write the buffered output a second time */
        pid = fork();
    }
    if (pid < 0)
        conformance_add(conformance, CONFORMANCE_ERROR, "CHECK",
                        "%s: the child process for the check cannot be started: %s", path, strerror(errno));
    if (pid < 0 && *output >= 0) close(*output);
    if (pid == 0) dup2(*output, STDOUT_FILENO);
    if (piped) {
        *pipe_end = ends[pid == 0];
        close(ends[pid != 0]);
        if (pid < 0) close(*pipe_end);
    }
    return pid;
}

/* Reads until the pipe is closed. Returns false if the time is up, or if there is too much. */
static bool read_report(int pipe_end, int timeout_ms, struct buffer *out) {
    int64_t end = clock_now_ms() + timeout_ms;
    char bytes[4096];
    for (;;) {
        int64_t left = end - clock_now_ms();
        struct pollfd ready = {.fd = pipe_end, .events = POLLIN};
        int got = left > 0 ? poll(&ready, 1, (int)left) : 0;
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        ssize_t length = read(pipe_end, bytes, sizeof bytes);
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) return length == 0;
        buffer_append(out, bytes, (size_t)length);
        if (out->overflow) return false;
    }
}

/* A fault of the manifest was already found when it was read. */
static bool conformance_has(const struct conformance *conformance, const char *message) {
    for (size_t i = 0; i < conformance->count; i++)
        if (strcmp(conformance->items[i].message, message) == 0) return true;
    return false;
}

static void conformance_add_report(struct conformance *conformance, char *text, const char *with) {
    for (char *line = text, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = 0;
        unsigned severity = (unsigned)(line[0] - '0'), code = line[0] ? (unsigned)(line[1] - '0') : 99;
        if (severity > CONFORMANCE_ERROR || code >= sizeof run_codes / sizeof *run_codes)
            continue; /* the plugin wrote to the pipe */
        if (!conformance_has(conformance, line + 2))
            conformance_add(conformance, (enum conformance_severity)severity, run_codes[code], "%s%s", line + 2, with);
    }
}

static void conformance_run_once(const char *path, tn_value manifest, const struct registry_options *options,
                                 const char *hidden, int timeout_ms, struct conformance *conformance) {
    int pipe_end, output, state = 0;
    char with[256] = "";
    if (hidden) snprintf(with, sizeof with, " (with `%.200s` hidden)", hidden);
    pid_t pid = conformance_fork(conformance, path, &pipe_end, &output);
    if (pid < 0) return;
    if (pid == 0) conformance_run_child(pipe_end, path, manifest, options, hidden);
    struct buffer text;
    buffer_init(&text, CONFORMANCE_REPORT_MAX);
    bool ended = read_report(pipe_end, timeout_ms, &text);
    close(pipe_end);
    if (!ended) kill(pid, SIGKILL);
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) continue;
    if (text.data) conformance_add_report(conformance, text.data, with);
    struct stat written;
    if (!ended)
        conformance_add(conformance, CONFORMANCE_ERROR, "HUNG",
                        "%s: was not loaded, initialised and unloaded within %d ms%s; init and deinit must not wait",
                        path, timeout_ms, with);
    else if (WIFSIGNALED(state))
        conformance_add(conformance, CONFORMANCE_ERROR, "CRASHED",
                        "%s: crashed while it was loaded, initialised or unloaded%s: %s", path, with,
                        strsignal(WTERMSIG(state)));
    else if (WEXITSTATUS(state) != 0)
        conformance_add(conformance, CONFORMANCE_ERROR, "CRASHED",
                        "%s: ended the process while it was loaded%s: exit status %d", path, with, WEXITSTATUS(state));
    if (!hidden && fstat(output, &written) == 0 && written.st_size > 0)
        conformance_add(conformance, CONFORMANCE_WARNING, "STDOUT",
                        "%s: wrote %lld bytes to standard output, which is for results; use tn_core_1.log", path,
                        (long long)written.st_size);
    buffer_finish(&text);
    close(output);
}

void conformance_run(const char *path, tn_value manifest, const struct registry_options *options, int timeout_ms,
                     struct conformance *conformance) {
    static const struct registry_options nothing;
    tn_value optional = value_get(manifest_plugin(manifest), "optional");
    if (!options) options = &nothing;
    size_t before = conformance->count;
    conformance_run_once(path, manifest, options, NULL, timeout_ms, conformance);
    for (size_t i = before; i < conformance->count; i++)
        if (conformance->items[i].severity == CONFORMANCE_ERROR)
            return; /* the next check would fail for the same reason */
    for (size_t i = 0; i < value_count(optional); i++) {
        const char *id = value_chars(value_at(optional, i), NULL);
        for (const struct registry_interface *row = options->interfaces; row && row->id; row++)
            if (strcmp(row->id, id) == 0) conformance_run_once(path, manifest, options, id, timeout_ms, conformance);
    }
}

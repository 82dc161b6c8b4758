/*
 * check_run.c - a plugin's code run where it can do no harm to the check: in a forked child.
 *
 * The child makes a registry with this one plugin, resolves every component, asks for what no plugin has, and unloads
 * it. What it finds goes through a pipe, one line each: a severity, a code of the table below, a message. How the child
 * ends says the rest. Its standard output is a file of its own: a plugin must not write there, since results go there.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/clock.h"
#include "host/plugin/check_internal.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include "host/plugin/plugin_internal.h"
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

/* Codes that a child reports, by index: what crosses the pipe is a digit. */
static const char *const codes[] = {"LOAD_REFUSED", "OFFERS_ANYTHING", "UNLOAD_REFUSED"};
enum { LOAD_REFUSED, OFFERS_ANYTHING, UNLOAD_REFUSED };

/* ---- In the child ---- */

static void report(int pipe_end, enum check_severity severity, int code, const char *message) {
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

static bool is_unused(void *plugin) { return plugin_refs(plugin) == 0 && plugin_tasks(plugin) == 0; }

static void child_components(int pipe_end, struct registry *registry, const char *path, tn_value manifest,
                             const struct registry_options *options, enum check_severity severity) {
    tn_value components = manifest_components(manifest);
    struct plugin *plugin = registry_plugin(registry, manifest_text(manifest_plugin(manifest), "id"));
    struct error error = ERROR_INIT;
    if (plugin_load(plugin, &error) != TN_OK) {
        report(pipe_end, severity, LOAD_REFUSED, error.message);
        error_finish(&error);
        return;
    }
    for (size_t i = 0; i < value_count(components); i++) {
        struct component *component;
        tn_value row = value_at(components, i);
        if (registry_resolve(registry, manifest_text(row, "kind"), manifest_text(row, "id"), &component, &error) !=
            TN_OK)
            report(pipe_end, severity, LOAD_REFUSED, error.message);
        error_finish(&error);
    }
    if (plugin_interface(plugin, "tenon.no-such-interface/1")) {
        char message[512];
        snprintf(message, sizeof message,
                 "%.300s: its get gives an interface for an id that nobody has defined; it must give NULL", path);
        report(pipe_end, CHECK_ERROR, OFFERS_ANYTHING, message);
    }
    /* What it began when it was loaded may need a moment to end. */
    plugin_quiesce(plugin);
    if (!is_unused(plugin) && options->settle) options->settle(options->user, is_unused, plugin);
    if (registry_unload(registry, plugin_id(plugin), NULL, NULL, &error) != TN_OK)
        report(pipe_end, CHECK_ERROR, UNLOAD_REFUSED, error.message);
    error_finish(&error);
}

/* `hidden` is an interface that this host is to lack, or NULL. */
static _Noreturn void child(int pipe_end, const char *path, tn_value manifest, const struct registry_options *options,
                            const char *hidden) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    size_t count = 0, kept = 0;
    /* Handlers of this process would go on with its work in the child. */
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], SIG_DFL);
    while (options->interfaces && options->interfaces[count].id) count++;
    struct registry_interface *interfaces = mem_zalloc((count + 1) * sizeof *interfaces);
    for (size_t i = 0; i < count; i++)
        if (!hidden || strcmp(options->interfaces[i].id, hidden) != 0) interfaces[kept++] = options->interfaces[i];
    struct registry_options mine = *options;
    if (mine.forked) mine.forked(mine.user);
    mine.interfaces = interfaces;
    struct registry *registry = registry_new(&mine);
    struct error error = ERROR_INIT;
    /* With something hidden, declining is an answer; crashing is none. */
    enum check_severity severity = hidden ? CHECK_NOTE : CHECK_ERROR;
    if (registry_add_file(registry, path, "check", &error) == TN_OK)
        child_components(pipe_end, registry, path, manifest, options, severity);
    else
        report(pipe_end, CHECK_ERROR, LOAD_REFUSED, error.message);
    error_finish(&error);
    registry_free(registry);
    mem_free(interfaces);
    fflush(stdout); /* what the plugin printed counts; a sanitizer's exit hooks do not */
    _exit(0);
}

/* ---- In the parent ---- */

/* Everything until the pipe is closed; false past the time, or the bound. */
static bool drain(int pipe_end, int timeout_ms, struct buffer *out) {
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

/* What the manifest is refused for has been found already. */
static bool is_known(const struct check *check, const char *message) {
    for (size_t i = 0; i < check->count; i++)
        if (strcmp(check->items[i].message, message) == 0) return true;
    return false;
}

static void take_report(struct check *check, char *text, const char *with) {
    for (char *line = text, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = 0;
        unsigned severity = (unsigned)(line[0] - '0'), code = line[0] ? (unsigned)(line[1] - '0') : 99;
        if (severity > CHECK_ERROR || code >= sizeof codes / sizeof *codes) continue; /* the plugin wrote into it */
        if (!is_known(check, line + 2))
            check_add(check, (enum check_severity)severity, codes[code], "%s%s", line + 2, with);
    }
}

static void run_once(const char *path, tn_value manifest, const struct registry_options *options, const char *hidden,
                     int timeout_ms, struct check *check) {
    int ends[2], output = memfd_create("tenon-check", MFD_CLOEXEC), state = 0;
    char with[256] = "";
    if (hidden) snprintf(with, sizeof with, " (with `%.200s` hidden)", hidden);
    if (output < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        check_add(check, CHECK_ERROR, "CHECK", "%s: cannot be run for the check: %s", path, strerror(errno));
        if (output >= 0) close(output);
        return;
    }
    fflush(NULL); /* or the child would write what is waiting a second time */
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        dup2(output, STDOUT_FILENO);
        child(ends[1], path, manifest, options, hidden);
    }
    close(ends[1]);
    struct buffer text;
    buffer_init(&text, CHECK_REPORT_MAX);
    bool ended = pid > 0 && drain(ends[0], timeout_ms, &text);
    close(ends[0]);
    if (pid < 0) {
        check_add(check, CHECK_ERROR, "CHECK", "%s: cannot be run for the check: %s", path, strerror(errno));
    } else {
        if (!ended) kill(pid, SIGKILL);
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) continue;
        if (text.data) take_report(check, text.data, with);
        struct stat written;
        if (!ended)
            check_add(check, CHECK_ERROR, "HUNG",
                      "%s: was not loaded, initialised and ended within %d ms%s; init and deinit must not wait", path,
                      timeout_ms, with);
        else if (WIFSIGNALED(state))
            check_add(check, CHECK_ERROR, "CRASHED", "%s: crashed while it was loaded, initialised or ended%s: %s",
                      path, with, strsignal(WTERMSIG(state)));
        else if (WEXITSTATUS(state) != 0)
            check_add(check, CHECK_ERROR, "CRASHED", "%s: ended the process while it was loaded%s: exit status %d",
                      path, with, WEXITSTATUS(state));
        if (!hidden && fstat(output, &written) == 0 && written.st_size > 0)
            check_add(check, CHECK_WARNING, "STDOUT",
                      "%s: wrote %lld bytes to standard output, which is for results; use tn_core_1.log", path,
                      (long long)written.st_size);
    }
    buffer_finish(&text);
    close(output);
}

void check_run(const char *path, tn_value manifest, const struct registry_options *options, int timeout_ms,
               struct check *check) {
    static const struct registry_options nothing;
    tn_value optional = value_get(manifest_plugin(manifest), "optional");
    if (!options) options = &nothing;
    size_t before = check->count;
    run_once(path, manifest, options, NULL, timeout_ms, check);
    for (size_t i = before; i < check->count; i++)
        if (check->items[i].severity == CHECK_ERROR) return; /* with less it would fail for the same reason */
    for (size_t i = 0; i < value_count(optional); i++) {
        const char *id = value_chars(value_at(optional, i), NULL);
        for (const struct registry_interface *row = options->interfaces; row && row->id; row++)
            if (strcmp(row->id, id) == 0) run_once(path, manifest, options, id, timeout_ms, check);
    }
}

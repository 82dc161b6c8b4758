/*
 * command_plugin_check.c - `tenon plugin check`: runs the checks of plugin/conformance, and prints their findings.
 *
 * While they run, standard error shows the current step: on a terminal as one line that changes, otherwise as a plain
 * line now and then, so that a check that takes long does not look dead.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/exercise_host.h"
#include "host/assembly/host.h"
#include "host/base/clock.h"
#include "host/plugin/conformance/conformance.h"
#include "host/plugin/conformance/conformance_store.h"
#include "host/plugin/conformance/exercise.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/program/command.h"
#include "host/server/server.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SHOW_AFTER_MS  300 /* on a terminal: a check that is shorter shows nothing */
#define SHOW_EVERY_MS  100
#define PRINT_EVERY_MS 5000 /* elsewhere: one line */

/* ---- Progress ---- */

struct check_progress {
    const char *name;
    bool terminal, shown; /* shown: the line is on the screen */
    int64_t start_ms, next_ms;
};

/* The columns of the terminal, 80 if they are unknown. */
static int terminal_columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void progress_clear(struct check_progress *progress) {
    if (progress->shown) fputs("\r\033[K", stderr);
    progress->shown = false;
}

/* The length of the longest part of the text that has at most `columns` characters, without a control character. */
static int fitting_length(const char *text, int columns) {
    int length = 0;
    for (; text[length]; length++) {
        if ((unsigned char)text[length] < ' ' || text[length] == 127) break;
        if (((unsigned char)text[length] & 0xc0) != 0x80 && columns-- == 0) break;
    }
    return length;
}

static void on_progress(void *user, const char *step) {
    struct check_progress *progress = user;
    int64_t now = clock_now_ms(), seconds = (now - progress->start_ms) / 1000;
    if (now < progress->next_ms) return;
    progress->next_ms = now + (progress->terminal ? SHOW_EVERY_MS : PRINT_EVERY_MS);
    char line[512];
    (void)snprintf(line, sizeof line, "%s: still checking after %lld s: it has to %s", progress->name,
                   (long long)seconds, step);
    progress_clear(progress);
    int length = fitting_length(line, progress->terminal ? terminal_columns() - 1 : 200);
    fprintf(stderr, "%.*s%s", length, line, progress->terminal ? "" : line[length] ? "…\n" : "\n");
    progress->shown = progress->terminal;
}

/* ---- Findings ---- */

/* Prints one line per finding. Messages begin with the file's path; the name that the user gave replaces it. */
static void print_findings(const char *name, const char *path, const struct conformance *check) {
    size_t length = strlen(path), counts[CONFORMANCE_ERROR + 1] = {0};
    for (size_t i = 0; i < check->count; i++) {
        const struct conformance_finding *finding = &check->items[i];
        const char *message = finding->message;
        if (strncmp(message, path, length) == 0 && strncmp(message + length, ": ", 2) == 0) message += length + 2;
        command_printf(stderr, "%s: %s[%s]: %s\n", name, conformance_severity_name(finding->severity), finding->code,
                       message);
        counts[finding->severity]++;
    }
    if (check->dropped) fprintf(stderr, "and %zu more\n", check->dropped);
    if (counts[CONFORMANCE_ERROR] || counts[CONFORMANCE_WARNING])
        fprintf(stderr, "%zu error%s, %zu warning%s; `tenon reference findings` explains them\n",
                counts[CONFORMANCE_ERROR], counts[CONFORMANCE_ERROR] == 1 ? "" : "s", counts[CONFORMANCE_WARNING],
                counts[CONFORMANCE_WARNING] == 1 ? "" : "s");
    else
        fprintf(stderr, "no problems found\n");
}

/* ---- The command ---- */

/* The id of the plugin in the file, for mem_free; NULL if its manifest cannot be read, which the check reports. */
static char *check_plugin_id(const char *path) {
    struct manifest manifest;
    if (manifest_read(path, &manifest, NULL) != TN_OK) return NULL;
    char *id = mem_text(manifest_text(manifest_plugin(manifest.value), "id"));
    manifest_finish(&manifest);
    return id;
}

/*
 * Makes the path absolute. The last link is not followed if the manifest of a program is beside it, as when a host
 * starts the program.
 */
static bool check_path(const char *name, char path[PATH_MAX]) {
    char folder[PATH_MAX];
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    if (!manifest_is_program(name)) return realpath(name, path) != NULL;
    if (access(name, F_OK) != 0) return false;
    char *above = slash ? mem_text_n(name, slash == name ? 1 : (size_t)(slash - name)) : mem_text(".");
    bool found = realpath(above, folder) != NULL;
    mem_free(above);
    return found && snprintf(path, PATH_MAX, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, last) < PATH_MAX;
}

/*
 * With a server, so that a plugin that uses tenon.host has methods. They act on this host only: documents have no other
 * components, threads are in its store, and no operator allows methods that change the host.
 */
static bool check_open(const char *path, const char *isolated, bool allow_drafts, struct exercise_host *out,
                       struct error *error) {
    bool opened = exercise_host_open(path, isolated, allow_drafts, out, error);
    if (opened) server_new(out->host);
    return opened;
}

static void check_run(struct host *host, const char *path, const char *id, int64_t seed, int64_t seconds,
                      tn_value store, struct conformance *check) {
    struct registry_options options;
    tn_value memory = value_set_take(value_object(), "use", value_text("memory"));
    /* Methods that the plugin calls when it is initialised never reach the user's store. */
    host_set_store_options_take(host, value_set_take(memory, "path", value_text("check")));
    /* It is bundled, or tenon.yaml or an option allows them. */
    bool drafts = search_is_installed(path) || (id && host_allows_drafts(host, id));
    if (drafts) host_allow_drafts(host);
    host_registry_options(host, &options);
    conformance_check(path, &options, 0, check);
    if (conformance_worst(check) == CONFORMANCE_ERROR) return; /* a host would not use it */
    struct exercise_options exercised = {.open = check_open,
                                         .close = exercise_host_close,
                                         .registry = &options,
                                         .seed = (uint64_t)seed,
                                         .allow_drafts = drafts,
                                         .timeout_ms = (int)seconds * 1000,
                                         .store = store};
    exercise(path, &exercised, check);
    conformance_store(path, &exercised, check);
}

int command_plugin_check(const struct arguments *arguments) {
    const char *name = operand_at(arguments, 0);
    char path[PATH_MAX];
    int64_t seed, seconds;
    if (!check_path(name, path)) return command_report(COMMAND_USAGE, "cannot open %s: %s", name, strerror(errno));
    if (!argument_number(arguments, "seed", 0, INT64_MAX, (int64_t)time(NULL), &seed) ||
        !argument_number(arguments, "timeout", 2, 3600, EXERCISE_TIMEOUT_MS / 1000, &seconds))
        return COMMAND_USAGE;
    tn_value store = NULL;
    const char *text = argument_text(arguments, "store");
    if (text && (json_read(text, strlen(text), NULL, &store, NULL) != TN_OK || !value_is(store, TN_OBJECT))) {
        value_unref(store);
        return command_report(COMMAND_USAGE, "--store: expected a JSON object with the options of the store");
    }
    char *id = check_plugin_id(path);
    struct host *host = command_host_for_plugin(arguments, id);
    if (!host) {
        value_unref(store);
        mem_free(id);
        return COMMAND_PLUGIN_PROBLEM;
    }
    struct check_progress progress = {.name = name, .terminal = command_colour(arguments, STDERR_FILENO)};
    struct conformance check = CONFORMANCE_INIT;
    progress.terminal = progress.terminal && isatty(STDERR_FILENO);
    progress.start_ms = clock_now_ms();
    progress.next_ms = progress.start_ms + (progress.terminal ? SHOW_AFTER_MS : PRINT_EVERY_MS);
    if (!argument_given(arguments, "quiet")) {
        check.progress = on_progress;
        check.user = &progress;
    }
    check_run(host, path, id, seed, seconds, store, &check);
    progress_clear(&progress);
    if (argument_given(arguments, "json")) {
        tn_value all = value_set_take(value_object_reserve(3), "file", value_text(path));
        all = value_set_take(all, "findings", conformance_to_value(&check));
        all = value_set_take(all, "seed", value_int(seed));
        command_print(all);
        value_unref(all);
    } else {
        print_findings(name, path, &check);
    }
    int code = conformance_worst(&check) == CONFORMANCE_ERROR ? COMMAND_PLUGIN_PROBLEM : COMMAND_OK;
    conformance_finish(&check);
    host_free(host);
    value_unref(store);
    mem_free(id);
    return code;
}

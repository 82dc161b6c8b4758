/*
 * conformance_internal.h - shared by conformance.c (the findings, the file), conformance_manifest.c (the manifest),
 * conformance_run.c (loads the plugin), exercise.c (calls its components) and conformance_child.c (the processes of the
 * last two).
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_CONFORMANCE_INTERNAL_H
#define TENON_HOST_PLUGIN_CONFORMANCE_CONFORMANCE_INTERNAL_H

#include "host/plugin/conformance/conformance.h"
#include "host/plugin/registry/manifest.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- conformance.c ---- */

void conformance_add(struct conformance *conformance, enum finding finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with another severity than that of the table. */
void conformance_add_as(struct conformance *conformance, enum conformance_severity severity, enum finding finding,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- conformance_manifest.c ---- */

/* Reads and checks the manifest. Returns false if no host would load the plugin: then there is nothing more to do. */
bool conformance_check_manifest(const char *path, const struct registry_options *options,
                                struct conformance *conformance, struct manifest *out);
/* Reports a draft interface that the plugin `id` uses: as a note if it is allowed. Each interface is reported once. */
void conformance_add_draft(struct conformance *conformance, const char *path, const char *id, const char *interface_id,
                           bool allowed);
/*
 * The plugin with this manifest requests an interface: reports a draft, and a released one that the manifest does not
 * list. Each interface is reported once. Returns true if it has reported a released one.
 */
bool conformance_add_request(struct conformance *conformance, const char *path, tn_value manifest,
                             const struct registry_options *options, const char *interface_id);
/* True if the interface is a draft. */
bool conformance_is_draft(const struct registry_options *options, const char *interface_id);
bool conformance_allows_drafts(const struct registry_options *options, const char *id);

/* ---- conformance_run.c ---- */

/* Loads the plugin in child processes; adds their findings, and how they ended. */
void conformance_run(const char *path, tn_value manifest, const struct registry_options *options, int timeout_ms,
                     struct conformance *conformance);

/* ---- conformance_child.c ---- */

#define CONFORMANCE_LINE_MAX 8192u /* bytes of a line of a child's report; longer ones are dropped */
#define CONFORMANCE_TICK_MS  100   /* how often the limits are checked */

/*
 * A child process that writes a report, in lines. The last line is "E". Its standard output is a file: a plugin must
 * not write to it, because it is for results.
 */
struct conformance_child {
    int pipe_end; /* in the child: the writing end; in the parent: the reading end */
    int output;
    const char *path;
    /* Handles a line; the line end is removed. A plugin may find the pipe and write to it: believe nothing. */
    void (*line)(void *user, char *line);
    void *user;
    int64_t limit_ms;                /* for everything */
    int64_t silence_max_ms;          /* between two lines; `line` may change it. 0: no limit */
    char step[CONFORMANCE_LINE_MAX]; /* what the plugin has to do now; `line` may change it */
    /* Set by conformance_child_wait. */
    bool ended;        /* it wrote the last line */
    bool hung;         /* a limit was exceeded */
    int status;        /* of waitpid */
    long long printed; /* bytes on its standard output */
};

/*
 * Forks. *pipe_end is the child's writing end of a pipe, and the parent's reading end. In the child, standard output is
 * a file, which the parent has as *output. Returns what fork returns. If it is -1, a finding was added, and nothing is
 * open.
 */
pid_t conformance_fork(struct conformance *conformance, const char *path, int *pipe_end, int *output);
/*
 * In the parent: reads the report until its last line, until the child has ended, or until a limit is exceeded; then
 * the child is killed. Time during which the child or this process was stopped does not count.
 */
void conformance_child_wait(struct conformance *conformance, struct conformance_child *child, pid_t pid);
/* In the child: writes one line; line ends in it become spaces. */
void conformance_child_write(int pipe_end, const char *prefix, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
void conformance_child_print(int pipe_end, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* In the child: restores the default handling of the signals of crashes, which the parent handles. */
void conformance_child_reset_signals(void);
/* In the child: reports the end and ends the process, without its exit handlers. */
_Noreturn void conformance_child_exit(int pipe_end);

#endif

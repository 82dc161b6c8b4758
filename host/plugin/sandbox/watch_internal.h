/*
 * watch_internal.h - shared by the files of the watch process: deciding (watch.c), paths of the calling process
 * (watch_path.c), lines of the log (watch_log.c), calls that it answers (watch_answer.c), memory (watch_memory.c).
 */
#ifndef TENON_HOST_PLUGIN_SANDBOX_WATCH_INTERNAL_H
#define TENON_HOST_PLUGIN_SANDBOX_WATCH_INTERNAL_H

#include "host/plugin/sandbox/plan.h"
#include "host/plugin/sandbox/syscalls.h"
#include <limits.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Descriptors in the watch process: the seccomp listener, a pidfd of the host, the socket of syscall_watch_attach. */
enum { LISTENER = 0, HOST = 1, SOCKET = 3 };

/* The state of the watch process. */
struct watch_state {
    const struct sandbox_plan *plan;
    pid_t plugin;
    pid_t
        group; /* the process group of the plugin and its children, which cannot leave it; this process is not in it */
    bool landlocked;
    unsigned lines;     /* refusals that were logged */
    uint64_t memory;    /* bytes that the plugin's process may use */
    char cwd[PATH_MAX]; /* the folder in which the plugin was started; empty if unknown */
};

/* One notification: the call that a process of the plugin is trying to make. */
struct watch_notice {
    const struct watch_state *watch;
    const struct syscall_rule *rule;
    const struct seccomp_data *data;
    pid_t pid; /* of the thread that makes it */
    uint64_t id;
};

/* ---- watch_path.c ---- */

/* Copies a text from the memory of process `pid`. Returns false with errno if it cannot be read. */
bool watch_read_text(pid_t pid, uint64_t address, char out[PATH_MAX]);
/* The process that /proc/self means for the caller. For a thread of the plugin, the plugin's pid: the plan grants that.
 */
pid_t notice_self_pid(const struct watch_notice *notice);
/* Translates a path of the calling process into one that resolves the same way in this process. */
bool notice_absolute_path(const struct watch_notice *notice, int folder, const char *path, char out[PATH_MAX]);

enum path_state { PATH_EXISTS, PATH_CREATABLE, PATH_UNRESOLVED };

/*
 * Resolves a path; `follow` says whether to follow a link in its last component. PATH_CREATABLE: the folder exists, the
 * file does not.
 */
enum path_state watch_resolve_path(const char *path, bool follow, char out[PATH_MAX]);
bool watch_is_plugin_process(const struct watch_state *watch, pid_t pid);
/* True if the plan grants `access` to the path, and the path is not about a process that is not the plugin's. */
bool watch_is_granted(const struct watch_state *watch, const char *path, uint32_t access);

/* ---- watch_log.c ---- */

void watch_log_call(struct watch_state *watch, const struct watch_notice *notice);
void watch_log_path(struct watch_state *watch, const struct watch_notice *notice, const char *path, uint32_t access);

/* ---- watch_answer.c ---- */

/*
 * Performs readlink or getcwd for the plugin. Returns 0 with *result, the call's result, or the errno it fails with, or
 * WATCH_CONTINUE if the kernel must perform the call because the memory of the calling process is not accessible.
 */
int watch_answer_link(struct watch_state *watch, const struct watch_notice *notice, int64_t *result);
int watch_answer_cwd(struct watch_state *watch, const struct watch_notice *notice, int64_t *result);
#define WATCH_CONTINUE (-1)

/* ---- watch_memory.c ---- */

#define WATCH_MEMORY_MS 1000 /* time between two checks */

/* The bytes that the plugin may use: of the limit that it will have, and of what an outer limit leaves. */
uint64_t watch_memory_limit(void);
/* True, with a line in the log, if the plugin's process uses more memory than the limit. */
bool watch_memory_exceeded(const struct watch_state *watch);

#endif

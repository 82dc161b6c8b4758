/*
 * sandbox.h - a process permanently drops the rights that its plan does not grant.
 *
 * Three independent layers: a filter of system calls (seccomp, filter.h), a list of files (Landlock, landlock.h), and
 * limits (rlimits, no_new_privs, no capabilities). Outside the sandbox, a small process (watch.h) logs one line for
 * each refusal, `sandbox: refused socket(AF_INET): …`, and kills the group when the host has ended. Enter the sandbox
 * before any code of the plugin runs: neither the process nor its threads and children can leave it.
 *
 *     struct sandbox_plan plan;
 *     sandbox_plan_init(&plan, manifest, path, false);
 *     if (sandbox_enter(&plan, false, &error) != TN_OK) return report(&error);
 *     sandbox_plan_finish(&plan);
 *
 * The process must have only one thread. Only the tenon program links the sandbox; libtenon does not need libseccomp.
 * A build without libseccomp (TENON_SECCOMP=OFF) has no filter and no watch.
 */
#ifndef TENON_HOST_PLUGIN_SANDBOX_SANDBOX_H
#define TENON_HOST_PLUGIN_SANDBOX_SANDBOX_H

#include "adl/value/error.h"
#include "host/plugin/sandbox/plan.h"

#define SANDBOX_MEMORY_MAX (4ull << 30)  /* bytes of data: heap, stacks of threads, private mappings */
#define SANDBOX_SPACE_MAX  (64ull << 30) /* bytes of address space, including reserved and shared mappings */
#define SANDBOX_FILES_MAX  1024u         /* open descriptors */
#define SANDBOX_FILE_MAX   (1ull << 30)  /* bytes of a file that it writes; above that, write() fails with EFBIG */
#define SANDBOX_PROCESSES_MAX                                                                                          \
    4096u                         /* processes and threads of the user who runs it; the kernel counts them together    \
                                   */
#define SANDBOX_LIKELY_KILLED 500 /* its oom_score_adj: if memory runs out, the kernel kills it before the host */

/*
 * Enters the sandbox. If this machine lacks a layer, the call logs a warning and continues without the layer, except
 * that `require_filter` makes a missing filter an error. The plan's problems are logged as warnings. Fails with
 * TN_ERROR, code SANDBOX, if a layer exists and cannot be set up, or if the required filter does not exist. After a
 * failure the process may be partly restricted: end it. Thread: the only thread of the process.
 */
int32_t sandbox_enter(const struct sandbox_plan *plan, bool require_filter, struct error *error);

/* What this kernel and this build can enforce. */
struct sandbox_support {
    bool no_new_privileges;
    bool filter;                 /* system calls can be filtered: this build has libseccomp, the kernel has seccomp */
    bool audit;                  /* refusals can be logged */
    int landlock;                /* the version of the kernel's Landlock interface; 0 if it has none */
    const char *seccomp_version; /* of libseccomp; static; NULL if this build does not have libseccomp */
};

void sandbox_probe(struct sandbox_support *support);
/* What this version of Landlock guards: "files, TCP, …". Static text. */
const char *sandbox_landlock_text(int version);

#endif

/*
 * sandbox.h - a process gives up, for good, what its plan does not grant it.
 *
 * Three walls, each of which holds without the others: a filter of system calls (seccomp, filter.h), a list of files
 * (Landlock, landlock.h), and limits (rlimits, no new privileges, no capabilities). A small process of the same group
 * (watch.h) stands outside: it writes one line of log for each refusal, `sandbox: refused socket(AF_INET): …`, and ends
 * the group when the host is gone. It is entered before any code of the plugin runs, and there is no way back, for
 * threads and children neither.
 *
 *     struct sandbox_plan plan;
 *     sandbox_plan_init(&plan, manifest, path, false);
 *     if (sandbox_enter(&plan, &error) != TN_OK) return report(&error);
 *     sandbox_plan_finish(&plan);
 *
 * It is for a process of its own, with one thread. Only the tenon program has it: libtenon needs no libseccomp.
 */
#ifndef TENON_HOST_SANDBOX_H
#define TENON_HOST_SANDBOX_H

#include "adl/value/error.h"
#include "host/sandbox/plan.h"

#define SANDBOX_MEMORY_MAX    (4ull << 30)  /* bytes of data: heap, stacks of threads, private mappings */
#define SANDBOX_SPACE_MAX     (64ull << 30) /* bytes of addresses: what is only reserved, or shared, as well */
#define SANDBOX_FILES_MAX     1024u         /* descriptors */
#define SANDBOX_FILE_MAX      (1ull << 30)  /* bytes of a file that it writes; past it, EFBIG */
#define SANDBOX_PROCESSES_MAX 4096u /* processes and threads of the user who runs it, as the kernel counts them */
#define SANDBOX_LIKELY_KILLED 500   /* added to its oom_score: where memory runs out, it goes before the host */

/*
 * Enters it. A kernel that lacks a wall is no failure; it is told in the log, as are the plan's problems. What the
 * kernel has and does not give is one: TN_ERROR, code SANDBOX.
 */
int32_t sandbox_enter(const struct sandbox_plan *plan, struct error *error);

/* What this kernel can enforce. */
struct sandbox_support {
    bool no_new_privileges;
    bool filter;                 /* seccomp */
    bool audit;                  /* refusals can be told */
    int landlock;                /* the version of its interface; 0: there is none */
    const char *seccomp_version; /* libseccomp's; static */
};

void sandbox_look(struct sandbox_support *support);
/* What this version of Landlock guards: "files, TCP, …"; static. */
const char *sandbox_landlock_text(int version);

#endif

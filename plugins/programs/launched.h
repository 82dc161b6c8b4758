/*
 * launched.h - a program as the host prepares it (tenon/launch.h), in the form that posix_spawn needs.
 *
 *     struct launched program;
 *     if (launched_init(&program, launch, request, why, sizeof why) == TN_OK)
 *         posix_spawn(&pid, program.path, &actions, &attributes, program.arguments, program.environment);
 *     launched_finish(&program);
 *
 * Thread: loop.
 */
#ifndef TENON_PLUGINS_LAUNCHED_H
#define TENON_PLUGINS_LAUNCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <tenon/easy.h>
#include <tenon/launch.h>

struct launched {
    tn_value prepared; /* owns the texts */
    const char *path;
    char **arguments, **environment; /* NULL-terminated */
    bool sandboxed;                  /* TN_LAUNCH_LOG must be open in the new process */
};

/* Returns TN_OK, or the status of the host with the reason in `why`; `code` receives the error code, a static text or
 * one of the host's that is valid until launched_finish. Call launched_finish in any case. */
int32_t launched_init(struct launched *launched, const tn_launch_draft *launch, tn_value request, const char **code,
                      char *why, size_t size);
void launched_finish(struct launched *launched);

#endif

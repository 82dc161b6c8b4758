/*
 * exercise_host.h - opens the hosts in which `tenon plugin check` exercises a plugin: without tenon.yaml, with this
 * plugin, the bundled plugins and a store in memory.
 *
 *     struct exercise_options options = {.open = exercise_host_open, .close = exercise_host_close, …};
 */
#ifndef TENON_HOST_ASSEMBLY_EXERCISE_HOST_H
#define TENON_HOST_ASSEMBLY_EXERCISE_HOST_H

#include "host/plugin/conformance/exercise.h"

/*
 * Implement `open` and `close` of struct exercise_options. With `isolated`, the id of the plugin, it runs in a separate
 * process; otherwise in check mode.
 */
bool exercise_host_open(const char *path, const char *isolated, bool allow_drafts, struct exercise_host *out,
                        struct error *error);
void exercise_host_close(struct exercise_host *host);

#endif

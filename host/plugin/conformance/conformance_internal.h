/*
 * conformance_internal.h - shared by conformance.c (reads the file), conformance_run.c (loads the plugin) and
 * exercise.c (calls its components).
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_CONFORMANCE_INTERNAL_H
#define TENON_HOST_PLUGIN_CONFORMANCE_CONFORMANCE_INTERNAL_H

#include "host/plugin/conformance/conformance.h"
#include <sys/types.h>

void conformance_add(struct conformance *conformance, enum conformance_severity severity, const char *code,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));
/*
 * Forks a child process for a check of the plugin `path`. *pipe_end is the child's writing end of a pipe, and the
 * parent's reading end. In the child, standard output is a file, which the parent has as *output. Returns what fork
 * returns. If it is -1, a finding was added, and nothing is open.
 */
pid_t conformance_fork(struct conformance *conformance, const char *path, int *pipe_end, int *output);
/* Loads the plugin in child processes; adds their findings, and how they ended. */
void conformance_run(const char *path, tn_value manifest, const struct registry_options *options, int timeout_ms,
                     struct conformance *conformance);

#endif

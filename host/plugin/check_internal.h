/*
 * check_internal.h - what check.c (reading) and check_run.c (running) share.
 */
#ifndef TENON_HOST_PLUGIN_CHECK_INTERNAL_H
#define TENON_HOST_PLUGIN_CHECK_INTERNAL_H

#include "host/plugin/check.h"

void check_add(struct check *check, enum check_severity severity, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Loads the plugin in children, and adds what they say, and how they ended. */
void check_run(const char *path, tn_value manifest, const struct registry_options *options, int timeout_ms,
               struct check *check);

#endif

/*
 * conformance_store.h - `tenon plugin check` for a plugin that provides a store: the third part of the check.
 *
 * Child processes run the conformance suite (store_cases.h), are killed while they write, and write to one location at
 * the same time. Does nothing for other plugins.
 *
 *     conformance_store("acme.so", &exercise_options, &check);
 *
 * It forks: call it before the process starts threads.
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_CONFORMANCE_STORE_H
#define TENON_HOST_PLUGIN_CONFORMANCE_CONFORMANCE_STORE_H

#include "host/plugin/conformance/conformance.h"
#include "host/plugin/conformance/exercise.h"

/* Appends its findings. Uses `open`, `close`, `allow_drafts` and `timeout_ms` of the options. */
void conformance_store(const char *path, const struct exercise_options *options, struct conformance *conformance);

#endif

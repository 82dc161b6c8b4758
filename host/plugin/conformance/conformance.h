/*
 * conformance.h - checks whether a plugin keeps the contract: the first part of `tenon plugin check`.
 *
 * First it reads the file: symbols, libraries, manifest, documentation. Then it runs the plugin in a child process, so
 * that a plugin that crashes or hangs is a finding: load, initialise, unload; once with all interfaces, and once
 * without each of its optional interfaces. A program (sdk/protocol.md) has only a manifest to read; exercise.h runs it.
 * Bounds: CONFORMANCE_FINDINGS_MAX, and CONFORMANCE_TIMEOUT_MS for each child.
 *
 *     struct conformance check = CONFORMANCE_INIT;
 *     conformance_check("acme.so", &options, 0, &check);
 *     for (size_t i = 0; i < check.count; i++) print(check.items[i].code, check.items[i].message);
 *     int worst = conformance_worst(&check);
 *     conformance_finish(&check);
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_CONFORMANCE_H
#define TENON_HOST_PLUGIN_CONFORMANCE_CONFORMANCE_H

#include "adl/value/value.h"
#include "host/plugin/conformance/finding.h"
#include "host/plugin/registry/registry.h"
#include <stddef.h>

#define CONFORMANCE_FINDINGS_MAX 200u  /* findings that are kept; more are counted */
#define CONFORMANCE_TIMEOUT_MS   10000 /* limit for a child to load, initialise and unload the plugin */

struct conformance_finding {
    enum conformance_severity severity;
    const char *code; /* static: "EXTRA_SYMBOL", "CRASHED", … */
    char *message;
};

/* The findings about one plugin. */
struct conformance {
    struct conformance_finding *items;
    size_t count, dropped; /* dropped: above CONFORMANCE_FINDINGS_MAX */
    /*
     * Called at each step, and several times a second during one. `step` is what the plugin has to do, an infinitive.
     * May be NULL.
     */
    void (*progress)(void *user, const char *step);
    void *user;
};

#define CONFORMANCE_INIT                                                                                               \
    { NULL, 0, 0, NULL, NULL }

/*
 * Appends its findings. `options` are the options of a registry, with the interfaces that the plugin gets. It may be
 * NULL. `timeout_ms` 0 means CONFORMANCE_TIMEOUT_MS. It forks: call it before the process starts threads.
 */
void conformance_check(const char *path, const struct registry_options *options, int timeout_ms,
                       struct conformance *conformance);
void conformance_finish(struct conformance *conformance);
/* The worst severity, or -1 if there are no findings. */
int conformance_worst(const struct conformance *conformance);
tn_value conformance_to_value(const struct conformance *conformance); /* [{severity, code, message}]; a new reference */

/* The names of the effects that a host knows, without the part after `:`; ends with NULL. */
extern const char *const conformance_known_effects[];

#endif

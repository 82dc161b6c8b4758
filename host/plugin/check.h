/*
 * check.h - what is wrong with a plugin, as far as a host can find out: the first part of `tenon plugin check`.
 *
 * First what can be read (symbols, libraries, manifest, documentation), then what only running it shows: it is loaded,
 * initialised and ended in a child process, once as it is and once with each of its optional interfaces hidden, so that
 * a plugin that crashes or hangs is a finding. Bounded: CHECK_FINDINGS_MAX, and CHECK_TIMEOUT_MS for each child.
 *
 *     struct check check = CHECK_INIT;
 *     plugin_check("acme.so", &options, &check);
 *     for (size_t i = 0; i < check.count; i++) print(check.items[i].code, check.items[i].message);
 *     int worst = check_worst(&check);
 *     check_finish(&check);
 */
#ifndef TENON_HOST_PLUGIN_CHECK_H
#define TENON_HOST_PLUGIN_CHECK_H

#include "adl/value/value.h"
#include "host/plugin/registry.h"
#include <stddef.h>

#define CHECK_FINDINGS_MAX 200u   /* kept; more are counted */
#define CHECK_TIMEOUT_MS   20000  /* for a child to load, initialise and end the plugin */
#define CHECK_REPORT_MAX   262144 /* bytes that a child may report */

enum check_severity { CHECK_NOTE, CHECK_WARNING, CHECK_ERROR };

struct check_finding {
    enum check_severity severity;
    const char *code; /* static: "EXTRA_SYMBOL", "CRASHED", … */
    char *message;
};

struct check {
    struct check_finding *items;
    size_t count, dropped;
};

#define CHECK_INIT                                                                                                     \
    { NULL, 0, 0 }

/*
 * Appends what it finds; nothing where nothing is wrong. `options` are those of a registry: the interfaces that the
 * plugin gets. `timeout_ms` 0 is CHECK_TIMEOUT_MS. The process must be able to fork: call it before starting threads.
 */
void plugin_check(const char *path, const struct registry_options *options, int timeout_ms, struct check *check);
void check_finish(struct check *check);
/* The worst severity, or -1 where there is no finding. */
int check_worst(const struct check *check);
const char *check_severity_name(enum check_severity severity); /* "note", "warning", "error" */
tn_value check_to_value(const struct check *check);            /* [{severity, code, message}]; a new reference */

/* The effects that mean something to a host, without what a `:` adds to them; NULL ends them. */
extern const char *const check_known_effects[];

#endif

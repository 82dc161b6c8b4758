/*
 * guard.h - check mode: detects what plugins in this process do against the contract.
 *
 * Every vtable between host and plugin is wrapped. Findings: a task is ended twice; a function is called from the wrong
 * thread; start, cancel or ready of an async component repeatedly blocks the loop for more than GUARD_HOLD_MS; a value
 * is used after the call that it was lent for; references to values are not released; an output, a chunk or an error
 * does not have the shape of its kind (payload.h). Each finding is logged once and counted.
 *
 *     struct registry_options options = {.interfaces = guard_table(interface_table),
 *                                        .wrap = guard_wrap,
 *                                        .watch = &guard_watch};
 *     ...
 *     registry_free(registry);                // reports the references that each plugin has not released
 *     return guard_findings() ? FAILED : FINE;
 *
 * Plugins run slower, with the same results. Calls on a plugin's own threads are attributed to the plugin that was
 * called last.
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_GUARD_H
#define TENON_HOST_PLUGIN_CONFORMANCE_GUARD_H

#include "host/plugin/registry/registry.h"

#define GUARD_HOLD_MS      5    /* CPU time that a function may use on the loop */
#define GUARD_HOLD_ONCE_MS 50   /* and once: a virtual machine that is stopped for a while counts that as CPU time */
#define GUARD_WAIT_MS      200  /* time that may pass in a function that has waited; a busy machine makes it long */
#define GUARD_ENDED_MAX    4096 /* ended tasks that are remembered, to detect a second end */
#define GUARD_RETIRED_MAX  4096 /* lent values that are remembered, to detect a use after the call */
#define GUARD_FINDINGS_MAX 200  /* findings that are logged; more are only counted */

/* Every finding about the shape of a payload contains this text. */
#define GUARD_SHAPE_REPORT "violates the shape of a payload: "
/* Every finding about values that are left when the plugin is unloaded contains this text. */
#define GUARD_LEAK_REPORT "has not released "

/*
 * Returns `interfaces` with wrapped vtables; ends with a row whose id is NULL. Each call in a process returns the same
 * table. Thread: loop.
 */
const struct registry_interface *guard_table(const struct registry_interface *interfaces);
/* Wraps what a plugin's entry returned. The result lives as long as the process. Thread: loop. */
const tn_plugin *guard_wrap(struct plugin *plugin, const tn_plugin *entry);
/* Records which plugin runs while the host calls it back. */
extern const struct registry_watch guard_watch;
/* Makes the n-th allocation with tn_core_1 from now on fail, once. 0 disables this. Thread: any. */
void guard_fail_allocation(uint64_t n);
/* True if that allocation was reached. Thread: any. */
bool guard_allocation_failed(void);
/* The references to values that the plugin holds; 0 for a plugin that is not wrapped. Thread: loop. */
int64_t guard_references(const struct plugin *plugin);
/* Releases the values that are remembered after their call, so that memory can be measured. Thread: loop. */
void guard_discard_retired(void);
/* The number of findings in this process so far. Thread: any. */
uint64_t guard_findings(void);

#endif

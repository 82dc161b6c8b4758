/*
 * guard.h - check mode: plugins in this process, watched for what the contract forbids.
 *
 * Every vtable between host and plugin is wrapped. Found out: a task ended twice; a function called from a thread that
 * it is not for; the loop held for more than GUARD_HOLD_MS by start, cancel or ready of an async component; a value
 * used after the call it was lent for; values taken and never released. Each finding is logged once, and counted.
 *
 *     struct registry_options options = {.interfaces = guard_table, .wrap = guard_wrap};
 *     ...
 *     registry_free(registry);                // values that are left are found at the end of a plugin
 *     return guard_findings() ? FAILED : FINE;
 *
 * Everything is slower, and still right. What happens on a plugin's own threads is put down to the plugin that ran
 * last.
 */
#ifndef TENON_HOST_GUARD_H
#define TENON_HOST_GUARD_H

#include "host/plugin/registry.h"

#define GUARD_HOLD_MS      5    /* of the loop */
#define GUARD_ENDED_MAX    4096 /* tasks that ended last, for "twice" */
#define GUARD_DEAD_MAX     4096 /* values that were lent last, for "after the call" */
#define GUARD_FINDINGS_MAX 200  /* logged; more are counted */

/* interface_table, wrapped. Ends with a row whose id is NULL. */
const struct registry_interface *guard_table(void);
/* What a plugin's entry returned, wrapped; lives as long as the process. */
const tn_plugin *guard_wrap(struct plugin *plugin, const tn_plugin *end);
/* [any] The n-th allocation by tn_core_1 from now on fails, once; 0: none does. */
void guard_fail_allocation(uint64_t n);
bool guard_allocation_failed(void); /* [any] it has come to that */
/* [loop] References to values that the plugin holds; 0 for one that is not watched. */
int64_t guard_references(const struct plugin *plugin);
void guard_forget(
    void); /* [loop] lets go of the values that were lent and are kept dead, so that memory can be counted */
uint64_t guard_findings(void); /* [any] so far, in this process */

#endif

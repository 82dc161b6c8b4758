/*
 * tenon/demand.h - draft: components that a plugin adds at run time only when someone looks for them.
 *
 * Beside tenon/registry.h: a plugin that would have to start something for its components registers a function with
 * `watch`, and starts nothing before it is called. The host calls it when it looks for components, and again while it
 * waits for them, so that it waits only for what may match. What it starts it also announces with `expect`. For an
 * isolated plugin the host sends each pattern to its process, where the function is called until it returns 0.
 *
 *     if (demand->watch(host, on_demand, NULL) != TN_OK) start_all();     // in init
 */
#ifndef TENON_DEMAND_H
#define TENON_DEMAND_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the host wants of a plugin. */
#define TN_DEMAND_QUERY 0 /* only the answer: add nothing */
#define TN_DEMAND_KNOWN 1 /* add, before returning, what needs no program, no network and no wait */
#define TN_DEMAND_START 2 /* start what is necessary to add them */

/*
 * [loop] The host looks for components of `kind` whose ids match `pattern`: an id, in which `*` stands for any
 * characters. `how` is TN_DEMAND_…. Returns 1 as long as matching components may exist that are not added, otherwise 0.
 * With TN_DEMAND_START it is called often, in each turn of the loop while the host waits: it must be quick, and start
 * nothing twice.
 */
typedef int32_t TN_FN(tn_demand)(void *user, const char *kind, uint64_t kind_length, const char *pattern,
                                 uint64_t pattern_length, int32_t how);

#define TN_DEMAND_DRAFT "tenon.demand/1-draft.1"
/* From the host. Everything is [loop]. */
typedef struct tn_demand_draft {
    uint64_t size;
    /* Registers the function of the calling plugin, or, with NULL, removes it. TN_INVALID: not a plugin. */
    int32_t TN_FN(watch)(const tn_host *host, tn_demand demand, void *user);
} tn_demand_draft;

#ifdef __cplusplus
}
#endif
#endif

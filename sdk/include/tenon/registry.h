/*
 * tenon/registry.h - components that are known only at run time (for example the tools of an MCP server).
 *
 * The manifest declares their kinds as `dynamic: ["tool"]`; the plugin can then add and remove components of those
 * kinds at any time. They are created, called and shown like declared ones. If the plugin has to request them first, it
 * announces that with `expect`: a lookup then waits instead of failing. If the components are made from members of its
 * configuration, the manifest should name these: with `dynamic_from: ["servers"]`, the plugin is not loaded to look for
 * components if no servers are configured.
 */
#ifndef TENON_REGISTRY_H
#define TENON_REGISTRY_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_REGISTRY_1 "tenon.registry/1"
/* tenon.registry/1, from the host. Everything is [loop]. */
typedef struct tn_registry_1 {
    uint64_t size;
    /* `component` has the shape of one component in a manifest. TN_FAILED: malformed, its id taken, its kind not
     * declared dynamic, or its effects beyond those of the manifest. */
    int32_t TN_FN(add)(const tn_host *host, tn_value component, tn_value *error);
    /* Existing instances continue to work; no new ones are created. TN_NOT_FOUND: this plugin has added no such one. */
    int32_t TN_FN(remove)(const tn_host *host, const char *kind, uint64_t kind_length, const char *id,
                          uint64_t id_length);
    /*
     * more = 1: this plugin will soon add components of the kinds that its manifest lists under `dynamic`. Until it
     * calls with 0, a lookup of a missing component of these kinds waits until it exists, and a lookup of all of them
     * waits for all, for at most a minute. Lookups from inside a task do not wait. If the plugin calls with 1 in
     * quiesce, the host waits up to two seconds for the call with 0, so that the plugin can notify its servers.
     * TN_INVALID: neither 0 nor 1.
     */
    int32_t TN_FN(expect)(const tn_host *host, int32_t more);
} tn_registry_1;

#ifdef __cplusplus
}
#endif
#endif

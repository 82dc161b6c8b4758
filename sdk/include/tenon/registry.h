/*
 * tenon/registry.h - draft: components that are known only at run time (for example the tools of an MCP server).
 *
 * The manifest declares their kinds as `dynamic: ["tool"]`; the plugin can then add and remove components of those
 * kinds at any time. They are created, called and shown like declared ones.
 */
#ifndef TENON_REGISTRY_H
#define TENON_REGISTRY_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_REGISTRY_DRAFT "tenon.registry/1-draft.1"
/* From the host. */
typedef struct tn_registry_draft {
    uint32_t size;
    uint32_t reserved;
    /* [loop] `component` has the shape of one component in a manifest. TN_INVALID: malformed, its id taken, or its kind
     * not declared dynamic; the reason is logged. */
    int32_t (*add)(const tn_host *host, tn_value component);
    /* [loop] Existing instances continue to work; no new ones are created. */
    int32_t (*remove)(const tn_host *host, const char *kind, const char *id);
} tn_registry_draft;

#ifdef __cplusplus
}
#endif
#endif

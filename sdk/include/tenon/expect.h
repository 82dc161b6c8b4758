/*
 * tenon/expect.h - draft: announces that a plugin will add components.
 *
 * A plugin that adds components at run time (tenon/registry.h) may have to request them first, for example a server's
 * list of tools. Until the response arrives their names cannot be resolved. With this interface a lookup waits instead.
 */
#ifndef TENON_EXPECT_H
#define TENON_EXPECT_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_EXPECT_DRAFT "tenon.expect/1-draft.1"
/* From the host. */
typedef struct tn_expect_draft {
    uint32_t size;
    uint32_t reserved;
    /*
     * [loop] more = 1: this plugin will soon add components of the kinds that its manifest lists under `dynamic`. Until
     * it calls with 0, a lookup of a missing component of these kinds waits until it exists, and a lookup of all of
     * them waits for all, for at most a minute. Lookups from inside a task do not wait. If the plugin calls with 1 in
     * quiesce, the host waits up to two seconds for the call with 0, so that the plugin can notify its servers.
     * TN_INVALID: neither 0 nor 1.
     */
    int32_t (*expect)(const tn_host *host, int32_t more);
} tn_expect_draft;

#ifdef __cplusplus
}
#endif
#endif

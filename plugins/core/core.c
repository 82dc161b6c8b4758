/*
 * core.c - the plugin `tenon.core`: general-purpose nodes. They use only the plugin contract.
 *
 * There is one file for each node or pair of related nodes: NAME.c contains its row of the component table, NAME.json
 * its part of the manifest. Shared helpers are in core.h.
 */
#include "core.h"

TN_PLUGIN("tenon.core", "0.1.0", "Nodes that copy and compute state: set, transform, prompt, parse, subgraph and more")

int32_t core_refuse(const char *message) { return tn_refuse("INVALID_CONFIG", message); }

void *core_alloc_zeroed(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void core_release(void *memory) { tn.core->release(tn.host, memory); }

int32_t core_fail_cancelled(tn_task task) { return tn_fail(task, "CANCELLED", "cancelled"); }

/*
 * core.c - the plugin `tenon.core`: the nodes that every graph needs and that need nothing but the contract.
 *
 * One file for each node or natural pair, NAME.c with its row of the component table, NAME.json with its part of the
 * manifest. What they share is in core.h. Nothing here knows the host beyond <tenon.h> and the draft interfaces.
 */
#include "core.h"

TN_PLUGIN("tenon.core", "0.1.0", "Nodes for moving and making state: set, transform, prompt, parse, subgraph and more")

int32_t core_needs(const void *interface, tn_binder *binder, const char *id) {
    char message[128];
    if (interface != NULL) return TN_OK;
    (void)snprintf(message, sizeof(message), "this node needs the interface %s, which this host does not offer", id);
    return tn.task->refuse(binder, "INTERFACE_MISSING", message);
}

int32_t core_refuse(tn_binder *binder, const char *message) {
    return tn.task->refuse(binder, "INVALID_CONFIG", message);
}

void *core_alloc(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void core_free(void *memory) { tn.core->release(tn.host, memory); }

int32_t core_fail_with(tn_task task, int32_t status, tn_value error, const char *code) {
    if (status == TN_FAILED && tn.eval != NULL) {
        (void)tn.eval->fail_with(task, error);
    } else {
        const char *message = tn_get_text(error, "message", "failed, and gave no reason");
        (void)tn.task->fail(task, tn_get_text(error, "code", code), message, error);
    }
    return TN_FAILED;
}

int32_t core_cancelled(tn_task task) { return tn_fail(task, "CANCELLED", "cancelled"); }

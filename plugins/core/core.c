/*
 * core.c - the plugin `tenon.core`: general-purpose nodes. They use only the plugin contract.
 *
 * There is one file for each node or pair of related nodes: NAME.c contains its row of the component table, NAME.json
 * its part of the manifest. Shared helpers are in core.h.
 */
#include "core.h"

TN_PLUGIN("tenon.core", "0.1.0", "Nodes that copy and compute state: set, transform, prompt, parse, subgraph and more")

int32_t core_require_interface(const void *interface, tn_binder *binder, const char *id) {
    char message[128];
    if (interface != NULL) return TN_OK;
    (void)snprintf(message, sizeof(message), "this node needs the interface %s, which this host does not provide", id);
    return tn.task->refuse(binder, "INTERFACE_MISSING", message);
}

int32_t core_refuse(tn_binder *binder, const char *message) {
    return tn.task->refuse(binder, "INVALID_CONFIG", message);
}

void *core_alloc_zeroed(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void core_release(void *memory) { tn.core->release(tn.host, memory); }

int32_t core_fail_with(tn_task task, int32_t status, tn_value error, const char *code) {
    if (status == TN_FAILED && tn.eval != NULL) {
        (void)tn.eval->fail_with(task, error);
    } else {
        const char *message = tn_get_text(error, "message", "failed without a message");
        (void)tn.task->fail(task, tn_get_text(error, "code", code), message, error);
    }
    return TN_FAILED;
}

int32_t core_fail_cancelled(tn_task task) { return tn_fail(task, "CANCELLED", "cancelled"); }

/*
 * plugin.c - the plugin's constant tables, which must be C. They point to functions that Go exports.
 *
 * An instance is a number, a cgo.Handle, because C must not keep pointers to Go's memory.
 */
#include "_cgo_export.h"
#include <string.h>

const tn_host *host_self;
const tn_value_1 *host_values;
const tn_task_1 *host_tasks;
const tn_core_1 *host_core;

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    uintptr_t made = 0;
    (void)self;
    /* Go has no const; it does not write to the text. */
    int32_t status = words_create((char *)id, length, config, binder, &made);
    if (status == TN_OK) *instance = (void *)made;
    return status;
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    return words_start((uintptr_t)instance, task, input);
}

static void TN_ABI destroy(void *instance) { words_destroy((uintptr_t)instance); }

static const void *TN_ABI get_interface(void *self, const char *id) {
    static const tn_component_1 components = {sizeof components, create, start, NULL, NULL, destroy};
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}

TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof plugin, NULL, get_interface};
    host_self = host;
    host_values = host->get(host->self, TN_VALUE_1);
    host_tasks = host->get(host->self, TN_TASK_1);
    host_core = host->get(host->self, TN_CORE_1);
    return host_values != NULL && host_tasks != NULL && host_core != NULL ? &plugin : NULL;
}

/*
 * plugin.c - the plugin's constant tables, which must be C. They point to functions that Go exports.
 *
 * An instance is a number, a cgo.Handle, because C must not keep pointers to Go's memory.
 */
#include "_cgo_export.h"
#include <string.h>

const tn_value_1 *host_values;
const tn_task_1 *host_tasks;

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **instance) {
    uintptr_t made = 0;
    (void)self;
    int32_t status =
        words_create((char *)id, config, binder, &made); /* Go has no const; it does not write to the text */
    if (status == TN_OK) *instance = (void *)made;
    return status;
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    return words_start((uintptr_t)instance, task, input);
}

static void destroy(void *instance) { words_destroy((uintptr_t)instance); }

static const void *get_interface(void *self, const char *id) {
    static const tn_component_1 components = {sizeof components, 0, create, start, NULL, NULL, destroy};
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof plugin, 0, NULL, get_interface};
    host_values = host->get(host->self, TN_VALUE_1);
    host_tasks = host->get(host->self, TN_TASK_1);
    return host_values != NULL && host_tasks != NULL ? &plugin : NULL;
}

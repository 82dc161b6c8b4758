/* no_component.c - its manifest has a component, but its code offers none. */
#include "plugin.h"

MANIFEST("test.no_component", "1.0.0", "")
COMPONENT(node, "test.no_component")

static const void *offer(void *self, const char *id) {
    (void)self, (void)id, (void)component_create, (void)component_start, (void)component_destroy;
    return NULL;
}

static const tn_plugin plugin = {sizeof(tn_plugin), NULL, offer};

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *given) {
    host = given;
    return &plugin;
}

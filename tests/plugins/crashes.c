/* crashes.c - its entry crashes; the process that checks it must survive. */
#include "plugin.h"

MANIFEST("test.crashes", "1.0.0", "")
COMPONENT(node, "test.crashes")

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *given) {
    (void)component_create, (void)component_start, (void)component_destroy;
    host = given;
    abort();
}

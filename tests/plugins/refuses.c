/* refuses.c - its init fails. */
#define LIFECYCLE (&lifecycle)
#include "plugin.h"

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    return TN_ERROR;
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, NULL, NULL};

MANIFEST("test.refuses", "1.0.0", "")
COMPONENT(node, "test.refuses")
ENTRY

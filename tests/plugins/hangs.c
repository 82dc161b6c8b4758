/* hangs.c - never returns from init. */
#define LIFECYCLE (&lifecycle)
#include "plugin.h"
#include <unistd.h>

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    for (;;) pause();
    return TN_OK;
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, NULL, NULL};

MANIFEST("test.hangs", "1.0.0", "")
COMPONENT(node, "test.hangs")
ENTRY

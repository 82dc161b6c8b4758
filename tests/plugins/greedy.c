/* greedy.c - declares an interface as optional, but fails without it. */
#define LIFECYCLE (&lifecycle)
#include "plugin.h"

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    if (!host->get(host->self, "tenon.eval/1")) abort();
    return TN_OK;
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, NULL, NULL};

MANIFEST("test.greedy", "1.0.0", ",\"optional\":[\"tenon.eval/1\"]")
COMPONENT(node, "test.greedy")
ENTRY

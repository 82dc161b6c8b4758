/* prints.c - writes to standard output, which is for results. */
#define LIFECYCLE (&lifecycle)
#include "plugin.h"
#include <stdio.h>

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    puts("hello");
    return TN_OK;
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, NULL, NULL};

MANIFEST("test.prints", "1.0.0", "")
COMPONENT(node, "test.prints")
ENTRY

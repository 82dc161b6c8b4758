/* declines.c - its entry returns NULL. */
#define DECLINES 1
#include "plugin.h"

MANIFEST("test.declines", "1.0.0", "")
COMPONENT(node, "test.declines")
ENTRY

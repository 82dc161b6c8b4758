/* later.c - requires a later version of Tenon. */
#include "plugin.h"

__attribute__((constructor)) static void at_load(void) { abort(); }

MANIFEST("test.later", "1.0.0", ",\"tenon\":\">=900.1\"")
COMPONENT(node, "test.later")
ENTRY

/* aborts.c - running any of its code ends the process: what is known of it was read, not run. */
#include "plugin.h"

__attribute__((constructor)) static void at_load(void) { abort(); }

MANIFEST("test.aborts", "1.0.0", "")
COMPONENT(node, "test.aborts")
ENTRY

/* aborts.c - running any of its code ends the process, so the host can only have read it. */
#include "plugin.h"

__attribute__((constructor)) static void at_load(void) { abort(); }

MANIFEST("test.aborts", "1.0.0", "")
COMPONENT(node, "test.aborts")
ENTRY

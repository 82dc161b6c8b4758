/* missing.c - needs what no host offers; running it would end the process, so that a test sees that it is not run. */
#include "plugin.h"

__attribute__((constructor)) static void at_load(void) { abort(); }

MANIFEST("test.missing", "1.0.0", ",\"requires\":[\"tenon.value/7\",\"tenon.walue/1\",\"tenon.task/1\"]")
COMPONENT(node, "test.missing")
ENTRY

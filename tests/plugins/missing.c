/* missing.c - requires an interface that no host offers. Running it ends the process, so a test notices if it runs. */
#include "plugin.h"

__attribute__((constructor)) static void at_load(void) { abort(); }

MANIFEST("test.missing", "1.0.0", ",\"requires\":[\"tenon.value/7\",\"tenon.walue/1\",\"tenon.task/1\"]")
COMPONENT(node, "test.missing")
ENTRY

/* impostor.c - claims good.c's id. */
#include "plugin.h"

MANIFEST("test.good", "9.9.9", "")
COMPONENT(node, "test.impostor")
ENTRY

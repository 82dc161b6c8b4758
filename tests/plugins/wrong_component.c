/* wrong_component.c - its tn_component_1 has the size of another header. */
#define COMPONENT_SIZE 72
#include "plugin.h"

MANIFEST("test.wrong_component", "1.0.0", "")
COMPONENT(node, "test.wrong_component")
ENTRY

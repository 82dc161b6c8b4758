/* wrong_component.c - built from another header, as its tn_component_1 says. */
#define COMPONENT_SIZE 72
#include "plugin.h"

MANIFEST("test.wrong_component", "1.0.0", "")
COMPONENT(node, "test.wrong_component")
ENTRY

/* wrong_size.c - its tn_plugin has the size of another header. */
#define PLUGIN_SIZE 40
#include "plugin.h"

MANIFEST("test.wrong_size", "1.0.0", "")
COMPONENT(node, "test.wrong_size")
ENTRY

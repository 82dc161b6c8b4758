/* wrong_size.c - built from another header, as its tn_plugin says. */
#define PLUGIN_SIZE 40
#include "plugin.h"

MANIFEST("test.wrong_size", "1.0.0", "")
COMPONENT(node, "test.wrong_size")
ENTRY

/* draft.c - requires a draft interface. */
#include "plugin.h"

MANIFEST("test.draft", "1.0.0", ",\"requires\":[\"tenon.registry/1-draft.1\"]")
COMPONENT(node, "test.draft")
ENTRY

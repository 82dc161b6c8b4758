/* draft.c - requires a draft interface. */
#include "plugin.h"

MANIFEST("test.draft", "1.0.0", ",\"requires\":[\"tenon.graph/1-draft.3\"]")
COMPONENT(node, "test.draft")
ENTRY

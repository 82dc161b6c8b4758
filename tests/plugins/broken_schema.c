/* broken_schema.c - the schema of its node's configuration is invalid. */
#include "plugin.h"

MANIFEST("test.broken_schema", "1.0.0", "")
TN_NOTE("{\"component\":{\"kind\":\"node\",\"id\":\"test.broken_schema\",\"title\":\"A node\",\"style\":\"async\","
        "\"config\":{\"type\":\"objekt\"}}}")
ENTRY

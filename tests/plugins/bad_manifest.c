/* bad_manifest.c - an empty schema is a defect. */
#include "plugin.h"

MANIFEST("test.bad_manifest", "1.0.0", "")
TN_NOTE(
    "{\"component\":{\"kind\":\"node\",\"id\":\"test.bad\",\"title\":\"A node\",\"style\":\"async\",\"config\":{}}}")
ENTRY

/* duplicate.c - claims a component of good.c. */
#include "plugin.h"

MANIFEST("test.duplicate", "1.0.0", "")
COMPONENT(one, "test.one")
COMPONENT(own, "test.own")
ENTRY

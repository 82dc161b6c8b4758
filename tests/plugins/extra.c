/* extra.c - exports more than its entry. Linked without the version script. */
#include "plugin.h"

TN_EXPORT int extra_symbol(void);
int extra_symbol(void) { return 1; }

MANIFEST("test.extra", "1.0.0", "")
COMPONENT(node, "test.extra")
ENTRY

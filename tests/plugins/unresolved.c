/* unresolved.c - calls a function of the host by name, which is not possible. Linked without -z defs. */
#include "plugin.h"

void *registry_new(const void *options);

MANIFEST("test.unresolved", "1.0.0", "")
COMPONENT(node, "test.unresolved")
__attribute__((used)) static void *use(void) { return registry_new(NULL); }
ENTRY

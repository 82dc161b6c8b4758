/* sidecar.c - has no notes; its manifest lies beside it. */
#include "plugin.h"
ENTRY

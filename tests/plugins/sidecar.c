/* sidecar.c - has no notes; its manifest is a file beside it. */
#include "plugin.h"
ENTRY

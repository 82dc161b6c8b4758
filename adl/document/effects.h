/*
 * effects.h - what a component's declared effects allow: to be tried again, to be answered from a cache.
 *
 *     if (component_repeatable(info)) retry(task);
 */
#ifndef TENON_ADL_EFFECTS_H
#define TENON_ADL_EFFECTS_H

#include "adl/document/catalog.h"

/* Nothing that it does leaves a trace: it reads, asks, or computes. Undeclared effects are the worst there are. */
bool component_cacheable(const struct component_info *component);
/* That, or calling it twice with one task id is as calling it once (`idempotent` in its manifest). */
bool component_repeatable(const struct component_info *component);
/* The first effect that stands in the way, borrowed; NULL where none does, or where they are not declared. */
const char *component_obstacle(const struct component_info *component);

#endif

/*
 * effects.h - whether a component's declared effects allow retries and caching.
 *
 *     if (component_repeatable(info)) retry(task);
 */
#ifndef TENON_ADL_EFFECTS_H
#define TENON_ADL_EFFECTS_H

#include "adl/document/catalog.h"

/* True if the component has no lasting effect: it reads or computes. Undeclared effects count as the worst. */
bool component_cacheable(const struct component_info *component);
/*
 * True if it is cacheable, or if a second call with the same task id has no further effect (`idempotent` in its
 * manifest).
 */
bool component_repeatable(const struct component_info *component);
/* Returns the first effect that prevents this, borrowed; NULL if none does or if effects are not declared. */
const char *component_obstacle(const struct component_info *component);

#endif

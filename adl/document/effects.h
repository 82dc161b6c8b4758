/*
 * effects.h - compares declared effects: do they allow retries and caching, and are they within those of a caller?
 *
 *     if (component_repeatable(info)) retry(task);
 *     if (!effects_within(callee->effects, caller->effects, &missing)) refuse(missing);
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
/* True if its effects must not be repeated, and a repeat cannot be detected: the component passes on no key. */
bool component_unprotected(const struct component_info *component);
/* Returns the first effect that prevents this, borrowed; NULL if none does or if effects are not declared. */
const char *component_obstacle(const struct component_info *component);

/*
 * True for an effect that only permits calls: "calls.KIND", "calls.KIND:PATTERN", "tool.call". It has no effect on the
 * world: the callee has its own effects.
 */
bool effect_is_call(const char *effect);
/* True if `wide` permits all that `narrow` does: "fs.read:/srv" permits "fs.read:/srv/a". */
bool effect_covers(const char *wide, const char *narrow);
/*
 * True if each effect in `narrow` is permitted by one in `wide`; rights to call are left out, because what is called is
 * checked itself, except "calls.model": a model costs money and sees the data. NULL or another value than an array
 * declares nothing: as `narrow` it may be anything, as `wide` it permits nothing. If false, *missing is the first
 * effect that is not permitted, borrowed, or NULL if `narrow` declares nothing.
 */
bool effects_within(tn_value narrow, tn_value wide, const char **missing);

#endif

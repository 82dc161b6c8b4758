/*
 * guard.h - guards against creating twice what costs money.
 *
 * A host can be killed after a service has created a research and before the host has saved its id. A graph therefore
 * gets a guard in one step, which is saved, and creates in the next. A guard is valid once, and only in the process
 * that made it: if the step is executed again by another process, or again by this one, the guard is invalid, and the
 * caller learns that the research may exist. Thread: the loop.
 */
#ifndef TENON_PLUGINS_RESEARCH_GUARD_H
#define TENON_PLUGINS_RESEARCH_GUARD_H

#include <stdbool.h>
#include <tenon/easy.h>

#define GUARDS_MAX 1024 /* unused guards of a process; the oldest becomes invalid */

/* A new guard, a text; NULL if memory runs out. */
tn_value guard_new(void);
/* Returns true if the guard is valid. It is not, afterwards. */
bool guard_spend(tn_value guard);
/* Makes a guard valid again: what it guarded certainly did not happen. */
void guard_give_back(tn_value guard);

#endif

/*
 * guard_internal.h - what guard.c and guard_calls.c share: noting what goes through a wrapped function.
 */
#ifndef TENON_HOST_INTERFACE_GUARD_INTERNAL_H
#define TENON_HOST_INTERFACE_GUARD_INTERNAL_H

#include <tenon/state.h>
#include <tenon/tool.h>

/* Interfaces whose functions call something for a task: guard_calls.c. */
extern const tn_state_draft guard_state;
extern const tn_tool_draft guard_tool;

void guard_used(tn_value value, const char *function); /* the plugin has handed it in */
void guard_taken(tn_value value);                      /* … been given a reference */
void guard_wrong_thread(const char *function);
/* What an end is told through, and with; the second is freed by it, or by whoever is not going to be told. */
tn_call_done guard_done(tn_call_done done);
void *guard_waits(tn_call_done done, void *user);

#endif

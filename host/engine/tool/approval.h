/*
 * approval.h - a person's approval: the schema of the answer, what an answer means, and which call it belongs to.
 *
 * A wrapper asks for approval of what it wraps. The answer is {approved: bool, reason?, …}, or true, false, "yes",
 * "no". When the run is resumed, its calls are made again, and a call receives the answer by its place in the run. A
 * component chooses again what it calls, and rules change, so the place alone does not say that the answer is for this
 * call: the name of the callee must be the same.
 *
 *     entry = approval_keep_callee_take({asked: …}, known, callee); // the call was interrupted
 *     if (approval_is_for(entry, callee)) resume(entry.input);      // else approval_without_rule, or make it again
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_TOOL_APPROVAL_H
#define TENON_HOST_ENGINE_TOOL_APPROVAL_H

#include "adl/value/value.h"
#include <stdbool.h>

struct call;
struct callable;

/* True if the run can be interrupted and answered. */
bool approval_can_wait(struct call *call);
/* {anyOf: [{approved, reason?, arguments?}, boolean, "yes" or "no"]}. `arguments` is a schema, taken, or NULL. */
tn_value approval_schema_take(tn_value arguments);
bool approval_is_granted(tn_value answer);
/* The reason of a refusal, or "". */
const char *approval_reason(tn_value answer);

/*
 * Adds to the entry {asked} of an interrupted call the member `by`: what its callee is, and whether it is a wrapper.
 * `known` is the entry of the same place before, or NULL: a question that was not answered yet keeps its callee.
 */
tn_value approval_keep_callee_take(tn_value entry, tn_value known, const struct callable *callee);
/* True if the saved entry {…, by?} of a call is about this callee. Entries of older versions have no `by`. */
bool approval_is_for(tn_value entry, const struct callable *callee);
/*
 * The entry {input: {continuation, answer}, by} is an answer to a wrapper, and the same component is now called without
 * one, because the rule was removed. Returns the error, a new reference, if the answer forbids the call or changes it;
 * otherwise NULL: the call is made again.
 */
tn_value approval_without_rule(tn_value entry, const struct callable *callee);

#endif

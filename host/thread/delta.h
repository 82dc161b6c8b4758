/*
 * delta.h - what a step did to the state: small where the change is small, and complete without the document.
 *
 *     {channel: {set: value} | {keep: n, add: [item, …]} | {once: value}}
 *
 * `keep` and `add` are of arrays: the first n items stay, and those follow; an append of one message is that message.
 * `once` is of an ephemeral channel: it is gone after the next step, unless that has it again.
 *
 *     tn_value delta = delta_new();
 *     delta = delta_channel_take(delta, name, before, after, false);
 *     tn_value state = delta_apply(state, delta);
 */
#ifndef TENON_HOST_DELTA_H
#define TENON_HOST_DELTA_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

/* Adds what became of one channel to `delta` (taken), where it is not the very same. `before` NULL: it is new. */
tn_value delta_channel_take(tn_value delta, tn_value name, tn_value before, tn_value after, bool ephemeral);
/* The state after the change; takes `state`. INVALID_STATE where the delta is not one of these. */
int32_t delta_apply_take(tn_value state, tn_value delta, tn_value *out, struct error *error);
/* About how many bytes a value takes as JSON: for deciding when a snapshot is worth it. */
int64_t value_weight(tn_value value);

#endif

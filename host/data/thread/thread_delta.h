/*
 * thread_delta.h - how a super-step changed the state. Its size follows the change, and it can be applied without the
 * document.
 *
 *     {channel: CHANGE | {once: value}}        CHANGE: adl/value/change.h
 *
 * `once` is for an ephemeral channel: the next delta removes it, unless it sets the channel again.
 *
 *     tn_value delta = delta_channel_take(value_object(), name, before, after, false);
 *     status = delta_apply_take(state, delta, &state, &error);
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_DELTA_H
#define TENON_HOST_DATA_THREAD_THREAD_DELTA_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

/* Adds the change of one channel to `delta`, if its value is not identical. `before` is NULL for a new channel. */
tn_value delta_channel_take(tn_value delta, tn_value name, tn_value before, tn_value after, bool ephemeral);
/* The complete state as one change, a new reference. `last` is the delta that led to it, for its ephemeral channels. */
tn_value delta_of_state(tn_value state, tn_value last);
/* Applies a change. Takes `state`; *out is the new state. INVALID_STATE if the delta is malformed. */
int32_t delta_apply_take(tn_value state, tn_value delta, tn_value *out, struct error *error);

#endif

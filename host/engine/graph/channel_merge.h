/*
 * channel_merge.h - the reducers: how one more write is merged into the value of a channel.
 *
 *   sum       numbers; int + int stays int, and an overflow is an error; a channel without default starts at 0
 *   max, min  numbers or strings; null counts as no value yet
 *   merge     objects, key by key; the later write wins; shallow (a nested object is replaced)
 *   union     an item, or each item of an array, unless an equal item is in the channel already
 *   messages  a message, or each of an array: one with a known `id` replaces the old one in place, {"type": "remove",
 *             "id": ...} removes it, and one without an id gets one; a text is the message of a user
 */
#ifndef TENON_HOST_ENGINE_GRAPH_CHANNEL_MERGE_H
#define TENON_HOST_ENGINE_GRAPH_CHANNEL_MERGE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct document_channel;
struct graph;
struct member_index;

struct merge_context {
    const struct document_channel *channel;
    struct member_index **index; /* union and messages: kept between calls */
    uint64_t origin;             /* a message's id is computed from this and its position */
};

/* For `messages`: true if the write is a text or an array with one. Such a write is converted before the merge. */
bool merge_has_text(tn_value write);
tn_value merge_texts_to_messages(tn_value write); /* {type: "user", content: TEXT} for each text; a new reference */
/* Takes `current`, also on failure; borrows `write`. Returns CHANNEL if the write does not fit. */
int32_t merge_take(const struct merge_context *context, tn_value current, tn_value write, tn_value *out,
                   struct error *error);
/* Calls the component that is the reducer of the channel. It must complete inside its start. */
int32_t merge_by_component(const struct graph *graph, uint32_t channel, tn_value input, tn_value *out,
                           struct error *error);

#endif

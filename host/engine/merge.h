/*
 * merge.h - the reducers: how one more write is merged into what a channel holds.
 *
 *   sum       numbers; int + int stays int, and overflow is an error; a channel without default begins at 0
 *   max, min  numbers, or strings; null counts as nothing yet
 *   merge     objects, key by key, the later one wins; shallow (a nested object is replaced)
 *   union     an item, or each of an array's, unless an equal one is there already
 *   messages  an item, or each of an array's: one with a known `id` replaces it in place, {"type": "remove", "id": …}
 *             removes it, one without id is given one
 */
#ifndef TENON_HOST_MERGE_H
#define TENON_HOST_MERGE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdint.h>

struct document_channel;
struct graph;
struct member_index;

struct merge_context {
    const struct document_channel *channel;
    struct member_index **index; /* for union and messages; kept between calls */
    uint64_t origin;             /* makes ids of messages without one, with the position they get */
};

/* `current` is consumed; `write` borrowed. CHANNEL where it does not fit; `current` is then gone as well. */
int32_t merge_take(const struct merge_context *context, tn_value current, tn_value write, tn_value *out,
                   struct error *error);
/* A reducer that is a component; it must complete inside start. */
int32_t merge_by_component(const struct graph *graph, uint32_t channel, tn_value input, tn_value *out,
                           struct error *error);

#endif

/*
 * channels.h - the channels of one run: committed values, and the writes of the step that is being applied.
 *
 * All activations of a super-step read the committed values. When they have ended, their writes are merged here in
 * activation order. channels_commit makes all of them visible together, channels_rollback drops them: a step is applied
 * completely or not at all. The type of a channel decides how writes merge. The cost of a write does not depend on the
 * size of the value that it is merged into.
 *
 *     status = channels_write(channels, channel, value, index, origin, &other, &error);   // for each write, in order
 *     if (status == TN_OK) status = channels_commit(channels, &error);
 *     if (status != TN_OK) channels_rollback(channels);
 *
 * Belongs to the loop of its run.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_CHANNELS_H
#define TENON_HOST_ENGINE_GRAPH_CHANNELS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct graph;
struct member_index;

/* The writer of an input, instead of the index of an activation. */
#define CHANNELS_WRITER_INPUT UINT32_MAX

struct channels {
    const struct graph *graph;
    uint32_t count;
    uint32_t dirty_count;
    tn_value *values;              /* committed; never NULL */
    tn_value *pending;             /* NULL if not written in this step */
    uint32_t *writers;             /* [channel]: the last activation that wrote the pending value */
    uint32_t *dirty;               /* channels with a pending value, in the order of their first write */
    struct member_index **indexes; /* indexes of `union` and `messages` arrays; NULL while the array is short */
};

/* Bytes that channels_init needs at `memory`, which must be aligned for pointers. */
size_t channels_size(uint32_t channel_count);
void channels_init(struct channels *channels, const struct graph *graph, void *memory);
void channels_finish(struct channels *channels);
void channels_reset(struct channels *channels); /* to the initial values; nothing may be pending */

/*
 * Merges one write into the pending value. `origin` and the position make the ids of messages that have none.
 * Returns CONCURRENT_UPDATE if another activation wrote the channel and its type does not merge (`writer_conflict`,
 * which may be NULL, receives its index), and CHANNEL if the value does not fit the type or the schema.
 */
int32_t channels_write(struct channels *channels, uint32_t channel, tn_value value, uint32_t writer, uint64_t origin,
                       uint32_t *writer_conflict, struct error *error);
/* Commits the pending values and resets ephemeral channels that were not written. Component reducers may fail. */
int32_t channels_commit(struct channels *channels, struct error *error);
void channels_rollback(struct channels *channels);

/*
 * The member indexes of the committed values, with the values that they describe: they survive the run and serve
 * another one with the same values, whatever its graph is. channels_take_indexes returns NULL if there are none.
 * channels_give_indexes takes `indexes`, a struct channel_indexes; NULL is allowed.
 */
struct channel_indexes;
void *channels_take_indexes(struct channels *channels);
void channels_give_indexes(struct channels *channels, void *indexes);
void channel_indexes_free(void *indexes);

/* The state as one object; a new reference. `with_ephemeral` adds ephemeral channels that have a value. */
tn_value channels_object(const struct channels *channels, bool with_ephemeral);

#endif

/*
 * state.h - the channels of one run: committed values, and the writes of the step that is being applied.
 *
 * All tasks of a super-step read the committed values. When they have finished, their writes are put here in task
 * order; state_commit makes all of them visible together, state_rollback forgets them: a step is applied whole or not
 * at all. Merging follows the channel's type; what a write costs does not depend on how long the history is.
 *
 *     state_write(state, channel, value, task_index, &origin, &error);   // any number, in task order
 *     if (status == TN_OK) status = state_commit(state, &error);
 *     if (status != TN_OK) state_rollback(state);
 *
 * Belongs to its run's loop.
 */
#ifndef TENON_HOST_STATE_H
#define TENON_HOST_STATE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct graph;
struct member_index;

/* Who wrote `input`: not a task. */
#define STATE_WRITER_INPUT UINT32_MAX

struct state {
    const struct graph *graph;
    uint32_t count;
    uint32_t dirty_count;
    tn_value *values;              /* committed; never NULL */
    tn_value *pending;             /* NULL: not written in this step */
    uint32_t *writers;             /* of pending: the task that wrote last */
    uint32_t *dirty;               /* channels with something pending, in order of their first write */
    struct member_index **indexes; /* of union and messages: what is in the array; NULL while that is little */
};

/* Bytes that state_init needs at `memory`, aligned as pointers are. */
size_t state_size(uint32_t channel_count);
void state_init(struct state *state, const struct graph *graph, void *memory);
void state_finish(struct state *state);

/*
 * One write, merged into what is pending. `origin` makes the ids of messages that have none (it and their ordinal).
 * CONCURRENT_UPDATE (the message names the channel; `writer_conflict` gets the other task), CHANNEL where the value
 * does not fit the channel's type or schema.
 */
int32_t state_write(struct state *state, uint32_t channel, tn_value value, uint32_t writer, uint64_t origin,
                    uint32_t *writer_conflict, struct error *error);
/* Makes pending writes the committed values; ephemeral channels that were not written are emptied. */
int32_t state_commit(struct state *state, struct error *error);
void state_rollback(struct state *state);

/* The state as one object, a new reference; with_ephemeral: channels of that type as well, where they hold something.
 */
tn_value state_object(const struct state *state, bool with_ephemeral);

#endif

/*
 * thread_snapshot.h - when a thread gets a snapshot of its state, and what is written for it.
 *
 * A snapshot bounds how many changes must be read. It is packed (thread_pack.h) and uses the chunks of the one before
 * again, so it costs what has changed since then. It is written when the changes since the last one weigh as much as it
 * would cost: each byte is then written about twice, and reading is bounded by the size of the state. The record of the
 * thread has both numbers, so a resumed thread continues with them.
 *
 *     snapshots_init(&snapshots, record, loaded_image);
 *     snapshots_changed(&snapshots, weight);                           // of a checkpoint
 *     if (snapshots_are_due(&snapshots)) batch = snapshots_add_take(&snapshots, batch, key, seq, state());
 *     snapshots_finish(&snapshots);
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_SNAPSHOT_H
#define TENON_HOST_DATA_THREAD_THREAD_SNAPSHOT_H

#include "adl/value/value.h"
#include "host/data/thread/thread_pack.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_CHANGED_MIN 16384 /* bytes of changes before a snapshot is written */
#define SNAPSHOT_CHUNK_MIN   16384 /* bytes of a chunk of a small state; of a larger one twice as many, and so on */
#define SNAPSHOT_PARTS_MAX   256   /* chunks of a state before they become larger */

struct snapshots {
    int64_t changed, due; /* bytes: of changes since the last snapshot; that make the next one due */
    size_t chunk;         /* bytes of a chunk */
    tn_value image;       /* {state, node, chunk} of the last snapshot, or NULL */
};

/* `record` is that of the thread; `image` is {state, node, chunk} of its newest snapshot, or NULL. Both are borrowed.
 */
void snapshots_init(struct snapshots *snapshots, tn_value record, tn_value image);
void snapshots_finish(struct snapshots *snapshots);
void snapshots_changed(struct snapshots *snapshots, int64_t weight);
bool snapshots_are_due(const struct snapshots *snapshots);
/*
 * Adds the operations of a snapshot after checkpoint `seq` to `batch`, if it costs no more than the changes weigh.
 * Takes `batch` and `state`. `key` is that of the thread, `seq` the last part of the snapshot's. *known is {hash:
 * true}, the chunks that need not be written; it is replaced by one with those of the snapshot. `nodes` is that of
 * struct thread_packer.
 */
tn_value snapshots_add_take(struct snapshots *snapshots, tn_value batch, const char *key, const char *seq,
                            tn_value state, tn_value *known, struct thread_nodes *nodes);
/* The value of the record of a first snapshot, for a complete thread. Its chunks are added to the packer. */
tn_value snapshot_record(struct thread_packer *packer, tn_value state);

#endif

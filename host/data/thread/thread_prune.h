/*
 * thread_prune.h - removes old checkpoints of a living thread (store.history).
 *
 * What is kept begins with a snapshot: from it and the changes since then, every later state can be read. Older
 * checkpoints and snapshots, the journal of ended super-steps and the chunks that nothing refers to any more are
 * removed in one batch, on condition of the writer's fence. `oldest` in the record is the first checkpoint that is
 * left.
 *
 *     thread_prune(store, key, fence, keep);        // after a snapshot was written
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_PRUNE_H
#define TENON_HOST_DATA_THREAD_THREAD_PRUNE_H

#include "host/data/store/store.h"

/*
 * Submits the removal and returns. `keep` is the number of checkpoints that must stay, at least; 0 keeps those from the
 * newest snapshot on. `key` is copied. Does nothing if another writer has taken the thread over, or if the next
 * snapshot would remove more; a failure is only logged, because the next one repeats it. Thread: loop.
 */
void thread_prune(struct store *store, const char *key, int64_t fence, int64_t keep);

/* NOT_FOUND if the checkpoint was removed. `record` is that of the thread. */
int32_t thread_check_kept(const char *id, tn_value record, int64_t seq, struct error *error);

#endif

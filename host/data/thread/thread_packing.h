/*
 * thread_packing.h - a checkpoint, and the snapshot after it, as operations of a commit.
 *
 * The chunks of a large value are made and hashed, which takes a millisecond for about 0.2 MiB. So a large checkpoint
 * is packed on the store's thread, and the loop is not held up. Small ones are packed at once.
 *
 *     struct packing packing = {.key = key, .collection = STORE_CHECKPOINTS, .checkpoint = checkpoint, …};
 *     if (packing_is_large(&packing)) store_perform(store, packing_perform, &packing, on_packed, me);
 *     else packing_run(&packing);
 *     …                                              // packing.operations, and the members that it has changed
 *     packing_finish(&packing);
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_PACKING_H
#define TENON_HOST_DATA_THREAD_THREAD_PACKING_H

#include "adl/value/value.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_nodes.h"
#include "host/data/thread/thread_snapshot.h"
#include <stdbool.h>
#include <stdint.h>

/* All members are its own, except the texts. */
struct packing {
    const char *key;        /* of the thread */
    const char *collection; /* of the checkpoint */
    char record[THREAD_KEY_MAX], seq[12];
    tn_value checkpoint;
    int64_t weight; /* of the checkpoint */
    tn_value state; /* for a snapshot; NULL: none */
    /* What the log knows before, and afterwards. */
    struct snapshots snapshots;
    tn_value known;  /* as in struct thread_packer */
    tn_value before; /* `known` before; not changed */
    struct thread_nodes nodes;
    tn_value operations; /* the result; NULL before packing_run */
};

/* True if it would hold up the loop. */
bool packing_is_large(const struct packing *packing);
void packing_run(struct packing *packing); /* any thread */
/* packing_run as a store_perform_fn, which writes nothing. */
int32_t packing_perform(struct session *session, void *packing, tn_value *result, struct error *error);
/* Releases what is left in it. */
void packing_finish(struct packing *packing);

#endif

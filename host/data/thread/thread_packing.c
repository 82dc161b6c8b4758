/*
 * thread_packing.c - packs a checkpoint and its snapshot.
 */
#include "host/data/thread/thread_packing.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_pack.h"

bool packing_is_large(const struct packing *packing) {
    /* A snapshot costs at most what has changed. */
    return packing->weight > PACK_WHOLE_MAX || (packing->state && packing->snapshots.changed > PACK_WHOLE_MAX);
}

void packing_run(struct packing *packing) {
    struct thread_packer packer = {.key = packing->key,
                                   .chunk = packing->snapshots.chunk,
                                   .puts = value_array(),
                                   .known = packing->known,
                                   .nodes = &packing->nodes};
    thread_pack_record_take(&packer, packing->collection, packing->record, packing->checkpoint, packing->weight);
    packing->checkpoint = NULL;
    packing->known = packer.known;
    if (packing->state)
        packer.puts = snapshots_add_take(&packing->snapshots, packer.puts, packing->key, packing->seq, packing->state,
                                         &packing->known, &packing->nodes);
    packing->state = NULL;
    packing->operations = packer.puts;
}

int32_t packing_perform(struct session *session, void *packing, tn_value *result, struct error *error) {
    (void)session, (void)result, (void)error;
    packing_run(packing);
    return TN_OK;
}

void packing_finish(struct packing *packing) {
    value_unref(packing->checkpoint);
    value_unref(packing->state);
    value_unref(packing->known);
    value_unref(packing->before);
    value_unref(packing->operations);
    snapshots_finish(&packing->snapshots);
    thread_nodes_clear(&packing->nodes);
}

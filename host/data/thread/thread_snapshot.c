/*
 * thread_snapshot.c - the snapshots of one thread, as its log writes them.
 */
#include "host/data/thread/thread_snapshot.h"
#include "adl/value/weight.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_pack.h"
#include "host/data/thread/thread_records.h"

void snapshots_init(struct snapshots *snapshots, tn_value record, tn_value image) {
    int64_t chunk = thread_record_int(image, "chunk", SNAPSHOT_CHUNK_MIN);
    snapshots->changed = thread_record_int(record, "changed", 0);
    snapshots->due = thread_record_int(record, "snapshot", 0);
    snapshots->chunk = chunk < SNAPSHOT_CHUNK_MIN || chunk > PACK_CHUNK_MAX ? SNAPSHOT_CHUNK_MIN : (size_t)chunk;
    snapshots->image = value_get(image, "node") ? value_ref(image) : NULL;
}

void snapshots_finish(struct snapshots *snapshots) { value_unref(snapshots->image); }

/* Chunks of a state of this weight. */
static size_t chunk_of_weight(int64_t weight) {
    size_t chunk = SNAPSHOT_CHUNK_MIN;
    while (chunk < PACK_CHUNK_MAX && weight / (int64_t)chunk > SNAPSHOT_PARTS_MAX) chunk *= 2;
    return chunk;
}

void snapshots_changed(struct snapshots *snapshots, int64_t weight) {
    snapshots->changed += weight;
    /* The first changes are the state. They are packed before it is, and should get the same chunks. */
    if (!snapshots->image) snapshots->chunk = chunk_of_weight(snapshots->changed);
}

bool snapshots_are_due(const struct snapshots *snapshots) {
    return snapshots->changed >= SNAPSHOT_CHANGED_MIN && snapshots->changed >= snapshots->due;
}

static tn_value snapshot_value(tn_value node, size_t chunk) {
    tn_value record = value_set_take(value_object_reserve(2), "node", value_ref(node));
    return value_set_take(record, "chunk", value_int((int64_t)chunk));
}

/* Chunks grow with the state, so that the list of them stays short. */
static size_t chunk_for(tn_value node, size_t chunk) {
    tn_value hashes = thread_node_hashes_take(value_object(), node);
    size_t count = value_count(hashes);
    value_unref(hashes);
    while (count > SNAPSHOT_PARTS_MAX && chunk < PACK_CHUNK_MAX) {
        chunk *= 2;
        count /= 2;
    }
    return chunk;
}

tn_value snapshots_add_take(struct snapshots *snapshots, tn_value batch, const char *key, const char *seq,
                            tn_value state, tn_value *known, struct thread_nodes *nodes) {
    struct thread_packer packer = {
        .key = key, .chunk = snapshots->chunk, .puts = value_array(), .known = value_ref(*known), .nodes = nodes};
    tn_value image = snapshots->image;
    tn_value node = thread_pack(&packer, state, value_get(image, "state"), value_get(image, "node"));
    int64_t cost = packer.bytes + value_weight(node);
    if (cost <= snapshots->changed || !image) {
        char at[THREAD_KEY_MAX];
        thread_key_of(at, key, (const char *const[]){seq, NULL});
        batch = value_concat_take(batch, value_ref(packer.puts));
        batch = value_push_take(batch, store_put(STORE_SNAPSHOTS, at, snapshot_value(node, snapshots->chunk)));
        value_unref(image);
        snapshots->chunk = chunk_for(node, snapshots->chunk);
        snapshots->image = value_set_take(snapshot_value(node, snapshots->chunk), "state", state);
        value_unref(*known);
        *known = value_ref(packer.known);
        snapshots->changed = 0;
        snapshots->due = value_weight(node);
    } else {
        snapshots->due = cost;
        value_unref(state);
    }
    value_unref(node);
    thread_packer_finish(&packer);
    return batch;
}

tn_value snapshot_record(struct thread_packer *packer, tn_value state) {
    struct thread_packer part = *packer;
    part.chunk = chunk_of_weight(value_weight(state));
    tn_value node = thread_pack(&part, state, NULL, NULL), record = snapshot_value(node, part.chunk);
    value_unref(node);
    packer->puts = part.puts;
    packer->known = part.known;
    return record;
}

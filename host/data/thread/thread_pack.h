/*
 * thread_pack.h - a large value as several records.
 *
 * A record has a limit (TN_STORE_VALUE_MAX), and a value that is written again and again should cost what has changed.
 * So a large value is *packed*: its large parts become chunks, records of their own that are named after their content.
 * Equal chunks of a thread are stored once.
 *
 *     stored value: value | {packed: NODE}
 *     NODE: {v: value}                        without chunks
 *           {t: [HASH, …]} | {b: [HASH, …]}   a string or bytes: pieces
 *           {a: [PART, …]} | {o: [PART, …]}   an array or an object: items or members, in order
 *     PART: {v: array or object}              some of them
 *           {c: HASH, n: count}               some of them, as a chunk
 *           {n: NODE, k?: key | NODE}         one item, or one member, whose key may be long
 *
 * A value that was packed before is packed again for the price of what differs: chunks whose items are the same (by
 * identity) are used again. So is the node of a value that was packed a short time ago (thread_nodes.h).
 *
 *     struct thread_packer packer = {.key = key, .chunk = PACK_CHUNK, .puts = value_array()};
 *     tn_value node = thread_pack(&packer, state, state_before, node_before);
 *     …                                             // commit packer.puts with the record
 *
 *     status = thread_unpack(session, key, node, &state, &error);
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_PACK_H
#define TENON_HOST_DATA_THREAD_THREAD_PACK_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/data/store/store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_WHOLE_MAX 1048576 /* bytes: a larger record is packed */
#define PACK_CHUNK_MAX 1048576 /* bytes of a chunk, about */
/*
 * Nesting of a record down to which large parts become chunks. A level of a node is three of its record, so 50 and what
 * may be deeper stay below TN_STORE_DEPTH_MAX.
 */
#define PACK_DEPTH_MAX 50

struct thread_nodes;

struct thread_packer {
    const char *key;            /* of the thread (thread_key) */
    size_t chunk;               /* bytes that a chunk should have, at most PACK_CHUNK_MAX */
    tn_value puts;              /* operations: put the chunks; the caller's */
    tn_value known;             /* {hash: true}: chunks that are in `puts`, or in the store; the caller's; NULL: none */
    int64_t bytes;              /* of the chunks that were added, about */
    struct thread_nodes *nodes; /* of values that were packed before; the caller's, or NULL */
};

/*
 * Returns the node of `value`, a new reference. `before` is a value that was packed as `node_before`, or NULL. All
 * arguments are borrowed.
 */
tn_value thread_pack(struct thread_packer *packer, tn_value value, tn_value before, tn_value node_before);
/*
 * Adds the operation that puts a record, and before it those for its chunks, to packer->puts. The value is packed if
 * its weight (value_weight) is above PACK_WHOLE_MAX. Takes `value`.
 */
void thread_pack_record_take(struct thread_packer *packer, const char *collection, const char *key, tn_value value,
                             int64_t weight);
void thread_packer_finish(struct thread_packer *packer);

/* The value of a node; a new reference. INVALID_STATE if it or a chunk is missing or malformed. Thread: the store's. */
int32_t thread_unpack(struct session *session, const char *key, tn_value node, tn_value *out, struct error *error);
/* The same for the stored form of a record's value, which it takes. */
int32_t thread_unpack_record_take(struct session *session, const char *key, tn_value stored, tn_value *out,
                                  struct error *error);
/* session_each over records of one thread, whose values are unpacked. */
int32_t thread_each_record(struct session *session, const char *key, const char *collection, const char *from,
                           const char *to, session_visit_fn *visit, void *user, struct error *error);
/*
 * The same for notes, which may be without their chunks if the store was full when a run failed (thread_failure.h):
 * such a note is left out, so what it is about is repeated.
 */
int32_t thread_each_note(struct session *session, const char *key, const char *collection, const char *from,
                         const char *to, session_visit_fn *visit, void *user, struct error *error);
/* The member of a stored object, without reading chunks; NULL if it is not there or in a chunk. Borrowed. */
tn_value thread_packed_member(tn_value stored, const char *name);
/* Add the hashes of all chunks of a node, or of a stored value, to {hash: true}, which they take. */
tn_value thread_node_hashes_take(tn_value hashes, tn_value node);
tn_value thread_packed_hashes_take(tn_value hashes, tn_value stored);

#endif

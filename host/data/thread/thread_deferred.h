/*
 * thread_deferred.h - the old items of a saved array, which stay in the store until one of them is needed.
 *
 * A run that only appends to a list reads nothing of it. The host defers the channels that a graph never reads; if
 * something needs the items all the same (a client asks for the state, say), they are read then. If that fails, the
 * items are null, and the thread's next commit is refused with the reason (store_link.h): nothing is saved that was
 * computed without them.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_DEFERRED_H
#define TENON_HOST_DATA_THREAD_THREAD_DEFERRED_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct session;
struct store_link;

#define THREAD_DEFER_MIN 32768 /* bytes: fewer are read at once */

struct thread_defer {
    struct store_link *link;
    tn_value channels; /* {name: true} */
};

/*
 * The state of a snapshot's node, as thread_unpack, with deferred arrays for the channels of `defer`, which may be
 * NULL. `chunk` is the weight of a chunk. Thread: the store's.
 */
int32_t thread_unpack_state(struct session *session, const char *key, tn_value node, int64_t chunk,
                            const struct thread_defer *defer, tn_value *out, struct error *error);

#endif

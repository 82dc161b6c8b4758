/*
 * tenon/poll.h - draft: descriptors of a plugin's own (sockets, pipes of a child, pidfds), watched by the host's loop.
 *
 * For a library with an event interface (libcurl's multi, libpq, …) and for children that are talked to through pipes:
 * their work is done on the loop, without a thread. Timers are tenon.core's `post`.
 */
#ifndef TENON_POLL_H
#define TENON_POLL_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_POLL_READ   1
#define TN_POLL_WRITE  2
#define TN_POLL_CLOSED 4 /* reported, not asked for: an error, or the other end is gone */

/* [loop] `events`: what is possible now. It may unwatch. */
typedef void (*tn_poll_ready)(void *user, int32_t events);

#define TN_POLL_DRAFT "tenon.poll/1-draft.1"
/* From the host. Everything is [loop]. */
typedef struct tn_poll_draft {
    uint32_t size;
    uint32_t reserved;
    /*
     * Calls ready(user, …) from the loop, never inside watch, whenever `descriptor` can do one of `events` (of
     * TN_POLL_READ and TN_POLL_WRITE; 0: TN_POLL_CLOSED alone) without waiting, again and again while it can. The
     * descriptor stays the plugin's, non-blocking, and open until unwatch; one watch a descriptor (TN_INVALID). A watch
     * does not keep an idle host from ending. At most 65,536 a plugin: TN_LIMIT. *watch is never 0.
     */
    int32_t (*watch)(const tn_host *host, int32_t descriptor, int32_t events, tn_poll_ready ready, void *user,
                     uint64_t *watch);
    int32_t (*change)(const tn_host *host, uint64_t watch, int32_t events);
    /* `ready` is not called again. TN_NOT_FOUND where there is no such watch of this plugin's. */
    int32_t (*unwatch)(const tn_host *host, uint64_t watch);
} tn_poll_draft;

#ifdef __cplusplus
}
#endif
#endif

/*
 * tenon/poll.h - the host's loop watches file descriptors of a plugin (sockets, pipes of a child, pidfds).
 *
 * For libraries with an event interface (libcurl's multi, libpq, …) and for child processes that are connected through
 * pipes: their work is done on the loop, without a thread. For timers use tenon.core's `post`.
 */
#ifndef TENON_POLL_H
#define TENON_POLL_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_POLL_READ   1
#define TN_POLL_WRITE  2
#define TN_POLL_CLOSED 4 /* always reported, never requested: an error, or the peer has closed */

/* [loop] `events`: what is possible now. The function may call unwatch. */
typedef void TN_FN(tn_poll_ready)(void *user, int32_t events);

#define TN_POLL_1 "tenon.poll/1"
/* tenon.poll/1, from the host. Everything is [loop]. */
typedef struct tn_poll_1 {
    uint64_t size;
    /*
     * Calls ready(user, …) from the loop, never inside watch, as long as one of `events` (TN_POLL_READ, TN_POLL_WRITE;
     * 0: only TN_POLL_CLOSED) is possible without blocking (level-triggered). The plugin keeps the descriptor, which
     * must be non-blocking and stay open until unwatch. A second watch of a descriptor is TN_INVALID. A watch does not
     * prevent an idle host from exiting. At most 65,536 watches for each plugin, then TN_LIMIT. *watch is never 0.
     */
    int32_t TN_FN(watch)(const tn_host *host, int32_t descriptor, int32_t events, tn_poll_ready ready, void *user,
                         uint64_t *watch);
    int32_t TN_FN(change)(const tn_host *host, uint64_t watch, int32_t events);
    /* `ready` is not called again. TN_NOT_FOUND: this plugin has no such watch. */
    int32_t TN_FN(unwatch)(const tn_host *host, uint64_t watch);
} tn_poll_1;

#ifdef __cplusplus
}
#endif
#endif

/*
 * base.h - what all files of this plugin share: the interfaces of the host, failures, and the limits of a listener.
 *
 *     return serve_fail(error, "IO", "cannot listen on %s: %s", address, strerror(errno));
 *
 * Thread: the loop's, for every file of this plugin. Its state is in static variables without locks: they belong to one
 * host, because the host loads a private copy of a plugin that another host in the process has loaded.
 */
#ifndef TENON_PLUGINS_SERVE_BASE_H
#define TENON_PLUGINS_SERVE_BASE_H

#include <stdbool.h>
#include <sys/queue.h>
#include <tenon/easy.h>
#include <tenon/http_server.h>
#include <tenon/poll.h>
#include <tenon/util/build.h>
#include <tenon/util/text.h>

#include <microhttpd.h>

#define HEADERS_MAX     100        /* header fields of a request, and trailer fields; then 431 */
#define DISCARD_MAX     (1 << 20)  /* bytes of a body that are read only to answer a client that still sends */
#define FRAGMENTS_MAX   4096       /* frames of one WebSocket message */
#define CLOSE_MS        5000       /* how long a WebSocket client may take to answer a close */
#define WAITING_MUCH    (64 << 20) /* bytes that wait for all clients of a listener: from there on WRITE_LEAST applies */
#define WRITE_LEAST     16384      /* instead of write_bytes, if that is more */
#define REQUESTS_MAX    (1 << 20)  /* open requests of all listeners */
#define LISTENERS_MAX   16
#define CONNECTIONS_MAX 65000 /* the most that `connections` may be: each needs a watch of tenon.poll */

/* Of one listener; tenon/http_server.h describes each. */
struct limits {
    int64_t connections, connections_per_address, headers_bytes, headers_ms, idle_ms;
    int64_t body_bytes, write_bytes, message_bytes;
};

extern const tn_poll_1 *serve_poll;

int64_t serve_now_ms(void); /* monotonic clock */

/* Stores an ERROR in *error, unless `error` is NULL. Returns TN_FAILED. */
int32_t serve_fail(tn_value *error, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif

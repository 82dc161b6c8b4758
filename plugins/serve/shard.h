/*
 * shard.h - one of the libmicrohttpd daemons of a listener, with up to SHARD_CONNECTIONS connections.
 *
 * Whenever libmicrohttpd resumes a connection, it walks through all suspended ones. With 10,000 idle streams in one
 * daemon, that took a millisecond for each token of each stream. So the connections are spread over many daemons; a
 * listener starts another one when the others are full.
 *
 * A daemon has no thread: its epoll descriptor is watched by tenon.poll, and it runs in listener_run.
 */
#ifndef TENON_PLUGINS_SERVE_SHARD_H
#define TENON_PLUGINS_SERVE_SHARD_H

#include "base.h"
#include <sys/socket.h>

#define SHARD_CONNECTIONS 64

struct listener;
struct shard;
TAILQ_HEAD(shard_list, shard);

struct shard {
    TAILQ_ENTRY(shard) in_listener, in_due;
    struct listener *listener;
    struct MHD_Daemon *daemon;
    uint64_t watch;
    uint32_t connections;
    bool due; /* it runs in this turn or the next */
};

/* A shard with room for a connection; NULL: a daemon could not be started. */
struct shard *shard_with_room(struct listener *listener);
/* Adds an accepted socket; closes it if that fails. */
void shard_add(struct shard *shard, int descriptor, const struct sockaddr *address, socklen_t size);
void shard_wake(struct shard *shard);
/* Runs the daemons that have something to do. */
void shards_run(struct listener *listener);
/* Stops all daemons, which ends their requests. No connection may be suspended, apart from those of sockets. */
void shards_stop(struct listener *listener);

#endif

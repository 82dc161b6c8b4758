/*
 * connections.h - all connections of a server: those that a socket accepts, and the one over stdin and stdout.
 *
 *     struct connections *all = connections_new(server, service, NULL);
 *     if (!connections_listen(all, path, 0600, METHOD_ADMIN, &error)) …
 *     …
 *     connections_stop(all);                            // accepts no more, closes all
 *     loop_run(loop, connections_are_closed, all);
 *     connections_free(all);
 *
 * All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_CONNECTIONS_H
#define TENON_HOST_SERVER_CONNECTIONS_H

#include "adl/value/error.h"
#include "host/server/connection.h"
#include <stdbool.h>
#include <sys/types.h>

struct connections;

#define CONNECTIONS_MAX 1024u /* open ones; another one is closed after an error, LIMIT */

/* `service` and its user are those of each connection; NULL: only the methods. */
struct connections *connections_new(struct server *server, const struct connection_service *service,
                                    void *service_user);
/*
 * Accepts connections at the socket `path`, whose clients have the scope. Those of scope `admin` may name files.
 * Returns false with the error of rpc_listener_open. Call it once.
 */
bool connections_listen(struct connections *all, const char *path, mode_t mode, enum method_scope scope,
                        struct error *error);
/* Serves one client, of scope `admin`, over two descriptors, which it takes. */
bool connections_serve(struct connections *all, int input, int output, enum rpc_framing framing, struct error *error);
/* Accepts no more. */
void connections_refuse(struct connections *all);
size_t connections_count(const struct connections *all);
/* The exit status of the connection that has ended last: 0 after `shutdown` (connection.h), otherwise 1. */
int connections_last_code(const struct connections *all);
/* Accepts no more, and closes all. Can be called repeatedly. */
void connections_stop(struct connections *all);
bool connections_are_closed(void *all); /* for loop_run */
/* All must be closed. NULL is allowed. */
void connections_free(struct connections *all);

#endif

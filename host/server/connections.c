/*
 * connections.c - the list of connections, and its limit.
 */
#include "host/server/connections.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/server/rpc/rpc_listener.h"
#include "host/server/rpc/rpc_stream.h"
#include "host/server/server.h"
#include <string.h>

struct listed_connection {
    struct connections *all;
    struct connection *connection;
    struct listed_connection *next, **link;
};

struct connections {
    struct server *server;
    const struct connection_service *service;
    void *service_user;
    struct rpc_listener *listener;
    enum method_scope scope; /* of clients of the socket */
    struct listed_connection *first;
    size_t count;
    uint64_t accepted; /* so far */
    int last_code;
};

struct connections *connections_new(struct server *server, const struct connection_service *service,
                                    void *service_user) {
    struct connections *all = mem_zalloc(sizeof *all);
    all->server = server;
    all->service = service;
    all->service_user = service_user;
    return all;
}

static void connections_on_closed(void *user, struct connection *connection, int code) {
    struct listed_connection *listed = user;
    struct connections *all = listed->all;
    (void)connection;
    *listed->link = listed->next;
    if (listed->next) listed->next->link = listed->link;
    mem_free(listed);
    all->count--;
    all->last_code = code;
    loop_wake(server_loop(all->server));
}

static void connections_add(struct connections *all, struct rpc_stream *stream, struct connection_options *options) {
    struct listed_connection *listed = mem_zalloc(sizeof *listed);
    listed->all = all;
    listed->next = all->first;
    listed->link = &all->first;
    if (listed->next) listed->next->link = &listed->next;
    all->first = listed;
    all->count++;
    options->server = all->server;
    options->service = all->service;
    options->service_user = all->service_user;
    options->closed = connections_on_closed;
    options->user = listed;
    listed->connection = connection_new(stream, options);
}

/* The error, as JSON-RPC has it for a message without an id, in the framing that every client can read. */
static void refuse_stream(struct rpc_stream *stream) {
    static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":"
                               "\"the host has too many connections\",\"data\":{\"code\":\"LIMIT\"}}}\n";
    rpc_stream_write(stream, text, strlen(text));
    rpc_stream_close(stream);
}

static void connections_on_accepted(void *user, struct rpc_stream *stream) {
    struct connections *all = user;
    char name[40];
    if (all->count >= CONNECTIONS_MAX) {
        refuse_stream(stream);
        return;
    }
    (void)snprintf(name, sizeof name, "client %llu", (unsigned long long)++all->accepted);
    connections_add(
        all, stream,
        &(struct connection_options){
            .name = name, .scope = all->scope, .files = all->scope == METHOD_ADMIN, .framing = RPC_FRAMING_DETECT});
}

bool connections_listen(struct connections *all, const char *path, mode_t mode, enum method_scope scope,
                        struct error *error) {
    all->scope = scope;
    all->listener = rpc_listener_open(server_loop(all->server), path, mode, connections_on_accepted, all, error);
    return all->listener != NULL;
}

bool connections_serve(struct connections *all, int input, int output, enum rpc_framing framing, struct error *error) {
    struct rpc_stream *stream = rpc_stream_open(server_loop(all->server), input, output, error);
    if (!stream) return false;
    connections_add(
        all, stream,
        &(struct connection_options){
            .name = "stdio", .scope = METHOD_ADMIN, .files = true, .framing = framing, .watch_parent = true});
    return true;
}

size_t connections_count(const struct connections *all) { return all->count; }
int connections_last_code(const struct connections *all) { return all->last_code; }

void connections_refuse(struct connections *all) {
    rpc_listener_close(all->listener);
    all->listener = NULL;
}

void connections_stop(struct connections *all) {
    connections_refuse(all);
    for (struct listed_connection *at = all->first, *next; at; at = next) {
        next = at->next;
        connection_close(at->connection);
    }
}

bool connections_are_closed(void *all) { return ((const struct connections *)all)->count == 0; }

void connections_free(struct connections *all) { mem_free(all); }

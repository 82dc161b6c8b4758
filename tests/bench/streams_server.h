/*
 * streams_server.h - the server of the benchmark `streams`: a separate process with one thread and epoll.
 *
 * It answers every request with the head of an event stream and one event, and then waits for commands.
 *
 *     struct streams_server server;
 *     if (!streams_server_start(&server, 10000)) …
 *     streams_server_send(&server, 100);              // 100 more events to each stream, in turn
 *     streams_server_send(&server, 0);                // the end of every stream
 *     streams_server_stop(&server);
 */
#ifndef TENON_TESTS_BENCH_STREAMS_SERVER_H
#define TENON_TESTS_BENCH_STREAMS_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct streams_server {
    pid_t process;
    int control;
    uint16_t port;
};

bool streams_server_start(struct streams_server *server, uint32_t streams_max);
bool streams_server_send(const struct streams_server *server, uint32_t events);
void streams_server_stop(const struct streams_server *server);

#endif

/*
 * address.h - counts the connections of each client address. IPv6 clients count by their /64 network, because one
 * client has all of its addresses.
 *
 *     if (!addresses_add(&addresses, address, limit)) …  // it has `limit` connections already, or memory ran out
 *     addresses_remove(&addresses, address);
 */
#ifndef TENON_PLUGINS_SERVE_ADDRESS_H
#define TENON_PLUGINS_SERVE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct addresses {
    void *tree; /* of tsearch */
};

bool addresses_add(struct addresses *addresses, const struct sockaddr *address, uint32_t limit);
void addresses_remove(struct addresses *addresses, const struct sockaddr *address);
/* "127.0.0.1:4711", "[::1]:4711" */
void address_format(const struct sockaddr *address, char *out, size_t size);

#endif

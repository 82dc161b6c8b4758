/*
 * address.h - counts the connections of each client address. IPv6 clients count by their /64 network, because one
 * client has all of its addresses. Those of trusted networks are not counted.
 *
 *     if (!addresses_trust(&addresses, "10.0.0.0/8")) …
 *     if (!addresses_add(&addresses, address, limit)) …  // it has `limit` connections already, or memory ran out
 *     addresses_remove(&addresses, address);
 *     addresses_finish(&addresses);                       // after the last connection
 */
#ifndef TENON_PLUGINS_SERVE_ADDRESS_H
#define TENON_PLUGINS_SERVE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct trusted_network;

struct addresses {
    void *tree; /* of tsearch */
    struct trusted_network *trusted;
    uint64_t trusted_count;
};

/* "192.0.2.1", "10.0.0.0/8", "2001:db8::/32". False: malformed, or memory ran out. Before the first connection. */
bool addresses_trust(struct addresses *addresses, const char *text);
void addresses_finish(struct addresses *addresses);
bool addresses_add(struct addresses *addresses, const struct sockaddr *address, uint32_t limit);
void addresses_remove(struct addresses *addresses, const struct sockaddr *address);
/* "127.0.0.1:4711", "[::1]:4711" */
void address_format(const struct sockaddr *address, char *out, size_t size);

#endif

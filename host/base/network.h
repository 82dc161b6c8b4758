/*
 * network.h - addresses of IPv4 and IPv6 as texts, and the networks that contain them.
 *
 * An address has 16 bytes; one of IPv4 is ::ffff:a.b.c.d, so its two texts are the same address. A network of one
 * family contains no address of the other.
 *
 *     struct network network;
 *     network_read("10.0.0.0/8", 10, &network);
 *     if (network_read_address("10.1.2.3:4711", 13, &address)) network_contains(&network, &address);
 *
 * Thread: any.
 */
#ifndef TENON_HOST_BASE_NETWORK_H
#define TENON_HOST_BASE_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#define NETWORK_TEXT 64 /* room for an address with its port */

struct network_address {
    unsigned char bytes[16];
    int port; /* -1: the text has none */
};

struct network {
    unsigned char bytes[16];
    unsigned prefix; /* bits of `bytes` that count */
};

/* "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80". False: none of them, or with a zone.
 */
bool network_read_address(const char *text, size_t length, struct network_address *out);
/* In brackets if it is of IPv6; with the port if it has one. */
void network_write_address(const struct network_address *address, char out[NETWORK_TEXT]);
bool network_is_four(const unsigned char bytes[16]); /* IPv4 */
/* An address without a port, or "ADDRESS/BITS". Bits of the address that do not count may be set. */
bool network_read(const char *text, size_t length, struct network *out);
bool network_contains(const struct network *network, const struct network_address *address);

#endif

/*
 * address.c - connections of each client address, in a tree of the C library. See address.h.
 */
#include "address.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct address_count {
    unsigned char key[9]; /* the family, and 4 or 8 bytes of the address */
    uint32_t count;
};

static int compare_addresses(const void *a, const void *b) {
    const struct address_count *left = a, *right = b;
    return memcmp(left->key, right->key, sizeof left->key);
}

static struct address_count address_key(const struct sockaddr *address) {
    struct address_count key = {{0}, 0};
    key.key[0] = (unsigned char)address->sa_family;
    if (address->sa_family == AF_INET6)
        memcpy(key.key + 1, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 8);
    else
        memcpy(key.key + 1, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    return key;
}

/* ---- Trusted networks ---- */

struct trusted_network {
    int family;
    unsigned char bytes[16];
    unsigned bits;
};

static bool network_read(const char *text, struct trusted_network *out) {
    char address[INET6_ADDRSTRLEN];
    size_t length = strcspn(text, "/");
    if (length >= sizeof address) return false;
    memcpy(address, text, length);
    address[length] = '\0';
    out->family = strchr(address, ':') != NULL ? AF_INET6 : AF_INET;
    if (inet_pton(out->family, address, out->bytes) != 1) return false;
    unsigned long most = out->family == AF_INET6 ? 128 : 32, bits = most;
    if (text[length] == '/') {
        const char *digits = text + length + 1;
        size_t count = strspn(digits, "0123456789");
        if (count == 0 || count > 3 || digits[count] != '\0') return false;
        bits = strtoul(digits, NULL, 10);
    }
    out->bits = (unsigned)bits;
    return bits <= most;
}

bool addresses_trust(struct addresses *addresses, const char *text) {
    struct trusted_network network;
    if (!network_read(text, &network)) return false;
    struct trusted_network *grown =
        realloc(addresses->trusted, (size_t)(addresses->trusted_count + 1) * sizeof *addresses->trusted);
    if (grown == NULL) return false;
    addresses->trusted = grown;
    grown[addresses->trusted_count++] = network;
    return true;
}

static bool network_contains(const struct trusted_network *network, const struct sockaddr *address) {
    const void *place = network->family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    unsigned whole = network->bits / 8, mask = 0xff00u >> network->bits % 8 & 0xffu;
    if (network->family != address->sa_family || memcmp(network->bytes, place, whole) != 0) return false;
    return mask == 0 || ((network->bytes[whole] ^ ((const unsigned char *)place)[whole]) & mask) == 0;
}

static bool is_trusted(const struct addresses *addresses, const struct sockaddr *address) {
    for (uint64_t i = 0; i < addresses->trusted_count; i++)
        if (network_contains(&addresses->trusted[i], address)) return true;
    return false;
}

void addresses_finish(struct addresses *addresses) { free(addresses->trusted); }

/* ---- Counts ---- */

bool addresses_add(struct addresses *addresses, const struct sockaddr *address, uint32_t limit) {
    struct address_count key = address_key(address);
    if (is_trusted(addresses, address)) return true;
    struct address_count *const *found = tfind(&key, &addresses->tree, compare_addresses);
    if (found != NULL) {
        if ((*found)->count >= limit) return false;
        (*found)->count++;
        return true;
    }
    struct address_count *added = malloc(sizeof *added);
    if (added == NULL) return false;
    *added = key;
    added->count = 1;
    if (tsearch(added, &addresses->tree, compare_addresses) != NULL) return true;
    free(added);
    return false;
}

void addresses_remove(struct addresses *addresses, const struct sockaddr *address) {
    struct address_count key = address_key(address);
    if (is_trusted(addresses, address)) return;
    struct address_count *const *found = tfind(&key, &addresses->tree, compare_addresses);
    if (found == NULL || --(*found)->count > 0) return;
    struct address_count *last = *found;
    (void)tdelete(last, &addresses->tree, compare_addresses);
    free(last);
}

void address_format(const struct sockaddr *address, char *out, size_t size) {
    char host[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
        (void)inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        (void)snprintf(out, size, "[%s]:%d", host, ntohs(six->sin6_port));
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
        (void)inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        (void)snprintf(out, size, "%s:%d", host, ntohs(four->sin_port));
    }
}

/*
 * network.c - see network.h. The C library reads and writes the addresses.
 */
#include "host/base/network.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const unsigned char four_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool network_is_four(const unsigned char bytes[16]) { return memcmp(bytes, four_prefix, sizeof four_prefix) == 0; }

static bool read_bytes(const char *text, size_t length, unsigned char out[16]) {
    char copy[INET6_ADDRSTRLEN];
    if (length >= sizeof copy || memchr(text, '\0', length)) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (inet_pton(AF_INET6, copy, out) == 1) return true;
    memcpy(out, four_prefix, sizeof four_prefix);
    return inet_pton(AF_INET, copy, out + sizeof four_prefix) == 1;
}

/* A number without a sign; -1 if it is malformed, or above `most`. */
static int read_number(const char *text, size_t length, int most) {
    int number = 0;
    if (length == 0 || length > 5) return -1;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number <= most ? number : -1;
}

bool network_read_address(const char *text, size_t length, struct network_address *out) {
    const char *end = text + length, *address = text, *port = NULL;
    size_t size = length;
    bool brackets = length > 0 && *text == '[';
    if (brackets) {
        const char *close = memchr(text, ']', length);
        if (!close) return false;
        address = text + 1;
        size = (size_t)(close - address);
        port = close + 1 < end ? close + 1 : NULL;
    } else {
        const char *colon = memchr(text, ':', length);
        bool one = colon && !memchr(colon + 1, ':', (size_t)(end - colon - 1)); /* several: IPv6 */
        port = one ? colon : NULL;
        if (one) size = (size_t)(colon - text);
    }
    int number = port ? read_number(port + 1, (size_t)(end - port - 1), 65535) : -1;
    if (port && (*port != ':' || number < 0)) return false;
    if (!read_bytes(address, size, out->bytes)) return false;
    if (brackets && !memchr(address, ':', size)) return false;
    out->port = number;
    return true;
}

void network_write_address(const struct network_address *address, char out[NETWORK_TEXT]) {
    char text[INET6_ADDRSTRLEN] = "", port[16] = "";
    bool four = network_is_four(address->bytes);
    (void)inet_ntop(four ? AF_INET : AF_INET6, address->bytes + (four ? sizeof four_prefix : 0), text, sizeof text);
    if (address->port >= 0) (void)snprintf(port, sizeof port, ":%d", address->port);
    (void)snprintf(out, NETWORK_TEXT, four ? "%s%s" : "[%s]%s", text, port);
}

bool network_read(const char *text, size_t length, struct network *out) {
    const char *slash = memchr(text, '/', length);
    size_t size = slash ? (size_t)(slash - text) : length;
    if (!read_bytes(text, size, out->bytes)) return false;
    bool four = !memchr(text, ':', size); /* of "::ffff:a.b.c.d/120", the bits are those of IPv6 */
    int bits = slash ? read_number(slash + 1, length - size - 1, four ? 32 : 128) : (four ? 32 : 128);
    if (bits < 0) return false;
    out->prefix = (unsigned)bits + (four ? 96 : 0);
    return true;
}

bool network_contains(const struct network *network, const struct network_address *address) {
    unsigned whole = network->prefix / 8, rest = network->prefix % 8;
    unsigned char mask = (unsigned char)(0xff00u >> rest);
    if (network_is_four(network->bytes) != network_is_four(address->bytes)) return false;
    if (memcmp(network->bytes, address->bytes, whole) != 0) return false;
    return rest == 0 || ((network->bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

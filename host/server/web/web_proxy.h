/*
 * web_proxy.h - the clients behind trusted proxies (`serve: {trusted_proxies}`): their addresses, and how many requests
 * each has open.
 *
 * If the peer of a request is a trusted proxy, the client is the right-most address of `X-Forwarded-For` that is not
 * one of them, or else the left-most one. What is left of it comes from the client, which can write there what it
 * likes. A text that is no address ends the search, and so do WEB_PROXIES_MAX addresses: then the client is the last
 * one that was read. `Forwarded` is not read. The headers of every other peer have no effect.
 *
 * The provider limits the connections of an address. It cannot see the clients of a proxy, so their requests are
 * counted here.
 *
 *     web_proxies_init(&proxies, value_get(config, "trusted_proxies"));
 *     struct web_client *client = web_proxies_open(&proxies, &head);        // replaces `address` and `secure` of it
 *     ...
 *     web_proxies_close(&proxies, client);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_PROXY_H
#define TENON_HOST_SERVER_WEB_WEB_PROXY_H

#include "adl/value/value.h"
#include "host/base/network.h"
#include <stdint.h>

#define WEB_PROXIES_MAX 32u /* addresses of X-Forwarded-For that are read, from the right */

struct web_proxies {
    struct network *networks;
    size_t count;
    void *clients; /* of tsearch */
};

/* An address, or a /64 network of IPv6. */
struct web_client {
    unsigned char key[16];
    uint32_t requests;
};

void web_proxies_init(struct web_proxies *self, tn_value texts); /* an array of texts, or NULL */
void web_proxies_finish(struct web_proxies *self);               /* after the last web_proxies_close */
/*
 * The client of a request with this head (TN_HTTP_SERVER_REQUEST), which it counts; NULL if the request did not come
 * through a trusted proxy that names a client. Replaces *head.
 */
struct web_client *web_proxies_open(struct web_proxies *self, tn_value *head);
void web_proxies_close(struct web_proxies *self, struct web_client *client); /* NULL is allowed */

#endif

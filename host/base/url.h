/*
 * url.h - http and https URLs: parsed into parts, checked, and written again from the checked parts.
 *
 * A request is sent to the URL that url_write makes from the checked parts, so no other parser can read a different
 * host from it. The host is in lower case, an IPv6 address is in brackets, and the port is always set. The target is
 * the path and the query; bytes outside ASCII are percent-encoded. A fragment is dropped. A URL with a user name is an
 * error. Thread: any.
 *
 *     struct url url;
 *     const char *why = url_read(&url, "https://API.acme.example/v1?q=1", 31, NULL);
 *     if (why) return report(why);
 *     url_write(&text, &url);                            // https://api.acme.example/v1?q=1
 *     url_finish(&url);
 */
#ifndef TENON_HOST_BASE_URL_H
#define TENON_HOST_BASE_URL_H

#include "adl/value/buffer.h"
#include <stdbool.h>
#include <stdint.h>

#define URL_MAX      65536u /* bytes of a URL, including its query */
#define URL_HOST_MAX 255u   /* bytes of a host name */

struct url {
    bool secure;
    uint32_t port;
    char host[URL_HOST_MAX + 1];
    char *target; /* starts with '/'; owned */
};

/*
 * Returns NULL, or a static text that describes the fault. If `base` is not NULL, `text` may be a reference that is
 * relative to it (RFC 3986, 5.2), as in a Location header. After a failure *url is unchanged.
 */
const char *url_read(struct url *url, const char *text, size_t length, const struct url *base);
void url_finish(struct url *url); /* a zeroed url is allowed */
void url_write(struct buffer *out, const struct url *url);
void url_write_origin(struct buffer *out,
                      const struct url *url); /* scheme, host, and the port unless it is the default */
bool url_same_origin(const struct url *a, const struct url *b);
/* Appends text as a part of a query: every byte except letters, digits and -._~ becomes %XX. */
void url_escape(struct buffer *out, const char *text, size_t length);
/*
 * True if the URL's host matches `pattern`: "host", "host:port", "*.domain" (its subdomains, not the domain itself) or
 * "*.domain:port". A pattern without a port matches any port.
 */
bool url_matches(const struct url *url, const char *pattern);

#endif

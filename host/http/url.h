/*
 * url.h - http and https URLs as the host checks and sends them: taken apart, and put together again from the parts.
 *
 * What is sent is written from what was checked, so that nobody reads another host out of a URL than the one that was
 * allowed. The host is in lower case, an IPv6 address in brackets; the port is always known; the target is the path and
 * the query, percent-encoded where it was not ASCII. A fragment is dropped. User names are refused.
 *
 *     struct url url;
 *     const char *why = url_read(&url, "https://API.acme.example/v1?q=1", 31, NULL);
 *     if (why) return complain(why);
 *     url_write(&text, &url);                            // https://api.acme.example/v1?q=1
 *     url_finish(&url);
 */
#ifndef TENON_HOST_HTTP_URL_H
#define TENON_HOST_HTTP_URL_H

#include "adl/value/buffer.h"
#include <stdbool.h>
#include <stdint.h>

#define URL_MAX      65536u /* bytes of a URL, its query included */
#define URL_HOST_MAX 255u   /* bytes of a host's name */

struct url {
    bool secure;
    uint32_t port;
    char host[URL_HOST_MAX + 1];
    char *target; /* begins with '/'; owned */
};

/*
 * NULL, or what is wrong with it, for people. Where `base` is given, a reference (RFC 3986, 5.2) is read from there:
 * what a Location header has. On failure there is nothing to finish.
 */
const char *url_read(struct url *url, const char *text, size_t length, const struct url *base);
void url_finish(struct url *url); /* all zero is allowed */
void url_copy(struct url *to, const struct url *from);
void url_write(struct buffer *out, const struct url *url);
void url_write_origin(struct buffer *out, const struct url *url); /* scheme, host, and port where it is another one */
bool url_same_origin(const struct url *a, const struct url *b);
/* Appends text as a part of a query: all but letters, digits and -._~ becomes %XX. */
void url_escape(struct buffer *out, const char *text, size_t length);
/*
 * Whether the URL's host is what `pattern` names: "host", "host:port", "*.domain" (what is below it, not itself), or
 * that with a port. Without a port, any.
 */
bool url_matches(const struct url *url, const char *pattern);

#endif

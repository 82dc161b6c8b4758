/*
 * location.h - the URLs that a service answers with: the target of a redirect, the next page.
 *
 *     struct tn_text_buffer next = TN_TEXT_BUFFER(LOCATION_MAX);
 *     if (location_resolve(&next, "https://pets.example/v1/pets?page=1", "?page=2") &&
 *         location_same_origin(tn_text_chars(&next), base_url)) …
 *
 * Thread: any. Nothing here sends a request; the caller decides whether it may.
 */
#ifndef TENON_PLUGINS_REST_LOCATION_H
#define TENON_PLUGINS_REST_LOCATION_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/util/text.h>

#define LOCATION_MAX      16384u /* bytes of a URL */
#define LOCATION_HOST_MAX 255u

/*
 * Appends the URL that `reference` means in an answer from `base` (RFC 3986, 5.2), without a fragment. False if it is
 * not an http or https URL, has a user name, has characters that a URL cannot have, or is longer than the limit.
 */
bool location_resolve(struct tn_text_buffer *out, const char *base, const char *reference);
/* True if scheme, host and port are the same. False if one of them is not an http or https URL. */
bool location_same_origin(const char *a, const char *b);
/* True if `to` is at the host of `from`, with https on its default port instead of http on its own. */
bool location_is_upgrade(const char *from, const char *to);
/* True if `to` is not encrypted and `from` is. */
bool location_is_downgrade(const char *from, const char *to);
/* True if the URL's host matches "host", "host:port", "*.domain" or "*.domain:port", as in an effect network.http:… */
bool location_host_matches(const char *url, const char *pattern);
/*
 * Finds the target of the relation `next` in the value of a Link header (RFC 8288): the start of the URI reference and
 * its length. NULL if there is none.
 */
const char *location_find_next(const char *link, uint64_t *length);

#endif

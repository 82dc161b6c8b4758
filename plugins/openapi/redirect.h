/*
 * redirect.h - the request that follows a redirect.
 *
 * A redirect is followed to the origin of the service, from http to https at its host, and to the hosts that
 * `redirect_hosts` of the service lists, which are effects of its tools. At another origin the request has none of the
 * service's credentials, headers and cookies. GET and HEAD follow 301, 302, 303, 307 and 308. Another method is
 * repeated only after 307 and 308, with its body (RFC 9110, 15.4); after 303 the result is fetched with GET.
 *
 * The host could follow redirects (`redirects` of tenon/http.h), but it would check the effects of the plugin, which
 * may send to every host, instead of those of the tool.
 */
#ifndef TENON_PLUGINS_OPENAPI_REDIRECT_H
#define TENON_PLUGINS_OPENAPI_REDIRECT_H

#include "service.h"

#define REDIRECTS_MAX 10u /* of a call */

/* True if the answer is a redirect. */
bool redirect_is(tn_value end);
/*
 * Returns the request that follows, a new reference. NULL if the redirect is not followed: *why is the reason, or NULL
 * if memory ran out. `request` is the one that was answered with `end`.
 */
tn_value redirect_make_request(const struct service *service, tn_value request, tn_value end, const char **why);

#endif

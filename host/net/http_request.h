/*
 * http_request.h - a request of a plugin (tenon/http.h): checked, permitted, filled with secrets, and redacted.
 *
 * Reading and checking a request needs no secret and no network, so it has the same result in a replay. Filling makes
 * the request that is sent: its URL, headers and body are text or bytes.
 *
 *     struct http_request request;
 *     if (http_request_read(&request, object, &error) != TN_OK) return report(&error);      // INVALID_INPUT
 *     struct outgoing outgoing;
 *     if (http_request_fill(&request, secrets, now_ms, &outgoing, &error) == TN_OK)
 *         provider->send(self, outgoing_value(&outgoing, left_ms), …);
 *     outgoing_finish(&outgoing);
 *     http_request_finish(&request);
 */
#ifndef TENON_HOST_NET_HTTP_REQUEST_H
#define TENON_HOST_NET_HTTP_REQUEST_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/base/url.h"

struct config;
struct plugin;
struct secrets;

#define HTTP_FIELDS_MAX    1000u              /* headers; values in `query` */
#define HTTP_FIELD_MAX     (128u << 10)       /* bytes of a header */
#define HTTP_METHOD_MAX    20u                /* bytes of a method */
#define HTTP_REDIRECTS_MAX 20                 /* that are followed */
#define HTTP_PRIVATE       "PRIVATE"          /* the method in recordings of a private request */
#define HTTP_TIMEOUT_MAX   (86400 * 1000)     /* ms, for each timeout */
#define HTTP_STREAM_MAX    (INT64_C(1) << 40) /* the largest `max_bytes` of a body that is delivered in pieces */

enum receive { RECEIVE_WHOLE, RECEIVE_BYTES, RECEIVE_EVENTS, RECEIVE_LINES };
const char *receive_name(enum receive receive);

struct http_request {
    tn_value object; /* as the plugin sent it */
    struct url url;  /* does not include `query` */
    char method[HTTP_METHOD_MAX + 1];
    enum receive receive;
    int64_t redirects, total_ms; /* total_ms: 0 without a limit */
    tn_value body;               /* `json` as text, or `body`, or NULL */
    bool json, is_private;
};

/* The request with secrets, for the provider. */
struct outgoing {
    const struct http_request *request;
    struct url url; /* includes `query` */
    char method[HTTP_METHOD_MAX + 1];
    tn_value headers; /* {name: text} */
    tn_value secret;  /* {lower-case name: true}: headers that contain a secret */
    tn_value body;    /* text, bytes or NULL */
    bool body_secret, url_secret;
};

/* Fails with INVALID_INPUT or LIMIT: the message has the member, what was found and what is expected. After a failure,
 * *request is unchanged. */
int32_t http_request_read(struct http_request *request, tn_value object, struct error *error);
void http_request_finish(struct http_request *request);
/* Fails with PERMISSION_DENIED if the manifest does not declare the host or a secret, or tenon.yaml restricts the
 * secret to other hosts. */
int32_t http_request_permit(const struct http_request *request, const struct plugin *plugin,
                            const struct config *config, struct error *error);
/* The check of the host only: for the target of a redirect. */
int32_t http_request_permit_url(const struct url *url, const struct plugin *plugin, struct error *error);
/* Fails with SECRET_NOT_FOUND, LIMIT, or INVALID_INPUT if the text of a secret is not allowed in its place. */
int32_t http_request_fill(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                          struct outgoing *out, struct error *error);
/* Adds the literal credentials in its headers to the texts that `secrets` searches for. */
void http_request_add_secrets(const struct http_request *request, struct secrets *secrets);
/* The names of its secrets: {name: true}, a new reference. */
tn_value http_request_secrets(const struct http_request *request);
/*
 * The form of the request in a recording: {method, url, headers?, json? | body?, receive}. Secrets are {secret:NAME},
 * even if they are not available; literal values that are usually secret are {redacted}. A private request only shows
 * its name: {method: "PRIVATE", url: "private://NAME", receive}. A new reference.
 */
tn_value http_request_redacted(const struct http_request *request);
/* The form of response headers in a recording. A new reference. */
tn_value http_request_redact_headers(tn_value headers, struct secrets *secrets);

void outgoing_finish(struct outgoing *outgoing);
/*
 * Changes the request to follow a 3xx response: 303, and 301 or 302 after POST, become GET. If the origin changes,
 * headers with secrets, cookies and other credentials are removed. Fails with PERMISSION_DENIED or PROTOCOL.
 */
int32_t outgoing_redirect(struct outgoing *outgoing, int64_t status, const char *location, const struct plugin *plugin,
                          struct secrets *secrets, struct error *error);
/* The request object for the provider. `left_ms` is what is left of the total time; 0 without a limit. A new reference.
 */
tn_value outgoing_value(const struct outgoing *outgoing, int64_t left_ms);

#endif

/*
 * request.h - a request as a plugin sends it (tenon/http.h), checked; what of it is sent, and what may be written down.
 *
 * Reading it needs no secret and no network: the same request is as good, or as bad, in a replay. Filling in comes
 * later, and is of what is sent: from the URL to the body all is text or bytes by then.
 *
 *     struct http_request request;
 *     if (http_request_read(&request, object, &error) != TN_OK) return report(&error);      // INVALID_INPUT
 *     struct sending sending;
 *     if (http_request_fill(&request, secrets, now_ms, &sending, &error) == TN_OK)
 *         provider->send(self, sending_value(&sending, left_ms), …);
 *     sending_finish(&sending);
 *     http_request_finish(&request);
 */
#ifndef TENON_HOST_HTTP_REQUEST_H
#define TENON_HOST_HTTP_REQUEST_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/http/url.h"

struct config;
struct plugin;
struct secrets;

#define HTTP_FIELDS_MAX    1000u          /* headers, and members of `query` with those of arrays */
#define HTTP_FIELD_MAX     (128u << 10)   /* bytes of a header */
#define HTTP_METHOD_MAX    20u            /* bytes of a method's name */
#define HTTP_REDIRECTS_MAX 20             /* followed */
#define HTTP_PRIVATE       "PRIVATE"      /* the method of a request of which nothing may be written down */
#define HTTP_TIMEOUT_MAX   (86400 * 1000) /* ms, of each time */

enum receive { RECEIVE_WHOLE, RECEIVE_BYTES, RECEIVE_EVENTS, RECEIVE_LINES };
const char *receive_name(enum receive receive);

struct http_request {
    tn_value given; /* the object */
    struct url url; /* without `query` */
    char method[HTTP_METHOD_MAX + 1];
    enum receive receive;
    int64_t redirects, total_ms; /* total_ms: 0 for none */
    tn_value body;               /* `json` as its text; else `body` as it was given; NULL */
    bool json, is_private;
};

/* What goes to whoever sends it. */
struct sending {
    const struct http_request *request;
    struct url url; /* with `query` */
    char method[HTTP_METHOD_MAX + 1];
    tn_value headers; /* {name: text} */
    tn_value secret;  /* {lower-case name: true}: headers that have a secret in them */
    tn_value body;    /* text, bytes or NULL */
    bool body_secret, url_secret;
};

/* INVALID_INPUT: the member, what was found, what is expected. On failure there is nothing to finish. */
int32_t http_request_read(struct http_request *request, tn_value object, struct error *error);
void http_request_finish(struct http_request *request);
/* PERMISSION_DENIED, where the plugin's manifest does not declare the host, or a secret; or tenon.yaml withholds it. */
int32_t http_request_permit(const struct http_request *request, const struct plugin *plugin,
                            const struct config *config, struct error *error);
/* The same of a redirect's target. */
int32_t http_request_permit_url(const struct url *url, const struct plugin *plugin, struct error *error);
/* SECRET_NOT_FOUND, LIMIT, or INVALID_INPUT where a secret is nothing that could be in its place. */
int32_t http_request_fill(const struct http_request *request, struct secrets *secrets, int64_t now_ms,
                          struct sending *out, struct error *error);
/* What it says in the headers that are credentials, and is no {secret: NAME}: looked for from now on. */
void http_request_learn(const struct http_request *request, struct secrets *secrets);
/* The names of its secrets, in an object; a new reference. */
tn_value http_request_secrets(const struct http_request *request);
/*
 * What a recording has of it, and what a replay looks for: {method, url, headers?, json? | body?, receive}. Secrets are
 * {secret:NAME}, whether they are there or not; what is usually secret and written out is {redacted}. Of what is
 * private there is only its name: {method: "PRIVATE", url: "private://NAME", receive}. A new reference.
 */
tn_value http_request_redacted(const struct http_request *request);
/* The same for the headers of an answer. */
tn_value http_request_redact_headers(tn_value headers, struct secrets *secrets);

void sending_finish(struct sending *sending);
/*
 * To where a 3xx answer leads: 303, and 301 and 302 of a POST, become a GET. Where the origin changes, secrets stay
 * behind, and so do cookies and credentials. PERMISSION_DENIED, PROTOCOL.
 */
int32_t sending_redirect(struct sending *sending, int64_t status, const char *location, const struct plugin *plugin,
                         struct secrets *secrets, struct error *error);
/* The request object for a provider; `left_ms` of the total time, 0 for none. A new reference. */
tn_value sending_value(const struct sending *sending, int64_t left_ms);

#endif

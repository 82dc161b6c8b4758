/*
 * oci_client.h - requests to one repository of an OCI registry: the address, authentication and redirects.
 *
 * The transfer itself is done by the host's HTTP service. A request is sent without credentials first. If the registry
 * answers 401 with a challenge, the client authenticates as it asks, with Basic or with a token (Bearer), and sends the
 * request again. Credentials and tokens are sent to the registry's own origin, and credentials to the token service
 * that its challenge names; never to another server to which a request is redirected. A challenge of such a server is
 * not answered.
 *
 *     struct oci_client *client = oci_client_new(&options, &reference, &error);
 *     struct oci_request request = {.method = "GET", .path = "manifests/1.0.0", .max_bytes = OCI_MANIFEST_MAX};
 *     struct oci_response response;
 *     status = oci_client_send(client, &request, &response, &error);       // runs the loop until the response is there
 *     oci_response_finish(&response);
 *     oci_client_free(client);
 *
 * Thread: the loop's, but not in one of its callbacks.
 */
#ifndef TENON_HOST_NET_OCI_OCI_CLIENT_H
#define TENON_HOST_NET_OCI_OCI_CLIENT_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/base/url.h"
#include "host/net/oci/oci_reference.h"

struct config;
struct http;
struct loop;
struct oci_client;
struct secrets;

#define OCI_REDIRECTS_MAX      5
#define OCI_TOKEN_MAX          (32u << 10)  /* bytes of a token */
#define OCI_TOKEN_RESPONSE_MAX (256u << 10) /* bytes of a token service's response */
#define OCI_TOTAL_MS           120000       /* for a request whose response is small */
#define OCI_IDLE_MS            120000       /* without a byte in either direction */

/* All are borrowed until oci_client_free. */
struct oci_client_options {
    struct loop *loop;
    struct http *http;
    struct secrets *secrets;
    const struct config *config; /* packs.registries */
    bool plain_http;             /* the user allows requests without encryption */
    bool push;                   /* ask token services for permission to push */
    bool (*stopped)(void);       /* true after Ctrl-C: requests fail with CANCELLED */
};

struct oci_client *oci_client_new(const struct oci_client_options *options, const struct oci_reference *reference,
                                  struct error *error);
void oci_client_free(struct oci_client *client); /* NULL is allowed */
/* "HOST/NAME", for messages; borrowed. */
const char *oci_client_where(const struct oci_client *client);

/* Receives a body in pieces. A status other than TN_OK cancels the request and is returned. */
typedef int32_t (*oci_data)(void *user, const void *bytes, size_t length, struct error *error);

struct oci_request {
    const char *method;
    const char *path;                                  /* after /v2/NAME/; if it is NULL, `url` is used */
    const struct url *url;                             /* a Location that the registry has sent */
    const char *digest;                                /* the query member `digest`; NULL if it is not needed */
    const char *accept, *content_type, *content_range; /* headers; NULL: not sent */
    tn_value body;                                     /* bytes or text, borrowed; NULL without a body */
    int64_t max_bytes;                                 /* the most bytes of the response's body */
    oci_data data; /* the body of a successful response is delivered here; NULL: it is in the response */
    void *user;
};

struct oci_response {
    int64_t status;
    tn_value headers;
    tn_value body;  /* bytes, or NULL */
    struct url url; /* where the response came from, after redirects */
};

/*
 * Sends a request and waits for its response, whatever its status is; but a 401 that cannot be answered is AUTH. Fails
 * with the codes of tenon/http.h, AUTH, CANCELLED, or the error of `data`. On success the caller calls
 * oci_response_finish.
 */
int32_t oci_client_send(struct oci_client *client, const struct oci_request *request, struct oci_response *response,
                        struct error *error);
void oci_response_finish(struct oci_response *response);
/* The text of a header, whose name is in lower case; NULL if it is missing. */
const char *oci_response_header(const struct oci_response *response, const char *name);
/*
 * Sets the error for a response whose status is not the expected one, with the registry's own message: NOT_FOUND, AUTH,
 * RATE_LIMITED or HTTP_STATUS. `what` is what was requested: "the manifest of acme/text:1.0.0".
 */
int32_t oci_response_fail(const struct oci_client *client, const struct oci_response *response, const char *what,
                          struct error *error);

#endif

/*
 * oci_client_auth.h - shared by oci_client.c (requests) and oci_client_auth.c (authentication).
 */
#ifndef TENON_HOST_NET_OCI_OCI_CLIENT_AUTH_H
#define TENON_HOST_NET_OCI_OCI_CLIENT_AUTH_H

#include "host/net/oci/oci_client.h"

struct oci_client {
    struct oci_client_options options;
    struct oci_reference reference;
    struct url base;        /* https://HOST/v2/NAME/ */
    tn_value where;         /* "HOST/NAME" */
    tn_value authorization; /* the header, after a challenge; NULL before */
    bool has_password;      /* `authorization` is a password, or a token that was issued for one */
};

/* Sends one request and waits. `request` has the receiver of the body; *end is a new reference. */
int32_t oci_exchange(struct oci_client *client, const struct oci_request *request, tn_value object, tn_value *end,
                     struct error *error);
/* The member `retry` of a request that changes nothing; a new reference. */
tn_value oci_retry(void);
/* Answers the challenge of a 401: sets client->authorization. `header` is its WWW-Authenticate, or NULL. */
int32_t oci_authenticate(struct oci_client *client, const char *header, struct error *error);

#endif

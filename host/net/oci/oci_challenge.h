/*
 * oci_challenge.h - reads a WWW-Authenticate header (RFC 9110, 11.6.1): how a registry wants a client to authenticate.
 *
 *     Bearer realm="https://auth.acme.example/token",service="registry",scope="repository:acme/text:pull"
 *     Basic realm="registry"
 *
 * A header can have several challenges. Bearer is preferred if it has a realm, then Basic; others are not supported.
 */
#ifndef TENON_HOST_NET_OCI_OCI_CHALLENGE_H
#define TENON_HOST_NET_OCI_OCI_CHALLENGE_H

#include <stddef.h>

#define OCI_CHALLENGE_MAX 8192u /* bytes of the header; a longer one is ignored */

enum oci_scheme { OCI_NO_CHALLENGE, OCI_BASIC, OCI_BEARER };

struct oci_challenge {
    enum oci_scheme scheme;
    char *realm, *service, *scope; /* of Bearer; owned; NULL if missing */
};

/* The caller calls oci_challenge_finish. */
void oci_challenge_read(const char *header, size_t length, struct oci_challenge *out);
void oci_challenge_finish(struct oci_challenge *challenge);

#endif

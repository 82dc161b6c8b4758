/*
 * oci_transfer_internal.h - shared by oci_transfer.c (pull) and oci_upload.c (push).
 */
#ifndef TENON_HOST_NET_OCI_OCI_TRANSFER_INTERNAL_H
#define TENON_HOST_NET_OCI_OCI_TRANSFER_INTERNAL_H

#include "host/net/oci/oci_transfer.h"

/* Requests the manifest that a tag or a digest names. */
int32_t oci_get_manifest(struct oci_client *client, const char *name, struct oci_response *response,
                         struct error *error);
/* The digest in the response's docker-content-digest if it differs from `digest`; otherwise NULL. */
const char *oci_other_digest(const struct oci_response *response, const char *digest);

#endif

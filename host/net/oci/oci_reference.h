/*
 * oci_reference.h - the address of an artifact in an OCI registry, as a user writes it.
 *
 *     oci://HOST[:PORT]/NAME[:TAG][@DIGEST]
 *
 * NAME has the form of the OCI distribution specification: parts of lowercase letters, digits and separators, joined by
 * slashes. A tag can be moved to another artifact; a digest cannot, so a reference with one is *pinned*. If both are
 * given, the digest is used.
 *
 *     struct oci_reference reference;
 *     if (oci_reference_read("oci://ghcr.io/acme/text:1.0.0", &reference, &error) != TN_OK) return report(&error);
 *     oci_reference_write(&text, &reference);
 *
 * Thread: any.
 */
#ifndef TENON_HOST_NET_OCI_OCI_REFERENCE_H
#define TENON_HOST_NET_OCI_OCI_REFERENCE_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include <stdbool.h>

#define OCI_SCHEME     "oci://"
#define OCI_NAME_MAX   255u /* bytes of host, port and NAME together, which is what other clients accept */
#define OCI_TAG_MAX    128u
#define OCI_DIGEST_MAX 71u /* "sha256:" and 64 lowercase hexadecimal digits */

struct oci_reference {
    char host[OCI_NAME_MAX + 1]; /* lowercase, with the port if one is given */
    char name[OCI_NAME_MAX + 1];
    char tag[OCI_TAG_MAX + 1];       /* "" if not given */
    char digest[OCI_DIGEST_MAX + 1]; /* "" if not given */
};

/* True if the text begins like a reference, so that it is not a path. */
bool oci_is_reference(const char *text);
/* Fails with INVALID_INPUT. On failure *reference is unchanged. */
int32_t oci_reference_read(const char *text, struct oci_reference *reference, struct error *error);
void oci_reference_write(struct buffer *out, const struct oci_reference *reference);
bool oci_tag_valid(const char *tag);
bool oci_digest_valid(const char *digest);
/* True if HOST is this machine: localhost, 127.0.0.0/8 or [::1]. */
bool oci_reference_is_loopback(const struct oci_reference *reference);

#endif

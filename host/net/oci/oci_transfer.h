/*
 * oci_transfer.h - pushes and pulls artifacts of one file: manifests and blobs, with every byte checked against its
 * digest.
 *
 *     struct oci_artifact artifact;
 *     char digest[OCI_DIGEST_MAX + 1];
 *     status = oci_pull_manifest(client, &kind, most, &artifact, digest, &error);
 *     if (status == TN_OK) status = oci_pull_layer(client, &artifact, file, &error);
 *
 * A failed pull leaves a part of the layer in the file. A failed push leaves nothing that has a name: the manifest is
 * sent last. Thread: the loop's, as in oci_client.h.
 */
#ifndef TENON_HOST_NET_OCI_OCI_TRANSFER_H
#define TENON_HOST_NET_OCI_OCI_TRANSFER_H

#include "host/net/oci/oci_client.h"
#include "host/net/oci/oci_manifest.h"

#define OCI_WHOLE_MAX (32 << 20) /* bytes of a blob that is sent with one request; a larger one is sent in chunks */
#define OCI_CHUNK     (16 << 20) /* bytes of a chunk, unless the registry requires larger ones */

/* "sha256:…" of bytes. */
void oci_digest_of(const void *bytes, size_t length, char digest[OCI_DIGEST_MAX + 1]);
/* Of a whole file, whose length is set; does not use the offset of the descriptor. Fails with IO. */
int32_t oci_digest_of_file(int file, char digest[OCI_DIGEST_MAX + 1], int64_t *length, struct error *error);

/*
 * Downloads the manifest that `reference` names, and sets *digest to its digest. Fails with INVALID_RESPONSE if it has
 * another digest than the reference, or is not of this kind; with LIMIT if it or the layer (`most` bytes) is too large.
 * The caller calls oci_artifact_finish.
 */
int32_t oci_pull_manifest(struct oci_client *client, const struct oci_kind *kind, const struct oci_reference *reference,
                          int64_t most, struct oci_artifact *out, char digest[OCI_DIGEST_MAX + 1], struct error *error);
/* Downloads the layer to a file. Fails with INVALID_RESPONSE if its size or digest differs from the manifest. */
int32_t oci_pull_layer(struct oci_client *client, const struct oci_artifact *artifact, int file, struct error *error);

/*
 * Uploads what the registry does not have: the layer, which is `file`, the configuration, and the manifest with the
 * tag. Sets *digest to the digest of the manifest, and *existed if the tag already names it. If the tag names another
 * manifest, it is moved only with `force`; otherwise the result is EXISTS.
 */
int32_t oci_push(struct oci_client *client, const struct oci_kind *kind, const struct oci_artifact *artifact, int file,
                 const char *tag, bool force, bool *existed, char digest[OCI_DIGEST_MAX + 1], struct error *error);

#endif

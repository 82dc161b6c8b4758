/*
 * oci_manifest.h - the manifest of an artifact that is one file: an OCI image manifest (image-spec 1.1) with an
 * artifactType, the empty configuration and one layer.
 *
 *     static const struct oci_kind kind = {"a pack", "application/vnd.acme.pack", "application/vnd.acme.tar"};
 *     tn_value text = oci_manifest_write(&kind, &artifact);     // equal artifacts have equal bytes
 *     status = oci_manifest_read(&kind, "registry.example/acme", type, bytes, length, &artifact, &error);
 *     oci_artifact_finish(&artifact);
 *
 * A manifest comes from a registry, which may be hostile, so all of its members are checked. It decides only which
 * bytes are downloaded next, how many of them, and their hash. Thread: any.
 */
#ifndef TENON_HOST_NET_OCI_OCI_MANIFEST_H
#define TENON_HOST_NET_OCI_OCI_MANIFEST_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/net/oci/oci_reference.h"

#define OCI_MANIFEST_MAX  (4u << 20) /* bytes, the limit that registries must accept */
#define OCI_MANIFEST_TYPE "application/vnd.oci.image.manifest.v1+json"
#define OCI_INDEX_TYPE    "application/vnd.oci.image.index.v1+json"
#define OCI_EMPTY         "{}" /* the content of the empty configuration */
#define OCI_EMPTY_DIGEST  "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"

/* What an artifact is, by its media types. */
struct oci_kind {
    const char *noun; /* for messages: "a pack" */
    const char *artifact_type, *layer_type;
};

struct oci_artifact {
    char layer_digest[OCI_DIGEST_MAX + 1];
    int64_t layer_size;
    tn_value annotations;       /* {name: text}; owned; may be NULL */
    tn_value layer_annotations; /* the same */
};

/* The manifest's text, a new reference. */
tn_value oci_manifest_write(const struct oci_kind *kind, const struct oci_artifact *artifact);
/*
 * Reads a manifest that `where` has sent with this content type. Fails with INVALID_RESPONSE if it is malformed or
 * something else, for example a container image or an index. On failure *out is unchanged.
 */
int32_t oci_manifest_read(const struct oci_kind *kind, const char *where, const char *content_type, const void *bytes,
                          size_t length, struct oci_artifact *out, struct error *error);
void oci_artifact_finish(struct oci_artifact *artifact);
/* The text of an annotation, or NULL. */
const char *oci_annotation(tn_value annotations, const char *name);

#endif

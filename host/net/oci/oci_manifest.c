/*
 * oci_manifest.c - writes and reads the manifest of an artifact with one layer.
 */
#include "host/net/oci/oci_manifest.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <string.h>
#include <strings.h>

/* ---- Writing ---- */

static tn_value descriptor_value(const char *type, const char *digest, int64_t size) {
    tn_value made = value_set_take(value_object(), "mediaType", value_text(type));
    made = value_set_take(made, "digest", value_text(digest));
    return value_set_take(made, "size", value_int(size));
}

tn_value oci_manifest_write(const struct oci_kind *kind, const struct oci_artifact *artifact) {
    tn_value config = descriptor_value("application/vnd.oci.empty.v1+json", OCI_EMPTY_DIGEST, sizeof OCI_EMPTY - 1);
    tn_value layer = descriptor_value(kind->layer_type, artifact->layer_digest, artifact->layer_size);
    config = value_set_take(config, "data", value_text("e30=")); /* OCI_EMPTY in base64 */
    if (value_count(artifact->layer_annotations))
        layer = value_set_take(layer, "annotations", value_ref(artifact->layer_annotations));
    tn_value made = value_set_take(value_object(), "schemaVersion", value_int(2));
    made = value_set_take(made, "mediaType", value_text(OCI_MANIFEST_TYPE));
    made = value_set_take(made, "artifactType", value_text(kind->artifact_type));
    made = value_set_take(made, "config", config);
    made = value_set_take(made, "layers", value_push_take(value_array(), layer));
    if (value_count(artifact->annotations))
        made = value_set_take(made, "annotations", value_ref(artifact->annotations));
    char *json = json_text(made, JSON_COMPACT);
    tn_value text = value_text(json);
    mem_free(json);
    value_unref(made);
    return text;
}

/* ---- Reading ---- */

struct manifest_reader {
    const struct oci_kind *kind;
    const char *where;
    struct error *error;
};

static int32_t manifest_fail(const struct manifest_reader *reader, const char *why) {
    return error_set(reader->error, TN_INVALID, "INVALID_RESPONSE", "%s: the manifest is not that of %s: %s",
                     reader->where, reader->kind->noun, why);
}

static int32_t manifest_wrong_type(const struct manifest_reader *reader, const char *member, const char *found,
                                   const char *expected) {
    return error_set(reader->error, TN_INVALID, "INVALID_RESPONSE",
                     "%s: the manifest is not that of %s: its %s is `%.200s`, expected `%s`", reader->where,
                     reader->kind->noun, member, found, expected);
}

static const char *text_of(tn_value object, const char *key) {
    tn_value text = value_is(object, TN_OBJECT) ? value_get(object, key) : NULL;
    return value_is(text, TN_STRING) ? value_chars(text, NULL) : NULL;
}

/* True if a content type is `type`, ignoring parameters. */
static bool is_media_type(const char *content_type, const char *type) {
    size_t length = strcspn(content_type, "; \t");
    return strlen(type) == length && strncasecmp(content_type, type, length) == 0;
}

static bool is_index_type(const char *type) {
    return is_media_type(type, OCI_INDEX_TYPE) ||
           is_media_type(type, "application/vnd.docker.distribution.manifest.list.v2+json");
}

static int32_t manifest_check_type(const struct manifest_reader *reader, const char *content_type, tn_value manifest) {
    const char *inner = text_of(manifest, "mediaType"), *type = inner ? inner : content_type;
    if (is_index_type(type) || is_index_type(content_type))
        return manifest_fail(reader, "it is an index, which lists other manifests; name one of them by its digest");
    if (!is_media_type(content_type, OCI_MANIFEST_TYPE))
        return manifest_wrong_type(reader, "content type", content_type, OCI_MANIFEST_TYPE);
    if (inner && strcmp(inner, OCI_MANIFEST_TYPE) != 0)
        return manifest_wrong_type(reader, "mediaType", inner, OCI_MANIFEST_TYPE);
    const char *artifact = text_of(manifest, "artifactType"),
               *config = text_of(value_get(manifest, "config"), "mediaType");
    if (!artifact) artifact = config;
    if (!artifact) return manifest_fail(reader, "it has neither an artifactType nor a config");
    if (strcmp(artifact, reader->kind->artifact_type) != 0)
        return manifest_wrong_type(reader, "artifactType", artifact, reader->kind->artifact_type);
    return TN_OK;
}

static tn_value annotations_of(tn_value object) {
    tn_value annotations = value_get(object, "annotations");
    return value_is(annotations, TN_OBJECT) ? value_ref(annotations) : NULL;
}

static int32_t manifest_read_layer(const struct manifest_reader *reader, tn_value layers, struct oci_artifact *out) {
    if (!value_is(layers, TN_ARRAY) || value_count(layers) != 1)
        return error_set(reader->error, TN_INVALID, "INVALID_RESPONSE",
                         "%s: the manifest is not that of %s: it has %zu layers, expected one", reader->where,
                         reader->kind->noun, value_is(layers, TN_ARRAY) ? value_count(layers) : 0);
    tn_value layer = value_at(layers, 0), size = value_is(layer, TN_OBJECT) ? value_get(layer, "size") : NULL;
    const char *type = text_of(layer, "mediaType"), *digest = text_of(layer, "digest");
    if (!type || strcmp(type, reader->kind->layer_type) != 0)
        return manifest_wrong_type(reader, "layer's mediaType", type ? type : "missing", reader->kind->layer_type);
    if (!digest || !oci_digest_valid(digest))
        return manifest_fail(reader, "the digest of its layer is not `sha256:` and 64 hexadecimal digits");
    if (!size || !value_as_int(size, &out->layer_size) || out->layer_size < 1)
        return manifest_fail(reader, "the size of its layer is not a positive whole number");
    memcpy(out->layer_digest, digest, OCI_DIGEST_MAX + 1);
    out->layer_annotations = annotations_of(layer);
    return TN_OK;
}

int32_t oci_manifest_read(const struct oci_kind *kind, const char *where, const char *content_type, const void *bytes,
                          size_t length, struct oci_artifact *out, struct error *error) {
    const struct manifest_reader reader = {kind, where, error};
    struct oci_artifact made = {.layer_size = 0};
    struct error why = ERROR_INIT;
    tn_value manifest = NULL;
    int64_t version = 0;
    int32_t status = json_read(bytes, length, NULL, &manifest, &why);
    if (status != TN_OK)
        error_set(error, TN_INVALID, "INVALID_RESPONSE", "%s: the manifest cannot be read: %s", where, why.message);
    else if (!value_is(manifest, TN_OBJECT))
        status = manifest_fail(&reader, "it is not an object");
    else
        status = manifest_check_type(&reader, content_type, manifest);
    tn_value number = status == TN_OK ? value_get(manifest, "schemaVersion") : NULL;
    if (status == TN_OK && (!number || !value_as_int(number, &version) || version != 2))
        status = manifest_fail(&reader, "its schemaVersion is not 2");
    if (status == TN_OK) status = manifest_read_layer(&reader, value_get(manifest, "layers"), &made);
    if (status == TN_OK) {
        made.annotations = annotations_of(manifest);
        *out = made;
    }
    error_finish(&why);
    value_unref(manifest);
    return status;
}

void oci_artifact_finish(struct oci_artifact *artifact) {
    value_unref(artifact->annotations);
    value_unref(artifact->layer_annotations);
    *artifact = (struct oci_artifact){.layer_size = 0};
}

const char *oci_annotation(tn_value annotations, const char *name) { return text_of(annotations, name); }

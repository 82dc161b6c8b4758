/*
 * oci_transfer.c - downloads manifests and layers.
 */
#include "adl/value/memory.h"
#include "host/base/file_open.h"
#include "host/net/oci/oci_transfer_internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <tenon/util/sha256.h>
#include <unistd.h>

#define ERROR_BODY_MAX (64 << 10) /* bytes of an error response, or of what is too much of a layer */

/* All types that a tag may name, so that a registry sends what it has, and the message says what that is. */
#define MANIFEST_TYPES                                                                                                 \
    OCI_MANIFEST_TYPE ", " OCI_INDEX_TYPE ", application/vnd.docker.distribution.manifest.v2+json, "                   \
                      "application/vnd.docker.distribution.manifest.list.v2+json"

/* ---- Digests ---- */

static void digest_of_hex(const char *hex, char digest[OCI_DIGEST_MAX + 1]) {
    snprintf(digest, OCI_DIGEST_MAX + 1, "sha256:%s", hex);
}

static void digest_finish(struct tn_sha256 *state, char digest[OCI_DIGEST_MAX + 1]) {
    char hex[TN_SHA256_TEXT];
    tn_sha256_finish_text(state, hex);
    digest_of_hex(hex, digest);
}

void oci_digest_of(const void *bytes, size_t length, char digest[OCI_DIGEST_MAX + 1]) {
    struct tn_sha256 state;
    tn_sha256_init(&state);
    tn_sha256_update(&state, bytes, length);
    digest_finish(&state, digest);
}

int32_t oci_digest_of_file(int file, char digest[OCI_DIGEST_MAX + 1], int64_t *length, struct error *error) {
    char hex[TN_SHA256_TEXT];
    int failure = file_hash(file, hex, length);
    if (failure) return error_set(error, TN_ERROR, "IO", "cannot read the file: %s", strerror(failure));
    digest_of_hex(hex, digest);
    return TN_OK;
}

/* ---- The manifest ---- */

int32_t oci_get_manifest(struct oci_client *client, const char *name, struct oci_response *response,
                         struct error *error) {
    tn_value path = value_format("manifests/%s", name);
    const struct oci_request request = {
        .method = "GET", .path = value_chars(path, NULL), .accept = MANIFEST_TYPES, .max_bytes = OCI_MANIFEST_MAX};
    int32_t status = oci_client_send(client, &request, response, error);
    value_unref(path);
    return status;
}

const char *oci_other_digest(const struct oci_response *response, const char *digest) {
    const char *sent = oci_response_header(response, "docker-content-digest");
    return sent && strncmp(sent, "sha256:", 7) == 0 && strcmp(sent, digest) != 0 ? sent : NULL;
}

/* Compares the digest of the bytes with the expected one, and with the one that the registry has sent. */
static int32_t check_manifest_digest(const struct oci_client *client, const struct oci_reference *reference,
                                     const struct oci_response *response, const char *digest, struct error *error) {
    const char *sent = oci_other_digest(response, digest);
    if (*reference->digest && strcmp(reference->digest, digest) != 0)
        return error_set(error, TN_INVALID, "INVALID_RESPONSE",
                         "%s: the registry sent a manifest with the digest %s instead of %s; nothing was used",
                         oci_client_where(client), digest, reference->digest);
    if (sent)
        return error_set(error, TN_INVALID, "INVALID_RESPONSE",
                         "%s: the manifest has the digest %s, but the registry announced %.80s; nothing was used",
                         oci_client_where(client), digest, sent);
    return TN_OK;
}

static int32_t read_manifest(const struct oci_client *client, const struct oci_kind *kind,
                             const struct oci_reference *reference, const struct oci_response *response, int64_t most,
                             struct oci_artifact *out, char digest[OCI_DIGEST_MAX + 1], struct error *error) {
    const char *type = oci_response_header(response, "content-type");
    size_t length = 0;
    const void *bytes = response->body ? value_data(response->body, &length) : "";
    struct oci_artifact made;
    oci_digest_of(bytes, length, digest);
    int32_t status = check_manifest_digest(client, reference, response, digest, error);
    if (status == TN_OK)
        status =
            oci_manifest_read(kind, oci_client_where(client), type ? type : "missing", bytes, length, &made, error);
    if (status != TN_OK) return status;
    if (made.layer_size > most) {
        error_set(error, TN_LIMIT, "LIMIT", "%s: the layer has %lld bytes, which is more than the limit of %lld",
                  oci_client_where(client), (long long)made.layer_size, (long long)most);
        oci_artifact_finish(&made);
        return TN_LIMIT;
    }
    *out = made;
    return TN_OK;
}

int32_t oci_pull_manifest(struct oci_client *client, const struct oci_kind *kind, const struct oci_reference *reference,
                          int64_t most, struct oci_artifact *out, char digest[OCI_DIGEST_MAX + 1],
                          struct error *error) {
    const char *name = *reference->digest ? reference->digest : reference->tag;
    struct oci_response response;
    int32_t status = oci_get_manifest(client, name, &response, error);
    if (status != TN_OK) return status;
    if (response.status == 200) {
        status = read_manifest(client, kind, reference, &response, most, out, digest, error);
    } else {
        tn_value what = value_format("the manifest `%s`", name);
        status = oci_response_fail(client, &response, value_chars(what, NULL), error);
        value_unref(what);
    }
    oci_response_finish(&response);
    return status;
}

/* ---- The layer ---- */

struct layer_writer {
    const struct oci_client *client;
    struct tn_sha256 hash;
    int64_t received, expected;
    int file;
};

static int32_t layer_fail_size(const struct layer_writer *writer, const char *received, struct error *error) {
    return error_set(error, TN_INVALID, "INVALID_RESPONSE",
                     "%s: the registry sent %s bytes of the layer, but the manifest says %lld; nothing was used",
                     oci_client_where(writer->client), received, (long long)writer->expected);
}

static int32_t layer_write(void *user, const void *bytes, size_t length, struct error *error) {
    struct layer_writer *writer = user;
    const char *at = bytes;
    if ((int64_t)length > writer->expected - writer->received) return layer_fail_size(writer, "more", error);
    tn_sha256_update(&writer->hash, bytes, length);
    writer->received += (int64_t)length;
    while (length > 0) {
        ssize_t written = write(writer->file, at, length);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return error_set(error, TN_ERROR, "IO", "cannot save the layer: %s", strerror(errno));
        at += written;
        length -= (size_t)written;
    }
    return TN_OK;
}

static int32_t layer_check(struct layer_writer *writer, const char *expected, struct error *error) {
    char digest[OCI_DIGEST_MAX + 1], received[24];
    snprintf(received, sizeof received, "%lld", (long long)writer->received);
    if (writer->received != writer->expected) return layer_fail_size(writer, received, error);
    digest_finish(&writer->hash, digest);
    if (strcmp(digest, expected) == 0) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_RESPONSE",
                     "%s: the layer has the digest %s, but the manifest says %s; nothing was used",
                     oci_client_where(writer->client), digest, expected);
}

int32_t oci_pull_layer(struct oci_client *client, const struct oci_artifact *artifact, int file, struct error *error) {
    struct layer_writer writer = {.client = client, .expected = artifact->layer_size, .file = file};
    struct oci_response response;
    tn_value path = value_format("blobs/%s", artifact->layer_digest);
    const struct oci_request request = {.method = "GET",
                                        .path = value_chars(path, NULL),
                                        .accept = "application/octet-stream, */*",
                                        .max_bytes = artifact->layer_size + ERROR_BODY_MAX, /* layer_write counts */
                                        .data = layer_write,
                                        .user = &writer};
    tn_sha256_init(&writer.hash);
    int32_t status = oci_client_send(client, &request, &response, error);
    value_unref(path);
    if (status != TN_OK) return status;
    status = response.status == 200 ? layer_check(&writer, artifact->layer_digest, error)
                                    : oci_response_fail(client, &response, "the layer", error);
    oci_response_finish(&response);
    return status;
}

/*
 * oci_upload.c - uploads blobs and manifests.
 *
 * A blob is sent with one PUT, or in chunks (PATCH) if it is larger than a body of the HTTP service may be. Each
 * response names the address of the next request, which may belong to another server; only the registry's own server
 * receives credentials (oci_client.h).
 */
#include "adl/value/memory.h"
#include "host/net/oci/oci_transfer_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/http.h>
#include <unistd.h>

#define RESPONSE_MAX (64 << 10)
#define BYTES_TYPE   "application/octet-stream"

/* ---- A blob ---- */

struct upload {
    struct oci_client *client;
    const char *digest, *what;
    struct url location; /* of the next request */
    int64_t chunk;       /* bytes of a chunk */
};

/* Sends a request and expects a status; the caller calls oci_response_finish after success. */
static int32_t upload_send(const struct upload *upload, const struct oci_request *request, int64_t expected,
                           struct oci_response *response, struct error *error) {
    int32_t status = oci_client_send(upload->client, request, response, error);
    if (status != TN_OK || response->status == expected) return status;
    status = oci_response_fail(upload->client, response, upload->what, error);
    oci_response_finish(response);
    return status;
}

/* Keeps the Location of a response as the address of the next request. */
static int32_t upload_set_location(struct upload *upload, const struct oci_response *response, struct error *error) {
    const char *location = oci_response_header(response, "location");
    struct url to;
    const char *why = location ? url_read(&to, location, strlen(location), &response->url) : "it is missing";
    if (why)
        return error_set(error, TN_ERROR, "PROTOCOL", "%s: the registry sent no address for the upload: %s",
                         oci_client_where(upload->client), why);
    if (response->url.secure && !to.secure) {
        url_finish(&to);
        return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                         "%s: the registry wants the upload sent to %s, which is not encrypted",
                         oci_client_where(upload->client), to.host);
    }
    url_finish(&upload->location);
    upload->location = to;
    return TN_OK;
}

static bool response_has_status(struct oci_response *response, int64_t status) {
    bool equal = response->status == status;
    if (equal) oci_response_finish(response);
    return equal;
}

/* Sets *exists; the registry's answer to HEAD. */
static int32_t upload_exists(const struct upload *upload, bool *exists, struct error *error) {
    tn_value path = value_format("blobs/%s", upload->digest);
    const struct oci_request request = {.method = "HEAD", .path = value_chars(path, NULL), .max_bytes = RESPONSE_MAX};
    struct oci_response response;
    int32_t status = oci_client_send(upload->client, &request, &response, error);
    value_unref(path);
    *exists = false;
    if (status != TN_OK || response_has_status(&response, 404)) return status;
    *exists = response_has_status(&response, 200);
    if (*exists) return TN_OK;
    status = oci_response_fail(upload->client, &response, upload->what, error);
    oci_response_finish(&response);
    return status;
}

static int32_t upload_begin(struct upload *upload, struct error *error) {
    const struct oci_request request = {.method = "POST", .path = "blobs/uploads/", .max_bytes = RESPONSE_MAX};
    struct oci_response response;
    int32_t status = upload_send(upload, &request, 202, &response, error);
    if (status != TN_OK) return status;
    const char *least = oci_response_header(&response, "oci-chunk-min-length");
    int64_t chunk = least ? strtoll(least, NULL, 10) : 0;
    upload->chunk = chunk > OCI_CHUNK ? chunk : OCI_CHUNK;
    status = upload_set_location(upload, &response, error);
    if (status == TN_OK && upload->chunk > TN_HTTP_BODY_MAX)
        status =
            error_set(error, TN_LIMIT, "LIMIT",
                      "%s: the registry requires chunks of at least %lld bytes, which is more than the limit of %d",
                      oci_client_where(upload->client), (long long)chunk, TN_HTTP_BODY_MAX);
    oci_response_finish(&response);
    return status;
}

/* Sends bytes [start, start + length) of the blob. */
static int32_t upload_chunk(struct upload *upload, tn_value body, int64_t start, int64_t length, struct error *error) {
    char range[64];
    struct oci_response response;
    snprintf(range, sizeof range, "%lld-%lld", (long long)start, (long long)(start + length - 1));
    const struct oci_request request = {.method = "PATCH",
                                        .url = &upload->location,
                                        .content_type = BYTES_TYPE,
                                        .content_range = range,
                                        .body = body,
                                        .max_bytes = RESPONSE_MAX};
    int32_t status = upload_send(upload, &request, 202, &response, error);
    if (status != TN_OK) return status;
    status = upload_set_location(upload, &response, error);
    oci_response_finish(&response);
    return status;
}

/* Ends the upload; `body` is the whole blob, or empty after chunks. */
static int32_t upload_end(struct upload *upload, tn_value body, struct error *error) {
    const struct oci_request request = {.method = "PUT",
                                        .url = &upload->location,
                                        .digest = upload->digest,
                                        .content_type = BYTES_TYPE,
                                        .body = body,
                                        .max_bytes = RESPONSE_MAX};
    struct oci_response response;
    int32_t status = upload_send(upload, &request, 201, &response, error);
    if (status == TN_OK) oci_response_finish(&response);
    return status;
}

/* The bytes [start, start + length) of a file; NULL with an error if it does not have them. */
static tn_value read_part(int file, int64_t start, int64_t length, struct error *error) {
    char *bytes = mem_alloc((size_t)length + 1);
    int64_t got = 0;
    while (got < length) {
        ssize_t part = pread(file, bytes + got, (size_t)(length - got), (off_t)(start + got));
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) break;
        got += part;
    }
    tn_value value = got == length ? value_bytes(bytes, (size_t)length) : NULL;
    if (!value) error_set(error, TN_ERROR, "IO", "the file cannot be read, or became shorter while it was sent");
    mem_free(bytes);
    return value;
}

static int32_t upload_chunks(struct upload *upload, int file, int64_t size, struct error *error) {
    int32_t status = TN_OK;
    for (int64_t start = 0; status == TN_OK && start < size; start += upload->chunk) {
        int64_t length = size - start < upload->chunk ? size - start : upload->chunk;
        tn_value body = read_part(file, start, length, error);
        status = body ? upload_chunk(upload, body, start, length, error) : TN_ERROR;
        value_unref(body);
    }
    if (status != TN_OK) return status;
    tn_value nothing = value_bytes("", 0);
    status = upload_end(upload, nothing, error);
    value_unref(nothing);
    return status;
}

/* Uploads a blob that the registry does not have. `content` is the whole blob; NULL means the file. */
static int32_t push_blob(struct oci_client *client, const char *what, const char *digest, tn_value content, int file,
                         int64_t size, struct error *error) {
    struct upload upload = {.client = client, .digest = digest, .what = what};
    bool exists;
    int32_t status = upload_exists(&upload, &exists, error);
    if (status != TN_OK || exists) return status;
    status = upload_begin(&upload, error);
    if (status == TN_OK && size > OCI_WHOLE_MAX) {
        status = upload_chunks(&upload, file, size, error);
    } else if (status == TN_OK) {
        tn_value body = content ? value_ref(content) : read_part(file, 0, size, error);
        status = body ? upload_end(&upload, body, error) : TN_ERROR;
        value_unref(body);
    }
    url_finish(&upload.location);
    return status;
}

/* ---- The manifest ---- */

/* Sets *existed if the tag names the manifest with this digest. Fails with EXISTS if it names another one. */
static int32_t check_tag(struct oci_client *client, const char *tag, const char *digest, bool *existed,
                         struct error *error) {
    struct oci_response response;
    char found[OCI_DIGEST_MAX + 1];
    int32_t status = oci_get_manifest(client, tag, &response, error);
    if (status != TN_OK || response_has_status(&response, 404)) return status;
    if (response.status == 200) {
        size_t length = 0;
        const void *bytes = response.body ? value_data(response.body, &length) : "";
        oci_digest_of(bytes, length, found);
        *existed = strcmp(found, digest) == 0;
        if (!*existed)
            status = error_set(error, TN_INVALID, "EXISTS",
                               "%s: the tag `%s` already names %s; nothing was changed; choose another tag, or use "
                               "--force to move it",
                               oci_client_where(client), tag, found);
    } else {
        status = oci_response_fail(client, &response, "the manifest of this tag", error);
    }
    oci_response_finish(&response);
    return status;
}

static int32_t push_manifest(struct oci_client *client, const char *tag, tn_value text, const char *digest,
                             struct error *error) {
    tn_value path = value_format("manifests/%s", tag);
    const struct upload upload = {.client = client, .digest = digest, .what = "the manifest"};
    const struct oci_request request = {.method = "PUT",
                                        .path = value_chars(path, NULL),
                                        .content_type = OCI_MANIFEST_TYPE,
                                        .body = text,
                                        .max_bytes = RESPONSE_MAX};
    struct oci_response response;
    int32_t status = upload_send(&upload, &request, 201, &response, error);
    value_unref(path);
    if (status != TN_OK) return status;
    const char *sent = oci_other_digest(&response, digest);
    if (sent)
        status = error_set(error, TN_INVALID, "INVALID_RESPONSE",
                           "%s: the registry stored a manifest with the digest %.80s instead of %s",
                           oci_client_where(client), sent, digest);
    oci_response_finish(&response);
    return status;
}

int32_t oci_push(struct oci_client *client, const struct oci_kind *kind, const struct oci_artifact *artifact, int file,
                 const char *tag, bool force, bool *existed, char digest[OCI_DIGEST_MAX + 1], struct error *error) {
    tn_value text = oci_manifest_write(kind, artifact), config = value_bytes(OCI_EMPTY, sizeof OCI_EMPTY - 1);
    size_t length;
    const char *chars = value_chars(text, &length);
    int32_t status = TN_OK;
    *existed = false;
    oci_digest_of(chars, length, digest);
    if (!force) status = check_tag(client, tag, digest, existed, error);
    if (status == TN_OK && !*existed)
        status = push_blob(client, "the configuration", OCI_EMPTY_DIGEST, config, -1, sizeof OCI_EMPTY - 1, error);
    if (status == TN_OK && !*existed)
        status = push_blob(client, "the layer", artifact->layer_digest, NULL, file, artifact->layer_size, error);
    if (status == TN_OK && !*existed) status = push_manifest(client, tag, text, digest, error);
    value_unref(config);
    value_unref(text);
    return status;
}

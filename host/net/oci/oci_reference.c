/*
 * oci_reference.c - reads and writes oci://HOST[:PORT]/NAME[:TAG][@DIGEST].
 */
#include "host/net/oci/oci_reference.h"
#include "host/base/url.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool oci_is_reference(const char *text) { return strncmp(text, OCI_SCHEME, sizeof OCI_SCHEME - 1) == 0; }

bool oci_digest_valid(const char *digest) {
    static const char prefix[] = "sha256:";
    if (strncmp(digest, prefix, sizeof prefix - 1) != 0) return false;
    const char *hex = digest + sizeof prefix - 1;
    return strlen(hex) == 64 && strspn(hex, "0123456789abcdef") == 64;
}

bool oci_tag_valid(const char *tag) {
    size_t length = strlen(tag);
    if (length == 0 || length > OCI_TAG_MAX || *tag == '.' || *tag == '-') return false;
    return strspn(tag, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

/* One part of NAME: runs of letters and digits with single separators between them: ".", "_", "__", or dashes. */
static bool is_name_part(const char *at, const char *end) {
    if (at == end || !is_lower_or_digit(*at)) return false;
    while (at < end) {
        while (at < end && is_lower_or_digit(*at)) at++;
        if (at == end) return true;
        const char *separator = at;
        if (*at == '-')
            while (at < end && *at == '-') at++;
        else if (*at == '_')
            at += at + 1 < end && at[1] == '_' ? 2 : 1;
        else if (*at == '.')
            at++;
        if (at == separator || at == end || !is_lower_or_digit(*at)) return false;
    }
    return true;
}

static bool is_name(const char *at, const char *end) {
    for (;;) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        if (!is_name_part(at, slash ? slash : end)) return false;
        if (!slash) return true;
        at = slash + 1;
    }
}

static int32_t reference_fail(struct error *error, const char *text, const char *why) {
    return error_set(error, TN_INVALID, "INVALID_INPUT",
                     "`%.300s`: %s; expected oci://HOST[:PORT]/NAME[:TAG|@DIGEST], as in oci://ghcr.io/acme/text:1.0.0",
                     text, why);
}

/* Copies [at, end), which has at most `max` bytes. */
static void reference_copy(char *out, const char *at, const char *end) {
    memcpy(out, at, (size_t)(end - at));
    out[end - at] = 0;
}

static int32_t reference_read_host(const char *text, const char *at, const char *end, struct oci_reference *out,
                                   struct error *error) {
    char origin[sizeof "https:///" + OCI_NAME_MAX];
    struct url url;
    size_t length = (size_t)(end - at);
    if (memchr(at, '?', length) || memchr(at, '#', length))
        return reference_fail(error, text, "its host contains `?` or `#`");
    for (size_t i = 0; i < length; i++) out->host[i] = at[i] >= 'A' && at[i] <= 'Z' ? (char)(at[i] + 32) : at[i];
    out->host[length] = 0;
    int size = snprintf(origin, sizeof origin, "https://%s/", out->host);
    const char *why = length ? url_read(&url, origin, (size_t)size, NULL) : "it has no host";
    if (why) return reference_fail(error, text, why);
    url_finish(&url);
    return TN_OK;
}

/* True for USER:PASSWORD@HOST/NAME. The digest after another `@` has no slash. */
static bool has_credentials(const char *host) {
    const char *at = strchr(host, '@'), *slash = strchr(host, '/');
    return at && (!slash || at < slash || strchr(at, '/'));
}

int32_t oci_reference_read(const char *text, struct oci_reference *reference, struct error *error) {
    struct oci_reference made = {.tag = ""};
    if (!oci_is_reference(text)) return reference_fail(error, text, "it does not begin with " OCI_SCHEME);
    const char *host = text + sizeof OCI_SCHEME - 1, *slash = strchr(host, '/');
    if (has_credentials(host)) /* the message must not show them */
        return error_set(
            error, TN_INVALID, "INVALID_INPUT",
            "oci://…@…: found a user name or password, expected oci://HOST[:PORT]/NAME[:TAG|@DIGEST]; tenon.yaml "
            "names them: `packs: {registries: {HOST: {user: NAME, password: {secret: NAME}}}}`");
    if (!slash || !slash[1]) return reference_fail(error, text, "it has no name after the host");
    const char *name = slash + 1, *at = strchr(name, '@'), *end = at ? at : name + strlen(name);
    const char *colon = memchr(name, ':', (size_t)(end - name));
    const char *name_end = colon ? colon : end;
    if ((size_t)(name_end - host) > OCI_NAME_MAX)
        return reference_fail(error, "oci://…", "host and name have more than 255 bytes");
    if (!is_name(name, name_end))
        return reference_fail(error, text,
                              "its name may have lowercase letters and digits, with `.`, `_`, `-` or `/` between them");
    if (at && !oci_digest_valid(at + 1))
        return reference_fail(error, text, "its digest must be `sha256:` and 64 lowercase hexadecimal digits");
    if (colon && (size_t)(end - colon - 1) <= OCI_TAG_MAX) reference_copy(made.tag, colon + 1, end);
    if (colon && !oci_tag_valid(made.tag))
        return reference_fail(error, text,
                              "its tag must have 1 to 128 letters, digits, `.`, `_` or `-`, "
                              "and begin with a letter or digit");
    if (at) memcpy(made.digest, at + 1, OCI_DIGEST_MAX + 1);
    reference_copy(made.name, name, name_end);
    int32_t status = reference_read_host(text, host, slash, &made, error);
    if (status == TN_OK) *reference = made;
    return status;
}

void oci_reference_write(struct buffer *out, const struct oci_reference *reference) {
    buffer_format(out, OCI_SCHEME "%s/%s", reference->host, reference->name);
    if (*reference->digest)
        buffer_format(out, "@%s", reference->digest);
    else if (*reference->tag)
        buffer_format(out, ":%s", reference->tag);
}

bool oci_reference_is_loopback(const struct oci_reference *reference) {
    char host[OCI_NAME_MAX + 1];
    struct in_addr address;
    size_t length = strcspn(reference->host, ":");
    if (strncmp(reference->host, "[::1]", 5) == 0) return true;
    memcpy(host, reference->host, length);
    host[length] = 0;
    if (strcmp(host, "localhost") == 0) return true;
    return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

/*
 * oci_docker.c - reads the passwords that `docker login` has saved.
 */
#include "host/net/oci/oci_docker.h"
#include "adl/value/base64.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/file_open.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path of the file, a new reference; NULL if there is no such folder. */
static tn_value docker_file(void) {
    const char *folder = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
    if (folder && *folder) return value_format("%s/config.json", folder);
    return home && *home ? value_format("%s/.docker/config.json", home) : NULL;
}

static int32_t docker_fail(struct error *error, const char *path, const char *why) {
    return error_set(error, TN_INVALID, "INVALID_CONFIG", "%s: %s", path, why);
}

/* Sets *out to the contents of the file, or to NULL if it does not exist. */
static int32_t docker_read(const char *path, tn_value *out, struct error *error) {
    struct error why = ERROR_INIT;
    struct stat status;
    *out = NULL;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return errno == ENOENT || errno == ENOTDIR ? TN_OK : docker_fail(error, path, strerror(errno));
    bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    tn_value text = regular ? file_read_text(file, OCI_DOCKER_FILE_MAX, &why) : NULL;
    close(file);
    size_t length;
    int32_t result = text ? TN_OK : docker_fail(error, path, regular ? why.message : "it is not a regular file");
    const char *chars = text ? value_chars(text, &length) : NULL;
    /* The message of the JSON reader could show a part of the file, which contains passwords. */
    if (text && json_read(chars, length, NULL, out, NULL) != TN_OK) result = docker_fail(error, path, "it is not JSON");
    error_finish(&why);
    value_unref(text);
    return result;
}

/* Clients have written the key in several forms: HOST, https://HOST, https://HOST/v1/. */
static bool key_names_host(const char *key, const char *host) {
    size_t length = strlen(host);
    if (strncmp(key, "https://", 8) == 0) key += 8;
    if (strncmp(key, host, length) != 0) return false;
    key += length;
    return !*key || strcmp(key, "/") == 0 || strcmp(key, "/v1/") == 0 || strcmp(key, "/v2/") == 0;
}

/* The entry of a host, borrowed; NULL if it is missing. */
static tn_value docker_entry(tn_value auths, const char *host) {
    if (!value_is(auths, TN_OBJECT)) return NULL;
    if (strcmp(host, "registry-1.docker.io") == 0) host = "index.docker.io"; /* under this name, for all clients */
    for (size_t i = 0; i < value_count(auths); i++)
        if (key_names_host(value_chars(value_key_at(auths, i), NULL), host)) return value_value_at(auths, i);
    return NULL;
}

int32_t oci_docker_password(const char *host, tn_value *out, struct error *error) {
    tn_value path = docker_file(), file = NULL;
    *out = NULL;
    if (!path) return TN_OK;
    int32_t status = docker_read(value_chars(path, NULL), &file, error);
    tn_value entry = value_is(file, TN_OBJECT) ? docker_entry(value_get(file, "auths"), host) : NULL;
    tn_value auth = value_is(entry, TN_OBJECT) ? value_get(entry, "auth") : NULL;
    size_t length;
    const char *text = value_is(auth, TN_STRING) ? value_chars(auth, &length) : "";
    if (status == TN_OK && *text) {
        *out = base64_read(text, length);
        size_t size = 0;
        const char *pair = *out ? value_data(*out, &size) : NULL;
        if (!pair || !memchr(pair, ':', size) || memchr(pair, 0, size)) {
            value_unref(*out);
            *out = NULL;
            status = docker_fail(error, value_chars(path, NULL),
                                 "the entry of the registry is not USER:PASSWORD in "
                                 "base64");
        }
    }
    value_unref(file);
    value_unref(path);
    return status;
}

/*
 * config_trust.c - the public keys that `packs.trust` lists, directly or as files.
 *
 * Keys are compared as base64 texts, because config_is_public_key accepts only one text for each key. No cryptography
 * is done here.
 */
#include "adl/value/base64.h"
#include "host/base/config/config_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC_KEY_BYTES 32u

bool config_is_public_key(const char *text) {
    size_t length = strlen(text), bytes = 0;
    tn_value key = length == CONFIG_PUBLIC_KEY_TEXT - 1 ? base64_read(text, length) : NULL;
    if (key) value_data(key, &bytes);
    value_unref(key);
    return bytes == PUBLIC_KEY_BYTES;
}

int32_t config_read_public_key(const char *path, char key[CONFIG_PUBLIC_KEY_TEXT], struct error *error) {
    char text[CONFIG_PUBLIC_KEY_TEXT + 2];
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t length = descriptor >= 0 ? read(descriptor, text, sizeof text - 1) : -1;
    int failure = errno;
    if (descriptor >= 0) close(descriptor);
    if (length < 0)
        return error_set(error, TN_NOT_FOUND, "IO", "cannot read the public key in %s: %s", path, strerror(failure));
    text[length] = 0;
    text[strcspn(text, "\r\n")] = 0;
    if ((size_t)length >= sizeof text - 1 || !config_is_public_key(text))
        return error_set(error, TN_INVALID, "INVALID_CONFIG",
                         "%s: expected a public key, one line of 44 characters, as `tenon pack keygen` writes to "
                         "NAME.pub",
                         path);
    memcpy(key, text, CONFIG_PUBLIC_KEY_TEXT);
    return TN_OK;
}

bool config_trusts(const struct config *config, const char *key, struct error *error) {
    bool trusted = false, failed = false;
    for (size_t i = 0; config && i < value_count(config->trust); i++) {
        const char *entry = value_chars(value_at(config->trust, i), NULL);
        char read[CONFIG_PUBLIC_KEY_TEXT];
        if (!config_is_public_key(entry)) {
            if (config_read_public_key(entry, read, failed ? NULL : error) != TN_OK) {
                failed = true;
                continue;
            }
            entry = read;
        }
        trusted |= key && strcmp(entry, key) == 0;
    }
    return trusted;
}

/*
 * pack_sign.c - Ed25519 signatures with libsodium.
 *
 * It is built into the program and not into libtenon: a host needs only hashes, because the installer records the key
 * whose signature it has verified. Secrets are erased from memory after use.
 */
#include "host/plugin/pack/pack_sign.h"
#include "adl/value/base64.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/pack/pack_build.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALGORITHM     "ed25519"
#define SECRET_PREFIX "tenon-secret-key:"
#define SECRET_TEXT   (sizeof SECRET_PREFIX - 1 + CONFIG_PUBLIC_KEY_TEXT) /* including the NUL */

_Static_assert(crypto_sign_SEEDBYTES == 32 && crypto_sign_PUBLICKEYBYTES == 32, "both are 44 characters in base64");

struct sign_keys {
    unsigned char public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
};

static int32_t sign_init(struct error *error) {
    if (sodium_init() >= 0) return TN_OK;
    return error_set(error, TN_ERROR, "INTERNAL", "libsodium cannot be used: the system has no random numbers");
}

static void sign_key_text(char text[CONFIG_PUBLIC_KEY_TEXT], const unsigned char *bytes) {
    sodium_bin2base64(text, CONFIG_PUBLIC_KEY_TEXT, bytes, 32, sodium_base64_VARIANT_ORIGINAL);
}

/* ---- Keys ---- */

static int32_t sign_write_new_file(const char *path, const char *text, mode_t mode, struct error *error) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0)
        return error_set(error, TN_ERROR, "IO", "cannot create %s: %s; nothing was changed", path, strerror(errno));
    size_t length = strlen(text);
    bool good = write(file, text, length) == (ssize_t)length && fsync(file) == 0;
    good &= close(file) == 0;
    if (good) return TN_OK;
    error_set(error, TN_ERROR, "IO", "cannot write %s: %s", path, strerror(errno));
    unlink(path);
    return TN_ERROR;
}

int32_t sign_keygen(const char *name, char key[CONFIG_PUBLIC_KEY_TEXT], struct error *error) {
    unsigned char seed[crypto_sign_SEEDBYTES];
    char secret[SECRET_TEXT + 1] = SECRET_PREFIX, line[CONFIG_PUBLIC_KEY_TEXT + 1];
    struct sign_keys keys;
    int32_t status = sign_init(error);
    if (status != TN_OK) return status;
    randombytes_buf(seed, sizeof seed);
    crypto_sign_seed_keypair(keys.public, keys.secret, seed);
    sign_key_text(secret + sizeof SECRET_PREFIX - 1, seed);
    size_t end = strlen(secret);
    secret[end] = '\n';
    secret[end + 1] = 0;
    sign_key_text(key, keys.public);
    snprintf(line, sizeof line, "%s\n", key);
    tn_value secret_path = value_format("%s.key", name), public_path = value_format("%s.pub", name);
    status = sign_write_new_file(value_chars(secret_path, NULL), secret, 0600, error);
    if (status == TN_OK) {
        status = sign_write_new_file(value_chars(public_path, NULL), line, 0666, error);
        if (status != TN_OK)
            unlink(value_chars(secret_path, NULL)); /* the secret key is useless without the public key */
    }
    value_unref(secret_path);
    value_unref(public_path);
    sodium_memzero(&keys, sizeof keys);
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(secret, sizeof secret);
    return status;
}

static int32_t sign_read_secret(const char *path, struct sign_keys *keys, struct error *error) {
    char text[SECRET_TEXT + 2];
    unsigned char seed[crypto_sign_SEEDBYTES];
    size_t length = 0;
    struct stat attributes;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = file >= 0 && fstat(file, &attributes) == 0 ? read(file, text, sizeof text - 1) : -1;
    int failure = errno;
    if (file >= 0) close(file);
    if (got < 0) return error_set(error, TN_NOT_FOUND, "IO", "%s: the key cannot be read: %s", path, strerror(failure));
    text[got] = 0;
    text[strcspn(text, "\r\n")] = 0;
    bool good = strncmp(text, SECRET_PREFIX, sizeof SECRET_PREFIX - 1) == 0 && strlen(text) == SECRET_TEXT - 1 &&
                sodium_base642bin(seed, sizeof seed, text + sizeof SECRET_PREFIX - 1, CONFIG_PUBLIC_KEY_TEXT - 1, NULL,
                                  &length, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
                length == sizeof seed;
    bool public = config_is_public_key(text);
    if (good && (attributes.st_mode & 077))
        error_set(error, TN_INVALID, "PERMISSION_DENIED",
                  "%s: other users can read it; run `chmod 600` on it, or create a new key", path);
    else if (good)
        crypto_sign_seed_keypair(keys->public, keys->secret, seed);
    else
        error_set(error, TN_INVALID, "INVALID_INPUT", "%s: expected a secret key written by `tenon pack keygen`%s",
                  path, public ? ", found a public one" : "");
    sodium_memzero(text, sizeof text);
    sodium_memzero(seed, sizeof seed);
    return good && !(attributes.st_mode & 077) ? TN_OK : TN_INVALID;
}

/* ---- Signing ---- */

static char *sign_signature_text(const struct sign_keys *keys, const char *manifest, size_t length) {
    unsigned char signature[crypto_sign_BYTES];
    char key[CONFIG_PUBLIC_KEY_TEXT],
        text[sodium_base64_ENCODED_LEN(crypto_sign_BYTES, sodium_base64_VARIANT_ORIGINAL)];
    crypto_sign_detached(signature, NULL, (const unsigned char *)manifest, length, keys->secret);
    sign_key_text(key, keys->public);
    sodium_bin2base64(text, sizeof text, signature, sizeof signature, sodium_base64_VARIANT_ORIGINAL);
    tn_value value = value_set_take(value_object(), "algorithm", value_text(ALGORITHM));
    value = value_set_take(value, "key", value_text(key));
    value = value_set_take(value, "signature", value_text(text));
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    json_write(&out, value, JSON_INDENTED);
    buffer_char(&out, '\n');
    value_unref(value);
    return buffer_detach(&out, NULL);
}

int32_t sign_pack(const char *path, const char *key_file, char key[CONFIG_PUBLIC_KEY_TEXT], struct error *error) {
    struct sign_keys keys;
    struct pack *pack = NULL;
    int32_t status = sign_init(error);
    if (status == TN_OK) status = sign_read_secret(key_file, &keys, error);
    if (status != TN_OK) return status;
    status = pack_open(path, &pack, error);
    if (status == TN_OK) {
        size_t length;
        const char *manifest = pack_manifest_text(pack, &length);
        char *text = sign_signature_text(&keys, manifest, length);
        status = pack_attach(path, text, strlen(text), error);
        mem_free(text);
    }
    if (status == TN_OK) sign_key_text(key, keys.public);
    pack_close(pack);
    sodium_memzero(&keys, sizeof keys);
    return status;
}

/* ---- Checking ---- */

static int32_t sign_refuse(const struct pack *pack, const char *what, struct error *error) {
    return error_set(error, TN_INVALID, "PACK_INVALID", "%s: " PACK_SIGNATURE ": %s", pack_file(pack), what);
}

/* Decodes a member of pack.sig. Returns false if it is not `size` bytes in base64. */
static bool sign_read_bytes(tn_value signature, const char *key, unsigned char *out, size_t size) {
    size_t length, found;
    tn_value text = value_get(signature, key);
    const char *chars = value_is(text, TN_STRING) ? value_chars(text, &length) : NULL;
    tn_value bytes = chars ? base64_read(chars, length) : NULL;
    const void *data = bytes ? value_data(bytes, &found) : NULL;
    bool good = data && found == size;
    if (good) memcpy(out, data, size);
    value_unref(bytes);
    return good;
}

static int32_t sign_check_signature(const struct pack *pack, tn_value signature, char key[CONFIG_PUBLIC_KEY_TEXT],
                                    struct error *error) {
    unsigned char public[crypto_sign_PUBLICKEYBYTES], bytes[crypto_sign_BYTES];
    tn_value algorithm = value_get(signature, "algorithm");
    size_t length;
    const char *manifest = pack_manifest_text(pack, &length);
    if (!value_is(signature, TN_OBJECT) || value_count(signature) != 3 || !value_is(algorithm, TN_STRING))
        return sign_refuse(pack, "expected an object with `algorithm`, `key` and `signature`", error);
    if (!value_text_is(algorithm, ALGORITHM))
        return error_set(error, TN_INVALID, "PACK_INVALID",
                         "%s: " PACK_SIGNATURE ": found the algorithm `%.40s`, expected " ALGORITHM, pack_file(pack),
                         value_chars(algorithm, NULL));
    if (!sign_read_bytes(signature, "key", public, sizeof public))
        return sign_refuse(pack, "`key`: expected 32 bytes in base64", error);
    if (!sign_read_bytes(signature, "signature", bytes, sizeof bytes))
        return sign_refuse(pack, "`signature`: expected 64 bytes in base64", error);
    sign_key_text(key, public);
    if (crypto_sign_verify_detached(bytes, (const unsigned char *)manifest, length, public) != 0)
        return error_set(error, TN_INVALID, "PACK_INVALID",
                         "%s: the signature is wrong: " PACK_MANIFEST " is not what the key %s has signed",
                         pack_file(pack), key);
    return TN_OK;
}

int32_t sign_check(const struct pack *pack, bool *is_signed, char key[CONFIG_PUBLIC_KEY_TEXT], struct error *error) {
    size_t length;
    const char *text = pack_signature_text(pack, &length);
    struct error why = ERROR_INIT;
    tn_value signature = NULL;
    *is_signed = text != NULL;
    if (!text) return TN_OK;
    int32_t status = sign_init(error);
    if (status == TN_OK && json_read(text, length, NULL, &signature, &why) != TN_OK)
        status = sign_refuse(pack, why.message, error);
    if (status == TN_OK) status = sign_check_signature(pack, signature, key, error);
    value_unref(signature);
    error_finish(&why);
    return status;
}

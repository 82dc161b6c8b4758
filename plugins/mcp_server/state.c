/*
 * state.c - signs and verifies requestState: BASE64URL(JSON) "." BASE64URL(HMAC).
 */
#include "state.h"
#include <tenon/base64.h>
#include <tenon/util/sha256.h>

#define MAC_TEXT 43 /* characters of 32 bytes in base64url */

void state_hmac(const void *key, uint64_t key_length, const void *data, uint64_t length, unsigned char out[32]) {
    unsigned char block[64] = {0}, inner[64], outer[64];
    struct tn_sha256 hash;
    if (key_length > sizeof block)
        tn_sha256_hash(key, key_length, block);
    else if (key_length > 0)
        memcpy(block, key, key_length);
    for (size_t i = 0; i < sizeof block; i++) {
        inner[i] = block[i] ^ 0x36;
        outer[i] = block[i] ^ 0x5c;
    }
    tn_sha256_init(&hash);
    tn_sha256_update(&hash, inner, sizeof inner);
    tn_sha256_update(&hash, data, length);
    tn_sha256_finish(&hash, out);
    tn_sha256_init(&hash);
    tn_sha256_update(&hash, outer, sizeof outer);
    tn_sha256_update(&hash, out, 32);
    tn_sha256_finish(&hash, out);
}

static void mac_text(const unsigned char *secret, const char *text, uint64_t length, char out[MAC_TEXT + 1]) {
    unsigned char mac[32];
    state_hmac(secret, MCPS_SECRET_BYTES, text, length, mac);
    *tn_base64url_put(out, mac, sizeof mac) = '\0';
}

tn_value state_sign(const unsigned char secret[MCPS_SECRET_BYTES], tn_value content) {
    char text[MCPS_STATE_MAX + 1];
    uint64_t length = 0;
    tn_value json = tn_to_json(content), made = NULL;
    const char *bytes = tn_chars(json, &length);
    if (bytes != NULL && TN_BASE64_SIZE(length) + MAC_TEXT + 1 <= MCPS_STATE_MAX) {
        char *end = tn_base64url_put(text, bytes, length);
        uint64_t signed_length = (uint64_t)(end - text);
        *end = '.';
        mac_text(secret, text, signed_length, end + 1);
        made = tn_text(text);
    }
    tn_release(json);
    return made;
}

/* Compares in constant time. */
static bool macs_are_equal(const char *a, const char *b) {
    unsigned char difference = 0;
    for (size_t i = 0; i < MAC_TEXT; i++) difference |= (unsigned char)(a[i] ^ b[i]);
    return difference == 0;
}

tn_value state_verify(const unsigned char secret[MCPS_SECRET_BYTES], const char *text, uint64_t length, int64_t now) {
    char expected[MAC_TEXT + 1], json[MCPS_STATE_MAX];
    if (text == NULL || length <= MAC_TEXT + 1 || length > MCPS_STATE_MAX || text[length - MAC_TEXT - 1] != '.')
        return NULL;
    uint64_t signed_length = length - MAC_TEXT - 1;
    mac_text(secret, text, signed_length, expected);
    if (!macs_are_equal(expected, text + signed_length + 1)) return NULL;
    tn_value content = tn_from_json(json, tn_base64_take(text, signed_length, json, sizeof json));
    if (value_is_object(content) && tn_get_int(content, "expires", 0) > now) return content;
    tn_release(content);
    return NULL;
}

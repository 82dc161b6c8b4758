/*
 * base64url.c - the letters that JSON Web Tokens and PKCE are written in (RFC 4648, 5), without padding.
 */
#include "sign.h"

char *sign_base64url(char *out, const unsigned char *bytes, uint64_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t i = 0;
    for (; i + 2 < length; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) *out++ = digits[three >> shift & 63];
    }
    if (i < length) {
        uint32_t rest = (uint32_t)bytes[i] << 16 | (i + 1 < length ? (uint32_t)bytes[i + 1] << 8 : 0);
        *out++ = digits[rest >> 18 & 63];
        *out++ = digits[rest >> 12 & 63];
        if (i + 1 < length) *out++ = digits[rest >> 6 & 63];
    }
    return out;
}

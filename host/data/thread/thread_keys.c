/*
 * thread_keys.c - escapes and joins the parts of keys.
 */
#include "host/data/thread/thread_keys.h"
#include <stdio.h>
#include <string.h>

void thread_key(char out[THREAD_KEY_MAX], const char *id) {
    size_t length = 0;
    for (const unsigned char *at = (const unsigned char *)id; *at && length < THREAD_KEY_MAX - 4; at++) {
        if (*at == '/' || *at == '%' || *at < 0x20)
            length += (size_t)snprintf(out + length, THREAD_KEY_MAX - length, "%%%02X", *at);
        else
            out[length++] = (char)*at;
    }
    out[length] = 0;
}

void thread_key_of(char out[THREAD_KEY_MAX], const char *key, const char *const *parts) {
    int length = snprintf(out, THREAD_KEY_MAX, "%s", key);
    for (; *parts && length < THREAD_KEY_MAX; parts++)
        length += snprintf(out + length, THREAD_KEY_MAX - (size_t)length, "/%s", *parts);
}

void thread_key_end(char out[THREAD_KEY_MAX], const char *prefix) {
    size_t length = strnlen(prefix, THREAD_KEY_MAX - 2);
    memcpy(out, prefix, length);
    memcpy(out + length, "0", 2); /* `0` follows `/` in ASCII */
}

void thread_key_range(char from[THREAD_KEY_MAX], char to[THREAD_KEY_MAX], const char *key, const char *const *parts) {
    char prefix[THREAD_KEY_MAX];
    thread_key_of(prefix, key, parts);
    thread_key_end(to, prefix);
    thread_key_of(from, prefix, (const char *const[]){"", NULL});
}

void thread_number(char out[12], uint32_t number) { snprintf(out, 12, "%010u", number); }

/*
 * keys.h - keys of a thread's records: its id, escaped, and what it is of it, so that ranges are what belongs together.
 */
#ifndef TENON_HOST_THREAD_KEYS_H
#define TENON_HOST_THREAD_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define THREAD_KEY_MAX 1024

/* In keys of the journal: THREAD/SCOPE/STEP/INDEX/=, THREAD/answers/ID; calls are THREAD/SCOPE/STEP/INDEX/ROUND/PATH.
 */
#define THREAD_OUTCOME "="
#define THREAD_ANSWERS "answers"

/* The id as the first part of keys: bytes that would end it are %XX. */
void thread_key(char out[THREAD_KEY_MAX], const char *id);
/* "KEY/PART/…", and what is behind all keys that begin so. Parts are joined with '/'; NULL ends them. */
void thread_key_of(char out[THREAD_KEY_MAX], const char *key, const char *const *parts);
void thread_key_end(char out[THREAD_KEY_MAX], const char *prefix);
/* Both at once: all keys that begin with "KEY/PART/…/" are in [from, to). */
void thread_key_range(char from[THREAD_KEY_MAX], char to[THREAD_KEY_MAX], const char *key, const char *const *parts);
void thread_number(char out[12], uint32_t number); /* ten digits, so that bytes order them */

#endif

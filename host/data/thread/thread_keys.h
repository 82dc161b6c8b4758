/*
 * thread_keys.h - keys of a thread's records: the escaped id, then the parts of the key. Records that belong together
 * are one range of keys.
 */
#ifndef TENON_HOST_DATA_THREAD_THREAD_KEYS_H
#define TENON_HOST_DATA_THREAD_THREAD_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define THREAD_KEY_MAX 1024

/* Keys of the journal: outcomes THREAD/SCOPE/STEP/INDEX/=, answers THREAD/answers/ID, calls
 * THREAD/SCOPE/STEP/INDEX/ROUND/PATH. */
#define THREAD_OUTCOME "="
#define THREAD_ANSWERS "answers"

/* The id as the first part of keys. `/`, `%` and control characters are written %XX. */
void thread_key(char out[THREAD_KEY_MAX], const char *id);
/* Writes "KEY/PART/…". NULL ends `parts`. */
void thread_key_of(char out[THREAD_KEY_MAX], const char *key, const char *const *parts);
/* Writes the end of the range of all keys that begin with "PREFIX/". */
void thread_key_end(char out[THREAD_KEY_MAX], const char *prefix);
/* Writes the range [from, to) of all keys that begin with "KEY/PART/…/". */
void thread_key_range(char from[THREAD_KEY_MAX], char to[THREAD_KEY_MAX], const char *key, const char *const *parts);
void thread_number(char out[12], uint32_t number); /* ten digits, so that byte order is numeric order */

#endif

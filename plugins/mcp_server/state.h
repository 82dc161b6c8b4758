/*
 * state.h - requestState: what a client returns when it repeats a call with its answers (2026-07-28).
 *
 * It names the run that waits. It is readable but signed (HMAC with SHA-256), so a client can neither change it nor
 * make one. It belongs to one user, and expires.
 *
 *     tn_value text = state_sign(secret, content);
 *     tn_value content = state_verify(secret, text, length, now);   // NULL: changed, expired, or of another host
 */
#ifndef MCPS_STATE_H
#define MCPS_STATE_H

#include "base.h"

#define MCPS_SECRET_BYTES 32

/* HMAC (RFC 2104) with SHA-256. */
void state_hmac(const void *key, uint64_t key_length, const void *data, uint64_t length, unsigned char out[32]);
/* The text of a content, an object; a new reference. NULL if it would be longer than MCPS_STATE_MAX. */
tn_value state_sign(const unsigned char secret[MCPS_SECRET_BYTES], tn_value content);
/* The content; NULL unless this host has signed it and its member `expires` (seconds) is later than `now`. */
tn_value state_verify(const unsigned char secret[MCPS_SECRET_BYTES], const char *text, uint64_t length, int64_t now);

#endif

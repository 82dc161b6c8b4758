/*
 * random.h - random bytes that no other process has.
 *
 *     unsigned char id[16];
 *     random_fill(id, sizeof id);
 */
#ifndef TENON_HOST_BASE_RANDOM_H
#define TENON_HOST_BASE_RANDOM_H

#include <stddef.h>

/* [any] Fills at most 256 bytes. Aborts if the system has no random numbers: ids must differ between processes. */
void random_fill(void *bytes, size_t length);

#endif

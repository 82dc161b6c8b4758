/*
 * pointer.h - JSON Pointers (RFC 6901): writing one.
 */
#ifndef TENON_ADL_POINTER_H
#define TENON_ADL_POINTER_H

#include "adl/value/buffer.h"

/* Appends "/" and the key of a member, with `~` and `/` as ~0 and ~1. */
void pointer_append_key(struct buffer *out, const char *key, size_t length);

#endif

/*
 * members.h - which values an array holds already: what keeps `union` and `messages` from searching their history.
 *
 * An open-addressing table from a hash to positions in the array it was made for. It is only a guide: the caller
 * compares the item at each position offered, so that a stale entry costs a comparison and never a wrong result.
 */
#ifndef TENON_HOST_MEMBERS_H
#define TENON_HOST_MEMBERS_H

#include <stdint.h>

struct member_index;

struct member_index *member_index_new(void);
void member_index_free(struct member_index *index); /* NULL is allowed */
void member_index_add(struct member_index *index, uint64_t hash, uint32_t position);
/* Positions with that hash, one a call: start with *cursor 0. UINT32_MAX: no more. */
uint32_t member_index_next(const struct member_index *index, uint64_t hash, uint32_t *cursor);

#endif

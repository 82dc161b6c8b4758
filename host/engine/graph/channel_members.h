/*
 * channel_members.h - an index of the items of an array, so that `union` and `messages` need not search it.
 *
 * An open-addressing hash table from the hash of an item to positions in the array. It returns candidates only: the
 * caller compares the item at each position, so a stale entry costs a comparison and never causes a wrong result.
 *
 *     uint32_t cursor = 0, position;
 *     while ((position = member_index_next(index, hash, &cursor)) != UINT32_MAX) compare(array, position);
 */
#ifndef TENON_HOST_ENGINE_GRAPH_CHANNEL_MEMBERS_H
#define TENON_HOST_ENGINE_GRAPH_CHANNEL_MEMBERS_H

#include <stdint.h>

struct member_index;

struct member_index *member_index_new(void);
void member_index_free(struct member_index *index); /* NULL is allowed */
void member_index_add(struct member_index *index, uint64_t hash, uint32_t position);
/* Returns the next position with this hash, or UINT32_MAX. The first call takes *cursor 0. */
uint32_t member_index_next(const struct member_index *index, uint64_t hash, uint32_t *cursor);

#endif

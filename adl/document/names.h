/*
 * names.h - a set of names with indices, found in constant time, and the nearest one to a name that is not there.
 *
 *     struct names nodes = NAMES_INIT;
 *     uint32_t index = names_add(&nodes, "judge", 5);       // 0; the same again where it is there already
 *     int32_t found = names_find(&nodes, "jugde", 5);       // -1
 *     names_nearest(&nodes, &nearest);                      // offers "judge"
 *     names_finish(&nodes);
 *
 * Texts are borrowed, and must outlive the set. Small sets are searched whole for the nearest name; of larger ones only
 * the names within one edit are offered (found through an index of names with one letter left out), so that a thousand
 * mistakes in ten thousand names stay cheap.
 */
#ifndef TENON_ADL_DOCUMENT_NAMES_H
#define TENON_ADL_DOCUMENT_NAMES_H

#include "adl/value/nearest.h"
#include <stddef.h>
#include <stdint.h>

#define NAMES_SCAN_MAX 64u /* up to so many names are all compared */

struct name {
    const char *text;
    uint32_t length, hash;
};

struct names {
    struct name *items;
    uint32_t count, capacity;
    uint32_t *slots; /* index + 1; 0: free */
    uint32_t slot_count;
    struct name_near {
        uint32_t hash, index; /* index + 1; 0: free */
    } * near;                 /* names with a letter left out; built when first asked */
    uint32_t near_count;
    uint32_t near_built; /* how many names were there then */
};

#define NAMES_INIT                                                                                                     \
    { NULL, 0, 0, NULL, 0, NULL, 0, 0 }

void names_finish(struct names *names);
/* The name's index: a new one, which is the count before, or that of the same name. */
uint32_t names_add(struct names *names, const char *text, size_t length);
int32_t names_find(const struct names *names, const char *text, size_t length); /* -1 where absent */
void names_nearest(struct names *names, struct nearest *nearest);

#endif

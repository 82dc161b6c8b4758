/*
 * names.h - a set of names with indices and constant-time lookup, and suggestions for unknown names.
 *
 *     struct names nodes = NAMES_INIT;
 *     uint32_t index = names_add(&nodes, "judge", 5);       // 0; the same index if it exists
 *     int32_t found = names_find(&nodes, "jugde", 5);       // -1
 *     names_nearest(&nodes, &nearest);                      // offers "judge"
 *     names_finish(&nodes);
 *
 * Texts are borrowed and must outlive the set. For suggestions, small sets are searched completely; in larger sets only
 * names within one edit are offered (from an index of names with one letter removed), so that a thousand mistakes in
 * ten thousand names stay cheap.
 */
#ifndef TENON_ADL_DOCUMENT_NAMES_H
#define TENON_ADL_DOCUMENT_NAMES_H

#include "adl/value/nearest.h"
#include <stddef.h>
#include <stdint.h>

#define NAMES_SCAN_MAX 64u /* sets of up to this size are searched completely */

struct name {
    const char *text;
    uint32_t length, hash;
};

struct names {
    struct name *items;
    uint32_t count, capacity;
    uint32_t *slots; /* index + 1, or 0 if the slot is free */
    uint32_t slot_count;
    struct name_near {
        uint32_t hash, index; /* index + 1, or 0 if the slot is free */
    } * near;                 /* names with one letter removed; built on first use */
    uint32_t near_count;
    uint32_t near_built; /* number of names when it was built */
};

#define NAMES_INIT                                                                                                     \
    { NULL, 0, 0, NULL, 0, NULL, 0, 0 }

void names_finish(struct names *names);
/* Returns the name's index: the index of an equal name, or a new one (the previous count). */
uint32_t names_add(struct names *names, const char *text, size_t length);
int32_t names_find(const struct names *names, const char *text, size_t length); /* -1 if absent */
void names_nearest(struct names *names, struct nearest *nearest);

#endif

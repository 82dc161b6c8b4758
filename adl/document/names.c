/*
 * names.c - a hash set with open addressing over FNV-1a, and the index for finding near names without comparing all.
 *
 * Two names within one edit (one letter more, fewer, different, or two neighbours swapped) become equal if one letter
 * is removed from one or both. Every name is therefore entered under itself and under itself without each of its
 * letters, and a name is looked up in the same ways. Hashes fold case, and `-` into `_`, because these differences
 * count half. Matches are offered to nearest.c, which decides.
 */
#include "adl/document/names.h"
#include "adl/value/memory.h"
#include <string.h>

static uint32_t hash_text(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash ^ hash >> 15;
}

void names_finish(struct names *names) {
    mem_free(names->items);
    mem_free(names->slots);
    mem_free(names->near);
    *names = (struct names)NAMES_INIT;
}

static void slots_grow(struct names *names) {
    uint32_t count = names->slot_count ? names->slot_count * 2 : 16;
    mem_free(names->slots);
    names->slots = mem_zalloc(count * sizeof *names->slots);
    names->slot_count = count;
    for (uint32_t i = 0; i < names->count; i++) {
        uint32_t at = names->items[i].hash & (count - 1);
        while (names->slots[at]) at = (at + 1) & (count - 1);
        names->slots[at] = i + 1;
    }
}

/* Returns the slot that contains the name, or the free one where it belongs. */
static uint32_t slot_of(const struct names *names, const char *text, size_t length, uint32_t hash) {
    uint32_t at = hash & (names->slot_count - 1);
    for (; names->slots[at]; at = (at + 1) & (names->slot_count - 1)) {
        const struct name *name = &names->items[names->slots[at] - 1];
        if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0) break;
    }
    return at;
}

int32_t names_find(const struct names *names, const char *text, size_t length) {
    if (names->slot_count == 0) return -1;
    uint32_t slot = names->slots[slot_of(names, text, length, hash_text(text, length))];
    return (int32_t)slot - 1;
}

uint32_t names_add(struct names *names, const char *text, size_t length) {
    if ((names->count + 1) * 2 > names->slot_count) slots_grow(names);
    uint32_t hash = hash_text(text, length);
    uint32_t slot = slot_of(names, text, length, hash);
    if (names->slots[slot]) return names->slots[slot] - 1;
    MEM_GROW(names->items, names->count, names->capacity);
    names->items[names->count] = (struct name){text, (uint32_t)length, hash};
    names->slots[slot] = ++names->count;
    return names->count - 1;
}

/* ---- Near names ---- */

static unsigned char names_fold(char character) {
    unsigned char byte = (unsigned char)character;
    if (byte >= 'A' && byte <= 'Z') return (unsigned char)(byte + ('a' - 'A'));
    return byte == '-' ? '_' : byte;
}

/* Hash of the text without the byte at `skip`; of the whole text if that is `length`. */
static uint32_t hash_without(const char *text, size_t length, size_t skip) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        if (i != skip) hash = (hash ^ names_fold(text[i])) * 16777619u;
    return hash ^ hash >> 15;
}

/* Maximum number of names per entry: "a" with one more letter can be very many names. */
#define NEAR_SAME_MAX 256u

static void near_insert(struct names *names, uint32_t hash, uint32_t index) {
    uint32_t at = hash & (names->near_count - 1), same = 0;
    for (; names->near[at].index; at = (at + 1) & (names->near_count - 1)) {
        if (names->near[at].hash != hash) continue;
        if (names->near[at].index == index + 1 || ++same == NEAR_SAME_MAX) return;
    }
    names->near[at] = (struct name_near){hash, index + 1};
}

static void near_build(struct names *names) {
    uint64_t entries = 0;
    for (uint32_t i = 0; i < names->count; i++)
        if (names->items[i].length <= NEAREST_LENGTH_MAX) entries += names->items[i].length + 1u;
    uint32_t count = 64;
    while (count < entries * 2) count *= 2;
    mem_free(names->near);
    names->near = mem_zalloc(count * sizeof *names->near);
    names->near_count = count;
    names->near_built = names->count;
    for (uint32_t i = 0; i < names->count; i++) {
        const struct name *name = &names->items[i];
        if (name->length > NEAREST_LENGTH_MAX) continue;
        for (size_t skip = 0; skip <= name->length; skip++)
            near_insert(names, hash_without(name->text, name->length, skip), i);
    }
}

static void near_offer(const struct names *names, uint32_t hash, struct nearest *nearest) {
    uint32_t at = hash & (names->near_count - 1);
    for (; names->near[at].index; at = (at + 1) & (names->near_count - 1)) {
        const struct name *name = &names->items[names->near[at].index - 1];
        if (names->near[at].hash == hash) nearest_add_candidate(nearest, name->text, name->length);
    }
}

void names_nearest(struct names *names, struct nearest *nearest) {
    if (names->count <= NAMES_SCAN_MAX) {
        for (uint32_t i = 0; i < names->count; i++)
            nearest_add_candidate(nearest, names->items[i].text, names->items[i].length);
        return;
    }
    if (nearest->wanted_length > NEAREST_LENGTH_MAX) return;
    if (names->near_built != names->count) near_build(names);
    for (size_t skip = 0; skip <= nearest->wanted_length; skip++)
        near_offer(names, hash_without(nearest->wanted, nearest->wanted_length, skip), nearest);
}

/*
 * symbol.c - finds what an open library exports, and the nearest name to a misspelt one.
 *
 * The symbols are read where the dynamic linker has mapped them. This only improves a message, so an unusual library
 * (no hash table, no symbol table) yields no name instead of a failure.
 */
#include "describe.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#define NAME_MAX_LENGTH 64u /* longer names are never near */

/* The edit distance: letters that are changed, added, left out or swapped with the next one. */
static uint32_t name_distance(const char *a, const char *b) {
    uint32_t rows[3][NAME_MAX_LENGTH + 1];
    size_t length_a = strlen(a), length_b = strlen(b);
    if (length_a > NAME_MAX_LENGTH || length_b > NAME_MAX_LENGTH) return UINT32_MAX;
    for (size_t j = 0; j <= length_b; j++) rows[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= length_a; i++) {
        uint32_t *row = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= length_b; j++) {
            uint32_t change = before[j - 1] + (a[i - 1] != b[j - 1]);
            uint32_t least = before[j] < row[j - 1] ? before[j] + 1 : row[j - 1] + 1;
            if (change < least) least = change;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && earlier[j - 2] + 1 < least)
                least = earlier[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[length_a % 3][length_b];
}

void nearest_add_candidate(struct nearest *nearest, const char *candidate) {
    uint32_t found = name_distance(nearest->name, candidate), allowed = 1 + (uint32_t)(strlen(nearest->name) / 4);
    if (found > allowed || (nearest->best != NULL && found >= nearest->distance)) return;
    nearest->best = candidate;
    nearest->distance = found;
}

void *symbol_lookup(void *handle, const char *name) {
    (void)dlerror();
    return dlsym(handle, name);
}

bool symbol_is_function(void *address) {
    Dl_info info;
    void *extra = NULL;
    if (dladdr1(address, &info, &extra, RTLD_DL_SYMENT) == 0 || extra == NULL) return true;
    const ElfW(Sym) *symbol = extra;
    return info.dli_saddr != address || (symbol->st_info & 0xfu) != STT_OBJECT;
}

struct symbols {
    const ElfW(Sym) * table;
    const char *names;
    size_t names_size, count;
};

/* Returns the number of symbols: one more than the index of the last symbol in the last chain. */
static size_t count_gnu_hash(const uint32_t *hash) {
    uint32_t buckets = hash[0], first = hash[1], bloom = hash[2], last = 0;
    const uint32_t *bucket = hash + 4 + (size_t)bloom * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        if (bucket[i] > last) last = bucket[i];
    if (last < first) return 0;
    while ((chain[last - first] & 1u) == 0) last++;
    return (size_t)last + 1;
}

static bool symbols_locate(void *handle, struct symbols *out) {
    struct link_map *map = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == NULL || map->l_ld == NULL) return false;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        ElfW(Addr) address = entry->d_un.d_ptr;
        if (address < map->l_addr) address += map->l_addr; /* some systems leave it relative */
        const void *pointer = NULL;
        memcpy(&pointer, &address, sizeof pointer);
        if (entry->d_tag == DT_SYMTAB) out->table = pointer;
        if (entry->d_tag == DT_STRTAB) out->names = pointer;
        if (entry->d_tag == DT_STRSZ) out->names_size = entry->d_un.d_val;
        if (entry->d_tag == DT_GNU_HASH) out->count = count_gnu_hash(pointer);
    }
    return out->table != NULL && out->names != NULL && out->count > 0;
}

const char *symbol_nearest(void *handle, const char *name) {
    struct symbols symbols = {0};
    struct nearest nearest = {.name = name};
    if (!symbols_locate(handle, &symbols)) return NULL;
    for (size_t i = 0; i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.table[i];
        unsigned type = symbol->st_info & 0xfu;
        if (symbol->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
        if (symbol->st_name < symbols.names_size) nearest_add_candidate(&nearest, symbols.names + symbol->st_name);
    }
    return nearest.best;
}

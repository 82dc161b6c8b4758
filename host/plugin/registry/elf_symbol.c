/*
 * elf_symbol.c - reads the dynamic section of a shared object: exported and undefined symbols, and needed libraries.
 *
 * It follows PT_DYNAMIC and PT_LOAD, like the dynamic linker, because section headers may be missing or contradict
 * them. The number of symbols is not stored directly: it is taken from DT_HASH, derived from DT_GNU_HASH, or computed
 * from the string table, which linkers put right behind the symbols.
 */
#include "adl/value/memory.h"
#include "host/plugin/registry/elf_internal.h"
#include <string.h>

struct elf_dynamic {
    uint64_t symbols, strings, strings_size, hash, gnu_hash, symbol_size; /* addresses, not file offsets */
    uint64_t *needed;
    size_t needed_count;
};

/* Translates a loaded address to a file offset; *left is the number of bytes that follow in its segment. */
static int32_t elf_offset_of(const struct elf_file *file, uint64_t address, const char *what, uint64_t *offset,
                             uint64_t *left, struct error *error) {
    for (uint32_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr) continue;
        uint64_t into = address - segment->p_vaddr;
        if (into >= segment->p_filesz) continue;
        if (segment->p_offset > file->size || segment->p_filesz > file->size - segment->p_offset) break;
        *offset = segment->p_offset + into;
        *left = segment->p_filesz - into;
        return TN_OK;
    }
    return elf_broken(file, error, "broken ELF file: its %s, at address %#llx, is not in a loaded part of the file",
                      what, (unsigned long long)address);
}

static int32_t elf_read_dynamic(const struct elf_file *file, struct elf_dynamic *dynamic, struct error *error) {
    const Elf64_Phdr *segment = NULL;
    for (uint32_t i = 0; i < file->segment_count && !segment; i++)
        if (file->segments[i].p_type == PT_DYNAMIC) segment = &file->segments[i];
    if (!segment) return elf_broken(file, error, "not a shared object that can be loaded: it has no dynamic section");
    uint64_t count = segment->p_filesz / sizeof(Elf64_Dyn);
    if (count > ELF_DYNAMIC_MAX) return elf_too_large(file, error, "dynamic entries", count, ELF_DYNAMIC_MAX);
    Elf64_Dyn *entries = mem_array(NULL, count + 1, sizeof *entries);
    int32_t status = elf_read(file, segment->p_offset, entries, count * sizeof *entries, "dynamic section", error);
    if (status == TN_OK) {
        dynamic->needed = mem_array(NULL, count + 1, sizeof *dynamic->needed);
        for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
            uint64_t value = entries[i].d_un.d_val;
            switch (entries[i].d_tag) {
            case DT_SYMTAB: dynamic->symbols = value; break;
            case DT_SYMENT: dynamic->symbol_size = value; break;
            case DT_STRTAB: dynamic->strings = value; break;
            case DT_STRSZ: dynamic->strings_size = value; break;
            case DT_HASH: dynamic->hash = value; break;
            case DT_GNU_HASH: dynamic->gnu_hash = value; break;
            case DT_NEEDED: dynamic->needed[dynamic->needed_count++] = value; break;
            default: break;
            }
        }
    }
    mem_free(entries);
    if (status == TN_OK && (!dynamic->symbols || !dynamic->strings || dynamic->symbol_size != sizeof(Elf64_Sym)))
        status = elf_broken(file, error, "broken ELF file: its dynamic section names no symbols");
    return status;
}

/* The largest index in a table of type DT_GNU_HASH, plus one; unchanged if it is empty. */
static int32_t elf_count_gnu_hash(const struct elf_file *file, uint64_t address, uint64_t *count, struct error *error) {
    static const char what[] = "symbol hash table";
    uint64_t offset = 0, left = 0;
    uint32_t head[4];
    int32_t status = elf_offset_of(file, address, what, &offset, &left, error);
    if (status == TN_OK) status = elf_read(file, offset, head, sizeof head, what, error);
    if (status != TN_OK) return status;
    uint64_t buckets = head[0], first = head[1], blooms = head[2];
    if (buckets > ELF_SYMBOLS_MAX) return elf_too_large(file, error, "hash buckets", buckets, ELF_SYMBOLS_MAX);
    uint64_t at = offset + sizeof head + blooms * 8; /* 2^32 * 8 cannot overflow */
    uint32_t last = 0, window[256];
    for (uint64_t done = 0; done < buckets;) {
        size_t some = buckets - done < 256 ? (size_t)(buckets - done) : 256;
        status = elf_read(file, at + done * 4, window, some * 4, what, error);
        if (status != TN_OK) return status;
        for (size_t i = 0; i < some; i++)
            if (window[i] > last) last = window[i];
        done += some;
    }
    if (last == 0) return TN_OK;
    if (last < first) return elf_broken(file, error, "broken ELF file: its symbol hash table contradicts itself");
    /* The chain of the last bucket ends with an odd word. */
    for (uint64_t chain = at + buckets * 4;; last++) {
        uint32_t word;
        if (last > ELF_SYMBOLS_MAX) return elf_too_large(file, error, "dynamic symbols", last, ELF_SYMBOLS_MAX);
        status = elf_read(file, chain + (last - first) * 4, &word, sizeof word, what, error);
        if (status != TN_OK) return status;
        if (word & 1) break;
    }
    *count = (uint64_t)last + 1;
    return TN_OK;
}

static int32_t elf_count_symbols(const struct elf_file *file, const struct elf_dynamic *dynamic, uint64_t *count,
                                 struct error *error) {
    uint64_t offset = 0, left = 0;
    int32_t status = TN_OK;
    *count = 0;
    if (dynamic->hash) {
        uint32_t head[2];
        status = elf_offset_of(file, dynamic->hash, "symbol hash table", &offset, &left, error);
        if (status == TN_OK) status = elf_read(file, offset, head, sizeof head, "symbol hash table", error);
        if (status == TN_OK) *count = head[1];
    } else if (dynamic->gnu_hash) {
        status = elf_count_gnu_hash(file, dynamic->gnu_hash, count, error);
    }
    /* A hash table without exported symbols does not count the undefined ones. */
    if (status == TN_OK && *count == 0 && dynamic->strings > dynamic->symbols)
        *count = (dynamic->strings - dynamic->symbols) / sizeof(Elf64_Sym);
    if (status == TN_OK && *count > ELF_SYMBOLS_MAX)
        return elf_too_large(file, error, "dynamic symbols", *count, ELF_SYMBOLS_MAX);
    return status;
}

/* ---- Lists of names ---- */

static void elf_push_name(const char ***list, size_t *count, const char *name) {
    MEM_EXTEND(*list, *count);
    (*list)[(*count)++] = name;
}

static void elf_add_symbol(struct elf_symbols *out, const Elf64_Sym *symbol, const char *name) {
    unsigned bind = ELF64_ST_BIND(symbol->st_info), type = ELF64_ST_TYPE(symbol->st_info);
    unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    if (bind == STB_LOCAL || type == STT_SECTION || type == STT_FILE || !*name) return;
    if (symbol->st_shndx == SHN_UNDEF) {
        if (bind != STB_WEAK) elf_push_name(&out->undefined, &out->undefined_count, name);
        return;
    }
    if (visibility == STV_HIDDEN || visibility == STV_INTERNAL) return;
    elf_push_name(&out->defined, &out->defined_count, name);
    if (bind == STB_GNU_UNIQUE) elf_push_name(&out->unique, &out->unique_count, name);
}

static int32_t elf_read_symbols(const struct elf_file *file, const struct elf_dynamic *dynamic, struct elf_symbols *out,
                                struct error *error) {
    uint64_t offset = 0, left = 0, count = 0, strings = 0, strings_left = 0;
    int32_t status = elf_count_symbols(file, dynamic, &count, error);
    if (status == TN_OK) status = elf_offset_of(file, dynamic->strings, "string table", &strings, &strings_left, error);
    if (status != TN_OK) return status;
    if (dynamic->strings_size > ELF_STRINGS_MAX)
        return elf_too_large(file, error, "bytes of symbol names", dynamic->strings_size, ELF_STRINGS_MAX);
    if (dynamic->strings_size > strings_left)
        return elf_broken(file, error, "broken ELF file: its string table would be %llu bytes where %llu are left",
                          (unsigned long long)dynamic->strings_size, (unsigned long long)strings_left);
    size_t size = (size_t)dynamic->strings_size;
    out->strings = mem_alloc(size + 1);
    status = elf_read(file, strings, out->strings, size, "string table", error);
    if (status != TN_OK) return status;
    out->strings[size] = 0;
    for (size_t i = 0; i < dynamic->needed_count; i++) {
        if (dynamic->needed[i] >= size)
            return elf_broken(file, error, "broken ELF file: the name of a needed library is outside its string table");
        elf_push_name(&out->needed, &out->needed_count, out->strings + dynamic->needed[i]);
    }
    if (count == 0) return TN_OK;
    status = elf_offset_of(file, dynamic->symbols, "symbol table", &offset, &left, error);
    if (status != TN_OK) return status;
    if (count > left / sizeof(Elf64_Sym))
        return elf_broken(file, error,
                          "broken ELF file: its symbol table would hold %llu symbols where %llu bytes are left",
                          (unsigned long long)count, (unsigned long long)left);
    Elf64_Sym window[64];
    for (uint64_t done = 0; done < count;) {
        size_t some = count - done < 64 ? (size_t)(count - done) : 64;
        status =
            elf_read(file, offset + done * sizeof window[0], window, some * sizeof window[0], "symbol table", error);
        if (status != TN_OK) return status;
        for (size_t i = 0; i < some; i++) {
            if (window[i].st_name >= size && window[i].st_name != 0)
                return elf_broken(file, error, "broken ELF file: the name of symbol %llu is outside its string table",
                                  (unsigned long long)done + i);
            elf_add_symbol(out, &window[i], out->strings + window[i].st_name);
        }
        done += some;
    }
    return TN_OK;
}

int32_t elf_symbols(struct elf_file *file, struct elf_symbols *out, struct error *error) {
    struct elf_dynamic dynamic = {0};
    struct elf_symbols found = ELF_SYMBOLS_INIT;
    int32_t status = elf_read_dynamic(file, &dynamic, error);
    if (status == TN_OK) status = elf_read_symbols(file, &dynamic, &found, error);
    mem_free(dynamic.needed);
    if (status == TN_OK)
        *out = found;
    else
        elf_symbols_finish(&found);
    return status;
}

void elf_symbols_finish(struct elf_symbols *symbols) {
    mem_free((void *)symbols->defined);
    mem_free((void *)symbols->unique);
    mem_free((void *)symbols->undefined);
    mem_free((void *)symbols->needed);
    mem_free(symbols->strings);
    *symbols = (struct elf_symbols)ELF_SYMBOLS_INIT;
}

/*
 * elf_note.h - what a shared object says of itself, read from its file without running any of it.
 *
 * dlopen runs constructors, so nothing is learnt that way: the file is read with pread, every offset and count is
 * checked against the file's size before it is used, and no allocation follows a size that a file merely claims.
 * Only objects for this machine are read further than their header; others get one error that names both sides.
 *
 *     struct elf_file *file;
 *     if (elf_open("acme.so", &file, &error) != TN_OK) return report(&error);
 *     for (size_t i = 0; i < elf_note_count(file); i++) read_json(elf_note_at(file, i, &length), length);
 *     elf_symbols(file, &symbols, &error);             // only where they are wanted: it is the larger part
 *     elf_close(file);
 *
 * Notes are those of owner "Tenon", type 1, in the order of the file; NULs at their end are dropped.
 */
#ifndef TENON_HOST_PLUGIN_ELF_NOTE_H
#define TENON_HOST_PLUGIN_ELF_NOTE_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_SEGMENTS_MAX   128u        /* program headers */
#define ELF_NOTES_SIZE_MAX (8u << 20)  /* bytes of all segments of notes together */
#define ELF_NOTES_MAX      4096u       /* notes of owner Tenon */
#define ELF_DYNAMIC_MAX    4096u       /* entries of the dynamic section */
#define ELF_SYMBOLS_MAX    1000000u    /* dynamic symbols */
#define ELF_STRINGS_MAX    (64u << 20) /* bytes of the dynamic string table */

struct elf_file;

/*
 * TN_NOT_FOUND (code IO) where the file cannot be read; TN_INVALID (PLUGIN_INVALID) where it is no shared object of
 * this machine, or a broken one; TN_LIMIT (LIMIT). The message names the file. [any thread]
 */
int32_t elf_open(const char *path, struct elf_file **out, struct error *error);
/* The same of bytes in memory, which are borrowed until elf_close; `name` is for messages. */
int32_t elf_open_memory(const char *name, const void *bytes, size_t size, struct elf_file **out, struct error *error);
void elf_close(struct elf_file *file); /* NULL is allowed */

size_t elf_note_count(const struct elf_file *file);
const char *elf_note_at(const struct elf_file *file, size_t index, size_t *length); /* borrowed; not NUL-terminated */
uint64_t elf_device(const struct elf_file *file); /* device and inode: the file's identity; 0 of memory */
uint64_t elf_inode(const struct elf_file *file);
uint64_t elf_size(const struct elf_file *file);

/* What the dynamic linker would see. Names are borrowed from the struct. */
struct elf_symbols {
    const char **defined; /* exported: not local, not hidden */
    size_t defined_count;
    const char **unique; /* of those, STB_GNU_UNIQUE: shared by all objects of a process */
    size_t unique_count;
    const char **undefined; /* to be found elsewhere; weak ones left out */
    size_t undefined_count;
    const char **needed; /* libraries: DT_NEEDED */
    size_t needed_count;
    char *strings;
};

#define ELF_SYMBOLS_INIT                                                                                               \
    { 0 }

/* Fills *out, which elf_symbols_finish empties. Fails as elf_open does. */
int32_t elf_symbols(struct elf_file *file, struct elf_symbols *out, struct error *error);
void elf_symbols_finish(struct elf_symbols *symbols);

#endif

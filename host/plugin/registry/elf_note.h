/*
 * elf_note.h - reads notes and symbols of a shared object from its file, without running its code.
 *
 * dlopen would run constructors, so the file is read with pread instead. Every offset and count is checked against the
 * file's size before it is used, and no allocation is larger than the file justifies. Only objects for this machine are
 * read beyond their header; others fail with an error that names both machines.
 *
 *     struct elf_file *file;
 *     if (elf_open("acme.so", &file, &error) != TN_OK) return report(&error);
 *     for (size_t i = 0; i < elf_note_count(file); i++) read_json(elf_note_at(file, i, &length), length);
 *     elf_symbols(file, &symbols, &error);             // only if needed: this is the larger part
 *     elf_close(file);
 *
 * Notes are those of owner "Tenon", type 1, in the order of the file; trailing NULs are removed.
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_ELF_NOTE_H
#define TENON_HOST_PLUGIN_REGISTRY_ELF_NOTE_H

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
 * [any] Fails with TN_NOT_FOUND (code IO) if the file cannot be read, TN_INVALID (PLUGIN_INVALID) if it is not a valid
 * shared object for this machine, or TN_LIMIT (LIMIT). The message names the file.
 */
int32_t elf_open(const char *path, struct elf_file **out, struct error *error);
/* The same for bytes in memory, which are borrowed until elf_close. `name` is for messages. */
int32_t elf_open_memory(const char *name, const void *bytes, size_t size, struct elf_file **out, struct error *error);
void elf_close(struct elf_file *file); /* NULL is allowed */

size_t elf_note_count(const struct elf_file *file);
const char *elf_note_at(const struct elf_file *file, size_t index, size_t *length); /* borrowed; not NUL-terminated */
uint64_t elf_device(const struct elf_file *file); /* device and inode identify the file; 0 for memory */
uint64_t elf_inode(const struct elf_file *file);
struct stat;
/* The status of the file now. False if it is in memory, or unknown. */
bool elf_status(const struct elf_file *file, struct stat *out);

/* What the dynamic linker sees. Names are borrowed from the struct. */
struct elf_symbols {
    const char **defined; /* exported: not local, not hidden */
    size_t defined_count;
    const char **unique; /* those that are STB_GNU_UNIQUE: shared by all objects of a process */
    size_t unique_count;
    const char **undefined; /* resolved elsewhere; without weak symbols */
    size_t undefined_count;
    const char **needed; /* libraries: DT_NEEDED */
    size_t needed_count;
    char *strings;
};

#define ELF_SYMBOLS_INIT                                                                                               \
    { 0 }

/* Fills *out; release it with elf_symbols_finish. Fails like elf_open. */
int32_t elf_symbols(struct elf_file *file, struct elf_symbols *out, struct error *error);
void elf_symbols_finish(struct elf_symbols *symbols);

#endif

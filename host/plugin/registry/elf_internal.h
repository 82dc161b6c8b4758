/*
 * elf_internal.h - struct elf_file, shared by elf_note.c (header and notes) and elf_symbol.c (the dynamic section).
 */
#ifndef TENON_HOST_PLUGIN_REGISTRY_ELF_INTERNAL_H
#define TENON_HOST_PLUGIN_REGISTRY_ELF_INTERNAL_H

#include "host/plugin/registry/elf_note.h"
#include <elf.h>

struct elf_note {
    size_t offset, length; /* range of `bytes` */
};

struct elf_file {
    char *name;
    int descriptor;              /* -1 if the object is in memory */
    const unsigned char *memory; /* NULL if the object is in a file */
    uint64_t size, device, inode;
    Elf64_Phdr *segments;
    uint32_t segment_count;
    unsigned char *bytes; /* the contents of all note segments */
    size_t bytes_length;
    struct elf_note *notes;
    size_t note_count;
};

/* Reads [offset, offset + length) of the file into `out`, after checking the range. `what` names it in the message. */
int32_t elf_read(const struct elf_file *file, uint64_t offset, void *out, size_t length, const char *what,
                 struct error *error);
int32_t elf_broken(const struct elf_file *file, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int32_t elf_too_large(const struct elf_file *file, struct error *error, const char *what, uint64_t found,
                      uint64_t limit);

#endif

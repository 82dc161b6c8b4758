/*
 * elf_note.c - reads the header, the program headers and the notes of a shared object.
 *
 * Nothing in the file is trusted. elf_read checks each range against the file's size without overflow, and each count
 * is checked against its limit first. Notes are found by segments (PT_NOTE), as the kernel and debuggers do, because
 * strip may remove section headers. elf_symbol.c reads the dynamic section.
 */
#include "adl/value/memory.h"
#include "host/plugin/registry/elf_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tenon/note.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#elif defined(__s390x__)
#define MACHINE EM_S390
#else
#error "elf_note.c does not know this machine: add its EM_ constant"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_HERE ELFDATA2LSB
#else
#define BYTE_ORDER_HERE ELFDATA2MSB
#endif

static const struct {
    uint16_t machine;
    const char *name;
} machines[] = {
    {EM_386, "32-bit x86"}, {EM_X86_64, "x86-64"}, {EM_ARM, "32-bit ARM"}, {EM_AARCH64, "AArch64"},
    {EM_RISCV, "RISC-V"},   {EM_PPC64, "PowerPC"}, {EM_S390, "s390"},      {EM_MIPS, "MIPS"},
};

/* The machine's name; for an unknown machine, its number, printed to `number`. */
static const char *machine_name(uint16_t machine, char number[32]) {
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (machines[i].machine == machine) return machines[i].name;
    snprintf(number, 32, "machine %u", machine);
    return number;
}

int32_t elf_broken(const struct elf_file *file, struct error *error, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(error, TN_INVALID, "PLUGIN_INVALID", "%s: %s", file->name, text);
}

int32_t elf_too_large(const struct elf_file *file, struct error *error, const char *what, uint64_t found,
                      uint64_t limit) {
    return error_set(error, TN_LIMIT, "LIMIT", "%s: found %llu %s, expected at most %llu", file->name,
                     (unsigned long long)found, what, (unsigned long long)limit);
}

int32_t elf_read(const struct elf_file *file, uint64_t offset, void *out, size_t length, const char *what,
                 struct error *error) {
    if (offset > file->size || length > file->size - offset)
        return elf_broken(file, error,
                          "broken ELF file: its %s would be %llu bytes at offset %llu, beyond its end at %llu", what,
                          (unsigned long long)length, (unsigned long long)offset, (unsigned long long)file->size);
    if (file->memory) {
        if (length > 0) memcpy(out, file->memory + offset, length);
        return TN_OK;
    }
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(file->descriptor, (unsigned char *)out + done, length - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return error_set(error, TN_ERROR, "IO", "%s: cannot read the file: %s", file->name, strerror(errno));
        if (got == 0) return elf_broken(file, error, "became shorter while it was read");
        done += (size_t)got;
    }
    return TN_OK;
}

/* ---- Header ---- */

static int32_t elf_read_header(struct elf_file *file, Elf64_Ehdr *header, struct error *error) {
    unsigned char ident[EI_NIDENT + 4] = {0}; /* and e_type and e_machine, which have the same offset in both classes */
    char here[32], there[32];
    if (file->size < sizeof ident || elf_read(file, 0, ident, sizeof ident, "header", NULL) != TN_OK ||
        memcmp(ident, ELFMAG, SELFMAG) != 0)
        return elf_broken(file, error, "not a shared object: found no ELF header");
    if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
        return elf_broken(file, error, "broken ELF file: byte order %u is neither little nor big endian",
                          ident[EI_DATA]);
    const unsigned char *at = ident + EI_NIDENT + 2;
    uint16_t machine = (uint16_t)(ident[EI_DATA] == ELFDATA2LSB ? at[0] | at[1] << 8 : at[0] << 8 | at[1]);
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != BYTE_ORDER_HERE || machine != MACHINE)
        return elf_broken(file, error,
                          "built for another machine: found %s (%s, %s endian), this host is %s (64-bit, %s "
                          "endian); get the plugin built for %s",
                          machine_name(machine, there), ident[EI_CLASS] == ELFCLASS64 ? "64-bit" : "32-bit",
                          ident[EI_DATA] == ELFDATA2LSB ? "little" : "big", machine_name(MACHINE, here),
                          BYTE_ORDER_HERE == ELFDATA2LSB ? "little" : "big", machine_name(MACHINE, here));
    int32_t status = elf_read(file, 0, header, sizeof *header, "header", error);
    if (status != TN_OK) return status;
    if (header->e_type != ET_DYN)
        return elf_broken(file, error,
                          "not a shared object: found ELF type %u, expected %u (ET_DYN); link it with -shared",
                          header->e_type, ET_DYN);
    if (header->e_phnum == 0) return elf_broken(file, error, "broken ELF file: it has no segments");
    if (header->e_phentsize != sizeof(Elf64_Phdr))
        return elf_broken(file, error, "broken ELF file: program headers of %u bytes, expected %zu",
                          header->e_phentsize, sizeof(Elf64_Phdr));
    if (header->e_phnum > ELF_SEGMENTS_MAX)
        return elf_too_large(file, error, "segments", header->e_phnum, ELF_SEGMENTS_MAX);
    return TN_OK;
}

/* ---- Notes ---- */

static uint32_t elf_word_at(const unsigned char *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static size_t padded(size_t length, size_t to) { return (length + to - 1) & ~(to - 1); }

/* Collects the notes of one segment, at [from, to) of file->bytes. */
static int32_t elf_collect_notes(struct elf_file *file, size_t from, size_t to, size_t alignment, size_t *capacity,
                                 struct error *error) {
    size_t at = from;
    while (to - at >= 3 * sizeof(uint32_t)) {
        const unsigned char *note = file->bytes + at;
        uint32_t name_size = elf_word_at(note), size = elf_word_at(note + 4), type = elf_word_at(note + 8);
        if (name_size == 0) { /* padding between sections: every note has an owner */
            at += sizeof(uint32_t);
            continue;
        }
        size_t left = to - at - 12;
        /* Check the sizes before adding to them. The last note need not be padded. */
        if (name_size > left || padded(12 + (size_t)name_size, alignment) - 12 > left ||
            size > left - (padded(12 + (size_t)name_size, alignment) - 12))
            return elf_broken(
                file, error,
                "broken note at byte %zu of its segment: a name of %u and a text of %u bytes, but only %zu "
                "are left",
                at - from, name_size, size, left);
        size_t text = at + padded(12 + (size_t)name_size, alignment);
        if (type == TN_NOTE_TYPE && name_size == sizeof TN_NOTE_OWNER &&
            memcmp(note + 12, TN_NOTE_OWNER, sizeof TN_NOTE_OWNER) == 0) {
            if (file->note_count == ELF_NOTES_MAX)
                return elf_too_large(file, error, "or more notes of owner " TN_NOTE_OWNER, ELF_NOTES_MAX + 1,
                                     ELF_NOTES_MAX);
            MEM_GROW(file->notes, file->note_count, *capacity);
            size_t length = size;
            while (length > 0 && file->bytes[text + length - 1] == 0) length--;
            file->notes[file->note_count++] = (struct elf_note){text, length};
        }
        size_t next = padded(text - from + size, alignment) + from;
        at = next < to ? next : to;
    }
    return TN_OK;
}

static int32_t elf_read_notes(struct elf_file *file, struct error *error) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_NOTE) continue;
        if (segment->p_offset > file->size || segment->p_filesz > file->size - segment->p_offset)
            return elf_broken(file, error,
                              "broken ELF file: its notes would be %llu bytes at offset %llu, beyond its end at %llu",
                              (unsigned long long)segment->p_filesz, (unsigned long long)segment->p_offset,
                              (unsigned long long)file->size);
        if (segment->p_filesz > ELF_NOTES_SIZE_MAX - total)
            return elf_too_large(file, error, "bytes of notes", total + segment->p_filesz, ELF_NOTES_SIZE_MAX);
        total += segment->p_filesz;
    }
    if (total == 0) return TN_OK;
    file->bytes = mem_alloc(total);
    size_t capacity = 0;
    for (uint32_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_NOTE) continue;
        size_t from = file->bytes_length, length = segment->p_filesz;
        int32_t status = elf_read(file, segment->p_offset, file->bytes + from, length, "notes", error);
        if (status != TN_OK) return status;
        file->bytes_length += length;
        status = elf_collect_notes(file, from, from + length, segment->p_align == 8 ? 8 : 4, &capacity, error);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

/* ---- Opening ---- */

static int32_t elf_open_take(struct elf_file *file, struct elf_file **out, struct error *error) {
    Elf64_Ehdr header = {0};
    int32_t status = elf_read_header(file, &header, error);
    if (status == TN_OK) {
        file->segment_count = header.e_phnum;
        file->segments = mem_array(NULL, header.e_phnum, sizeof *file->segments);
        status = elf_read(file, header.e_phoff, file->segments, header.e_phnum * sizeof *file->segments,
                          "program headers", error);
    }
    if (status == TN_OK) status = elf_read_notes(file, error);
    if (status == TN_OK)
        *out = file;
    else
        elf_close(file);
    return status;
}

int32_t elf_open(const char *path, struct elf_file **out, struct error *error) {
    /* O_NONBLOCK: a named pipe x.so must not block the scan. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
        int failure = errno;
        if (descriptor >= 0) close(descriptor);
        return error_set(error, TN_NOT_FOUND, "IO", "%s: cannot open the file: %s", path, strerror(failure));
    }
    struct elf_file *file = mem_zalloc(sizeof *file);
    file->name = mem_text(path);
    file->descriptor = descriptor;
    file->size = status.st_size > 0 ? (uint64_t)status.st_size : 0;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    if (!S_ISREG(status.st_mode)) {
        int32_t result = elf_broken(file, error, "not a shared object: not a regular file");
        elf_close(file);
        return result;
    }
    return elf_open_take(file, out, error);
}

int32_t elf_open_memory(const char *name, const void *bytes, size_t size, struct elf_file **out, struct error *error) {
    static const unsigned char nothing;
    struct elf_file *file = mem_zalloc(sizeof *file);
    file->name = mem_text(name);
    file->descriptor = -1;
    file->memory = size > 0 ? bytes : &nothing;
    file->size = size;
    return elf_open_take(file, out, error);
}

void elf_close(struct elf_file *file) {
    if (!file) return;
    if (file->descriptor >= 0) close(file->descriptor);
    mem_free(file->name);
    mem_free(file->segments);
    mem_free(file->bytes);
    mem_free(file->notes);
    mem_free(file);
}

size_t elf_note_count(const struct elf_file *file) { return file->note_count; }

const char *elf_note_at(const struct elf_file *file, size_t index, size_t *length) {
    *length = file->notes[index].length;
    return (const char *)file->bytes + file->notes[index].offset;
}

uint64_t elf_device(const struct elf_file *file) { return file->device; }
uint64_t elf_inode(const struct elf_file *file) { return file->inode; }
bool elf_status(const struct elf_file *file, struct stat *out) {
    return file->descriptor >= 0 && fstat(file->descriptor, out) == 0;
}

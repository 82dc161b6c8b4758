/*
 * elf_note_test.c - reads shared objects without running them, and everything that can be wrong in their bytes.
 *
 * Small objects are built in memory, so that each fault is one field. A real object is truncated at every length, and
 * each of its first bytes is changed: reading must return a status and do nothing else.
 */
#include "adl/value/memory.h"
#include "host/plugin/registry/elf_note.h"
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- A small object: header, two segments, notes ---- */

#define NOTES_AT 256
#define ROOM     1024

struct object {
    union {
        unsigned char bytes[ROOM];
        Elf64_Ehdr header;
    };
    size_t size, notes;
};

static Elf64_Phdr *segment(struct object *object, size_t index) {
    return (Elf64_Phdr *)(void *)(object->bytes + sizeof(Elf64_Ehdr)) + index;
}

static void begin(struct object *object) {
    memset(object, 0, sizeof *object);
    Elf64_Ehdr *header = &object->header;
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_type = ET_DYN;
#if defined(__x86_64__)
    header->e_machine = EM_X86_64;
#elif defined(__aarch64__)
    header->e_machine = EM_AARCH64;
#endif
    header->e_phoff = sizeof *header;
    header->e_phentsize = sizeof(Elf64_Phdr);
    header->e_phnum = 1;
    object->size = NOTES_AT;
    *segment(object, 0) = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = NOTES_AT, .p_align = 4};
}

static void put_word(struct object *object, uint32_t word) {
    memcpy(object->bytes + object->size, &word, sizeof word);
    object->size += sizeof word;
    segment(object, 0)->p_filesz = object->size - NOTES_AT;
}

static void put_padded(struct object *object, const void *bytes, size_t length) {
    memcpy(object->bytes + object->size, bytes, length);
    object->size += (length + 3) & ~(size_t)3;
    segment(object, 0)->p_filesz = object->size - NOTES_AT;
}

static void put_note(struct object *object, const char *owner, uint32_t type, const char *text, size_t length) {
    put_word(object, (uint32_t)strlen(owner) + 1);
    put_word(object, (uint32_t)length);
    put_word(object, type);
    put_padded(object, owner, strlen(owner) + 1);
    put_padded(object, text, length);
}

/* Opens it from a heap block of exactly its size, so that the sanitizer detects a read past the end. */
static int32_t open_object(const struct object *object, struct elf_file **file, struct error *error, void **block) {
    *block = malloc(object->size ? object->size : 1);
    memcpy(*block, object->bytes, object->size);
    return elf_open_memory("x.so", *block, object->size, file, error);
}

static void fails(const struct object *object, int32_t status, const char *message) {
    struct elf_file *file = NULL;
    struct error error = ERROR_INIT;
    void *block;
    int32_t got = open_object(object, &file, &error, &block);
    if (got != status || !strstr(error.message, message))
        fail_msg("expected %d with `%s`, got %d with `%s`", status, message, got, error.message ? error.message : "");
    assert_non_null(strstr(error.message, "x.so"));
    assert_null(file);
    error_finish(&error);
    free(block);
}

static void reads_notes(void **state) {
    (void)state;
    struct object object;
    struct elf_file *file;
    void *block;
    size_t length;
    begin(&object);
    put_note(&object, "GNU", 3, "0123", 4);
    put_note(&object, "Tenon", 1, "{\"a\":1}\0\0\0", 10);
    put_word(&object, 0); /* padding between sections */
    put_note(&object, "Tenon", 2, "{}", 2);
    put_note(&object, "Tenon", 1, "{}", 2);
    put_note(&object, "Tenom", 1, "{}", 2);
    assert_int_equal(open_object(&object, &file, NULL, &block), TN_OK);
    assert_int_equal(elf_note_count(file), 2);
    const char *text = elf_note_at(file, 0, &length);
    assert_int_equal(length, 7);
    assert_memory_equal(text, "{\"a\":1}", 7);
    assert_int_equal((elf_note_at(file, 1, &length), length), 2);
    elf_close(file);
    free(block);
    elf_close(NULL);
}

/* The last text may end with the file, without its padding. */
static void reads_an_unpadded_end(void **state) {
    (void)state;
    struct object object;
    struct elf_file *file;
    void *block;
    begin(&object);
    put_note(&object, "Tenon", 1, "{\"b\":2}x", 7);
    object.size--;
    segment(&object, 0)->p_filesz--;
    assert_int_equal(open_object(&object, &file, NULL, &block), TN_OK);
    assert_int_equal(elf_note_count(file), 1);
    elf_close(file);
    free(block);
}

static void refuses_other_files(void **state) {
    (void)state;
    struct object object;
    begin(&object);
    object.size = 0;
    fails(&object, TN_INVALID, "no ELF header");
    begin(&object);
    object.bytes[0] = '#';
    fails(&object, TN_INVALID, "no ELF header");
    begin(&object);
    object.header.e_ident[EI_CLASS] = ELFCLASS32;
    object.header.e_machine = EM_386;
    fails(&object, TN_INVALID, "found 32-bit x86 (32-bit, little endian), this host is");
    begin(&object);
    object.header.e_machine = EM_S390;
    fails(&object, TN_INVALID, "found s390");
    begin(&object);
    object.header.e_machine = 0x1234;
    fails(&object, TN_INVALID, "found machine 4660");
    begin(&object);
    object.header.e_ident[EI_DATA] = ELFDATA2MSB;
    object.header.e_machine = (uint16_t)(object.header.e_machine << 8 | object.header.e_machine >> 8);
    fails(&object, TN_INVALID, "big endian)");
    begin(&object);
    object.header.e_ident[EI_DATA] = 7;
    fails(&object, TN_INVALID, "byte order 7");
    begin(&object);
    object.header.e_type = ET_REL;
    fails(&object, TN_INVALID, "-shared");
    begin(&object);
    object.size = 40;
    fails(&object, TN_INVALID, "header would be 64 bytes");
    begin(&object);
    object.header.e_phnum = 0;
    fails(&object, TN_INVALID, "no segments");
    begin(&object);
    object.header.e_phentsize = 8;
    fails(&object, TN_INVALID, "program headers of 8 bytes");
}

static void refuses_invalid_offsets(void **state) {
    (void)state;
    struct object object;
    begin(&object);
    object.header.e_phnum = ELF_SEGMENTS_MAX + 1;
    fails(&object, TN_LIMIT, "129 segments");
    begin(&object);
    object.header.e_phnum = ELF_SEGMENTS_MAX;
    fails(&object, TN_INVALID, "program headers would be");
    begin(&object);
    object.header.e_phoff = UINT64_MAX - 8;
    fails(&object, TN_INVALID, "beyond its end");
    begin(&object);
    segment(&object, 0)->p_filesz = (uint64_t)2 << 30; /* 2 GiB of notes in 256 bytes */
    fails(&object, TN_INVALID, "notes would be 2147483648 bytes");
    begin(&object);
    segment(&object, 0)->p_offset = UINT64_MAX;
    segment(&object, 0)->p_filesz = UINT64_MAX;
    fails(&object, TN_INVALID, "beyond its end");
    begin(&object);
    segment(&object, 0)->p_offset = 1;
    segment(&object, 0)->p_filesz = UINT64_MAX - 1;
    fails(&object, TN_INVALID, "beyond its end");
}

static void refuses_broken_notes(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = {
        {6, 0x80000000u}, {0x80000000u, 6}, {UINT32_MAX, UINT32_MAX},
        {6, UINT32_MAX},  {UINT32_MAX, 0},  {UINT32_MAX - 15, 1}, /* its padded sum overflows */
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct object object;
        begin(&object);
        put_note(&object, "Tenon", 1, "{}", 2);
        put_word(&object, sizes[i][0]);
        put_word(&object, sizes[i][1]);
        put_word(&object, 1);
        put_padded(&object, "Tenon\0\0", 8);
        fails(&object, TN_INVALID, "broken note at byte 24");
    }
}

/* Segments may overlap: then notes are found twice. */
static void accepts_overlapping_segments(void **state) {
    (void)state;
    struct object object;
    struct elf_file *file;
    void *block;
    begin(&object);
    put_note(&object, "Tenon", 1, "{}", 2);
    object.header.e_phnum = 2;
    *segment(&object, 1) = *segment(&object, 0);
    assert_int_equal(open_object(&object, &file, NULL, &block), TN_OK);
    assert_int_equal(elf_note_count(file), 2);
    elf_close(file);
    free(block);
}

/* ---- Bounds that need a large file ---- */

static int32_t open_large(size_t count, size_t length, size_t copies, struct error *error) {
    struct object object;
    begin(&object);
    size_t each = 12 + 8 + ((length + 3) & ~(size_t)3), size = NOTES_AT + count * each;
    unsigned char *bytes = calloc(1, size);
    object.header.e_phnum = (uint16_t)copies;
    for (size_t i = 0; i < copies; i++)
        *segment(&object, i) =
            (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = NOTES_AT, .p_filesz = count * each, .p_align = 4};
    memcpy(bytes, object.bytes, NOTES_AT);
    for (size_t i = 0; i < count; i++) {
        uint32_t head[3] = {6, (uint32_t)length, 1};
        memcpy(bytes + NOTES_AT + i * each, head, sizeof head);
        memcpy(bytes + NOTES_AT + i * each + 12, "Tenon", 6);
    }
    struct elf_file *file = NULL;
    int32_t status = elf_open_memory("large.so", bytes, size, &file, error);
    elf_close(file);
    free(bytes);
    return status;
}

static void bounds_notes(void **state) {
    (void)state;
    struct error error = ERROR_INIT;
    assert_int_equal(open_large(ELF_NOTES_MAX, 4, 1, &error), TN_OK);
    assert_int_equal(open_large(ELF_NOTES_MAX + 1, 4, 1, &error), TN_LIMIT);
    assert_non_null(strstr(error.message, "4096"));
    assert_int_equal(open_large(1, ELF_NOTES_SIZE_MAX - 20, 1, &error), TN_OK);
    assert_int_equal(open_large(1, ELF_NOTES_SIZE_MAX - 16, 1, &error), TN_LIMIT);
    assert_int_equal(open_large(1, ELF_NOTES_SIZE_MAX / 2, 3, &error), TN_LIMIT); /* the same bytes, three times */
    error_finish(&error);
}

/* ---- The dynamic section ---- */

#define DYNAMIC_AT 512
#define HASH_AT    704
#define STRINGS_AT 768
#define SYMBOLS_AT 800

/* An object with one exported symbol, "entry", found by DT_HASH. */
static Elf64_Dyn *begin_dynamic(struct object *object) {
    begin(object);
    object->size = ROOM;
    object->header.e_phnum = 3;
    segment(object, 0)->p_filesz = 0;
    *segment(object, 1) = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = ROOM};
    *segment(object, 2) = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_offset = DYNAMIC_AT, .p_filesz = 8 * sizeof(Elf64_Dyn)};
    Elf64_Dyn *entries = (Elf64_Dyn *)(void *)(object->bytes + DYNAMIC_AT);
    const Elf64_Dyn given[] = {{DT_SYMTAB, {SYMBOLS_AT}},
                               {DT_STRTAB, {STRINGS_AT}},
                               {DT_STRSZ, {16}},
                               {DT_SYMENT, {sizeof(Elf64_Sym)}},
                               {DT_HASH, {HASH_AT}}};
    memcpy(entries, given, sizeof given);
    const uint32_t hash[] = {1, 2, 1, 0};
    memcpy(object->bytes + HASH_AT, hash, sizeof hash);
    memcpy(object->bytes + STRINGS_AT, "\0entry", 7);
    const Elf64_Sym symbol = {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1};
    memcpy(object->bytes + SYMBOLS_AT + sizeof symbol, &symbol, sizeof symbol);
    return entries;
}

static void symbols_fail(const struct object *object, int32_t status, const char *message) {
    struct elf_file *file;
    struct elf_symbols symbols;
    struct error error = ERROR_INIT;
    void *block;
    assert_int_equal(open_object(object, &file, NULL, &block), TN_OK);
    int32_t got = elf_symbols(file, &symbols, &error);
    if (got != status || !strstr(error.message, message))
        fail_msg("expected %d with `%s`, got %d with `%s`", status, message, got, error.message ? error.message : "");
    error_finish(&error);
    elf_close(file);
    free(block);
}

static void refuses_broken_symbols(void **state) {
    (void)state;
    struct object object;
    struct elf_file *file;
    struct elf_symbols symbols;
    void *block;
    (void)begin_dynamic(&object);
    assert_int_equal(open_object(&object, &file, NULL, &block), TN_OK);
    assert_int_equal(elf_symbols(file, &symbols, NULL), TN_OK);
    assert_int_equal(symbols.defined_count, 1);
    assert_string_equal(symbols.defined[0], "entry");
    elf_symbols_finish(&symbols);
    elf_close(file);
    free(block);

    begin_dynamic(&object)[2].d_un.d_val = STRINGS_AT; /* longer than what is left of the file */
    symbols_fail(&object, TN_INVALID, "string table would be 768 bytes where 256 are left");
    begin_dynamic(&object)[2].d_un.d_val = ELF_STRINGS_MAX + 1;
    symbols_fail(&object, TN_LIMIT, "bytes of symbol names");
    begin_dynamic(&object)[0].d_un.d_ptr = UINT64_MAX - 4;
    symbols_fail(&object, TN_INVALID, "symbol table, at address 0xfffffffffffffffb, is not in a loaded part");
    begin_dynamic(&object)[3].d_un.d_val = 7;
    symbols_fail(&object, TN_INVALID, "names no symbols");
    (void)begin_dynamic(&object);
    segment(&object, 2)->p_filesz = (ELF_DYNAMIC_MAX + 1) * sizeof(Elf64_Dyn);
    symbols_fail(&object, TN_LIMIT, "4097 dynamic entries");
    (void)begin_dynamic(&object);
    segment(&object, 2)->p_type = PT_NULL;
    symbols_fail(&object, TN_INVALID, "no dynamic section");
    (void)begin_dynamic(&object);
    uint32_t count = ELF_SYMBOLS_MAX + 1;
    memcpy(object.bytes + HASH_AT + 4, &count, sizeof count);
    symbols_fail(&object, TN_LIMIT, "1000001 dynamic symbols");
    count = 1000;
    memcpy(object.bytes + HASH_AT + 4, &count, sizeof count);
    symbols_fail(&object, TN_INVALID, "symbol table would hold 1000 symbols");
    (void)begin_dynamic(&object);
    count = 16; /* just behind the names */
    memcpy(object.bytes + SYMBOLS_AT + sizeof(Elf64_Sym), &count, sizeof count);
    symbols_fail(&object, TN_INVALID, "the name of symbol 1 is outside");
    begin_dynamic(&object)[4] = (Elf64_Dyn){DT_GNU_HASH, {HASH_AT}};
    const uint32_t gnu[] = {ELF_SYMBOLS_MAX + 1, 1, 1, 0};
    memcpy(object.bytes + HASH_AT, gnu, sizeof gnu);
    symbols_fail(&object, TN_LIMIT, "1000001 hash buckets");
    const uint32_t contrary[] = {1, 9, 0, 0, 3};
    memcpy(object.bytes + HASH_AT, contrary, sizeof contrary);
    symbols_fail(&object, TN_INVALID, "contradicts itself");
}

/* ---- Real objects ---- */

static unsigned char *load(const char *path, size_t *size) {
    int descriptor = open(path, O_RDONLY);
    struct stat status;
    assert_true(descriptor >= 0 && fstat(descriptor, &status) == 0);
    unsigned char *bytes = malloc((size_t)status.st_size);
    assert_int_equal(read(descriptor, bytes, (size_t)status.st_size), status.st_size);
    close(descriptor);
    *size = (size_t)status.st_size;
    return bytes;
}

static bool has(const char *const *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0) return true;
    return false;
}

static void reads_symbols(void **state) {
    (void)state;
    struct elf_file *file;
    struct elf_symbols symbols;
    assert_int_equal(elf_open(TENON_TEST_PLUGINS "/good/good.so", &file, NULL), TN_OK);
    assert_int_equal(elf_note_count(file), 4);
    assert_int_equal(elf_symbols(file, &symbols, NULL), TN_OK);
    assert_int_equal(symbols.defined_count, 1);
    assert_string_equal(symbols.defined[0], "tn_plugin_entry_1");
    assert_int_equal(symbols.unique_count, 0);
    assert_true(has(symbols.undefined, symbols.undefined_count, "setenv"));
    assert_true(has(symbols.needed, symbols.needed_count, "libc.so.6"));
    elf_symbols_finish(&symbols);
    elf_close(file);
    assert_int_equal(elf_open(TENON_TEST_PLUGINS "/extra/extra.so", &file, NULL), TN_OK);
    assert_int_equal(elf_symbols(file, &symbols, NULL), TN_OK);
    assert_true(has(symbols.defined, symbols.defined_count, "extra_symbol"));
    elf_symbols_finish(&symbols);
    elf_close(file);
    assert_int_equal(elf_open(TENON_TEST_PLUGINS "/unresolved/unresolved.so", &file, NULL), TN_OK);
    assert_int_equal(elf_symbols(file, &symbols, NULL), TN_OK);
    assert_true(has(symbols.undefined, symbols.undefined_count, "registry_new"));
    elf_symbols_finish(&symbols);
    elf_close(file);
}

/* Reading changed bytes returns a status. */
static void try_bytes(const unsigned char *bytes, size_t size) {
    struct elf_file *file;
    struct elf_symbols symbols;
    if (elf_open_memory("mutant.so", bytes, size, &file, NULL) != TN_OK) return;
    if (elf_symbols(file, &symbols, NULL) == TN_OK) elf_symbols_finish(&symbols);
    elf_close(file);
}

static void accepts_or_refuses_every_truncation(void **state) {
    (void)state;
    size_t size;
    unsigned char *bytes = load(TENON_TEST_PLUGINS "/good/good.so", &size);
    for (size_t length = 0; length < size; length += length < 4096 ? 1 : 61) {
        unsigned char *cut = malloc(length ? length : 1);
        memcpy(cut, bytes, length);
        try_bytes(cut, length);
        free(cut);
    }
    free(bytes);
}

static void accepts_or_refuses_every_changed_byte(void **state) {
    (void)state;
    static const unsigned char changes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    size_t size;
    unsigned char *bytes = load(TENON_TEST_PLUGINS "/good/good.so", &size);
    for (size_t at = 0; at < size && at < 2048; at++) { /* headers, notes, hashes, symbols */
        unsigned char was = bytes[at];
        for (size_t i = 0; i < sizeof changes; i++) {
            bytes[at] = changes[i];
            try_bytes(bytes, size);
        }
        bytes[at] = was;
    }
    free(bytes);
}

static void refuses_what_is_not_a_file(void **state) {
    (void)state;
    struct elf_file *file = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(elf_open("/nonexistent/x.so", &file, &error), TN_NOT_FOUND);
    assert_string_equal(error.code, "IO");
    assert_int_equal(elf_open("/", &file, &error), TN_INVALID);
    assert_non_null(strstr(error.message, "not a regular file"));
    assert_int_equal(elf_open("/dev/zero", &file, &error), TN_INVALID);
    assert_null(file);
    error_finish(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_notes),
        cmocka_unit_test(reads_an_unpadded_end),
        cmocka_unit_test(refuses_other_files),
        cmocka_unit_test(refuses_invalid_offsets),
        cmocka_unit_test(refuses_broken_notes),
        cmocka_unit_test(accepts_overlapping_segments),
        cmocka_unit_test(bounds_notes),
        cmocka_unit_test(refuses_broken_symbols),
        cmocka_unit_test(reads_symbols),
        cmocka_unit_test(accepts_or_refuses_every_truncation),
        cmocka_unit_test(accepts_or_refuses_every_changed_byte),
        cmocka_unit_test(refuses_what_is_not_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

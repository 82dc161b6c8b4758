/*
 * fuzz_elf_note.c - reads any bytes as a shared object: returns a status, reads nothing outside, and finds only notes
 * inside the bounds.
 */
#include "host/plugin/registry/elf_note.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static size_t walk(const char *const *names, size_t count) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) total += strlen(names[i]);
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct elf_file *file = NULL;
    struct elf_symbols symbols = ELF_SYMBOLS_INIT;
    struct error error = ERROR_INIT;
    if (elf_open_memory("x.so", data, size, &file, &error) != TN_OK) {
        require(error.code != NULL && strncmp(error.message, "x.so: ", 6) == 0);
        error_finish(&error);
        return 0;
    }
    require(elf_note_count(file) <= ELF_NOTES_MAX);
    for (size_t i = 0; i < elf_note_count(file); i++) {
        size_t length;
        const char *text = elf_note_at(file, i, &length);
        require(length <= size && (length == 0 || text[length - 1] != 0));
    }
    if (elf_symbols(file, &symbols, &error) == TN_OK) {
        require(symbols.unique_count <= symbols.defined_count);
        (void)walk(symbols.defined, symbols.defined_count);
        (void)walk(symbols.undefined, symbols.undefined_count);
        (void)walk(symbols.needed, symbols.needed_count);
        elf_symbols_finish(&symbols);
    }
    error_finish(&error);
    elf_close(file);
    return 0;
}

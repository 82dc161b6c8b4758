/*
 * fuzz_pack.c - reads any bytes as a pack: it is refused with its name, or read, and then written again as the same
 * bytes.
 */
#include "adl/value/memory.h"
#include "host/plugin/pack/archive.h"
#include "host/plugin/pack/pack.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth) {
    if (!truth) abort();
}

static void put(FILE *file, const char *path, const char *text, size_t length) {
    struct archive_member member = {.size = length};
    snprintf(member.path, sizeof member.path, "%s", path);
    archive_write_header(file, &member);
    fwrite(text, 1, length, file);
    archive_write_padding(file, length);
}

static int32_t begin(void *user, const char *path, uint64_t size, bool program, struct error *error) {
    struct archive_member member = {.size = size, .program = program};
    const char *why;
    (void)error;
    require(pack_path_valid(path, strlen(path), &why) && size <= PACK_FILE_MAX);
    snprintf(member.path, sizeof member.path, "%s", path);
    archive_write_header(user, &member);
    return TN_OK;
}

static int32_t add(void *user, const void *bytes, size_t length, struct error *error) {
    (void)error;
    fwrite(bytes, 1, length, user);
    return TN_OK;
}

static int32_t end(void *user, struct error *error) {
    (void)error;
    archive_write_padding(user, (uint64_t)ftello(user));
    return TN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct pack *pack = NULL;
    struct error error = ERROR_INIT;
    int32_t status = pack_open_memory("x.tenonpack", data, size, &pack, &error);
    if (status == TN_OK) {
        char *copy;
        size_t copied, length, signature_length;
        const char *text = pack_manifest_text(pack, &length), *signature = pack_signature_text(pack, &signature_length);
        FILE *file = open_memstream(&copy, &copied);
        require(file != NULL && pack_name_valid(pack_manifest(pack)->name) &&
                pack_version_valid(pack_manifest(pack)->version));
        put(file, PACK_MANIFEST, text, length);
        if (signature) put(file, PACK_SIGNATURE, signature, signature_length);
        status = pack_read_files(pack, &(struct pack_sink){begin, add, end, file}, &error);
        archive_write_end(file);
        require(fclose(file) == 0);
        if (status == TN_OK) require(copied == size && memcmp(copy, data, size) == 0);
        free(copy);
    }
    if (status != TN_OK) require(error.code != NULL && strncmp(error.message, "x.tenonpack", 11) == 0);
    error_finish(&error);
    pack_close(pack);
    return 0;
}

/*
 * pack.c - reads an archive as a pack: first the manifest, then exactly the files that it lists, each with its hash.
 *
 * The next file is always known. If another member follows, the error says why it is wrong: it is a duplicate, not
 * listed, or out of order.
 */
#include "host/plugin/pack/pack.h"
#include "adl/value/memory.h"
#include "host/plugin/pack/archive.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pack {
    char *name; /* path, or name in memory */
    FILE *file;
    struct archive_reader reader;
    struct pack_manifest manifest;
    char *text, *signature; /* signature: NULL if not signed */
    size_t text_length, signature_length;
    struct archive_member next; /* the header that was read last; its contents were not */
    bool more;                  /* `next` is valid */
    bool consumed;              /* pack_read_files was called */
};

const char *pack_file(const struct pack *pack) { return pack->name; }
int pack_descriptor(const struct pack *pack) { return fileno(pack->file); }
const struct pack_manifest *pack_manifest(const struct pack *pack) { return &pack->manifest; }
const char *pack_manifest_text(const struct pack *pack, size_t *length) {
    *length = pack->text_length;
    return pack->text;
}
const char *pack_signature_text(const struct pack *pack, size_t *length) {
    *length = pack->signature_length;
    return pack->signature;
}

void pack_close(struct pack *pack) {
    if (!pack) return;
    if (pack->file) fclose(pack->file);
    pack_manifest_finish(&pack->manifest);
    mem_free(pack->text);
    mem_free(pack->signature);
    mem_free(pack->name);
    mem_free(pack);
}

/* ---- Opening ---- */

/* Reads the contents of the next member, adds a NUL, and reads the header after it. */
static int32_t pack_read_text(struct pack *pack, uint32_t most, char **out, size_t *length, struct error *error) {
    size_t size = (size_t)pack->next.size, got;
    if (pack->next.size > most)
        return error_set(error, TN_LIMIT, "LIMIT", "%s: %s is larger than %u KiB", pack->name, pack->next.path,
                         most >> 10);
    char *text = mem_alloc(size + 1);
    text[size] = 0;
    int32_t status = archive_read(&pack->reader, text, size, &got, error);
    if (status == TN_OK) status = archive_next(&pack->reader, &pack->next, &pack->more, error);
    if (status != TN_OK) {
        mem_free(text);
        return status;
    }
    *out = text;
    *length = size;
    return TN_OK;
}

static int32_t pack_read_head(struct pack *pack, struct error *error) {
    int32_t status = archive_next(&pack->reader, &pack->next, &pack->more, error);
    if (status != TN_OK) return status;
    if (!pack->more || strcmp(pack->next.path, PACK_MANIFEST) != 0)
        return error_set(
            error, TN_INVALID, "PACK_INVALID", "%s: not a pack: expected " PACK_MANIFEST " first, found %s%s",
            pack->name, pack->more ? pack->next.path : "nothing", pack->more ? "; `tenon pack build` makes packs" : "");
    status = pack_read_text(pack, PACK_MANIFEST_MAX, &pack->text, &pack->text_length, error);
    if (status == TN_OK) status = pack_manifest_read(pack->name, pack->text, pack->text_length, &pack->manifest, error);
    if (status == TN_OK && pack->more && strcmp(pack->next.path, PACK_SIGNATURE) == 0)
        status = pack_read_text(pack, PACK_SIGNATURE_MAX, &pack->signature, &pack->signature_length, error);
    return status;
}

int32_t pack_open_file_take(const char *name, FILE *file, struct pack **out, struct error *error) {
    struct pack *pack = mem_zalloc(sizeof *pack);
    pack->name = mem_text(name);
    pack->file = file;
    archive_read_init(&pack->reader, file, pack->name);
    int32_t status = pack_read_head(pack, error);
    if (status == TN_OK)
        *out = pack;
    else
        pack_close(pack);
    return status;
}

int32_t pack_open(const char *path, struct pack **out, struct error *error) {
    struct stat status = {0};
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* does not block on a named pipe */
    if (descriptor < 0) return error_set(error, TN_NOT_FOUND, "IO", "cannot open %s: %s", path, strerror(errno));
    bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    FILE *file = regular ? fdopen(descriptor, "rb") : NULL;
    if (!file) {
        bool folder = S_ISDIR(status.st_mode);
        close(descriptor);
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s is %s", path,
                         folder ? "a folder; `tenon pack build` makes a pack of it" : "not a regular file");
    }
    return pack_open_file_take(path, file, out, error);
}

int32_t pack_open_memory(const char *name, const void *bytes, size_t length, struct pack **out, struct error *error) {
    /* The cast is safe: fmemopen with mode "r" does not write. */
    FILE *file = length ? fmemopen((void *)(uintptr_t)bytes, length, "rb") : fopen("/dev/null", "rbe");
    if (!file) return error_set(error, TN_ERROR, "IO", "%s: %s", name, strerror(errno));
    return pack_open_file_take(name, file, out, error);
}

/* ---- Files ---- */

static int32_t pack_read_file(struct pack *pack, const char *hash, const struct pack_sink *sink, struct error *error) {
    const struct archive_member *member = &pack->next;
    char chunk[65536], actual[TN_SHA256_TEXT];
    struct tn_sha256 state;
    size_t got = 1;
    if (member->program != pack_is_plugin(&pack->manifest, member->path))
        return error_set(error, TN_INVALID, "PACK_INVALID",
                         "%s: `%s` is %sexecutable; plugins must be executable, and other files must not", pack->name,
                         member->path, member->program ? "" : "not ");
    int32_t status = sink ? sink->begin(sink->user, member->path, member->size, member->program, error) : TN_OK;
    tn_sha256_init(&state);
    while (status == TN_OK) {
        status = archive_read(&pack->reader, chunk, sizeof chunk, &got, error);
        if (status != TN_OK || !got) break;
        tn_sha256_update(&state, chunk, got);
        if (sink) status = sink->data(sink->user, chunk, got, error);
    }
    if (status != TN_OK) return status;
    tn_sha256_finish_text(&state, actual);
    if (strcmp(actual, hash) != 0)
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s: `%s`: its hash is %s, but " PACK_MANIFEST " lists %s",
                         pack->name, member->path, actual, hash);
    return sink ? sink->end(sink->user, error) : TN_OK;
}

/* The next member is not the expected file: sets the error that says why. */
static int32_t pack_refuse_member(const struct pack *pack, const char *expected, struct error *error) {
    const char *actual = pack->next.path;
    if (!pack->more)
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s: `%s` is listed in " PACK_MANIFEST " and missing",
                         pack->name, expected);
    if (strcmp(actual, PACK_MANIFEST) == 0 || strcmp(actual, PACK_SIGNATURE) == 0)
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s: `%s` is in the pack twice, or not at its beginning",
                         pack->name, actual);
    if (!value_get(pack->manifest.files, actual))
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s: `%s` is in the pack, but not listed in " PACK_MANIFEST,
                         pack->name, actual);
    if (!expected || strcmp(actual, expected) < 0)
        return error_set(error, TN_INVALID, "PACK_INVALID", "%s: `%s` is in the pack twice, or out of order",
                         pack->name, actual);
    return error_set(error, TN_INVALID, "PACK_INVALID",
                     "%s: `%s` is listed in " PACK_MANIFEST " and missing, or out of order: found `%s` instead",
                     pack->name, expected, actual);
}

int32_t pack_read_files(struct pack *pack, const struct pack_sink *sink, struct error *error) {
    size_t count = value_count(pack->manifest.files);
    int32_t status = TN_OK;
    if (pack->consumed) return error_set(error, TN_ERROR, "INTERNAL", "%s: the files were already read", pack->name);
    pack->consumed = true;
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        const char *path = value_chars(value_key_at(pack->manifest.files, i), NULL);
        const char *hash = value_chars(value_value_at(pack->manifest.files, i), NULL);
        if (!pack->more || strcmp(pack->next.path, path) != 0) return pack_refuse_member(pack, path, error);
        status = pack_read_file(pack, hash, sink, error);
        if (status == TN_OK) status = archive_next(&pack->reader, &pack->next, &pack->more, error);
    }
    if (status == TN_OK && pack->more) status = pack_refuse_member(pack, NULL, error);
    return status;
}

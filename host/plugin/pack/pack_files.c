/*
 * pack_files.c - reads files in a pack's folder.
 */
#include "host/plugin/pack/pack_files.h"
#include "adl/value/memory.h"
#include "host/base/file_open.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/reserved.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pack_file_open(const char *folder, int descriptor, const char *path, uint64_t *size, struct error *error) {
    struct stat attributes;
    int file = openat(descriptor, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        error_set(error, errno == ENOENT ? TN_NOT_FOUND : TN_ERROR, "IO", "%s/%s: %s", folder, path,
                  errno == ELOOP ? "it is a symbolic link; a pack contains only regular files" : strerror(errno));
        return -1;
    }
    if (fstat(file, &attributes) != 0 || !S_ISREG(attributes.st_mode)) {
        error_set(error, TN_INVALID, "PACK_INVALID", "%s/%s is not a regular file", folder, path);
    } else if ((uint64_t)attributes.st_size > PACK_FILE_MAX) {
        error_set(error, TN_LIMIT, "LIMIT", "%s/%s is larger than %u MiB", folder, path,
                  (unsigned)(PACK_FILE_MAX >> 20));
    } else {
        *size = (uint64_t)attributes.st_size;
        return file;
    }
    close(file);
    return -1;
}

/* read() that continues after a signal. */
static ssize_t pack_read_retry(int file, void *bytes, size_t size) {
    ssize_t got;
    do got = read(file, bytes, size);
    while (got < 0 && errno == EINTR);
    return got;
}

int32_t pack_file_hash(const char *folder, int descriptor, const char *path, char hash[TN_SHA256_TEXT],
                       struct error *error) {
    uint64_t length;
    int file = pack_file_open(folder, descriptor, path, &length, error);
    if (file < 0) return TN_ERROR;
    int failure = file_hash(file, hash, NULL);
    close(file);
    if (failure) return error_set(error, TN_ERROR, "IO", "%s/%s: %s", folder, path, strerror(failure));
    return TN_OK;
}

int32_t pack_file_text(const char *folder, int descriptor, const char *path, uint32_t most, char **text, size_t *length,
                       struct error *error) {
    uint64_t size;
    int file = pack_file_open(folder, descriptor, path, &size, error);
    if (file < 0) return TN_ERROR;
    if (size > most) {
        close(file);
        return error_set(error, TN_LIMIT, "LIMIT", "%s/%s is larger than %u KiB", folder, path, most >> 10);
    }
    char *all = mem_alloc((size_t)size + 1);
    size_t done = 0;
    ssize_t got = 1;
    while (done < size && (got = pack_read_retry(file, all + done, (size_t)size - done)) > 0) done += (size_t)got;
    int failure = errno;
    close(file);
    if (got < 0) {
        mem_free(all);
        return error_set(error, TN_ERROR, "IO", "%s/%s: %s", folder, path, strerror(failure));
    }
    all[done] = 0;
    *text = all;
    *length = done;
    return TN_OK;
}

int32_t pack_check_plugins(const char *name, const char *folder, const struct pack_manifest *manifest,
                           struct error *error) {
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(manifest->plugins); i++) {
        const char *file = value_chars(value_at(manifest->plugins, i), NULL);
        tn_value path = value_format("%s/%s", folder, file), shown = value_format("%s/%s", name, file);
        struct manifest plugin;
        struct error why = ERROR_INIT;
        status = manifest_read(value_chars(path, NULL), &plugin, &why);
        if (status == TN_OK) {
            status = reserved_check(value_chars(shown, NULL), plugin.value, &why);
            manifest_finish(&plugin);
        }
        if (status != TN_OK) error_copy(error, &why);
        error_finish(&why);
        value_unref(path);
        value_unref(shown);
    }
    return status;
}

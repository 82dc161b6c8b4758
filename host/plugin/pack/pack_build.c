/*
 * pack_build.c - writes packs.
 *
 * The finished manifest and the finished archive are read back with the same code that installs packs, so that every
 * pack that is built can be installed. If a file changes while it is packed, its hash is wrong then.
 */
#include "host/plugin/pack/pack_build.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/pack/archive.h"
#include "host/plugin/pack/pack_files.h"
#include "host/plugin/registry/manifest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Replacing a file atomically ---- */

struct pack_output {
    const char *path;
    tn_value temporary;
    FILE *file;
};

static int32_t pack_output_open(struct pack_output *output, const char *path, struct error *error) {
    *output = (struct pack_output){.path = path, .temporary = value_format("%s.part-%ld", path, (long)getpid())};
    int descriptor =
        open(value_chars(output->temporary, NULL), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    output->file = descriptor >= 0 ? fdopen(descriptor, "w+b") : NULL;
    if (output->file) return TN_OK;
    value_unref(output->temporary);
    return error_set(error, TN_ERROR, "IO", "cannot write %s: %s", path, strerror(errno));
}

/* If `status` is TN_OK: flushes the file, reads it as a pack, and renames it. Otherwise removes it. */
static int32_t pack_output_close(struct pack_output *output, int32_t status, struct error *error) {
    const char *temporary = value_chars(output->temporary, NULL);
    struct pack *pack = NULL;
    if (status == TN_OK) archive_write_end(output->file);
    if (status == TN_OK && (fflush(output->file) != 0 || ferror(output->file) || fsync(fileno(output->file)) != 0))
        status = error_set(error, TN_ERROR, "IO", "cannot write %s: %s", output->path, strerror(errno));
    fclose(output->file);
    if (status == TN_OK) status = pack_open(temporary, &pack, error);
    if (status == TN_OK) status = pack_read_files(pack, NULL, error);
    pack_close(pack);
    if (status == TN_OK && rename(temporary, output->path) != 0)
        status = error_set(error, TN_ERROR, "IO", "cannot write %s: %s", output->path, strerror(errno));
    if (status != TN_OK) unlink(temporary);
    value_unref(output->temporary);
    return status;
}

static void pack_output_text(FILE *file, const char *path, const char *text, size_t length) {
    struct archive_member member = {.size = length};
    snprintf(member.path, sizeof member.path, "%s", path);
    archive_write_header(file, &member);
    fwrite(text, 1, length, file);
    archive_write_padding(file, length);
}

/* ---- The files of a folder ---- */

struct pack_file_list {
    const char *folder; /* for messages */
    char **paths;
    size_t count;
    struct error *error;
};

static int pack_compare_paths(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool pack_is_excluded(const char *prefix, const char *name) {
    size_t length = strlen(name), suffix = strlen(PACK_SUFFIX);
    if (name[0] == '.') return true;
    if (*prefix) return false;
    return strcmp(name, PACK_MANIFEST) == 0 || strcmp(name, PACK_SIGNATURE) == 0 ||
           (length > suffix && strcmp(name + length - suffix, PACK_SUFFIX) == 0);
}

static int32_t pack_list_file(struct pack_file_list *list, const char *path) {
    const char *why;
    if (!pack_path_valid(path, strlen(path), &why))
        return error_set(list->error, TN_INVALID, "PACK_INVALID", "%s: found the file `%s`: %s", list->folder, path,
                         why);
    if (list->count == PACK_FILES_MAX)
        return error_set(list->error, TN_LIMIT, "LIMIT", "%s: the folder has more than %u files", list->folder,
                         PACK_FILES_MAX);
    MEM_EXTEND(list->paths, list->count);
    list->paths[list->count++] = mem_text(path);
    return TN_OK;
}

/* Lists a folder recursively. Closes the descriptor. `prefix` is "" or ends with a slash. */
static int32_t pack_list_folder(struct pack_file_list *list, int descriptor, const char *prefix, uint32_t depth) {
    DIR *folder = fdopendir(descriptor);
    int32_t status = TN_OK;
    if (!folder) {
        close(descriptor);
        return error_set(list->error, TN_ERROR, "IO", "%s/%s: %s", list->folder, prefix, strerror(errno));
    }
    if (depth > PACK_FOLDERS_MAX)
        status = error_set(list->error, TN_LIMIT, "LIMIT", "%s/%s: folders nest deeper than %u", list->folder, prefix,
                           PACK_FOLDERS_MAX);
    for (struct dirent *item; status == TN_OK && (item = readdir(folder)) != NULL;) {
        struct stat found;
        if (pack_is_excluded(prefix, item->d_name)) continue;
        struct buffer path;
        buffer_init(&path, SIZE_MAX);
        buffer_format(&path, "%s%s", prefix, item->d_name);
        const char *name = buffer_cstr(&path);
        if (fstatat(dirfd(folder), item->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
            status = error_set(list->error, TN_ERROR, "IO", "%s/%s: %s", list->folder, name, strerror(errno));
        } else if (S_ISDIR(found.st_mode)) {
            int inner = openat(dirfd(folder), item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            buffer_char(&path, '/');
            status = inner < 0 ? error_set(list->error, TN_ERROR, "IO", "%s/%s: %s", list->folder, buffer_cstr(&path),
                                           strerror(errno))
                               : pack_list_folder(list, inner, buffer_cstr(&path), depth + 1);
        } else if (S_ISREG(found.st_mode)) {
            status = pack_list_file(list, name);
        } else {
            status =
                error_set(list->error, TN_INVALID, "PACK_INVALID", "%s/%s is %s; a pack contains only regular files",
                          list->folder, name, S_ISLNK(found.st_mode) ? "a symbolic link" : "not a regular file");
        }
        buffer_finish(&path);
    }
    closedir(folder);
    return status;
}

/* ---- The manifest ---- */

static int32_t pack_read_source(const char *folder, int descriptor, tn_value *out, struct error *error) {
    char *text;
    size_t length;
    int32_t status = pack_file_text(folder, descriptor, PACK_MANIFEST, PACK_MANIFEST_MAX, &text, &length, error);
    if (status != TN_OK) return status;
    struct error why = ERROR_INIT;
    tn_value value = NULL;
    status = json_read(text, length, NULL, &value, &why);
    if (status != TN_OK) error_set(error, status, "PACK_INVALID", "%s/" PACK_MANIFEST ": %s", folder, why.message);
    error_finish(&why);
    mem_free(text);
    if (status == TN_OK) status = pack_manifest_check_source(folder, value, error);
    if (status == TN_OK)
        *out = value;
    else
        value_unref(value);
    return status;
}

/* Sets `files`, sorted, as the last key of the manifest. */
static int32_t pack_add_hashes(const char *folder, int descriptor, const struct pack_file_list *list,
                               tn_value *manifest, struct error *error) {
    tn_value files = value_object(), key = value_text("files");
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < list->count; i++) {
        char hash[TN_SHA256_TEXT];
        status = pack_file_hash(folder, descriptor, list->paths[i], hash, error);
        if (status == TN_OK) files = value_set_take(files, list->paths[i], value_text(hash));
    }
    *manifest = value_remove_take(*manifest, value_ref(key));
    *manifest = value_set_key_take(*manifest, key, files);
    return status;
}

/* ---- The archive ---- */

static int32_t pack_copy_file(const char *folder, int descriptor, const char *path, bool program, FILE *out,
                              struct error *error) {
    struct archive_member member = {.program = program};
    char chunk[65536];
    int source = pack_file_open(folder, descriptor, path, &member.size, error);
    if (source < 0) return TN_ERROR;
    snprintf(member.path, sizeof member.path, "%s", path);
    archive_write_header(out, &member);
    int32_t status = TN_OK;
    for (uint64_t left = member.size; status == TN_OK && left > 0;) {
        ssize_t got = read(source, chunk, left < sizeof chunk ? (size_t)left : sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            status = error_set(error, TN_ERROR, "IO", "%s/%s: cannot be read, or became shorter", folder, path);
        } else {
            fwrite(chunk, 1, (size_t)got, out);
            left -= (uint64_t)got;
        }
    }
    archive_write_padding(out, member.size);
    close(source);
    return status;
}

static int32_t pack_write_archive(const char *folder, int descriptor, const struct pack_manifest *manifest,
                                  const struct buffer *text, const char *path, bool force, struct error *error) {
    struct pack_output output;
    struct stat found;
    if (!force && lstat(path, &found) == 0)
        return error_set(
            error, TN_INVALID, "PACK_REFUSED",
            "%s already exists, and a signature in it would be lost; nothing was changed; remove it, choose "
            "another name, or use --force",
            path);
    int32_t status = pack_output_open(&output, path, error);
    if (status != TN_OK) return status;
    pack_output_text(output.file, PACK_MANIFEST, text->data, text->length);
    for (size_t i = 0; status == TN_OK && i < value_count(manifest->files); i++) {
        const char *file = value_chars(value_key_at(manifest->files, i), NULL);
        status = pack_copy_file(folder, descriptor, file, pack_is_plugin(manifest, file), output.file, error);
    }
    return pack_output_close(&output, status, error);
}

int32_t pack_build(const char *folder, const char *output, bool force, char **path, struct error *error) {
    struct pack_file_list list = {.folder = folder, .error = error};
    struct pack_manifest manifest = {0};
    struct buffer text;
    tn_value source = NULL, place = NULL;
    buffer_init(&text, PACK_MANIFEST_MAX + 1);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return error_set(error, TN_NOT_FOUND, "IO", "cannot open the folder %s: %s", folder, strerror(errno));
    int32_t status = pack_read_source(folder, descriptor, &source, error);
    if (status != TN_OK) goto out;
    status = pack_list_folder(&list, openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);
    if (status != TN_OK) goto out;
    if (list.count) qsort((void *)list.paths, list.count, sizeof *list.paths, pack_compare_paths);
    status = pack_add_hashes(folder, descriptor, &list, &source, error);
    if (status != TN_OK) goto out;
    json_write(&text, source, JSON_INDENTED);
    buffer_char(&text, '\n');
    status = pack_manifest_read(folder, buffer_cstr(&text), text.length, &manifest, error);
    if (status == TN_OK) status = pack_check_plugins(folder, folder, &manifest, error);
    if (status != TN_OK) goto out;
    place = output ? value_format("%s", output) : value_format("%s-%s" PACK_SUFFIX, manifest.name, manifest.version);
    status = pack_write_archive(folder, descriptor, &manifest, &text, value_chars(place, NULL), force, error);
    if (status == TN_OK) *path = mem_text(value_chars(place, NULL));
out:
    value_unref(place);
    value_unref(source);
    pack_manifest_finish(&manifest);
    buffer_finish(&text);
    for (size_t i = 0; i < list.count; i++) mem_free(list.paths[i]);
    mem_free((void *)list.paths);
    close(descriptor);
    return status;
}

/* ---- Signing ---- */

static int32_t pack_copy_begin(void *user, const char *path, uint64_t size, bool program, struct error *error) {
    struct archive_member member = {.size = size, .program = program};
    (void)error;
    snprintf(member.path, sizeof member.path, "%s", path);
    archive_write_header(user, &member);
    return TN_OK;
}

static int32_t pack_copy_data(void *user, const void *bytes, size_t length, struct error *error) {
    (void)error;
    fwrite(bytes, 1, length, user);
    return TN_OK;
}

static int32_t pack_copy_end(void *user, struct error *error) {
    (void)error; /* everything before consists of whole blocks, so the position determines the padding */
    archive_write_padding(user, (uint64_t)ftello(user));
    return TN_OK;
}

int32_t pack_attach(const char *path, const char *signature, size_t length, struct error *error) {
    struct pack *pack;
    struct pack_output output;
    int32_t status = pack_open(path, &pack, error);
    if (status != TN_OK) return status;
    status = pack_output_open(&output, path, error);
    if (status == TN_OK) {
        size_t manifest_length;
        const char *manifest = pack_manifest_text(pack, &manifest_length);
        pack_output_text(output.file, PACK_MANIFEST, manifest, manifest_length);
        pack_output_text(output.file, PACK_SIGNATURE, signature, length);
        const struct pack_sink sink = {pack_copy_begin, pack_copy_data, pack_copy_end, output.file};
        status = pack_output_close(&output, pack_read_files(pack, &sink, error), error);
    }
    pack_close(pack);
    return status;
}

/*
 * build.c - writing packs.
 *
 * The manifest that is written is read by the readers' rules first, and the archive by the readers' code at last: what
 * is made here can be installed. A file that changes while it is packed fails there, by its hash.
 */
#include "host/pack/build.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/pack/archive.h"
#include "host/pack/files.h"
#include "host/plugin/manifest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Writing in place of another file, or not at all ---- */

struct output {
    const char *path;
    tn_value temporary;
    FILE *file;
};

static int32_t output_open(struct output *output, const char *path, struct error *error) {
    *output = (struct output){.path = path, .temporary = value_format("%s.part-%ld", path, (long)getpid())};
    int descriptor =
        open(value_chars(output->temporary, NULL), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    output->file = descriptor >= 0 ? fdopen(descriptor, "w+b") : NULL;
    if (output->file) return TN_OK;
    value_unref(output->temporary);
    return error_set(error, TN_ERROR, "IO", "cannot write %s: %s", path, strerror(errno));
}

/* Where all is well, the file is flushed, read as a pack, and takes its place. */
static int32_t output_close(struct output *output, int32_t status, struct error *error) {
    const char *temporary = value_chars(output->temporary, NULL);
    struct pack *pack = NULL;
    if (status == TN_OK) archive_put_end(output->file);
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

static void put_text(FILE *file, const char *path, const char *text, size_t length) {
    struct archive_member member = {.size = length};
    snprintf(member.path, sizeof member.path, "%s", path);
    archive_put_header(file, &member);
    fwrite(text, 1, length, file);
    archive_put_padding(file, length);
}

/* ---- What is in a folder ---- */

struct listing {
    const char *folder; /* for messages */
    char **paths;
    size_t count;
    struct error *error;
};

static int compare_paths(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool left_out(const char *prefix, const char *name) {
    size_t length = strlen(name), suffix = strlen(PACK_SUFFIX);
    if (name[0] == '.') return true;
    if (*prefix) return false;
    return strcmp(name, PACK_MANIFEST) == 0 || strcmp(name, PACK_SIGNATURE) == 0 ||
           (length > suffix && strcmp(name + length - suffix, PACK_SUFFIX) == 0);
}

static int32_t list_path(struct listing *listing, const char *path) {
    const char *why;
    if (!pack_path_valid(path, strlen(path), &why))
        return error_set(listing->error, TN_INVALID, "PACK_INVALID", "%s: found the file `%s`: %s", listing->folder,
                         path, why);
    if (listing->count == PACK_FILES_MAX)
        return error_set(listing->error, TN_LIMIT, "LIMIT", "%s: it has more than %u files", listing->folder,
                         PACK_FILES_MAX);
    size_t count = listing->count;
    if ((count & (count - 1)) == 0)
        listing->paths = mem_array((void *)listing->paths, count ? count * 2 : 1, sizeof *listing->paths);
    listing->paths[listing->count++] = mem_text(path);
    return TN_OK;
}

/* Takes the descriptor. `prefix` is "" or ends with a slash. */
static int32_t list_folder(struct listing *listing, int descriptor, const char *prefix, uint32_t depth) {
    DIR *folder = fdopendir(descriptor);
    int32_t status = TN_OK;
    if (!folder) {
        close(descriptor);
        return error_set(listing->error, TN_ERROR, "IO", "%s/%s: %s", listing->folder, prefix, strerror(errno));
    }
    if (depth > PACK_FOLDERS_MAX)
        status = error_set(listing->error, TN_LIMIT, "LIMIT", "%s/%s: folders nest deeper than %u", listing->folder,
                           prefix, PACK_FOLDERS_MAX);
    for (struct dirent *item; status == TN_OK && (item = readdir(folder)) != NULL;) {
        struct stat found;
        if (left_out(prefix, item->d_name)) continue;
        struct buffer path;
        buffer_init(&path, SIZE_MAX);
        buffer_format(&path, "%s%s", prefix, item->d_name);
        const char *name = buffer_cstr(&path);
        if (fstatat(dirfd(folder), item->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
            status = error_set(listing->error, TN_ERROR, "IO", "%s/%s: %s", listing->folder, name, strerror(errno));
        } else if (S_ISDIR(found.st_mode)) {
            int inner = openat(dirfd(folder), item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            buffer_char(&path, '/');
            status = inner < 0 ? error_set(listing->error, TN_ERROR, "IO", "%s/%s: %s", listing->folder,
                                           buffer_cstr(&path), strerror(errno))
                               : list_folder(listing, inner, buffer_cstr(&path), depth + 1);
        } else if (S_ISREG(found.st_mode)) {
            status = list_path(listing, name);
        } else {
            status = error_set(listing->error, TN_INVALID, "PACK_INVALID", "%s/%s is %s; a pack has regular files only",
                               listing->folder, name, S_ISLNK(found.st_mode) ? "a symbolic link" : "no regular file");
        }
        buffer_finish(&path);
    }
    closedir(folder);
    return status;
}

/* ---- The manifest ---- */

static int32_t read_source(const char *folder, int descriptor, tn_value *out, struct error *error) {
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

/* With `files` as its last key, in order. */
static int32_t add_files(const char *folder, int descriptor, const struct listing *listing, tn_value *manifest,
                         struct error *error) {
    tn_value files = value_object(), key = value_text("files");
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < listing->count; i++) {
        char hash[SHA256_TEXT];
        status = pack_file_hash(folder, descriptor, listing->paths[i], hash, error);
        if (status == TN_OK) files = value_set_take(files, listing->paths[i], value_text(hash));
    }
    *manifest = value_remove_take(*manifest, value_ref(key));
    *manifest = value_set_key_take(*manifest, key, files);
    return status;
}

/* A plugin that no host could read would only be found out about after it has been installed. */
static int32_t check_plugins(const char *folder, const struct pack_manifest *manifest, struct error *error) {
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(manifest->plugins); i++) {
        tn_value path = value_format("%s/%s", folder, value_chars(value_at(manifest->plugins, i), NULL));
        struct manifest plugin;
        status = manifest_read(value_chars(path, NULL), &plugin, error);
        if (status == TN_OK) manifest_finish(&plugin);
        value_unref(path);
    }
    return status;
}

/* ---- The archive ---- */

static int32_t copy_file(const char *folder, int descriptor, const char *path, bool program, FILE *out,
                         struct error *error) {
    struct archive_member member = {.program = program};
    char chunk[65536];
    int source = pack_file_open(folder, descriptor, path, &member.size, error);
    if (source < 0) return TN_ERROR;
    snprintf(member.path, sizeof member.path, "%s", path);
    archive_put_header(out, &member);
    int32_t status = TN_OK;
    for (uint64_t left = member.size; status == TN_OK && left > 0;) {
        ssize_t got = read(source, chunk, left < sizeof chunk ? (size_t)left : sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            status = error_set(error, TN_ERROR, "IO", "%s/%s: it cannot be read, or became shorter", folder, path);
        } else {
            fwrite(chunk, 1, (size_t)got, out);
            left -= (uint64_t)got;
        }
    }
    archive_put_padding(out, member.size);
    close(source);
    return status;
}

static int32_t write_archive(const char *folder, int descriptor, const struct pack_manifest *manifest,
                             const struct buffer *text, const char *path, bool force, struct error *error) {
    struct output output;
    struct stat found;
    if (!force && lstat(path, &found) == 0)
        return error_set(error, TN_INVALID, "PACK_REFUSED",
                         "%s is there already, and would lose a signature that it has: nothing was changed; remove it, "
                         "give another name, or replace it (--force)",
                         path);
    int32_t status = output_open(&output, path, error);
    if (status != TN_OK) return status;
    put_text(output.file, PACK_MANIFEST, text->data, text->length);
    for (size_t i = 0; status == TN_OK && i < value_count(manifest->files); i++) {
        const char *file = value_chars(value_key_at(manifest->files, i), NULL);
        status = copy_file(folder, descriptor, file, pack_is_plugin(manifest, file), output.file, error);
    }
    return output_close(&output, status, error);
}

int32_t pack_build(const char *folder, const char *output, bool force, char **path, struct error *error) {
    struct listing listing = {.folder = folder, .error = error};
    struct pack_manifest manifest = {0};
    struct buffer text;
    tn_value source = NULL, place = NULL;
    buffer_init(&text, PACK_MANIFEST_MAX + 1);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return error_set(error, TN_NOT_FOUND, "IO", "cannot open the folder %s: %s", folder, strerror(errno));
    int32_t status = read_source(folder, descriptor, &source, error);
    if (status != TN_OK) goto out;
    status = list_folder(&listing, openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0);
    if (status != TN_OK) goto out;
    if (listing.count) qsort((void *)listing.paths, listing.count, sizeof *listing.paths, compare_paths);
    status = add_files(folder, descriptor, &listing, &source, error);
    if (status != TN_OK) goto out;
    json_write(&text, source, JSON_INDENTED);
    buffer_char(&text, '\n');
    status = pack_manifest_read(folder, buffer_cstr(&text), text.length, &manifest, error);
    if (status == TN_OK) status = check_plugins(folder, &manifest, error);
    if (status != TN_OK) goto out;
    place = output ? value_format("%s", output) : value_format("%s-%s" PACK_SUFFIX, manifest.name, manifest.version);
    status = write_archive(folder, descriptor, &manifest, &text, value_chars(place, NULL), force, error);
    if (status == TN_OK) *path = mem_text(value_chars(place, NULL));
out:
    value_unref(place);
    value_unref(source);
    pack_manifest_finish(&manifest);
    buffer_finish(&text);
    for (size_t i = 0; i < listing.count; i++) mem_free(listing.paths[i]);
    mem_free((void *)listing.paths);
    close(descriptor);
    return status;
}

/* ---- Signing ---- */

static int32_t copy_begin(void *user, const char *path, uint64_t size, bool program, struct error *error) {
    struct archive_member member = {.size = size, .program = program};
    (void)error;
    snprintf(member.path, sizeof member.path, "%s", path);
    archive_put_header(user, &member);
    return TN_OK;
}

static int32_t copy_data(void *user, const void *bytes, size_t length, struct error *error) {
    (void)error;
    fwrite(bytes, 1, length, user);
    return TN_OK;
}

static int32_t copy_end(void *user, struct error *error) {
    (void)error; /* everything before was whole blocks: where the file ends now says what is missing to one */
    archive_put_padding(user, (uint64_t)ftello(user));
    return TN_OK;
}

int32_t pack_attach(const char *path, const char *signature, size_t length, struct error *error) {
    struct pack *pack;
    struct output output;
    int32_t status = pack_open(path, &pack, error);
    if (status != TN_OK) return status;
    status = output_open(&output, path, error);
    if (status == TN_OK) {
        size_t manifest_length;
        const char *manifest = pack_manifest_text(pack, &manifest_length);
        put_text(output.file, PACK_MANIFEST, manifest, manifest_length);
        put_text(output.file, PACK_SIGNATURE, signature, length);
        const struct pack_sink sink = {copy_begin, copy_data, copy_end, output.file};
        status = output_close(&output, pack_read_files(pack, &sink, error), error);
    }
    pack_close(pack);
    return status;
}

/*
 * check_files.c - finds the documents that `tenon check` checks.
 */
#include "host/program/check_files.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/base/files.h"
#include "host/program/command.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder_walk {
    struct check_files *files;
    const char *operand;
    size_t first;   /* the number of files before this folder */
    size_t entries; /* visited so far */
    struct error *error;
};

static void files_push(struct check_files *files, const char *path) {
    char canonical[PATH_MAX];
    MEM_GROW(files->items, files->count, files->capacity);
    bool known = strcmp(path, "-") != 0 && realpath(path, canonical);
    files->items[files->count++] = (struct check_file){mem_text(path), known ? mem_text(canonical) : NULL};
}

static bool has_document_name(const char *name) {
    static const char *const endings[] = {".yaml", ".yml", ".json"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);
        if (length > end && strcmp(name + length - end, endings[i]) == 0) return true;
    }
    return false;
}

/* A file that cannot be read is kept: the check reports why. */
static bool is_document(const char *path) {
    struct error ignored = ERROR_INIT;
    struct source *source = command_source(path, &ignored);
    bool is = !source || inner_file_resembles_document(source);
    source_unref(source);
    error_finish(&ignored);
    return is;
}

static bool walk_folder(struct folder_walk *walk, const char *folder, unsigned depth);

static bool walk_entry(struct folder_walk *walk, const char *path, const char *name, unsigned depth) {
    struct stat status;
    if (++walk->entries > CHECK_ENTRIES_MAX) {
        error_set(walk->error, TN_LIMIT, "LIMIT", "%s contains more than %u files and folders; name a folder inside it",
                  walk->operand, CHECK_ENTRIES_MAX);
        return false;
    }
    if (lstat(path, &status) != 0) return true; /* it was removed meanwhile */
    if (S_ISDIR(status.st_mode)) return walk_folder(walk, path, depth + 1);
    if (!S_ISREG(status.st_mode) || !has_document_name(name) || !is_document(path)) return true;
    if (walk->files->count - walk->first >= CHECK_FILES_MAX) {
        error_set(walk->error, TN_LIMIT, "LIMIT", "%s contains more than %u documents; name a folder inside it",
                  walk->operand, CHECK_FILES_MAX);
        return false;
    }
    files_push(walk->files, path);
    return true;
}

static bool walk_folder(struct folder_walk *walk, const char *folder, unsigned depth) {
    if (depth > CHECK_DEPTH_MAX) {
        error_set(walk->error, TN_LIMIT, "LIMIT", "%s: folders are nested more than %u deep", folder, CHECK_DEPTH_MAX);
        return false;
    }
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
    DIR *dir = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (!dir) {
        if (descriptor >= 0) close(descriptor);
        error_set(walk->error, TN_NOT_FOUND, "IO", "cannot read %s: %s", folder, strerror(errno));
        return false;
    }
    bool here = strcmp(folder, ".") == 0, good = true;
    size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";
    for (struct dirent *entry; good && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        /* `./` makes a name like `pack:x.yaml` that of a file. */
        bool plain = here && !files_is_special_name(entry->d_name);
        tn_value path = plain ? value_text(entry->d_name) : value_format("%s%s%s", folder, slash, entry->d_name);
        if (path) good = walk_entry(walk, value_chars(path, NULL), entry->d_name, depth);
        value_unref(path);
    }
    closedir(dir);
    return good;
}

static int by_path(const void *left, const void *right) {
    return strcmp(((const struct check_file *)left)->path, ((const struct check_file *)right)->path);
}

bool check_files_add(struct check_files *files, const char *operand, struct error *error) {
    struct stat status;
    if (strcmp(operand, "-") == 0 || stat(operand, &status) != 0 || !S_ISDIR(status.st_mode)) {
        files_push(files, operand);
        return true;
    }
    files->folders++;
    struct folder_walk walk = {files, operand, files->count, 0, error};
    bool good = walk_folder(&walk, operand, 0);
    size_t found = files->count - walk.first;
    if (found) qsort(files->items + walk.first, found, sizeof *files->items, by_path);
    if (good && !found) {
        error_set(error, TN_NOT_FOUND, "NOT_FOUND", "no document is below %s", operand);
        return false;
    }
    return good;
}

bool check_files_have(struct check_files *files, const char *canonical) {
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i].canonical && strcmp(files->items[i].canonical, canonical) == 0)
            return strcmp(files->items[i].path, canonical) != 0;
    return false;
}

void check_files_finish(struct check_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        mem_free(files->items[i].path);
        mem_free(files->items[i].canonical);
    }
    mem_free(files->items);
    *files = (struct check_files){0};
}

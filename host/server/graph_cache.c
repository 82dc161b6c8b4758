/*
 * graph_cache.c - notes the files of a document while it is read, and compares them later.
 */
#include "host/server/graph_cache.h"
#include "adl/document/catalog.h"
#include "adl/value/memory.h"
#include <string.h>
#include <sys/stat.h>

struct graph_file {
    char *path;
    struct stat at;
};

struct graph_files {
    struct catalog catalog;
    const struct catalog *inner;
    struct graph_file *files;
    size_t count;
    bool incomplete; /* a file is not known, so its change would not be noticed */
};

struct graph_entry {
    struct graph_entry *next;
    char *name;
    tn_value shown;
    struct graph_files *files;
};

struct graph_cache {
    struct graph_entry *first;
};

/* ---- Files ---- */

static tn_value noting_read(void *self, const struct source *from, const char *name, struct catalog_file *found,
                            struct error *error) {
    struct graph_files *files = self;
    struct graph_file file;
    tn_value text = files->inner->read(files->inner->read_self, from, name, found, error);
    if (!text || !found->path || files->count >= GRAPH_CACHE_FILES_MAX || stat(found->path, &file.at) != 0) {
        files->incomplete = true;
        return text;
    }
    file.path = mem_text(found->path);
    files->files = mem_array(files->files, files->count + 1, sizeof *files->files);
    files->files[files->count++] = file;
    return text;
}

struct graph_files *graph_files_new(const struct catalog *inner) {
    struct graph_files *files = mem_zalloc(sizeof *files);
    files->inner = inner;
    files->catalog = *inner;
    files->catalog.read = noting_read;
    files->catalog.read_self = files;
    return files;
}

const struct catalog *graph_files_catalog(const struct graph_files *files) { return &files->catalog; }

void graph_files_free(struct graph_files *files) {
    if (!files) return;
    for (size_t i = 0; i < files->count; i++) mem_free(files->files[i].path);
    mem_free(files->files);
    mem_free(files);
}

static bool time_is(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool file_is_same(const struct graph_file *file) {
    struct stat now;
    return stat(file->path, &now) == 0 && now.st_dev == file->at.st_dev && now.st_ino == file->at.st_ino &&
           now.st_size == file->at.st_size && time_is(&now.st_mtim, &file->at.st_mtim) &&
           time_is(&now.st_ctim, &file->at.st_ctim);
}

static bool files_are_settled(const struct graph_files *files, int64_t now_ms) {
    for (size_t i = 0; i < files->count; i++)
        if ((int64_t)files->files[i].at.st_ctim.tv_sec * 1000 + GRAPH_CACHE_SETTLED_MS > now_ms) return false;
    return files->count && !files->incomplete;
}

/* ---- Entries ---- */

static struct graph_entry **place_of(struct graph_cache *cache, const char *name) {
    struct graph_entry **at = &cache->first;
    while (*at && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    return at;
}

static void entry_remove(struct graph_entry **at) {
    struct graph_entry *entry = *at;
    *at = entry->next;
    value_unref(entry->shown);
    graph_files_free(entry->files);
    mem_free(entry->name);
    mem_free(entry);
}

tn_value graph_cache_find(struct graph_cache *cache, const char *name) {
    struct graph_entry **at = place_of(cache, name);
    if (!*at) return NULL;
    for (size_t i = 0; i < (*at)->files->count; i++) {
        if (file_is_same(&(*at)->files->files[i])) continue;
        entry_remove(at);
        return NULL;
    }
    return value_ref((*at)->shown);
}

void graph_cache_put_take(struct graph_cache *cache, const char *name, struct graph_files *files, tn_value shown,
                          int64_t now_ms) {
    struct graph_entry **at = place_of(cache, name);
    if (*at) entry_remove(at);
    if (!files_are_settled(files, now_ms)) {
        graph_files_free(files);
        return;
    }
    files->inner = NULL; /* it is not read through any more */
    struct graph_entry *entry = mem_alloc(sizeof *entry);
    *entry = (struct graph_entry){cache->first, mem_text(name), value_ref(shown), files};
    cache->first = entry;
}

void graph_cache_clear(struct graph_cache *cache) {
    while (cache->first) entry_remove(&cache->first);
}

struct graph_cache *graph_cache_new(void) {
    return mem_zalloc(sizeof(struct graph_cache));
}

void graph_cache_free(struct graph_cache *cache) {
    if (cache) graph_cache_clear(cache);
    mem_free(cache);
}

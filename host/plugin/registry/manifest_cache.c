/*
 * manifest_cache.c - reads and writes cache files.
 *
 * A cache file is a header, records, components and strings (the summary), and then the notes of all plugins. The
 * summary is read at once and checked: it has a hash, and each offset is compared with the sizes. Notes are read when
 * they are needed, from the descriptor that stays open; a file that has its final name never changes, and pread cannot
 * fail like a mapping can. Numbers have the byte order of the machine. A format that changes gets another number, and
 * the version of the host is part of the summary, so that each version reads only its own files.
 */
#include "host/plugin/registry/manifest_cache.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/plugin/registry/elf_note.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/preset.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tenon/util/sha256.h>
#include <time.h>
#include <unistd.h>

#define CACHE_FORMAT         2u
#define CACHE_MAGIC          "tenon-mc"
#define CACHE_NAME_LENGTH    32 /* digits of the name of a cache file: the hash of its folder */
#define CACHE_COMPONENTS_MAX 100000u
#define CACHE_STRINGS_MAX    (16u << 20)
#define TEMPORARY_AGE_S      3600 /* an unfinished file of a process that was killed is removed after that */

struct cache_header {
    char magic[8];
    uint32_t format, record_count, component_count, strings_size;
    uint64_t notes_size;
    uint64_t hash; /* of the rest of the summary */
};

#define RECORD_DYNAMIC  1u
#define RECORD_PROVIDES 2u
#define RECORD_SEPARATE 4u
#define RECORD_SECRETS  8u

struct cache_record { /* name to title are offsets of strings */
    uint64_t device, inode, size, notes_at;
    int64_t modified_s, changed_s;
    uint32_t modified_ns, changed_ns;
    uint32_t notes_size, notes_hash;
    uint32_t name, id, version, title;
    uint32_t flags, first_component, component_count, unused;
};

struct cache_component {
    uint32_t kind, id;
};

/* A plugin of the next cache file: of the one that was read, or one whose manifest was read now. */
struct cache_item {
    const struct cached_manifest *known; /* NULL if it was added */
    struct stat status;
    tn_value manifest;
    char *name, *notes;
    size_t notes_size;
};

struct manifest_cache {
    char *folder; /* of the plugins, resolved */
    char *place;
    char name[CACHE_NAME_LENGTH + 1];
    int descriptor; /* of the cache file; -1 if there is none */
    char *summary;  /* the file's, without its header; `known` points into it */
    uint64_t notes_size;
    struct cached_manifest *known; /* in order of name */
    struct cached_component *components;
    size_t known_count, next; /* known[next] is the first whose name may come */
    struct cache_item *items;
    size_t item_count, item_capacity;
    bool changed;
};

/* ---- Places ---- */

char *manifest_cache_place(void) {
    const char *choice = getenv(MANIFEST_CACHE_VARIABLE), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct buffer path;
    buffer_init(&path, PATH_MAX);
    if (choice && strcmp(choice, "off") == 0)
        (void)0;
    else if (cache && *cache == '/') /* the XDG specification ignores relative paths */
        buffer_format(&path, "%s/tenon/manifests", cache);
    else if (home && *home == '/')
        buffer_format(&path, "%s/.cache/tenon/manifests", home);
    if (path.length && !path.overflow) return buffer_detach(&path, NULL);
    buffer_finish(&path);
    return NULL;
}

static bool is_ours(const struct stat *status) {
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The folder of cache files, if only this user can change it; -1 if not, or if it does not exist. */
static int cache_open_place(const struct manifest_cache *cache) {
    struct stat status;
    int folder = open(cache->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0 && fstat(folder, &status) == 0 && is_ours(&status)) return folder;
    if (folder >= 0) (void)close(folder);
    return -1;
}

/* The same; makes the folder, and its parents as far as necessary. */
static int cache_make_place(const struct manifest_cache *cache) {
    char *path = mem_text(cache->place);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    (void)mkdir(path, 0700);
    mem_free(path);
    return cache_open_place(cache);
}

/* ---- Hashes: they find damage, not lies ---- */

static uint64_t cache_hash(const char *bytes, size_t length) {
    uint64_t hash = 14695981039346656037u ^ length, word;
    for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (; length > 0; bytes++, length--) hash = (hash ^ (unsigned char)*bytes) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* ---- Reading ---- */

static bool cache_pread(int descriptor, void *to, size_t length, uint64_t at) {
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(descriptor, (char *)to + done, length - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

static size_t summary_size(const struct cache_header *header) {
    return header->record_count * sizeof(struct cache_record) +
           header->component_count * sizeof(struct cache_component) + header->strings_size;
}

static bool header_is_usable(const struct cache_header *header, uint64_t file_size) {
    if (memcmp(header->magic, CACHE_MAGIC, sizeof header->magic) != 0 || header->format != CACHE_FORMAT) return false;
    if (header->record_count > SEARCH_FILES_MAX || header->component_count > CACHE_COMPONENTS_MAX ||
        header->strings_size > CACHE_STRINGS_MAX || header->notes_size > MANIFEST_CACHE_MAX)
        return false;
    return sizeof *header + summary_size(header) + header->notes_size == file_size;
}

/* Fills known[i] from a record. Returns false if a number is wrong. */
static bool cache_read_record(struct manifest_cache *cache, const struct cache_header *header, size_t i,
                              const struct cache_record *record, const char *strings) {
    uint32_t end = header->strings_size;
    struct cached_manifest *known = &cache->known[i];
    if (record->name >= end || record->id >= end || record->version >= end || record->title >= end ||
        record->first_component > header->component_count ||
        record->component_count > header->component_count - record->first_component ||
        record->notes_size > MANIFEST_CACHE_NOTES_MAX || record->notes_at > header->notes_size ||
        record->notes_size > header->notes_size - record->notes_at)
        return false;
    *known = (struct cached_manifest){
        .name = strings + record->name,
        .id = strings + record->id,
        .version = strings + record->version,
        .title = strings + record->title,
        .components = cache->components + record->first_component,
        .component_count = record->component_count,
        .dynamic = record->flags & RECORD_DYNAMIC,
        .provides = record->flags & RECORD_PROVIDES,
        .separate = record->flags & RECORD_SEPARATE,
        .secrets = record->flags & RECORD_SECRETS,
        .device = record->device,
        .inode = record->inode,
        .size = record->size,
        .modified = {.tv_sec = record->modified_s, .tv_nsec = record->modified_ns},
        .changed = {.tv_sec = record->changed_s, .tv_nsec = record->changed_ns},
        .notes_at = sizeof *header + summary_size(header) + record->notes_at,
        .notes_size = record->notes_size,
        .notes_hash = record->notes_hash,
    };
    return i == 0 || strcmp(cache->known[i - 1].name, known->name) < 0;
}

/* The strings begin with the version of the host and the folder. */
static bool strings_are_usable(const struct manifest_cache *cache, const char *strings, size_t size) {
    size_t version = strlen(TENON_VERSION) + 1, folder = strlen(cache->folder) + 1;
    return size >= version + folder && strings[size - 1] == 0 && memcmp(strings, TENON_VERSION, version) == 0 &&
           memcmp(strings + version, cache->folder, folder) == 0;
}

static bool cache_read_summary(struct manifest_cache *cache, const struct cache_header *header) {
    size_t size = summary_size(header);
    cache->summary = mem_alloc(size + 1);
    if (!cache_pread(cache->descriptor, cache->summary, size, sizeof *header) ||
        cache_hash(cache->summary, size) != header->hash)
        return false;
    const char *at = cache->summary;
    const char *components = at + header->record_count * sizeof(struct cache_record);
    const char *strings = components + header->component_count * sizeof(struct cache_component);
    if (!strings_are_usable(cache, strings, header->strings_size)) return false;
    cache->known = mem_array(NULL, header->record_count + 1, sizeof *cache->known);
    cache->components = mem_array(NULL, header->component_count + 1, sizeof *cache->components);
    for (uint32_t i = 0; i < header->component_count; i++) {
        struct cache_component component;
        memcpy(&component, components + i * sizeof component, sizeof component);
        if (component.kind >= header->strings_size || component.id >= header->strings_size) return false;
        cache->components[i] = (struct cached_component){strings + component.kind, strings + component.id};
    }
    for (uint32_t i = 0; i < header->record_count; i++) {
        struct cache_record record;
        memcpy(&record, at + i * sizeof record, sizeof record);
        if (!cache_read_record(cache, header, i, &record, strings)) return false;
    }
    cache->known_count = header->record_count;
    return true;
}

/* Opens the cache file. False if there is none that can be used. */
static bool cache_read_file(struct manifest_cache *cache) {
    struct cache_header header;
    struct stat status;
    int place = cache_open_place(cache);
    if (place < 0) return false;
    /* O_NONBLOCK: a named pipe must not block the start. */
    cache->descriptor = openat(place, cache->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    (void)close(place);
    return cache->descriptor >= 0 && fstat(cache->descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
           is_ours(&status) && cache_pread(cache->descriptor, &header, sizeof header, 0) &&
           header_is_usable(&header, (uint64_t)status.st_size) && cache_read_summary(cache, &header);
}

struct manifest_cache *manifest_cache_open(const char *place, const char *folder, bool refresh) {
    char resolved[PATH_MAX], hash[TN_SHA256_TEXT];
    struct tn_sha256 sha;
    if (!realpath(folder, resolved)) return NULL;
    struct manifest_cache *cache = mem_zalloc(sizeof *cache);
    tn_sha256_init(&sha);
    tn_sha256_update(&sha, resolved, strlen(resolved));
    tn_sha256_finish_text(&sha, hash);
    cache->folder = mem_text(resolved);
    cache->place = mem_text(place);
    memcpy(cache->name, hash, CACHE_NAME_LENGTH);
    cache->descriptor = -1;
    if (refresh || !cache_read_file(cache)) {
        cache->known_count = 0;
        cache->changed = true;
    }
    return cache;
}

static void cache_drop_items(struct manifest_cache *cache) {
    for (size_t i = 0; i < cache->item_count; i++) {
        value_unref(cache->items[i].manifest);
        mem_free(cache->items[i].name);
        mem_free(cache->items[i].notes);
    }
    mem_free(cache->items);
    cache->items = NULL;
    cache->item_count = cache->item_capacity = 0;
}

void manifest_cache_free(struct manifest_cache *cache) {
    if (!cache) return;
    cache_drop_items(cache);
    mem_free(cache->known);
    mem_free(cache->components);
    mem_free(cache->summary);
    if (cache->descriptor >= 0) (void)close(cache->descriptor);
    mem_free(cache->folder);
    mem_free(cache->place);
    mem_free(cache);
}

/* ---- Looking up ---- */

static bool times_equal(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

const struct cached_manifest *manifest_cache_lookup(struct manifest_cache *cache, const char *name,
                                                    const struct stat *status) {
    int order = -1;
    while (cache->next < cache->known_count && (order = strcmp(cache->known[cache->next].name, name)) < 0) {
        cache->next++;
        cache->changed = true; /* its file is not there any more */
    }
    if (cache->next == cache->known_count || order > 0) return NULL;
    const struct cached_manifest *known = &cache->known[cache->next++];
    if (known->device != (uint64_t)status->st_dev || known->inode != (uint64_t)status->st_ino ||
        known->size != (uint64_t)status->st_size || !times_equal(&known->modified, &status->st_mtim) ||
        !times_equal(&known->changed, &status->st_ctim) || !S_ISREG(status->st_mode)) {
        cache->changed = true;
        return NULL;
    }
    MEM_GROW(cache->items, cache->item_count, cache->item_capacity);
    cache->items[cache->item_count++] = (struct cache_item){.known = known};
    return known;
}

/*
 * True if a change of the file right after it was read would change its times: they count in steps, and the step of
 * that moment must have passed.
 */
static bool is_settled(const struct stat *status) {
    struct timespec now, last = status->st_ctim;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
    if (status->st_mtim.tv_sec > last.tv_sec) last = status->st_mtim;
    bool coarse = status->st_mtim.tv_nsec == 0 && status->st_ctim.tv_nsec == 0;
    int64_t age_ms = (int64_t)(now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000;
    return age_ms > (coarse ? MANIFEST_CACHE_COARSE_MS : MANIFEST_CACHE_FRESH_MS);
}

void manifest_cache_add(struct manifest_cache *cache, const char *name, const struct stat *before,
                        const struct manifest *manifest) {
    const struct stat *after = &manifest->status;
    if (!manifest->notes || manifest->notes_size > MANIFEST_CACHE_NOTES_MAX) return;
    if (before->st_dev != after->st_dev || before->st_ino != after->st_ino || before->st_size != after->st_size ||
        !times_equal(&before->st_mtim, &after->st_mtim) || !times_equal(&before->st_ctim, &after->st_ctim) ||
        !is_settled(after))
        return;
    MEM_GROW(cache->items, cache->item_count, cache->item_capacity);
    struct cache_item *item = &cache->items[cache->item_count++];
    *item = (struct cache_item){.status = *after,
                                .manifest = value_ref(manifest->value),
                                .name = mem_text(name),
                                .notes = mem_alloc(manifest->notes_size + 1),
                                .notes_size = manifest->notes_size};
    memcpy(item->notes, manifest->notes, manifest->notes_size);
    cache->changed = true;
}

/* ---- Whole manifests ---- */

/* The cached notes, to be freed with mem_free; NULL if they are damaged. */
static char *cache_read_notes(const struct manifest_cache *cache, const struct cached_manifest *known) {
    char *notes = mem_alloc(known->notes_size + 1);
    if (cache_pread(cache->descriptor, notes, known->notes_size, known->notes_at) &&
        (uint32_t)cache_hash(notes, known->notes_size) == known->notes_hash)
        return notes;
    mem_free(notes);
    return NULL;
}

static bool has_items(tn_value object, const char *member) { return value_count(value_get(object, member)) > 0; }

static bool requests_process(tn_value manifest) {
    return value_text_is(value_get(manifest_plugin(manifest), "isolation"), "process");
}

static bool names_secret(tn_value object) {
    tn_value effects = value_get(object, "effects");
    for (size_t i = 0; i < value_count(effects); i++)
        if (strncmp(value_chars(value_at(effects, i), NULL), "secret:", strlen("secret:")) == 0) return true;
    return false;
}

static bool manifest_names_secret(tn_value manifest) {
    tn_value components = manifest_components(manifest);
    bool found = names_secret(manifest_plugin(manifest));
    for (size_t i = 0; !found && i < value_count(components); i++) found = names_secret(value_at(components, i));
    return found;
}

/* The flags of a record. */
static uint32_t manifest_flags(tn_value manifest) {
    tn_value plugin = manifest_plugin(manifest);
    return (has_items(plugin, "dynamic") ? RECORD_DYNAMIC : 0) | (has_items(plugin, "provides") ? RECORD_PROVIDES : 0) |
           (requests_process(manifest) ? RECORD_SEPARATE : 0) | (manifest_names_secret(manifest) ? RECORD_SECRETS : 0);
}

static uint32_t known_flags(const struct cached_manifest *known) {
    return (known->dynamic ? RECORD_DYNAMIC : 0) | (known->provides ? RECORD_PROVIDES : 0) |
           (known->separate ? RECORD_SEPARATE : 0) | (known->secrets ? RECORD_SECRETS : 0);
}

bool manifest_cache_agrees(const struct cached_manifest *known, tn_value manifest) {
    tn_value plugin = manifest_plugin(manifest);
    bool same = strcmp(manifest_text(plugin, "id"), known->id) == 0 &&
                strcmp(manifest_text(plugin, "version"), known->version) == 0 &&
                strcmp(manifest_text(plugin, "title"), known->title) == 0 &&
                manifest_flags(manifest) == known_flags(known) &&
                manifest_entry_count(manifest) == known->component_count;
    for (size_t i = 0; same && i < known->component_count; i++) {
        const char *kind, *id;
        manifest_entry_names(manifest, i, &kind, &id);
        same = strcmp(kind, known->components[i].kind) == 0 && strcmp(id, known->components[i].id) == 0;
    }
    return same;
}

int32_t manifest_cache_read(const struct manifest_cache *cache, const struct cached_manifest *known, const char *path,
                            tn_value *out, struct error *error) {
    char *notes = cache_read_notes(cache, known);
    tn_value manifest = NULL;
    int32_t status = TN_INVALID;
    if (notes) status = manifest_of_notes(path, notes, known->notes_size, &manifest, error);
    mem_free(notes);
    if (status == TN_OK && manifest_cache_agrees(known, manifest)) {
        *out = manifest;
        return TN_OK;
    }
    value_unref(manifest);
    return error_set(error, TN_INVALID, "MANIFEST_INVALID", "%s: the cached manifest is damaged: %s/%s", path,
                     cache->place, cache->name);
}

bool manifest_cache_matches(const struct manifest_cache *cache, const struct cached_manifest *known,
                            const struct elf_file *file) {
    char *cached = cache_read_notes(cache, known);
    struct buffer notes;
    buffer_init(&notes, MANIFEST_CACHE_NOTES_MAX);
    manifest_pack_notes(&notes, file);
    bool same = cached && !notes.overflow && notes.length == known->notes_size &&
                memcmp(buffer_cstr(&notes), cached, notes.length) == 0;
    buffer_finish(&notes);
    mem_free(cached);
    return same;
}

/* ---- Writing ---- */

struct cache_writer {
    struct buffer records, components, strings, notes;
};

static uint32_t writer_string(struct cache_writer *writer, const char *text) {
    uint32_t at = (uint32_t)writer->strings.length;
    buffer_append(&writer->strings, text, strlen(text) + 1);
    return at;
}

static uint32_t writer_component(struct cache_writer *writer, const char *kind, const char *id) {
    struct cache_component component = {writer_string(writer, kind), writer_string(writer, id)};
    buffer_append(&writer->components, &component, sizeof component);
    return 1;
}

/* Fills what is the same for both kinds of items, and appends the notes. */
static void writer_append(struct cache_writer *writer, struct cache_record *record, const char *notes, size_t size) {
    record->notes_at = writer->notes.length;
    record->notes_size = (uint32_t)size;
    record->notes_hash = (uint32_t)cache_hash(notes, size);
    buffer_append(&writer->notes, notes, size);
    buffer_append(&writer->records, record, sizeof *record);
}

/* An item of the file that was read. It is left out if its notes are damaged. */
static void writer_keep(struct cache_writer *writer, const struct manifest_cache *cache,
                        const struct cached_manifest *known) {
    char *notes = cache_read_notes(cache, known);
    if (!notes) return;
    struct cache_record record = {.device = known->device,
                                  .inode = known->inode,
                                  .size = known->size,
                                  .modified_s = known->modified.tv_sec,
                                  .modified_ns = (uint32_t)known->modified.tv_nsec,
                                  .changed_s = known->changed.tv_sec,
                                  .changed_ns = (uint32_t)known->changed.tv_nsec,
                                  .flags = known_flags(known)};
    record.name = writer_string(writer, known->name);
    record.id = writer_string(writer, known->id);
    record.version = writer_string(writer, known->version);
    record.title = writer_string(writer, known->title);
    record.first_component = (uint32_t)(writer->components.length / sizeof(struct cache_component));
    for (size_t i = 0; i < known->component_count; i++)
        record.component_count += writer_component(writer, known->components[i].kind, known->components[i].id);
    writer_append(writer, &record, notes, known->notes_size);
    mem_free(notes);
}

static void writer_add(struct cache_writer *writer, const struct cache_item *item) {
    tn_value plugin = manifest_plugin(item->manifest);
    size_t count = manifest_entry_count(item->manifest);
    struct cache_record record = {.device = (uint64_t)item->status.st_dev,
                                  .inode = (uint64_t)item->status.st_ino,
                                  .size = (uint64_t)item->status.st_size,
                                  .modified_s = item->status.st_mtim.tv_sec,
                                  .modified_ns = (uint32_t)item->status.st_mtim.tv_nsec,
                                  .changed_s = item->status.st_ctim.tv_sec,
                                  .changed_ns = (uint32_t)item->status.st_ctim.tv_nsec,
                                  .flags = manifest_flags(item->manifest)};
    record.name = writer_string(writer, item->name);
    record.id = writer_string(writer, manifest_text(plugin, "id"));
    record.version = writer_string(writer, manifest_text(plugin, "version"));
    record.title = writer_string(writer, manifest_text(plugin, "title"));
    record.first_component = (uint32_t)(writer->components.length / sizeof(struct cache_component));
    for (size_t i = 0; i < count; i++) {
        const char *kind, *id;
        manifest_entry_names(item->manifest, i, &kind, &id);
        record.component_count += writer_component(writer, kind, id);
    }
    writer_append(writer, &record, item->notes, item->notes_size);
}

static bool cache_write(int descriptor, const void *bytes, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(descriptor, (const char *)bytes + done, length - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        done += (size_t)wrote;
    }
    return true;
}

/* Writes the parts to a file of another name, and renames it. Not synced: the hash finds what a power loss leaves. */
static bool cache_write_file(const struct manifest_cache *cache, int place, const struct cache_header *header,
                             const struct buffer *summary, const struct buffer *notes) {
    char name[64];
    snprintf(name, sizeof name, "%s.%ld.tmp", cache->name, (long)getpid());
    (void)unlinkat(place, name, 0);
    int file = openat(place, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return false;
    bool written = cache_write(file, header, sizeof *header) && cache_write(file, summary->data, summary->length) &&
                   cache_write(file, notes->data, notes->length);
    written = close(file) == 0 && written && renameat(place, name, place, cache->name) == 0;
    int failure = errno;
    if (!written) (void)unlinkat(place, name, 0);
    errno = failure;
    return written;
}

struct old_file {
    char name[64];
    time_t used;
};

static int compare_ages(const void *a, const void *b) {
    const struct old_file *left = a, *right = b;
    return (left->used > right->used) - (left->used < right->used);
}

/* Keeps the number of cache files bounded: removes the oldest half, and what killed processes have left behind. */
static void cache_remove_old(int place) {
    int again = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again >= 0 ? fdopendir(again) : NULL;
    struct old_file *files = NULL;
    size_t count = 0, capacity = 0;
    struct stat status;
    if (!folder && again >= 0) (void)close(again);
    if (!folder) return;
    for (const struct dirent *item; count < 16u * MANIFEST_CACHE_FOLDERS && (item = readdir(folder));) {
        size_t length = strlen(item->d_name);
        if (item->d_name[0] == '.' || length >= sizeof files->name ||
            fstatat(place, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        bool temporary = length > 4 && strcmp(item->d_name + length - 4, ".tmp") == 0;
        if (temporary && status.st_mtim.tv_sec + TEMPORARY_AGE_S < time(NULL)) (void)unlinkat(place, item->d_name, 0);
        if (length != CACHE_NAME_LENGTH) continue;
        MEM_GROW(files, count, capacity);
        memcpy(files[count].name, item->d_name, length + 1);
        files[count++].used = status.st_mtim.tv_sec;
    }
    if (count > MANIFEST_CACHE_FOLDERS) {
        qsort(files, count, sizeof *files, compare_ages);
        for (size_t i = 0; i < count - MANIFEST_CACHE_FOLDERS / 2; i++) (void)unlinkat(place, files[i].name, 0);
    }
    mem_free(files);
    closedir(folder);
}

/* Writes the items. */
static void cache_write_items(const struct manifest_cache *cache) {
    struct cache_writer writer;
    struct cache_header header = {.format = CACHE_FORMAT};
    buffer_init(&writer.records, MANIFEST_CACHE_MAX);
    buffer_init(&writer.components, CACHE_COMPONENTS_MAX * sizeof(struct cache_component));
    buffer_init(&writer.strings, CACHE_STRINGS_MAX);
    buffer_init(&writer.notes, MANIFEST_CACHE_MAX);
    (void)writer_string(&writer, TENON_VERSION);
    (void)writer_string(&writer, cache->folder);
    for (size_t i = 0; i < cache->item_count; i++) {
        if (cache->items[i].known)
            writer_keep(&writer, cache, cache->items[i].known);
        else
            writer_add(&writer, &cache->items[i]);
    }
    memcpy(header.magic, CACHE_MAGIC, sizeof header.magic);
    header.record_count = (uint32_t)(writer.records.length / sizeof(struct cache_record));
    header.component_count = (uint32_t)(writer.components.length / sizeof(struct cache_component));
    header.strings_size = (uint32_t)writer.strings.length;
    header.notes_size = writer.notes.length;
    bool fits =
        !writer.records.overflow && !writer.components.overflow && !writer.strings.overflow && !writer.notes.overflow;
    buffer_append(&writer.records, buffer_cstr(&writer.components), writer.components.length);
    buffer_append(&writer.records, buffer_cstr(&writer.strings), writer.strings.length);
    header.hash = cache_hash(buffer_cstr(&writer.records), writer.records.length);
    int place = fits ? cache_make_place(cache) : -1;
    if (place < 0 || !cache_write_file(cache, place, &header, &writer.records, &writer.notes))
        log_write(LOG_DEBUG, NULL, "the manifests of %s are not cached in %s: %s", cache->folder, cache->place,
                  fits ? strerror(errno) : "there are too many");
    else
        cache_remove_old(place);
    if (place >= 0) (void)close(place);
    buffer_finish(&writer.records);
    buffer_finish(&writer.components);
    buffer_finish(&writer.strings);
    buffer_finish(&writer.notes);
}

void manifest_cache_save(struct manifest_cache *cache) {
    if (cache->next < cache->known_count) cache->changed = true; /* the rest is not there any more */
    if (cache->changed && cache->item_count + cache->known_count > 0) cache_write_items(cache);
    cache->changed = false;
    cache_drop_items(cache);
}

void manifest_cache_discard(struct manifest_cache *cache) {
    int place = cache_open_place(cache);
    if (place < 0) return;
    (void)unlinkat(place, cache->name, 0);
    (void)close(place);
}

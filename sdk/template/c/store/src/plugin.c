/*
 * plugin.c - the plugin @ID@: a store in one file.
 *
 * All records are in memory, in a map of the SDK, and in one file of JSON. A commit writes the whole file again and
 * renames it, so it is done completely or not at all, even if the machine fails. That suits some thousand records; a
 * store for more appends its changes to a log, or uses a database. A lock excludes other processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tenon/store/backend.h>
#include <tenon/store/map.h>
#include <tenon/util/text.h>
#include <unistd.h>

TN_PLUGIN("@ID@", "0.1.0", "What the plugin is for, in one line")
TN_NOTE("{\"plugin\": {\"licence\": \"MIT\"}}")

struct tn_store {
    struct tn_store_map map;
    char path[PATH_MAX];
    int lock;
    struct stat seen; /* of the file whose records are in the map */
};

/* ---- Files ---- */

static tn_value file_failure(const tn_store *store, const char *what) {
    const char *code = errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? "STORE_FULL"
                       : errno == EROFS || errno == EACCES                  ? "STORE_READ_ONLY"
                                                                            : "STORE_ERROR";
    return tn_store_failure(code, "%s: cannot %s: %s", store->path, what, strerror(errno));
}

/* Opens the file, or one beside it. */
static int open_file(const tn_store *store, const char *suffix, int flags) {
    char path[PATH_MAX + 8];
    (void)snprintf(path, sizeof(path), "%s%s", store->path, suffix);
    return open(path, flags | O_CLOEXEC, 0600);
}

static bool write_all(int file, const char *text, uint64_t length) {
    for (ssize_t written; length > 0; text += written, length -= (uint64_t)written)
        if ((written = write(file, text, length)) < 0) return false;
    return fsync(file) == 0;
}

/* Replaces the file. The directory is synchronised too, so that the new name is durable. */
static tn_value replace_file(const tn_store *store, const char *text, uint64_t length) {
    char made[PATH_MAX + 8], folder[PATH_MAX];
    int file = open_file(store, ".new", O_WRONLY | O_CREAT | O_TRUNC);
    if (file < 0) return file_failure(store, "create the new file");
    bool good = write_all(file, text, length);
    tn_value why = good ? NULL : file_failure(store, "write");
    (void)close(file);
    if (why != NULL) return why;
    (void)snprintf(made, sizeof(made), "%s.new", store->path);
    if (rename(made, store->path) != 0) return file_failure(store, "rename the new file");
    (void)snprintf(folder, sizeof(folder), "%s", store->path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) *slash = '\0';
    file = open(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    good = file >= 0 && fsync(file) == 0;
    if (file >= 0) (void)close(file);
    return good ? NULL : file_failure(store, "synchronise its folder");
}

/* ---- Records as JSON ---- */

static void put_entry(tn_builder *builder, struct tn_store_text collection, const struct tn_store_entry *entry) {
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, "collection", tn_text_n(collection.data, collection.length));
    tn_put_take(builder, "key", tn_text_n(entry->key.data, entry->key.length));
    tn_put_int(builder, "version", entry->version);
    tn_put(builder, "value", entry->value);
    tn_put_int(builder, "size", (int64_t)entry->size);
    if (entry->words.data != NULL) tn_put_take(builder, "words", tn_text_n(entry->words.data, entry->words.length));
    tn_put_begin(builder, "vector", TN_ARRAY);
    for (uint64_t i = 0; i < entry->vector_count; i++) tn_put_num(builder, NULL, (double)entry->vector[i]);
    tn.value->end(builder);
    tn_put_int(builder, "expires_at", entry->expires_at);
    tn.value->end(builder);
}

static tn_value save(tn_store *store) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (const struct tn_store_collection *at = store->map.collections; at != NULL; at = at->next)
        for (uint64_t i = 0; i < at->count; i++) put_entry(builder, at->name, at->entries[i]);
    tn.value->end(builder);
    tn_value all = tn_finish(builder), json = all != NULL ? tn_to_json(all) : NULL;
    struct tn_store_text text = tn_store_text_of(json);
    tn_value why = text.data != NULL ? replace_file(store, text.data, text.length) : tn_store_failure_memory();
    if (why == NULL) (void)stat(store->path, &store->seen);
    tn_release(json);
    tn_release(all);
    return why;
}

static tn_value load_entry(struct tn_store_map *map, struct tn_arena *arena, tn_value saved) {
    struct tn_store_text name = tn_store_text_of(tn_get(saved, "collection"));
    tn_value numbers = tn_get(saved, "vector");
    uint64_t count = tn.value->count(numbers);
    float *vector = tn_arena_alloc(arena, (count + 1) * sizeof(*vector));
    if (vector == NULL) return tn_store_failure_memory();
    for (uint64_t i = 0; i < count; i++) {
        double number = 0;
        (void)tn.value->as_double(tn.value->at(numbers, i), &number);
        vector[i] = (float)number;
    }
    struct tn_store_entry made = {.key = tn_store_text_of(tn_get(saved, "key")),
                                  .version = tn_get_int(saved, "version", 0),
                                  .value = tn_get(saved, "value"),
                                  .size = (uint64_t)tn_get_int(saved, "size", 0),
                                  .words = tn_store_text_of(tn_get(saved, "words")),
                                  .vector = vector,
                                  .vector_count = count,
                                  .expires_at = tn_get_int(saved, "expires_at", INT64_MAX)};
    if (name.data == NULL || made.key.data == NULL || made.version < 1 || made.value == NULL)
        return tn_store_failure("STORE_CORRUPT", "the file has a record that this store has not written");
    struct tn_store_entry *entry = tn_store_map_entry_new(&made);
    bool put = entry != NULL && tn_store_map_put_take(map, tn_store_map_collection(map, name), entry);
    return put ? NULL : tn_store_failure_memory();
}

static tn_value load_text(tn_store *store, const char *json, uint64_t length) {
    struct tn_arena arena = TN_ARENA;
    tn_value all = tn_from_json(json, length);
    tn_value why = tn.value->kind(all) == TN_ARRAY
                       ? NULL
                       : tn_store_failure("STORE_CORRUPT", "%s does not hold an array of records", store->path);
    tn_store_map_finish(&store->map);
    for (uint64_t i = 0; why == NULL && i < tn.value->count(all); i++)
        why = load_entry(&store->map, &arena, tn.value->at(all, i));
    tn_store_map_commit(&store->map);
    tn_arena_free(&arena);
    tn_release(all);
    return why;
}

/* Reads the file, if another process has written it. */
static tn_value load(tn_store *store) {
    struct stat now;
    struct tn_text_buffer text = TN_TEXT_BUFFER(0);
    char piece[65536];
    ssize_t length = 0;
    if (stat(store->path, &now) != 0) return errno == ENOENT ? NULL : file_failure(store, "read");
    if (now.st_ino == store->seen.st_ino && now.st_mtim.tv_sec == store->seen.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == store->seen.st_mtim.tv_nsec)
        return NULL;
    int file = open_file(store, "", O_RDONLY);
    while (file >= 0 && (length = read(file, piece, sizeof(piece))) > 0)
        (void)tn_text_append_n(&text, piece, (uint64_t)length);
    tn_value why = file < 0 || length < 0        ? file_failure(store, "read")
                   : text.status == TN_NO_MEMORY ? tn_store_failure_memory()
                                                 : load_text(store, tn_text_chars(&text), text.length);
    if (file >= 0) (void)close(file);
    tn_text_free(&text);
    if (why == NULL) store->seen = now;
    return why;
}

/* ---- The functions of a backend ---- */

static tn_value lock_and_load(tn_store *store) {
    if (flock(store->lock, LOCK_EX) != 0) return file_failure(store, "lock");
    tn_value why = load(store);
    if (why != NULL) (void)flock(store->lock, LOCK_UN);
    return why;
}

static void unlock(tn_store *store) { (void)flock(store->lock, LOCK_UN); }

static tn_value backend_begin(tn_store *store) { return lock_and_load(store); }

static void backend_rollback(tn_store *store) {
    tn_store_map_rollback(&store->map);
    unlock(store);
}

static tn_value backend_commit(tn_store *store) {
    tn_value why = store->map.undo_count > 0 ? save(store) : NULL;
    if (why != NULL) return why; /* backend_rollback follows */
    tn_store_map_commit(&store->map);
    unlock(store);
    return NULL;
}

static tn_value backend_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                             bool want_value, struct tn_store_record *out) {
    return tn_store_map_read(&store->map, collection, key, now, want_value, out);
}

static tn_value backend_write(tn_store *store, const struct tn_store_change *change, int64_t now) {
    return tn_store_map_write(&store->map, change, now);
}

static tn_value backend_remove(tn_store *store, struct tn_store_text collection, struct tn_store_text key) {
    return tn_store_map_delete(&store->map, collection, key);
}

static tn_value backend_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                                     int64_t *count) {
    return tn_store_map_delete_range(&store->map, selection, now, count);
}

static tn_value backend_list(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                             struct tn_store_page *page) {
    return tn_store_map_list(&store->map, selection, now, page);
}

static tn_value backend_count(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                              int64_t *count) {
    return tn_store_map_count(&store->map, selection, now, count);
}

static tn_value backend_search(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                               struct tn_store_page *page) {
    return tn_store_map_search(&store->map, selection, now, page);
}

static tn_value backend_collections(tn_store *store, int64_t now, struct tn_store_page *page) {
    return tn_store_map_collections(&store->map, now, page);
}

static const struct tn_store_backend backend = {backend_begin, backend_commit, backend_rollback,     backend_find,
                                                backend_write, backend_remove, backend_remove_range, backend_list,
                                                backend_count, backend_search, backend_collections,  .format = NULL};

/* ---- The interface ---- */

static void TN_ABI store_close(tn_store *store) {
    if (store == NULL) return;
    if (store->lock >= 0) (void)close(store->lock);
    tn_store_map_finish(&store->map);
    tn_store_free(store);
}

static tn_value open_path(tn_store *store, tn_value options) {
    static const char *const own[] = {NULL}; /* names of further options */
    struct tn_store_text path;
    tn_value why = tn_store_read_options(options, "@ID@", own, &path);
    if (why != NULL) return why;
    if (path.length >= sizeof(store->path)) return tn_store_failure("INVALID", "the path is too long");
    memcpy(store->path, path.data, path.length);
    store->lock = open_file(store, ".lock", O_RDWR | O_CREAT);
    if (store->lock < 0) return file_failure(store, "open the file of its lock");
    why = lock_and_load(store); /* reports a damaged file now */
    if (why == NULL) unlock(store);
    return why;
}

static int32_t TN_ABI store_open(void *self, tn_value options, tn_store **out, tn_value *error) {
    tn_store *store = tn_store_alloc(sizeof(*store));
    (void)self;
    if (store == NULL) return tn_store_fail_take(tn_store_failure_memory(), error);
    store->lock = -1;
    tn_value why = open_path(store, options);
    if (why == NULL)
        *out = store;
    else
        store_close(store);
    return tn_store_fail_take(why, error);
}

static int32_t TN_ABI store_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    return tn_store_backend_commit(&backend, store, batch, result, error);
}

static int32_t TN_ABI store_query(tn_store *store, tn_value query, tn_value *result, tn_value *error) {
    tn_value why = lock_and_load(store);
    if (why != NULL) return tn_store_fail_take(why, error);
    int32_t status = tn_store_backend_query(&backend, store, query, result, error);
    unlock(store);
    return status;
}

static int32_t TN_ABI store_maintain(tn_store *store, tn_value *result, tn_value *error) {
    int64_t removed = 0, bytes = 0;
    tn_value why = lock_and_load(store);
    if (why != NULL) return tn_store_fail_take(why, error);
    why = tn_store_map_remove_expired(&store->map, tn.core->wall_ms(tn.host), &removed, &bytes);
    if (why == NULL && removed > 0) why = save(store);
    if (why == NULL)
        tn_store_map_commit(&store->map);
    else
        tn_store_map_rollback(&store->map);
    unlock(store);
    return why != NULL ? tn_store_fail_take(why, error) : tn_store_make_maintained(removed, bytes, result);
}

static const tn_store_draft store_functions = {
    sizeof(store_functions), store_open, store_close, store_commit, store_query, store_maintain, .watch = NULL};
TN_PROVIDES(store, TN_STORE_DRAFT, &store_functions)

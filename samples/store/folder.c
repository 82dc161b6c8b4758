/*
 * folder.c - the plugin `acme.folder`: a store in a folder that people can read.
 *
 * All records are in memory, in a map of the SDK; what was committed is in a log (log.h). Before each request, the
 * store reads what other processes have appended since the last one. A commit changes the map, appends the changes as
 * one line, and undoes them if that fails. So the memory that a store needs grows with its records, and opening it
 * takes as long as reading the log, which `maintain` keeps short.
 */
#include "lines.h"
#include "log.h"
#include <tenon/util/text.h>

#define BUSY_MS      5000
#define BUSY_MS_MAX  600000
#define COMPACT_OVER 65536   /* bytes of a log that is not replaced */
#define LINE_BYTES   1048576 /* of a line of a new log, about */

TN_PLUGIN("acme.folder", "1.0.0", "A store in a folder that people can read")
TN_NOTE(
    "{\"plugin\": {\"licence\": \"MIT\", \"description\": \"Keeps records in memory and their changes in the file "
    "`log` "
    "of a folder, as lines of JSON. Several processes of one machine may use it. Options: `path`; `sync` (full: "
    "a commit is on the disk when it returns, the default; off: the system writes it later); `busy_ms`, how long to "
    "wait for another process.\"}}")

struct tn_store {
    struct log log;
    struct tn_store_map map;
};

/* ---- Opening ---- */

static void TN_ABI folder_close(tn_store *store) {
    if (store == NULL) return;
    log_close(&store->log);
    tn_store_map_finish(&store->map);
    tn_store_free(store);
}

static tn_value read_options(tn_store *store, tn_value options, struct tn_store_text *path) {
    static const char *const own[] = {"sync", "busy_ms", NULL}, *const modes[] = {"full", "off", NULL};
    const char *sync = modes[0];
    store->log.busy_ms = BUSY_MS;
    store->log.lock = store->log.file = -1;
    tn_value why = tn_store_read_options(options, "acme.folder", own, path);
    if (why == NULL) why = tn_store_read_choice(options, "acme.folder", "sync", modes, &sync);
    if (why == NULL) why = tn_store_read_number(options, "acme.folder", "busy_ms", 0, BUSY_MS_MAX, &store->log.busy_ms);
    store->log.sync = sync == modes[0];
    return why;
}

static tn_value make_first_line(struct tn_text_buffer *out) {
    tn_value header = lines_make_header(), json = header != NULL ? tn_to_json(header) : NULL;
    struct tn_store_text text = tn_store_text_of(json);
    if (text.data != NULL) log_make_line(out, text.data, text.length);
    tn_release(json);
    tn_release(header);
    return text.data != NULL && out->status == TN_OK ? NULL : tn_store_failure_memory();
}

/* ---- A log of the records that exist ---- */

/* Appends the changes that the builder has to the text, as a line. Frees the builder. */
static void add_line(struct tn_text_buffer *out, tn_builder *builder) {
    tn.value->end(builder);
    tn_value changes = tn_finish(builder), json = changes != NULL ? tn_to_json(changes) : NULL;
    struct tn_store_text text = tn_store_text_of(json);
    if (text.data != NULL)
        log_make_line(out, text.data, text.length);
    else
        out->status = TN_NO_MEMORY;
    tn_release(json);
    tn_release(changes);
}

static void add_collection(struct tn_text_buffer *out, const struct tn_store_collection *collection) {
    for (uint64_t i = 0, bytes = 0; i < collection->count; bytes = 0) {
        tn_builder *builder = tn_builder_new();
        tn.value->begin(builder, TN_ARRAY);
        for (; i < collection->count && bytes < LINE_BYTES; i++) {
            lines_put_change(builder, collection->name, collection->entries[i]->key, collection->entries[i]);
            bytes += collection->entries[i]->size;
        }
        add_line(out, builder);
    }
}

static void add_all(struct tn_text_buffer *out, const tn_store *store) {
    tn_text_append_n(out, store->log.first.bytes, store->log.first.length);
    for (const struct tn_store_collection *at = store->map.collections; at != NULL; at = at->next)
        add_collection(out, at);
}

static tn_value compact(tn_store *store) {
    struct tn_text_buffer lines = TN_TEXT_BUFFER(0);
    add_all(&lines, store);
    tn_value why = lines.status == TN_OK ? log_replace(&store->log, tn_text_chars(&lines), lines.length)
                                         : tn_store_failure_memory();
    tn_text_free(&lines);
    return why;
}

/* A commit has failed with `full`. Its changes are in the map: a shorter log of the map saves them too. */
static tn_value compact_full_take(tn_store *store, tn_value full) {
    struct tn_text_buffer lines = TN_TEXT_BUFFER(0);
    add_all(&lines, store);
    bool is_shorter = lines.status == TN_OK && lines.length < (uint64_t)store->log.known;
    tn_value why = is_shorter ? log_replace(&store->log, tn_text_chars(&lines), lines.length) : tn_retain(full);
    tn_text_free(&lines);
    tn_release(why == NULL ? full : why);
    return why == NULL ? NULL : full;
}

/* ---- Requests: everything happens under the lock ---- */

static tn_value apply_line(void *user, const char *json, uint64_t length) {
    tn_store *store = user;
    if (json != NULL) return lines_apply(&store->map, json, length);
    tn_store_map_finish(&store->map);
    return NULL;
}

static tn_value lock_and_read(tn_store *store, int mode) {
    tn_value why = log_lock(&store->log, mode);
    if (why != NULL) return why;
    why = log_read(&store->log, apply_line, store);
    if (why != NULL) log_unlock(&store->log);
    return why;
}

static int32_t TN_ABI folder_open(void *self, tn_value options, tn_store **out, tn_value *error) {
    struct tn_store_text path;
    tn_store *store = tn_store_alloc(sizeof(*store));
    (void)self;
    if (store == NULL) return tn_store_fail_take(tn_store_failure_memory(), error);
    tn_value why = read_options(store, options, &path);
    if (why == NULL) why = make_first_line(&store->log.first);
    if (why == NULL) why = log_open(&store->log, path.data, path.length);
    if (why == NULL) why = lock_and_read(store, LOCK_SH); /* reports a damaged log now */
    if (why == NULL) {
        log_unlock(&store->log);
        *out = store;
    } else {
        folder_close(store);
    }
    return tn_store_fail_take(why, error);
}

/* Appends what the builder has made, if it is a value. */
static tn_value append_value_take(struct log *log, tn_value value) {
    tn_value json = value != NULL ? tn_to_json(value) : NULL;
    struct tn_store_text text = tn_store_text_of(json);
    tn_value why = text.data != NULL ? log_append(log, text.data, text.length) : tn_store_failure_memory();
    tn_release(json);
    tn_release(value);
    return why;
}

static tn_value folder_begin(tn_store *store) { return lock_and_read(store, LOCK_EX); }

static void folder_rollback(tn_store *store) {
    tn_store_map_rollback(&store->map);
    log_unlock(&store->log);
}

static tn_value folder_commit_changes(tn_store *store) {
    const struct tn_store_undo *undo = store->map.undo_log;
    tn_value why = store->log.known == 0 ? append_value_take(&store->log, lines_make_header()) : NULL;
    if (why == NULL && store->map.undo_count > 0) {
        tn_builder *builder = tn_builder_new();
        tn.value->begin(builder, TN_ARRAY);
        for (uint64_t i = 0; i < store->map.undo_count; i++, undo++)
            lines_put_change(builder, undo->collection->name, (undo->after != NULL ? undo->after : undo->before)->key,
                             undo->after);
        tn.value->end(builder);
        why = append_value_take(&store->log, tn_finish(builder));
    }
    if (why != NULL && strcmp(tn_get_text(why, "code", ""), "STORE_FULL") == 0) why = compact_full_take(store, why);
    if (why != NULL) return why; /* folder_rollback follows */
    tn_store_map_commit(&store->map);
    log_unlock(&store->log);
    return NULL;
}

static tn_value folder_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                            bool want_value, struct tn_store_record *out) {
    return tn_store_map_read(&store->map, collection, key, now, want_value, out);
}

static tn_value folder_write(tn_store *store, const struct tn_store_change *change, int64_t now) {
    return tn_store_map_write(&store->map, change, now);
}

static tn_value folder_remove(tn_store *store, struct tn_store_text collection, struct tn_store_text key) {
    return tn_store_map_delete(&store->map, collection, key);
}

static tn_value folder_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                                    int64_t *count) {
    return tn_store_map_delete_range(&store->map, selection, now, count);
}

static tn_value folder_list(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                            struct tn_store_page *page) {
    return tn_store_map_list(&store->map, selection, now, page);
}

static tn_value folder_count(tn_store *store, const struct tn_store_selection *selection, int64_t now, int64_t *count) {
    return tn_store_map_count(&store->map, selection, now, count);
}

static tn_value folder_search(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                              struct tn_store_page *page) {
    return tn_store_map_search(&store->map, selection, now, page);
}

static tn_value folder_collections(tn_store *store, int64_t now, struct tn_store_page *page) {
    return tn_store_map_collections(&store->map, now, page);
}

static const struct tn_store_backend backend = {
    folder_begin,        folder_commit_changes, folder_rollback, folder_find,   folder_write,       folder_remove,
    folder_remove_range, folder_list,           folder_count,    folder_search, folder_collections, .format = NULL};

static int32_t TN_ABI folder_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    return tn_store_backend_commit(&backend, store, batch, result, error);
}

static int32_t TN_ABI folder_query(tn_store *store, tn_value query, tn_value *result, tn_value *error) {
    tn_value why = lock_and_read(store, LOCK_SH);
    if (why != NULL) return tn_store_fail_take(why, error);
    int32_t status = tn_store_backend_query(&backend, store, query, result, error);
    log_unlock(&store->log);
    return status;
}

/* ---- Maintenance ---- */

static int32_t TN_ABI folder_maintain(tn_store *store, tn_value *result, tn_value *error) {
    int64_t removed = 0, bytes = 0;
    tn_value why = lock_and_read(store, LOCK_EX);
    if (why != NULL) return tn_store_fail_take(why, error);
    why = tn_store_map_remove_expired(&store->map, tn.core->wall_ms(tn.host), &removed, &bytes);
    if (why == NULL && (removed > 0 || (store->log.known > COMPACT_OVER && store->log.known > 2 * bytes)))
        why = compact(store);
    if (why == NULL)
        tn_store_map_commit(&store->map);
    else
        tn_store_map_rollback(&store->map);
    bytes = store->log.known;
    log_unlock(&store->log);
    return why != NULL ? tn_store_fail_take(why, error) : tn_store_make_maintained(removed, bytes, result);
}

static const tn_store_draft folder_store = {sizeof(folder_store), folder_open,     folder_close, folder_commit,
                                            folder_query,         folder_maintain, .watch = NULL};
TN_PROVIDES(store, TN_STORE_DRAFT, &folder_store)

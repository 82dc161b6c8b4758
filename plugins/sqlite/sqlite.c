/*
 * sqlite.c - the plugin `tenon.sqlite`: a store in one SQLite file.
 *
 * The manifest, sqlite.json, documents options, durability, backup and limits for operators. Each open store has a
 * separate connection, which one thread uses at a time. schema.c defines the tables, catalog.c knows collections and
 * indexes, records.c writes, and lists.c reads. checkpoint.c has a second connection and a thread.
 * <tenon/store/backend.h> implements the operations on top.
 */
#include "catalog.h"
#include "checkpoint.h"
#include "records.h"
#include "schema.h"
#include "sql.h"

#define BUSY_MS     5000
#define BUSY_MS_MAX 600000

/* ---- Options ---- */

static const char *const own_options[] = {"sync", "busy_ms", "max_bytes", "read_only", NULL};
static const char *const sync_modes[] = {"full", "normal", "off", NULL};

static tn_value sqlite_read_options(tn_store *store, tn_value options) {
    struct tn_store_text path;
    store->busy_ms = BUSY_MS;
    store->sync = sync_modes[1];
    tn_value why = tn_store_read_options(options, "sqlite", own_options, &path);
    if (why == NULL) why = tn_store_read_choice(options, "sqlite", "sync", sync_modes, &store->sync);
    if (why == NULL) why = tn_store_read_number(options, "sqlite", "busy_ms", 0, BUSY_MS_MAX, &store->busy_ms);
    if (why == NULL) why = tn_store_read_number(options, "sqlite", "max_bytes", 65536, INT64_MAX, &store->max_bytes);
    if (why == NULL) why = tn_store_read_bool(options, "sqlite", "read_only", &store->read_only);
    if (why != NULL) return why;
    store->path = path.data;
    return NULL;
}

/* ---- Opening ---- */

static tn_value sqlite_connect(tn_store *store) {
    int flags = (store->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = sqlite3_open_v2(store->path, &store->database, flags, NULL);
    if (code != SQLITE_OK) return database_failure_for_code(store->path, store->busy_ms, store->database, code);
    (void)sqlite3_busy_timeout(store->database, (int)store->busy_ms);
    /* The file may be malicious: block SQL that could damage it. SQLITE_DIRECTONLY keeps its schema from calling our
     * functions. */
    (void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    return database_execute(store, "PRAGMA cell_size_check = on");
}

static void sqlite_store_close(tn_store *store) {
    if (store == NULL) return;
    checkpoint_stop(store->checkpointer); /* before the last connection, which removes the log */
    database_free_statements(store);
    catalog_forget(store);
    cache_clear(&store->cache);
    tn_store_free(store->cache.slots);
    tn_release(store->group_failure);
    (void)sqlite3_close(store->database);
    tn_arena_free(&store->arena);
    tn_release(store->options);
    tn_store_free(store);
}

static int32_t sqlite_store_open(void *self, tn_value options, tn_store **out, tn_value *error) {
    tn_store *store = tn_store_alloc(sizeof *store);
    (void)self;
    if (store == NULL) return tn_store_fail_take(tn_store_failure_memory(), error);
    store->options = tn_retain(options);
    store->schema_version = -1;
    tn_value why = sqlite_read_options(store, options);
    if (why == NULL) why = sqlite_connect(store);
    if (why == NULL) why = sql_register_functions(store);
    if (why == NULL) why = catalog_register(store);
    if (why == NULL) why = schema_open(store);
    if (why == NULL) why = catalog_create_indexes(store, tn_get(options, "indexes"));
    if (why == NULL && !store->read_only) store->checkpointer = checkpoint_start(store);
    if (why == NULL)
        *out = store;
    else
        sqlite_store_close(store);
    return tn_store_fail_take(why, error);
}

/* ---- The interface ---- */

static tn_value sqlite_format(tn_store *store, int64_t *version, int64_t *before) {
    *before = store->format_before;
    return database_read_number(store, "PRAGMA user_version", version);
}

static const struct tn_store_backend backend = {
    .begin = records_begin,
    .commit = records_commit,
    .rollback = records_rollback,
    .find = records_find,
    .write = records_write,
    .remove = records_remove,
    .remove_range = records_remove_range,
    .list = lists_list,
    .count = lists_count,
    .search = lists_search,
    .collections = lists_collections,
    .format = sqlite_format,
    .add = records_add,
};

static int32_t sqlite_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    return tn_store_backend_commit(&backend, store, batch, result, error);
}

static int32_t sqlite_query(tn_store *store, tn_value source, tn_value *result, tn_value *error) {
    return tn_store_backend_query(&backend, store, source, result, error);
}

static int32_t sqlite_maintain(tn_store *store, tn_value *result, tn_value *error) {
    int64_t removed = 0, removed_now = 0, pages = 0, page_size = 0;
    tn_value why = NULL;
    do {
        why = records_remove_expired(store, tn.core->wall_ms(tn.host), &removed_now);
        removed += removed_now;
    } while (why == NULL && removed_now > 0);
    /* Returns free pages to the disk and writes the WAL into the file, as far as other connections allow. The next call
     * does the rest. */
    checkpoint_pause(store->checkpointer);
    if (why == NULL)
        (void)sqlite3_exec(store->database,
                           "PRAGMA incremental_vacuum; PRAGMA optimize; PRAGMA wal_checkpoint(truncate)", NULL, NULL,
                           NULL);
    checkpoint_resume(store->checkpointer);
    if (why == NULL) why = database_read_number(store, "PRAGMA page_count", &pages);
    if (why == NULL) why = database_read_number(store, "PRAGMA page_size", &page_size);
    if (why != NULL) return tn_store_fail_take(why, error);
    return tn_store_make_maintained(removed, pages * page_size, result);
}

static int32_t sqlite_group(tn_store *store, int32_t open, tn_value *error) {
    return tn_store_fail_take(open ? records_group_begin(store) : records_group_end(store), error);
}

static const tn_store_draft sqlite_store = {
    .size = sizeof sqlite_store,
    .open = sqlite_store_open,
    .close = sqlite_store_close,
    .commit = sqlite_commit,
    .query = sqlite_query,
    .maintain = sqlite_maintain,
    .group = sqlite_group,
};

TN_PLUGIN("tenon.sqlite", "0.1.0", "A store in one SQLite file")
TN_PROVIDES(store, TN_STORE_DRAFT, &sqlite_store)

/*
 * sqlite.c - the plugin `tenon.sqlite`: a store in one SQLite file.
 *
 * What an operator wants to know (options, what survives what, backup, limits) is in the manifest, sqlite.json. Each
 * open store has a connection of its own, used by one thread at a time. The file's tables are in schema.c, writing in
 * records.c, reading in lists.c; what the operations mean is plugins/store's.
 */
#include "records.h"
#include "schema.h"
#include "sql.h"

#define BUSY_MS     5000
#define BUSY_MS_MAX 600000

/* ---- Options ---- */

static const char *const own_options[] = {"sync", "busy_ms", "max_bytes", "read_only", NULL};
static const char *const syncs[] = {"normal", "full", "off", NULL};

static tn_value read_number(tn_value options, const char *name, int64_t least, int64_t most, int64_t *out) {
    tn_value found = tn.value->get(options, name);
    int32_t kind = tn.value->kind(found);
    int64_t number = 0;
    if (kind == TN_NONE || kind == TN_NULL) return NULL;
    if (tn.value->as_int(found, &number) != TN_OK || number < least || number > most)
        return failure("INVALID",
                       "the option `%s` of the store `sqlite` is an integer from %lld to %lld, and %s was "
                       "found",
                       name, (long long)least, (long long)most, kind == TN_INT ? "another one" : tn_kind_name(found));
    *out = number;
    return NULL;
}

static tn_value read_sync(tn_value options, const char **out) {
    tn_value found = tn.value->get(options, "sync");
    int32_t kind = tn.value->kind(found);
    struct text text = text_of(found);
    struct shown shown;
    if (kind == TN_NONE || kind == TN_NULL) return NULL;
    for (const char *const *sync = syncs; *sync != NULL; sync++) {
        if (!text_is(text, *sync)) continue;
        *out = *sync;
        return NULL;
    }
    return failure("INVALID", "the option `sync` of the store `sqlite` is full, normal or off, and %s was found",
                   text.data != NULL ? show(text, &shown) : tn_kind_name(found));
}

static tn_value read_options(tn_store *store, tn_value options) {
    tn_value read_only = tn.value->get(options, "read_only");
    int32_t truth = 0, kind = tn.value->kind(read_only);
    struct text path;
    store->busy_ms = BUSY_MS;
    store->sync = syncs[0];
    tn_value why = place_options(options, "sqlite", own_options, &path);
    if (why == NULL) why = read_sync(options, &store->sync);
    if (why == NULL) why = read_number(options, "busy_ms", 0, BUSY_MS_MAX, &store->busy_ms);
    if (why == NULL) why = read_number(options, "max_bytes", 65536, INT64_MAX, &store->max_bytes);
    if (why == NULL && kind != TN_NONE && kind != TN_NULL && tn.value->as_bool(read_only, &truth) != TN_OK)
        why = failure("INVALID", "the option `read_only` of the store `sqlite` is true or false, and %s was found",
                      tn_kind_name(read_only));
    if (why != NULL) return why;
    store->read_only = truth != 0;
    store->path = path.data;
    return NULL;
}

/* ---- Opening ---- */

static tn_value connect(tn_store *store) {
    int flags = (store->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) |
                SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = sqlite3_open_v2(store->path, &store->database, flags, NULL);
    if (code != SQLITE_OK) return database_failure_of(store->path, store->busy_ms, store->database, code);
    (void)sqlite3_busy_timeout(store->database, (int)store->busy_ms);
    /* The file may have been made by somebody who means us ill; our functions cannot be called from its schema. */
    (void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    return database_execute(store, "PRAGMA cell_size_check = on");
}

static void close_store(tn_store *store) {
    if (store == NULL) return;
    database_forget_statements(store);
    (void)sqlite3_close(store->database);
    arena_finish(&store->arena);
    tn_release(store->options);
    store_free(store);
}

static int32_t open_store(void *self, tn_value options, tn_store **out, tn_value *error) {
    tn_store *store = store_alloc(sizeof *store);
    (void)self;
    if (store == NULL) return place_fail_take(failure_memory(), error);
    store->options = tn_retain(options);
    tn_value why = read_options(store, options);
    if (why == NULL) why = connect(store);
    if (why == NULL) why = sql_functions(store);
    if (why == NULL) why = schema_open(store);
    if (why == NULL) why = schema_index(store, tn.value->get(options, "indexes"));
    if (why == NULL)
        *out = store;
    else
        close_store(store);
    return place_fail_take(why, error);
}

/* ---- The interface ---- */

static const struct place place = {records_begin,  records_end,          records_undo, records_find, records_write,
                                   records_remove, records_remove_range, lists_list,   lists_count,  lists_search};

static int32_t commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    return place_commit(&place, store, batch, result, error);
}

static int32_t query(tn_store *store, tn_value source, tn_value *result, tn_value *error) {
    return place_query(&place, store, source, result, error);
}

static int32_t maintain(tn_store *store, tn_value *result, tn_value *error) {
    int64_t removed = 0, some = 0, pages = 0, page_size = 0;
    tn_value why = NULL;
    do {
        why = records_remove_expired(store, tn.core->wall_ms(tn.host), &some);
        removed += some;
    } while (why == NULL && some > 0);
    /* Room is given back, and the log folded into the file, as far as others let us: the next time is soon enough. */
    if (why == NULL)
        (void)sqlite3_exec(store->database,
                           "PRAGMA incremental_vacuum; PRAGMA optimize; PRAGMA wal_checkpoint(truncate)", NULL, NULL,
                           NULL);
    if (why == NULL) why = database_number(store, "PRAGMA page_count", &pages);
    if (why == NULL) why = database_number(store, "PRAGMA page_size", &page_size);
    if (why != NULL) return place_fail_take(why, error);
    return place_maintained(removed, pages * page_size, result);
}

static const void *offer(void *self, const char *id) {
    static const tn_store_draft store = {sizeof store, 0, open_store, close_store, commit, query, maintain};
    (void)self;
    return strcmp(id, TN_STORE_DRAFT) == 0 ? &store : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof plugin, 0, NULL, offer};
    return place_entry(host, &plugin);
}

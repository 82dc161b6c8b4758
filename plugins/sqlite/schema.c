/*
 * schema.c - the tables, their versions, and the indexes that the host requests.
 *
 * The table `records` contains all records, each with a numeric id. JSON and bytes have separate columns, so that
 * SQLite's JSON functions only see JSON. Words and vectors are in separate tables, which refer to the id, because few
 * records have them.
 *
 * To change the schema, add a step. Never edit a step that was released, because existing files have already applied
 * it.
 */
#include "schema.h"
#include <time.h>

static const char *const steps[] = {
    "CREATE TABLE records ("
    " id INTEGER PRIMARY KEY,"
    " collection TEXT NOT NULL,"
    " key TEXT NOT NULL,"
    " version INTEGER NOT NULL,"
    " json TEXT,"                 /* the value; NULL if it is bytes */
    " bytes BLOB,"                /* the value if it is bytes */
    " expires_at INTEGER,"        /* ms since 1970 UTC; NULL: never */
    " found_by INTEGER NOT NULL," /* 1: has a row in texts; 2: has a row in vectors */
    " UNIQUE (collection, key));"
    "CREATE INDEX records_expire ON records (expires_at) WHERE expires_at IS NOT NULL;"
    /* Words in the form of words.h: lower case, separated by one space. */
    "CREATE VIRTUAL TABLE texts USING fts5 (words, tokenize = ascii, detail = none);"
    "CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL);", /* 32-bit floats, little-endian */
};
#define NEWEST ((int64_t)(sizeof steps / sizeof *steps))

/* ---- Versions ---- */

struct identity {
    int64_t application, version, tables;
};

static tn_value schema_identify(tn_store *store, struct identity *out) {
    tn_value why = database_read_number(store, "PRAGMA application_id", &out->application);
    if (why == NULL) why = database_read_number(store, "PRAGMA user_version", &out->version);
    if (why == NULL) why = database_read_number(store, "SELECT count(*) FROM sqlite_schema", &out->tables);
    return why;
}

/* Reads all three in one transaction, because another process may be creating the file. */
static tn_value schema_identify_in_transaction(tn_store *store, struct identity *out) {
    tn_value why = database_execute(store, "BEGIN");
    if (why == NULL) why = schema_identify(store, out);
    if (!sqlite3_get_autocommit(store->database)) (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    return why;
}

/* Returns NULL if the file can be used: it is empty, or a store of this release or an older one. */
static tn_value schema_check(tn_store *store, const struct identity *found) {
    if (found->application == 0 && found->version == 0 && found->tables == 0) {
        if (!store->read_only) return NULL;
        return tn_store_failure("STORE_READ_ONLY", "%s: is empty and was opened with read_only", store->path);
    }
    if (found->application != SCHEMA_APPLICATION)
        return tn_store_failure(
            "STORE_ERROR",
            "%s: belongs to another application (application_id %lld; ours is %d, \"Teno\"); nothing "
            "was changed: give the store another path",
            store->path, (long long)found->application, SCHEMA_APPLICATION);
    if (found->version < 0) return database_damaged(store, "the version of its schema is negative");
    if (found->version > NEWEST)
        return tn_store_failure(
            "STORE_VERSION",
            "%s: was written by a newer release (its schema has version %lld, this release supports %lld); "
            "nothing was changed: use that release, or give the store another path",
            store->path, (long long)found->version, (long long)NEWEST);
    if (found->version < NEWEST && store->read_only)
        return tn_store_failure(
            "STORE_READ_ONLY",
            "%s: was written by an older release (its schema has version %lld, this release needs %lld): open "
            "it once without read_only",
            store->path, (long long)found->version, (long long)NEWEST);
    return NULL;
}

static tn_value schema_apply_steps(tn_store *store, int64_t version) {
    tn_value why = NULL;
    char pragmas[96];
    for (; why == NULL && version < NEWEST; version++) why = database_execute(store, steps[version]);
    (void)snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %lld",
                   SCHEMA_APPLICATION, (long long)NEWEST);
    return why != NULL ? why : database_execute(store, pragmas);
}

/* Checks the file again under the write lock, because another process may have upgraded it. */
static tn_value schema_upgrade(tn_store *store) {
    struct identity found = {0};
    tn_value why = database_execute(store, "BEGIN IMMEDIATE");
    if (why == NULL) why = schema_identify(store, &found);
    if (why == NULL) why = schema_check(store, &found);
    if (why == NULL && found.version < NEWEST) why = schema_apply_steps(store, found.version);
    if (why == NULL) why = database_execute(store, "COMMIT");
    if (why != NULL && !sqlite3_get_autocommit(store->database))
        (void)sqlite3_exec(store->database, "ROLLBACK", 0, 0, 0);
    return why;
}

/* ---- The connection ---- */

/* SQLite does not wait for other connections when it changes to WAL mode, so this retries for busy_ms. */
static tn_value connection_enable_wal(tn_store *store) {
    const struct timespec delay = {0, 2000000};
    for (int64_t waited_ms = 0;; waited_ms += 2) {
        int code = sqlite3_exec(store->database, "PRAGMA journal_mode = wal", NULL, NULL, NULL);
        if (code == SQLITE_OK) return NULL;
        if ((code & 0xff) != SQLITE_BUSY || waited_ms >= store->busy_ms) return database_failure(store);
        (void)nanosleep(&delay, NULL);
    }
}

static tn_value connection_configure(tn_store *store) {
    int64_t page_size = 4096;
    char pragmas[160];
    tn_value why = store->read_only ? NULL : connection_enable_wal(store);
    (void)snprintf(pragmas, sizeof pragmas,
                   "PRAGMA synchronous = %s; PRAGMA journal_size_limit = 16777216; PRAGMA temp_store = memory",
                   store->sync);
    if (why == NULL) why = database_execute(store, pragmas);
    if (why == NULL && store->max_bytes > 0) {
        why = database_read_number(store, "PRAGMA page_size", &page_size);
        (void)snprintf(pragmas, sizeof pragmas, "PRAGMA max_page_count = %lld",
                       (long long)(store->max_bytes / page_size > 0 ? store->max_bytes / page_size : 1));
        if (why == NULL) why = database_execute(store, pragmas);
    }
    return why;
}

tn_value schema_open(tn_store *store) {
    struct identity found = {0};
    tn_value why = schema_identify_in_transaction(store, &found);
    store->format_before = found.version;
    if (why == NULL) why = schema_check(store, &found);
    /* Must be set before the first table, so that deleted pages can be returned to the disk. */
    if (why == NULL && found.tables == 0) why = database_execute(store, "PRAGMA auto_vacuum = incremental");
    if (why == NULL && found.version < NEWEST) why = schema_upgrade(store);
    return why != NULL ? why : connection_configure(store);
}

/* ---- Indexes ---- */

char *schema_quote(struct tn_arena *arena, struct tn_store_text text, char quote) {
    char *out = memchr(text.data, '\0', text.length) == NULL ? tn_arena_alloc(arena, text.length * 2 + 3) : NULL;
    uint64_t used = 0;
    if (out == NULL) return NULL;
    out[used++] = quote;
    for (uint64_t i = 0; i < text.length; i++) {
        if (text.data[i] == quote) out[used++] = quote;
        out[used++] = text.data[i];
    }
    out[used++] = quote;
    return out;
}

/* Releases of SQLite differ in how they treat names that JSON escapes. For such names, tn_member is called instead. */
bool schema_json_path(struct tn_arena *arena, const struct tn_store_path *path, char **out) {
    char *text = tn_arena_alloc(arena, path->text.length + 3 * path->count + 3), *at = text;
    if (text == NULL) return false;
    *at++ = '$';
    for (uint64_t i = 0; i < path->count; i++) {
        const char *name = path->names[i];
        if (*name == '\0') return false;
        *at++ = '.';
        *at++ = '"';
        for (; *name != '\0'; name++) {
            if ((unsigned char)*name < ' ' || *name == '"' || *name == '\\' || *name == 0x7f) return false;
            *at++ = *name;
        }
        *at++ = '"';
    }
    *out = text;
    return true;
}

static tn_value index_create(tn_store *store, const struct index *index) {
    char *collection = schema_quote(&store->arena, index->collection, '\''), *path = NULL;
    uint64_t capacity = 256 + (collection != NULL ? strlen(collection) : 0), used = 0, hash = 1469598103934665603u;
    for (uint64_t i = 0; i < index->count; i++)
        capacity += 2 * index->paths[i].text.length + 8 * index->paths[i].count + 64;
    char *columns = tn_arena_alloc(&store->arena, capacity), *sql = tn_arena_alloc(&store->arena, capacity);
    if (collection == NULL || columns == NULL || sql == NULL) return tn_store_failure_memory();
    for (uint64_t i = 0; i < index->count; i++) {
        if (!schema_json_path(&store->arena, &index->paths[i], &path))
            return NULL; /* queries for this member work without an index */
        char *quoted = schema_quote(&store->arena, (struct tn_store_text){path, strlen(path)}, '\'');
        if (quoted == NULL) return tn_store_failure_memory();
        used += (uint64_t)snprintf(columns + used, capacity - used, "json_extract(json, %s), ", quoted);
    }
    for (const char *at = collection; *at != '\0'; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    for (const char *at = columns; *at != '\0'; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    int64_t existing = 0;
    (void)snprintf(sql, capacity, "SELECT count(*) FROM sqlite_schema WHERE name = 'records_%016llx'",
                   (unsigned long long)hash);
    tn_value why = database_read_number(store, sql, &existing);
    if (why != NULL || existing > 0 || store->read_only) return why;
    (void)snprintf(sql, capacity, "CREATE INDEX IF NOT EXISTS records_%016llx ON records (%skey) WHERE collection = %s",
                   (unsigned long long)hash, columns, collection);
    return database_execute(store, sql);
}

static tn_value index_read(tn_store *store, struct tn_store_text collection, tn_value paths) {
    uint64_t count = tn.value->count(paths);
    struct index *index = tn_arena_alloc(&store->arena, sizeof *index);
    struct tn_store_path *read = tn_arena_alloc(&store->arena, (count + 1) * sizeof *read);
    if (index == NULL || read == NULL) return tn_store_failure_memory();
    if (count == 0 || count > TN_STORE_ORDER_MAX)
        return tn_store_failure("INVALID", "`indexes`: an index must be an array of 1 to %d member paths",
                                TN_STORE_ORDER_MAX);
    tn_value why = NULL;
    for (uint64_t i = 0; why == NULL && i < count; i++)
        why = tn_store_path_read(&store->arena, tn.value->at(paths, i), "indexes", &read[i]);
    if (why != NULL) return why;
    *index = (struct index){store->indexes, collection, count, read};
    store->indexes = index;
    return index_create(store, index);
}

tn_value schema_create_indexes(tn_store *store, tn_value indexes) {
    tn_value key = NULL, lists = NULL, why = NULL;
    int32_t kind = tn.value->kind(indexes);
    if (kind == TN_NONE || kind == TN_NULL) return NULL;
    if (kind != TN_OBJECT)
        return tn_store_failure("INVALID", "`indexes` must be an object; found %s", tn_kind_name(indexes));
    for (uint64_t i = 0; why == NULL && tn.value->entry(indexes, i, &key, &lists) == TN_OK; i++) {
        struct tn_store_text name = tn_store_text_of(key);
        if (memchr(name.data, '\0', name.length) != NULL) continue; /* SQL cannot express it */
        for (uint64_t j = 0; why == NULL && j < tn.value->count(lists); j++)
            why = index_read(store, name, tn.value->at(lists, j));
    }
    return why;
}

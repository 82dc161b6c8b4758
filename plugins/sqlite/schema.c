/*
 * schema.c - the tables and their versions.
 *
 * The table `entries` contains all records, each with a numeric id. That is measured to be better than a table ordered
 * by (collection, key), because most records are written once, in the order of time: a commit of many runs then fills
 * few pages of `entries`, and writes only the small rows of the index on (collection, key) in many places. README.md
 * has the figures.
 *
 * JSON and bytes have separate columns, so that SQLite's JSON functions only see JSON. Small columns are first, because
 * a large value is spread over a chain of pages. Words and vectors are in separate tables, which refer to the id,
 * because few records have them. The view `records` is for people: `sqlite3 FILE "SELECT key, json FROM records WHERE
 * …"`.
 *
 * A new file gets the tables of the newest version at once. To change the schema, change `newest` and add an upgrade
 * that makes the same of the version before. Never edit an upgrade that was released.
 */
#include "schema.h"
#include "vector_codes.h"
#include <time.h>

#define TABLES                                                                                                         \
    "CREATE TABLE collections (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);" /* See catalog.h. `leads`: 1 if an \
                                                                                       index begins with the member.   \
                                                                                     */                                \
    "CREATE TABLE members ("                                                                                           \
    " collection INTEGER NOT NULL, path TEXT NOT NULL, prefix INTEGER NOT NULL, place INTEGER NOT NULL,"               \
    " leads INTEGER NOT NULL, PRIMARY KEY (collection, path), UNIQUE (collection, place)) WITHOUT ROWID;"              \
    "CREATE TABLE entries ("                                                                                           \
    " id INTEGER PRIMARY KEY,"                                                                                         \
    " collection INTEGER NOT NULL,"                                                                                    \
    " key TEXT NOT NULL,"                                                                                              \
    " version INTEGER NOT NULL,"                                                                                       \
    " expires_at INTEGER,"        /* ms since 1970 UTC; NULL: never */                                                 \
    " found_by INTEGER NOT NULL," /* 1: has a row in texts; 2: has a row in vectors */                                 \
    " m1, m2, m3, m4,"            /* the indexed members of the value */                                               \
    " json TEXT,"                 /* the value; NULL if it is bytes */                                                 \
    " bytes BLOB,"                /* the value if it is bytes */                                                       \
    " UNIQUE (collection, key));"                                                                                      \
    "CREATE INDEX entries_expire ON entries (expires_at) WHERE expires_at IS NOT NULL;"
#define VIEW                                                                                                           \
    "CREATE VIEW records (id, collection, key, version, json, bytes, expires_at, found_by) AS"                         \
    " SELECT entries.id, name, key, version, json, bytes, expires_at, found_by"                                        \
    " FROM entries JOIN collections ON collections.id = entries.collection;"
#define SEARCHES                                                                                                       \
    /* Words in the form of words.h: lower case, separated by one space. */                                            \
    "CREATE VIRTUAL TABLE texts USING fts5 (words, tokenize = ascii, detail = none);"                                  \
    "CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL);" /* 32-bit floats, little-endian */

/* See vector_codes.h. `slots.id` is that of the record. */
#define CODES                                                                                                          \
    "CREATE TABLE spaces (id INTEGER PRIMARY KEY, collection INTEGER NOT NULL, dimensions INTEGER NOT NULL,"           \
    " count INTEGER NOT NULL, UNIQUE (collection, dimensions));"                                                       \
    "CREATE TABLE slots (id INTEGER PRIMARY KEY, space INTEGER NOT NULL, slot INTEGER NOT NULL);"                      \
    "CREATE TABLE codes (id INTEGER PRIMARY KEY, space INTEGER NOT NULL, block INTEGER NOT NULL, data BLOB NOT NULL,"  \
    " UNIQUE (space, block));"

static const char newest[] = TABLES VIEW SEARCHES CODES;

/* upgrades[i] changes version i + 1 to version i + 2. */
static const char *const upgrades[] = {
    /* Version 1 had one table `records`, with the names of collections, and indexes over json_extract. */
    TABLES "INSERT INTO collections (name) SELECT DISTINCT collection FROM records ORDER BY collection;"
           "INSERT INTO entries (id, collection, key, version, expires_at, found_by, json, bytes)"
           " SELECT records.id, collections.id, key, version, expires_at, found_by, json, bytes"
           " FROM records JOIN collections ON name = collection ORDER BY records.id;"
           "DROP TABLE records;" VIEW,
    /* Version 2 had no index of vectors: codes_build fills it. */
    CODES,
};
#define WITHOUT_CODES 2 /* the newest version without an index of vectors */
#define NEWEST        ((int64_t)(sizeof upgrades / sizeof *upgrades) + 1)

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

static tn_value schema_bring_up_to_date(tn_store *store, int64_t version) {
    tn_value why = NULL;
    char pragmas[96];
    bool builds = version > 0 && version <= WITHOUT_CODES;
    if (version == 0) why = database_execute(store, newest);
    for (; why == NULL && version > 0 && version < NEWEST; version++)
        why = database_execute(store, upgrades[version - 1]);
    if (why == NULL && builds) why = codes_build(store);
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
    if (why == NULL && found.version < NEWEST) why = schema_bring_up_to_date(store, found.version);
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
    char pragmas[192];
    tn_value why = store->read_only ? NULL : connection_enable_wal(store);
    (void)snprintf(pragmas, sizeof pragmas,
                   "PRAGMA synchronous = %s; PRAGMA journal_size_limit = 16777216; PRAGMA temp_store = memory;"
                   " PRAGMA cache_size = -16384",
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

/* ---- Names ---- */

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

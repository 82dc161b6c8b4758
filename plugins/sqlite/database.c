/*
 * database.c - failures for SQLite's errors, the cache of prepared statements, and the columns of rows.
 */
#include "database.h"
#include <errno.h>
#include <tenon/util/utf8.h>

/* ---- Failures ---- */

static bool errno_is_no_space(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

/*
 * The statements are constant and the host's requests are valid, so these failures mean that the file does not have the
 * tables, the columns or the values that the store has written: its schema or a record is damaged.
 */
static bool code_is_of_damage(int primary, const char *message) {
    static const char *const starts[] = {"malformed ", "no such ", "table ", "vtable ", "view ", "near ", "fts5: "};
    if (primary == SQLITE_CONSTRAINT || primary == SQLITE_MISMATCH || primary == SQLITE_FORMAT) return true;
    for (size_t i = 0; primary == SQLITE_ERROR && i < sizeof starts / sizeof *starts; i++)
        if (strncmp(message, starts[i], strlen(starts[i])) == 0) return true;
    return false;
}

tn_value database_failure_for_code(const char *path, int64_t busy_ms, sqlite3 *database, int code) {
    const char *message = database != NULL ? sqlite3_errmsg(database) : sqlite3_errstr(code);
    int last = errno, error = database != NULL ? sqlite3_system_errno(database) : 0, primary = code & 0xff;
    if (primary == SQLITE_IOERR && error == 0) error = last; /* a rollback resets sqlite3_system_errno */
    if (primary == SQLITE_IOERR && errno_is_no_space(error)) primary = SQLITE_FULL;
    if (code_is_of_damage(primary, message)) primary = SQLITE_CORRUPT;
    switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return tn_store_failure_retryable_take(
            tn_store_failure("STORE_BUSY",
                             "%s: another process has been writing to it for %lld ms; nothing was "
                             "changed: try again (the option busy_ms sets how long to wait)",
                             path, (long long)busy_ms));
    case SQLITE_FULL:
        return tn_store_failure(
            "STORE_FULL",
            "%s: not enough space (%s); nothing was written, earlier data is intact: free space on the "
            "disk, or increase the option max_bytes",
            path, error != 0 ? strerror(error) : message);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return tn_store_failure(
            "STORE_READ_ONLY",
            "%s: cannot be written to (%s); nothing was changed: check the permissions of the file and "
            "its folder",
            path, message);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return tn_store_failure(
            "STORE_CORRUPT",
            "%s: %s (%s); nothing was changed: replace it by a backup, or recover data with "
            "`sqlite3 FILE .recover`",
            path, primary == SQLITE_NOTADB ? "is not a SQLite file, or its start is destroyed" : "is damaged", message);
    case SQLITE_CANTOPEN:
        return tn_store_failure("STORE_ERROR", "%s: cannot be opened: %s; check that its folder exists and is writable",
                                path, error != 0 ? strerror(error) : message);
    case SQLITE_NOMEM: return tn_store_failure_memory();
    case SQLITE_TOOBIG:
        return tn_store_failure("LIMIT", "%s: more data than SQLite allows in one row (%s)", path, message);
    case SQLITE_IOERR:
        return tn_store_failure("STORE_ERROR", "%s: the disk failed: %s (%s)", path,
                                error != 0 ? strerror(error) : message, message);
    default: return tn_store_failure("STORE_ERROR", "%s: SQLite failed: %s (%d)", path, message, code);
    }
}

tn_value database_failure(tn_store *store) {
    return database_failure_for_code(store->path, store->busy_ms, store->database,
                                     sqlite3_extended_errcode(store->database));
}

tn_value database_damaged(tn_store *store, const char *what) {
    return tn_store_failure("STORE_CORRUPT",
                            "%s: is damaged: %s; replace it by a backup, or recover data with `sqlite3 FILE .recover`",
                            store->path, what);
}

tn_value database_check_row(tn_store *store, struct tn_store_text key, int64_t version) {
    if (!tn_utf8_is_valid(key.data, key.length)) return database_damaged(store, "a record's key is not UTF-8");
    if (version < 1 || version == INT64_MAX) return database_damaged(store, "a record's version is not valid");
    return NULL;
}

/* ---- Statements ---- */

/* Eight bytes at a time: it runs for every statement. */
static uint64_t statement_hash(const char *text) {
    uint64_t hash = 1469598103934665603u, word = 0;
    size_t length = strlen(text), at = 0;
    for (; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    word = length;
    for (; at < length; at++) word = word << 8 | (unsigned char)text[at];
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static void statement_free(struct prepared *prepared) {
    (void)sqlite3_finalize(prepared->statement);
    tn_store_free(prepared->sql);
    *prepared = (struct prepared){0};
}

void database_free_statements(tn_store *store) {
    for (unsigned i = 0; i < DATABASE_STATEMENTS; i++) statement_free(&store->prepared[i]);
}

static tn_value statement_prepare(tn_store *store, const char *sql, uint64_t hash, struct prepared *out) {
    size_t length = strlen(sql);
    statement_free(out);
    char *copy = tn_store_alloc(length + 1);
    if (copy == NULL) return tn_store_failure_memory();
    memcpy(copy, sql, length + 1);
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(store->database, sql, (int)length + 1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
        SQLITE_OK) {
        tn_store_free(copy);
        return database_failure(store);
    }
    *out = (struct prepared){copy, hash, 0, statement};
    return NULL;
}

tn_value database_prepare(tn_store *store, const char *sql, sqlite3_stmt **out) {
    uint64_t hash = statement_hash(sql);
    unsigned char *place = &store->places[hash % DATABASE_PLACES];
    struct prepared *found = &store->prepared[*place], *oldest = &store->prepared[0];
    if (found->hash != hash || found->sql == NULL || strcmp(found->sql, sql) != 0) found = NULL;
    for (unsigned i = 0; i < DATABASE_STATEMENTS && found == NULL; i++) {
        struct prepared *prepared = &store->prepared[i];
        if (prepared->hash == hash && prepared->sql != NULL && strcmp(prepared->sql, sql) == 0) found = prepared;
        if (prepared->used < oldest->used) oldest = prepared;
    }
    if (found == NULL) {
        tn_value why = statement_prepare(store, sql, hash, found = oldest);
        if (why != NULL) return why;
    }
    *place = (unsigned char)(found - store->prepared);
    found->used = ++store->clock;
    (void)sqlite3_clear_bindings(found->statement);
    *out = found->statement;
    return NULL;
}

bool database_step(tn_store *store, sqlite3_stmt *statement, tn_value *why) {
    errno = 0;
    int code = sqlite3_step(statement);
    *why = code == SQLITE_ROW || code == SQLITE_DONE ? NULL : database_failure(store);
    return code == SQLITE_ROW;
}

tn_value database_run(tn_store *store, sqlite3_stmt *statement) {
    tn_value why = NULL;
    while (database_step(store, statement, &why)) continue;
    (void)sqlite3_reset(statement);
    return why;
}

tn_value database_execute(tn_store *store, const char *sql) {
    errno = 0;
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK ? NULL : database_failure(store);
}

tn_value database_read_number(tn_store *store, const char *sql, int64_t *out) {
    sqlite3_stmt *statement = NULL;
    tn_value why = NULL;
    if (sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL) != SQLITE_OK) return database_failure(store);
    if (database_step(store, statement, &why)) *out = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return why;
}

/* ---- Texts and values ---- */

void database_bind_text(sqlite3_stmt *statement, int at, struct tn_store_text text) {
    (void)sqlite3_bind_text64(statement, at, text.data != NULL ? text.data : "", text.length, SQLITE_STATIC,
                              SQLITE_UTF8);
}

struct tn_store_text database_column_text(sqlite3_stmt *statement, int column) {
    const char *data = (const char *)sqlite3_column_text(statement, column);
    return (struct tn_store_text){data != NULL ? data : "", (uint64_t)sqlite3_column_bytes(statement, column)};
}

tn_value database_read_value(tn_store *store, sqlite3_stmt *statement, int json, int bytes, tn_value *out,
                             uint64_t *size) {
    if (sqlite3_column_type(statement, json) == SQLITE_NULL) {
        const void *data = sqlite3_column_blob(statement, bytes);
        *size = (uint64_t)sqlite3_column_bytes(statement, bytes);
        *out = tn_bytes(data != NULL ? data : "", *size);
        return *out != NULL ? NULL : tn_store_failure_memory();
    }
    struct tn_store_text text = database_column_text(statement, json);
    *size = text.length;
    return tn.value->from_json(tn.host, text.data, text.length, out, NULL) == TN_OK
               ? NULL
               : database_damaged(store, "a record's value is not JSON");
}

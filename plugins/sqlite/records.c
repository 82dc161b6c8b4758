/*
 * records.c - writing: one transaction a batch, which takes the right to write before it reads.
 *
 * Whoever else wants to write waits (busy_ms), so that what was read is still so when it is written. Rows of texts and
 * vectors go with the record that they are of, in the same transaction.
 */
#include "records.h"
#include "sql.h"
#include <endian.h>

#define EXPIRED_AT_ONCE 1000 /* records removed before others get their turn */

tn_value records_begin(tn_store *store) {
    sqlite3_stmt *statement = NULL;
    store->row = (struct row){.known = false};
    if (store->read_only)
        return failure("STORE_READ_ONLY", "%s: is open with read_only, and so nothing is written", store->path);
    tn_value why = database_statement(store, "BEGIN IMMEDIATE", &statement);
    return why != NULL ? why : database_run(store, statement);
}

tn_value records_end(tn_store *store) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_statement(store, "COMMIT", &statement);
    return why != NULL ? why : database_run(store, statement);
}

void records_undo(tn_store *store) {
    /* Some failures have done it already. */
    if (!sqlite3_get_autocommit(store->database)) (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- One record ---- */

static tn_value look(tn_store *store, const char *sql, struct text collection, struct text key, int64_t now,
                     sqlite3_stmt **statement) {
    struct row *row = &store->row;
    tn_value why = database_statement(store, sql, statement);
    *row = (struct row){.known = false};
    if (why != NULL) return why;
    database_bind_text(*statement, 1, collection);
    database_bind_text(*statement, 2, key);
    if (database_step(store, *statement, &why)) {
        row->id = sqlite3_column_int64(*statement, 0);
        row->version = sqlite3_column_int64(*statement, 1);
        row->expires = sqlite3_column_type(*statement, 2) != SQLITE_NULL;
        row->expires_at = sqlite3_column_int64(*statement, 2);
        row->found_by = sqlite3_column_int(*statement, 3);
        row->expired = row->expires && row->expires_at <= now;
    }
    row->known = why == NULL;
    return why;
}

#define LOOK "SELECT id, version, expires_at, found_by"
#define AT   " FROM records WHERE collection = ? AND key = ?"

tn_value records_find(tn_store *store, struct text collection, struct text key, int64_t now, bool want_value,
                      struct record *out) {
    sqlite3_stmt *statement = NULL;
    *out = (struct record){.version = 0};
    tn_value why = look(store, want_value ? LOOK ", json, bytes" AT : LOOK AT, collection, key, now, &statement);
    if (why == NULL && store->row.id != 0 && !store->row.expired) {
        out->version = store->row.version;
        if (want_value) why = database_value(store, statement, 4, 5, &out->value, &out->size);
    }
    (void)sqlite3_reset(statement);
    return why;
}

static tn_value run_with_id(tn_store *store, const char *sql, int64_t id) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_statement(store, sql, &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, id);
    return database_run(store, statement);
}

/* Those of texts and vectors that `which` says. */
static tn_value remove_beside(tn_store *store, int64_t id, int which) {
    tn_value why = NULL;
    if (which & FOUND_BY_WORDS) why = run_with_id(store, "DELETE FROM texts WHERE rowid = ?", id);
    if (why == NULL && which & FOUND_BY_VECTOR) why = run_with_id(store, "DELETE FROM vectors WHERE id = ?", id);
    return why;
}

static tn_value write_vector(tn_store *store, int64_t id, const struct beside *beside) {
    uint64_t size = beside->vector_count * sizeof(uint32_t);
    sqlite3_stmt *statement = NULL;
    tn_value why = database_statement(store, "INSERT INTO vectors (id, vector) VALUES (?, ?)", &statement);
    uint32_t *packed = why == NULL ? store_alloc(size) : NULL;
    if (packed == NULL) return why != NULL ? why : failure_memory();
    memcpy(packed, beside->vector, size);
    for (uint64_t i = 0; i < beside->vector_count; i++) packed[i] = htole32(packed[i]);
    (void)sqlite3_bind_int64(statement, 1, id);
    (void)sqlite3_bind_blob64(statement, 2, packed, size, SQLITE_STATIC);
    why = database_run(store, statement);
    store_free(packed);
    return why;
}

static tn_value write_beside(tn_store *store, int64_t id, const struct beside *beside) {
    sqlite3_stmt *statement = NULL;
    tn_value why = NULL;
    if (beside->words_how == SET) {
        why = database_statement(store, "INSERT INTO texts (rowid, words) VALUES (?, ?)", &statement);
        if (why != NULL) return why;
        (void)sqlite3_bind_int64(statement, 1, id);
        database_bind_text(statement, 2, beside->words);
        why = database_run(store, statement);
    }
    return why == NULL && beside->vector_how == SET ? write_vector(store, id, beside) : why;
}

/* What of `before` stays: bits of found_by. */
static int kept(const struct row *before, const struct beside *beside) {
    int bits = before->id != 0 && !before->expired ? before->found_by : 0;
    if (beside->words_how != KEEP) bits &= ~FOUND_BY_WORDS;
    if (beside->vector_how != KEEP) bits &= ~FOUND_BY_VECTOR;
    return bits;
}

static void bind_value(sqlite3_stmt *statement, const struct change *change) {
    if (change->json.data != NULL) {
        database_bind_text(statement, 2, change->json);
        (void)sqlite3_bind_null(statement, 3);
        return;
    }
    const void *bytes = tn.value->as_bytes(change->value, NULL);
    (void)sqlite3_bind_null(statement, 2);
    (void)sqlite3_bind_blob64(statement, 3, bytes != NULL ? bytes : "", change->size, SQLITE_STATIC);
}

tn_value records_write(tn_store *store, const struct change *change, int64_t now) {
    static const char insert[] = "INSERT INTO records (version, json, bytes, expires_at, found_by, collection, key)"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?)";
    static const char update[] =
        "UPDATE records SET version = ?, json = ?, bytes = ?, expires_at = ?, found_by = ? WHERE id = ?";
    const struct beside *beside = change->beside;
    sqlite3_stmt *statement = NULL;
    tn_value why = NULL;
    if (!store->row.known) { /* it came from a list */
        why = look(store, LOOK AT, change->collection, change->key, now, &statement);
        (void)sqlite3_reset(statement);
        if (why != NULL) return why;
    }
    struct row before = store->row;
    bool stays = before.id != 0 && !before.expired;
    int bits = kept(&before, beside);
    if (before.id != 0) why = remove_beside(store, before.id, before.found_by & ~bits);
    if (beside->words_how == SET) bits |= FOUND_BY_WORDS;
    if (beside->vector_how == SET) bits |= FOUND_BY_VECTOR;
    store->row.known = false;
    if (why == NULL) why = database_statement(store, before.id != 0 ? update : insert, &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, change->version);
    bind_value(statement, change);
    if (beside->expires_how == SET)
        (void)sqlite3_bind_int64(statement, 4, beside->expires_at);
    else if (beside->expires_how == KEEP && stays && before.expires)
        (void)sqlite3_bind_int64(statement, 4, before.expires_at);
    (void)sqlite3_bind_int(statement, 5, bits);
    if (before.id != 0) {
        (void)sqlite3_bind_int64(statement, 6, before.id);
    } else {
        database_bind_text(statement, 6, change->collection);
        database_bind_text(statement, 7, change->key);
    }
    why = database_run(store, statement);
    int64_t id = before.id != 0 ? before.id : sqlite3_last_insert_rowid(store->database);
    return why != NULL ? why : write_beside(store, id, beside);
}

tn_value records_remove(tn_store *store, struct text collection, struct text key) {
    struct row row = store->row; /* of the record that was just found */
    (void)collection, (void)key;
    store->row.known = false;
    tn_value why = remove_beside(store, row.id, row.found_by);
    return why != NULL ? why : run_with_id(store, "DELETE FROM records WHERE id = ?", row.id);
}

/* ---- Many ---- */

static void add_range(struct sql *sql, const struct selection *selection) {
    sql_add(sql, " FROM records WHERE collection = ");
    sql_text(sql, selection->collection);
    if (selection->extent.from.data != NULL) {
        sql_add(sql, " AND key >= ");
        sql_text(sql, selection->extent.from);
    }
    if (selection->extent.to.data != NULL) {
        sql_add(sql, " AND key < ");
        sql_text(sql, selection->extent.to);
    }
}

/* `before`, the range, `after`; *changed is how many rows that was. */
static tn_value run_range(tn_store *store, const char *before, const struct selection *selection, const char *after) {
    struct arena arena = ARENA_INIT;
    struct sql sql;
    sqlite3_stmt *statement = NULL;
    sql_init(&sql, &arena);
    sql_add(&sql, before);
    add_range(&sql, selection);
    sql_add(&sql, after);
    tn_value why = sql_statement(&sql, store, &statement);
    if (why == NULL) why = database_run(store, statement);
    arena_finish(&arena);
    return why;
}

tn_value records_remove_range(tn_store *store, const struct selection *selection, int64_t now, int64_t *count) {
    store->row.known = false;
    tn_value why = lists_count(store, selection, now, count);
    if (why == NULL)
        why = run_range(store, "DELETE FROM texts WHERE rowid IN (SELECT id", selection, " AND found_by & 1)");
    if (why == NULL)
        why = run_range(store, "DELETE FROM vectors WHERE id IN (SELECT id", selection, " AND found_by & 2)");
    return why != NULL ? why : run_range(store, "DELETE", selection, "");
}

static tn_value remove_before(tn_store *store, const char *sql, int64_t now) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_statement(store, sql, &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, now);
    (void)sqlite3_bind_int(statement, 2, EXPIRED_AT_ONCE);
    return database_run(store, statement);
}

tn_value records_remove_expired(tn_store *store, int64_t now, int64_t *count) {
#define EXPIRED "(SELECT id FROM records WHERE expires_at <= ? ORDER BY expires_at, id LIMIT ?)"
    tn_value why = records_begin(store);
    if (why == NULL) why = remove_before(store, "DELETE FROM texts WHERE rowid IN " EXPIRED, now);
    if (why == NULL) why = remove_before(store, "DELETE FROM vectors WHERE id IN " EXPIRED, now);
    if (why == NULL) why = remove_before(store, "DELETE FROM records WHERE id IN " EXPIRED, now);
    *count = why == NULL ? sqlite3_changes64(store->database) : 0;
    if (why == NULL) why = records_end(store);
    if (why != NULL) records_undo(store);
    return why;
}

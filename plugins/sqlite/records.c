/*
 * records.c - finds and writes records. Each batch is one transaction.
 *
 * The transaction takes the write lock before it reads, so what it has read is still valid when it writes. Other
 * writers wait for up to busy_ms. The rows of a record in `texts` and `vectors` change in the same transaction as the
 * record.
 */
#include "records.h"
#include "sql.h"
#include <endian.h>

#define EXPIRED_AT_ONCE 1000 /* limit of records removed in one transaction, because other writers wait for it */

tn_value records_begin(tn_store *store) {
    sqlite3_stmt *statement = NULL;
    store->row = (struct row){.known = false};
    if (store->read_only)
        return tn_store_failure("STORE_READ_ONLY", "%s: is open with read_only and cannot be written to", store->path);
    tn_value why = database_prepare(store, "BEGIN IMMEDIATE", &statement);
    return why != NULL ? why : database_run(store, statement);
}

tn_value records_commit(tn_store *store) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, "COMMIT", &statement);
    return why != NULL ? why : database_run(store, statement);
}

void records_rollback(tn_store *store) {
    /* SQLite has already rolled back after some failures. */
    if (!sqlite3_get_autocommit(store->database)) (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- One record ---- */

static tn_value record_lookup(tn_store *store, const char *sql, struct tn_store_text collection,
                              struct tn_store_text key, int64_t now, sqlite3_stmt **statement) {
    struct row *row = &store->row;
    tn_value why = database_prepare(store, sql, statement);
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
    if (why == NULL && row->id != 0) why = database_check_row(store, key, row->version);
    row->known = why == NULL;
    return why;
}

#define SELECT_RECORD "SELECT id, version, expires_at, found_by"
#define AT            " FROM records WHERE collection = ? AND key = ?"

tn_value records_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                      bool want_value, struct tn_store_record *out) {
    sqlite3_stmt *statement = NULL;
    *out = (struct tn_store_record){.version = 0};
    tn_value why = record_lookup(store, want_value ? SELECT_RECORD ", json, bytes" AT : SELECT_RECORD AT, collection,
                                 key, now, &statement);
    if (why == NULL && store->row.id != 0 && !store->row.expired) {
        out->version = store->row.version;
        if (want_value) why = database_read_value(store, statement, 4, 5, &out->value, &out->size);
    }
    (void)sqlite3_reset(statement);
    return why;
}

static tn_value record_run_with_id(tn_store *store, const char *sql, int64_t id) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, sql, &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, id);
    return database_run(store, statement);
}

/* Removes the record's rows in `texts` and `vectors`. `which`: FOUND_BY_… bits. */
static tn_value record_remove_search_data(tn_store *store, int64_t id, int which) {
    tn_value why = NULL;
    if (which & FOUND_BY_WORDS) why = record_run_with_id(store, "DELETE FROM texts WHERE rowid = ?", id);
    if (why == NULL && which & FOUND_BY_VECTOR) why = record_run_with_id(store, "DELETE FROM vectors WHERE id = ?", id);
    return why;
}

static tn_value record_write_vector(tn_store *store, int64_t id, const struct tn_store_attributes *attributes) {
    uint64_t size = attributes->vector_count * sizeof(uint32_t);
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, "INSERT INTO vectors (id, vector) VALUES (?, ?)", &statement);
    uint32_t *packed = why == NULL ? tn_store_alloc(size) : NULL;
    if (packed == NULL) return why != NULL ? why : tn_store_failure_memory();
    memcpy(packed, attributes->vector, size);
    for (uint64_t i = 0; i < attributes->vector_count; i++) packed[i] = htole32(packed[i]);
    (void)sqlite3_bind_int64(statement, 1, id);
    (void)sqlite3_bind_blob64(statement, 2, packed, size, SQLITE_STATIC);
    why = database_run(store, statement);
    tn_store_free(packed);
    return why;
}

static tn_value record_write_search_data(tn_store *store, int64_t id, const struct tn_store_attributes *attributes) {
    sqlite3_stmt *statement = NULL;
    tn_value why = NULL;
    if (attributes->words_action == TN_STORE_SET) {
        why = database_prepare(store, "INSERT INTO texts (rowid, words) VALUES (?, ?)", &statement);
        if (why != NULL) return why;
        (void)sqlite3_bind_int64(statement, 1, id);
        database_bind_text(statement, 2, attributes->words);
        why = database_run(store, statement);
    }
    return why == NULL && attributes->vector_action == TN_STORE_SET ? record_write_vector(store, id, attributes) : why;
}

/* Returns the FOUND_BY_… bits of the search data that the write leaves unchanged. */
static int record_kept_search_data(const struct row *before, const struct tn_store_attributes *attributes) {
    int bits = before->id != 0 && !before->expired ? before->found_by : 0;
    if (attributes->words_action != TN_STORE_KEEP) bits &= ~FOUND_BY_WORDS;
    if (attributes->vector_action != TN_STORE_KEEP) bits &= ~FOUND_BY_VECTOR;
    return bits;
}

static void record_bind_value(sqlite3_stmt *statement, const struct tn_store_change *change) {
    if (change->json.data != NULL) {
        database_bind_text(statement, 2, change->json);
        (void)sqlite3_bind_null(statement, 3);
        return;
    }
    const void *bytes = tn.value->as_bytes(change->value, NULL);
    (void)sqlite3_bind_null(statement, 2);
    (void)sqlite3_bind_blob64(statement, 3, bytes != NULL ? bytes : "", change->size, SQLITE_STATIC);
}

tn_value records_write(tn_store *store, const struct tn_store_change *change, int64_t now) {
    static const char insert[] = "INSERT INTO records (version, json, bytes, expires_at, found_by, collection, key)"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?)";
    static const char update[] =
        "UPDATE records SET version = ?, json = ?, bytes = ?, expires_at = ?, found_by = ? WHERE id = ?";
    const struct tn_store_attributes *attributes = change->attributes;
    sqlite3_stmt *statement = NULL;
    tn_value why = NULL;
    if (!store->row.known) { /* the record came from a list */
        why = record_lookup(store, SELECT_RECORD AT, change->collection, change->key, now, &statement);
        (void)sqlite3_reset(statement);
        if (why != NULL) return why;
    }
    struct row before = store->row;
    bool stays = before.id != 0 && !before.expired;
    int bits = record_kept_search_data(&before, attributes);
    if (before.id != 0) why = record_remove_search_data(store, before.id, before.found_by & ~bits);
    if (attributes->words_action == TN_STORE_SET) bits |= FOUND_BY_WORDS;
    if (attributes->vector_action == TN_STORE_SET) bits |= FOUND_BY_VECTOR;
    store->row.known = false;
    if (why == NULL) why = database_prepare(store, before.id != 0 ? update : insert, &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, change->version);
    record_bind_value(statement, change);
    if (attributes->expires_action == TN_STORE_SET)
        (void)sqlite3_bind_int64(statement, 4, attributes->expires_at);
    else if (attributes->expires_action == TN_STORE_KEEP && stays && before.expires)
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
    return why != NULL ? why : record_write_search_data(store, id, attributes);
}

tn_value records_remove(tn_store *store, struct tn_store_text collection, struct tn_store_text key) {
    struct row row = store->row; /* of the record, because records_find was called before */
    (void)collection, (void)key;
    store->row.known = false;
    tn_value why = record_remove_search_data(store, row.id, row.found_by);
    return why != NULL ? why : record_run_with_id(store, "DELETE FROM records WHERE id = ?", row.id);
}

/* ---- Ranges ---- */

static void record_add_range(struct sql *sql, const struct tn_store_selection *selection) {
    sql_add(sql, " FROM records WHERE collection = ");
    sql_bind_text(sql, selection->collection);
    if (selection->range.from.data != NULL) {
        sql_add(sql, " AND key >= ");
        sql_bind_text(sql, selection->range.from);
    }
    if (selection->range.to.data != NULL) {
        sql_add(sql, " AND key < ");
        sql_bind_text(sql, selection->range.to);
    }
}

/* Runs a statement that consists of `before`, the FROM and WHERE clauses for the key range, and `after`. */
static tn_value record_run_range(tn_store *store, const char *before, const struct tn_store_selection *selection,
                                 const char *after) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sqlite3_stmt *statement = NULL;
    sql_init(&sql, &arena);
    sql_add(&sql, before);
    record_add_range(&sql, selection);
    sql_add(&sql, after);
    tn_value why = sql_prepare(&sql, store, &statement);
    if (why == NULL) why = database_run(store, statement);
    tn_arena_free(&arena);
    return why;
}

tn_value records_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                              int64_t *count) {
    store->row.known = false;
    tn_value why = lists_count(store, selection, now, count);
    if (why == NULL)
        why = record_run_range(store, "DELETE FROM texts WHERE rowid IN (SELECT id", selection, " AND found_by & 1)");
    if (why == NULL)
        why = record_run_range(store, "DELETE FROM vectors WHERE id IN (SELECT id", selection, " AND found_by & 2)");
    return why != NULL ? why : record_run_range(store, "DELETE", selection, "");
}

static tn_value records_run_expired(tn_store *store, const char *sql, int64_t now) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, sql, &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, now);
    (void)sqlite3_bind_int(statement, 2, EXPIRED_AT_ONCE);
    return database_run(store, statement);
}

tn_value records_remove_expired(tn_store *store, int64_t now, int64_t *count) {
#define EXPIRED "(SELECT id FROM records WHERE expires_at <= ? ORDER BY expires_at, id LIMIT ?)"
    tn_value why = records_begin(store);
    if (why == NULL) why = records_run_expired(store, "DELETE FROM texts WHERE rowid IN " EXPIRED, now);
    if (why == NULL) why = records_run_expired(store, "DELETE FROM vectors WHERE id IN " EXPIRED, now);
    if (why == NULL) why = records_run_expired(store, "DELETE FROM records WHERE id IN " EXPIRED, now);
    *count = why == NULL ? sqlite3_changes64(store->database) : 0;
    if (why == NULL) why = records_commit(store);
    if (why != NULL) records_rollback(store);
    return why;
}

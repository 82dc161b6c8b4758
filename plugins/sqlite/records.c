/*
 * records.c - finds and writes records. Each batch is one transaction, or a part of the transaction of a group.
 *
 * The transaction takes the write lock before it reads, so what it has read is still valid when it writes. Other
 * writers wait for up to busy_ms. The rows of a record in `texts` and `vectors` change in the same transaction as the
 * record.
 *
 * A group (tn_store_draft, `group`) makes many batches durable at once. Its transaction starts with its first batch.
 * Most batches that fail do so before they write; that does not affect the others. A batch that fails later undoes the
 * whole group, whose end fails, so that the host repeats the requests one by one. That is rare, and savepoints are not
 * free: SQLite copies each page that is written after one. After such a failure, the next groups have them. The group
 * also ends if SQLite rolls back the transaction, for example because the disk is full.
 */
#include "records.h"
#include "checkpoint.h"
#include "sql.h"
#include "vector_codes.h"
#include <endian.h>

#define CAREFUL_GROUPS  100  /* that have savepoints, after a group was undone because of one batch */
#define EXPIRED_AT_ONCE 1000 /* limit of records removed in one transaction, because other writers wait for it */

/* ---- Transactions ---- */

static tn_value run_sql(tn_store *store, const char *sql) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, sql, &statement);
    return why != NULL ? why : database_run(store, statement);
}

static uint32_t data_version(tn_store *store) {
    uint32_t version = 0;
    (void)sqlite3_file_control(store->database, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

/* In a transaction that may write: forgets what was changed by others since the last one. */
static tn_value transaction_catch_up(tn_store *store) {
    uint32_t version = data_version(store);
    if (version == store->cache.version && store->schema_version >= 0) return NULL;
    cache_clear(&store->cache);
    return catalog_refresh(store);
}

static void roll_back(tn_store *store) {
    /* SQLite has already rolled back after some failures. */
    if (!sqlite3_get_autocommit(store->database)) (void)sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    if (store->added_collection) catalog_forget(store);
    store->added_collection = false;
    cache_clear(&store->cache);
    checkpoint_transaction_ended(store->checkpointer);
}

static tn_value transaction_begin(tn_store *store) {
    checkpoint_transaction_begins(store->checkpointer);
    tn_value why = run_sql(store, "BEGIN IMMEDIATE");
    if (why == NULL) why = transaction_catch_up(store);
    if (why != NULL) roll_back(store);
    return why;
}

static tn_value transaction_commit(tn_store *store) {
    tn_value why = run_sql(store, "COMMIT");
    if (why != NULL) return why;
    store->added_collection = false;
    store->cache.version = data_version(store);
    checkpoint_transaction_ended(store->checkpointer);
    return NULL;
}

tn_value records_begin(tn_store *store) {
    store->row = (struct row){.known = false};
    store->wrote = false;
    if (store->read_only)
        return tn_store_failure("STORE_READ_ONLY", "%s: is open with read_only and cannot be written to", store->path);
    if (!store->in_group) return transaction_begin(store);
    if (store->group_failure != NULL) return tn_retain(store->group_failure);
    tn_value why = sqlite3_get_autocommit(store->database) ? transaction_begin(store) : NULL;
    if (why != NULL) store->group_failure = tn_retain(why); /* the other batches would wait as long for the lock */
    return why == NULL && store->careful > 0 ? run_sql(store, "SAVEPOINT batch") : why;
}

tn_value records_commit(tn_store *store) {
    if (!store->in_group) return transaction_commit(store);
    return store->careful > 0 ? run_sql(store, "RELEASE batch") : NULL;
}

/* Undoes a batch of a group. The reason is that of the connection's last error, if SQLite has rolled back. */
static tn_value group_undo_batch(tn_store *store) {
    if (sqlite3_get_autocommit(store->database)) return database_failure(store);
    if (store->careful > 0) {
        tn_value why = run_sql(store, "ROLLBACK TO batch");
        return why != NULL ? why : run_sql(store, "RELEASE batch");
    }
    if (!store->wrote) return NULL;
    store->careful = CAREFUL_GROUPS + 1;
    return tn_store_failure("CONFLICT", "%s: another batch of the group was refused; nothing was written", store->path);
}

void records_rollback(tn_store *store) {
    if (!store->in_group) {
        roll_back(store);
        return;
    }
    if (store->group_failure != NULL) return;
    store->group_failure = group_undo_batch(store);
    if (store->group_failure != NULL) roll_back(store);
    if (store->added_collection) catalog_forget(store);
    if (store->wrote) cache_clear(&store->cache);
}

tn_value records_group_begin(tn_store *store) {
    if (store->in_group) return tn_store_failure("INVALID", "a group is open already");
    store->in_group = true;
    return NULL;
}

tn_value records_group_end(tn_store *store) {
    if (!store->in_group) return tn_store_failure("INVALID", "no group is open");
    tn_value why = store->group_failure;
    store->group_failure = NULL;
    store->in_group = false;
    if (store->careful > 0) store->careful--;
    if (why == NULL && !sqlite3_get_autocommit(store->database)) why = transaction_commit(store);
    if (why != NULL) roll_back(store);
    return why;
}

/* ---- One record ---- */

static tn_value record_lookup(tn_store *store, const char *sql, int64_t collection, struct tn_store_text key,
                              int64_t now, sqlite3_stmt **statement) {
    struct row *row = &store->row;
    *row = (struct row){.known = false};
    tn_value why = database_prepare(store, sql, statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(*statement, 1, collection);
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
#define AT            " FROM entries WHERE collection = ? AND key = ?"

static bool record_find_in_cache(tn_store *store, const struct collection *of, struct tn_store_text key, int64_t now,
                                 struct tn_store_record *out) {
    const struct cached *cached = cache_find(&store->cache, of->id, key);
    if (cached == NULL) return false;
    store->row = cached->row;
    store->row.expired = cached->row.expires && cached->row.expires_at <= now;
    if (store->row.expired) return true;
    *out = (struct tn_store_record){
        .version = cached->row.version, .value = tn_retain(cached->value), .size = cached->size};
    return true;
}

tn_value records_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, int64_t now,
                      bool want_value, struct tn_store_record *out) {
    sqlite3_stmt *statement = NULL;
    const struct collection *of = NULL;
    /* Outside of a transaction, others may have changed the record. */
    bool cached = want_value && !sqlite3_get_autocommit(store->database) && !store->read_only;
    *out = (struct tn_store_record){.version = 0};
    tn_value why = catalog_find(store, collection, &of);
    if (why != NULL || (cached && record_find_in_cache(store, of, key, now, out))) return why;
    why = record_lookup(store, want_value ? SELECT_RECORD ", json, bytes" AT : SELECT_RECORD AT, of->id, key, now,
                        &statement);
    if (why == NULL && store->row.id != 0 && !store->row.expired) {
        out->version = store->row.version;
        if (want_value) why = database_read_value(store, statement, 4, 5, &out->value, &out->size);
        if (why == NULL && cached) cache_put(&store->cache, of->id, key, &store->row, out->value, out->size);
    }
    if (statement != NULL) (void)sqlite3_reset(statement);
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
    if (why == NULL && which & FOUND_BY_VECTOR) why = codes_remove(store, id);
    return why;
}

static tn_value record_write_vector(tn_store *store, int64_t collection, int64_t id,
                                    const struct tn_store_attributes *attributes) {
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
    return why != NULL ? why : codes_add(store, collection, id, attributes->vector, attributes->vector_count);
}

static tn_value record_write_search_data(tn_store *store, int64_t collection, int64_t id,
                                         const struct tn_store_attributes *attributes) {
    sqlite3_stmt *statement = NULL;
    tn_value why = NULL;
    if (attributes->words_action == TN_STORE_SET) {
        why = database_prepare(store, "INSERT INTO texts (rowid, words) VALUES (?, ?)", &statement);
        if (why != NULL) return why;
        (void)sqlite3_bind_int64(statement, 1, id);
        database_bind_text(statement, 2, attributes->words);
        why = database_run(store, statement);
    }
    if (why != NULL || attributes->vector_action != TN_STORE_SET) return why;
    return record_write_vector(store, collection, id, attributes);
}

/* Returns the FOUND_BY_… bits of the search data that the write leaves unchanged. */
static int record_kept_search_data(const struct row *before, const struct tn_store_attributes *attributes) {
    int bits = before->id != 0 && !before->expired ? before->found_by : 0;
    if (attributes->words_action != TN_STORE_KEEP) bits &= ~FOUND_BY_WORDS;
    if (attributes->vector_action != TN_STORE_KEEP) bits &= ~FOUND_BY_VECTOR;
    return bits;
}

/* The first parameters of each statement that writes a record: version, json, bytes. */
static void record_bind_value(sqlite3_stmt *statement, const struct tn_store_change *change) {
    (void)sqlite3_bind_int64(statement, 1, change->version);
    if (change->json.data != NULL) {
        database_bind_text(statement, 2, change->json);
        return;
    }
    const void *bytes = tn.value->as_bytes(change->value, NULL);
    (void)sqlite3_bind_blob64(statement, 3, bytes != NULL ? bytes : "", change->size, SQLITE_STATIC);
}

/* Binds the indexed members to the four parameters from `at` on. */
static void record_bind_members(sqlite3_stmt *statement, int at, const struct collection *collection,
                                const struct tn_store_change *change) {
    for (unsigned i = 0; i < collection->count; i++)
        catalog_bind(statement, at + collection->members[i].place - 1, &collection->members[i], change->value);
}

/* *out is the id of the new record; 0 if there is one with this key. */
static tn_value record_insert(tn_store *store, const struct collection *collection,
                              const struct tn_store_change *change, int64_t *out) {
    static const char insert[] = "INSERT OR IGNORE INTO entries"
                                 " (version, json, bytes, expires_at, found_by, collection, key, m1, m2, m3, m4)"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    const struct tn_store_attributes *attributes = change->attributes;
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, insert, &statement);
    if (why != NULL) return why;
    record_bind_value(statement, change);
    if (attributes->expires_action == TN_STORE_SET) (void)sqlite3_bind_int64(statement, 4, attributes->expires_at);
    (void)sqlite3_bind_int(statement, 5,
                           (attributes->words_action == TN_STORE_SET ? FOUND_BY_WORDS : 0) |
                               (attributes->vector_action == TN_STORE_SET ? FOUND_BY_VECTOR : 0));
    (void)sqlite3_bind_int64(statement, 6, collection->id);
    database_bind_text(statement, 7, change->key);
    record_bind_members(statement, 8, collection, change);
    why = database_run(store, statement);
    bool inserted = why == NULL && sqlite3_changes64(store->database) > 0;
    *out = inserted ? sqlite3_last_insert_rowid(store->database) : 0;
    return why;
}

/* Writes the value only, if the indexed members stay the same, so that no index is written. */
static tn_value record_replace_value(tn_store *store, const struct collection *collection,
                                     const struct tn_store_change *change, int64_t id, bool *replaced) {
    static const char update[] = "UPDATE entries SET version = ?, json = ?, bytes = ? WHERE id = ?";
    static const char update_same[] = "UPDATE entries SET version = ?, json = ?, bytes = ? WHERE id = ?"
                                      " AND m1 IS ? AND m2 IS ? AND m3 IS ? AND m4 IS ?";
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, collection->count > 0 ? update_same : update, &statement);
    if (why != NULL) return why;
    record_bind_value(statement, change);
    (void)sqlite3_bind_int64(statement, 4, id);
    record_bind_members(statement, 5, collection, change);
    why = database_run(store, statement);
    *replaced = why == NULL && sqlite3_changes64(store->database) > 0;
    return why;
}

/* *row becomes what the record is then. */
static tn_value record_replace(tn_store *store, const struct collection *collection,
                               const struct tn_store_change *change, struct row *row) {
    static const char update[] = "UPDATE entries SET version = ?, json = ?, bytes = ?, expires_at = ?, found_by = ?,"
                                 " m1 = ?, m2 = ?, m3 = ?, m4 = ? WHERE id = ?";
    const struct tn_store_attributes *attributes = change->attributes;
    const struct row before = *row;
    bool stays = !before.expired, sets = attributes->expires_action == TN_STORE_SET, done = false;
    bool expires = sets || (attributes->expires_action == TN_STORE_KEEP && stays && before.expires);
    int64_t expires_at = sets ? attributes->expires_at : before.expires_at;
    int bits = record_kept_search_data(&before, attributes);
    sqlite3_stmt *statement = NULL;
    tn_value why = record_remove_search_data(store, before.id, before.found_by & ~bits);
    if (attributes->words_action == TN_STORE_SET) bits |= FOUND_BY_WORDS;
    if (attributes->vector_action == TN_STORE_SET) bits |= FOUND_BY_VECTOR;
    bool same = bits == before.found_by && expires == before.expires && (!expires || expires_at == before.expires_at);
    *row = (struct row){.known = true,
                        .id = before.id,
                        .version = change->version,
                        .expires = expires,
                        .expires_at = expires ? expires_at : 0,
                        .found_by = bits};
    if (why == NULL && same) why = record_replace_value(store, collection, change, before.id, &done);
    if (why != NULL || done) return why;
    why = database_prepare(store, update, &statement);
    if (why != NULL) return why;
    record_bind_value(statement, change);
    if (expires) (void)sqlite3_bind_int64(statement, 4, expires_at);
    (void)sqlite3_bind_int(statement, 5, bits);
    record_bind_members(statement, 6, collection, change);
    (void)sqlite3_bind_int64(statement, 10, before.id);
    return database_run(store, statement);
}

tn_value records_write(tn_store *store, const struct tn_store_change *change, int64_t now) {
    const struct collection *collection = NULL;
    sqlite3_stmt *statement = NULL;
    tn_value why = catalog_require(store, change->collection, &collection);
    store->wrote = true;
    if (why == NULL && !store->row.known) { /* the record came from a list */
        why = record_lookup(store, SELECT_RECORD AT, collection->id, change->key, now, &statement);
        if (statement != NULL) (void)sqlite3_reset(statement);
    }
    if (why != NULL) return why;
    struct row row = store->row;
    int64_t id = row.id;
    store->row.known = false;
    if (id != 0) why = record_replace(store, collection, change, &row);
    if (why == NULL && id == 0) {
        why = record_insert(store, collection, change, &id);
        if (why == NULL && id == 0) why = database_damaged(store, "its index of keys does not have all records");
    }
    if (why == NULL && row.id != 0 && cache_find(&store->cache, collection->id, change->key) != NULL)
        cache_put(&store->cache, collection->id, change->key, &row, change->value, change->size);
    return why != NULL ? why : record_write_search_data(store, collection->id, id, change->attributes);
}

tn_value records_add(tn_store *store, const struct tn_store_change *change, int64_t now, bool *added) {
    const struct collection *collection = NULL;
    int64_t id = 0;
    (void)now;
    store->wrote = true;
    store->row.known = false;
    tn_value why = catalog_require(store, change->collection, &collection);
    if (why == NULL) why = record_insert(store, collection, change, &id);
    *added = why == NULL && id != 0;
    return why == NULL && id != 0 ? record_write_search_data(store, collection->id, id, change->attributes) : why;
}

tn_value records_remove(tn_store *store, struct tn_store_text collection, struct tn_store_text key) {
    struct row row = store->row; /* of the record, because records_find was called before */
    const struct collection *of = NULL;
    store->wrote = true;
    store->row.known = false;
    tn_value why = catalog_find(store, collection, &of);
    if (why != NULL) return why;
    cache_drop(&store->cache, of->id, key);
    why = record_remove_search_data(store, row.id, row.found_by);
    return why != NULL ? why : record_run_with_id(store, "DELETE FROM entries WHERE id = ?", row.id);
}

/* ---- Ranges ---- */

static void record_add_range(struct sql *sql, const struct tn_store_selection *selection) {
    sql_add(sql, " FROM entries WHERE collection = ");
    sql_bind_int(sql, sql->collection->id);
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
static tn_value record_run_range(tn_store *store, const struct collection *collection, const char *before,
                                 const struct tn_store_selection *selection, const char *after) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sqlite3_stmt *statement = NULL;
    sql_init(&sql, &arena, collection);
    sql_add(&sql, before);
    record_add_range(&sql, selection);
    sql_add(&sql, after);
    tn_value why = sql_prepare(&sql, store, &statement);
    if (why == NULL) why = database_run(store, statement);
    tn_arena_free(&arena);
    return why;
}

/* Removes the vectors of a range from their index. */
static tn_value record_remove_codes(tn_store *store, const struct collection *collection,
                                    const struct tn_store_selection *selection) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sqlite3_stmt *statement = NULL;
    sql_init(&sql, &arena, collection);
    sql_add(&sql, "SELECT id");
    record_add_range(&sql, selection);
    sql_add(&sql, " AND found_by & 2");
    tn_value why = sql_prepare(&sql, store, &statement);
    if (why == NULL) why = codes_remove_all(store, statement);
    tn_arena_free(&arena);
    return why;
}

/* What a range contains. */
struct range {
    int64_t rows, living; /* living: not expired */
    bool words, vectors;
};

static tn_value range_read(tn_store *store, const struct collection *collection,
                           const struct tn_store_selection *selection, int64_t now, struct range *out) {
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sqlite3_stmt *statement = NULL;
    sql_init(&sql, &arena, collection);
    sql_add(&sql, "SELECT count(*), count(CASE WHEN ifnull(expires_at, 9223372036854775807) > ");
    sql_bind_int(&sql, now);
    sql_add(&sql, " THEN 1 END), max(found_by & 1), max(found_by & 2)");
    record_add_range(&sql, selection);
    tn_value why = sql_prepare(&sql, store, &statement);
    if (why == NULL && database_step(store, statement, &why))
        *out = (struct range){sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
                              sqlite3_column_int(statement, 2) != 0, sqlite3_column_int(statement, 3) != 0};
    if (statement != NULL) (void)sqlite3_reset(statement);
    tn_arena_free(&arena);
    return why;
}

tn_value records_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t now,
                              int64_t *count) {
    const struct collection *collection = NULL;
    struct range range = {0};
    store->row.known = false;
    tn_value why = catalog_find(store, selection->collection, &collection);
    if (why == NULL && collection->id >= 0) why = range_read(store, collection, selection, now, &range);
    *count = range.living;
    if (why != NULL || range.rows == 0) return why;
    store->wrote = true;
    cache_drop_collection(&store->cache, collection->id);
    if (range.words)
        why = record_run_range(store, collection, "DELETE FROM texts WHERE rowid IN (SELECT id", selection,
                               " AND found_by & 1)");
    if (why == NULL && range.vectors) why = record_remove_codes(store, collection, selection);
    if (why == NULL && range.vectors)
        why = record_run_range(store, collection, "DELETE FROM vectors WHERE id IN (SELECT id", selection,
                               " AND found_by & 2)");
    return why != NULL ? why : record_run_range(store, collection, "DELETE", selection, "");
}

static tn_value records_run_expired(tn_store *store, const char *sql, int64_t now) {
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, sql, &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, now);
    (void)sqlite3_bind_int(statement, 2, EXPIRED_AT_ONCE);
    return database_run(store, statement);
}

static tn_value records_remove_expired_codes(tn_store *store, int64_t now) {
    static const char expired[] = "SELECT id FROM (SELECT id, found_by FROM entries WHERE expires_at <= ?"
                                  " ORDER BY expires_at, id LIMIT ?) WHERE found_by & 2";
    sqlite3_stmt *statement = NULL;
    tn_value why = database_prepare(store, expired, &statement);
    if (why != NULL) return why;
    (void)sqlite3_bind_int64(statement, 1, now);
    (void)sqlite3_bind_int(statement, 2, EXPIRED_AT_ONCE);
    return codes_remove_all(store, statement);
}

tn_value records_remove_expired(tn_store *store, int64_t now, int64_t *count) {
#define EXPIRED "(SELECT id FROM entries WHERE expires_at <= ? ORDER BY expires_at, id LIMIT ?)"
    tn_value why = records_begin(store);
    if (why == NULL) why = records_run_expired(store, "DELETE FROM texts WHERE rowid IN " EXPIRED, now);
    if (why == NULL) why = records_remove_expired_codes(store, now);
    if (why == NULL) why = records_run_expired(store, "DELETE FROM vectors WHERE id IN " EXPIRED, now);
    if (why == NULL) why = records_run_expired(store, "DELETE FROM entries WHERE id IN " EXPIRED, now);
    cache_clear(&store->cache);
    *count = why == NULL ? sqlite3_changes64(store->database) : 0;
    if (why == NULL) why = records_commit(store);
    if (why != NULL) records_rollback(store);
    return why;
}

/*
 * flush.c - writes the changed entries of a batch.
 *
 * Rows that exist were locked before, so they are updated and deleted by their key. Others are inserted; the primary
 * key finds out whether another transaction was faster. Each kind of change of a table is one statement for all
 * entries, or several if they are large.
 */
#include "batch.h"
#include "encode.h"
#include "terms.h"
#include <endian.h>
#include <tenon/store/filter.h>

#define FLUSH_BYTES_MAX ((uint64_t)16 << 20) /* of the values in one statement */

enum change { CHANGE_INSERT, CHANGE_UPDATE, CHANGE_DELETE };

static enum change entry_change(const struct entry *entry) {
    if (entry->state == ENTRY_REMOVED) return CHANGE_DELETE;
    return entry->stored ? CHANGE_UPDATE : CHANGE_INSERT;
}

/* The parameters of one statement. */
struct rows {
    struct array ids, keys, versions, expires, found_by, json, bytes, members[CONNECTION_MEMBERS];
    uint64_t count, size, member_count;
};

static void rows_init(struct rows *rows, struct tn_arena *arena, bool hot) {
    array_init(&rows->ids, arena, SQL_INT4);
    array_init(&rows->keys, arena, SQL_BYTEA);
    array_init(&rows->versions, arena, SQL_INT8);
    array_init(&rows->expires, arena, SQL_INT8);
    array_init(&rows->found_by, arena, SQL_INT2);
    array_init(&rows->json, arena, SQL_BYTEA);
    array_init(&rows->bytes, arena, SQL_BYTEA);
    for (int i = 0; i < CONNECTION_MEMBERS && hot; i++) array_init(&rows->members[i], arena, SQL_BYTEA);
    rows->count = rows->size = rows->member_count = 0;
}

static void rows_add(struct rows *rows, const struct entry *entry, enum change change) {
    struct tn_store_text bytes = {NULL, 0};
    rows->count++;
    array_add_int(&rows->ids, entry->collection->id);
    array_add_bytes(&rows->keys, entry->key);
    if (change == CHANGE_DELETE) return;
    if (entry->json.data == NULL) {
        bytes.data = (const char *)tn.value->as_bytes(entry->value, &bytes.length);
        if (bytes.data == NULL) bytes.data = "";
    }
    array_add_int(&rows->versions, entry->version);
    if (entry->expires_at == INT64_MAX)
        array_add_null(&rows->expires);
    else
        array_add_int(&rows->expires, entry->expires_at);
    array_add_int(&rows->found_by, entry->found_by);
    array_add_bytes(&rows->json, entry->json);
    array_add_bytes(&rows->bytes, bytes);
    for (uint64_t i = 0; i < CONNECTION_MEMBERS && entry->collection->hot; i++) {
        char encoded[ENCODE_MAX];
        if (i < entry->collection->member_count)
            array_add_bytes(
                &rows->members[i],
                (struct tn_store_text){
                    encoded, encode_member_start(tn_store_path_get(&entry->collection->members[i], entry->value),
                                                 entry->collection->starts[i], encoded)});
        else
            array_add_null(&rows->members[i]);
    }
    if (entry->collection->hot && entry->collection->member_count > rows->member_count)
        rows->member_count = entry->collection->member_count;
    rows->size += entry->size;
}

/* Appends a bracket with the names of the columns, each after `prefix`. */
static void sql_add_names(struct sql *sql, const struct rows *rows, const char *prefix) {
    static const char *const names[] = {"collection", "key", "version", "expires_at", "found_by", "json", "bytes"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        sql_add(sql, "%s%s%s", i > 0 ? ", " : "", prefix, names[i]);
    for (uint64_t i = 0; i < rows->member_count; i++) sql_add(sql, ", %sm%llu", prefix, (unsigned long long)i + 1);
}

static void sql_add_unnest(struct sql *sql, struct rows *rows, bool keys_only) {
    struct array *const arrays[] = {&rows->ids,      &rows->keys, &rows->versions, &rows->expires,
                                    &rows->found_by, &rows->json, &rows->bytes};
    sql_add(sql, "unnest(");
    for (size_t i = 0; i < (keys_only ? 2 : sizeof arrays / sizeof *arrays); i++) {
        if (i > 0) sql_add(sql, ", ");
        sql_bind_array(sql, arrays[i]);
    }
    for (uint64_t i = 0; i < rows->member_count && !keys_only; i++) {
        sql_add(sql, ", ");
        sql_bind_array(sql, &rows->members[i]);
    }
    sql_add(sql, ") AS u(");
    if (keys_only)
        sql_add(sql, "collection, key");
    else
        sql_add_names(sql, rows, "");
    sql_add(sql, ")");
}

static tn_value rows_send(tn_store *store, struct rows *rows, const char *table, enum change change) {
    const char *schema = store->settings.schema_sql;
    struct sql sql;
    if (rows->count == 0) return NULL;
    sql_init(&sql, &store->batch->arena);
    switch (change) {
    case CHANGE_INSERT:
        sql_add(&sql, "INSERT INTO %s.%s (", schema, table);
        sql_add_names(&sql, rows, "");
        sql_add(&sql, ") SELECT ");
        sql_add_names(&sql, rows, "u.");
        sql_add(&sql, " FROM ");
        sql_add_unnest(&sql, rows, false);
        break;
    case CHANGE_UPDATE:
        sql_add(
            &sql,
            "UPDATE %s.%s r SET version = u.version, expires_at = u.expires_at, found_by = u.found_by, json = u.json,"
            " bytes = u.bytes",
            schema, table);
        for (uint64_t i = 0; i < rows->member_count; i++)
            sql_add(&sql, ", m%llu = u.m%llu", (unsigned long long)i + 1, (unsigned long long)i + 1);
        sql_add(&sql, " FROM ");
        sql_add_unnest(&sql, rows, false);
        sql_add(&sql, " WHERE r.collection = u.collection AND r.key = u.key");
        break;
    default:
        sql_add(&sql, "DELETE FROM %s.%s r USING ", schema, table);
        sql_add_unnest(&sql, rows, true);
        sql_add(&sql, " WHERE r.collection = u.collection AND r.key = u.key");
    }
    return connection_send(store, &sql);
}

/* Sends one kind of change of one table. */
static tn_value flush_changes(tn_store *store, bool hot, enum change change) {
    const char *table = hot ? "hot" : "records";
    struct rows rows;
    tn_value why = NULL;
    bool started = false;
    for (const struct entry *entry = store->batch->changed; why == NULL && entry != NULL; entry = entry->next_changed) {
        if (entry->collection->hot != hot || entry_change(entry) != change) continue;
        if (change == CHANGE_DELETE && !entry->stored) continue;
        if (!started) rows_init(&rows, &store->batch->arena, hot);
        started = true;
        rows_add(&rows, entry, change);
        if (rows.size < FLUSH_BYTES_MAX) continue;
        why = rows_send(store, &rows, table, change);
        if (why == NULL) why = connection_run(store); /* so that little memory is used */
        started = false;
    }
    return why == NULL && started ? rows_send(store, &rows, table, change) : why;
}

/* ---- Search data ---- */

static tn_value search_data_remove(tn_store *store, const struct entry *entry, const char *table) {
    struct sql sql;
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "DELETE FROM %s.%s WHERE collection = %d AND key = ", store->settings.schema_sql, table,
            entry->collection->id);
    sql_bind_bytes(&sql, entry->key);
    return connection_send(store, &sql);
}

static tn_value words_send(tn_store *store, const struct entry *entry) {
    struct array terms, counts;
    struct sql sql;
    int64_t total = 0;
    tn_value why = terms_count(&store->batch->arena, entry->words, &terms, &counts, &total);
    if (why != NULL) return why;
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "INSERT INTO %s.texts (collection, key, words, total, terms, counts) VALUES (%d, ",
            store->settings.schema_sql, entry->collection->id);
    sql_bind_bytes(&sql, entry->key);
    sql_add(&sql, ", ");
    sql_bind_bytes(&sql,
                   (struct tn_store_text){entry->words.data != NULL ? entry->words.data : "", entry->words.length});
    sql_add(&sql, ", ");
    sql_bind_int8(&sql, total);
    sql_add(&sql, ", ");
    sql_bind_array(&sql, &terms);
    sql_add(&sql, ", ");
    sql_bind_array(&sql, &counts);
    sql_add(&sql, ")");
    return connection_send(store, &sql);
}

static tn_value vector_send(tn_store *store, const struct entry *entry) {
    uint64_t size = entry->vector_count * sizeof(uint32_t);
    uint32_t *packed = tn_arena_alloc(&store->batch->arena, size + 1);
    struct sql sql;
    if (packed == NULL) return tn_store_failure_memory();
    memcpy(packed, entry->vector, size);
    for (uint64_t i = 0; i < entry->vector_count; i++) packed[i] = htole32(packed[i]);
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "INSERT INTO %s.vectors (collection, key, vector) VALUES (%d, ", store->settings.schema_sql,
            entry->collection->id);
    sql_bind_bytes(&sql, entry->key);
    sql_add(&sql, ", ");
    sql_bind_bytes(&sql, (struct tn_store_text){(const char *)packed, size});
    sql_add(&sql, ")");
    return connection_send(store, &sql);
}

static tn_value flush_search_data(tn_store *store, const struct entry *entry) {
    tn_value why = NULL;
    if (entry->words_action != TN_STORE_KEEP && entry->stored_found_by & FOUND_BY_WORDS)
        why = search_data_remove(store, entry, "texts");
    if (why == NULL && entry->vector_action != TN_STORE_KEEP && entry->stored_found_by & FOUND_BY_VECTOR)
        why = search_data_remove(store, entry, "vectors");
    if (entry->state != ENTRY_WRITTEN) return why;
    if (why == NULL && entry->words_action == TN_STORE_SET) why = words_send(store, entry);
    if (why == NULL && entry->vector_action == TN_STORE_SET) why = vector_send(store, entry);
    return why;
}

/* ---- All ---- */

tn_value flush_send(tn_store *store) {
    struct batch *batch = store->batch;
    tn_value why = NULL;
    for (int hot = 1; why == NULL && hot >= 0; hot--)
        for (int change = CHANGE_INSERT; why == NULL && change <= CHANGE_DELETE; change++)
            why = flush_changes(store, hot, (enum change)change);
    for (const struct entry *entry = batch->changed; why == NULL && entry != NULL; entry = entry->next_changed)
        if (entry->words_action != TN_STORE_KEEP || entry->vector_action != TN_STORE_KEEP)
            why = flush_search_data(store, entry);
    return why;
}

tn_value batch_flush(tn_store *store) {
    struct batch *batch = store->batch;
    if (batch->changed == NULL) return NULL;
    tn_value why = flush_send(store);
    if (why == NULL) why = connection_run(store);
    for (struct entry *entry = batch->changed; why == NULL && entry != NULL; entry = entry->next_changed) {
        entry->stored = entry->state == ENTRY_WRITTEN;
        entry->stored_found_by = entry->stored ? entry->found_by : 0;
        entry->state = ENTRY_CLEAN;
        entry->changed = false;
        entry->words_action = entry->vector_action = TN_STORE_KEEP;
    }
    batch->changed = NULL;
    batch->last_changed = &batch->changed;
    batch->flushed = true;
    return why;
}

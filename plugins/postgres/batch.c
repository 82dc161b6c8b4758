/*
 * batch.c - see batch.h.
 *
 * A record that does not exist cannot be locked. If another transaction creates it meanwhile, the INSERT of round 2
 * violates the primary key, and postgres.c repeats the batch.
 */
#include "batch.h"
#include "schema.h"
#include "watch.h"
#include <stdlib.h>
#include <time.h>

#define EARLY_OPERATIONS 512 /* operations before a delete_range that are compared with it */
#define RECOVER_PAUSE_MS 200

/* ---- Entries ---- */

static uint64_t entry_hash(const struct collection *collection, struct tn_store_text key) {
    uint64_t hash = 1469598103934665603u ^ (uint64_t)collection->id;
    for (uint64_t i = 0; i < key.length; i++) hash = (hash ^ (unsigned char)key.data[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

struct entry *batch_entry(tn_store *store, struct collection *collection, struct tn_store_text key) {
    struct batch *batch = store->batch;
    struct entry **at = &batch->table[entry_hash(collection, key) & (batch->table_size - 1)];
    for (struct entry *entry = *at; entry != NULL; entry = entry->next)
        if (entry->collection == collection && tn_store_text_compare(entry->key, key) == 0) return entry;
    struct entry *entry = tn_arena_alloc(&batch->arena, sizeof *entry);
    char *copy = tn_arena_copy(&batch->arena, key.data, key.length);
    if (entry == NULL || copy == NULL) return NULL;
    *entry = (struct entry){.next = *at, .collection = collection, .key = {copy, key.length}, .expires_at = INT64_MAX};
    return *at = entry;
}

static const char *collection_table(const struct collection *collection) { return collection->hot ? "hot" : "records"; }

void sql_add_columns(struct sql *sql, const char *want) {
    sql_add(sql,
            "r.version, r.expires_at, r.found_by,"
            " CASE WHEN %s AND octet_length(r.json) <= %d THEN r.json END,"
            " CASE WHEN %s AND octet_length(r.bytes) <= %d THEN r.bytes END",
            want, BATCH_INLINE_MAX, want, BATCH_INLINE_MAX);
}

static tn_value value_read(const tn_store *store, struct tn_store_text json, struct tn_store_text bytes, tn_value *out,
                           uint64_t *size) {
    *size = json.data != NULL ? json.length : bytes.length;
    if (json.data == NULL) {
        *out = tn_bytes(bytes.data, bytes.length);
        return *out != NULL ? NULL : tn_store_failure_memory();
    }
    return tn.value->from_json(tn.host, json.data, json.length, out, NULL) == TN_OK
               ? NULL
               : connection_damaged(store, "a record's value is not JSON");
}

static void entry_forget_value(struct entry *entry) {
    tn_release(entry->value);
    entry->value = NULL;
}

static void entry_set_absent(struct entry *entry) {
    entry->version = 0;
    entry->expires_at = INT64_MAX;
    entry->found_by = 0;
    entry_forget_value(entry);
}

tn_value entry_read_row(tn_store *store, struct entry *entry, const PGresult *result, int row, int column) {
    struct tn_store_text json = result_bytes(result, row, column + 3), bytes = result_bytes(result, row, column + 4);
    if (entry->known) return NULL;
    entry->known = entry->stored = true;
    entry->version = result_int(result, row, column);
    entry->expires_at = result_is_null(result, row, column + 1) ? INT64_MAX : result_int(result, row, column + 1);
    entry->stored_found_by = entry->found_by = (int)result_int(result, row, column + 2);
    if (entry->version < 1 || entry->version == INT64_MAX)
        return connection_damaged(store, "the version of a record is not valid");
    if (entry->expires_at <= store->batch->now) {
        entry_set_absent(entry);
        return NULL;
    }
    return json.data != NULL || bytes.data != NULL ? value_read(store, json, bytes, &entry->value, &entry->size) : NULL;
}

tn_value entry_need_value(tn_store *store, struct entry *entry) {
    struct sql sql;
    if (entry->value != NULL || entry->version == 0) return NULL;
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "SELECT json, bytes FROM %s.%s WHERE collection = %d AND key = ", store->settings.schema_sql,
            collection_table(entry->collection), entry->collection->id);
    sql_bind_bytes(&sql, entry->key);
    tn_value why = connection_query(store, &sql);
    if (why != NULL) return why;
    const PGresult *result = connection_result(store, 0);
    if (PQntuples(result) != 1) return connection_damaged(store, "a locked record has disappeared");
    return value_read(store, result_bytes(result, 0, 0), result_bytes(result, 0, 1), &entry->value, &entry->size);
}

/* Reads and locks a record that round 1 has not read. */
static tn_value entry_fetch(tn_store *store, struct entry *entry) {
    struct sql sql;
    if (entry->known) return NULL;
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "SELECT ");
    sql_add_columns(&sql, "true");
    sql_add(&sql, " FROM %s.%s r WHERE r.collection = %d AND r.key = ", store->settings.schema_sql,
            collection_table(entry->collection), entry->collection->id);
    sql_bind_bytes(&sql, entry->key);
    sql_add(&sql, " FOR UPDATE");
    tn_value why = connection_query(store, &sql);
    const PGresult *result = why == NULL ? connection_result(store, 0) : NULL;
    if (why == NULL && PQntuples(result) > 0) why = entry_read_row(store, entry, result, 0, 0);
    entry->known = true;
    return why;
}

static void entry_set_changed(struct batch *batch, struct entry *entry, enum entry_state state) {
    entry->state = state;
    if (entry->changed) return;
    entry->changed = true;
    entry->next_changed = NULL;
    *batch->last_changed = entry;
    batch->last_changed = &entry->next_changed;
}

/* ---- Round 1 ---- */

tn_value batch_prepare(tn_store *store, const struct tn_store_operation *operations, uint64_t count) {
    struct batch *batch = tn_store_alloc(sizeof *batch);
    if (batch == NULL) return tn_store_failure_memory();
    batch->arena = (struct tn_arena)TN_ARENA;
    batch->operations = operations;
    batch->count = count;
    batch->last_changed = &batch->changed;
    for (batch->table_size = 16; batch->table_size < count * 2;) batch->table_size *= 2;
    batch->table = tn_store_alloc(batch->table_size * sizeof *batch->table);
    store->batch = batch;
    return batch->table != NULL ? NULL : tn_store_failure_memory();
}

static void batch_free(tn_store *store) {
    struct batch *batch = store->batch;
    if (batch == NULL) return;
    for (uint64_t i = 0; batch->table != NULL && i < batch->table_size; i++)
        for (struct entry *entry = batch->table[i]; entry != NULL; entry = entry->next) tn_release(entry->value);
    tn_store_free(batch->table);
    tn_arena_free(&batch->arena);
    tn_store_free(batch);
    store->batch = NULL;
}

static bool operation_has_key(const struct tn_store_operation *operation) {
    return operation->kind != TN_STORE_OP_DELETE_RANGE && operation->kind != TN_STORE_OP_TAKE;
}

static bool range_contains(const struct tn_store_range *range, struct tn_store_text key) {
    return (range->from.data == NULL || tn_store_text_compare(range->from, key) <= 0) &&
           (range->to.data == NULL || tn_store_text_compare(key, range->to) < 0);
}

/* The collection of any operation: that of a range or take is in its selection. */
static struct tn_store_text operation_collection(const struct tn_store_operation *operation) {
    return operation_has_key(operation) ? operation->collection : operation->selection.collection;
}

/* True if the delete_range at `index` does not remove what an operation before it writes or reads. */
static bool range_is_independent(const struct batch *batch, uint64_t index) {
    const struct tn_store_operation *range = &batch->operations[index];
    if (index > EARLY_OPERATIONS) return false;
    for (uint64_t i = 0; i < index; i++) {
        const struct tn_store_operation *other = &batch->operations[i];
        if (tn_store_text_compare(operation_collection(other), range->selection.collection) != 0) continue;
        if (!operation_has_key(other) || range_contains(&range->selection.range, other->key)) return false;
    }
    return true;
}

static void sql_add_range(struct sql *sql, const struct tn_store_range *range) {
    if (range->from.data != NULL) {
        sql_add(sql, " AND key >= ");
        sql_bind_bytes(sql, range->from);
    }
    if (range->to.data != NULL) {
        sql_add(sql, " AND key < ");
        sql_bind_bytes(sql, range->to);
    }
}

static tn_value range_send(tn_store *store, const struct tn_store_selection *selection) {
    const struct collection *collection = schema_collection(store, selection->collection);
    struct sql sql;
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "WITH d AS (DELETE FROM %s.%s WHERE collection = %d", store->settings.schema_sql,
            collection_table(collection), collection->id);
    sql_add_range(&sql, &selection->range);
    sql_add(&sql, " RETURNING expires_at, found_by) SELECT count(*) FILTER (WHERE expires_at IS NULL OR expires_at > ");
    sql_bind_int8(&sql, store->batch->now);
    sql_add(&sql, "), coalesce(bool_or(found_by <> 0), false) FROM d");
    return connection_send(store, &sql);
}

/* Removes search data of a range whose records had some. */
static tn_value range_remove_search_data(tn_store *store, const struct tn_store_selection *selection) {
    static const char *const tables[] = {"texts", "vectors"};
    const struct collection *collection = schema_collection(store, selection->collection);
    tn_value why = NULL;
    for (int i = 0; i < 2 && why == NULL; i++) {
        struct sql sql;
        sql_init(&sql, &store->batch->arena);
        sql_add(&sql, "DELETE FROM %s.%s WHERE collection = %d", store->settings.schema_sql, tables[i], collection->id);
        sql_add_range(&sql, &selection->range);
        why = connection_query(store, &sql);
    }
    return why;
}

static int entry_compare(const void *a, const void *b) {
    const struct entry *const *left = a, *const *right = b;
    if ((*left)->collection->id != (*right)->collection->id)
        return (*left)->collection->id < (*right)->collection->id ? -1 : 1;
    return tn_store_text_compare((*left)->key, (*right)->key);
}

/* The records of one table that round 1 reads, in the order in which they are locked. */
struct prefetch {
    struct entry **entries;
    uint64_t count, slot; /* slot: of the result in the round */
};

/* Records are locked in the order of their keys, so that two batches rarely wait for each other in a circle. */
static tn_value prefetch_send(tn_store *store, struct prefetch *prefetch, const char *table) {
    struct array ids, keys, wants;
    struct sql sql;
    struct tn_arena *arena = &store->batch->arena;
    array_init(&ids, arena, SQL_INT4);
    array_init(&keys, arena, SQL_BYTEA);
    array_init(&wants, arena, SQL_INT2);
    for (uint64_t i = 0; i < prefetch->count; i++) {
        array_add_int(&ids, prefetch->entries[i]->collection->id);
        array_add_bytes(&keys, prefetch->entries[i]->key);
        array_add_int(&wants, prefetch->entries[i]->wants_value);
    }
    sql_init(&sql, arena);
    sql_add(&sql, "SELECT k.i, ");
    sql_add_columns(&sql, "k.want <> 0");
    sql_add(&sql, " FROM unnest(");
    sql_bind_array(&sql, &ids);
    sql_add(&sql, ", ");
    sql_bind_array(&sql, &keys);
    sql_add(&sql, ", ");
    sql_bind_array(&sql, &wants);
    sql_add(
        &sql,
        ") WITH ORDINALITY AS k(c, key, want, i) JOIN %s.%s r ON r.collection = k.c AND r.key = k.key FOR UPDATE OF r",
        store->settings.schema_sql, table);
    return connection_send(store, &sql);
}

static tn_value prefetch_read(tn_store *store, const struct prefetch *prefetch) {
    if (prefetch->count == 0) return NULL;
    const PGresult *result = connection_result(store, prefetch->slot);
    tn_value why = NULL;
    for (int row = 0; why == NULL && row < PQntuples(result); row++) {
        uint64_t i = (uint64_t)result_int(result, row, 0) - 1;
        if (i < prefetch->count) why = entry_read_row(store, prefetch->entries[i], result, row, 1);
    }
    for (uint64_t i = 0; i < prefetch->count; i++) prefetch->entries[i]->known = true;
    return why;
}

/* Makes the entries of all operations with keys. */
static tn_value batch_plan_keys(tn_store *store, struct prefetch tables[2]) {
    struct batch *batch = store->batch;
    for (int i = 0; i < 2; i++) {
        tables[i].entries = tn_arena_alloc(&batch->arena, (batch->count + 1) * sizeof *tables[i].entries);
        if (tables[i].entries == NULL) return tn_store_failure_memory();
    }
    for (uint64_t i = 0; i < batch->count; i++) {
        const struct tn_store_operation *operation = &batch->operations[i];
        if (!operation_has_key(operation)) continue;
        struct entry *entry = batch_entry(store, schema_collection(store, operation->collection), operation->key);
        if (entry == NULL) return tn_store_failure_memory();
        entry->wants_value |= operation->kind == TN_STORE_OP_MERGE || operation->condition.where != NULL;
        if (entry->planned) continue;
        entry->planned = true;
        struct prefetch *table = &tables[entry->collection->hot ? 0 : 1];
        table->entries[table->count++] = entry;
    }
    for (int i = 0; i < 2; i++) qsort(tables[i].entries, tables[i].count, sizeof *tables[i].entries, entry_compare);
    return NULL;
}

/* Finds or creates all collections of the batch, before the transaction. */
static tn_value batch_need_collections(tn_store *store) {
    static const char *const waking[] = {"tasks", "threads", "notifications"};
    struct batch *batch = store->batch;
    tn_value why = schema_refresh(store);
    for (uint64_t i = 0; why == NULL && i < batch->count; i++) {
        struct tn_store_text name = operation_collection(&batch->operations[i]);
        struct collection *collection = NULL;
        why = schema_lookup(store, name, true, &collection);
        if (why == NULL && collection == NULL) why = connection_damaged(store, "a collection cannot be created");
        for (size_t j = 0; j < sizeof waking / sizeof *waking; j++)
            batch->wakes |= batch->operations[i].kind != TN_STORE_OP_EXPECT && tn_store_text_is(name, waking[j]);
    }
    return why;
}

/* BEGIN, and the row of `meta`. Behind a pooler, limits must be set in each transaction. */
static tn_value batch_send_begin(tn_store *store) {
    const struct settings *settings = &store->settings;
    struct sql sql;
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "SELECT version, incarnation, epoch, (extract(epoch FROM clock_timestamp()) * 1000)::int8");
    if (!store->direct) {
        sql_add(&sql,
                ", set_config('statement_timeout', '%lld', true), set_config('lock_timeout', '%lld', true),"
                " set_config('idle_in_transaction_session_timeout', '%lld', true)",
                (long long)settings->timeout_ms, (long long)settings->busy_ms, (long long)settings->timeout_ms);
        if (strcmp(settings->sync, "off") == 0) sql_add(&sql, ", set_config('synchronous_commit', 'off', true)");
    }
    sql_add(&sql, " FROM %s.meta", settings->schema_sql);
    tn_value why = connection_send_text(store, "BEGIN");
    return why != NULL ? why : connection_send(store, &sql);
}

/* Compares the row of `meta` with what this host knows. */
static tn_value batch_check_meta(tn_store *store) {
    const PGresult *result = connection_result(store, 1);
    if (PQntuples(result) != 1) return connection_damaged(store, "its table `meta` must have one row");
    connection_set_clock(store, result_int(result, 0, 3));
    if (result_int(result, 0, 0) != store->version || result_int(result, 0, 1) != store->incarnation) {
        store->retry = RETRY_LOST; /* opening it again finds out what it is now */
        return tn_store_failure("STORE_ERROR", "%s: the schema has been replaced", store->place);
    }
    if (result_int(result, 0, 2) != store->epoch) {
        store->stale = true;
        store->retry = RETRY_CONFLICT;
        return tn_store_failure("STORE_BUSY", "%s: another host has changed the collections", store->place);
    }
    return NULL;
}

static tn_value batch_send_round(tn_store *store, struct prefetch tables[2]) {
    static const char *const names[2] = {"hot", "records"};
    struct batch *batch = store->batch;
    uint64_t slot = 2; /* after BEGIN and `meta` */
    tn_value why = batch_send_begin(store);
    for (uint64_t i = 0; why == NULL && i < batch->count; i++) {
        const struct tn_store_operation *operation = &batch->operations[i];
        if (operation->kind == TN_STORE_OP_TAKE) why = take_plan(store, i);
        if (operation->kind != TN_STORE_OP_DELETE_RANGE || !range_is_independent(batch, i)) continue;
        struct early_range *range = tn_arena_alloc(&batch->arena, sizeof *range);
        if (range == NULL) return tn_store_failure_memory();
        *range = (struct early_range){.next = batch->ranges, .selection = &operation->selection, .slot = slot++};
        batch->ranges = range;
        why = range_send(store, range->selection);
    }
    if (why == NULL) why = take_send(store, &slot);
    for (int i = 0; i < 2 && why == NULL; i++) {
        tables[i].slot = slot;
        if (tables[i].count == 0) continue;
        slot++;
        why = prefetch_send(store, &tables[i], names[i]);
    }
    return why != NULL ? why : connection_run(store);
}

static tn_value batch_read_round(tn_store *store, const struct prefetch tables[2]) {
    struct batch *batch = store->batch;
    const struct early_range *searched = NULL;
    tn_value why = batch_check_meta(store);
    for (struct early_range *range = batch->ranges; why == NULL && range != NULL; range = range->next) {
        const PGresult *result = connection_result(store, range->slot);
        range->count = result_int(result, 0, 0);
        if (result_int(result, 0, 1) != 0) searched = range;
    }
    if (why == NULL) why = take_read(store);
    for (int i = 0; i < 2 && why == NULL; i++) why = prefetch_read(store, &tables[i]);
    /* Only now, because these rounds free the results of the first one. */
    for (const struct early_range *range = batch->ranges; why == NULL && searched != NULL && range != NULL;
         range = range->next)
        why = range_remove_search_data(store, range->selection);
    return why;
}

tn_value batch_begin(tn_store *store) {
    struct batch *batch = store->batch;
    struct prefetch tables[2] = {{.count = 0}, {.count = 0}};
    tn_value why = NULL;
    if (store->settings.read_only)
        why = tn_store_failure("STORE_READ_ONLY", "%s: is open with read_only and cannot be written to", store->place);
    else if (store->standby)
        why = tn_store_failure("STORE_READ_ONLY",
                               "%s: the server is a standby; nothing was changed: connect to the primary server "
                               "(target_session_attrs=read-write in the url)",
                               store->place);
    batch->now = connection_now(store, tn.core->wall_ms(tn.host));
    if (why == NULL) why = batch_need_collections(store);
    if (why == NULL) why = batch_plan_keys(store, tables);
    batch->in_transaction = why == NULL;
    if (why == NULL) why = batch_send_round(store, tables);
    if (why == NULL) why = batch_read_round(store, tables);
    if (why != NULL) batch_rollback(store);
    return why;
}

/* ---- The operations ---- */

tn_value batch_find(tn_store *store, struct tn_store_text collection, struct tn_store_text key, bool want_value,
                    struct tn_store_record *out) {
    struct entry *entry = batch_entry(store, schema_collection(store, collection), key);
    *out = (struct tn_store_record){.version = 0};
    tn_value why = entry != NULL ? entry_fetch(store, entry) : tn_store_failure_memory();
    if (why == NULL && want_value) why = entry_need_value(store, entry);
    if (why != NULL) return why;
    out->version = entry->version;
    out->size = entry->size;
    if (want_value) out->value = tn_retain(entry->value);
    return NULL;
}

/* How the search data changes. Several changes of a record before it is written become one. */
static void entry_change_search_data(struct entry *entry, const struct tn_store_attributes *attributes) {
    if (entry->version == 0) { /* a new record; an expired one may have left some */
        entry->words_action = entry->vector_action = TN_STORE_REMOVE;
        entry->found_by = 0;
        entry->expires_at = INT64_MAX;
    }
    if (attributes->words_action != TN_STORE_KEEP) {
        entry->words_action = attributes->words_action;
        entry->words = attributes->words; /* in the arena of the request */
        entry->found_by &= ~FOUND_BY_WORDS;
        if (attributes->words_action == TN_STORE_SET) entry->found_by |= FOUND_BY_WORDS;
    }
    if (attributes->vector_action != TN_STORE_KEEP) {
        entry->vector_action = attributes->vector_action;
        entry->vector = attributes->vector;
        entry->vector_count = attributes->vector_count;
        entry->found_by &= ~FOUND_BY_VECTOR;
        if (attributes->vector_action == TN_STORE_SET) entry->found_by |= FOUND_BY_VECTOR;
    }
}

tn_value batch_write(tn_store *store, const struct tn_store_change *change) {
    struct batch *batch = store->batch;
    struct entry *entry = batch_entry(store, schema_collection(store, change->collection), change->key);
    tn_value why = entry != NULL ? entry_fetch(store, entry) : tn_store_failure_memory();
    if (why != NULL) return why;
    struct tn_store_text json = {NULL, 0};
    if (change->json.data != NULL) {
        json = (struct tn_store_text){tn_arena_copy(&batch->arena, change->json.data, change->json.length),
                                      change->json.length};
        if (json.data == NULL) return tn_store_failure_memory();
    }
    entry_change_search_data(entry, change->attributes);
    if (change->attributes->expires_action == TN_STORE_SET) entry->expires_at = change->attributes->expires_at;
    if (change->attributes->expires_action == TN_STORE_REMOVE) entry->expires_at = INT64_MAX;
    tn_retain(change->value);
    entry_forget_value(entry);
    entry->value = change->value;
    entry->version = change->version;
    entry->size = change->size;
    entry->json = json;
    entry_set_changed(batch, entry, ENTRY_WRITTEN);
    if (entry->expires_at > batch->now) return NULL;
    /* It has expired already: written, but not found any more. */
    why = batch_flush(store);
    entry_set_absent(entry);
    return why;
}

tn_value batch_remove(tn_store *store, struct tn_store_text collection, struct tn_store_text key) {
    struct entry *entry = batch_entry(store, schema_collection(store, collection), key);
    if (entry == NULL) return tn_store_failure_memory();
    entry_set_absent(entry);
    entry->words_action = entry->vector_action = TN_STORE_REMOVE;
    entry_set_changed(store->batch, entry, ENTRY_REMOVED);
    return NULL;
}

tn_value batch_remove_range(tn_store *store, const struct tn_store_selection *selection, int64_t *count) {
    struct batch *batch = store->batch;
    struct collection *collection = schema_collection(store, selection->collection);
    for (const struct early_range *range = batch->ranges; range != NULL; range = range->next) {
        if (range->selection != selection) continue;
        *count = range->count;
        return NULL;
    }
    tn_value why = batch_flush(store);
    if (why == NULL) why = range_send(store, selection);
    if (why == NULL) why = connection_run(store);
    if (why != NULL) return why;
    *count = result_int(connection_result(store, 0), 0, 0);
    if (result_int(connection_result(store, 0), 0, 1) != 0) why = range_remove_search_data(store, selection);
    for (uint64_t i = 0; i < batch->table_size; i++)
        for (struct entry *entry = batch->table[i]; entry != NULL; entry = entry->next) {
            if (entry->collection != collection || !range_contains(&selection->range, entry->key)) continue;
            entry_set_absent(entry);
            entry->known = true;
            entry->stored = false;
            entry->stored_found_by = 0;
        }
    return why;
}

/* ---- Round 2 ---- */

/* Waits a little, until `deadline_ms`. False if it has passed. */
static bool recover_pause(int64_t deadline_ms) {
    const struct timespec pause = {0, RECOVER_PAUSE_MS * 1000000};
    if (clock_boot_ms() >= deadline_ms) return false;
    (void)nanosleep(&pause, NULL);
    return true;
}

/*
 * The connection was lost during COMMIT: finds out whether it was applied. Inserts the row of `commits` that the
 * transaction has inserted: if it exists, the transaction has been committed. If this succeeds, it has not, and never
 * will be, also if the server is still working on it. An INSERT waits for a transaction that has not ended.
 */
static tn_value commit_recover(tn_store *store, tn_value lost, int64_t number) {
    int64_t deadline_ms = clock_boot_ms() + store->settings.reconnect_ms;
    for (;;) {
        struct tn_arena arena = TN_ARENA;
        struct sql sql;
        store->retry = RETRY_NO;
        tn_value why = connection_open(store, deadline_ms);
        if (why == NULL) why = schema_open(store);
        sql_init(&sql, &arena);
        sql_add(&sql, "INSERT INTO %s.commits (writer, number) VALUES (", store->settings.schema_sql);
        sql_bind_int8(&sql, store->writer);
        sql_add(&sql, ", ");
        sql_bind_int8(&sql, number);
        sql_add(&sql, ")");
        if (why == NULL) {
            why = connection_query(store, &sql);
            const PGresult *result = connection_result(store, 0);
            const char *state = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
            bool applied = why != NULL && state != NULL && strcmp(state, "23505") == 0;
            if (applied || why == NULL) {
                store->retry = applied ? RETRY_NO : RETRY_LOST;
                tn_release(why);
                tn_arena_free(&arena);
                if (!applied) return lost;
                tn_release(lost);
                return NULL;
            }
        }
        tn_arena_free(&arena);
        bool waits = (store->retry != RETRY_NO || tn.value->kind(tn_get(why, "retryable")) == TN_BOOL) &&
                     recover_pause(deadline_ms);
        if (!waits) {
            store->retry = RETRY_NO;
            connection_close(store);
            tn_release(lost);
            tn_value unknown = tn_store_failure_detail_take(why, "commit", tn_text("unknown"));
            return unknown;
        }
        tn_release(why);
    }
}

/* The rows of commits that have ended are not needed any more. */
static tn_value commit_send_token(tn_store *store) {
    struct sql sql;
    tn_value why = NULL;
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "INSERT INTO %s.commits (writer, number) VALUES (", store->settings.schema_sql);
    sql_bind_int8(&sql, store->writer);
    sql_add(&sql, ", ");
    sql_bind_int8(&sql, ++store->number);
    sql_add(&sql, ")");
    why = connection_send(store, &sql);
    if (why != NULL || store->number % 1000 != 0) return why;
    sql_init(&sql, &store->batch->arena);
    sql_add(&sql, "DELETE FROM %s.commits WHERE writer = ", store->settings.schema_sql);
    sql_bind_int8(&sql, store->writer);
    sql_add(&sql, " AND number < ");
    sql_bind_int8(&sql, store->number);
    return connection_send(store, &sql);
}

tn_value batch_commit(tn_store *store) {
    struct batch *batch = store->batch;
    bool wakes = batch->wakes && (batch->changed != NULL || batch->flushed);
    tn_value why = flush_send(store);
    if (why == NULL) why = commit_send_token(store);
    if (why != NULL) return why;
    uint64_t slot = connection_sent(store);
    why = connection_send_text(store, "COMMIT");
    if (why == NULL && wakes) why = watch_send_notify(store);
    if (why == NULL) {
        why = connection_run(store);
    } else {
        connection_close(store); /* the server may have received COMMIT */
        store->retry = RETRY_LOST;
    }
    const PGresult *committed = connection_is_open(store) ? connection_result(store, slot) : NULL;
    if (why != NULL && PQresultStatus(committed) == PGRES_COMMAND_OK) { /* only the notification has failed */
        tn_release(why);
        why = NULL;
        store->retry = RETRY_NO;
    }
    if (why != NULL && !connection_is_open(store)) why = commit_recover(store, why, store->number);
    if (why == NULL) batch_free(store);
    return why;
}

void batch_rollback(tn_store *store) {
    if (store->batch != NULL && store->batch->in_transaction) connection_rollback(store);
    batch_free(store);
}

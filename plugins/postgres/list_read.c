/*
 * list_read.c - see list_read.h.
 */
#include "list_read.h"
#include "schema.h"
#include <endian.h>

void found_free(struct found *found) {
    for (uint64_t i = 0; i < found->count; i++) tn_release(found->records[i].value);
    found->count = 0;
}

/* Takes the record's value, and copies its key. */
tn_value found_add_take(struct found *found, struct tn_arena *arena, const struct tn_store_record *record) {
    char *key = tn_arena_copy(arena, record->key.data, record->key.length);
    if (key == NULL) {
        tn_release(record->value);
        return tn_store_failure_memory();
    }
    if (found->count == found->capacity) {
        uint64_t capacity = found->capacity * 2 + 32;
        struct tn_store_record *larger = tn_arena_alloc(arena, capacity * sizeof *larger);
        if (larger == NULL) {
            tn_release(record->value);
            return tn_store_failure_memory();
        }
        if (found->count > 0) memcpy(larger, found->records, found->count * sizeof *larger);
        found->records = larger;
        found->capacity = capacity;
    }
    struct tn_store_record *added = &found->records[found->count++];
    *added = *record;
    added->key.data = key;
    /* The attributes are in the arena of the chunk, too. */
    if (record->words.data != NULL) added->words.data = tn_arena_copy(arena, record->words.data, record->words.length);
    if (record->vector != NULL) {
        float *vector = tn_arena_alloc(arena, record->vector_count * sizeof *vector + 1);
        if (vector != NULL) memcpy(vector, record->vector, record->vector_count * sizeof *vector);
        added->vector = vector;
    }
    bool failed =
        (record->words.data != NULL && added->words.data == NULL) || (record->vector != NULL && added->vector == NULL);
    return failed ? tn_store_failure_memory() : NULL;
}

/* ---- Chunks ---- */

static const char *list_table(const struct list *list) { return list->collection->hot ? "hot" : "records"; }

tn_value list_read_large(struct list *list, struct tn_store_record *record) {
    struct sql sql;
    sql_init(&sql, &list->chunk);
    sql_add(&sql, "SELECT json, bytes FROM %s.%s WHERE collection = %d AND key = ", list->store->settings.schema_sql,
            list_table(list), list->collection->id);
    sql_bind_bytes(&sql, record->key);
    tn_value why = connection_query(list->store, &sql);
    if (why != NULL) return why;
    const PGresult *result = connection_result(list->store, 0);
    if (PQntuples(result) != 1) return connection_damaged(list->store, "a record has disappeared");
    struct tn_store_text json = result_bytes(result, 0, 0), bytes = result_bytes(result, 0, 1);
    record->size = json.data != NULL ? json.length : bytes.length;
    if (json.data == NULL) {
        record->value = tn_bytes(bytes.data, bytes.length);
        return record->value != NULL ? NULL : tn_store_failure_memory();
    }
    return tn.value->from_json(tn.host, json.data, json.length, &record->value, NULL) == TN_OK
               ? NULL
               : connection_damaged(list->store, "a record's value is not JSON");
}

/* Reads numbers that are stored little-endian. NULL if allocation fails. */
float *list_read_vector(struct tn_arena *arena, struct tn_store_text stored, uint64_t *count) {
    *count = stored.length / sizeof(uint32_t);
    float *vector = tn_arena_alloc(arena, *count * sizeof *vector + 1);
    for (uint64_t i = 0; vector != NULL && i < *count; i++) {
        uint32_t bits;
        memcpy(&bits, stored.data + i * sizeof bits, sizeof bits);
        bits = le32toh(bits);
        memcpy(&vector[i], &bits, sizeof bits);
    }
    return vector;
}

/* Reads the columns expires_at, words and vector, which start at `column`. */
static tn_value list_read_attributes(struct list *list, const PGresult *result, int row, int column,
                                     struct tn_store_record *out) {
    struct tn_store_text words = result_bytes(result, row, column + 1), vector = result_bytes(result, row, column + 2);
    out->expires = !result_is_null(result, row, column);
    out->expires_at = out->expires ? result_int(result, row, column) : 0;
    if (words.data != NULL) {
        out->words = (struct tn_store_text){tn_arena_copy(&list->chunk, words.data, words.length), words.length};
        if (out->words.data == NULL) return tn_store_failure_memory();
    }
    if (vector.data == NULL) return NULL;
    out->vector = list_read_vector(&list->chunk, vector, &out->vector_count);
    return out->vector != NULL ? NULL : tn_store_failure_memory();
}

/* Reads the columns key, version, json, bytes. A large value is NULL. */
tn_value list_read_row(struct list *list, const PGresult *result, int row, struct tn_store_record *out) {
    struct tn_store_text key = result_bytes(result, row, 0), json = result_bytes(result, row, 2),
                         bytes = result_bytes(result, row, 3);
    *out = (struct tn_store_record){.version = result_int(result, row, 1)};
    out->key = (struct tn_store_text){tn_arena_copy(&list->chunk, key.data, key.length), key.length};
    if (out->key.data == NULL) return tn_store_failure_memory();
    if (out->version < 1) return connection_damaged(list->store, "the version of a record is not valid");
    if (json.data != NULL) {
        out->size = json.length;
        if (tn.value->from_json(tn.host, json.data, json.length, &out->value, NULL) != TN_OK)
            return connection_damaged(list->store, "a record's value is not JSON");
    } else if (bytes.data != NULL) {
        out->size = bytes.length;
        out->value = tn_bytes(bytes.data, bytes.length);
        if (out->value == NULL) return tn_store_failure_memory();
    }
    return list->selection->attributes ? list_read_attributes(list, result, row, PQnfields(result) - 3, out) : NULL;
}

/* Moves the cursor behind a row. The members of an order start at column 4. */
tn_value list_move_cursor(struct list *list, bool ordered, const PGresult *result, int row, struct tn_store_text key) {
    uint64_t used = 0, count = !ordered ? 0 : list->starts ? 1 : list->selection->order_count;
    for (uint64_t i = 0; i <= count; i++) {
        struct tn_store_text part = i < count ? result_bytes(result, row, 4 + (int)i) : key;
        if (part.length > sizeof list->cursor_bytes - used)
            return connection_damaged(list->store, "a key or a member is too long");
        memcpy(list->cursor_bytes + used, part.data != NULL ? part.data : "", part.length);
        *(i < count ? &list->cursor.members[i] : &list->cursor.key) =
            (struct tn_store_text){list->cursor_bytes + used, part.length};
        used += part.length;
    }
    return NULL;
}

void list_look_for_cuts(struct list *list, const PGresult *result) {
    for (int row = 0; row < PQntuples(result) && !list->starts; row++)
        for (uint64_t i = 0; i < list->selection->order_count; i++)
            if (encode_is_cut(result_bytes(result, row, 4 + (int)i))) list->cut = true;
}

static tn_value list_query_chunk(struct list *list, bool ordered, int rows) {
    struct sql sql;
    const char *want = list->want_values ? "true" : "false";
    struct tn_store_selection by_key = *list->selection;
    if (!ordered) {
        by_key.order_count = 0;
        by_key.reverse = false;
    }
    if (list->starts) by_key.order_count = 1;
    sql_init(&sql, &list->chunk);
    sql_add(&sql,
            "SELECT r.key, r.version, CASE WHEN %s AND octet_length(r.json) <= %d THEN r.json END, CASE WHEN %s AND"
            " octet_length(r.bytes) <= %d THEN r.bytes END",
            want, LIST_INLINE_MAX, want, LIST_INLINE_MAX);
    narrow_add_members(&sql, list->collection, &by_key);
    if (by_key.attributes) sql_add(&sql, ", r.expires_at, w.words, v.vector");
    narrow_from(&sql, list->store, list->collection, &by_key, NULL, list->now);
    narrow_after(&sql, list->collection, &by_key, &list->cursor);
    narrow_order(&sql, list->collection, &by_key);
    sql_add(&sql, " LIMIT %d", rows);
    return schema_query(list->store, list->collection, &sql);
}

/* Calls `each` for the rows that match. The result may be freed before: reading a large value does that. */
tn_value list_each_record(struct list *list, struct tn_store_record *records, int count, list_each *each, void *user) {
    tn_value why = NULL;
    int row = 0;
    for (; why == NULL && row < count; row++) {
        struct tn_store_record *record = &records[row];
        bool absent = record->value == NULL && list->want_values;
        list->missed |= absent && !list->in_transaction;
        if (absent && list->in_transaction) why = list_read_large(list, record);
        bool matches = why == NULL && (list->selection->where == NULL || list->missed ||
                                       tn_store_filter_matches(list->selection->where, record->value));
        if (matches)
            why = each(list, record, user);
        else
            tn_release(record->value);
    }
    for (; row < count; row++) tn_release(records[row].value);
    return why;
}

/* Reads the rows of the last query into the arena of the chunk. */
tn_value list_read_rows(struct list *list, struct tn_store_record **out, int *count) {
    const PGresult *result = connection_result(list->store, 0);
    int rows = PQntuples(result);
    struct tn_store_record *records = tn_arena_alloc(&list->chunk, ((uint64_t)rows + 1) * sizeof *records);
    tn_value why = NULL;
    *count = 0;
    *out = records;
    if (records == NULL) return tn_store_failure_memory();
    while (why == NULL && *count < rows) {
        records[*count] = (struct tn_store_record){.version = 0};
        why = list_read_row(list, result, *count, &records[*count]);
        ++*count;
    }
    if (why != NULL)
        while (*count > 0) tn_release(records[--*count].value);
    return why;
}

/* Reads the next `rows` rows and calls `each` for those that match. */
tn_value list_read_chunk(struct list *list, bool ordered, int rows, list_each *each, void *user) {
    struct tn_store_record *records = NULL;
    int count = 0;
    tn_arena_free(&list->chunk);
    tn_value why = list_query_chunk(list, ordered, rows);
    if (why != NULL) return why;
    if (ordered) list_look_for_cuts(list, connection_result(list->store, 0));
    if (list->cut) return NULL;
    why = list_read_rows(list, &records, &count);
    if (why != NULL) return why;
    list->ended = count < rows;
    if (count > 0)
        why = list_move_cursor(list, ordered, connection_result(list->store, 0), count - 1, records[count - 1].key);
    if (why == NULL) return list_each_record(list, records, count, each, user);
    while (count > 0) tn_release(records[--count].value);
    return why;
}

tn_value list_begin(struct list *list) {
    if (list->store->batch != NULL) { /* a transaction is running */
        list->in_transaction = true;
        return NULL;
    }
    tn_value why = connection_send_text(list->store, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    if (why == NULL) why = connection_run(list->store);
    list->in_transaction = why == NULL;
    return why;
}

void list_end(struct list *list) {
    tn_arena_free(&list->chunk);
    if (list->in_transaction && list->store->batch == NULL) connection_rollback(list->store);
}

tn_value list_collect(struct list *list, struct tn_store_record *record_take, void *user) {
    struct found *found = user;
    return found_add_take(found, list->arena, record_take);
}

/* Sets *out to the collection; NULL if it does not exist. */
tn_value lists_collection(tn_store *store, struct tn_store_text name, struct collection **out) {
    tn_value why = schema_refresh(store);
    return why != NULL ? why : schema_lookup(store, name, false, out);
}

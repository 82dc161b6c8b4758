/*
 * lists.c - see lists.h.
 *
 * A value of more than LIST_INLINE_MAX bytes is not part of a chunk, but read on its own, so that a chunk has a bounded
 * size. If a list has an order that no columns have, or a text in a column was cut, all records of the range are read
 * and the first ones are kept.
 */
#include "lists.h"
#include "narrow.h"
#include "schema.h"
#include "terms.h"
#include <endian.h>
#include <tenon/store/words.h>

#define LIST_CHUNK      256
#define LIST_ATTRIBUTED 32 /* rows of a chunk with search data, of up to 1 MiB each */
#define LIST_INLINE_MAX 65536

void found_free(struct found *found) {
    for (uint64_t i = 0; i < found->count; i++) tn_release(found->records[i].value);
    found->count = 0;
}

/* Takes the record's value, and copies its key. */
static tn_value found_add_take(struct found *found, struct tn_arena *arena, const struct tn_store_record *record) {
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
    bool failed = (record->words.data != NULL && added->words.data == NULL) ||
                  (record->vector != NULL && added->vector == NULL);
    return failed ? tn_store_failure_memory() : NULL;
}

/* ---- Chunks ---- */

struct list {
    tn_store *store;
    struct tn_arena *arena; /* for the records that are kept */
    struct tn_arena chunk;  /* for those of a chunk */
    struct collection *collection;
    const struct tn_store_selection *selection;
    int64_t now;
    bool want_values; /* for the result or for the filter */
    bool in_transaction;
    struct narrow_cursor cursor; /* in cursor_bytes */
    char cursor_bytes[TN_STORE_ORDER_MAX * ENCODE_MAX + TN_STORE_KEY_MAX];
    double score; /* of the cursor of a search */
    bool ended;  /* no more rows */
    bool cut;    /* a text of the order was cut: the order of the rows may be wrong */
    bool missed; /* a large value was not read, because there is no transaction */
};

static const char *list_table(const struct list *list) { return list->collection->hot ? "hot" : "records"; }

static tn_value list_read_large(struct list *list, struct tn_store_record *record) {
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
static float *list_read_vector(struct tn_arena *arena, struct tn_store_text stored, uint64_t *count) {
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
static tn_value list_read_row(struct list *list, const PGresult *result, int row, struct tn_store_record *out) {
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
static tn_value list_move_cursor(struct list *list, bool ordered, const PGresult *result, int row,
                                 struct tn_store_text key) {
    uint64_t used = 0, count = ordered ? list->selection->order_count : 0;
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

/* Receives a record, whose value it takes. Its key is in the arena of the chunk. */
typedef tn_value list_each(struct list *list, struct tn_store_record *record_take, void *user);

static void list_look_for_cuts(struct list *list, const PGresult *result) {
    for (int row = 0; row < PQntuples(result); row++)
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
    return connection_query(list->store, &sql);
}

/* Calls `each` for the rows that match. The result may be freed before: reading a large value does that. */
static tn_value list_each_record(struct list *list, struct tn_store_record *records, int count, list_each *each,
                                 void *user) {
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
static tn_value list_read_rows(struct list *list, struct tn_store_record **out, int *count) {
    const PGresult *result = connection_result(list->store, 0);
    int rows = PQntuples(result);
    struct tn_store_record *records = tn_arena_alloc(&list->chunk, ((uint64_t)rows + 1) * sizeof *records);
    tn_value why = records == NULL ? tn_store_failure_memory() : NULL;
    *count = 0;
    while (why == NULL && *count < rows) {
        records[*count] = (struct tn_store_record){.version = 0};
        why = list_read_row(list, result, *count, &records[*count]);
        ++*count;
    }
    if (why != NULL)
        while (*count > 0) tn_release(records[--*count].value);
    *out = records;
    return why;
}

/* Reads the next `rows` rows and calls `each` for those that match. */
static tn_value list_read_chunk(struct list *list, bool ordered, int rows, list_each *each, void *user) {
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
    if (count > 0) why = list_move_cursor(list, ordered, connection_result(list->store, 0), count - 1, records[count - 1].key);
    if (why == NULL) return list_each_record(list, records, count, each, user);
    while (count > 0) tn_release(records[--count].value);
    return why;
}

static tn_value list_begin(struct list *list) {
    if (list->store->batch != NULL) { /* a transaction is running */
        list->in_transaction = true;
        return NULL;
    }
    tn_value why = connection_send_text(list->store, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    if (why == NULL) why = connection_run(list->store);
    list->in_transaction = why == NULL;
    return why;
}

static void list_end(struct list *list) {
    tn_arena_free(&list->chunk);
    if (list->in_transaction && list->store->batch == NULL) connection_rollback(list->store);
}

/* ---- Lists ---- */

static tn_value list_collect(struct list *list, struct tn_store_record *record_take, void *user) {
    struct found *found = user;
    return found_add_take(found, list->arena, record_take);
}

/* Reads the record `after`, and sets the cursor behind it. *value is its value. */
static tn_value list_find_after(struct list *list, bool ordered, tn_value *value) {
    struct tn_store_selection only = {.collection = list->selection->collection};
    struct tn_store_selection members = *list->selection;
    struct tn_store_excerpt excerpt;
    struct tn_store_record record = {.key = list->selection->after};
    struct sql sql;
    if (!ordered) members.order_count = 0;
    sql_init(&sql, &list->chunk);
    sql_add(&sql, "SELECT r.key, r.version, NULL::bytea, NULL::bytea");
    narrow_add_members(&sql, list->collection, &members);
    narrow_from(&sql, list->store, list->collection, &only, NULL, list->now);
    sql_add(&sql, " AND r.key = ");
    sql_bind_bytes(&sql, list->selection->after);
    tn_value why = connection_query(list->store, &sql);
    if (why != NULL) return why;
    const PGresult *result = connection_result(list->store, 0);
    if (PQntuples(result) == 0)
        return tn_store_failure("NOT_FOUND", "the record `%s`, which `after` names, no longer exists; restart the list",
                                tn_store_text_excerpt(list->selection->after, &excerpt));
    if (ordered) list_look_for_cuts(list, result);
    if (ordered) return list_move_cursor(list, true, result, 0, list->selection->after);
    why = list_read_large(list, &record);
    *value = record.value;
    return why;
}

static uint64_t list_record_size(const struct list *list, const struct tn_store_record *record) {
    uint64_t size = list->selection->keys_only ? 0 : record->size;
    return size + record->words.length + record->vector_count * sizeof(float);
}

/* Reads in the order of columns, until there are `limit` + 1 records or a page is full. */
static tn_value list_read_ordered(struct list *list, struct found *found) {
    uint64_t wanted = (uint64_t)list->selection->limit + 1, size = 0;
    int most = list->selection->attributes ? LIST_ATTRIBUTED : LIST_CHUNK;
    int rows = wanted < (uint64_t)most ? (int)wanted : most;
    bool seeks = list->selection->after.data != NULL && list->selection->order_count > 0;
    tn_value why = NULL, after = NULL;
    if (!seeks) { /* without a transaction: mostly, one chunk is enough */
        list->cursor.key = list->selection->after;
        why = list_read_chunk(list, true, rows, list_collect, found);
        tn_arena_free(&list->chunk);
        if (why != NULL || list->cut) return why;
        if (!list->missed && (list->ended || found->count >= wanted)) return NULL;
        found_free(found);
        list->missed = false;
    }
    why = list_begin(list);
    list->cursor.key = list->selection->after;
    list->ended = false;
    if (why == NULL && seeks) why = list_find_after(list, true, &after);
    for (uint64_t i = 0; why == NULL && !list->cut && !list->ended && found->count < wanted && size <= TN_STORE_PAGE_MAX;) {
        why = list_read_chunk(list, true, most, list_collect, found);
        for (; i < found->count; i++) size += list_record_size(list, &found->records[i]);
    }
    list_end(list);
    return why;
}

/* Compares two records in the order of the list, reversed if it is. */
static int list_compare(const struct tn_store_selection *selection, const struct tn_store_record *a,
                        const struct tn_store_record *b) {
    int order = 0;
    for (uint64_t i = 0; order == 0 && i < selection->order_count; i++)
        order = tn_store_order_compare(tn_store_path_get(&selection->order[i], a->value),
                                       tn_store_path_get(&selection->order[i], b->value));
    if (order == 0) order = tn_store_text_compare(a->key, b->key);
    return selection->reverse ? -order : order;
}

struct sorting {
    struct found *found;
    struct tn_store_record after; /* key.data NULL: from the start */
};

/* Keeps the record if it is among the first `limit` + 1. */
static tn_value list_insert(struct list *list, struct tn_store_record *record_take, void *user) {
    struct sorting *sorting = user;
    struct found *found = sorting->found;
    uint64_t low = 0, high = found->count;
    if (sorting->after.key.data != NULL && list_compare(list->selection, record_take, &sorting->after) <= 0) {
        tn_release(record_take->value);
        return NULL;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (list_compare(list->selection, &found->records[middle], record_take) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > (uint64_t)list->selection->limit) {
        tn_release(record_take->value);
        return NULL;
    }
    struct tn_store_record record = *record_take;
    tn_value why = found_add_take(found, list->arena, &record);
    if (why != NULL) return why;
    record = found->records[found->count - 1]; /* its key is a copy */
    memmove(&found->records[low + 1], &found->records[low], (found->count - 1 - low) * sizeof record);
    found->records[low] = record;
    if (found->count > (uint64_t)list->selection->limit + 1) tn_release(found->records[--found->count].value);
    return NULL;
}

static tn_value list_read_sorted(struct list *list, struct found *found) {
    struct sorting sorting = {.found = found};
    list->cut = false;
    list->want_values = true;
    list->ended = false;
    tn_value why = list_begin(list);
    list->cursor = (struct narrow_cursor){.key = {NULL, 0}};
    if (why == NULL && list->selection->after.data != NULL) {
        why = list_find_after(list, false, &sorting.after.value);
        sorting.after.key = list->selection->after;
    }
    while (why == NULL && !list->ended) why = list_read_chunk(list, false, LIST_CHUNK, list_insert, &sorting);
    tn_release(sorting.after.value);
    list_end(list);
    return why;
}

tn_value lists_sort(tn_store *store, struct tn_arena *arena, struct collection *collection,
                    const struct tn_store_selection *selection, int64_t now, struct found *out) {
    struct list list = {.store = store, .arena = arena, .chunk = TN_ARENA, .collection = collection, .selection = selection, .now = now};
    return list_read_sorted(&list, out);
}

/* Sets *out to the collection; NULL if it does not exist. */
static tn_value lists_collection(tn_store *store, struct tn_store_text name, struct collection **out) {
    tn_value why = schema_refresh(store);
    return why != NULL ? why : schema_lookup(store, name, false, out);
}

tn_value lists_list(tn_store *store, const struct tn_store_selection *selection, struct tn_store_page *page) {
    struct tn_arena arena = TN_ARENA;
    struct found found = {.count = 0};
    struct list list = {.store = store,
                        .arena = &arena,
                        .chunk = TN_ARENA,
                        .selection = selection,
                        .now = connection_now(store, tn.core->wall_ms(tn.host)),
                        .want_values = !selection->keys_only || selection->where != NULL};
    struct tn_store_excerpt excerpt;
    tn_value why = lists_collection(store, selection->collection, &list.collection);
    if (why == NULL && list.collection == NULL && selection->after.data != NULL && selection->order_count > 0)
        why = tn_store_failure("NOT_FOUND", "the record `%s`, which `after` names, no longer exists; restart the list",
                               tn_store_text_excerpt(selection->after, &excerpt));
    if (why == NULL && list.collection != NULL) {
        list.cut = !narrow_has_order(list.collection, selection);
        if (!list.cut) why = list_read_ordered(&list, &found);
        if (why == NULL && list.cut) {
            found_free(&found);
            why = list_read_sorted(&list, &found);
        }
    }
    for (uint64_t i = 0; why == NULL && i < found.count && tn_store_page_add(page, &found.records[i]);) i++;
    found_free(&found);
    tn_arena_free(&arena);
    return why;
}

/* ---- One record ---- */

tn_value lists_get(tn_store *store, struct tn_store_text name, struct tn_store_text key, bool want_value,
                   struct tn_store_record *out) {
    struct tn_arena arena = TN_ARENA;
    struct tn_store_selection selection = {.collection = name};
    struct list list = {.store = store, .arena = &arena, .chunk = TN_ARENA, .selection = &selection};
    struct sql sql;
    *out = (struct tn_store_record){.version = 0};
    tn_value why = lists_collection(store, name, &list.collection);
    if (why == NULL && list.collection != NULL) {
        sql_init(&sql, &arena);
        sql_add(&sql, want_value ? "SELECT r.key, r.version, r.json, r.bytes" : "SELECT r.key, r.version, NULL::bytea, NULL::bytea");
        narrow_from(&sql, store, list.collection, &selection, NULL,
                    connection_now(store, tn.core->wall_ms(tn.host)));
        sql_add(&sql, " AND r.key = ");
        sql_bind_bytes(&sql, key);
        why = connection_query(store, &sql);
        const PGresult *result = why == NULL ? connection_result(store, 0) : NULL;
        if (why == NULL && PQntuples(result) > 0) why = list_read_row(&list, result, 0, out);
    }
    out->key = key;
    tn_arena_free(&list.chunk);
    tn_arena_free(&arena);
    return why;
}

/* ---- Counts ---- */

static tn_value list_count_one(struct list *list, struct tn_store_record *record_take, void *user) {
    int64_t *count = user;
    (void)list;
    tn_release(record_take->value);
    ++*count;
    return NULL;
}

tn_value lists_count(tn_store *store, const struct tn_store_selection *selection, int64_t *count) {
    struct tn_arena arena = TN_ARENA;
    struct list list = {.store = store,
                        .arena = &arena,
                        .chunk = TN_ARENA,
                        .selection = selection,
                        .now = connection_now(store, tn.core->wall_ms(tn.host)),
                        .want_values = true};
    struct sql sql;
    *count = 0;
    tn_value why = lists_collection(store, selection->collection, &list.collection);
    if (why == NULL && list.collection != NULL && (selection->where == NULL || selection->where->count == 0)) {
        sql_init(&sql, &arena);
        sql_add(&sql, "SELECT count(*)");
        narrow_from(&sql, store, list.collection, selection, NULL, list.now);
        why = connection_query(store, &sql);
        if (why == NULL) *count = result_int(connection_result(store, 0), 0, 0);
    } else if (why == NULL && list.collection != NULL) {
        why = list_begin(&list);
        while (why == NULL && !list.ended) why = list_read_chunk(&list, false, LIST_CHUNK, list_count_one, count);
        list_end(&list);
    }
    tn_arena_free(&arena);
    return why;
}

/* ---- Searches ---- */

/*
 * The fraction of the words of a text that were searched for. Every record has all of them, because the index has found
 * it.
 */
static void search_add_score(struct sql *sql, struct array *terms) {
    sql_add(sql, "(SELECT sum(t.counts[array_position(t.terms, w)]) FROM unnest(");
    sql_bind_array(sql, terms);
    sql_add(sql, ") AS w)::float8 / greatest(t.total, 1)");
}

/* Reads the next rows of a search by words: those after the cursor, if it is set. */
static tn_value search_query_words(struct list *list, int rows) {
    struct array terms;
    struct sql sql;
    struct tn_store_text words = list->selection->words, word;
    sql_init(&sql, &list->chunk);
    array_init(&terms, &list->chunk, SQL_BYTEA);
    while (tn_store_words_next(&words, &word)) {
        char term[TERM_MAX];
        array_add_bytes(&terms, (struct tn_store_text){term, terms_of_word(word, term)});
    }
    sql_add(&sql,
            "SELECT key, version, json, bytes, score FROM (SELECT r.key, r.version,"
            " CASE WHEN octet_length(r.json) <= %d THEN r.json END AS json,"
            " CASE WHEN octet_length(r.bytes) <= %d THEN r.bytes END AS bytes, ",
            LIST_INLINE_MAX, LIST_INLINE_MAX);
    search_add_score(&sql, &terms);
    sql_add(&sql, " AS score");
    narrow_from(&sql, list->store, list->collection, list->selection, "texts", list->now);
    sql_add(&sql, " AND t.terms @> ");
    sql_bind_array(&sql, &terms);
    sql_add(&sql, ") q");
    if (list->cursor.key.data != NULL) {
        sql_add(&sql, " WHERE score < ");
        sql_bind_double(&sql, list->score);
        sql_add(&sql, " OR (score = ");
        sql_bind_double(&sql, list->score);
        sql_add(&sql, " AND key > ");
        sql_bind_bytes(&sql, list->cursor.key);
        sql_add(&sql, ")");
    }
    sql_add(&sql, " ORDER BY score DESC, key LIMIT %d", rows);
    return connection_query(list->store, &sql);
}

static double search_read_score(const PGresult *result, int row) {
    uint64_t bits = (uint64_t)result_int(result, row, 4);
    double score;
    memcpy(&score, &bits, sizeof score);
    return score;
}

static tn_value search_words(struct list *list, struct found *found) {
    tn_value why = NULL;
    while (why == NULL && !list->ended && found->count < (uint64_t)list->selection->limit) {
        struct tn_store_record *records = NULL;
        int count = 0;
        tn_arena_free(&list->chunk);
        why = search_query_words(list, LIST_CHUNK);
        if (why == NULL) why = list_read_rows(list, &records, &count);
        if (why != NULL) return why;
        const PGresult *result = connection_result(list->store, 0);
        for (int row = 0; row < count; row++) records[row].score = search_read_score(result, row);
        list->ended = count < LIST_CHUNK;
        if (count > 0) {
            list->score = records[count - 1].score;
            why = list_move_cursor(list, false, result, count - 1, records[count - 1].key);
        }
        tn_value failed = list_each_record(list, records, count, list_collect, found);
        if (why == NULL)
            why = failed;
        else
            tn_release(failed);
    }
    return why;
}

/* Reads vectors and, for a filter, values of the next rows after the cursor: key, version, json, bytes, vector. */
static tn_value search_query_vectors(struct list *list, int rows) {
    const char *want = list->want_values ? "true" : "false";
    struct sql sql;
    sql_init(&sql, &list->chunk);
    sql_add(&sql,
            "SELECT r.key, r.version, CASE WHEN %s AND octet_length(r.json) <= %d THEN r.json END, CASE WHEN %s AND"
            " octet_length(r.bytes) <= %d THEN r.bytes END, t.vector",
            want, LIST_INLINE_MAX, want, LIST_INLINE_MAX);
    narrow_from(&sql, list->store, list->collection, list->selection, "vectors", list->now);
    sql_add(&sql, " AND octet_length(t.vector) = %llu", (unsigned long long)(list->selection->vector_count * 4));
    if (list->cursor.key.data != NULL) {
        sql_add(&sql, " AND t.key > ");
        sql_bind_bytes(&sql, list->cursor.key);
    }
    sql_add(&sql, " AND t.collection = %d ORDER BY t.key LIMIT %d", list->collection->id, rows);
    return connection_query(list->store, &sql);
}

/* -1 if allocation fails. */
static double search_similarity(struct list *list, struct tn_store_text stored) {
    uint64_t count;
    const float *vector = list_read_vector(&list->chunk, stored, &count);
    return vector != NULL ? tn_store_vector_similarity(vector, list->selection->vector, count) : -1;
}

/* Keeps the record if it is among the best. */
static tn_value search_insert(struct list *list, struct tn_store_record *record_take, void *user) {
    struct found *found = user;
    uint64_t at = found->count;
    while (at > 0 && found->records[at - 1].score < record_take->score) at--;
    if (at >= (uint64_t)list->selection->limit) {
        tn_release(record_take->value);
        return NULL;
    }
    tn_value why = found_add_take(found, list->arena, record_take);
    if (why != NULL) return why;
    struct tn_store_record record = found->records[found->count - 1];
    memmove(&found->records[at + 1], &found->records[at], (found->count - 1 - at) * sizeof record);
    found->records[at] = record;
    if (found->count > (uint64_t)list->selection->limit) tn_release(found->records[--found->count].value);
    return NULL;
}

static tn_value search_vectors(struct list *list, struct found *found) {
    tn_value why = NULL;
    list->want_values = list->selection->where != NULL;
    while (why == NULL && !list->ended) {
        struct tn_store_record *records = NULL;
        int count = 0;
        tn_arena_free(&list->chunk);
        why = search_query_vectors(list, LIST_CHUNK);
        if (why == NULL) why = list_read_rows(list, &records, &count);
        if (why != NULL) return why;
        const PGresult *result = connection_result(list->store, 0);
        for (int row = 0; row < count; row++)
            records[row].score = search_similarity(list, result_bytes(result, row, 4));
        list->ended = count < LIST_CHUNK;
        if (count > 0) why = list_move_cursor(list, false, result, count - 1, records[count - 1].key);
        tn_value failed = list_each_record(list, records, count, search_insert, found);
        if (why == NULL)
            why = failed;
        else
            tn_release(failed);
    }
    for (uint64_t i = 0; why == NULL && i < found->count; i++)
        if (found->records[i].value == NULL) why = list_read_large(list, &found->records[i]);
    return why;
}

tn_value lists_search(tn_store *store, const struct tn_store_selection *selection, struct tn_store_page *page) {
    struct tn_arena arena = TN_ARENA;
    struct found found = {.count = 0};
    struct list list = {.store = store,
                        .arena = &arena,
                        .chunk = TN_ARENA,
                        .selection = selection,
                        .now = connection_now(store, tn.core->wall_ms(tn.host)),
                        .want_values = true};
    if (selection->vector == NULL && selection->words.length == 0) return NULL; /* without words, no record matches */
    tn_value why = lists_collection(store, selection->collection, &list.collection);
    if (why == NULL && list.collection != NULL) {
        why = list_begin(&list);
        if (why == NULL) why = selection->vector != NULL ? search_vectors(&list, &found) : search_words(&list, &found);
        list_end(&list);
    }
    for (uint64_t i = 0; why == NULL && i < found.count && i < (uint64_t)selection->limit;) {
        if (!tn_store_page_add(page, &found.records[i])) break;
        i++;
    }
    found_free(&found);
    tn_arena_free(&arena);
    return why;
}

/* ---- Collections ---- */

tn_value lists_collections(tn_store *store, struct tn_store_page *page) {
    const char *schema = store->settings.schema_sql;
    struct tn_arena arena = TN_ARENA;
    struct sql sql;
    sql_init(&sql, &arena);
    sql_add(&sql,
            "SELECT c.name FROM %s.collections c WHERE EXISTS (SELECT 1 FROM %s.records r WHERE r.collection = c.id) OR"
            " EXISTS (SELECT 1 FROM %s.hot r WHERE r.collection = c.id) ORDER BY c.name",
            schema, schema, schema);
    tn_value why = connection_query(store, &sql);
    const PGresult *result = why == NULL ? connection_result(store, 0) : NULL;
    for (int row = 0; why == NULL && row < PQntuples(result); row++)
        if (!tn_store_page_add_name(page, result_bytes(result, row, 0))) break;
    tn_arena_free(&arena);
    return why;
}
